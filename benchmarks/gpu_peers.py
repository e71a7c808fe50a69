"""Inverse and forward dynamics of a Panda by frax, MJX and Pinocchio, beside qddot: the same states, results compared.

    python benchmarks/gpu_peers.py frax|mjx|pinocchio panda.urdf [states]

frax and MJX run where JAX does, in float32, one state vectorised over all; Pinocchio on all cores, in float64. Each is measured in
a process of its own, without friction, with the fingers fixed.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import qddot

STATES, SAMPLE = 1 << 20, 1000
Calls = dict[str, Callable[..., Any]]


def by_frax(path: str, states: int) -> Calls:
    import jax.numpy as jnp
    from frax.core.manipulator import Manipulator

    arm, up = Manipulator(path), jnp.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0])
    return {
        "inverse": over_all(lambda q, qd, x: arm.rnea(q, qd, x, up, None)),
        "forward": over_all(lambda q, qd, x: arm.forward_dynamics(q, qd, x, None)),
    }


def by_mjx(path: str, states: int) -> Calls:
    import mujoco
    from mujoco import mjx

    options = '<compiler discardvisual="true" balanceinertia="false"/><option gravity="0 0 -9.81"/>'
    text = Path(path).read_text(encoding="utf-8").replace("</robot>", f"<mujoco>{options}</mujoco></robot>")
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    there, data = mjx.put_model(model), mjx.make_data(model)
    return {
        "inverse": over_all(lambda q, qd, x: mjx.inverse(there, data.replace(qpos=q, qvel=qd, qacc=x)).qfrc_inverse),
        "forward": over_all(lambda q, qd, x: mjx.forward(there, data.replace(qpos=q, qvel=qd, qfrc_applied=x)).qacc),
    }


def bare(text: str) -> str:
    """A URDF without shapes and friction, whose fingers stand still: what all of them compute."""
    text = re.sub(r"<(visual|collision)\b.*?</\1>|<(mimic|dynamics)\b[^>]*/>", "", text, flags=re.S)
    return re.sub(r'(<joint name="[^"]*finger[^"]*" type=")prismatic', r"\1fixed", text)


def over_all(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one state for a batch, compiled; waits for its result."""
    import jax

    compiled = jax.jit(jax.vmap(function))
    return lambda *given: compiled(*given).block_until_ready()


def by_pinocchio(path: str, states: int) -> Calls:
    import pinocchio as pin

    model = pin.buildModelFromUrdf(path)
    threads, out = os.cpu_count() or 1, np.empty((states, model.nv))
    pool = pin.ModelPool(model, threads)

    def parallel(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: np.ndarray) -> np.ndarray:
            function(threads, pool, *(x.T for x in given), out.T)
            return out

        return call

    return {"inverse": parallel(pin.rneaInParallel), "forward": parallel(pin.abaInParallel)}


PEERS = {"frax": (by_frax, np.float32), "mjx": (by_mjx, np.float32), "pinocchio": (by_pinocchio, np.float64)}


def main() -> None:
    warnings.simplefilter("ignore")
    peer, path, states = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else STATES
    with tempfile.TemporaryDirectory() as folder:
        measure(peer, bare_file(path, folder), states)


def bare_file(path: str, folder: str) -> str:
    found = Path(folder) / "bare.urdf"
    found.write_text(bare(Path(path).read_text(encoding="utf-8")), encoding="utf-8")
    return str(found)


def measure(peer: str, path: str, states: int) -> None:
    make, dtype = PEERS[peer]
    robot = qddot.load(path)
    rng = np.random.default_rng(0)
    drawn = [rng.uniform(-2, 2, (SAMPLE, robot.nv)).astype(dtype) for _ in range(3)]
    given: list[Any] = [np.resize(x, (states, robot.nv)) for x in drawn]
    if dtype == np.float32:
        import jax.numpy as jnp

        given = [jnp.asarray(x) for x in given]
    for name, call in make(path, states).items():
        began = time.perf_counter()
        found = np.asarray(call(*given)[:SAMPLE], float)
        first = time.perf_counter() - began
        want = getattr(robot, f"{name}_dynamics")(*(x.astype(float) for x in drawn))[: len(found)]
        error, best = np.max(np.abs(found - want)) / np.max(np.abs(want)), np.inf
        for _ in range(5):
            began = time.perf_counter()
            call(*given)
            best = min(best, time.perf_counter() - began)
        print(
            f"{peer} {name} dynamics {np.dtype(dtype).name}, {states} states: {states / best / 1e9:.4f} G/s; "
            f"first call {first:.0f} s; largest difference to qddot's float64 {error:.0e} of the largest value",
            flush=True,
        )


if __name__ == "__main__":
    main()
