"""The main job in one page: a textbook arm beside its printed figures, then a 7R arm from a URDF with a batch of states."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

import qddot
from qddot.errors import NoAssetError

PI = np.pi


def beside(what: str, value, printed) -> None:
    """One line: the quantity, our value, and the figure printed in the lecture notes."""
    value, printed = np.asarray(value), np.asarray(printed)
    digits = 10.0 ** -len(str(printed.flat[0]).partition(".")[2])
    verdict = "agrees" if np.abs(value - printed).max() <= digits else "DIFFERS"
    show = lambda x: np.array2string(np.asarray(x), precision=4, separator=", ", suppress_small=True).replace("\n", "")  # noqa: E731
    print(f"  {what:<42} {show(value):<42} {show(printed):<40} {verdict}")


def two_link() -> None:
    robot = qddot.load("two_link")
    print(robot, "\n")
    q, zero = [PI / 3, PI / 2], [0, 0]
    print(f"  {'q = (pi/3, pi/2)':<42} {'qddot':<42} {'lecture notes':<40}")
    beside("M(q)", robot.mass_matrix(q), [[0.3315, 0.1146], [0.1146, 0.1146]])
    qd = np.array([PI / 4, PI / 10])
    C = 49 / 400 * np.array([[-qd[1], -qd.sum()], [qd[0], 0]])
    beside("C(q, qd), qd = (pi/4, pi/10)", robot.coriolis_matrix(q, qd), C.round(4))
    beside("C qd", robot.coriolis_torque(q, qd), [-0.0725, 0.0756])
    beside("g(q)", robot.gravity_torque(q), [0.2484, -2.0814])
    beside("tau for qd = (-pi/2, pi/5)", robot.inverse_dynamics(q, [-PI / 2, PI / 5], zero), [0.4419, -1.7792])
    forces = robot.external_wrench(q, {"body_1": [0, 0, 0, 0, 1, 0], "body_2": [0, 0, 0, 5, 0, 0]})
    beside("qdd under two external forces", robot.forward_dynamics(q, zero, zero, f_ext=forces), [3.0900, 15.0706])
    beside("qdd for tau = (5, 5)", robot.forward_dynamics(q, zero, [5, 5]), [-10.7434, 72.5289])
    beside("qdd for qd = (-pi/2, pi/5)", robot.forward_dynamics(q, [-PI / 2, PI / 5], zero), [-10.2416, 25.7650])


def seven_joints(states: int = 4096) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm7.urdf"
        qddot.load("arm7").to_urdf(path)
        robot = qddot.load(path)
    print(robot, "\n")
    rng = np.random.default_rng(0)
    q = np.array([robot.random_configuration(rng) for _ in range(states)])
    qd, qdd = rng.normal(size=(2, states, robot.nv))
    first = time.perf_counter()
    tau = robot.inverse_dynamics(q, qd, qdd)
    first = time.perf_counter() - first
    again = time.perf_counter()
    robot.inverse_dynamics(q, qd, qdd, out=tau)
    again = time.perf_counter() - again
    each = again / states * 1e9
    print(f"  inverse dynamics of {states} states: {first * 1e3:.0f} ms with compilation, then {each:.0f} ns a state")
    M, C, g = robot.mass_matrix(q), robot.coriolis_matrix(q, qd), robot.gravity_torque(q)
    closed = (M @ qdd[..., None])[..., 0] + (C @ qd[..., None])[..., 0] + g + robot.friction_torque(qd)
    print(f"  |tau - (M qdd + C qd + g + friction)|      at most {np.abs(tau - closed).max():.1e} N m")
    back = robot.forward_dynamics(q, qd, tau)
    print(f"  |qdd - forward_dynamics(tau)|              at most {np.abs(qdd - back).max():.1e} rad/s^2")
    linear = robot.regressor(q, qd, qdd) @ robot.parameters()
    print(f"  |tau - Y pi|                               at most {np.abs(tau - linear).max():.1e} N m")
    Mdot = robot.mass_matrix_rate(q, qd)
    S = Mdot - 2 * C
    print(f"  |S + S^T|, S = Mdot - 2 C                  at most {np.abs(S + S.swapaxes(-1, -2)).max():.1e}")


def explorer() -> None:
    path = Path("two_link.html").resolve()
    values = {"l1": 0.5, "l2": 0.7, "m1": 0.5, "m2": 0.7, "r": 0.04}
    try:
        qddot.load("two_link", symbolic=True).explore(path, values=values)
    except NoAssetError as problem:
        print(f"  no page: {problem}")
    else:
        print(f"  open this file in a browser: {path} ({path.stat().st_size / 1e6:.2f} MB)")


if __name__ == "__main__":
    print("1. The two-link arm of the lecture notes\n")
    two_link()
    print("\n2. A 7R arm, written as URDF and read back, 4096 states at once\n")
    seven_joints()
    print("\n3. The two-link arm as a page: move it, drop it, see each term of its equations\n")
    explorer()
    print(
        "\nWhere to go next:"
        "\n  .venv/bin/qddot catalog                     the bundled robots"
        "\n  .venv/bin/qddot info path/to/your.urdf      your own robot"
        "\n  .venv/bin/qddot explore path/to/your.urdf   your own robot as a page"
        "\n  docs/start.md                               ten minutes, from nothing to equations and a page"
        "\n  docs/describe.md                            a robot from a DH table, screws, TOML or code"
    )
