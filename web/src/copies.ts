/** Buttons that copy an entry as LaTeX, Python, C and SymPy. */
import { copy, el } from "./dom";

/** An entry as text; what is missing is too long for the page. */
export interface Texts {
  latex?: string;
  sympy?: string;
  python?: string;
  c?: string;
}

const COMMENT: Record<string, string> = { LaTeX: "% ", Python: "# ", C: "// ", SymPy: "# " };

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

/** LaTeX with another letter for the joint variables than q. */
export function respelled(latex: string, variable: string): string {
  const letter = variable === "θ" ? "\\theta" : variable;
  return latex.replace(/(?<![A-Za-z\\])q(?=\}?_\{?\d)/g, () => letter);
}

/** `remark` says, when it is copied, how the page differs from the text; it becomes a comment. */
export function copyButtons(texts: Texts, variable: string, remark: () => string): HTMLElement[] {
  return named(texts).map(([name, given]) => {
    const text = given && name === "LaTeX" ? respelled(given, variable) : given;
    const title = text ? `copy this entry as ${name}` : "too long for the page";
    const onclick = () => {
      const said = remark();
      if (text) void copy(said ? `${COMMENT[name]}${said}\n${text}` : text, name);
    };
    return el("button", { type: "button", disabled: !text, title, "data-copy": name, onclick }, name);
  });
}
