/** Gravity in the corner of the scene: which way, and how strong. */
import type { Vector3 } from "three";
import { el, shown, svg } from "./dom";

export class Compass {
  private readonly arrow = svg("path", { d: "M0 -14 V12 M-4.5 6 L0 14 L4.5 6" });
  private readonly dot = svg("circle", { r: 3.5 });
  private readonly text = el("span", {});
  readonly root = el(
    "div",
    { class: "compass" },
    svg("svg", { viewBox: "-18 -18 36 36", "aria-hidden": "true" }, this.arrow, this.dot),
    this.text,
  );

  update(direction: Vector3, size: number): void {
    const flat = Math.hypot(direction.x, direction.y);
    this.root.hidden = size < 1e-9;
    this.arrow.setAttribute(
      "transform",
      `rotate(${((Math.atan2(-direction.x, -direction.y) * 180) / Math.PI).toFixed(1)}) scale(1 ${flat.toFixed(3)})`,
    );
    this.dot.style.display = flat < 0.15 ? "" : "none";
    this.text.textContent = `${shown(size, 3)} m/s²`;
  }
}
