/** How the robot moves from step to step. */
import { cholesky, solve, zeros, type Numbers } from "./linear";
import { CREEP, type Physics, type Pull } from "./physics";

/** rad/s or m/s: slower is at rest, in a loop of which a joint has come to rest. */
const ROUNDING = 1e-10;

/** What steps of order four bear of dt times a rate of decay, with some room. */
const STABLE = 2;

/** Steps of order four, of order one where friction is stiff; dry friction sticks and slips, stops are inelastic, from step to step. */
export class Integrator {
  constructor(readonly physics: Physics) {}

  /** Advances q and qd; qdd is the acceleration at the beginning. False where the motion cannot go on. */
  step(q: Numbers, qd: Numbers, qdd: Numbers, tau: Numbers, dt: number, pull: Pull): boolean {
    const { physics } = this,
      n = physics.n;
    const sliding = this.sliding(qd),
      held = this.resting(q, qd);
    if (!this.settle(q, qd, qdd, tau, pull, held, sliding)) return false;
    const slopes = physics.slopes(qd);
    if (this.isStiff(slopes, dt)) return this.implicit(q, qd, tau, dt, pull, held, sliding, slopes);
    const stage = (a: Numbers, va: Numbers, dq: Numbers, h: number) => {
      const p = q.slice(),
        v = qd.slice();
      for (let i = 0; i < p.length; i++) p[i] += h * dq[i];
      for (let i = 0; i < n; i++) v[i] += h * va[i];
      return physics.accelerate(p, v, tau, pull, held, sliding, a) ? { p, v } : null;
    };
    const rate = (p: Numbers, v: Numbers) => (physics.kernels.rates(p, v, buffer), buffer.slice());
    const buffer = zeros(q.length);
    const [a2, a3, a4] = [zeros(n), zeros(n), zeros(n)];
    const d1 = rate(q, qd);
    const s2 = stage(a2, qdd, d1, dt / 2);
    if (!s2) return false;
    const d2 = rate(s2.p, s2.v),
      s3 = stage(a3, a2, d2, dt / 2);
    if (!s3) return false;
    const d3 = rate(s3.p, s3.v),
      s4 = stage(a4, a3, d3, dt);
    if (!s4) return false;
    const d4 = rate(s4.p, s4.v);
    for (let i = 0; i < q.length; i++) q[i] += (dt / 6) * (d1[i] + 2 * (d2[i] + d3[i]) + d4[i]);
    for (let i = 0; i < n; i++) qd[i] += (dt / 6) * (qdd[i] + 2 * (a2[i] + a3[i]) + a4[i]);
    physics.normalize(q);
    return this.ended(q, qd, held, sliding);
  }

  private ended(q: Numbers, qd: Numbers, held: Set<number>, sliding: Map<number, number>): boolean {
    const stopped = this.finish(q, qd, sliding);
    if (!this.closed(q, qd, new Set([...held, ...stopped]))) return false;
    return q.every(Number.isFinite) && qd.every(Number.isFinite);
  }

  /** Friction brakes so hard for the inertia that a step of order four would overshoot: dt times the largest eigenvalue of M^-1 D,
   * as a few iterations tell; after M was computed. */
  private isStiff(slopes: Numbers, dt: number): boolean {
    const { M, n } = this.physics;
    if (!slopes.some((x, i) => dt * x > 0.1 * STABLE * M[i * (n + 1)])) return false;
    const L = M.slice();
    let x = slopes.map(Math.sqrt),
      size = 0;
    if (!cholesky(L, n)) return false;
    for (let k = 0; k < 6; k++) {
      const next = x.map((v, i) => v * slopes[i]);
      solve(L, n, next);
      size = Math.sqrt(next.reduce((sum, v) => sum + v * v, 0) / x.reduce((sum, v) => sum + v * v, 0));
      x = next;
    }
    return dt * size > STABLE;
  }

  /** A step of order one in which friction is that of its end: (M + dt D) (v+ - v) = dt f(q, v), q+ = q + dt (v + v+) / 2. */
  private implicit(
    q: Numbers,
    qd: Numbers,
    tau: Numbers,
    dt: number,
    pull: Pull,
    held: Set<number>,
    sliding: Map<number, number>,
    slopes: Numbers,
  ): boolean {
    const { physics } = this,
      a = zeros(physics.n);
    const damping = slopes.map((x) => dt * x);
    if (!physics.accelerate(q, qd, tau, pull, held, sliding, a, damping)) return false;
    const mean = qd.map((x, i) => x + (dt / 2) * a[i]);
    for (let i = 0; i < physics.n; i++) qd[i] += dt * a[i];
    physics.advance(q, mean, dt);
    return this.ended(q, qd, held, sliding);
  }

  /** Back onto closed loops, where what rests goes on resting if that can be. */
  private closed(q: Numbers, qd: Numbers, rests: Set<number>): boolean {
    const { physics } = this;
    if (!physics.data.isClosed) return true;
    const [p, v] = [q.slice(), qd.slice()];
    if (!rests.size || !physics.close(q, qd, rests)) {
      q.set(p);
      qd.set(v);
      return physics.close(q, qd);
    }
    qd.forEach((x, i) => Math.abs(x) < ROUNDING && (qd[i] = 0)); // a loop that stands still stands still exactly
    return true;
  }

  /** The accelerations at a state, into qdd; the forces of pull and loops are left in `physics.external`. */
  accelerations(q: Numbers, qd: Numbers, qdd: Numbers, tau: Numbers, pull: Pull): boolean {
    const { physics } = this;
    if (!this.settle(q, qd, qdd, tau, pull, this.resting(q, qd), this.sliding(qd))) return false;
    for (let i = 0; i < physics.n; i++) physics.external[i] -= physics.reactions[i];
    return true;
  }

  /** Which way dry friction acts through a whole step: a joint that would turn round within it stops first. */
  private sliding(qd: Numbers): Map<number, number> {
    const found = new Map<number, number>();
    this.physics.dry.forEach((dry, i) => dry && qd[i] !== 0 && found.set(i, Math.sign(qd[i])));
    return found;
  }

  /** Columns that may be held: at rest under dry friction, or against a stop. */
  private resting(q: Numbers, qd: Numbers): Set<number> {
    const held = new Set<number>();
    for (const x of this.physics.data.coordinates) {
      if (qd[x.v] !== 0) continue;
      if (this.physics.dry[x.v] && this.physics.world.friction) held.add(x.v);
      else if (x.q !== undefined && x.stops && this.side(x.stops, q[x.q])) held.add(x.v);
    }
    return held;
  }

  private side([low, high]: [number | null, number | null], q: number): number {
    return high !== null && q >= high ? 1 : low !== null && q <= low ? -1 : 0;
  }

  /** Lets go, one after the other, of what neither friction nor a stop can hold; leaves the accelerations in qdd. */
  private settle(
    q: Numbers,
    qd: Numbers,
    qdd: Numbers,
    tau: Numbers,
    pull: Pull,
    held: Set<number>,
    sliding: Map<number, number>,
  ): boolean {
    const { physics } = this,
      n = physics.n;
    for (let round = 0; ; round++) {
      if (!physics.accelerate(q, qd, tau, pull, held, sliding, qdd)) return false;
      if (!held.size || round > n) return true;
      let worst = 0,
        which = -1,
        way = 0;
      for (const i of held) {
        let need =
          physics.c[i] * (physics.world.coriolis ? 1 : 0) + physics.g[i] + physics.spring[i] - tau[i] - physics.external[i];
        for (let j = 0; j < n; j++) need += physics.M[i * n + j] * qdd[j];
        need += physics.reactions[i];
        const over = need > 0 ? need - this.holds(i, q, 1, need) : -need - this.holds(i, q, -1, -need);
        if (over > worst) [worst, which, way] = [over, i, need > 0 ? -1 : 1];
      }
      if (which < 0) return true;
      held.delete(which);
      if (this.physics.dry[which]) sliding.set(which, way);
    }
  }

  /** The most that friction and stop can push column i in a direction. */
  private holds(i: number, q: Numbers, direction: number, load: number): number {
    const { physics } = this,
      x = physics.data.coordinates.find((c) => c.v === i)!;
    if (x.q !== undefined && x.stops && this.side(x.stops, q[x.q]) === -direction) return Infinity;
    if (!this.physics.dry[i] || !physics.world.friction) return 0;
    const speed = zeros(physics.n),
      loads = zeros(physics.n),
      tau = zeros(physics.n);
    speed[i] = -direction * CREEP;
    loads[i] = direction * load;
    physics.kernels.demanded_torque(speed, loads, tau);
    return direction * (loads[i] - tau[i]);
  }

  /** Dry joints that turned round stand still; joints beyond a stop are put on it, without their speed. Returns those columns. */
  private finish(q: Numbers, qd: Numbers, sliding: Map<number, number>): Set<number> {
    const { physics } = this,
      stopped = new Set<number>();
    for (const x of physics.data.coordinates) {
      if (physics.world.friction && (sliding.get(x.v) ?? 0) * qd[x.v] < 0) {
        qd[x.v] = 0;
        stopped.add(x.v);
      }
      if (x.q === undefined || !x.stops) continue;
      const side = this.side(x.stops, q[x.q]);
      if (!side) continue;
      q[x.q] = x.stops[side > 0 ? 1 : 0]!;
      if (qd[x.v] * side > 0) this.bump(q, qd, x.v);
      if (qd[x.v] === 0) stopped.add(x.v);
    }
    return stopped;
  }

  /** An inelastic blow: column i loses its speed, the others take their share of it. */
  private bump(q: Numbers, qd: Numbers, i: number): void {
    const { physics } = this,
      n = physics.n;
    physics.evaluate(q, qd);
    const L = physics.M.slice(),
      e = zeros(n);
    e[i] = 1;
    if (cholesky(L, n)) {
      solve(L, n, e);
      const s = qd[i] / e[i];
      for (let k = 0; k < n; k++) qd[k] -= e[k] * s;
    }
    qd[i] = 0;
  }
}
