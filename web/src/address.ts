/** What stands behind the # of an address, which anybody may have written: what makes no sense is left out, and said. */
import { brief } from "./dom";
import type { Numbers } from "./linear";
import type { Data } from "./model";
import { WORDS } from "./names";

/** Drawn over time: joint forces, what was measured beyond them, gravity, Coriolis forces, velocities, positions. */
const STRIPS = ["", "tau", "residual", "g", "c", "qd", "q"];
/** How far the length of a typed quaternion may be from one. */
const TYPED = 1e-3;
/** Characters of a value that are repeated in a complaint. */
const REPEATED = 40;

export class Address {
  private readonly given: URLSearchParams;
  private readonly asked = new Set<string>();
  private readonly said: string[] = [];

  constructor(fragment: string) {
    this.given = new URLSearchParams(fragment.replace(/^#/, ""));
  }

  /** So many numbers with commas between; null where there are none. */
  numbers(key: string, count: number): Numbers | null {
    const pieces = this.value(key)?.split(",");
    if (!pieces) return null;
    const found = Float64Array.from(pieces, (x) => (x.trim() ? Number(x) : NaN)),
      sound = found.filter(Number.isFinite).length;
    if (found.length === count && sound === count) return found;
    return this.complain(key, `${count} finite ${count === 1 ? "number is" : "numbers are"} needed, there are ${sound}`);
  }

  /** Numbers whose quaternions have length one, as nearly as somebody may have typed them. */
  configuration(key: string, { nq, coordinates }: Data): Numbers | null {
    const q = this.numbers(key, nq);
    for (const { quaternion: o } of q ? coordinates : []) {
      if (o === undefined) continue;
      const size = Math.hypot(...q!.subarray(o, o + 4));
      if (Math.abs(size - 1) > TYPED) return this.complain(key, `numbers ${o + 1} to ${o + 4} are a quaternion w, x, y, z of length 1`);
      for (let k = o; k < o + 4; k++) q![k] /= size;
    }
    return q;
  }

  number(key: string, isSound: (x: number) => boolean, needed: string): number | null {
    const [found] = this.numbers(key, 1) ?? [];
    if (found === undefined) return null;
    return isSound(found) ? found : this.complain(key, `${needed} is needed`);
  }

  /** A whole number below `count`. */
  index(key: string, count: number): number | null {
    return this.number(key, (x) => Number.isInteger(x) && x >= 0 && x < count, `a whole number from 0 to ${count - 1}`);
  }

  word<T extends string>(key: string, known: readonly T[], otherwise: T): T {
    const found = this.words(key, known);
    if (found && found.length < 2) return found[0] ?? otherwise;
    if (found) this.complain(key, "one word is needed");
    return otherwise;
  }

  /** Those words with commas between that are known; null where nothing is said. */
  words<T extends string>(key: string, known: readonly T[]): T[] | null {
    const pieces = this.value(key)?.split(",").filter(Boolean);
    if (!pieces) return null;
    const isKnown = (x: string): x is T => (known as readonly string[]).includes(x),
      strange = pieces.find((x) => !isKnown(x));
    if (strange !== undefined) this.complain(key, `it can be ${known.filter(Boolean).join(", ")}`);
    return pieces.filter(isKnown);
  }

  /** `gravity_torque,1,0`: a quantity of the lens, row and column. */
  entry(key: string, n: number): { quantity: string; row: number; column: number } | null {
    const text = this.value(key);
    if (text === null) return null;
    const [quantity, ...places] = text.split(","),
      [row, column] = [...places, "0", "0"].map(Number),
      isPlace = (x: number) => Number.isInteger(x) && x >= 0 && x < n;
    if (!Object.hasOwn(WORDS, quantity)) return this.complain(key, `it begins with one of ${Object.keys(WORDS).join(", ")}`);
    if (places.length > 2 || !isPlace(row) || !isPlace(column))
      return this.complain(key, `row and column are whole numbers from 0 to ${n - 1}`);
    return { quantity, row, column };
  }

  /** `qd,1`: what is drawn over time, and the number of the joint or "all". */
  strip(key: string, joints: number): { quantity: string; joint: string } | null {
    const text = this.value(key);
    if (text === null) return null;
    const [quantity, joint = "all"] = text.split(",");
    if (!STRIPS.includes(quantity)) return this.complain(key, `it begins with one of ${STRIPS.filter(Boolean).join(", ")}`);
    if (joint !== "all" && !(/^\d+$/.test(joint) && Number(joint) < joints))
      return this.complain(key, `the joint is "all" or a whole number from 0 to ${joints - 1}`);
    return { quantity, joint };
  }

  /** Everything that was left out, with the reason; after all that is known was asked for. */
  complaints(): string[] {
    const unknown = [...new Set(this.given.keys())].filter((key) => !this.asked.has(key));
    return [...this.said, ...unknown.map((key) => `${brief(key, REPEATED)}: there is no such key`)];
  }

  private value(key: string): string | null {
    this.asked.add(key);
    return this.given.get(key);
  }

  private complain(key: string, why: string): null {
    this.said.push(`${key}=${brief(this.given.get(key)!, REPEATED)}: ${why}`);
    return null;
  }
}
