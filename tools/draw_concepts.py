"""Draw the figures of docs/concepts, each from what the library computes.

    python tools/draw_concepts.py            # all of them, into docs/images
    python tools/draw_concepts.py coverage   # one

They have no background and grey letters, so that they can be read on light and on dark pages.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")

import numpy as np
import sympy
from matplotlib import pyplot as plt
from matplotlib.patches import FancyBboxPatch

import qddot
from qddot.identify import Log, ParameterSet, base_parameters, least_squares, pieces, prepare, reduce
from qddot.pictures.look import LOOK, color

IMAGES = Path(__file__).parents[1] / "docs" / "images"
INK = "#7b828d"
GREY = dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color"), INK)
STYLE = {**LOOK, **GREY, "savefig.transparent": True, "svg.hashsalt": "qddot", "svg.fonttype": "none", "grid.color": "#7b828d33"}
CALM = {"boxstyle": "round,pad=0.02,rounding_size=0.08", "linewidth": 1.2}


def figure(width: float, height: float, columns: int = 1) -> Any:
    return plt.subplots(1, columns, figsize=(width, height), layout="constrained")


def arrow(ax: Any, start: Any, vector: Any, role: str, words: str = "", shift: tuple[float, float] = (0.0, 0.0)) -> None:
    end = np.asarray(start) + vector
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "lw": 2, "color": color(role), "shrinkA": 0, "shrinkB": 0})
    ax.text(*(end + shift), words, color=color(role), ha="center", va="center", fontsize=9)


def twists() -> Any:
    """One motion of the tip, told from three places."""
    robot, q, qd = qddot.load("two_link"), np.array([0.5, 0.9]), np.array([0.0, 1.0])
    T = robot.transforms(q)
    joints = np.vstack([[0, 0], T[1:, :2, 3]])
    fig, axes = figure(9.6, 3.3, 3)
    for ax, reference in zip(axes, ("space", "body", "world_aligned")):
        ax.plot(*joints.T, color=INK, lw=7, alpha=0.35, solid_capstyle="round")
        ax.plot(*joints[:-1].T, "o", color=INK, ms=7)
        J = robot.jacobian(q, reference=reference)
        v = (J @ qd)[3:5]
        place = (0, 0) if reference == "space" else joints[-1]
        R = T[-1][:2, :2] if reference == "body" else np.eye(2)
        for axis, name in zip(R.T, "xy"):
            arrow(ax, place, 0.28 * axis, "inertial", name, tuple(0.05 * axis))
        if np.linalg.norm(v) > 1e-12:
            arrow(ax, place, 0.6 * (R @ v), "friction", "v", (-0.06, 0.08))
        ax.plot(*place, "o", color=color("friction"), ms=5, zorder=5)
        said = ", ".join(f"{x + 0:.2f}" for x in (J @ qd)[[2, 3, 4]].round(2))
        ax.set_title(f'reference="{reference}"', fontsize=10)
        ax.set_xlabel(f"(ωz, vx, vy) = ({said})", fontsize=9)
        ax.set(xlim=(-0.75, 1.0), ylim=(-0.45, 1.35), aspect="equal", xticks=[], yticks=[])
        ax.grid(visible=False)
        for spine in ax.spines.values():
            spine.set_visible(False)
    return fig


def wrench() -> Any:
    """A force at the tip, and what it is at the world's origin."""
    robot, q = qddot.load("two_link"), np.array([0.5, 0.9])
    T = robot.transforms(q)
    joints, force = np.vstack([[0, 0], T[1:, :2, 3]]), np.array([0.0, -10.0])
    tip = joints[-1]
    moment = tip[0] * force[1] - tip[1] * force[0]
    fig, axes = figure(7.2, 3.2, 2)
    for ax, at_tip in zip(axes, (True, False)):
        ax.plot(*joints.T, color=INK, lw=7, alpha=0.35, solid_capstyle="round")
        ax.plot(*joints[:-1].T, "o", color=INK, ms=7)
        place = tip if at_tip else np.zeros(2)
        arrow(ax, place, 0.04 * force, "external", "10 N", (0.13, 0.08))
        if at_tip:
            ax.set_title("at the tip: no moment", fontsize=10)
        else:
            angles = np.linspace(0.6 * np.pi, -0.9 * np.pi, 60)
            ax.plot(0.22 * np.cos(angles), 0.22 * np.sin(angles), color=color("external"), lw=2)
            end, before = 0.22 * np.array([np.cos(angles[[-1, -4]]), np.sin(angles[[-1, -4]])]).T
            ax.annotate("", end, before, arrowprops={"arrowstyle": "-|>", "lw": 2, "color": color("external")})
            ax.text(-0.42, 0.3, f"{moment:.2f} N m", color=color("external"), fontsize=9, ha="center")
            ax.set_title("the same at the world's origin", fontsize=10)
        ax.set(xlim=(-0.75, 1.0), ylim=(-0.55, 1.3), aspect="equal", xticks=[], yticks=[])
        ax.grid(visible=False)
        for spine in ax.spines.values():
            spine.set_visible(False)
    return fig


def scalars() -> Any:
    """One text, the kinds of numbers it is run over, and what comes out."""
    rows = [
        ("floats", "numbers, in Python", "measured"),
        ("nodes of a graph", "machine code, C, JavaScript, PTX", "inertial"),
        ("exact polynomials", "equations on paper", "gravity"),
        ("jets (value, rate)", "derivatives along a motion", "coriolis"),
        ("complex numbers", "a test of derivatives", "friction"),
        ("50 digits", "an oracle for all of these", "external"),
    ]
    fig, ax = figure(8.4, 3.6)
    ax.set(xlim=(0, 10), ylim=(-0.7, len(rows) - 0.3))
    ax.axis("off")
    box = FancyBboxPatch((0.1, 1.3), 2.4, 2.4, facecolor="none", edgecolor=INK, **CALM)
    ax.add_patch(box)
    ax.text(1.3, 2.9, "one text", ha="center", fontsize=11, fontweight="bold")
    ax.text(1.3, 2.1, "V = X V + S qd\nF = I A + V × I V\ntau = S · F", ha="center", va="center", fontsize=9, family="monospace")
    for k, (scalar, result, role) in enumerate(reversed(rows)):
        shade = color(role)
        ax.add_patch(FancyBboxPatch((3.9, k - 0.3), 2.1, 0.6, facecolor=shade + "22", edgecolor=shade, **CALM))
        ax.text(4.95, k, scalar, ha="center", va="center", fontsize=9)
        line = {"arrowstyle": "-|>", "lw": 1.1, "color": INK, "shrinkA": 2, "shrinkB": 2}
        ax.annotate("", (3.85, k), (2.55, 2.5), arrowprops={**line, "connectionstyle": "arc3"})
        ax.annotate("", (6.7, k), (6.05, k), arrowprops=line)
        ax.text(6.8, k, result, va="center", fontsize=9)
    return fig


def planar(n: int) -> qddot.Robot:
    """Uniform rods on hinges, with letters."""
    a, m = sympy.symbols(f"l1:{n + 1}", positive=True), sympy.symbols(f"m1:{n + 1}", positive=True)
    builder = qddot.Builder("planar", gravity=(0, -sympy.Symbol("g", positive=True), 0))
    for k in range(n):
        parent = f"rod{k}" if k else None
        at = {"xyz": (a[k - 1] if k else 0, 0, 0), "mass": m[k], "com": (a[k] / 2, 0, 0)}
        builder.body(f"rod{k + 1}", parent, tensor=(0, m[k] * a[k] ** 2 / 12, m[k] * a[k] ** 2 / 12), **at)
    return builder.robot()


def lagrange_operations(n: int) -> int:
    """What differentiation alone makes of the same arm, in SymPy, before anybody simplifies."""
    t, g = sympy.symbols("t g")
    q = [sympy.Function(f"q{k + 1}")(t) for k in range(n)]
    a, m = sympy.symbols(f"l1:{n + 1}"), sympy.symbols(f"m1:{n + 1}")
    x = y = angle = L = sympy.Integer(0)
    for k in range(n):
        angle += q[k]
        cx, cy = x + a[k] / 2 * sympy.cos(angle), y + a[k] / 2 * sympy.sin(angle)
        L += m[k] * (cx.diff(t) ** 2 + cy.diff(t) ** 2) / 2 + m[k] * a[k] ** 2 / 24 * angle.diff(t) ** 2 - m[k] * g * cy
        x, y = x + a[k] * sympy.cos(angle), y + a[k] * sympy.sin(angle)
    tau = [L.diff(v.diff(t)).diff(t) - L.diff(v) for v in q]
    return int(sum(sympy.count_ops(row) for row in tau))


def canonical() -> Any:
    """How long the equations of planar arms are: by plain differentiation, in canonical form, and as code."""
    counts = [1, 2, 3, 4]
    robots = [planar(n) for n in counts]
    plain = [lagrange_operations(n) for n in counts]
    terms = [robot.equations().tau.terms for robot in robots]
    numbers = [robot.subs({s: 0.5 + 0.1 * k for k, s in enumerate(sorted(robot.symbols, key=str))}) for robot in robots]
    code = [sum(robot.operations("inverse_dynamics")) for robot in numbers]
    fig, ax = figure(6.4, 3.2)
    curves = ((plain, "operations, differentiated", "measured", "-"), (terms, "terms, canonical", "gravity", "-"))
    for values, words, role, line in (*curves, (code, "operations, compiled", "inertial", "--")):
        ax.semilogy(counts, values, line, marker="o", color=color(role), label=words)
        ax.annotate(f"{values[-1]}", (counts[-1], values[-1]), xytext=(6, 0), textcoords="offset points", va="center", fontsize=9)
    ax.set(xlabel="joints of a planar arm", xticks=counts, xlim=(0.8, 4.4))
    ax.set_ylabel("how many")
    ax.legend(loc="upper left")
    return fig


def base() -> Any:
    """Which of the twenty inertial parameters of a planar arm show, and with which others."""
    robot = qddot.load("two_link")
    found = base_parameters(ParameterSet.of(robot, armature=False, viscous=False, coulomb=None, offset=False))
    names, K = found.parameter_set.names, found.K
    fig, ax = figure(8.6, 2.9)
    own = [names.index(name) for name in found.names]
    for j in range(len(names)):
        if not K[:, j].any():
            ax.axvspan(j - 0.5, j + 0.5, color=INK, alpha=0.16, lw=0)
    for (i, j), x in np.ndenumerate(K):
        if x:
            ax.text(j, i, f"{x:.3g}", ha="center", va="center", color=color("gravity" if j == own[i] else "friction"), fontsize=9)
    ax.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(K) - 0.5, -0.5))
    ax.set_xticks(range(len(names)), [name.replace("body_", "") for name in names], rotation=60, ha="right", fontsize=8.5)
    ax.set_yticks(range(len(K)), [name.replace("body_", "") for name in found.names], fontsize=8.5)
    ax.set_ylabel("base parameter")
    return fig


RUNS, TRUE = 60, 0.3


def coverage() -> Any:
    """Intervals of one number from many recordings of the same arm, whose torque sensor drifts."""
    arm = qddot.Builder("arm", gravity=(0, -9.81, 0)).body("rod", mass=1, com=(TRUE, 0, 0), tensor=(0.001, 0.03, 0.03)).robot()
    t = np.arange(0, 20, 0.01)
    motion = arm.simulate([-1.5], t=t, step=0.01, torque=lambda t, q, qd: [2 * np.sin(7 * t)])
    found = base_parameters(ParameterSet.of(arm, armature=False, coulomb=None))
    j, both = found.names.index("rod.mcx"), []
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        drift = np.zeros(len(t))
        for k in range(1, len(t)):  # remembers itself for half a second
            drift[k] = 0.98 * drift[k - 1] + 0.02 * rng.normal()
        log = Log(t, motion.q, tau=motion.tau + drift[:, None])
        estimate = least_squares(reduce(found, pieces(prepare(log, cutoff=8.0))))
        both.append((estimate.theta[j], estimate.std_classical[j], estimate.std[j], *estimate.intervals[j]))
    theta, classical, _, lower, upper = np.array(both).T
    fig, axes = figure(8.6, 3.2, 2)
    for ax, low, high, words in (
        (axes[0], theta - 1.96 * classical, theta + 1.96 * classical, "samples taken as independent"),
        (axes[1], lower, upper, "by blocks of time"),
    ):
        hit = (low <= TRUE) & (high >= TRUE)
        for k in range(RUNS):
            ax.plot([k, k], [low[k], high[k]], color=color("gravity" if hit[k] else "friction"), lw=1.6)
        ax.axhline(TRUE, color=INK, lw=1)
        ax.set_title(f"{words}: {int(hit.sum())} of {RUNS} hold", fontsize=9.5)
        ax.set(xlabel="recording", ylim=(min(lower) - 0.001, max(upper) + 0.001))
    axes[0].set_ylabel("m c_x of the rod [kg m]")
    return fig


def bounces() -> Any:
    """A ball that falls on a floor, impact by impact."""
    from qddot.contact import Contacts, Plane, Sphere, bounce

    ball = qddot.Builder("ball").body("ball", joint="prismatic", mass=1).robot()
    fig, ax = figure(6.4, 2.6)
    for restitution, role in ((0.8, "inertial"), (0.5, "gravity"), (0.2, "friction")):
        found = bounce(Contacts(ball, [Sphere("ball", 0.1)], [Plane()], restitution=restitution), [1.1], None, 3.0)
        ax.plot(found.t, found.q[:, 0] - 0.1, color=color(role), label=f"restitution {restitution:g}: {len(found.impacts)} impacts")
    ax.set(xlabel="t [s]", ylim=(0, 1.05))
    ax.set_ylabel("height above the floor [m]")
    ax.legend(loc="upper right")
    return fig


def fit() -> Any:
    """Torques of a recording, measured and predicted."""
    robot = qddot.load("two_link")
    drives = [qddot.Drive(viscous=0.3, coulomb=0.4), qddot.Drive(viscous=0.2, coulomb=0.2)]
    rows = [(0.5, 0, 0, 0), (0.7, 0, 0, 0)]
    inertias = [link.inertia for link in robot.model.links[1:]]
    given = {"gravity": robot.gravity, "inertias": inertias, "drives": drives}
    arm = qddot.from_dh(rows, convention="standard", name="arm", **given)
    t = np.arange(0, 12, 0.01)
    want = np.column_stack([0.8 * np.sin(1.7 * t) - 1.2, 0.9 * np.sin(2.6 * t)])
    rate = np.column_stack([1.36 * np.cos(1.7 * t), 2.34 * np.cos(2.6 * t)])
    slope = np.column_stack([-2.312 * np.sin(1.7 * t), -6.084 * np.sin(2.6 * t)])
    noise = np.random.default_rng(0).normal(size=want.shape)
    log = Log(t, want, tau=arm.inverse_dynamics(want, rate, slope) + [0.3, 0.1] * noise)
    found = arm.identify(log)
    axes = np.atleast_1d(found.plot("torques"))
    return axes[0].figure


def plan() -> Any:
    """An exciting motion of a SCARA."""
    robot = qddot.load("scara")
    limits = robot.limits._replace(velocity=np.minimum(robot.limits.velocity, 3.0))
    motion = robot.excitation(period=8.0, harmonics=4, starts=1, iterations=25, acceleration=10.0, limits=limits)
    return motion.plot()[0].figure


FIGURES = {x.__name__: x for x in (twists, wrench, scalars, canonical, base, coverage, bounces, fit, plan)}

if __name__ == "__main__":
    with plt.rc_context(STYLE):
        for name in sys.argv[1:] or FIGURES:
            drawn = FIGURES[name]()
            paper = {"facecolor": "white", "transparent": False} if name == "fit" else {}  # predictions are black
            drawn.savefig(IMAGES / f"concept_{name}.svg", metadata={"Date": None}, **paper)
            plt.close(drawn)
