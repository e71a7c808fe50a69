/** Terms of a formula with their present values. */
import { el, math, shown, tint } from "./dom";
import type { Point } from "./terms";

/** A share below which a term fades. */
export const FAINT = 1e-3;

/** Terms written out; the rest, the smallest, are folded. */
export const WRITTEN = 48;

export interface Chip {
  root: HTMLElement;
  value: HTMLElement;
  compute(at: Point): number;
}

/** A term: its formula, its value below, and the sign before it. */
export function newChip(
  minus: boolean,
  text: string,
  compute: (at: Point) => number,
  role: string,
  first: boolean,
): { chip: Chip; piece: HTMLElement } {
  const value = el("span", { class: "value" }),
    root = el("span", { class: `term ${role}` }, math(text), value);
  root.addEventListener(
    "pointerenter",
    () =>
      (root.title = `${(100 * Number(root.style.getPropertyValue("--share"))).toFixed(1)} % of the sum of the sizes of all terms`),
  );
  const sign = !first || minus ? el("span", { class: "sign" }, minus ? "−" : "+") : null;
  return { chip: { root, value, compute }, piece: el("span", { class: "piece" }, sign, root) };
}

/** A term that is a button. */
export function opens({ root }: Chip, action: () => void): void {
  root.classList.add("opens");
  root.tabIndex = 0;
  root.setAttribute("role", "button");
  root.addEventListener("click", action);
  root.addEventListener("keydown", (event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), action()));
}

/** Values and shares of `all` into terms. */
export function write(chips: Chip[], values: number[], all: number): void {
  chips.forEach(({ root, value }, k) => {
    const share = Math.abs(values[k]) / all;
    tint(root, share);
    root.classList.toggle("faint", share < FAINT && chips.length > 1);
    root.dataset.value = String(values[k]);
    const text = `${values[k] > 0 && chips.length > 1 ? "+" : ""}${shown(values[k], 4)}`;
    if (value.textContent !== text) value.textContent = text;
  });
}

/** Places of the sizes that matter: the six largest, and more that are not faint. */
export function largest(sizes: number[]): Set<number> {
  const sum = sizes.reduce((total, size) => total + size, 0);
  const ranked = sizes.map((size, i) => [size, i]).sort((a, b) => b[0] - a[0]);
  const kept = ranked.slice(0, WRITTEN).filter(([size], k) => k < 6 || size > FAINT * sum);
  return new Set(kept.map(([, i]) => i));
}
