"""LLVM IR of the entries from Python to a quantity that is bound to fixed arrays (see `bound`): one for each number of inputs up to
`entry_ir.MOST` with one output, and one for all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from qddot.compile import entry_ir
from qddot.compile.direct_ir import one_state
from qddot.compile.direct_table import PLACE, ROWS, TABLE, function
from qddot.compile.phrases import at


def module() -> Iterator[str]:
    """Define all functions of these entries."""
    yield from entry_ir.looks()
    yield from one_state()
    yield from bound(
        "bound", ["%wrong = call i1 @one_state(ptr %table, ptr %kernel, ptr %arrays)\nbr i1 %wrong, label %slow, label %sound"]
    )
    for inputs in range(1, entry_ir.MOST + 1):
        yield from bound(f"bound{inputs}", computed(inputs))


def bound(name: str, compute: Iterable[str]) -> Iterator[str]:
    """Define `PyObject *name(PyObject *self, PyObject *unused)`. The address of its result, and those of the numbers of all arrays,
    follow the table. `compute`: IR that goes to `sound`, or to `slow` for the ordinary method."""
    yield f"define ptr @{name}(ptr %self, ptr %unused) nounwind {{\n" + entry_ir.table_of_self()
    yield f"%arrays = getelementptr i64, ptr %table, i64 {TABLE + 1}"
    yield function("%kernel", "kernel")
    yield from compute
    yield "sound:\n" + at("%result", "%table", TABLE, "ptr") + "\n" + function("%incref", "incref")
    yield "call void %incref(ptr %result)\nret ptr %result\nslow:"
    yield from entry_ir.ordinary("ptr null, i64 0, ptr null")


def computed(n: int) -> Iterator[str]:
    """Yield IR that computes one output from n inputs."""
    fixed = [*(f"%data{i}" for i in range(n)), "%room", "%margins_room"]
    yield from (at(name, "%arrays", k, "ptr") for k, name in enumerate(fixed))
    for i in range(n):
        yield at(f"%size{i}", "%table", PLACE["input"] + i * ROWS["input"][1], "i64")
        yield from entry_ir.within(i)
    yield from entry_ir.computed(n)
    yield "bad:\nbr label %slow"
