"""A quantity bound to fixed arrays, for control loops: a call has no arguments to check and allocates nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.errors import InputError
from qddot.model.configuration import neutral

if TYPE_CHECKING:
    from qddot.compile.evaluate import Evaluator
    from qddot.compile.kernel import Kernel


class Bound:
    """A quantity with its own arrays: write the inputs, call it, read the outputs.

        step = robot.bind("inverse_dynamics")
        step.q[:], step.qd[:], step.qdd[:] = q, qd, qdd
        tau = step()          # the same array every time, also step.tau

    Inputs and outputs are float64 arrays of one state, named as in the quantity. A state that is not finite or singular raises the
    error of the method.

    Args:
        ordinary: a function of the inputs by name and an output (or a tuple of several) to fill, with all checks; it is called
            when the fast call meets anything unusual.

    >>> torque = qddot.load("two_link").bind("inverse_dynamics")
    >>> torque.q[:], torque.qd[:], torque.qdd[:] = [0, 0], [0, 0], [0, 0]
    >>> torque().round(2)
    array([7.06, 2.4 ])
    """

    def __init__(self, evaluate: Evaluator, kernel: Kernel, ordinary: Callable[[dict[str, np.ndarray], Any], object]) -> None:
        from qddot.compile.direct import Direct  # only when it is needed: it takes 3 ms to import

        self._ordinary, program = ordinary, kernel.program
        self.inputs = {x.name: np.zeros(x.shape) for x in program.inputs}
        self.outputs = {x.name: np.zeros(x.shape) for x in program.outputs}
        shown = [a for name, a in self.outputs.items() if name != "margins"]
        self._result = shown[0] if len(shown) == 1 else tuple(shown)
        if "q" in self.inputs:
            self.inputs["q"][:] = neutral(evaluate.model.mechanism)
        if "variables" in self.inputs:
            self.inputs["variables"][:] = [x for variable in evaluate.model.variables for x in variable.default]
        arrays = [*self.inputs.values(), *self.outputs.values()]
        self._run = (Direct.bound(kernel, arrays, self._result, self._checked) if evaluate.is_plain else None) or self._checked

    def __call__(self) -> Any:
        """Compute the outputs from the inputs, and return them."""
        return self._run()

    def __reduce__(self) -> tuple:
        """Refuse a copy: its code would use the arrays of the original."""
        raise InputError("a bound quantity belongs to its arrays and is not copied or pickled: bind it again, robot.bind(...)")

    def __getattr__(self, name: str) -> np.ndarray:
        for arrays in (self.__dict__.get("inputs", {}), self.__dict__.get("outputs", {})):
            if name in arrays:
                return arrays[name]
        raise AttributeError(f"no array {name!r}: there are {', '.join((*self.inputs, *self.outputs))}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Copy into an input's array: `step.q = q`."""
        if name in self.__dict__.get("inputs", {}):
            self.inputs[name][...] = value
        elif name.startswith("_") or name in ("inputs", "outputs"):
            object.__setattr__(self, name, value)
        else:
            raise AttributeError(f"no input {name!r}: there are {', '.join(self.inputs)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.inputs, *self.outputs]

    def _checked(self) -> Any:
        """Compute with all checks, which raise the errors."""
        self._ordinary(self.inputs, self._result)
        return self._result
