"""Functions that CPython calls without a detour, and that can become others while somebody holds them.

A builtin function is a small object: a pointer to its definition (name, code, documentation), and one to the object that the code
is given first. A method of a robot waits as such a function until it is first called: its code is CPython's own
`PyObject_Vectorcall`, and its object the ordinary method. Then both pointers are replaced by those of the direct entry, in place:
`f = robot.mass_matrix` is as fast as `robot.mass_matrix`, whenever it was saved.
"""

from __future__ import annotations

import ctypes
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import cache
from types import MethodType
from typing import Any

FASTCALL_KEYWORDS, NOARGS = 0x82, 0x04

DEFINITION, OBJECT = 16, 24
"""Where a builtin function keeps its pointers, after count and type; verified before they are replaced."""


class MethodDef(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("meth", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


def builtin(definition: MethodDef, held: tuple) -> Callable:
    """A function whose code is given `held`, which must keep the definition alive: the garbage collector can look through it."""
    return maker()(ctypes.addressof(definition), held, None)


@cache
def maker() -> Callable:
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make


@cache
def holder(name: str) -> type:
    """A tuple with the ordinary method first. It is also called under the function's own name: what tracers see that cannot look
    into machine code, such as `torch.compile`."""

    def ordinary(self: tuple, *arguments: Any, **options: Any) -> Any:
        return self[0](*arguments, **options)

    ordinary.__name__ = name
    return type("Held", (tuple,), {"__slots__": (), name: ordinary, "__call__": ordinary})


class Waiting:
    """Makes functions that call ordinary methods of an object until they become others. `methods`: by name, as the class has
    them."""

    def __init__(self, methods: Mapping[str, Callable]) -> None:
        here = methods.items() if sys.implementation.name == "cpython" else ()  # elsewhere functions are others
        definitions = {name: waiting_definition(name, method) for name, method in here}
        self.parts = [(name, methods[name], holder(name), x, ctypes.addressof(x)) for name, x in definitions.items()]

    def of(self, owner: object) -> dict[str, Callable]:
        """One function for each method that the class of the owner has not replaced."""
        make, kind = maker(), type(owner)
        return {
            name: make(address, held((MethodType(method, owner), None, definition)), None)
            for name, method, held, definition, address in self.parts
            if getattr(kind, name) is method
        }


def waiting_definition(name: str, method: Callable) -> MethodDef:
    code = ctypes.cast(ctypes.pythonapi.PyObject_Vectorcall, ctypes.c_void_p).value
    parameters = list(inspect.signature(method).parameters.values())[1:]
    usual = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    words = [p.name if p.default is p.empty else f"{p.name}=None" for p in usual]
    doc = f"{name}({', '.join([*words, '**options'])})\n--\n\n{method.__doc__ or ''}"
    return MethodDef(name.encode(), code, FASTCALL_KEYWORDS, doc.encode())


def is_waiting(function: Any) -> bool:
    held = getattr(function, "__self__", None)
    return isinstance(held, tuple) and held[1] is None


def become(function: Callable, other: Callable) -> bool:
    """Let a builtin function be another of the same calling convention from now on; False, and nothing is done, where it is laid
    out otherwise than is known here."""
    old, new = function.__self__, other.__self__  # type: ignore[attr-defined]
    for x, held in ((function, old), (other, new)):
        if word(x, OBJECT).value != id(held) or word(x, DEFINITION).value != ctypes.addressof(held[2]):
            return False
    new[-1].append(old)  # the call that is under way may still look at it
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(new))
    word(function, DEFINITION).value, word(function, OBJECT).value = word(other, DEFINITION).value, id(new)
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(old))
    return True


def word(function: Callable, place: int) -> ctypes.c_int64:
    return ctypes.c_int64.from_address(id(function) + place)
