/** Symbolic lengths beside their links. */
import { Vector3, type Camera } from "three";
import { el, math } from "./dom";
import type { Length } from "./model";

/** px: from the middle of a link to its letter. */
const ASIDE = 20;

export class Lengths {
  private readonly labels: HTMLElement[];

  constructor(
    readonly lengths: Length[],
    host: HTMLElement,
  ) {
    this.labels = lengths.map(({ text }) => el("div", { class: "length", "aria-hidden": "true" }, math(text)));
    host.append(...this.labels);
  }

  /** After the bodies have been placed; `poses` holds 12 numbers a body, three rows of its matrix. */
  update(poses: ArrayLike<number>, camera: Camera, width: number, height: number): void {
    this.lengths.forEach(({ body, end }, k) => {
      const start = placed(poses, body, [0, 0, 0]).project(camera),
        stop = placed(poses, body, end).project(camera);
      const x = ((start.x + stop.x) / 4 + 0.5) * width,
        y = (0.5 - (start.y + stop.y) / 4) * height;
      const along = [(stop.x - start.x) * width, (start.y - stop.y) * height],
        size = Math.hypot(along[0], along[1]) || 1;
      const at = `translate(${(x + (ASIDE * along[1]) / size).toFixed(1)}px, ${(y - (ASIDE * along[0]) / size).toFixed(1)}px)`;
      this.labels[k].style.transform = `${at} translate(-50%, -50%)`;
    });
  }
}

function placed(poses: ArrayLike<number>, body: number, p: number[]): Vector3 {
  if (body < 0) return new Vector3(p[0], p[1], p[2]);
  const row = (r: number) => {
    const o = 12 * body + 4 * r;
    return poses[o] * p[0] + poses[o + 1] * p[1] + poses[o + 2] * p[2] + poses[o + 3];
  };
  return new Vector3(row(0), row(1), row(2));
}
