"""adam with JAX: jit and vmap over the batch, in double precision with one thread. Inverse dynamics is M qdd + h."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from timing import Job

from peers import Unsupported
from robots import STATES, Case

NAME = "adam (JAX)"


@contextmanager
def one_processor() -> Iterator[None]:
    """XLA makes as many threads as it sees processors; they may run on any afterwards."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(every)})
    try:
        yield
    finally:
        for thread in os.listdir("/proc/self/task"):
            os.sched_setaffinity(int(thread), every)


with one_processor():
    import jax

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    jax.block_until_ready(jax.numpy.ones(8) + 1)
    from adam.jax import KinDynComputations

jnp = jax.numpy


def jobs(case: Case) -> dict[str, Job]:
    if case.urdf is None:
        raise Unsupported("no URDF")
    if not case.is_chain:
        raise Unsupported("left out: its compiler needs about a minute for this robot")
    robot = KinDynComputations(str(case.urdf), list(case.robot.joint_names), gravity=np.array([0, 0, -9.81, 0, 0, 0]))
    base, still = jnp.eye(4), jnp.zeros(6)

    def mass(q):
        return robot.mass_matrix(base, q)[6:, 6:]

    def inverse(q, qd, qdd):
        return mass(q) @ qdd + robot.bias_force(base, q, still, qd)[6:]

    return {"inverse_dynamics": batched(inverse, [case.q, case.qd, case.qdd]), "mass_matrix": batched(mass, [case.q])}


def batched(function: Callable, inputs: list[np.ndarray]) -> Job:
    """One call for all states; the arrays are on the device beforehand."""
    call, arrays = jax.jit(jax.vmap(function)), [jnp.asarray(x) for x in inputs]
    return Job(lambda: jax.block_until_ready(call(*arrays)), STATES, lambda: [np.asarray(call(*arrays))])
