/** The robot in three dimensions: bodies, overlays, the camera, and what the mouse does to it. */
import {
  AmbientLight, BoxGeometry, BufferAttribute, BufferGeometry, Color, ConeGeometry, CylinderGeometry, DirectionalLight, DoubleSide, Group,
  HemisphereLight, Line, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshBasicMaterial, MeshStandardMaterial, Object3D, OrthographicCamera,
  PerspectiveCamera, Plane, Raycaster, Scene, SphereGeometry, Vector2, Vector3, WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { eigen, timesTransposed, zeros, cholesky, solve, type Numbers } from "./linear";
import { meshGeometry } from "./geometry";
import type { Body, Data, Shape } from "./model";
import type { Physics } from "./physics";
import type { State } from "./state";

const AXIS_COLORS = [0xd55e00, 0x009e73, 0x0072b2];
const ROLE = { external: 0xcc79a7 };
const PATH = 2000;
/** The longest half axis of an ellipsoid, of the reach. */
const ELLIPSOID = 0.22;

export interface Grabbed {
  kind: "joint" | "tip";
  body: number;
  point: Vector3;
  plane: Plane;
  start: Vector3;
}

export interface Ellipsoid {
  directions: number[][];
  lengths: number[];
}

export class View3D {
  readonly scene = new Scene();
  readonly camera: PerspectiveCamera | OrthographicCamera;
  readonly orbit?: OrbitControls;
  readonly renderer?: WebGLRenderer;
  private readonly bodies: Group[] = [];
  private readonly pickable: Mesh[] = [];
  private readonly materials: MeshStandardMaterial[] = [];
  private readonly triads = new Group();
  private readonly framePoints: { name: string; body: number; at: Vector3 }[] = [];
  private readonly axes: Object3D[] = [];
  private readonly centres: Object3D[] = [];
  private readonly boxes: Object3D[] = [];
  private readonly whole: Mesh;
  private readonly tip: Mesh;
  private readonly spring: Line;
  private readonly path: Line;
  private readonly ellipsoid: Mesh;
  private pathLength = 0;
  private readonly lifted: Set<Mesh> = new Set();
  readonly isPlanar: boolean;

  constructor(readonly data: Data, readonly physics: Physics, readonly host: HTMLElement, changed: () => void) {
    this.isPlanar = data.normal !== null;
    const r = 0.032 * data.reach;
    this.camera = this.isPlanar ? new OrthographicCamera() : new PerspectiveCamera(32, 1, data.reach / 100, data.reach * 100);
    this.camera.up.set(...(data.up as [number, number, number]));
    try {
      this.renderer = new WebGLRenderer({ antialias: true, alpha: true, preserveDrawingBuffer: false });
    } catch {
      host.append(Object.assign(document.createElement("p"), { className: "nowebgl", textContent: "This browser offers no WebGL: the numbers still follow the sliders." }));
    }
    const sky = new HemisphereLight(0xffffff, 0x777f8a, 1.15), sun = new DirectionalLight(0xffffff, 1.7);
    sky.position.copy(this.camera.up);
    this.scene.add(sky, new AmbientLight(0xffffff, 0.25), this.camera);
    sun.position.set(1.5, 2, 2.5);
    this.camera.add(sun);

    const base = new Group();
    this.scene.add(base);
    data.base.forEach((shape) => base.add(this.mesh(shape, -1, this.tinted(shape) ?? this.material(0x5b6470))));
    if (!data.isDrawn && !data.base.some((x) => x.kind === "rail")) base.add(this.pedestal(r));
    data.bodies.forEach((body, k) => this.bodies.push(this.body(body, k, r)));
    this.scene.add(...this.bodies, this.triads);
    data.frames.forEach((frame) => this.triad(frame.name, frame.body, frame.pose));

    const ball = (color: number, size: number) => new Mesh(new SphereGeometry(size, 20, 14), new MeshBasicMaterial({ color, depthTest: false, transparent: true, opacity: 0.95 }));
    this.whole = ball(0xffffff, 0.55 * r);
    this.whole.add(new Mesh(new SphereGeometry(0.38 * r, 16, 12), new MeshBasicMaterial({ color: 0x111111, depthTest: false, transparent: true })));
    this.tip = ball(ROLE.external, 0.62 * r);
    this.tip.renderOrder = 3;
    this.tip.visible = data.tips.length > 0;
    this.scene.add(this.whole, this.tip);
    this.spring = new Line(new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(6), 3)), new LineBasicMaterial({ color: ROLE.external, depthTest: false }));
    this.spring.visible = false;
    this.spring.frustumCulled = false;
    this.path = new Line(new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(3 * PATH), 3)), new LineBasicMaterial({ color: ROLE.external, transparent: true, opacity: 0.8 }));
    this.path.frustumCulled = false;
    this.ellipsoid = new Mesh(new SphereGeometry(1, 40, 28), new MeshStandardMaterial({ color: 0xe69f00, transparent: true, opacity: 0.38, side: DoubleSide, depthWrite: false, roughness: 0.6 }));
    this.ellipsoid.matrixAutoUpdate = false;
    this.ellipsoid.renderOrder = 2;
    this.scene.add(this.spring, this.path, this.ellipsoid);
    if (this.renderer) {
      this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
      const canvas = this.renderer.domElement;
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `${data.name}, drawn: drag a link to turn its joint, the ball at the tip to move it, elsewhere to look around`);
      host.append(canvas);
      this.orbit = new OrbitControls(this.camera, canvas);
      this.orbit.enableDamping = false;
      this.orbit.addEventListener("change", changed);
    }
  }

  // building ---------------------------------------------------------------------------------------------------------------

  private material(color: number | Color): MeshStandardMaterial {
    return new MeshStandardMaterial({ color, roughness: 0.55, metalness: 0.05 });
  }

  /** In the colour of the description. */
  private tinted(shape: Shape): MeshStandardMaterial | null {
    return shape.color ? this.material(new Color().setRGB(shape.color[0], shape.color[1], shape.color[2], "srgb")) : null;
  }

  private body(body: Body, k: number, r: number): Group {
    const group = new Group();
    group.matrixAutoUpdate = false;
    const shade = this.material(k % 2 ? 0xd9dde3 : 0xb9c2cf);
    const dark = this.material(0x3c4654);
    this.materials.push(shade);
    for (const shape of body.shapes) {
      const made = this.mesh(shape, k, this.tinted(shape) ?? (shape.kind === "drum" || shape.kind === "rail" ? dark : shade));
      group.add(made);
    }
    if (body.kind === "revolute" || body.kind === "prismatic" || body.kind === "helical") {
      const line = new LineSegments(
        new BufferGeometry().setFromPoints([new Vector3(0, 0, -4.5 * r), new Vector3(0, 0, 4.5 * r)]),
        new LineBasicMaterial({ color: 0x0072b2, transparent: true, opacity: 0.9 }),
      );
      const head = new Mesh(new ConeGeometry(0.32 * r, 1.1 * r, 12).rotateX(Math.PI / 2).translate(0, 0, 4.8 * r), new MeshBasicMaterial({ color: 0x0072b2 }));
      line.add(head);
      this.axes.push(line);
      group.add(line);
    }
    if (body.isLink && body.mass > 0) {
      const dot = new Mesh(new SphereGeometry(0.42 * r, 16, 12), new MeshBasicMaterial({ color: 0x111111, depthTest: false, transparent: true }));
      dot.position.set(body.com[0], body.com[1], body.com[2]);
      dot.renderOrder = 2;
      this.centres.push(dot);
      group.add(dot);
    }
    if (body.box) {
      const box = new Mesh(new BoxGeometry(...(body.box.size.map((x) => Math.max(x, 0.1 * r)) as [number, number, number])), new MeshStandardMaterial({ color: 0x56b4e9, transparent: true, opacity: 0.45, depthWrite: false }));
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
    return made;
  }

  private pedestal(r: number): Mesh {
    const foot = new Mesh(new CylinderGeometry(2.2 * r, 2.6 * r, 1.2 * r, 48), this.material(0x5b6470));
    const up = this.isPlanar ? new Vector3(...(this.data.normal as [number, number, number])) : this.camera.up.clone();
    foot.quaternion.setFromUnitVectors(new Vector3(0, 1, 0), up.normalize());
    foot.position.copy(up).multiplyScalar(this.isPlanar ? -1.9 * r : -0.6 * r);
    return foot;
  }

  private triad(name: string, body: number, pose: number[]): void {
    const size = 0.075 * this.data.reach, group = new Group();
    const ends = [new Vector3(size, 0, 0), new Vector3(0, size, 0), new Vector3(0, 0, size)];
    ends.forEach((end, k) => group.add(new LineSegments(new BufferGeometry().setFromPoints([new Vector3(), end]), new LineBasicMaterial({ color: AXIS_COLORS[k], depthTest: false, transparent: true }))));
    group.applyMatrix4(rigid(pose));
    group.userData.body = body;
    const holder = new Group();
    holder.matrixAutoUpdate = false;
    holder.userData.body = body;
    holder.add(group);
    this.triads.add(holder);
    this.framePoints.push({ name, body, at: new Vector3(pose[3], pose[7], pose[11]) });
  }

  // following the state ----------------------------------------------------------------------------------------------------

  private place(group: Object3D, k: number): void {
    const p = this.physics.poses, o = 12 * k;
    group.matrix.set(p[o], p[o + 1], p[o + 2], p[o + 3], p[o + 4], p[o + 5], p[o + 6], p[o + 7], p[o + 8], p[o + 9], p[o + 10], p[o + 11], 0, 0, 0, 1);
    group.matrixWorldNeedsUpdate = true;
  }

  /** After `physics.place`: everything where it belongs. */
  update(state: State, ellipsoid: Ellipsoid | null, pull: Vector3 | null): void {
    const { view } = state;
    this.bodies.forEach((group, k) => this.place(group, k));
    this.triads.visible = view.frames;
    if (view.frames) for (const holder of this.triads.children) holder.userData.body >= 0 && this.place(holder, holder.userData.body);
    this.axes.forEach((x) => (x.visible = view.axes));
    this.centres.forEach((x) => (x.visible = view.centres));
    this.boxes.forEach((x) => (x.visible = view.boxes));
    for (const x of this.pickable) ((x.material as MeshStandardMaterial).transparent = view.boxes), ((x.material as MeshStandardMaterial).opacity = view.boxes ? 0.35 : 1);
    this.whole.visible = view.centres;
    this.whole.position.set(this.physics.centre[0], this.physics.centre[1], this.physics.centre[2]);
    this.tip.position.set(this.physics.tip[0], this.physics.tip[1], this.physics.tip[2]);
    this.spring.visible = pull !== null;
    if (pull) {
      const at = this.spring.geometry.getAttribute("position") as BufferAttribute;
      at.setXYZ(0, this.tip.position.x, this.tip.position.y, this.tip.position.z);
      at.setXYZ(1, pull.x, pull.y, pull.z);
      at.needsUpdate = true;
    }
    this.trace(view.path);
    this.ellipsoid.visible = ellipsoid !== null && this.tip.visible;
    if (ellipsoid) this.shapeEllipsoid(ellipsoid, view.ellipsoid);
  }

  private trace(on: boolean): void {
    this.path.visible = on;
    if (!on) {
      this.pathLength = 0;
      return;
    }
    const at = this.path.geometry.getAttribute("position") as BufferAttribute, { x, y, z } = this.tip.position;
    const last = this.pathLength - 1;
    if (last >= 0 && Math.hypot(at.getX(last) - x, at.getY(last) - y, at.getZ(last) - z) < 1e-4 * this.data.reach) return;
    if (this.pathLength === PATH) {
      at.array.copyWithin(0, 3);
      this.pathLength--;
    }
    at.setXYZ(this.pathLength++, x, y, z);
    at.needsUpdate = true;
    this.path.geometry.setDrawRange(0, this.pathLength);
  }

  clearPath(): void {
    this.pathLength = 0;
    this.path.geometry.setDrawRange(0, 0);
  }

  private shapeEllipsoid({ directions, lengths }: Ellipsoid, kind: string): void {
    const finite = lengths.filter(Number.isFinite), scale = (ELLIPSOID * this.data.reach) / Math.max(...finite, 1e-9);
    const thin = 0.004 * this.data.reach, most = 1.6 * ELLIPSOID * this.data.reach;
    const axes = [0, 1, 2].map((k) => new Vector3(...(directions[k] as [number, number, number])).multiplyScalar(Math.max(Math.min(lengths[k] * scale, most), thin)));
    this.ellipsoid.matrix.makeBasis(axes[0], axes[1], axes[2]).setPosition(this.tip.position);
    this.ellipsoid.matrixWorldNeedsUpdate = true;
    (this.ellipsoid.material as MeshStandardMaterial).color.set(kind === "velocity" ? 0xe69f00 : kind === "force" ? 0xcc79a7 : 0x0072b2);
  }

  highlight(body: number): void {
    for (const mesh of this.lifted) (mesh.material as MeshStandardMaterial).emissive.set(0x000000);
    this.lifted.clear();
    for (const mesh of this.pickable) {
      if (mesh.userData.body !== body) continue;
      (mesh.material as MeshStandardMaterial).emissive.set(0x16324f);
      this.lifted.add(mesh);
    }
  }

  // the camera -------------------------------------------------------------------------------------------------------------

  fit(): void {
    const { camera, data } = this, up = camera.up.clone().normalize(), reach = data.reach, target0 = new Vector3();
    const radius = this.around(target0);
    let towards: Vector3;
    const target = this.isPlanar ? new Vector3() : target0;
    if (data.normal) towards = new Vector3(...(data.normal as [number, number, number]));
    else {
      const side = Math.abs(up.x) > 0.9 ? new Vector3(0, 1, 0) : new Vector3(1, 0, 0);
      side.addScaledVector(up, -side.dot(up)).normalize();
      towards = side.clone().multiplyScalar(0.85).addScaledVector(new Vector3().crossVectors(up, side), -1.0).addScaledVector(up, 0.42).normalize();
    }
    this.resize();
    if (camera instanceof OrthographicCamera) {
      camera.position.copy(target).addScaledVector(towards, 10 * reach);
      camera.near = 0.01 * reach;
      camera.far = 30 * reach;
      camera.zoom = 1;
    } else {
      const narrow = Math.min(1, camera.aspect);
      camera.position.copy(target).addScaledVector(towards, radius / Math.sin((camera.fov * Math.PI) / 360) / narrow);
    }
    camera.lookAt(target);
    camera.updateProjectionMatrix();
    if (this.orbit) {
      this.orbit.target.copy(target);
      this.orbit.update();
    }
  }

  /** The ball about the robot as it stands: its centre into `centre`, and its radius, with room to move. */
  private around(centre: Vector3): number {
    const points = [new Vector3(), this.tip.position.clone(), ...this.bodies.map((x) => new Vector3().setFromMatrixPosition(x.matrix))];
    const low = points[0].clone(), high = points[0].clone();
    for (const p of points) low.min(p), high.max(p);
    centre.addVectors(low, high).multiplyScalar(0.5);
    return Math.max(0.42 * this.data.reach, 1.25 * Math.max(...points.map((p) => p.distanceTo(centre))));
  }

  /** A direction of the world as it looks on the screen: right, up, towards the viewer. */
  onScreen(direction: number[]): Vector3 {
    return new Vector3(...(direction as [number, number, number])).transformDirection(this.camera.matrixWorldInverse);
  }

  resize(): void {
    const w = Math.max(this.host.clientWidth, 1), h = Math.max(this.host.clientHeight, 1);
    this.renderer?.setSize(w, h);
    if (this.camera instanceof OrthographicCamera) {
      const half = 1.08 * this.data.reach, aspect = w / h, tall = aspect >= 1 ? half : half / aspect;
      [this.camera.top, this.camera.bottom, this.camera.left, this.camera.right] = [tall, -tall, -tall * aspect, tall * aspect];
    } else this.camera.aspect = w / h;
    this.camera.updateProjectionMatrix();
  }

  render(): void {
    this.renderer?.render(this.scene, this.camera);
  }

  // the mouse --------------------------------------------------------------------------------------------------------------

  private readonly caster = new Raycaster();

  ray(x: number, y: number): Raycaster {
    const box = this.host.getBoundingClientRect();
    this.caster.setFromCamera(new Vector2(((x - box.left) / box.width) * 2 - 1, 1 - ((y - box.top) / box.height) * 2), this.camera);
    return this.caster;
  }

  /** What is under the mouse: the tip before links. */
  grab(x: number, y: number): Grabbed | null {
    const ray = this.ray(x, y), facing = new Vector3();
    this.camera.getWorldDirection(facing);
    if (this.tip.visible) {
      const spot = this.tip.position.clone(), reach = ray.ray.distanceToPoint(spot);
      const size = 0.032 * this.data.reach * 1.25;
      if (reach < size) return { kind: "tip", body: -1, point: spot, plane: new Plane().setFromNormalAndCoplanarPoint(facing, spot), start: spot.clone() };
    }
    const hit = ray.intersectObjects(this.pickable, false)[0];
    if (!hit) return null;
    const body = this.moving(hit.object.userData.body as number);
    if (body < 0) return null;
    const axis = new Vector3().setFromMatrixColumn(this.bodies[body].matrix, 2);
    const straight = Math.abs(axis.dot(facing)) > 0.2 && this.data.bodies[body].kind !== "prismatic";
    const plane = new Plane().setFromNormalAndCoplanarPoint(straight ? axis : facing, hit.point);
    return { kind: "joint", body, point: hit.point.clone(), plane, start: hit.point.clone() };
  }

  /** The body itself, or the nearest one towards the base whose joint is a hinge or a slider. */
  private moving(body: number): number {
    while (body >= 0 && (this.data.bodies[body].columns.length !== 1 || !this.data.bodies[body].rate)) body = this.data.bodies[body].parent;
    return body;
  }

  /** By how much the joint of a grabbed body turns (or slides) so that the point follows the mouse. */
  dragged(grabbed: Grabbed, x: number, y: number): number | null {
    const end = this.ray(x, y).ray.intersectPlane(grabbed.plane, new Vector3());
    if (!end) return null;
    const pose = this.bodies[grabbed.body].matrix, axis = new Vector3().setFromMatrixColumn(pose, 2), origin = new Vector3().setFromMatrixPosition(pose);
    let change: number;
    if (this.data.bodies[grabbed.body].kind === "prismatic") change = end.clone().sub(grabbed.start).dot(axis);
    else {
      const flat = (p: Vector3) => p.clone().sub(origin).addScaledVector(axis, -p.clone().sub(origin).dot(axis));
      const a = flat(grabbed.start), b = flat(end);
      if (a.length() < 1e-6 || b.length() < 1e-6) return null;
      change = Math.atan2(new Vector3().crossVectors(a, b).dot(axis), a.dot(b));
    }
    grabbed.start.copy(end);
    return change / this.data.bodies[grabbed.body].rate;
  }

  /** Where the mouse holds the tip. */
  target(grabbed: Grabbed, x: number, y: number): Vector3 | null {
    return this.ray(x, y).ray.intersectPlane(grabbed.plane, new Vector3());
  }

  /** The frame near the mouse, if frames are shown. */
  named(x: number, y: number): string {
    if (!this.triads.visible) return "";
    const box = this.host.getBoundingClientRect();
    let best = 14, name = "";
    for (const frame of this.framePoints) {
      const at = frame.at.clone();
      if (frame.body >= 0) at.applyMatrix4(this.bodies[frame.body].matrix);
      at.project(this.camera);
      const away = Math.hypot(((at.x + 1) / 2) * box.width + box.left - x, ((1 - at.y) / 2) * box.height + box.top - y);
      if (away < best) [best, name] = [away, frame.name];
    }
    return name;
  }
}

function rigid(rows: number[]): Matrix4 {
  return new Matrix4().set(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7], rows[8], rows[9], rows[10], rows[11], 0, 0, 0, 1);
}

/** At the tip, of the rows x, y, z of V = J qd: velocity {J qd: |qd| = 1}, force {F: |J^T F| = 1}, mass {M_C a: |a| = 1}. */
export function ellipsoidAt(physics: Physics, kind: string): Ellipsoid | null {
  if (kind === "none" || !physics.data.tips.length) return null;
  const n = physics.n, J = physics.J.subarray(3 * n, 6 * n);
  let square: Numbers;
  if (kind === "mass") {
    const L = physics.M.slice();
    if (!cholesky(L, n)) return null;
    const Y = zeros(3 * n);
    for (let r = 0; r < 3; r++) {
      const y = J.slice(r * n, r * n + n);
      solve(L, n, y);
      Y.set(y, r * n);
    }
    square = timesTransposed(J, Y, 3, 3, n);
  } else square = timesTransposed(J, J, 3, 3, n);
  const { values, vectors } = eigen(square, 3), largest = Math.max(...values, 0);
  const lengths = values.map((x) => {
    const zero = x <= 1e-24 * largest || x <= 0 || Math.sqrt(x / (largest || 1)) < 1e-9;
    return kind === "velocity" ? (zero ? 0 : Math.sqrt(x)) : zero ? Infinity : kind === "force" ? 1 / Math.sqrt(x) : 1 / x;
  });
  return { directions: vectors, lengths };
}

/** Half axes that say something: those in the plane of a planar arm. */
export function visibleLengths(ellipsoid: Ellipsoid, normal: number[] | null): number[] {
  if (!normal) return ellipsoid.lengths;
  return ellipsoid.lengths.filter((_, k) => Math.abs(ellipsoid.directions[k].reduce((sum, x, i) => sum + x * normal[i], 0)) < 0.5);
}
