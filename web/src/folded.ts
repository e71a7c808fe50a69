/** Terms that are not written out: many and small, so while things move they keep their values, and are computed once all rests. */
import type { Point, Value } from "./terms";

/** ms without a frame after which things rest. */
const PAUSE = 250;

export class FoldedTerms {
  terms: Value[] = [];
  /** Of the terms, when they were computed last. */
  sum = 0;
  /** Of their sizes. */
  size = 0;
  /** Of the sizes where all rests, else 0. */
  largest = 0;
  private count = 0;
  private asked = 0;
  private later = 0;

  constructor(readonly changed: () => void) {}

  set(terms: Value[]): void {
    this.terms = terms;
    this.count = this.sum = this.size = 0;
  }

  update(at: Point): void {
    const now = performance.now(),
      isAtRest = now - this.asked >= PAUSE;
    this.asked = now;
    this.largest = 0;
    if (this.count !== this.terms.length || isAtRest) {
      const values = this.terms.map((compute) => compute(at)),
        sizes = values.map(Math.abs),
        add = (sum: number, x: number) => sum + x;
      [this.count, this.sum, this.size] = [values.length, values.reduce(add, 0), sizes.reduce(add, 0)];
      if (isAtRest) this.largest = Math.max(0, ...sizes);
    } else if (this.terms.length) {
      clearTimeout(this.later);
      this.later = window.setTimeout(this.changed, PAUSE + 10);
    }
  }
}
