"""The derivation in the page of a small robot, and the step that derives each quantity."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qddot.errors import QddotError
from qddot.model.model import Model
from qddot.symbolic.derivation import derive


def derivation(model: Model) -> dict[str, Any] | None:
    """Return the body of the derivation's document, and the number of the step that derives each quantity; None if this robot has
    no derivation."""
    try:
        found = derive(model, "jacobian", "given")
    except QddotError:  # for example a joint with quaternions: the page has no derivation then
        return None
    html = replace(found, figure=None).html()  # the page has a better one
    body = html[html.index("<body") :]
    inside = body[body.index(">") + 1 : body.rindex("</body>")]
    return {"body": inside, "steps": {quantity: k for k, step in enumerate(found.steps, 1) for quantity in step.makes}}
