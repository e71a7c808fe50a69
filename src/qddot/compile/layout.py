"""Layout that generated code relies on: offsets in CPython's and NumPy's structures, indices in NumPy's tables of functions.

Offsets are computed from the sizes that Python reports, so they hold for every release, with or without the GIL; each is verified
once before it is used. Under one ABI version, NumPy's tables keep their order.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import warnings
from functools import cache
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from qddot.errors import QddotError, SpeedWarning

HEAD = object.__basicsize__
TYPE = HEAD - 8  # an object's type: the last word of its head
SIZE = HEAD  # a tuple's number of items
ITEMS, BYTES = tuple.__basicsize__, bytes.__basicsize__ - 1  # a tuple's first item, a bytes object's content
DATA, NDIM, DIMENSIONS, STRIDES, DESCR, FLAGS = (HEAD + k for k in (0, 8, 16, 24, 40, 48))  # of PyArrayObject
WELL_BEHAVED = 0x0001 | 0x0100 | 0x0400  # flags of an array: C-contiguous, aligned, writeable
DOUBLE = 12  # NPY_DOUBLE
ABI = 0x2000000
"""The ABI version of NumPy 2, to which the indices below belong."""

ABI_VERSION, ARRAY_TYPE, ARRAY_NEW, ARRAY_RETURN, UFUNC_NEW, CLEAR_FLAGS, GET_FLAGS = 0, 2, 93, 76, 31, 27, 28
UFUNC_COUNTS = HEAD  # nin, nout, nargs, identity
UFUNC_NAME, UFUNC_TYPES = HEAD + 40, HEAD + 48  # after functions, data, ntypes and a reserved number
UFUNC_OWNED = HEAD + 72
"""Offset of `obj` in PyUFuncObject, after name, types, doc and ptr: an object that is released with the ufunc."""


class UnknownLayout(QddotError, RuntimeError):
    """The installed NumPy has a C interface for which kernels are not compiled."""


def addresses(capsule: object) -> Any:
    """Return a table that NumPy exports for extension modules."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))


@cache
def array_api() -> Any:
    """Return NumPy's table for arrays. Raises UnknownLayout: NumPy has another ABI version."""
    found = addresses(_multiarray_umath._ARRAY_API)
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(found[ABI_VERSION])()
    if version != ABI:
        raise UnknownLayout(f"NumPy {np.__version__} has the C interface {version:#x}; qddot knows {ABI:#x}, that of NumPy 2")
    return found


@cache
def ufunc_api() -> Any:
    """Return NumPy's table for ufuncs, of the same ABI version. Raises UnknownLayout: NumPy has another one."""
    array_api()
    return addresses(_multiarray_umath._UFUNC_API)


def function_address(name: str) -> int:
    """Return the address of a function of CPython."""
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


def word_at(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def has_owner_field(ufunc: np.ufunc, name: int, types: int) -> bool:
    """Return True if a new ufunc, made with these addresses, has them at the known offsets, and its field for an owner is free."""
    counts = (ctypes.c_int32 * 3).from_address(id(ufunc) + UFUNC_COUNTS)
    return (
        tuple(counts) == (ufunc.nin, ufunc.nout, ufunc.nargs)
        and word_at(id(ufunc) + UFUNC_NAME) == name
        and word_at(id(ufunc) + UFUNC_TYPES) == types
        and word_at(id(ufunc) + UFUNC_OWNED) == 0
    )


# the direct entry -----------------------------------------------------------------------------------------------------------


@cache
def has_direct_entry() -> bool:
    """Return True if the direct entry can be used here; if not, warn once with the reason."""
    reason = why_no_direct_entry()
    if reason:
        warnings.warn(f"calls with one state take microseconds longer here: {reason}", SpeedWarning, stacklevel=2)
    return not reason


def why_no_direct_entry() -> str:
    """Return the reason why the direct entry cannot be used here, or an empty text."""
    if sys.implementation.name != "cpython":
        return f"{sys.implementation.name} is not CPython"
    if struct.calcsize("P") != 8 or sys.byteorder != "little":
        return "this Python is not a 64-bit, little-endian one"
    try:
        checks = {
            "the type of an object": object_has_its_type(),
            "the items of a tuple": tuple_has_its_items(),
            "the content of a bytes object": bytes_have_their_content(),
            "the fields of an array": array_has_its_fields(),
            "the array type in NumPy's table": array_api()[ARRAY_TYPE] == id(np.ndarray),
            "the function in NumPy's table that makes arrays": makes_arrays(),
            "the function in NumPy's table that makes scalars": makes_scalars(),
        }
    except UnknownLayout as error:
        return str(error)
    odd = [what for what, fine in checks.items() if not fine]
    return f"Python {sys.version.split()[0]} and NumPy {np.__version__} keep {', '.join(odd)} elsewhere" if odd else ""


def object_has_its_type() -> bool:
    return all(word_at(id(x) + TYPE) == id(type(x)) for x in (1.5, (), np.zeros(1)))


def tuple_has_its_items() -> bool:
    first, second = object(), object()
    pair = (first, second)
    return (word_at(id(pair) + SIZE), word_at(id(pair) + ITEMS), word_at(id(pair) + ITEMS + 8)) == (2, id(first), id(second))


def bytes_have_their_content() -> bool:
    text = b"eight by"
    return ctypes.string_at(id(text) + BYTES, 9) == text + b"\0"


def array_has_its_fields() -> bool:
    plain, a = np.zeros(2), np.arange(12.0).reshape(3, 4)[:, ::2]  # named, so that they live while their fields are read
    dimensions, strides = word_at(id(a) + DIMENSIONS), word_at(id(a) + STRIDES)
    return (
        word_at(id(a) + DATA) == a.ctypes.data
        and ctypes.c_int32.from_address(id(a) + NDIM).value == 2
        and word_at(id(a) + DESCR) == id(np.dtype(np.float64))
        and ctypes.c_int32.from_address(id(a) + FLAGS).value & WELL_BEHAVED == 0x0500
        and ctypes.c_int32.from_address(id(plain) + FLAGS).value & WELL_BEHAVED == WELL_BEHAVED
        and a.ctypes.shape[:] == [word_at(dimensions), word_at(dimensions + 8)]
        and a.ctypes.strides[:] == [word_at(strides), word_at(strides + 8)]
    )


def makes_arrays() -> bool:
    """Return True if PyArray_New, as the direct entry calls it, returns a new array that owns its memory."""
    c = ctypes
    kinds = (c.c_void_p, c.c_int, c.c_void_p, c.c_int, c.c_void_p, c.c_void_p, c.c_int, c.c_int, c.c_void_p)
    make = c.PYFUNCTYPE(c.py_object, *kinds)(array_api()[ARRAY_NEW])
    shape = (c.c_int64 * 2)(2, 3)
    ordinary, new = np.empty((2, 3)), make(id(np.ndarray), 2, c.addressof(shape), DOUBLE, None, None, 0, 0, None)
    return (
        type(new) is np.ndarray
        and (new.shape, new.dtype, new.base) == ((2, 3), np.dtype(np.float64), None)
        and new.flags.c_contiguous
        and new.flags.writeable
        and new.flags.owndata
        and sys.getrefcount(new) == sys.getrefcount(ordinary)
    )


def makes_scalars() -> bool:
    """Return True if PyArray_Return turns an array without dimensions into a scalar, and takes its reference."""
    scalar_of = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(array_api()[ARRAY_RETURN])
    number, ordinary = np.array(0.25), np.array(0.25)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(number))
    found = scalar_of(id(number))
    return type(found) is np.float64 and found == 0.25 and sys.getrefcount(number) == sys.getrefcount(ordinary)
