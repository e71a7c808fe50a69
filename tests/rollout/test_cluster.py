"""Batches and rollouts on a cluster: the same bits, also when a worker dies."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

import qddot
from qddot import InputError
from qddot.cluster import seat

distributed = pytest.importorskip("distributed", reason="dask is not installed")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def law(x):
    return [u - 0.5 * v for u, v in zip(x.control, x.qd)]


@pytest.mark.filterwarnings("ignore")
def test_the_bits_of_one_machine(client, monkeypatch):
    monkeypatch.setattr("qddot.rollout.spread.WORK", 200)
    monkeypatch.setattr("qddot.compile.spread.STATES", 7)
    robot = qddot.load("two_link").with_variable("payload")
    rng = np.random.default_rng(0)
    q0, control, load = rng.normal(size=(4, 5, 2)), rng.normal(size=(20, 5, 2)), rng.uniform(size=(4, 1))
    here, there = (robot.rollout(law, stops=False, engine=e, address=client) for e in ("serial", "dask"))
    for a, b in zip(*(run(q0, None, control, every=10, variables={"payload": load}) for run in (here, there))):
        assert np.array_equal(a, b)
    held = [run(q0, None, control[0], steps=10, every=10).q for run in (here, there)]
    assert np.array_equal(*held)
    state = rng.normal(size=(3, 6, 9, 2))
    quantities = ["inverse_dynamics", ("jacobian", {"reference": "body"})]
    arguments = (quantities, state[0], state[1], state[2, 0, 0])
    expected = robot.compute(*arguments, variables={"payload": 0.3})
    found = robot.compute(*arguments, variables={"payload": 0.3}, engine="dask", address=client)
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


def test_workers_of_a_machine_have_seats(client):
    """So that each takes a device of its own, where there are as many."""
    workers = list(client.scheduler_info(n_workers=-1)["workers"])
    found = [client.submit(seat, workers=[worker], pure=False).result() for worker in workers]
    assert sorted(found) == [0, 1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_loses_nothing(client, monkeypatch):
    monkeypatch.setattr("qddot.rollout.spread.WORK", 20_000)
    robot = qddot.load("puma560")
    q0 = np.random.default_rng(0).normal(size=(400, 6))
    run = robot.rollout(step=1e-3, stops=False)
    expected = run(q0, None, np.zeros(6), steps=500, every=500).q
    processes = [worker["pid"] for worker in client.run(lambda dask_worker: {"pid": os.getpid()}).values()]
    client.loop.call_later(1.0, os.kill, processes[0], signal.SIGKILL)
    there = robot.rollout(step=1e-3, stops=False, engine="dask", address=client)
    assert np.array_equal(there(q0, None, np.zeros(6), steps=500, every=500).q, expected)


def test_what_is_no_engine():
    robot = qddot.load("two_link")
    with pytest.raises(InputError, match="engine='spark' is not one of 'serial', 'dask'"):
        robot.rollout(engine="spark")
    with pytest.raises(InputError, match="device='tpu' is not one of 'cpu', 'cuda'"):
        robot.rollout(device="tpu")
    with pytest.raises(InputError, match="GPUs of NVIDIA are 'cuda'"):
        robot.rollout(device="gpu")
    with pytest.raises(InputError, match=r"device=array\(\[None, None\]"):
        robot.rollout(device=np.array([None, None]))
    with pytest.raises(InputError, match="engine='spark'"):
        robot.compute(["mass_matrix"], np.zeros(2), engine="spark")
    with pytest.raises(InputError, match="no Dask scheduler answers"):
        robot.compute(["mass_matrix"], np.zeros((3, 2)), engine="dask", address="tcp://127.0.0.1:9")
