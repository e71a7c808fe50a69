"""PyTorch tensors on the CPU: an operator that runs machine code, on as many threads as PyTorch has."""

from __future__ import annotations

from collections.abc import Iterable

from qddot.arrays.operation import Operation
from qddot.arrays.torch_ir import address, libtorch
from qddot.compile.phrases import at, constant, counted, put

GRAIN = 2_500_000
"""Least number of operations for each thread: about 0.1 ms."""


class OnCpu:
    """The part of an operator that depends on the device, for the CPU (see `torch_ir.Target`)."""

    key, place = "CPU", "the CPU"

    def __init__(self, operation: Operation) -> None:
        self.operation, self.device = operation, libtorch().aoti_torch_device_type_cpu()

    def declarations(self) -> Iterable[str]:
        return part(self.operation)

    def number(self) -> Iterable[str]:
        yield "%number = add i32 0, 0"

    def fits(self, i: int, after: str) -> Iterable[str]:
        yield f"fits{i}:\nbr label %{after}"

    def run(self) -> Iterable[str]:
        grain = max(16, GRAIN // max(1, len(self.operation.program.nodes)) // 16 * 16)
        yield f"""%small = icmp sle i64 %count, {grain}
br i1 %small, label %alone, label %shared
alone:
call void @part(i64 0, i64 %count, ptr %call)
br label %done
shared:
%ep = call i32 {address("torch_parallel_for")}(i64 0, i64 %count, i64 {grain}, ptr @part, ptr %call)
br label %done"""


def part(operation: Operation) -> Iterable[str]:
    """Define `void part(int64_t begin, int64_t end, void *call)`, which computes the states that `torch_parallel_for` assigns
    it."""
    n = len(operation.program.inputs) + len(operation.program.outputs)
    loop, task = map(constant, operation.kernel.loop())
    yield f"""define void @part(i64 %begin, i64 %end, ptr %call) nounwind {{
%args = alloca [{n} x ptr]
%count = alloca i64
%number = sub i64 %end, %begin
store i64 %number, ptr %count
%steps = getelementptr i8, ptr %call, i64 {8 * n}"""
    body = [at("%base", "%call", "%i", "ptr"), at("%step", "%steps", "%i", "i64"), "%offset = mul i64 %begin, %step"]
    body += ["%here = getelementptr i8, ptr %base, i64 %offset", put("ptr %here", "%args", "%i", "%arg")]
    yield from counted("i", str(n), body)
    yield f"call void {loop}(ptr %args, ptr %count, ptr %steps, ptr {task})\nret void\n}}"
