/** What Python puts into the page. */
import type { Numbers } from "./linear";

export interface Shape {
  kind: "capsule" | "drum" | "ball" | "block" | "rail" | "mesh" | "box" | "cylinder" | "sphere";
  from?: number[];
  to?: number[];
  at?: number[];
  radius?: number;
  length?: number;
  size?: number[];
  pose?: number[];
  color?: number[];
  /** Of a mesh: 16-bit grid positions and indices in base64. */
  positions?: string;
  indices?: string;
  origin?: number[];
  scale?: number[];
}

export interface Body {
  name: string;
  joint: string;
  kind: string;
  parent: number;
  isLink: boolean;
  columns: number[];
  rate: number;
  mass: number;
  com: number[];
  box: { size: number[]; pose: number[] } | null;
  shapes: Shape[];
}

export interface Frame {
  name: string;
  body: number;
  pose: number[];
}

/** One degree of freedom; a quaternion's three share `quaternion`, where it begins in q. */
export interface Coordinate {
  name: string;
  /** The name without what all names begin with. */
  short: string;
  unit: "rad" | "m";
  v: number;
  q?: number;
  quaternion?: number;
  component?: number;
  lower: number;
  upper: number;
  stops?: [number | null, number | null];
  speed?: number | null;
  /** False for what no motor moves: the base of a robot that floats. */
  isDriven: boolean;
}

/** Of the force along a coordinate. */
export const forceUnit = (x: Coordinate) => (x.unit === "rad" ? "N m" : "N");

/** Each once, in the order of their first appearance. */
export const once = (words: string[]) => [...new Set(words)];

export interface Tip {
  name: string;
  frame: number;
  body: number;
  /** What a point mass of 1 kg there adds to the ten parameters of its link, which begin at `at`; null on the world. */
  payload: { at: number; values: number[] } | null;
}

export interface Motion {
  t: number[];
  q: number[][];
  qd: number[][];
  /** Accelerations, joint forces of the motors, and from outside; a log has none of the last. */
  qdd?: number[][];
  tau?: number[][];
  external?: number[][];
  measured?: number[][];
  /** At each time those that push: pair, and the force along its normal and two tangents. */
  contact?: number[][][];
}

/** What may touch what: radii of spheres, planes of the world, pairs of spheres; the program `spheres` tells where they are. */
export interface Contacts {
  spheres: number[];
  /** Of each sphere: its body, and its centre there. */
  places: { body: number; center: number[] }[];
  planes: { point: number[]; normal: number[] }[];
  pairs: number[][];
  friction: number;
  restitution: number;
}

/** From the origin of a body's frame (-1: the world's) to `end` in it; `text` is MathML. */
export interface Length {
  body: number;
  end: number[];
  text: string;
}

export interface Data {
  name: string;
  /** How Python gets this robot, lines that define `robot`; and this page, up to the view. */
  script: { begin: string; end: string };
  /** What the motors do at first. */
  drive: "free" | "hold";
  /** The state to begin with, as a fragment of an address. */
  view: string;
  nq: number;
  nv: number;
  start: { q: number[]; qd: number[] };
  gravity: number[];
  parameters: number[];
  hasFriction: boolean;
  hasSprings: boolean;
  /** Degrees of freedom that closed loops leave. */
  freedom: number;
  /** Nothing fixes the robot to the world. */
  isFloating: boolean;
  isClosed: boolean;
  /** Kinematics only. */
  isMassless: boolean;
  reach: number;
  /** Half of what a link is thick, m. */
  thickness: number;
  /** How far a robot in a plane goes to the sides, and up and down, m. */
  room: [number, number];
  up: number[];
  normal: number[] | null;
  base: Shape[];
  /** The description says what to draw. */
  isDrawn: boolean;
  bodies: Body[];
  frames: Frame[];
  lengths: Length[];
  coordinates: Coordinate[];
  tips: Tip[];
  sizes: Record<string, number[]>;
  motion: Motion | null;
  contacts: Contacts | null;
  notes: string[];
}

export type Kernel = (...arrays: ArrayLike<number>[]) => number | void;

export interface Kernels {
  poses: Kernel;
  dynamics: Kernel;
  rates: Kernel;
  delivered_torque: Kernel;
  demanded_torque: Kernel;
  loops?: Kernel;
  spheres?: Kernel;
  [name: string]: Kernel | undefined;
}

export interface Point {
  q: Numbers;
  qd: Numbers;
  qdd: Numbers;
}
