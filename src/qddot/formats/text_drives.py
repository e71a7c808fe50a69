"""Drives in our own schema: the table `drive` of a joint, and the list `transmissions` (see `qddot.formats.text`)."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from qddot.formats.document import Node
from qddot.formats.expression import Scope
from qddot.formats.keys import Keys
from qddot.model.drive import Drive
from qddot.model.transmission import Transmission


def read_drive(keys: Keys) -> Drive | None:
    return _drive_of(keys.get("drive"), f"{keys.element} > drive", keys.scope) if "drive" in keys else None


def _drive_of(node: Node, element: str, scope: Scope) -> Drive:
    names = [field.name for field in fields(Drive)]
    table = Keys(node, element, names, scope)
    values: dict[str, Any] = {name: table.array(table.get(name), name) for name in names if name in table and name != "side"}
    if "side" in table:
        values["side"] = table.text("side")
    return table.made(Drive, **values)


def read_transmissions(top: Keys) -> list[Transmission]:
    found = []
    for i, node in enumerate(top.items("transmissions"), 1):
        keys = Keys(node, f"transmission {i}", ("joints", "matrix", "motors", "drives"), top.scope)
        found.append(
            keys.made(
                Transmission,
                joints=tuple(keys.texts("joints")),
                matrix=keys.array(keys.get("matrix"), "matrix"),
                drives=tuple(_drive_of(x, f"{keys.element} > drive {k}", top.scope) for k, x in enumerate(keys.items("drives"), 1)),
                motors=tuple(keys.texts("motors")) if "motors" in keys else (),
                place=node.place,
            )
        )
    return found
