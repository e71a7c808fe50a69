"""Every load and store of a kernel stays within its arrays: read off the emitted IR, whose addresses are constant."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pytest

import qddot
from qddot.compile.kernel_ir import is_short
from qddot.compile.llvm import module_text, single_lanes, this_computer, wide_lanes
from qddot.graph.program import Program

SIZES = {"i8": 1, "i64": 8, "double": 8, "float": 4, "ptr": 8}
DEFINE = re.compile(r"define (?:internal )?void @([\w.]+)\((.*)\)")
ADDRESS = re.compile(r"(%[\w.]+) = getelementptr (?:inbounds )?(.+?), ptr (%[\w.]+), i64 (-?\d+)$")
ROOM = re.compile(r"(%[\w.]+) = alloca i8, i64 (\d+)")
ELSEWHERE = re.compile(r"(%[\w.]+) = load ptr, ptr (%[\w.]+)")
LOAD = re.compile(r"%[\w.]+ = load (.+?), ptr (%[\w.]+)")
STORE = re.compile(r"store (.+?) (?:%[\w.]+|<.*>|-?[\w.]+), ptr (%[\w.]+)")
VECTOR = re.compile(r"v(\d+)f(\d+)")
CALL = re.compile(r"call void @([\w.]+)\((.*)\)")


def size(kind: str) -> int:
    """Bytes of a type."""
    vector = re.fullmatch(r"<(\d+) x (\w+)>", kind)
    return int(vector[1]) * SIZES[vector[2]] if vector else SIZES[kind]


class Pointer(NamedTuple):
    """So many bytes from the beginning of something."""

    root: str
    offset: int


class Walk:
    """Follows the functions of a kernel, and notes how far each array is reached."""

    def __init__(self, text: str) -> None:
        self.functions: dict[str, tuple[list[str], list[str]]] = {}
        body: list[str] = []
        for line in text.split("\n"):
            if found := DEFINE.match(line):
                body = []
                self.functions[found[1]] = re.findall(r"(%[\w.]+)", found[2]), body
            elif line != "}":
                body.append(line.strip())
        self.reach: dict[str, list[int]] = {}
        self.accesses = 0

    def touch(self, at: Pointer, count: int) -> None:
        low, high = self.reach.get(at.root, [at.offset, at.offset])
        self.reach[at.root] = [min(low, at.offset), max(high, at.offset + count)]
        self.accesses += 1

    def follow(self, name: str, arguments: list[Pointer]) -> None:
        names, body = self.functions[name]
        at = dict(zip(names, arguments, strict=True))
        rooms: list[tuple[str, int]] = []
        for line in body:
            if found := ROOM.match(line):
                at[found[1]] = Pointer(f"{name} {found[1]}", 0)
                rooms.append((f"{name} {found[1]}", int(found[2])))
            elif found := ADDRESS.match(line):
                base = at[found[3]]
                at[found[1]] = Pointer(base.root, base.offset + int(found[4]) * size(found[2]))
            elif "getelementptr" in line or "phi ptr" in line or "inttoptr" in line:
                raise AssertionError(f"{name}: an address that is not constant: {line}")
            elif found := ELSEWHERE.match(line):  # memory that is asked for, and neither read nor written
                self.touch(at[found[2]], size("ptr"))
                at[found[1]] = Pointer("elsewhere", 0)
            elif (found := LOAD.match(line)) or (found := STORE.match(line)):
                self.touch(at[found[2]], size(found[1].replace("volatile ", "")))
            elif found := CALL.match(line.removeprefix("tail ")):
                self.call(found[1], re.findall(r"(?:ptr|i64)(?: noalias)? (%[\w.]+|\d+)", found[2]), at)
        for root, most in rooms:
            low, high = self.reach.get(root, [0, 0])
            assert low >= 0
            assert high <= most, f"{root}: {high} of {most} bytes"

    def call(self, name: str, given: list[str], at: dict[str, Pointer]) -> None:
        if name.startswith("sincos"):  # n vectors of angles in, twice as many out
            width, bits = (int(x) for x in VECTOR.findall(name)[0])
            vector = width * bits // 8
            self.touch(at[given[0]], int(given[2]) * vector)
            self.touch(at[given[1]], 2 * int(given[2]) * vector)
        elif name.startswith("kernel"):
            self.follow(name, [at[x] for x in given])


def elements(program: Program) -> dict[str, int]:
    return {f"in{k}": x.size for k, x in enumerate(program.inputs)} | {f"out{k}": x.size for k, x in enumerate(program.outputs)}


PROGRAMS = [
    ("two_link", "inverse_dynamics"),
    ("puma560", "mass_matrix"),
    ("puma560", "forward_dynamics"),
    ("puma560", "inverse_dynamics_derivatives"),  # in parts
    ("arm7", "regressor"),
]


@pytest.mark.parametrize(("robot", "quantity"), PROGRAMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_kernel_for_one_state_stays_within_its_arrays(robot, quantity, dtype):
    dtype = np.dtype(dtype)
    program = qddot.load(robot).program(quantity)
    walk = Walk(module_text(program, single_lanes(dtype, this_computer())))
    name = f"kernel.f{8 * dtype.itemsize}"
    walk.follow(name, [Pointer(x.removeprefix("%"), 0) for x in walk.functions[name][0]])
    assert walk.accesses > 10
    for array, count in elements(program).items():
        low, high = walk.reach.get(array, [0, 0])
        assert low >= 0
        assert high <= count * dtype.itemsize, f"{array}: {high} of {count * dtype.itemsize} bytes"
    written = [array for array in elements(program) if array.startswith("out")]
    assert all(walk.reach[array][1] == elements(program)[array] * dtype.itemsize for array in written)


@pytest.mark.parametrize(("robot", "quantity"), PROGRAMS)
def test_a_kernel_for_many_states_stays_within_rooms_of_the_loop(robot, quantity):
    """Its inputs are W states each; what it leaves is read from rooms that the loop allocates."""
    dtype, computer = np.dtype(float), this_computer()
    lanes = wide_lanes(dtype, computer)
    program = qddot.load(robot).program(quantity)
    text = module_text(program, lanes)
    name = f"kernel.v{lanes.width}f64"
    assert (f"@{name}(" in text) == (not is_short(program, lanes))
    if is_short(program, lanes):  # it is part of the loop, which the other test walks through
        return
    walk = Walk(text)
    walk.follow(name, [Pointer(x.removeprefix("%"), 0) for x in walk.functions[name][0]])
    assert "elsewhere" not in walk.reach
    rooms = rooms_of_loop(walk.functions["loop"][1])
    for array, (low, high) in walk.reach.items():
        assert low >= 0
        if array.startswith("in"):
            assert high <= lanes.width * dtype.itemsize * elements(program)[array]
        elif array in rooms:
            assert high <= rooms[array], f"{array}: {high} of {rooms[array]} bytes"


def rooms_of_loop(body: list[str]) -> dict[str, int]:
    """Bytes from the start of each room within `%even` to the next."""
    most = max(int(found[2]) for line in body if (found := ROOM.match(line)))
    inside = [found for line in body if (found := ADDRESS.match(line)) and found[2] == "i8" and found[3] == "%even"]
    parts = {found[1]: int(found[4]) for found in inside}
    starts = sorted({*parts.values(), most})
    return {name.removeprefix("%"): next((s for s in starts if s > at), most) - at for name, at in parts.items()}


def test_an_address_beyond_is_seen():
    """The walk itself can fail."""
    program = qddot.load("two_link").program("inverse_dynamics")
    text = module_text(program, single_lanes(np.dtype(float), this_computer()))
    walk = Walk(text.replace("ptr %out0, i64 1", "ptr %out0, i64 2"))
    walk.follow("kernel.f64", [Pointer(x.removeprefix("%"), 0) for x in walk.functions["kernel.f64"][0]])
    assert walk.reach["out0"][1] > 16
    walk = Walk(re.sub(r"alloca i8, i64 \d+", "alloca i8, i64 8", text))
    with pytest.raises(AssertionError, match="of 8 bytes"):
        walk.follow("kernel.f64", [Pointer(x.removeprefix("%"), 0) for x in walk.functions["kernel.f64"][0]])
