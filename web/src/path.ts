/** Where the tip has been. */
import { BufferAttribute, BufferGeometry, Line, LineBasicMaterial, type Vector3 } from "three";

const LONGEST = 2000;

export class TipPath {
  private readonly points = new BufferAttribute(new Float32Array(3 * LONGEST), 3);
  private length = 0;
  readonly line = new Line(
    new BufferGeometry().setAttribute("position", this.points),
    new LineBasicMaterial({ color: 0xcc79a7, transparent: true, opacity: 0.8 }),
  );

  constructor(readonly reach: number) {
    this.line.frustumCulled = false;
  }

  /** Adds the tip where it has moved; forgets everything when it is switched off. */
  update(on: boolean, tip: Vector3): void {
    this.line.visible = on;
    if (!on) return this.clear();
    const { points } = this,
      last = this.length - 1;
    const moved = last < 0 ? Infinity : Math.hypot(points.getX(last) - tip.x, points.getY(last) - tip.y, points.getZ(last) - tip.z);
    if (moved < 1e-4 * this.reach) return;
    if (this.length === LONGEST) {
      points.array.copyWithin(0, 3);
      this.length--;
    }
    points.setXYZ(this.length++, tip.x, tip.y, tip.z);
    points.needsUpdate = true;
    this.line.geometry.setDrawRange(0, this.length);
  }

  clear(): void {
    this.length = 0;
    this.line.geometry.setDrawRange(0, 0);
  }
}
