"""A compiled loop as a real NumPy generalised ufunc, from pure Python: broadcasting, `out=` and overlap handling are NumPy's own.

NumPy exports its C API as a table of function pointers for extension modules; `PyUFunc_FromFuncAndDataAndSignature` is entry 31.
"""

from __future__ import annotations

import ctypes

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from qddot.graph.program import Program

MAKE = 31
NO_IDENTITY = -1
OWNED = object.__basicsize__ + 4 * 4 + 2 * 8 + 2 * 4 + 4 * 8
"""Offset of `obj` in PyUFuncObject: after nin, nout, nargs, identity; functions, data; ntypes, reserved; name, types, doc, ptr."""

immortal: list[object] = []


def signature(program: Program) -> str:
    """`(9),(9)->(9,9)`."""
    core = lambda parts: ",".join(f"({','.join(map(str, p.shape))})" for p in parts)  # noqa: E731
    return f"{core(program.inputs)}->{core(program.outputs)}"


def make_gufunc(program: Program, loop: int, single: int, dtype: np.dtype, owner: object) -> np.ufunc:
    """The gufunc that runs the code at `loop`, which gets the address `single`; `owner` of both lives as long as it does."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(_multiarray_umath._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))
    c = ctypes
    prototype = c.PYFUNCTYPE(
        c.py_object,
        c.c_void_p,
        c.c_void_p,
        c.c_char_p,
        c.c_int,
        c.c_int,
        c.c_int,
        c.c_int,
        c.c_char_p,
        c.c_char_p,
        c.c_int,
        c.c_char_p,
    )
    n_in, n_out = len(program.inputs), len(program.outputs)
    loops, data = (c.c_void_p * 1)(loop), (c.c_void_p * 1)(single)
    types = c.create_string_buffer(bytes([dtype.num]) * (n_in + n_out), n_in + n_out)
    name, text = program.name.encode(), signature(program).encode()
    keep = (loops, data, types, name, text, owner)
    ufunc = prototype(table[MAKE])(
        c.addressof(loops), c.addressof(data), c.cast(types, c.c_char_p), 1, n_in, n_out, NO_IDENTITY, name, b"", 0, text
    )
    if not isinstance(ufunc, np.ufunc) or ufunc.signature is None:
        raise RuntimeError(f"NumPy {np.__version__} has another C API table than qddot expects")
    hold(ufunc, keep)
    return ufunc


def hold(ufunc: np.ufunc, keep: object) -> None:
    """Let the ufunc own a reference to `keep`, in the field NumPy has for that (`PyUFuncObject.obj`, released with the ufunc)."""
    slot = ctypes.c_void_p.from_address(id(ufunc) + OWNED)
    if slot.value is None:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(keep))
        slot.value = id(keep)
    else:  # not the layout we know: never free it
        immortal.append(keep)
