/** Ellipsoids at the tip: how fast it can move, how hard it can push, how heavy it feels. */
import { DoubleSide, Mesh, MeshStandardMaterial, SphereGeometry, Vector3 } from "three";
import { el, shown } from "./dom";
import { cholesky, eigen, solve, timesTransposed, zeros, type Numbers } from "./linear";
import { forceUnit, once, type Data } from "./model";
import type { Physics } from "./physics";

export interface Ellipsoid {
  directions: number[][];
  lengths: number[];
}

/** At the tip, of the rows x, y, z of V = J qd: velocity {J qd: |qd| = 1}, force {F: |J^T F| = 1}, mass {M_C a: |a| = 1}. */
export function ellipsoidAt(physics: Physics, kind: string): Ellipsoid | null {
  if (kind === "none" || !physics.data.tips.length) return null;
  const n = physics.n,
    J = physics.J.subarray(3 * n, 6 * n);
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
  const { values, vectors } = eigen(square, 3),
    largest = Math.max(...values, 0);
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

/** The longest half axis when an ellipsoid appears, of the reach; between the other two its scale is kept, beyond the last it is cut. */
const LONG = 0.22,
  SHORTEST = 0.06,
  LONGEST = 0.5;
const COLORS: Record<string, number> = { velocity: 0xe69f00, force: 0xcc79a7, mass: 0x0072b2 };
const UNITS: Record<string, string> = { velocity: "m/s", force: "N", mass: "kg" };

/** An ellipsoid in the scene, with its half axes and its scale in words. */
export class EllipsoidView {
  readonly mesh = new Mesh(
    new SphereGeometry(1, 40, 28),
    new MeshStandardMaterial({ transparent: true, opacity: 0.38, side: DoubleSide, depthWrite: false, roughness: 0.6 }),
  );
  private readonly caption = el("p", { class: "caption", role: "note" });
  private kind = "";
  /** Units drawn as one metre. */
  private scale = 1;

  constructor(
    readonly data: Data,
    host: HTMLElement,
  ) {
    this.mesh.matrixAutoUpdate = false;
    this.mesh.renderOrder = 2;
    host.append(this.caption);
  }

  update(ellipsoid: Ellipsoid | null, kind: string, tip: Vector3): void {
    this.mesh.visible = ellipsoid !== null;
    this.caption.hidden = !ellipsoid;
    if (!ellipsoid) return;
    const { reach, normal } = this.data,
      { directions, lengths } = ellipsoid,
      seen = visibleLengths(ellipsoid, normal);
    const longest = Math.max(...seen.filter(Number.isFinite), 0),
      drawn = longest / this.scale;
    const fits = kind === this.kind && (longest === 0 || (drawn > SHORTEST * reach && drawn < LONGEST * reach));
    if (!fits) this.scale = round(longest / (LONG * reach));
    if (kind !== this.kind) (this.mesh.material as MeshStandardMaterial).color.set(COLORS[kind]);
    this.kind = kind;
    const axes = directions.map((x, k) =>
      new Vector3(x[0], x[1], x[2]).multiplyScalar(Math.max(Math.min(lengths[k] / this.scale, LONGEST * reach), 0.004 * reach)),
    );
    this.mesh.matrix.makeBasis(axes[0], axes[1], axes[2]).setPosition(tip);
    this.mesh.matrixWorldNeedsUpdate = true;
    const text = this.words(kind, seen);
    if (this.caption.textContent !== text) this.caption.textContent = text;
  }

  private words(kind: string, lengths: number[]): string {
    const { coordinates } = this.data,
      rates = once(coordinates.map((x) => `${x.unit}/s`)).join(", "),
      forces = once(coordinates.map(forceUnit)).join(", ");
    const when = { velocity: ` at |q̇| = 1 ${rates}`, force: ` at |τ| = 1 ${forces}`, mass: " felt at the tip" }[kind];
    const sizes = [...lengths].sort((a, b) => b - a).map((x) => shown(x, 3));
    return `${kind} ellipsoid: half axes ${sizes.join(", ")} ${UNITS[kind]}${when}; 1 m is ${shown(this.scale, 1)} ${UNITS[kind]}`;
  }
}

/** The nearest of 1, 2 and 5 times a power of ten. */
function round(x: number): number {
  if (!(x > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(x)),
    far = (m: number) => Math.abs(Math.log(x / (m * power)));
  return power * [1, 2, 5, 10].reduce((best, m) => (far(m) < far(best) ? m : best));
}
