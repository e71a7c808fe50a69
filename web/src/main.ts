/** The explorer: a robot, its equations and its motion in one page. Everything is computed here, by the programs Python traced. */
import { Vector3 } from "three";
import { Compass } from "./compass";
import { Controls } from "./controls";
import { announce, copy, el } from "./dom";
import { reach } from "./inverse";
import { Lens } from "./lens";
import type { Data, Kernels } from "./model";
import { NumbersPanel } from "./numbers";
import { Physics } from "./physics";
import { asPython } from "./python";
import { ellipsoidAt } from "./ellipsoid";
import { View3D, type Grabbed } from "./scene";
import { Simulation } from "./simulation";
import { State } from "./state";
import type { LensData } from "./terms";

/** Text of a script element that is data. */
const text = (id: string) => document.getElementById(id)!.textContent!;

/** Closed forms: plain, or where they are long gzipped in base64. */
async function closedForms(): Promise<LensData> {
  const holder = document.getElementById("equations") as HTMLScriptElement;
  return (holder.type === "application/json" ? JSON.parse(holder.textContent!) : await unpacked(holder.textContent!)) as LensData;
}

async function unpacked(base64: string): Promise<unknown> {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

/** ms that the scene waits for the closed forms: with them, nothing has to wait for the first picture, which takes longest. */
const SOON = 100;

/** ms between addresses while it plays. */
const OFTEN = 1000;

export async function start(kernels: Kernels): Promise<void> {
  const forms = closedForms();
  await Promise.race([forms, new Promise((go) => setTimeout(go, SOON))]);
  const app = new App(JSON.parse(text("robot")) as Data, kernels);
  app.lens.load(await forms);
}

class App {
  readonly state: State;
  readonly physics: Physics;
  readonly view: View3D;
  readonly controls: Controls;
  readonly numbers: NumbersPanel;
  readonly lens: Lens;
  readonly simulation: Simulation;
  frames = 0;
  /** ms of the main thread that the last frame took. */
  work = 0;
  private due = false;
  private last = 0;
  private grabbed: Grabbed | null = null;
  private mouse: Vector3 | null = null;
  private saving = 0;
  /** ms: when the address was written last. */
  private saved = 0;
  private readonly compass = new Compass();
  private readonly hint = el("div", { class: "hint", role: "tooltip" });
  /** What the address says that makes no sense for this robot. */
  private readonly complaint = el("p", { class: "note address", role: "alert", hidden: true });
  /** The control that has the focus got it from the mouse or a finger, not from the keyboard. */
  private isTouched = false;

  constructor(
    readonly data: Data,
    readonly kernels: Kernels,
  ) {
    const root = document.getElementById("app")!;
    const left = el("div", { class: "panel controls", "aria-label": "controls", role: "region" }),
      scene = el("div", { class: "scene" });
    const player = el("div", { class: "motion empty" }),
      centre = el("div", { class: "centre", role: "region", "aria-label": "the robot" }, scene, player);
    const right = el("div", { class: "panel numbers", "aria-label": "numbers", role: "region" }),
      below = el("div", { class: "lens", "aria-label": "equation lens", role: "region" });
    const { nv, freedom } = data,
      facts = `${freedom} ${freedom === 1 ? "degree" : "degrees"} of freedom${freedom < nv ? `, ${nv} joint variables in closed loops` : ""}`;
    root.replaceChildren(
      el(
        "header",
        {},
        el("h1", {}, data.name),
        el("span", { class: "facts" }, facts),
        el("span", { class: "keys" }, `${data.isMassless ? "" : "space play · "}R reset · F fit · P copy as Python`),
      ),
      this.complaint,
      el("main", {}, centre, left, right, below),
    );
    this.state = new State(data);
    this.physics = new Physics(data, kernels);
    this.read(location.hash.length > 1 ? location.hash : data.view);
    this.physics.world = this.state.world;
    this.view = new View3D(data, this.physics, scene, () => this.schedule());
    this.controls = new Controls(data, this.state, left, {
      edited: (v) => this.edited(v),
      reset: () => this.reset(),
      fit: () => this.fit(),
      copyPython: () => this.copyPython(),
    });
    this.numbers = new NumbersPanel(data, this.physics, right, (choice) => {
      this.choose(choice);
      this.lens.reveal();
    });
    root.classList.toggle("massless", data.isMassless);
    this.lens = new Lens(
      data,
      this.state,
      below,
      (choice) => this.choose(choice),
      () => this.schedule(),
    );
    const { M, c, g, spring, friction } = this.physics,
      computed: Record<string, Float64Array> = {
        coriolis_torque: c,
        gravity_torque: g,
        spring_torque: spring,
        friction_torque: friction,
        external: this.physics.external,
      };
    this.lens.fallback = (quantity, row, column) =>
      quantity === "mass_matrix" ? M[row * data.nv + column] : (computed[quantity]?.[row] ?? NaN);
    let when = -1;
    let symbols: Float64Array = new Float64Array();
    this.lens.christoffel = () => {
      if (when !== this.frames) symbols = this.physics.christoffel(this.state.q, this.state.qd);
      when = this.frames;
      return symbols;
    };
    this.simulation = new Simulation(data, this.physics, this.state, player, () => this.schedule());
    scene.append(this.compass.root, this.hint);
    if (data.notes.length) left.prepend(el("p", { class: "note above" }, data.notes.join(" ")));
    player.classList.toggle("still", !this.canPlay);
    if (data.isClosed) this.physics.close(this.state.q, this.state.qd);
    this.physics.place(this.state.q);
    this.view.update(this.state, null, null, []);
    this.view.fit();
    this.trace();
    if (this.state.camera) this.view.viewpoint?.read(this.state.camera);
    this.listen(scene);
    this.schedule();
    Object.assign(globalThis, { explorerApp: this });
  }

  /** The state that an address tells; what makes no sense in it is said until somebody has read it. */
  private read(fragment: string): void {
    const strange = this.state.read(fragment);
    this.complaint.hidden = !strange.length;
    const close = el("button", { type: "button", onclick: () => (this.complaint.hidden = true) }, "OK");
    this.complaint.replaceChildren(`Left out of the address, since it makes no sense for this robot: ${strange.join("; ")}.`, close);
  }

  // what happens -----------------------------------------------------------------------------------------------------------

  private listen(scene: HTMLElement): void {
    new ResizeObserver(() => {
      this.view.resize();
      this.simulation.resize();
      this.schedule();
    }).observe(scene);
    window.addEventListener("hashchange", () => {
      this.read(location.hash);
      if (this.state.camera) this.view.viewpoint?.read(this.state.camera);
      this.simulation.edited();
      this.simulation.place();
      this.trace();
      this.schedule();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.simulation.recolor();
      this.schedule();
    });
    window.addEventListener("pointerdown", () => (this.isTouched = true), { capture: true });
    window.addEventListener("keydown", (event) => this.key(event), { capture: true });
    window.addEventListener("keyup", (event) => event.key === " " && this.isPlayKey(event) && event.preventDefault(), {
      capture: true,
    });
    scene.addEventListener("pointerdown", (event) => this.down(event), { capture: true });
    scene.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"] as const) scene.addEventListener(name, () => this.up());
  }

  /** Space belongs to a control that it operates, if the keyboard went there; a slider has no use for it. */
  private isPlayKey(event: KeyboardEvent): boolean {
    const target = event.target as HTMLElement;
    if (target instanceof HTMLInputElement && target.type === "range") return true;
    const takes = /^(INPUT|BUTTON|SUMMARY|SELECT)$/.test(target.tagName) || target.getAttribute("role") === "button";
    return this.isTouched || !takes;
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.key === "Tab") this.isTouched = false;
    const isWriting = target.tagName === "TEXTAREA" || (target instanceof HTMLInputElement && target.type === "text");
    if (event.ctrlKey || event.metaKey || event.altKey || isWriting) return;
    if (event.key === " ") {
      if (!this.isPlayKey(event) || !this.canPlay) return;
      if (!event.repeat) this.simulation.toggle();
      event.stopPropagation();
    } else if (target.tagName === "SELECT") return;
    else if (event.key === "r") this.reset();
    else if (event.key === "f") this.fit();
    else if (event.key === "p") this.copyPython();
    else if (event.key === "0") this.simulation.rewind();
    else return;
    event.preventDefault();
  }

  private get canPlay(): boolean {
    return !this.data.isMassless || this.simulation.recorded;
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.grabbed = this.view.grab(event.clientX, event.clientY);
    if (!this.grabbed || !this.view.orbit) return;
    if (this.simulation.running && this.grabbed.kind === "joint") {
      this.grabbed = null;
      return;
    }
    this.view.orbit.enabled = false;
    if (this.grabbed.kind === "joint") this.view.highlight(this.grabbed.body);
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    event.stopPropagation();
  }

  private move(event: PointerEvent): void {
    const { clientX: x, clientY: y } = event,
      { grabbed } = this;
    if (!grabbed) {
      const name = this.view.named(x, y),
        box = this.view.host.getBoundingClientRect();
      this.hint.textContent = name;
      this.hint.classList.toggle("visible", name !== "");
      this.hint.style.left = `${x - box.left + 12}px`;
      this.hint.style.top = `${y - box.top + 12}px`;
      return;
    }
    if (grabbed.kind === "joint") {
      const change = this.view.dragged(grabbed, x, y),
        column = this.data.bodies[grabbed.body].columns[0];
      const k = this.data.coordinates.findIndex((c) => c.v === column);
      if (change === null || k < 0) return;
      const { lower, upper, stops } = this.data.coordinates[k];
      const value = this.state.coordinate(k) + change;
      this.state.setCoordinate(
        k,
        stops ? Math.min(Math.max(value, stops[0] ?? -Infinity), stops[1] ?? Infinity) : Math.min(Math.max(value, lower), upper),
      );
      this.edited(column);
      return;
    }
    this.mouse = this.view.target(grabbed, x, y);
    if (!this.mouse) return;
    if (this.simulation.running) this.simulation.pull = this.pulling();
    else if (reach(this.physics, this.state, [this.mouse.x, this.mouse.y, this.mouse.z])) this.edited();
    this.schedule();
  }

  /** A spring from the tip to the mouse, as strong as the robot is heavy. */
  private pulling(): (tip: Float64Array, velocity: Float64Array) => number[] {
    const mass = Math.max(
        this.data.bodies.reduce((sum, x) => sum + x.mass, 0),
        0.01,
      ),
      k = 60 * mass,
      d = 4 * mass,
      { mouse } = this;
    return (tip, velocity) => (mouse ? [mouse.x, mouse.y, mouse.z].map((x, r) => k * (x - tip[r]) - d * velocity[r]) : [0, 0, 0]);
  }

  private up(): void {
    this.grabbed = this.mouse = null;
    this.simulation.pull = null;
    if (this.view.orbit) this.view.orbit.enabled = true;
    this.view.highlight(-1);
    this.schedule();
  }

  private edited(column?: number): void {
    if (this.data.isClosed && !this.simulation.running) {
      const before = this.state.q.slice();
      if (!this.physics.close(this.state.q, this.state.qd, column === undefined ? new Set() : new Set([column]))) {
        this.state.q.set(before);
        if (!this.physics.close(this.state.q, this.state.qd)) announce("The loop cannot close here.");
      }
    }
    this.simulation.edited();
    this.schedule();
  }

  private choose(choice: typeof this.state.lens): void {
    this.state.lens = choice;
    this.lens.rebuild();
  }

  private reset(): void {
    this.simulation.stop();
    this.state.read(this.data.view);
    this.state.q.set(this.data.start.q);
    this.state.qd.set(this.data.start.qd);
    this.simulation.edited();
    if (this.simulation.recorded) this.simulation.rewind();
    this.view.path.clear();
    this.fit();
    this.lens.rebuild();
  }

  private copyPython(): void {
    this.write();
    const { external, known } = this.simulation;
    void copy(asPython(this.data, this.state, this.physics.beside(this.state, external, known)), "Python");
    this.schedule();
  }

  private fit(): void {
    this.view.fit();
    this.schedule();
  }

  // a frame ----------------------------------------------------------------------------------------------------------------

  schedule(): void {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame((now) => this.draw(now));
  }

  private draw(now: number): void {
    this.due = false;
    const began = performance.now(),
      { state, physics } = this;
    this.simulation.tick(this.last ? (now - this.last) / 1000 : 0);
    this.last = this.simulation.running ? now : 0;
    this.follow(this.simulation.passed());
    physics.place(state.q);
    physics.evaluate(state.q, state.qd);
    physics.external.set(this.simulation.external);
    const { inertial, tau } = physics.torques(state.q, state.qd, state.qdd, this.simulation.known);
    const ellipsoid = ellipsoidAt(physics, state.view.ellipsoid);
    this.controls.update();
    this.numbers.update(state, inertial, tau);
    this.lens.update(state);
    this.simulation.update();
    this.view.update(state, ellipsoid, this.simulation.pull ? this.mouse : null, this.simulation.pushes);
    this.compass.update(this.view.onScreen(state.world.gravity), Math.hypot(...state.world.gravity));
    this.view.render();
    this.work = performance.now() - began;
    if (!this.frames++) document.documentElement.dataset.ready = String(Math.round(performance.now()));
    if (this.simulation.running) this.schedule();
    if (!this.simulation.running || now - this.saved > OFTEN) this.save(now);
  }

  /** The path that the tip has had until now in a motion that the address tells. */
  private trace(): void {
    const { samples, time } = this.simulation;
    if (!samples.length) return;
    this.view.path.clear();
    this.follow(samples.filter((x) => x.t <= time).map((x) => x.q));
    this.physics.place(this.state.q);
  }

  /** The path of the tip through some configurations. */
  private follow(all: Float64Array[]): void {
    if (!this.state.view.path) return;
    for (const q of all) {
      this.physics.place(q);
      this.view.path.update(true, new Vector3(...this.physics.tip));
    }
  }

  /** What the state does not hold by itself: the camera and the time. */
  private write(): void {
    this.state.camera = this.view.viewpoint?.written() ?? null;
    this.simulation.write();
  }

  /** The state into the address, once it rests, or now and then while it moves. */
  private save(now: number): void {
    this.saved = now;
    clearTimeout(this.saving);
    this.saving = window.setTimeout(() => {
      try {
        this.write();
        history.replaceState(null, "", `#${this.state.fragment()}`);
      } catch {
        /* a frame without an address of its own */
      }
    }, 150);
  }
}
