"""Set of the parameters to identify, of links and drives, each with its column of the regressor.

    tau = Y(q, qd, qdd) pi,    pi = T theta + pi_0

Here pi are all parameters and theta the free ones. If no parameter is fixed or tied, `T` is the identity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag

from qddot.algorithms.regressor import INERTIAL
from qddot.arguments import finite_array, finite_number, mapping, positive_number
from qddot.errors import InputError, as_written, unknown_name
from qddot.identify.regression.bodies import body_inertias
from qddot.identify.regression.columns import Evaluator
from qddot.identify.regression.drive_terms import POWERS, Column, Term, coupling, described, drive_columns
from qddot.model.drive import JointSide
from qddot.model.friction import SETTLED
from qddot.model.inertia import steiner
from qddot.model.spatial import Vec, upper
from qddot.robot import Robot
from qddot.thresholds import STANDSTILL

COULOMB = ("smooth", "sign")


@dataclass(frozen=True, eq=False)
class ParameterSet:
    """Parameters to identify. Make them with `ParameterSet.of`, then `fix`, `tie`, `expect` or `known_centres`.

    Attributes:
        robot: the robot as described; its geometry, springs and coupled motors are taken as known.
        asked: the arguments of `ParameterSet.of`.
        terms: the parameters of the drives.
        names: names of the free parameters theta (p,).
        T: matrix (P, p) of `pi = T theta + constant`.
        constant: constant part of pi (P,).
        described: theta of the robot as described (p,).
        priors: free parameter -> (mean, standard deviation).
        at_rest: joints whose samples at rest are used too, see `counting_rests`.
        dropped: parameters that a fit set to 0, see `without`.
        carried: all parameters (P,), from which the load that friction grows with is computed; None: those of the description.

    >>> from qddot.identify import ParameterSet
    >>> robot = qddot.load("two_link")
    >>> parameters = ParameterSet.of(robot, coulomb=None, offset=False)
    >>> len(parameters.names), parameters.names[-1]
    (24, 'joint2.viscous')
    >>> parameters.matrix(np.zeros((5, 2)), np.zeros((5, 2)), np.zeros((5, 2))).shape  # samples, joints, parameters
    (5, 2, 24)
    """

    robot: Robot
    asked: Mapping[str, Any]
    terms: tuple[Term, ...]
    names: tuple[str, ...]
    T: np.ndarray
    constant: np.ndarray
    described: np.ndarray
    priors: Mapping[str, tuple[float, float]]
    at_rest: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    carried: np.ndarray | None = None

    def __repr__(self) -> str:
        return f"ParameterSet of {self.robot.name}: {len(self.names)} free parameters of {len(self.T)}"

    @staticmethod
    def of(
        robot: Robot,
        *,
        armature: bool = True,
        viscous: bool | int = True,
        coulomb: str | None = "smooth",
        offset: bool = True,
        standstill: float | Mapping[str, float] = STANDSTILL,
        asymmetric: bool = False,
        stribeck: float | Mapping[str, float] | None = None,
        load: bool = False,
        coupled: Sequence[tuple[str, str]] = (),
        spring: bool = False,
        harmonics: Mapping[str, int | Sequence[int]] | None = None,
        pulls: Mapping[str, tuple[float, float]] | None = None,
    ) -> ParameterSet:
        """Return a set of ten parameters per moving link (m, m c, I about the link's frame) and the chosen ones of each drive.

        Args:
            armature: rotor inertia as felt at the joint, kg m^2.
            viscous, coulomb, offset: `tau = viscous qd + coulomb s(qd) + offset`. `viscous` may be the highest power of qd, 1 to
                3. `coulomb` chooses the step s: `"smooth"` or `"sign"`, or None for no Coulomb friction.
            standstill: speed, rad/s or m/s, below which a joint stands still (samples of longer rests are left out), and the
                smoothing velocity of a smooth step; or joint -> speed (`standstill_speeds` finds them in a log).
            asymmetric: separate viscous and Coulomb friction for each direction. An offset can be distinguished from them only near
                rest and if the step is smooth; with `"sign"` there is none.
            stribeck: speed at which `stribeck s(qd) / (1 + (qd / speed)^2)` has halved; or joint -> speed, for some joints; None
                for none.
            load: Coulomb friction in proportion to the load, which is all that acts on the joint except friction.
            coupled: pairs of joints whose motors are geared together, as in many wrists: one rotor and one friction for both.
            spring: a torque in proportion to q, in addition to a spring that the robot has; together with the offset it gives the
                position at which the spring is relaxed.
            harmonics: joint -> number of harmonics of q, or a list of their orders, for a spring or cylinder that balances gravity,
                or a motor that cogs.
            pulls: joint -> (edge, way): something that acts on a joint beyond an edge, rad or m, above it if `way` is 1 and
                below it if `way` is -1: a hose, a cable that becomes taut, a buffer. Its torque is `way (pull x + pull_rise x^2)`,
                x how far the joint is beyond.

        Raises:
            InputError: an unknown law, power or way, or a robot whose joints are not single hinges and sliders.
            UnknownNameError: no such joint.

        >>> parameters = qddot.identify.ParameterSet.of(qddot.load("two_link"), viscous=False, coulomb=None)
        >>> parameters.names[-4:]
        ('joint1.armature', 'joint1.offset', 'joint2.armature', 'joint2.offset')
        """
        asked = {name: value for name, value in locals().items() if name != "robot"}
        if robot.nq != robot.nv:
            joint = next(c.name for c in robot.model.mechanism.coordinates if not c.single)
            raise InputError(f"joint {joint!r} of {robot.name} is spherical or free: only hinges and sliders can be identified")
        if coulomb is not None and (not isinstance(coulomb, str) or coulomb not in COULOMB):
            raise InputError(f"coulomb={coulomb!r} is not one of {', '.join(map(repr, COULOMB))}, None")
        if not isinstance(viscous, int) or viscous not in range(len(POWERS) + 1):
            raise InputError(f"viscous={viscous!r}: whether there is any, or the highest power of qd in it, 1 to {len(POWERS)}")
        for joint, (edge, way) in (pulls or {}).items():
            finite_number(f"the edge of {joint}", edge)
            if way not in (-1, 1):
                raise InputError(f"pulls: the way of {joint} is {as_written(way)}: 1, above the edge, or -1, below it")
        speeds = standstill_of(robot, standstill)
        widths = speeds if coulomb == "smooth" else np.zeros(robot.nv)
        drives = robot.drives
        terms: list[Term] = []
        for j, joint in enumerate(robot.joint_names):
            drive = drives[joint].at_joint if joint in drives else JointSide()
            found: list[tuple[str, float, Column]] = []
            if armature:
                found.append(("armature", drive.armature, lambda x, j=j: x.qdd[:, j]))
            for name, column in drive_columns(asked, joint, j, widths[j]):
                found.append((name, described(drive.friction, name, asymmetric), column))
            terms += [Term(f"{joint}.{name}", {j: column}, float(value)) for name, value, column in found]
        for joint in (*(harmonics or {}), *(pulls or {}), *(stribeck if isinstance(stribeck, Mapping) else {})):
            index(robot, joint)
        for one, other in coupled:
            i, j = index(robot, one), index(robot, other)
            terms += coupling(i, j, f"{one}+{other}", max(widths[i], widths[j]))
        links = [(f"{body}.{name}", x) for body, values in body_inertias(robot).items() for name, x in zip(INERTIAL, values)]
        names, values = zip(*links, *((t.name, t.value) for t in terms)) if links else ((), ())
        P = len(names)
        return ParameterSet(robot, asked, tuple(terms), tuple(names), np.eye(P), np.zeros(P), np.array(values, float), {})

    # fewer parameters -----------------------------------------------------------------------------------------------------

    def fix(self, values: Mapping[str, float | None]) -> ParameterSet:
        """Return a set in which parameters (or patterns such as `"link7.*"`) are known: name -> value; None: as described.

        >>> parameters = qddot.identify.ParameterSet.of(qddot.load("two_link"))
        >>> known = parameters.fix({"body_2.*": None, "joint1.offset": 0.0})  # the last link as described, no offset
        >>> len(parameters.names) - len(known.names)
        11
        """
        given = {j: value for name, value in mapping("values", values).items() for j in self.matching(name)}
        known = {j: finite_number(self.names[j], self.described[j] if x is None else x) for j, x in given.items()}
        theta = np.zeros(len(self.names))
        theta[list(known)] = list(known.values())
        return self._kept([j for j in range(len(self.names)) if j not in known], self.T, self.constant + self.T @ theta)

    def without(self, names: Sequence[str]) -> ParameterSet:
        """Return a set in which parameters that a fit found to be impossible are 0. `dropped` lists them."""
        return replace(self.fix(dict.fromkeys(names, 0.0)), dropped=(*self.dropped, *names))

    def tie(self, ties: Mapping[str, Mapping[str, float]]) -> ParameterSet:
        """Return a set in which parameters are proportional to others.

        For example, `{"link2.mcx": {"link2.m": 0.25}}` means `link2.mcx = 0.25 link2.m`.

        >>> parameters = qddot.identify.ParameterSet.of(qddot.load("two_link"))
        >>> "body_2.mcx" in parameters.tie({"body_2.mcx": {"body_2.m": -0.35}}).names  # the middle of its rod is known
        False
        """
        T, tied = self.T.copy(), {self.place(name) for name in mapping("ties", ties)}
        for name, others in ties.items():
            for other, factor in mapping(name, others).items():
                factor = finite_number(f"the factor of {other}", factor)
                if self.place(other) in tied:
                    raise InputError(f"{name} is tied to {other}, which is tied itself: tie both to the same free parameter")
                T[:, self.place(other)] += factor * self.T[:, self.place(name)]
        return self._kept([j for j in range(len(self.names)) if j not in tied], T, self.constant)

    def expect(self, priors: Mapping[str, tuple[float | None, float]]) -> ParameterSet:
        """Return a set with priors of parameters (or patterns): name -> (mean, standard deviation); a mean of None: as described.

        >>> parameters = qddot.identify.ParameterSet.of(qddot.load("two_link"))
        >>> parameters.expect({"body_2.m": (0.7, 0.05)}).priors  # weighed on a kitchen scale
        {'body_2.m': (0.7, 0.05)}
        """
        found = dict(self.priors)
        for name, prior in mapping("priors", priors).items():
            try:
                mean, deviation = prior
                mean, deviation = None if mean is None else finite_number("mean", mean), positive_number("deviation", deviation)
            except (TypeError, ValueError) as error:
                why = f" ({error})" if isinstance(error, InputError) else ""
                raise InputError(
                    f"the prior of {name} is {as_written(prior)}: (mean, deviation), a finite mean and a deviation above 0, is "
                    f"needed{why}; `fix` what is known"
                ) from None
            for j in self.matching(name):
                found[self.names[j]] = float(self.described[j] if mean is None else mean), float(deviation)
        return replace(self, priors=found)

    def known_centres(self, unknown: Sequence[str] = ("m", *INERTIAL[4:])) -> ParameterSet:
        """Return a set with each centre of mass as described; of a link's mass and moments about it (`Izz_c`), `unknown` are free.

        Textbooks do this for an arm of uniform rods: `ParameterSet.of(robot, ...).known_centres(("m", "Izz"))`.

        >>> links = {"armature": False, "viscous": False, "coulomb": None, "offset": False}
        >>> parameters = qddot.identify.ParameterSet.of(qddot.load("two_link"), **links)
        >>> parameters.known_centres(("m", "Izz")).names
        ('body_1.m', 'body_1.Izz_c', 'body_2.m', 'body_2.Izz_c')
        """
        if len(self.names) != len(self.T):
            raise InputError("known_centres comes first: parameters have been fixed or tied already")
        kinds = ("m", *INERTIAL[4:])
        for name in unknown:
            if name not in kinds:
                raise unknown_name("parameter of a link about its centre of mass", name, kinds)
        bodies = body_inertias(self.robot)
        names, values, blocks = [], [], []
        for body, ten in bodies.items():
            m, h = ten[0], ten[1:4]
            if m <= 0:
                raise InputError(f"{body} has the mass {m:g} kg: its centre of mass is not known")
            c = h / m
            G = np.zeros((10, 7))
            G[:, 0] = 1.0, *c, *upper(steiner(1.0, Vec(*c)))
            G[4:, 1:] = np.eye(6)
            names += [f"{body}.{kind}" if kind == "m" else f"{body}.{kind}_c" for kind in kinds]
            values += [m, *(ten[4:] - m * G[4:, 0])]
            blocks.append(G)
        links = 10 * len(bodies)
        T = block_diag(*blocks, np.eye(len(self.T) - links))
        described = np.array([*values, *self.described[links:]])
        whole = replace(self, names=(*names, *self.names[links:]), T=T, described=described)
        known = {n: None for n in names if n.rpartition(".")[2].removesuffix("_c") not in unknown}
        return whole.fix(known)

    # rest -----------------------------------------------------------------------------------------------------------------

    def counting_rests(self, joints: Sequence[str]) -> ParameterSet:
        """Return a set for which the torques of these joints at rest are used too.

        By default those of joints with Coulomb friction are left out, since it may hold a resting joint with any torque up to its
        own.
        """
        return replace(self, at_rest=tuple(self.robot.joint_names[index(self.robot, joint)] for joint in joints))

    @cached_property
    def step_speeds(self) -> np.ndarray:
        """Standstill speed of each joint (nv,), below which Coulomb friction changes its sign; 0 for joints without it."""
        speeds, links = standstill_of(self.robot, self.asked["standstill"]), len(self.T) - len(self.terms)
        asked = np.any(self.T[links:] != 0, axis=1) | (self.constant[links:] != 0)
        coulomb = (t for t, some in zip(self.terms, asked) if some and "coulomb" in t.name.rpartition(".")[2])
        sliding = {j for term in coulomb for j in term.rows}
        return np.where([j in sliding for j in range(self.robot.nv)], speeds, 0.0)

    @property
    def widths(self) -> np.ndarray:
        """Smoothing velocity of each joint's dry friction (nv,); 0 for a step that is a sign."""
        smooth = self.asked["coulomb"] == "smooth"
        return standstill_of(self.robot, self.asked["standstill"]) if smooth else np.zeros(self.robot.nv)

    @cached_property
    def rest_speeds(self) -> np.ndarray:
        """Speed of each joint (nv,) below which friction may hold it, so that longer rests are left out; 0: none are."""
        counts = np.isin(self.robot.joint_names, self.at_rest)
        return np.where(counts, 0.0, self.step_speeds)

    def turning(self, qd: np.ndarray) -> np.ndarray:
        """Return True for samples (N, nv) at which, or between which and the next, Coulomb friction changes its sign."""
        found = on_step(qd, self.step_speeds)
        for joints in self.asked["coupled"]:
            both = [index(self.robot, joint) for joint in joints]
            found[:, both] |= on_step(qd[:, both].sum(axis=1, keepdims=True), self.step_speeds[both].max())
        return found

    @property
    def is_loaded(self) -> bool:
        """True if there is friction that grows with the load."""
        return bool(self.asked["load"])

    def carrying(self, parameters: np.ndarray | None) -> ParameterSet:
        """Return a set in which the load that friction grows with is computed from all parameters (P,); None: as described."""
        return replace(self, carried=parameters)

    def _kept(self, keep: Sequence[int], T: np.ndarray, constant: np.ndarray) -> ParameterSet:
        """Return a set with only some of the free parameters; the argument `T` has a column for each of the present ones."""
        names = tuple(self.names[j] for j in keep)
        priors = {n: p for n, p in self.priors.items() if n in names}
        return replace(self, names=names, T=T[:, keep], constant=constant, described=self.described[keep], priors=priors)

    def place(self, name: str) -> int:
        """Return the index of a free parameter. Raises UnknownNameError: there is none of this name."""
        if not isinstance(name, str) or name not in self.names:
            raise unknown_name("free parameter", name, self.names)
        return self.names.index(name)

    def matching(self, pattern: str) -> list[int]:
        """Return the indices of the free parameters that match a name or pattern."""
        found = [j for j, name in enumerate(self.names) if isinstance(pattern, str) and fnmatchcase(name, pattern)]
        return found or [self.place(pattern)]

    # values ---------------------------------------------------------------------------------------------------------------

    @property
    def full_names(self) -> tuple[str, ...]:
        """Names of all parameters pi (P,), fixed and tied ones included."""
        links = [f"{body}.{name}" for body in body_inertias(self.robot) for name in INERTIAL]
        return (*links, *(term.name for term in self.terms))

    def full(self, theta: np.ndarray) -> np.ndarray:
        """Return all parameters pi (P,) from the free ones theta (p,)."""
        return self.T @ theta + self.constant

    def evaluator(self) -> Evaluator:
        """Return the evaluator of the regressor's columns, which is made once for all chunks of a log."""
        return self._evaluator

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(self)

    def matrix(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Return the regressor of the free parameters (N, nv, p)."""
        moved = self.evaluator().at(*self._motion(q, qd, qdd))
        return np.stack([moved.row(j) @ self.T[used] for j, used in enumerate(moved.evaluator.used)], axis=1)

    def known_torque(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Return the joint forces of fixed parameters, springs and coupled motors (N, nv)."""
        return self.evaluator().at(*self._motion(q, qd, qdd)).known()

    def _motion(self, *given: ArrayLike) -> list[np.ndarray]:
        """Return q, qd and qdd as arrays (N, nv).

        Raises:
            InputError: other shapes, or numbers that are not finite.
        """
        motion = [finite_array(name, x) for name, x in zip(("q", "qd", "qdd"), given)]
        if any(x.ndim != 2 or x.shape != (len(motion[0]), self.robot.nv) for x in motion):
            shapes = ", ".join(f"{name} {x.shape}" for name, x in zip(("q", "qd", "qdd"), motion))
            raise InputError(f"a motion has q, qd and qdd (samples, {self.robot.nv}), these have {shapes}")
        return motion

    def __reduce__(self) -> tuple:
        """Pickle the arguments of `of`, since the terms hold functions, which cannot be pickled."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("robot", "asked", "terms")}
        return remade, (self.robot, self.asked, given)


def remade(robot: Robot, asked: Mapping[str, Any], given: Mapping[str, Any]) -> ParameterSet:
    """Return a pickled parameter set, from the arguments of `of` and its other attributes."""
    return replace(ParameterSet.of(robot, **asked), **given)


def standstill_of(robot: Robot, standstill: float | Mapping[str, float]) -> np.ndarray:
    """Return the standstill speed of each joint (nv,), from one for all or joint -> speed; the default for joints without one."""
    given = standstill if isinstance(standstill, Mapping) else dict.fromkeys(robot.joint_names, standstill)
    for joint, speed in given.items():
        index(robot, joint)
        if not speed > 0:
            raise InputError(f"standstill={speed:g} of {joint} is not a positive speed")
    return np.array([given.get(joint, STANDSTILL) for joint in robot.joint_names])


def on_step(qd: np.ndarray, speed: np.ndarray | float) -> np.ndarray:
    """Return True for speeds (N, k) within the step of dry friction, or that change their sign before the next sample.

    False for joints whose step has a speed of 0.
    """
    found = np.abs(qd) < SETTLED * speed
    found[:-1] |= (qd[:-1] * qd[1:] < 0) & (np.asarray(speed) > 0)
    return found


def index(robot: Robot, joint: str) -> int:
    """Return the index of a joint. Raises UnknownNameError: there is none of this name."""
    if not isinstance(joint, str) or joint not in robot.joint_names:
        raise unknown_name("joint", joint, robot.joint_names)
    return robot.joint_names.index(joint)
