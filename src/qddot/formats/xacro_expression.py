"""Evaluation of xacro's expressions, `${prefix + 'joint'}` or `${radians(90) / 2}`: a small part of Python's grammar.

The text is parsed but never compiled or executed. Values are numbers, texts, truth values, lists and dictionaries; there are no
objects with attributes, so `a.b` can only mean an entry of a dictionary. The size of every value is limited.
"""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from qddot.errors import ModelError, ModelLimitError, ModelReferenceError, ModelSecurityError, near_matches
from qddot.formats.reach import Refused

MAX_LENGTH = 4096
MAX_SIZE = 65_536
MAX_BITS = 1024
MAX_WEIGHT = 1_000_000  # values in nested lists, each list counted as often as it occurs

Value = Any  # int, float, str, bool, None, list, dict, or a namespace
Function = Callable[..., Value]


class Names(Protocol):
    """Values of names: `lookup` raises KeyError for an unknown one."""

    def lookup(self, name: str) -> Value: ...

    def names(self) -> list[str]: ...


def evaluate(text: str, names: Names, functions: Mapping[str, Function] | None = None) -> Value:
    """Return the value of an expression.

    Args:
        text: the expression, without `${` and `}`.
        names: values of properties.
        functions: functions besides those of this file, by dotted name.

    Raises:
        Refused: not an expression, one that is not allowed, or one without a value.
    """
    if len(text) > MAX_LENGTH:
        raise Refused(f"an expression of {len(text)} characters is over the limit of {MAX_LENGTH}", ModelLimitError)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about unusual escapes
            tree = ast.parse(text.strip(), mode="eval")
        return _Evaluator(names, {**FUNCTIONS, **(functions or {})}).value(tree.body)
    except SyntaxError as error:
        raise Refused(f"{text.strip()!r} is not an expression: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise Refused("the expression is nested too deeply", ModelLimitError) from None
    except OverflowError:
        raise Refused("a number is too large") from None
    except ZeroDivisionError:
        raise Refused("it divides by zero") from None
    except (Refused, ModelError):  # a ModelError is about a property and has its place
        raise
    except (TypeError, ValueError) as error:
        raise Refused(str(error)) from None


# functions ------------------------------------------------------------------------------------------------------------


def bounded(value: Value) -> Value:
    """Return the value. Raises Refused: it is over a limit."""
    if isinstance(value, (str, list, dict)) and len(value) > MAX_SIZE:
        raise Refused(f"a text or list of length {len(value)} is over the limit of {MAX_SIZE}", ModelLimitError)
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise Refused(f"a whole number of {value.bit_length()} bits is over the limit of {MAX_BITS}", ModelLimitError)
    return value


def weighed(value: Value) -> Value:
    """Return the value. Raises Refused: it has too many values when expanded, as lists that hold the same list several times."""
    weight, stack = 0, [value]
    while stack:
        item = stack.pop()
        weight += 1 + (len(item) if isinstance(item, str) else 0)
        if weight > MAX_WEIGHT:
            raise Refused(f"a list of more than {MAX_WEIGHT} values", ModelLimitError)
        stack += item if isinstance(item, list) else [*item, *item.values()] if isinstance(item, dict) else ()
    return value


def _range(*bounds: int) -> list:
    numbers = range(*bounds)
    if len(numbers) > MAX_SIZE:
        raise Refused(f"a list of length {len(numbers)} is over the limit of {MAX_SIZE}", ModelLimitError)
    return list(numbers)


def _tokenize(text: str, separators: str = ",; ", skip_empty: bool = True) -> list:
    for sign in separators[1:]:
        text = text.replace(sign, separators[0])
    return [part for part in text.split(separators[0]) if part or not skip_empty]


def _small(f: Function) -> Function:
    """Return a function of `math` with arguments up to 170 only, since its results are whole numbers of any length."""
    return lambda *numbers: f(*numbers) if all(abs(x) <= 170 for x in numbers) else _too_large()


def _too_large() -> Value:
    raise OverflowError


def _too_long() -> Value:
    raise Refused(f"a text over the limit of {MAX_SIZE}", ModelLimitError)


MATH = {name: f for name, f in vars(math).items() if callable(f) and not name.startswith("_")}
MATH |= {name: _small(MATH[name]) for name in ("factorial", "comb", "perm") if name in MATH}
MATH = {name: f for name, f in MATH.items() if name not in ("prod", "sumprod", "lcm")}
PYTHON: dict[str, Function] = {
    "abs": abs, "all": all, "any": any, "bool": bool, "dict": dict, "float": float, "int": int, "len": len, "list": list,
    "max": max, "min": min, "range": _range, "round": round, "sorted": sorted, "str": str, "sum": sum, "tuple": list,
}  # fmt: skip
CONSTANTS = {"pi": math.pi, "tau": math.tau, "e": math.e, "inf": math.inf, "nan": math.nan}
FUNCTIONS: dict[str, Function] = {
    **MATH, **PYTHON, **{f"math.{k}": f for k, f in MATH.items()}, **{f"python.{k}": f for k, f in PYTHON.items()},
    "xacro.tokenize": _tokenize, "xacro.dotify": dict,
}  # fmt: skip
METHODS: dict[type, tuple[str, ...]] = {
    str: ("endswith", "join", "lower", "lstrip", "replace", "rstrip", "split", "startswith", "strip", "title", "upper"),
    dict: ("get", "items", "keys", "values"),
    list: ("count", "index"),
}
OPERATORS: dict[type, Function] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Not: operator.not_,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
    ast.Is: lambda a, b: a is b, ast.IsNot: lambda a, b: a is not b,
}  # fmt: skip


def _times(a: Value, b: Value) -> Value:
    for many, count in ((a, b), (b, a)):
        if isinstance(many, (str, list)) and isinstance(count, int) and len(many) * count > MAX_SIZE:
            raise Refused(f"a text or list of length {len(many) * count} is over the limit of {MAX_SIZE}", ModelLimitError)
    return a * b


def _power(a: Value, b: Value) -> Value:
    if isinstance(a, int) and isinstance(b, int) and b > 0 and a.bit_length() * b > MAX_BITS:
        raise OverflowError
    result = a**b
    if isinstance(result, complex):
        raise Refused("a root of a negative number")
    return result


def _remainder(a: Value, b: Value) -> Value:
    if isinstance(a, str):
        raise Refused("texts are not formatted by %", fix="join them with + and str()")
    return a % b


OPERATORS |= {ast.Mult: _times, ast.Pow: _power, ast.Mod: _remainder}


# the walk -------------------------------------------------------------------------------------------------------------


MAKERS = (ast.List, ast.Tuple, ast.Dict, ast.BinOp, ast.Call)  # nodes whose value may be a new list


class _Evaluator:
    """Evaluation of the allowed nodes of Python's grammar; all others are refused."""

    def __init__(self, known: Names, functions: Mapping[str, Function]) -> None:
        self.known, self.functions = known, functions

    def value(self, node: ast.AST) -> Value:
        meaning = getattr(self, f"on_{type(node).__name__}", None)
        if meaning is None:
            what = type(node).__name__
            raise Refused(f"{what} is more than an expression here may hold: it is not run as code", ModelSecurityError)
        value = bounded(meaning(node))
        return weighed(value) if isinstance(value, (list, dict)) and isinstance(node, MAKERS) else value

    def on_Constant(self, node: ast.Constant) -> Value:
        if not isinstance(node.value, (int, float, str, bool, type(None))):
            raise Refused(f"{node.value!r} is neither a number nor a text")
        return node.value

    def on_Name(self, node: ast.Name) -> Value:
        name = self.allowed(node.id)
        try:
            return self.known.lookup(name)
        except KeyError:
            if name in CONSTANTS:
                return CONSTANTS[name]
        hint = near_matches(name, [*self.known.names(), *CONSTANTS])
        raise Refused(f"the name {name!r} is not defined", ModelReferenceError, hint)

    def allowed(self, name: str) -> str:
        if name.startswith("__"):
            raise Refused(f"the name {name!r} would reach into Python: expressions are not run as code", ModelSecurityError)
        return name

    def on_List(self, node: ast.List | ast.Tuple) -> list:
        return [self.value(item) for item in node.elts]

    on_Tuple = on_List

    def on_Dict(self, node: ast.Dict) -> dict:
        if None in node.keys:
            raise Refused("a dictionary is written entry by entry")
        return {self.value(key): self.value(item) for key, item in zip(node.keys, node.values) if key is not None}

    def on_UnaryOp(self, node: ast.UnaryOp) -> Value:
        return self.operator(node.op)(self.value(node.operand))

    def on_BinOp(self, node: ast.BinOp) -> Value:
        return self.operator(node.op)(self.value(node.left), self.value(node.right))

    def operator(self, node: ast.AST) -> Function:
        if type(node) not in OPERATORS:
            raise Refused(f"the operator {type(node).__name__} has no meaning here")
        return OPERATORS[type(node)]

    def on_BoolOp(self, node: ast.BoolOp) -> Value:
        stop, result = isinstance(node.op, ast.Or), None
        for part in node.values:
            result = self.value(part)
            if bool(result) == stop:
                break
        return result

    def on_Compare(self, node: ast.Compare) -> bool:
        left = self.value(node.left)
        for op, part in zip(node.ops, node.comparators):
            right = self.value(part)
            if not self.operator(op)(left, right):
                return False
            left = right
        return True

    def on_IfExp(self, node: ast.IfExp) -> Value:
        return self.value(node.body if self.value(node.test) else node.orelse)

    def on_Subscript(self, node: ast.Subscript) -> Value:
        whole = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            bounds = (node.slice.lower, node.slice.upper, node.slice.step)
            return whole[slice(*(None if x is None else self.value(x) for x in bounds))]
        return self.entry(whole, self.value(node.slice))

    def entry(self, whole: Value, key: Value) -> Value:
        if not isinstance(whole, (dict, list, str)):
            raise Refused(f"{_shown(whole)} has no entries", fix=f"it was asked for {key!r}")
        try:
            return whole[key]
        except KeyError:
            raise Refused(f"no entry {key!r}", ModelReferenceError, near_matches(str(key), map(str, whole))) from None
        except IndexError:
            raise Refused(f"no entry {key!r}: the list has {len(whole)}", ModelReferenceError) from None

    def on_Attribute(self, node: ast.Attribute) -> Value:
        """Return an entry of a dictionary or of a namespace."""
        name = self.allowed(node.attr)
        if isinstance(node.value, ast.Name) and node.value.id == "math" and name in CONSTANTS:
            return CONSTANTS[name]
        whole = self.value(node.value)
        if hasattr(whole, "lookup"):
            try:
                return whole.lookup(name)
            except KeyError:
                raise Refused(f"the namespace has no {name!r}", ModelReferenceError, near_matches(name, whole.names())) from None
        if not isinstance(whole, dict):
            raise Refused(f"{_shown(whole)} has no entry {name!r}: only dictionaries have")
        return self.entry(whole, name)

    def on_Call(self, node: ast.Call) -> Value:
        arguments = [self.value(x) for x in node.args]
        named = {self.allowed(x.arg or "**"): self.value(x.value) for x in node.keywords}
        function = self.functions.get(_dotted(node.func))
        if function is None and isinstance(node.func, ast.Attribute):
            function = self.method(node.func)
        if function is None:
            name = ast.unparse(node.func)
            kind = ModelSecurityError if "__" in name else ModelReferenceError
            raise Refused(f"there is no function {name[:40]!r}", kind, near_matches(name, self.functions))
        result = function(*arguments, **named)
        return list(result) if isinstance(result, (type({}.keys()), type({}.values()), type({}.items()), tuple)) else result

    def method(self, node: ast.Attribute) -> Function | None:
        """Return a method of a text, list or dictionary; None if it is not allowed."""
        if isinstance(node.value, ast.Name) and node.value.id in ("math", "python", "xacro"):
            return None
        whole = self.value(node.value)
        name = self.allowed(node.attr)
        if name not in METHODS.get(type(whole), ()):
            return None
        if name == "replace":
            return lambda old, new: whole.replace(old, new) if (len(whole) + 1) * (len(new) + 1) <= MAX_WEIGHT else _too_long()
        if name == "join":
            return lambda parts: whole.join(parts) if (len(whole) + 1) * len(parts) <= MAX_SIZE else _too_long()
        return getattr(whole, name)


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _shown(value: Value) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
