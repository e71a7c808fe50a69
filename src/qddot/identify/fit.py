"""Result of an identification: parameters with their uncertainty, the verdict, and the robot that has them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.arguments import mapping, positive_number
from qddot.errors import ConvergenceError, ModelWarning, stacklevel_outside
from qddot.formats.urdf_writer import write_urdf
from qddot.identify.checks.verdict import Verdict
from qddot.identify.physical.identified import identified_robot, sound_prior
from qddot.identify.physical.plausible import filled_in, implausible, keeping_load, weighing
from qddot.identify.regression.base import Base
from qddot.identify.regression.estimators import Estimate, essential, stacked
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.identify.regression.reduction import Factors
from qddot.identify.regression.residuals import Errors, relative, residuals
from qddot.identify.regression.signals import Signals, smoothed
from qddot.logs.table import Finding
from qddot.robot import Robot
from qddot.thresholds import ROBOT_AS_GOOD, TORQUE_ROUNDING

if TYPE_CHECKING:
    from rich.console import Group

    from qddot.explore.show import Page
    from qddot.identify.cross_validation import CrossValidation
    from qddot.identify.excitation.worth import Worth
    from qddot.identify.physical.consistent import Consistent
    from qddot.identify.physical.description_prior import NearDescription
    from qddot.identify.set_membership import SetMembership
    from qddot.identify.temperature import ThermalFriction


@dataclass(frozen=True, eq=False)
class Fit:
    """Result of an identification: a log's account of a robot.

    Attributes:
        parameter_set: the parameters asked for.
        base: their combinations that show.
        estimate: of the base parameters, with uncertainty.
        factors: what is left of the log.
        signals: the log through the filter; of one that was streamed, the chunk that moves most.
        training: measured and predicted torques of the log itself; sums of them, if it was streamed.
        validation: of the log kept for that; None if there was none.
        judged: that log through the filter, or `signals` if there was none.
        verdict: whether the parameters can be trusted.
        command: the call that makes this fit.
        thermal: how friction changes with temperature, where the log has that and shows it; `parameters` are those without.

    >>> arm = qddot.Builder("arm", gravity=(0, -9.81, 0)).body("rod", mass=1, com=(0.3, 0, 0), tensor=(0, 0.03, 0.03)).robot()
    >>> push = lambda t, q, qd: [2 * np.sin(7 * t)]
    >>> motion = arm.simulate([-1.5], t=np.arange(0, 10, 0.01), step=0.01, torque=push)
    >>> fit = arm.identify(qddot.identify.Log(motion.t, motion.q, tau=motion.tau))
    >>> print(fit.verdict)
    identified
    >>> left = fit.predict(motion.q, motion.qd, motion.qdd) - motion.tau
    >>> bool(abs(left).max() < 0.1)  # N m
    True
    >>> fit.to_urdf("identified.urdf")
    >>> html = fit.report("report.html")
    >>> fit.table().row_count == len(fit.parameters)
    True
    >>> ax = fit.plot("friction")
    >>> bool(fit.near_description().deviations["rod"] < 0.5)  # the description is about right
    True
    >>> fit.bounded_intervals(0.1).intervals.shape == (len(fit.parameters), 2)
    True
    >>> page = fit.explore("fit.html")
    """

    parameter_set: ParameterSet
    base: Base
    estimate: Estimate
    factors: Factors
    signals: Signals
    training: Errors
    validation: Errors | None
    judged: Signals
    verdict: Verdict
    findings: tuple[Finding, ...]
    command: str = ""
    thermal: ThermalFriction | None = None

    @property
    def parameters(self) -> dict[str, float]:
        """Base parameter -> value, SI units; `base.combination(name)` says what it stands for."""
        return dict(zip(self.base.names, self.estimate.theta.tolist()))

    @property
    def std(self) -> dict[str, float]:
        """Base parameter -> standard deviation, by blocks of time."""
        return dict(zip(self.base.names, self.estimate.std.tolist()))

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """Base parameter -> 95 % interval."""
        return {name: (float(a), float(b)) for name, (a, b) in zip(self.base.names, self.estimate.intervals)}

    @cached_property
    def cross_validation(self) -> CrossValidation | None:
        """Errors of each recording with parameters of the others; of a single one, of each fifth. None if there is too little."""
        from qddot.identify.cross_validation import cross_validation

        return cross_validation(self)

    def near_description(self, weights: Mapping[str, float] | None = None) -> NearDescription:
        """Links between what the log shows and what is described, as near to CAD as each link's description deserves.

        The distance is the log-det divergence, which is the same in every frame and unit (needs the extra `id`).

        Args:
            weights: link -> weight, `1 / weight` about the squared relative error of its description; None: those with the most
                evidence in the log.
        """
        from qddot.identify.physical.description_prior import near_description

        return near_description(self, None if weights is None else dict(mapping("weights", weights)))

    def bounded_intervals(self, bound: Any = None) -> SetMembership:
        """Intervals of the base parameters that hold for sure where no filtered torque is off by more than a bound.

        Args:
            bound: N m, one number or one a joint; None: what the fit itself keeps, and a twentieth more.

        Raises:
            InputError: no parameters keep the bound.
        """
        from qddot.identify.set_membership import set_membership

        return set_membership(self, bound)

    @cached_property
    def worth(self) -> Worth:
        """Which seconds of the log say something, which parameters it leaves poorly known, and which motion would show them."""
        from qddot.identify.excitation.worth import worth

        return worth(self)

    @cached_property
    def essential(self) -> tuple[str, ...]:
        """Base parameters without which the torques are explained worse by more than 1 %."""
        return essential(self.factors, self.estimate)

    @cached_property
    def consistent(self) -> Consistent:
        """All parameters, each link one that can exist (needs the extra `id`). What the log leaves open, most of how the masses are
        split between links, is as described; where no mass is described, as bodies of the links' size and of one density."""
        return self._consistent(None)

    def _consistent(self, total_mass: float | None) -> Consistent:
        from qddot.identify.physical.consistent import consistent

        total = self.factors.merged(range(len(self.factors.R)))
        X, y = stacked(self.base, self.factors.columns, total, self.estimate.sigma)
        R, parameter_set = X @ self.base.K, self.parameter_set
        free = filled_in(parameter_set, R, y)
        if total_mass is not None:
            R, y, free = weighing(parameter_set, R, y, free, total_mass)
        prior = sound_prior(parameter_set, free)
        how: Any = {"T": parameter_set.T, "constant": parameter_set.constant, "tie": 1.0}
        try:
            found = consistent(*keeping_load(self.base, R, y), parameter_set.full_names, prior, **how)
            return found if found.kept else consistent(R, y, parameter_set.full_names, prior, **how)
        except ConvergenceError as error:
            if self.verdict:
                raise
            text = f"there is no robot with these parameters, which are not identified: {self.verdict.concerns[0]}"
            raise ConvergenceError(text) from error

    def robot_weighing(self, total_mass: float) -> Robot:
        """Return the robot as identified whose moving links weigh so much together, kg: torques do not show that, scales do.

        >>> robot = qddot.load("two_link")
        >>> t = np.linspace(0, 20, 4000)[:, None]
        >>> q, qd, qdd = np.sin(t * [1, 1.7]), [1, 1.7] * np.cos(t * [1, 1.7]), -np.square([1, 1.7]) * np.sin(t * [1, 1.7])
        >>> fit = robot.identify(qddot.identify.Log(t[:, 0], q, robot.inverse_dynamics(q, qd, qdd)))
        >>> heavier = fit.robot_weighing(1.5)
        >>> round(sum(float(link.inertia.mass) for link in heavier.model.links if link.inertia), 3)
        1.5
        """
        found = self._consistent(positive_number("total_mass", total_mass))
        return identified_robot(self.parameter_set, found.parameters)[0]

    @cached_property
    def implausible(self) -> tuple[str, ...]:
        """Links of `robot` that no arm has, a sentence each: much too heavy for their size, or with their mass elsewhere."""
        return tuple(implausible(self._split, self.parameter_set.robot))

    @cached_property
    def _split(self) -> Robot:
        return identified_robot(self.parameter_set, self.consistent.parameters)[0]

    @cached_property
    def robot(self) -> Robot:
        """The robot as identified: physically consistent links, drives with what a `Drive` can hold (see `left_out`).

        How parameters are split between links is a choice that torques do not show (see `consistent`); a link that no arm has
        raises a warning. So does a robot that predicts less well than the fit, where least squares asks for what cannot exist."""
        split = "torques leave open how masses are split between links (describe masses, or fit.robot_weighing)"
        doubts = [f"{sentence}: {split}" for sentence in self.implausible]
        for text in [*doubts, self.robot_doubt] if self.robot_doubt else doubts:
            warnings.warn(text, ModelWarning, stacklevel=stacklevel_outside())
        return self._split

    @property
    def robot_doubt(self) -> str:
        """How much worse than the fit `robot` predicts, and why; nothing where it does as well."""
        if not self.robot_worse:
            return ""
        found, best = self.robot_error[0], (self.validation or self.training).relative
        head = f"torques of fit.robot are off by {found:.2%}, {found / best:.2f} times what those of fit.predict are"
        return f"{head}: {self.robot_worse}"

    @cached_property
    def robot_worse(self) -> str:
        """Why `robot` predicts less well than the fit (see `robot_error`); nothing where it does as well."""
        if self.robot_error[0] <= max(ROBOT_AS_GOOD * (self.validation or self.training).relative, TORQUE_ROUNDING):
            return ""
        return (
            f"it cannot hold {', '.join(self.left_out)}" if self.left_out else "the fit asks for links or drives that cannot exist"
        )

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """Parameters that `robot` cannot hold: harmonics of a slider, friction by the load that nothing overcomes, pulls."""
        return identified_robot(self.parameter_set, self.consistent.parameters)[1]

    @cached_property
    def robot_error(self) -> tuple[float, float]:
        """|error| / |tau| of the torques that `robot` has along the log kept for validation, or else along the fit's own: filtered,
        and raw. It is larger than that of `predict` by what `robot` cannot hold, and by what links that can exist cannot be."""
        log = self.judged
        error = log.tau_raw - self._split.inverse_dynamics(log.q, log.qd, log.qdd)
        slow = self.parameter_set.rest_speeds  # rests do not count, as in the errors of the fit
        moving, filtered_moving = log.paces >= slow, log.kernel_paces >= slow
        filtered = relative(log.decimated(error)[filtered_moving], log.decimated(log.tau_raw)[filtered_moving])
        return filtered, relative(error[moving], log.tau_raw[moving])

    def predict(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Torques (N, nv) for a motion, with every identified parameter."""
        parameter_set = self.parameter_set
        Y = parameter_set.matrix(q, qd, qdd)[..., list(self.base.independent)]
        return Y @ self.estimate.theta + parameter_set.known_torque(q, qd, qdd)

    def to_urdf(self, path: str | Path) -> None:
        """Write `robot` as a URDF, with the verdict in a comment at its top.

        A fit that is not identified is written, too, with a warning, since it was asked for (`qddot identify --urdf` writes good
        ones only); so is one with parameters that have no place in a robot.
        """
        doubts = []
        if not self.verdict:
            doubts.append(f"{path}: these parameters are not identified (fit.verdict says why)")
        if self.left_out:
            text = f"{path}: a robot cannot hold {', '.join(self.left_out)}: its torques lack them and are off by "
            doubts.append(f"{text}{self.robot_error[1]:.2%} (fit.predict: {(self.validation or self.training).relative_raw:.2%})")
        for text in doubts:
            warnings.warn(text, ModelWarning, stacklevel=stacklevel_outside())
        errors = self.validation or self.training
        told = f"{self.parameter_set.robot.name} from recordings, torque error {errors.relative:.2%}: {self.verdict}"
        write_urdf(self.robot.model, path, told)

    def table(self) -> Any:
        """The parameters as a `rich` table."""
        from qddot.card import rich_table
        from qddot.identify.report.tables import parameter_table

        return rich_table(parameter_table(self))

    def plot(self, what: str = "torques", *, ax: Any = None) -> Any:
        """Draw `"torques"`, measured beside predicted, their `"residuals"`, their `"spectrum"`, or `"friction"` over the speed,
        a panel a joint; or the `"parameters"` with their intervals. Returns the axes (needs the extra `plot`).

        The log is the one kept for validation, or else the one of the fit itself.

        Args:
            ax: where: one axes a joint, or a single one for parameters; a new figure if None.

        Raises:
            UnknownNameError: no such plot.
            InputError: another number of axes.
            MissingExtraError: matplotlib is not installed.
        """
        from qddot.identify.report.plots import plot

        return plot(self, what, ax)

    def report(self, path: str | Path | None = None) -> str:
        """The report in Markdown; written to `path` if there is one (extra `plot`): `.html`, `.pdf` (printed by Chromium, Chrome or
        Edge), or `.md` with plots beside it."""
        from qddot.identify.report.report import report

        return report(self, None if path is None else Path(path))

    def explore(self, path: str | Path | None = None) -> Page:
        """The recording in the page of the identified robot: measured beside predicted torques, scrubbed with the arm.

        The recording is the one kept for validation, or else the one of the fit itself (see `Robot.explore`), at the times of the
        log. Both torques are seen through the fit's filter, so that what lies between them is the filtered error of the fit.

        Args:
            path: of the file to write; None: show it in the browser, or in the notebook.
        """
        from qddot.explore.page import page
        from qddot.explore.recording import Recording
        from qddot.explore.show import Page
        from qddot.explore.show import shown as opened

        log = self.judged
        predicted = smoothed(residuals(self.base, self.estimate.theta, log).predicted, log.low_pass, log.segments)
        recording = Recording(log.t, log.q, log.qd, log.qdd, predicted, measured=log.tau)
        return opened(Page(page(self.robot, q=log.q[0], recording=recording), self.robot.name), path)

    def _repr_html_(self) -> str:
        from qddot.identify.report.tables import card

        return card(self).html()

    def __rich__(self) -> Group:
        from qddot.identify.report.tables import card

        return card(self).rich()

    def __repr__(self) -> str:
        errors = self.validation or self.training
        where = "validation" if self.validation else "training"
        state = "identified" if self.verdict else "NOT identified"
        return (
            f"Fit of {self.parameter_set.robot.name}: {self.base.rank} base parameters by {self.estimate.method}, {state}; "
            f"{where} error {errors.relative:.2%} filtered, {errors.relative_raw:.2%} raw; condition {self.estimate.condition:.3g}"
        )
