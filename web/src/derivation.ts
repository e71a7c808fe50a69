/** The derivation below the lens: our own document, of which only text, structure and mathematics are taken. */
import { el } from "./dom";

export interface DerivationData {
  body: string;
  /** Of each quantity, the number of the step that makes it. */
  steps: Record<string, number>;
}

const XHTML = "http://www.w3.org/1999/xhtml",
  MATHML = "http://www.w3.org/1998/Math/MathML";
const PLAIN = new Set([
  "section",
  "article",
  "div",
  "span",
  "p",
  "h1",
  "h2",
  "h3",
  "h4",
  "ol",
  "ul",
  "li",
  "table",
  "thead",
  "tbody",
  "tr",
  "td",
  "th",
  "details",
  "summary",
  "em",
  "strong",
  "b",
  "i",
  "code",
  "sup",
  "sub",
]);
const MATHS = new Set([
  "math",
  "mrow",
  "mi",
  "mn",
  "mo",
  "msub",
  "msup",
  "msubsup",
  "mover",
  "munder",
  "munderover",
  "mfrac",
  "msqrt",
  "mroot",
  "mtext",
  "mtable",
  "mtr",
  "mtd",
  "mspace",
  "mstyle",
  "mpadded",
  "mphantom",
  "mmultiscripts",
  "mprescripts",
  "none",
]);
const KEPT = new Set([
  "class",
  "open",
  "accent",
  "stretchy",
  "display",
  "displaystyle",
  "columnalign",
  "width",
  "mathvariant",
  "scriptlevel",
  "colspan",
  "fence",
  "form",
  "lspace",
  "rspace",
  "rowspan",
]);

/** A copy with known elements and attributes only; of others, what is inside. */
function cleaned(node: Node): Node[] {
  if (node.nodeType === Node.TEXT_NODE) return [document.createTextNode(node.textContent ?? "")];
  if (!(node instanceof Element)) return [];
  const inner = [...node.childNodes].flatMap(cleaned);
  const known =
    (node.namespaceURI === XHTML && PLAIN.has(node.localName)) || (node.namespaceURI === MATHML && MATHS.has(node.localName));
  if (!known) return node.localName === "style" || node.localName === "script" || node.localName === "nav" ? [] : inner;
  const made = document.createElementNS(node.namespaceURI, node.localName);
  for (const { name, value } of node.attributes) if (KEPT.has(name)) made.setAttribute(name, value);
  made.append(...inner);
  return [made];
}

export class Derivation {
  private readonly body = el("div", { class: "document" });
  readonly root = el("details", { class: "derivation" }, el("summary", {}, "Derivation, step by step"), this.body);

  constructor(readonly data: DerivationData) {
    this.root.addEventListener("toggle", () => this.root.open && this.fill());
  }

  private fill(): void {
    if (this.body.firstChild) return;
    const parsed = new DOMParser().parseFromString(`<div xmlns="${XHTML}">${this.data.body}</div>`, "application/xml");
    if (parsed.querySelector("parsererror")) return;
    this.body.append(...[...parsed.documentElement.childNodes].flatMap(cleaned));
  }

  /** Opens at the step that makes a quantity. */
  show(quantity: string): void {
    this.root.open = true;
    this.fill();
    const heads = [...this.body.querySelectorAll(".step h2")],
      found = heads[this.data.steps[quantity] - 1] ?? this.root;
    for (const x of heads) x.classList.toggle("here", x === found);
    found.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }
}
