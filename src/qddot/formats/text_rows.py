"""Rows of tables and trees in our own schema: the keys for a link and its joint (see `qddot.formats.text`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from qddot.formats.keys import Keys
from qddot.formats.text_drives import read_drive
from qddot.formats.text_inertia import read_inertia
from qddot.model.description import Limits, Mimic
from qddot.model.faults import Faults
from qddot.place import Place, TablePlace

ROW = ("name", "joint_name", "inertia", "limits", "drive", "mimic")


def read_row(keys: Keys) -> dict[str, Any]:
    """Return the parts of one row; None for a part that it does not have."""
    parts: dict[str, Callable[[], Any]] = {
        "name": lambda: keys.text("name") if "name" in keys else None,
        "joint_name": lambda: keys.text("joint_name") if "joint_name" in keys else None,
        "inertia": lambda: read_inertia(keys, "inertia"),
        "inertia_place": lambda: _inertia_place(keys),
        "limits": lambda: _limits(keys),
        "drive": lambda: read_drive(keys),
        "mimic": lambda: _mimic(keys),
    }
    faults, said = Faults(), {}
    for part, read in parts.items():
        with faults:
            said[part] = read()
    faults.tell()
    return said


def _inertia_place(keys: Keys) -> Place | None:
    """Return the place of a link's inertia, with which most errors of a link have to do; for its name, that of the name."""
    return TablePlace(*keys.get("inertia").place, {"name": keys.node.place.of("name")}) if "inertia" in keys else None


def as_columns(rows: list[dict[str, Any]]) -> dict[str, list]:
    """Return a list for each part, as `dh_model` and `screws_model` take them."""
    named = {
        "name": "link_names",
        "joint_name": "joint_names",
        "inertia": "inertias",
        "inertia_place": "places",
        "limits": "limits",
        "drive": "drives",
        "mimic": "mimics",
    }
    return {column: [extra[key] for extra in rows] for key, column in named.items()}


def _limits(keys: Keys) -> Limits | None:
    if "limits" not in keys:
        return None
    node = keys.get("limits")
    if isinstance(node.value, list):
        subject = keys.subject(node)
        return Limits(*(subject.real("limits", x) for x in keys.vector("limits", size=2)))
    names = [field.name for field in fields(Limits)]
    table = Keys(node, f"{keys.element} > limits", names, keys.scope)
    return Limits(**{name: table.real(name, 0.0) for name in names if name in table})


def _mimic(keys: Keys) -> Mimic | None:
    if "mimic" not in keys:
        return None
    if isinstance(keys.get("mimic").value, str):
        return Mimic(keys.text("mimic"))
    table = Keys(keys.get("mimic"), f"{keys.element} > mimic", ("joint", "multiplier", "offset"), keys.scope)
    return Mimic(table.text("joint"), table.number("multiplier", 1.0), table.number("offset", 0.0))
