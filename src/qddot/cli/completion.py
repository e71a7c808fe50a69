"""Command: print the script with which a shell completes commands, options and their values."""

from __future__ import annotations

import click

from qddot.cli.arguments import json_option
from qddot.cli.printing import print_json

SHELLS = {"bash": "~/.bashrc", "zsh": "~/.zshrc", "fish": "~/.config/fish/completions/qddot.fish"}


@click.command()
@click.argument("shell", type=click.Choice(tuple(SHELLS)))
@json_option
def command(shell: str, as_json: bool) -> None:
    """Print the script that makes SHELL complete commands, options and their values: robots, quantities, frames, formats.

    \b
    eval "$(qddot completion bash)"   # in ~/.bashrc
    eval "$(qddot completion zsh)"    # in ~/.zshrc
    qddot completion fish > ~/.config/fish/completions/qddot.fish
    """
    from click.shell_completion import get_completion_class

    from qddot.cli import main

    found = get_completion_class(shell)
    assert found is not None, shell  # click has a class for each of SHELLS
    script = found(main, {}, "qddot", "_QDDOT_COMPLETE").source()
    if as_json:
        print_json({"shell": shell, "file": SHELLS[shell], "script": script})
    else:
        click.echo(script)
