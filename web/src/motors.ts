/** What the motors do while the robot moves: nothing, carry gravity, or hold a pose. */
import { zeros, type Numbers } from "./linear";
import type { Data } from "./model";
import type { Physics } from "./physics";
import type { State } from "./state";

export class Motors {
  /** The pose that is held. */
  held: Numbers | null = null;
  private readonly mass: number;

  constructor(
    readonly data: Data,
    readonly physics: Physics,
    readonly state: State,
  ) {
    this.mass = data.bodies.reduce((sum, x) => sum + x.mass, 0);
  }

  /** Joint forces at a state. */
  forces(q: Numbers, qd: Numbers): Numbers {
    const { physics, state } = this,
      tau = zeros(physics.n);
    if (state.drive === "free") return tau;
    physics.evaluate(q, qd);
    const driven = this.data.coordinates.filter((x) => x.isDriven),
      wish = zeros(physics.n);
    const off = (x: (typeof driven)[number]) => (x.q === undefined || !this.held ? 0 : this.held[x.q] - q[x.q]);
    for (const x of driven) wish[x.v] = 100 * off(x) - 20 * qd[x.v];
    for (const x of driven) {
      tau[x.v] = physics.g[x.v] + physics.spring[x.v];
      if (state.drive !== "hold") continue;
      if (this.data.isFloating) {
        // legs carry all of its weight, not only their own
        const stiff = this.mass * 9.81 * this.data.reach;
        tau[x.v] += stiff * off(x) - 1.4 * Math.sqrt(stiff * physics.M[x.v * (physics.n + 1)]) * qd[x.v];
      } else for (const y of driven) tau[x.v] += physics.M[x.v * physics.n + y.v] * wish[y.v];
    }
    return tau;
  }
}
