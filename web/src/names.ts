/** Quantities of the lens by name: their roles, words and letters. */

export const ROLE: Record<string, string> = {
  mass_matrix: "inertial",
  coriolis_matrix: "coriolis",
  coriolis_torque: "coriolis",
  gravity_torque: "gravity",
  friction_torque: "friction",
  spring_torque: "spring",
  inverse_dynamics: "total",
};
export const WORDS: Record<string, string> = {
  mass_matrix: "mass matrix",
  coriolis_matrix: "Coriolis matrix, with c = C q̇",
  coriolis_torque: "Coriolis and centrifugal forces, c = C q̇",
  gravity_torque: "gravity",
  friction_torque: "friction",
  spring_torque: "springs",
  inverse_dynamics: "joint force",
};
export const BOOKS: Record<string, string> = {
  qddot: "qddot",
  "lynch-park": "Lynch & Park",
  craig: "Craig",
  siciliano: "Siciliano",
  featherstone: "Featherstone",
};

/** Of Coriolis matrix and forces, which depend on velocities too. */
export const ARGUMENTS =
  '<mo stretchy="false">(</mo><mi class="joint">q</mi><mo>,</mo><mover accent="true"><mi class="joint">q</mi><mo>˙</mo></mover><mo stretchy="false">)</mo>';

/** A letter, `τ_f` with its subscript, and an index below, as MathML. */
export function symbol(letter: string, index = ""): string {
  const [head, tail] = letter.split("_"),
    below = [tail, index].filter(Boolean).join(",");
  const name = `<mi>${head}</mi>`;
  return below ? `<msub>${name}<mrow><mn>${below}</mn></mrow></msub>` : name;
}
