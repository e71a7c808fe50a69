"""Dry friction and stops within a traced step: the modes of `qddot.simulate.modes`, decided without branches.

A convex problem decides which resting joints stay at rest and which joints leave their stops: forces p within bounds, and
accelerations `M a = f + p` that vanish where p is inside its bounds. Its rounds (guess which are inside, solve, correct the guess)
are unrolled here, as many as practically always suffice, and a margin says if they did. Truth values are 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from qddot.algorithms.factor import Matrix, factor, times
from qddot.algorithms.forward_dynamics import Accelerations
from qddot.algorithms.kinematics import Scalars, zeros
from qddot.algorithms.quantities import algorithm
from qddot.algorithms.steps import kutta
from qddot.compile.trace import recorded
from qddot.constraints.elimination import all_positive
from qddot.errors import InputError
from qddot.graph.expr import Trace
from qddot.graph.program import Input, Output, Program
from qddot.model.field import Field
from qddot.model.model import LiftedModel, Model
from qddot.model.overflow import overflow
from qddot.model.scalar import Scalar, is_zero
from qddot.simulate.modes import STILL, TOUCH, Switching

ROUNDS, FEW_ROUNDS = 5, 3
"""The first are practically always enough. The second are mostly enough, for steps that are taken again if they were not."""

FAR = 1e30
"""A bound that is never reached, also in float32."""

Drive = Callable[[Scalar, Scalars, Scalars], list[Scalar]]
"""(time since the beginning of the step, q, qd) -> joint forces."""
Rule = Callable[..., tuple[list[Scalar], list[Scalar], list[Scalar]]]


class Dry(NamedTuple):
    """Dry friction of a column: Coulomb friction and its static rise, each against positive and negative motion, and load
    friction."""

    coulomb: tuple[Scalar, Scalar]
    rise: tuple[Scalar, Scalar]
    load: Scalar


class Mode(NamedTuple):
    """The mode: sliding (nv) is 1, -1, or 0 without dry friction; moving (nv) is 0 if held at rest; margins are positive if
    certain."""

    sliding: list[Scalar]
    moving: list[Scalar]
    margins: list[Scalar]


class Modes:
    """Modes of motion: rest, sliding or a stop, column by column.

    Args:
        model: with its dry friction.
        switching: of the robot.
        rounds: number of unrolled rounds.

    Raises:
        InputError: dry friction acts on a motor that turns several joints.
    """

    def __init__(self, model: LiftedModel, switching: Switching, rounds: int = ROUNDS) -> None:
        self.model, self.field, self.rounds = model, model.field, rounds
        columns = [int(c) for c in switching.columns]
        shafts, stops = columns[: switching.shafts], columns[switching.shafts :]
        if not has_own_shafts(switching):
            raise InputError("a rollout does not know dry friction of motors that turn several joints: use simulate")
        self.dry: dict[int, Dry] = {}
        for k, c in enumerate(shafts):
            ratio, friction = float(switching.rows[k, c]), model.bodies[switching.dry.bodies[k]].drive.friction
            first, other = (0, 1) if ratio > 0 else (1, 0)
            coulomb, rise = ((x[first] * abs(ratio), x[other] * abs(ratio)) for x in (friction.coulomb, friction.stribeck))
            self.dry[c] = Dry(coulomb, rise, friction.load)
        limits = zip(stops, switching.stop_q, switching.lower, switching.upper)
        self.stops = {c: (int(i), float(lower), float(upper)) for c, i, lower, upper in limits}

    def step(self, rule: Rule, q: Scalars, qd: Scalars, h: Scalar, drive: Drive) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Return q and qd after a step in one mode, with shafts that reversed brought to rest, and after impacts on stops."""
        q, qd, margins = self.before_impact(rule, q, qd, h, drive)
        q, qd, more = self.impact(q, qd)
        return q, qd, [*margins, *more]

    def before_impact(
        self, rule: Rule, q: Scalars, qd: Scalars, h: Scalar, drive: Drive
    ) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Return q and qd after a step, perhaps beyond a stop, and margins."""
        mode = self.decide(q, qd, drive(0, q, qd))

        def accelerate(later: Scalar, q: Scalars, qd: Scalars) -> Accelerations:
            return self.compute("held_dynamics", q, qd, drive(later, q, qd), mode.sliding, mode.moving)

        q, qd, margins = rule(self.model, q, qd, h, accelerate)
        qd = [v * m for v, m in zip(qd, mode.moving)]
        if self.dry:
            qd = self.at_rest(q, qd, mode)
        return q, qd, [*margins, *mode.margins]

    def compute(self, quantity: str, *inputs: Scalars) -> Any:
        return algorithm(self.model, quantity)(self.model, *inputs)

    def decide(self, q: Scalars, qd: Scalars, tau: Scalars) -> Mode:
        """Decide what moves and what rests by the balance of forces and accelerations (`Switching.decide`)."""
        n, field = range(self.model.nv), self.field
        still = [self.positive(STILL - absolute(field, v)) for v in qd]
        sliding = [(1 - still[c]) * field.sign(qd[c]) if c in self.dry else 0.0 for c in n]
        side = self.sides(q)
        stopped = [side[c] * still[c] for c in n]
        held = [either(still[c] if c in self.dry else 0.0, stopped[c] * stopped[c]) for c in n]
        M = self.compute("mass_matrix", q)
        bias = self.compute("load_torque", q, qd, zeros(self.model.nv))
        force = [t - b for t, b in zip(self.compute("delivered_torque", qd, tau, sliding), bias)]
        _, p = masked(M, force, held, zeros(self.model.nv))
        load = [absolute(field, tau[c] + p[c]) * self.dry[c].load if c in self.dry else 0.0 for c in n]
        static = [[a + b + load[c] for a, b in zip(dry.coulomb, dry.rise)] if (dry := self.dry.get(c)) else (0.0, 0.0) for c in n]
        found = self.balance(M, force, held, stopped, still, static)
        if not all(is_zero(x) for dry in self.dry.values() for x in dry.rise):  # kinetic friction of slipping joints is smaller
            levels = [
                [field.where_positive(still[c] * (1 - found.inside[c]), a, b) for a, b in zip(self.dry[c].coulomb, static[c])]
                if c in self.dry
                else (0.0, 0.0)
                for c in n
            ]
            found = self.balance(M, force, held, stopped, still, levels)
        inside = found.inside
        start = [field.where_positive(held[c], (1 - inside[c]) * field.sign(found.a[c]), sliding[c]) for c in n]
        return Mode([start[c] if c in self.dry else 0.0 for c in n], [1 - x for x in inside], found.margins)

    def balance(
        self, M: Matrix, force: Scalars, held: Scalars, stopped: Scalars, still: Scalars, levels: Sequence[Sequence[Scalar]]
    ) -> Found:
        """Return the accelerations under the forces of resting joints and stops."""
        n = range(self.model.nv)
        lower = [-(still[c] * levels[c][0]) - self.positive(stopped[c]) * FAR for c in n]
        upper = [still[c] * levels[c][1] + self.positive(-stopped[c]) * FAR for c in n]
        return self.bounded(M, force, held, lower, upper)

    def at_rest(self, q: Scalars, qd: Scalars, mode: Mode) -> list[Scalar]:
        """Return qd after impulses that bring to rest the joints whose speed changed sign within the step (`Switching.rest`)."""
        n = range(self.model.nv)
        turned = [self.positive(-(mode.sliding[c] * qd[c])) if c in self.dry else 0.0 for c in n]
        resting = [either(1 - mode.moving[c], turned[c]) for c in n]
        M = self.compute("mass_matrix", q)
        after, _ = masked(M, times(M, qd), resting, zeros(self.model.nv))
        any_turned = sum(turned, 0)
        return [self.field.where_positive(any_turned, a, b) for a, b in zip(after, qd)]

    def impact(self, q: Scalars, qd: Scalars) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Move joints beyond a limit onto it; an inelastic impact takes their outward velocity (`Switching.impact`)."""
        if not self.stops:
            return list(q), list(qd), []
        field, side = self.field, self.sides(q)
        struck = sum((self.positive(side[c] * qd[c]) for c in self.stops), 0)
        on = list(q)
        for i, lower, upper in self.stops.values():
            on[i] = clipped(field, q[i], lower, upper)
        M = self.compute("mass_matrix", on)
        lower, upper = ([-self.positive(s * x) * FAR * s for x in side] for s in (1, -1))
        found = self.bounded(M, times(M, qd), [x * x for x in side], lower, upper)
        after = [field.where_positive(struck, a, b) for a, b in zip(found.a, qd)]
        onto = [field.where_positive(struck, a, b) for a, b in zip(on, q)]
        return onto, after, [field.where_positive(struck, x, 1.0) for x in found.margins]

    def sides(self, q: Scalars) -> list[Scalar]:
        """Return (nv) -1 at or below the lower limit, 1 at or above the upper, else 0."""
        found = zeros(self.model.nv)
        for c, (i, lower, upper) in self.stops.items():
            found[c] = self.field.where_positive(
                q[i] - (lower + TOUCH), self.field.where_positive(upper - TOUCH - q[i], 0.0, 1.0), -1.0
            )
        return found

    def bounded(self, M: Matrix, force: Scalars, held: Scalars, lower: Scalars, upper: Scalars) -> Found:
        """Return a with `M a = force + p`, p within its bounds, a zero where p is inside and directed against p at a bound.

        A p that would go from one bound beyond the other is held instead, since it might alternate between them.
        """
        n, where, positive = range(self.model.nv), self.field.where_positive, self.positive
        inside, p = list(held), zeros(self.model.nv)
        for _ in range(self.rounds):
            a, within = masked(M, force, inside, p)
            aim = [where(inside[c], within[c], p[c] - a[c] * M[c][c]) for c in n]
            over, under = [positive(aim[c] - lower[c]) for c in n], [positive(upper[c] - aim[c]) for c in n]
            crossed = [(1 - over[c]) * positive(p[c] - lower[c]) + (1 - under[c]) * positive(upper[c] - p[c]) for c in n]
            still = [held[c] * (over[c] * under[c] + (1 - inside[c]) * crossed[c]) for c in n]
            changed = sum(((x - y) * (x - y) for x, y in zip(still, inside)), 0)
            p = [held[c] * clipped(self.field, aim[c], lower[c], upper[c]) for c in n]  # used for those that are not inside
            inside = still
        return Found(a, inside, [0.5 - changed])

    def positive(self, x: Scalar) -> Scalar:
        """1 where x > 0, else 0."""
        return self.field.where_positive(x, 1.0, 0.0)


def has_own_shafts(switching: Switching) -> bool:
    """True unless dry friction acts on a motor that turns several joints."""
    shafts = [int(c) for c in switching.columns[: switching.shafts]]
    return -1 not in shafts and len(set(shafts)) == len(shafts)


def switched_step(model: Model, switching: Switching, *, runtime: bool) -> Program:
    """Return the program of a step of order four with constant joint forces, in the mode of its beginning; it may end beyond a
    stop. `runtime`: True if the inertial parameters are an input."""
    n, links = model.mechanism.nv, sum(body.is_link for body in model.bodies)
    sizes = {"q": model.mechanism.nq, "qd": n, "tau": n, "dt": 1}
    sizes |= {"parameters": 10 * links} if runtime else {}
    sizes |= {"variables": sum(x.size for x in model.variables)} if model.variables else {}
    recorder, inputs = Trace(), tuple(Input(name, (size,)) for name, size in sizes.items())
    given = {x.name: [recorder.variable(k, i) for i in range(x.size)] for k, x in enumerate(inputs)}
    modes = Modes(recorded(model, recorder, given, regrouped=True), switching, FEW_ROUNDS)
    q, qd, margins = modes.before_impact(kutta, given["q"], given["qd"], given["dt"][0], lambda *_: given["tau"])
    found = {"q_next": q, "qd_next": qd, "margins": [all_positive(recorder, margins)]}
    program = Program("switched_step", inputs, tuple(Output(name, (len(x),), tuple(x)) for name, x in found.items()))
    if not program.is_finite():
        raise overflow(model, "a step with dry friction")
    return program


class Found(NamedTuple):
    """The solution of a bounded problem: accelerations (or velocities), which columns are held, and margins."""

    a: list[Scalar]
    inside: list[Scalar]
    margins: list[Scalar]


def masked(M: Matrix, force: Scalars, held: Scalars, p: Scalars) -> tuple[list[Scalar], list[Scalar]]:
    """Return a with `M a = force + p`, but zero where `held`, and the forces that hold these columns."""
    n, free = range(len(M)), [1 - x for x in held]
    solved = factor([[M[i][j] * free[i] * free[j] + (held[i] if i == j else 0) for j in n] for i in n])
    a = solved.solve([(force[c] + p[c] * free[c]) * free[c] for c in n])
    return a, [x - f for x, f in zip(times(M, a), force)]


def either(a: Scalar, b: Scalar) -> Scalar:
    return a + b - a * b


def absolute(field: Field, x: Scalar) -> Scalar:
    return field.where_positive(x, x, -x)


def clipped(field: Field, x: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
    """Return the nearest number within bounds."""
    return field.where_positive(x - upper, upper, field.where_positive(lower - x, lower, x))
