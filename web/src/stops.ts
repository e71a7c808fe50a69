/** Joints at their stops: where one arrives, the blow takes energy. */
import type { Numbers } from "./linear";
import type { Coordinate } from "./model";

/** rad or m: nearer is at the stop. */
const NEAR = 1e-6;

export function atStops(coordinates: Coordinate[], q: Numbers): Set<Coordinate> {
  const isAt = ({ q: k, stops }: Coordinate) => {
    if (k === undefined || !stops) return false;
    const [low, high] = stops;
    return (low !== null && q[k] <= low + NEAR) || (high !== null && q[k] >= high - NEAR);
  };
  return new Set(coordinates.filter(isAt));
}

/** A joint that came to its stop, and when, s. */
export interface Blow {
  name: string;
  t: number;
}

export class Arrivals {
  private standing = new Set<Coordinate>();
  private found: Blow[] = [];

  constructor(readonly coordinates: Coordinate[]) {}

  /** Goes on from here: what stands at a stop has not just arrived. */
  begin(q: Numbers): void {
    this.standing = atStops(this.coordinates, q);
    this.found = [];
  }

  look(q: Numbers, t: number): void {
    const standing = atStops(this.coordinates, q);
    for (const x of standing) if (!this.standing.has(x)) this.found.push({ name: x.short, t });
    this.standing = standing;
  }

  /** Those that arrived since this was asked last. */
  taken(): Blow[] {
    const { found } = this;
    this.found = [];
    return found;
  }
}
