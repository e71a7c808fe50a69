"""Voltages and torques of electric motors in closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qddot.model.transmission import electric_motors

if TYPE_CHECKING:
    from qddot.symbolic.equations import Equations


def voltage(equations: Equations) -> list[Any]:
    """See `Equations.voltage`."""
    exact, qd, zero = equations.alphabet.exact, equations.alphabet.qd, equations.alphabet.ring.constant(0)
    found = []
    for k, (_, row, drive) in enumerate(electric_motors(equations.model), 1):
        speed = sum((qd[c] * exact(ratio) for c, ratio in enumerate(row)), zero)
        i, rate = equations.read(f"i{k}"), equations.read(f"id{k}")
        found.append(i * exact(drive.resistance) + rate * exact(drive.inductance) + speed * exact(drive.torque_constant))
    return found


def motor_torque(equations: Equations) -> list[Any]:
    """See `Equations.motor_torque`."""
    exact, tau = equations.alphabet.exact, [equations.alphabet.ring.constant(0)] * equations.nv
    for k, (_, row, drive) in enumerate(electric_motors(equations.model), 1):
        torque = equations.read(f"i{k}") * exact(drive.torque_constant)
        tau = [t + torque * exact(ratio) for t, ratio in zip(tau, row)]
    return tau
