/** What is shown, and how the address says it. */
import { Address } from "./address";
import type { Data } from "./model";
import { zeros, type Numbers } from "./linear";
import { BOOKS } from "./names";
import type { World } from "./physics";

export const SPEEDS = [1, 0.25, 0.1, 0.02];
const SWITCH = ["on", "off"] as const;
const DRIVES = ["free", "gravity", "hold"] as const;
const DRAWN = ["frames", "axes", "centres", "path", "boxes"] as const;
const ELLIPSOIDS = ["none", "velocity", "force", "mass"] as const;
/** Measured and predicted forces of one joint can be told apart. */
const defaultJoint = (data: Data) => (data.motion?.measured ? "0" : "all");

export type Drive = (typeof DRIVES)[number];
export interface Choice {
  quantity: string;
  row: number;
  column: number;
}

export interface View {
  frames: boolean;
  axes: boolean;
  centres: boolean;
  path: boolean;
  boxes: boolean;
  ellipsoid: (typeof ELLIPSOIDS)[number];
}

export interface Run {
  length: number;
  q: Numbers;
  qd: Numbers;
}

export class State {
  q: Numbers;
  qd: Numbers;
  qdd: Numbers;
  world: World;
  view: View;
  drive: Drive = "free";
  lens: Choice = { quantity: "mass_matrix", row: 0, column: 0 };
  notation = "qddot";
  variant = "";
  /** Short names for what parameters make together: "on", "off", or empty where they are shown in long entries only. */
  abbreviated = "";
  /** Of time, when it is played. */
  speed = 1;
  /** What is drawn over time beside the energy: empty, what suits; and the joint's number, or "all". */
  strip = { quantity: "", joint: "all" };
  /** Seven numbers of the camera; null: as it fits. */
  camera: number[] | null = null;
  /** s: of a recorded motion, or of a run; null: its begin. */
  time: number | null = null;
  /** Where a run in this page began, and its length, s; null where there is none, or where it was changed meanwhile by hand. */
  run: Run | null = null;
  /** The address says where the joints are, also where a time says it too. */
  isPosed = false;

  constructor(readonly data: Data) {
    this.q = Float64Array.from(data.start.q);
    this.qd = Float64Array.from(data.start.qd);
    this.qdd = zeros(data.nv);
    this.drive = data.drive;
    this.world = { gravity: [...data.gravity], payload: 0, friction: true, coriolis: true, tip: 0 };
    this.view = { frames: false, axes: true, centres: false, path: false, boxes: false, ellipsoid: "none" };
  }

  /** The fragment that brings this state back. */
  fragment(): string {
    const { world, view, data } = this,
      out = new URLSearchParams();
    const list = (x: ArrayLike<number>) => Array.from(x, (v) => String(v)).join(",");
    out.set("q", list(this.q));
    if (this.qd.some((x, i) => x !== data.start.qd[i])) out.set("qd", list(this.qd));
    if (this.qdd.some(Boolean)) out.set("qdd", list(this.qdd));
    if (world.gravity.some((x, i) => x !== data.gravity[i])) out.set("gravity", list(world.gravity));
    if (world.payload) out.set("payload", String(world.payload));
    if (!world.friction) out.set("friction", "off");
    if (!world.coriolis) out.set("coriolis", "off");
    if (world.tip) out.set("tip", String(world.tip));
    if (this.drive !== data.drive) out.set("drive", this.drive);
    const on = Object.entries(view)
      .filter(([, v]) => v === true)
      .map(([k]) => k);
    if (on.join() !== "axes") out.set("show", on.join(","));
    if (view.ellipsoid !== "none") out.set("ellipsoid", view.ellipsoid);
    const { quantity, row, column } = this.lens;
    if (quantity !== "mass_matrix" || row || column) out.set("lens", `${quantity},${row},${column}`);
    if (this.notation !== "qddot") out.set("notation", this.notation);
    if (this.variant) out.set("form", this.variant);
    if (this.abbreviated) out.set("abbreviated", this.abbreviated);
    if (this.speed !== 1) out.set("speed", String(this.speed));
    const { quantity: drawn, joint } = this.strip;
    if (drawn || joint !== defaultJoint(data)) out.set("strip", `${drawn},${joint}`);
    if (this.camera) out.set("camera", list(this.camera));
    if (this.time !== null) out.set("time", String(this.time));
    if (this.run) out.set("run", list([this.run.length, ...this.run.q, ...this.run.qd]));
    return out.toString().replaceAll("%2C", ",");
  }

  /** Takes what a fragment says, as far as it makes sense for this robot; returns what does not, in words. */
  read(fragment: string): string[] {
    const given = new Address(fragment),
      { data, world, view } = this;
    const q = given.configuration("q", data);
    this.isPosed = q !== null;
    this.q = q ?? this.q;
    this.qd = given.numbers("qd", data.nv) ?? Float64Array.from(data.start.qd);
    this.qdd = given.numbers("qdd", data.nv) ?? zeros(data.nv);
    world.gravity = Array.from(given.numbers("gravity", 3) ?? data.gravity);
    world.payload = given.number("payload", (x) => x >= 0, "a mass in kg") ?? 0;
    world.friction = given.word("friction", SWITCH, "on") === "on";
    world.coriolis = given.word("coriolis", SWITCH, "on") === "on";
    world.tip = given.index("tip", Math.max(data.tips.length, 1)) ?? 0;
    this.drive = given.word("drive", DRIVES, data.drive);
    const shown = given.words("show", DRAWN) ?? ["axes"];
    for (const key of DRAWN) view[key] = shown.includes(key);
    view.ellipsoid = given.word("ellipsoid", ELLIPSOIDS, "none");
    this.lens = given.entry("lens", data.nv) ?? { quantity: "mass_matrix", row: 0, column: 0 };
    this.notation = given.word("notation", Object.keys(BOOKS), "qddot");
    this.variant = given.word("form", ["", "numbers", "letters"], "");
    this.abbreviated = given.word("abbreviated", ["", ...SWITCH], "");
    this.speed = given.number("speed", (x) => SPEEDS.includes(x), `one of ${SPEEDS.join(", ")}`) ?? 1;
    this.strip = given.strip("strip", data.coordinates.length) ?? { quantity: "", joint: defaultJoint(data) };
    const camera = given.numbers("camera", 7);
    this.camera = camera && camera[6] > 0 ? Array.from(camera) : null;
    this.time = given.number("time", () => true, "a time in s") ?? null;
    const run = given.numbers("run", 1 + data.nq + data.nv);
    this.run = run && run[0] > 0 ? { length: run[0], q: run.slice(1, 1 + data.nq), qd: run.slice(1 + data.nq) } : null;
    return given.complaints();
  }

  /** The value of a coordinate as its slider shows it: of a quaternion a component of the rotation vector. */
  coordinate(k: number): number {
    const x = this.data.coordinates[k];
    return x.quaternion === undefined ? this.q[x.q!] : rotationVector(this.q, x.quaternion)[x.component!];
  }

  setCoordinate(k: number, value: number): void {
    const x = this.data.coordinates[k];
    if (x.quaternion === undefined) {
      this.q[x.q!] = value;
      return;
    }
    const r = rotationVector(this.q, x.quaternion);
    r[x.component!] = value;
    const angle = Math.hypot(...r),
      s = angle > 1e-12 ? Math.sin(angle / 2) / angle : 0.5;
    this.q.set([Math.cos(angle / 2), s * r[0], s * r[1], s * r[2]], x.quaternion);
  }
}

/** Of a unit quaternion wxyz that begins at o. */
export function rotationVector(q: Numbers, o: number): [number, number, number] {
  const sign = q[o] < 0 ? -1 : 1,
    size = Math.hypot(q[o + 1], q[o + 2], q[o + 3]);
  const f = size > 1e-12 ? (sign * 2 * Math.atan2(size, Math.abs(q[o]))) / size : 2 * sign;
  return [f * q[o + 1], f * q[o + 2], f * q[o + 3]];
}
