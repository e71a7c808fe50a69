"""Motors under voltage: `u = R i + L di/dt + k w` and `motor torque = k i`, with w the motor's speed and k its torque constant.

In SI units the constant of the back-EMF is k too, since the power `k w i` that a motor takes from its circuit goes to its shaft.

A current is the speed of a charge: `L` is its inertia, `R` its viscous friction, and `k` couples it to the shaft without loss. So
the full motion is that of the robot with one more coordinate per motor, the charge, and every method keeps its order, also through
stick and slip. If L is neglected, `i = (u - k w) / R`, and no charge is added.

An energy meter is added as the speed of a body of unit inertia on which the power acts as a force. So the balance of energy is as
exact as the motion, however far apart its samples are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qddot.errors import InputError
from qddot.model.description import Joint, Link
from qddot.model.drive import Drive
from qddot.model.transmission import electric_motors
from qddot.simulate.torque import Sampled, Table, TorqueLimits, as_law
from qddot.simulate.trajectory import Trajectory

if TYPE_CHECKING:
    from qddot.robot import Robot

ELECTRIC = ("full", "reduced")
STABLE = 2.5  # times the electric time constant: the longest step for which methods with fixed steps are stable


class Motors(NamedTuple):
    """The electric motors of a robot."""

    names: tuple[str, ...]  # of coupled motors, otherwise of their joints
    turns: np.ndarray  # (m, nv), motor speeds are `turns @ qd`
    # R, L, k: resistance ohm, inductance H, torque constant N m/A = V s/rad; (m,)
    R: np.ndarray
    L: np.ndarray
    k: np.ndarray

    @staticmethod
    def of(robot: Robot) -> Motors:
        found = electric_motors(robot.model)
        turns = np.array([row for _, row, _ in found], float).reshape(-1, robot.nv)
        constants = np.array([(d.resistance, d.inductance, d.torque_constant) for *_, d in found], float).reshape(-1, 3)
        return Motors(tuple(name for name, *_ in found), turns, *constants.T)


class Driven:
    """Joint forces of motors under voltage plus others, as a law for `qddot.simulate.torque.Torque` on the robot with charges.

    Attributes:
        samples: the period, if voltage or torque is a sampled law; else None.
    """

    def __init__(
        self, motors: Motors, circuit: Circuit, voltage: Any, torque: Any, times: np.ndarray, limits: TorqueLimits | None
    ) -> None:
        self.motors, self.circuit, self.limits = motors, circuit, limits
        self.voltage = sampled(as_law(len(motors.names), voltage, times, circuit.batch, "voltage"), voltage)
        self.torque = sampled(as_law(motors.turns.shape[1], torque, times, circuit.batch), torque)
        periods = {law.period for law in (self.voltage, self.torque) if isinstance(law, Sampled)}
        if len(periods) > 1:
            raise InputError(f"voltage and torque are sampled with different periods, {sorted(periods)} s: give them one")
        self.samples = periods.pop() if periods else None

    def begin(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        for law in (self.voltage, self.torque):
            if isinstance(law, (Table, Sampled)):
                law.begin(t, q[..., self.circuit.q], qd[..., self.circuit.v])

    def next_jump(self, t: float) -> float:
        jumps = [law.next_jump(t) for law in (self.voltage, self.torque) if isinstance(law, (Table, Sampled))]
        return min(jumps, default=np.inf)

    def parts(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return voltages and currents (..., m), and the other joint forces (..., nv)."""
        c, m = self.circuit, self.motors
        q, v = q[..., c.q], qd[..., c.v]
        u, tau = (
            checked(name, law(t, q, v), size)
            for name, law, size in (("voltage", self.voltage, len(m.names)), ("torque", self.torque, v.shape[-1]))
        )
        i = (u - m.k * (v @ m.turns.T)) / m.R
        i = np.broadcast_to(i, (*np.broadcast_shapes(i.shape[:-1], qd.shape[:-1]), i.shape[-1])).copy()
        i[..., c.full] = qd[..., c.currents]
        return u, i, tau if self.limits is None else self.limits(tau, v)

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        u, i, tau = self.parts(t, q, qd)
        c, m = self.circuit, self.motors
        force = np.zeros(qd.shape)
        force[..., c.v] = tau + (m.k * i) @ m.turns
        back = m.k * (qd[..., c.v] @ m.turns.T)
        force[..., c.currents] = (u - back)[..., c.full]
        force[..., c.meter] = (u * i - m.R * i**2).sum(-1) + (tau * qd[..., c.v]).sum(-1)
        return force


def sampled(law: Any, given: Any) -> Any:
    period = getattr(given, "period", None)
    return law if period is None else Sampled(law, period)


def checked(name: str, x: Any, size: int) -> np.ndarray:
    """Return the result of a law as an array. Raises InputError: not (..., size) finite numbers."""
    x = np.asarray(x, float)
    if x.shape[-1:] != (size,) or not np.isfinite(x).all():
        raise InputError(f"{name} gave {x}: (..., {size}) finite numbers are needed")
    return x


class Circuit(NamedTuple):
    """A robot extended by charges and an energy meter, and the places of coordinates in it."""

    robot: Robot  # the extended robot
    # q, v: places of the original coordinates (nq,) and rates (nv,)
    q: np.ndarray
    v: np.ndarray
    full: np.ndarray  # indices of the motors that have a charge; currents: places of their rates
    currents: np.ndarray
    meter: int  # place of the energy put in by voltages and other joint forces, less the heat of the windings, J
    batch: tuple[int, ...]  # leading dimensions of the states

    @staticmethod
    def of(robot: Robot, motors: Motors, full: np.ndarray, batch: tuple[int, ...]) -> Circuit:
        model = robot.model
        names = [*(f"{motors.names[k]}.current" for k in full), "energy.meter"]
        links = [*model.links, *(Link(f"{name}.charge") for name in names)]
        circuits = [*(Drive(rotor_inertia=motors.L[k], viscous=motors.R[k]) for k in full), Drive(rotor_inertia=1.0)]
        joints = [Joint(name, "continuous", model.root, f"{name}.charge", drive=drive) for name, drive in zip(names, circuits)]
        whole = type(robot)(model.copy(links=links, joints=[*model.joints, *joints], doubtful=model.doubtful))
        own = {c.name: c for c in whole.model.mechanism.coordinates}
        q = np.array([i for c in model.mechanism.coordinates for i in own[c.name].q], int)
        v = np.array([i for c in model.mechanism.coordinates for i in own[c.name].v], int)
        *currents, meter = (own[name].v.start for name in names)
        return Circuit(whole, q, v, full, np.array(currents, int), meter, batch)

    def with_own(self, parameters: np.ndarray | None, robot: Robot) -> np.ndarray | None:
        """Return the inertial parameters (..., 10 bodies) of the extended robot, from those of the robot; charges have no mass."""
        if parameters is None:
            return None
        place = [self.robot.body_names.index(name) for name in robot.body_names]
        whole = np.zeros((*parameters.shape[:-1], len(self.robot.body_names), 10))
        whole[..., place, :] = parameters.reshape(*parameters.shape[:-1], -1, 10)
        return whole.reshape(*parameters.shape[:-1], -1)

    def seen(self, f: Any) -> Any:
        """Wrap a caller's function of (t, q, qd) so that it sees only the robot's own coordinates."""
        if not callable(f):
            return f

        @wraps(f)
        def own(t: float, q: np.ndarray, qd: np.ndarray) -> Any:
            return f(t, q[..., self.q], qd[..., self.v])

        return own


def simulate_electric(
    robot: Robot,
    q0: Any,
    qd0: Any,
    t: Any,
    *,
    voltage: Any,
    torque: Any,
    electric: str,
    saturate: bool,
    run: Callable[..., Trajectory],
    **options: Any,
) -> ElectricTrajectory:
    """See `Robot.simulate`; `run` simulates a robot under joint forces. Raises InputError: no motor, an unknown model, a step too
    long for a circuit."""
    from qddot.simulate.simulate import ADAPTIVE, inertial_parameters, sample_times, start

    motors = Motors.of(robot)
    if not motors.names:
        raise InputError(f"{robot.name} has no electric motor: give resistance and torque_constant in the drive of a joint")
    if not isinstance(electric, str) or electric not in ELECTRIC:
        raise InputError(f"electric={electric!r} is not one of {', '.join(map(repr, ELECTRIC))}")
    full = np.flatnonzero(motors.L > 0) if electric == "full" else np.zeros(0, int)
    if options["variables"] is not None:
        raise InputError("simulate takes no variables under voltage: robot.with_values({...}).simulate(...) is one robot")
    given = options.pop("parameters")
    numbers = None if given is None else inertial_parameters(robot, given)
    constants = motors.L[full] / motors.R[full]
    if len(full) and options["method"] not in ADAPTIVE and constants.min() * STABLE < options["step"]:
        name = motors.names[full[constants.argmin()]]
        raise InputError(
            f"the current of {name!r} settles in {constants.min():.2g} s, too fast for steps of {options['step']:g} s: "
            f'take steps below {STABLE * constants.min():.2g} s, method="Radau", or electric="reduced"'
        )
    q, qd = start(robot, q0, qd0, *([] if numbers is None else [numbers.shape[:-1]]))
    circuit = Circuit.of(robot, motors, full, q.shape[:-1])
    whole = circuit.robot
    first_q, first_v = np.zeros((*q.shape[:-1], whole.nq)), np.zeros((*q.shape[:-1], whole.nv))
    first_q[..., circuit.q], first_v[..., circuit.v] = q, qd
    law = Driven(motors, circuit, voltage, torque, sample_times(t, options["step"]), TorqueLimits(robot) if saturate else None)
    events = options.pop("events")
    watched = circuit.seen(events) if callable(events) else [circuit.seen(f) for f in events or ()]
    forces = {name: circuit.seen(options.pop(name)) for name in ("f_ext", "f_tip")}
    options |= {"parameters": circuit.with_own(numbers, robot), **forces}
    motion = run(whole, first_q, first_v, t, torque=law, saturate=False, events=watched, **options)
    u, i, others = [], [], []
    for k, when in enumerate(motion.t):
        law.begin(float(when), motion.q[k], motion.qd[k])
        for found, x in zip((u, i, others), law.parts(float(when), motion.q[k], motion.qd[k])):
            found.append(np.broadcast_to(x, (*q.shape[:-1], x.shape[-1])))
    return ElectricTrajectory(
        robot,
        motion.t,
        motion.q[..., circuit.q],
        motion.qd[..., circuit.v],
        motion.tau[..., circuit.v],
        motion.events,
        motion._switching,
        motors=motors,
        voltage=np.array(u),
        current=np.array(i),
        given=np.array(others),
        whole=motion,
        circuit=circuit,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class ElectricTrajectory(Trajectory):
    """A motion under voltage. `tau` are all joint forces: those of the motors, and the others, `given`.

    Attributes:
        motors: names and constants of the motors.
        voltage, current: (samples, ..., m), V and A.
        given: (samples, ..., nv) joint forces that do not come from motors.
        whole: the motion with charges and the energy meter as coordinates.
        circuit: the places of these coordinates.
    """

    motors: Motors
    voltage: np.ndarray
    current: np.ndarray
    given: np.ndarray
    whole: Trajectory
    circuit: Circuit

    @cached_property
    def _resolved(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
        qdd, passive, external, lam = self.whole._resolved
        return qdd[..., self.circuit.v], passive[..., self.circuit.v], external[..., self.circuit.v], lam

    @cached_property
    def kinetic_energy(self) -> np.ndarray:
        """Kinetic energy of links and rotors (samples, ...), J."""
        own = np.zeros(self.whole.qd.shape)
        own[..., self.circuit.v] = self.qd
        return self._switching.dynamics.evaluate("kinetic_energy", q=self.whole.q, qd=own)

    @cached_property
    def potential_energy(self) -> np.ndarray:
        """Potential energy of gravity and springs (samples, ...), J."""
        return self.whole.potential_energy

    @cached_property
    def magnetic_energy(self) -> np.ndarray:
        """Magnetic energy `L i^2 / 2` of the motors whose current is a state (samples, ...), J."""
        return (self.motors.L * self.current**2)[..., self.circuit.full].sum(-1) / 2

    @cached_property
    def electrical_power(self) -> np.ndarray:
        """Power `u i` that the voltage sources put in (samples, ...), W."""
        return (self.voltage * self.current).sum(-1)

    @cached_property
    def heat(self) -> np.ndarray:
        """Heat `R i^2` of the windings (samples, ...), W."""
        return (self.motors.R * self.current**2).sum(-1)

    @cached_property
    def friction_loss(self) -> np.ndarray:
        """Power that friction takes out (samples, ...), W, without the heat of the windings."""
        return self.whole._friction_losses[..., self.circuit.v].sum(-1)

    @cached_property
    def energy_residual(self) -> np.ndarray:
        """Error of the energy balance (samples, ...), J: mechanical and magnetic energy, minus the initial energy, minus the energy
        put in since, plus the energy taken by impacts on stops.

        Electrical power less heat, and that of other joint forces, are metered during the simulation; external power less friction
        is integrated by Simpson's rule.
        """
        energy = self.energy + self.magnetic_energy - self.whole.qd[..., self.circuit.meter]
        return energy - energy[0] - self._integral(self.external_power - self.friction_loss) + self.whole.impact_loss

    def __getitem__(self, index: Any) -> ElectricTrajectory:
        at = self._slices(index)
        picked = {name: getattr(self, name)[at] for name in ("q", "qd", "tau", "voltage", "current", "given")}
        return replace(self, t=self.t[at[0]], whole=self.whole[index], **picked)

    def columns(self) -> dict[str, np.ndarray]:
        """Return the columns of `Trajectory`, and `u1`, ... and `i1`, ... of the motors."""
        table = super().columns()
        for name, values in (("u", self.voltage), ("i", self.current)):
            table |= {f"{name}{k + 1}": values[:, k] for k in range(values.shape[1])}
        return table | {"magnetic_energy": self.magnetic_energy}
