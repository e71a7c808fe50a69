"""Explanations in words of why parameters cannot be told apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from qddot.algorithms.regressor import INERTIAL
from qddot.errors import QddotError
from qddot.identify.regression.base import Base, preference
from qddot.identify.regression.bodies import body_inertias, with_parameters, without_drives
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from qddot.robot import Robot


def explanations(base: Base) -> dict[str, str]:
    """Dependent parameter -> a sentence: it never shows in the torques, or only together with others."""
    hidden = base.grouped
    if not hidden:
        return {}
    parameter_set = base.parameter_set
    if any(name.endswith("_c") for name in parameter_set.names):
        known = about_centres(parameter_set)
    elif all(name in parameter_set.names for name in inertial_names(parameter_set.robot)):
        known = about_standard(parameter_set.robot)
    else:
        known = {}
    return {name: known.get(name) or in_numbers(name, parts) for name, parts in hidden.items()}


def in_numbers(name: str, parts: Mapping[str, float]) -> str:
    """Explain a parameter by the numerical dependence of its column alone."""
    if not parts:
        return f"the joint forces do not depend on {name}"
    sums = " + ".join(f"{k:.6g} times that of {other}" for other, k in parts.items())
    return f"in every motion the column of {name} is {sums}: only their combination shows"


def inertial_names(robot: Robot) -> list[str]:
    return [f"{body}.{kind}" for body in body_inertias(robot) for kind in INERTIAL]


def about_standard(robot: Robot) -> dict[str, str]:
    """Explain inertial parameters of links, and rotors, by the symbolic base parameters."""
    with_rotors = with_parameters(without_drives(robot), {}, {joint: Drive(rotor_inertia=1.0) for joint in robot.joint_names})
    found = with_rotors.equations().base_parameters()
    return {**found.grouped, **found.unidentifiable}


def about_centres(parameter_set: ParameterSet) -> dict[str, str]:
    """Explain masses and moments about known centres of mass, from the equations with symbols in their place."""
    import sympy

    robot = parameter_set.robot
    order = [parameter_set.names[j] for j in preference(parameter_set.names)]  # so that the same ones are kept
    letters = {name: sympy.Symbol(f"theta{k}") for k, name in enumerate(order) if name.rpartition(".")[0] in robot.body_names}
    model = with_parameters(without_drives(robot), body_inertias(robot), {}).model
    links = {link.name: link for link in model.links}
    for body, ten in body_inertias(robot).items():
        whole = Inertia.from_ten_vector([float(x) for x in ten])
        about = Inertia(whole.mass, whole.com, whole.tensor)
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = about.tensor
        values = dict(zip(INERTIAL[4:], (xx, xy, xz, yy, yz, zz)))
        moments = [letters.get(f"{body}.{kind}_c", value) for kind, value in values.items()]
        links[body] = replace(links[body], inertia=Inertia(letters.get(f"{body}.m", about.mass), about.com, moments))
    symbolic = Robot(model.copy(links=list(links.values())))
    try:
        found = symbolic.equations().identifiability([str(s) for s in letters.values()])
    except QddotError:  # not linear in these symbols: explained by numbers instead
        return {}
    names = {str(symbol): name for name, symbol in letters.items()}
    sentences = {**found.grouped, **found.unidentifiable}
    return {names[key]: re.sub(r"theta\d+", lambda m: names[m.group()], text) for key, text in sentences.items()}
