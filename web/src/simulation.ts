/** Motion in the page: simulated here, or recorded; played and scrubbed. */
import { announce, el, icon } from "./dom";
import { zeros, type Numbers } from "./linear";
import type { Data } from "./model";
import { ContactSteps, type Push } from "./contact";
import { guide } from "./guide";
import { Integrator } from "./integrator";
import { Motors } from "./motors";
import type { Physics, Pull } from "./physics";
import { SPEEDS, type Run, type State } from "./state";
import { Arrivals, type Blow } from "./stops";
import { Strips } from "./strips";

/** s: of one step of order four. */
export const STEP = 1e-3;
/** s: between two samples kept. */
const SAMPLE = 0.01;
/** The most samples kept: five minutes. */
const LONGEST = 30_000;
/** rad/s or m/s: nothing moves as fast, but steps that are too long. */
const DIVERGED = 1e8;
/** s: of the longest run that an address holds, since a page that opens simulates it again. */
const LONGEST_RUN = 20;

export interface Sample {
  t: number;
  q: Numbers;
  qd: Numbers;
  qdd: Numbers;
  /** Joint forces of motors; null where a recording has none. */
  tau: Numbers | null;
  /** Those that were measured, where `tau` is predicted. */
  measured?: number[];
  c: Numbers;
  g: Numbers;
  kinetic: number;
  potential: number;
  /** Joint forces from outside: of a pull, contacts, loops. */
  external: Numbers;
  /** Forces of contacts. */
  pushes: Push[];
  /** Joints that came to a stop since the sample before. */
  blows: Blow[];
}

export class Simulation {
  readonly samples: Sample[] = [];
  time = 0;
  running = false;
  pull: Pull = null;
  readonly recorded: boolean;
  private readonly integrator: Integrator;
  private readonly contact: ContactSteps | null;
  /** Forces of contacts at the state that is shown. */
  pushes: Push[] = [];
  /** Joint forces from outside at the state that is shown, and those of the motors where they are known. */
  readonly external: Numbers;
  private driving: Numbers | null = null;
  private readonly motors: Motors;
  private owed = 0;
  /** s: until when `passed` has told. */
  private told = 0;
  /** The last step could be made. */
  private isSound = true;
  /** The run follows from its first state alone: nobody pulled at it or changed anything meanwhile. */
  private isUntouched = true;
  private readonly arrivals: Arrivals;
  /** The world in which a recorded motion was computed last. */
  private weighed = "";
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
  private readonly speeds = el("select", { "aria-label": "speed" });
  private readonly strips: Strips;

  constructor(
    readonly data: Data,
    readonly physics: Physics,
    readonly state: State,
    readonly host: HTMLElement,
    readonly changed: () => void,
  ) {
    this.external = zeros(physics.n);
    this.integrator = new Integrator(physics);
    this.contact = data.contacts && new ContactSteps(physics, data.contacts);
    this.recorded = data.motion !== null;
    this.strips = new Strips(data, state, changed);
    this.arrivals = new Arrivals(data.coordinates);
    this.motors = new Motors(data, physics, state);
    const speeds = this.speeds;
    speeds.append(...SPEEDS.map((speed) => el("option", { value: String(speed) }, speed === 1 ? "1 ×" : `1⁄${1 / speed} ×`)));
    speeds.addEventListener("change", () => ((state.speed = Number(speeds.value)), changed()));
    this.scrub.addEventListener("input", () => this.seek(this.scrub.valueAsNumber));
    host.append(
      el(
        "div",
        { class: "player" },
        this.button,
        el("button", { type: "button", "aria-label": "back to the start", title: "0", onclick: () => this.rewind() }, icon("start")),
        this.scrub,
        this.clock,
        speeds,
      ),
      guide(data),
      this.strips.root,
    );
    if (data.motion) {
      const { t, q, qd, qdd, tau, measured, contact, external } = data.motion;
      t.forEach((time, k) => {
        const sample = {
          t: time,
          q: Float64Array.from(q[k]),
          qd: Float64Array.from(qd[k]),
          qdd: qdd ? Float64Array.from(qdd[k]) : zeros(data.nv),
          tau: tau ? Float64Array.from(tau[k]) : null,
          measured: measured?.[k],
          external: external ? Float64Array.from(external[k]) : zeros(data.nv),
        };
        const pushes = (contact && this.contact?.placed(sample.q, contact[k])) || [];
        if (k) this.arrivals.look(sample.q, time);
        else this.arrivals.begin(sample.q);
        this.samples.push({ ...sample, ...this.terms(sample.q, sample.qd), pushes, blows: this.arrivals.taken() });
      });
    }
    this.place();
  }

  /** To the time that the address tells, of the recorded motion or of a run, which is simulated again. */
  place(): void {
    const { state } = this,
      { time, isPosed } = state,
      [q, qd, qdd] = [state.q.slice(), state.qd.slice(), state.qdd.slice()];
    if (!this.recorded && state.run) this.again(state.run);
    if (!this.samples.length) return;
    this.show(this.samples[this.index(time ?? this.begin)]);
    if (!isPosed) return;
    if (q.some((x, i) => x !== state.q[i]) || qd.some((x, i) => x !== state.qd[i])) {
      this.driving = null; // it was moved by hand
      this.external.fill(0);
    }
    state.q.set(q);
    state.qd.set(qd);
    state.qdd.set(qdd);
  }

  private again({ length, q, qd }: Run): void {
    const { state } = this;
    state.q.set(q);
    state.qd.set(qd);
    this.motors.held = q.slice();
    this.arrivals.begin(q);
    for (let left = Math.round(Math.min(length, LONGEST_RUN) / STEP); left > 0; left--) if (!this.advance()) break;
    if (this.time > this.end + 1e-9) this.keep(this.motors.forces(state.q, state.qd));
  }

  /** What the address says of time. */
  write(): void {
    const { state, samples, recorded } = this,
      isRun = !recorded && samples.length > 1 && this.isUntouched && !samples[0].t && this.end <= LONGEST_RUN;
    state.run = isRun ? { length: this.end, q: samples[0].q, qd: samples[0].qd } : null;
    state.time = recorded || isRun ? Number(this.time.toPrecision(12)) : null;
  }

  toggle(): void {
    this.running = !this.running;
    if (!this.running) this.rest();
    if (this.running && this.recorded && this.time >= this.end) this.time = this.begin;
    this.button.replaceChildren(icon(this.running ? "pause" : "play"));
    this.button.setAttribute("aria-label", this.running ? "pause" : "play");
    if (this.running) {
      this.owed = 0;
      this.isSound = true;
      this.motors.held = this.state.q.slice();
      if (!this.recorded) this.cut();
      this.arrivals.begin(this.state.q);
      if (this.time > 0 && (this.contact || this.state.drive === "hold")) this.isUntouched = false; // what they remember
    }
    this.changed();
  }

  /** The last moment becomes a sample, so that all that is shown belongs to it. */
  private rest(): void {
    const { q, qd } = this.state;
    if (this.recorded) this.show(this.samples[this.index(this.time)]);
    else if (this.time > this.end + 1e-9 && this.isSound) this.keep(this.motors.forces(q, qd));
  }

  stop(): void {
    if (this.running) this.toggle();
  }

  get begin(): number {
    return this.samples[0]?.t ?? 0;
  }

  get end(): number {
    return this.samples.at(-1)?.t ?? 0;
  }

  /** The state was set by hand: what was simulated before belongs to another motion. */
  edited(): void {
    if (this.running && !this.recorded) {
      this.isUntouched = false;
      return;
    }
    this.external.fill(0);
    this.driving = null;
    if (this.recorded) return this.reweigh();
    this.samples.length = 0;
    this.isUntouched = true;
    this.time = 0;
    this.pushes = [];
    this.contact?.forget();
    this.strips.forget();
  }

  /** A recorded motion in another world: what is computed of it changes. */
  private reweigh(): void {
    const { gravity, payload, tip } = this.state.world,
      world = [...gravity, payload, tip].join();
    if (world === this.weighed) return;
    this.weighed = world;
    for (const sample of this.samples) Object.assign(sample, this.terms(sample.q, sample.qd));
    this.strips.forget();
  }

  /** Going on from a moment that was scrubbed to: the rest of the recording is forgotten. */
  private cut(): void {
    while (this.samples.length && this.samples.at(-1)!.t > this.time + 1e-12) this.samples.pop();
    if (!this.samples.length) this.keep(this.motors.forces(this.state.q, this.state.qd));
  }

  rewind(): void {
    this.stop();
    if (this.samples.length) this.seek(this.begin);
  }

  seek(t: number): void {
    this.stop();
    const sample = this.samples[this.index(t)];
    if (sample) this.show(sample);
    this.changed();
  }

  /** Of the last sample that is not later. */
  private index(t: number): number {
    let low = 0,
      high = this.samples.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.samples[middle].t <= t + 1e-12) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private show(sample: Sample): void {
    this.time = sample.t;
    this.state.q.set(sample.q);
    this.state.qd.set(sample.qd);
    this.state.qdd.set(sample.qdd);
    this.external.set(sample.external);
    this.driving = sample.measured ? null : sample.tau;
    this.pushes = sample.pushes;
  }

  /** Joint forces of the motors at the state that is shown; null where it was set by hand, or moves in another world than it did. */
  get known(): Numbers | null {
    const { gravity, payload, friction, coriolis } = this.state.world,
      isOther = payload || !friction || !coriolis || gravity.some((x, i) => x !== this.data.gravity[i]);
    return this.recorded && isOther ? null : this.driving;
  }

  /** Advances by real time; true where something moved. */
  tick(elapsed: number): boolean {
    if (!this.running) return false;
    const wanted = Math.min(elapsed, 0.05) * this.state.speed;
    if (this.recorded) {
      this.time += wanted;
      const now = this.time;
      this.show(this.samples[this.index(now)]);
      if (now >= this.end) this.toggle();
      else this.time = now;
      return true;
    }
    const before = this.time;
    this.owed += wanted;
    while (this.owed >= STEP) {
      this.owed -= STEP;
      this.isSound = this.advance();
      if (!this.isSound) {
        this.toggle();
        announce(this.physics.obstacle(this.state.q, this.state.qd));
        break;
      }
    }
    if (this.time > before) this.weigh(this.motors.forces(this.state.q, this.state.qd));
    return true;
  }

  /** Configurations since this was asked last, while it plays. */
  passed(): Numbers[] {
    const { told, time } = this;
    this.told = time;
    return this.running && told < time ? this.samples.slice(this.index(told) + 1, this.index(time) + 1).map((x) => x.q) : [];
  }

  /** Nobody knows what acts and what follows at the state that is shown. */
  private unknown(): void {
    this.state.qdd.fill(0);
    this.external.fill(0);
    this.driving = null;
  }

  /** Accelerations and forces at the state that is shown. */
  private weigh(tau: Numbers): void {
    const { q, qd, qdd } = this.state;
    if (!(this.contact ?? this.integrator).accelerations(q, qd, qdd, tau, this.pull)) return this.unknown();
    this.external.set(this.physics.external);
    this.driving = tau;
  }

  /** One step of the simulation. */
  advance(): boolean {
    const { state } = this,
      { q, qd, qdd } = state;
    if (!this.samples.length) this.keep(this.motors.forces(q, qd));
    const tau = this.motors.forces(q, qd),
      [from, speed] = [q.slice(), qd.slice()];
    const method = this.contact ?? this.integrator;
    if (!method.step(q, qd, qdd, tau, STEP, this.pull) || !qd.every((x) => Math.abs(x) < DIVERGED)) {
      q.set(from);
      qd.set(speed);
      this.unknown();
      return false;
    }
    this.pushes = this.contact?.pushes ?? [];
    if (this.pull) this.isUntouched = false;
    this.time += STEP;
    this.arrivals.look(q, this.time);
    const last = this.samples.at(-1);
    if (!last || this.time - last.t >= SAMPLE - 1e-9) this.keep(this.motors.forces(q, qd));
    return true;
  }

  private keep(tau: Numbers): void {
    const { q, qd, qdd } = this.state,
      { pushes } = this;
    this.weigh(tau);
    const motion = { q: q.slice(), qd: qd.slice(), qdd: qdd.slice(), tau, external: this.external.slice() };
    const blows = this.arrivals.taken();
    this.samples.push({ t: this.time, ...motion, ...this.terms(q, qd), pushes, blows });
    if (this.samples.length > LONGEST) this.samples.splice(0, LONGEST / 10);
  }

  private terms(q: Numbers, qd: Numbers): Pick<Sample, "c" | "g" | "kinetic" | "potential"> {
    const { physics } = this;
    physics.evaluate(q, qd);
    return { c: physics.c.slice(), g: physics.g.slice(), kinetic: physics.kinetic[0], potential: physics.potential[0] };
  }

  /** The bar and the strips. */
  update(): void {
    this.scrub.min = String(this.begin);
    this.scrub.max = String(this.end || 1);
    if (this.speeds.value !== String(this.state.speed)) this.speeds.value = String(this.state.speed);
    this.scrub.disabled = !this.samples.length;
    this.scrub.value = String(this.time);
    this.scrub.setAttribute("aria-valuetext", `${this.time.toFixed(2)} seconds`);
    this.clock.value = `${this.time.toFixed(2)} s`;
    const busy = this.samples.length > 1;
    this.host.classList.toggle("empty", !busy);
    if (!busy) return;
    const now = this.running ? -1 : this.index(this.time);
    this.strips.update(this.samples, this.time, now, this.recorded ? this.data.motion!.tau !== undefined : this.state.drive !== "free");
  }

  resize(): void {
    this.strips.resize();
  }

  /** Colours have changed. */
  recolor(): void {
    this.strips.forget();
  }
}
