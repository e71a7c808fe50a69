"""The public class `Robot`: arrays in, arrays out, computed by compiled kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from qddot.arguments import finite_number, flag, names, random_numbers, word
from qddot.arrays.guests import Guests, constant
from qddot.arrays.on_host import on_host, on_host_without_programs
from qddot.compile.arrays import DOUBLE, as_array, densely
from qddot.compile.bound import Bound
from qddot.compile.builtin import Waiting, become, is_waiting
from qddot.compile.evaluate import Evaluator, Options, as_dtype, refuse_non_finite
from qddot.compile.kinds import guest, library_of
from qddot.compile.together import compute_together
from qddot.compile.wrenches import net_stack, stack_wrenches
from qddot.errors import InputError, as_written, unknown_name
from qddot.model import configuration
from qddot.model.drive import Drive
from qddot.model.field import Floats
from qddot.model.inertia import Inertia
from qddot.model.model import Model
from qddot.model.overflow import overflow
from qddot.model.transmission import Transmission, transmission_rows
from qddot.robot_results import (
    ForwardDerivatives,
    HamiltonRates,
    InverseDerivatives,
    NewtonEuler,
    NewtonEulerBlocks,
    RobotLimits,
    TorqueRates,
)

if TYPE_CHECKING:
    from typing import Unpack

    import casadi
    from numpy.typing import ArrayLike
    from rich.console import Group

    from qddot.compile.direct import Direct
    from qddot.compile.kernel import Kernel
    from qddot.constraints.constrained import ConstrainedDynamics, ConstrainedRobot, Projections
    from qddot.contact.shapes import Contacts
    from qddot.control.time_optimal import TimedPath
    from qddot.explore.show import Page
    from qddot.graph.program import Operations, Program
    from qddot.identify.excitation.plan import Excitation
    from qddot.identify.fit import Fit
    from qddot.identify.regression.filter_choice import Velocity
    from qddot.identify.regression.parameter_set import ParameterSet
    from qddot.identify.regression.record import Recorded
    from qddot.inverse_kinematics.search import Reached
    from qddot.inverse_kinematics.solutions import Solutions
    from qddot.linear.equilibrium import Equilibrium
    from qddot.linear.linearization import Linearization
    from qddot.model.details import Details
    from qddot.model.diagram import Diagram
    from qddot.pictures.film import Film
    from qddot.rollout.rollout import Rollout
    from qddot.simulate.trajectory import Trajectory
    from qddot.symbolic.derivation.steps import Derivation
    from qddot.symbolic.equations import Equations
    from qddot.symbolic.properties import Properties
    from qddot.task_space.dynamics import TaskSpace
    from qddot.task_space.ellipsoids import Ellipsoids

Wrenches = Any  # {frame: wrench (..., 6)}, the stack (..., bodies, 6), or None


Method = TypeVar("Method", bound=Callable[..., Any])


@overload
def fast(method: Method) -> Method: ...
@overload
def fast(*, options: tuple[str, ...] = (), returns: type | None = None) -> Callable[[Method], Method]: ...
def fast(method: Any = None, *, options: tuple[str, ...] = (), returns: type | None = None) -> Any:
    """Mark a method that its first call replaces, in its robot, by a direct entry into the kernel (see `Robot._shadow`).

    Args:
        options: the names that may follow the arrays, in order.
        returns: the tuple that holds several results.
    """
    if method is None:
        return partial(fast, options=options, returns=returns)
    method.direct = options, returns
    return method


SECOND_NAMES = {"rnea": "inverse_dynamics", "crba": "mass_matrix", "aba": "forward_dynamics"}


def behind(robot: Robot, name: str, direct: Direct | None) -> Callable:
    """Return the Python method on which a direct entry falls back; each call teaches the entry (`qddot.compile.direct`). Lists and
    strided arrays go to the entry again as dense arrays; arrays of other libraries have direct entries of their own."""
    method, guests, kernels = getattr(Robot, name), robot._guests, robot._evaluate.kernels
    ways = guests.direct.setdefault(name, {})

    def call(*arguments: Any, **options: Any) -> Any:
        if ways and arguments and not options and (way := ways.get(type(arguments[0]))):
            found = way(*arguments)
            if found is not None:
                return found
        if direct and options.keys() <= direct.known and (dense := densely(arguments)):
            return robot.__dict__[name](*dense, **options)
        result = method(robot, *arguments, **options)
        if direct and arguments and type(arguments[0]) is np.ndarray and arguments[0].dtype == float:
            direct.learn_call(kernels, name, arguments, options)
        return result

    call.guests = guests  # type: ignore[attr-defined]  # keeps alive what the entry calls
    return call


@cache
def waiting() -> Waiting:
    """The methods marked as `fast`, as they are before their first call."""
    return Waiting({name: x for name, x in vars(Robot).items() if hasattr(x, "direct") and name not in SECOND_NAMES})


def result_tuple(name: str) -> type | None:
    """The tuple that a method of several results returns them in."""
    _, returns = getattr(getattr(Robot, name, None), "direct", ((), None))
    return returns


class Robot:
    """A robot's dynamics, `tau = M(q) qdd + C(q, qd) qd + g(q) + friction(qd) + springs(q) - J^T f_ext + J^T f_tip`.

    Make one with `qddot.load`, `qddot.from_dh`, `qddot.from_screws` or `qddot.Builder`. A robot is immutable and may be shared
    between threads. SI units, radians. Arrays have any leading shape: `q` is (..., nq), `qd, qdd, tau` are (..., nv). Six-vectors
    are angular first. Each method is compiled for this robot when first called.

    Every computing method also takes the keywords `out` (an array for the result, a tuple of them for several), `dtype` (float64,
    or float32 to compute in single precision), `threads` (how many share a large batch; by default all cores, or QDDOT_THREADS) and
    `check` (False skips the tests that inputs and results are finite and that the state is not singular). The only exceptions are
    the methods with constraints, which end in NumPy's linear algebra.

    Examples, here and everywhere, begin with `import qddot` and `import numpy as np`.

    >>> robot = qddot.load("two_link")  # a planar arm
    >>> robot.inverse_dynamics([0, 0], [0, 0], [0, 0]).round(2)  # N m, to hold it stretched out
    array([7.06, 2.4 ])
    >>> robot.inverse_dynamics(np.zeros((1000, 2)), [0, 0], [0, 0]).shape  # a thousand states
    (1000, 2)
    """

    def __init__(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise InputError(f"a Robot is made of a Model, and this is {as_written(model)}: qddot.load reads files and names")
        self.model = model
        if any(link.place for link in model.doubtful) and not model.symbols:  # numbers from a file; those given in Python are kept
            from qddot.definite import refuse_indefinite

            refuse_indefinite(model)
        if not model.symbols:
            _ = model.mechanism  # refuses numbers that overflow: when a robot is made, not when it first computes
        _ = model.variables  # refuses unknown names; and once cached, variables can be read while code is traced
        self._evaluate = Evaluator(model)
        self._guests = Guests(self._evaluate, self._shadow, result_tuple)
        self.__dict__ |= waiting().of(self)
        self.__dict__ |= {name: found for name, first in SECOND_NAMES.items() if (found := self.__dict__.get(first))}

    # description -------------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The robot's name, as its description gives it.

        >>> qddot.load("panda").name
        'panda'
        """
        return self.model.name

    @property
    def nq(self) -> int:
        """Length of a configuration q.

        >>> qddot.load("quadruped").nq  # seven for the trunk (quaternion, position), twelve joints
        19
        """
        return self.model.mechanism.nq

    @property
    def nv(self) -> int:
        """Degrees of freedom: the length of qd, qdd and tau.

        >>> qddot.load("quadruped").nv  # the trunk moves in six ways, though it has seven numbers
        18
        """
        return self.model.mechanism.nv

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints with coordinates of their own, in the order of q.

        >>> qddot.load("four_bar").joint_names
        ('joint1', 'joint2', 'joint3')
        """
        return tuple(c.name for c in self.model.mechanism.coordinates)

    @property
    def link_names(self) -> tuple[str, ...]:
        """Every link of the description.

        >>> qddot.load("two_link").link_names
        ('base', 'body_1', 'body_2')
        """
        return tuple(link.name for link in self.model.links)

    @property
    def body_names(self) -> tuple[str, ...]:
        """Links that move on a joint of their own, in the order of `external_wrench`; links fixed to them count as part of them.

        >>> qddot.load("two_link").body_names  # the base stands still
        ('body_1', 'body_2')
        """
        return tuple(body.name for body in self.model.bodies if body.is_link)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names that `frame=` accepts: links and named frames.

        >>> qddot.load("panda").frame_names[-2:]
        ('link7', 'flange')
        """
        return tuple(self.model.mechanism.frames)

    @property
    def mimics(self) -> dict[str, tuple[str, Any, Any]]:
        """Joints that follow another: name -> (leader, multiplier, offset).

        >>> gripper = qddot.Builder("gripper").body("left", mass=0.1)
        >>> gripper = gripper.body("right", mass=0.1, mimic=("left_joint", -1.0, 0.0)).robot()
        >>> gripper.mimics
        {'right_joint': ('left_joint', -1.0, 0.0)}
        >>> gripper.nv  # one motor moves both
        1
        """
        return dict(self.model.leaders)  # type: ignore[arg-type]

    @property
    def gravity(self) -> np.ndarray:
        """Acceleration of gravity (3,), m/s^2; an object array where it is symbolic.

        >>> qddot.load("two_link").gravity  # this arm moves in a vertical plane, y up
        array([ 0.  , -9.81,  0.  ])
        """
        return np.array(self.model.gravity)

    @property
    def drives(self) -> dict[str, Drive]:
        """Drives by joint name, for joints that have one.

        >>> qddot.load("puma560").drives["joint1"].gear_ratio
        -62.6111
        """
        return {joint.name: joint.drive for joint in self.model.joints if joint.drive is not None}

    @property
    def motor_names(self) -> tuple[str, ...]:
        """The rows of `transmission_matrix`: coupled motors, then the joints that have a drive or motor of their own.

        >>> wrist = qddot.Transmission(["joint1", "joint2"], [[1, 1], [1, -1]], motors=["left", "right"])
        >>> qddot.load("two_link").with_transmission(wrist).motor_names
        ('left', 'right')
        """
        return tuple(name for name, _ in transmission_rows(self.model))

    @property
    def transmission_matrix(self) -> np.ndarray:
        """N (motors, nv): motor speeds are `N qd`, and motor torques make the joint forces `N^T tau_motor`.

        >>> wrist = qddot.Transmission(["joint1", "joint2"], [[1, 1], [1, -1]])  # a differential gear
        >>> qddot.load("two_link").with_transmission(wrist).transmission_matrix @ [1, 0]  # both motors turn the first joint
        array([1., 1.])
        """
        return np.array([row for _, row in transmission_rows(self.model)]).reshape(-1, self.nv)

    @property
    def limits(self) -> RobotLimits:
        """Joint limits as arrays.

        >>> limits = qddot.load("panda").limits
        >>> print(limits.upper[3], limits.effort[3])
        -0.0698 87.0
        """
        found = RobotLimits(
            *(np.full(n, x) for n, x in ((self.nq, -np.inf), (self.nq, np.inf), (self.nv, np.inf), (self.nv, np.inf)))
        )
        for c in self.model.mechanism.coordinates:
            if c.single:
                found.lower[c.q.start], found.upper[c.q.start] = c.limits.lower, c.limits.upper
            found.velocity[c.v.start : c.v.stop] = c.limits.velocity
            found.effort[c.v.start : c.v.stop] = c.limits.effort
        return found

    @property
    def tip(self) -> str:
        """The frame meant when a method is given none: the only frame at the end of the only chain.

        Raises:
            InputError: the robot has several ends.

        >>> qddot.load("panda").tip
        'flange'
        """
        return self.model.tip

    @property
    def symbols(self) -> frozenset:
        """SymPy symbols that the description leaves open.

        >>> sorted(map(str, qddot.load("two_link", symbolic=True).symbols))
        ['l1', 'l2', 'm1', 'm2', 'r']
        """
        return self.model.symbols

    def subs(self, values: Mapping) -> Robot:
        """Return the robot with symbols replaced by numbers (or by other expressions).

        Args:
            values: SymPy symbol, or its name -> number or expression.

        Raises:
            UnknownNameError: no such symbol in this robot.
            ModelValueError: a value that is not a number or expression, or that makes the robot impossible.

        >>> arm = qddot.load("two_link", symbolic=True).subs({"l1": 0.5, "l2": 0.5, "m1": 1, "m2": 1, "r": 0.02})
        >>> print(arm.transform([0, 0])[0, 3])
        1.0
        """
        if not isinstance(values, Mapping):
            raise InputError(f"subs needs a mapping from symbols to values, not {as_written(values)}")
        pairs: dict[Any, Any] = {}
        for key, value in values.items():
            named = [s for s in self.symbols if s == key or (isinstance(key, str) and str(s) == key)]
            if not named:
                raise unknown_name("symbol", str(key), map(str, self.symbols))
            pairs.update(dict.fromkeys(named, value))
        return Robot(self.model.subs(pairs))

    def with_gravity(self, gravity: Sequence[float]) -> Robot:
        """Return the robot under another gravity (3,), m/s^2.

        >>> robot = qddot.load("two_link")
        >>> robot.with_gravity((0, -1.62, 0)).gravity_torque([0, 0]).round(2)  # on the moon
        array([1.17, 0.4 ])
        """
        return Robot(self.model.copy(gravity=gravity))

    def with_variable(self, *names: str) -> Robot:
        """Return the robot with some of its constants turned into inputs of each call, as for a batch of different robots.

            arms = robot.with_variable("payload", "gravity", "link3.mass", "joint2.viscous")
            tau = arms.inverse_dynamics(q, qd, qdd, variables={"payload": loads, "joint2.viscous": 0.1})

        Programs, kernels, exported code, rollouts and derivatives then have one more input, `variables`, with the numbers in this
        order. A variable that a call does not give has its value of the description; methods that do not take `variables` use
        these values for all.

        Args:
            names: `"gravity"` (3 numbers), `"payload"` (a point mass at the tip), `"<link>.mass"`, `"<link>.com"` (3),
                `"<link>.inertia"` (6, about the centre of mass: xx, xy, xz, yy, yz, zz), `"<joint>.xyz"` (3, the joint's place on
                its parent: lengths of links), or `"<joint>.<constant>"`, a number of its drive: friction, spring, rotor (see
                `Drive`).

        Raises:
            UnknownNameError: no such link, joint or number.
            InputError: a name twice, or a number that decides what is computed, such as a gear ratio.

        >>> arms = qddot.load("two_link").with_variable("payload")
        >>> arms.gravity_torque([0, 0], variables={"payload": [0.0, 1.0]}).round(2)  # two arms, one of them with a load
        array([[ 7.06,  2.4 ],
               [18.84,  9.27]])
        """
        chosen = (*(x.name for x in self.model.variables), *names)
        if others := [name for name in names if not isinstance(name, str)]:
            raise InputError(f"with_variable takes names such as 'payload' or 'link3.mass', not {as_written(others[0])}")
        if len(set(chosen)) < len(chosen) or not names:
            raise InputError(f"with_variable takes some names, each once, not {chosen}")
        found = self.model.copy(variables=chosen)
        _ = found.variables  # refuses unknown names
        return Robot(found)

    @property
    def variables(self) -> dict[str, np.ndarray]:
        """The variables (`with_variable`) and their values in the description: name -> () or (size,).

        >>> qddot.load("two_link").with_variable("body_2.mass").variables
        {'body_2.mass': array(0.7)}
        """
        return {x.name: np.array(x.default if x.size > 1 else x.default[0]) for x in self.model.variables}

    def with_values(self, values: Mapping[str, Any]) -> Robot:
        """Return the robot without variables: their values, name -> number or (size,), become constants of its description.

        Raises:
            UnknownNameError: no such variable.
            ModelValueError: values that no robot can have.

        >>> arms = qddot.load("two_link").with_variable("body_2.mass")
        >>> arms.with_values({"body_2.mass": 2.0}).gravity_torque([0, 0]).round(2)
        array([17.9 ,  6.87])
        """
        from qddot.compile.given import packed

        if not self.model.variables:
            raise InputError(f"{self.name} has no variables: choose some with robot.with_variable('payload', ...)")
        return Robot(self.model.opened(packed(self.model.variables, values, DOUBLE).tolist()))

    def with_transmission(self, transmission: Transmission) -> Robot:
        """Return the robot with motors that drive several joints at once.

        >>> differential = qddot.Transmission(["joint1", "joint2"], [[1, 1], [1, -1]], [qddot.Drive(rotor_inertia=0.1)] * 2)
        >>> robot = qddot.load("two_link")
        >>> (robot.with_transmission(differential).mass_matrix([0, 0]) - robot.mass_matrix([0, 0])).round(9) + 0
        array([[0.2, 0. ],
               [0. , 0.2]])
        """
        if not isinstance(transmission, Transmission):
            raise InputError(f"with_transmission needs a qddot.Transmission, not {transmission!r}")
        return Robot(self.model.copy(transmissions=(*self.model.transmissions, transmission)))

    def with_locked(self, positions: Mapping[str, Any]) -> Robot:
        """Return the robot with joints fixed at these positions, such as the fingers of a gripper: `{"finger_joint1": 0.04}`.

        Joints that follow a locked one are locked with it. Links and frames stay. A position beyond the limits is kept, with a
        `ModelWarning`. A robot that holds symbols needs values for them first (`subs`).

        Args:
            positions: of joints by name, one number or as many as the joint has coordinates.

        Raises:
            InputError: joints without positions.
            UnknownNameError: no such joint with coordinates of its own.
            ModelValueError: a wrong number of positions, one that is not finite, a quaternion that is not unit, or something else
                depends on the joint.
            UnboundSymbolError: the robot still holds symbols.

        >>> qddot.load("two_link").with_locked({"joint2": 0.5}).nv
        1
        """
        from qddot.locked import locked

        return Robot(locked(self.model, positions))

    @on_host
    def reduced(self, joints: Sequence[str], q: ArrayLike) -> Robot:
        """Return the robot with some joints fixed where the configuration q (nq,) has them (Pinocchio's `buildReducedModel`).

        Raises:
            UnknownNameError: no such joint with coordinates of its own.

        >>> robot = qddot.load("panda")
        >>> robot.reduced(["joint5", "joint6", "joint7"], robot.home()).nv  # the wrist is held
        4
        """
        at = self._evaluate.configuration("q", q)
        if at.ndim != 1:
            raise InputError(f"q has shape {at.shape}: one configuration ({self.nq},) is needed")
        return self.with_locked({c.name: at[list(c.q)] for c in self.model.mechanism.named(names("joints", joints))})

    def with_payload(
        self, mass: Any, com: Sequence[Any] = (0.0, 0.0, 0.0), inertia: object = 0, *, frame: str | None = None
    ) -> Robot:
        """Return the robot with a load fixed to a frame: one more link, `payload`, on a fixed joint.

        >>> import qddot
        >>> qddot.load("two_link").with_payload(0.5, com=(0, 0, 0.1)).nv
        2

        Args:
            mass: kg.
            com: centre of mass of the load in the frame (3,), m.
            inertia: of the load about its centre of mass in the frame's axes, kg m^2, in the forms of `Inertia`; 0: a point.
            frame: the frame that carries it; the tip if None.

        Raises:
            ModelValueError: not finite numbers, or a negative mass. A tensor that no real body has is kept with a `ModelWarning`.
            UnknownNameError: no such frame.
        """
        from qddot.formats.subject import Subject
        from qddot.model.parts import with_load

        load = Subject("load").made(Inertia, mass, com, inertia)
        return Robot(with_load(self.model, load, self.tip if frame is None else frame))

    def with_tool(self, pose: Any, inertia: Inertia | None = None, *, name: str = "tool", frame: str | None = None) -> Robot:
        """Return the robot with a tool: a frame that becomes its tip, and the tool's inertia, if it has one.

        Args:
            pose: of the tool in the frame that carries it, 4 x 4.
            inertia: of the tool, in the tool's own frame.
            name: of the new frame.
            frame: the frame that carries it; the present tip if None.

        Raises:
            ModelValueError: a pose not in SE(3), or a name that is taken.
            UnknownNameError: no such frame.

        >>> at = np.eye(4)
        >>> at[:3, 3] = 0, 0, 0.1
        >>> qddot.load("two_link").with_tool(at, qddot.Inertia.point(0.2), name="drill").tip
        'drill'
        """
        from qddot.formats.subject import Subject
        from qddot.model.parts import with_tool

        subject = Subject("tool")
        subject.instance("name", name, str)
        own = None if inertia is None else subject.instance("inertia", inertia, Inertia)
        return Robot(with_tool(self.model, name, subject.pose("pose", pose), own, self.tip if frame is None else frame))

    def subtree(self, link: str, gravity: Sequence[float] | None = None) -> Robot:
        """Return a part of this robot: a link, which now stands still, and everything beyond it, such as one leg.

        Args:
            link: the root of the part.
            gravity: acceleration (3,) in that link's axes, m/s^2; None: the robot's, seen from the link with all joints at zero.

        Raises:
            UnknownNameError: no such link.
            ModelValueError: a joint follows one that is left out, or a motor drives joints both inside and outside the part.

        >>> qddot.load("quadruped").subtree("trunk").nv  # the trunk stands still
        12
        """
        from qddot.model.parts import subtree

        return Robot(subtree(self.model, link, gravity))

    def chain(self, base: str, tip: str, gravity: Sequence[float] | None = None) -> Robot:
        """Return a part of this robot: the chain from one link, which now stands still, out to a link or frame, such as one arm.

        Links that are fixed to the chain stay; others that move on it are left out, with their mass.

        Args:
            base: the root of the part.
            tip: the end of the chain, which becomes the tip of the part.
            gravity: acceleration (3,) in the base's axes, m/s^2; None: the robot's, seen from the base with all joints at zero.

        Raises:
            UnknownNameError: no such link or frame.
            InputError: the tip does not hang on the base.
            ModelValueError: a joint follows one that is left out, or a motor drives joints both inside and outside the part.

        >>> robot = qddot.load("puma560")
        >>> robot.chain("base", "link3").nv  # without the wrist
        3
        """
        from qddot.model.parts import chain

        return Robot(chain(self.model, base, tip, gravity))

    def tree(self) -> Diagram:
        """Return the kinematic tree with joints, drives, frames and loops: printed as text, drawn in a notebook, saved as SVG.

        >>> print(qddot.load("two_link").tree())
        base
        `-- body_1  joint1: revolute about z
            `-- body_2  joint2: revolute about z
        """
        from qddot.model.diagram import Diagram

        return Diagram(self.model)

    def details(self) -> Details:
        """Return joints, inertias, limits and drives in words: `print(robot.details())`; its `rows()` are the same as data.

        >>> print(qddot.load("two_link").details())
        two_link: moving mass 1.2 kg
        body_1 on base
          joint1: revolute about z
          mass 0.5 kg, centre of mass (-0.25, 0, 0) m
          about it Ixx 0.0004, Iyy 0.0106167, Izz 0.0106167 kg m^2
        body_2 on body_1
          joint2: revolute about z
          mass 0.7 kg, centre of mass (-0.35, 0, 0) m
          about it Ixx 0.00056, Iyy 0.0288633, Izz 0.0288633 kg m^2
        """
        from qddot.model.details import Details

        return Details(self.model)

    @on_host
    def plot(self, q: ArrayLike | None = None, *, ax: Any = None, frames: bool = False) -> Any:
        """Draw the robot: its links as solid bodies, axes of joints, frames and tip (needs the extra `plot`); returns the axes.

        A robot that moves in a plane is seen straight on, any other from a corner.

        Args:
            q: configuration (nq,); if None a bent one within the limits.
            ax: Matplotlib axes to draw in; a new figure if None. Axes with `projection="3d"` show a planar robot in space, too.
            frames: draw the frame of every link with its name, and for a Denavit-Hartenberg table its distances a and d.

        Raises:
            InputError: q of another shape, or a flat `ax` for a robot in space.
            UnboundSymbolError: the robot still holds symbols.
            MissingExtraError: matplotlib is not installed.

        >>> ax = qddot.load("two_link").plot([0.3, 0.8])
        >>> ax.get_xlabel()
        'x [m]'
        """
        from qddot.pictures.arm import draw
        from qddot.pictures.view import bent

        return draw(self.model, bent(self) if q is None else self._evaluate.configuration("q", q), ax, frames)

    @on_host
    def animate(
        self, motion: Any, path: str | Path | None = None, *, fps: float = 25.0, ax: Any = None, progress: bool | None = None
    ) -> Film:
        """Return a film of the robot in motion, in real time: a notebook plays it, a window shows it (see `Trajectory.animate`).

        Args:
            motion: a trajectory, a log, or anything with times `t` (samples,) and positions `q` (samples, nq).
            path: where to save it: `.gif`, `.html`, or `.mp4` with the program ffmpeg; None: only return it.
            fps: pictures per second.

        Raises:
            InputError: no such motion, another suffix, or fps that is not positive.

        >>> robot = qddot.load("two_link")
        >>> film = robot.animate(robot.simulate([0.3, 0.8], t=0.2))
        >>> film.save("swing.gif")
        """
        from qddot.pictures.film import film

        if not hasattr(motion, "t") or not hasattr(motion, "q"):
            raise InputError(f"motion={as_written(motion)} has no t and q: give a trajectory or a log")
        t, q = np.asarray(motion.t, dtype=float), self._evaluate.configuration("q", motion.q)
        if t.ndim != 1 or q.shape != (len(t), self.nq) or not len(t):
            raise InputError(f"motion has t of shape {t.shape} and q of shape {q.shape}: a film shows one motion, a sample a row")
        return film(self.model, t, q, path, fps=fps, ax=ax, progress=progress)

    def with_floating_base(self) -> Robot:
        """Return the robot with its root link free to move; the coordinates of the root come first.

        >>> qddot.load("two_link").with_floating_base().nv
        8
        """
        return Robot(self.model.with_floating_base())

    if not TYPE_CHECKING:  # a type checker then still reports unknown names

        def __getattr__(self, name: str) -> Any:
            """Refuse an unknown name; if another library uses it, the error gives the name used here."""
            from qddot.names_elsewhere import no_such_name

            raise no_such_name(name, "Robot", dir(type(self)))

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse to set a public attribute of a finished robot: it would change nothing. Subclasses and caches set private ones."""
        if "_guests" in self.__dict__ and not name.startswith("_"):
            raise AttributeError(
                f"a robot is immutable, {name!r} cannot be set: with_gravity, with_payload, subs, ... return another robot",
                name=name,
            )
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple:
        """Pickle the model alone; kernels are compiled again when they are needed."""
        return type(self), (self.model,)

    def __repr__(self) -> str:
        from qddot.pictures.portrait import text

        return text(self.model)

    def _repr_html_(self) -> str:
        from qddot.pictures.portrait import card

        return card(self).html()

    def __rich__(self) -> Group:
        from qddot.pictures.portrait import card

        return card(self).rich()

    # configurations ---------------------------------------------------------------------------------------------------

    def neutral(self) -> np.ndarray:
        """Return the zero configuration (nq,): zeros, and identity quaternions.

        >>> qddot.load("quadrotor_arm").neutral()  # quaternion (w first), position, two joints
        array([1., 0., 0., 0., 0., 0., 0., 0., 0.])
        """
        return configuration.neutral(self.model.mechanism)

    def home(self) -> np.ndarray:
        """Return a configuration (nq,) inside the limits: zero where a joint may be at zero, else the middle of its range.

        >>> import qddot
        >>> qddot.load("arm7").home()[3]  # zero is beyond the limits of this elbow
        np.float64(-1.525)
        """
        return configuration.home(self.model.mechanism, self.limits.lower, self.limits.upper)

    def random_configuration(
        self, seed: int | np.random.Generator | None = None, size: int | tuple[int, ...] | None = None
    ) -> np.ndarray:
        """Return random configurations `(*size, nq)` within the limits; rotations without limits are uniform.

        >>> import qddot
        >>> qddot.load("puma560").random_configuration(seed=0, size=100).shape
        (100, 6)

        Args:
            seed: of the random numbers, or their generator.
            size: how many, a number or a shape; None: one, (nq,).

        Raises:
            InputError: a seed that is neither a whole number from 0 on nor a generator.
        """
        shape = configuration.batch_shape(size)
        rng = random_numbers(seed)
        return configuration.random_configuration(self.model.mechanism, rng, self.limits.lower, self.limits.upper, shape)

    def integrate(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the configuration reached from q by the displacement v (..., nv): `q + v`, on the manifold for quaternions.

        >>> body = qddot.load("quadrotor_arm")
        >>> body.integrate(body.neutral(), [0, 0, np.pi, 0, 0, 0, 0, 0]).round(3)  # half a turn about z
        array([0., 0., 0., 1., 0., 0., 0., 0., 0.])
        """
        if guest((q, v)):
            return self._compute("integrate", {"q": q, "v": v}, {})
        start, displacement = self._evaluate.configuration("q", q), as_array("v", v, (self.nv,))
        with np.errstate(over="ignore"):  # refused below
            found = configuration.integrate(self.model.mechanism, start, displacement)
        refuse_non_finite("integrate", ["q"], [found])
        return found

    def configuration_rate(self, q: ArrayLike, qd: ArrayLike) -> np.ndarray:
        """Return dq/dt (..., nq): qd itself, except for quaternions.

        >>> body = qddot.load("quadrotor_arm")
        >>> body.configuration_rate(body.neutral(), [0, 0, 1, 0, 0, 0, 0, 0]) + 0  # half the angular velocity
        array([0. , 0. , 0. , 0.5, 0. , 0. , 0. , 0. , 0. ])
        """
        if guest((q, qd)):
            return self._compute("configuration_rate", {"q": q, "qd": qd}, {})
        q, qd = as_array("q", q, (self.nq,)), as_array("qd", qd, (self.nv,))
        with np.errstate(all="ignore"):  # refused below
            found = configuration.rate(self.model.mechanism, q, qd)
        refuse_non_finite("configuration_rate", ["rate"], [found])
        return found

    def normalized(self, q: ArrayLike) -> np.ndarray:
        """Return q (..., nq) with its quaternions scaled to unit length.

        Raises:
            InputError: q is not finite, or a quaternion is zero and has no direction.

        >>> body = qddot.load("quadrotor_arm")
        >>> body.normalized(2 * body.neutral())
        array([1., 0., 0., 0., 0., 0., 0., 0., 0.])
        """
        if guest((q,)):
            return self._compute("normalized", {"q": q}, {})
        return configuration.normalized(self.model.mechanism, as_array("q", q, (self.nq,)))

    def difference(self, start: ArrayLike, end: ArrayLike) -> np.ndarray:
        """Return the displacement (..., nv) from start to end: `integrate(start, difference(start, end)) == end`.

        >>> robot = qddot.load("two_link")
        >>> robot.difference([0.1, 0.2], [0.4, 0.0]).round(3)
        array([ 0.3, -0.2])
        """
        if guest((start, end)):
            return self._compute("difference", {"start": start, "end": end}, {})
        start, end = (self._evaluate.configuration(name, x) for name, x in (("start", start), ("end", end)))
        return configuration.difference(self.model.mechanism, start, end)

    # dynamics ---------------------------------------------------------------------------------------------------------

    @fast
    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        f_ext: Wrenches = None,
        f_tip: Wrenches = None,
        **options: Unpack[Options],
    ) -> np.ndarray:
        """Joint forces tau (..., nv) for a motion: `M qdd + C qd + g + friction + springs - J^T f_ext + J^T f_tip`.

        Args:
            q, qd, qdd: the motion.
            f_ext: forces of the environment on the robot: `{frame: wrench (..., 6)}` at the frame's origin in world axes, or the
                stack (..., bodies, 6) that `external_wrench` returns.
            f_tip: forces of the robot on the environment, in the same forms.

        >>> robot = qddot.load("two_link")
        >>> robot.inverse_dynamics([0, 0], [0, 0], [0, 0]).round(2)  # what holds it stretched out
        array([7.06, 2.4 ])
        >>> lift = {"body_2": [0, 0, 0, 0, 10, 0]}  # 10 N up, at the tip
        >>> robot.inverse_dynamics([0, 0], [0, 0], [0, 0], f_ext=lift).round(2)
        array([-4.94, -4.6 ])
        """
        return self._forced("inverse_dynamics", {"q": q, "qd": qd, "qdd": qdd}, f_ext, f_tip, options)

    def joint_wrenches(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        axes: str = "body",
        f_ext: Wrenches = None,
        f_tip: Wrenches = None,
        **options: Unpack[Options],
    ) -> np.ndarray:
        """The wrenches (..., bodies, 6) that the joints transmit in a motion, one row a moving link as in `body_names`.

        Each is what the parent exerts on the link through their joint, by bearings, drive and spring together: moment (N m) about
        the joint's origin, then force (N). The drive's part is what reaches the link, without friction and reflected inertia.

        Args:
            q, qd, qdd: the motion.
            axes: `"body"` (of the link's frame), `"parent"` (of the frame of the link before it) or `"world"`.
            f_ext, f_tip: as in `inverse_dynamics`.

        >>> robot = qddot.load("two_link")
        >>> robot.joint_wrenches([0, 0], [0, 0], [0, 0], axes="world")[0].round(2)  # the first bearing carries all the weight
        array([ 0.  ,  0.  ,  7.06,  0.  , 11.77,  0.  ])
        """
        return self._forced("joint_wrenches", {"q": q, "qd": qd, "qdd": qdd}, f_ext, f_tip, options, axes=axes)

    @fast
    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        method: str = "auto",
        f_ext: Wrenches = None,
        f_tip: Wrenches = None,
        **options: Unpack[Options],
    ) -> np.ndarray:
        """Accelerations qdd (..., nv) that joint forces cause.

        Args:
            q, qd, tau: state and joint forces.
            method: `"aba"` (articulated bodies), `"crba"` (by the mass matrix), or `"auto"`: the one with fewer operations.
            f_ext, f_tip: as in `inverse_dynamics`.

        Raises:
            SingularityError: the mass matrix is not positive definite at this q, as with a massless moving link.

        >>> robot = qddot.load("two_link")
        >>> robot.forward_dynamics([0, 0], [0, 0], [0, 0]).round(2)  # let go
        array([-24.33,  29.37])
        >>> robot.forward_dynamics([0, 0], [0, 0], robot.gravity_torque([0, 0])).round(9) + 0  # and held
        array([0., 0.])
        """
        return self._forced("forward_dynamics", {"q": q, "qd": qd, "tau": tau}, f_ext, f_tip, options, method=method)

    def torque_rates(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, jerk: ArrayLike, snap: ArrayLike, **options: Unpack[Options]
    ) -> TorqueRates:
        """Return inverse dynamics and its first and second time derivative (..., nv) along a motion with these derivatives of q.

        >>> rates = qddot.load("two_link").torque_rates([0, 0], [1, 0], [0, 0], [0, 0], [0, 0])
        >>> rates.taud.round(2) + 0, rates.taudd.round(2)  # stretched out, gravity's moment is at its largest
        (array([0., 0.]), array([-7.06, -2.4 ]))
        """
        inputs = {"q": q, "qd": qd, "qdd": qdd, "jerk": jerk, "snap": snap}
        return TorqueRates(*self._compute("torque_rates", inputs, options))

    @fast
    def mass_matrix(self, q: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """Return the mass matrix M(q) (..., nv, nv), rotors included.

        >>> robot = qddot.load("two_link")
        >>> robot.mass_matrix([0, 0]).round(3)
        array([[0.576, 0.237],
               [0.237, 0.115]])
        >>> robot.mass_matrix([0, np.pi]).round(3)  # folded, the arm is easier to turn
        array([[ 0.086, -0.008],
               [-0.008,  0.115]])
        """
        return self._compute("mass_matrix", {"q": q}, options)

    @fast
    def mass_matrix_inverse(self, q: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """Return M(q)^-1 (..., nv, nv), symmetric. To solve `M x = b` for one b, `forward_dynamics` is cheaper.

        Raises:
            SingularityError: the mass matrix is not positive definite at this q.

        >>> robot = qddot.load("two_link")
        >>> (robot.mass_matrix_inverse([0, 1]) @ robot.mass_matrix([0, 1])).round(9) + 0
        array([[1., 0.],
               [0., 1.]])
        """
        return self._compute("mass_matrix_inverse", {"q": q}, options)

    @fast
    def mass_matrix_rate(self, q: ArrayLike, qd: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """Return dM/dt (..., nv, nv) along the motion.

        >>> qddot.load("two_link").mass_matrix_rate([0, np.pi / 2], [0, 1]).round(4)  # bending makes it easier to turn
        array([[-0.245 , -0.1225],
               [-0.1225,  0.    ]])
        """
        return self._compute("mass_matrix_rate", {"q": q, "qd": qd}, options)

    @fast(options=("form",))
    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike, form: str = "christoffel", **options: Unpack[Options]) -> np.ndarray:
        """Return the Coriolis matrix C(q, qd) (..., nv, nv), with `C qd = coriolis_torque`.

        Args:
            form: `"christoffel"`, the standard one, for which `Mdot - 2 C` is skew: `(Mdot + U^T - U) / 2`; `"rate"`: `Mdot - U/2`;
                `"gradient"`: `U^T - U/2`; where `U_ij = sum_k dM_jk/dq_i qd_k`.

        >>> robot, q, qd = qddot.load("two_link"), [0, 1], [1, 2]
        >>> N = robot.mass_matrix_rate(q, qd) - 2 * robot.coriolis_matrix(q, qd)
        >>> np.allclose(N, -N.T)  # skew: these forces do no work
        True
        """
        return self._compute("coriolis_matrix", {"q": q, "qd": qd}, options, form=form)

    @fast
    def coriolis_torque(self, q: ArrayLike, qd: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """Return c(q, qd) = C qd (..., nv): Coriolis and centripetal forces.

        >>> robot = qddot.load("two_link")
        >>> robot.coriolis_torque([0, np.pi / 2], [1, 0]).round(4) + 0  # the second link is pulled outwards
        array([0.    , 0.1225])
        """
        return self._compute("coriolis_torque", {"q": q, "qd": qd}, options)

    @fast
    def gravity_torque(self, q: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """Return g(q) (..., nv): the joint forces that hold the robot still against gravity.

        >>> qddot.load("two_link").gravity_torque([[0, 0], [np.pi / 2, 0]]).round(2)  # stretched out; upright
        array([[7.06, 2.4 ],
               [0.  , 0.  ]])
        """
        return self._compute("gravity_torque", {"q": q}, options)

    @fast
    def friction_torque(self, qd: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """Return the joint forces (..., nv) that overcome friction and dampers, so positive for positive qd.

        >>> qddot.load("puma560").friction_torque([[1] * 6, [-1] * 6])[:, 0].round(2)  # not the same in both directions
        array([ 30.53, -33.04])
        """
        return self._compute("friction_torque", {"qd": qd}, options)

    @fast
    def spring_torque(self, q: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """The joint forces (..., nv) that hold the joints against their springs.

        >>> door = qddot.Builder("door").body("leaf", mass=10, drive=qddot.Drive(stiffness=20, rest=0.1)).robot()
        >>> door.spring_torque([0.6])
        array([10.])
        """
        return self._compute("spring_torque", {"q": q}, options)

    @fast
    def bias_torque(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        drives: str = "with",
        f_ext: Wrenches = None,
        f_tip: Wrenches = None,
        **options: Unpack[Options],
    ) -> np.ndarray:
        """Return everything in inverse dynamics except `M qdd` (..., nv).

        Args:
            drives: `"with"` friction and springs, or `"without"`: `C qd + g - J^T f_ext` alone. A rotor that is a gyroscope on its
                link (`rotor_axis`) is a body like others: the effect of its spin is part of C, and stays.

        >>> robot, q, qd = qddot.load("two_link"), [0, 1], [1, 2]
        >>> np.allclose(robot.bias_torque(q, qd), robot.coriolis_torque(q, qd) + robot.gravity_torque(q))
        True
        """
        return self._forced("bias_torque", {"q": q, "qd": qd}, f_ext, f_tip, options, drives=drives)

    @fast
    def christoffel(self, q: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """Christoffel symbols of the first kind (..., nv, nv, nv): `c_k = sum_ij Gamma[i, j, k] qd_i qd_j`.

        >>> robot, q, qd = qddot.load("two_link"), [0, 1], [1, 2]
        >>> c = np.einsum("ijk, i, j", robot.christoffel(q), qd, qd)
        >>> np.allclose(c, robot.coriolis_torque(q, qd))
        True
        """
        return self._compute("christoffel", {"q": q}, options)

    @fast
    def centrifugal_matrix(self, q: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """Q(q) (..., nv, nv), Craig's C(q), in `c = Q(q) [qd_i^2] + B(q) [qd_i qd_j]`; not the C(q, qd) of `c = C qd`.

        >>> qddot.load("two_link").centrifugal_matrix([0, np.pi / 2]).round(4) + 0
        array([[ 0.    , -0.1225],
               [ 0.1225,  0.    ]])
        """
        return self._compute("centrifugal_matrix", {"q": q}, options)

    @fast
    def coriolis_products_matrix(self, q: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """Craig's B(q) (..., nv, nv (nv - 1) / 2); its columns belong to `qd_1 qd_2, qd_1 qd_3, ..., qd_(n-1) qd_n`.

        >>> qddot.load("two_link").coriolis_products_matrix([0, np.pi / 2]).round(4) + 0  # of qd_1 qd_2
        array([[-0.245],
               [ 0.   ]])
        """
        return self._compute("coriolis_products_matrix", {"q": q}, options)

    def newton_euler_matrices(self, q: ArrayLike, qd: ArrayLike, **options: Unpack[Options]) -> NewtonEuler:
        """Return M, c, g and Mdot from the stacked closed form `M = A^T L^T G L A` of Newton-Euler.

        They contain links and rotors that are bodies of their own (`rotor_axis`), without other rotors, friction and springs.

        >>> robot, q, qd = qddot.load("two_link"), [0, 1], [1, 2]
        >>> stacked = robot.newton_euler_matrices(q, qd)
        >>> np.allclose(stacked.M, robot.mass_matrix(q)), np.allclose(stacked.g, robot.gravity_torque(q))
        (True, True)
        """
        return NewtonEuler(*self._compute("newton_euler_matrices", {"q": q, "qd": qd}, options))

    def newton_euler_blocks(self, q: ArrayLike, qd: ArrayLike, **options: Unpack[Options]) -> NewtonEulerBlocks:
        """Return the blocks of `M = A^T L^T G L A`, and those of c and g in the same form (see `NewtonEulerBlocks`).

        They contain the same bodies as `newton_euler_matrices`.

        >>> robot, q, qd, qdd = qddot.load("two_link"), [0, 1], [1, 2], [3, 4]
        >>> blocks = robot.newton_euler_blocks(q, qd)
        >>> blocks.A.shape, blocks.L.shape  # six rows a body
        ((12, 2), (12, 12))
        >>> np.allclose(blocks.tau(qdd), robot.inverse_dynamics(q, qd, qdd))
        True
        """
        return NewtonEulerBlocks(*self._compute("newton_euler_blocks", {"q": q, "qd": qd}, options))

    @fast(returns=InverseDerivatives)
    def inverse_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, **options: Unpack[Options]
    ) -> InverseDerivatives:
        """Return the exact derivatives of tau with respect to q (along the tangent), qd and qdd, each (..., nv, nv).

        >>> robot = qddot.load("two_link")
        >>> slopes = robot.inverse_dynamics_derivatives([0, 1], [0, 0], [0, 0])
        >>> slopes.dtau_dq.round(2)  # how the holding torque changes as the arm moves
        array([[-2.02, -2.02],
               [-2.02, -2.02]])
        >>> np.allclose(slopes.dtau_dqdd, robot.mass_matrix([0, 1]))
        True
        """
        return InverseDerivatives(*self._compute("inverse_dynamics_derivatives", {"q": q, "qd": qd, "qdd": qdd}, options))

    @fast(returns=ForwardDerivatives)
    def forward_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, **options: Unpack[Options]
    ) -> ForwardDerivatives:
        """Return the exact derivatives of qdd with respect to q (along the tangent), qd and tau, each (..., nv, nv).

        >>> robot = qddot.load("two_link")
        >>> slopes = robot.forward_dynamics_derivatives([0, 1], [0, 0], [0, 0])
        >>> np.allclose(slopes.dqdd_dtau, robot.mass_matrix_inverse([0, 1]))
        True
        """
        return ForwardDerivatives(*self._compute("forward_dynamics_derivatives", {"q": q, "qd": qd, "tau": tau}, options))

    # constraints ------------------------------------------------------------------------------------------------------

    @on_host_without_programs
    def constrained_forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        constraints: Any = None,
        *,
        f_ext: Wrenches = None,
        f_tip: Wrenches = None,
        tolerance: float | None = None,
        variables: Any = None,
    ) -> ConstrainedDynamics:
        """Accelerations `qdd` (..., nv) and multipliers `lam` (..., k) with `tau = M qdd + h + A^T lam` and `A qdd = -Adot qd`.

        `A^T lam` is what the robot exerts on its constraints. Where constraints are redundant, `lam` is the smallest solution and a
        `RankWarning` says so; `qdd` is the same with and without the redundant ones.

        Args:
            q, qd, tau: state and joint forces.
            constraints: one (see `qddot.holonomic`, `qddot.pfaffian`, `qddot.connect` and the like) or several; None: those of the
                description. All methods with constraints take them so.
            f_ext, f_tip: as in `inverse_dynamics`.
            tolerance: refuse a state where some `|phi|` or `|A qd|` is larger. None: the state is taken as it is.
            variables: values for the robot's variables (`with_variable`): name -> (...) or (..., size).

        Raises:
            SingularityError: the mass matrix is not positive definite, or no acceleration satisfies all constraints.
            InputError: a state beyond the tolerance.

        >>> robot = qddot.load("two_link")
        >>> wall = qddot.point_on_plane("body_2", point=(0.9, 0, 0), normal=(1, 0, 0))
        >>> q = robot.project([0.5, -0.5], wall)
        >>> found = robot.constrained_forward_dynamics(q, [0, 0], robot.gravity_torque(q) - [3, 0], wall)
        >>> (robot.constraint_jacobian(q, wall) @ found.qdd).round(9) + 0  # the tip stays on the wall
        array([0.])
        >>> found.lam.round(2)  # and is pressed against it, N
        array([2.97])
        """
        return self._under(constraints, variables, q, qd, tau).forward_dynamics(q, qd, tau, f_ext, f_tip, tolerance)

    @on_host_without_programs
    def constrained_inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        constraints: Any,
        lam: ArrayLike,
        *,
        f_ext: Wrenches = None,
        f_tip: Wrenches = None,
        tolerance: float | None = 1e-6,
        variables: Any = None,
    ) -> np.ndarray:
        """Joint forces tau (..., nv) for a motion in which the robot pushes by `lam` (..., k) against its constraints.

        A motion alone does not determine them: `tau = M qdd + h + A^T lam` for any `lam`, which is therefore given.

        Args:
            tolerance: refuse a qdd for which `|A qdd + Adot qd|` is larger than this, relative to its terms. None: not checked.

        Raises:
            InputError: no joint forces cause this motion, since it leaves the constraints.

        >>> robot = qddot.load("two_link")
        >>> wall = qddot.point_on_plane("body_2", point=(0.9, 0, 0), normal=(1, 0, 0))
        >>> q = robot.project([0.5, -0.5], wall)
        >>> tau = robot.constrained_inverse_dynamics(q, [0, 0], [0, 0], wall, lam=[5.0])  # at rest, pressing with 5 N
        >>> np.allclose(tau, robot.gravity_torque(q) + 5.0 * robot.constraint_jacobian(q, wall)[0])
        True
        """
        return self._under(constraints, variables, q, qd, qdd, lam).inverse_dynamics(q, qd, qdd, lam, f_ext, f_tip, tolerance)

    @on_host_without_programs
    def constraint_residual(self, q: ArrayLike, constraints: Any = None, *, variables: Any = None) -> np.ndarray:
        """phi(q) (..., k) of the holonomic constraints: zero where they are satisfied.

        >>> robot = qddot.load("two_link")
        >>> wall = qddot.point_on_plane("body_2", point=(1.0, 0, 0), normal=(1, 0, 0))
        >>> robot.constraint_residual([0, 0], wall).round(3)  # stretched out, it reaches 0.2 m beyond
        array([0.2])
        """
        return self._under(constraints, variables, q).values(("phi",), q)[0]

    @on_host_without_programs
    def constraint_jacobian(self, q: ArrayLike, constraints: Any = None, *, variables: Any = None) -> np.ndarray:
        """A(q) (..., k, nv) with `A qd = 0`; of holonomic constraints `dphi/dq`, along the tangent where q holds quaternions.

        >>> robot = qddot.load("two_link")
        >>> wall = qddot.point_on_plane("body_2", point=(1.0, 0, 0), normal=(1, 0, 0))
        >>> robot.constraint_jacobian([0, np.pi / 2], wall).round(3)
        array([[-0.7, -0.7]])
        """
        return self._under(constraints, variables, q).values(("A",), q)[0]

    @on_host_without_programs
    def constraint_jacobian_dot(self, q: ArrayLike, qd: ArrayLike, constraints: Any = None, *, variables: Any = None) -> np.ndarray:
        """Return the rate of the constraint Jacobian A (..., k, nv) along the motion, exact.

        >>> robot = qddot.load("two_link")
        >>> wall = qddot.point_on_plane("body_2", point=(1.0, 0, 0), normal=(1, 0, 0))
        >>> robot.constraint_jacobian_dot([0, np.pi / 2], [1, 0], wall).round(3) + 0
        array([[-0.5,  0. ]])
        """
        return self._under(constraints, variables, q, qd).values(("Adot",), q, qd)[0]

    @on_host_without_programs
    def constraint_projections(self, q: ArrayLike, constraints: Any = None, *, variables: Any = None) -> Projections:
        """`P = I - A^T (A M^-1 A^T)^-1 A M^-1` and `P_qdd = M^-1 P M`, each (..., nv, nv) of rank nv - k.

        `P tau` is the part of the joint forces that moves the robot, `(I - P) tau` the part that its constraints carry.

        >>> robot = qddot.load("two_link")
        >>> wall = qddot.point_on_plane("body_2", point=(0.9, 0, 0), normal=(1, 0, 0))
        >>> P = robot.constraint_projections(robot.project([0.5, -0.5], wall), wall).P
        >>> np.allclose(P @ P, P), round(np.trace(P))  # a projection, onto the one way that is left
        (True, 1)
        """
        return self._under(constraints, variables, q).projections(q)

    @on_host
    def constraint_wrench(
        self,
        q: ArrayLike,
        lam: ArrayLike,
        constraints: Any = None,
        frame: str | None = None,
        *,
        moment: bool = True,
        scale: float | None = None,
        variables: Any = None,
    ) -> np.ndarray:
        """The wrench (..., 6) that a frame exerts on its constraints: `J^T f_tip = A^T lam`, at its origin in world axes.

        An arm with fewer than six joints, or in a singular configuration, does not feel every wrench: then the solution with the
        smallest `|moment|^2 / scale^2 + |force|^2` is returned.

        Args:
            frame: name; the tip of the only chain if None.
            moment: False for a contact that transmits forces only.
            scale: m, such as the size of the tool. None: a wrench that depends on this choice is refused.

        Raises:
            InputError: the constraints do not act on this frame alone, or leave its wrench open and `scale` is None; the message
                names the components.

        >>> robot = qddot.load("two_link")
        >>> wall = qddot.point_on_plane("body_2", point=(0.9, 0, 0), normal=(1, 0, 0))
        >>> q = robot.project([0.5, -0.5], wall)
        >>> robot.constraint_wrench(q, [5.0], wall, moment=False).round(9) + 0  # 5 N along the normal
        array([0., 0., 0., 5., 0., 0.])
        """
        return self._constrained(constraints, variables).wrench(q, lam, frame, moment, scale)

    @on_host
    def project(self, q: ArrayLike, constraints: Any = None, *, tolerance: float = 1e-12, variables: Any = None) -> np.ndarray:
        """A configuration (..., nq) near q that satisfies the holonomic constraints: all `|phi|` at most `tolerance`.

        Raises:
            ConvergenceError: none was found; the message gives the residual that is left.

        >>> robot = qddot.load("two_link")
        >>> wall = qddot.point_on_plane("body_2", point=(0.9, 0, 0), normal=(1, 0, 0))
        >>> robot.transform(robot.project([0.5, -0.5], wall))[:3, 3].round(4) + 0
        array([0.9  , 0.736, 0.   ])
        """
        return self._constrained(constraints, variables).project(q, tolerance)

    @on_host
    def assemblies(
        self, q: ArrayLike, constraints: Any = None, *, hold: Sequence[str] = (), starts: int = 60, seed: int = 0
    ) -> np.ndarray:
        """All configurations (solutions, nq) found that satisfy the constraints while the joints `hold` stay at q; nearest first.

        An arm that reaches a point with its elbow up or down, a linkage that closes in two ways: `assemblies(q)[1]` is the other
        one. Joint limits are ignored, but random starts are within them.

        Args:
            q: one configuration (nq,), which need not satisfy the constraints.
            hold: names of joints.
            starts: random places from which solutions are sought.

        Raises:
            ConvergenceError: there is none.
            InputError: the constraints leave motions open, which must be held.

        >>> linkage = qddot.load("four_bar")
        >>> len(linkage.assemblies(linkage.home(), hold=["joint1"]))  # it closes in two ways
        2
        """
        from qddot.constraints.assemblies import assemblies

        constrained = self._constrained(constraints)
        return assemblies(constrained, q, hold, starts, seed, self.limits.lower, self.limits.upper)

    @on_host
    def assembly_mode(self, q: ArrayLike, constraints: Any = None, *, hold: Sequence[str] = ()) -> np.ndarray:
        """The branch (...) that q is on: 1 or -1, the sign of det A in the columns of joints not held; 0 where branches meet.

        Raises:
            InputError: there are not as many rows of constraints as free columns.

        >>> linkage = qddot.load("four_bar")
        >>> first, second = linkage.assemblies(linkage.home(), hold=["joint1"])
        >>> sorted([int(linkage.assembly_mode(q, hold=["joint1"])) for q in (first, second)])
        [-1, 1]
        """
        from qddot.constraints.assemblies import assembly_mode

        return assembly_mode(self._constrained(constraints), q, hold)

    @on_host_without_programs
    def project_velocity(self, q: ArrayLike, qd: ArrayLike, constraints: Any = None, *, variables: Any = None) -> np.ndarray:
        """The velocity (..., nv) nearest to qd, by kinetic energy, with `A qd = 0`: that after an inelastic impact.

        >>> robot = qddot.load("two_link")
        >>> wall = qddot.point_on_plane("body_2", point=(0.9, 0, 0), normal=(1, 0, 0))
        >>> q = robot.project([0.5, -0.5], wall)
        >>> (robot.constraint_jacobian(q, wall) @ robot.project_velocity(q, [1, 0], wall)).round(9) + 0
        array([0.])
        """
        return self._under(constraints, variables, q, qd).project_velocity(q, qd)

    # energy -----------------------------------------------------------------------------------------------------------

    @fast
    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """Return the kinetic energy of links and rotors (...), J.

        >>> robot = qddot.load("two_link")
        >>> round(float(robot.kinetic_energy([0, 0], [1, 0])), 4)
        0.2882
        """
        return self._compute("kinetic_energy", {"q": q, "qd": qd}, options)

    @fast
    def potential_energy(self, q: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """Return the potential energy of gravity (zero with all mass at the world's origin) and springs (...), J.

        >>> robot = qddot.load("two_link")
        >>> np.diff(robot.potential_energy([[-np.pi / 2, 0], [np.pi / 2, 0]])).round(2)  # from hanging to standing
        array([14.13])
        """
        return self._compute("potential_energy", {"q": q}, options)

    @fast
    def lagrangian(self, q: ArrayLike, qd: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """Kinetic minus potential energy (...), J.

        >>> robot, q, qd = qddot.load("two_link"), [0.2, 1], [1, 2]
        >>> np.allclose(robot.lagrangian(q, qd), robot.kinetic_energy(q, qd) - robot.potential_energy(q))
        True
        """
        return self._compute("lagrangian", {"q": q, "qd": qd}, options)

    @fast
    def hamiltonian(self, q: ArrayLike, qd: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """Kinetic plus potential energy (...), J.

        >>> motion = qddot.load("two_link").simulate([0.2, 1], t=1.0)
        >>> H = qddot.load("two_link").hamiltonian(motion.q, motion.qd)
        >>> f"{np.ptp(H):.0e}"  # nothing is lost in free motion, but for what steps of 1 ms make
        '1e-07'
        """
        return self._compute("hamiltonian", {"q": q, "qd": qd}, options)

    @fast
    def hamiltonian_of_momentum(self, q: ArrayLike, p: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """H(q, p) = p^T M^-1 p / 2 + V (...), J: the same energy as a function of the momenta `p = M qd`.

        Raises:
            SingularityError: the mass matrix is not positive definite at this q.

        >>> robot, q, qd = qddot.load("two_link"), [0.2, 1], [1, 2]
        >>> p = robot.generalized_momentum(q, qd)
        >>> np.allclose(robot.hamiltonian_of_momentum(q, p), robot.hamiltonian(q, qd))
        True
        """
        return self._compute("hamiltonian_of_momentum", {"q": q, "p": p}, options)

    @fast
    def generalized_momentum(self, q: ArrayLike, qd: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """p = M qd (..., nv), the derivative of the Lagrangian with respect to qd: N m s or N s.

        >>> qddot.load("two_link").generalized_momentum([0, 0], [1, 0]).round(4)  # the first column of M
        array([0.5765, 0.2371])
        """
        return self._compute("generalized_momentum", {"q": q, "qd": qd}, options)

    @on_host_without_programs
    def hamilton_rates(
        self,
        q: ArrayLike,
        p: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        f_ext: Wrenches = None,
        f_tip: Wrenches = None,
        **options: Unpack[Options],
    ) -> HamiltonRates:
        """Hamilton's equations: `qd = dH/dp` and `pd = -dH/dq + tau - friction + J^T f_ext - J^T f_tip`, each (..., nv).

        Args:
            q, p: configuration and momenta, see `generalized_momentum`.
            tau: joint forces; zero if None.
            f_ext, f_tip: as in `inverse_dynamics`.

        Raises:
            SingularityError: the mass matrix is not positive definite at this q.

        >>> robot, q, qd = qddot.load("two_link"), [0.2, 1], [1, 2]
        >>> rates = robot.hamilton_rates(q, robot.generalized_momentum(q, qd))
        >>> rates.qd.round(9), rates.pd.round(3)
        (array([1., 2.]), array([-5.438, -1.18 ]))
        """
        if tau is None:
            tau = constant(q, [0.0] * self.nv) if library_of(q) else np.zeros(self.nv)
        inputs = {"q": q, "p": p, "tau": tau}
        return HamiltonRates(*self._forced("hamilton_rates", inputs, f_ext, f_tip, options))

    @fast
    def momentum(self, q: ArrayLike, qd: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """Angular momentum about the centre of mass, and linear momentum (..., 6), world axes; of the links, not of rotors.

        Not to be confused with the momenta `p = M qd` of the joints, `generalized_momentum`.

        >>> body = qddot.load("quadrotor_arm")
        >>> body.momentum(body.neutral(), [0, 0, 0, 2, 0, 0, 0, 0]).round(3) + 0  # 1.75 kg at 2 m/s
        array([0. , 0. , 0. , 3.5, 0. , 0. ])
        """
        return self._compute("momentum", {"q": q, "qd": qd}, options)

    @fast
    def momentum_rate(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """Rate of `momentum` (..., 6) along a motion: moment about the centre of mass, N m, and force, N, of all that acts from
        outside, gravity included; world axes.

        >>> body = qddot.load("quadrotor_arm")
        >>> q, rest = body.neutral(), np.zeros(8)
        >>> fall = body.forward_dynamics(q, rest, rest)
        >>> body.momentum_rate(q, rest, fall).round(3) + 0  # of a free fall: its weight
        array([  0.   ,   0.   ,   0.   ,   0.   ,   0.   , -17.168])
        """
        return self._compute("momentum_rate", {"q": q, "qd": qd, "qdd": qdd}, options)

    @fast
    def centroidal_momentum_matrix(self, q: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """A_G(q) (..., 6, nv) with `momentum = A_G qd`.

        >>> body = qddot.load("quadrotor_arm")
        >>> q, qd = body.neutral(), np.arange(8.0)
        >>> np.allclose(body.centroidal_momentum_matrix(q) @ qd, body.momentum(q, qd))
        True
        """
        return self._compute("centroidal_momentum_matrix", {"q": q}, options)

    @fast
    def centroidal_momentum_matrix_rate(self, q: ArrayLike, qd: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """dA_G/dt (..., 6, nv) along the motion: `momentum_rate = A_G qdd + A_G' qd`.

        >>> body = qddot.load("quadrotor_arm")
        >>> body.centroidal_momentum_matrix_rate(body.neutral(), np.arange(8.0)).shape
        (6, 8)
        """
        return self._compute("centroidal_momentum_matrix_rate", {"q": q, "qd": qd}, options)

    @on_host_without_programs
    def zero_moment_point(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        point: ArrayLike = (0.0, 0.0, 0.0),
        normal: ArrayLike = (0.0, 0.0, 1.0),
    ) -> np.ndarray:
        """The zero-moment point (..., 3) of the ground, m: its reaction has no moment about it, except along the normal.

        There the ground must carry the robot in this motion: while the point is within the support, the robot does not tip.

        Args:
            q, qd, qdd: the motion.
            point, normal: of the ground, world axes.

        Raises:
            SingularityError: there is no such point, since the ground would have to pull, or carries nothing. Tensors get NaN.

        >>> robot = qddot.load("two_link")
        >>> robot.zero_moment_point([0, 0], [0, 0], [0, 0], normal=(0, 1, 0)).round(3) + 0  # at rest: below the centre of mass
        array([0.6, 0. , 0. ])
        """
        from qddot.task_space.zero_moment import zero_moment_point

        return zero_moment_point(self, q, qd, qdd, point, normal)

    @fast
    def center_of_mass(self, q: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """Return the centre of mass of all moving links (..., 3), in the world, m.

        >>> qddot.load("two_link").center_of_mass([0, 0]).round(4)
        array([0.6, 0. , 0. ])
        """
        return self._compute("center_of_mass", {"q": q}, options)

    # kinematics -------------------------------------------------------------------------------------------------------

    @fast(options=("frame",))
    def transform(self, q: ArrayLike, frame: str | None = None, **options: Unpack[Options]) -> np.ndarray:
        """Pose (..., 4, 4) of a frame in the world.

        >>> qddot.load("two_link").transform([np.pi / 2, 0]).round(3) + 0  # straight up
        array([[ 0. , -1. ,  0. ,  0. ],
               [ 1. ,  0. ,  0. ,  1.2],
               [ 0. ,  0. ,  1. ,  0. ],
               [ 0. ,  0. ,  0. ,  1. ]])
        """
        return self._compute("transform", {"q": q}, options, **framed(frame))

    @fast
    def transforms(self, q: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """Poses (..., frames, 4, 4) of all links and frames in the world, in the order of `frame_names`.

        >>> robot = qddot.load("two_link")
        >>> poses = robot.transforms([0, np.pi / 2])
        >>> dict(zip(robot.frame_names, poses[:, :3, 3].round(3).tolist(), strict=True))
        {'base': [0.0, 0.0, 0.0], 'body_1': [0.5, 0.0, 0.0], 'body_2': [0.5, 0.7, 0.0]}
        """
        return self._compute("transforms", {"q": q}, options)

    @fast(options=("frame", "reference"))
    def frame_velocity(
        self, q: ArrayLike, qd: ArrayLike, frame: str | None = None, reference: str = "space", **options: Unpack[Options]
    ) -> np.ndarray:
        """Twist (..., 6) of a frame, `J qd`: angular velocity first, in the references of `jacobian`.

        >>> robot = qddot.load("two_link")
        >>> robot.frame_velocity([0, 0], [1, 0], reference="world_aligned").round(3) + 0  # the tip, 1.2 m out, goes up
        array([0. , 0. , 1. , 0. , 1.2, 0. ])
        """
        return self._compute("frame_velocity", {"q": q, "qd": qd}, options, **framed(frame), reference=reference)

    @fast(options=("frame", "reference"))
    def frame_acceleration(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        frame: str | None = None,
        reference: str = "space",
        **options: Unpack[Options],
    ) -> np.ndarray:
        """Rate of `frame_velocity` (..., 6), `J qdd + Jdot qd`, angular first.

        With `reference="world_aligned"` its last three elements are the acceleration of the frame's origin; an accelerometer there
        would show it less `gravity`.

        >>> robot = qddot.load("two_link")
        >>> robot.frame_acceleration([0, 0], [1, 0], [0, 0], reference="world_aligned").round(3) + 0  # centripetal
        array([ 0. ,  0. ,  0. , -1.2,  0. ,  0. ])
        """
        inputs = {"q": q, "qd": qd, "qdd": qdd}
        return self._compute("frame_acceleration", inputs, options, **framed(frame), reference=reference)

    @fast(options=("frame", "reference"))
    def jacobian(self, q: ArrayLike, frame: str | None = None, reference: str = "space", **options: Unpack[Options]) -> np.ndarray:
        """Geometric Jacobian (..., 6, nv) of a frame, angular rows first.

        Args:
            frame: name; the tip of the only chain if None.
            reference: `"space"` (twist at the world's origin, world axes), `"body"` (at the frame's origin, its axes) or
                `"world_aligned"` (at the frame's origin, world axes).

        >>> qddot.load("two_link").jacobian([0, np.pi / 2], reference="world_aligned").round(3) + 0
        array([[ 0. ,  0. ],
               [ 0. ,  0. ],
               [ 1. ,  1. ],
               [-0.7, -0.7],
               [ 0.5,  0. ],
               [ 0. ,  0. ]])
        """
        return self._compute("jacobian", {"q": q}, options, **framed(frame), reference=reference)

    @fast(options=("frame", "reference"))
    def jacobian_dot(
        self, q: ArrayLike, qd: ArrayLike, frame: str | None = None, reference: str = "space", **options: Unpack[Options]
    ) -> np.ndarray:
        """Rate of the Jacobian (..., 6, nv), in closed form.

        >>> robot, q, qd = qddot.load("two_link"), [0, 1], [1, 2]
        >>> J = robot.jacobian(robot.integrate(q, 1e-6 * np.array(qd))) - robot.jacobian(q)
        >>> np.allclose(J / 1e-6, robot.jacobian_dot(q, qd), atol=1e-5)
        True
        """
        return self._compute("jacobian_dot", {"q": q, "qd": qd}, options, **framed(frame), reference=reference)

    @fast(options=("frame", "coordinates"))
    def analytic_jacobian(
        self, q: ArrayLike, frame: str | None = None, coordinates: str = "rpy", **options: Unpack[Options]
    ) -> np.ndarray:
        """Jacobian of orientation coordinates and position: rows are their rates, then the velocity of the origin in world axes.

        Args:
            coordinates: `"rpy"` (roll, pitch, yaw about fixed x, y, z), `"zyx"` (the Euler angles yaw, pitch, roll),
                `"quaternion"` (wxyz with w >= 0; 7 rows) or `"rotation_vector"`.

        Raises:
            SingularityError: the coordinates are singular here: pitch of +-90 degrees.

        >>> qddot.load("two_link").analytic_jacobian([0, np.pi / 2])[2] + 0  # of yaw: both joints turn about z
        array([1., 1.])
        """
        return self._compute("analytic_jacobian", {"q": q}, options, **framed(frame), coordinates=coordinates)

    @fast(options=("frame", "coordinates"))
    def analytic_jacobian_dot(
        self, q: ArrayLike, qd: ArrayLike, frame: str | None = None, coordinates: str = "rpy", **options: Unpack[Options]
    ) -> np.ndarray:
        """Rate of the analytic Jacobian (..., 6, nv), or (..., 7, nv) for quaternions, exact.

        Raises:
            SingularityError: the coordinates are singular here.

        >>> robot = qddot.load("puma560")
        >>> robot.analytic_jacobian_dot(robot.home() + 0.1, np.ones(6), coordinates="quaternion").shape
        (7, 6)
        """
        return self._compute("analytic_jacobian_dot", {"q": q, "qd": qd}, options, **framed(frame), coordinates=coordinates)

    @on_host
    def inverse_kinematics(
        self,
        pose: ArrayLike,
        frame: str | None = None,
        *,
        start: ArrayLike | None = None,
        rows: Sequence[str] | None = None,
        limits: bool = True,
        hold: Sequence[str] = (),
        tolerance: float = 1e-9,
        starts: int = 128,
        nearest: bool = False,
        seed: int = 0,
    ) -> Reached:
        """Find a configuration for each wanted pose of a frame: `.q` (..., nq), and the remaining errors (see `Reached`).

            q = robot.inverse_kinematics(T).q
            q = robot.inverse_kinematics([0.4, 0.1, 0.5], start=q).q     # a position alone

        Damped least squares within the joint limits, from `start` and then from random configurations, all poses at once. The same
        arguments give the same result.

        Args:
            pose: wanted poses (..., 4, 4) in the world, or positions (..., 3).
            frame: name; the tip of the only chain if None.
            start: configuration (..., nq) to begin with; it decides which of several solutions is found, most often the closest.
            rows: the components of the pose that matter, some of `"wx", "wy", "wz", "x", "y", "z"` in world axes; all if None.
            limits: False: joints may go beyond their limits.
            hold: names of joints that stay where `start` has them.
            tolerance: of the pose, rad and m.
            starts: how many random starts are tried before a pose is given up.
            nearest: return the closest configuration found where a pose is not reached, instead of an error.
            seed: of the random starts.

        Raises:
            ConvergenceError: a pose was not reached; the message names it, its error, and whether lengths alone rule it out.
            InputError: matrices that are not poses (SE(3)), or a robot with constraints.

        >>> robot = qddot.load("two_link")
        >>> found = robot.inverse_kinematics([0.8, 0.4, 0], rows=["x", "y"], start=[0.1, 0.5])
        >>> robot.transform(found.q)[:2, 3].round(6)
        array([0.8, 0.4])
        """
        from qddot.inverse_kinematics.search import refuse_unreached, search
        from qddot.inverse_kinematics.target import as_count, as_start, as_target

        target = as_target(self._evaluate, pose, frame, rows, self.limits[:2], limits, hold, tolerance)
        found = search(target, as_start(target, start, hold), as_count(starts), seed)
        if not flag("nearest", nearest):
            refuse_unreached(target, found, starts)
        return found

    @on_host
    def inverse_kinematics_solutions(
        self,
        pose: ArrayLike,
        frame: str | None = None,
        *,
        start: ArrayLike | None = None,
        rows: Sequence[str] | None = None,
        limits: bool = True,
        hold: Sequence[str] = (),
        tolerance: float = 1e-9,
        starts: int = 256,
        seed: int = 0,
    ) -> Solutions:
        """Find all configurations for each wanted pose of a frame: elbow up and down, wrist flipped or not (see `Solutions`).

            robot.inverse_kinematics_solutions(T).q        # (8, 6) for a Puma

        For six hinges of which the last three meet in a point they come in closed form; else from random starts, of which there
        should be many more than solutions. A pose out of reach has none.

        Args:
            pose, frame, rows, limits, tolerance, seed: as in `inverse_kinematics`.
            start: configuration (nq,) with the positions of held joints, and with the turns in which angles are returned; zeros if
                None.
            hold: names of joints that stay where `start` has them: an arm with more joints than rows needs some.
            starts: random starts for each pose, where there is no closed form.

        Raises:
            InputError: more joints than rows, so that there are infinitely many solutions.

        >>> robot = qddot.load("puma560")
        >>> pose = robot.transform([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
        >>> robot.inverse_kinematics_solutions(pose, limits=False).q.shape  # shoulder, elbow, wrist: two ways each
        (8, 6)
        """
        from qddot.inverse_kinematics.solutions import solutions
        from qddot.inverse_kinematics.target import as_count, as_start, as_target

        target = as_target(self._evaluate, pose, frame, rows, self.limits[:2], limits, hold, tolerance)
        given = as_start(target, start, hold, one=True)
        return solutions(target, self.neutral() if given is None else given, as_count(starts), seed)

    @on_host_without_programs
    def external_wrench(self, q: ArrayLike, wrenches: Mapping[str, ArrayLike], expressed: str = "body") -> np.ndarray:
        """Return forces on links as one stack (..., bodies, 6) of wrenches about the world's origin, in world axes.

        Args:
            wrenches: `{frame: wrench (..., 6)}`, moment first, acting at the frame's origin.
            expressed: axes of the wrenches: `"body"` (the frame's) or `"world"`.

        >>> robot, q = qddot.load("two_link"), [0, 0]
        >>> push = robot.external_wrench(q, {"body_2": [0, 0, 0, 0, 10, 0]}, expressed="world")
        >>> robot.inverse_dynamics(q, [0, 0], [0, 0], f_ext=push).round(2)
        array([-4.94, -4.6 ])
        """
        if guest((q,)) and isinstance(wrenches, Mapping) and wrenches:
            return self._guests.stack({"q": q}, "wrenches", wrenches, word("expressed", expressed, ("body", "world")))
        return stack_wrenches(self._evaluate, q, wrenches, expressed)

    # task space -------------------------------------------------------------------------------------------------------

    @on_host_without_programs
    def task_space(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        frame: str | None = None,
        *,
        reference: str = "world_aligned",
        rows: Sequence[str] | None = None,
        coordinates: str | None = None,
        damping: float | None = None,
        variables: Any = None,
    ) -> TaskSpace:
        """The dynamics in the coordinates of a frame, `F = M_C Vdot + c_C + g_C + ...` with `tau = J^T F` (see `TaskSpace`).

        Args:
            q, qd: the state.
            frame: name; the tip of the only chain if None.
            reference: of the twist `V = J qd`, as in `jacobian`.
            rows: some of `"wx", "wy", "wz", "x", "y", "z"`; all if None.
            coordinates: instead of a twist, rates of orientation coordinates and of position, as in `analytic_jacobian`. Before
                `"x", "y", "z"` the rows are then `"roll", "pitch", "yaw"` for `"rpy"`, in the other order for `"zyx"`,
                `"qw", "qx", "qy", "qz"` for `"quaternion"` and `"rx", "ry", "rz"` for `"rotation_vector"`.
            damping: near singularities, `M_C = (J M^-1 J^T + damping^2 1)^-1`: no direction appears heavier than `1 / damping^2`.
            variables: of a robot that has some (`with_variable`): name -> (...) or (..., size).

        Raises:
            SingularityError: the rows are dependent here, or more than the robot has degrees of freedom, and damping is None.

        >>> robot = qddot.load("two_link")
        >>> at = robot.task_space([0.3, 0.8], [0, 0], rows=["x", "y"])
        >>> at.M_C.round(2)  # what the tip weighs along x and y, kg
        array([[0.35, 0.34],
               [0.34, 1.13]])
        """
        from qddot.task_space.dynamics import task_space
        from qddot.task_space.task import choose

        return task_space(self, q, qd, choose(self._evaluate, frame, reference, rows, coordinates), damping, variables)

    @on_host
    def ellipsoids(self, q: ArrayLike, frame: str | None = None, rows: Sequence[str] | None = None) -> Ellipsoids:
        """Effective mass, velocity and force ellipsoids of a frame, in world axes; `.plot()` draws them (see `Ellipsoids`).

        Args:
            rows: some of `"wx", "wy", "wz"`, or some of `"x", "y", "z"`: of one unit, so that lengths compare. None: x, y and z, or
                the two of them in whose plane the robot moves.

        >>> found = qddot.load("two_link").ellipsoids([0.3, 0.8])
        >>> round(float(found.effective_mass([1, 0])), 3)  # pushed along x, kg
        0.247
        """
        from qddot.task_space.ellipsoids import ellipsoids
        from qddot.task_space.task import choose, positions_in_reach

        rows = positions_in_reach(self.model) if rows is None else rows
        return ellipsoids(self._evaluate, q, choose(self._evaluate, frame, "world_aligned", rows))

    def manipulability(
        self, q: ArrayLike, frame: str | None = None, rows: Sequence[str] | None = None, **options: Unpack[Options]
    ) -> np.ndarray:
        """Yoshikawa's measure (...), `sqrt(det(J J^T))`, of some of the rows `"wx", "wy", "wz", "x", "y", "z"`; all if None.

        Where it is zero it has a kink, and no gradient.

        Raises:
            InputError: more rows than degrees of freedom.

        >>> robot = qddot.load("two_link")
        >>> robot.manipulability([[0, np.pi / 2], [0, 0.1]], rows=["x", "y"]).round(3)  # bent at a right angle; nearly stretched
        array([0.35 , 0.035])
        """
        from qddot.task_space.ellipsoids import refuse_many_rows
        from qddot.task_space.task import choose

        task = choose(self._evaluate, frame, "world_aligned", rows)
        refuse_many_rows(task, self.nv)
        return self._compute("manipulability", {"q": q}, options, **task.asked)

    # parameters -------------------------------------------------------------------------------------------------------

    @fast
    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, **options: Unpack[Options]) -> np.ndarray:
        """Y (..., nv, p) with `inverse_dynamics = Y @ parameters()`: ten columns per moving link, then one per drive constant.

        >>> robot, q, qd, qdd = qddot.load("two_link"), [0, 1], [1, 2], [3, 4]
        >>> np.allclose(robot.regressor(q, qd, qdd) @ robot.parameters(), robot.inverse_dynamics(q, qd, qdd))
        True
        """
        return self._compute("regressor", {"q": q, "qd": qd, "qdd": qdd}, options)

    def parameters(self) -> np.ndarray:
        """The parameters (p,) that `regressor` multiplies, named by `parameter_names`.

        Raises:
            ModelValueError: a parameter overflows, since numbers of the description are so large.

        >>> robot = qddot.load("two_link")
        >>> dict(zip(robot.parameter_names, robot.parameters().round(4).tolist(), strict=True))["body_1.Izz"]
        0.0419
        """
        values = np.array([value for _, value in self._named_parameters()], dtype=float)
        if not np.isfinite(values).all():
            raise overflow(self.model, "parameters")
        return values

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """`link.m, link.mcx, ..., link.Izz` for each moving link (about its frame's origin), then `joint.viscous` and the like.

        >>> qddot.load("two_link").parameter_names[:4]
        ('body_1.m', 'body_1.mcx', 'body_1.mcy', 'body_1.mcz')
        """
        return tuple(name for name, _ in self._named_parameters())

    def _named_parameters(self) -> list[tuple[str, Any]]:
        from qddot.algorithms.regressor import named_parameters

        return named_parameters(self.model.over(Floats()))

    # code -------------------------------------------------------------------------------------------------------------

    def kernel(
        self, quantity: str, *, dtype: Any = np.float64, wrench: bool = False, inertias: str = "fixed", **options: str
    ) -> Kernel:
        """The compiled kernel of a quantity: its `ufunc` is a NumPy gufunc, its `program` the graph.

        The gufunc refuses nothing, but an input that is not finite, or a q beyond 1e6, raises NumPy's flag for invalid values.

        Args:
            wrench: add an input (..., bodies, 6) of external forces, as `external_wrench` returns them.
            inertias: `"fixed"`: the robot's own numbers are constants; or `"runtime"`: they are a last input (..., 10 bodies), in
                the order of `parameters()`, for payloads and randomised robots without compiling again.

        >>> kernel = qddot.load("two_link").kernel("mass_matrix")
        >>> kernel.ufunc([0.0, 0.0]).round(3)  # a NumPy gufunc
        array([[0.576, 0.237],
               [0.237, 0.115]])
        """
        word("inertias", inertias, ("fixed", "runtime"))
        wrench = flag("wrench", wrench)
        return self._evaluate.kernels.kernel(quantity, as_dtype(dtype), options, wrench=wrench, runtime=inertias == "runtime")

    def program(self, quantity: str, *, wrench: bool = False, **options: str) -> Program:
        """Return the expression graph of a quantity.

        >>> program = qddot.load("two_link").program("mass_matrix")
        >>> len(program.nodes)  # from q to M
        6
        """
        return self._evaluate.kernels.program((self._evaluate.kernels.request(quantity, options),), wrench=flag("wrench", wrench))

    def operations(self, quantity: str, **options: str) -> Operations:
        """Count the scalar operations of a quantity: multiplications, additions, and so on.

        >>> qddot.load("panda").operations("inverse_dynamics")
        Operations(multiplications=299, additions=290, divisions=0, angles=6, other=0)
        """
        from qddot.graph.program import Operations

        return Operations.of(self._evaluate.kernels.program((self._evaluate.kernels.request(quantity, options),)))

    def compute(
        self, quantities: Sequence[Any], *arrays: ArrayLike, engine: str = "serial", address: Any = None, **options: Unpack[Options]
    ) -> dict[str, Any]:
        """Compute several quantities in one kernel, which computes their common parts once.

            found = robot.compute(["mass_matrix", "bias_torque"], q, qd)
            qdd = np.linalg.solve(found["mass_matrix"], tau - found["bias_torque"])

        Args:
            quantities: names, or pairs (name, options) such as `("jacobian", {"frame": "tool0"})`.
            arrays: the inputs that any of them needs, in the order q, qd, qdd, tau.
            engine: `"serial"`, on this machine, or `"dask"`, the states spread over the workers of a cluster (extra `dist`); the
                result is the same to the last bit.
            address: of a Dask scheduler; None: a cluster on this machine.

        Returns:
            name -> array, or tuple of arrays for quantities with several results.

        >>> robot = qddot.load("two_link")
        >>> found = robot.compute(["mass_matrix", "gravity_torque"], [0, 0])
        >>> found["gravity_torque"].round(2)
        array([7.06, 2.4 ])
        """
        word("engine", engine, ("serial", "dask"))
        if engine == "dask":
            from qddot.compile.spread import compute_spread

            return compute_spread(self._evaluate, quantities, arrays, options, address)
        if guest(arrays):
            return self._guests.several(quantities, arrays, options)
        return compute_together(self._evaluate, quantities, arrays, options)

    @on_host_without_programs
    def derivative(self, quantity: str, *arrays: ArrayLike, wrt: str = "variables", **options: Any) -> Any:
        """Return the exact derivatives of a quantity's results with respect to one of its inputs, whose dimensions come last.

            slope = arms.derivative("inverse_dynamics", q, qd, qdd, wrt="variables")    # (..., nv, numbers)

        Args:
            arrays: the inputs of the quantity, in the order q, qd, qdd, tau.
            wrt: name of an input, or `"variables"` of a robot that has some. For q these are derivatives by its nq numbers; for
                those along the tangent see `inverse_dynamics_derivatives` and `forward_dynamics_derivatives`.
            options: of the quantity, and `variables`, `dtype`, `check`, `threads`.

        Raises:
            InputError: the wrong number of arrays, or no such input.

        >>> robot = qddot.load("two_link").with_variable("payload")
        >>> robot.derivative("gravity_torque", [0, 0], wrt="variables").round(2)  # N m more for each kg
        array([[11.77],
               [ 6.87]])
        """
        from qddot.compile.together import differentiated

        if guest(arrays):
            return self._guests.derivative(quantity, arrays, wrt, options)
        return differentiated(self._evaluate, quantity, arrays, wrt, options)

    def bind(self, quantity: str, **options: str) -> Bound:
        """Return a quantity with input and output arrays of its own, for control loops: a call allocates nothing (see `Bound`).

        >>> torque = qddot.load("two_link").bind("gravity_torque")
        >>> torque.q[:] = [0, 0]
        >>> torque().round(2)
        array([7.06, 2.4 ])
        """
        kernel = self._evaluate.kernels.kernel(quantity, np.dtype(float), options)
        return Bound(self._evaluate, kernel, lambda inputs, out: self._evaluate(quantity, inputs, {"out": out}, **options))

    def casadi(self, quantity: str, *, wrench: bool = False, **options: str) -> casadi.Function:
        """Return a quantity as a `casadi.Function` (needs the extra `casadi`), for example `robot.casadi("inverse_dynamics")`.

        >>> qddot.load("two_link").casadi("mass_matrix")
        Function(mass_matrix:(q[2])->(M[2x2]) SXFunction)
        """
        from qddot.compile.casadi import to_casadi

        return to_casadi(self.program(quantity, wrench=wrench, **options))

    def export_c(
        self, directory: str | Path, quantities: Any, *, precision: str = "double", name: str | None = None, **options: Any
    ) -> list[Path]:
        """Write quantities as C99 functions for a controller: a header, a source, a self-test and a CMakeLists.txt.

        The code needs math.h only, allocates nothing and keeps no state. Names of joints stand in comments only.

        Args:
            directory: of the files; made if it does not exist. Files of the same names are replaced.
            quantities: names, or pairs such as `("jacobian", {"frame": "tool0", "reference": "body"})`, or a mapping from names to
                options. A quantity that is named again, with other options, becomes `<name>_jacobian_2`.
            precision: `"double"` or `"float"`.
            name: of the files, and the prefix of every function; made from the robot's name if None.
            options: for every quantity that has them; `wrench=True` adds an input (bodies, 6) of external forces.

        Returns:
            The paths of the files.

        Raises:
            UnknownNameError: no such quantity or frame.
            InputError: no such option or precision, an invalid name, or a result without elements, as of a robot without joints.
            UnboundSymbolError: the robot still holds symbols.

        >>> files = qddot.load("two_link").export_c("controller", ["inverse_dynamics", "mass_matrix"])
        >>> sorted(path.name for path in files)
        ['CMakeLists.txt', 'two_link.c', 'two_link.h', 'two_link_selftest.c']
        """
        from qddot.compile.c_export import export_c

        about = {"draw": self.random_configuration, "about": lambda quantity: summary(getattr(Robot, quantity))}
        return export_c(self._evaluate, directory, quantities, precision=precision, name=name, options=options, **about)

    def export_js(self, path: str | Path, quantities: Any, **options: Any) -> Path:
        """Write quantities as functions of one JavaScript module, for a web page or Node.

            robot.export_js("arm.mjs", ["inverse_dynamics", "mass_matrix"])

        Each function takes its inputs and then the arrays it fills, such as `mass_matrix(q, M)` with `M = new Float64Array(49)`.
        The module imports nothing and keeps no state. Names of joints stand in comments only.

        Args:
            path: of the file, `.mjs` or `.js`; replaced if it exists.
            quantities, options: as in `export_c`. A quantity that is named again, with other options, becomes `jacobian_2`.

        Returns:
            The path.

        Raises:
            UnknownNameError: no such quantity or frame.
            InputError: no such option, or a file name with another suffix.
            UnboundSymbolError: the robot still holds symbols.

        >>> path = qddot.load("two_link").export_js("arm.mjs", ["inverse_dynamics"])
        >>> "export function inverse_dynamics" in path.read_text()
        True
        """
        from qddot.compile.javascript import export_js

        return export_js(self._evaluate, path, quantities, options, lambda quantity: summary(getattr(Robot, quantity)))

    # equations --------------------------------------------------------------------------------------------------------

    def equations(self, symbols: str = "given", constraints: Any = None) -> Equations:
        """Return the equations of motion in closed form, exact (see `Equations`).

        Args:
            symbols: `"given"`: numbers of the robot stay numbers (exact fractions of the decimals given), symbols stay symbols.
                `"inertial"`: the ten inertial numbers of each moving link (about its link frame) and the constants of the drives
                become symbols `m1, mx1, ..., Izz1, Fv1, ...` where they are not zero. `"all"`: so do the offsets between joints
                (`a2, b2, d2` along x, y, z) and gravity (`gx, gy, gz`); the ten numbers are then about the joint's frame.
            constraints: those that `Equations.constraints` imposes, one or several; None: those of the description. The equations
                of the open tree are given in any case.

        >>> equations = qddot.load("point_mass_2r", symbolic=True).equations()
        >>> print(equations.M[1, 1], "|", equations.g[1])
        m2*L2**2 | 9.81*m2*L2*c12
        """
        from qddot.constraints.constrained import as_constraints
        from qddot.symbolic.equations import Equations

        return Equations(self.model, symbols, () if constraints is None else as_constraints(self.model, constraints))

    def derive(
        self,
        method: str = "lagrange",
        symbols: str = "given",
        constraints: Any = None,
        *,
        notation: str = "qddot",
        digits: int | None = None,
        gravity: str | None = None,
        full: bool = False,
        abbreviate: bool | None = None,
    ) -> Derivation:
        """Derive the equations of motion step by step, exactly, with every step checked against the compiled kernels.

            robot.derive("lagrange", gravity="g").save("derivation.html")

        Args:
            method: `"lagrange"` (energies and their derivatives), `"jacobian"` (M from the Jacobians of the centres of mass, then
                Christoffel symbols) or `"newton-euler"` (the recursion body by body, and its stacked form).
            symbols: as in `equations`.
            constraints: one or several that the robot moves under, or True for those of its description: steps to the multipliers,
                the projections and the equations without multipliers follow. None: the open tree alone.
            notation: the book whose letters are used: `"qddot"`, `"lynch-park"`, `"craig"`, `"siciliano"` or `"featherstone"`.
            digits: significant digits of the numbers that are shown. By default decimals stay as they were given, up to seven
                digits, and other numbers are rounded to five. Whatever is shown, everything is computed exactly.
            gravity: a name for the strength of gravity, such as `"g"`, which then is a symbol.
            full: write everything out, however long, instead of using letters that earlier steps have defined.
            abbreviate: give short names `k1, k2, ...` to combinations of parameters; by default only where the equations are long,
                and then the document says so.

        Raises:
            InputError: `"lagrange"` or `"jacobian"` for a robot with spherical or free joints, whose qd is not the rate of q; an
                unknown notation, or one that writes the joint variables as a symbol of the robot; a name for gravity that is taken.
            DerivationError: a step disagrees with `equations` or with the compiled kernels.

        >>> derivation = qddot.load("point_mass_2r", symbolic=True).derive(gravity="g")
        >>> [step.title for step in derivation.steps][-1]
        'The equations of motion'
        """
        from qddot.symbolic.derivation import derive

        return derive(self.model, method, symbols, constraints, notation, digits, gravity, full, abbreviate)

    def properties(self, limits: Any = None, effort: float = 1.0) -> Properties:
        """Structure of the equation of motion (symmetry, definiteness, skewness, passivity), proved, and bounds of M, c and g.

            print(robot.properties(limits=(-np.pi / 2, np.pi / 2)))

        Args:
            limits: the range in which the bounds hold, instead of the joint limits: a pair (lower, upper) of numbers or arrays
                (nq,), or a mapping from joint names to pairs. A hinge without limits makes full turns; a slider without limits
                leaves no bound.
            effort: how much work goes into tightening the guaranteed bounds; 10 takes up to ten times as long.

        >>> found = qddot.load("two_link").properties()
        >>> round(found.g_b[2].rigorous, 3)  # N m: no configuration needs more to be held
        7.461
        >>> found["skew"].holds
        True
        """
        from qddot.symbolic.properties import Properties

        return Properties(self.model, limits, effort)

    # looking at it ----------------------------------------------------------------------------------------------------

    @on_host
    def explore(
        self,
        path: str | Path | None = None,
        *,
        q: ArrayLike | None = None,
        values: Mapping[Any, float] | None = None,
        contacts: Contacts | None = None,
        view: str = "",
    ) -> Page:
        """Show the robot as an interactive page that needs no server: it moves, computes and shows its equations by itself.

            robot.explore()              # opens the browser; inside a notebook the page is shown there
            robot.explore("arm.html")    # one file, which works from disk, by mail and on a web site

        Args:
            path: of the file to write; None: show it now.
            q: configuration (nq,) to start with; a bent one within the limits if None.
            values: numbers for the symbols of a robot that holds some; its equations are then shown in these letters.
            contacts: what the robot may touch (see `qddot.contact`): drawn, and obeyed when the page simulates.
            view: what to show first: the part behind the `#` of a page's address, which "copy as Python" in the page writes.

        Raises:
            NoAssetError: this installation was built without the page; the message says how to get it.
            UnboundSymbolError: the robot holds symbols without values.
            InputError: a q of another shape, a robot without joints, a file that is not .html, contacts of another robot or of one
                with closed loops.

        >>> page = qddot.load("two_link").explore("arm.html")  # one file that needs nothing else
        """
        from qddot.explore.page import page
        from qddot.explore.show import Page, shown

        if values is not None and not isinstance(values, Mapping):
            raise InputError(f"values={as_written(values)}: a mapping of symbols to numbers is needed, such as {{'m1': 2.0}}")
        named = {str(name): finite_number(f"values[{str(name)!r}]", x) for name, x in (values or {}).items()}
        robot = self.subs(named) if named else self
        html = page(robot, letters=self.model if named else None, values=named, q=q, view=view, contacts=contacts)
        return shown(Page(html, self.name), path)

    # small deviations -------------------------------------------------------------------------------------------------

    @on_host_without_programs
    def linearize(
        self,
        q: ArrayLike,
        qd: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        *,
        actuated: Sequence[str] | None = None,
        variables: Any = None,
    ) -> Linearization:
        """`x' = A x + B u` for small deviations from a state, exact: A (..., 2 nv, 2 nv), B (..., 2 nv, m) (see `Linearization`).

            robot.linearize(q).lqr(Q=1.0, R=0.1)      # a controller that holds q
            robot.linearize(q).discrete(1e-3)         # A_d, B_d

        The state is `x = (difference(q0, q), qd - qd0)`, the input `u = tau - tau0`. In closed form: `equations().linearize`.

        Args:
            q, qd: the state; at rest if `qd` is None.
            tau: joint forces; those that keep this velocity if None.
            actuated: names of the joints whose forces are inputs, the columns of B; all of them if None.
            variables: values for the robot's variables (`with_variable`): name -> (...) or (..., size).

        Raises:
            SingularityError: the mass matrix is not positive definite, or a joint with dry friction is at rest.
            InputError: a robot with constraints.

        >>> robot = qddot.load("two_link")
        >>> hanging = robot.linearize([-np.pi / 2, 0])
        >>> round(float(hanging.poles.imag.max()), 2)  # rad/s, the faster of its two vibrations
        9.76
        """
        from qddot.linear.linearization import linearize

        return linearize(self, q, qd, tau, actuated, {} if variables is None else {"variables": variables})

    @on_host
    def equilibrium(self, q: ArrayLike, *, actuated: Sequence[str] = (), hold: Sequence[str] = ()) -> Equilibrium:
        """Find a configuration near q where the robot stays at rest, with the joint forces that hold it and its stability.

            robot.equilibrium(q)                            # q (..., nq), no joint forces: hanging, or upright
            robot.equilibrium(q, actuated=["elbow"])        # what the elbow alone can hold

        Args:
            q: start (..., nq) of the search.
            actuated: names of joints that may exert a force; the others exert none.
            hold: names of joints that stay where they are.

        Raises:
            ConvergenceError: none was found.

        >>> robot = qddot.load("two_link")
        >>> robot.equilibrium([-1.5, 0.1]).q.round(3) + 0  # hanging down
        array([-1.571,  0.   ])
        """
        from qddot.linear.equilibrium import equilibrium

        return equilibrium(self, q, actuated, hold)

    @on_host
    def time_optimal(
        self,
        path: Any,
        *,
        limits: RobotLimits | None = None,
        acceleration: ArrayLike = np.inf,
        points: int = 500,
        start_speed: float = 0.0,
        end_speed: float = 0.0,
    ) -> TimedPath:
        """Find the fastest motion along a path within limits of speed, effort and acceleration: a reference (see `TimedPath`).

            motion = robot.time_optimal([q0, q1, q2])
            robot.simulate(q0, None, motion.duration, torque=ComputedTorque(robot, motion, kp=100, kd=20))

        Args:
            path: waypoints (k, nq), joined by a cubic spline; or a spline of SciPy (`CubicSpline`, `PPoly`, `BSpline`).
            limits: speeds and efforts; the robot's own if None. `robot.limits._replace(effort=...)` for others.
            acceleration: limits (nv,), or one number for all.
            points: number of points on the path at which the limits are kept.
            start_speed, end_speed: s' at the ends of the path, 1/s.

        Raises:
            InputError: a path with a corner, or of another shape.
            ConvergenceError: no motion keeps the limits; the message says where.

        >>> robot = qddot.load("panda")
        >>> path = robot.home() + np.linspace(0, 1, 50)[:, None] * [0.5, 0.3, 0, 0, 0, 0, 0]
        >>> timed = robot.time_optimal(path)
        >>> round(timed.duration, 2)
        0.27
        """
        from qddot.control.time_optimal import time_optimal

        return time_optimal(self, path, limits, acceleration, points, start_speed, end_speed)

    # motion -----------------------------------------------------------------------------------------------------------

    @on_host
    def simulate(
        self,
        q0: ArrayLike,
        qd0: ArrayLike | None = None,
        t: ArrayLike | None = None,
        *,
        torque: Any = None,
        voltage: Any = None,
        electric: str = "full",
        f_ext: Any = None,
        f_tip: Any = None,
        constraints: Any = None,
        parameters: ArrayLike | None = None,
        variables: Any = None,
        events: Any = (),
        method: str = "rk4",
        step: float = 1e-3,
        every: int = 1,
        rtol: float = 1e-9,
        atol: float = 1e-9,
        saturate: bool = True,
        stops: bool = True,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Trajectory:
        """Simulate the motion from a state, or from a whole batch of states or parameters at once.

            motion = robot.simulate(q0, t=10.0)
            motion.q, motion.energy, motion.plot()

        Joints with dry friction stick and slip. Position limits are inelastic stops.

        Args:
            q0, qd0: initial state (..., nq) and (..., nv); at rest if `qd0` is None. Leading dimensions are a batch.
            t: final time, s; a span (first, last), such as (0, 5), sampled every `step` as well; or the times (samples,) wanted.
            torque: joint forces: None; (..., nv); (samples, ..., nv), each row held until the next time; or a function
                (t, q, qd) -> tau, such as a controller of `qddot.control`. If it has an attribute `period`, it is called once every
                period and its result held in between.
            voltage: of the electric motors (drives with a `resistance`), V, (..., m) in the forms of `torque`; their torques are
                added to it. The result has `voltage`, `current`, `electrical_power`, `heat` and `magnetic_energy`, too.
            electric: `"full"`: currents of motors with an inductance are states; `"reduced"`: they settle at once.
            f_ext, f_tip: external forces as in `inverse_dynamics`, or functions of (t, q, qd) that return them.
            constraints: those the robot moves under; None: the constraints of its description, if any; False: none, the open tree.
            parameters: inertial parameters (..., 10 bodies) in the order of `parameters()` instead of the robot's own, such as a
                batch of randomised robots.
            variables: values for the robot's variables (`with_variable`): name -> (...) or (..., size). Not under constraints, and
                not for constants of dry friction; `rollout` takes those.
            events: a function of (t, q, qd), or several: where it crosses zero, its name and the time go to `events` of the result.
                As with SciPy, it may have attributes `terminal` (True ends the simulation) and `direction` (1 up, -1 down).
            method: with fixed steps, also for batches, `"rk4"` (order four, compiled), `"variational"` (order two, keeps the energy
                near its value for good; no dry friction, stops or external forces) or `"euler"` (explicit, order one: for
                teaching, since its energy grows); or one of SciPy's adaptive `"RK45"`, `"DOP853"` and `"Radau"` (implicit,
                for stiff robots), which locate every event.
            step: longest fixed step, s; also the time between two samples where `t` is a final time or a span.
            every: keep only each k-th sample, and the last.
            rtol, atol: tolerances of adaptive methods.
            saturate: hold `torque` within the effort limits of the joints and the torque-speed lines of the motors.
            stops: keep joints within their position limits.
            threads: how many share a large batch; by default QDDOT_THREADS or every core.
            progress: show a bar on stderr if it takes more than a second; None: if stderr is a terminal.

        Raises:
            InputError: a wrong shape, an unknown method, or a batch where only one motion can be simulated.
            SingularityError: the robot has no accelerations in its first state.
            IntegrationError: the motion diverges, or the solver cannot go on; it names time, step and joint.

        >>> motion = qddot.load("two_link").simulate([0, 0], t=2.0)
        >>> motion.q.shape  # a sample every millisecond
        (2001, 2)
        >>> bool(np.ptp(motion.energy) < 1e-6)  # J: nothing is lost
        True
        """
        from qddot.simulate.simulate import simulate

        forces = {"torque": torque, "f_ext": f_ext, "f_tip": f_tip, "constraints": constraints}
        steps = {"method": method, "step": step, "every": every, "rtol": rtol, "atol": atol, "threads": threads}
        options = {**forces, **steps, "events": events, "saturate": saturate, "stops": stops, "progress": progress}
        options |= {"parameters": parameters, "variables": variables}
        if voltage is None:
            return simulate(self, q0, qd0, t, **options)
        from qddot.simulate.electric import simulate_electric

        return simulate_electric(self, q0, qd0, t, voltage=voltage, electric=electric, run=simulate, **options)

    def rollout(
        self,
        law: Callable[[Any], Any] | None = None,
        *,
        step: float = 1e-3,
        method: str = "semi_implicit",
        saturate: bool = True,
        stops: bool = True,
        threads: int | None = None,
        engine: str = "serial",
        address: Any = None,
        contacts: Contacts | None = None,
        constraints: Any = None,
        device: str = "cpu",
    ) -> Rollout:
        """Compile the motion of this robot under a control law, for many states at once: on the CPU, or in one kernel on a GPU.

            run = robot.rollout(qddot.rollout.PDLaw(kp=100, kd=20), step=1e-3)
            q, qd = run(q0, None, target, steps=1000, every=100)

        Args:
            law: a function of a `qddot.rollout.Moment` that gives the joint forces (nv), such as `qddot.rollout.PDLaw` or
                `ComputedTorqueLaw`; it is traced once and compiled with the step; `"rk4"` evaluates it in each of its four stages.
                None: the control is the joint forces.
            step: s.
            method: `"semi_implicit"` (order one), `"rk4"` (order four) or `"variational"` (order two, no drift of energy; no dry
                friction and no stops).
            saturate, stops: as in `simulate`. Dry friction sticks and slips as it does there.
            threads: how many share a large batch on the CPU.
            engine: `"serial"`, on this machine, or `"dask"`, the motions spread over the workers of a cluster (extra `dist`); the
                result is the same to the last bit.
            address: of a Dask scheduler; None: a cluster on this machine.
            contacts: what the robot may touch (`qddot.contact.Contacts`): steps of order one, in which contacts, stops and dry
                friction share one law of impulses. It is meant for a few contacts, since all of them are compiled.
            constraints: those the robot moves under, without stops and dry friction; None: the constraints of its description, if
                any; False: none, the open tree.
            device: where NumPy arrays are computed, `"cpu"` or `"cuda"`: in the latter case they are copied to a GPU and back
                (extra `torch`); on a cluster, each worker uses a GPU of its machine. Arrays on a GPU are always computed there.

        >>> robot = qddot.load("two_link")
        >>> run = robot.rollout(qddot.rollout.PDLaw(kp=50, kd=10), step=1e-3)
        >>> q, qd = run(np.zeros((100, 2)), None, np.ones(2), steps=500)  # a hundred arms, half a second
        >>> q.shape
        (501, 100, 2)
        """
        from qddot.rollout.rollout import Rollout

        how = {"step": step, "method": method, "saturate": saturate, "stops": stops, "threads": threads}
        return Rollout(self, law, **how, engine=engine, address=address, contacts=contacts, constraints=constraints, device=device)

    # identification ---------------------------------------------------------------------------------------------------

    def identify(
        self,
        log: Recorded,
        *,
        parameter_set: ParameterSet | None = None,
        validation: Recorded | float | None = None,
        method: str = "auto",
        cutoff: float | None = None,
        velocity: Velocity | None = None,
        engine: str = "serial",
        address: Any = None,
        progress: bool | None = None,
    ) -> Fit:
        """Identify parameters of links and drives from a recorded motion, with uncertainty and a verdict (see `qddot.identify`).

            fit = robot.identify("run1.csv", validation="run2.csv")
            print(fit.verdict)
            fit.report("report.html")

        Args:
            log: positions and torques over time: a `Log`, the name of a file or of several, or `Log.chunks(...)` with what a file
                does not say. Files of more than 100,000 samples are read piece by piece, in constant memory.
            parameter_set: which parameters to identify; by default ten per link and rotor inertia, viscous and Coulomb friction and
                an offset per joint, with the speed of friction's step found in the log (`standstill_speeds`).
            validation: another log, to be predicted; or the last part of this one, 0.3 for three tenths.
            method: `"wls"` (joints weighted by their noise), `"ols"`, `"irls"` (robust against outliers), or `"auto"`: `"irls"`
                where the torques have outliers, else `"wls"`.
            cutoff: of the low-pass filter, Hz; by default chosen from the log.
            velocity: `"measured"` or `"derivative"` of the positions; by default the better of the two.
            engine: `"serial"`, `"threads"` or `"dask"`; the result is the same to the last bit.
            address: of a Dask scheduler; None: a cluster on this machine.
            progress: show a bar on stderr if it takes more than a second; None: if stderr is a terminal.

        Raises:
            InputError: a log of other joints, or too short.

        >>> arm = qddot.Builder("arm", gravity=(0, -9.81, 0)).body("rod", mass=1, com=(0.3, 0, 0), tensor=(0, 0.03, 0.03)).robot()
        >>> motion = arm.simulate([-1.5], t=np.arange(0, 10, 0.01), step=0.01, torque=lambda t, q, qd: [2 * np.sin(7 * t)])
        >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau, joint_names=arm.joint_names)
        >>> fit = arm.identify(log)
        >>> print(fit.verdict)
        identified
        >>> {name: round(fit.parameters[name], 3) for name in ("rod.mcx", "rod.Izz")}
        {'rod.mcx': 0.3, 'rod.Izz': 0.12}
        """
        from qddot.identify.identification import identify

        how = {"parameter_set": parameter_set, "validation": validation, "method": method, "cutoff": cutoff, "velocity": velocity}
        return identify(self, log, **how, engine=engine, address=address, progress=progress)

    def excitation(
        self,
        *,
        period: float = 15.0,
        harmonics: int = 5,
        ramp: float = 2.0,
        periods: int = 1,
        limits: RobotLimits | None = None,
        acceleration: ArrayLike = np.inf,
        radius: float | str | None = None,
        floor: float | None = None,
        boxes: Sequence[Any] = (),
        friction: Sequence[str] = ("viscous", "coulomb"),
        noise: ArrayLike = 1.0,
        home: ArrayLike | None = None,
        near: Any = None,
        after: Any = None,
        starts: int = 2,
        iterations: int = 80,
        seed: int = 0,
        on_progress: Callable[[str], None] | None = None,
    ) -> Excitation:
        """Plan the motion from rest to rest that shows the base parameters best, within all limits.

            plan = robot.excitation(acceleration=10.0, radius=0.06)
            plan.to_csv("plan.csv", rate=250)

        A finite Fourier series maximises `log det` of the information matrix (IPOPT with exact gradients; needs the extra
        `casadi`), starting from the best of random series. The result keeps every limit on a grid of 1 ms, where it is checked.

        Args:
            period: of the series, s; its base frequency is `1 / period`.
            harmonics: how many the series has.
            ramp: duration of the blends from rest and to rest, s.
            periods: how often the series is repeated.
            limits: positions, speeds and torques; the robot's own if None. `robot.limits._replace(velocity=...)` for others.
            acceleration: limits (nv,), or one number for all.
            radius: of the capsules around the links that must not touch, m; `"described"`: capsules around the shapes that the
                description draws; None: collisions are not checked.
            floor: its height, m; every moving link stays above it.
            boxes: (centre, edges) of each obstacle, m, along the world's axes.
            friction: which of viscous, coulomb, offset shall be identified for every joint, besides the inertial parameters.
            noise: standard deviations of the torques (nv,), or one number.
            home: configuration (nq,) where the motion starts and ends; None: it is chosen.
            near: a recorded motion from which the search begins, a `Log` that is as long as a period.
            after: a `Fit`, or motions planned before: this one shows what they do not, so that several short motions can be
                planned one after the other.
            starts, iterations: how many searches, and steps of each; fewer are faster.
            seed: of the random series.
            on_progress: called with a line of text now and then.

        Raises:
            InputError: joints without a single coordinate, limits that leave no room, or leave the motion unbounded.
            ConvergenceError: no motion within the limits was found.

        >>> limits = qddot.Limits(-1.5, 1.5, velocity=2.0)
        >>> arm = qddot.Builder("arm").body("rod", axis="y", mass=1, com=(0.3, 0, 0), limits=limits).robot()
        >>> plan = arm.excitation(period=5.0, harmonics=2, starts=1, iterations=5, acceleration=10.0)
        >>> plan.duration  # a period, and two seconds each to begin and to end
        9.0
        """
        from qddot.identify.excitation.plan import excitation

        series = {"period": period, "harmonics": harmonics, "ramp": ramp, "periods": periods, "home": home}
        bounds = {"limits": limits, "acceleration": acceleration, "radius": radius, "floor": floor, "boxes": boxes}
        search = {"starts": starts, "iterations": iterations, "seed": seed, "on_progress": on_progress}
        return excitation(self, **series, **bounds, **search, friction=friction, noise=noise, near=near, after=after)

    def to_urdf(self, path: str | Path) -> None:
        """Write a URDF that reads back to the same dynamics.

        >>> qddot.load("two_link").to_urdf("arm.urdf")
        >>> qddot.load("arm.urdf").gravity_torque([0, 0]).round(2)
        array([7.06, 2.4 ])
        """
        from qddot.formats.urdf_writer import write_urdf

        write_urdf(self.model, path)

    def to_toml(self, path: str | Path) -> None:
        """Write a TOML file of our own schema that reads back to the same robot, drives, coupled motors and loops included.

        >>> qddot.load("two_link").to_toml("arm.toml")
        >>> qddot.load("arm.toml").gravity_torque([0, 0]).round(2)
        array([7.06, 2.4 ])
        """
        from qddot.formats.text_writer import write_text

        write_text(self.model, path)

    # calling ----------------------------------------------------------------------------------------------------------

    def _shadow(self, name: str) -> None:
        """Replace a method by its direct entry, if it has one and no subclass overrides the method."""
        method = getattr(Robot, name, None)
        if not hasattr(method, "direct") or getattr(type(self), name) is not method:
            return
        entry = self.__dict__[name]
        if is_waiting(entry):
            from qddot.compile.direct import Direct  # only now: `import qddot` and --help do without it

            direct = Direct.of(self._evaluate.kernels, name, *method.direct)  # type: ignore[union-attr]
            plain = behind(self, name, direct)
            found = direct.entry(name, plain, method.__doc__ or "") if direct else plain
            if direct is None or not become(entry, found):
                self.__dict__[name] = found
        if name in self._guests.entries and isinstance(self.__dict__[name], BuiltinFunctionType):
            from qddot.compile.direct import admit

            admit(self.__dict__[name], *self._guests.entries[name])

    def _compute(self, quantity: str, inputs: dict[str, Any], options: Options, **fixed: str) -> Any:
        """Compute a quantity in the array library of its inputs."""
        for x in inputs.values():
            if type(x) is not np.ndarray and library_of(x):
                return self._guests.compute(quantity, inputs, options, fixed)
        result = self._evaluate(quantity, inputs, options, **fixed)
        if is_waiting(self.__dict__.get(quantity)):
            self._shadow(quantity)
        return result

    def _forced(self, quantity: str, inputs: dict[str, Any], f_ext: Any, f_tip: Any, options: Options, **fixed: str):
        """Compute a quantity with external forces, if any."""
        if f_ext is not None or f_tip is not None:
            if guest(inputs.values()):
                inputs["wrench"] = self._guests.net_stack(inputs, f_ext, f_tip)
            else:
                check = flag("check", options.get("check", True))
                inputs["wrench"] = net_stack(self._evaluate, inputs["q"], f_ext, f_tip, check)
        return self._compute(quantity, inputs, options, **fixed)

    def _under(self, constraints: Any, variables: Any, *arrays: Any) -> Any:
        """Return this robot under constraints, for the array library of the arrays."""
        if guest(arrays):
            from qddot.constraints.of_tensors import ConstrainedTensors

            return ConstrainedTensors(self._guests, constraints, variables)
        return self._constrained(constraints, variables)

    def _constrained(self, constraints: Any, variables: Any = None) -> ConstrainedRobot:
        """This robot under constraints."""
        from qddot.constraints.constrained import ConstrainedRobot  # loaded when first needed

        return ConstrainedRobot(self._evaluate, constraints, variables=variables)

    # names of the algorithms, for people who look for them: see also SECOND_NAMES ---------------------------------------

    rnea = inverse_dynamics
    crba = mass_matrix
    aba = forward_dynamics


def framed(frame: str | None) -> dict[str, str]:
    """Return the option `frame`; nothing for None, which means the tip."""
    return {} if frame is None else {"frame": frame}


def summary(method: Any) -> str:
    """First paragraph of a method's docstring, for one state: without leading dimensions."""
    text = " ".join((method.__doc__ or method.__name__).strip().split("\n\n")[0].split())
    return text.replace(" (...)", "").replace("(..., ", "(")
