"""Structure-aware mutants: a seed with some of its numbers, names, elements and rows changed, and at times some of its bytes."""

from __future__ import annotations

import copy
import json
import re
from random import Random
from typing import Any
from xml.etree import ElementTree

NUMBERS = [
    "0",
    "-0",
    "1",
    "-1",
    "1e308",
    "-1e308",
    "1.7e308",
    "1e154",
    "1e155",
    "1e200",
    "1e-200",
    "1e-308",
    "5e-324",
    "1e39",
    "1e20",
    "1e9",
    "-1e-9",
    "1e400",
    "1e-400",
    "nan",
    "inf",
    "-inf",
    "0x10",
    "1_000",
    "1,5",
    "1e",
    "+1",
    "--1",
    "1.2.3",
    "١٢",
    "3.14159265358979",
    "6.283185307179586",
    "1e16",
    "0.1",
    "-0.5",
    "180",
    "1000",
]
NUMBERS += ["", "9" * 400, "1" + "0" * 309]
TEXTS = [
    "base",
    "upper",
    "lower",
    "\u202e",
    "é",
    "🤖",
    "../../etc/passwd",
    "file:///etc/passwd",
    "http://x/y.stl",
    "%s%n",
    "${1/0}",
    "$(find:x)",
    "${'a'*10**9}",
    "revolute",
    "continuous",
    "prismatic",
    "floating",
    "planar",
    "fixed",
    "ball",
    "hinge",
    "slide",
    "true",
    "null",
    "pi/2",
    "1/0",
    "l1**99",
    "((((1",
    "m1",
    "{}",
    "[]",
    "=cmd()",
    "-",
    "#",
]
TEXTS += ["", " ", "a\0b", "x" * 5000]
STRAYS = (b"<", b">", b'"', b"&", b"\0", b"\xff\xfe", b"\n", b"[", b"]", b"{", b"=", b",", b"1e999")


def number(random: Random, present: str = "") -> str:
    if random.random() < 0.2:
        try:
            return f"{near(random, float(present)):g}"
        except ValueError:
            pass
    return random.choice(NUMBERS) if random.random() < 0.7 else f"{random.choice((-1, 1)) * 10 ** random.uniform(-330, 308):.3g}"


def near(random: Random, value: float) -> float:
    """A number that may well be meant: twice, a tenth, the other sign, a little more."""
    return value * random.choice((2.0, 0.1, -1.0, 1.001, 10.0)) + random.choice((0.0, 0.0, 0.1))


def scalar(random: Random, present: Any = None) -> Any:
    """A number or text for a place in a document, where something may stand already."""
    if isinstance(present, (int, float)) and random.random() < 0.4:
        return near(random, present)
    if random.random() < 0.6:
        try:
            return float(number(random))
        except ValueError:
            return 1.0
    return random.choice((*TEXTS, None, True, [], {}, [1, 2], [[]], {"a": 1}, 10**30))


def bytes_of(random: Random, data: bytes) -> bytes:
    """Some bytes changed, lost, doubled or added."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 5, 20))):
        at = random.randrange(len(changed) + 1)
        match random.randrange(4):
            case 0 if at < len(changed):
                changed[at] = random.randrange(256)
            case 1:
                del changed[at : at + random.choice((1, 2, 10, 100))]
            case 2:
                changed[at:at] = changed[at : at + random.choice((1, 10, 50))]
            case _:
                changed[at:at] = random.choice(STRAYS)
    return bytes(changed)


# XML ----------------------------------------------------------------------------------------------------------------------

WORD = re.compile(r"[^\s]+")


def xml(random: Random, seed: str) -> bytes:
    ElementTree.register_namespace("xacro", "http://www.ros.org/wiki/xacro")
    root = ElementTree.fromstring(seed)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        change_tree(random, root)
    data = ElementTree.tostring(root, encoding="utf-8").replace(b"&#0;", b"")
    return bytes_of(random, data) if random.random() < 0.15 else data


def change_tree(random: Random, root: ElementTree.Element) -> None:
    parents = {child: parent for parent in root.iter() for child in parent}
    element = random.choice(list(root.iter()))
    kind = random.random()
    if kind < 0.6:
        change_attribute(random, random.choice([e for e in root.iter() if e.attrib] or [root]))
    elif element in parents:
        parent, others = parents[element], list(root.iter())
        if kind < 0.7:
            parent.remove(element)
        elif kind < 0.8:
            parent.insert(random.randrange(len(parent) + 1), copy.deepcopy(element))
        elif kind < 0.9:
            random.choice([e for e in others if e is not element]).append(copy.deepcopy(element))
        else:
            element.tag = random.choice([e.tag for e in others] + ["include", "plugin", "transmission", "x"])


def change_attribute(random: Random, element: ElementTree.Element) -> None:
    if not element.attrib:
        return
    name = random.choice(list(element.attrib))
    value, kind = element.attrib[name], random.random()
    words = list(WORD.finditer(value))
    if kind < 0.65 and words:
        at = random.choice(words)
        element.attrib[name] = value[: at.start()] + number(random, at.group()) + value[at.end() :]
    elif kind < 0.8:
        element.attrib[name] = random.choice(TEXTS).replace("\0", "")
    elif kind < 0.9:
        del element.attrib[name]
    else:
        element.attrib[random.choice((name.upper(), name + "x", "name", "type", "value"))] = value


# TOML, JSON, YAML ---------------------------------------------------------------------------------------------------------


def document(random: Random, seed: dict[str, Any], suffix: str) -> bytes:
    data = written(change_value(random, copy.deepcopy(seed), random.choice((1, 1, 2, 4))), suffix)
    return bytes_of(random, data) if random.random() < 0.15 else data


def written(tree: dict[str, Any], suffix: str) -> bytes:
    """A document in the language its suffix tells."""
    if suffix == ".json":
        text = json.dumps(tree)
    elif suffix == ".yaml":
        import yaml

        text = yaml.safe_dump(tree)
    else:
        text = "".join(f"{json.dumps(key)} = {toml(value)}\n" for key, value in tree.items())
    return text.encode("utf-8", "surrogatepass")


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if value is None:
        return '""'
    return json.dumps(value).replace("Infinity", "inf").replace("NaN", "nan") if not isinstance(value, bool) else str(value).lower()


def change_value(random: Random, tree: Any, times: int) -> Any:
    """Values, keys and items of nested lists and tables."""
    for _ in range(times):
        places = [(holder, key) for holder in walk(tree) for key in (holder if isinstance(holder, dict) else range(len(holder)))]
        if not places:
            return tree
        holder, key = random.choice(places)
        kind = random.random()
        if kind < 0.6:
            holder[key] = scalar(random, holder[key])
        elif kind < 0.75:
            del holder[key]
        elif isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        else:
            holder[random.choice((*holder, "type", "drive", "limits", "mimic", "frames", "x"))] = copy.deepcopy(holder[key])
    return tree


def walk(tree: Any) -> list[Any]:
    found = [tree] if isinstance(tree, (dict, list)) else []
    for item in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        found += walk(item)
    return found


# recordings ---------------------------------------------------------------------------------------------------------------


def columns(random: Random, seed: dict[str, list[float]]) -> dict[str, list[Any]]:
    """Names, numbers and lengths of columns changed."""
    table: dict[str, list[Any]] = {name: list(values) for name, values in seed.items()}
    for _ in range(random.choice((1, 1, 2, 5))):
        name = random.choice(list(table))
        kind = random.random()
        if kind < 0.5:
            at = random.randrange(len(table[name]))
            table[name][at] = scalar(random, table[name][at])
        elif kind < 0.6:
            table[random.choice((*TEXTS, "qd1", "tau1", "time", "q9", "qdd_2 [deg]"))[:40]] = table.pop(name)
        elif kind < 0.7 and len(table) > 1:
            del table[name]
        elif kind < 0.8:
            factor = float(10 ** random.uniform(-20, 20))
            table[name] = [x * factor if isinstance(x, float) else x for x in table[name]]
        elif kind < 0.9:
            table[name] = table[name][: random.randrange(1, len(table[name]) + 1)]
        else:
            table[name] = [random.choice((0.0, 1.0, 1e9))] * len(table[name])
        if any(not values for values in table.values()):
            break
    return table
