"""NumPy generalised ufuncs made from compiled loops in pure Python: NumPy handles broadcasting, `out=` and overlapping arrays.

NumPy exports its C API as tables of function pointers for extension modules (`layout`). The function that makes gufuncs is
`PyUFunc_FromFuncAndDataAndSignature`.
"""

from __future__ import annotations

import ctypes

import numpy as np

from qddot.compile import layout
from qddot.graph.program import Program

NO_IDENTITY = -1
immortal: list[object] = []
"""Objects of gufuncs that are never freed."""


def signature(program: Program) -> str:
    """Return the gufunc's signature, such as `(9),(9)->(9,9)`."""
    core = lambda parts: ",".join(f"({','.join(map(str, p.shape))})" for p in parts)  # noqa: E731
    return f"{core(program.inputs)}->{core(program.outputs)}"


def make_gufunc(program: Program, loop: int, task: ctypes.Array, dtype: np.dtype, owner: object) -> np.ufunc:
    """Return the gufunc that runs the code at address `loop`, which reads the `task` (see `singly`).

    The gufunc keeps `task` and `owner`, the owner of the code, alive.
    """
    c = ctypes
    pointer, number, chars = c.c_void_p, c.c_int, c.c_char_p
    counts = (number, number, number, number)
    prototype = c.PYFUNCTYPE(c.py_object, pointer, pointer, chars, *counts, chars, chars, number, chars)
    n_in, n_out = len(program.inputs), len(program.outputs)
    loops, data = (c.c_void_p * 1)(loop), (c.c_void_p * 1)(c.addressof(task))
    types = c.create_string_buffer(bytes([dtype.num]) * (n_in + n_out), n_in + n_out)
    name, text = program.name.encode(), signature(program).encode()
    keep = (loops, data, types, name, text, task, owner)
    ufunc = prototype(layout.ufunc_api()[layout.UFUNC_NEW])(
        c.addressof(loops), c.addressof(data), c.cast(types, c.c_char_p), 1, n_in, n_out, NO_IDENTITY, name, b"", 0, text
    )
    name_at = c.cast(c.c_char_p(name), c.c_void_p).value or 0
    if layout.has_owner_field(ufunc, name_at, c.addressof(types)):  # released with the ufunc
        c.pythonapi.Py_IncRef(c.py_object(keep))
        c.c_void_p.from_address(id(ufunc) + layout.UFUNC_OWNED).value = id(keep)
    else:  # an unknown layout: never freed
        immortal.append(keep)
    return ufunc
