"""From a quantity's name and arrays to a checked result: traces, compiles and keeps one robot's kernels."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from qddot.compile.arrays import as_array, check_configuration
from qddot.errors import InputError, SingularityError, near_matches
from qddot.model.model import Model

if TYPE_CHECKING:
    from qddot.compile.kernel import Kernel
    from qddot.graph.program import Program


class Options(TypedDict, total=False):
    """Keywords every computing method takes.

    out: array (or tuple of arrays, for several results) that receives the result.
    dtype: of the computation and the result, float64 (default) or float32; inputs of any real type are cast to it.
    check: False skips the tests that inputs and results are finite and that the state is not singular, and the normalisation of
        quaternions: what is wrong then comes out as inf or nan.
    """

    out: Any
    dtype: Any
    check: bool


class Evaluator:
    """The kernels of one robot, made when first asked for. Safe to share between threads."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.kernels: dict[tuple, Kernel] = {}
        self._lock = threading.Lock()

    def program(self, quantity: str, dtype: Any = np.float64, *, wrench: bool = False, **fixed: str) -> Program:
        """The expression graph of a quantity."""
        from qddot.compile.quantities import complete, trace  # every algorithm: loaded when first needed

        if wrench and not takes_wrenches(quantity):
            raise InputError(f"{quantity} does not depend on external forces: leave wrench out")
        return trace(self.model, quantity, dtype, wrench=wrench, **complete(quantity, fixed, lambda: self.model.tip))

    def kernel(self, quantity: str, dtype: np.dtype, *, wrench: bool = False, **fixed: str) -> Kernel:
        """The compiled quantity."""
        key = (quantity, dtype.char, wrench, *fixed.items())
        kernel = self.kernels.get(key)
        return self._compile(key, dtype) if kernel is None else kernel

    def _compile(self, key: tuple, dtype: np.dtype) -> Kernel:
        """Trace and compile, once for every way to ask for the same."""
        from qddot.compile.kernel import Kernel  # LLVM: likewise
        from qddot.compile.quantities import complete

        quantity, _, wrench, *given = key
        fixed = complete(quantity, dict(given), lambda: self.model.tip)
        full = (quantity, dtype.char, wrench, *fixed.items())
        if full not in self.kernels:
            program = self.program(quantity, dtype, wrench=wrench, **fixed)
            with self._lock:
                if full not in self.kernels:
                    self.kernels[full] = Kernel(program, dtype)
        return self.kernels.setdefault(key, self.kernels[full])

    def __call__(self, quantity: str, inputs: Mapping[str, Any], options: Options, **fixed: str) -> Any:
        """Check the inputs, run the kernel, and refuse a result that does not exist.

        Raises:
            InputError: an input is not a real, finite array of the right shape.
            SingularityError: the quantity does not exist in this state.
        """
        for name in options:
            if name not in Options.__annotations__:
                known = (*Options.__annotations__, *fixed, *(("f_ext", "f_tip") if takes_wrenches(quantity) else ()))
                raise InputError(f"{quantity} has no option {name!r}: {near_matches(name, known)}")
        dtype, check = as_dtype(options.get("dtype")), options.get("check", True)
        kernel = self.kernel(quantity, dtype, wrench="wrench" in inputs, **fixed)
        arrays = [self.prepared(x.name, inputs[x.name], x.shape, dtype, check=check) for x in kernel.program.inputs]
        names, out = [x.name for x in kernel.program.outputs], options.get("out")
        if out is not None and names[-1] == "margins":
            out = (*out, None) if isinstance(out, tuple) else (out, None)
        try:
            with np.errstate(all="ignore"):
                results = kernel(*arrays, out=out)
        except (TypeError, ValueError) as error:
            shapes = ", ".join(f"{x.name} {a.shape}" for x, a in zip(kernel.program.inputs, arrays))
            raise InputError(f"{quantity}: {error} (got {shapes})") from None
        results = results if isinstance(results, tuple) else (results,)
        if names[-1] == "margins":
            *results, margins = results
            if check and not (margins > 0).all():
                raise self.singular(quantity, margins)
        if check:
            refuse_non_finite(quantity, names, results)
        return results[0] if len(results) == 1 else tuple(results)

    def prepared(self, name: str, value: Any, shape: tuple[int, ...], dtype: Any = np.float64, *, check: bool = True) -> np.ndarray:
        """An input as a checked array; the quaternions in q are normalised."""
        array = as_array(name, value, shape, np.dtype(dtype), check=check)
        return check_configuration(array, self.model.mechanism) if name == "q" and check else array

    def configuration(self, name: str, value: Any) -> np.ndarray:
        """A configuration under another name than q."""
        return check_configuration(as_array(name, value, (self.model.mechanism.nq,), np.dtype(float)), self.model.mechanism)

    def singular(self, quantity: str, margins: np.ndarray) -> SingularityError:
        """Why a quantity does not exist where a margin is not positive."""
        bad = ~(margins > 0)
        *state, _ = (int(i) for i in np.argwhere(bad)[0])
        column = int(np.flatnonzero(bad[tuple(state)])[-1])  # elimination begins at the tips, so the last column is the cause
        where = f" in state {state}" if state else ""
        if quantity == "analytic_jacobian":
            return SingularityError(
                f"{quantity} does not exist{where}: pitch is +-90 degrees, where roll and yaw turn about one axis. "
                'Use coordinates="quaternion" or "rotation_vector".'
            )
        joint = next(c.name for c in self.model.mechanism.coordinates if column in c.v)
        if margins.dtype == np.float32:
            return SingularityError(
                f"the mass matrix of {self.model.name} is not positive definite in float32{where}, at joint {joint!r}: "
                "compute in float64"
            )
        return SingularityError(
            f"the mass matrix of {self.model.name} is not positive definite{where}: nothing resists joint {joint!r}. "
            "Give the links beyond it mass, or its drive a rotor inertia, or fix the joint."
        )


def refuse_non_finite(quantity: str, names: Sequence[str], results: Sequence[np.ndarray]) -> None:
    """No result without a number in every place."""
    for name, values in zip(names, results):
        if not np.isfinite(values).all():
            index = [int(i) for i in np.argwhere(~np.isfinite(values))[0]]
            raise SingularityError(f"{quantity}: {name}{index} is not finite: the state is singular, or its numbers are too large")


def as_dtype(dtype: Any) -> np.dtype:
    """float64, unless float32 is asked for."""
    try:
        found = np.dtype(dtype or np.float64)
    except TypeError:
        raise InputError(f"dtype={dtype!r} is neither float64 nor float32") from None
    if found not in (np.float64, np.float32):
        raise InputError(f"dtype {found} is neither float64 nor float32")
    return found


def takes_wrenches(quantity: str) -> bool:
    """True for what external forces change."""
    return quantity in ("inverse_dynamics", "bias_torque", "forward_dynamics")
