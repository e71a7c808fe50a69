/** The robot in three dimensions: bodies, overlays, the camera, and what the mouse does to it. */
import {
  AmbientLight,
  Box3,
  BufferAttribute,
  BufferGeometry,
  DirectionalLight,
  HemisphereLight,
  Line,
  LineBasicMaterial,
  Mesh,
  MeshBasicMaterial,
  MeshStandardMaterial,
  Object3D,
  OrthographicCamera,
  PerspectiveCamera,
  Plane,
  Raycaster,
  Scene,
  SphereGeometry,
  Vector2,
  Vector3,
  WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import type { Push } from "./contact";
import { EllipsoidView, type Ellipsoid } from "./ellipsoid";
import { Figure } from "./figure";
import { Ground } from "./ground";
import { Lengths } from "./lengths";
import type { Data } from "./model";
import { planarFrame, type Frame } from "./framing";
import { TipPath } from "./path";
import type { Physics } from "./physics";
import type { State } from "./state";
import { Viewpoint } from "./viewpoint";

const ROLE = { external: 0xcc79a7 };
/** px: as near as this, the tip is meant. */
const GRIP = 18;

export interface Grabbed {
  kind: "joint" | "tip";
  body: number;
  point: Vector3;
  plane: Plane;
  start: Vector3;
}

export class View3D {
  readonly scene = new Scene();
  readonly camera: PerspectiveCamera | OrthographicCamera;
  readonly orbit?: OrbitControls;
  /** None without WebGL. */
  readonly viewpoint?: Viewpoint;
  readonly renderer?: WebGLRenderer;
  private readonly figure: Figure;
  private readonly whole: Mesh;
  private readonly tip: Mesh;
  private readonly spring: Line;
  readonly path: TipPath;
  private readonly lengths: Lengths;
  private readonly ellipsoid: EllipsoidView;
  private readonly ground: Ground;
  private readonly lifted: Set<Mesh> = new Set();
  readonly isPlanar: boolean;
  private readonly frame: Frame | null;

  constructor(
    readonly data: Data,
    readonly physics: Physics,
    readonly host: HTMLElement,
    changed: () => void,
  ) {
    this.isPlanar = data.normal !== null;
    const r = data.thickness;
    this.figure = new Figure(data);
    this.camera = this.isPlanar ? new OrthographicCamera() : new PerspectiveCamera(32, 1, data.reach / 100, data.reach * 100);
    this.camera.up.set(...(data.up as [number, number, number]));
    try {
      this.renderer = new WebGLRenderer({ antialias: true, alpha: true, preserveDrawingBuffer: false });
    } catch {
      host.append(
        Object.assign(document.createElement("p"), {
          className: "nowebgl",
          textContent: "This browser offers no WebGL: the numbers still follow the sliders.",
        }),
      );
    }
    const sky = new HemisphereLight(0xffffff, 0x777f8a, 1.15),
      sun = new DirectionalLight(0xffffff, 1.7);
    sky.position.copy(this.camera.up);
    this.scene.add(sky, new AmbientLight(0xffffff, 0.25), this.camera);
    sun.position.set(1.5, 2, 2.5);
    this.camera.add(sun);

    this.scene.add(this.figure.root);
    this.frame = this.isPlanar ? planarFrame(data, physics, this.figure) : null;
    const ball = (color: number, size: number) =>
      new Mesh(
        new SphereGeometry(size, 20, 14),
        new MeshBasicMaterial({ color, depthTest: false, transparent: true, opacity: 0.95 }),
      );
    this.whole = ball(0xffffff, 0.95 * r);
    this.whole.add(
      new Mesh(
        new SphereGeometry(0.68 * r, 16, 12),
        new MeshBasicMaterial({ color: 0x111111, depthTest: false, transparent: true }),
      ),
    );
    this.tip = ball(ROLE.external, 0.62 * r);
    this.tip.renderOrder = 3;
    this.tip.visible = data.tips.length > 0;
    this.scene.add(this.whole, this.tip);
    this.spring = new Line(
      new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(6), 3)),
      new LineBasicMaterial({ color: ROLE.external, depthTest: false }),
    );
    this.spring.visible = false;
    this.spring.frustumCulled = false;
    this.path = new TipPath(data.reach);
    this.lengths = new Lengths(data.lengths, host);
    this.ellipsoid = new EllipsoidView(data, host);
    this.ground = new Ground(data);
    this.scene.add(this.spring, this.path.line, this.ellipsoid.mesh, this.ground.root);
    if (this.renderer) {
      this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
      const canvas = this.renderer.domElement;
      canvas.tabIndex = 0;
      canvas.setAttribute("role", "application");
      canvas.setAttribute(
        "aria-label",
        `${data.name}, drawn: drag a link to turn its joint, the ball at the tip to move it, elsewhere to look around. Arrow keys turn the view, plus and minus zoom.`,
      );
      host.append(canvas);
      this.orbit = new OrbitControls(this.camera, canvas);
      this.viewpoint = new Viewpoint(this.camera, this.orbit, changed);
      this.viewpoint.listen(canvas, (x, y) => this.grab(x, y) !== null);
    }
  }

  // following the state ----------------------------------------------------------------------------------------------------

  private place(group: Object3D, k: number): void {
    const p = this.physics.poses,
      o = 12 * k;
    group.matrix.set(
      p[o],
      p[o + 1],
      p[o + 2],
      p[o + 3],
      p[o + 4],
      p[o + 5],
      p[o + 6],
      p[o + 7],
      p[o + 8],
      p[o + 9],
      p[o + 10],
      p[o + 11],
      0,
      0,
      0,
      1,
    );
    group.matrixWorldNeedsUpdate = true;
  }

  /** After `physics.place`: everything where it belongs. */
  update(state: State, ellipsoid: Ellipsoid | null, pull: Vector3 | null, pushes: Push[]): void {
    const { view } = state;
    this.figure.bodies.forEach((group, k) => this.place(group, k));
    this.figure.triads.visible = view.frames;
    if (view.frames)
      for (const holder of this.figure.triads.children) holder.userData.body >= 0 && this.place(holder, holder.userData.body);
    this.figure.axes.forEach((x) => (x.visible = view.axes));
    this.figure.centres.forEach((x) => (x.visible = view.centres));
    this.figure.boxes.forEach((x) => (x.visible = view.boxes));
    for (const x of this.figure.pickable)
      (((x.material as MeshStandardMaterial).transparent = view.boxes),
        ((x.material as MeshStandardMaterial).opacity = view.boxes ? 0.35 : 1));
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
    this.path.update(view.path, this.tip.position);
    this.ellipsoid.update(this.tip.visible ? ellipsoid : null, view.ellipsoid, this.tip.position);
    this.ground.update(pushes);
  }

  highlight(body: number): void {
    for (const mesh of this.lifted) (mesh.material as MeshStandardMaterial).emissive.set(0x000000);
    this.lifted.clear();
    for (const mesh of this.figure.pickable) {
      if (mesh.userData.body !== body) continue;
      (mesh.material as MeshStandardMaterial).emissive.set(0x16324f);
      this.lifted.add(mesh);
    }
  }

  // the camera -------------------------------------------------------------------------------------------------------------

  fit(): void {
    const { camera, data } = this,
      up = camera.up.clone().normalize(),
      reach = data.reach,
      target0 = new Vector3();
    const radius = this.around(target0);
    let towards: Vector3;
    const target = this.frame?.target ?? target0;
    if (data.normal) towards = new Vector3(...(data.normal as [number, number, number]));
    else {
      const side = Math.abs(up.x) > 0.9 ? new Vector3(0, 1, 0) : new Vector3(1, 0, 0);
      side.addScaledVector(up, -side.dot(up)).normalize();
      towards = side
        .clone()
        .multiplyScalar(0.85)
        .addScaledVector(new Vector3().crossVectors(up, side), -1.0)
        .addScaledVector(up, 0.42)
        .normalize();
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
    camera.updateProjectionMatrix();
    this.viewpoint?.look(target);
  }

  /** The ball about the robot as it stands: its centre into `centre`, and its radius, with room to move. */
  private around(centre: Vector3): number {
    const box = new Box3(this.tip.position.clone(), this.tip.position.clone());
    if (!this.data.isFloating) box.expandByPoint(new Vector3());
    for (const body of this.figure.bodies) body.updateWorldMatrix(false, true);
    for (const mesh of this.figure.drawn) box.expandByObject(mesh);
    box.getCenter(centre);
    return Math.max(0.5 * this.data.reach, 0.6 * box.getSize(new Vector3()).length());
  }

  /** A direction of the world as it looks on the screen: right, up, towards the viewer. */
  onScreen(direction: number[]): Vector3 {
    return new Vector3(...(direction as [number, number, number])).transformDirection(this.camera.matrixWorldInverse);
  }

  private width = 1;
  private height = 1;

  resize(): void {
    const w = Math.max(this.host.clientWidth, 1),
      h = Math.max(this.host.clientHeight, 1);
    [this.width, this.height] = [w, h];
    this.renderer?.setSize(w, h);
    if (this.camera instanceof OrthographicCamera) {
      const [across, upwards] = this.frame?.room ?? this.data.room,
        aspect = w / h,
        tall = 1.08 * Math.max(upwards, across / aspect);
      [this.camera.top, this.camera.bottom, this.camera.left, this.camera.right] = [tall, -tall, -tall * aspect, tall * aspect];
    } else this.camera.aspect = w / h;
    this.camera.updateProjectionMatrix();
  }

  render(): void {
    this.renderer?.render(this.scene, this.camera);
    this.lengths.update(this.physics.poses, this.camera, this.width, this.height);
  }

  // the mouse --------------------------------------------------------------------------------------------------------------

  private readonly caster = new Raycaster();

  /** Where the scene is in the window; asked for when something is grabbed, since to ask takes a layout of the page. */
  private box = new DOMRect();

  ray(x: number, y: number): Raycaster {
    const { box } = this;
    this.caster.setFromCamera(new Vector2(((x - box.left) / box.width) * 2 - 1, 1 - ((y - box.top) / box.height) * 2), this.camera);
    return this.caster;
  }

  /** What is under the mouse: the tip before links. */
  grab(x: number, y: number): Grabbed | null {
    this.box = this.host.getBoundingClientRect();
    const ray = this.ray(x, y),
      facing = new Vector3();
    this.camera.getWorldDirection(facing);
    if (this.tip.visible) {
      const spot = this.tip.position.clone(),
        seen = spot.clone().project(this.camera);
      const away = Math.hypot(
        ((seen.x + 1) / 2) * this.box.width + this.box.left - x,
        ((1 - seen.y) / 2) * this.box.height + this.box.top - y,
      );
      if (away < GRIP || ray.ray.distanceToPoint(spot) < 1.25 * this.data.thickness)
        return {
          kind: "tip",
          body: -1,
          point: spot,
          plane: new Plane().setFromNormalAndCoplanarPoint(facing, spot),
          start: spot.clone(),
        };
    }
    const hit = ray.intersectObjects(this.figure.pickable, false)[0];
    if (!hit) return null;
    const body = this.moving(hit.object.userData.body as number);
    if (body < 0) return null;
    const axis = new Vector3().setFromMatrixColumn(this.figure.bodies[body].matrix, 2);
    const straight = Math.abs(axis.dot(facing)) > 0.2 && this.data.bodies[body].kind !== "prismatic";
    const plane = new Plane().setFromNormalAndCoplanarPoint(straight ? axis : facing, hit.point);
    return { kind: "joint", body, point: hit.point.clone(), plane, start: hit.point.clone() };
  }

  /** The body itself, or the nearest one towards the base whose joint is a hinge or a slider. */
  private moving(body: number): number {
    while (body >= 0 && (this.data.bodies[body].columns.length !== 1 || !this.data.bodies[body].rate))
      body = this.data.bodies[body].parent;
    return body;
  }

  /** By how much the joint of a grabbed body turns (or slides) so that the point follows the mouse. */
  dragged(grabbed: Grabbed, x: number, y: number): number | null {
    const end = this.ray(x, y).ray.intersectPlane(grabbed.plane, new Vector3());
    if (!end) return null;
    const pose = this.figure.bodies[grabbed.body].matrix,
      axis = new Vector3().setFromMatrixColumn(pose, 2),
      origin = new Vector3().setFromMatrixPosition(pose);
    let change: number;
    if (this.data.bodies[grabbed.body].kind === "prismatic") change = end.clone().sub(grabbed.start).dot(axis);
    else {
      const flat = (p: Vector3) => p.clone().sub(origin).addScaledVector(axis, -p.clone().sub(origin).dot(axis));
      const a = flat(grabbed.start),
        b = flat(end);
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
    if (!this.figure.triads.visible) return "";
    const box = this.host.getBoundingClientRect();
    let best = 14,
      name = "";
    for (const frame of this.figure.framePoints) {
      const at = frame.at.clone();
      if (frame.body >= 0) at.applyMatrix4(this.figure.bodies[frame.body].matrix);
      at.project(this.camera);
      const away = Math.hypot(((at.x + 1) / 2) * box.width + box.left - x, ((1 - at.y) / 2) * box.height + box.top - y);
      if (away < best) [best, name] = [away, frame.name];
    }
    return name;
  }
}
