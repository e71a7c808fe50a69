"""Every quantity of some small robots has the values it had when Pinocchio, MuJoCo and the laws of physics agreed with them.

Run over plain numbers, without a compiler: fast enough to be run against thousands of mutants (`tools/mutation.py`). A value is
kept as a few sums, each element with a weight of its own, so that none can change unnoticed. `python -m tests.laws.test_values`
writes the values of today's algorithms; whoever does so says in the commit why they may differ.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mpmath
import pytest

import qddot
from qddot.algorithms.analytic import margin
from qddot.algorithms.displacement import difference, rotation_vector, screw_step, turned
from qddot.algorithms.drives import shaft_direction
from qddot.algorithms.factor import reciprocal
from qddot.algorithms.forward_dynamics import composite_bodies, pivot_noise, smaller
from qddot.algorithms.kinematics import joint_poses, upright, world_poses
from qddot.algorithms.quantities import COMPUTED, STEPS, Quantity
from qddot.algorithms.reaching import clamped, half_angle_error, reaching_step
from qddot.algorithms.regressor import named_parameters
from qddot.algorithms.steps import kutta, kutta_stage, semi_implicit
from qddot.algorithms.time_jet import TimeJet, TimeJetField
from qddot.compile.trace import Request, forces, trace
from qddot.errors import InputError
from qddot.graph.program import output
from qddot.graph.replay import replay
from qddot.model.field import Floats
from qddot.model.lower import WORLD
from qddot.model.pose import from_rpy
from qddot.model.spatial import Mat, Vec, diagonal
from qddot.robot import Robot

DATA = Path(__file__).parents[1] / "data" / "values"
ROBOTS = ("tree", "coupled", "floating", "geared", "uneven", "ball", "rock", "waves")
TURNS = ((1, 0.03, -0.02, 0.01), (0.1, 0.9, 0.2, 0.3), (0.1, -0.2, 0.9, 0.3), (-0.2, 0.1, 0.3, 0.9), (1, 4e-6, -3e-6, 2e-6))
TURNS += ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))
"""Quaternions of the ball: each component is the largest of one, and the only one of one; and angles that are nearly none."""


def inputs(robot: Robot, state: int) -> dict[str, Any]:
    """Numbers without a pattern, the same on every machine."""
    wave = lambda n, k: [math.sin(1.7 * i + k + 3 * state) for i in range(n)]  # noqa: E731
    nv, q = robot.nv, robot.normalized(wave(robot.nq, 0.4)).tolist()
    if robot.name == "ball":
        q[:4] = robot.normalized([*TURNS[state], 0, 0, 0])[:4].tolist()
    elif state == 2:  # on the limits
        lower, upper = robot.limits[:2]
        q = [float(x if i % 2 else y) if abs(x - y) < 99 else z for i, (x, y, z) in enumerate(zip(lower, upper, q))]
    names = ("qd", "p", "v", "direction", "qdd", "jerk", "snap", "tau", "load")
    found: dict[str, Any] = {name: wave(nv, k) for k, name in enumerate(names)}
    sliding, moving = [float((i + state) % 3 - 1) for i in range(nv)], [float(i % 4 != state) for i in range(nv)]
    target = [0.0, -0.6, 0.8, 0.3, 1.0, 0.0, 0.0, 0.2, 0.0, 0.8, 0.6, 0.4, 0.0, 0.0, 0.0, 1.0]
    found |= {"q": q, "start": q, "end": [x + 0.1 * (i + 1) for i, x in enumerate(q)], "sliding": sliding, "moving": moving}
    return found | {"dt": [0.03], "damping": [0.02], "target": target}


def frame(robot: Robot) -> str:
    return robot.link_names[-1]


def cases(robot: Robot, quantity: Quantity) -> Iterator[dict[str, Any]]:
    """Every combination of options, with external forces too where there may be some."""
    choices = {name: values or FREE[name](robot) for name, values in quantity.options.items()}
    if "axes" in choices and "rows" in choices:  # by number there
        choices["rows"] = ("0,5", "4")
    if "auto" in choices.get("method", ()):
        choices["method"] = ("aba", "crba") if not robot.mimics else ("crba",)
    for chosen in itertools.product(*choices.values()):
        options = dict(zip(choices, chosen))
        yield options
        if quantity.forced:
            links = [body.index for body in robot.model.bodies if body.is_link]
            numbers = [math.cos(0.7 * k) for k in range(6 * len(links))]
            yield options | {"f_ext": forces(robot.model, numbers)}


FREE = {"frame": lambda robot: (frame(robot),), "rows": lambda _: ("wx,z", "wx,wy,wz,x,y,z", "y"), "damping": lambda _: ("", "0.1")}


def values(robot: Robot, name: str) -> list[list[Any]]:
    """Shapes and weighted sums of all results of a quantity; where there are none, why."""
    quantity, found = COMPUTED[name], []
    for regrouped in (False,) if quantity.of_links else (False, True):
        model = robot.model.over(Floats(), regrouped=regrouped)
        for options in cases(robot, quantity):
            for state in range(len(TURNS) if robot.name == "ball" else 2 + (name == "reaching_step")):
                x = inputs(robot, state)
                try:
                    results = quantity.compute(model, *(x[given] for given in quantity.inputs), **options)
                except InputError as error:
                    found.append([str(error)])
                    continue
                for (label, rank), value in zip(quantity.outputs.items(), results if len(quantity.outputs) > 1 else (results,)):
                    made = output(label, value, rank)
                    found.append([label, *made.shape, *sums([float(x) for x in made.values])])
    return found


def sums(numbers: list[float]) -> list[float]:
    """Two, with weights that no two elements share, and one of magnitudes."""
    weighted = (sum(x * math.cos(k * (i + 1)) for i, x in enumerate(numbers)) for k in (0.37, 1.3))
    return [*weighted, sum(map(abs, numbers))]


def other_values(robot: Robot) -> dict[str, list[list[Any]]]:
    """What is no quantity: rounding errors of pivots, parameters, and the step of rollouts."""
    model, x = robot.model.over(Floats()), inputs(robot, 0)
    noise = [float(e) / model.field.rounding for row in pivot_noise(model) for e in row]
    named = named_parameters(model)
    found = {"pivot_noise": [["noise", *sums(noise)]]}
    found["parameters"] = [[*(name for name, _ in named), *sums([float(value) for _, value in named])]]
    if robot.nv:
        accelerate = lambda t, q, qd: composite_bodies(model, q, qd, [tau * (1 + t) for tau in x["tau"]])  # noqa: E731
        step = semi_implicit(model, x["q"], x["qd"], 0.1, accelerate)
        found["semi_implicit"] = [["step", *sums([float(value) for part in step[:2] for value in part])]]
    return found


def load(name: str) -> Robot:
    return qddot.load(DATA / f"{name}.toml")


@pytest.mark.parametrize("name", [name for name, quantity in COMPUTED.items() if not quantity.of_links])
@pytest.mark.parametrize("robot", ["tree", "floating"])
def test_base_parameters_give_the_same(robot, name):
    """What is not marked as being of single links follows from the joint forces: bodies with other masses give it, too."""
    found = values(load(robot), name)
    near = 1e-4 if name in STEPS else 1e-9  # within a step quaternions are not unit: both are right to its order
    for one, other in zip(found[: len(found) // 2], found[len(found) // 2 :], strict=True):
        if one[0] != "margins":  # those are of pivots, which differ
            assert other[0] == one[0]
            assert other[1:] == pytest.approx(one[1:], rel=near, abs=near)


def test_four_stages_are_a_step():
    """For every type of joint."""
    robot = load("floating")
    model, x = robot.model.over(Floats()), inputs(robot, 0)
    accelerate = lambda t, q, qd: composite_bodies(model, q, qd, [tau * (1 + t) for tau in x["tau"]])  # noqa: E731
    state: Any = (x["q"], x["qd"])
    total: Any = ([0.0] * robot.nq, [0.0] * robot.nv)
    point = state
    for stage in range(4):
        found, _ = kutta_stage(model, state, point, total, float(stage), 0.1, accelerate)
        state, point, total = (found[0], found[1]), (found[2], found[3]), (found[4], found[5])
    whole = kutta(model, x["q"], x["qd"], 0.1, accelerate)
    assert [state, point] == [whole[:2]] * 2
    assert total == ([0.0] * robot.nq, [0.0] * robot.nv)


def test_bounds_of_what_is_not_known():
    unknown: Any = "a number that comes later"
    assert smaller(unknown, 2.0) == 2.0
    assert smaller(1.0, 2.0) == smaller(2.0, 1.0) == 1.0
    symbolic: Any = SimpleNamespace(source=SimpleNamespace(symbols=True, bodies=[SimpleNamespace(columns=(0, 1))]))
    assert pivot_noise(symbolic) == [[0.0, 0.0]]


def test_frames_parallel_to_the_world():
    """Of a robot that would not be turned: it has few bodies."""
    robot = load("tree")
    model, q = robot.model.over(Floats()), inputs(robot, 0)["q"]
    turned, shifts = upright(model, joint_poses(model, q))
    poses, places = world_poses(model, q), {WORLD: Vec(0, 0, 0)}
    for body, there, shift in zip(model.bodies, turned.bodies, shifts, strict=True):
        places[body.index] = places[body.parent] + shift.p
        assert places[body.index] == pytest.approx(poses[body.index].p, abs=1e-14)
        for (_, own), (_, seen) in zip(body.subspace, there.subspace, strict=True):
            assert seen.w == pytest.approx(poses[body.index].R @ own.w, abs=1e-14)
            assert seen.v == pytest.approx(poses[body.index].R @ own.v, abs=1e-14)


def test_which_way_a_shaft_slides():
    assert shaft_direction("m", [(0, -30.0)], [1.0, -1.0]) == -1.0
    assert shaft_direction("m", [(1, 2.0)], [1.0, -1.0]) == -1.0
    with pytest.raises(InputError, match="motor 'm' turns 2 joints, and its friction sticks"):
        shaft_direction("m", [(0, 1.0), (1, 1.0)], [1.0, -1.0])


def test_reciprocals():
    assert reciprocal(4.0) == 0.25
    assert reciprocal(0.0) == reciprocal(0) == math.inf
    assert math.isnan(reciprocal(math.inf))
    assert math.isnan(reciprocal(math.nan))


@pytest.mark.parametrize("name", ["momentum_rate", "centroidal_momentum_matrix_rate", "variational_terms"])
def test_rates_take_inertias_as_inputs(name):
    robot = load("uneven")
    x, parameters = inputs(robot, 0), robot.parameters()[: 10 * (len(robot.link_names) - 1)].tolist()
    program = trace(robot.model, [Request(name)], runtime=True)
    found = replay(program, Floats(), *(x.get(given.name, parameters) for given in program.inputs))
    expected = COMPUTED[name].compute(robot.model.over(Floats()), *(x[given] for given in COMPUTED[name].inputs))
    for values, part, rank in zip(found, expected if len(found) > 1 else (expected,), COMPUTED[name].outputs.values()):
        assert values == pytest.approx(output(name, part, rank).values, rel=1e-12)


def test_corners_of_reaching():
    """Half a turn, limits on both sides and none, and a target that is reached while a column is held."""
    robot = load("tree")
    model, x = robot.model.over(Floats()), inputs(robot, 0)
    assert half_angle_error(model, diagonal(1.0, -1.0, -1.0)) == (0, 0, 0)
    assert half_angle_error(model, from_rpy(2.6, 0.0, 0.0)).x == pytest.approx(2 * math.sin(1.3), rel=1e-14)
    lower, upper = robot.limits[:2]
    for beyond in (lower - 1, upper + 1, 0.9 * lower):
        q = [float(a) if math.isfinite(a) else 0.3 for a in beyond]
        assert clamped(model, q) == pytest.approx(
            [min(max(a, b), c) for a, b, c in zip(q, lower.tolist(), upper.tolist())], rel=1e-15
        )
    there = [y for row in COMPUTED["transform"].compute(model, x["q"], frame(robot)) for y in row]
    held = [0.0] + [1.0] * (robot.nv - 1)
    end, far = reaching_step(model, x["q"], held, [0.1], there, frame(robot), "wx,wy,wz,x,y,z", "kept")
    assert end == pytest.approx(x["q"], abs=1e-12)
    assert far == pytest.approx([0, 0], abs=1e-20)


def test_a_pitch_of_nearly_a_quarter_turn_has_no_margin():
    assert margin(Floats(), Mat(Vec(1e-8, 0, 1), Vec(1e-8, 1, 0), Vec(-1, 0, 0)), "rpy") < 0
    assert margin(Floats(), from_rpy(0.1, 1.57, 0.2), "zyx") > 0


def test_the_second_rate_of_an_angle():
    (y, dy, ddy), (x, dx, ddx) = (0.3, 0.7, -0.4), (-0.8, 0.5, 0.9)
    found = TimeJetField(Floats()).atan2(TimeJet(y, dy, ddy), TimeJet(x, dx, ddx))
    square, turn = x * x + y * y, x * dy - y * dx
    second = (x * ddy - y * ddx) / square - 2 * turn * (x * dx + y * dy) / square**2
    assert found == pytest.approx((math.atan2(y, x), turn / square, second), rel=1e-14)


def test_a_turned_quaternion_is_a_unit():
    assert math.hypot(*turned(Floats(), [1.1, 0.2, -0.3, 0.1], [0.3, 0.2, 0.1])) == pytest.approx(1, rel=1e-15)


@pytest.mark.parametrize("square", [0.9, 0.00999, 0.01001, 1e-9, 0.0])
def test_small_turns_are_exact_to_rounding(square):
    """On both sides of where the series begins."""
    w, v = Vec(*(x * math.sqrt(square) for x in (0.48, -0.6, 0.64))), Vec(0.3, -0.7, 0.9)
    with mpmath.workdps(40):
        W = mpmath.matrix([[0, -w.z, w.y], [w.z, 0, -w.x], [-w.y, w.x, 0]])
        angle, V = mpmath.sqrt(sum(mpmath.mpf(x) ** 2 for x in w)), mpmath.matrix(list(v))
        mean = [mpmath.eye(3) * V] + [W**k * V / mpmath.factorial(k + 1) for k in range(1, 25)]
        step = [sum(term[i] for term in mean) for i in range(3)]
        half = mpmath.sinc(angle / 2) / 2
        turn = [mpmath.cos(angle / 2), *(x * half for x in w)]
        first = (mpmath.sqrt(0.5), 0, mpmath.sqrt(0.5), 0)
        turn = [sum(row[k] * x for k, x in enumerate(turn)) for row in product_by(first)]
        for a, b in ((screw_step(Floats(), w, v), step), (turned(Floats(), [float(x) for x in first], list(w)), turn)):
            assert all(abs(x - y) < 3e-16 for x, y in zip(a, b)), (a, b)


@pytest.mark.parametrize("angle", [3.1, 0.9, 0.20034, 0.20033, 0.1, 1e-5, 0.0])
def test_rotation_vectors_are_exact_to_rounding(angle):
    """The shorter way round, on both sides of where the series begins (a sine of 0.1 of half the angle)."""
    axis, a = Vec(0.48, -0.6, 0.64), [0.5, -0.1, 0.7, 0.5]
    with mpmath.workdps(40):
        half = mpmath.mpf(angle) / 2
        turn = [mpmath.cos(half), *(mpmath.sin(half) * x for x in axis)]
        b = [sum(row[k] * x for k, x in enumerate(turn)) for row in product_by(tuple(map(mpmath.mpf, a)))]
        c = (1 - half * mpmath.cot(half)) / (4 * half * half) if angle else mpmath.mpf(1) / 12
        for sign in (1, -1):
            w, found = rotation_vector(Floats(), a, [float(sign * x) for x in b])
            assert all(abs(x - angle * y) < 4e-16 * max(1, angle) for x, y in zip(w, axis)), w
            assert abs(found - c) < 1e-16 + (2e-14 * c if angle > 0.2 else 0), (found, c)


def test_differences_take_quaternions_of_any_length():
    model = load("ball").model.over(Floats())
    a, b = [0.5, -0.1, 0.7, 0.5, 0.1, 0.2, 0.3], [0.1, 0.7, -0.1, 0.7, 0.4, 0.1, 0.2]
    long = [[3 * x for x in q[:4]] + q[4:] for q in (a, b)]
    assert difference(model, *long) == pytest.approx(difference(model, a, b), rel=1e-14)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_half_a_turn_is_a_rotation_vector_too(side):
    """Of two ways round, one is taken."""
    w, c = rotation_vector(Floats(), [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, side, 0.0])
    assert w == pytest.approx((0, side * math.pi, 0), abs=1e-15)
    assert c == pytest.approx(1 / math.pi**2, rel=1e-15)


def product_by(q: tuple[Any, ...]) -> list[list[Any]]:
    """The matrix of `p -> q p`, both quaternions."""
    a, b, c, d = q
    return [[a, -b, -c, -d], [b, a, -d, c], [c, d, a, -b], [d, -c, b, a]]


@pytest.mark.parametrize("name", ROBOTS)
def test_values_are_those_of_before(name):
    robot, kept = load(name), json.loads((DATA / f"{name}.json").read_text("utf-8"))
    others = other_values(robot)
    assert set(kept) == {*COMPUTED, *others}
    for quantity, before in kept.items():
        now = others[quantity] if quantity in others else values(robot, quantity)
        assert len(now) == len(before), quantity
        for a, b in zip(now, before):
            assert a[:-3] == b[:-3], quantity
            close = a == b if len(b) == 1 else all(abs(x - y) <= 1e-11 * b[-1] + 1e-13 for x, y in zip(a[-3:], b[-3:]))
            close = close or repr(a) == repr(b)  # the centre of mass of nothing is no number
            assert close, (quantity, a, b)


if __name__ == "__main__":
    for name in ROBOTS:
        kept = {quantity: values(load(name), quantity) for quantity in COMPUTED} | other_values(load(name))
        (DATA / f"{name}.json").write_text(json.dumps(kept, indent=0), "utf-8")
