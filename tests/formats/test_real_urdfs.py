"""The URDFs of `example-robot-data`, against Pinocchio; and written and read again."""

import math
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from qddot.errors import ModelReferenceError, ModelStructureError
from qddot.formats import load_model
from qddot.formats.urdf_writer import write_urdf

pin = pytest.importorskip("pinocchio")
ROBOTS = next((p for p in (Path(s) / "cmeel.prefix/share/example-robot-data/robots" for s in sys.path) if p.exists()), None)
if ROBOTS is None:
    pytest.skip("example-robot-data is not installed", allow_module_level=True)

REFUSED = {
    "alex_psyonic_hands.urdf": (ModelReferenceError, "there is no joint 'index_q1'"),
    "falcon.urdf": (ModelReferenceError, "child link 'Z_propeller' does not exist"),
    "ur3.urdf": (ModelStructureError, "there is no <link>"),
}
FILES = sorted(ROBOTS.rglob("*.urdf"))
GOOD = [path for path in FILES if path.name not in REFUSED]


def ids(path: Path) -> str:
    return f"{path.parts[-3]}/{path.stem}"


def test_there_are_many():
    assert len(GOOD) > 70


@pytest.mark.parametrize("path", [p for p in FILES if p.name in REFUSED], ids=ids)
def test_refused(path):
    error, words = REFUSED[path.name]
    with pytest.raises(error, match=words) as info:
        load_model(path)
    assert info.value.line > 1


@pytest.mark.parametrize("path", GOOD, ids=ids)
def test_like_pinocchio(path):
    """The same moving joints, with mimics counted there; and for each, the same mass, centre of mass and inertia on it."""
    model, oracle = load_model(path), pin.buildModelFromUrdf(str(path))
    bodies = {body.joint_name: body for body in model.bodies}
    assert set(bodies) == set(list(oracle.names)[1:])
    assert model.mechanism.nv + len(model.leaders) == oracle.nv
    for name, body in bodies.items():
        inertia = oracle.inertias[oracle.getJointId(name)]
        assert body.inertia.m == pytest.approx(inertia.mass, rel=1e-12)
        com, tensor = on_link_frame(body)
        np.testing.assert_allclose(com, inertia.mass * inertia.lever, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(tensor, inertia.matrix()[3:, 3:], rtol=1e-9, atol=1e-12)


def on_link_frame(body):
    """First moment and tensor in the axes of the joint as Pinocchio has it: the link's frame, not the one with z on the axis."""
    rigid = body.link.inverse.out_inertia(body.inertia)
    return np.array(rigid.h, float), np.array(rigid.I, float)


@pytest.mark.parametrize("path", GOOD, ids=ids)
def test_nothing_looks_misspelt_or_in_degrees(path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_model(path)
    assert not [str(w.message) for w in caught if "unknown" in str(w.message) or "degrees" in str(w.message)]


def hinged(joint):
    """Its kind; a hinge without limits of position may have either name."""
    return "continuous" if joint.kind == "revolute" and math.isinf(joint.limits.upper) else joint.kind


@pytest.mark.parametrize("path", GOOD, ids=ids)
def test_written_and_read_again(path, tmp_path):
    model = load_model(path)
    write_urdf(model, tmp_path / "copy.urdf")
    back = load_model(tmp_path / "copy.urdf")
    assert [x.name for x in back.links] == [x.name for x in model.links]
    assert [(j.name, hinged(j), j.parent, j.child, j.axis, j.limits, j.mimic, j.drive) for j in back.joints] == [
        (j.name, hinged(j), j.parent, j.child, j.axis, j.limits, j.mimic, j.drive) for j in model.joints
    ]
    for a, b in zip(model.joints, back.joints, strict=True):
        assert a.origin.p == b.origin.p
        np.testing.assert_allclose(np.array(a.origin.R, float), np.array(b.origin.R, float), atol=2e-15)
    assert [x.inertia for x in back.links] == [x.inertia for x in model.links]
