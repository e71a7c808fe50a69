"""Environments for learning: Gymnasium's own checks, batches beside single motions, and physics."""

from __future__ import annotations

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed")

import qddot  # noqa: E402
from qddot.environments import Balance, Environment, Environments, Reach, SwingUp  # noqa: E402
from qddot.errors import InputError  # noqa: E402

TASKS = {"Reach": lambda: Reach(effort=30.0), "SwingUp": SwingUp, "Balance": Balance}


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.filterwarnings("ignore")
def test_gymnasiums_own_checker(name):
    from gymnasium.utils.env_checker import check_env

    check_env(Environment(TASKS[name]()), skip_render_check=True)


@pytest.mark.parametrize("name", ["SwingUp", "Balance"])
@pytest.mark.filterwarnings("ignore")
def test_made_by_name(name):
    env = gymnasium.make(f"qddot/{name}-v0")
    first, _ = env.reset(seed=3)
    again, _ = env.reset(seed=3)
    assert np.array_equal(first, again)
    many = gymnasium.make_vec(f"qddot/{name}-v0", num_envs=5)
    seen, _ = many.reset(seed=0)
    assert seen.shape == (5, *env.observation_space.shape)
    assert many.observation_space.contains(seen)
    assert many.step(many.action_space.sample())[1].shape == (5,)


@pytest.mark.parametrize("name", TASKS)
def test_a_batch_is_as_many_motions(name):
    task, rng = TASKS[name](), np.random.default_rng(0)
    envs, one = Environments(task, 4), Environment(task)
    envs.reset(seed=0)
    one.reset(seed=0)
    one.motions.q, one.motions.qd, one.motions.goal = (x[2:3].copy() for x in (envs.motions.q, envs.motions.qd, envs.motions.goal))
    for _ in range(10):
        actions = rng.uniform(-1, 1, envs.action_space.shape)
        seen, reward, *_ = envs.step(actions)
        alone, single, *_ = one.step(actions[2])
        assert np.array_equal(seen[2], alone)
        assert reward[2] == single


@pytest.mark.parametrize("name", TASKS)
def test_tensors_on_a_device(name):
    """The same motions, in float32, as tensors where they are; what has ended begins where one of the first began."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    task, rng = TASKS[name](), np.random.default_rng(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    there, here = Environments(task, 6, device=device), Environments(task, 6)
    first, _ = there.reset(seed=3)
    np.testing.assert_allclose(first.cpu().numpy(), here.reset(seed=3)[0], atol=1e-5)
    for _ in range(5):
        actions = rng.uniform(-1, 1, here.action_space.shape).astype(np.float32)
        mine, theirs = there.step(torch.from_numpy(actions).to(device)), here.step(actions)
        assert all(x.device.type == device for x in mine[:4])
        for a, b in zip(mine[:4], theirs):
            np.testing.assert_allclose(a.cpu().numpy(), b, atol=1e-3)
    there.motions.age[2] = task.horizon - 1
    starts = there.motions.starts[0].clone()
    assert there.step(actions)[3].tolist() == [False, False, True, False, False, False]
    _, reward, ended, cut, _ = there.step(actions)
    assert reward[2] == 0
    assert not (ended | cut).any()
    assert (there.motions.q[2] == starts).all(-1).any()
    assert there.motions.age.tolist() == [7, 7, 0, 7, 7, 7]


def test_what_has_ended_begins_again():
    envs = Environments(Balance(), 3)
    envs.reset(seed=0)
    envs.motions.q[1, 1] = 2.0  # fallen
    _, reward, ended, cut, _ = envs.step(np.zeros((3, 1)))
    assert ended.tolist() == [False, True, False]
    seen, reward, ended, cut, _ = envs.step(np.zeros((3, 1)))
    assert not ended.any()
    assert not cut.any()
    assert reward.tolist() == [1, 0, 1]
    assert abs(envs.motions.q[1, 1] - np.pi) < 0.06
    assert envs.motions.age.tolist() == [2, 0, 2]
    assert seen.dtype == np.float32


@pytest.mark.parametrize("device", [None, "cpu"])
def test_a_motion_that_cannot_go_on_has_failed_where_it_was(device):
    """An arm that is far too strong for its steps: what others see of it stays finite, and it begins again."""
    if device:
        pytest.importorskip("torch", reason="PyTorch is not installed")
    envs = Environments(Reach(effort=30.0), 3, device=device)
    envs.reset(seed=0)
    envs.motions.qd[1] = 1e12
    before = envs.motions.q[1].tolist()
    seen, reward, ended, cut, _ = envs.step(np.zeros((3, 7)))
    assert ended.tolist() == [False, True, False]
    assert envs.motions.q[1].tolist() == before
    assert np.isfinite(seen.tolist()).all()
    assert np.isfinite(reward.tolist()).all()
    assert not cut.any()
    *_, ended, _, _ = envs.step(np.zeros((3, 7)))
    assert not ended.any()
    assert abs(envs.motions.qd[1]).max() == 0


def test_cut_off_at_the_horizon():
    env = Environment(SwingUp(horizon=3))
    env.reset(seed=0)
    assert [env.step(np.zeros(1))[3] for _ in range(3)] == [False, False, True]


def test_energy_is_kept_without_a_force():
    task = SwingUp(step=0.001)
    start = task.start(np.random.default_rng(0), 5)
    q, qd = start.q + np.array([0, 1.0]), start.qd
    before = task.robot.hamiltonian(q, qd)
    for _ in range(50):
        q, qd = task.advance(q, qd, np.zeros((5, 1)))
    assert np.allclose(task.robot.hamiltonian(q, qd), before, atol=2e-3)


def test_actions_are_looked_at():
    envs = Environments(SwingUp(), 3)
    with pytest.raises(InputError, match="call reset"):
        envs.step(np.zeros((3, 1)))
    envs.reset(seed=0)
    with pytest.raises(InputError, match=r"the actions have shape \(3,\), expected \(3, 1\): 3 motions, one driven joint"):
        envs.step(np.zeros(3))
    with pytest.raises(InputError, match="action"):
        envs.step(np.full((3, 1), np.nan))
    one = Environment(SwingUp())
    one.reset(seed=0)
    with pytest.raises(InputError, match=r"shape \(1, 2\), expected \(1, 1\)"):
        one.step(np.zeros(2))


def test_the_strength_of_joints_must_be_known():
    with pytest.raises(InputError, match=r"how strong are the joints .* Give effort="):
        SwingUp(effort=None)
    with pytest.raises(InputError, match="how strong"):
        Reach(qddot.load("two_link"))


def test_actions_beyond_the_space_do_and_cost_no_more():
    rewards = []
    for size in (1.0, 1e308):
        environment = Environment(SwingUp())
        environment.reset(seed=np.int64(3))
        rewards.append(environment.step(np.full(1, size))[1])
    assert rewards[0] == rewards[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Environment(5), "task=5"),
        (lambda: SwingUp(5), "robot=5"),
        (lambda: SwingUp(step=np.nan), "step=nan is not a positive number"),
        (lambda: SwingUp(horizon=0), "horizon=0 is not a whole number"),
        (lambda: Reach(effort="a"), "effort='a': real numbers"),
        (lambda: Reach(effort=[1, 2, 3]), "effort has shape"),
        (lambda: Environments(SwingUp(), -1), "num_envs=-1 is not a whole number"),
        (lambda: Environments(SwingUp(), 1.5), "num_envs=1.5 is not a whole number"),
        (lambda: Environments(SwingUp(), 10**9), "at most 10000000"),
        (lambda: Environment(SwingUp()).reset(seed="a"), "seed='a' is not a whole number"),
    ],
)
def test_what_is_no_environment(call, message):
    with pytest.raises(InputError, match=message):
        call()
