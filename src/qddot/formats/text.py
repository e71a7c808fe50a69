"""qddot's own description of a robot: one schema, written as TOML, JSON or YAML.

    name = "elbow"                       # by default the file's name
    gravity = [0, -9.81, 0]              # m/s^2 in base axes; by default (0, 0, -9.81)
    values = {l1 = 0.5, m1 = 1.2}        # numbers for symbols; a symbol without one stays open

    [[dh]]                               # one row per joint: a, alpha, d, theta; a missing one is 0
    a = "l1"
    theta = "pi/2"
    name = "upper"                       # name of the link
    inertia = {shape = "cylinder", mass = "m1", radius = 0.04, length = "l1", axis = "x", com = ["-l1/2", 0, 0]}

Each number may also be a text with arithmetic: `+ - * / **`, parentheses, `pi`, `sin cos tan sqrt`, and names of symbols.
With a list `symbols = ["m1", ...]` only these names (and those of `values`) are accepted, which catches misspelt ones.
SI units and radians throughout.

A file describes the robot in one of three ways:

`dh`
    A list of rows `[a, alpha, d, theta]`, or of tables with these keys and `type` (`"revolute"`, `"prismatic"`). Beside it
    `convention`, `"standard"` or `"modified"` (Craig), and `tool`, a pose in the last link's frame.
`screws` (short `S`), or `body_screws` (short `B`)
    A list of `[wx, wy, wz, vx, vy, vz]`, or of tables with the key `screw` and `home`, the pose of the link's frame at q = 0.
    Beside it `tool` (short `M`), the pose of the tool at q = 0, and `relative = true` if each pose is given in the frame before
    it.
`bodies`
    A list of tables: `name`, `parent` (the base by default), `type` (any joint, `"revolute"` by default), `axis` (`"z"`),
    `xyz` and `rpy` or `rpy_deg` (pose of the joint in the parent's frame), `pitch`.

Each table may also hold
    name, joint_name
    inertia     mass, com, tensor (about com: the diagonal, 3 x 3 numbers, or the six Ixx, Ixy, Ixz, Iyy, Iyz, Izz); or
                shape ("point", "sphere", "box", "rod", "cylinder", "hollow_cylinder"), mass, com and the shape's
                radius, length, size, outer_radius, inner_radius, axis; rpy or rpy_deg turn either; or
                mesh (a file in the description's folders, or package://...), density or mass, scale (metres per unit: 0.001 for
                millimetres), and xyz and rpy or rpy_deg, the pose of the mesh in the link's frame
    limits      lower, upper, velocity, effort; or [lower, upper]
    drive       viscous, coulomb and static (a number, or [positive, negative]), stribeck_velocity, load_friction,
                smoothing_velocity, viscous_quadratic, viscous_cubic, offset, damping, stiffness, rest, gear_ratio,
                rotor_inertia, rotor_axis, series_stiffness, series_damping, torque_speed, resistance,
                inductance, torque_constant, harmonics ([[order, cosine, sine], ...]), side ("joint" or "motor")
    mimic       joint, multiplier, offset; or the name of the joint

At the top: `name`, `about` (a table of `title`, `source` and `licence`, for people, and `kinematics_only`, why there are no masses:
dynamics is then refused), `gravity`, `base` (name of the fixed link), `base_inertia` (that of the fixed link, used if the base is
made to float), `tip` (the link or frame meant if none is named; by default the only one at the end of the only chain),
`symbols`, `values`, `frames`, a list of tables `name`, `link`, `xyz`, `rpy` or `rpy_deg`, and `constraints`, a list of tables (see
`qddot.formats.text_constraints`). A pose is a 4 x 4 matrix or a table `{xyz, rpy}`. `transmissions` is a list of tables `joints`,
`matrix` (a row per motor), `motors` (their names) and `drives` (one per motor, as above, on the motor's side): motors that drive
several joints at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from qddot.errors import ModelError, ModelFormatError, ModelReferenceError, ModelStructureError, near_matches
from qddot.formats.builder import AXES, Builder
from qddot.formats.dh import CONVENTION_FIX, CONVENTIONS, DHRow, dh_model
from qddot.formats.document import Node, parse_document
from qddot.formats.expression import NOT_NAMES, RESERVED, TOKEN, Scope, names_in
from qddot.formats.keys import ORIGIN, POSE, Keys
from qddot.formats.reach import Reach
from qddot.formats.screws import Screw, screws_model
from qddot.formats.source import Description
from qddot.formats.subject import Subject
from qddot.formats.text_constraints import read_constraints
from qddot.formats.text_drives import read_transmissions
from qddot.formats.text_inertia import read_inertia
from qddot.formats.text_rows import ROW, as_columns, read_row
from qddot.model.check import check_the_rest, warn
from qddot.model.description import Frame
from qddot.model.faults import Faults, together
from qddot.model.model import GRAVITY, Model
from qddot.model.scalar import Scalar
from qddot.place import Place

SHORT = {"S": "screws", "B": "body_screws", "M": "tool"}
TOP = ("name", "about", "gravity", "base", "base_inertia", "tip", "symbols", "values", "frames", "transmissions", "constraints")
ABOUT = ("title", "source", "licence", "kinematics_only")
FORMS = {
    "dh": ("dh", "convention", "tool"),
    "screws": ("screws", "tool", "relative"),
    "body_screws": ("body_screws", "tool", "relative"),
    "bodies": ("bodies",),
}
DH = ("a", "alpha", "d", "theta")
BODY = ("parent", "type", "axis", *POSE, "pitch")


def values_in(source: Description) -> dict[str, float]:
    """Return the numbers that a description gives for its symbols."""
    _, root = _form(parse_document(source.data, source.name, source.kind))
    keys = Keys(root, "robot", tuple(root.value), Scope(symbols=()))
    return dict(_values(keys)) if "values" in keys else {}


def symbol_places(source: Description, reach: Reach) -> dict[str, Place]:
    """Return the first place of each symbol without a value in a description that can be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parse_text(source, reach)[1].places


def parse_text(
    source: Description, reach: Reach, *, strict: bool = False, gravity: Sequence[Scalar] | None = None, symbolic: bool = False
) -> tuple[Model, Scope]:
    """Return the robot in a TOML, JSON or YAML text of our own schema, and the scope of names in it; for the options see
    `qddot.load`. `reach`: files that it may open for meshes."""
    form, root = _form(parse_document(source.data, source.name, source.kind))
    faults, scope = Faults(), _scope(root, symbolic, reach)
    with faults:
        Keys(root, "robot", (*TOP, *FORMS[form]), scope)  # refuses other keys
    top = Keys(root, "robot", tuple(root.value), scope)
    if not top.items(form) and form != "bodies":  # a robot without bodies is its base
        raise ModelStructureError("the table has no rows", place=top.get(form).place, element=form, fix="give one for each joint")
    given: dict[str, Any] = {"name": top.text("name", source.stem), "base": top.text("base", "base")}
    with faults:
        given["base_inertia"] = read_inertia(top, "base_inertia")
    with faults:
        given["gravity"] = top.vector("gravity", GRAVITY) if gravity is None else gravity
    try:
        if form == "dh":
            model = _dh(top, faults, strict=strict, **given)
        elif form == "bodies":
            model = _bodies(top, faults, strict, given)
        else:
            model = _screws(top, faults, form, strict=strict, **given)
        model = model.copy(transmissions=read_transmissions(top), kinematics_only=_kinematics_only(top), end=_tip(top, model))
    except ModelError as error:
        raise together([_as_written(each, top.get(form)) for each in (error, *error.others)]) from None
    return model.copy(constraints=read_constraints(top, model)) if "constraints" in top else model, top.scope


def _tip(top: Keys, model: Model) -> str | None:
    """Return the link or frame that is meant if none is named."""
    if "tip" not in top:
        return model.end
    name, names = top.text("tip"), [x.name for x in (*model.links, *model.frames)]
    if name not in names:
        rule = f"there is no link or frame {name!r}"
        raise ModelReferenceError(rule, place=top.get("tip").place, element="robot > tip", fix=near_matches(name, names))
    return name


def _kinematics_only(top: Keys) -> str:
    """Return why the robot has no masses; an empty text if it has."""
    if "about" not in top:
        return ""
    about = Keys(top.get("about"), "about", ABOUT, top.scope)
    for key in ABOUT:
        about.text(key, "")
    return about.text("kinematics_only", "")


def _as_written(error: ModelError, node: Node) -> ModelError:
    """Return an error of the model with the names of this format, and with a place."""
    if error.file and "> inertial" not in error.element:
        return error
    return type(error)(
        error.rule,
        place=error.place if error.file else node.place,
        element=error.element.replace("> inertial", "> inertia"),
        attribute=error.attribute,
        text=error.text,
        fix=error.fix,
    )


def _form(root: Node) -> tuple[str, Node]:
    """Return the form of the description, and its top table with short names replaced by long ones."""
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
        place, fix = (long[forms[1]].place if forms else root.place), f"give one of {', '.join(FORMS)}"
        import difflib  # only where something is wrong

        for key in () if forms else long:
            if close := difflib.get_close_matches(key.lower(), FORMS, n=1, cutoff=0.5):
                place, fix = long[key].place, f"{fix}; did you mean {close[0]!r} by {key!r}?"
                break
        raise ModelFormatError(rule, place=place, fix=fix)
    return forms[0], Node(long, root.place)


def _scope(root: Node, symbolic: bool, reach: Reach) -> Scope:
    """Return the scope of names: `values`, and the declared `symbols`."""
    keys = Keys(root, "robot", tuple(root.value), Scope(symbols=()))
    declared = None
    if "symbols" in keys:
        declared = [node.value for node in keys.items("symbols")]
        for node in keys.items("symbols"):
            _check_symbol(keys.subject(node), "symbols", node.value)
    values = _values(keys) if "values" in keys else {}
    if not symbolic:
        return Scope(values, declared, reach=reach)
    return Scope({}, None if declared is None else [*declared, *values], reach=reach)


def _values(top: Keys) -> dict[str, float]:
    """Return numbers for symbols; each may use the others, in any order."""
    node, scope = top.get("values"), Scope(symbols=())
    given = node.value if isinstance(node.value, dict) else {}
    table = Keys(node, "values", tuple(given) or ("name",), scope)
    for name, item in given.items():
        _check_symbol(Subject("values", item.place), "name", name)
    uses = {name: [other for other in _names_in(item) if other in given] for name, item in given.items()}
    try:
        for name in TopologicalSorter(uses).static_order():
            scope.values[name] = table.number(name)
    except CycleError as error:
        cycle = " needs ".join(reversed(error.args[1]))
        raise table.error(f"values that need each other in a circle: {cycle}", error.args[1][-1], "give one a number") from None
    return scope.values


def _names_in(node: Node) -> list[str]:
    """Return the symbols in a value; none if it is no valid expression, which its evaluation will report."""
    try:
        return sorted(names_in(node.value)) if isinstance(node.value, str) else []
    except ValueError:
        return []


def _check_symbol(subject: Subject, attribute: str, name: Any) -> None:
    if not isinstance(name, str) or not (match := TOKEN.fullmatch(name)) or match.lastgroup != "name" or name != name.strip():
        raise subject.error("a symbol is a name: a letter, then letters, digits and _", attribute, name)
    if name in RESERVED or name.lower() in NOT_NAMES:
        raise subject.error("this name has a meaning of its own", attribute, name, "choose another")


# the three ways to describe a robot -------------------------------------------------------------------------------------------


def _dh(top: Keys, faults: Faults, **given: Any) -> Model:
    if "convention" not in top:
        rule, place = "no convention is given: the table is read as standard DH", top.get("dh").place
        warn(rule, place=place, element="dh", fix=CONVENTION_FIX)
    convention = top.text("convention", "standard")
    if convention not in CONVENTIONS:
        raise top.error("unknown convention", "convention", near_matches(convention, CONVENTIONS))
    rows, extras = [], []
    for i, node in enumerate(top.items("dh"), 1):
        element = f"dh row {i}"
        with faults:
            if isinstance(node.value, list):
                extras.append(read_row(Keys(Node({}, node.place), element, ROW, top.scope)))
                rows.append(_dh_numbers(node, element, top.scope))
            else:
                keys = Keys(node, element, (*DH, "type", *ROW), top.scope)
                extras.append(read_row(keys))
                numbers = {key: keys.number(key, 0.0) for key in DH}
                rows.append(DHRow(**numbers, type=keys.text("type", "revolute"), place=node.place))
    frames = _frames(top, faults)
    faults.tell()
    return dh_model(rows, convention=convention, tool=top.pose("tool"), frames=frames, **as_columns(extras), **given)


def _dh_numbers(node: Node, element: str, scope: Scope) -> DHRow:
    if len(node.value) != 4:
        keys = Keys(Node({}, node.place), element, (), scope)
        raise keys.subject().error(f"a row is [a, alpha, d, theta], this one has {len(node.value)} numbers", value=node.shown)
    keys = Keys(Node(dict(zip(DH, node.value)), node.place), element, DH, scope)
    return DHRow(*(keys.number(key) for key in DH), place=node.place)


def _screws(top: Keys, faults: Faults, form: str, **given: Any) -> Model:
    screws, homes, extras = [], [], []
    for i, node in enumerate(top.items(form), 1):
        row = node if isinstance(node.value, dict) else Node({"screw": node}, node.place)
        with faults:
            keys = Keys(row, f"screw {i}", ("screw", "home", *ROW), top.scope)
            screws.append(Screw(keys.vector("screw", size=6), node.place))
            homes.append(keys.pose("home"))
            extras.append(read_row(keys))
            if (homes[-1] is None) != (homes[0] is None):
                raise keys.error("some links have a home pose and some have none", "home", "give one to each, or to none")
    frames = _frames(top, faults)
    faults.tell()
    if form == "body_screws" and "tool" not in top:
        subject = top.subject(top.get(form))
        raise subject.error("body screws are given in the tool's frame", "tool", fix="add tool, its pose at q = 0")
    return screws_model(
        screws,
        homes if homes and homes[0] is not None else None,
        tool=top.pose("tool"),
        relative=top.flag("relative"),
        body_screws=form == "body_screws",
        frames=frames,
        **as_columns(extras),
        **given,
    )


def _bodies(top: Keys, faults: Faults, strict: bool, given: dict[str, Any]) -> Model:
    builder, names = Builder(**given), {given["base"]}
    for i, node in enumerate(top.items("bodies"), 1):
        given_name = node.value.get("name") if isinstance(node.value, dict) else None
        names |= {str(given_name.value)} if given_name else set()
        element = f"body {given_name.shown!r}" if given_name else f"body {i}"
        with faults:
            Keys(node, element, (*ROW, *BODY), top.scope).get("name")  # optional in the tables, required in a tree
        if not given_name:
            continue
        with faults:
            keys = Keys(node, element, tuple(node.value), top.scope)  # accepts unknown keys, which are reported already
            builder.body(
                parent=keys.text("parent", builder.base),
                joint=keys.text("type", "revolute"),
                axis=_axis(keys),
                xyz=keys.vector("xyz", ORIGIN),
                rpy=keys.rpy(),
                pitch=keys.number("pitch", 0.0),
                place=node.place,
                **read_row(keys),
            )
    for frame in _frames(top, faults):
        builder.add(frame)
    check_the_rest(builder.joints, names, faults)
    faults.tell()
    return builder.build(strict=strict)


def _axis(keys: Keys) -> Any:
    """Return a vector, or the name of a coordinate axis."""
    named = "axis" in keys and keys.get("axis").value
    return named if isinstance(named, str) else keys.vector("axis", AXES["z"])


def _frames(top: Keys, faults: Faults) -> list[Frame]:
    frames = []
    for i, node in enumerate(top.items("frames"), 1):
        with faults:
            keys = Keys(node, f"frame {i}", ("name", "link", *POSE), top.scope)
            frames.append(Frame(keys.text("name"), keys.text("link"), keys.placement(), node.place))
    return frames
