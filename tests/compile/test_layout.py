"""What generated code assumes about CPython and NumPy: true where it is used, found out where it is not, and said once."""

from __future__ import annotations

import gc
import struct
import sys
import warnings
import weakref

import numpy as np
import pytest

import qddot
from qddot.compile import gufunc, layout

SUPPORTED = sys.implementation.name == "cpython" and sys.version_info[:2] in ((3, 11), (3, 12), (3, 13), (3, 14))


@pytest.mark.skipif(not SUPPORTED or struct.calcsize("P") != 8, reason="a Python that promises nothing")
def test_supported_pythons_have_the_direct_entry():
    assert layout.why_no_direct_entry() == ""
    robot = qddot.load("two_link")
    robot.gravity_torque(np.zeros(2))
    assert type(robot.gravity_torque).__name__ == "builtin_function_or_method"
    assert type(robot.bind("gravity_torque")._run).__name__ == "builtin_function_or_method"


@pytest.fixture
def unknown():
    """Forget what was found out, before and after."""
    caches = layout.has_direct_entry, layout.array_api, layout.ufunc_api
    for function in caches:
        function.cache_clear()
    yield
    for function in caches:
        function.cache_clear()


@pytest.mark.parametrize(
    ("name", "place", "what"),
    [
        ("TYPE", layout.TYPE - 8, "type of an object"),
        ("ITEMS", layout.ITEMS - 8, "items of a tuple"),
        ("BYTES", layout.BYTES + 1, "content of a bytes object"),
        ("NDIM", layout.NDIM + 4, "fields of an array"),
        ("STRIDES", layout.DIMENSIONS, "fields of an array"),
        ("DIMENSIONS", layout.STRIDES, "fields of an array"),
        ("DESCR", layout.DESCR + 8, "fields of an array"),
        ("ARRAY_TYPE", layout.ARRAY_TYPE + 1, "array type in NumPy's table"),
        ("DOUBLE", 11, "makes arrays"),  # a function that makes others
        ("ARRAY_RETURN", 136, "makes scalars"),  # PyArray_Squeeze, which makes an array
        ("ABI", 0x3000000, "C interface 0x2000000"),
    ],
)
def test_another_layout_is_found_out(unknown, monkeypatch, name, place, what):
    monkeypatch.setattr(layout, name, place)
    assert what in layout.why_no_direct_entry()


def test_other_pythons_are_told_apart(unknown, monkeypatch):
    monkeypatch.setattr(sys.implementation, "name", "pypy")
    assert layout.why_no_direct_entry() == "pypy is not CPython"
    monkeypatch.undo()
    monkeypatch.setattr(sys, "byteorder", "big")
    assert "little-endian" in layout.why_no_direct_entry()


def test_without_it_all_is_the_same_but_slower_and_said_once(unknown, monkeypatch):
    q = np.array([0.3, 0.4])
    monkeypatch.setattr(layout, "ITEMS", layout.ITEMS + 8)
    robot = qddot.load("two_link")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = [robot.gravity_torque(q) for _ in range(3)]
        step = robot.bind("gravity_torque")
    assert [w.category for w in said] == [qddot.SpeedWarning]
    assert "the items of a tuple elsewhere" in str(said[0].message)
    step.q[:] = q
    found.append(step().copy())
    monkeypatch.undo()
    layout.has_direct_entry.cache_clear()
    expected = qddot.load("two_link").gravity_torque(q)
    for values in found:
        np.testing.assert_array_equal(values, expected)
    assert type(robot.gravity_torque).__name__ == "function"


def test_kernels_refuse_another_numpy(unknown, monkeypatch):
    monkeypatch.setattr(layout, "ABI", 0x3000000)
    with warnings.catch_warnings(action="ignore"), pytest.raises(layout.UnknownLayout, match="that of NumPy 2"):
        qddot.load("two_link").gravity_torque([0, 0])


class Owner:
    """Something that can be seen to die."""


def gufunc_with(owner: Owner) -> np.ufunc:
    kernel = qddot.load("two_link").kernel("gravity_torque")
    return gufunc.make_gufunc(kernel.program, kernel._single.loop, kernel._task, kernel.dtype, (owner, kernel))


def test_a_gufunc_releases_its_owner():
    owner = Owner()
    gone, ufunc = weakref.ref(owner), gufunc_with(owner)
    del owner
    gc.collect()
    assert gone() is not None
    ufunc(np.zeros(2))
    del ufunc
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("name", ["UFUNC_COUNTS", "UFUNC_NAME", "UFUNC_TYPES"])
def test_an_owner_is_kept_for_ever_where_its_field_is_unknown(monkeypatch, name):
    monkeypatch.setattr(layout, name, getattr(layout, name) + 8)
    monkeypatch.setattr(gufunc, "immortal", [])
    owner = Owner()
    ufunc = gufunc_with(owner)
    assert any(owner in keep[-1] for keep in gufunc.immortal)
    del ufunc
