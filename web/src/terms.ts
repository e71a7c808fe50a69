/** Closed forms as data, and their terms as functions of the state. */
import type { Texts } from "./copies";
import type { DerivationData } from "./derivation";

export type Tree = number | [string, ...unknown[]];
export type Term = [boolean, string, Tree];
export interface Entry extends Texts {
  terms: Term[];
  /** With short names for what parameters make together; the entry is so long that it is shown with them at first. */
  short?: { terms: Term[]; latex: string; isWide: boolean };
}
/** What a short name stands for; `name` is its MathML. */
export interface Definition {
  name: string;
  terms: Term[];
  latex: string;
}
export interface Quantity {
  /** Why entries are not here, which are null. */
  missing?: string;
  shape?: number[];
  entries?: (Entry | number | null)[];
}
export interface Variant {
  name: string;
  /** Letters took the place of numbers. */
  isLettered: boolean;
  notes: string[];
  values: Record<string, number>;
  quantities: Record<string, Quantity>;
  /** Joint forces, to be copied. */
  copies: Texts[];
  /** Short names for what parameters make together. */
  names: Record<string, Definition>;
  /** Sines and cosines of sums: what the short form stands for, both as MathML, and its value. */
  waves: Record<string, [string, Tree]>;
}
export interface LensData {
  derivation: DerivationData | null;
  variants: Variant[];
  notations: Record<string, Record<string, string>>;
}

export type Point = { q: ArrayLike<number>; qd: ArrayLike<number>; qdd: ArrayLike<number> };

export type Value = (at: Point) => number;

/** What a tree may call. */
const FUNCTIONS = new Map<string, (x: number) => number>(
  (["sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "sqrt", "sign", "abs"] as const).map((name) => [name, Math[name]]),
);

/** The letters in a tree. */
export function letters(tree: Tree): string[] {
  if (typeof tree === "number") return [];
  const [what, ...of] = tree as [string, ...Tree[]];
  return what === "letter" ? [of[0] as unknown as string] : of.flatMap(letters);
}

/** A tree as a function of the state: data becomes closures, never code. */
export function compiled(tree: Tree, letters: Record<string, number>): Value {
  if (typeof tree === "number") return () => tree;
  const [what, ...of] = tree as [string, ...Tree[]];
  const k = of[0] as number,
    exponent = of[1] as number;
  if (what === "q") return (at) => at.q[k];
  if (what === "qd") return (at) => at.qd[k];
  if (what === "qdd") return (at) => at.qdd[k];
  if (what === "letter") {
    const name = of[0] as unknown as string,
      value = Object.hasOwn(letters, name) ? letters[name] : NaN;
    return () => value;
  }
  if (what === "^") {
    const base = compiled(of[0], letters);
    return (at) => base(at) ** exponent;
  }
  const inner = of.map((x) => compiled(x, letters)),
    [first, second] = inner;
  if (what === "*") return (at) => inner.reduce((product, f) => product * f(at), 1);
  if (what === "+") return (at) => inner.reduce((sum, f) => sum + f(at), 0);
  if (what === "/") return (at) => 1 / first(at);
  if (what === "pow") return (at) => first(at) ** second(at);
  if (what === "fourth_root") return (at) => Math.sqrt(Math.sqrt(first(at)));
  const f = FUNCTIONS.get(what);
  if (f) return (at) => f(first(at));
  return () => NaN;
}

export const isNothing = (entry: Entry) => entry.terms.length === 1 && entry.terms[0][2] === 0;
export const isZero = (quantity: Quantity | undefined) =>
  !quantity || (!quantity.missing && (quantity.entries ?? []).every((x) => typeof x === "number" || (x && isNothing(x))));
