/** Elements with text, never markup. */

type Child = Node | string | null | undefined;
type Properties = Record<string, unknown>;

/** An element; properties beginning with `aria-`, `data-` or named `role`, `for`, `class` become attributes, `on...` listeners. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  given: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value as EventListener);
    else if (/^(aria-|data-)|^(role|for|class|type|scope|title|tabindex|href|colspan)$/.test(key))
      made.setAttribute(key, String(value));
    else (made as unknown as Properties)[key] = value;
  }
  made.append(...children.filter((x): x is Node | string => x != null));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag: string, given: Record<string, string | number>, ...children: Node[]): SVGElement {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(given)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

const ICONS = {
  play: "M4 2 L14 8 L4 14 Z",
  pause: "M3 2 H6.5 V14 H3 Z M9.5 2 H13 V14 H9.5 Z",
  start: "M3 2 H5 V14 H3 Z M14 2 V14 L6 8 Z",
};

export function icon(name: keyof typeof ICONS): SVGElement {
  return svg("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
}

const MATHML = "http://www.w3.org/1998/Math/MathML";
const ALLOWED = new Set(["math", "mrow", "mi", "mn", "mo", "msub", "msup", "mover", "mfrac", "msqrt", "mroot", "mtext"]);
const ATTRIBUTES = new Set(["class", "accent", "stretchy", "display"]);

/** Our own printer's MathML as an element. Anything else in it is refused: a name can never become markup. */
export function math(inner: string): Element {
  const parsed = new DOMParser().parseFromString(`<math xmlns="${MATHML}">${inner}</math>`, "application/xml");
  const root = parsed.documentElement;
  for (const x of [root, ...root.querySelectorAll("*")]) {
    const known = x.namespaceURI === MATHML && ALLOWED.has(x.localName);
    if (!known || [...x.attributes].some((a) => a.name !== "xmlns" && !ATTRIBUTES.has(a.name)))
      throw new Error(`no MathML of ours: ${x.nodeName}`);
  }
  return document.importNode(root, true);
}

/** A number with as many digits as it means. */
export function shown(x: number, digits = 4): string {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "–" : x > 0 ? "∞" : "−∞";
  const size = Math.abs(x);
  if (size < 1e-12) return "0";
  if (size >= 1e5 || size < 1e-3)
    return x
      .toExponential(Math.max(digits - 2, 1))
      .replaceAll("-", "−")
      .replace("e+", "e");
  return x.toFixed(Math.max(0, Math.min(digits, digits - 1 - Math.floor(Math.log10(size))))).replace("-", "−");
}

/** A name that is too long, without its middle: names are told apart by how they begin and end. */
export function brief(name: string, most = 17): string {
  return name.length <= most ? name : `${name.slice(0, Math.floor(most / 3))}…${name.slice(-Math.floor((2 * most) / 3 - 1))}`;
}

/** Names that are told apart and no longer than so many characters: all words of a long one but the last become initials. */
export function abbreviated(names: string[], most: number): string[] {
  const short = (name: string, kept: number) => {
    const words = name.split(/(?<=[_/.-])/);
    return words.map((x, k) => (k < words.length - 1 && x.length > kept + 1 ? x.slice(0, kept) + x.at(-1) : x)).join("");
  };
  if (names.every((x) => x.length <= most)) return names;
  for (let kept = 7; kept > 0; kept--) {
    const found = names.map((name) => short(name, kept));
    if (new Set(found).size === new Set(names).size && found.every((x) => x.length <= most)) return found;
  }
  return names.map((name) => brief(name, most));
}

/** Copies text, and says so to everybody. */
export async function copy(text: string, what: string): Promise<void> {
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch {
    const area = el("textarea", { value: text, class: "offscreen", "aria-hidden": "true" });
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
  }
  document.documentElement.dataset.copied = text;
  announce(done ? `${what} copied` : `${what} could not be copied`);
}

let clearing = 0;
export function announce(text: string): void {
  const line = document.getElementById("said");
  if (!line) return;
  line.textContent = text;
  line.classList.add("visible");
  clearTimeout(clearing);
  clearing = window.setTimeout(() => line.classList.remove("visible"), 2000 + 60 * text.length); // as long as one reads
}

/** How much of the whole an element is, for its style. */
export function tint(element: HTMLElement & { share?: number }, share: number): void {
  const rounded = Math.round(1000 * share) / 1000;
  if (element.share === rounded) return;
  element.share = rounded; // asked every frame, which takes the style too long
  element.style.setProperty("--share", String(rounded));
}
