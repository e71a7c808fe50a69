/** Short names in a formula, `k₁`, which unfold to what they stand for. */
import { newChip, opens, write, type Chip } from "./chips";
import { el, math, shown } from "./dom";
import { compiled, letters, type Definition, type Term, type Variant } from "./terms";

const total = (numbers: number[]) => numbers.reduce((sum, x) => sum + x, 0);

/** Of the terms of a definition, which has parameters only. */
function valuesOf({ terms }: Definition, values: Record<string, number>): number[] {
  return terms.map(([, , tree]) => compiled(tree, values)({ q: [], qd: [], qdd: [] }));
}

/** Gives the short names their values, as parameters have them. */
export function evaluate({ names, values }: Variant): void {
  for (const [name, definition] of Object.entries(names)) values[name] = total(valuesOf(definition, values));
}

/** The short names in some terms, in the order of their definitions. */
export function namesIn(terms: Term[], { names }: Variant): string[] {
  const used = new Set(terms.flatMap(([, , tree]) => letters(tree)));
  return Object.keys(names).filter((name) => used.has(name));
}

/** LaTeX of a formula with the definitions of all names in it. */
export function latexWith(latex: string, terms: Term[], variant: Variant): string {
  const lines = namesIn(terms, variant).map((name) => variant.names[name].latex);
  return `${latex}\n\\quad\\text{with}\\quad\n\\begin{aligned}\n${lines.join(" \\\\\n")}\n\\end{aligned}`;
}

/** The list below a formula: a button for each name, and below it what it stands for where it is unfolded. */
export class Abbreviations {
  readonly root = el("div", { class: "names", role: "group", "aria-label": "abbreviations" });
  private readonly unfolded = new Set<string>();
  private bodies = new Map<string, HTMLElement>();
  /** What unfolds names: their buttons, and terms of the formula. */
  private openers: { root: HTMLElement; names: string[] }[] = [];

  show(names: string[], variant: Variant): void {
    this.openers = [];
    this.bodies = new Map(names.map((name) => [name, this.body(variant.names[name], variant.values)]));
    const buttons = names.map((name) => {
      const root = el("button", { type: "button", "data-name": name, onclick: () => this.toggle([name]) });
      root.append(math(variant.names[name].name), ` = ${shown(variant.values[name], 4)}`);
      this.openers.push({ root, names: [name] });
      return root;
    });
    this.root.replaceChildren(...(names.length ? ["with "] : []), ...buttons, ...this.bodies.values());
    this.fold();
  }

  private body(definition: Definition, values: Record<string, number>): HTMLElement {
    const numbers = valuesOf(definition, values);
    const made = definition.terms.map(([minus, text], k) => newChip(minus, text, () => numbers[k], "", k === 0));
    write(made.map((x) => x.chip), numbers, total(numbers.map(Math.abs)) || 1);
    const left = el("span", { class: "left" }, math(`${definition.name}<mo>=</mo>`));
    return el("div", { class: "definition" }, left, el("span", { class: "formula" }, ...made.map((x) => x.piece)));
  }

  /** A term of the formula unfolds the names in it. */
  opener(chip: Chip, names: string[]): void {
    opens(chip, () => this.toggle(names));
    this.openers.push({ root: chip.root, names });
    this.fold();
  }

  /** Unfolds these, or folds them where all of them are unfolded. */
  private toggle(names: string[]): void {
    const isOpen = this.isOpen(names);
    for (const name of names) this.unfolded[isOpen ? "delete" : "add"](name);
    this.fold();
  }

  private isOpen(names: string[]): boolean {
    return names.every((name) => this.unfolded.has(name));
  }

  private fold(): void {
    for (const { root, names } of this.openers) root.setAttribute("aria-expanded", String(this.isOpen(names)));
    for (const [name, body] of this.bodies) body.hidden = !this.unfolded.has(name);
  }
}
