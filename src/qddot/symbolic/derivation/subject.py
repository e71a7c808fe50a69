"""The robot of a derivation: over the ring, link by link, and compiled to check every step."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from qddot.algorithms.drives import Shaft, armatures, shafts
from qddot.algorithms.kinematics import joint_poses, world_poses
from qddot.algorithms.quantities import COMPUTED
from qddot.compile.evaluate import Evaluator
from qddot.constraints.constrained import as_constraints
from qddot.constraints.constraint import Constraint
from qddot.errors import InputError, ModelError, ModelWarning
from qddot.model.configuration import random_configuration
from qddot.model.description import symbols_in
from qddot.model.directed import pair
from qddot.model.inertia import steiner
from qddot.model.joints import Rotor, Z
from qddot.model.lower import WORLD, LiftedBody
from qddot.model.model import Model
from qddot.model.scalar import Scalar
from qddot.model.spatial import Mat, Motion, Transform, Vec
from qddot.symbolic.derivation.steps import Check, DerivationError, Prose, say
from qddot.symbolic.equations import Equations
from qddot.symbolic.exact.ratio import Ratio
from qddot.symbolic.exact.ring import Poly
from qddot.symbolic.exact.rounded_angles import rounded_angles
from qddot.symbolic.form import Form

STATES = 3
DRAWS = 200  # the most attempts to draw values for the symbols
TOLERANCE = 1e-9  # relative to the scale
SHORT = 60  # the most terms of an expression that is written out; longer ones are written in letters
KERNELS = "the compiled kernels"


class State(NamedTuple):
    number: int
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


class LinkData(NamedTuple):
    """A moving link, in its own frame."""

    number: int  # from 1, in the order of the bodies
    body: LiftedBody
    step: Transform  # pose of its frame in the frame of its parent link
    pose: Transform  # pose of its frame in the world
    mass: Scalar  # with everything fixed to it
    point: Vec | None  # its centre of mass c, in the link's axes; None if it is not in the ring (a quotient of sums)
    moment: Vec  # h = m (c - r), about the reference point r: 0 if r is the centre of mass, otherwise r = 0
    tensor: Mat  # tensor of inertia about the reference point, in the link's axes

    @property
    def parent(self) -> int:
        """The number of the parent link, 0 for the world."""
        return self.body.parent + 1

    @property
    def reference(self) -> Vec:
        return self.point or Vec()

    @property
    def has_mass(self) -> bool:
        return self.mass != 0 or any(x != 0 for row in self.tensor for x in row)


class ShaftData(NamedTuple):
    """A shaft that spins on a link or on the ground: a rotor, or a motor."""

    number: int  # from 1, in the order of the bodies, after all links
    body: LiftedBody
    parent: int  # the number of the link that carries it, 0 for the world
    axis: Vec  # unit vector in the axes of that link
    turns: Shaft  # columns of qd, and the factors by which they spin it
    moment: Scalar  # moment of inertia about the axis

    def spin(self, w: Vec, rates: Any) -> Scalar:
        """Return its rate about its axis, on a link that turns with w (in the link's axes)."""
        return sum((rates[c] * ratio for c, ratio in self.turns), self.axis.dot(w))


Pairs = Sequence[tuple[np.ndarray, np.ndarray]]


def compared(what: str, pairs: Pairs, against: str = KERNELS, scale: float = 1.0, tolerance: float = TOLERANCE) -> Check:
    """Compare numbers of a derivation with others, state by state. Raises DerivationError: they differ by more than `tolerance`
    times the largest of them, or times `scale` if that is larger."""
    scale = max([scale, *(abs(x).max() for pair in pairs for x in pair if x.size)])
    worst = max((abs(a - b).max() / scale for a, b in pairs if a.size and scale), default=0.0)
    if not worst <= tolerance:
        raise DerivationError(f"{what}: differs from {against} by {worst:.1e} of scale")
    return Check(what, against, len(pairs), float(worst))


class Subject:
    """The robot that is derived.

    Args:
        symbols: as in `Robot.equations`.
        full: every expression counts as short, and is written out.
        values: values of some of its symbols; random ones are drawn for the others.

    Attributes:
        links: its moving links.
        shafts: rotors and motors that have inertia and are bodies of their own.
        gears: elastic gears, which have no inertia.
        equations: its closed forms, with `lifted`, the robot over the ring, and `alphabet`.
        kernels: the compiled quantities of the robot that the closed forms describe, with the values `drawn` for open symbols.
        is_read_otherwise: True if some of its angles were taken for others, as `equations.notes` says; so they are in the kernels.
        states: the random states at which both are compared.
        friction: all friction (nv,), the joint forces minus the load.
        torque, inertia: the largest joint force and entry of M there, the scale of rounding errors in a term that vanishes.
    """

    def __init__(
        self, model: Model, symbols: str = "given", *, full: bool = False, values: Mapping[str, float] | None = None
    ) -> None:
        self.model, self.full, self.given = model, full, dict(values or {})
        rng = np.random.default_rng(0)
        self.drawn, given = drawn(model, rng, self.given)
        self.equations = Equations(model, symbols)
        self.friction: np.ndarray = (self.equations.tau - self.equations.load_torque).entries
        self.lifted, self.alphabet, self.nv = self.equations.lifted, self.equations.alphabet, self.equations.nv
        numeric = rounded_angles(given)
        self.is_read_otherwise = numeric is not given
        self.kernels = Evaluator(numeric)
        far = np.full(self.equations.nq, np.inf)
        self.states = [
            State(k, random_configuration(model.mechanism, rng, -far, far), rng.normal(size=self.nv), rng.normal(size=self.nv))
            for k in range(STATES)
        ]
        self._values: dict[int, np.ndarray] = {}
        self.joint_poses = joint_poses(self.lifted, self.alphabet.q)
        self.world_poses = world_poses(self.lifted, self.alphabet.q)
        own = Transform() if symbols == "all" else None  # there the ten numbers are about the joint's frame
        self.frames = {WORLD: Transform()} | {body.index: own or body.link for body in self.lifted.bodies}
        self.links = [self._link(body) for body in self.lifted.bodies if not isinstance(body.joint, Rotor)]
        spinning = [body for body in self.lifted.bodies if isinstance(body.joint, Rotor) and body.columns]
        self.shafts = [self._shaft(body) for body in spinning if body.inertia.I.c.z != 0]
        self.gears = [body for body in spinning if body.coordinates]
        self.armature = armatures(self.lifted)
        self.torque, self.inertia = self._size("inverse_dynamics"), self._size("mass_matrix")

    def _link(self, body: LiftedBody) -> LinkData:
        i, frame = body.index, self.frames[body.index]
        step = self.frames[body.parent].inverse @ self.joint_poses[i] @ frame
        m, h, I = frame.inverse.out_inertia(body.inertia)
        c = centre(self.alphabet.ring.constant(m), h)
        if c is None:
            return LinkData(i + 1, body, step, self.world_poses[i] @ frame, m, None, h, I)
        return LinkData(i + 1, body, step, self.world_poses[i] @ frame, m, c, Vec(), I - steiner(m, c))

    def _shaft(self, body: LiftedBody) -> ShaftData:
        axis = (self.frames[body.parent].inverse @ body.placement).R @ Z
        return ShaftData(body.index + 1, body, body.parent + 1, axis, shafts(body)[0], body.inertia.I.c.z)

    # forms and their checks ----------------------------------------------------------------------------------------------

    def form(self, entries: Any) -> Form:
        return Form(self.equations, np.array(entries, dtype=object))

    def letter(self, kind: str, column: int) -> int:
        """Return the index of a rate (`"qd"`) or acceleration (`"qdd"`) among the letters."""
        return self.equations.letter(f"{kind}{column + 1}")

    def _size(self, quantity: str) -> float:
        return max(float(abs(self.kernel(quantity, s)).max(initial=0.0)) for s in self.states)

    def kernel(self, quantity: str, state: State, **options: str) -> np.ndarray:
        """Return the value of a quantity from its compiled kernel."""
        inputs = {name: getattr(state, name) for name in COMPUTED[quantity].inputs}
        return self.kernels(quantity, inputs, {}, **options)

    def numbers(self, entries: Any, state: State) -> np.ndarray:
        """Return the value of a closed form in one state."""
        return self.values(entries)[state.number]

    def values(self, entries: Any) -> np.ndarray:
        """Return the values of a closed form in every state, (states, ...)."""
        form = self.form(entries)
        found = np.array([self._value(p) for p in form.entries.flat], dtype=float).reshape(-1, STATES)
        return found.T.reshape(STATES, *form.shape)

    def _value(self, p: Poly | Ratio) -> np.ndarray:
        if isinstance(p, Ratio):
            return self._value(p.num) / self._value(p.den)
        used = sorted(p.letters())
        powers = np.array([[m[i] for i in used] for m in p.p.monoms()], dtype=int).reshape(len(p), len(used))
        terms = np.array([int(c.p) / int(c.q) for c in p.p.coeffs()]) * np.ones((STATES, 1))
        for i, exponents in zip(used, powers.T):
            table = self._letter(i)[:, None] ** np.arange(exponents.max() + 1)
            terms = terms * table[:, exponents]
        return terms.sum(axis=1)

    def _letter(self, i: int) -> np.ndarray:
        if i not in self._values:
            letter = self.form(self.alphabet.ring.letters[i])
            self._values[i] = np.array([letter.evaluate(*state[1:], parameters=self.drawn) for state in self.states], dtype=float)
        return self._values[i]

    def check(
        self,
        what: str,
        entries: Any,
        expected: Callable[[State], Any],
        against: str = KERNELS,
        scale: float = 0.0,
        tolerance: float = TOLERANCE,
    ) -> Check:
        """Compare closed forms with numbers from elsewhere. Raises DerivationError: they differ."""
        pairs = [(x, np.asarray(expected(s), dtype=float)) for x, s in zip(self.values(entries), self.states)]
        return compared(what, pairs, against, scale, tolerance)

    def check_quantity(self, what: str, entries: Any, quantity: str, scale: float = 0.0, **options: str) -> Check:
        return self.check(what, entries, lambda s: self.kernel(quantity, s, **options), scale=scale)

    def agree(self, what: str, entries: Any, form: Form) -> None:
        """Refuse entries that are not exactly this form. Raises DerivationError."""
        if not self.form(entries) == form:
            raise DerivationError(f"{what} of this derivation is not that of the equations of motion")

    # words ---------------------------------------------------------------------------------------------------------------

    def needs_coordinates(self, method: str) -> None:
        if self.equations.nq != self.nv:
            joints = [c.name for c in self.model.mechanism.coordinates if len(c.q) != len(c.v)]
            raise InputError(
                f"method={method!r} differentiates with respect to q and needs joints whose qd is the rate of q; that of "
                f'{joints[0]!r} is an angular velocity, the rate of no coordinates: use method="newton-euler"'
            )

    def words_on_loads(self, *columns: int) -> list[Prose]:
        """Return a sentence on the meaning of a load, if friction of any of these columns grows with it."""
        loaded = set(self.alphabet.loads.values()) & set(columns or range(self.nv))
        return [say("Some friction grows with the load: $\\mathrm{load}_i$ is $\\tau_i$ without friction.")] if loaded else []

    def notes(self, abbreviated: bool, imposed: Sequence[Constraint]) -> list[Prose]:
        """Return the notes before the first step. `abbreviated`: there are short names for combinations of parameters; `imposed`:
        constraints that the last steps impose."""
        found = [say("{note}.", note=note) for note in self.equations.notes if note != self.equations.exact_model.open_tree]
        if imposed:
            found.append(say("The first steps are those of the open tree; the constraints are imposed after them."))
        if left := [x.name for x in self.model.constraints if as_constraints(self.model, x)[0] not in imposed]:
            names = ", ".join(map(repr, left))
            found.append(say("The description has constraints that are not imposed here: {names}.", names=names))
        if self.is_read_otherwise:
            found.append(say("The kernels that the steps were checked against are those of the robot so read."))
        if self.equations.values:
            found.append(say("Numbers of the robot became symbols; the checks use the numbers."))
        for name, value in self.given.items():
            found.append(say("Gravity is written {name}; in the checks {name} = {value:g} m/s².", name=name, value=value))
        if abbreviated:
            found.append(say("Combinations of parameters have short names, defined at the end of the step where they first occur."))
        return found

    @property
    def is_abbreviated(self) -> bool:
        """True if the equations are long and have parameters that can be combined under short names."""
        return bool(self.equations.parameters) and not self.is_short(self.equations.tau.entries)

    def short_form(self, entries: Any) -> Form | None:
        """Return the form if it is short enough to be written out; otherwise None."""
        return self.form(entries) if self.is_short(entries) else None

    def is_short(self, *entries: Any) -> bool:
        """Tell whether each of some quantities is short enough to be written out."""
        forms = [self.form(x) for x in entries]
        return self.full or all(form.terms <= 2 * SHORT and all(len(x) <= SHORT for x in form.entries.flat) for form in forms)

    # links, and their numbers from the kernels ---------------------------------------------------------------------------

    @property
    def heavy(self) -> list[LinkData]:
        """The links that have a mass or an inertia."""
        return [link for link in self.links if link.has_mass]

    def visible(self) -> list[LinkData]:
        """Return the links that have a name, and so kernels."""
        return [link for link in self.links if link.body.is_link]

    def kernel_twist(self, link: LinkData, state: State) -> Motion:
        """Return the angular velocity of a link and the velocity of its reference point, in world axes."""
        J = self.kernel("jacobian", state, frame=link.body.name, reference="space") @ state.qd
        w, v = J[:3], J[3:]
        p = self.numbers(link.pose.point(link.reference), state)
        return Motion(Vec(*w), Vec(*(v + np.cross(w, p))))


def drawn(model: Model, rng: np.random.Generator, given: Mapping[str, float]) -> tuple[dict[str, float], Model]:
    """Return values of the symbols, some of them given, with which the model is a valid robot, and that robot. Raises InputError:
    none were found."""
    drives = [*(joint.drive for joint in model.joints), *(drive for x in model.transmissions for drive in x.drives)]
    used = lambda name: {s for d in drives if d for s in symbols_in(*pair(getattr(d, name)))}  # noqa: E731
    static, by_load = used("static") - used("coulomb"), used("load_friction")
    refused: Exception | None = None
    for _ in range(DRAWS):
        values: dict[str, float] = {}
        for s in sorted(model.symbols, key=str):
            low, high = (0.05, 0.3) if s in by_load else (2.0, 3.0) if s in static else (0.5, 1.5)  # valid ranges for friction
            values[str(s)] = round(float(rng.uniform(low, high)), 3)
        values |= given
        try:
            return values, with_values(model, values)
        except ModelError as error:
            refused = error
    raise InputError(f"a derivation is checked with numbers for its symbols, and none were found that make a robot ({refused})")


def with_values(model: Model, values: dict[str, float]) -> Model:
    """Return the model with numbers for its symbols, without warnings: whether such a robot could be built does not matter."""
    if not values:
        return model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return model.subs({s: values[str(s)] for s in model.symbols})


def centre(m: Poly, h: Vec) -> Vec | None:
    """Return h / m if it is polynomial, otherwise None; the origin for a rotor without mass."""
    if not m:
        return None if any(x != 0 for x in h) else Vec()
    parts = []
    for x in h:
        quotient, rest = divmod(m.ring.constant(x).p, m.p)
        if rest:
            return None
        parts.append(Poly(m.ring, quotient, m.marks | (x.marks if isinstance(x, Poly) else 0)))
    return Vec(*(x.value if x.is_constant else x for x in parts))
