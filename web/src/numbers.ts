/** The right column: what the equation of motion says at this state. */
import { abbreviated, el, shown, svg, tint } from "./dom";
import { eigen, timesTransposed } from "./linear";
import { forceUnit, once, type Data } from "./model";
import { ROUNDING, type Physics } from "./physics";
import type { Choice, State } from "./state";

export const ROLES = ["inertial", "coriolis", "gravity", "spring", "friction", "external"] as const;
const WORDS: Record<(typeof ROLES)[number], string> = {
  inertial: "M q̈",
  coriolis: "Coriolis",
  gravity: "gravity",
  spring: "springs",
  friction: "friction",
  external: "from outside",
};

/** What may act on the joints besides motors, friction and gravity, in words. */
export function outside({ motion, contacts, isClosed, coordinates, tips }: Data): string {
  const stops = coordinates.some((x) => x.stops?.some((stop) => stop !== null));
  const known = [tips.length && !motion && "pull", contacts && "contacts", isClosed && "loops", stops && "stops"];
  return known.filter(Boolean).join(", ") || WORDS.external;
}
/** With more joints than this, the heat map has no room for numbers. */
const ROOM = 9;

export class NumbersPanel {
  private readonly cells: HTMLElement[] = [];
  private readonly vectors = new Map<string, HTMLElement[]>();
  private readonly bars: { parts: SVGElement[]; total: SVGElement; value: HTMLOutputElement }[] = [];
  /** What the bars' ends stand for, and the entry in the legend of what acts from outside. */
  private readonly ends = [el("span", {}), el("span", {})];
  private readonly outside: HTMLElement;
  private readonly facts = new Map<string, HTMLElement>();
  private readonly small: boolean;
  /** Of coordinates, short enough for a table. */
  private readonly names: string[];
  /** Of each column of qd. */
  private readonly units: string[] = [];
  /** Of all forces; empty where they differ, and each has its own beside it. */
  private readonly force: string;

  constructor(
    readonly data: Data,
    readonly physics: Physics,
    host: HTMLElement,
    readonly choose: (choice: Choice) => void,
  ) {
    this.small = data.nv <= ROOM;
    this.names = abbreviated(
      data.coordinates.map((x) => x.short),
      15,
    );
    for (const x of data.coordinates) this.units[x.v] = x.unit;
    const forces = once(data.coordinates.map(forceUnit));
    this.force = forces.length === 1 ? forces[0] : "";
    this.outside = el("span", { hidden: true }, el("i", { class: "swatch external" }), outside(data));
    if (data.isClosed)
      host.append(
        el(
          "p",
          { class: "note above" },
          "Loops are cut open in the numbers below (M, c, g, τ, manipulability, ellipsoids). Motion keeps them closed: then their forces are parts of τ.",
        ),
      );
    const dynamics = [this.mass(), this.terms(), this.torques()];
    host.append(...(data.isMassless ? [] : dynamics), this.facts_());
  }

  private cell(quantity: string, row: number, column: number, label: string): HTMLElement {
    const entry = `${quantity},${row},${column}`,
      choose = () => this.choose({ quantity, row, column });
    return el(
      "button",
      { type: "button", class: "cell", "data-entry": entry, onclick: choose },
      el("span", { class: "unseen" }, `${label} = `),
      el("span", {}),
    );
  }

  private mass(): HTMLElement {
    const n = this.data.nv,
      table = el("table", { class: this.small ? "matrix" : "matrix dense", id: "mass" });
    for (let i = 0; i < n; i++) {
      const row = el("tr", {});
      for (let j = 0; j < n; j++) {
        const cell = this.cell("mass_matrix", i, j, `M ${i + 1} ${j + 1}`);
        const k = this.cells.push(cell) - 1,
          value = () => `M ${i + 1} ${j + 1} = ${shown(this.physics.M[k], 6)} ${this.massUnit(k)}`;
        cell.addEventListener("pointerenter", () => (cell.title = value()));
        row.append(el("td", {}, cell));
      }
      table.append(row);
    }
    const units = once(this.cells.map((_, k) => this.massUnit(k)));
    return section("Mass matrix M(q)", units.join(", "), el("div", { class: "wide" }, table));
  }

  private massUnit(k: number): string {
    const turning = [Math.floor(k / this.data.nv), k % this.data.nv].filter((i) => this.units[i] === "rad").length;
    return ["kg", "kg m", "kg m²"][turning];
  }

  private terms(): HTMLElement {
    const names = this.data.coordinates,
      head = el("tr", {}, el("th", { scope: "col" }, "joint"));
    const columns: [string, string][] = [
      ["coriolis_torque", "c = C q̇"],
      ["gravity_torque", "g"],
      ["inverse_dynamics", "τ"],
    ];
    for (const [, letter] of columns) head.append(el("th", { scope: "col" }, letter));
    if (!this.force) head.append(el("th", { class: "unit" }, ""));
    const table = el("table", { class: "vectors" }, el("thead", {}, head)),
      body = el("tbody", {});
    for (const [quantity] of columns) this.vectors.set(quantity, []);
    names.forEach((x, k) => {
      const row = el("tr", {}, el("th", { scope: "row", title: x.name }, this.names[k]));
      for (const [quantity, letter] of columns) {
        const cell = this.cell(quantity, x.v, 0, `${letter} of ${x.name}`);
        this.vectors.get(quantity)![x.v] = cell;
        row.append(el("td", {}, cell));
      }
      if (!this.force) row.append(el("td", { class: "unit" }, forceUnit(x)));
      body.append(row);
    });
    table.append(body);
    return section("Terms", this.force, el("div", { class: "wide tall" }, table));
  }

  private torques(): HTMLElement {
    const list = el("div", { class: "bars", role: "list" });
    for (const [k, x] of this.data.coordinates.entries()) {
      const parts = ROLES.map((role) => svg("rect", { class: `fill ${role}`, y: 3, height: 12, x: 100, width: 0 }));
      const total = svg("rect", { class: "total", y: 0, height: 18, width: 1.6, x: 100 });
      const picture = svg(
        "svg",
        { viewBox: "0 0 200 18", preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("line", { class: "zero", x1: 100, x2: 100, y1: 0, y2: 18 }),
        ...parts,
        total,
      );
      const value = el("output", {});
      this.bars[x.v] = { parts, total, value };
      list.append(
        el(
          "div",
          { class: "bar", role: "listitem" },
          el("span", { class: "name", title: x.name }, this.names[k]),
          picture,
          value,
        ),
      );
    }
    const { hasSprings, hasFriction } = this.data;
    const [left, right] = this.ends;
    list.append(el("div", { class: "bar axis", "aria-hidden": "true" }, el("span", {}), el("span", {}, left, "0", right)));
    const shownRoles = ROLES.filter((role) => role !== "external" && (role !== "spring" || hasSprings) && (role !== "friction" || hasFriction));
    const legend = el(
      "div",
      { class: "legend" },
      ...shownRoles.map((role) => el("span", {}, el("i", { class: `swatch ${role}` }), WORDS[role])),
      this.outside,
    );
    list.classList.toggle("mixed", !this.force);
    list.classList.toggle(
      "long",
      this.names.some((x) => x.length > 11),
    );
    return section("Joint forces τ in parts", this.force, legend, el("div", { class: "tall" }, list));
  }

  private facts_(): HTMLElement {
    const list = el("dl", { class: "facts" });
    const rows: [string, string, string][] = [
      ["kinetic", "kinetic energy", "J"],
      ["potential", "potential energy", "J"],
      ["energy", "energy", "J"],
      ["condition", "condition of M", ""],
      ["tip", "tip at x, y, z", "m"],
      ["manipulability", this.data.normal ? "manipulability (in the plane)" : "manipulability (x, y, z)", ""],
    ];
    for (const [key, name, unit] of rows) {
      if (key === "manipulability" || key === "tip" ? !this.data.tips.length : this.data.isMassless) continue;
      const value = el("dd", { "data-fact": key });
      this.facts.set(key, value);
      list.append(el("div", {}, el("dt", {}, name), value, el("span", { class: "unit" }, unit)));
    }
    return section("At this state", "", list);
  }

  update(state: State, inertial: Float64Array, tau: Float64Array): void {
    const { physics, data } = this,
      n = data.nv,
      { M, c, g } = physics;
    let largest = 1e-300;
    for (const x of M) largest = Math.max(largest, Math.abs(x));
    const decimals = Math.max(0, Math.min(6, (n > 5 ? 2 : 3) - Math.floor(Math.log10(largest))));
    this.cells.forEach((cell, k) => {
      const value = M[k],
        share = Math.sqrt(Math.abs(value) / largest);
      write(cell, value, fixed(value, decimals));
      tint(cell, share);
      cell.classList.toggle("negative", value < 0);
      cell.classList.toggle("small", share < 0.06);
    });
    this.mark(state.lens);
    const vectors: [string, ArrayLike<number>][] = [
      ["coriolis_torque", c],
      ["gravity_torque", g],
      ["inverse_dynamics", tau],
    ];
    const parts = [inertial, state.world.coriolis ? c : new Float64Array(n), g, physics.spring, physics.friction, physics.external.map((x) => -x)];
    const largestPart = Math.max(...parts.map((part) => part.reduce((most, x) => Math.max(most, Math.abs(x)), 0)));
    for (const [quantity, values] of vectors) {
      const rounding = ROUNDING * largestPart;
      this.vectors
        .get(quantity)!
        .forEach((cell, i) => write(cell, values[i], Math.abs(values[i]) < rounding ? "0" : shown(values[i], 4)));
    }
    let scale = 1e-9;
    for (let i = 0; i < n; i++) {
      let plus = 0,
        minus = 0;
      for (const part of parts) part[i] > 0 ? (plus += part[i]) : (minus -= part[i]);
      scale = Math.max(scale, plus, minus);
    }
    scale = round(scale);
    const end = shown(scale, 1);
    [this.ends[0].textContent, this.ends[1].textContent] = [`−${end}`, end];
    this.outside.hidden = physics.external.every((x) => Math.abs(x) <= ROUNDING * largestPart);
    for (const cell of this.vectors.get("coriolis_torque")!) cell.classList.toggle("off", !state.world.coriolis);
    this.bars.forEach((bar, i) => {
      let right = 100,
        left = 100;
      parts.forEach((part, k) => {
        const width = (100 * Math.abs(part[i])) / scale,
          rect = bar.parts[k];
        rect.setAttribute("width", width.toFixed(2));
        if (part[i] >= 0) {
          rect.setAttribute("x", right.toFixed(2));
          right += width;
        } else {
          left -= width;
          rect.setAttribute("x", left.toFixed(2));
        }
      });
      bar.total.setAttribute("x", (99.2 + (99.2 * tau[i]) / scale).toFixed(2));
      const value = shown(Math.abs(tau[i]) < ROUNDING * largestPart ? 0 : tau[i], 3),
        text = this.force ? value : `${value} ${this.units[i] === "rad" ? "N m" : "N"}`;
      if (bar.value.value !== text) bar.value.value = text;
    });
    this.fact("kinetic", physics.kinetic[0]);
    this.fact("potential", physics.potential[0]);
    this.fact("energy", physics.kinetic[0] + physics.potential[0]);
    if (n && n <= 40) {
      const { values } = eigen(M, n);
      this.fact("condition", values[n - 1] / values[0]);
    }
    if (data.tips.length) {
      this.fact("manipulability", this.manipulability());
      const at = Array.from(physics.tip, (x) => (Math.abs(x) < 5e-5 ? 0 : x).toFixed(4).replace("-", "−")).join(", ");
      const cell = this.facts.get("tip")!;
      if (cell.textContent !== at) cell.textContent = at;
    }
  }

  private marked = "";

  /** The entry that the lens shows. */
  private mark({ quantity, row, column }: Choice): void {
    const key = `${quantity},${row},${column}`;
    if (key === this.marked) return;
    this.marked = key;
    for (const cell of [...this.cells, ...[...this.vectors.values()].flat()])
      cell.setAttribute("aria-current", String(cell.dataset.entry === key));
  }

  private fact(key: string, value: number): void {
    const cell = this.facts.get(key);
    if (cell) write(cell, value, shown(value, 5));
  }

  /** sqrt(det(J J^T)) of the velocity of the tip, in the plane of a planar arm. */
  private manipulability(): number {
    const n = this.data.nv,
      J = this.physics.J.subarray(3 * n, 6 * n),
      normal = this.data.normal;
    const rows = normal ? inPlane(J, normal, n) : J,
      m = normal ? 2 : 3;
    if (n < m) return NaN;
    return Math.sqrt(
      Math.max(
        0,
        eigen(timesTransposed(rows, rows, m, m, n), m).values.reduce((a, b) => a * b, 1),
      ),
    );
  }
}

function inPlane(J: Float64Array, normal: number[], n: number): Float64Array {
  const first = Math.abs(normal[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0],
    along = first.reduce((sum, x, i) => sum + x * normal[i], 0);
  const u = first.map((x, i) => x - along * normal[i]),
    size = Math.hypot(...u),
    a = u.map((x) => x / size);
  const b = [normal[1] * a[2] - normal[2] * a[1], normal[2] * a[0] - normal[0] * a[2], normal[0] * a[1] - normal[1] * a[0]];
  const out = new Float64Array(2 * n);
  for (let i = 0; i < n; i++) for (let r = 0; r < 3; r++) ((out[i] += a[r] * J[r * n + i]), (out[n + i] += b[r] * J[r * n + i]));
  return out;
}

/** Entries of one matrix have as many decimals as its largest needs; only what is zero has none. */
const fixed = (x: number, decimals: number) =>
  Math.abs(x) < 1e-12 ? "0" : (Math.abs(x) < 0.5 * 10 ** -decimals ? 0 : x).toFixed(decimals).replace("-", "−");

/** The next of 1, 2, 5, 10, 20, 50, ... */
function round(x: number): number {
  const power = 10 ** Math.floor(Math.log10(x));
  return power * [1, 2, 5, 10].find((k) => k * power >= 0.999999 * x)!;
}

/** The text, and for whoever asks the number itself. */
function write(cell: HTMLElement & { number?: number }, value: number, text: string): void {
  cell.number = value;
  const slot = cell.lastElementChild ?? cell; // of a button, behind what only screen readers say
  if (slot.textContent !== text) slot.textContent = text;
}

export function section(title: string, unit: string, ...children: Node[]): HTMLElement {
  return el("section", {}, el("h2", {}, title, unit ? el("span", { class: "unit" }, unit) : null), ...children);
}
