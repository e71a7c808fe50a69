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
from qddot.identify.physical.plausible import filled_in, implausible, keeping_load, overweight, weighing
from qddot.identify.regression.base import Base
from qddot.identify.regression.estimators import Estimate, equations, essential
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
    """Result of an identification.

    Attributes:
        parameter_set: the parameters asked for.
        base: the combinations of them that torques depend on.
        estimate: the base parameters, with uncertainty.
        factors: triangular factors of the log's equations.
        signals: the filtered log; of a streamed one the chunk with the most motion.
        training: measured and predicted torques of the log itself; sums of them, if it was streamed.
        validation: those of the log kept for validation; None if there was none.
        judged: the filtered log kept for validation, or `signals` if there was none.
        verdict: tells if the parameters can be trusted.
        command: the call that makes this fit.
        thermal: change of friction with temperature, if the log has temperatures and shows it; `parameters` are those at the mean
            temperature, and so are the torques of `training` and `validation`.

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
        """Base parameter -> value, SI units; `base.combination(name)` is the combination that it stands for."""
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
        """Errors of each recording, or of each fifth of a single one, with parameters of the others. None if there is too
        little."""
        from qddot.identify.cross_validation import cross_validation

        return cross_validation(self)

    def near_description(self, weights: Mapping[str, float] | None = None) -> NearDescription:
        """Find links that agree with the log and stay as near to each link's description as it deserves.

        The distance is the log-det divergence, which is the same in every frame and unit (needs the extra `id`).

        Args:
            weights: link -> weight, `1 / weight` about the squared relative error of its description; None: those with the most
                evidence in the log.
        """
        from qddot.identify.physical.description_prior import near_description

        return near_description(self, None if weights is None else dict(mapping("weights", weights)))

    def bounded_intervals(self, bound: Any = None) -> SetMembership:
        """Intervals of the base parameters that are certain if no filtered torque is off by more than a bound.

        Args:
            bound: N m, one number or one a joint; None: 1.05 times the largest error of the fit itself.

        Raises:
            InputError: no parameters keep the bound.
        """
        from qddot.identify.set_membership import set_membership

        return set_membership(self, bound)

    @cached_property
    def worth(self) -> Worth:
        """Seconds of the log that are informative, parameters that it leaves poorly known, and motions that would show them."""
        from qddot.identify.excitation.worth import worth

        return worth(self)

    @cached_property
    def essential(self) -> tuple[str, ...]:
        """Base parameters without which the torques are explained worse by more than 1 %."""
        return essential(self.factors, self.estimate)

    @cached_property
    def consistent(self) -> Consistent:
        """All parameters, physically consistent for each link (needs the extra `id`). What the log leaves open, such as the split
        of masses between links, is as described; links without a described mass are taken as bodies of their size and one
        density."""
        return self._consistent(None)

    def _consistent(self, total_mass: float | None) -> Consistent:
        from qddot.identify.physical.consistent import consistent

        X, y = equations(self.factors, self.estimate.sigma)
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
        """Return the robot as identified with a given total mass of its moving links, kg, which torques leave open.

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
        """Sentences about links of `robot` that no real arm has: much too heavy for their size, or with the mass far outside."""
        return tuple(implausible(self._identified[0], self.parameter_set.robot))

    @cached_property
    def overweight(self) -> str:
        """Sentence on links of `robot` that are heavier together than solid metal, as by torques in another unit; empty if not."""
        return overweight(self._identified[0])

    @cached_property
    def _identified(self) -> tuple[Robot, tuple[str, ...]]:
        """The robot with consistent parameters, and the names of parameters that it cannot hold."""
        return identified_robot(self.parameter_set, self.consistent.parameters)

    @cached_property
    def robot(self) -> Robot:
        """The robot as identified: physically consistent links, and drives without what a `Drive` cannot hold (see `left_out`).

        The split of parameters between links is a choice that torques leave open (see `consistent`); a link that no real arm has
        raises a warning. So does a robot that predicts less well than the fit, if the least-squares estimate is inconsistent."""
        split = "torques leave open how masses are split between links (describe masses, or fit.robot_weighing)"
        doubts = [f"{sentence}: {split}" for sentence in self.implausible]
        for text in [*doubts, self.robot_doubt] if self.robot_doubt else doubts:
            warnings.warn(text, ModelWarning, stacklevel=stacklevel_outside())
        return self._identified[0]

    @property
    def robot_doubt(self) -> str:
        """Sentence on how much worse than the fit `robot` predicts, and why; empty if it predicts as well."""
        if not self.robot_worse:
            return ""
        found, best = self.robot_error[0], (self.validation or self.training).relative
        head = f"torques of fit.robot are off by {found:.2%}, {found / best:.2f} times what those of fit.predict are"
        return f"{head}: {self.robot_worse}"

    @cached_property
    def robot_worse(self) -> str:
        """Reason why `robot` predicts less well than the fit (see `robot_error`); empty if it predicts as well."""
        if self.robot_error[0] <= max(ROBOT_AS_GOOD * (self.validation or self.training).relative, TORQUE_ROUNDING):
            return ""
        if self.left_out:
            return f"it cannot hold {', '.join(self.left_out)}"
        return "the fit asks for links or drives that cannot exist"

    @property
    def left_out(self) -> tuple[str, ...]:
        """Parameters that `robot` cannot hold: harmonics of a slider, friction by the load that no torque overcomes, pulls,
        constants of a motor of two joints that are negative or beyond the joints' own."""
        return self._identified[1]

    @cached_property
    def robot_error(self) -> tuple[float, float]:
        """|error| / |tau| of the torques of `robot`, filtered and raw, along the log kept for validation, or else the fit's own. It
        is larger than that of `predict` because of parameters that `robot` cannot hold, and of physical consistency."""
        log = self.judged
        error = log.tau_raw - self._identified[0].inverse_dynamics(log.q, log.qd, log.qdd)
        slow = self.parameter_set.rest_speeds  # rests are left out, as in the errors of the fit
        moving = log.moves(slow)
        (left, counts), (measured, _) = (log.decimated_where(x, moving) for x in (error, log.tau_raw))
        return relative(left[counts], measured[counts]), relative(error[moving], log.tau_raw[moving])

    def predict(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Predict torques (N, nv) for a motion, with every identified parameter."""
        return self.base.matrix(q, qd, qdd) @ self.estimate.theta + self.parameter_set.known_torque(q, qd, qdd)

    def to_urdf(self, path: str | Path) -> None:
        """Write `robot` as a URDF, with the verdict in a comment at its top.

        A fit that is not identified, or with parameters that a robot cannot hold, is written with a warning (`qddot identify
        --urdf` writes good ones only).
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
            ax: axes to draw in, one a joint, or a single one for parameters; None: a new figure.

        Raises:
            UnknownNameError: no such plot.
            InputError: another number of axes.
            MissingExtraError: matplotlib is not installed.
        """
        from qddot.identify.report.plots import plot

        return plot(self, what, ax)

    def report(self, path: str | Path | None = None) -> str:
        """Return the report as Markdown, and write it to `path` if one is given (extra `plot`): `.html`, `.pdf` (printed by
        Chromium, Chrome or Edge), or `.md` with plots in files beside it."""
        from qddot.identify.report.report import report

        return report(self, None if path is None else Path(path))

    def explore(self, path: str | Path | None = None) -> Page:
        """Show the recording in the page of the identified robot, with measured and predicted torques along the motion.

        The recording is the one kept for validation, or else the one of the fit itself (see `Robot.explore`), at the times of the
        log; recordings whose clocks begin anew follow one another. Both torques are filtered as in the fit, so that their
        difference is its filtered error.

        Args:
            path: file to write; None: show the page in the browser, or in the notebook.
        """
        from qddot.explore.page import page
        from qddot.explore.recording import Recording
        from qddot.explore.show import Page
        from qddot.explore.show import shown as opened

        log = self.judged
        predicted = smoothed(residuals(self.base, self.estimate.theta, log).predicted, log.low_pass, log.segments)
        recording = Recording(log.elapsed, log.q, log.qd, log.qdd, predicted, measured=log.tau)
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
