"""Programs that the page runs as JavaScript: functions of the robot's state, with gravity and inertial parameters as inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qddot.algorithms import energy, inverse_dynamics, jacobian
from qddot.algorithms.drives import spring_torque
from qddot.algorithms.forward_dynamics import delivered_torque
from qddot.algorithms.kinematics import coordinate_rates, world_poses
from qddot.algorithms.mass_matrix import mass_matrix
from qddot.compile.javascript import javascript_function
from qddot.compile.trace import recorded
from qddot.constraints.standard import from_description
from qddot.constraints.trace import constraint_program
from qddot.graph.expr import Trace
from qddot.graph.program import Input, Output, Program, output
from qddot.model.model import LiftedModel, Model
from qddot.model.spatial import Transform, Vec


def page_programs(model: Model, tips: Sequence[str]) -> dict[str, Program]:
    """Return all functions that the page calls, by name.

    `poses` of all bodies (3 x 4 each), `dynamics`, `jacobian0`, `jacobian1`, ... of the tips (world axes, at the frame), `rates` of
    q, joint forces before and after friction, and `loops` if the description closes some.
    """
    programs = {"poses": poses(model), "dynamics": dynamics(model), "rates": rates(model)}
    programs |= {f"jacobian{k}": tip_jacobian(model, name) for k, name in enumerate(tips)}
    programs |= {"delivered_torque": delivered(model), "demanded_torque": demanded(model)}
    if closing := [from_description(c) for c in model.constraints if c.active]:
        programs["loops"] = constraint_program(model, closing, ("phi", "A", "Adot_qd"))
    return programs


def functions(programs: Mapping[str, Program]) -> str:
    """Return one JavaScript expression: an object of functions."""
    lines = [line for name, program in programs.items() for line in javascript_function(program, name)]
    return "(() => {\n" + "\n".join(x.lstrip() for x in lines if x) + f"\nreturn {{ {', '.join(programs)} }};\n}})()"


def signatures(programs: Mapping[str, Program]) -> dict[str, list[int]]:
    """Return the number of values that each function writes into each of its outputs."""
    return {name: [x.size for x in program.shown] for name, program in programs.items()}


class Tracing:
    """A trace with named inputs; `lifted` is the model, with gravity and inertial parameters as inputs if these are named."""

    def __init__(self, model: Model, names: Sequence[str]) -> None:
        mechanism, links = model.mechanism, sum(body.is_link for body in model.bodies)
        shapes = {"q": (mechanism.nq,), "gravity": (3,), "parameters": (10 * links,)}
        self.inputs = tuple(Input(name, shapes.get(name, (mechanism.nv,))) for name in names)
        self.field = Trace()
        self.given = {x.name: [self.field.variable(k, i) for i in range(x.size)] for k, x in enumerate(self.inputs)}
        self.lifted: LiftedModel = recorded(model, self.field, self.given, regrouped=False)
        if "gravity" in self.given:
            self.lifted.gravity = Vec(*self.given["gravity"])

    def program(self, name: str, *outputs: Output) -> Program:
        return Program(name, self.inputs, outputs)


def poses(model: Model) -> Program:
    """Return the program of each body's pose in the world: three rows of a 4 x 4 matrix."""
    r = Tracing(model, ("q",))
    found = world_poses(r.lifted, r.given["q"])
    rows = [matrix_rows(found[body.index]) for body in model.bodies]
    return r.program("poses", output("T", rows, 2) if rows else Output("T", (0, 12), ()))


def matrix_rows(T: Transform) -> list:
    return [x for row, p in zip(T.R, T.p) for x in (*row, p)]


def dynamics(model: Model) -> Program:
    """Return the program of the terms of the equation of motion except friction, the energies, and the centre of mass."""
    r = Tracing(model, ("q", "qd", "gravity", "parameters"))
    lifted, q, qd = r.lifted, r.given["q"], r.given["qd"]
    return r.program(
        "dynamics",
        output("M", mass_matrix(lifted, q), 2),
        output("c", inverse_dynamics.coriolis_torque(lifted, q, qd), 1),
        output("g", inverse_dynamics.gravity_torque(lifted, q), 1),
        output("spring", spring_torque(lifted, q), 1),
        output("kinetic", energy.kinetic_energy(lifted, q, qd), 0),
        output("potential", energy.potential_energy(lifted, q), 0),
        output("centre", list(energy.center_of_mass(lifted, q)), 1),
    )


def rates(model: Model) -> Program:
    """Return the program of dq/dt."""
    r = Tracing(model, ("q", "qd"))
    return r.program("rates", output("dq", coordinate_rates(r.lifted, r.given["q"], r.given["qd"]), 1))


def tip_jacobian(model: Model, frame: str) -> Program:
    r = Tracing(model, ("q",))
    columns = jacobian.jacobian(r.lifted, r.given["q"], frame, "world_aligned")
    return r.program("jacobian", output("J", jacobian.rows(columns), 2))


def spheres(model: Model, places: Sequence[tuple[str, Sequence[float]]]) -> Program:
    """Return the program of the centres of spheres (frame, place in it), origins of their frames, and the Jacobians at these (world
    axes)."""
    r = Tracing(model, ("q",))
    q = r.given["q"]
    poses = world_poses(r.lifted, q)
    centers, origins, rows = [], [], []
    for name, center in places:
        body, pose = r.lifted.frame(name)
        T = poses[body] @ pose
        centers.append(list(T.p + T.R @ Vec(*(r.field.constant(float(x)) for x in center))))
        origins.append(list(T.p))
        rows += jacobian.rows(jacobian.jacobian(r.lifted, q, name, "world_aligned"))
    return r.program("spheres", output("c", centers, 2), output("p", origins, 2), output("J", rows, 2))


def delivered(model: Model) -> Program:
    """Return the program of the joint forces less friction, `delivered_torque(qd, tau)`."""
    r = Tracing(model, ("qd", "tau"))
    return r.program("delivered_torque", output("load", delivered_torque(r.lifted, r.given["qd"], r.given["tau"]), 1))


def demanded(model: Model) -> Program:
    """Return the program of the joint forces that overcome friction and exert a load, `demanded_torque(qd, load)`."""
    r = Tracing(model, ("qd", "load"))
    return r.program(
        "demanded_torque", output("tau", inverse_dynamics.demanded_torque(r.lifted, r.given["qd"], r.given["load"]), 1)
    )
