"""Command: export code for NVIDIA's GPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from qddot.cli.arguments import QuantityName, chosen_options, frame_option, quantity_options_option, robot_argument, robot_options
from qddot.cli.printing import plainly, written


@click.command("export-ptx")
@robot_argument
@click.argument("file", type=click.Path(dir_okay=False))
@click.argument("quantity", type=QuantityName())
@click.option("--float", "single", is_flag=True, help="Single precision.")
@click.option(
    "--capability", default="7.0", show_default=True, metavar="X.Y", help="Compute capability of the GPU, or an older one."
)
@frame_option
@quantity_options_option
@robot_options
def command(
    robot: Any, file: str, quantity: str, single: bool, capability: str, frame: str | None, options: tuple[tuple[str, str], ...],
    as_json: bool, **how: Any,
) -> None:  # fmt: skip
    """Write QUANTITY of ROBOT as PTX, one thread per state; the driver of any NVIDIA GPU compiles it. No CUDA toolkit is needed.

    The comment at the head of the file says how to call it.

    \b
    qddot export-ptx arm7 arm7.ptx inverse_dynamics --capability 9.0
    """
    import qddot

    major, _, minor = capability.partition(".")
    if not (major.isdigit() and minor.isdigit()):
        raise click.BadParameter(f"{capability!r} is no compute capability such as 7.0 or 9.0", param_hint="--capability")
    if int(major) < 5:
        raise click.BadParameter(
            f"{capability} is older than 5.0 (Maxwell, 2014): give that or a newer one", param_hint="--capability"
        )
    with plainly("compiling for the GPU"):
        from qddot.compile.gpu.ptx import ptx
        from qddot.compile.gpu.thread import KERNEL, Shape
        from qddot.compile.gpu.thread_ir import source

        program = qddot.load(robot, **how).program(quantity, **chosen_options(options, frame))
        code = source(program, "float" if single else "double", Shape())
        text = ptx(code.text, (int(major), int(minor)))
        shapes = [f"{x.name} {list(x.shape)}" for x in (*program.inputs, *program.outputs)]
        head = [
            f"{quantity}, one thread a state: {', '.join(shapes)}; {'float' if single else 'double'}",
            f"{KERNEL}(states, then of each input its address and how many numbers its rows are apart, the address of each output,",
            "the address of a 64-bit number that is set to all ones before and holds the number of a bad state afterwards)",
            f"launch {code.threads} threads a block, ceil(states / {code.threads}) blocks, {code.shared} bytes of shared memory",
        ]
        Path(file).write_text("\n".join(f"// {line}" for line in head) + "\n" + text, encoding="utf-8")
    written([file], as_json)
