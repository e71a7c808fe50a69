"""Builtin functions made at run time, which CPython calls directly, and which can be replaced in place.

A builtin function is a small object: a pointer to its definition (name, code, documentation), and one to the object that the code
gets as first argument. Until a method of a robot is first called, it is such a function, with CPython's own `PyObject_Vectorcall`
as code and the ordinary method as object. Then both pointers are replaced by those of the direct entry, in place: a function saved
earlier, `f = robot.mass_matrix`, is as fast as `robot.mass_matrix`.
"""

from __future__ import annotations

import ctypes
import inspect
import os
import sys
import threading
from collections.abc import Callable, Mapping
from functools import cache
from types import MethodType
from typing import Any

FASTCALL_KEYWORDS, NOARGS = 0x82, 0x04

DEFINITION, OBJECT = 16, 24
"""Offsets of a builtin function's pointers, after count and type; verified before they are replaced."""


class MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = [("name", ctypes.c_char_p), ("meth", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


def builtin(definition: MethodDef, held: tuple) -> Callable:
    """Return a function whose code gets `held` first: a tuple, which the garbage collector sees, and which must keep the definition
    alive."""
    return maker()(ctypes.addressof(definition), held, None)


@cache
def maker() -> Callable:
    """Return CPython's function that makes builtin functions."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make


@cache
def holder(name: str) -> type:
    """Return a type of tuples that begin with the ordinary method. A method of that name calls it: tracers that cannot look into
    machine code, such as `torch.compile`, use it instead."""

    def ordinary(self: tuple, *arguments: Any, **options: Any) -> Any:
        return self[0](*arguments, **options)

    ordinary.__name__ = name
    return type("Held", (tuple,), {"__slots__": (), name: ordinary, "__call__": ordinary})


class Waiting:
    """Makes functions that call ordinary methods of an object until they are replaced. `methods`: the class's functions by name."""

    def __init__(self, methods: Mapping[str, Callable]) -> None:
        here = methods.items() if sys.implementation.name == "cpython" else ()  # other Pythons have other function objects
        definitions = {name: waiting_definition(name, method) for name, method in here}
        self.parts = [(name, methods[name], holder(name), x, ctypes.addressof(x)) for name, x in definitions.items()]

    def of(self, owner: object) -> dict[str, Callable]:
        """Return one function for each method that the owner's class has not overridden."""
        make, kind = maker(), type(owner)
        return {
            name: make(address, held((MethodType(method, owner), None, definition)), None)
            for name, method, held, definition, address in self.parts
            if getattr(kind, name) is method
        }


def waiting_definition(name: str, method: Callable) -> MethodDef:
    """Return the definition of a function that calls the object it holds, with the signature and documentation of a method."""
    code = ctypes.cast(ctypes.pythonapi.PyObject_Vectorcall, ctypes.c_void_p).value
    parameters = list(inspect.signature(method).parameters.values())[1:]
    usual = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    words = [p.name if p.default is p.empty else f"{p.name}=None" for p in usual]
    doc = f"{name}({', '.join([*words, '**options'])})\n--\n\n{method.__doc__ or ''}"
    return MethodDef(name.encode(), code, FASTCALL_KEYWORDS, doc.encode())


def is_waiting(function: Any) -> bool:
    """Return True for a function of `Waiting` that is not replaced yet."""
    held = getattr(function, "__self__", None)
    return isinstance(held, tuple) and held[1] is None


_lock = threading.Lock()


def renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=renew_lock)  # the thread that held it may not exist in the child


def become(function: Callable, other: Callable) -> bool:
    """Replace a waiting function in place by another of the same calling convention, unless another thread has done so. Return
    False, with nothing done, if their layout is not the known one.

    Other threads may call the function at any moment. So the object is replaced first: the waiting function's code calls any
    object, while the new code can read the new object only.
    """
    with _lock:
        if not is_waiting(function):
            return True
        old, new = function.__self__, other.__self__  # type: ignore[attr-defined]
        for x, held in ((function, old), (other, new)):
            if word(x, OBJECT).value != id(held) or word(x, DEFINITION).value != ctypes.addressof(held[2]):
                return False
        new[-1].append(old)  # kept alive: a call in progress may still use it
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(new))
        definition, of_object, of_definition = word(other, DEFINITION).value, word(function, OBJECT), word(function, DEFINITION)
        of_object.value = id(new)
        of_definition.value = definition
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(old))
        return True


def word(function: Callable, offset: int) -> ctypes.c_int64:
    return ctypes.c_int64.from_address(id(function) + offset)
