/** The tip to a point, by damped least squares. */
import { cholesky, solve, timesTransposed, zeros } from "./linear";
import type { Physics } from "./physics";
import type { State } from "./state";

const ROUNDS = 12;

/** Moves q so that the tip comes near a point, within the limits; false where there is nothing to move. */
export function reach(physics: Physics, state: State, target: number[]): boolean {
  const n = physics.n,
    damping = (0.02 * physics.data.reach) ** 2;
  if (!n || !physics.data.tips.length) return false;
  for (let round = 0; round < ROUNDS; round++) {
    physics.place(state.q);
    const J = physics.J.subarray(3 * n, 6 * n),
      error = Float64Array.from(target, (x, r) => x - physics.tip[r]);
    const size = Math.hypot(...error),
      longest = 0.15 * physics.data.reach;
    if (size < 1e-6 * physics.data.reach) break;
    if (size > longest) error.forEach((x, r) => (error[r] = (x * longest) / size));
    const A = timesTransposed(J, J, 3, 3, n);
    for (let r = 0; r < 3; r++) A[4 * r] += damping;
    cholesky(A, 3);
    solve(A, 3, error);
    const step = zeros(n);
    for (let i = 0; i < n; i++) for (let r = 0; r < 3; r++) step[i] += J[r * n + i] * error[r];
    physics.advance(state.q, step);
    for (const x of physics.data.coordinates) {
      if (x.q === undefined || !x.stops) continue;
      state.q[x.q] = Math.min(Math.max(state.q[x.q], x.stops[0] ?? -Infinity), x.stops[1] ?? Infinity);
    }
  }
  return true;
}
