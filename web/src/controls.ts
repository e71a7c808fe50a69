/** The left column: the state, the world, what is drawn. */
import { abbreviated, announce, brief, el } from "./dom";
import type { Data } from "./model";
import type { Drive, State } from "./state";
import { typed } from "./typed";

const PLACES: [string, number][] = [
  ["Earth", 9.81],
  ["Mars", 3.71],
  ["Moon", 1.62],
  ["none", 0],
];

/** Characters of a name that can be shortened to stand beside its slider. */
const LONG = 14;

export interface Actions {
  /** Something was set by hand: `v` is the column whose coordinate must stay, in a closed loop. */
  edited(v?: number): void;
  reset(): void;
  fit(): void;
  copyPython(): void;
}

interface Slider {
  input: HTMLInputElement;
  box: HTMLInputElement;
  read(): number;
  /** What was read last, and what the slider made of it. */
  last: number;
  shown: number;
}

export class Controls {
  private readonly sliders: Slider[] = [];
  private readonly places: HTMLButtonElement[] = [];
  private readonly toggles: { input: HTMLInputElement; read(): boolean }[] = [];
  private readonly selects: { select: HTMLSelectElement; read(): string }[] = [];

  /** Some names of joints need a line of their own. */
  private readonly isLong: boolean;

  constructor(
    readonly data: Data,
    readonly state: State,
    readonly host: HTMLElement,
    readonly actions: Actions,
  ) {
    const { coordinates } = data;
    this.isLong = coordinates.some((x) => x.short.length > LONG);
    const names = abbreviated(
      coordinates.map((x) => x.short),
      this.isLong ? 28 : 11,
    );
    const joints = this.group("Positions q", true, true);
    coordinates.forEach((x, k) => {
      const change = (value: number) => {
        state.setCoordinate(k, value);
        actions.edited(x.v);
      };
      joints.append(this.slider(names[k], x.unit, x.lower, x.upper, () => state.coordinate(k), change, `position of ${x.name}`));
    });
    const speeds = data.isMassless ? null : this.group("Velocities q̇", coordinates.length <= 4, true);
    coordinates.forEach((x, k) => {
      const most = x.speed ?? (x.unit === "rad" ? 5 : 2);
      const change = (value: number) => {
        state.qd[x.v] = value;
        actions.edited();
      };
      speeds?.append(this.slider(names[k], `${x.unit}/s`, -most, most, () => state.qd[x.v], change, `velocity of ${x.name}`));
    });
    const rates = data.isMassless ? null : this.group("Accelerations q̈", false, true);
    coordinates.forEach((x, k) => {
      const change = (value: number) => {
        state.qdd[x.v] = value;
        actions.edited();
      };
      rates?.append(this.slider(names[k], `${x.unit}/s²`, -20, 20, () => state.qdd[x.v], change, `acceleration of ${x.name}`));
    });
    if (!data.isMassless) this.world();
    this.drawn();
    host.append(
      el(
        "div",
        { class: "buttons" },
        el("button", { type: "button", onclick: () => actions.reset(), title: "R" }, "Reset"),
        el("button", { type: "button", onclick: () => actions.fit(), title: "F" }, "Fit view"),
        el("button", { type: "button", onclick: () => actions.copyPython(), title: "P" }, "Copy as Python"),
      ),
    );
  }

  private group(title: string, open: boolean, coordinates = false): HTMLElement {
    const inside = el("div", { class: "sliders" });
    if (coordinates && this.isLong) inside.classList.add("long");
    this.host.append(el("details", { open }, el("summary", {}, title), inside));
    return inside;
  }

  private slider(
    name: string,
    unit: string,
    lower: number,
    upper: number,
    read: () => number,
    change: (x: number) => void,
    label: string,
  ): HTMLElement {
    const input = el("input", {
      type: "range",
      min: String(lower),
      max: String(upper),
      step: "any",
      "aria-label": `${label}, ${unit}`,
    });
    const box = el("input", {
      type: "text",
      inputMode: "decimal",
      "aria-label": `${label} as a number, ${unit}`,
      class: "number",
      spellcheck: false,
    });
    input.addEventListener("input", () => change(input.valueAsNumber));
    box.addEventListener("change", () => {
      const value = typed(box.value, unit.startsWith("rad"));
      box.setAttribute("aria-invalid", String(value === null));
      if (value !== null) change(value);
      else announce(`${label}: "${brief(box.value)}" is no number; it may be as 1.5, 1,5, 1e-3${unit.startsWith("rad") ? ", pi/2, 45°" : ""}.`);
    });
    box.addEventListener("blur", () => {
      box.setAttribute("aria-invalid", "false");
      this.update(true);
    });
    this.sliders.push({ input, box, read, last: NaN, shown: NaN });
    return el(
      "div",
      { class: "slider" },
      el("span", { class: "name", title: label }, name),
      input,
      box,
      el("span", { class: "unit" }, unit),
    );
  }

  private world(): void {
    const { state, actions, data } = this,
      { world } = state;
    const inside = this.group("World", true);
    const size = Math.hypot(...data.gravity),
      down = size ? data.gravity.map((x) => x / size) : data.up.map((x) => -x);
    const buttons = PLACES.map(([name, value]) => {
      const button = el(
        "button",
        {
          type: "button",
          "aria-pressed": "false",
          "data-value": value,
          onclick: () => {
            world.gravity = name === "Earth" && size ? [...data.gravity] : down.map((x) => x * value);
            actions.edited();
          },
        },
        name,
      );
      this.places.push(button);
      return button;
    });
    inside.append(el("div", { class: "choice", role: "group", "aria-label": "gravity" }, ...buttons));
    const gravity = () => world.gravity.reduce((sum, x, i) => sum + x * down[i], 0);
    inside.append(
      this.slider(
        "gravity",
        "m/s²",
        0,
        Math.max(20, size),
        gravity,
        (value) => {
          world.gravity = down.map((x) => x * value);
          actions.edited();
        },
        "gravity",
      ),
    );
    if (data.tips.length) {
      const heavy = Math.max(1, Math.round(data.bodies.reduce((sum, x) => sum + x.mass, 0)));
      inside.append(
        this.slider(
          "payload",
          "kg",
          0,
          heavy,
          () => world.payload,
          (value) => {
            world.payload = Math.max(0, value);
            actions.edited();
          },
          "payload, a point mass at the tip",
        ),
      );
    }
    if (data.hasFriction)
      inside.append(
        this.toggle(
          "Friction",
          () => world.friction,
          (on) => (world.friction = on),
        ),
      );
    inside.append(
      this.toggle(
        "Coriolis forces",
        () => world.coriolis,
        (on) => (world.coriolis = on),
      ),
    );
    inside.append(
      this.select(
        "Motors",
        [
          ["free", "off"],
          ["gravity", "carry gravity only"],
          ["hold", "hold this pose"],
        ],
        () => state.drive,
        (value) => (state.drive = value as Drive),
      ),
    );
  }

  private drawn(): void {
    const { view } = this.state,
      inside = this.group("Drawing", true),
      rows = el("div", { class: "toggles" });
    inside.append(rows);
    const names = {
      axes: "joint axes",
      frames: "frames",
      centres: "centres of mass",
      boxes: "boxes of equal inertia",
      path: "path of the tip",
    } as const;
    for (const key of Object.keys(names) as (keyof typeof names)[]) {
      if (key === "path" && !this.data.tips.length) continue;
      if ((key === "centres" || key === "boxes") && this.data.isMassless) continue;
      rows.append(
        this.toggle(
          names[key],
          () => view[key],
          (on) => (view[key] = on),
        ),
      );
    }
    const { data, state } = this;
    if (data.tips.length > 1)
      inside.append(
        this.select(
          "Tip",
          data.tips.map((x, k) => [String(k), x.name]),
          () => String(state.world.tip),
          (value) => (state.world.tip = Number(value)),
        ),
      );
    if (data.tips.length) {
      const kinds = ["none", "velocity", "force", ...(data.isMassless ? [] : ["mass"])].map((x): [string, string] => [x, x]);
      inside.append(
        this.select(
          "Ellipsoid",
          kinds,
          () => view.ellipsoid,
          (value) => (view.ellipsoid = value as typeof view.ellipsoid),
        ),
      );
    }
  }

  private toggle(name: string, read: () => boolean, change: (on: boolean) => void): HTMLElement {
    const input = el("input", { type: "checkbox" });
    input.addEventListener("change", () => {
      change(input.checked);
      this.actions.edited();
    });
    this.toggles.push({ input, read });
    return el("label", { class: "toggle" }, input, name);
  }

  private select(name: string, options: [string, string][], read: () => string, change: (value: string) => void): HTMLElement {
    const select = el("select", {}, ...options.map(([value, text]) => el("option", { value }, text)));
    select.addEventListener("change", () => {
      change(select.value);
      this.actions.edited();
    });
    this.selects.push({ select, read });
    return el("label", { class: "select" }, el("span", { class: "name" }, name), select);
  }

  /** New values into the controls whose value has changed, or into all; a number being typed is left alone. */
  update(all = false): void {
    for (const slider of this.sliders) {
      const { input, box, read } = slider,
        value = read();
      if (value === slider.last && input.valueAsNumber === slider.shown && !all) continue;
      if (document.activeElement !== input || input.valueAsNumber !== value) {
        if (value < Number(input.min)) input.min = String(value);
        if (value > Number(input.max)) input.max = String(value);
        input.value = String(value);
      }
      if (document.activeElement !== box)
        box.value =
          Math.abs(value) < 5e-4
            ? Math.abs(value) < 1e-12
              ? "0"
              : "0.000"
            : value.toFixed(Math.abs(value) < 10 ? 3 : 2).replace("-", "−");
      [slider.last, slider.shown] = [value, input.valueAsNumber];
    }
    const gravity = Math.hypot(...this.state.world.gravity);
    for (const button of this.places) {
      const pressed = String(Math.abs(gravity - Number(button.dataset.value)) < 0.005);
      if (button.getAttribute("aria-pressed") !== pressed) button.setAttribute("aria-pressed", pressed);
    }
    for (const { input, read } of this.toggles) if (input.checked !== read()) input.checked = read();
    for (const { select, read } of this.selects) if (select.value !== read()) select.value = read();
  }
}
