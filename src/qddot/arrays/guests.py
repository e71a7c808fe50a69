"""Calls with arrays of other libraries: from a quantity's name and inputs to the operation, and to the library's own module."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.compile.evaluate import Evaluator, refuse_unknown
from qddot.compile.given import known_names
from qddot.compile.kinds import guest, library_of, mixed
from qddot.errors import InputError, as_written
from qddot.model.lower import WORLD

if TYPE_CHECKING:
    from qddot.arrays.operation import Operation
    from qddot.graph.program import Program


class Guests:
    """Operations of one robot for other libraries, each made when first needed.

    Args:
        shadow: a function that replaces a method of the robot by its direct entry.
        returns: a function that returns the type of tuple for a quantity of several results, or None.

    Attributes:
        direct: by quantity and type of array, the function for calls without options: it takes the arrays, and returns None for
            unusual ones.
        entries: by quantity, the type of array and the function to which its direct entry passes calls with such arrays.
        ways: by quantity, the functions among which a library's `direct` chooses.
        traced, numbers: functions that trace programs other than the robot's quantities, and the last part of their names.
    """

    def __init__(self, evaluate: Evaluator, shadow: Callable[[str], None], returns: Callable[[str], type | None]) -> None:
        self.evaluate, self.shadow, self.returns = evaluate, shadow, returns
        self.variables = evaluate.model.variables  # kept here, since torch.compile cannot trace the lock of a cached property
        self.operations: dict[tuple, Operation] = {}
        self.traced: dict[str, Callable[[np.dtype], Program]] = {}
        self.numbers: dict[Any, int] = {}
        self.ways: dict[str, dict] = {}
        self.entries: dict[str, tuple[type, Callable[..., Any]]] = {}
        self.direct: dict[str, dict[type, Callable[..., Any]]] = {}

    def operation(self, quantity: str, dtype: str, wrench: bool, fixed: tuple[tuple[str, str], ...]) -> Operation:
        """Return the operation for a quantity in one precision."""
        key = (quantity, dtype, wrench, fixed)
        if key not in self.operations:
            from qddot.arrays.operation import for_guests, operation

            kind, kernels = np.dtype(dtype), self.evaluate.kernels
            if quantity in self.traced:
                program = self.traced[quantity](kind)
            else:
                program = kernels.program((kernels.request(quantity, dict(fixed)),), kind, wrench=wrench)
            program = for_guests(program, self.evaluate.model.mechanism, float(np.finfo(kind).eps))
            self.operations[key] = operation(program, kind)
        return self.operations[key]

    def named(self, make: Callable[..., Callable[[np.dtype], Program]], *about: Any) -> str:
        """Return the name, for `compute`, of a program other than the robot's quantities, which is traced when first needed.
        `make`: returns the function that traces it, from the robot's evaluator and the arguments `about`."""
        number = self.numbers.setdefault((make, about), len(self.numbers))
        name = f"{make.__name__}/{number}"
        if name not in self.traced:
            self.traced[name] = make(self.evaluate, *about)
        return name

    def made(self, make: Callable[[Operation], Any], *which: Any) -> Any:
        """Return the result of `make` for an operation, made once and kept."""
        return self.operation(*which).once(make)

    def unusual(self, quantity: str, fixed: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """Return the options of a quantity that differ from their defaults. Raises InputError: one is not a name."""
        if not fixed:
            return ()
        from qddot.algorithms.quantities import COMPUTED  # every algorithm: loaded when first needed

        for name, value in fixed.items():
            if not isinstance(value, str):  # it may not even be hashable
                raise InputError(f"{name}={as_written(value)} is not a name")
        choices = COMPUTED[quantity].options
        return tuple((name, value) for name, value in fixed.items() if not choices.get(name) or choices[name][0] != value)

    def slope(self, quantity: str, wrt: str, options: tuple[tuple[str, str], ...]) -> tuple[str, tuple[str, ...]]:
        """Return the name of the derivative of a quantity with respect to one input, and the names of its inputs."""
        from qddot.compile.together import slope_of

        return self.named(slope_program, quantity, wrt, options), tuple(slope_of(self.evaluate, quantity, wrt, options).inputs)

    def known(self, find: Callable[..., Any], *about: Any) -> Any:
        """Return `find(model, *about)`, which torch.compile takes as a constant, without tracing `find`."""
        return find(self.evaluate.model, *about)

    for method in (
        operation,
        named,
        made,
        unusual,
        slope,
        known,
    ):  # torch.compile calls these while it traces, and keeps their results as constants
        method._dynamo_marked_constant = True  # type: ignore[attr-defined]
    del method

    def keep(self, quantity: str, kind: type, direct: Callable[..., Any], in_python: Callable[..., Any]) -> None:
        """Let calls with arrays of a type go to `direct` from now on: `direct` by machine code, `in_python` for callers that cannot
        trace that, such as torch.compile."""
        if (made := self.returns(quantity)) is not None:
            direct, in_python = in_tuple(direct, made), in_tuple(in_python, made)
        self.direct.setdefault(quantity, {})[kind] = in_python
        self.entries[quantity] = kind, direct
        self.shadow(quantity)

    def compute(self, quantity: str, inputs: Mapping[str, Any], options: Mapping[str, Any], fixed: Mapping[str, str]) -> Any:
        """Return a quantity as arrays of its inputs' library. Raises InputError: arrays of several libraries, devices or types, a
        shape that does not fit, or an option that is not for them."""
        if options:
            refuse_unknown(quantity, options, tuple(fixed))
        library, variables = guest(inputs.values()) or "dlpack", self.variables
        if library != "dlpack" and (variables or "variables" in options):
            known_names(variables, options.get("variables"))
            inputs = {**inputs, "variables": self.packed(inputs, options.get("variables"))}
            options = {name: x for name, x in options.items() if name != "variables"}
        return computing(library)(self, quantity, inputs, options, self.unusual(quantity, fixed))

    def several(self, quantities: Any, arrays: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """Return several quantities by name, as `Robot.compute` does."""
        from qddot.algorithms.quantities import COMPUTED
        from qddot.compile.together import named_pairs
        from qddot.compile.trace import INPUTS

        pairs = [(self.evaluate.kernels.request(name, fixed).quantity, fixed) for name, fixed in named_pairs(quantities)]
        names = [x for x in INPUTS if any(x in COMPUTED[name].inputs for name, _ in pairs)]
        if len(arrays) != len(names):
            raise InputError(f"these quantities need {', '.join(names)}: {len(names)} arrays, {len(arrays)} were given")
        given = dict(zip(names, arrays))
        own = lambda name: {x: given[x] for x in COMPUTED[name].inputs}  # noqa: E731
        return {name: self.compute(name, own(name), options, fixed) for name, fixed in pairs}

    def derivative(self, quantity: str, arrays: Sequence[Any], wrt: str, options: Mapping[str, Any]) -> Any:
        """Return derivatives of a quantity with respect to one input, as `Robot.derivative` does."""
        from qddot.compile.together import named_inputs, split_options

        own, rest = split_options(options)
        name, inputs = self.slope(quantity, wrt, tuple(rest.items()))
        return self.compute(name, named_inputs(quantity, inputs, arrays), own, {})

    def packed(self, inputs: Mapping[str, Any], given: Any) -> Any:
        """Return the numbers of the robot's variables (..., k), as an array of the inputs' library; those not given are as
        described. Raises InputError: arrays of another library, type or device, or shapes that do not fit."""
        first, like = next((name, x) for name, x in inputs.items() if library_of(x))
        if given is not None and not isinstance(given, Mapping):
            return given
        for name, value in (given or {}).items():
            if isinstance(value, (int, float)):
                continue
            if library_of(value) != library_of(like):
                raise mixed(name, value, first, like)
            if value.dtype != like.dtype:
                convert = "to" if library_of(like) == "torch" else "astype"
                raise InputError(f"{name} holds {value.dtype}, but {first} holds {like.dtype}: {name}.{convert}({first}.dtype)")
            if library_of(like) == "torch" and value.device != like.device:
                raise InputError(f"{name} is on {value.device}, but {first} is on {like.device}: {name}.to({first}.device)")
        library, parts = guest_module(like), []
        for x in self.evaluate.model.variables:
            value = (given or {}).get(x.name)
            if value is None:
                parts.append(constant(like, x.default))
            elif isinstance(value, (int, float)):  # one number for all states
                parts.append(constant(like, [float(value)]))
            else:
                parts.append(value[..., None] if x.size == 1 else value)
            if tuple(parts[-1].shape[-1:]) != (x.size,):
                raise InputError(f"{x.name} has shape {tuple(parts[-1].shape)}, expected (..., {x.size})")
        try:
            lead = np.broadcast_shapes(*(tuple(x.shape[:-1]) for x in parts))
        except ValueError:
            shapes = ", ".join(f"{name} {tuple(value.shape)}" for name, value in (given or {}).items())
            raise InputError(f"leading dimensions of variables do not fit each other: {shapes}") from None
        return library.concatenate([library.broadcast_to(x, (*lead, x.shape[-1])) for x in parts], -1)

    def net_stack(self, inputs: Mapping[str, Any], f_ext: Any, f_tip: Any) -> Any:
        """Return the wrenches on the robot as a stack (..., bodies, 6): `f_ext`, less those that it exerts on its environment
        (`f_tip`)."""
        on, by = (None if f is None else self.stack(inputs, name, f) for name, f in (("f_ext", f_ext), ("f_tip", f_tip)))
        if on is None:
            return -by  # type: ignore[operator]
        return on if by is None else on - by

    def stack(self, inputs: Mapping[str, Any], name: str, forces: Any, expressed: str = "world") -> Any:
        """Return one stack about the world's origin from wrenches at the origins of frames, in world axes or in those of the frame
        (`expressed="body"`); a stack is returned as it is."""
        first, like = next((name, x) for name, x in inputs.items() if library_of(x))
        values = forces if isinstance(forces, Mapping) else {name: forces}
        for key, value in values.items():
            if library_of(value) != library_of(like):
                raise mixed(name if value is forces else f"{name}[{key!r}]", value, first, like)
        if not isinstance(forces, Mapping):
            return forces
        model = self.evaluate.model
        rows = {body.index: row for row, body in enumerate(b for b in model.bodies if b.is_link)}
        total = None
        for frame, wrench in forces.items():
            body, _ = model.frame(frame)
            if body == WORLD:
                raise InputError(f"frame {frame!r} is fixed to the world: a force on it moves nothing")
            if wrench.shape[-1:] != (6,):
                raise InputError(f"{name}[{frame!r}] has shape {tuple(wrench.shape)}, expected (..., 6)")
            pose = self.compute("transform", {"q": inputs["q"]}, {}, {"frame": frame})
            turned = wrench if expressed == "world" else in_world(pose, wrench)
            one = at_origin(pose[..., :3, 3], turned, rows[body], len(rows))
            total = one if total is None else total + one
        return total


def slope_program(evaluate: Evaluator, quantity: str, wrt: str, options: tuple) -> Callable[[np.dtype], Program]:
    """Return the function that traces the derivative of a quantity."""
    from qddot.compile.together import slope_of

    return slope_of(evaluate, quantity, wrt, options).program


def in_tuple(way: Callable[..., Any], made: type) -> Callable[..., Any]:
    """Return a function that returns the results of `way` in a named tuple."""

    def call(*arrays: Any) -> Any:
        found = way(*arrays)
        return None if found is None else made(*found)

    return call


def at_origin(p: Any, wrench: Any, row: int, count: int) -> Any:
    """Return a stack (..., count, 6) with a wrench at p, taken about the world's origin, in one row; by arithmetic that every
    library has."""
    x, y, z = (p[..., k : k + 1] for k in range(3))
    mx, my, mz, fx, fy, fz = (wrench[..., k : k + 1] for k in range(6))
    six = (mx + y * fz - z * fy, my + z * fx - x * fz, mz + x * fy - y * fx, fx + 0 * x, fy + 0 * x, fz + 0 * x)
    like = guest_module(wrench)
    moved = like.concatenate(six, -1)[..., None, :]
    still = 0 * moved
    return like.concatenate([moved if k == row else still for k in range(count)], -2)


def in_world(pose: Any, wrench: Any) -> Any:
    """Return a wrench (..., 6), given in the axes of a frame at `pose`, in world axes."""
    turned = [sum(pose[..., i, j] * wrench[..., k + j] for j in range(3)) for k in (0, 3) for i in range(3)]
    return guest_module(wrench).stack(turned, -1)


def constant(like: Any, numbers: Sequence[Any]) -> Any:
    """Return numbers as an array of the same library, type and device as `like`."""
    if library_of(like) == "torch":
        return like.new_tensor(numbers)
    return guest_module(like).asarray(numbers, like.dtype)


def guest_module(array: Any) -> Any:
    """Return the module with the functions of an array's library."""
    if library_of(array) == "torch":
        import torch

        return torch
    if type(array).__module__.partition(".")[0] == "cupy":
        import cupy

        return cupy
    import jax.numpy

    return jax.numpy


def computing(library: str) -> Callable:
    """Return the function that computes with a library's arrays."""
    if library == "torch":
        from qddot.arrays.torch_calls import compute
    elif library == "jax":
        from qddot.arrays.jax_calls import compute
    else:
        from qddot.arrays.dlpack_calls import compute
    return compute
