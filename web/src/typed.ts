/** Numbers as people type them: `pi/2`, `-3π/4`, `2*pi`, `45°`, `1,2`, `1e-3`; never code. */

/** A number with a point or a comma, and pi directly behind it if one likes. */
const FACTOR = /^(?:(\d+(?:[.,]\d*)?|[.,]\d+)(e[+-]?\d+)?)?(pi|π)?/i;

/** The value of a text; null where it is not understood. Degrees become rad, where `isAngle`, and mean nothing else elsewhere. */
export function typed(text: string, isAngle: boolean): number | null {
  let rest = text.replaceAll("−", "-").replace(/\s+/g, "");
  const inDegrees = /(°|deg)$/i.test(rest);
  if (inDegrees && !isAngle) return null;
  rest = rest.replace(/(°|deg)$/i, "");
  let value = rest.startsWith("-") ? -1 : 1,
    sign = "*";
  rest = rest.replace(/^[+-]/, "");
  for (;;) {
    const [all, digits, power = "", pi] = FACTOR.exec(rest)!;
    if (!all) return null;
    const factor = (digits ? Number(digits.replace(",", ".") + power) : 1) * (pi ? Math.PI : 1);
    value = sign === "*" ? value * factor : value / factor;
    rest = rest.slice(all.length);
    if (!rest) break;
    sign = rest[0];
    if (sign !== "*" && sign !== "/") return null;
    rest = rest.slice(1);
  }
  if (inDegrees) value *= Math.PI / 180;
  return Number.isFinite(value) ? value : null;
}
