"""Limits on the memory and time that MuJoCo's compiler needs for an MJCF file, checked before it starts.

Nothing here is needed for dynamics; the limits are far above what robots have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from qddot.errors import ModelLimitError
from qddot.formats.xml_tree import MAX_ELEMENTS, Element
from qddot.model.check_tree import MAX_LINKS

MAX_MEMORY = 16 * 2**30
MAX_CELLS = 2**24
"""The most numbers of one array: a height field, the user data of all elements, the states of all keyframes."""

STATE = 16  # the most numbers of a joint in a keyframe
UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50, "E": 2**60}
SIZES = {"nstack": MAX_MEMORY // 8, "njmax": 10**6, "nconmax": 10**6, "nuserdata": 10**6, "nkey": 10**4}
MAX_FACETS = 200
"""The most facets of a built-in mesh along a side; parameters that are angles in degrees are below it, too."""

LEADING = re.compile(r"\+?\d+")


def check_limits(elements: list[Element]) -> None:
    """Check the elements of a description, parents before their children. Raises ModelLimitError: one needs too much memory or
    time."""
    for element in elements:
        if element.tag == "size":
            check_memory(element)
            for key in element.attributes.keys() & SIZES.keys():
                check_count(element, key, SIZES[key])
        if element.tag == "mesh" and "params" in element.attributes:
            check_count(element, "params", MAX_FACETS)
        if element.tag == "hfield":
            check_cells(element)
    everything, joints = check_counts(elements)
    for element in elements:
        check_width(element, everything)
    check_keys(elements, joints)


def check_memory(size: Element) -> None:
    text = size.attributes.get("memory", "").strip()
    digits, unit = (text[:-1], UNITS[text[-1].upper()]) if text and text[-1].upper() in UNITS else (text, 1)
    if digits.isdecimal() and (len(digits) > 18 or int(digits) * unit > MAX_MEMORY):
        raise over(size, "memory", f"memory {text} is over the limit of {MAX_MEMORY // 2**30}G")


def check_count(element: Element, key: str, most: int) -> None:
    """Refuse an attribute with a number over its limit."""
    for value in counts(element.attributes[key]):
        if value > most:
            raise over(element, key, f"{key} {value:.15g} is over the limit of {most}")


def check_cells(hfield: Element) -> None:
    rows, columns = (max([1.0, *counts(hfield.attributes.get(key, ""))]) for key in ("nrow", "ncol"))
    if rows * columns > MAX_CELLS:
        key = "nrow" if rows > columns else "ncol"
        raise over(hfield, key, f"{rows * columns:.15g} heights (nrow times ncol) are over the limit of {MAX_CELLS}")


def check_counts(elements: list[Element]) -> tuple[int, int]:
    """Return the number of elements and of joints once every `<replicate>` is expanded, counted from the leaves up."""
    total: dict[int, tuple[int, ...]] = {}
    for element in reversed(elements):  # children come after their parents in file order
        inside = zip(*(total[id(child)] for child in element.children)) if element.children else ((), (), ())
        here = (1, element.tag == "body", element.tag in ("joint", "freejoint"))
        everything, bodies, joints = (replicas(element) * (own + sum(more)) for own, more in zip(here, inside))
        for what, n, most in (("bodies", bodies, MAX_LINKS), ("elements", everything, MAX_ELEMENTS)):
            if n > most:
                rule = f"number of {what} {n} is over the limit of {most}"
                raise ModelLimitError(rule, **element.where)
        total[id(element)] = everything, bodies, joints
    return everything, joints


def replicas(element: Element) -> int:
    if element.tag != "replicate":
        return 1
    return max(int(min(element.number("count"), 1e18)), 1)


def check_width(element: Element, everything: int) -> None:
    """Check user data: every element of a kind gets as much as the one that has most, which may be a default."""
    for key, text in element.attributes.items():
        if key == "user":
            width = float(len(text.split()))
        elif key.startswith("nuser_") or key in ("actdim", "nsample") or (element.tag == "numeric" and key == "size"):
            width = max([0.0, *counts(text)])
        else:
            continue
        if width * everything > MAX_CELLS:
            raise over(element, key, f"{width:.15g} numbers for each of {everything} elements are over the limit of {MAX_CELLS}")


def check_keys(elements: list[Element], joints: int) -> None:
    """Check keyframes, each of which holds a whole state."""
    keys = [x for x in elements if x.tag == "key" and x.parent is not None and x.parent.tag == "keyframe"]
    said = [(n, x) for x in elements if x.tag == "size" for n in counts(x.attributes.get("nkey", ""))]
    for n, element in [*said, (float(len(keys)), keys[-1] if keys else elements[0])]:
        most = min(SIZES["nkey"], MAX_CELLS // (STATE * (1 + joints)))
        if n > most:
            rule = f"{n:.15g} keyframes of {joints} joints are over the limit of {most}"
            raise over(element, "nkey" if element.tag == "size" else "", rule)


def counts(text: str) -> Iterable[float]:
    """Yield the numbers in a text; for a word that is none, the digits that it begins with, or 0."""
    for word in text.split():
        try:
            yield float(word)
        except ValueError:
            start = LEADING.match(word)
            yield float(start[0]) if start else 0.0


def over(element: Element, key: str, rule: str) -> ModelLimitError:
    """Return the error for an attribute over its limit."""
    fix = "give less, or leave it out: the dynamics do not need it"
    return ModelLimitError(rule, **element.where, attribute=key, text=element.attributes.get(key), fix=fix)
