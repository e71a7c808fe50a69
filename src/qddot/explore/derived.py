"""The derivation that a small robot's page carries, and which of its steps makes which quantity."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qddot.errors import QddotError
from qddot.model.model import Model
from qddot.symbolic.derivation import derive

MAKERS = {
    "mass_matrix": "mass matrix",
    "gravity_torque": "gravity",
    "coriolis_torque": "velocities",
    "coriolis_matrix": "velocities",
    "inverse_dynamics": "equations of motion",
}
"""Words in the title of the step that makes a quantity, from the Jacobians of the centres of mass."""


def derivation(model: Model) -> dict[str, Any] | None:
    """Its document, without a frame, and the titles of the steps; None where there is none for this robot."""
    try:
        found = derive(model, "jacobian", "given")
    except QddotError:  # of a joint with quaternions, say: the page does without
        return None
    html = replace(found, figure=None).html()  # the page has a better one
    body = html[html.index("<body") :]
    inside = body[body.index(">") + 1 : body.rindex("</body>")]
    titles = [step.title for step in found.steps]
    steps = {quantity: next((x for x in titles if word in x.lower()), titles[-1]) for quantity, word in MAKERS.items()}
    return {"body": inside, "steps": steps}
