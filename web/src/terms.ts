/** Terms of closed forms as functions of the state. */

export type Tree = number | [string, ...unknown[]];
export type Point = { q: ArrayLike<number>; qd: ArrayLike<number>; qdd: ArrayLike<number> };

export type Value = (at: Point) => number;

/** A tree as a function of the state: data becomes closures, never code. */
export function compiled(tree: Tree, letters: Record<string, number>): Value {
  if (typeof tree === "number") return () => tree;
  const [what, ...of] = tree as [string, ...Tree[]];
  const k = of[0] as number,
    exponent = of[1] as number;
  if (what === "q") return (at) => at.q[k];
  if (what === "qd") return (at) => at.qd[k];
  if (what === "qdd") return (at) => at.qdd[k];
  if (what === "letter") {
    const name = of[0] as unknown as string,
      value = Object.hasOwn(letters, name) ? letters[name] : NaN;
    return () => value;
  }
  if (what === "^") {
    const base = compiled(of[0], letters);
    return (at) => base(at) ** exponent;
  }
  const inner = of.map((x) => compiled(x, letters)),
    [first] = inner;
  switch (what) {
    case "sin":
      return (at) => Math.sin(first(at));
    case "cos":
      return (at) => Math.cos(first(at));
    case "sqrt":
      return (at) => Math.sqrt(first(at));
    case "sign":
      return (at) => Math.sign(first(at));
    case "abs":
      return (at) => Math.abs(first(at));
    case "/":
      return (at) => 1 / first(at);
    case "*":
      return (at) => inner.reduce((product, f) => product * f(at), 1);
    case "+":
      return (at) => inner.reduce((sum, f) => sum + f(at), 0);
  }
  return () => NaN;
}
