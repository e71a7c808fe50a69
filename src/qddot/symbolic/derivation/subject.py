"""A robot as a derivation sees it: over the ring, link by link, and compiled beside it to check every step."""

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
DRAWS = 200  # of values for the symbols, at most
TOLERANCE = 1e-9  # of scale
SHORT = 60  # terms: what is longer is written in letters
KERNELS = "the compiled kernels"


class State(NamedTuple):
    number: int
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


class LinkData(NamedTuple):
    """A moving link, in its own frame."""

    number: int  # from 1, in the order of the bodies
    body: LiftedBody  # as the algorithms see it
    # step, pose: of its frame in the frame of its parent link, and in the world
    step: Transform
    pose: Transform
    mass: Scalar  # of everything fixed to it
    point: Vec | None  # its centre of mass c, in the link's axes; None where it has none in the ring (a quotient of sums)
    moment: Vec  # h = m (c - r), about the reference point r: 0 where that is the centre of mass, otherwise r = 0
    tensor: Mat  # of inertia about the reference point, in the link's axes

    @property
    def reference(self) -> Vec:
        return self.point or Vec()

    @property
    def has_mass(self) -> bool:
        return self.mass != 0 or any(x != 0 for row in self.tensor for x in row)


class ShaftData(NamedTuple):
    """Shaft that spins on a link or on the ground: a rotor, or a motor."""

    number: int  # from 1, in the order of the bodies, after all links
    body: LiftedBody
    parent: int  # the number of the link that carries it, 0 for the world
    axis: Vec  # unit vector in the axes of that link
    turns: Shaft  # columns of qd, and how fast each of them alone spins it
    moment: Scalar  # of inertia about the axis

    def spin(self, w: Vec, rates: Any) -> Scalar:
        """About its axis, on a link that turns with w (in the link's axes)."""
        return sum((rates[c] * ratio for c, ratio in self.turns), self.axis.dot(w))


Pairs = Sequence[tuple[np.ndarray, np.ndarray]]


def compared(what: str, pairs: Pairs, against: str = KERNELS, scale: float = 1.0, tolerance: float = TOLERANCE) -> Check:
    """Numbers of a derivation beside those from elsewhere, state by state. Raises DerivationError: they differ by more than a part
    of the largest, or of `scale`."""
    scale = max([scale, *(abs(x).max() for pair in pairs for x in pair if x.size)])
    worst = max((abs(a - b).max() / scale for a, b in pairs if a.size and scale), default=0.0)
    if not worst <= tolerance:
        raise DerivationError(f"{what}: differs from {against} by {worst:.1e} of scale")
    return Check(what, against, len(pairs), float(worst))


class Subject:
    """One robot.

    Args:
        symbols: as of `Robot.equations`.
        full: everything counts as short, and is written out.
        values: of some of its symbols; for others random ones are drawn.

    Attributes:
        links: what moves, one by one.
        shafts: rotors and motors that have inertia and are bodies of their own; gears: elastic ones, which have none.
        equations: its closed forms, with `lifted`, the robot over the ring, and `alphabet`.
        kernels: of the same robot as its closed forms read it; where symbols are open, with the values `drawn` for them.
        is_read_otherwise: some of its angles were taken for others, as `equations.notes` says; the kernels have these too.
        states: at which both are compared.
        friction: joint forces less the load, all of it (nv,).
        torque, inertia: how large joint forces and entries of M are there: rounding is measured by them where a term vanishes.
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
        """The index of a rate (`"qd"`) or acceleration (`"qdd"`) among the letters."""
        return self.equations.letter(f"{kind}{column + 1}")

    def _size(self, quantity: str) -> float:
        return max(float(abs(self.kernel(quantity, s)).max(initial=0.0)) for s in self.states)

    def kernel(self, quantity: str, state: State, **options: str) -> np.ndarray:
        """Value of a quantity by its compiled kernel."""
        inputs = {name: getattr(state, name) for name in COMPUTED[quantity].inputs}
        return self.kernels(quantity, inputs, {}, **options)

    def numbers(self, entries: Any, state: State) -> np.ndarray:
        """Value of a closed form in one state."""
        return self.values(entries)[state.number]

    def values(self, entries: Any) -> np.ndarray:
        """Values in every state, (states, ...)."""
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
        """Closed forms against numbers from elsewhere. Raises DerivationError: they differ."""
        pairs = [(x, np.asarray(expected(s), dtype=float)) for x, s in zip(self.values(entries), self.states)]
        return compared(what, pairs, against, scale, tolerance)

    def check_quantity(self, what: str, entries: Any, quantity: str, scale: float = 0.0, **options: str) -> Check:
        return self.check(what, entries, lambda s: self.kernel(quantity, s, **options), scale=scale)

    def agree(self, what: str, entries: Any, form: Form) -> None:
        """Refuse, unless both agree exactly, in the ring. Raises DerivationError: they do not."""
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
        """Sentence on what a load is, where friction of any of these columns grows with it."""
        loaded = set(self.alphabet.loads.values()) & set(columns or range(self.nv))
        return [say("Some friction grows with the load: $\\mathrm{load}_i$ is $\\tau_i$ without friction.")] if loaded else []

    def notes(self, abbreviated: bool, imposed: Sequence[Constraint]) -> list[Prose]:
        """Notes that a reader should know before the first step. `abbreviated`: there are short names for what parameters make
        together; `imposed`: constraints that the last steps impose."""
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
        """Long, and with parameters that can be put together."""
        return bool(self.equations.parameters) and not self.is_short(self.equations.tau.entries)

    def short_form(self, entries: Any) -> Form | None:
        """A form that is short enough to be written out; None for a longer one."""
        return self.form(entries) if self.is_short(entries) else None

    def is_short(self, *entries: Any) -> bool:
        """Each of some quantities is short enough to be written out."""
        forms = [self.form(x) for x in entries]
        return self.full or all(form.terms <= 2 * SHORT and all(len(x) <= SHORT for x in form.entries.flat) for form in forms)

    # what the kernels say of a link --------------------------------------------------------------------------------------

    @property
    def heavy(self) -> list[LinkData]:
        """Links that have a mass, or an inertia."""
        return [link for link in self.links if link.has_mass]

    def visible(self) -> list[LinkData]:
        """Links that have a name, and so kernels."""
        return [link for link in self.links if link.body.is_link]

    def named_pose(self, link: LinkData) -> Transform:
        """Pose of the frame that goes by the link's name."""
        return self.world_poses[link.body.index] @ link.body.link

    def kernel_twist(self, link: LinkData, state: State) -> Motion:
        """Angular velocity of a link, and the velocity of its reference point, in world axes."""
        J = self.kernel("jacobian", state, frame=link.body.name, reference="space") @ state.qd
        w, v = J[:3], J[3:]
        p = self.numbers(link.pose.point(link.reference), state)
        return Motion(Vec(*w), Vec(*(v + np.cross(w, p))))


def drawn(model: Model, rng: np.random.Generator, given: Mapping[str, float]) -> tuple[dict[str, float], Model]:
    """Values of the symbols with which the model is a robot, and that robot; some of them given. Raises InputError: none were
    found."""
    drives = [*(joint.drive for joint in model.joints), *(drive for x in model.transmissions for drive in x.drives)]
    used = lambda name: {s for d in drives if d for s in symbols_in(*pair(getattr(d, name)))}  # noqa: E731
    held, shared = used("static") - used("coulomb"), used("load_friction")
    refused: Exception | None = None
    for _ in range(DRAWS):
        values: dict[str, float] = {}
        for s in sorted(model.symbols, key=str):
            low, high = (0.05, 0.3) if s in shared else (2.0, 3.0) if s in held else (0.5, 1.5)  # what friction asks of them
            values[str(s)] = round(float(rng.uniform(low, high)), 3)
        values |= given
        try:
            return values, with_values(model, values)
        except ModelError as error:
            refused = error
    raise InputError(f"a derivation is checked with numbers for its symbols, and none were found that make a robot ({refused})")


def with_values(model: Model, values: dict[str, float]) -> Model:
    """Model with numbers for its symbols. Whether such a robot could be built does not matter here."""
    if not values:
        return model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return model.subs({s: values[str(s)] for s in model.symbols})


def centre(m: Poly, h: Vec) -> Vec | None:
    """h / m, if that is polynomial; anywhere, so at the origin, for a rotor without mass."""
    if not m:
        return None if any(x != 0 for x in h) else Vec()
    parts = []
    for x in h:
        quotient, rest = divmod(m.ring.constant(x).p, m.p)
        if rest:
            return None
        parts.append(Poly(m.ring, quotient, m.marks | (x.marks if isinstance(x, Poly) else 0)))
    return Vec(*(x.value if x.is_constant else x for x in parts))
