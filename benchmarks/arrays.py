"""Tensors, gradients and batches of different robots: what they cost, beside the libraries' own `x + y`, MJX, frax and MuJoCo.

    PYTHONPATH=src .venv-arrays/bin/python benchmarks/arrays.py [torch jax variables gradient mppi]

Gradients are those of two losses: `sum(sin(tau))`, in which the library's own sine and cosine take more than ours, and
`sum((tau - wanted)^2) / 2`, such as people have. Each ratio is of two things measured in turns in one run, on one thread unless it
says otherwise. What is not installed is left out. MJX is made for thousands of motions on a GPU; one motion on a CPU is what a
gradient-based controller has. frax (dynamics in pure JAX) is given the flags that it asks for.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import importlib.util
import os
import sys
import tracemalloc

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "QDDOT_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("JAX_ENABLE_X64", "1")
scheduler = "--xla_cpu_scheduler_type=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"
os.environ.setdefault("XLA_FLAGS", f"--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1 {scheduler}")

import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

import qddot  # noqa: E402

BATCH = 4096


def fastest(seconds: float = 2.0, **jobs: Callable[[], Any]) -> dict[str, float]:
    """The shortest time of each, s, taken in turns: what the code takes when nobody else is on the machine."""
    repeats, best = {}, {}
    for name, job in jobs.items():
        job()
        start, n = time.perf_counter(), 0
        while time.perf_counter() - start < 2e-3 or n == 0:
            job()
            n += 1
        repeats[name], best[name] = n, np.inf
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, job in jobs.items():
            start = time.perf_counter()
            for _ in range(repeats[name]):
                job()
            best[name] = min(best[name], (time.perf_counter() - start) / repeats[name])
    return best


def row(what: str, value: str, target: str = "") -> None:
    print(f"| {what} | {value} | {target} |", flush=True)


def states(n: int, *lead: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(3, *lead, n))


def torch_figures() -> None:
    import torch

    torch.set_num_threads(1)
    robot = qddot.load("arm7")
    one = [torch.from_numpy(x) for x in states(7)]
    leaf = [x.clone().requires_grad_() for x in one]
    found = fastest(
        add=lambda: one[0] + one[1],
        call=lambda: robot.inverse_dynamics(*one),
        add_recorded=lambda: leaf[0] + leaf[1],
        call_recorded=lambda: robot.inverse_dynamics(*leaf),
    )
    row("Torch, one state, beside x + y", f"{found['call'] / found['add']:.2f} ({1e6 * found['call']:.2f} us)", "<= 2")
    ratio = found["call_recorded"] / found["add_recorded"]
    row("Torch, one state, gradients recorded", f"{ratio:.2f} ({1e6 * found['call_recorded']:.2f} us)", "<= 4")
    many = [torch.from_numpy(x) for x in states(7, BATCH)]
    leaves = [x.clone().requires_grad_() for x in many]
    tau, wanted = robot.inverse_dynamics(*many), torch.ones_like(many[0])
    found = fastest(
        8.0,
        value=lambda: robot.inverse_dynamics(*many),
        cosine=lambda: torch.cos(tau),
        sine_loss=lambda: torch.autograd.grad(torch.sin(robot.inverse_dynamics(*leaves)).sum(), leaves),
        squares=lambda: torch.autograd.grad((robot.inverse_dynamics(*leaves) - wanted).square().sum() / 2, leaves),
    )
    each = {name: f"{1e9 * seconds / BATCH:.0f} ns a state" for name, seconds in found.items()}
    row("Torch, batch 4,096, value", each["value"])
    row("Torch, batch 4,096, Torch's own cos(tau)", each["cosine"])
    row("Torch, batch 4,096, sum(sin(tau)) and its gradient", each["sine_loss"], "<= 150")
    row("Torch, batch 4,096, sum((tau - wanted)^2) / 2 and its gradient", each["squares"], "<= 150")


def jax_figures() -> None:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    robot = qddot.load("arm7")
    one = [jnp.asarray(x) for x in states(7)]
    add, call = jax.jit(lambda a, b: a + b), jax.jit(lambda *x: robot.inverse_dynamics(*x))
    found = fastest(
        add=lambda: add(*one[:2]).block_until_ready(),
        call=lambda: call(*one).block_until_ready(),
        eager_add=lambda: (one[0] + one[1]).block_until_ready(),
        eager=lambda: robot.inverse_dynamics(*one).block_until_ready(),
    )
    row("JAX, one state, jitted, beside a + b", f"{found['call'] / found['add']:.2f} ({1e6 * found['call']:.2f} us)", "<= 1.3")
    row(
        "JAX, one state, not jitted, beside a + b",
        f"{found['eager'] / found['eager_add']:.2f} ({1e6 * found['eager']:.2f} us)",
        "<= 1.3",
    )
    many = [jnp.asarray(x) for x in states(7, BATCH)]
    cosine, tau, wanted = jax.jit(jnp.cos), call(*many), jnp.ones_like(many[0])
    back = jax.jit(lambda *x: jax.vjp(robot.inverse_dynamics, *x[:3])[1](x[3]))
    losses = {
        "sum(sin(tau))": lambda tau: jnp.sin(tau).sum(),
        "sum((tau - wanted)^2) / 2": lambda tau: ((tau - wanted) ** 2).sum() / 2,
    }
    jobs: dict[str, Callable[[], Any]] = {
        "value": lambda: call(*many),
        "gradient for given weights": lambda: back(*many, wanted),
        "JAX's own cos(tau)": lambda: cosine(tau),
    }
    for name, loss in losses.items():
        whole = lambda *x, loss=loss: loss(robot.inverse_dynamics(*x))  # noqa: E731
        slope, both = (jax.jit(make(whole, (0, 1, 2))) for make in (jax.grad, jax.value_and_grad))
        alone = jax.jit(jax.value_and_grad(loss))
        jobs[f"gradient of {name}"] = lambda slope=slope: slope(*many)
        jobs[f"{name} and its gradient"] = lambda both=both: both(*many)
        jobs[f"{name} and its gradient, of a tau that is given: nothing of ours"] = lambda alone=alone: alone(tau)
    found = fastest(20.0, **{name: lambda job=job: jax.block_until_ready(job()) for name, job in jobs.items()})
    for name, seconds in found.items():
        row(
            f"JAX, batch 4,096, {name}",
            f"{1e9 * seconds / BATCH:.0f} ns a state",
            "<= 150" if name.startswith("gradient of") or name.endswith("and its gradient") else "",
        )
    through_steps()


def through_steps(steps: int = 100) -> None:
    """`jit(grad)` of a loss after some steps of a Panda, with respect to all torques; the same in MJX and in frax."""
    import jax
    import jax.numpy as jnp

    robot, traced = qddot.load("panda"), []
    run = robot.rollout(step=1e-3, stops=False, saturate=False)
    q0, tau = jnp.asarray(robot.random_configuration(0)), jnp.zeros((steps, 7))

    def loss(tau):
        traced.append(1)
        return jnp.sum(run(q0, jnp.zeros(7), tau, every=steps).q[-1] ** 2)

    ours = jax.jit(jax.grad(loss))
    jobs: dict[str, Callable[[], Any]] = {"ours": lambda: ours(tau).block_until_ready()}
    for peer, gradient in (("MJX", mjx_gradient), ("frax", frax_gradient)):
        if theirs := gradient(robot, q0, tau):
            jobs[peer] = theirs
    found = fastest(8.0, **jobs)
    beside = "".join(f"; {peer} takes {found[peer] / found['ours']:.0f} times as long" for peer in found if peer != "ours")
    row(
        f"JAX, jit(grad) through {steps} steps of a Panda",
        f"{1e3 * found['ours']:.2f} ms, traced {len(traced)} time{beside}",
        "no retrace",
    )


def frax_gradient(robot: qddot.Robot, q0: Any, tau: Any) -> Callable[[], Any] | None:
    if importlib.util.find_spec("frax") is None:
        return None
    import tempfile
    from pathlib import Path

    import frax
    import jax
    import jax.numpy as jnp

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.urdf"
        robot.to_urdf(path)
        arm = frax.Robot(str(path))

    def loss(tau):
        def step(state, u):
            q, qd = state
            qd = qd + 1e-3 * arm.forward_dynamics(q, qd, u, None)
            return (q + 1e-3 * qd, qd), None

        return jnp.sum(jax.lax.scan(step, (q0, jnp.zeros(7)), tau)[0][0] ** 2)

    slope = jax.jit(jax.grad(loss))
    return lambda: slope(tau).block_until_ready()


def mjx_gradient(robot: qddot.Robot, q0: Any, tau: Any) -> Callable[[], Any] | None:
    if importlib.util.find_spec("mujoco") is None or importlib.util.find_spec("mujoco.mjx") is None:
        return None
    import jax
    import jax.numpy as jnp
    from mujoco import mjx

    model = mjx.put_model(mujoco_model(robot))

    def loss(tau):
        start = mjx.make_data(model).replace(qpos=q0)
        step = lambda data, u: (mjx.step(model, data.replace(qfrc_applied=u)), None)  # noqa: E731
        return jnp.sum(jax.lax.scan(step, start, tau)[0].qpos ** 2)

    try:
        slope = jax.jit(jax.grad(loss))
        slope(tau).block_until_ready()
    except Exception as error:  # whatever a foreign library says; the figure is then left out
        print(f"MJX: {type(error).__name__}: {str(error)[:100]}")
        return None
    return lambda: slope(tau).block_until_ready()


def mujoco_model(robot: qddot.Robot) -> Any:
    """The same arm in MuJoCo, without contacts and constraints."""
    import tempfile
    from pathlib import Path

    import mujoco

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.urdf"
        robot.to_urdf(path)
        model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep = 1e-3
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return model


def variable_figures() -> None:
    robot = qddot.load("arm7")
    arms = robot.with_variable("payload", "gravity", *(f"{name}.viscous" for name in robot.joint_names))
    rng, (q, qd, qdd) = np.random.default_rng(1), states(7, BATCH)
    values = np.concatenate([rng.uniform(size=(BATCH, 1)), rng.normal(size=(BATCH, 3)), rng.uniform(size=(BATCH, 7))], -1)
    for quantity in ("inverse_dynamics", "forward_dynamics"):
        same, varied = robot.kernel(quantity).ufunc, arms.kernel(quantity).ufunc
        found = fastest(same=lambda: same(q, qd, qdd), varied=lambda: varied(q, qd, qdd, values))  # noqa: B023
        ratio = found["varied"] / found["same"]
        row(
            f"payload, gravity and friction vary, {quantity}",
            f"{ratio:.2f} ({1e9 * found['varied'] / BATCH:.0f} ns a state)",
            "<= 1.3",
        )


def gradient_figures(steps: int = 1000, batch: int = 256) -> None:
    robot = qddot.load("panda")
    run = robot.rollout(step=1e-3, stops=False, saturate=False)
    rng = np.random.default_rng(0)
    q0 = np.array([robot.random_configuration(rng) for _ in range(batch)])
    tau = robot.gravity_torque(q0) + 0.1 * rng.normal(size=(steps, batch, 7))
    slopes = rng.normal(size=(2, batch, 7))
    found = fastest(
        10.0,
        rollout=lambda: run(q0, None, tau, every=steps),
        gradient=lambda: run.differentiable(q0, None, tau, every=steps)(q=slopes),
    )
    tracemalloc.start()
    run.differentiable(q0, None, tau, every=steps)(q=slopes)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    beside = f"{(most - 2 * tau.nbytes) / 1e6:.1f} MB beside the result and a copy of the torques"
    row(
        f"gradient of {steps} steps of {batch} Pandas, all torques, beside the rollout",
        f"{found['gradient'] / found['rollout']:.2f} ({found['gradient']:.2f} s); {beside}",
        "<= 6",
    )


def mppi_figures(samples: int = 4096, steps: int = 50) -> None:
    """One plan of MPPI on two cores: noise, rollouts, distances of the tip, weighted average; and its rollouts alone."""
    os.environ["QDDOT_THREADS"] = "2"
    robot = qddot.load("panda")
    run = robot.rollout(step=0.01, stops=False)
    rng, q0, goal = np.random.default_rng(0), robot.random_configuration(0), np.array([0.45, -0.35, 0.35])
    hold, start = robot.gravity_torque(q0), np.broadcast_to(q0, (samples, 7))

    def plan(rolled: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        noise = 0.1 * rng.standard_normal((steps, samples, 7))
        away = np.linalg.norm(robot.transform(rolled(hold + noise))[..., :3, 3] - goal, axis=-1).mean(0)
        weight = np.exp(-(away - away.min()) / 0.02)
        return np.einsum("s,tsj->tj", weight / weight.sum(), noise)

    ours = lambda tau: run(start, None, tau).q[1:]  # noqa: E731
    tau = hold + 0.1 * rng.standard_normal((steps, samples, 7))
    jobs: dict[str, Callable[[], Any]] = {"rolled": lambda: ours(tau), "planned": lambda: plan(ours)}
    if importlib.util.find_spec("mujoco"):
        import mujoco
        from mujoco import rollout

        model = mujoco_model(robot)
        model.opt.timestep = 0.01
        data, state = [mujoco.MjData(model) for _ in range(2)], np.zeros((samples, 1 + 2 * 7))
        state[:, 1:8] = q0
        spec, pool = mujoco.mjtState.mjSTATE_QFRC_APPLIED.value, rollout.Rollout(nthread=2)

        def theirs(tau: np.ndarray) -> np.ndarray:
            states, _ = pool.rollout(model, data, state, np.ascontiguousarray(tau.transpose(1, 0, 2)), control_spec=spec)
            return states[..., 1:8].transpose(1, 0, 2)

        jobs |= {"mujoco_rolled": lambda: theirs(tau), "mujoco_planned": lambda: plan(theirs)}
    found = fastest(20.0, **jobs)
    for job, what in (("rolled", "rollouts of a plan"), ("planned", "a whole plan of MPPI")):
        theirs_too = found.get(f"mujoco_{job}")
        beside = f"; with MuJoCo's rollout {theirs_too / found[job]:.1f} times" if theirs_too else ""
        row(f"{samples} samples of {steps} steps, Panda, two cores: {what}", f"{1e3 * found[job]:.0f} ms{beside}", ">= 10")


FIGURES = {
    "torch": torch_figures,
    "jax": jax_figures,
    "variables": variable_figures,
    "gradient": gradient_figures,
    "mppi": mppi_figures,
}


def main() -> None:
    print("| what | measured | target |\n|---|---|---|")
    for name in sys.argv[1:] or FIGURES:
        if name not in ("torch", "jax") or importlib.util.find_spec(name):
            FIGURES[name]()


if __name__ == "__main__":
    main()
