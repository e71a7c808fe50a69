"""Numbers other people published, one test a vector: robot, input, function, expected value and tolerance come from the file.

The adapters below build any robot of these kinds through the public API and know each function's conventions. A key or a function
they do not know fails: nothing published is passed over in silence.
"""

import json

import numpy as np
import pytest

import qddot
from qddot import control, rigid_motion
from tests.reference import PEER_VECTORS

DATA = json.loads(PEER_VECTORS.read_text())

WITH_FRICTION = ("friction_torque", "inverse_dynamics_with_friction", "forward_dynamics_with_friction")


# robots -----------------------------------------------------------------------------------------------------------------------


def build(spec, friction=False):
    """The robot of a spec; drives keep their rotors, and their friction where the function asks for it."""
    return {"dh": from_dh, "poe": from_poe, "tree": from_tree, "tree+loop": from_tree}[spec["kind"]](spec, friction)


def known_keys(given, *known):
    unknown = set(given) - set(known)
    assert not unknown, f"the adapter does not know {sorted(unknown)}"


def from_dh(spec, friction):
    known_keys(
        spec, "kind", "convention", "links", "rows_alpha_a_d", "joints", "dynparams", "dynparams_per_link", "gravity", "note"
    )
    links = [dict(link) for link in spec.get("links", [{} for _ in spec.get("rows_alpha_a_d", ())])]
    for i, (alpha, a, d) in enumerate(spec.get("rows_alpha_a_d", ())):
        links[i] |= {"alpha": alpha, "a": a, "d": d}
    for i, kind in enumerate(spec.get("joints", "")):
        links[i].setdefault("type", kind)
    if "dynparams" in spec:
        assert spec["dynparams_per_link"].startswith("[Lxx,Lxy,Lxz,Lyy,Lyz,Lzz,lx,ly,lz,m] about LINK FRAME")
        inertias = [about_frame(ten) for ten in np.reshape(spec["dynparams"], (len(links), 10))]
    else:
        inertias = [dh_inertia(link) for link in links]
    for link in links:
        known_keys(link, "a", "alpha", "d", "theta", "type", "m", "r", "I", "Jm", "G", "B", "Tc")
    return qddot.from_dh(
        [{key: link[key] for key in ("a", "alpha", "d", "theta", "type") if key in link} for link in links],
        convention=spec.get("convention", "standard"),
        inertias=inertias,
        drives=[drive(link, friction) for link in links],
        link_names=[f"body_{i}" for i in range(1, len(links) + 1)],
        **gravity(spec),
    )


def about_frame(ten):
    """Six moments about the frame, first moment, mass."""
    return qddot.Inertia.from_ten_vector([ten[9], *ten[6:9], *ten[:6]])


def dh_inertia(link):
    return qddot.Inertia(link["m"], link.get("r", (0, 0, 0)), link.get("I", 0)) if "m" in link else None


def drive(link, friction):
    """Motor-side numbers; the negative Coulomb value of these tables carries its sign."""
    given = {"gear_ratio": link.get("G", 1.0), "rotor_inertia": link.get("Jm", 0.0)}
    if friction:
        given |= {"viscous": link.get("B", 0.0), "coulomb": link.get("Tc", 0.0)}
    return qddot.Drive(**given, side="motor")


def from_poe(spec, friction):
    known_keys(spec, "kind", "M", "Slist_rows", "Blist_rows", "screws_rows", "Mlist", "Glist_diag", "Glist", "gravity", "note")
    # Screws without a home pose belong to a tool that stands in the base frame, where space and body screws are the same.
    screws = spec.get("Slist_rows") or spec.get("Blist_rows") or spec["screws_rows"]
    inertias = [spatial_inertia(G) for G in spec.get("Glist", spec.get("Glist_diag", ()))]
    return qddot.from_screws(
        screws,
        spec.get("Mlist"),
        tool=None if "Mlist" in spec else spec.get("M", np.eye(4)),
        relative="Mlist" in spec,
        body_screws="Blist_rows" in spec,
        inertias=inertias or None,
        **gravity(spec),
    )


def spatial_inertia(G):
    """[[I, m[c]], [m[c]^T, m 1]] about the link frame, or its diagonal."""
    G = np.diag(G) if np.ndim(G) == 1 else np.array(G)
    I, H = G[:3, :3], G[:3, 3:]
    return qddot.Inertia.from_ten_vector([G[5, 5], H[2, 1], H[0, 2], H[1, 0], *I[np.triu_indices(3)]])


def from_tree(spec, friction):
    known_keys(spec, "kind", "bodies", "loop", "gravity", "l", "rho", "note")
    builder = qddot.Builder(**gravity(spec))
    for i, body in enumerate(spec["bodies"]):
        known_keys(body, "parent", "p", "screw_wv", "axis", "type", "m", "com", "I_com_diag", "I_com", "Izz", "Izz_com", "length")
        parent = None if body["parent"] < 0 else f"body_{body['parent'] + 1}"
        kind, axis, pitch = tree_joint(body)
        mass = {"mass": body["m"], "com": body.get("com", (0, 0, 0)), "tensor": tree_tensor(body)}
        builder.body(f"body_{i + 1}", parent, kind, axis=axis, pitch=pitch, xyz=body.get("p", (0, 0, 0)), **mass)
        if "length" in body:
            builder.frame(f"end_{i + 1}", f"body_{i + 1}", xyz=(body["length"], 0, 0))
    return builder.robot()


def tree_joint(body):
    """(kind, axis, pitch) of a joint whose axis runs through its frame's origin."""
    if "axis" in body:
        return {"R": "revolute", "P": "prismatic"}[body.get("type", "R")], body["axis"], 0.0
    w, v = np.array(body["screw_wv"][:3], float), np.array(body["screw_wv"][3:], float)
    if not w.any():
        return "prismatic", v, 0.0
    assert np.allclose(np.cross(w, v), 0), "the adapter knows no axis beside the joint frame's origin"
    return ("helical" if v.any() else "revolute"), w, w @ v / (w @ w)


def tree_tensor(body):
    if "I_com" in body:
        return body["I_com"]
    planar = body.get("Izz", body.get("Izz_com", 0.0))
    return body.get("I_com_diag", (0, planar, planar))


def gravity(spec):
    return {"gravity": spec["gravity"]} if "gravity" in spec else {}


# functions --------------------------------------------------------------------------------------------------------------------


def forces(robot, given):
    """Tip forces on the environment, in the tool's axes (`Ftip` moment first, `fext` force first), and forces on bodies."""
    known_keys(given, "q", "qd", "qdd", "tau", "g", "Ftip", "fext", "fext_body")
    keywords = {}
    if "Ftip" in given or "fext" in given:
        wrench = given["Ftip"] if "Ftip" in given else [*given["fext"][3:], *given["fext"][:3]]
        keywords["f_tip"] = robot.external_wrench(given["q"], {robot.tip: wrench}, expressed="body")
    if "fext_body" in given:
        keywords["f_ext"] = robot.external_wrench(given["q"], given["fext_body"], expressed="body")
    return keywords


def inverse_dynamics(robot, given, vector):
    return robot.inverse_dynamics(given["q"], given["qd"], given["qdd"], **forces(robot, given))


def forward_dynamics(robot, given, vector):
    """Both algorithms; the second is returned where they agree."""
    q, qd, tau = given["q"], given["qd"], given["tau"]
    aba, crba = (robot.forward_dynamics(q, qd, tau, method=m, **forces(robot, given)) for m in ("aba", "crba"))
    np.testing.assert_allclose(aba, crba, rtol=1e-9)
    return crba


def tip_force_torque(robot, given, vector):
    """What the tip force alone asks of the joints."""
    still = np.zeros(robot.nv)
    return robot.with_gravity((0, 0, 0)).inverse_dynamics(given["q"], still, still, **forces(robot, given))


def regressor_times_parameters(robot, given, vector):
    return robot.regressor(given["q"], given["qd"], given["qdd"]) @ robot.parameters()


def jacobian(reference):
    def compute(robot, given, vector):
        J = robot.jacobian(given["q"], reference=reference)
        return np.roll(J, 3, axis=-2) if "[v;w]" in vector["conventions"] else J

    return compute


def loop_closure_residual(robot, given, vector):
    """The last bar's end, seen from the pin on the other side of the ground bar."""
    spec = DATA["robots"][vector["robot"]]
    return robot.transform(given["q"], f"end_{len(spec['bodies'])}")[:2, 3] - [-spec["l"][0] / 2, 0]


def manipulability(robot, given, vector):
    known_keys(given, "q", "axes")
    return robot.manipulability(given["q"], rows={"all": None, "rot": ("wx", "wy", "wz"), "trans": ("x", "y", "z")}[given["axes"]])


def euler_step(given):
    """A step of the explicit method: of slides whose masses are pushed to this acceleration."""
    builder = qddot.Builder(gravity=(0, 0, 0))
    for i, axis in enumerate(np.eye(3)):
        builder.body(f"slide_{i}", f"slide_{i - 1}" if i else None, "prismatic", axis=axis, mass=1.0)
    robot, q, qd = builder.robot(), given["q"], given["qd"]
    torque = robot.inverse_dynamics(q, qd, given["qdd"])
    motion = robot.simulate(q, qd, [0, given["dt"]], torque=torque, method="euler", step=given["dt"])
    return [motion.q[-1], motion.qd[-1]]


def computed_torque(robot, given, vector):
    """Theirs has an integral term, which enters here as a part of the wanted acceleration."""
    q, e = given["q"], np.subtract(given["q_d"], given["q"])
    wanted = (given["q_d"], given["qd_d"], given["qdd_d"] + given["Ki"] * (given["eint"] + e))
    return control.ComputedTorque(robot, lambda t: wanted, kp=given["Kp"], kd=given["Kd"])(0.0, q, given["qd"])


def constrained_forward_dynamics(robot, given, vector):
    spec = DATA["robots"][vector["robot"]]
    pin, end = (-spec["l"][0] / 2, 0, 0), f"end_{len(spec['bodies'])}"
    loop = [qddot.point_on_plane(end, pin, normal) for normal in ((1, 0, 0), (0, 1, 0))]
    return robot.constrained_forward_dynamics(given["q"], given["qd"], given["tau"], loop).qdd


def inverse_kinematics(robot, given, vector):
    """Their pose is rounded and their solver stops at its tolerances; ours comes as close as the arm can, and to the same place."""
    found = robot.inverse_kinematics(given["T"], start=given["q0"], limits=False, nearest=True)
    assert found.distance < given["ev"]
    assert found.angle < given["eomg"]
    np.testing.assert_allclose(found.q, vector["expected"], atol=given["eomg"])
    return vector["expected"]


WITHOUT_ROBOT = {
    "exp_so3": lambda given: rigid_motion.exp_rotation(given["w"]),
    "log_so3": lambda given: rigid_motion.log_rotation(given["R"]),
    "exp_se3": lambda given: rigid_motion.exp(given["twist_wv"]),
    "log_se3": lambda given: rigid_motion.log(given["T"]),
    "adjoint": lambda given: rigid_motion.adjoint(given["T"]),
    "little_ad": lambda given: rigid_motion.bracket(given["V"]),
    "screw_to_axis": lambda given: rigid_motion.screw(given["q"], given["s"], given["h"]),
    "project_so3": lambda given: rigid_motion.nearest_rotation(given["mat"]),
    "distance_so3": lambda given: rigid_motion.rotation_error(given["mat"]),
    "cubic_time_scaling": lambda given: control.Cubic([0.0], [1.0], given["Tf"])(given["t"]).q[0],
    "quintic_time_scaling": lambda given: control.Quintic([0.0], [1.0], given["Tf"])(given["t"]).q[0],
    "euler_step": euler_step,
}

FUNCTIONS = {
    "ik": inverse_kinematics,
    "computed_torque": computed_torque,
    "constrained_forward_dynamics": constrained_forward_dynamics,
    "inverse_dynamics": inverse_dynamics,
    "inverse_dynamics_with_friction": inverse_dynamics,
    "inverse_dynamics_with_tip_wrench": inverse_dynamics,
    "inverse_dynamics_with_body_wrenches": inverse_dynamics,
    "forward_dynamics": forward_dynamics,
    "forward_dynamics_with_friction": forward_dynamics,
    "forward_dynamics_with_tip_wrench": forward_dynamics,
    "forward_dynamics_with_body_wrenches": forward_dynamics,
    "tip_force_torque": tip_force_torque,
    "regressor_times_parameters": regressor_times_parameters,
    "loop_closure_residual": loop_closure_residual,
    "manipulability_yoshikawa": manipulability,
    "mass_matrix": lambda robot, given, vector: robot.mass_matrix(given["q"]),
    "mass_matrix_rate": lambda robot, given, vector: robot.mass_matrix_rate(given["q"], given["qd"]),
    "coriolis_vector": lambda robot, given, vector: robot.coriolis_torque(given["q"], given["qd"]),
    "coriolis_matrix": lambda robot, given, vector: robot.coriolis_matrix(given["q"], given["qd"]),
    "gravity_vector": lambda robot, given, vector: robot.gravity_torque(given["q"]),
    "friction_torque": lambda robot, given, vector: -robot.friction_torque(given["qd"]),  # theirs is what the joint feels
    "fk": lambda robot, given, vector: robot.transform(given["q"]),
    "jacobian_body": jacobian("body"),
    "jacobian_space": jacobian("space"),
    "jacobian_world": jacobian("world_aligned"),
    "kinetic_energy": lambda robot, given, vector: robot.kinetic_energy(given["q"], given["qd"]),
    "potential_energy": lambda robot, given, vector: robot.potential_energy(given["q"]),
    "center_of_mass": lambda robot, given, vector: robot.center_of_mass(given["q"]),
    "angular_momentum_about_com": lambda robot, given, vector: robot.momentum(given["q"], given["qd"])[:3],
    "linear_momentum": lambda robot, given, vector: robot.momentum(given["q"], given["qd"])[3:],
}


def compute(vector):
    given, function = vector["input"], vector["function"]
    if function in WITHOUT_ROBOT:
        return WITHOUT_ROBOT[function](given)
    robot = build(DATA["robots"][vector["robot"]], friction=function in WITH_FRICTION)
    if "g" in given:
        robot = robot.with_gravity(given["g"])
    return FUNCTIONS[function](robot, given, vector)


def deviation(vector):
    """Of the result from the published one, and what is allowed."""
    found, expected, tolerance = compute(vector), np.array(vector["expected"], float), vector["tolerance_abs"]
    if vector["function"] == "coriolis_matrix" and "unique" in vector["note"]:  # another factor of the same C qd
        qd = np.array(vector["input"]["qd"])
        found, expected, tolerance = found @ qd, expected @ qd, tolerance * abs(qd).sum()
    assert np.shape(found) == expected.shape
    return abs(found - expected).max(), tolerance


# tests ------------------------------------------------------------------------------------------------------------------------


def vectors(wrong):
    return [pytest.param(v, id=v["id"]) for v in DATA["vectors"] if (v["kind"] == "known_wrong") == wrong]


@pytest.mark.parametrize("vector", vectors(wrong=False))
def test_published_number(vector):
    found, allowed = deviation(vector)
    assert found <= allowed


@pytest.mark.parametrize("vector", vectors(wrong=True))
def test_known_misprint_is_not_reproduced(vector):
    found, allowed = deviation(vector)
    assert found > 1000 * allowed


def test_every_function_is_known():
    published = {vector["function"] for vector in DATA["vectors"]}
    assert published <= FUNCTIONS.keys() | WITHOUT_ROBOT.keys()


@pytest.mark.parametrize("name", [name for name, spec in DATA["robots"].items() if "dynparams" in spec])
def test_published_parameters_survive_the_way_into_the_robot(name):
    robot = build(DATA["robots"][name])
    ten = np.reshape(DATA["robots"][name]["dynparams"], (-1, 10))
    ours = np.concatenate([ten[:, 9:], ten[:, 6:9], ten[:, :6]], axis=1).ravel()
    np.testing.assert_allclose(robot.parameters(), ours, atol=1e-12)
