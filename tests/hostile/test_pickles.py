"""What is made in one process is read in another, errors among them; what belongs to its memory is not copied."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import qddot
from qddot import contact, control, errors
from qddot.rollout import PDLaw


@pytest.fixture(scope="module")
def robot():
    return qddot.load("two_link")


def raised(call) -> Exception:
    with pytest.raises(qddot.QddotError) as found:
        call()
    return found.value


@pytest.mark.parametrize(
    "call",
    [
        lambda r: r.simulate([0, 0], None, 0.01, torque=[1e160, 0]),
        lambda r: qddot.load_string("<robot name='r'><link/></robot>"),
        lambda r: r.jacobian([0, 0], frame="nothing"),
        lambda r: r.mass_matrix([np.nan, 0]),
    ],
    ids=["integration", "model", "name", "input"],
)
def test_errors_are_the_same_in_another_process(robot, call):
    error = raised(lambda: call(robot))
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize("kind", [x for x in vars(errors).values() if isinstance(x, type) and issubclass(x, errors.QddotError)])
def test_every_error_is_pickled(kind):
    needed = {"time": 0.5, "step": 3} if kind is qddot.IntegrationError else {}
    error = kind("what is wrong", **needed)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (kind, str(error), vars(error))


def test_what_computes_computes_the_same(robot):
    q, qd = [0.3, -0.7], [0.2, 0.4]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        touched = contact.Contacts(robot, [contact.Sphere(robot.tip)], [contact.Plane((0, -5, 0), (0, 1, 0))])
    made = {
        "rollout": (robot.rollout(PDLaw(kp=20, kd=5)), lambda x: x(q, qd, [0.1, 0.2], steps=3).q),
        "kernel": (robot.kernel("mass_matrix"), lambda x: x(np.array(q))),
        "task": (robot.task_space(q, qd, rows=["x", "y"]), lambda x: x.M),
        "law": (control.PD(robot, control.Hold(q), 20, 5), lambda x: x(0.0, np.array(qd), np.array(qd))),
        "contacts": (touched, lambda x: x.depth(q)),
        "motion": (robot.simulate(q, qd, 0.01), lambda x: x.qdd),
    }
    for name, (thing, use) in made.items():
        for again in (pickle.loads(pickle.dumps(thing)), copy.deepcopy(thing)):
            np.testing.assert_array_equal(use(again), use(thing), err_msg=name)


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_bound_quantity_belongs_to_its_arrays(robot, how):
    with pytest.raises(qddot.InputError, match="bind it again"):
        how(robot.bind("mass_matrix"))
