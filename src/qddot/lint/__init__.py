"""Is a description what its author meant? Findings with a code, a severity and a fix; `lint(path)` reads and judges a file."""

from __future__ import annotations

import warnings
from os import PathLike
from typing import IO, Any

from qddot.errors import ModelError, ModelWarning, UnboundSymbolError
from qddot.formats import load_model
from qddot.lint.finding import RULES, Finding, Severity
from qddot.lint.geometry import geometry_findings
from qddot.lint.inertias import inertia_findings
from qddot.lint.joints import joint_findings
from qddot.model.model import Model

__all__ = ["RULES", "Finding", "Severity", "findings_of", "lint"]


def lint(source: str | PathLike[str] | IO[Any], **how: Any) -> list[Finding]:
    """Everything doubtful about a description, the worst first; a description that cannot be read is one finding.

    >>> from qddot.lint import lint
    >>> [finding.code for finding in lint("two_link")]
    ['QD305']

    Args:
        source, how: as of `qddot.load`.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = load_model(source, **how)
        except ModelError as error:
            return [Finding("QD001", str(error), where=str(error.place) if error.file else "", fix=error.fix)]
    said = [Finding("QD101", str(w.message)) for w in caught if issubclass(w.category, ModelWarning)]
    return sorted([*said, *findings_of(model)], key=lambda finding: finding.severity)


def findings_of(model: Model) -> list[Finding]:
    """What is doubtful about a robot that has been read.

    Raises:
        UnboundSymbolError: the robot holds symbols: nothing can be said of numbers it does not have.
    """
    if model.symbols:
        raise UnboundSymbolError(f"{model.name} holds symbols: give them values, then its numbers can be judged")
    return [*inertia_findings(model), *geometry_findings(model), *joint_findings(model)]
