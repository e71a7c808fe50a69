"""The kernels of one robot, each traced and compiled when first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.compile.arrays import DOUBLE
from qddot.errors import InputError, as_written
from qddot.model.model import Model

if TYPE_CHECKING:
    from qddot.compile.kernel import Kernel
    from qddot.compile.trace import Request
    from qddot.graph.program import Program


class Kernels:
    """Programs and machine code of one robot. Safe to share between threads.

    Attributes:
        made: the compiled kernels, by quantity, options and precision.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.made: dict[tuple, Kernel] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple:
        """Pickle the model only: kernels are compiled, or found in the cache, again."""
        return Kernels, (self.model,)

    def request(self, quantity: str, options: Mapping[str, str]) -> Request:
        """Return a quantity with its options checked and completed."""
        from qddot.compile.trace import complete

        return complete(quantity, options, lambda: self.model.tip)

    def program(
        self, requests: Sequence[Request], dtype: Any = np.float64, *, wrench: bool = False, runtime: bool = False
    ) -> Program:
        """Return the program of some quantities."""
        from qddot.algorithms.quantities import COMPUTED  # every algorithm: loaded when first needed
        from qddot.compile.trace import trace

        if wrench and not any(COMPUTED[r.quantity].forced for r in requests):
            raise InputError(f"{requests[0].quantity} does not depend on external forces: leave wrench out")
        return trace(self.model, requests, dtype, wrench=wrench, runtime=runtime)

    def kernel(
        self, quantity: str, dtype: np.dtype, fixed: Mapping[str, str], *, wrench: bool = False, runtime: bool = False
    ) -> Kernel:
        """Return the kernel of one quantity."""
        if not isinstance(quantity, str):
            raise InputError(f"{as_written(quantity)} is not the name of a quantity")
        key = (quantity, dtype.char, wrench, runtime)
        if fixed:
            key += tuple([(name, str(value)) for name, value in fixed.items()])
        kernel = self.made.get(key)
        if kernel is None:
            kernel = self.joint_kernel((self.request(quantity, fixed),), dtype, wrench=wrench, runtime=runtime)
            self.made[key] = kernel
        return kernel

    def joint_kernel(
        self, requests: tuple[Request, ...], dtype: np.dtype, *, wrench: bool = False, runtime: bool = False
    ) -> Kernel:
        """Return one kernel for several quantities."""
        trace = lambda: self.program(requests, dtype, wrench=wrench, runtime=runtime)  # noqa: E731
        return self.compiled((requests, dtype.char, wrench, runtime), trace, dtype)

    def compiled(self, key: tuple, trace: Callable[[], Program], dtype: np.dtype) -> Kernel:
        """Return the kernel kept under a key, or a new one of the program that `trace` returns."""
        from qddot.compile.kernel import Kernel  # LLVM: loaded when first needed

        if key not in self.made:
            program = trace()
            with self._lock:
                if key not in self.made:
                    self.made[key] = Kernel(program, dtype)
        return self.made[key]

    def any_kernel(self, quantity: str) -> Kernel | None:
        """Return a kernel of the quantity with any options; None if there is none."""
        found = (k for key, k in list(self.made.items()) if key[:4] == (quantity, DOUBLE.char, False, False))
        return next(found, None)
