"""The last step of a robot with electric motors: the equations of their circuits."""

from __future__ import annotations

from qddot.model.transmission import electric_motors
from qddot.symbolic.derivation.steps import Equation, Step, paragraph
from qddot.symbolic.derivation.subject import Subject


def motors_step(s: Subject) -> Step:
    """Return the step with the circuits and the joint forces of their currents."""
    prose = paragraph(
        "A motor under the voltage $u_k$ carries the current $i_k$, whose rate is $\\dot i_k$. $R_k$ is its resistance, $L_k$ "
        "its inductance, $k_k$ its torque constant and $w_k$ the speed of its shaft. The torque constant times the current is "
        "its torque, and times its speed it is the back-EMF: what the circuit loses there, the shaft gains. "
        "Each circuit is an equation beside those of motion; where its inductance is neglected, it gives the current at once."
    )
    exact, qd = s.alphabet.exact, s.alphabet.qd
    equations = []
    for k, (_, row, drive) in enumerate(electric_motors(s.equations.model), 1):
        coil = [(f"R_{{{k}}}", drive.resistance, f"i_{{{k}}}"), (f"L_{{{k}}}", drive.inductance, rf"\dot i_{{{k}}}")]
        parts = [(name, exact(x), letter) for name, x, letter in coil if x]
        parts.append((f"k_{{{k}}}", exact(drive.torque_constant), f"w_{{{k}}}"))
        equations += [Equation(name, "", s.form(x)) for name, x, _ in parts]
        speed = sum(qd[c] * exact(ratio) for c, ratio in enumerate(row))
        equations.append(Equation(f"w_{{{k}}}", "", s.form(speed)))
        formula = " + ".join(f"{name} {letter}" for name, _, letter in parts)
        flows = {f"i_{{{k}}}": s.equations.read(f"i{k}"), rf"\dot i_{{{k}}}": s.equations.read(f"id{k}"), f"w_{{{k}}}": speed}
        written = [s.form(flows[letter] * x) for _, x, letter in parts]
        s.agree(f"The circuit of motor {k}", sum(x.entries.item() for x in written), s.equations.voltage[k - 1])
        equations.append(Equation(f"u_{{{k}}}", formula, parts=written))
    equations.append(Equation(r"\tau", "", s.equations.motor_torque, r"\tau_{@}"))
    return Step("The motors", prose, equations, [])
