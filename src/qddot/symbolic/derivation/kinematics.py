"""The first steps of Lagrange's route and that of the Jacobians: frames, inertias and positions of the centres of mass."""

from __future__ import annotations

import numpy as np

from qddot.algorithms.kinematics import path_to_root
from qddot.algorithms.quantities import homogeneous
from qddot.model.joints import Helical, Prismatic, Revolute, Rotor
from qddot.model.lower import WORLD, LiftedBody
from qddot.model.spatial import Vec
from qddot.symbolic.derivation.shafts import motor_coordinates
from qddot.symbolic.derivation.steps import Check, Equation, Prose, Step, Table, joined, paragraph, say
from qddot.symbolic.derivation.subject import LinkData, Subject

KINDS = {Revolute: "revolute", Prismatic: "prismatic", Helical: "helical"}


def joint_table(s: Subject) -> Table:
    """Return the table of links with their joints, parents and coordinates."""
    head = (say("link or shaft" if s.shafts or s.gears else "link"), say("joint"), say("type"), say("parent"), say("coordinate"))
    return Table(head, [joint_row(s, body) for body in s.lifted.bodies if body.columns])


def joint_row(s: Subject, body: LiftedBody) -> tuple[Prose, ...]:
    parent = "world" if body.parent == WORLD else f"{body.parent + 1}"
    name = say("{i}: {name}", i=body.index + 1, name=body.name)
    if isinstance(body.joint, Rotor):
        rates = joined(rf"$\dot q_{{{c + 1}}}$" for c in body.columns)
        kind, parent = ("elastic gear", "none") if body.coordinates else ("shaft", parent)
        return name, say("none"), say(kind), say(parent), say(f"turned by {rates}")
    kind = KINDS.get(type(body.joint), "spherical" if len(body.columns) == 3 else "free")
    first, last = body.coordinates[0] + 1, body.coordinates[-1] + 1
    letters = rf"$q_{{{first}}}$" if first == last else rf"$q_{{{first}}}, \dots, q_{{{last}}}$"
    follows = " (follows)" if body.rate != 1 or body.offset != 0 or body.joint_name in s.model.leaders else ""
    return (name, say("{name}", name=body.joint_name), say(kind), say(parent), say(letters + follows))


def frames(s: Subject) -> Step:
    """Return the step with the pose of each link's frame in that of its parent."""
    prose = [
        say(
            "The robot has {bodies} and {freedoms} of freedom. Each link carries a frame. $T_i$ is the pose of link $i$ in the "
            "frame of its parent $j$, with rotation ${}^{j}R_i$ and origin ${}^{j}p_i$; ${}^{0}T_i$ is its pose in the world, the "
            "product of all poses on the way, with rotation $R_i$ and origin $p_i$.",
            bodies=count(len(s.links), "moving link"),
            freedoms=count(s.nv, "degree"),
        ),
        *motor_coordinates(s),
    ]
    if s.model.leaders:
        prose += paragraph("A joint that follows another has no coordinate of its own: it moves with a multiple of its leader's.")
    equations = [Equation(f"T_{{{x.number}}}", "", s.form(homogeneous(x.step)), rf"(T_{{{x.number}}})_{{@}}") for x in s.links]
    chains = [Equation(rf"{{}}^{{0}}T_{{{x.number}}}", chain(s, x)) for x in s.links if x.parent]
    return Step("Frames", prose, [*equations, *chains], [check_poses(s)], joint_table(s))


def check_poses(s: Subject) -> Check:
    poses = [homogeneous(s.world_poses[x.body.index] @ x.body.link) for x in s.visible()]
    return s.check("Poses of all links", poses, lambda at: [s.kernel("transform", at, frame=x.body.name) for x in s.visible()])


def chain(s: Subject, link: LinkData) -> str:
    """Return LaTeX of a link's pose in the world: the product of all poses on the way."""
    return r" \, ".join(rf"T_{{{i + 1}}}" for i in reversed([*path_to_root(s.lifted, link.body.index)]))


def inertias(s: Subject) -> Step:
    """Return the step with the masses, centres of mass and tensors of the links."""
    heavy = s.heavy
    prose = paragraph(
        "For each link, including what is fixed to it: the mass $m_i$, the centre of mass $r_{ci}$ in the link's frame, and "
        "the tensor of inertia $\\mathcal{I}_i$ about the centre of mass, in the link's axes."
    )
    if any(x.point is None for x in heavy):
        which = joined(str(x.number) for x in heavy if x.point is None)
        prose += paragraph(
            "The centre of mass of link {which} is a quotient of parameters. So that everything stays polynomial, the first "
            "moment $h_i = m_i r_{ci}$ takes its place, and $\\mathcal{I}_i$ is about the origin of the link's frame.",
            which=which,
        )
    equations = []
    for x in heavy:
        equations.append(Equation(f"m_{{{x.number}}}", "", s.form(x.mass)))
        place = (f"h_{{{x.number}}}", x.moment) if x.point is None else (f"r_{{c{x.number}}}", x.point)
        equations.append(Equation(place[0], "", s.form(place[1])))
        tensor = rf"\mathcal{{I}}_{{{x.number}}}"
        equations.append(Equation(tensor, "", s.form(x.tensor), f"({tensor})_{{@}}"))
    weightless = [x for x in s.links if not x.has_mass]
    if weightless:
        prose += paragraph("Without mass: link {which}.", which=joined(str(x.number) for x in weightless))
    moments = sum((x.pose.point(x.reference) * x.mass + x.pose.R @ x.moment for x in heavy), Vec())
    total = sum((x.mass for x in heavy), 0)
    checks = []
    if total != 0:
        check = s.check(
            "The first moment of all masses",
            moments,
            lambda at: s.kernel("center_of_mass", at) * s.numbers(total, at),
            scale=max(float(s.numbers(total, at)) for at in s.states),
        )
        checks = [check]
    return Step("Masses, centres of mass and tensors of inertia", prose, equations, checks)


def positions(s: Subject) -> Step:
    """Return the step with the centres of mass in the world."""
    prose = paragraph("The centre of mass of link $i$ is at $p_{ci}$ in the world.")
    if any(x.point is None for x in s.heavy):
        prose += paragraph("Of a link with a first moment $h_i$, the origin $p_i$ of its frame is followed instead.")
    equations = []
    for x in s.heavy:
        p, i = x.pose.point(x.reference), x.number
        if x.point is None:
            left, formula = f"p_{{{i}}}", ""
        else:
            left, formula = point_name(x), rf"p_{{{i}}} + R_{{{i}}} r_{{c{i}}}"
        equations.append(Equation(left, formula, s.short_form(p)))
    if any(equation.form is None for equation in equations):
        prose += paragraph("Where the components are long they are left as products; every number can be had from the poses above.")
    seen = [x for x in s.visible() if x.has_mass]

    def expected(at):
        found = []
        for x in seen:
            T = s.kernel("transform", at, frame=x.body.name)
            local = s.numbers(((s.frames[x.body.index].inverse @ x.body.link).inverse).point(x.reference), at)
            found.append(T[:3, :3] @ local + T[:3, 3])
        return np.array(found).reshape(-1, 3)

    check = s.check("Positions", np.array([x.pose.point(x.reference) for x in seen], dtype=object).reshape(-1, 3), expected)
    return Step("Positions of the centres of mass", prose, equations, [check])


def point_name(link: LinkData, letter: str = "p") -> str:
    """Return the name of the reference point: the centre of mass, or the origin of the frame."""
    return f"{letter}_{{{link.number}}}" if link.point is None else f"{letter}_{{c{link.number}}}"


def count(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"
