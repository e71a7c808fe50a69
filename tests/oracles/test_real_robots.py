"""Every URDF of example-robot-data against Pinocchio, which reads the same file by its own parser."""

import sys
from pathlib import Path

import numpy as np
import pytest

pin = pytest.importorskip("pinocchio")

import qddot  # noqa: E402
from qddot.errors import ModelReferenceError, ModelStructureError, SingularityError  # noqa: E402
from tests.oracles.comparison import Plain, State, check_dynamics, check_forward_dynamics, check_jacobians, error, is_singular  # noqa: E402
from tests.oracles.pinocchio_oracle import parsed  # noqa: E402
from tests.slow import slow_but  # noqa: E402

ROBOTS = next((p for p in (Path(s) / "cmeel.prefix/share/example-robot-data/robots" for s in sys.path) if p.exists()), None)
if ROBOTS is None:
    pytest.skip("example-robot-data is not installed", allow_module_level=True)

REFUSED = {
    "alex_psyonic_hands.urdf": ModelReferenceError,  # a mimic of a joint that is not there
    "falcon.urdf": ModelReferenceError,  # a child link that is not there
    "ur3.urdf": ModelStructureError,  # no link at all
}
MASSLESS = {
    "bluevolta_bravo7_gripper",
    "bravo7_gripper",
    "falcon_bravo7_gripper",
    "romeo",
    "romeo_laas_small",
}  # joints that move no inertia
COMPILED = [
    "panda_description/urdf/panda.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "anymal_b_simple_description/robots/anymal.urdf",
    "talos_data/robots/talos_full_v2.urdf",
    "tiago_description/robots/tiago.urdf",
    "icub_description/robots/icub.urdf",
    "romeo_description/urdf/romeo.urdf",
    "allegro_hand_description/urdf/allegro_right_hand.urdf",
    "solo_description/robots/solo12.urdf",
    "kinova_description/robots/kinova.urdf",
    "double_pendulum_description/urdf/double_pendulum_continuous.urdf",
]
FLOATING = [
    "solo_description/robots/solo12.urdf",
    "anymal_b_simple_description/robots/anymal.urdf",
    "talos_data/robots/talos_full_v2.urdf",
    "iris_description/robots/iris_simple.urdf",
    "panda_description/urdf/panda.urdf",
]
FILES = sorted(ROBOTS.rglob("*.urdf"))
GOOD = [path for path in FILES if path.name not in REFUSED]


def name(path: Path | str) -> str:
    path = Path(path)
    return f"{path.parts[-3]}/{path.stem}"


def leaves(model) -> list[str]:
    """Links that carry no other."""
    parents = {joint.parent for joint in model.joints}
    return [link.name for link in model.links if link.name not in parents]


def case(path: Path | str, floating: bool = False):
    robot = qddot.load(ROBOTS / path, floating=floating)
    return robot, parsed(ROBOTS / path, robot.model, floating=floating), State.random(robot.model, np.random.default_rng(3))


def check_forward_or_refusal(ours, oracle, state, path, **options):
    assert is_singular(oracle, state) == (Path(path).stem in MASSLESS)
    if Path(path).stem in MASSLESS:
        with pytest.raises(SingularityError):
            ours.forward_dynamics(state.q, state.qd, state.qdd, **options)
    elif len(state.qd):
        check_forward_dynamics(ours, oracle, state, **options)


def test_there_are_many():
    assert len(GOOD) > 70
    assert {path.name for path in FILES} >= set(REFUSED)


@pytest.mark.parametrize("path", [p for p in FILES if p.name in REFUSED], ids=name)
def test_refused(path):
    with pytest.raises(REFUSED[path.name]):
        qddot.load(path)


@pytest.mark.parametrize("path", GOOD, ids=name)
def test_algorithms(path):
    robot, oracle, state = case(path)
    plain = Plain(robot.model)
    check_dynamics(plain, oracle, state)
    check_forward_or_refusal(plain, oracle, state, path)
    for frame in leaves(robot.model):
        check_jacobians(plain, oracle, state, frame)
        assert error(plain.transform(state.q, frame=frame), oracle.transform(state.q, frame)) <= 1e-12


@pytest.mark.parametrize("path", GOOD, ids=name)
def test_friction_is_ours_to_add(path):
    """Pinocchio reads damping and dry friction, and leaves them out of its torques."""
    _, oracle, (q, qd, qdd) = case(path)
    with_friction = oracle.inverse_dynamics(q, qd, qdd)
    oracle.model.damping[:] = 0
    oracle.model.friction[:] = 0
    np.testing.assert_array_equal(oracle.inverse_dynamics(q, qd, qdd), with_friction)


@pytest.mark.parametrize("path", slow_but(COMPILED, *COMPILED[:2], *COMPILED[3:4], *COMPILED[8:]), ids=name)
def test_compiled(path):
    robot, oracle, state = case(path)
    check_dynamics(robot, oracle, state)
    check_forward_or_refusal(robot, oracle, state, path)
    for frame in leaves(robot.model)[:2]:
        check_jacobians(robot, oracle, state, frame)


@pytest.mark.parametrize("path", FLOATING, ids=name)
def test_floating(path):
    robot, oracle, state = case(path, floating=True)
    for ours in (robot, Plain(robot.model)):
        check_dynamics(ours, oracle, state)
        check_forward_dynamics(ours, oracle, state)
        check_jacobians(ours, oracle, state, leaves(robot.model)[0])


@pytest.mark.parametrize("path", ["solo_description/robots/solo12.urdf", "talos_data/robots/talos_reduced.urdf"], ids=name)
@pytest.mark.parametrize("method", ["aba", "crba"])
def test_forward_both_ways(path, method):
    robot, oracle, state = case(path, floating=True)
    check_forward_dynamics(robot, oracle, state, method=method)
