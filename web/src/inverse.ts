/** The tip to a point, or as near to it as it comes: least squares by Levenberg and Marquardt. */
import { cholesky, solve, timesTransposed, zeros } from "./linear";
import type { Physics } from "./physics";
import type { State } from "./state";

const ROUNDS = 60;
/** Most of the arm's reach that the tip is asked to go at once; and rad or m that a joint moves at once. */
const [FAR, TURN] = [0.15, 0.3];
/** Of the squared reach: the least damping, and one with which steps are too short to matter. */
const [LEAST, MOST] = [4e-4, 1e4];

/** Moves q so that the tip comes as near to a point as it can, within the limits; false where there is nothing to move.
 *
 * A step counts only if it brings the tip nearer, else it is damped more: so a point out of reach stretches the arm towards it. */
export function reach(physics: Physics, state: State, target: number[]): boolean {
  const { n, data } = physics,
    size = data.reach;
  if (!n || !data.tips.length) return false;
  const distance = () => Math.hypot(...target.map((x, r) => x - physics.tip[r]));
  physics.place(state.q);
  let left = distance(),
    damping = LEAST;
  for (let round = 0; round < ROUNDS && left > 1e-6 * size && damping < MOST; round++) {
    const before = state.q.slice(),
      shorten = Math.min(1, (FAR * size) / left),
      error = Float64Array.from(target, (x, r) => shorten * (x - physics.tip[r]));
    move(physics, state, error, damping * size ** 2);
    physics.place(state.q);
    const now = distance();
    if (now < left) {
      damping = Math.max(LEAST, damping / 4);
      const isThere = left - now < 1e-7 * size;
      left = now;
      if (isThere) break;
    } else {
      damping *= 4;
      state.q.set(before);
      physics.place(state.q);
    }
  }
  return true;
}

/** One damped step of the joints for a step of the tip, within the limits and along closed loops; after `place`. */
function move(physics: Physics, state: State, error: Float64Array, damping: number): void {
  const { n, data } = physics,
    J = physics.withinLoops(state.q, physics.J.slice(3 * n, 6 * n)),
    A = timesTransposed(J, J, 3, 3, n),
    step = zeros(n);
  for (let r = 0; r < 3; r++) A[4 * r] += damping;
  cholesky(A, 3);
  solve(A, 3, error);
  for (let i = 0; i < n; i++) for (let r = 0; r < 3; r++) step[i] += J[r * n + i] * error[r];
  const longest = Math.max(...step.map(Math.abs));
  physics.advance(state.q, step, Math.min(1, TURN / longest));
  for (const x of data.coordinates) {
    if (x.q === undefined || !x.stops) continue;
    state.q[x.q] = Math.min(Math.max(state.q[x.q], x.stops[0] ?? -Infinity), x.stops[1] ?? Infinity);
  }
  physics.close(state.q, zeros(n));
}
