"""qddot's own description of a robot: one schema, written as TOML, JSON or YAML.

    name = "elbow"                       # the file's name by default
    gravity = [0, -9.81, 0]              # m/s^2 in base axes; (0, 0, -9.81) by default
    values = {l1 = 0.5, m1 = 1.2}        # numbers for symbols; a symbol without one stays open

    [[dh]]                               # one row a joint: a, alpha, d, theta; what is left out is 0
    a = "l1"
    theta = "pi/2"
    name = "upper"                       # of the link
    inertia = {shape = "solid_cylinder", mass = "m1", radius = 0.04, length = "l1", axis = "x", com = ["-l1/2", 0, 0]}

A number is a number, or a text with arithmetic: `+ - * / **`, parentheses, `pi`, `sin cos tan sqrt`, and names of symbols.
With a list `symbols = ["m1", ...]` only these names (and those of `values`) are accepted, which catches misspelt ones.
SI units and radians throughout.

A file describes the robot in one of three ways:

`dh`
    A list of rows `[a, alpha, d, theta]`, or of tables with these keys and `type` (`"revolute"`, `"prismatic"`). Beside it
    `convention`, `"standard"` or `"modified"` (Craig).
`screws` (short `S`), or `body_screws` (short `B`)
    A list of `[wx, wy, wz, vx, vy, vz]`, or of tables with the key `screw` and `home`, the pose of the link's frame at q = 0.
    Beside it `tool` (short `M`), the pose of the tool at q = 0, and `relative = true` where each pose is given in the frame
    before it.
`bodies`
    A list of tables: `name`, `parent` (the base by default), `type` (any joint, `"revolute"` by default), `axis` (`"z"`),
    `xyz` and `rpy` or `rpy_deg` (where the joint stands in the parent's frame), `pitch`. Beside it `base_inertia`.

Each table may also hold
    name, joint_name
    inertia     mass, com, tensor (3, 6 or 3 x 3 numbers, about com); or shape ("point", "sphere", "box", "rod",
                "solid_cylinder", "hollow_cylinder"), mass, com and the shape's radius, length, size, outer_radius,
                inner_radius, axis; rpy or rpy_deg turn either
    limits      lower, upper, velocity, effort; or [lower, upper]
    drive       viscous, coulomb (a number, or [positive, negative]), damping, stiffness, rest, gear_ratio, rotor_inertia,
                side ("joint" or "motor")
    mimic       joint, multiplier, offset; or the name of the joint

At the top: `name`, `gravity`, `base` (name of the link that stands still), `symbols`, `values`, and `frames`, a list of tables
`name`, `link`, `xyz`, `rpy` or `rpy_deg`. A pose is a 4 x 4 matrix or a table `{xyz, rpy}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from qddot.errors import ModelError, ModelFormatError, near_matches
from qddot.formats.builder import AXES, Builder
from qddot.formats.document import Node, read_document
from qddot.formats.expression import TOKEN, Scope
from qddot.formats.keys import ORIGIN, POSE, Keys
from qddot.formats.tables import CONVENTIONS, DHRow, Screw, dh_model, screws_model
from qddot.model.description import Frame, Limits, Mimic
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from qddot.model.model import GRAVITY, Model
from qddot.model.pose import from_rpy
from qddot.model.scalar import Scalar

SHORT = {"S": "screws", "B": "body_screws", "M": "tool"}
TOP = ("name", "gravity", "base", "symbols", "values", "frames")
FORMS = {
    "dh": ("dh", "convention"),
    "screws": ("screws", "tool", "relative"),
    "body_screws": ("body_screws", "tool", "relative"),
    "bodies": ("bodies", "base_inertia"),
}
ROW = ("name", "joint_name", "inertia", "limits", "drive", "mimic")
DH = ("a", "alpha", "d", "theta")
BODY = ("parent", "type", "axis", *POSE, "pitch")
SHAPES = {
    "point": (),
    "sphere": ("radius",),
    "box": ("size",),
    "rod": ("length", "axis"),
    "solid_cylinder": ("radius", "length", "axis"),
    "hollow_cylinder": ("outer_radius", "inner_radius", "length", "axis"),
}


def read_text(path: str | Path, *, strict: bool = False, gravity: Sequence[Scalar] | None = None, symbolic: bool = False) -> Model:
    """The robot in a .toml, .json or .yaml file of our own schema.

    Args:
        strict: refuse inertias no real body has, instead of warning.
        gravity: instead of the file's.
        symbolic: leave the symbols open for which the file gives `values`.

    Raises:
        ModelSyntaxError: the file is not well-formed.
        ModelLimitError: it is too large or too deep.
        ModelFormatError: well-formed, but it describes no robot.
        ModelError: see its other subclasses; each names the file and the line.
    """
    path = Path(path)
    form, root = _form(read_document(path))
    top = Keys(root, "robot", (*TOP, *FORMS[form]), _scope(root, symbolic))
    given: dict[str, Any] = {
        "name": top.text("name", path.stem),
        "base": top.text("base", "base"),
        "gravity": top.vector("gravity", GRAVITY) if gravity is None else gravity,
    }
    if form == "dh":
        return _dh(top, strict=strict, **given)
    if form == "bodies":
        return _bodies(top, strict, given)
    return _screws(top, form, strict=strict, **given)


def _form(root: Node) -> tuple[str, Node]:
    """How the file describes its robot, and its top table with short names written out."""
    if not isinstance(root.value, dict):
        raise ModelFormatError("a robot is a table of keys at the top", place=root.place, text=root.shown)
    long: dict[str, Node] = {}
    for key, node in root.value.items():
        name = str(SHORT.get(key, key))
        if name in long:
            raise ModelFormatError(
                f"{name} is given twice, also by its short name", place=node.place, attribute=key, fix="keep one"
            )
        long[name] = node
    forms = [form for form in FORMS if form in long]
    if len(forms) != 1:
        rule = f"{' and '.join(forms)} exclude each other" if forms else "no robot in it"
        hint = next((near_matches(form, long) for form in FORMS if "mean" in near_matches(form, long)), "")
        place = long[forms[1]].place if forms else root.place
        raise ModelFormatError(
            rule, place=place, fix=f"give one of {', '.join(FORMS)}" + (f"; {hint}" if hint and not forms else "")
        )
    return forms[0], Node(long, root.place)


def _scope(root: Node, symbolic: bool) -> Scope:
    """The meaning of names: `values`, and the declared `symbols`."""
    keys = Keys(root, "robot", tuple(root.value), Scope(symbols=()))
    declared = None
    if "symbols" in keys:
        declared = [node.value for node in keys.items("symbols")]
        for node in keys.items("symbols"):
            if not isinstance(node.value, str) or not (match := TOKEN.fullmatch(node.value)) or match.lastgroup != "name":
                raise keys.subject(node).error("a symbol is a name: a letter, then letters, digits and _", "symbols", node.shown)
    values = _values(keys) if "values" in keys else {}
    if not symbolic:
        return Scope(values, declared)
    return Scope({}, None if declared is None else [*declared, *values])


def _values(top: Keys) -> dict[str, float]:
    """Numbers for symbols, each of which may use the others, in whatever order they stand."""
    node, scope = top.get("values"), Scope(symbols=())
    pending = list(node.value) if isinstance(node.value, dict) else ["name"]
    table = Keys(node, "values", pending, scope)
    while pending:
        failure, before, pending = None, pending, []
        for name in before:
            try:
                scope.values[name] = table.number(name)
            except ModelError as error:
                failure = failure or error
                pending.append(name)
        if failure and len(pending) == len(before):
            raise failure
    return scope.values


# the three ways to describe a robot -------------------------------------------------------------------------------------------


def _dh(top: Keys, **given: Any) -> Model:
    convention = top.text("convention", "standard")
    if convention not in CONVENTIONS:
        raise top.error("unknown convention", "convention", near_matches(convention, CONVENTIONS))
    rows, extras = [], []
    for i, node in enumerate(top.items("dh"), 1):
        element = f"dh row {i}"
        if isinstance(node.value, list):
            extras.append(_extras(Keys(Node({}, node.place), element, ROW, top.scope)))
            rows.append(_dh_numbers(node, element, top.scope))
        else:
            keys = Keys(node, element, (*DH, "type", *ROW), top.scope)
            extras.append(_extras(keys))
            numbers = {key: keys.number(key, 0.0) for key in DH}
            rows.append(DHRow(**numbers, type=keys.text("type", "revolute"), place=node.place))
    return dh_model(rows, convention=convention, frames=_frames(top), **_columns(extras), **given)


def _dh_numbers(node: Node, element: str, scope: Scope) -> DHRow:
    if len(node.value) != 4:
        keys = Keys(Node({}, node.place), element, (), scope)
        raise keys.subject().error(f"a row is [a, alpha, d, theta], this one has {len(node.value)} numbers", value=node.shown)
    keys = Keys(Node(dict(zip(DH, node.value)), node.place), element, DH, scope)
    return DHRow(*(keys.number(key) for key in DH), place=node.place)


def _screws(top: Keys, form: str, **given: Any) -> Model:
    screws, homes, extras = [], [], []
    for i, node in enumerate(top.items(form), 1):
        row = node if isinstance(node.value, dict) else Node({"screw": node}, node.place)
        keys = Keys(row, f"screw {i}", ("screw", "home", *ROW), top.scope)
        screws.append(Screw(keys.vector("screw", size=6), node.place))
        homes.append(keys.pose("home"))
        extras.append(_extras(keys))
        if (homes[-1] is None) != (homes[0] is None):
            raise keys.error("some links have a home pose and some have none", "home", "give one to each, or to none")
    return screws_model(
        screws,
        homes if homes and homes[0] is not None else None,
        tool=top.pose("tool"),
        relative=top.flag("relative"),
        body_screws=form == "body_screws",
        frames=_frames(top),
        **_columns(extras),
        **given,
    )


def _bodies(top: Keys, strict: bool, given: dict[str, Any]) -> Model:
    builder = Builder(**given, base_inertia=_inertia(top, "base_inertia"))
    for i, node in enumerate(top.items("bodies"), 1):
        given_name = node.value.get("name") if isinstance(node.value, dict) else None
        keys = Keys(node, f"body {given_name.shown!r}" if given_name else f"body {i}", (*ROW, *BODY), top.scope)
        keys.get("name")  # what the tables may leave out, a tree needs
        builder.body(
            parent=keys.text("parent", builder.base),
            joint=keys.text("type", "revolute"),
            axis=_axis(keys),
            xyz=keys.vector("xyz", ORIGIN),
            rpy=keys.rpy(),
            pitch=keys.number("pitch", 0.0),
            place=node.place,
            **_extras(keys),
        )
    for frame in _frames(top):
        builder.add(frame)
    return builder.build(strict=strict)


def _axis(keys: Keys) -> Any:
    """A vector, or the name of a coordinate axis."""
    named = "axis" in keys and keys.get("axis").value
    return named if isinstance(named, str) else keys.vector("axis", AXES["z"])


# what every row may say -------------------------------------------------------------------------------------------------------


def _extras(keys: Keys) -> dict[str, Any]:
    return {
        "name": keys.text("name") if "name" in keys else None,
        "joint_name": keys.text("joint_name") if "joint_name" in keys else None,
        "inertia": _inertia(keys, "inertia"),
        "limits": _limits(keys),
        "drive": _drive(keys),
        "mimic": _mimic(keys),
    }


def _columns(extras: list[dict[str, Any]]) -> dict[str, list]:
    """One list for each part, as the table functions take them."""
    named = {
        "name": "link_names",
        "joint_name": "joint_names",
        "inertia": "inertias",
        "limits": "limits",
        "drive": "drives",
        "mimic": "mimics",
    }
    return {column: [extra[key] for extra in extras] for key, column in named.items()}


def _inertia(parent: Keys, key: str) -> Inertia | None:
    if key not in parent:
        return None
    node, element = parent.get(key), f"{parent.element} > {key}"
    shape = node.value.get("shape") if isinstance(node.value, dict) else None
    if shape is not None and shape.value not in SHAPES:
        raise parent.subject(shape).error("unknown shape", f"{key} shape", shape.shown, near_matches(shape.shown, SHAPES))
    sizes = SHAPES[shape.value] if shape else ("tensor",)
    keys = Keys(node, element, ("shape", "mass", "com", "rpy", "rpy_deg", *sizes), parent.scope)
    try:
        if shape is None:
            inertia = Inertia(keys.number("mass"), tensor=keys.array(keys.get("tensor"), "tensor") if "tensor" in keys else 0)
        else:
            inertia = getattr(Inertia, shape.value)(keys.number("mass"), *(_size(keys, size) for size in sizes))
    except ModelError:
        raise
    except (TypeError, ValueError) as error:
        raise keys.error(str(error), "axis" if "axis" in keys else "tensor") from None
    if "rpy" in keys or "rpy_deg" in keys:
        inertia = inertia.rotated(from_rpy(*keys.rpy()))
    return inertia.shifted(keys.vector("com", ORIGIN))


def _size(keys: Keys, size: str) -> Any:
    if size == "axis":
        return keys.text("axis", "z")
    return keys.vector("size") if size == "size" else keys.length(size)


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


def _drive(keys: Keys) -> Drive | None:
    if "drive" not in keys:
        return None
    names = [field.name for field in fields(Drive)]
    table = Keys(keys.get("drive"), f"{keys.element} > drive", names, keys.scope)
    values: dict[str, Any] = {name: table.array(table.get(name), name) for name in names if name in table and name != "side"}
    if "side" in table:
        values["side"] = table.text("side")
    try:
        return Drive(**values)
    except (TypeError, ValueError) as error:
        raise table.subject().error(str(error)) from None


def _mimic(keys: Keys) -> Mimic | None:
    if "mimic" not in keys:
        return None
    if isinstance(keys.get("mimic").value, str):
        return Mimic(keys.text("mimic"))
    table = Keys(keys.get("mimic"), f"{keys.element} > mimic", ("joint", "multiplier", "offset"), keys.scope)
    return Mimic(table.text("joint"), table.number("multiplier", 1.0), table.number("offset", 0.0))


def _frames(top: Keys) -> list[Frame]:
    frames = []
    for i, node in enumerate(top.items("frames"), 1):
        keys = Keys(node, f"frame {i}", ("name", "link", *POSE), top.scope)
        frames.append(Frame(keys.text("name"), keys.text("link"), keys.placement(), node.place))
    return frames
