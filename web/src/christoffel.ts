/** Coriolis forces too long to be written out: by products of velocities, and each factor by derivatives of the mass matrix. */
import type { Choice } from "./state";

export interface Derivative {
  minus: boolean;
  /** MathML. */
  text: string;
  opens: Choice;
  value(symbols: ArrayLike<number>): number;
}

/** `Γ_ijk`, of n coordinates, counted from 0. */
export const indices = (n: number, ...of: number[]) => of.map((i) => i + 1).join(n > 9 ? "," : "");

/** Gamma_ijk = 1/2 (dM_ki/dq_j + dM_kj/dq_i - dM_ij/dq_k), each term with its value. */
export function derivatives(i: number, j: number, k: number, n: number, M: (row: number, column: number) => string): Derivative[] {
  // of M_ab along q_d: Gamma_adb + Gamma_bda
  const along = (symbols: ArrayLike<number>, a: number, b: number, d: number) =>
    symbols[(a * n + d) * n + b] + symbols[(b * n + d) * n + a];
  const term = (share: number, a: number, b: number, d: number): Derivative => ({
    minus: share < 0,
    text: `${Math.abs(share) === 1 ? "" : "<mfrac><mn>1</mn><mn>2</mn></mfrac>"}<mfrac><mrow><mo>∂</mo>${M(a, b)}</mrow><mrow><mo>∂</mo><msub><mi class="joint">q</mi><mn>${d + 1}</mn></msub></mrow></mfrac>`,
    opens: { quantity: "mass_matrix", row: a, column: b },
    value: (symbols) => share * along(symbols, a, b, d),
  });
  if (i === j) return [term(1, k, i, i), term(-0.5, i, i, k)];
  return [term(0.5, k, i, j), term(0.5, k, j, i), term(-0.5, i, j, k)];
}
