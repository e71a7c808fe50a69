/** Buttons that copy an entry as LaTeX, Python, C and SymPy. */
import { copy, el } from "./dom";

/** An entry as text; what is missing is too long for the page. */
export interface Texts {
  latex?: string;
  sympy?: string;
  python?: string;
  c?: string;
}

const named = (texts: Texts): [string, string | undefined][] => [
  ["LaTeX", texts.latex],
  ["Python", texts.python],
  ["C", texts.c],
  ["SymPy", texts.sympy],
];

/** Why some buttons are off, and what to ask for instead; empty where none is. */
export function tooLong(texts: Texts, form: string): string {
  const missing = named(texts).flatMap(([name, text]) => (text ? [] : [name]));
  return missing.length ? `Too long for the page as ${missing.join(", ")}: ask for ${form}.${missing[0].toLowerCase()}().` : "";
}

export function copyButtons(texts: Texts): HTMLElement[] {
  return named(texts).map(([name, text]) => {
    const title = text ? `copy this entry as ${name}` : "too long for the page";
    const onclick = () => text && void copy(text, name);
    return el("button", { type: "button", disabled: !text, title, "data-copy": name, onclick }, name);
  });
}
