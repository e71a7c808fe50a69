"""Lagrange's route: positions, velocities, energies, and the derivatives of their difference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from qddot.algorithms.drives import spring_energy
from qddot.model.joints import Prismatic
from qddot.model.spatial import Motion, Vec
from qddot.symbolic.derivation.kinematics import frames, inertias, point_name, positions
from qddot.symbolic.derivation.named import Named, components, letters_of
from qddot.symbolic.derivation.shafts import (
    gear_energy,
    gear_equations,
    kernel_twists,
    kinetic_energy,
    kinetic_equation,
    spins_step,
)
from qddot.symbolic.derivation.steps import Equation, Step, paragraph, say
from qddot.symbolic.derivation.subject import KERNELS, LinkData, State, Subject
from qddot.symbolic.derivation.terms import Terms, kinds_step, matrices_step
from qddot.symbolic.exact.ring import Poly
from qddot.symbolic.form import Form


def lagrange(s: Subject) -> list[Step]:
    """Return all steps. Raises InputError: the robot has joints whose qd is not the rate of q."""
    s.needs_coordinates("lagrange")
    motion = Motions(s)
    kinetic = kinetic_energies(s, motion)
    potential = potential_energies(s)
    T, V = sum(kinetic, s.alphabet.ring.constant(0)), sum(potential, s.alphabet.ring.constant(0))
    L = T - V
    n = range(s.nv)
    M = [[T.partial(s.letter("qd", i)).partial(s.letter("qd", j)) for j in n] for i in n]
    springs = spring_energy(s.lifted, s.alphabet.q)
    terms = Terms(s, M, [s.alphabet.derivative(V - springs, i) for i in n])
    derivatives = [joint_step(s, terms, L, i) for i in n]
    coefficients = [coefficients_step(s, terms)] if not terms.are_short else []
    return [
        frames(s),
        inertias(s),
        positions(s),
        motion.step(),
        *motion.spin_steps(),
        kinetic_step(s, motion, kinetic, T),
        potential_step(s, potential),
        lagrangian_step(s, L),
        *coefficients,
        *derivatives,
        kinds_step(s, terms),
        matrices_step(s, terms),
    ]


class Motions:
    """The motion of each link: its angular velocity in its own axes, and the velocity of its reference point.

    Where the velocities in world axes are short, points are differentiated in the world. Otherwise (`recursive`) velocities go from
    link to link, in each link's own axes, and are written in the velocities of the parent.
    """

    def __init__(self, s: Subject) -> None:
        self.s = s
        rate = s.alphabet.time_derivative
        ring = s.alphabet.ring
        self.twists: dict[int, Motion] = {0: Motion()}
        self.world: dict[int, Vec] = {}
        for x in s.links:
            own = s.frames[x.body.index].into(x.body.velocity(s.alphabet.qd))
            self.twists[x.number] = x.step.into(self.twists[x.parent]) + own
            self.world[x.number] = Vec(*(rate(ring.constant(p)) for p in x.pose.point(x.reference)))
        self.spins = [x.spin(self.twists[x.parent].w, s.alphabet.qd) for x in s.shafts]
        self.recursive = not s.is_short(*self.world.values(), *(m.w for m in self.twists.values()))

    def of_point(self, x: LinkData) -> Vec:
        """Return the velocity of the reference point, in the link's axes."""
        w, v = self.twists[x.number]
        return v + w.cross(x.reference)

    def step(self) -> Step:
        s = self.s
        equations = [e for x in s.links for e in (self.recursive_equations(x) if self.recursive else self.direct_equations(x))]
        seen = [x for x in s.visible() if x.has_mass]
        in_world = np.array([[*(x.pose.R @ self.twists[x.number].w), *self.world[x.number]] for x in seen], dtype=object)

        def expected(at: State) -> Any:
            return np.array([s.kernel_twist(x, at).components() for x in seen], dtype=float).reshape(-1, 6)

        checks = [s.check("Velocities", in_world.reshape(-1, 6), expected, f"the Jacobians of {KERNELS}")]
        if self.recursive:
            local = np.array([self.of_point(x) for x in seen], dtype=object).reshape(-1, 3)
            turned = lambda at: [s.numbers(self.world[x.number] @ x.pose.R, at) for x in seen]  # noqa: E731
            checks.append(s.check("Velocities in the links' axes", local, turned, "the derivatives of the positions"))
        return Step("Velocities", self.prose(), equations, checks)

    def spin_steps(self) -> list[Step]:
        s, formula = self.s, r"\hat s_{@}^{\mathsf T} \omega_{!} + N_{@}^{\mathsf T} \dot q"
        expected = lambda at: [kernel_twists(s, x, at)[2] @ at.qd for x in s.shafts]  # noqa: E731
        return spins_step(s, r"\sigma", self.spins, formula, expected)

    def prose(self) -> list[Any]:
        slides = any(isinstance(x.body.joint, Prismatic) for x in self.s.links)
        turning = say(
            "The angular velocity $\\omega_i$ of link $i$, in its own axes, is that of its parent, turned into these axes, and "
            "what the joint adds along its axis $\\hat z_i${sliding}{following}.",
            sliding="; a prismatic joint adds nothing" if slides else "",
            following="; one that follows another adds a multiple of its leader's rate" if self.s.model.leaders else "",
        )
        if not self.recursive:
            return [
                turning,
                say("The velocity $v_{ci}$ of the centre of mass is the derivative of its position, in the world's axes."),
            ]
        return [
            turning,
            say(
                "Written out in the world the velocities of this robot are long. So they are taken from link to link, in each "
                "link's own axes: $v_i$ is the velocity of the origin of its frame. The components of the parent's velocities, "
                "such as $\\omega_{x,1}$, are letters that the equations before have defined."
            ),
            say("The length of a vector does not depend on the axes, and only that matters for the energy."),
        ]

    def direct_equations(self, x: LinkData) -> list[Equation]:
        i = x.number
        found = [Equation(rf"\omega_{{{i}}}", turning(x), self.s.form(self.twists[i].w))]
        if x.has_mass:
            found.append(Equation(point_name(x, "v"), rf"\dot {point_name(x)}", self.s.form(self.world[i])))
        return found

    def recursive_equations(self, x: LinkData) -> list[Equation]:
        i, p = x.number, x.parent
        named = Named(self.s.equations, components("V", p, self.twists[p]) if p else {})
        parent = letters_of(named, "V", p, self.twists[p]) if p else Motion()
        own = named(self.s.frames[x.body.index].into(x.body.velocity(self.s.alphabet.qd)))
        local: Motion = named(x.step).into(parent) + own
        moving = rf"{{}}^{{{p}}}R_{{{i}}}^{{\mathsf T}} (v_{{{p}}} + \omega_{{{p}}} \times {{}}^{{{p}}}p_{{{i}}})" if p else ""
        found = [
            Equation(rf"\omega_{{{i}}}", turning(x), named.form(local.w, self.twists[i].w)),
            Equation(f"v_{{{i}}}", moving, named.form(local.v, self.twists[i].v)),
        ]
        if x.has_mass and x.point is not None:
            named = Named(self.s.equations, components("V", i, self.twists[i]))
            w, v = letters_of(named, "V", i, self.twists[i])
            form = named.form(v + w.cross(named(x.point)), self.of_point(x))
            found.append(Equation(f"v_{{c{i}}}", rf"v_{{{i}}} + \omega_{{{i}}} \times r_{{c{i}}}", form))
        return found


def turning(x: LinkData) -> str:
    """Return LaTeX of the angular velocity of a link: that of its parent, and the rate of its joint if that turns."""
    i, p = x.number, x.parent
    parent = [rf"{{}}^{{{p}}}R_{{{i}}}^{{\mathsf T}} \omega_{{{p}}}"] if p else []
    joint = [rf"\hat z_{{{i}}} \dot q_{{{x.body.columns[0] + 1}}}"] if any(x.body.subspace[0][1].w) else []
    return " + ".join(parent + joint)


# energies ------------------------------------------------------------------------------------------------------------------


def energy_of(x: LinkData, w: Vec, v: Vec, lift: Callable[[Any], Any] = lambda y: y) -> Any:
    """Return m v.v/2 + w.Iw/2, plus v.(w x h) if the reference point is not the centre of mass; all in one set of axes."""
    return (v.dot(v) * lift(x.mass) + w.dot(lift(x.tensor) @ w)) / 2 + v.dot(w.cross(lift(x.moment)))


def kinetic_energies(s: Subject, motion: Motions) -> list[Poly]:
    """Return the kinetic energies of the links with mass, of the shafts, and of all rotors that only their joints feel."""
    constant = s.alphabet.ring.constant
    found = []
    for x in s.heavy:
        v = motion.world[x.number]
        w = motion.twists[x.number].w
        velocity = v if x.point is not None else v @ x.pose.R
        found.append(constant(energy_of(x, w, velocity)))
    rotors = sum((a * qd * qd for a, qd in zip(s.armature, s.alphabet.qd)), constant(0))
    return [*found, *(kinetic_energy(s, x, spin) for x, spin in zip(s.shafts, motion.spins)), rotors / 2]


def kinetic_step(s: Subject, motion: Motions, energies: list[Poly], T: Poly) -> Step:
    prose = paragraph("Each link has the energy of its centre of mass and of its turning about it.")
    equations = []
    for x, K in zip(s.heavy, energies):
        equations.append(Equation(f"K_{{{x.number}}}", energy_formula(x), energy_form(s, motion, x, K)))
    rotors = energies[-1]
    names = [f"K_{{{x.number}}}" for x in (*s.heavy, *s.shafts)]
    if s.shafts:
        prose += paragraph("Shafts have the energy of their spinning; all else about a shaft on a link counts with the link.")
        equations += [kinetic_equation(s, x, spin) for x, spin in zip(s.shafts, motion.spins)]
    if rotors:
        prose += paragraph(
            "Rotors behind gears add $K_r$: at its joint a rotor of inertia $J_{mi}$ counts as $J_i = N_i^2 J_{mi}$, where "
            "$N_i$ is the gear ratio."
        )
        equations.append(Equation("K_r", r"\frac{1}{2} \sum_i J_i \dot q_i^2", s.form(rotors)))
        names.append("K_r")
    form = s.short_form(T)
    equations.append(Equation("K", " + ".join(names) or "0", form))
    checks = [s.check_quantity("The sum of the kinetic energies", T, "kinetic_energy")]
    return Step("Kinetic energy", prose, equations, checks)


def energy_formula(x: LinkData) -> str:
    i, v = x.number, point_name(x, "v")
    moving = rf"\frac{{1}}{{2}} m_{{{i}}} {v}^{{\mathsf T}} {v}"
    turning = rf"\frac{{1}}{{2}} \omega_{{{i}}}^{{\mathsf T}} \mathcal{{I}}_{{{i}}} \omega_{{{i}}}"
    return f"{moving} + {turning}" + (rf" + {v}^{{\mathsf T}} (\omega_{{{i}}} \times h_{{{i}}})" if x.point is None else "")


def energy_form(s: Subject, motion: Motions, x: LinkData, K: Poly) -> Form:
    """Return a link's kinetic energy written out, or in the components of its velocities."""
    if s.is_short(K) and not motion.recursive:
        return s.form(K)
    i = x.number
    of = "" if x.point is None else "c"
    names = [f"omega_{axis}{i}" for axis in "xyz"] + [f"v_{of}{axis}{i}" for axis in "xyz"]
    named = Named(s.equations, dict(zip(names, (*motion.twists[i].w, *motion.of_point(x)))))
    values = [named.letters[name] for name in names]
    return named.form(energy_of(x, Vec(*values[:3]), Vec(*values[3:]), named), K)


def potential_energies(s: Subject) -> list[Poly]:
    """Return the potential energies of the links with mass, of the elastic gears, and of all springs on joints."""
    constant, g = s.alphabet.ring.constant, s.lifted.gravity
    found = [constant(-g.dot(x.pose.point(x.reference) * x.mass + x.pose.R @ x.moment)) for x in s.heavy]
    gears = [gear_energy(s, gear) for gear in s.gears]
    return [*found, *gears, constant(spring_energy(s.lifted, s.alphabet.q)) - sum(gears, constant(0))]


def potential_step(s: Subject, energies: list[Poly]) -> Step:
    prose = paragraph(
        "The acceleration of gravity is the vector $\\vec g$; the weight $m_i \\vec g$ does work when its link moves along "
        "it, hence the sign. The energy is counted from the origin of the world, and may be negative."
    )
    equations = [Equation(r"\vec g", "", s.form(s.lifted.gravity))]
    names = []
    for x, P in zip(s.heavy, energies):
        i = x.number
        place = rf"m_{{{i}}} p_{{c{i}}}" if x.point is not None else rf"(m_{{{i}}} p_{{{i}}} + R_{{{i}}} h_{{{i}}})"
        equations.append(Equation(f"P_{{{i}}}", rf"-\vec g^{{\mathsf T}} {place}", s.form(P)))
        names.append(f"P_{{{i}}}")
    if s.gears:
        prose += paragraph("An elastic gear stores energy where joint and motor differ.")
        equations += [equation for gear in s.gears for equation in gear_equations(s, gear)]
        names += [f"P_{{{gear.index + 1}}}" for gear in s.gears]
    if energies[-1]:
        prose += paragraph("Springs store $P_s$.")
        equations.append(Equation("P_s", r"\frac{1}{2} \sum_i k_i (q_i - q_{0i})^2", s.form(energies[-1])))
        names.append("P_s")
    V = sum(energies, s.alphabet.ring.constant(0))
    equations.append(Equation("P", " + ".join(names) or "0", s.form(V)))
    scale = max(float(abs(s.kernel("kinetic_energy", at))) for at in s.states)
    return Step(
        "Potential energy", prose, equations, [s.check_quantity("The sum of the potential energies", V, "potential_energy", scale)]
    )


def lagrangian_step(s: Subject, L: Poly) -> Step:
    form = s.short_form(L)
    prose = paragraph("Their difference is the Lagrangian.")
    if form is None:
        prose += paragraph("Written out it has {n:,} terms.", n=len(L))
    s.agree("The Lagrangian", L, s.equations.lagrangian)
    return Step(
        "The Lagrangian", prose, [Equation(r"\mathcal{L}", "K - P", form)], [s.check_quantity("The Lagrangian", L, "lagrangian")]
    )


def coefficients_step(s: Subject, terms: Terms) -> Step:
    """Return the step that introduces the coefficients in which long equations are written."""
    prose = paragraph(
        "The kinetic energy is a quadratic form in the rates, $K = \\frac{1}{2} \\sum_{ij} M_{ij} \\dot q_i \\dot q_j$, whose "
        "coefficients depend on $q$ alone. With them, and with the slopes $g_i$ of the energy of gravity, the equations of "
        "motion are short."
    )
    second, slope = r"\frac{\partial^2 K}{\partial \dot q_i \partial \dot q_j}", r"\frac{\partial P}{\partial q_i}"
    if any(terms.springs):
        slope += r" \text{ without springs}"
    equations = [
        Equation("M_{ij}", second),
        Equation("M(q)", "", s.form(terms.M), "M_{@}", "inertial"),
        Equation("g_i", slope),
        Equation("g(q)", "", s.form(terms.g), "g_{@}", "gravity"),
    ]
    return Step("The coefficients", prose, equations, terms.checks_of_coefficients())


# Lagrange's equations -------------------------------------------------------------------------------------------------------


def joint_step(s: Subject, terms: Terms, L: Poly, i: int) -> Step:
    """Return the step with Lagrange's equation for one coordinate."""
    a, k = s.alphabet, i + 1
    momentum = L.partial(s.letter("qd", i))
    rate = a.time_derivative(momentum)
    slope = a.derivative(L, i)
    friction = s.friction[i]
    tau = rate - slope + friction
    s.agree(f"tau[{i}]", tau, s.equations.tau[i])
    friction_term = rf" + \tau_{{f{k}}}" if friction else ""
    lefts = (
        rf"\frac{{\partial \mathcal{{L}}}}{{\partial \dot q_{{{k}}}}}",
        rf"\frac{{d}}{{dt}} \frac{{\partial \mathcal{{L}}}}{{\partial \dot q_{{{k}}}}}",
        rf"\frac{{\partial \mathcal{{L}}}}{{\partial q_{{{k}}}}}",
    )
    formula = f"{lefts[1]} - {lefts[2]}{friction_term}"
    values = momentum, rate, slope, tau
    forms = [s.form(x) for x in values] if terms.are_short else terms.in_coefficients(i, *values)
    equations = [Equation(left, "", form) for left, form in zip(lefts, forms)]
    if friction:
        equations.append(Equation(rf"\tau_{{f{k}}}", "", s.form(friction)))
    equations.append(Equation(rf"\tau_{{{k}}}", formula, forms[3]))
    slides = any(isinstance(x.body.joint, Prismatic) and i in x.body.columns for x in s.links)
    prose = paragraph(f"Lagrange's equation for $q_{{{k}}}$ gives the {'force' if slides else 'torque'} $\\tau_{{{k}}}$.")
    if not terms.are_short:
        prose += paragraph(
            "In the coefficients $M_{ij}$ and $g_i$, where $M_{ij,k}$ stands for $\\partial M_{ij} / \\partial q_k$; "
            "written out this is {n:,} terms.",
            n=len(tau),
        )
    if friction:
        prose += paragraph("Friction is no part of the Lagrangian: what overcomes it is added.")
        prose += s.words_on_loads(i)
    checks = [
        s.check("The momentum", momentum, lambda at: (s.kernel("mass_matrix", at) @ at.qd)[i]),
        s.check(
            "Its rate",
            rate,
            lambda at: (s.kernel("mass_matrix", at) @ at.qdd + s.kernel("mass_matrix_rate", at) @ at.qd)[i],
            scale=s.torque,
        ),
        s.check(
            "The slope",
            slope,
            lambda at: numerical_slope(s, at, i),
            "numerical derivatives of the compiled Lagrangian",
            max(s.torque, *(abs(float(s.kernel("lagrangian", at))) for at in s.states)),
            1e-7,
        ),
        s.check("The force", tau, lambda at: s.kernel("inverse_dynamics", at)[i], scale=s.torque),
    ]
    return Step(f"The equation of coordinate {k}", prose, equations, checks)


def numerical_slope(s: Subject, at: State, i: int) -> float:
    """Return dL/dq_i by differences of fourth order."""
    h = 1e-3

    def lagrangian(steps: int) -> float:
        q = at.q.copy()
        q[i] += steps * h
        return float(s.kernel("lagrangian", at._replace(q=q)))

    return (8 * (lagrangian(1) - lagrangian(-1)) - (lagrangian(2) - lagrangian(-2))) / (12 * h)
