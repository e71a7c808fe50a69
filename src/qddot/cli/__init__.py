"""The command line: one file per command, loaded when it is called."""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from typing import Any

import click

GROUPS = {
    "A robot": {
        "catalog": "Robots that can be loaded by name.",
        "info": "Joints, limits, drives, mass and frames.",
        "check": "Errors and probable mistakes in a description.",
        "new": "Write a description to start from, or one from a DH table.",
        "convert": "Write a robot as URDF or TOML.",
        "parameters": "Dynamic parameters by name.",
        "verify": "Compare with Pinocchio and MuJoCo.",
    },
    "Numbers": {
        "compute": "Evaluate a quantity in one state, or in those of a file.",
        "simulate": "A motion over time: numbers, table, plot, film or page.",
        "explore": "An interactive page: one HTML file without a server.",
        "bench": "Speed on this machine.",
    },
    "On paper": {
        "equations": "The equations of motion in closed form.",
        "derive": "Derivation of the equations, as a document.",
        "properties": "Properties of the equations, and bounds.",
    },
    "Identification": {
        "identify": "Parameters from recordings, with a verdict.",
        "excitation": "A motion from which they can be identified best.",
    },
    "Code": {
        "export-c": "C99 functions and a self-test.",
        "export-js": "A JavaScript module.",
        "export-ptx": "Code for NVIDIA's GPUs.",
    },
    "This installation": {
        "doctor": "Versions, extras, cache, threads and GPU.",
        "completion": "Make the shell complete commands and robots.",
    },
}
"""The commands, grouped as in `--help`, with short descriptions, so that `--help` loads none of them."""

COMMANDS = tuple(sorted(name for commands in GROUPS.values() for name in commands))
WIDTH = max(map(len, COMMANDS))

MEANT = {
    **dict.fromkeys(("help", "commands"), "--help"),
    "version": "--version",
    **dict.fromkeys(("list", "robots", "search"), "catalog"),
    **dict.fromkeys(("load", "print", "describe"), "info ROBOT"),
    **dict.fromkeys(("lint", "validate"), "check ROBOT"),
    **dict.fromkeys(("init", "create"), "new FILE"),
    **dict.fromkeys(("plot", "animate", "run"), "simulate ROBOT -o motion.png"),
    **dict.fromkeys(("show", "view", "gui", "display"), "explore ROBOT"),
    **dict.fromkeys(("fk", "pose"), "compute ROBOT transform"),
    **dict.fromkeys(("torque", "rnea"), "compute ROBOT inverse_dynamics"),
    "export": "export-c ROBOT DIRECTORY QUANTITY",
}
"""Other words for commands -> the command."""


def meant(word: str) -> str:
    """Return a hint to the command for another word, for a quantity, or for a misspelt command."""
    from qddot.algorithms.quantities import QUANTITIES
    from qddot.errors import near_matches

    if word in MEANT or word in QUANTITIES:
        return f"did you mean qddot {MEANT.get(word, f'compute ROBOT {word}')}?"
    close = near_matches(word, COMMANDS)
    return close if close.startswith("did") else "qddot --help lists what there is"


class Commands(click.Group):
    """Commands by the name of their file. Every error is printed as one line, with a traceback only on request."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return import_module(f"qddot.cli.{cmd_name.replace('-', '_')}").command if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"no command {args[0]!r}: {meant(args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{WIDTH}}", words) for name, words in commands.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            raise with_hint(error) from None
        except (click.exceptions.Exit, click.Abort, SystemExit, BrokenPipeError):  # the latter: the reader of a pipe has ended
            raise
        except OSError as error:  # a full disk, a folder without permission to write
            drop_unwritten_output()
            raise click.ClickException(str(error)) from None
        except Exception as error:
            if os.environ.get("QDDOT_TRACEBACK"):
                raise
            words = f"{type(error).__name__}: {error}"
            hint = "this should not happen; QDDOT_TRACEBACK=1 shows where, for a report"
            raise click.ClickException(f"{words}\n{hint}") from None


def probably_meant(error: click.ClickException) -> str:
    """Return a hint for numbers of one option that are separated by blanks, and for closed forms into a file; else an empty
    text."""
    option = error.option_name if isinstance(error, click.NoSuchOption) else ""
    extra = re.search(r"unexpected extra arguments? \((.*)\)", error.message)
    if re.match(r"-[\d.]", option) or (extra and all(re.fullmatch(r"[-+\d.,e]+", word) for word in extra[1].split())):
        return "numbers of an option stand together, with commas: --q 0,-1.5,0"
    if option in ("-o", "--output") and isinstance(error, click.UsageError) and error.ctx and error.ctx.info_name == "equations":
        return f"qddot derive ROBOT {option} FILE writes .pdf, .html, .tex or .md"
    return ""


def with_hint(error: click.ClickException) -> click.ClickException:
    """Return the error with what was probably meant, wrapped between words."""
    from qddot.cli.printing import paragraph

    begin, message, hint = "Error: ", error.format_message(), probably_meant(error)
    message = f"{message.rstrip('.')}: {hint}" if hint else message
    text = paragraph(f"{begin}{message}", sys.stderr).removeprefix(begin)
    error.format_message = lambda: text
    return error


def drop_unwritten_output() -> None:
    """Discard output that a full disk did not take: Python would try to write it again at exit, and change the exit status."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


EXITS = "Exit status: 0 success, 1 an error, 2 a wrong call; the help of a command lists others."


@click.command(cls=Commands, epilog=EXITS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="qddot", prog_name="qddot", message="%(prog)s, version %(version)s")
def main() -> None:
    """Equations of motion of a robot, from its description.

    ROBOT is a file (URDF, xacro, MJCF, .toml, .json, .yaml), a name from `qddot catalog`, or - for a description on standard input.
    SI units and radians. Every command takes --json, for programs that read the answer.
    """


if __name__ == "__main__":
    main()
