"""From a quantity's name and arrays to a checked result: traces, compiles and keeps one robot's kernels."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from qddot.arguments import flag
from qddot.compile.arrays import as_array, check_configuration, extent
from qddot.compile.flags import IGNORING, RAISING, are_raised
from qddot.compile.threads import thread_count
from qddot.errors import InputError, SingularityError, near_matches
from qddot.model.configuration import neutral
from qddot.model.model import Model

if TYPE_CHECKING:
    from qddot.compile.direct import Direct
    from qddot.compile.kernel import Kernel
    from qddot.compile.trace import Request
    from qddot.graph.program import Program


DOUBLE = np.dtype(np.float64)

WELL_CONDITIONED = 1e11
MOST_CONDITIONED = 1e15
"""Eigenvalues further apart than this are not told from zero in float64."""


class Options(TypedDict, total=False):
    """Keywords every computing method takes.

    out: array (or tuple of arrays, for several results) that receives the result.
    dtype: of the computation and the result, float64 (default) or float32; inputs of any real type are cast to it.
    check: False skips the tests that inputs and results are finite and that the state is not singular, and the normalisation of
        quaternions: what is wrong then comes out as inf or nan. Arrays on a GPU are only looked at if it is `"now"` (True), which
        waits for the device, or `"later"`: then what went wrong is raised by the next such call.
    threads: how many share a large batch; by default QDDOT_THREADS or every core. The result does not depend on it.
    variables: of a robot that has some (`Robot.with_variable`): name -> number or array; those left out are as described.
    """

    out: Any
    dtype: Any
    check: bool | str
    threads: int
    variables: Any


class Evaluator:
    """The kernels of one robot, made when first asked for. Safe to share between threads."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.kernels: dict[tuple, Kernel] = {}
        self._lock = threading.Lock()

    def request(self, quantity: str, options: Mapping[str, str]) -> Request:
        """A quantity with its options checked and completed."""
        from qddot.compile.trace import complete

        return complete(quantity, options, lambda: self.model.tip)

    def program(
        self, requests: Sequence[Request], dtype: Any = np.float64, *, wrench: bool = False, runtime: bool = False
    ) -> Program:
        """The expression graph of some quantities."""
        from qddot.algorithms.quantities import COMPUTED  # every algorithm: loaded when first needed
        from qddot.compile.trace import trace

        if wrench and not any(COMPUTED[r.quantity].forced for r in requests):
            raise InputError(f"{requests[0].quantity} does not depend on external forces: leave wrench out")
        return trace(self.model, requests, dtype, wrench=wrench, runtime=runtime)

    def kernel(
        self, quantity: str, dtype: np.dtype, fixed: Mapping[str, str], *, wrench: bool = False, runtime: bool = False
    ) -> Kernel:
        """One quantity, compiled."""
        if not isinstance(quantity, str):
            raise InputError(f"{quantity!r:.80} is not the name of a quantity")
        key = (quantity, dtype.char, wrench, runtime)
        if fixed:
            key += tuple([(name, str(value)) for name, value in fixed.items()])
        kernel = self.kernels.get(key)
        if kernel is None:
            kernel = self.joint_kernel((self.request(quantity, fixed),), dtype, wrench=wrench, runtime=runtime)
            self.kernels[key] = kernel
        return kernel

    def joint_kernel(
        self, requests: tuple[Request, ...], dtype: np.dtype, *, wrench: bool = False, runtime: bool = False
    ) -> Kernel:
        """Several quantities in one kernel, traced and compiled once."""
        trace = lambda: self.program(requests, dtype, wrench=wrench, runtime=runtime)  # noqa: E731
        return self.compiled((requests, dtype.char, wrench, runtime), trace, dtype)

    def compiled(self, key: tuple, trace: Callable[[], Program], dtype: np.dtype) -> Kernel:
        """The kernel kept under a key, or a new one of what `trace` returns."""
        from qddot.compile.kernel import Kernel  # LLVM: likewise

        if key not in self.kernels:
            program = trace()
            with self._lock:
                if key not in self.kernels:
                    self.kernels[key] = Kernel(program, dtype)
        return self.kernels[key]

    def __call__(self, quantity: str, inputs: Mapping[str, Any], options: Options, **fixed: str) -> Any:
        """Check the inputs, run the kernel, and refuse a result that does not exist.

        Raises:
            InputError: an input is not a real, finite array of the right shape.
            SingularityError: the quantity does not exist in this state.
        """
        if options:
            refuse_unknown(quantity, options, tuple(fixed))
        dtype = as_dtype(options.get("dtype"))
        if self.model.variables or "variables" in options:
            inputs = self.with_variables(inputs, options.get("variables"), dtype)
        kernel = self.kernel(quantity, dtype, fixed, wrench="wrench" in inputs, runtime="parameters" in inputs)
        results, margins = self.evaluate(quantity, kernel, inputs, options)
        if margins is not None:
            raise self.singular(quantity, margins, inputs)
        return results[0] if len(results) == 1 else tuple(results)

    def with_variables(self, inputs: Mapping[str, Any], given: Any, dtype: np.dtype) -> Mapping[str, Any]:
        """The inputs and, where the robot has variables, their numbers."""
        from qddot.compile.given import known_names, packed

        known_names(self.model.variables, given)
        if not self.model.variables or (given is None and "variables" in inputs):
            return inputs
        return {**inputs, "variables": packed(self.model.variables, given, dtype)}

    def evaluate(
        self, what: str, kernel: Kernel, inputs: Mapping[str, Any], options: Options, *, watch: bool = True
    ) -> tuple[Sequence[np.ndarray], np.ndarray | None]:
        """The outputs of a kernel, and its margins if some are not positive. Where that is usual, do not `watch` for it: the batch
        would be computed twice."""
        threads, out = options.get("threads"), options.get("out")
        check = "check" not in options or flag("check", options["check"])
        if threads is not None:
            thread_count(threads)  # is it a number?
        arrays = [as_array(name, inputs[name], shape, kernel.dtype, check=False) for name, shape in kernel.program.inputs]
        if check and not self.is_plain:
            pairs = zip(kernel.program.inputs, arrays)
            arrays = [self.prepared(x.name, a, x.shape, kernel.dtype) if x.name == "q" else a for x, a in pairs]
        if out is not None:
            check_out(kernel, arrays, out)
        if out is not None and kernel.has_margins:
            out = (*out, None) if isinstance(out, tuple) else (out, None)
        try:
            results, doubtful = self.run(kernel, arrays, out, threads, check, watch)
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

    def run(
        self, kernel: Kernel, arrays: list[np.ndarray], out: Any, threads: int | None, check: bool, watch: bool
    ) -> tuple[Sequence[np.ndarray], bool]:
        """The outputs, and whether to doubt them; with margins, unless all of them were watched and are positive.

        The processor notes every operation that gives no number, and kernels tell it of inputs that are none. Only then are the
        inputs looked at one by one, and the outputs doubted.
        """
        doubtful = False
        if check and out is not None:
            rooms = [a for a in (out if isinstance(out, tuple) else (out,)) if isinstance(a, np.ndarray)]
            if any(overlap(a, b) for a in rooms for b in arrays):
                arrays = [a.copy() for a in arrays]  # they may be needed again
        try:
            if check and not are_raised():
                raise FloatingPointError
            results = (RAISING if check else IGNORING).run(kernel.run, arrays, out, threads, watch=watch)
        except FloatingPointError:
            doubtful = True
            arrays = [self.prepared(x.name, a, x.shape, kernel.dtype) for x, a in zip(kernel.program.inputs, arrays)]
            results = IGNORING.run(kernel.run, arrays, out, threads)
        return results if isinstance(results, tuple) else (results,), doubtful

    def prepared(self, name: str, value: Any, shape: tuple[int, ...], dtype: Any = np.float64, *, check: bool = True) -> np.ndarray:
        """An input as a checked array; the quaternions in q are normalised."""
        array = as_array(name, value, shape, np.dtype(dtype), check=check)
        return check_configuration(array, self.model.mechanism) if name == "q" and check else array

    @cached_property
    def as_described(self) -> Evaluator:
        """The same of a robot whose variables have the numbers of its description."""
        return Evaluator(self.model.copy(variables=())) if self.model.variables else self

    @cached_property
    def is_plain(self) -> bool:
        """True if every q is a coordinate: no quaternion to normalise."""
        return self.model.mechanism.nq == self.model.mechanism.nv

    def neutral(self) -> np.ndarray:
        return neutral(self.model.mechanism)

    def direct(self, quantity: str, options: Sequence[str], result_type: type | None) -> Direct | None:
        """Return what a direct entry of a quantity needs to know, or None where there is none."""
        from qddot.compile import layout
        from qddot.compile.direct import Direct, Shape
        from qddot.compile.direct_table import ROWS

        quaternions = [c.q.start for c in self.model.mechanism.coordinates if c.parts[0].quaternion]
        if self.model.variables or len(quaternions) > ROWS["quaternion"][0] or not layout.has_direct_entry():
            return None
        kernel = self.kernel(quantity, DOUBLE, {}) if not options else self.any_kernel(quantity)
        shape = Shape.of(kernel) if kernel else None
        if kernel is None or shape is None:
            return None
        direct = Direct(shape, options, quaternions, result_type)
        if not options:
            direct.learn((), kernel)
        return direct

    def any_kernel(self, quantity: str) -> Kernel | None:
        """One that is there, whatever the options: they do not change what it takes and returns."""
        found = (k for key, k in self.kernels.items() if key[:4] == (quantity, DOUBLE.char, False, False))
        return next(found, None)

    def learn(self, direct: Direct, quantity: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        """Let calls with these options go the direct way from now on."""
        inputs = len(direct.shape.inputs)
        named = {name: value for name, value in options.items() if name != "out"}
        chosen = dict.fromkeys(direct.options) | dict(zip(direct.options, arguments[inputs:])) | named
        known = len(chosen) == len(direct.options) and all(value is None or type(value) is str for value in chosen.values())
        if known and len(arguments) >= inputs:
            given = {name: value for name, value in chosen.items() if value is not None}
            direct.learn(tuple(chosen.values()), self.kernel(quantity, DOUBLE, given))

    def configuration(self, name: str, value: Any) -> np.ndarray:
        """A configuration under another name than q."""
        return check_configuration(as_array(name, value, (self.model.mechanism.nq,), np.dtype(float)), self.model.mechanism)

    def singular(self, quantity: str, margins: np.ndarray, inputs: Mapping[str, Any]) -> SingularityError:
        """Why a quantity does not exist where a margin is not positive."""
        bad = ~(margins > 0)
        *state, _ = (int(i) for i in np.argwhere(bad)[0])
        column = int(np.flatnonzero(bad[tuple(state)])[-1])  # elimination begins at the tips, so the last column is the cause
        where = f" in state {state}" if state else ""
        if quantity in ("analytic_jacobian", "analytic_jacobian_dot"):
            return SingularityError(
                f"{quantity} does not exist{where}: pitch is +-90 degrees, where roll and yaw turn about one axis. "
                'Use coordinates="quaternion" or "rotation_vector".'
            )
        if not np.isfinite(margins[(*state, column)]):
            return SingularityError(f"{quantity} is not finite{where}: the forces, or numbers of the state, are too large")
        column %= self.model.mechanism.nv  # a step has margins of each stage
        joint = next(c.name for c in self.model.mechanism.coordinates if column in c.v)
        if margins.dtype == np.float32:
            return SingularityError(
                f"the mass matrix of {self.model.name} is not positive definite in float32{where}, at joint {joint!r}: "
                "compute in float64"
            )
        if (condition := self.condition(inputs, margins.shape[:-1], tuple(state))) < MOST_CONDITIONED:
            why = f" ({condition:.0e})" if condition > WELL_CONDITIONED else ": a centre of mass is far out, where inertias cancel"
            return SingularityError(
                f"the mass matrix of {self.model.name} is too ill-conditioned{why} for float64{where}: next to what joint "
                f"{joint!r} carries, almost nothing resists it. Give its link more inertia, or its drive a rotor inertia."
            )
        return SingularityError(
            f"the mass matrix of {self.model.name} is not positive definite{where}: nothing resists joint {joint!r}. "
            "Give the links beyond it mass, or its drive a rotor inertia, or fix the joint."
        )

    def condition(self, inputs: Mapping[str, Any], batch: tuple[int, ...], state: tuple[int, ...]) -> float:
        """Return the condition number of the mass matrix in one state, infinite where an eigenvalue is not positive."""
        given = {name: np.asarray(inputs[name], float) for name in ("q", "parameters", "variables") if name in inputs}
        here = {name: np.broadcast_to(x, (*batch, x.shape[-1]))[state] for name, x in given.items()}
        moments = np.linalg.eigvalsh(self("mass_matrix", here, {}))
        return float(moments[-1] / moments[0]) if moments[0] > 0 else np.inf


def check_out(kernel: Kernel, arrays: Sequence[np.ndarray], out: Any) -> None:
    """Refuse an output whose elements would be overwritten, left over or changed in kind; the rest is NumPy's to say."""
    batch, rooms = None, [a for a in (out if isinstance(out, tuple) else (out,)) if isinstance(a, np.ndarray)]
    for room, x in zip(rooms, kernel.program.outputs):
        if room.dtype.kind != "f":
            raise InputError(f"out for {x.name} holds {room.dtype} elements, real floating-point numbers are needed")
        if not room.flags.c_contiguous and overlaps_itself(room):
            raise InputError(f"out for {x.name} has strides {room.strides}: elements share memory and would be overwritten")
        if batch is None:
            try:
                batch = kernel.batch_shape(arrays)
            except ValueError:  # which the call will say
                return
        if room.shape != (*batch, *x.shape):
            raise InputError(f"out for {x.name} has shape {room.shape}, the result has {(*batch, *x.shape)}")
    if len(rooms) > 1 and any(np.shares_memory(a, b) for a, b in combinations(rooms, 2) if np.may_share_memory(a, b)):
        raise InputError("two arrays of out share memory: one result would overwrite the other")


def overlaps_itself(a: np.ndarray) -> bool:
    """True unless each axis steps over everything the axes with shorter steps reach: so it is for slices and transposes."""
    reach = a.itemsize
    for stride, n in sorted((abs(stride), n) for stride, n in zip(a.strides, a.shape) if n > 1):
        if stride < reach:
            return True
        reach += stride * (n - 1)
    return False


def overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """True if two arrays may share memory: two that own theirs do not."""
    return a is b or ((a.base is not None or b.base is not None) and np.may_share_memory(a, b))


def refuse_non_finite(quantity: str, names: Sequence[str], results: Sequence[np.ndarray]) -> None:
    """No result without a number in every place."""
    for name, values in zip(names, results):
        if values.size and not extent(values) < np.inf:
            index = [int(i) for i in np.argwhere(~np.isfinite(values))[0]]
            raise SingularityError(f"{quantity}: {name}{index} is not finite: the state is singular, or its numbers are too large")


def refuse_unknown(what: str, options: Mapping[str, Any], others: Sequence[str] = ()) -> None:
    """No keyword is ignored. `others` are only named in the hint, as are the forces where they count."""
    for name in options:
        if name not in Options.__annotations__:
            from qddot.algorithms.quantities import QUANTITIES

            forces = ("f_ext", "f_tip") if what in QUANTITIES and QUANTITIES[what].forced else ()
            raise InputError(f"{what} has no option {name!r}: {near_matches(name, (*Options.__annotations__, *others, *forces))}")


def as_dtype(dtype: Any) -> np.dtype:
    """float64, unless float32 is asked for."""
    if dtype is None:
        return DOUBLE
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError):
        raise InputError(f"dtype={dtype!r} is neither float64 nor float32") from None
    if found not in (np.float64, np.float32):
        raise InputError(f"dtype {found} is neither float64 nor float32")
    return found
