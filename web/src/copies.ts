/** Buttons that copy an entry as LaTeX, Python, C and SymPy. */
import { copy, el } from "./dom";

/** An entry as text; what is missing is too long for the page. */
export interface Texts {
  latex?: string;
  sympy?: string;
  python?: string;
  c?: string;
}

export function copyButtons(texts: Texts, quantity: string): HTMLElement[] {
  const named: [string, string | undefined][] = [
    ["LaTeX", texts.latex],
    ["Python", texts.python],
    ["C", texts.c],
    ["SymPy", texts.sympy],
  ];
  return named.map(([name, text]) => {
    const title = text
      ? `copy this entry as ${name}`
      : `too long for the page: robot.equations().${quantity}.${name.toLowerCase()}()`;
    const onclick = () => text && void copy(text, name);
    return el("button", { type: "button", disabled: !text, title, "data-copy": name, onclick }, name);
  });
}
