/** How the present world differs from the one that was described, whose closed forms the lens has. */
import { shown } from "./dom";
import type { Data } from "./model";
import type { World } from "./physics";

/** Quantities that a payload changes. */
const LOADED = new Set(["mass_matrix", "coriolis_matrix", "coriolis_torque", "gravity_torque"]);

/** Gravity as a multiple of what was described; null where it points elsewhere. */
export function gravityFactor(now: number[], described: number[]): number | null {
  const along = now.reduce((sum, x, i) => sum + x * described[i], 0),
    size = Math.hypot(...described),
    factor = size ? along / size ** 2 : 1;
  return now.every((x, i) => Math.abs(x - factor * described[i]) <= 1e-9 * Math.hypot(...now)) ? factor : null;
}

/** What the closed form of a quantity leaves out, in words; empty where its values are those of the present. */
function leftOut(quantity: string, { payload, gravity }: World, described: number[]): string {
  const turned = quantity === "gravity_torque" && gravityFactor(gravity, described) === null ? ["under the described gravity"] : [];
  const light = payload > 0 && LOADED.has(quantity) ? ["without the payload"] : [];
  return [...light, ...turned].join(" and ");
}

/** What a reader of the closed form must know; `isOther` where its values are not those of the present, which is `now`. */
export function difference(
  quantity: string,
  world: World,
  described: number[],
  now: number,
): { text: string; isOther: boolean } {
  const without = leftOut(quantity, world, described),
    factor = quantity === "gravity_torque" ? gravityFactor(world.gravity, described) : 1,
    size = Math.hypot(...described),
    lines: string[] = [];
  if (without) {
    const present = Number.isFinite(now) ? `; as the robot is now, it is ${shown(now, 5)}` : "";
    lines.push(`The closed form and its values are ${without}${present}.`);
  }
  if (factor !== null && factor !== 1)
    lines.push(
      `Values are those of the present gravity, ${metres(factor * size)}; the formula has the described one, ${metres(size)}.`,
    );
  return { text: lines.join(" "), isOther: without !== "" };
}

const metres = (x: number) => `${Number(x.toPrecision(6))} m/s²`.replace("-", "−");

/** How a copied closed form differs from what the page shows, in words that are a comment in any language; empty where it does not. */
export function remark(quantity: string, { payload, gravity, friction, coriolis }: World, { gravity: described, hasFriction }: Data): string {
  const whole = quantity === "inverse_dynamics",
    vector = (x: number[]) => `[${x.map((v) => Number(v.toPrecision(6))).join(", ")}]`,
    isElsewhere = gravity.some((x, i) => x !== described[i]);
  const parts = [
    payload > 0 && (whole || LOADED.has(quantity)) && `without the payload of ${payload} kg`,
    isElsewhere && (whole || quantity === "gravity_torque") && `under the gravity ${vector(described)} m/s^2, not ${vector(gravity)}`,
    whole && !coriolis && "with Coriolis forces, which are off",
    whole && hasFriction && !friction && "with friction, which is off",
  ].filter(Boolean);
  return parts.length ? `of the robot as described, unlike the page: ${parts.join("; ")}` : "";
}
