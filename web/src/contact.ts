/** Motion among contacts: steps of fixed length that do not ask when each impact happens (Moreau, Jean), as `qddot.contact.simulate`.
 *
 *     q_m = q + h/2 v        M (v+ - v) = h (tau - bias) + J^T r        q+ = q_m + h/2 v+
 *
 * Stops of joints are contacts, too, without friction.
 */
import { impulses } from "./coulomb";
import { cholesky, solve, zeros, type Numbers } from "./linear";
import type { Contacts } from "./model";
import type { Physics, Pull } from "./physics";

/** Impacts slower than this many steps of gravity are the weight of what rests, and give nothing back. */
const SLOW = 2;
/** m: a speed that matters where penetration is taken back. */
const DEPTH = 1e-3;
/** Of what has sunk in, so much is given back in a step, without speed. */
const RECOVERY = 0.2;

/** One pair that may touch: a gap, and rows of relative velocity along the normal and two tangents. */
interface Touching {
  pair: number;
  gap: number;
  friction: number;
  rows: Numbers;
  point: number[];
  axes: number[][];
}

/** Where a contact pushes the robot, and how hard: N, world axes. */
export interface Push {
  point: number[];
  force: number[];
}

export class ContactSteps {
  /** Of the last step. */
  pushes: Push[] = [];
  private readonly centres: Numbers;
  private readonly origins: Numbers;
  private readonly J: Numbers;
  private last = new Map<number, number[]>();
  /** What contacts and stops did to the joints in the last step, as joint forces. */
  private readonly load: Numbers;

  constructor(
    readonly physics: Physics,
    readonly contacts: Contacts,
  ) {
    const count = contacts.spheres.length;
    this.centres = zeros(3 * count);
    this.origins = zeros(3 * count);
    this.J = zeros(6 * count * physics.n);
    this.load = zeros(physics.n);
  }

  /** Another motion begins. */
  forget(): void {
    this.last.clear();
    this.pushes = [];
    this.load.fill(0);
  }

  /** The accelerations at a state under the contacts of the last step, into qdd; forces from outside are left in `physics.external`. */
  accelerations(q: Numbers, qd: Numbers, qdd: Numbers, tau: Numbers, pull: Pull): boolean {
    const { physics, load } = this,
      { n, external } = physics;
    if (!physics.accelerate(q, qd, tau, pull, new Set(), new Map(), qdd)) return false;
    const [L, pushed] = [physics.M.slice(), load.slice()];
    cholesky(L, n);
    solve(L, n, pushed);
    for (let i = 0; i < n; i++) {
      qdd[i] += pushed[i];
      external[i] += load[i];
    }
    return true;
  }

  /** Advances q and qd by h. False where the motion cannot go on. */
  step(q: Numbers, qd: Numbers, _: Numbers, tau: Numbers, h: number, pull: Pull): boolean {
    const { physics } = this,
      { n } = physics,
      gravity = Math.hypot(...physics.world.gravity),
      before = qd.slice();
    physics.advance(q, qd, h / 2);
    const change = zeros(n);
    if (!physics.accelerate(q, qd, tau, pull, new Set(), new Map(), change)) return false;
    const L = physics.M.slice();
    cholesky(L, n);
    if (physics.world.coriolis) this.halfway(q, qd, L, h, change);
    for (let i = 0; i < n; i++) qd[i] += h * change[i];
    const waits = (x: Touching) => this.contacts.restitution > 0 && x.gap > 0 && -dot(x.rows, before, 0) > SLOW * gravity * h;
    const fast = h * Math.max(...qd.map(Math.abs)) * Math.max(1, physics.data.reach) + h * h * gravity;
    const near = this.touching(q).filter((x) => x.gap <= fast && !waits(x));
    this.pushes = [];
    this.load.fill(0);
    const last = this.last;
    this.last = new Map();
    const out = near.length ? this.collide(near, last, before, qd, L, h, gravity) : null;
    physics.advance(q, qd, h / 2);
    if (out) physics.advance(q, out); // back out, without speed
    return q.every(Number.isFinite) && qd.every(Number.isFinite);
  }

  /** Coriolis forces are those at the middle of the step, where what turns has turned by half: what rolls fast would else gain energy. */
  private halfway(q: Numbers, qd: Numbers, L: Numbers, h: number, acceleration: Numbers): void {
    const { physics } = this,
      { n } = physics,
      before = physics.c.slice(),
      half = before.slice();
    solve(L, n, half);
    for (let i = 0; i < n; i++) half[i] = qd[i] - (h / 2) * half[i];
    physics.evaluate(q, half);
    for (let i = 0; i < n; i++) before[i] -= physics.c[i];
    solve(L, n, before);
    for (let i = 0; i < n; i++) acceleration[i] += before[i];
  }

  /** Impulses change qd; returns the motion that takes penetration back, if there is any. */
  private collide(
    near: Touching[],
    last: Map<number, number[]>,
    before: Numbers,
    qd: Numbers,
    L: Numbers,
    h: number,
    gravity: number,
  ): Numbers | null {
    const { n } = this.physics,
      size = 3 * near.length,
      c = zeros(size),
      W = zeros(size * size),
      start = zeros(size);
    const Y = near.flatMap((x) =>
      [0, 1, 2].map((r) => {
        const y = x.rows.slice(r * n, r * n + n);
        solve(L, n, y);
        return y;
      }),
    );
    near.forEach((x, k) => {
      const came = dot(x.rows, before, 0),
        bounces = x.gap <= 0 && -came > SLOW * gravity * h;
      for (let r = 0; r < 3; r++) {
        c[3 * k + r] = dot(x.rows, qd, r);
        for (let s = 0; s < size; s++) W[(3 * k + r) * size + s] = dot(x.rows, Y[s], r);
      }
      c[3 * k] += bounces ? (x.pair < 0 ? 0 : this.contacts.restitution) * came : Math.max(x.gap, 0) / h;
      start.set(last.get(x.pair) ?? [0, 0, 0], 3 * k);
    });
    const friction = near.map((x) => x.friction),
      r = impulses(W, c, friction, start, gravity * h);
    for (let s = 0; s < size; s++) for (let i = 0; i < n; i++) qd[i] += Y[s][i] * r[s];
    near.forEach((x, k) => {
      for (let a = 0; a < 3; a++) for (let i = 0; i < n; i++) this.load[i] += (x.rows[a * n + i] * r[3 * k + a]) / h;
      const found = [r[3 * k], r[3 * k + 1], r[3 * k + 2]];
      this.last.set(x.pair, found);
      if (x.pair >= 0 && found[0] > 0)
        this.pushes.push(
          push(
            x,
            found.map((v) => v / h),
          ),
        );
    });
    if (near.every((x) => x.gap >= 0)) return null;
    const sunk = zeros(size),
      out = zeros(n);
    near.forEach((x, k) => (sunk[3 * k] = RECOVERY * Math.min(x.gap, 0)));
    const back = impulses(
      W,
      sunk,
      friction.map(() => 0),
      null,
      DEPTH,
    );
    for (let s = 0; s < size; s++) for (let i = 0; i < n; i++) out[i] += Y[s][i] * back[s];
    return out;
  }

  /** Forces [pair, normal, two tangents] of a recording, as pushes at q. */
  placed(q: Numbers, forces: number[][]): Push[] {
    const all = new Map(this.touching(q).map((x) => [x.pair, x]));
    return forces.flatMap(([pair, ...f]) => (all.has(pair) ? [push(all.get(pair)!, f)] : []));
  }

  /** All pairs of spheres with planes, of spheres with each other, and of joints with their stops (these are numbered below zero). */
  private touching(q: Numbers): Touching[] {
    const { spheres, planes, pairs, friction } = this.contacts,
      { physics, centres } = this,
      found: Touching[] = [];
    physics.kernels.spheres!(q, centres, this.origins, this.J);
    const centre = (k: number) => [centres[3 * k], centres[3 * k + 1], centres[3 * k + 2]];
    spheres.forEach((radius, k) =>
      planes.forEach(({ point, normal }, p) => {
        const c = centre(k),
          gap = normal.reduce((sum, x, i) => sum + x * (c[i] - point[i]), 0) - radius;
        const at = c.map((x, i) => x - radius * normal[i]),
          axes = triad(normal);
        found.push({ pair: k * planes.length + p, gap, friction, point: at, axes, rows: this.rows(axes, [[k, 1]], at) });
      }),
    );
    pairs.forEach(([i, j], p) => {
      const [a, b] = [centre(i), centre(j)],
        apart = a.map((x, r) => x - b[r]),
        length = Math.hypot(...apart);
      const normal = length > 0 ? apart.map((x) => x / length) : [0, 0, 1],
        at = a.map((x, r) => x - spheres[i] * normal[r]),
        axes = triad(normal);
      const rows = this.rows(
        axes,
        [
          [i, 1],
          [j, -1],
        ],
        at,
      );
      found.push({
        pair: spheres.length * planes.length + p,
        gap: length - spheres[i] - spheres[j],
        friction,
        point: at,
        axes,
        rows,
      });
    });
    physics.data.coordinates.forEach((x, k) => {
      for (const [side, stop] of [
        [1, x.stops?.[0]],
        [-1, x.stops?.[1]],
      ] as const) {
        if (stop === null || stop === undefined || x.q === undefined) continue;
        const rows = zeros(3 * physics.n);
        rows[x.v] = side;
        found.push({
          pair: -1 - (2 * k + (side > 0 ? 0 : 1)),
          gap: side * (q[x.q] - stop),
          friction: 0,
          point: [],
          axes: [],
          rows,
        });
      }
    });
    return found;
  }

  /** Relative velocity along the axes at a point, of the bodies of spheres with their signs: 3 x n. */
  private rows(axes: number[][], of: number[][], at: number[]): Numbers {
    const { n } = this.physics,
      out = zeros(3 * n),
      { J, origins } = this;
    for (const [k, sign] of of) {
      const o = 6 * k * n,
        x = at.map((v, i) => v - origins[3 * k + i]);
      for (let i = 0; i < n; i++) {
        const w = [J[o + i], J[o + n + i], J[o + 2 * n + i]],
          v = [J[o + 3 * n + i], J[o + 4 * n + i], J[o + 5 * n + i]];
        const moved = [v[0] + w[1] * x[2] - w[2] * x[1], v[1] + w[2] * x[0] - w[0] * x[2], v[2] + w[0] * x[1] - w[1] * x[0]];
        axes.forEach((axis, r) => (out[r * n + i] += sign * (axis[0] * moved[0] + axis[1] * moved[1] + axis[2] * moved[2])));
      }
    }
    return out;
  }
}

const push = ({ point, axes }: Touching, f: number[]): Push => ({
  point,
  force: [0, 1, 2].map((i) => axes[0][i] * f[0] + axes[1][i] * f[1] + axes[2][i] * f[2]),
});

/** Row r of three times v. */
function dot(rows: Numbers, v: Numbers, r: number): number {
  let sum = 0;
  for (let i = 0; i < v.length; i++) sum += rows[r * v.length + i] * v[i];
  return sum;
}

/** n, t1, t2: an orthonormal triad on a normal. */
function triad(n: number[]): number[][] {
  const sizes = n.map(Math.abs),
    e = [0, 0, 0];
  e[sizes.indexOf(Math.min(...sizes))] = 1;
  const cross = (a: number[], b: number[]) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const t = cross(n, e),
    size = Math.hypot(...t),
    t1 = t.map((x) => x / size);
  return [n, t1, cross(n, t1)];
}
