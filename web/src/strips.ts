/** Energy and one quantity of the joints over time, below the scene. */
import uPlot from "uplot";
import { jointColors } from "./colors";
import { abbreviated, el, shown } from "./dom";
import { forceUnit, once, type Coordinate, type Data } from "./model";
import type { Sample } from "./simulation";
import { rotationVector, type State } from "./state";
import type { Blow } from "./stops";

/** As everywhere: what was measured is grey. */
const MEASURED = "#88888880";
/** Points drawn of a line. */
const POINTS = 1500;
/** With more lines than this, the legend has names and no values. */
const VALUES = 8;
const HEIGHT = 122;

interface Quantity {
  name: string;
  unit(x: Coordinate): string;
  value(sample: Sample, x: Coordinate): number;
}

const perSecond = (x: Coordinate) => `${x.unit}/s`;
const QUANTITIES: Record<string, Quantity> = {
  tau: { name: "joint forces τ", unit: forceUnit, value: (s, x) => s.tau![x.v] },
  residual: { name: "measured − τ", unit: forceUnit, value: (s, x) => s.measured![x.v] - s.tau![x.v] },
  g: { name: "gravity g", unit: forceUnit, value: (s, x) => s.g[x.v] },
  c: { name: "Coriolis c", unit: forceUnit, value: (s, x) => s.c[x.v] },
  qd: { name: "velocities q̇", unit: perSecond, value: (s, x) => s.qd[x.v] },
  q: {
    name: "positions q",
    unit: (x) => x.unit,
    value: (s, x) => (x.quaternion === undefined ? s.q[x.q!] : rotationVector(s.q, x.quaternion)[x.component!]),
  },
};

export class Strips {
  readonly root = el("div", { class: "strips" });
  private readonly energyHost = el("div", { class: "strip" });
  private readonly jointHost = el("div", { class: "strip" });
  private readonly which = el("select", { "aria-label": "what is drawn over time" });
  private readonly joint = el("select", { "aria-label": "of which joint" });
  private readonly names: string[];
  /** Which joint came to its stop last. */
  private readonly said = el("span", { class: "unit blow" });
  /** When joints came to their stops. */
  private blows: Blow[] = [];
  private plots: { energy: uPlot; joints: uPlot; key: string } | null = null;
  private drawn = "";

  constructor(
    readonly data: Data,
    readonly state: State,
    readonly changed: () => void,
  ) {
    const { motion } = data,
      isKnown = (key: string) => (key === "residual" ? motion?.measured : key !== "tau" || !motion || motion.tau);
    const known = Object.keys(QUANTITIES).filter(isKnown);
    this.which.append(...known.map((value) => el("option", { value }, QUANTITIES[value].name)));
    this.joint.append(el("option", { value: "all" }, "all joints"));
    this.names = abbreviated(
      data.coordinates.map((x) => x.short),
      13,
    );
    this.names.forEach((name, k) => this.joint.append(el("option", { value: String(k) }, name)));
    this.which.addEventListener("change", () => ((state.strip.quantity = this.which.value), changed()));
    this.joint.addEventListener("change", () => ((state.strip.joint = this.joint.value), changed()));
    this.root.append(this.energyHost, this.jointHost);
  }

  /** Draws what was sampled, and the cursor at a time, which is that of sample `now` (-1: none); `moved` tells whether motors act, where nothing else was chosen. */
  update(samples: Sample[], time: number, now: number, moved: boolean): void {
    const { quantity, joint } = this.state.strip;
    this.joint.value = joint;
    this.which.value = quantity || (moved ? "tau" : "g");
    if (!this.which.value) this.which.value = "g"; // asked for what this motion does not have
    const key = `${this.which.value} ${this.joint.value}`;
    if (this.plots?.key !== key) this.build(key);
    const { energy, joints } = this.plots!;
    const drawn = `${samples.length} ${samples.length > POINTS ? now : ""}`;
    if (drawn !== this.drawn) {
      this.drawn = drawn;
      this.blows = samples.flatMap((x) => x.blows);
      const every = Math.ceil(samples.length / POINTS);
      const kept = samples.map((_, k) => k).filter((k) => k % every === 0 || k === samples.length - 1 || k === now);
      energy.setData(this.energies(kept.map((k) => samples[k])));
      joints.setData(this.lines(samples, kept));
    }
    const last = this.blows.filter((x) => x.t <= time + 1e-9).at(-1);
    this.say(last ? `┊ ${last.name} hit its stop at ${last.t.toFixed(2)} s` : "");
    queueMicrotask(() => {
      for (const plot of [energy, joints]) plot.setCursor({ left: plot.valToPos(time, "x"), top: 1 }); // after it has its scales
    });
  }

  private say(text: string): void {
    if (this.said.textContent === text) return;
    this.said.textContent = this.said.title = text;
  }

  private build(key: string): void {
    this.forget();
    const { name, unit } = QUANTITIES[this.which.value],
      shownJoints = this.shownJoints();
    const units = once(shownJoints.map(unit)).join(", ");
    const isOne = this.hasMeasured() && shownJoints.length === 1,
      names = isOne ? ["predicted"] : shownJoints.map((x) => this.names[this.data.coordinates.indexOf(x)]);
    const measured = this.hasMeasured() ? names.map((x) => (isOne ? "measured" : `${x} measured`)) : [];
    this.jointHost.setAttribute("aria-label", `${name}, ${units}`);
    const head = el(
      "div",
      { class: "head" },
      this.which,
      this.data.nv > 1 ? this.joint : null,
      el("span", { class: "unit" }, units),
    );
    if (measured.length || this.which.value === "residual") {
      const title = "τ under Terms is that of the moment, not filtered: where friction jumps, and at both ends, they differ";
      head.append(el("span", { class: "unit", title }, "through the fit's filter"));
    }
    if (measured.length && !isOne) head.append(el("span", { class: "unit" }, "┄ measured"));
    this.plots = {
      key,
      energy: this.plot(this.energyHost, el("div", { class: "head" }, el("h3", {}, "energy, J"), this.said), ["kinetic", "potential", "sum"], 0, [
        this.style("--inertial"),
        this.style("--gravity"),
        this.style("--soft"),
      ]),
      joints: this.plot(
        this.jointHost,
        head,
        [...measured, ...names],
        measured.length,
        isOne ? [this.style("--ink")] : jointColors(names.length),
      ),
    };
  }

  private hasMeasured(): boolean {
    return this.which.value === "tau" && Boolean(this.data.motion?.measured);
  }

  private shownJoints(): Coordinate[] {
    const { coordinates } = this.data;
    if (this.joint.value !== "all") return [coordinates[Number(this.joint.value)]];
    return this.which.value === "tau" || this.which.value === "residual" ? coordinates.filter((x) => x.isDriven) : coordinates;
  }

  private energies(kept: Sample[]): uPlot.AlignedData {
    const columns = [
      kept.map((x) => x.t),
      kept.map((x) => x.kinetic),
      kept.map((x) => x.potential),
      kept.map((x) => x.kinetic + x.potential),
    ];
    return columns as uPlot.AlignedData;
  }

  private lines(samples: Sample[], kept: number[]): uPlot.AlignedData {
    const { value } = QUANTITIES[this.which.value],
      joints = this.shownJoints(),
      measured = this.hasMeasured() ? joints.map((x) => kept.map((k) => samples[k].measured![x.v])) : [];
    const predicted = joints.map((x) => kept.map((k) => value(samples[k], x)));
    return [kept.map((k) => samples[k].t), ...measured, ...predicted] as uPlot.AlignedData;
  }

  private style(name: string): string {
    return getComputedStyle(document.documentElement).getPropertyValue(name);
  }

  /** The first `behind` lines were measured: a broad one behind what is predicted, or dashed ones in the colours of their joints. */
  private plot(host: HTMLElement, head: HTMLElement, names: string[], behind: number, colors: string[]): uPlot {
    const [ink, line] = [this.style("--soft"), this.style("--line")];
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "11px system-ui" };
    const series = names.map((label, k) => ({
      label,
      stroke: k < behind && behind === 1 ? MEASURED : colors[(k - (k < behind ? 0 : behind)) % colors.length],
      width: k < behind && behind === 1 ? 4 : 1.5,
      points: { show: false },
      ...(k < behind && behind > 1 ? { dash: [4, 3] } : {}),
      value: (_: uPlot, x: number | null) => (x === null ? "–" : shown(x, names.length > 4 ? 3 : 4)),
    }));
    host.replaceChildren(head);
    const made = new uPlot(
      {
        width: Math.max(host.clientWidth, 200),
        height: HEIGHT,
        series: [{ label: "t, s" }, ...series],
        scales: {
          x: { time: false },
          y: {
            range: (_, low, high) =>
              high - low > 1e-9 ? [low - 0.05 * (high - low), high + 0.05 * (high - low)] : [low - 1, high + 1],
          },
        },
        axes: [
          { ...axis, size: 26 },
          {
            ...axis,
            space: 18,
            size: (_, labels) => 18 + 6.5 * Math.max(3, ...(labels ?? []).map((x) => x.length)),
            values: (_, ticks) => ticks.map((x) => shown(x, 3)),
          },
        ],
        legend: { show: true, live: names.length <= VALUES },
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 5 } },
        hooks: { drawAxes: [(plot) => this.mark(plot, ink)] },
      },
      [[], ...names.map(() => [])] as unknown as uPlot.AlignedData,
      host,
    );
    const time = names.length <= VALUES ? 1 : 0; // a legend with values has a row of its own for it
    const shadows = behind > 1 ? behind : 0; // which the head explains
    made.root.querySelectorAll<HTMLElement>(".u-legend .u-series").forEach((row, k) => (row.hidden = k >= time && k - time < shadows));
    return made;
  }

  /** A dotted line where a joint came to its stop. */
  private mark({ ctx, bbox, valToPos }: uPlot, ink: string): void {
    ctx.save();
    ctx.strokeStyle = ink;
    ctx.setLineDash([2, 3]);
    ctx.beginPath();
    for (const { t } of this.blows) {
      const x = valToPos(t, "x", true);
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
    }
    ctx.stroke();
    ctx.restore();
  }

  resize(): void {
    if (!this.plots) return;
    for (const [plot, host] of [
      [this.plots.energy, this.energyHost],
      [this.plots.joints, this.jointHost],
    ] as const)
      plot.setSize({ width: Math.max(host.clientWidth, 200), height: HEIGHT });
  }

  /** Everything is drawn anew, in other colours or of another motion. */
  forget(): void {
    this.plots?.energy.destroy();
    this.plots?.joints.destroy();
    this.plots = null;
    this.drawn = "";
  }
}
