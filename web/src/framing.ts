/** How much of the world a robot needs to be seen, whatever its pose. */
import { Box3, Vector3 } from "three";
import type { Figure } from "./figure";
import type { Data } from "./model";
import type { Physics } from "./physics";

/** What a robot in a plane needs about a point: to the sides, and up and down, m. */
export interface Frame {
  target: Vector3;
  room: [number, number];
}

/** A planar robot is seen about the pivot on which all of it hangs, or about the world's origin; with its bodies as they are drawn. */
export function planarFrame(data: Data, physics: Physics, figure: Figure): Frame {
  if (data.isClosed) return { target: new Vector3(), room: data.room }; // which knows how loops hold it together
  physics.place(Float64Array.from(data.start.q));
  const normal = new Vector3(...(data.normal as [number, number, number])),
    flat = (v: Vector3) => v.addScaledVector(normal, -v.dot(normal));
  const origins = data.bodies.map((_, k) => {
    const at = (r: number) => physics.poses[12 * k + 4 * r + 3];
    return flat(new Vector3(at(0), at(1), at(2)));
  });
  const roots = data.bodies.flatMap((body, k) => (body.parent < 0 ? [k] : [])),
    hangs = roots.length === 1 && data.bodies[roots[0]].kind === "revolute",
    target = hangs ? origins[roots[0]].clone() : new Vector3(),
    away = target.length();
  const distance: number[] = [];
  let farthest = 0;
  data.bodies.forEach(({ parent }, k) => {
    distance[k] = parent < 0 ? origins[k].distanceTo(target) : distance[parent] + origins[k].distanceTo(origins[parent]);
    farthest = Math.max(farthest, distance[k] + size(figure, k));
  });
  const base = new Box3();
  for (const mesh of figure.drawn) if (mesh.userData.body < 0) base.expandByObject(mesh);
  for (const corner of corners(base)) farthest = Math.max(farthest, flat(corner.sub(target)).length());
  return { target, room: data.room.map((x) => Math.max(x - away, farthest)) as [number, number] };
}

/** m: from a body's origin to the farthest corner of the boxes around its meshes. */
function size(figure: Figure, body: number): number {
  const box = new Box3();
  for (const mesh of figure.drawn) {
    if (mesh.userData.body !== body) continue;
    mesh.geometry.computeBoundingBox();
    mesh.updateMatrix();
    box.union(mesh.geometry.boundingBox!.clone().applyMatrix4(mesh.matrix));
  }
  return Math.max(0, ...corners(box).map((x) => x.length()));
}

function corners({ min, max }: Box3): Vector3[] {
  if (min.x > max.x) return [];
  return [0, 1, 2, 3, 4, 5, 6, 7].map((k) => new Vector3(k & 1 ? max.x : min.x, k & 2 ? max.y : min.y, k & 4 ? max.z : min.z));
}
