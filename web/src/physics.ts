/** The robot's dynamics in its present world: gravity, payload, friction; and how it moves. */
import { cholesky, solve, timesTransposed, zeros, type Numbers } from "./linear";
import type { Data, Kernels, Point } from "./model";
import { atStops } from "./stops";

/** A speed that has a sign and nothing else: dry friction at its first motion. */
export const CREEP = 1e-12;
/** Added to rows of constraints that follow from others. */
const REDUNDANT = 1e-10;
/** Of the largest force: less is what rounding leaves, of recordings with nine digits. */
export const ROUNDING = 1e-8;

export interface World {
  gravity: number[];
  payload: number;
  friction: boolean;
  coriolis: boolean;
  tip: number;
}

/** A pull at the tip: three forces, world axes, N. */
export type Pull = ((tip: Numbers, velocity: Numbers) => number[]) | null;

const largest = (...vectors: Numbers[]) => Math.max(...vectors.flatMap((x) => Array.from(x, Math.abs)));

export class Physics {
  readonly n: number;
  readonly M: Numbers;
  readonly c: Numbers;
  readonly g: Numbers;
  readonly spring: Numbers;
  readonly friction: Numbers;
  readonly kinetic = zeros(1);
  readonly potential = zeros(1);
  readonly centre = zeros(3);
  readonly poses: Numbers;
  readonly J: Numbers;
  readonly tip = zeros(3);
  /** Joint forces from outside, of a pull, contacts, loops and stops: as last computed, or at the state that is shown. */
  readonly external: Numbers;
  /** Forces of closed loops on the columns, with the sign of a load. */
  readonly reactions: Numbers;
  world: World;
  private readonly parameters: Numbers;
  private readonly factor: Numbers;
  private readonly h: Numbers;
  private readonly A: Numbers;
  private readonly bend: Numbers;
  private readonly rows: number;
  /** Columns that dry friction can hold at rest. */
  readonly dry: boolean[];

  constructor(
    readonly data: Data,
    readonly kernels: Kernels,
  ) {
    const n = (this.n = data.nv);
    [this.c, this.g, this.spring, this.friction] = [zeros(n), zeros(n), zeros(n), zeros(n)];
    this.M = zeros(n * n);
    this.external = zeros(n);
    this.reactions = zeros(n);
    this.factor = zeros(n * n);
    this.J = zeros(6 * n);
    this.poses = zeros(12 * data.bodies.length);
    this.parameters = Float64Array.from(data.parameters);
    const [h, A, bend] = data.sizes.loops ?? [0, 0, 0];
    [this.h, this.A, this.bend, this.rows] = [zeros(h), zeros(A), zeros(bend), bend];
    const friction = (i: number, speed: number) => {
      const [qd, tau] = [zeros(n), zeros(n)];
      qd[i] = speed;
      kernels.demanded_torque(qd, zeros(n), tau);
      return tau[i];
    };
    this.dry = Array.from({ length: n }, (_, i) => friction(i, CREEP) - friction(i, -CREEP) > 1e-9);
    this.world = { gravity: [...data.gravity], payload: 0, friction: true, coriolis: true, tip: 0 };
  }

  /** The inertial parameters with the payload in them. */
  loaded(): Numbers {
    this.parameters.set(this.data.parameters);
    const held = this.data.tips[this.world.tip]?.payload;
    if (held && this.world.payload) held.values.forEach((x, k) => (this.parameters[held.at + k] += this.world.payload * x));
    return this.parameters;
  }

  /** Fills M, c, g, spring, energies and the centre of mass. */
  evaluate(q: Numbers, qd: Numbers): void {
    this.kernels.dynamics(
      q,
      qd,
      this.world.gravity,
      this.loaded(),
      this.M,
      this.c,
      this.g,
      this.spring,
      this.kinetic,
      this.potential,
      this.centre,
    );
  }

  /** Gamma_ijk with c_k = sum_ij Gamma_ijk qd_i qd_j: c is quadratic, so it tells them at unit speeds and their sums. Leaves everything as at `now`. */
  christoffel(q: Numbers, now: Numbers): Numbers {
    const { n } = this,
      out = zeros(n ** 3),
      single: Numbers[] = [];
    const at = (...columns: number[]) => {
      const qd = zeros(n);
      for (const i of columns) qd[i] += 1;
      this.evaluate(q, qd);
      return this.c.slice();
    };
    for (let i = 0; i < n; i++) single.push(at(i));
    for (let i = 0; i < n; i++) {
      for (let j = i; j < n; j++) {
        const both = i === j ? null : at(i, j);
        for (let k = 0; k < n; k++) {
          const value = both ? (both[k] - single[i][k] - single[j][k]) / 2 : single[i][k];
          out[(i * n + j) * n + k] = out[(j * n + i) * n + k] = value;
        }
      }
    }
    this.evaluate(q, now);
    return out;
  }

  /** Fills poses, the Jacobian of the tip and where it is. */
  place(q: Numbers): void {
    this.kernels.poses(q, this.poses);
    const tip = this.data.tips[this.world.tip];
    if (!tip) return;
    this.kernels[`jacobian${this.world.tip}`]!(q, this.J);
    const frame = this.data.frames[tip.frame],
      at = [frame.pose[3], frame.pose[7], frame.pose[11]];
    for (let r = 0; r < 3; r++) {
      const o = 12 * tip.body + 4 * r;
      this.tip[r] =
        tip.body < 0 ? at[r] : this.poses[o] * at[0] + this.poses[o + 1] * at[1] + this.poses[o + 2] * at[2] + this.poses[o + 3];
    }
  }

  /** The joint forces for a motion under `external`, in parts; after `evaluate`.
   *
   * Where the motors' forces are known, what they leave open is the rest: of dry friction, where it holds a joint, or from outside,
   * of stops and contacts. */
  torques(q: Numbers, qd: Numbers, qdd: Numbers, motors: Numbers | null): { inertial: Numbers; tau: Numbers } {
    const { n, M, external, friction, world } = this,
      inertial = zeros(n),
      load = zeros(n),
      tau = zeros(n);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) inertial[i] += M[i * n + j] * qdd[j];
      load[i] = inertial[i] + (world.coriolis ? this.c[i] : 0) + this.g[i] + this.spring[i] - external[i];
    }
    if (!world.friction) friction.fill(0);
    else if (motors) {
      this.kernels.delivered_torque(qd, motors, tau);
      for (let i = 0; i < n; i++) friction[i] = motors[i] - tau[i];
    } else {
      this.kernels.demanded_torque(qd, load, tau);
      for (let i = 0; i < n; i++) friction[i] = tau[i] - load[i];
    }
    if (motors) this.attribute(q, qd, load, motors, largest(inertial, this.c, this.g, this.spring, motors, external));
    for (let i = 0; i < n; i++) tau[i] = load[i] + friction[i];
    return { inertial, tau };
  }

  /** Joint forces of a motion beside the motors': of loops, stops, contacts, a pull, and of friction that holds. */
  beside({ q, qd, qdd }: Point, external: Numbers, motors: Numbers | null): Numbers {
    this.evaluate(q, qd);
    this.external.set(external);
    const { tau: shown } = this.torques(q, qd, qdd, motors);
    this.external.fill(0);
    const { tau: needed } = this.torques(q, qd, qdd, null),
      size = largest(needed, shown);
    return needed.map((x, i) => (Math.abs(x - shown[i]) > ROUNDING * size ? x - shown[i] : 0));
  }

  /** What the motors leave open of a load, whose largest part is so large, goes to friction or outside. */
  private attribute(q: Numbers, qd: Numbers, load: Numbers, motors: Numbers, size: number): void {
    const { external, friction, data } = this,
      known = !(data.isClosed && data.motion), // else forces of loops are not told apart
      stopped = new Set([...atStops(data.coordinates, q)].map((x) => x.v));
    for (let i = 0; i < this.n; i++) {
      const left = motors[i] - friction[i] - load[i];
      if (Math.abs(left) <= ROUNDING * size) continue;
      if (known && this.world.friction && this.dry[i] && qd[i] === 0 && !stopped.has(i)) friction[i] += left;
      else {
        external[i] -= left;
        load[i] += left;
      }
    }
  }

  /** Accelerations under joint forces and a pull; columns in `held` stay at rest, dry friction acts against `sliding`; `damping` is
   * inertia that columns have besides. */
  accelerate(
    q: Numbers,
    qd: Numbers,
    tau: Numbers,
    pull: Pull,
    held: Set<number>,
    sliding: Map<number, number>,
    out: Numbers,
    damping: Numbers | null = null,
  ): boolean {
    const { n, M } = this;
    this.evaluate(q, qd);
    const speed = qd.slice();
    sliding.forEach((sign, i) => speed[i] * sign <= 0 && (speed[i] = sign * CREEP));
    if (this.world.friction) this.kernels.delivered_torque(speed, tau, out);
    else out.set(tau);
    if (pull) this.external.set(this.pulled(q, qd, pull));
    else this.external.fill(0);
    for (let i = 0; i < n; i++) out[i] += this.external[i] - (this.world.coriolis ? this.c[i] : 0) - this.g[i] - this.spring[i];
    this.factor.set(M);
    if (damping) for (let i = 0; i < n; i++) this.factor[i * (n + 1)] += damping[i];
    for (const i of held) {
      for (let j = 0; j < n; j++) this.factor[i * n + j] = this.factor[j * n + i] = i === j ? 1 : 0;
      out[i] = 0;
    }
    if (!cholesky(this.factor, n)) return false;
    solve(this.factor, n, out);
    this.reactions.fill(0);
    if (!this.rows) return true;
    this.kernels.loops!(q, qd, this.h, this.A, this.bend);
    return this.within(out, this.bend, held);
  }

  /** How much friction grows with the speed of each column, N m s/rad or N s/m. */
  slopes(qd: Numbers): Numbers {
    if (!this.world.friction) return zeros(this.n);
    const [now, faster, none] = [zeros(this.n), zeros(this.n), zeros(this.n)],
      speed = qd.map((x) => x || CREEP);
    this.kernels.demanded_torque(speed, none, now);
    this.kernels.demanded_torque(
      speed.map((x) => x + Math.sign(x)),
      none,
      faster,
    );
    return faster.map((x, i) => Math.max(0, (x - now[i]) * Math.sign(speed[i])));
  }

  /** Why there is no next step from here, in words. */
  obstacle(q: Numbers, qd: Numbers): string {
    const { M, n, data } = this;
    this.evaluate(q, qd);
    const light = data.coordinates.find((x) => !(M[x.v * (n + 1)] > 0));
    if (light) return `The motion cannot begin: nothing resists joint ${light.name}, its links have no mass.`;
    if (!cholesky(M.slice(), n)) return "The motion cannot go on from here: the mass matrix is singular.";
    if (data.isClosed) return "The motion cannot go on from here: a loop cannot close, or steps of 1 ms are too long.";
    return "The motion diverges from here: friction or springs are too stiff for steps of 1 ms.";
  }

  /** The least change of v, by kinetic energy, so that A v = -c; after M has been factored. What it takes is left in `reactions`. */
  private within(v: Numbers, c: Numbers, held: Set<number>): boolean {
    const { n, rows, A } = this;
    const Y = Array.from({ length: rows }, (_, r) => {
      const y = A.slice(r * n, r * n + n);
      for (const i of held) y[i] = 0;
      solve(this.factor, n, y);
      return y;
    });
    const G = zeros(rows * rows),
      left = zeros(rows);
    for (let r = 0; r < rows; r++) {
      left[r] = c[r];
      for (let i = 0; i < n; i++) left[r] += A[r * n + i] * v[i];
      for (let s = 0; s < rows; s++) for (let i = 0; i < n; i++) G[r * rows + s] += A[r * n + i] * Y[s][i];
    }
    const size = Math.max(...Array.from({ length: rows }, (_, r) => G[r * rows + r]), 1e-12);
    for (let r = 0; r < rows; r++) G[r * rows + r] += REDUNDANT * size;
    if (!cholesky(G, rows)) return false;
    solve(G, rows, left);
    this.reactions.fill(0);
    for (let r = 0; r < rows; r++)
      for (let i = 0; i < n; i++) {
        v[i] -= Y[r][i] * left[r];
        this.reactions[i] += A[r * n + i] * left[r];
      }
    return true;
  }

  /** q back onto closed loops, and qd along them; coordinates in `fixed` stay where they are. False where the loop cannot close. */
  close(q: Numbers, qd: Numbers, fixed = new Set<number>()): boolean {
    if (!this.rows) return true;
    const none = zeros(this.n);
    for (let k = 0; k < 20; k++) {
      this.evaluate(q, none);
      this.kernels.loops!(q, none, this.h, this.A, this.bend);
      this.factor.set(this.M);
      for (const i of fixed)
        for (let j = 0; j < this.n; j++) this.factor[i * this.n + j] = this.factor[j * this.n + i] = i === j ? 1 : 0;
      if (!cholesky(this.factor, this.n)) return false;
      if (Math.max(...this.h.map(Math.abs)) < 1e-13) break;
      const step = zeros(this.n);
      if (!this.within(step, this.h, fixed)) return false;
      const longest = Math.max(...step.map(Math.abs));
      if (longest > 0.2) step.forEach((x, i) => (step[i] = (x * 0.2) / longest));
      this.advance(q, step);
    }
    if (!this.within(qd, zeros(this.rows), fixed)) return false;
    return Math.max(0, ...this.h.map(Math.abs)) < 1e-9;
  }

  /** Rows without what closed loops do not allow: each made orthogonal to those of A. */
  withinLoops(q: Numbers, rows: Numbers): Numbers {
    const { n, A, rows: m } = this;
    if (!m) return rows;
    this.kernels.loops!(q, zeros(n), this.h, A, this.bend);
    const G = timesTransposed(A, A, m, m, n),
      size = Math.max(...Array.from({ length: m }, (_, r) => G[r * (m + 1)]), 1e-12);
    for (let r = 0; r < m; r++) G[r * (m + 1)] += REDUNDANT * size;
    if (!cholesky(G, m)) return rows;
    for (let k = 0; k < rows.length; k += n) {
      const row = rows.subarray(k, k + n),
        parts = zeros(m);
      for (let r = 0; r < m; r++) for (let i = 0; i < n; i++) parts[r] += A[r * n + i] * row[i];
      solve(G, m, parts);
      for (let r = 0; r < m; r++) for (let i = 0; i < n; i++) row[i] -= A[r * n + i] * parts[r];
    }
    return rows;
  }

  /** q += rates(q, v), quaternions made unit. */
  advance(q: Numbers, v: Numbers, by = 1): void {
    const dq = zeros(q.length);
    this.kernels.rates(q, v, dq);
    for (let i = 0; i < q.length; i++) q[i] += by * dq[i];
    this.normalize(q);
  }

  normalize(q: Numbers): void {
    for (const x of this.data.coordinates) {
      if (x.quaternion === undefined || x.component !== 0) continue;
      const o = x.quaternion,
        size = Math.hypot(q[o], q[o + 1], q[o + 2], q[o + 3]);
      for (let k = 0; k < 4; k++) q[o + k] /= size;
    }
  }

  /** J^T f of a pull at the tip. */
  private pulled(q: Numbers, qd: Numbers, pull: NonNullable<Pull>): Numbers {
    this.place(q);
    const { n, J } = this,
      velocity = zeros(3),
      out = zeros(n);
    for (let r = 0; r < 3; r++) for (let i = 0; i < n; i++) velocity[r] += J[(3 + r) * n + i] * qd[i];
    const f = pull(this.tip, velocity);
    for (let i = 0; i < n; i++) for (let r = 0; r < 3; r++) out[i] += J[(3 + r) * n + i] * f[r];
    return out;
  }
}
