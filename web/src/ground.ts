/** What the robot touches: planes of the world, its spheres, and the forces of contact as arrows. */
import {
  BoxGeometry,
  ConeGeometry,
  CylinderGeometry,
  GridHelper,
  Group,
  Mesh,
  MeshBasicMaterial,
  MeshStandardMaterial,
  SphereGeometry,
  Vector3,
} from "three";
import type { Push } from "./contact";
import type { Data } from "./model";

/** Sides of a plane that is drawn, and its thickness, of the reach. */
const WIDE = 5,
  THICK = 0.025;
/** The weight of the robot as an arrow, of the reach. */
const WEIGHT = 0.45;
const UP = new Vector3(0, 1, 0);

export class Ground {
  readonly root = new Group();
  private readonly arrows: Group[] = [];
  private readonly shaft: CylinderGeometry;
  private readonly head: ConeGeometry;
  private readonly ink = new MeshBasicMaterial({ color: 0xcc79a7 });
  private readonly perNewton: number;

  constructor(readonly data: Data) {
    const { reach } = data,
      r = data.thickness,
      mass = data.bodies.reduce((sum, x) => sum + x.mass, 0);
    this.perNewton = (WEIGHT * reach) / (9.81 * Math.max(mass, 1e-9));
    this.shaft = new CylinderGeometry(0.16 * r, 0.16 * r, 1, 12).translate(0, 0.5, 0);
    this.head = new ConeGeometry(0.45 * r, 1.2 * r, 16).translate(0, -0.6 * r, 0);
    for (const { point, normal } of data.contacts?.planes ?? []) {
      const size = WIDE * reach,
        floor = new Group(),
        grid = new GridHelper(size, 20, 0x8a94a3, 0x8a94a3);
      const slab = new Mesh(
        new BoxGeometry(size, THICK * reach, size).translate(0, (-THICK * reach) / 2, 0),
        new MeshStandardMaterial({ color: 0x9aa4b2, transparent: true, opacity: 0.28, depthWrite: false }),
      );
      grid.material.transparent = true;
      grid.material.opacity = 0.35;
      floor.add(slab, grid);
      floor.quaternion.setFromUnitVectors(UP, vector(normal));
      floor.position.copy(vector(point));
      this.root.add(floor);
    }
  }

  /** Balls on the bodies that carry them. */
  static ball(radius: number, data: Data): Mesh {
    return new Mesh(
      new SphereGeometry(Math.max(radius, 0.35 * data.thickness), 20, 14),
      new MeshStandardMaterial({ color: 0xcc79a7, transparent: true, opacity: 0.55, depthWrite: false }),
    );
  }

  update(pushes: Push[]): void {
    while (this.arrows.length < pushes.length) {
      const arrow = new Group();
      arrow.add(new Mesh(this.shaft, this.ink), new Mesh(this.head, this.ink));
      this.arrows.push(arrow);
      this.root.add(arrow);
    }
    this.arrows.forEach((arrow, k) => {
      arrow.visible = k < pushes.length;
      if (!arrow.visible) return;
      const force = vector(pushes[k].force),
        length = Math.min(force.length() * this.perNewton, this.data.reach);
      arrow.position.copy(vector(pushes[k].point));
      arrow.quaternion.setFromUnitVectors(UP, force.normalize());
      const [shaft, head] = arrow.children;
      shaft.scale.set(1, Math.max(length, 1e-6), 1);
      head.position.set(0, length, 0);
    });
  }
}

const vector = (x: number[]) => new Vector3(x[0], x[1], x[2]);
