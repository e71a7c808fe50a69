"""What a simulation returns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.errors import InputError
from qddot.simulate.friction import without_friction

if TYPE_CHECKING:
    from qddot.robot import Robot


@dataclass(frozen=True)
class Event:
    """Something that happened on the way: `"stop"`, `"stick"`, `"slip"`, `"release"`, or the name of a caller's event."""

    time: float
    kind: str
    joint: str = ""


@dataclass(frozen=True)
class Trajectory:
    """A motion, sampled.

    Attributes:
        robot: whose motion it is.
        t: (samples,) times, s.
        q, qd: (samples, ..., nq) and (samples, ..., nv).
        tau: (samples, ..., nv) joint forces that were applied, after saturation.
        lam: (samples, ..., constraints) forces of the constraints, or None.
        events: what happened on the way (one state at a time only).
        qdd: (samples, ..., nv) accelerations.
    """

    robot: Robot
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray
    qdd: np.ndarray
    lam: np.ndarray | None = None
    events: tuple[Event, ...] = ()

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        batch = f", batch {self.q.shape[1:-1]}" if self.q.ndim > 2 else ""
        happened = f", {len(self.events)} events" if self.events else ""
        return f"Trajectory of {self.robot.name!r}: {len(self)} samples, t = {self.t[0]:g} ... {self.t[-1]:g} s{batch}{happened}"

    # energy ---------------------------------------------------------------------------------------------------------------

    @cached_property
    def kinetic_energy(self) -> np.ndarray:
        """(samples, ...) J."""
        return self.robot.kinetic_energy(self.q, self.qd)

    @cached_property
    def potential_energy(self) -> np.ndarray:
        """(samples, ...) J."""
        return self.robot.potential_energy(self.q)

    @cached_property
    def energy(self) -> np.ndarray:
        """(samples, ...) J."""
        return self.kinetic_energy + self.potential_energy

    @cached_property
    def power(self) -> np.ndarray:
        """(samples, ...) W: what the joint forces put in."""
        return (self.tau * self.qd).sum(-1)

    @cached_property
    def power_loss(self) -> np.ndarray:
        """(samples, ...) W: what friction takes out; `power - power_loss` is the rate of the energy, but for external forces."""
        motion = self.q, self.qd, self.qdd
        friction = self.robot.inverse_dynamics(*motion) - without_friction(self.robot).inverse_dynamics(*motion)
        return (friction * self.qd).sum(-1)

    # out ------------------------------------------------------------------------------------------------------------------

    def columns(self) -> dict[str, np.ndarray]:
        """One column a signal: `t`, `q1`, ..., `qd1`, ..., `qdd1`, ..., `tau1`, ..., `kinetic_energy`, `potential_energy`."""
        if self.q.ndim != 2:
            raise InputError(f"a table holds one motion, this has a batch {self.q.shape[1:-1]}: take one with trajectory[:, i]")
        table = {"t": self.t}
        for name in ("q", "qd", "qdd", "tau", "lam"):
            values = getattr(self, name)
            if values is not None:
                table |= {f"{name}{i + 1}": values[:, i] for i in range(values.shape[1])}
        return table | {"kinetic_energy": self.kinetic_energy, "potential_energy": self.potential_energy}

    def __getitem__(self, index: Any) -> Trajectory:
        """Samples, and with a second index one motion of a batch."""
        first, *rest = index if isinstance(index, tuple) else (index,)
        at = (first if isinstance(first, (slice, list, np.ndarray)) else slice(first, first + 1 or None), *rest)
        parts = {
            name: None if x is None else x[at] for name, x in ((n, getattr(self, n)) for n in ("q", "qd", "tau", "qdd", "lam"))
        }
        return Trajectory(self.robot, self.t[at[0]], events=self.events, **parts)  # type: ignore[arg-type]

    def to_csv(self, path: str | Path) -> None:
        """Write the table of `columns`, with a header line."""
        table = self.columns()
        np.savetxt(path, np.column_stack(list(table.values())), delimiter=",", header=",".join(table), comments="", fmt="%.17g")

    def to_parquet(self, path: str | Path) -> None:
        """Write the table of `columns` (needs the extra `parquet`)."""
        from qddot.errors import missing_extra

        try:
            import pyarrow  # type: ignore[import-not-found]
            import pyarrow.parquet  # type: ignore[import-not-found]
        except ImportError:
            raise missing_extra("pyarrow", "parquet", "writing Parquet") from None
        pyarrow.parquet.write_table(pyarrow.table(self.columns()), path)
