/** Motion in the page: simulated here, or recorded; played, scrubbed, and drawn over time. */
import uPlot from "uplot";
import { announce, el, icon, shown } from "./dom";
import { zeros, type Numbers } from "./linear";
import type { Data } from "./model";
import { Integrator } from "./integrator";
import type { Physics, Pull } from "./physics";
import type { State } from "./state";

/** s: of one step of order four. */
export const STEP = 1e-3;
/** s: between two samples kept. */
const SAMPLE = 0.01;
/** The most samples kept: five minutes. */
const LONGEST = 30_000;

export interface Sample {
  t: number;
  q: Numbers;
  qd: Numbers;
  qdd: Numbers;
  tau: Numbers;
  kinetic: number;
  potential: number;
}

const COLORS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8a7f00", "#666666"];

export class Simulation {
  readonly samples: Sample[] = [];
  time = 0;
  running = false;
  speed = 1;
  pull: Pull = null;
  readonly recorded: boolean;
  private readonly integrator: Integrator;
  private held: Numbers | null = null;
  private owed = 0;
  private readonly button = el(
    "button",
    { type: "button", class: "play", "aria-label": "play", title: "space", onclick: () => this.toggle() },
    icon("play"),
  );
  private readonly scrub = el("input", {
    type: "range",
    min: "0",
    max: "0",
    step: "any",
    value: "0",
    "aria-label": "time",
    class: "scrub",
  });
  private readonly clock = el("output", { class: "clock" }, "0.00 s");
  private readonly energyHost = el("div", { class: "strip" });
  private readonly torqueHost = el("div", { class: "strip" });
  private plots: { energy: uPlot; torque: uPlot } | null = null;
  private drawn = -1;

  constructor(
    readonly data: Data,
    readonly physics: Physics,
    readonly state: State,
    readonly host: HTMLElement,
    readonly changed: () => void,
  ) {
    this.integrator = new Integrator(physics);
    this.recorded = data.motion !== null;
    const speeds = el(
      "select",
      { "aria-label": "speed" },
      ...[
        ["1", "1 ×"],
        ["0.25", "¼ ×"],
        ["0.1", "⅒ ×"],
        ["0.02", "1⁄50 ×"],
      ].map(([value, text]) => el("option", { value }, text)),
    );
    speeds.addEventListener("change", () => (this.speed = Number(speeds.value)));
    this.scrub.addEventListener("input", () => this.seek(this.scrub.valueAsNumber));
    host.append(
      el(
        "div",
        { class: "player" },
        this.button,
        el(
          "button",
          { type: "button", "aria-label": "back to the start", title: "0", onclick: () => this.rewind() },
          icon("start"),
        ),
        this.scrub,
        this.clock,
        speeds,
      ),
      el("div", { class: "strips" }, this.energyHost, this.torqueHost),
    );
    if (data.motion) {
      const { t, q, qd, qdd, tau } = data.motion;
      t.forEach((time, k) => {
        const sample = {
          t: time - t[0],
          q: Float64Array.from(q[k]),
          qd: Float64Array.from(qd[k]),
          qdd: Float64Array.from(qdd[k]),
          tau: Float64Array.from(tau[k]),
        };
        physics.evaluate(sample.q, sample.qd);
        this.samples.push({ ...sample, kinetic: physics.kinetic[0], potential: physics.potential[0] });
      });
      this.show(this.samples[0]);
    }
  }

  toggle(): void {
    this.running = !this.running;
    if (this.running && this.recorded && this.time >= this.end) this.time = 0;
    this.button.replaceChildren(icon(this.running ? "pause" : "play"));
    this.button.setAttribute("aria-label", this.running ? "pause" : "play");
    if (this.running) {
      this.owed = 0;
      if (!this.recorded) this.cut();
      this.held = this.state.q.slice();
    }
    this.changed();
  }

  stop(): void {
    if (this.running) this.toggle();
  }

  get end(): number {
    return this.samples.at(-1)?.t ?? 0;
  }

  /** The state was set by hand: what was simulated before belongs to another motion. */
  edited(): void {
    if (this.recorded || this.running) return;
    this.samples.length = 0;
    this.time = 0;
    this.drawn = -1;
  }

  /** Going on from a moment that was scrubbed to: the rest of the recording is forgotten. */
  private cut(): void {
    while (this.samples.length && this.samples.at(-1)!.t > this.time + 1e-12) this.samples.pop();
    if (!this.samples.length) this.keep(zeros(this.physics.n));
  }

  rewind(): void {
    this.stop();
    if (this.samples.length) this.seek(0);
  }

  seek(t: number): void {
    this.stop();
    let low = 0,
      high = this.samples.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.samples[middle].t <= t) low = middle;
      else high = middle - 1;
    }
    if (this.samples[low]) this.show(this.samples[low]);
    this.changed();
  }

  private show(sample: Sample): void {
    this.time = sample.t;
    this.state.q.set(sample.q);
    this.state.qd.set(sample.qd);
    this.state.qdd.set(sample.qdd);
  }

  /** Joint forces of the motors. */
  private motors(q: Numbers, qd: Numbers): Numbers {
    const { physics, state } = this,
      tau = zeros(physics.n);
    if (state.drive === "free") return tau;
    physics.evaluate(q, qd);
    const wish = zeros(physics.n);
    if (state.drive === "hold" && this.held)
      for (const x of this.data.coordinates) wish[x.v] = (x.q === undefined ? 0 : 100 * (this.held[x.q] - q[x.q])) - 20 * qd[x.v];
    for (let i = 0; i < physics.n; i++) {
      tau[i] = physics.g[i] + physics.spring[i];
      if (state.drive === "hold") for (let j = 0; j < physics.n; j++) tau[i] += physics.M[i * physics.n + j] * wish[j];
    }
    return tau;
  }

  /** Advances by real time; true where something moved. */
  tick(elapsed: number): boolean {
    if (!this.running) return false;
    const wanted = Math.min(elapsed, 0.05) * this.speed;
    if (this.recorded) {
      this.time += wanted;
      if (this.time >= this.end) this.toggle();
      const k = this.samples.findIndex((x) => x.t >= this.time);
      const now = this.time;
      this.show(this.samples[k < 0 ? this.samples.length - 1 : k]);
      this.time = now;
      return true;
    }
    this.owed += wanted;
    while (this.owed >= STEP) {
      this.owed -= STEP;
      if (!this.advance()) {
        this.toggle();
        announce("The motion cannot go on from here: the mass matrix is singular, or the loop cannot close.");
        break;
      }
    }
    this.integrator.accelerations(this.state.q, this.state.qd, this.state.qdd, this.motors(this.state.q, this.state.qd), this.pull);
    return true;
  }

  /** One step of the simulation. */
  advance(): boolean {
    const { state } = this,
      { q, qd, qdd } = state;
    if (!this.samples.length) this.keep(this.motors(q, qd));
    const tau = this.motors(q, qd);
    if (!this.integrator.step(q, qd, qdd, tau, STEP, this.pull)) return false;
    this.time += STEP;
    const last = this.samples.at(-1);
    if (!last || this.time - last.t >= SAMPLE - 1e-9) this.keep(tau);
    return true;
  }

  private keep(tau: Numbers): void {
    const { state, physics } = this;
    this.integrator.accelerations(state.q, state.qd, state.qdd, tau, this.pull);
    physics.evaluate(state.q, state.qd);
    this.samples.push({
      t: this.time,
      q: state.q.slice(),
      qd: state.qd.slice(),
      qdd: state.qdd.slice(),
      tau,
      kinetic: physics.kinetic[0],
      potential: physics.potential[0],
    });
    if (this.samples.length > LONGEST) this.samples.splice(0, LONGEST / 10);
  }

  /** The bar and the strips. */
  update(): void {
    this.scrub.max = String(this.end || 1);
    this.scrub.disabled = !this.samples.length;
    this.scrub.value = String(this.time);
    this.scrub.setAttribute("aria-valuetext", `${this.time.toFixed(2)} seconds`);
    this.clock.value = `${this.time.toFixed(2)} s`;
    const busy = this.samples.length > 1;
    this.host.classList.toggle("empty", !busy);
    if (!busy) return;
    if (!this.plots)
      this.plots = {
        energy: this.plot(this.energyHost, "energy, J", ["T", "V", "T + V"]),
        torque: this.plot(
          this.torqueHost,
          this.data.motion?.measured ? "joint forces, N m (dashed: measured)" : "joint forces, N m",
          this.jointNames(),
        ),
      };
    if (this.samples.length !== this.drawn) {
      this.drawn = this.samples.length;
      const { energy, torque } = this.columns();
      this.plots.energy.setData(energy);
      this.plots.torque.setData(torque);
    }
    const { energy, torque } = this.plots;
    queueMicrotask(() => {
      for (const plot of [energy, torque]) plot.setCursor({ left: plot.valToPos(this.time, "x"), top: 1 }); // after it has its scales
    });
  }

  private jointNames(): string[] {
    const names = this.data.coordinates.slice(0, COLORS.length).map((x) => x.short);
    return this.data.motion?.measured ? [...names, ...names.map((x) => `${x} measured`)] : names;
  }

  private columns(): { energy: uPlot.AlignedData; torque: uPlot.AlignedData } {
    const every = Math.ceil(this.samples.length / 1500),
      kept = this.samples.filter((_, k) => k % every === 0 || k === this.samples.length - 1);
    const t = kept.map((x) => x.t),
      joints = this.data.coordinates.slice(0, COLORS.length);
    const energy = [t, kept.map((x) => x.kinetic), kept.map((x) => x.potential), kept.map((x) => x.kinetic + x.potential)];
    const torque = [t, ...joints.map((x) => kept.map((s) => s.tau[x.v]))];
    const measured = this.data.motion?.measured;
    if (measured) {
      const rows = this.samples.map((_, k) => k).filter((k) => k % every === 0 || k === this.samples.length - 1);
      torque.push(...joints.map((x) => rows.map((k) => measured[k][x.v])));
    }
    return { energy: energy as uPlot.AlignedData, torque: torque as uPlot.AlignedData };
  }

  private plot(host: HTMLElement, title: string, names: string[]): uPlot {
    const style = getComputedStyle(document.documentElement),
      ink = style.getPropertyValue("--soft"),
      line = style.getPropertyValue("--line");
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "11px system-ui" };
    const color = (k: number) => (title.startsWith("energy") ? ["#0072b2", "#009e73", ink][k] : COLORS[k % COLORS.length]);
    const half = names.some((x) => x.endsWith(" measured")) ? names.length / 2 : names.length;
    const series = names.map((label, k) => ({
      label,
      stroke: title.startsWith("energy") ? color(k) : color(k % half),
      width: 1.5,
      points: { show: false },
      ...(k >= half ? { dash: [4, 3] } : {}),
      value: (_: uPlot, x: number | null) => (x === null ? "–" : shown(x, 4)),
    }));
    host.replaceChildren(el("h3", {}, title));
    return new uPlot(
      {
        width: Math.max(host.clientWidth, 200),
        height: 130,
        series: [{ label: "t, s", value: (_: uPlot, x: number | null) => (x === null ? "–" : x.toFixed(2)) }, ...series],
        scales: {
          x: { time: false },
          y: {
            range: (_, low, high) =>
              high - low > 1e-9 ? [low - 0.05 * (high - low), high + 0.05 * (high - low)] : [low - 1, high + 1],
          },
        },
        axes: [
          { ...axis, size: 26 },
          { ...axis, size: 46, values: (_, ticks) => ticks.map((x) => shown(x, 3)) },
        ],
        legend: { show: names.length <= 4, live: true },
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 5 } },
      },
      [[], ...names.map(() => [])] as unknown as uPlot.AlignedData,
      host,
    );
  }

  resize(): void {
    if (!this.plots) return;
    for (const [plot, host] of [
      [this.plots.energy, this.energyHost],
      [this.plots.torque, this.torqueHost],
    ] as const)
      plot.setSize({ width: Math.max(host.clientWidth, 200), height: 130 });
  }

  /** Colours have changed. */
  recolor(): void {
    if (!this.plots) return;
    this.plots.energy.destroy();
    this.plots.torque.destroy();
    this.plots = null;
    this.drawn = -1;
  }
}
