"""Batches of different robots in what is made of several quantities: numbers and gradients of PyTorch and JAX beside NumPy's."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import qddot

WALL = qddot.point_on_plane("body_2", point=(0.5, 0, 0), normal=(1, 0, 0))
BATCH = 3


@cache
def arms() -> qddot.Robot:
    names = ("payload", "gravity", "body_2.mass", "joint2.viscous", "joint2.stiffness", "joint2.xyz", "joint1.rotor_inertia")
    return qddot.load("two_link").with_variable(*names)


def linear(q, qd, tau, given):
    found = arms().linearize(q, qd, tau, variables=given)
    return found.A, found.B, found.qdd


def at_the_tip(q, qd, tau, given):
    found = arms().task_space(q, qd, rows=["x", "y"], variables=given)
    return found.M_C, found.c_C, found.g_C, found.d_C, found.free, found.forward_dynamics(tau=tau), found.regressor(tau)


def constrained(q, qd, tau, given):
    robot = arms()
    P = robot.constraint_projections(q, WALL, variables=given).P
    rows = [getattr(robot, name)(q, WALL, variables=given) for name in ("constraint_residual", "constraint_jacobian")]
    return (*robot.constrained_forward_dynamics(q, qd, tau, WALL, variables=given), P, *rows)


def rolled(q, qd, tau, given):
    return (arms().rollout(step=0.01, stops=False)(q, qd, tau, steps=3, variables=given).q[-1],)


COMPOSED = {"linearize": linear, "task_space": at_the_tip, "constraints": constrained, "rollout": rolled}


@cache
def numbers():
    rng = np.random.default_rng(0)
    draw = {name: x + rng.uniform(0.05, 0.3, size=(BATCH, *x.shape)) for name, x in arms().variables.items()}
    draw["joint2.xyz"][..., 2] = 0.0
    q, qd, tau = rng.uniform(0.6, 1.2, size=(3, BATCH, 2))
    q = arms().project(q, WALL, variables=draw)
    return (q, arms().project_velocity(q, qd, WALL, variables=draw), tau), draw


def expected(what):
    """Results, and the slopes of their weighted sum along each variable, by differences."""
    (state, given), of, h = numbers(), COMPOSED[what], 1e-4
    found, rng = of(*state, given), np.random.default_rng(1)
    weights = [rng.normal(size=x.shape) for x in found]
    directions = {name: rng.normal(size=x.shape) for name, x in given.items()}
    total = lambda moved: sum(float((w * x).sum()) for w, x in zip(weights, of(*state, given | moved)))  # noqa: E731
    slopes = {}
    for name, d in directions.items():
        near, far = (total({name: given[name] + k * h * d}) - total({name: given[name] - k * h * d}) for k in (1, 2))
        slopes[name] = (8 * near - far) / (12 * h)
    return found, weights, directions, slopes


def agree(found, slopes, what):
    values, _, directions, differences = expected(what)
    for a, b in zip(found, values, strict=True):
        assert np.allclose(a, b, rtol=1e-12, atol=1e-13)
    assert max(map(abs, differences.values())) > 0.01
    for name, d in directions.items():
        assert (slopes[name] * d).sum() == pytest.approx(differences[name], rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("what", COMPOSED)
def test_torch(what):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-arrays")
    (state, given), (_, weights, *_) = numbers(), expected(what)
    leaves = {name: torch.from_numpy(x).requires_grad_() for name, x in given.items()}
    found = COMPOSED[what](*map(torch.from_numpy, state), leaves)
    loss = sum((torch.from_numpy(w) * x).sum() for w, x in zip(weights, found))
    slopes = torch.autograd.grad(loss, list(leaves.values()))
    agree([x.detach().numpy() for x in found], {name: x.numpy() for name, x in zip(leaves, slopes)}, what)


@pytest.mark.parametrize("what", COMPOSED)
def test_jax(what):
    jax = pytest.importorskip("jax", reason="JAX is not installed: make test-arrays")
    jax.config.update("jax_enable_x64", True)
    (state, given), (_, weights, *_) = numbers(), expected(what)
    state, given = jax.tree.map(jax.numpy.asarray, (state, given))
    found = jax.jit(COMPOSED[what])(*state, given)
    slopes = jax.grad(lambda given: sum((w * x).sum() for w, x in zip(weights, COMPOSED[what](*state, given))))(given)
    agree(map(np.asarray, found), {name: np.asarray(x) for name, x in slopes.items()}, what)
