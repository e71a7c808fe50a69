"""External forces: convert wrenches at frames to one stack of wrenches about the world's origin, a row for each moving link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.arguments import word
from qddot.compile.arrays import as_array
from qddot.compile.evaluate import Evaluator
from qddot.errors import InputError
from qddot.model.lower import WORLD

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def as_stack(evaluate: Evaluator, q: ArrayLike, name: str, forces: Any, check: bool) -> Any:
    """Return the stack (..., bodies, 6) of forces that a user gave as `{frame: wrench}` in world axes, as a stack, or as None."""
    if forces is None:
        return 0.0
    if isinstance(forces, Mapping):
        return stack_wrenches(evaluate, q, forces, "world", check)
    links = sum(body.is_link for body in evaluate.model.bodies)
    return as_array(name, forces, (links, 6), check=check)


def net_stack(evaluate: Evaluator, q: ArrayLike, f_ext: Any, f_tip: Any, check: bool) -> Any:
    """Return the wrenches on the robot as a stack: `f_ext`, less those that it exerts on its environment (`f_tip`)."""
    on, by = as_stack(evaluate, q, "f_ext", f_ext, check), as_stack(evaluate, q, "f_tip", f_tip, check)
    try:
        with np.errstate(all="ignore"):  # the kernel checks the sum
            return on - by
    except ValueError:
        raise InputError(f"leading dimensions of f_ext {np.shape(on)} and f_tip {np.shape(by)} do not fit") from None


def stack_wrenches(
    evaluate: Evaluator, q: ArrayLike, wrenches: Mapping[str, ArrayLike], expressed: str, check: bool = True
) -> np.ndarray:
    """Return a stack (..., bodies, 6) about the world's origin in world axes, from wrenches (..., 6) at the origins of frames.
    `expressed`: their axes, `"body"` for those of the frames, or `"world"`."""
    word("expressed", expressed, ("body", "world"))
    if not isinstance(wrenches, Mapping):
        raise InputError(f"wrenches are {{frame: wrench (..., 6)}}, not {type(wrenches).__name__}")
    rows = {body.index: row for row, body in enumerate(b for b in evaluate.model.bodies if b.is_link)}
    stack: Any = np.zeros((len(rows), 6))
    for frame, wrench in wrenches.items():
        body, _ = evaluate.model.frame(frame)
        if body == WORLD:
            raise InputError(f"frame {frame!r} is fixed to the world: a force on it moves nothing")
        T = evaluate("transform", {"q": q}, {"check": check}, frame=frame)
        w = as_array(f"wrench on {frame!r}", wrench, (6,), check=check)
        try:
            with np.errstate(all="ignore"):
                stack = stack + one_row(space_wrench(T, w, expressed), rows[body], len(rows))
        except ValueError:
            raise InputError(
                f"leading dimensions {w.shape[:-1]} of the wrench on {frame!r} do not fit {T.shape[:-2]} of q, or another wrench"
            ) from None
    return stack


def space_wrench(T: np.ndarray, wrench: np.ndarray, expressed: str) -> np.ndarray:
    """Return a wrench (..., 6), given at the origin of a frame at T, about the world's origin in world axes."""
    moment, force = wrench[..., :3], wrench[..., 3:]
    if expressed == "body":
        moment, force = (np.einsum("...ij,...j->...i", T[..., :3, :3], x) for x in (moment, force))
    return np.concatenate(np.broadcast_arrays(moment + np.cross(T[..., :3, 3], force), force), axis=-1)


def one_row(row: np.ndarray, index: int, count: int) -> np.ndarray:
    """Return a stack (..., count, 6) that is zero except for one row."""
    stack = np.zeros((*row.shape[:-1], count, 6))
    stack[..., index, :] = row
    return stack
