"""The derivation that a small robot's page carries, and which of its steps makes which quantity."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qddot.errors import QddotError
from qddot.model.model import Model
from qddot.symbolic.derivation import derive


def derivation(model: Model) -> dict[str, Any] | None:
    """Its document, without a frame, and the number of the step that makes each quantity; None where there is none for this
    robot."""
    try:
        found = derive(model, "jacobian", "given")
    except QddotError:  # of a joint with quaternions, say: the page does without
        return None
    html = replace(found, figure=None).html()  # the page has a better one
    body = html[html.index("<body") :]
    inside = body[body.index(">") + 1 : body.rindex("</body>")]
    return {"body": inside, "steps": {quantity: k for k, step in enumerate(found.steps, 1) for quantity in step.makes}}
