"""A kernel that is called step after step, as in a simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from qddot.compile.evaluate import Evaluator, Options
from qddot.compile.given import with_given
from qddot.compile.singular import singular

if TYPE_CHECKING:
    from qddot.compile.ahead import Ahead, One
    from qddot.compile.kernel import Kernel

MOST = 256
"""Most steps in one call: it cannot be interrupted, and is in vain if its first step is not valid."""

Inputs = dict[str, np.ndarray]
Careful = Callable[[Inputs], Sequence[np.ndarray]]


class Repeated:
    """A kernel for single states, at a tenth of the cost of an ordinary call, and for batches, with the same bits.

    Args:
        what: the name of the result, for errors.
        kernel: a function that returns the kernel; called when first needed.
        careful: a function that returns the outputs for states in which a margin is not positive. None: such a state is an error.
    """

    def __init__(
        self, evaluate: Evaluator, what: str, kernel: Callable[[], Kernel], options: Options, careful: Careful | None = None
    ) -> None:
        self.evaluate, self.what, self.options, self.careful = evaluate, what, options, careful
        self.make = kernel

    @cached_property
    def kernel(self) -> Kernel:
        return self.make()

    @cached_property
    def _one(self) -> One:
        from qddot.compile.ahead import One  # LLVM: loaded when first needed

        return One(self.kernel)

    def __call__(self, **inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the outputs, for the batch of q."""
        inputs = self.with_variables(inputs)
        if inputs["q"].ndim == 1 and self.is_plain and (found := self._one(inputs)) is not None:
            return found
        return self.batch(self.wide(inputs))

    @cached_property
    def is_plain(self) -> bool:
        """True if inputs need no preparation: q has no quaternion, and no array is empty."""
        return self.evaluate.is_plain and not self.kernel.is_empty

    def tried(self, **inputs: np.ndarray) -> tuple[Sequence[np.ndarray], np.ndarray]:
        """Return the outputs, and (...) True for states with a margin that is not positive: their outputs are not valid."""
        inputs = self.wide(self.with_variables(inputs))
        results, margins = self.evaluate.evaluate(self.what, self.kernel, inputs, self.options, watch=False)
        valid = np.ones(inputs["q"].shape[:-1], bool) if margins is None else (margins > 0).all(-1)
        return results, np.logical_not(np.asarray(valid))

    def with_variables(self, inputs: Inputs) -> Inputs:
        """Return the inputs and, if the robot has variables, their numbers as described."""
        if not self.evaluate.model.variables:
            return inputs
        return dict(with_given(self.evaluate.model.variables, inputs, None, self.kernel.dtype))

    def wide(self, inputs: Inputs) -> Inputs:
        """Return each input broadcast to the batch of q."""
        batch = inputs["q"].shape[:-1]
        shapes = {x.name: (*batch, *x.shape) for x in self.kernel.program.inputs}
        return {name: np.ascontiguousarray(np.broadcast_to(inputs[name], s)) for name, s in shapes.items()}

    def ahead(self, steps: int, state: Sequence[np.ndarray], **rest: np.ndarray) -> tuple[list[np.ndarray], int]:
        """Return the states after many steps of one motion, and the number of valid ones (see `Ahead`); no steps if q has
        quaternions, since every call normalises them."""
        if not self.is_plain:
            return [x[None][:0] for x in state], 0
        return self._ahead(steps, state, self.with_variables(rest))

    @cached_property
    def _ahead(self) -> Ahead:
        from qddot.compile.ahead import Ahead  # LLVM: loaded when first needed

        return Ahead(self.kernel)

    def batch(self, inputs: Inputs) -> tuple[np.ndarray, ...]:
        """Return the outputs for arrays with the batch of q; those of `careful` where a margin is not positive."""
        results, margins = self.evaluate.evaluate(self.what, self.kernel, inputs, self.options, watch=self.careful is None)
        if margins is not None:
            if self.careful is None:
                raise singular(self.evaluate, self.what, margins, inputs)
            doubtful = ~(margins > 0).all(-1)
            at = doubtful if doubtful.ndim else ()
            for values, found in zip(results, self.careful({name: x[at] for name, x in inputs.items()})):
                values[at] = found
        return tuple(results)
