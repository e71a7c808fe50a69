"""Meaning of a column's name: quantity, joint, unit, and whether it is a measurement."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from qddot.logs.units import UNIT_WORDS, is_unit

WORDS = {  # in English, German and French; `ipoc`, `aipos`, `macur` are names of KUKA's sensor interface
    "t": {
        "t", "time", "times", "timestamp", "timestamps", "stamp", "ts", "datetime", "tout", "ipoc", "zeit", "zeitstempel",
        "temps", "horodatage",
    },
    "q": {
        "q", "pos", "position", "positions", "angle", "angles", "theta", "th", "qpos", "aipos", "winkel", "gelenkwinkel",
        "achswinkel", "istposition", "istwinkel",
    },
    "qd": {
        "qd", "dq", "qdot", "vel", "velocity", "velocities", "speed", "speeds", "dth", "thd", "dtheta", "thetadot", "omega", "qvel",
        "geschwindigkeit", "gelenkgeschwindigkeit", "istgeschwindigkeit", "drehzahl", "vitesse", "vitesses",
    },
    "qdd": {
        "qdd", "ddq", "qddot", "acc", "acceleration", "accelerations", "ddth", "thdd", "ddtheta", "beschleunigung", "accélération",
        "accélérations",
    },
    "tau": {
        "tau", "torque", "torques", "trq", "torq", "effort", "efforts", "moment", "moments", "drehmoment", "gelenkmoment",
        "motormoment", "istmoment", "couple", "couples",
    },
    "current": {"current", "currents", "cur", "curr", "i", "macur", "strom", "motorstrom", "iststrom", "courant", "courants"},
    "temperature": {"temperature", "temperatures", "temp", "temps", "temperatur", "motortemperatur", "température", "températures"},
}  # fmt: skip
JOINT_WORDS = {"joint", "joints", "jnt", "j", "axis", "axes", "achse", "gelenk", "axe", "actuator", "actuators"}
NAMES = {"name", "names"}  # of a column, or an array, of joints' names
NAMES_A_JOINT = JOINT_WORDS | {"name", "id", "index", "nr", "no", "number"}  # of a column with the joint that a row is about
NEUTRAL = JOINT_WORDS | UNIT_WORDS | {
    "actual", "act", "measured", "meas", "msr", "m", "ist", "feedback", "link", "motor", "mot", "read", "data", "abs", "cont", "c",
    "per", "s", "field", "state", "states", "value", "values", "signals", "articulaire", "articulaires", "articulation", "moteur",
    "mesure", "mesuré", "mesurée",
}  # fmt: skip
REFERENCE = {
    "target", "ref", "reference", "desired", "des", "d", "cmd", "command", "commanded", "cmptd", "setpoint", "soll", "planned",
    "demand", "demanded", "ipo", "error", "err", "goal", "sollposition", "sollwinkel", "sollgeschwindigkeit", "sollmoment",
    "sollstrom", "aspos", "consigne", "commande", "désiré", "désirée", "cible",
}  # fmt: skip
ELSEWHERE = {"tcp", "tool", "ee", "eef", "flange", "cart", "cartesian", "pose", "force", "wrench", "ext", "external", "gripper"}
"""Words for quantities of the tool or of its contacts: six numbers that are not per joint, or torques that are not the drives'."""
BOUNDS = {"limit", "limits", "max", "min", "maximum", "minimum", "threshold", "latency", "delay"}  # of what is not measured
NANO = {"nanosec", "nanosecs", "nsec", "nsecs", "nano"}  # of a column with the rest of seconds
MOTOR_SIDE = {"theta", "dtheta", "thetadot"}  # where there are `q` and `dq`, too, these are of the motors, as of a Franka
MEASURABLE = set().union(*(words for quantity, words in WORDS.items() if quantity != "t"))
KNOWN = MEASURABLE | WORDS["t"] | NEUTRAL | REFERENCE | ELSEWHERE

BRACKETS = "[](){}"
SEPARATORS = f"{string.whitespace}\N{NO-BREAK SPACE}_./-:,{BRACKETS}"


class Word(NamedTuple):
    """A word of a name in lower case, and its place in the name."""

    text: str
    start: int
    end: int


class ColumnName(NamedTuple):
    """`kind` is the part that columns of all joints share, `label` the joint's number or name, `unit` the text in brackets."""

    kind: str
    label: str
    unit: str = ""


def words_of(name: str) -> list[Word]:
    """Return the words and numbers of a name: `act_pos_mot`, `TorqueCur1` in parts; `dQ` and `mNm` are one word each."""
    found = []
    for chunk in re.finditer(r"[^\W\d_]+|\d+|[%‰°]", name):
        if chunk[0].lower() in KNOWN:
            found.append(Word(chunk[0].lower(), *chunk.span()))
        else:
            for part in re.finditer(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|\W|[^\W\d_A-Za-z]+", chunk[0]):
                found.append(Word(part[0].lower(), chunk.start() + part.start(), chunk.start() + part.end()))
    return found


def tokens(name: str) -> set[str]:
    """Return the words of a name without its numbers."""
    return {word.text for word in words_of(name) if not word.text.isdigit()}


def says_quantity(name: str) -> bool:
    """Return True if a column's name contains a word for a quantity of a log."""
    return any(tokens(name) & words for words in WORDS.values())


def parsed_name(name: str, joint_names: Sequence[str] = ()) -> ColumnName:
    """Return (`Position`, `3`) for `Position3`; (`position`, `elbow`) for `position/elbow`, `elbow/position` and `elbow_pos`.

    A name that contains one of the robot's joints, `/joint_states/elbow_joint/position`, belongs to that joint.
    """
    bare, unit = without_unit(name.strip())
    found = words_of(bare)
    joint = joint_within(found, joint_names)
    if joint:
        label, start, end = joint
        return ColumnName(cut(bare, start, end), label, unit)
    parts = [part for part in bare.split("/") if part]
    if len(parts) > 1 and not (REFERENCE & {word.text for word in found}):
        for at in (0, -1):
            if parts[at].lower() in MEASURABLE:
                return ColumnName(parts[at], "/".join(parts[1:] if at == 0 else parts[:-1]), unit)
    if letter := re.search(r"(?<![^\W_])([A-Z])[ _-]?[Aa]xis(?![^\W_])", bare):  # `S-axis position`
        return ColumnName(cut(bare, *letter.span(1)), letter[1], unit)
    numbers = [word for word in found if word.text.isdigit()]
    unknown = [word for word in found if not word.text.isdigit() and word.text not in KNOWN]
    last = [word for word in found if word.text not in UNIT_WORDS][-1:]
    if numbers and len(found) > 1 and ((len(numbers) == 1 and not unknown) or last == numbers[-1:]):
        return ColumnName(cut(bare, numbers[-1].start, numbers[-1].end), numbers[-1].text, unit)
    if unknown and not REFERENCE & {word.text for word in found}:
        if found[0].text in MEASURABLE:
            return ColumnName(bare[: found[0].end], bare[found[0].end :].strip(SEPARATORS), unit)
        if found[-1].text in MEASURABLE:
            return ColumnName(bare[found[-1].start :], bare[: found[-1].start].strip(SEPARATORS), unit)
    return ColumnName(bare, "", unit)


def without_unit(name: str) -> tuple[str, str]:
    """Return `q1`, `deg` for `q1 [deg]`. Brackets that hold no unit stay: `q[1]`, `position[elbow]`."""
    for bracket in re.finditer(r"\s*[\[(]([^\[\]()]*)[\])]", name):
        if is_unit(bracket[1]):
            return (name[: bracket.start()] + name[bracket.end() :]).strip(), bracket[1]
    return name, ""


def without_path(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return labels without the path they share: `elbow`, `wrist` for `joint_states/elbow`, `joint_states/wrist`."""
    paths = [label.split("/") for label in labels]
    while len(paths) > 1 and all(len(path) > 1 and path[0] == paths[0][0] for path in paths):
        paths = [path[1:] for path in paths]
    return tuple("/".join(path) for path in paths)


def spoken(name: str) -> set[str]:
    """Return the words of a name's last part that says something: `q` of `rec.q`, of `q.signals.values` and `q.A1`."""
    parts = [tokens(part) for part in name.split(".")]
    for words in reversed(parts):
        if words - NEUTRAL - {"a"}:
            return words
    return parts[-1] or tokens(name)


def parent(name: str) -> str:
    """Return the struct that a name belongs to: `rec` for `rec.time`."""
    return name.rpartition(".")[0]


def joint_within(found: Sequence[Word], joint_names: Sequence[str]) -> tuple[str, int, int] | None:
    """Return the longest joint name that a name contains, word by word, beside a quantity; and its place."""
    best: tuple[str, int, int] | None = None
    texts = [word.text for word in found]
    most = 0
    for joint in joint_names:
        for wanted in spellings(joint):
            at = first_run(texts, wanted)
            if at is not None and len(wanted) > most and set(texts[:at] + texts[at + len(wanted) :]) & MEASURABLE:
                best, most = (joint, found[at].start, found[at + len(wanted) - 1].end), len(wanted)
    return best


def spellings(joint: str) -> list[list[str]]:
    """Return the words of a joint's name, also without `joint` at its ends where a name remains: `wrist_1` for `wrist_1_joint`."""
    whole = [word.text for word in words_of(joint)]
    core = whole[whole[0] in JOINT_WORDS : len(whole) - (whole[-1] in JOINT_WORDS)] if whole else []
    return [whole, core] if any(word not in KNOWN and not word.isdigit() for word in core) else [whole]


def first_run(texts: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Return the index at which some words stand in a row among others; None if they do not."""
    n = len(wanted)
    return next((i for i in range(len(texts) - n + 1) if n and list(texts[i : i + n]) == list(wanted)), None)


def cut(name: str, start: int, end: int) -> str:
    """Return a name without the part from `start` to `end` and the separators around it."""
    before, after = name[:start].rstrip(SEPARATORS), name[end:].lstrip(SEPARATORS)
    gaps = name[len(before) : start], name[end : len(name) - len(after)]
    between = [c for gap in gaps for c in gap if c not in BRACKETS][-1:] if after else []  # `.` of `].`
    return "".join([before, *between, after]).strip(SEPARATORS)


def number_of(label: str) -> int | None:
    """Return 3 for `3`, `Joint_3` and `A3`; None for a label that names a joint."""
    texts = [word.text for word in words_of(label)]
    numbers = [text for text in texts if text.isdigit()]
    names = [text for text in texts if not text.isdigit() and text not in KNOWN and len(text) > 1]
    return int(numbers[0]) if len(numbers) == 1 and not names else None


def only_numbers(labels: Sequence[str]) -> list[int] | None:
    """Return 1, 2 for `fbAxis1.Act`, `fbAxis2.Act`: the numbers of labels that differ in nothing else; None for others."""
    numbers = [re.findall(r"\d+", label) for label in labels]
    rests = {re.sub(r"\d+", "#", label) for label in labels}
    return [int(each[0]) for each in numbers] if len(rests) == 1 and all(len(each) == 1 for each in numbers) else None


def places(labels: Sequence[str], joint_names: Sequence[str]) -> list[int | None]:
    """Return, for each joint, the index of its label: the same name, or the only one that contains it or is part of it."""
    exact = {label: i for i, label in enumerate(labels)}
    others = [(i, label) for i, label in enumerate(labels) if label not in joint_names and not label.isdigit()]
    words = {i: [word.text for word in words_of(label)] for i, label in others}

    def candidates_for(joint: str) -> list[int]:
        if joint in exact:
            return [exact[joint]]
        wanted = [word.text for word in words_of(joint)]
        return [i for i, texts in words.items() if first_run(texts, wanted) is not None or first_run(wanted, texts) is not None]

    candidates = [candidates_for(joint) for joint in joint_names]
    taken = [i for found in candidates for i in found]
    return [found[0] if len(found) == 1 and taken.count(found[0]) == 1 else None for found in candidates]


def shown(names: Iterable[str]) -> str:
    """Return the first names as one text, for a message."""
    listed = list(names)
    return ", ".join(listed[:12]) + (f", ... ({len(listed)} in all)" if len(listed) > 12 else "")
