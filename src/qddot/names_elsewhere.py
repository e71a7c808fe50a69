"""Names in other libraries of the methods of a robot and the functions of qddot, for the error that somebody meets who
knows them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

ROBOT = {
    "Robotics Toolbox": {
        "fkine": "transform(q)",
        "fkine_all": "transforms(q)",
        "ikine": "inverse_kinematics(pose)",
        "ikine_LM": "inverse_kinematics(pose)",
        "ikine_a": "inverse_kinematics_solutions(pose)",
        "jacob0": 'jacobian(q, reference="world_aligned"), whose angular rows come first',
        "jacobe": 'jacobian(q, reference="body"), whose angular rows come first',
        "jacob0_dot": 'jacobian_dot(q, qd, reference="world_aligned")',
        "rne": "inverse_dynamics(q, qd, qdd)",
        "accel": "forward_dynamics(q, qd, tau)",
        "inertia": "mass_matrix(q)",
        "inertia_x": "task_space(q, qd)",
        "coriolis": "coriolis_matrix(q, qd)",
        "gravload": "gravity_torque(q)",
        "friction": "-friction_torque(qd)",
        "itorque": "mass_matrix(q) @ qdd",
        "fdyn": "simulate(q0, qd0, t, torque=...)",
        "pay": "with_payload(mass, com)",
        "payload": "with_payload(mass, com)",
        "nofriction": "bias_torque(q, qd, drives='without')",
        "qlim": "limits",
        "qz": "neutral()",
        "qr": "home()",
        "islimit": "limits",
        "n": "nv",
        "teach": "explore()",
    },
    "MATLAB": {
        "Gravity": "gravity, and with_gravity(gravity) is another robot",
        "NumBodies": "body_names, whose len counts them",
        "getTransform": "transform(q, frame)",
        "geometricJacobian": 'jacobian(q, frame, reference="world_aligned")',
        "inverseDynamics": "inverse_dynamics(q, qd, qdd)",
        "forwardDynamics": "forward_dynamics(q, qd, tau)",
        "massMatrix": "mass_matrix(q)",
        "velocityProduct": "coriolis_torque(q, qd)",
        "gravityTorque": "gravity_torque(q)",
        "centerOfMass": "center_of_mass(q)",
        "externalForce": "external_wrench(q, {frame: wrench})",
        "homeConfiguration": "home()",
        "randomConfiguration": "random_configuration()",
        "showdetails": "details()",
        "show": "plot(q), or explore()",
        "BodyNames": "body_names",
        "Bodies": "link_names",
        "DataFormat": "nothing: configurations are arrays (..., nq)",
        "addBody": "nothing, since a robot is immutable: use qddot.Builder",
    },
    "Pinocchio": {
        "forwardKinematics": "transforms(q)",
        "framesForwardKinematics": "transforms(q)",
        "updateFramePlacements": "nothing: transforms(q) computes them",
        "updateFramePlacement": "nothing: transform(q, frame) computes it",
        "computeAllTerms": "nothing: each method computes what it returns",
        "computeJointJacobians": "jacobian(q, frame)",
        "computeFrameJacobian": "jacobian(q, frame, reference), whose angular rows come first",
        "getFrameJacobian": "jacobian(q, frame, reference), whose angular rows come first",
        "getFrameVelocity": "frame_velocity(q, qd, frame, reference)",
        "getFrameClassicalAcceleration": 'frame_acceleration(q, qd, qdd, frame, reference="world_aligned")',
        "getFrameAcceleration": 'frame_acceleration(q, qd, qdd, frame, reference="body")',
        "nonLinearEffects": 'bias_torque(q, qd, drives="without")',
        "computeGeneralizedGravity": "gravity_torque(q)",
        "computeStaticTorque": "inverse_dynamics(q, 0 * qd, 0 * qd, f_ext={frame: wrench})",
        "computeCoriolisMatrix": "coriolis_matrix(q, qd)",
        "computeMinverse": "mass_matrix_inverse(q)",
        "computeJointTorqueRegressor": "regressor(q, qd, qdd)",
        "computeRNEADerivatives": "inverse_dynamics_derivatives(q, qd, qdd)",
        "computeABADerivatives": "forward_dynamics_derivatives(q, qd, tau)",
        "computeKineticEnergy": "kinetic_energy(q, qd)",
        "computePotentialEnergy": "potential_energy(q)",
        "computeCentroidalMomentum": "momentum(q, qd)",
        "ccrba": "centroidal_momentum_matrix(q)",
        "randomConfiguration": "random_configuration()",
        "buildReducedModel": "with_locked({joint: position})",
        "constraintDynamics": "constrained_forward_dynamics(q, qd, tau)",
        "createData": "nothing: a robot needs no workspace",
        "getFrameId": "nothing: frames go by their names",
        "getJointId": "nothing: joints go by their names",
        "existFrame": "frame_names, in which it is or is not",
        "existJointName": "joint_names, in which it is or is not",
        "njoints": "joint_names, whose len counts them",
        "nframes": "frame_names, whose len counts them",
        "oMf": "transforms(q)",
        "oMi": "transforms(q)",
        "nle": 'bias_torque(q, qd, drives="without")',
        "names": "joint_names",
        "frames": "frame_names",
        "lowerPositionLimit": "limits.lower",
        "upperPositionLimit": "limits.upper",
        "effortLimit": "limits.effort",
        "velocityLimit": "limits.velocity",
        "armature": "drives",
    },
    "MuJoCo": {
        "mj_step": "simulate(q0, qd0, t)",
        "mj_forward": "forward_dynamics(q, qd, tau)",
        "mj_inverse": "inverse_dynamics(q, qd, qdd)",
        "mj_rne": "inverse_dynamics(q, qd, qdd)",
        "mj_fullM": "mass_matrix(q)",
        "mj_jac": "jacobian(q, frame)",
        "mj_jacBody": "jacobian(q, frame)",
        "mj_jacSite": "jacobian(q, frame)",
        "mj_solveM": "mass_matrix_inverse(q) @ x",
        "qfrc_bias": 'bias_torque(q, qd, drives="without")',
        "qfrc_passive": "-friction_torque(qd) - spring_torque(q)",
        "qpos": "nothing: methods take q",
        "qvel": "nothing: methods take qd",
        "qpos0": "neutral()",
        "jnt_range": "limits",
        "opt": "gravity",
    },
    "Drake": {
        "CalcMassMatrix": "mass_matrix(q)",
        "CalcMassMatrixViaInverseDynamics": "mass_matrix(q)",
        "CalcBiasTerm": "coriolis_torque(q, qd)",
        "CalcGravityGeneralizedForces": "-gravity_torque(q)",
        "CalcInverseDynamics": "inverse_dynamics(q, qd, qdd)",
        "CalcJacobianSpatialVelocity": 'jacobian(q, frame, reference="world_aligned")',
        "CalcRelativeTransform": "transform(q, frame)",
        "CalcCenterOfMassPositionInWorld": "center_of_mass(q)",
        "num_positions": "nq",
        "num_velocities": "nv",
        "GetPositionLowerLimits": "limits.lower",
        "GetPositionUpperLimits": "limits.upper",
        "SetPositions": "nothing: methods take q",
        "Finalize": "nothing: a robot is ready when it is loaded",
    },
    "other libraries": {
        "forward_kinematics": "transform(q)",
        "fk": "transform(q)",
        "ik": "inverse_kinematics(pose)",
        "inertia_matrix": "mass_matrix(q)",
        "M": "mass_matrix(q), or equations().M on paper",
        "C": "coriolis_matrix(q, qd), or equations().C on paper",
        "g": "gravity_torque(q), or equations().g on paper",
        "gravity_vector": "gravity_torque(q)",
        "gravity_compensation": "gravity_torque(q)",
        "dynamics": "forward_dynamics(q, qd, tau)",
        "step": "simulate(q0, qd0, t)",
        "dof": "nv",
        "ndof": "nv",
        "lqr": "linearize(q).lqr(Q, R)",
        "save": "to_urdf(path) or to_toml(path)",
        "copy": "nothing: a robot is immutable, so it can be shared",
        "num_joints": "nv",
        "joints": "joint_names",
        "links": "link_names",
        "end_effector": "tip",
        "com": "center_of_mass(q)",
        "lower": "limits.lower",
        "upper": "limits.upper",
        "q_min": "limits.lower",
        "q_max": "limits.upper",
        "jac": "jacobian(q, frame)",
        "inertias": "details(), or parameters",
        "cuda": "nothing: tensors on a device are computed there",
        "to": "nothing: tensors on a device are computed there",
        "neutral_configuration": "neutral(), or home() within the limits",
        "bodies": "body_names",
        "to_json": "to_toml(path)",
        "mass": "details().mass",
        "total_mass": "details().mass",
        "set_gravity": "with_gravity(gravity), another robot",
        "to_mjcf": "to_urdf(path), which MuJoCo reads",
        "lagrange": 'derive("lagrange")',
        "eom": "equations()",
        "equations_of_motion": "equations()",
        "visualize": "explore()",
        "view": "explore()",
        "render": "explore()",
        "display": "explore()",
    },
}
"""Library -> its name -> how it is called here, on a robot."""

PACKAGE = {
    "MATLAB": {"importrobot": "load(path)", "loadrobot": "load(name)", "rigidBodyTree": "Builder(), load or from_dh"},
    "Robotics Toolbox": {"DHRobot": "from_dh(rows)", "ERobot": "load(path)", "URDF": "load(path)", "models": "load(name)"},
    "Pinocchio": {
        "buildModelFromUrdf": "load(path)",
        "buildModelFromXML": "load_string(text)",
        "buildModelFromMJCF": "load(path)",
        "RobotWrapper": "load(path)",
        "rnea": "load(path).inverse_dynamics(q, qd, qdd)",
        "crba": "load(path).mass_matrix(q)",
        "aba": "load(path).forward_dynamics(q, qd, tau)",
    },
    "MuJoCo": {"MjModel": "load(path)", "MjData": "nothing: a robot needs no workspace"},
    "Drake": {"MultibodyPlant": "load(path)", "Parser": "load(path)"},
    "other libraries": {
        "load_urdf": "load(path)",
        "from_urdf": "load(path)",
        "read": "load(path)",
        "open": "load(path)",
        "loads": "load_string(text)",
        "list_robots": "catalog_names()",
        "simulate": "load(path).simulate(q0, t=5.0)",
    },
}
"""The same of functions and classes of qddot itself."""


def no_such_name(name: str, owner: str, known: Iterable[str]) -> AttributeError:
    """The error for an attribute that a robot, or qddot, does not have.

    Args:
        owner: `"Robot"` or `"qddot"`.
        known: its attributes.
    """
    tables: Mapping[str, Mapping[str, str]] = ROBOT if owner == "Robot" else PACKAGE
    for library, names in tables.items():
        if name in names:
            whose = f"{library}'s {name}" if library != "other libraries" else f"what some call {name}"
            here = names[name]
            if here.startswith("nothing"):
                return AttributeError(f"{owner} has no {name!r}: {whose} is not needed{here.removeprefix('nothing')}", name=name)
            prefix = "" if owner == "Robot" else "qddot."
            return AttributeError(f"{owner} has no {name!r}: {whose} is `{prefix}{here}` here", name=name)
    public = [x for x in known if not x.startswith("_")]
    close = difflib.get_close_matches(name, public, n=3, cutoff=0.6) if not name.startswith("_") else []
    hint = f": did you mean {' or '.join(map(repr, close))}?" if close else ""
    return AttributeError(f"{owner} has no attribute {name!r}{hint}", name=name)
