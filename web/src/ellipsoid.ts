/** Ellipsoids at the tip: how fast it can move, how hard it can push, how heavy it feels. */
import { cholesky, eigen, solve, timesTransposed, zeros, type Numbers } from "./linear";
import type { Physics } from "./physics";

export interface Ellipsoid {
  directions: number[][];
  lengths: number[];
}

/** At the tip, of the rows x, y, z of V = J qd: velocity {J qd: |qd| = 1}, force {F: |J^T F| = 1}, mass {M_C a: |a| = 1}. */
export function ellipsoidAt(physics: Physics, kind: string): Ellipsoid | null {
  if (kind === "none" || !physics.data.tips.length) return null;
  const n = physics.n,
    J = physics.J.subarray(3 * n, 6 * n);
  let square: Numbers;
  if (kind === "mass") {
    const L = physics.M.slice();
    if (!cholesky(L, n)) return null;
    const Y = zeros(3 * n);
    for (let r = 0; r < 3; r++) {
      const y = J.slice(r * n, r * n + n);
      solve(L, n, y);
      Y.set(y, r * n);
    }
    square = timesTransposed(J, Y, 3, 3, n);
  } else square = timesTransposed(J, J, 3, 3, n);
  const { values, vectors } = eigen(square, 3),
    largest = Math.max(...values, 0);
  const lengths = values.map((x) => {
    const zero = x <= 1e-24 * largest || x <= 0 || Math.sqrt(x / (largest || 1)) < 1e-9;
    return kind === "velocity" ? (zero ? 0 : Math.sqrt(x)) : zero ? Infinity : kind === "force" ? 1 / Math.sqrt(x) : 1 / x;
  });
  return { directions: vectors, lengths };
}

/** Half axes that say something: those in the plane of a planar arm. */
export function visibleLengths(ellipsoid: Ellipsoid, normal: number[] | null): number[] {
  if (!normal) return ellipsoid.lengths;
  return ellipsoid.lengths.filter((_, k) => Math.abs(ellipsoid.directions[k].reduce((sum, x, i) => sum + x * normal[i], 0)) < 0.5);
}
