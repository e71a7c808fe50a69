"""IR of a kernel for a GPU that repeats a program: its first outputs become its first inputs, and stay in registers.

    kernel(states, samples, every, dt, (row, stride) of each state input..., (row, stride, hop) of the others..., out..., worst)

The state is read once, and stored after every `every` rounds: `out` has samples + 1 states for each motion, the first as read. The
inputs `dt` and `t` (the step's number times dt) are computed by the kernel. The others are read in each step, `hop` numbers further
each time, 0 for those that stay the same. A program with an input `stage` is run four times a step, with the number of the stage.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from qddot.compile.fused import fused_products
from qddot.compile.gpu.dialects import NVIDIA, Dialect
from qddot.compile.gpu.thread import WARP, Shape, Source, Thread
from qddot.compile.lanes import Lanes
from qddot.graph.expr import Expr
from qddot.graph.program import Program

OWN = ("t", "dt", "stage")
STAGES = 4

FAST = 1e9
"""Speed, in rad/s or m/s, beyond which a motion has diverged."""


def loop_source(program: Program, real: str, kept: tuple[int, ...], shape: Shape, dialect: Dialect = NVIDIA) -> Source:
    """Return the IR for a program whose outputs, without margins, are its first inputs after a step. `kept`: those to be stored."""
    return LoopKernel(program, Lanes(1, real), kept, shape, dialect).source()


class LoopKernel(Thread):
    """Emitter of such a kernel."""

    def __init__(self, program: Program, lanes: Lanes, kept: tuple[int, ...], shape: Shape, dialect: Dialect) -> None:
        super().__init__(program, lanes, shape, dialect)
        self.stored, self.states = kept, len(self.outputs)
        self.threads = shape.threads or 2 * WARP
        names = [x.name for x in program.inputs]
        self.read = [k for k in range(self.states, len(names)) if names[k] not in OWN]
        self.has_stages = "stage" in names
        elements = [(k, e) for k, x in enumerate(program.inputs[: self.states]) for e in range(x.size)]
        self.after = {(k, e): self.outputs[k].values[e] for k, e in elements}
        self.given = {place: "%x{}_{}".format(*place) for place in elements}
        self.given |= {(names.index(name), 0): f"%{name}" for name in OWN if name in names}

    @cached_property
    def fused(self) -> set[Expr]:
        """Products that become part of a sum on the CPU, whose program has all four stages."""
        shared = self.shared_by_stages() if self.has_stages else ()
        return fused_products(self.program.nodes, self.places, shared)

    def shared_by_stages(self) -> set[Expr]:
        """Return the products that are equal in all stages but used by values that are not: in a program with all stages, each
        stage uses them, so they are not fused."""
        moving: set[Expr] = set()
        found: set[Expr] = set()
        for node in self.program.nodes:
            if node.op == "var":
                name = self.program.inputs[node.args[0]].name
                is_moving = node.args[0] < self.states or name == "stage"
            else:
                is_moving = any(a in moving for a in node.args)
            if is_moving:
                moving.add(node)
                found.update(a for a in node.args if a.__class__ is Expr and a.op == "*" and a not in moving)
        return found

    def define(self) -> Iterable[str]:
        real = self.lanes.real
        starts = [f"ptr noalias readonly %base{k}, i64 %stride{k}" for k in range(self.states)]
        read = [f"ptr noalias readonly %base{k}, i64 %stride{k}, i64 %hop{k}" for k in self.read]
        outputs = [f"ptr noalias writeonly %out{k}" for k in self.stored]
        yield from self.begin(["i64 %states", "i32 %samples", "i32 %every", f"{real} %dt", *starts, *read, *outputs, "ptr %worst"])
        yield "%any = icmp ult i64 %mine, %states\nbr i1 %any, label %work, label %done\nwork:\n%state = add i64 %mine, 0"
        for k in range(self.states):
            yield f"%at{k} = mul i64 %state, %stride{k}\n%in{k} = getelementptr {real}, ptr %base{k}, i64 %at{k}"
        for k, e in self.after:
            yield f"%from{k}_{e} = getelementptr {real}, ptr %in{k}, i64 {e}\n%s{k}_{e} = load {real}, ptr %from{k}_{e}"
        for k in self.read:
            yield f"%at{k} = mul i64 %state, %stride{k}\n%row{k} = getelementptr {real}, ptr %base{k}, i64 %at{k}"
        yield from self.keep("begin", "0", {place: "%s{}_{}".format(*place) for place in self.after})
        yield "br label %sample"
        yield from self.loop()
        yield "end:"
        for k, e in self.after:
            yield from self.watched(self.after[k, e])
        yield from self.report("%slow")

    def loop(self) -> Iterable[str]:
        """Yield the loop over samples, and in it the loop over steps."""
        real, ends = self.lanes.real, {place: self.value(x) for place, x in self.after.items()}
        yield "sample:\n%j = phi i32 [ 0, %work ], [ %j1, %keep ]\n%sound_j = phi i1 [ true, %work ], [ %slow, %keep ]"
        for (k, e), end in ends.items():
            yield f"%y{k}_{e} = phi {real} [ %s{k}_{e}, %work ], [ {end}, %keep ]"
        yield "%before = mul i32 %j, %every\nbr label %step"
        yield "step:\n%i = phi i32 [ 0, %sample ], [ %i1, %step ]\n%sound_i = phi i1 [ %sound_j, %sample ], [ %sound, %step ]"
        for (k, e), end in ends.items():
            yield f"%x{k}_{e} = phi {real} [ %y{k}_{e}, %sample ], [ {end}, %step ]"
        yield f"%round = add i32 %before, %i\n%count = udiv i32 %round, {STAGES if self.has_stages else 1}"
        if self.has_stages:
            yield f"%stage_whole = and i32 %round, {STAGES - 1}\n%stage = uitofp i32 %stage_whole to {real}"
        yield f"%count_real = uitofp i32 %count to {real}\n%t = fmul {real} %count_real, %dt\n%count_wide = zext i32 %count to i64"
        for k in self.read:
            yield f"%skip{k} = mul i64 %count_wide, %hop{k}\n%in{k} = getelementptr {real}, ptr %row{k}, i64 %skip{k}"
        self.good = "%sound_i"
        for node in self.in_order([*self.after.values(), *self.margins]):
            yield from self.instruction(node)
        yield from self.sound()
        yield "%i1 = add i32 %i, 1\n%more = icmp ult i32 %i1, %every\nbr i1 %more, label %step, label %keep\nkeep:"
        yield "%j1 = add i32 %j, 1"
        yield from self.runs_away(ends)
        yield from self.keep("kept", "%j1", {place: f"%shown{place[0]}_{place[1]}" for place in ends})
        yield "%again = icmp ult i32 %j1, %samples\nbr i1 %again, label %sample, label %end"

    def keep(self, tag: str, sample: str, values: dict[tuple[int, int], str]) -> Iterable[str]:
        """Yield IR that stores the state as a sample of the results."""
        real = self.lanes.real
        yield f"%{tag}_j = zext i32 {sample} to i64\n%{tag}_before = mul i64 %{tag}_j, %states"
        yield f"%{tag}_row = add i64 %{tag}_before, %state"
        for k in self.stored:
            size = self.outputs[k].size
            yield f"%{tag}_at{k} = mul i64 %{tag}_row, {size}\n%{tag}_to{k} = getelementptr {real}, ptr %out{k}, i64 %{tag}_at{k}"
            for e in range(size):
                place = f"%{tag}{k}_{e}"
                yield f"{place} = getelementptr {real}, ptr %{tag}_to{k}, i64 {e}\nstore {real} {values[k, e]}, ptr {place}"

    def runs_away(self, values: dict[tuple[int, int], str]) -> Iterable[str]:
        """Yield IR for %slow, true if %sound and no velocity of this sample exceeds `FAST`, and for %shown..., the state or NaN."""
        real, sound = self.lanes.real, "%sound"
        for (k, e), value in values.items():
            if k == self.stored[-1]:
                name = f"{k}_{e}"
                yield f"%size{name} = {self.lanes.call('fabs', value)}"
                yield f"%small{name} = fcmp olt {real} %size{name}, {self.lanes.literal(FAST)}"
                yield f"%slow{name} = and i1 {sound}, %small{name}"
                sound = f"%slow{name}"
        yield f"%slow = and i1 {sound}, true"
        for k in self.stored:
            for e in range(self.outputs[k].size):
                nothing = f"{real} {self.lanes.literal(float('nan'))}"
                yield f"%shown{k}_{e} = select i1 %slow, {real} {values[k, e]}, {nothing}"
