"""A kernel that is called step after step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.compile.bound import Bound
from qddot.compile.evaluate import Evaluator, Options

if TYPE_CHECKING:
    from qddot.compile.kernel import Kernel

Inputs = dict[str, np.ndarray]
Careful = Callable[[Inputs], Sequence[np.ndarray]]


class Repeated:
    """One state by arrays of its own, which costs a tenth of an ordinary call, and batches; both give the same bits.

    Args:
        what: it computes.
        kernel: makes the kernel; called when first needed.
        careful: computes the outputs of those states in which a margin is not positive. None: there are none, as the error says.
    """

    def __init__(
        self,
        evaluate: Evaluator,
        what: str,
        kernel: Callable[[], Kernel],
        options: Options,
        careful: Careful | None = None,
    ) -> None:
        self.evaluate, self.what, self.options, self.careful = evaluate, what, options, careful
        self.make = kernel

    @cached_property
    def kernel(self) -> Kernel:
        return self.make()

    @cached_property
    def bound(self) -> Bound:
        return Bound(self.evaluate, self.kernel, self.fill)

    def __call__(self, **inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        """The outputs; the batch is that of q."""
        if self.evaluate.model.variables:  # as described
            inputs = dict(self.evaluate.with_variables(inputs, None, self.kernel.dtype))
        batch = inputs["q"].shape[:-1]
        if batch:
            shapes = {x.name: (*batch, *x.shape) for x in self.kernel.program.inputs}
            return self.batch({name: np.ascontiguousarray(np.broadcast_to(inputs[name], s)) for name, s in shapes.items()})
        for name, room in self.bound.inputs.items():
            room[...] = inputs[name]
        return tuple(x.copy() for x in self.bound())

    def batch(self, inputs: Inputs) -> tuple[np.ndarray, ...]:
        results, margins = self.evaluate.evaluate(self.what, self.kernel, inputs, self.options, watch=self.careful is None)
        if margins is not None:
            if self.careful is None:
                raise self.evaluate.singular(self.what, margins, inputs)
            doubtful = ~(margins > 0).all(-1)
            at = doubtful if doubtful.ndim else ()
            for values, found in zip(results, self.careful({name: x[at] for name, x in inputs.items()})):
                values[at] = found
        return tuple(results)

    def fill(self, inputs: Inputs, out: Any) -> None:
        """Compute one state into arrays."""
        for room, values in zip(out, self.batch(inputs)):
            room[...] = values
