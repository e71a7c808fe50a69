/** The equation lens: an entry in closed form, each term tinted by its present share, with its present value. */
import { Abbreviations, evaluate, latexWith, namesIn } from "./abbreviations";
import { derivatives, indices } from "./christoffel";
import { Derivation } from "./derivation";
import { FAINT, largest, newChip, opens, write, WRITTEN, type Chip } from "./chips";
import { copyButtons, tooLong, type Texts } from "./copies";
import { difference, gravityFactor, remark } from "./described";
import { el, math, shown } from "./dom";
import { FoldedTerms } from "./folded";
import { Legend } from "./legend";
import { ARGUMENTS, BOOKS, ROLE, symbol, WORDS } from "./names";
import type { Data } from "./model";
import { outside } from "./numbers";
import { compiled, isNothing, isZero, type Entry, type LensData, type Point, type Variant } from "./terms";
import type { Choice, State } from "./state";

/** Up to this many degrees of freedom, Coriolis forces too long to be written are shown by products of velocities. */
const FEW = 12;
/** Shown even where they vanish: a click on their numbers must lead somewhere. */
const ALWAYS = new Set(["mass_matrix", "coriolis_torque", "gravity_torque"]);
/** Notes that are written out. */
const NOTES = 2;
const rowOf = (box: HTMLElement) => box.parentElement as HTMLElement;

export class Lens {
  private data: LensData | null = null;
  private readonly tabs = el("div", { class: "choice", role: "group", "aria-label": "quantity" });
  private readonly rows = el("select", { "aria-label": "row" });
  private readonly columns = el("select", { "aria-label": "column" });
  private readonly books = el("select", { "aria-label": "notation" });
  private readonly forms = el("select", { "aria-label": "numbers or letters" });
  private readonly isShort = el("input", { type: "checkbox" });
  private readonly names = new Abbreviations();
  private readonly left = el("div", { class: "left" });
  private readonly formula = el("div", { class: "formula", id: "formula", "aria-live": "off" });
  private readonly rest = el("button", { type: "button", class: "rest", onclick: () => ((this.all = !this.all), this.rebuild()) });
  private readonly words = new Legend();
  private readonly note = el("p", { class: "note" });
  private readonly changes = el("p", { class: "note warning" });
  private readonly copies = el("div", { class: "buttons" });
  private derivation: Derivation | null = null;
  private readonly detail = el("div", { class: "detail" });
  private chips: Chip[] = [];
  private parts: Chip[] = [];
  private readonly folded: FoldedTerms;
  private all = false;
  /** The chosen entry is written in closed form. */
  private hasForm = false;
  private built = "";

  constructor(
    readonly robot: Data,
    readonly state: State,
    readonly host: HTMLElement,
    readonly choose: (choice: Choice) => void,
    readonly changed: () => void,
  ) {
    this.folded = new FoldedTerms(changed);
    for (const [box, key] of [
      [this.rows, "row"],
      [this.columns, "column"],
    ] as const) {
      box.append(...Array.from({ length: robot.nv }, (_, i) => el("option", { value: String(i) }, String(i + 1))));
      box.addEventListener("change", () => this.choose({ ...state.lens, [key]: Number(box.value) }));
    }
    this.books.addEventListener("change", () => ((state.notation = this.books.value), this.changed()));
    this.forms.addEventListener("change", () => ((state.variant = this.forms.value), this.changed()));
    this.isShort.addEventListener("change", () => ((state.abbreviated = this.isShort.checked ? "on" : "off"), this.changed()));
    host.append(
      el(
        "div",
        { class: "lensbar" },
        el("h2", {}, "Equation lens"),
        this.tabs,
        el("label", {}, "row ", this.rows),
        el("label", { class: "column" }, "column ", this.columns),
        el("label", {}, "notation ", this.books),
        el("label", { class: "forms" }, "in ", this.forms),
        el("label", { class: "switch" }, this.isShort, "abbreviated"),
        this.copies,
      ),
      this.changes,
      el("div", { class: "equation" }, this.left, this.formula),
      this.detail,
      this.rest,
      this.names.root,
      this.words.root,
      this.note,
    );
    this.note.textContent = "Closed forms are being unpacked.";
  }

  get variant(): Variant | undefined {
    return this.data?.variants.find((x) => x.name === this.state.variant) ?? this.data?.variants[0];
  }

  load(data: LensData): void {
    this.data = data;
    for (const name of Object.keys(data.notations)) this.books.append(el("option", { value: name }, BOOKS[name] ?? name));
    for (const variant of data.variants) {
      evaluate(variant);
      this.forms.append(el("option", { value: variant.name }, variant.name));
    }
    rowOf(this.forms).hidden = data.variants.length < 2;
    if (!data.notations[this.state.notation]) this.state.notation = "qddot";
    if (data.derivation) {
      this.derivation = new Derivation(data.derivation);
      this.host.append(this.derivation.root);
    }
    this.rebuild();
    document.documentElement.dataset.lens = String(Math.round(performance.now()));
  }

  private letter(quantity: string): string {
    return this.data?.notations[this.state.notation]?.[quantity] ?? quantity;
  }

  /** An entry of a quantity as MathML; Coriolis forces with what they depend on, since c₂ alone is a cosine, too. */
  private named(quantity: string, index: string): string {
    return symbol(this.letter(quantity), index) + (quantity.startsWith("coriolis") ? ARGUMENTS : "");
  }

  /** Scrolls to the formula where it cannot be seen: on a telephone it is far below the numbers. */
  reveal(): void {
    const { top } = this.left.getBoundingClientRect();
    if (top < innerHeight - 40) return;
    const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
    this.host.scrollIntoView({ block: innerHeight > 700 && innerWidth > 700 ? "nearest" : "start", behavior });
  }

  /** Another entry, notation or form: everything new. */
  rebuild(): void {
    const { state } = this,
      variant = this.variant;
    if (!this.data || !variant) return;
    const known = Object.keys(variant.quantities)
      .filter((name) => ALWAYS.has(name) || !isZero(variant.quantities[name]))
      .concat("inverse_dynamics");
    if (!known.includes(state.lens.quantity)) state.lens = { quantity: "mass_matrix", row: 0, column: 0 };
    const { quantity, row, column } = state.lens,
      square = quantity === "mass_matrix" || quantity === "coriolis_matrix";
    this.tabs.replaceChildren(
      ...known.map((name) =>
        el(
          "button",
          {
            type: "button",
            class: `tab ${ROLE[name]}`,
            "aria-pressed": String(name === quantity),
            title: WORDS[name],
            onclick: () => this.choose({ quantity: name, row, column: 0 }),
          },
          math(symbol(this.letter(name))),
        ),
      ),
    );
    [this.rows.value, this.columns.value] = [String(row), String(column)];
    [this.books.value, this.forms.value] = [state.notation, variant.name];
    rowOf(this.columns).hidden = !square;
    const index = square ? indices(this.robot.nv, row, column) : `${row + 1}`;
    this.left.replaceChildren(math(`${this.named(quantity, index)}<mo>=</mo>`));
    this.words.clear();
    this.chips = [];
    this.parts = [];
    this.detail.hidden = true;
    this.folded.set([]);
    this.formula.replaceChildren();
    this.formula.className = `formula ${ROLE[quantity]}`;
    this.copies.replaceChildren();
    this.rest.hidden = rowOf(this.isShort).hidden = true;
    this.names.show([], variant);
    const { notes } = variant;
    this.note.textContent = notes.slice(0, NOTES).join("; ") + (notes.length > NOTES ? `; and ${notes.length - NOTES} more` : "");
    if (quantity === "gravity_torque" && !this.robot.gravity.some(Boolean))
      this.note.textContent = "The description has no gravity: the closed form is 0. The numbers above have the gravity chosen at the left.";
    this.hasForm = false;
    if (quantity === "inverse_dynamics") this.whole(variant, row);
    else this.entry(variant, quantity, square ? row * this.robot.nv + column : row);
    const { derivation } = this;
    if (derivation?.data.steps[quantity])
      this.copies.append(
        el(
          "button",
          {
            type: "button",
            title: derivation.data.steps[quantity],
            "data-derive": quantity,
            onclick: () => derivation.show(quantity),
          },
          "Where it comes from",
        ),
      );
    this.built = this.key();
    this.spell();
    this.changed();
  }

  /** Changes with everything that is built. */
  private key(): string {
    const { lens, notation, variant, abbreviated } = this.state;
    return JSON.stringify([lens, notation, variant, abbreviated, this.isPulled(lens.row)]);
  }

  /** tau as its terms, each of which opens. */
  private whole(variant: Variant, row: number): void {
    const n = this.robot.nv,
      joint = (k: number) => `<msub><mover accent="true"><mi class="joint">q</mi><mo>¨</mo></mover><mn>${k + 1}</mn></msub>`;
    const add = (inner: string, role: string, choice: Choice, compute: (at: Point) => number) =>
      opens(this.chip(false, inner, compute, role), () => this.choose(choice));
    for (let j = 0; j < n; j++) {
      const k = row * n + j,
        entry = this.found(variant, "mass_matrix", k),
        value = () => this.fallback("mass_matrix", row, j);
      if (!entry || !isNothing(entry))
        add(
          `${symbol(this.letter("mass_matrix"), indices(n, row, j))}<mo>&#x2062;</mo>${joint(j)}`,
          "inertial",
          { quantity: "mass_matrix", row, column: j },
          (at) => value() * at.qdd[j],
        );
    }
    const meanings: [string, string][] = [];
    for (const name of ["coriolis_torque", "gravity_torque", "spring_torque", "friction_torque"]) {
      if (isZero(variant.quantities[name])) continue;
      const acts = () => name !== "coriolis_torque" || this.state.world.coriolis;
      const value = () => (acts() ? this.fallback(name, row, 0) : 0);
      const letter = this.named(name, String(row + 1));
      add(letter, ROLE[name], { quantity: name, row, column: 0 }, value);
      meanings.push([letter, WORDS[name]]);
    }
    if (this.isPulled(row)) {
      const letter = symbol("τ_ext", String(row + 1));
      this.chip(true, letter, () => -this.fallback("external", row, 0), "external");
      meanings.push([letter, outside(this.robot)]);
    }
    this.words.letters(meanings);
    this.copy(variant, variant.copies[row] ?? {}, `inverse_dynamics[${row}]`);
  }

  private copy(variant: Variant, texts: Texts, place: string): void {
    const equations = `robot.equations(${variant.isLettered ? "'all'" : ""})`;
    const { lens, world } = this.state;
    this.copies.append(...copyButtons(texts, this.letter("variable"), () => remark(lens.quantity, world, this.robot)));
    this.note.textContent = [tooLong(texts, `${equations}.${place}`), this.note.textContent].filter(Boolean).join(" ");
  }

  /** Something acts on the joint from outside. */
  private isPulled(row: number): boolean {
    return this.fallback("external", row, 0) !== 0;
  }

  /** Christoffel symbols Gamma_ijk at the present state. */
  christoffel: () => Float64Array = () => new Float64Array();

  /** c_k by products of velocities: sum_ij Gamma_ijk qd_i qd_j; each Gamma opens. */
  private products(k: number): void {
    const n = this.robot.nv,
      known = this.robot.nq === n; // else velocities are no derivatives of coordinates
    const rate = (i: number) => `<msub><mover accent="true"><mi class="joint">q</mi><mo>˙</mo></mover><mn>${i + 1}</mn></msub>`;
    for (let i = 0; i < n; i++) {
      for (let j = i; j < n; j++) {
        const times = i === j ? 1 : 2,
          gamma = symbol("Γ", indices(n, i, j, k));
        const value = (at: Point) => times * this.christoffel()[(i * n + j) * n + k] * at.qd[i] * at.qd[j];
        const chip = this.chip(false, `${times > 1 ? "<mn>2</mn>" : ""}${gamma}${rate(i)}${rate(j)}`, value, "");
        if (known) opens(chip, () => this.unfold(chip, i, j, k));
      }
    }
  }

  /** What a Gamma is made of, below the formula; again, and it is folded. */
  private unfold(chip: Chip, i: number, j: number, k: number): void {
    const n = this.robot.nv,
      was = chip.root.getAttribute("aria-expanded") === "true";
    for (const x of this.chips) x.root.setAttribute("aria-expanded", "false");
    this.parts = [];
    this.detail.replaceChildren();
    this.detail.hidden = was;
    if (was) return;
    chip.root.setAttribute("aria-expanded", "true");
    const mass = (row: number, column: number) => symbol(this.letter("mass_matrix"), indices(n, row, column));
    this.detail.append(el("span", { class: "left" }, math(`${symbol("Γ", indices(n, i, j, k))}<mo>=</mo>`)));
    for (const part of derivatives(i, j, k, n, mass)) {
      const made = newChip(part.minus, part.text, () => part.value(this.christoffel()), "inertial", this.parts.length === 0);
      opens(made.chip, () => this.choose(part.opens));
      this.parts.push(made.chip);
      this.detail.append(made.piece);
    }
    this.spell();
    this.changed();
  }

  /** Numbers of what has no closed form here, from the kernels. */
  fallback: (quantity: string, row: number, column: number) => number = () => NaN;

  private found(variant: Variant, quantity: string, k: number): Entry | null {
    const entries = variant.quantities[quantity]?.entries,
      entry = entries?.[k];
    return (typeof entry === "number" ? (entries![entry] as Entry) : entry) ?? null;
  }

  private entry(variant: Variant, quantity: string, k: number): void {
    const entry = this.found(variant, quantity, k);
    this.hasForm = entry !== null;
    if (!entry) {
      const { row, column } = this.state.lens;
      this.note.textContent = variant.quantities[quantity]?.missing ?? "";
      if (quantity === "coriolis_torque" && this.robot.nv <= FEW) {
        this.note.textContent += ". Here: by products of velocities. Click a term to see its Γ as derivatives of M.";
        return this.products(row);
      }
      this.chip(false, "<mtext>…</mtext>", () => this.fallback(quantity, row, column), "");
      return;
    }
    const isShort = this.state.abbreviated ? this.state.abbreviated === "on" : entry.short?.isWide,
      short = isShort ? entry.short : undefined;
    rowOf(this.isShort).hidden = !entry.short;
    this.isShort.checked = !!short;
    const { world } = this.state,
      factor = () => (quantity === "gravity_torque" ? (gravityFactor(world.gravity, this.robot.gravity) ?? 1) : 1);
    const terms = (short ?? entry).terms.map((term) => {
      const described = compiled(term[2], variant.values);
      return { term, compute: (at: Point) => factor() * described(at) };
    });
    let kept = terms;
    if (terms.length > WRITTEN && !this.all) {
      const chosen = largest(terms.map((x) => Math.abs(x.compute(this.state))));
      kept = terms.filter((_, i) => chosen.has(i));
      this.folded.set(terms.filter((_, i) => !chosen.has(i)).map((x) => x.compute));
    }
    this.rest.hidden = terms.length <= WRITTEN;
    const shown = kept.map((x) => x.term);
    this.names.show(namesIn(shown, variant), variant);
    for (const { term, compute } of kept) {
      const chip = this.chip(term[0], term[1], compute, ""),
        names = namesIn([term], variant);
      if (names.length) this.names.opener(chip, names);
    }
    const formulas = shown.map(([, text]) => text);
    this.words.waves(variant, formulas);
    const texts = short ? { ...entry, latex: latexWith(short.latex, short.terms, variant) } : entry;
    const { row, column } = this.state.lens;
    this.copy(variant, texts, `${quantity}[${quantity.endsWith("matrix") ? `${row}, ${column}` : row}]`);
  }

  private chip(minus: boolean, text: string, compute: (at: Point) => number, role: string): Chip {
    const { chip, piece } = newChip(minus, text, compute, role, this.chips.length === 0);
    this.chips.push(chip);
    this.formula.append(piece);
    return chip;
  }

  /** Joint variables in the letters of the notation. */
  private spell(): void {
    const letter = this.data!.notations[this.state.notation].variable;
    for (const x of this.host.querySelectorAll(":is(.equation, .detail, .words) mi.joint")) x.textContent = letter;
  }

  /** Says where the closed form is that of the robot as it was described; true where its values are not those of the present. */
  private warn(now: number): boolean {
    const { text, isOther } = this.hasForm
      ? difference(this.state.lens.quantity, this.state.world, this.robot.gravity, now)
      : { text: "", isOther: false };
    if (this.changes.textContent !== text) this.changes.textContent = text;
    this.changes.hidden = !text;
    this.formula.classList.toggle("stale", isOther);
    return isOther;
  }

  /** New values and shares. */
  update(at: Point): void {
    const variant = this.variant;
    if (!variant) return;
    if (this.built !== this.key()) this.rebuild();
    const { folded, state } = this,
      now = this.fallback(state.lens.quantity, state.lens.row, state.lens.column),
      isOther = this.warn(now),
      values = this.chips.map((chip) => chip.compute(at));
    folded.update(at);
    const { size, largest } = folded,
      hidden = folded.terms.length,
      isMoving = hidden && !largest && Number.isFinite(now) && !isOther,
      left = isMoving ? values.reduce((rest, x) => rest - x, now) : folded.sum; // what the folded terms must be
    const all = values.reduce((sum, x) => sum + Math.abs(x), size) || 1;
    if (largest > FAINT * all && largest > 1.0001 * Math.min(...values.map(Math.abs))) return this.rebuild(); // others matter now
    write(this.chips, values, all);
    this.words.update(at);
    if (this.parts.length) {
      const inner = this.parts.map((chip) => chip.compute(at));
      write(this.parts, inner, inner.reduce((sum, x) => sum + Math.abs(x), 0) || 1);
    }
    const total = values.reduce((sum, x) => sum + x, left);
    this.formula.dataset.total = String(total);
    if (hidden) this.rest.textContent = `+ ${hidden} smaller terms = ${shown(left, 3)} (show all)`;
    else if (!this.rest.hidden) this.rest.textContent = "fold the smaller terms";
    this.left.dataset.total = shown(total, 5);
  }
}
