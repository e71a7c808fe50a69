/** From where one looks: how wheel, fingers and keys change it, and how it is written down. */
import { OrthographicCamera, Vector3, type PerspectiveCamera } from "three";
import type { OrbitControls } from "three/addons/controls/OrbitControls.js";

/** rad and share: of one press of an arrow key, or of + and -. */
const TURN = 0.12,
  ZOOM = 1.15;
const TURNS: Record<string, [number, number]> = {
  ArrowLeft: [-TURN, 0],
  ArrowRight: [TURN, 0],
  ArrowUp: [0, -TURN],
  ArrowDown: [0, TURN],
};
const ZOOMS: Record<string, number> = { "+": ZOOM, "=": ZOOM, "-": 1 / ZOOM };

export class Viewpoint {
  constructor(
    readonly camera: PerspectiveCamera | OrthographicCamera,
    readonly orbit: OrbitControls,
    readonly changed: () => void,
  ) {
    orbit.enableDamping = false;
    orbit.addEventListener("change", changed);
  }

  /** The page scrolls over the scene as elsewhere: the wheel zooms once the scene was clicked, a finger moves what it touches. */
  listen(canvas: HTMLCanvasElement, isGrabbed: (x: number, y: number) => boolean): void {
    canvas.style.touchAction = "pan-y";
    const wheel = (event: WheelEvent) => {
      if (document.activeElement !== canvas && !event.ctrlKey) event.stopImmediatePropagation();
    };
    const touch = (event: TouchEvent) => {
      const [{ clientX, clientY }] = event.touches;
      if (event.touches.length > 1 || isGrabbed(clientX, clientY)) event.preventDefault();
    };
    canvas.addEventListener("wheel", wheel, { capture: true });
    canvas.addEventListener("touchstart", touch, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  private key(event: KeyboardEvent): void {
    const turn = TURNS[event.key],
      zoom = ZOOMS[event.key],
      { camera, orbit } = this;
    if (!turn && !zoom) return;
    event.preventDefault();
    if (turn) this.turn(...turn);
    else if (camera instanceof OrthographicCamera) camera.zoom *= zoom;
    else camera.position.sub(orbit.target).divideScalar(zoom).add(orbit.target);
    camera.updateProjectionMatrix();
    orbit.update();
    this.changed();
  }

  /** Walks around what is looked at: about the vertical, and down. */
  private turn(around: number, down: number): void {
    const { camera, orbit } = this,
      up = camera.up.clone().normalize(),
      away = camera.position.clone().sub(orbit.target).applyAxisAngle(up, around);
    const tilted = away.clone().applyAxisAngle(new Vector3().crossVectors(up, away).normalize(), down);
    if (Math.abs(tilted.clone().normalize().dot(up)) < 0.99) away.copy(tilted);
    camera.position.copy(orbit.target).add(away);
  }

  /** Where the camera is, where it looks, and its zoom: seven numbers. */
  written(): number[] {
    const { position, zoom } = this.camera;
    return [...position.toArray(), ...this.orbit.target.toArray(), zoom].map((x) => Number(x.toPrecision(6)));
  }

  read([x, y, z, tx, ty, tz, zoom]: number[]): void {
    this.camera.position.set(x, y, z);
    this.camera.zoom = zoom;
    this.camera.updateProjectionMatrix();
    this.look(new Vector3(tx, ty, tz));
  }

  look(at: Vector3): void {
    this.orbit.target.copy(at);
    this.camera.lookAt(at);
    this.orbit.update();
  }
}
