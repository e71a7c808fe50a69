"""The last step where joints have electric motors: what their circuits add to the equations of motion."""

from __future__ import annotations

from qddot.symbolic.derivation.steps import Equation, Step, say
from qddot.symbolic.derivation.subject import Subject


def motors_step(s: Subject) -> Step:
    """The circuits, and the joint forces of their currents."""
    prose = [
        say(
            "A motor under the voltage $u_k$ carries the current $i_k$, whose rate is $\\mathrm{id}_k$. Its torque constant times "
            "the current is its torque, and times its speed it is the back-EMF: what the circuit loses there, the shaft gains. "
            "Each circuit is an equation beside those of motion; where its inductance is neglected, it gives the current at once."
        )
    ]
    e = s.equations
    return Step(
        "The motors", prose, [Equation("u", "", e.voltage, "u_{@}"), Equation(r"\tau", "", e.motor_torque, r"\tau_{@}")], []
    )
