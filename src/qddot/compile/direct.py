"""The general direct entry, which CPython calls before the ordinary method: small batches, frames, quaternions, several results.

One piece of machine code (`direct_ir`) serves every method of every robot. It reads a table that describes the method's arguments
and results, and its ways: for each choice of options (compared by identity, since names in programs are interned) the kernel for
one state, and the loop over many states once a batch has needed it. Arrays must be float64 with contiguous rows, all of one batch.
Other calls, and those that may end in an error (a NaN, a singular state), go to the ordinary method, which gives lists and strided
arrays back as dense arrays. For one state there is a faster entry (`entry_ir`).

The code is LLVM IR for the layout of CPython's and NumPy's public structures (`layout`), which is verified first. If it differs,
there are no direct entries, a warning is given, and nothing else changes.
"""

from __future__ import annotations

import ctypes
import math
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from qddot.compile import direct_ir, entry_ir, layout
from qddot.compile.arrays import DOUBLE
from qddot.compile.builtin import FASTCALL_KEYWORDS, NOARGS, MethodDef, builtin, holder
from qddot.compile.direct_table import ARGUMENTS, PLACE, ROWS, TABLE, WAY_KERNEL, WAY_LOOP, WAY_TASK, WORD, WORDS
from qddot.compile.flags import are_raised
from qddot.compile.kernel import BATCH, WORTH_THREADS, Kernel
from qddot.compile.kernels import Kernels
from qddot.compile.layout import BYTES, word_at
from qddot.compile.llvm import Code, load_module, this_computer
from qddot.compile.peaks import FAR_BITS, INFINITE_BITS, LARGEST
from qddot.compile.threads import is_one_by_default

OUT = sys.intern("out")
WORTH_RELEASE = 200_000
"""Number of operations in a batch, about 10 us, from which on Python's lock is released for other threads."""

HUGE = 100_000
"""Largest number of states in a batch that one thread computes directly. Larger ones go to the ordinary method, which raises the
error for too many."""


class Shape(NamedTuple):
    """Arguments and results of a method.

    Attributes:
        names: names of the inputs.
        inputs: for each input, its size and the bits of the magnitude that is too large.
        outputs: shapes of the outputs.
        margins: number of margins.
        q: index of q among the inputs; 0 if there is none.
    """

    names: tuple[str, ...]
    inputs: tuple[tuple[int, int], ...]
    outputs: tuple[tuple[int, ...], ...]
    margins: int
    q: int

    @staticmethod
    def of(kernel: Kernel) -> Shape | None:
        """Return the shape of a kernel's arguments and results, or None if there can be no direct entry."""
        program = kernel.program
        margins = program.outputs[-1].size if kernel.has_margins else 0
        ranks, results = [len(x.shape) for x in program.inputs], [len(shape) for shape in shapes(kernel)]
        if kernel.is_empty or kernel.dtype != np.float64 or set(ranks) != {1}:
            return None
        if max(margins, *(x.size for x in program.inputs)) > LARGEST or len(ranks) + len(results) >= ARGUMENTS:
            return None  # one is for margins
        if len(ranks) > ROWS["input"][0] or len(results) > ROWS["output"][0] or max(results) > 3:
            return None
        if 0 in results[1:] or results[0] == 0 < len(results) - 1:
            return None  # a number in a tuple
        names = [x.name for x in program.inputs]
        limits = tuple((x.size, FAR_BITS if x.name == "q" else INFINITE_BITS) for x in program.inputs)
        return Shape(tuple(names), limits, shapes(kernel), margins, names.index("q") if "q" in names else 0)

    @property
    def sizes(self) -> list[int]:
        """Number of elements of each array for one state: inputs, outputs and margins."""
        margins = [self.margins] if self.margins else []
        return [size for size, _ in self.inputs] + [math.prod(shape) for shape in self.outputs] + margins


def shapes(kernel: Kernel) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of a kernel's outputs without margins."""
    return tuple(x.shape for x in kernel.shown)


class Direct:
    """The table of a method, with all objects whose addresses it contains. It must live as long as the entry. `fixed`: addresses
    that follow the table."""

    def __init__(
        self,
        shape: Shape,
        options: Sequence[str],
        quaternions: Sequence[int],
        result_type: type | None,
        fixed: Sequence[int] = (),
    ) -> None:
        self.shape, self.quaternions, self.result_type = shape, quaternions, result_type
        self.options = tuple(map(sys.intern, options))  # interned, as names of keywords are
        self.known = {*self.options, OUT}
        self.ways: list[tuple[tuple[Any, ...], Kernel]] = []
        self.lock = threading.Lock()
        words = (
            dict.fromkeys(WORDS, 0) | addresses() | {"next": entries().loop, "result_type": id(result_type) if result_type else 0}
        )
        words |= {"inputs": len(shape.inputs), "outputs": len(shape.outputs), "margins": shape.margins, "q": shape.q}
        words |= {"options": len(self.options), "quaternions": len(quaternions), "worth_loop": BATCH, "out": id(OUT)}
        words["tuple_type"] = id(tuple)
        rows = {
            "input": shape.inputs,
            "output": [(math.prod(s), len(s), *s, *(0,) * (3 - len(s))) for s in shape.outputs],
            "option": [(id(name),) for name in self.options],
            "quaternion": [(start,) for start in quaternions],
            "way": (),
        }
        numbers = list(words.values())
        for name, (count, width) in ROWS.items():
            numbers += [x for row in rows[name] for x in row] + [0] * ((count - len(rows[name])) * width)
        self.table = struct.pack(f"<{TABLE + len(fixed)}q", *numbers, *fixed)

    @staticmethod
    def of(kernels: Kernels, quantity: str, options: Sequence[str], result_type: type | None) -> Direct | None:
        """Return the table of a quantity of a robot, or None if there can be no direct entry."""
        model = kernels.model
        quaternions = [c.q.start for c in model.mechanism.coordinates if c.parts[0].quaternion]
        if model.variables or len(quaternions) > ROWS["quaternion"][0] or not layout.has_direct_entry():
            return None
        kernel = kernels.any_kernel(quantity) if options else kernels.kernel(quantity, DOUBLE, {})
        shape = Shape.of(kernel) if kernel else None
        if kernel is None or shape is None:
            return None
        direct = Direct(shape, options, quaternions, result_type)
        if not options:
            direct.learn((), kernel)
        return direct

    @staticmethod
    def bound(kernel: Kernel, arrays: Sequence[np.ndarray], result: object, fallback: Callable) -> Callable | None:
        """Return a function without arguments that runs a kernel on fixed arrays (inputs, then outputs) and returns `result`, or
        `fallback()` in states that may end in an error; None if there can be no direct entry."""
        shape = Shape.of(kernel) if layout.has_direct_entry() else None
        if shape is None:
            return None
        direct = Direct(shape, (), (), None, [id(result), *(a.ctypes.data for a in arrays), *[0] * (ARGUMENTS - len(arrays))])
        direct.learn((), kernel)
        code = bounds().engine.get_function_address(f"bound{len(shape.inputs)}" if direct.is_plain else "bound")
        return direct.made(kernel.program.name, code, fallback, NOARGS, "", (arrays, result))

    def entry(self, name: str, fallback: Callable, doc: str) -> Callable:
        """Return the builtin that replaces the ordinary method (`fallback`), and calls it if necessary."""
        names = [*self.shape.names, *(f"{option}=None" for option in self.options), "**options"]
        code = entries().engine.get_function_address(f"entry{len(self.shape.inputs)}") if self.is_plain else general().loop
        return self.made(name, code, fallback, FASTCALL_KEYWORDS, f"{name}({', '.join(names)})\n--\n\n{doc}")

    def made(self, name: str, code: int, fallback: Callable, flags: int, doc: str, owned: object = None) -> Callable:
        """Return a builtin that runs the machine code at this address, which reads the table; it keeps `owned` alive."""
        definition = MethodDef(name.encode(), code, flags, doc.encode())
        return builtin(definition, holder(name)((fallback, self.table, definition, owned, [self])))

    @property
    def is_plain(self) -> bool:
        """True if the method has the faster entry for one state: few inputs, one array as result, no options and no quaternions."""
        few = len(self.shape.outputs) == 1 and len(self.shape.inputs) <= entry_ir.MOST and self.shape.outputs[0] != ()
        return few and not self.options and not self.quaternions

    def generalise(self) -> None:
        """Pass calls that the fastest entry does not take on to the general one. It is not compiled before it is needed."""
        self.set(WORD["next"], general().loop)

    def set(self, place: int, value: int) -> None:
        """Write a word of the table."""
        ctypes.c_int64.from_address(id(self.table) + BYTES + 8 * place).value = value

    def learn_call(self, kernels: Kernels, quantity: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        """Enter the kernel for the options of a call into the table, so that further calls with these options go directly to it."""
        inputs = len(self.shape.inputs)
        named = {name: value for name, value in options.items() if name != "out"}
        chosen = dict.fromkeys(self.options) | dict(zip(self.options, arguments[inputs:])) | named
        known = len(chosen) == len(self.options) and all(value is None or type(value) is str for value in chosen.values())
        if known and len(arguments) >= inputs:
            given = {name: value for name, value in chosen.items() if value is not None}
            self.learn(tuple(chosen.values()), kernels.kernel(quantity, DOUBLE, given))
            self.generalise()

    def learn(self, chosen: tuple[Any, ...], kernel: Kernel) -> None:
        """Enter the kernel for these options into the table, with its loop over many states if that has been compiled.

        A kernel whose results have another shape than the table's (coordinates of a rotation may be three numbers or four) is not
        entered: calls with its options take the ordinary way.
        """
        if Shape.of(kernel) != self.shape:
            return
        with self.lock:
            known = next((k for k, (values, _) in enumerate(self.ways) if all(a is b for a, b in zip(values, chosen))), None)
            if known is None and len(self.ways) == ROWS["way"][0]:
                return
            number = len(self.ways) if known is None else known
            place = PLACE["way"] + number * ROWS["way"][1]
            if known is None:
                self.ways.append((chosen, kernel))
                for k, value in enumerate(chosen):
                    self.set(place + k, id(value) if value is not None else 0)
                self.set(place + WAY_KERNEL, kernel.single_address)
                if number == 0:
                    self.set(WORD["kernel"], kernel.single_address)
                    self.set(WORD["most"], HUGE if is_one_by_default() else WORTH_THREADS // max(kernel.length, 1))
                    self.set(WORD["release"], max(WORTH_RELEASE // max(kernel.length, 1), 1))
        with self.lock:  # acquired again, so that a thread that reads the new number of ways also sees all words of the new way
            self.set(WORD["ways"], max(word_at(id(self.table) + BYTES + 8 * WORD["ways"]), number + 1))
            loop, task = kernel.watched_loop
            if loop and are_raised():
                self.set(place + WAY_TASK, task)
                self.set(place + WAY_LOOP, loop)


def admit(entry: Callable, kind: type, function: Callable) -> None:
    """Make a direct entry pass calls whose first argument is of this type to a function, which returns None if it has no result.

    The caller must keep type and function alive as long as the entry's ordinary method.
    """
    direct: Direct = entry.__self__[-1][0]  # type: ignore[attr-defined]
    direct.generalise()
    direct.set(WORD["guest_function"], id(function))
    direct.set(WORD["guest"], id(kind))


@cache
def addresses() -> dict[str, int]:
    """Return the addresses of the functions and types of Python and NumPy that the code needs."""
    python = {"vectorcall": "PyObject_Vectorcall", "incref": "Py_IncRef", "decref": "Py_DecRef"}
    python |= {"save": "PyEval_SaveThread", "restore": "PyEval_RestoreThread", "forget_error": "PyErr_Clear"}
    found = {name: layout.function_address(symbol) for name, symbol in python.items()}
    arrays, ufuncs = layout.array_api(), layout.ufunc_api()
    found |= {"array_type": arrays[layout.ARRAY_TYPE], "array_new": arrays[layout.ARRAY_NEW], "float64": id(np.dtype(np.float64))}
    found["scalar_of"] = arrays[layout.ARRAY_RETURN]
    return found | {"none": id(None), "clear_flags": ufuncs[layout.CLEAR_FLAGS], "get_flags": ufuncs[layout.GET_FLAGS]}


# Machine code, compiled or found in the cache when it is first needed. It is never released, since tables and functions have its
# addresses; two threads that need it at the same time may load it twice.

_kept: list[Code] = []


def kept(lines: Iterable[str], symbol: str) -> Code:
    """Return the code of the function `symbol` of a module."""
    code = load_module("\n".join(lines) + "\n", symbol, this_computer())
    _kept.append(code)
    return code


@cache
def entries() -> Code:
    """Return the code of the fastest entries; its `loop` passes a call on to the ordinary method."""
    return kept(entry_ir.module(), "passed_on")


@cache
def general() -> Code:
    """Return the code of the general entry, its `loop`."""
    return kept(direct_ir.module(), "direct")


@cache
def bounds() -> Code:
    """Return the code of the entries to bound quantities."""
    from qddot.compile import bound_ir

    return kept(bound_ir.module(), "bound")
