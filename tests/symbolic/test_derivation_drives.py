"""Motors, rotors and friction in a derivation, as people write them."""

from __future__ import annotations

import sympy

import qddot
from qddot import Drive, Inertia

R, L, K, N, JM, B = sympy.symbols("R L K N J_m b", positive=True)
MOTOR = Drive(resistance=R, inductance=L, torque_constant=K, gear_ratio=N, rotor_inertia=JM, viscous=B)


def arm():
    return qddot.from_dh([(0.3, 0, 0, 0)], inertias=[Inertia(1.0, (0.1, 0, 0))], drives=[MOTOR], convention="standard")


def test_the_rate_of_a_current_is_a_dotted_letter():
    text = arm().derive("lagrange").markdown()
    assert r"u_{1} &= R_{1} i_{1} + L_{1} \dot i_{1} + k_{1} w_{1} = " in text
    assert r"L \dot{i}_{1}" in text
    assert "id" not in text.partition("The motors")[2].replace("beside", "")
    assert r"L \dot{i}_{1}" in arm().equations().voltage.latex()
    assert "i_{d" not in arm().equations().voltage.latex()


def test_voltage_is_no_potential_energy():
    text = arm().derive("lagrange", notation="craig").markdown()
    assert r"\tilde{u}_{1} &= R_{1} i_{1}" in text
    assert r"u_{1} &= -\vec g" in text


def test_rotors_count_by_the_gear_ratio_squared():
    for method in ("lagrange", "jacobian", "newton-euler"):
        assert r"$J_i = N_i^2 J_{mi}$" in arm().derive(method).markdown()


def test_friction_has_its_own_letter_by_newton_and_euler():
    text = arm().derive("newton-euler").markdown()
    assert r"\tau_{f1} &= b \dot{q}_{1}" in text
    assert r"\tau_{1} &= S_{1}^{\mathsf T} F_{1} + \tau_{d1} + \tau_{f1} = " in text
