"""The trajectory that a simulation returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.arguments import file_path
from qddot.card import Card, Table
from qddot.errors import InputError, missing_extra
from qddot.simulate.events import Event
from qddot.simulate.modes import Switching

if TYPE_CHECKING:
    from rich.console import Group

    from qddot.explore.show import Page
    from qddot.pictures.film import Film
    from qddot.robot import Robot

AT_ONCE = 20_000
"""Number of states whose accelerations are computed together, to limit memory."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A sampled motion. Accelerations, energies and powers are computed when they are first read.

    Attributes:
        robot: the robot that moves.
        t: (samples,) times, s.
        q, qd: (samples, ..., nq) and (samples, ..., nv).
        tau: (samples, ..., nv) joint forces that were applied, after saturation.
        events: in the order of time; with a fixed step only those of the caller's functions.

    >>> motion = qddot.load("two_link").simulate([0, 0], t=1.0, torque=[1.0, 0.0])
    >>> motion
    Trajectory of 'two_link': 1001 samples, t = 0 ... 1 s
    >>> motion.qdd.shape, motion[500].t
    ((1001, 2), array([0.5]))
    >>> bool(abs(motion.energy_residual).max() < 1e-6)  # energy grew by what the motor put in
    True
    """

    robot: Robot
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray
    events: tuple[Event, ...]
    _switching: Switching = field(repr=False)
    _jumps: np.ndarray | None = field(default=None, repr=False)
    _impacts: tuple[tuple[float, np.ndarray], ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        batch = f", batch {self.q.shape[1:-1]}" if self.q.ndim > 2 else ""
        happened = f", {len(self.events)} events" if self.events else ""
        return f"Trajectory of {self.robot.name!r}: {len(self)} samples, t = {self.t[0]:g} ... {self.t[-1]:g} s{batch}{happened}"

    def _card(self) -> Card:
        """Return the card: for one motion the range, largest speed and largest force of each joint; for a batch its size."""
        title, mechanism = f"Motion of {self.robot.name}", self.robot.model.mechanism
        notes = [repr(self).split(": ", 1)[1]]
        if self.q.ndim != 2:
            return Card(title, notes)
        notes.append(f"energy {self.energy[0]:.4g} J at first, {self.energy[-1]:.4g} J at last")
        rows = []
        for c in mechanism.coordinates:
            if c.single:
                q, qd, tau = self.q[:, c.q.start], self.qd[:, c.v.start], self.tau[:, c.v.start]
                angle, force = ("rad", "N m") if c.parts[0].angle else ("m", "N")
                reach = f"{q.min():.4g} to {q.max():.4g} {angle}"
                rows.append((c.name, reach, f"{abs(qd).max():.4g} {angle}/s", f"{abs(tau).max():.4g} {force}"))
        happened = [(f"{event.time:.4g} s", f"{event.kind} {event.joint}".strip()) for event in self.events]
        tables = [Table(("joint", "positions", "largest speed", "largest force"), rows)] if rows else []
        return Card(title, notes, tables + ([Table(("time", "event"), happened)] if happened else []))

    def _repr_html_(self) -> str:
        return self._card().html()

    def __rich__(self) -> Group:
        return self._card().rich()

    # accelerations and forces ---------------------------------------------------------------------------------------------

    @property
    def qdd(self) -> np.ndarray:
        """Accelerations (samples, ..., nv); zero where a joint is stuck or rests against a stop."""
        return self._resolved[0]

    @property
    def lam(self) -> np.ndarray | None:
        """Multipliers of the constraints (samples, ..., k), or None without constraints."""
        return self._resolved[3]

    @cached_property
    def _resolved(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
        """Accelerations qdd; joint forces of dry friction and stops, and of the environment; multipliers of the constraints."""
        dynamics = self._switching.dynamics
        length = 1 if dynamics.forces.is_time_dependent else max(AT_ONCE // max(int(np.prod(self.q.shape[1:-1])), 1), 1)
        parts = []
        for k in range(0, len(self), length):
            here = slice(k, k + length) if length > 1 else k
            t, q, qd, tau = float(self.t[k]), self.q[here], self.qd[here], self.tau[here]
            qdd, passive = self._switching.settled(t, q, qd, tau)
            external = dynamics.external(t, q, qd) if dynamics.forces else np.zeros(qd.shape)
            lam = dynamics.constrained(t, q, qd, tau + passive)[1] if dynamics.constraints is not None else np.zeros(qd.shape)
            parts.append([x if length > 1 else x[None] for x in (qdd, passive, external, lam)])
        qdd, passive, external, lam = (np.concatenate(x) for x in zip(*parts))
        return qdd, passive, external, lam if dynamics.constraints is not None else None

    # energy ---------------------------------------------------------------------------------------------------------------

    @cached_property
    def kinetic_energy(self) -> np.ndarray:
        """Kinetic energy (samples, ...), J."""
        return self._switching.dynamics.evaluate("kinetic_energy", q=self.q, qd=self.qd)

    @cached_property
    def potential_energy(self) -> np.ndarray:
        """Potential energy of gravity and springs (samples, ...), J."""
        return self._switching.dynamics.evaluate("potential_energy", q=self.q)

    @cached_property
    def energy(self) -> np.ndarray:
        """Kinetic and potential energy (samples, ...), J."""
        return self.kinetic_energy + self.potential_energy

    @cached_property
    def power(self) -> np.ndarray:
        """Power that the joint forces put in (samples, ...), W."""
        return (self.tau * self.qd).sum(-1)

    @cached_property
    def external_power(self) -> np.ndarray:
        """Power that external forces put in (samples, ...), W."""
        return (self._resolved[2] * self.qd).sum(-1)

    @cached_property
    def friction_loss(self) -> np.ndarray:
        """Power that friction takes out (samples, ...), W."""
        return self._friction_losses.sum(-1)

    @cached_property
    def _friction_losses(self) -> np.ndarray:
        """Power that friction takes out of each column (samples, ..., nv), W."""
        passive = self._resolved[1]
        left = self._switching.dynamics.evaluate("delivered_torque", qd=self.qd, tau=self.tau + passive)  # less smooth friction
        return (self.tau - left) * self.qd

    @cached_property
    def work(self) -> np.ndarray:
        """Work that the joint forces have put in since the first sample (samples, ...), J.

        For forces held constant by a table or a sampled controller it is the sum of `tau . dq`; for others the integral of `power`
        by Simpson's rule.

        Raises:
            InputError: held forces jump between two samples.
        """
        if self._jumps is None:
            return self._integral(self.power)
        inside = self._jumps[(self._jumps > self.t[0]) & (self._jumps < self.t[-1])]
        near = np.abs(self.t[np.clip(np.searchsorted(self.t, inside)[:, None] + [-1, 0], 0, len(self) - 1)] - inside[:, None]).min(
            -1
        )
        if (near > 1e-9 * max(abs(self.t[-1]), 1e-9)).any():
            raise InputError(
                f"the joint forces jump at t = {inside[near.argmax()]:g} s, between two samples: keep all of them (every=1), at "
                "times that hold those of the jumps"
            )
        dq = self.robot.difference(self.q[:-1], self.q[1:])
        return np.concatenate([np.zeros((1, *self.q.shape[1:-1])), np.cumsum((self.tau[:-1] * dq).sum(-1), axis=0)])

    @cached_property
    def impact_loss(self) -> np.ndarray:
        """Energy that impacts on stops have taken since the first sample (samples, ...), J."""
        lost = np.zeros(self.q.shape[:-1])
        for when, energy in self._impacts:
            if when > self.t[0]:
                lost[np.searchsorted(self.t, when - 1e-12 * abs(when)) :] += energy
        return lost

    @cached_property
    def energy_residual(self) -> np.ndarray:
        """Error of the energy balance (samples, ...), J: energy, minus the initial energy, minus the work of joint forces and
        external forces since, plus the losses by friction and impacts on stops.

        It is due to the integration method and Simpson's rule.
        """
        powers = self._integral(self.external_power - self.friction_loss)
        return self.energy - self.energy[0] - self.work - powers + self.impact_loss

    def _integral(self, power: np.ndarray) -> np.ndarray:
        """Integrate a power since the first sample, piecewise from jump to jump, between which it has no kinks.

        Impacts are jumps, too: the power is extrapolated from the left up to an impact. In a batch, whose motions have impacts at
        different times, this is not done.
        """
        times = [] if power.ndim > 1 else [t for t, _ in self._impacts if self.t[0] < t <= self.t[-1]]
        hits = {int(np.searchsorted(self.t, t - 1e-12 * abs(t))): t for t in times}
        total, start = np.zeros(power.shape), 0
        for k in (*hits, len(self)):
            total[start:k] += self._smooth_integral(power, start, k)
            if k < len(self):
                bend = (power[k - 1] - power[k - 2]) / (self.t[k - 1] - self.t[k - 2]) if k - start > 1 else 0.0
                before, after = hits[k] - self.t[k - 1], self.t[k] - hits[k]
                total[k:] = total[k - 1] + before * (power[k - 1] + bend * before / 2) + after * power[k]
            start = k
        return total

    def _smooth_integral(self, power: np.ndarray, first: int, stop: int) -> np.ndarray:
        """Integrate from sample `first` on, by Simpson's rule between jumps of the joint forces."""
        from scipy.integrate import cumulative_simpson, cumulative_trapezoid

        t, power = self.t[first:stop], power[first:stop]
        jumps = np.zeros(0) if self._jumps is None else self._jumps
        passed = np.searchsorted(jumps - 1e-9 * max(abs(self.t[-1]), 1e-9), t, side="right")
        total, ends, start = np.zeros(power.shape), [*np.flatnonzero(np.diff(passed) > 0) + 1, len(t) - 1], 0
        for end in dict.fromkeys(ends):
            piece = slice(start, end + 1)
            rule = cumulative_simpson if end - start > 1 else cumulative_trapezoid
            total[piece] = total[start] + rule(power[piece], x=t[piece], axis=0, initial=0)
            start = end
        return total

    # out ------------------------------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Trajectory:
        """Return some samples, and with a second index some motions of a batch: `trajectory[:, 3]` is the fourth."""
        at = self._slices(index)
        q, qd, tau = (x[at] for x in (self.q, self.qd, self.tau))
        switching, impacts = self._switching.at(at[1:]), tuple((t, np.asarray(x)[at[1:]]) for t, x in self._impacts)
        return Trajectory(self.robot, self.t[at[0]], q, qd, tau, self.events, switching, self._jumps, impacts)

    def _slices(self, index: Any) -> tuple[Any, ...]:
        """Return an index whose first part is a slice even if a number was given, so that samples stay an axis."""
        first, *rest = index if isinstance(index, tuple) else (index,)
        if isinstance(first, int | np.integer):
            if not -len(self) <= first < len(self):  # this also ends an iteration
                raise IndexError(f"sample {first} of a motion with {len(self)}")
            first = slice(int(first), int(first) + 1 or None)
        return (first, *rest)

    def columns(self) -> dict[str, np.ndarray]:
        """Return one column (samples,) per signal: `t`, `q1`, ..., `qd1`, ..., `qdd1`, ..., `tau1`, ..., `lam1`, ... and energies.

        >>> list(qddot.load("two_link").simulate([0, 0], t=0.1).columns())[:3]
        ['t', 'q1', 'q2']
        """
        self._refuse_batch("a table")
        table = {"t": self.t}
        for name in ("q", "qd", "qdd", "tau", "lam"):
            values = getattr(self, name)
            if values is not None:
                table |= {f"{name}{i + 1}": values[:, i] for i in range(values.shape[1])}
        return table | {"kinetic_energy": self.kinetic_energy, "potential_energy": self.potential_energy}

    def to_csv(self, path: str | Path) -> None:
        """Write the table of `columns`, with a header line.

        >>> qddot.load("two_link").simulate([0, 0], t=0.1).to_csv("motion.csv")
        >>> qddot.identify.Log.load("motion.csv").n  # joints of the recording it is read as
        2
        """
        write_csv(path, self.columns())

    def to_parquet(self, path: str | Path) -> None:
        """Write the table of `columns` (needs the extra `parquet`).

        >>> qddot.load("two_link").simulate([0, 0], t=0.1).to_parquet("motion.parquet")
        """
        write_parquet(path, self.columns())

    def plot(self, *signals: str, ax: Any = None) -> np.ndarray:
        """Draw positions, speeds, joint forces and energies over time (needs the extra `plot`); returns the axes, one per panel.

        Args:
            signals: some of `"q", "qd", "qdd", "tau", "energy"`, one panel for each; if none are given, all but `qdd`.
            ax: Matplotlib axes, one or a list of them; a new figure if None. Without signals, as many are drawn as there are axes.

        Raises:
            UnknownNameError: no such signal.
            InputError: another number of axes than of signals, or a batch of motions.
            MissingExtraError: matplotlib is not installed.

        >>> panels = qddot.load("two_link").simulate([0, 0], t=0.1).plot("q", "energy")
        >>> len(panels)
        2
        """
        from qddot.simulate.drawing import plot

        self._refuse_batch("a plot")
        return plot(self, signals, ax)

    def animate(self, path: str | Path | None = None, *, fps: float = 25.0, ax: Any = None, progress: bool | None = None) -> Film:
        """Return a film of the motion in real time, which a notebook plays and a window shows (needs the extra `plot`).

        A robot that moves in a plane is seen straight on.

        Args:
            path: where to save it: `.gif`, `.html`, or `.mp4` with the program ffmpeg; None: only return it.
            fps: pictures per second.
            ax: Matplotlib axes to draw in; a new figure if None, which is closed when the film has been saved.
            progress: show a bar on stderr for films that take long; None: only if stderr is a terminal.

        Raises:
            InputError: another suffix, `.mp4` without ffmpeg, fps that is not positive, or a batch of motions.
            MissingExtraError: matplotlib is not installed.

        >>> film = qddot.load("two_link").simulate([0, 0], t=0.2).animate("swing.gif")
        """
        from qddot.pictures.film import film

        self._refuse_batch("an animation")
        return film(self.robot.model, self.t, self.q, path, fps=fps, ax=ax, progress=progress)

    def explore(self, path: str | Path | None = None) -> Page:
        """Show the motion in the robot's interactive page, where it can be played and examined (see `Robot.explore`).

        Args:
            path: of the file to write; None: show it in the browser, or in the notebook.

        >>> page = qddot.load("two_link").simulate([0, 0], t=0.2).explore("motion.html")
        """
        from qddot.explore.page import page
        from qddot.explore.recording import Recording
        from qddot.explore.show import Page, shown

        self._refuse_batch("the page")
        recording = Recording(self.t, self.q, self.qd, self.qdd, self.tau)
        return shown(Page(page(self.robot, q=self.q[0], recording=recording), self.robot.name), path)

    def _refuse_batch(self, what: str) -> None:
        if self.q.ndim != 2:
            raise InputError(f"{what} shows one motion, this has a batch {self.q.shape[1:-1]}: take one with trajectory[:, i]")


def write_csv(path: str | Path, columns: Mapping[str, np.ndarray]) -> None:
    """Write columns (rows,) as CSV, with a header line and numbers that read back bit for bit."""
    header = ",".join(f'"{name}"' if "," in name else name for name in columns)
    table = np.column_stack(list(columns.values()))
    np.savetxt(file_path("path", path), table, delimiter=",", header=header, comments="", fmt="%.17g")


def write_parquet(path: str | Path, columns: Mapping[str, np.ndarray]) -> None:
    """Write columns (rows,) as a Parquet file. Raises MissingExtraError: pyarrow is not installed."""
    try:
        import pyarrow  # type: ignore[import-not-found]
        import pyarrow.parquet  # type: ignore[import-not-found]
    except ImportError:
        raise missing_extra("pyarrow", "parquet", "writing Parquet") from None
    table = pyarrow.table({name: np.ascontiguousarray(x) for name, x in columns.items()})
    pyarrow.parquet.write_table(table, file_path("path", path))
