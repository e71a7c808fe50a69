/** What the sines and cosines of a formula stand for: `c₂₃ = cos(q₂ + q₃)`. */
import { el, math } from "./dom";

/** Written out; of more of them, those that are hardest to guess. */
const MOST = 9;

/** Those among `waves` (short form to long form, both MathML) that occur in the texts of the formula. */
export function legend(waves: Record<string, string>, texts: string[]): Node[] {
  const used = Object.keys(waves).filter((short) => texts.some((text) => text.includes(short)));
  const digits = (short: string) => short.replace(/<[^>]*>/g, "").length;
  const shown = used.length <= MOST ? used : [...used].sort((a, b) => digits(b) - digits(a)).slice(0, MOST);
  const pieces = used.filter((x) => shown.includes(x)).map((short) => el("span", {}, math(`${short}<mo>=</mo>${waves[short]}`)));
  if (used.length > shown.length) pieces.push(el("span", {}, "and so on"));
  return pieces;
}
