/** What the robot is drawn of: bodies with their shapes, axes, centres of mass and boxes of equal inertia, and frames. */
import {
  BoxGeometry,
  BufferGeometry,
  Color,
  ConeGeometry,
  CylinderGeometry,
  Group,
  LineBasicMaterial,
  LineSegments,
  Matrix4,
  Mesh,
  MeshBasicMaterial,
  MeshStandardMaterial,
  type Object3D,
  SphereGeometry,
  Vector3,
} from "three";
import { meshGeometry } from "./geometry";
import { Ground } from "./ground";
import type { Body, Data, Shape } from "./model";

const AXIS_COLORS = [0xd55e00, 0x009e73, 0x0072b2];

/** Of a part of a colour: in pure black no shape can be seen. */
const DARKEST = 0.16;

export class Figure {
  readonly root = new Group();
  readonly bodies: Group[] = [];
  readonly pickable: Mesh[] = [];
  /** Solid parts, of the base too. */
  readonly drawn: Mesh[] = [];
  readonly triads = new Group();
  readonly framePoints: { name: string; body: number; at: Vector3 }[] = [];
  readonly axes: Object3D[] = [];
  readonly centres: Object3D[] = [];
  readonly boxes: Object3D[] = [];

  constructor(readonly data: Data) {
    const r = data.thickness;
    data.base.forEach((shape) => this.root.add(this.mesh(shape, -1, this.tinted(shape) ?? this.material(0x5b6470))));
    if (!data.isDrawn && !data.isFloating && !data.isClosed && !data.base.some((x) => x.kind === "rail")) this.root.add(this.pedestal(r));
    data.bodies.forEach((body, k) => this.bodies.push(this.body(body, k, r)));
    data.frames.forEach((frame) => this.triad(frame.name, frame.body, frame.pose));
    data.contacts?.places.forEach(({ body, center }, k) => {
      const ball = Ground.ball(data.contacts!.spheres[k], data);
      ball.position.set(center[0], center[1], center[2]);
      this.bodies[body].add(ball);
    });
    this.root.add(...this.bodies, this.triads);
  }

  private material(color: number | Color): MeshStandardMaterial {
    return new MeshStandardMaterial({ color, roughness: 0.55, metalness: 0.05 });
  }

  /** In the colour of the description. */
  private tinted(shape: Shape): MeshStandardMaterial | null {
    if (!shape.color) return null;
    const [r, g, b] = shape.color.map((x) => Math.max(x, DARKEST));
    return this.material(new Color().setRGB(r, g, b, "srgb"));
  }

  private body(body: Body, k: number, r: number): Group {
    const group = new Group();
    group.matrixAutoUpdate = false;
    const shade = this.material(k % 2 ? 0xd9dde3 : 0xb9c2cf);
    const dark = this.material(0x3c4654);
    for (const shape of body.shapes) {
      const made = this.mesh(shape, k, this.tinted(shape) ?? (shape.kind === "drum" || shape.kind === "rail" ? dark : shade));
      group.add(made);
    }
    if (body.kind === "revolute" || body.kind === "prismatic" || body.kind === "helical") {
      const line = new LineSegments(
        new BufferGeometry().setFromPoints([new Vector3(0, 0, -4.5 * r), new Vector3(0, 0, 4.5 * r)]),
        new LineBasicMaterial({ color: 0x0072b2, transparent: true, opacity: 0.9 }),
      );
      const head = new Mesh(
        new ConeGeometry(0.32 * r, 1.1 * r, 12).rotateX(Math.PI / 2).translate(0, 0, 4.8 * r),
        new MeshBasicMaterial({ color: 0x0072b2 }),
      );
      line.add(head);
      this.axes.push(line);
      group.add(line);
    }
    if (body.isLink && body.mass > 0) {
      const dot = new Mesh(
        new SphereGeometry(0.42 * r, 16, 12),
        new MeshBasicMaterial({ color: 0x111111, depthTest: false, transparent: true }),
      );
      const ring = new Mesh(
        new SphereGeometry(0.54 * r, 16, 12),
        new MeshBasicMaterial({ color: 0xffffff, depthTest: false, transparent: true }),
      );
      ring.renderOrder = 1;
      dot.add(ring); // so that it is seen on black too
      dot.position.set(body.com[0], body.com[1], body.com[2]);
      dot.renderOrder = 2;
      this.centres.push(dot);
      group.add(dot);
    }
    if (body.box) {
      const box = new Mesh(
        new BoxGeometry(...(body.box.size.map((x) => Math.max(x, 0.1 * r)) as [number, number, number])),
        new MeshStandardMaterial({ color: 0x56b4e9, transparent: true, opacity: 0.45, depthWrite: false }),
      );
      box.applyMatrix4(rigid(body.box.pose));
      this.boxes.push(box);
      group.add(box);
    }
    return group;
  }

  private mesh(shape: Shape, body: number, material: MeshStandardMaterial): Mesh {
    const made = new Mesh(meshGeometry(shape), material);
    if (shape.pose && shape.kind !== "mesh") made.applyMatrix4(rigid(shape.pose));
    made.userData.body = body;
    if (body >= 0) this.pickable.push(made);
    if (shape.kind !== "rail") this.drawn.push(made);
    return made;
  }

  private pedestal(r: number): Mesh {
    const foot = new Mesh(new CylinderGeometry(2.2 * r, 2.6 * r, 1.2 * r, 48), this.material(0x5b6470));
    const up = this.data.normal
      ? new Vector3(...(this.data.normal as [number, number, number]))
      : new Vector3(...(this.data.up as [number, number, number]));
    foot.quaternion.setFromUnitVectors(new Vector3(0, 1, 0), up.normalize());
    foot.position.copy(up).multiplyScalar(this.data.normal ? -1.9 * r : -0.6 * r);
    return foot;
  }

  private triad(name: string, body: number, pose: number[]): void {
    const size = 0.075 * this.data.reach,
      group = new Group();
    const ends = [new Vector3(size, 0, 0), new Vector3(0, size, 0), new Vector3(0, 0, size)];
    ends.forEach((end, k) =>
      group.add(
        new LineSegments(
          new BufferGeometry().setFromPoints([new Vector3(), end]),
          new LineBasicMaterial({ color: AXIS_COLORS[k], depthTest: false, transparent: true }),
        ),
      ),
    );
    group.applyMatrix4(rigid(pose));
    group.userData.body = body;
    const holder = new Group();
    holder.matrixAutoUpdate = false;
    holder.userData.body = body;
    holder.add(group);
    this.triads.add(holder);
    this.framePoints.push({ name, body, at: new Vector3(pose[3], pose[7], pose[11]) });
  }
}

function rigid(rows: number[]): Matrix4 {
  return new Matrix4().set(
    rows[0],
    rows[1],
    rows[2],
    rows[3],
    rows[4],
    rows[5],
    rows[6],
    rows[7],
    rows[8],
    rows[9],
    rows[10],
    rows[11],
    0,
    0,
    0,
    1,
  );
}
