"""The route of Newton and Euler: motion outward, forces inward, body by body (for all bodies at once, see `stacked`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from qddot.algorithms.quantities import homogeneous
from qddot.model.joints import Rotor
from qddot.model.lower import WORLD, LiftedBody
from qddot.model.spatial import Force, Motion, Transform, Vec, mat
from qddot.symbolic.derivation.kinematics import check_poses, joint_table
from qddot.symbolic.derivation.named import Named, components, letters_of
from qddot.symbolic.derivation.shafts import kernel_twists, motor_coordinates
from qddot.symbolic.derivation.stacked import collected, stacked
from qddot.symbolic.derivation.steps import Equation, Step, paragraph, say
from qddot.symbolic.derivation.subject import KERNELS, State, Subject
from qddot.symbolic.form import Form


def newton_euler(s: Subject) -> list[Step]:
    """Return all steps."""
    recursion = Recursion(s)
    return [
        frames(s),
        recursion.inertias(),
        recursion.velocities(),
        recursion.accelerations(),
        recursion.forces(),
        recursion.inward(),
        recursion.torques(),
        collected(s),
        stacked(s, list(recursion.bodies.values())),
    ]


def frames(s: Subject) -> Step:
    prose = [
        say(
            "Each body $i$ has a frame on its joint, with $z$ along the joint's axis. $T_i$ is its pose in the frame of the "
            "body it stands on (for a body on the base, in the world), with rotation $R_i$ and origin $p_i$. A six-vector is "
            "angular first: a twist $V = (\\omega, v)$, where $v$ is the velocity of the point at the frame's origin; a wrench "
            "$F = (n, f)$, a moment about that origin and a force. $S_i$ is the twist of a joint at unit rate, constant in "
            "this frame."
        ),
        *motor_coordinates(s),
    ]
    if s.shafts:
        prose += paragraph(
            "Rotors and motors that are bodies of their own spin about the $z$ of their frames. They are alike all around, so "
            "their frames may stay behind, and they have no inertia but that about $z$; all else about a shaft on a link "
            "counts with the link."
        )
    if s.equations.nq != s.nv:
        prose += paragraph(
            "A spherical joint has a unit quaternion for a coordinate, and its rates $\\dot q$ are the angular velocity in "
            "the axes of the body; a free joint has a quaternion and a position, and its rates are a twist. So $\\dot q$ "
            "is not the derivative of $q$: nothing here differentiates with respect to $q$, and nothing changes in the "
            "recursion."
        )
    equations = []
    for body in bodies_of(s):
        i = body.index + 1
        equations.append(Equation(f"T_{{{i}}}", "", s.form(homogeneous(s.joint_poses[body.index])), rf"(T_{{{i}}})_{{@}}"))
        S = np.array([motion.components() for _, motion in body.subspace], dtype=object).T
        equations.append(Equation(f"S_{{{i}}}", "", s.form(S)))
    return Step("Frames and joints", prose, equations, [check_poses(s)], joint_table(s))


def bodies_of(s: Subject) -> list[LiftedBody]:
    """Return the links, and the shafts with inertia."""
    return [x.body for x in (*s.links, *s.shafts)]


class Recursion:
    """Motion and forces of every body, in its frame: twist `V`, acceleration `A`, the wrench `F` that accelerates it, and the
    wrench `total` through its joint. Short ones are written out, others in the components of those they are computed from."""

    def __init__(self, s: Subject) -> None:
        self.s, self.bodies, self.X = s, {body.index: body for body in bodies_of(s)}, s.joint_poses
        self.vJ = {i: body.velocity(s.alphabet.qd) for i, body in self.bodies.items()}
        self.aJ = {i: body.velocity(s.alphabet.qdd) for i, body in self.bodies.items()}
        self.V, self.A = {WORLD: Motion()}, {WORLD: Motion(v=-s.lifted.gravity)}
        self.F: dict[int, Force] = {}
        for i, body in self.bodies.items():
            self.V[i] = self.X[i].into(self.V[body.parent]) + self.vJ[i]
            self.A[i] = self.X[i].into(self.A[body.parent]) + self.aJ[i] + self.V[i].cross(self.vJ[i])
            self.F[i] = body.inertia @ self.A[i] + self.V[i].cross_force(body.inertia @ self.V[i])
        self.total = dict(self.F)
        for i, body in reversed(self.bodies.items()):
            if body.parent != WORLD:
                self.total[body.parent] = self.total[body.parent] + self.X[i].out_force(self.total[i])

    def shown(self, value: Motion | Force, uses: dict[tuple[str, int], Any], local: Callable[[Named, dict], Any]) -> Form:
        """Return the form of a vector in the robot's letters, or in those of the vectors that it `uses`: (kind, body) -> vector."""
        if self.s.is_short(value.components()):
            return self.s.form(value.components())
        letters = {name: x for (kind, i), vector in uses.items() for name, x in components(kind, i + 1, vector).items()}
        named = Named(self.s.equations, letters)
        of = {key: letters_of(named, key[0], key[1] + 1, vector) for key, vector in uses.items()}
        return named.form(local(named, of).components(), value.components())

    # steps ---------------------------------------------------------------------------------------------------------------

    def inertias(self) -> Step:
        s, zero = self.s, self.s.alphabet.ring.constant(0)
        prose = paragraph(
            "For each body, including what is fixed to it, in its frame and about its origin: the mass $m_i$, the first "
            "moment $h_i = m_i r_{ci}$ and the tensor of inertia $\\mathcal{I}_i$. Together they are $G_i$, which takes a "
            "twist to a momentum: $G_i (\\omega, v) = (\\mathcal{I}_i \\omega + h_i \\times v, \\; m_i v - h_i \\times "
            "\\omega)$."
        )
        equations = []
        for body in self.bodies.values():
            i, (m, h, I) = body.index + 1, body.inertia
            equations += [Equation(f"m_{{{i}}}", "", s.form(m)), Equation(f"h_{{{i}}}", "", s.form(h))]
            tensor = rf"\mathcal{{I}}_{{{i}}}"
            equations.append(Equation(tensor, "", s.form(I), f"({tensor})_{{@}}"))
        twice = sum(((body.inertia @ self.V[i]).dot(self.V[i]) for i, body in self.bodies.items()), zero)
        twice = sum((a * x * x for a, x in zip(s.armature, s.alphabet.qd)), twice)
        check = s.check_quantity("The kinetic energy they give", twice / 2, "kinetic_energy")
        return Step("Inertias", prose, equations, [check])

    def velocities(self) -> Step:
        s, X = self.s, self.X
        prose = [
            say(
                "Outward: the twist of the body it stands on, seen from its own frame, and what the joint adds. With the pose "
                "$T = (R, p)$ of a frame in another, a twist of that other frame is seen from the first as $\\mathrm{Ad}_{T^{-1}} "
                "(\\omega, v) = (R^{\\mathsf T} \\omega, \\; R^{\\mathsf T} (v - p \\times \\omega))$."
            ),
            say(
                "Where an expression would be long, it is written in the components of what went before: $V_i = (\\omega_i, "
                "v_i)$, and likewise $\\dot V_i = (\\alpha_i, a_i)$ and $F_i = (n_i, f_i)$."
            ),
        ]
        equations = []
        for i, body in self.bodies.items():
            p = body.parent
            form = self.shown(
                self.V[i], {("V", p): self.V[p]}, lambda named, of, i=i, p=p: named(X[i]).into(of["V", p]) + named(self.vJ[i])
            )
            equations.append(Equation(f"V_{{{i + 1}}}", plus(carried("V", body), rate(body, r"\dot q")), form))
        mine = [x.body.link.into(self.V[x.body.index]).components() for x in s.visible()]

        def expected(at: State) -> Any:
            return [s.kernel("jacobian", at, frame=x.body.name, reference="body") @ at.qd for x in s.visible()]

        return Step("Velocities, outward", prose, equations, [s.check("Twists", mine, expected, f"the Jacobians of {KERNELS}")])

    def accelerations(self) -> Step:
        s, X = self.s, self.X
        prose = paragraph(
            "Outward again. The base is given the acceleration $-\\vec g$, which accounts for gravity: every body then has to "
            "be held against it. The bracket of two twists is $[(\\omega, v), (\\omega', v')] = (\\omega "
            "\\times \\omega', \\; \\omega \\times v' + v \\times \\omega')$."
        )
        equations = [Equation(r"\dot V_0", r"(0, -\vec g)", s.form(self.A[WORLD].components()))]
        for i, body in self.bodies.items():
            p = body.parent
            uses = {("A", p): self.A[p], ("V", i): self.V[i]}

            def local(named: Named, of: dict, i: int = i, p: int = p) -> Motion:
                return named(X[i]).into(of["A", p]) + named(self.aJ[i]) + of["V", i].cross(named(self.vJ[i]))

            added = rate(body, r"\dot q")
            turning = rf"[V_{{{i + 1}}}, {added}]"
            formula = plus(carried(r"\dot V", body, base=True), rate(body, r"\ddot q"), turning)
            equations.append(Equation(rf"\dot V_{{{i + 1}}}", formula, self.shown(self.A[i], uses, local)))
        mine = [self.A[x.body.index].components() for x in s.visible()]

        def expected(at: State) -> Any:
            base = np.concatenate([np.zeros(3), -s.numbers(s.lifted.gravity, at)])
            found = []
            for x in s.visible():
                J = s.kernel("jacobian", at, frame=x.body.name, reference="space")
                Jdot = s.kernel("jacobian_dot", at, frame=x.body.name, reference="space")
                a = base + J @ at.qdd + Jdot @ at.qd
                found.append(self.pose(x.body.index, at).into(Motion(Vec(*a[:3]), Vec(*a[3:]))).components())
            return found

        check = s.check("Accelerations", mine, expected, f"the Jacobians of {KERNELS} and their rates")
        return Step("Accelerations, outward", prose, equations, [check])

    def forces(self) -> Step:
        s = self.s
        prose = paragraph(
            "Newton and Euler: the wrench that gives a body its acceleration is the rate of its momentum $G_i V_i$, in a "
            "frame that moves along. For a wrench $F = (n, f)$ the bracket is $V \\times^* F = (\\omega \\times n + v "
            "\\times f, \\; \\omega \\times f)$."
        )
        equations = []
        for i, body in self.bodies.items():
            uses = {("A", i): self.A[i], ("V", i): self.V[i]}
            k = i + 1
            formula = rf"G_{{{k}}} \dot V_{{{k}}} + V_{{{k}}} \times^* G_{{{k}}} V_{{{k}}}"
            form = self.shown(self.F[i], uses, lambda named, of, body=body: wrench(named, of, body))
            equations.append(Equation(rf"F_{{{k}}}^B", formula, form))
        mine = [x.body.link.into_force(self.F[x.body.index]).components() for x in (*s.visible(), *s.shafts)]
        drives = self.drives()

        def through(at: State) -> np.ndarray:
            wrenches = s.numbers(mine, at)
            columns = [s.kernel("jacobian", at, frame=x.body.name, reference="body") for x in s.visible()]
            columns += [kernel_twists(s, x, at) for x in s.shafts]
            return sum((J.T @ F for J, F in zip(columns, wrenches)), np.zeros(s.nv)) + s.numbers(drives + s.friction, at)

        check = s.check(
            "The wrenches, taken to the joints by compiled Jacobians,", s.equations.tau.entries, through, "the joint forces"
        )
        return Step("The wrench on each body", prose, equations, [check])

    def inward(self) -> Step:
        s, X = self.s, self.X
        prose = paragraph(
            "Inward: a joint carries its body and everything beyond. What body $j$ on top of body $i$ needs passes through "
            "body $i$, taken to its frame: $\\mathrm{Ad}_{T_j^{-1}}^{\\mathsf T} (n, f) = (R_j n + p_j \\times R_j f, \\; "
            "R_j f)$."
        )
        equations = []
        for i, body in reversed(self.bodies.items()):
            above = [j for j, other in self.bodies.items() if other.parent == i]
            uses = {("F", j): self.total[j] for j in above} | {("A", i): self.A[i], ("V", i): self.V[i]}

            def local(named: Named, of: dict, above: list[int] = above, body: LiftedBody = body) -> Force:
                return sum((named(X[j]).out_force(of["F", j]) for j in above), wrench(named, of, body))

            passed = [rf"\mathrm{{Ad}}_{{T_{{{j + 1}}}^{{-1}}}}^{{\mathsf T}} F_{{{j + 1}}}" for j in above]
            form = self.shown(self.total[i], uses, local)
            equations.append(Equation(f"F_{{{i + 1}}}", plus(rf"F_{{{i + 1}}}^B", *passed), form))

        def expected(at: State) -> Any:
            own = dict(zip(self.bodies, s.numbers([self.F[i].components() for i in self.bodies], at)))
            poses = {i: self.pose(i, at) for i in self.bodies}
            carried = {i: poses[i].out_force(Force(Vec(*own[i][:3]), Vec(*own[i][3:]))) for i in self.bodies}
            for i, body in reversed(self.bodies.items()):
                if body.parent != WORLD:
                    carried[body.parent] = carried[body.parent] + carried[i]
            return [poses[i].into_force(carried[i]).components() for i in self.bodies]

        mine = [self.total[i].components() for i in self.bodies]
        check = s.check("What the joints carry", mine, expected, "the sums of the wrenches, taken in the world")
        return Step("The wrench through each joint, inward", prose, equations, [check])

    def pose(self, i: int, at: State) -> Transform:
        """Return the pose of a body in the world, in numbers."""
        T = self.s.numbers(homogeneous(self.s.world_poses[i]), at)
        return Transform(mat(T[:3, :3]), Vec(*T[:3, 3]))

    def drives(self) -> np.ndarray:
        """Return the joint forces of rotors and springs."""
        rotors = np.array([a * x for a, x in zip(self.s.armature, self.s.alphabet.qdd)], dtype=object)
        return rotors + self.s.equations.spring_torque.entries

    def torques(self) -> Step:
        s = self.s
        prose = paragraph(
            "Of the wrench through a joint, its drive feels what does work: the part along its motion. The bearings take the rest."
        )
        drives = s.form([0] * s.nv).entries + self.drives()
        tau = drives + s.friction
        parts: list[list[str]] = [[] for _ in range(s.nv)]
        for i, body in self.bodies.items():
            for k, (c, motion) in enumerate(body.subspace):
                tau[c] = tau[c] + self.total[i].dot(motion)
                column = rf"S_{{{i + 1}}}" if len(body.subspace) == 1 else rf"S_{{{i + 1},{k + 1}}}"
                parts[c].append(rf"{column}^{{\mathsf T}} F_{{{i + 1}}}")
        s.agree("tau", tau, s.equations.tau)
        if any(drives):
            gears = " (those of elastic gears too)" if s.gears else ""
            prose += paragraph(
                "Rotors behind gears, of $J_i = N_i^2 J_{mi}$ at their joints, and springs{gears} add $\\tau_d$.", gears=gears
            )
        if any(s.friction):
            prose += [say("Friction adds $\\tau_f$."), *s.words_on_loads()]
        equations = []
        for c, added in enumerate(zip(drives, s.friction)):
            extra = [(rf"\tau_{{{letter}{c + 1}}}", x) for letter, x in zip("df", added) if x]
            equations += [Equation(name, "", s.form(x), role="friction" * (x is added[1])) for name, x in extra]
            formula = plus(*parts[c], *(name for name, _ in extra))
            equations.append(Equation(rf"\tau_{{{c + 1}}}", formula, s.short_form(tau[c])))
        if not s.is_short(tau):
            prose += paragraph("Written out the joint forces have {n:,} terms.", n=s.equations.tau.terms)
        return Step("Joint forces", prose, equations, [s.check_quantity("The joint forces", tau, "inverse_dynamics")])


def wrench(named: Named, of: dict[tuple[str, int], Any], body: LiftedBody) -> Force:
    """Return the wrench that accelerates a body, in the letters of its acceleration and twist."""
    I, V = named(body.inertia), of["V", body.index]
    return I @ of["A", body.index] + V.cross_force(I @ V)


def carried(letter: str, body: LiftedBody, base: bool = False) -> str:
    """Return LaTeX of a parent's twist, seen from the body."""
    if body.parent == WORLD and not base:
        return ""
    return rf"\mathrm{{Ad}}_{{T_{{{body.index + 1}}}^{{-1}}}} {letter}_{{{body.parent + 1}}}"


def rate(body: LiftedBody, letter: str) -> str:
    """Return LaTeX of the twist, or its rate, that a body's joint adds."""
    i, first, last = body.index + 1, body.columns[0] + 1, body.columns[-1] + 1
    if isinstance(body.joint, Rotor) and first != last:
        return rf"S_{{{i}}} ({', '.join(rf'{letter}_{{{c + 1}}}' for c in body.columns)})"
    return rf"S_{{{i}}} {letter}_{{{first}}}" if first == last else rf"S_{{{i}}} {letter}_{{{first}:{last}}}"


def plus(*parts: str) -> str:
    return " + ".join(part for part in parts if part)
