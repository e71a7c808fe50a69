/** The view as a script: what the page shows, computed by qddot. */
import type { Numbers } from "./linear";
import type { Data } from "./model";
import { outside } from "./numbers";
import type { State } from "./state";

const list = (x: ArrayLike<number>) => `[${Array.from(x, (v) => (Object.is(v, -0) ? "0.0" : String(v))).join(", ")}]`;
/** A text as a Python literal. */
const literal = (x: string) =>
  JSON.stringify(x).replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** `beside`: joint forces beside the motors', as the page has them. */
export function asPython(data: Data, state: State, beside: Numbers): string {
  const { world } = state,
    tip = data.tips[world.tip],
    gravity = world.gravity.some((x, i) => x !== data.gravity[i]);
  const lines = [
    "import numpy as np",
    "",
    "import qddot",
    ...(data.script.begin.startsWith("from") ? [] : [""]),
    data.script.begin,
  ];
  if (gravity) lines.push(`here = robot.with_gravity(${list(world.gravity)})`);
  const robot = gravity ? "here" : "robot";
  lines.push(`q = np.array(${list(state.q)})`, `qd = np.array(${list(state.qd)})`, `qdd = np.array(${list(state.qdd)})`);
  const loaded = world.payload > 0 && tip?.payload;
  if (loaded) {
    lines.push("", `# a payload of ${world.payload} kg, a point mass at ${literal(tip.name)}`);
    lines.push(`parameters = ${robot}.parameters()[: 10 * len(${robot}.body_names)]`);
    lines.push(`parameters[${loaded.at} : ${loaded.at + 10}] += ${world.payload} * np.array(${list(loaded.values)})`);
    lines.push(`compute = lambda name, *state: ${robot}.kernel(name, inertias="runtime")(*state, parameters)`);
  }
  const call = (name: string, args: string) => (loaded ? `compute("${name}", ${args})` : `${robot}.${name}(${args})`);
  lines.push(
    "",
    `M = ${call("mass_matrix", "q")}`,
    `c = ${call("coriolis_torque", "q, qd")}`,
    `g = ${call("gravity_torque", "q")}`,
  );
  const { friction, coriolis } = world;
  const parts = [
    "M @ qdd",
    ...(coriolis ? ["c"] : []),
    "g",
    "robot.spring_torque(q)",
    ...(friction ? ["robot.friction_torque(qd)"] : []),
  ];
  const needed = coriolis && friction ? call("inverse_dynamics", "q, qd, qdd") : parts.join(" + "),
    others = [outside(data), data.hasFriction && "friction that holds"].filter(Boolean).join(", ");
  if (beside.some(Boolean)) lines.push(`beside = np.array(${list(beside)})  # joint forces that no motor gives, from the page: ${others}`);
  lines.push(`tau = ${needed}${beside.some(Boolean) ? " - beside" : ""}`);
  lines.push('print(M, c, g, tau, sep="\\n")');
  if (data.motion) lines.push("", "# the motion itself is not in this script: its own explore() shows it");
  lines.push("", `${data.script.end}${literal(state.fragment())})`);
  return `${lines.join("\n")}\n`;
}
