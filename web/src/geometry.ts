/** Shapes of the description as geometries. */
import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  CapsuleGeometry,
  CylinderGeometry,
  Quaternion,
  SphereGeometry,
  Vector3,
} from "three";
import type { Shape } from "./model";

const UP = new Vector3(0, 1, 0);

export function capsule(from: number[], to: number[], radius: number): BufferGeometry {
  const a = new Vector3(...(from as [number, number, number])),
    b = new Vector3(...(to as [number, number, number])),
    along = b.clone().sub(a);
  const shape = new CapsuleGeometry(radius, along.length(), 12, 32);
  shape.applyQuaternion(new Quaternion().setFromUnitVectors(UP, along.clone().normalize()));
  const middle = a.addScaledVector(along, 0.5);
  return shape.translate(middle.x, middle.y, middle.z);
}

/** Cylinders of descriptions lie along z, three's along y. */
const cylinder = (radius: number, length: number) => new CylinderGeometry(radius, radius, length, 48).rotateX(Math.PI / 2);

export function meshGeometry(shape: Shape): BufferGeometry {
  switch (shape.kind) {
    case "capsule":
      return capsule(shape.from!, shape.to!, shape.radius!);
    case "drum":
    case "rail":
    case "cylinder":
      return cylinder(shape.radius!, shape.length!);
    case "ball":
      return new SphereGeometry(shape.radius!, 32, 24).translate(...(shape.at as [number, number, number]));
    case "sphere":
      return new SphereGeometry(shape.radius!, 32, 24);
    case "block":
    case "box":
      return new BoxGeometry(...(shape.size as [number, number, number]));
    case "mesh":
      return gridMesh(shape);
  }
}

const bytes = (text: string) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
/** Edges sharper than this stay sharp, rad. */
const CREASE = 0.6;

/** Triangles on a 16-bit grid, with normals that are smooth but at creases. */
function gridMesh(shape: Shape): BufferGeometry {
  const grid = new Uint16Array(bytes(shape.positions!)),
    index = new Uint16Array(bytes(shape.indices!));
  const point = (k: number, axis: number) => shape.origin![axis] + shape.scale![axis] * grid[3 * k + axis];
  const count = index.length,
    flat = new Float32Array(3 * count),
    at = new Float32Array(3 * count);
  for (let t = 0; t < count; t += 3) {
    const [a, b, c] = [0, 1, 2].map((k) => new Vector3(point(index[t + k], 0), point(index[t + k], 1), point(index[t + k], 2)));
    const normal = b.clone().sub(a).cross(c.clone().sub(a));
    [a, b, c].forEach((p, k) => p.toArray(at, 3 * (t + k)));
    normal.toArray(flat, t);
  }
  const around = new Map<number, number[]>();
  for (let k = 0; k < count; k++) {
    const list = around.get(index[k]);
    if (list) list.push(3 * Math.floor(k / 3));
    else around.set(index[k], [3 * Math.floor(k / 3)]);
  }
  const normals = new Float32Array(3 * count),
    own = new Vector3(),
    other = new Vector3(),
    sum = new Vector3(),
    least = Math.cos(CREASE);
  for (let k = 0; k < count; k++) {
    own.fromArray(flat, 3 * Math.floor(k / 3)).normalize();
    sum.set(0, 0, 0);
    for (const t of around.get(index[k])!) {
      other.fromArray(flat, t);
      const size = other.length();
      if (size > 0 && own.dot(other) >= least * size) sum.add(other);
    }
    (sum.lengthSq() > 0 ? sum.normalize() : own).toArray(normals, 3 * k);
  }
  const made = new BufferGeometry();
  made.setAttribute("position", new BufferAttribute(at, 3));
  made.setAttribute("normal", new BufferAttribute(normals, 3));
  return made;
}
