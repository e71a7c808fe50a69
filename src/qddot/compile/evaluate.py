"""Evaluation of a robot's quantities: check the arrays, run the kernel, check the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from qddot.arguments import flag
from qddot.compile.arrays import DOUBLE, as_array, check_configuration, extent
from qddot.compile.flags import IGNORING, RAISING, are_raised
from qddot.compile.given import with_given
from qddot.compile.kernels import Kernels
from qddot.compile.kinds import described, library_of
from qddot.compile.singular import singular
from qddot.compile.threads import thread_count
from qddot.errors import InputError, SingularityError, near_matches
from qddot.model.lower import Mechanism
from qddot.model.model import Model

if TYPE_CHECKING:
    from qddot.compile.kernel import Kernel
    from qddot.graph.program import Program


class Options(TypedDict, total=False):
    """Keywords that every computing method takes.

    out: array (or tuple of arrays, for several results) that receives the result.
    dtype: of the computation and the result, float64 (default) or float32; inputs of any real type are cast to it.
    check: False skips the tests that inputs and results are finite and that the state is not singular, and the normalisation of
        quaternions: errors then show as inf or nan. Arrays on a GPU are checked only with `"now"` (True), which waits for the
        device, or `"later"`: then the next such call raises the error.
    threads: number of threads that share a large batch; by default QDDOT_THREADS or every core. The result does not depend on it.
    variables: name -> number or array, for a robot with variables (`Robot.with_variable`); those left out are as described.
    """

    out: Any
    dtype: Any
    check: bool | str
    threads: int
    variables: Any


class Evaluator:
    """Computes quantities of one robot, with checks of inputs and results. Safe to share between threads.

    Attributes:
        kernels: the robot's programs and machine code.
    """

    def __init__(self, model: Model) -> None:
        self.model, self.kernels = model, Kernels(model)

    def __call__(self, quantity: str, inputs: Mapping[str, Any], options: Options, **fixed: str) -> Any:
        """Check the inputs, run the kernel, and refuse a result that does not exist. Raises InputError: an input is not a real,
        finite array of the right shape; SingularityError: the quantity does not exist in this state."""
        if options:
            refuse_unknown(quantity, options, tuple(fixed))
        dtype = as_dtype(options.get("dtype"))
        if self.model.variables or "variables" in options:
            inputs = with_given(self.model.variables, inputs, options.get("variables"), dtype)
        kernel = self.kernels.kernel(quantity, dtype, fixed, wrench="wrench" in inputs, runtime="parameters" in inputs)
        return self.result(quantity, kernel, inputs, options)

    def result(self, quantity: str, kernel: Kernel, inputs: Mapping[str, Any], options: Options) -> Any:
        """Return the one result of a kernel, or a tuple of several. Raises InputError and SingularityError as a call does."""
        results, margins = self.evaluate(quantity, kernel, inputs, options)
        if margins is not None:
            raise singular(self, quantity, margins, inputs)
        return results[0] if len(results) == 1 else tuple(results)

    def evaluate(
        self, what: str, kernel: Kernel, inputs: Mapping[str, Any], options: Options, *, watch: bool = True, unit: bool = False
    ) -> tuple[Sequence[np.ndarray], np.ndarray | None]:
        """Return the outputs of a kernel, and its margins if some are not positive.

        Args:
            watch: False if margins are often not positive: else such a batch is computed twice.
            unit: True if quaternions are normalised already, by a kernel: their last bits are kept.
        """
        threads, out = options.get("threads"), options.get("out")
        check = "check" not in options or flag("check", options["check"])
        if threads is not None:
            thread_count(threads)  # raises InputError unless it is a number of threads
        arrays = [as_array(name, inputs[name], shape, kernel.dtype, check=False) for name, shape in kernel.program.inputs]
        if check and not unit and not self.is_plain:
            pairs = zip(kernel.program.inputs, arrays)
            arrays = [self.configuration("q", a, kernel.dtype) if x.name == "q" else a for x, a in pairs]
        if out is not None:
            out = out if isinstance(out, tuple) else (out,)
            check_out(kernel, arrays, out)
            if kernel.has_margins:
                out = (*out, None)
        try:
            results, doubtful = run(kernel, arrays, self.model.mechanism, out, threads, check, watch)
        except MemoryError as error:
            raise InputError(f"{what}: {str(error) or 'there is no memory left'} (compute fewer states at a time)") from None
        except (TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            shapes = ", ".join(f"{x.name} {a.shape}" for x, a in zip(kernel.program.inputs, arrays))
            raise InputError(f"{what}: {error} (got {shapes})") from None
        if len(results) > len(kernel.shown):
            *results, margins = results
            if check and margins.size and not margins.min() > 0:
                return results, margins
        if doubtful:
            refuse_non_finite(what, [x.name for x in kernel.program.outputs], results)
        return results, None

    @cached_property
    def as_described(self) -> Evaluator:
        """The evaluator of the robot with all variables fixed to the numbers of its description."""
        return Evaluator(self.model.copy(variables=())) if self.model.variables else self

    @cached_property
    def is_plain(self) -> bool:
        """True if q has no quaternion to normalise."""
        return self.model.mechanism.nq == self.model.mechanism.nv

    def configuration(self, name: str, value: Any, dtype: np.dtype = DOUBLE) -> np.ndarray:
        """Return a configuration (..., nq) as a checked array, its quaternions normalised. `name`: its name in errors."""
        return check_configuration(as_array(name, value, (self.model.mechanism.nq,), dtype), self.model.mechanism)


def run(
    kernel: Kernel, arrays: list[np.ndarray], mechanism: Mechanism, out: tuple | None, threads: int | None, check: bool, watch: bool
) -> tuple[Sequence[np.ndarray], bool]:
    """Return the outputs, and True if they must be checked; with margins, unless all of these were watched and are positive.

    The processor raises a flag at every operation without a finite result, and kernels raise it for inputs that are not finite.
    Only if it is raised are the inputs checked one by one, and the batch computed again.
    """
    doubtful = False
    if check and out is not None and any(overlap(a, b) for a in out if isinstance(a, np.ndarray) for b in arrays):
        arrays = [a.copy() for a in arrays]  # the second run needs them unchanged
    try:
        if check and not are_raised():
            raise FloatingPointError
        results = (RAISING if check else IGNORING).run(kernel.run, arrays, out, threads, watch=watch)
    except FloatingPointError:
        doubtful = True
        arrays = [as_array(x.name, a, x.shape, kernel.dtype) for x, a in zip(kernel.program.inputs, arrays)]
        arrays = [check_configuration(a, mechanism) if x.name == "q" else a for x, a in zip(kernel.program.inputs, arrays)]
        results = IGNORING.run(kernel.run, arrays, out, threads)
    return results if isinstance(results, tuple) else (results,), doubtful


def check_out(kernel: Kernel, arrays: Sequence[np.ndarray], out: tuple) -> None:
    """Refuse output arrays of another library, with shared memory, of integers or of the wrong shape; NumPy refuses the rest."""
    for x in out:
        if library_of(x):
            raise InputError(f"out is {described(x)}, but the inputs are NumPy arrays: give a NumPy array for each result")
    batch, given = None, [a for a in out if isinstance(a, np.ndarray)]
    refuse_shared(kernel.program, given)
    for a, x in zip(given, kernel.program.outputs):
        if a.dtype.kind != "f":
            raise InputError(f"out for {x.name} holds {a.dtype} elements, real floating-point numbers are needed")
        if batch is None:
            try:
                batch = kernel.batch_shape(arrays)
            except ValueError:  # the call raises the error
                return
        if a.shape != (*batch, *x.shape):
            raise InputError(f"out for {x.name} has shape {a.shape}, the result has {(*batch, *x.shape)}")


def refuse_shared(program: Program, out: Sequence[np.ndarray]) -> None:
    """Refuse outputs in which one number would overwrite another."""
    for a, x in zip(out, program.outputs):
        if not a.flags.c_contiguous and overlaps_itself(a):
            raise InputError(f"out for {x.name} has strides {a.strides}: elements share memory and would be overwritten")
    if len(out) > 1 and any(np.shares_memory(a, b) for a, b in combinations(out, 2) if np.may_share_memory(a, b)):
        raise InputError("two arrays of out share memory: one result would overwrite the other")


def overlaps_itself(a: np.ndarray) -> bool:
    """Return True unless each axis steps over all memory that the axes with shorter steps reach, as in slices and transposes."""
    reach = a.itemsize
    for stride, n in sorted((abs(stride), n) for stride, n in zip(a.strides, a.shape) if n > 1):
        if stride < reach:
            return True
        reach += stride * (n - 1)
    return False


def overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Return True if two arrays may share memory; two that own theirs do not."""
    return a is b or ((a.base is not None or b.base is not None) and np.may_share_memory(a, b))


def refuse_non_finite(quantity: str, names: Sequence[str], results: Sequence[np.ndarray]) -> None:
    """Refuse results with elements that are not finite."""
    for name, values in zip(names, results):
        if values.size and not extent(values) < np.inf:
            index = [int(i) for i in np.argwhere(~np.isfinite(values))[0]]
            raise SingularityError(f"{quantity}: {name}{index} is not finite: the state is singular, or its numbers are too large")


def refuse_unknown(what: str, options: Mapping[str, Any], others: Sequence[str] = ()) -> None:
    """Refuse keywords that are no `Options`. `others`: further names for the hint, which also has the forces if they apply."""
    for name in options:
        if name == "device":
            raise InputError(f"{what} has no option 'device': arrays are computed where they are: hand over such of a device")
        if name not in Options.__annotations__:
            from qddot.algorithms.quantities import QUANTITIES

            forces = ("f_ext", "f_tip") if what in QUANTITIES and QUANTITIES[what].forced else ()
            raise InputError(f"{what} has no option {name!r}: {near_matches(name, (*Options.__annotations__, *others, *forces))}")


def as_dtype(dtype: Any) -> np.dtype:
    """Return the type float64 (default) or float32. Raises InputError: another type."""
    if dtype is None:
        return DOUBLE
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError):
        raise InputError(f"dtype={dtype!r} is neither float64 nor float32") from None
    if found not in (np.float64, np.float32):
        raise InputError(f"dtype {found} is neither float64 nor float32")
    return found
