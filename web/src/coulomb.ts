/** Impulses that satisfy Coulomb's law at many contacts at once, as `qddot.contact.coulomb` finds them.
 *
 * With W = J M^-1 J^T and the velocities c there would be without contact, impulses r and velocities u = W r + c lie in dual cones
 * once u_n is replaced by u_n + mu |u_t|; for a fixed shift that is a convex problem, solved by accelerated projected gradients.
 */
import { eigen, zeros, type Numbers } from "./linear";

/** Contacts of which it is tried first whether all of them stand, which is one linear problem. */
const FEW = 12;
const ROUNDS = 20;
const STEPS = 600;
const TOLERANCE = 1e-9;

/** r (3 k), normal first, for W (3 k x 3 k), c (3 k) and each contact's coefficient; `least` is a speed that matters, m/s. */
export function impulses(W: Numbers, c: Numbers, friction: number[], start: Numbers | null, least: number): Numbers {
  const n = c.length,
    k = n / 3;
  const scale = Math.max(...c.map(Math.abs), least, 1e-300),
    tolerance = TOLERANCE * scale;
  let size = 1e-300;
  if (k <= FEW) {
    const { values, vectors } = eigen(W, n);
    size = Math.max(size, values[n - 1]);
    const held = zeros(n);
    values.forEach((value, j) => {
      if (value <= 1e-12 * size) return;
      const along = vectors[j].reduce((sum, x, i) => sum + x * c[i], 0) / value;
      for (let i = 0; i < n; i++) held[i] -= along * vectors[j][i];
    });
    const u = moved(W, held, c);
    const stands = u.every((x) => Math.abs(x) <= tolerance);
    if (stands && friction.every((mu, i) => Math.hypot(held[3 * i + 1], held[3 * i + 2]) <= mu * held[3 * i])) return held;
  } else
    for (let i = 0; i < n; i++)
      size = Math.max(
        size,
        W.subarray(i * n, i * n + n).reduce((sum, x) => sum + Math.abs(x), 0),
      );
  let r = start ? start.slice() : zeros(n);
  const shift = zeros(k),
    shifted = zeros(n);
  for (let round = 0; round < ROUNDS; round++) {
    shifted.set(c);
    for (let i = 0; i < k; i++) shifted[3 * i] += shift[i];
    r = coneProblem(W, shifted, friction, r, 1 / size, tolerance);
    const u = moved(W, r, c);
    let change = 0;
    for (let i = 0; i < k; i++) {
      const now = friction[i] * Math.hypot(u[3 * i + 1], u[3 * i + 2]);
      change = Math.max(change, Math.abs(now - shift[i]));
      shift[i] = now;
    }
    if (change <= 10 * tolerance) break;
  }
  return r;
}

/** The minimum of r^T W r / 2 + r^T c over the friction cones. */
function coneProblem(W: Numbers, c: Numbers, friction: number[], start: Numbers, step: number, tolerance: number): Numbers {
  let r = start,
    y = start,
    t = 1;
  for (let k = 0; k < STEPS; k++) {
    const g = moved(W, y, c),
      next = y.map((x, i) => x - step * g[i]);
    project(next, friction);
    if (next.every((x, i) => Math.abs(x - y[i]) <= tolerance * step)) return next;
    const faster = (1 + Math.sqrt(1 + 4 * t * t)) / 2,
      uphill = g.reduce((sum, x, i) => sum + x * (next[i] - r[i]), 0) > 0;
    y = uphill ? next : next.map((x, i) => x + ((t - 1) / faster) * (x - r[i]));
    t = uphill ? 1 : faster;
    r = next;
  }
  return r;
}

/** W r + c. */
function moved(W: Numbers, r: Numbers, c: Numbers): Numbers {
  const n = c.length,
    out = c.slice();
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) out[i] += W[i * n + j] * r[j];
  return out;
}

/** The nearest impulses in the cones |r_t| <= mu r_n, in place. */
function project(r: Numbers, friction: number[]): void {
  friction.forEach((mu, k) => {
    const i = 3 * k,
      n = r[i],
      length = Math.hypot(r[i + 1], r[i + 2]);
    if (length <= mu * n) return;
    const on = mu * length <= -n ? 0 : (mu * length + n) / (mu * mu + 1),
      ratio = on ? (mu * on) / length : 0;
    [r[i], r[i + 1], r[i + 2]] = [on, ratio * r[i + 1], ratio * r[i + 2]];
  });
}
