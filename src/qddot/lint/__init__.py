"""Checks for probable mistakes in descriptions: findings with a code, a severity and a fix; `lint(path)` checks a file."""

from __future__ import annotations

import re
import warnings
from os import PathLike
from typing import IO, Any

from qddot.errors import ModelError, ModelWarning, UnboundSymbolError, near_matches
from qddot.formats import read_model
from qddot.formats.reach import Reach
from qddot.formats.source import Description, from_file, from_stream
from qddot.formats.text import symbol_places, values_in
from qddot.lint.finding import RULES, Finding, Severity
from qddot.lint.geometry import geometry_findings
from qddot.lint.inertias import inertia_findings
from qddot.lint.joints import joint_findings
from qddot.lint.weight import weight_findings
from qddot.model.model import Model
from qddot.robot import Robot
from qddot.room import not_to_be_called

__all__ = ["RULES", "Finding", "Severity", "findings_of", "lint"]


def lint(source: str | PathLike[str] | IO[Any], **how: Any) -> list[Finding]:
    """Return all findings about a description, the worst first; for one that cannot be read, the errors and the warnings before
    them.

    >>> from qddot.lint import lint
    >>> [finding.code for finding in lint("two_link")]
    ['QD305', 'QD305']

    Args:
        source, how: as in `qddot.load`.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            description = from_stream(source) if hasattr(source, "read") else from_file(source)  # type: ignore[arg-type]
            model = Robot(read_model(description, **how)).model  # a `Robot` refuses more than a `Model`
            found = open_symbols(description, model) if model.symbols else findings_of(model)
        except ModelError as error:
            found = [finding_of("QD001", each.args[0]) for each in (error, *error.others)]
    kept = [finding_of("QD101", str(w.message)) for w in caught if issubclass(w.category, ModelWarning)]
    return sorted([*kept, *found], key=lambda finding: (finding.severity, finding.code))


def open_symbols(description: Description, model: Model) -> list[Finding]:
    """Return findings about symbols without a value: an error if other symbols have one, a note if none has."""
    values, places = values_in(description), symbol_places(description, Reach(description.path))
    names = sorted(map(str, model.symbols))
    if not values:
        listed = ", ".join(names)
        return [Finding("QD211", f"{model.name} has symbols without values, {listed}: equations, but no numbers to judge")]
    found = []
    for name in names:
        hint = near_matches(name, values)
        fix = f"{hint if hint.startswith('did') else ''} give it one: values = {{{name} = ...}}".strip()
        found.append(Finding("QD002", f"the symbol {name!r} has no value", str(places.get(name, "")), fix))
    return found


def finding_of(code: str, message: str) -> Finding:
    """Return a message of a reader, which begins with the place and ends with the fix, as a finding."""
    place = re.match(r"(.*?:\d+(?::\d+)?): ", message)
    return Finding(code, message[place.end() :], place[1]) if place else Finding(code, message)


def findings_of(model: Model) -> list[Finding]:
    """Return findings about a robot that has been read: numbers that are probably mistakes.

    Raises:
        UnboundSymbolError: the robot has symbols, so its numbers are unknown.

    >>> [finding.code for finding in qddot.lint.findings_of(qddot.load("panda").model)]
    ['QD304']
    """
    if model.symbols:
        raise UnboundSymbolError(f"{model.name} holds symbols: give them values, then its numbers can be judged")
    return [*inertia_findings(model), *geometry_findings(model), *weight_findings(model), *joint_findings(model)]


not_to_be_called(__name__, "qddot.lint.lint(path)")
