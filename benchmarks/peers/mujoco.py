"""MuJoCo: the functions of its pipeline that a quantity needs, in a loop over states from Python; constraints are switched off."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mujoco
import numpy as np
from timing import Job

from peers import Unsupported
from robots import Case

NAME = "MuJoCo"
STATES = 1024
COMPILER = '<mujoco><compiler fusestatic="true" discardvisual="true" angle="radian"/></mujoco>'


def jobs(case: Case) -> dict[str, Job]:
    if case.urdf is None:
        raise Unsupported("no URDF")
    model = read(case)
    data, n, body = mujoco.MjData(model), model.nv, model.body(case.frame).id
    qpos, qvel, qacc, applied = data.qpos, data.qvel, data.qacc, data.qfrc_applied

    def inverse(out: np.ndarray, q, qd, qdd) -> None:
        qpos[:], qvel[:], qacc[:] = q, qd, qdd
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_rne(model, data, 1, out)

    def forward(out: np.ndarray, q, qd, tau) -> None:
        qpos[:], qvel[:], applied[:] = q, qd, tau
        mujoco.mj_forward(model, data)
        out[:] = qacc

    def mass(out: np.ndarray, q) -> None:
        qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_makeM(model, data)
        mujoco.mj_fullM(model, data, out)

    def jacobian(out: np.ndarray, q) -> None:
        qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_jacBody(model, data, out[3:], out[:3], body)

    motion, forced = [case.q, case.qd, case.qdd], [case.q, case.qd, case.tau]
    return {
        "inverse_dynamics": loop(inverse, motion, (n,)),
        "forward_dynamics": loop(forward, forced, (n,)),
        "mass_matrix": loop(mass, [case.q], (n, n)),
        "jacobian": loop(jacobian, [case.q], (6, n)),
        "single: inverse_dynamics": loop(inverse, motion, (n,), states=1),
    }


def read(case: Case) -> mujoco.MjModel:
    """The URDF compiled, without contacts, limits and friction."""
    text = case.urdf.read_text()
    end = text.rindex("</robot>")
    try:
        model = mujoco.MjModel.from_xml_string(text[:end] + COMPILER + text[end:])
    except ValueError as error:
        raise Unsupported(f"does not compile the URDF: {error}") from None
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    names = tuple(model.joint(k).name for k in range(model.njnt))
    if names != case.robot.joint_names:
        raise Unsupported("its joints are in another order")
    return model


def loop(function: Callable, inputs: Sequence[np.ndarray], shape: tuple[int, ...], states: int = STATES) -> Job:
    """`function(room, *state)` for every state."""
    out = np.zeros((states, *shape))
    rows = list(zip(list(out), *(list(x[:states]) for x in inputs)))

    def run() -> None:
        for row in rows:
            function(*row)

    return Job(run, states, lambda: [out])
