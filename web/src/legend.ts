/** What letters of a formula stand for: `c₂₃ = cos(q₂ + q₃) = 0.41`, each with its present value. */
import { el, math, shown } from "./dom";
import { compiled, type Point, type Value, type Variant } from "./terms";

/** Written out; of more of them, those that are hardest to guess. */
const MOST = 9;

export class Legend {
  readonly root = el("p", { class: "words" });
  private values: { slot: HTMLElement; compute: Value }[] = [];

  /** The sines and cosines of a variant that occur in the texts of a formula. */
  waves({ waves, values }: Variant, texts: string[]): void {
    const used = Object.keys(waves).filter((short) => texts.some((text) => text.includes(short)));
    const digits = (short: string) => short.replace(/<[^>]*>/g, "").length;
    const kept = used.length <= MOST ? used : [...used].sort((a, b) => digits(b) - digits(a)).slice(0, MOST);
    this.clear();
    for (const short of used.filter((x) => kept.includes(x))) {
      const [long, tree] = waves[short],
        slot = el("span", { class: "value" });
      this.values.push({ slot, compute: compiled(tree, values) });
      this.root.append(el("span", { class: "word" }, math(`${short}<mo>=</mo>${long}`), slot));
    }
    if (used.length > kept.length) this.root.append(el("span", {}, "and so on"));
  }

  /** Letters (MathML) in words. */
  letters(pairs: [string, string][]): void {
    this.clear();
    this.root.append(...pairs.map(([letter, words]) => el("span", { class: "word" }, math(letter), ` ${words}`)));
  }

  clear(): void {
    this.values = [];
    this.root.replaceChildren();
  }

  update(at: Point): void {
    for (const { slot, compute } of this.values) {
      const text = ` = ${shown(compute(at), 4)}`;
      if (slot.textContent !== text) slot.textContent = text;
    }
  }
}
