"""Factors: the same whoever makes them."""

from __future__ import annotations

import numpy as np
import pytest

from qddot.errors import InputError
from qddot.identify import ParameterSet, base_parameters, least_squares, pieces, prepare, reduce
from qddot.identify.regression.reduction import hampel
from qddot.identify.regression.triangles import triangle
from tests.identify.arms import random_arm
from tests.identify.simulated import simulated, truth


@pytest.fixture(scope="module")
def prepared():
    parameters = ParameterSet.of(random_arm(0, 3))
    log = simulated(parameters, truth(parameters), 20.0, 200.0, (1e-5, 0.05), 1)
    return base_parameters(parameters), prepare(log, 8.0)


def test_triangle_is_the_r_factor() -> None:
    A = np.random.default_rng(0).normal(size=(5000, 7))
    R = triangle(A)
    np.testing.assert_allclose(R.T @ R, A.T @ A, atol=1e-9)
    assert triangle(A[:3]).shape == (7, 7)


def test_factors_are_least_squares(prepared) -> None:
    base, signals = prepared
    parameters = base.parameter_set
    found = least_squares(reduce(base, pieces(signals)), "ols")
    Y = parameters.matrix(signals.q, signals.qd, signals.qdd)[..., list(base.independent)]
    X, y = signals.decimated(Y).reshape(-1, base.rank), signals.decimated(signals.tau_raw).ravel()
    np.testing.assert_allclose(found.theta, np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-7, atol=1e-9)
    assert found.samples == len(X) // parameters.robot.nv


def test_engines_agree_to_the_last_bit(prepared) -> None:
    base, signals = prepared
    serial, threads = (reduce(base, pieces(signals), engine=engine) for engine in ("serial", "threads"))
    for one, other in zip(serial.R, threads.R):
        for a, b in zip(one, other):
            np.testing.assert_array_equal(a, b)
    with pytest.raises(InputError, match="engine='mpi' is not one of"):
        reduce(base, pieces(signals), engine="mpi")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_loses_nothing(prepared) -> None:
    distributed = pytest.importorskip("distributed")
    base, signals = prepared
    serial = reduce(base, pieces(signals))
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        killed = []

        def progress(_rows: int) -> None:
            if not killed:
                worker = next(iter(cluster.workers.values()))
                killed.append(worker.process.process.pid)
                worker.process.process.kill()

        found = reduce(base, pieces(signals), engine="dask", address=client, on_progress=progress)
    assert killed
    for one, other in zip(serial.R, found.R):
        for a, b in zip(one, other):
            np.testing.assert_array_equal(a, b)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense"])
def test_an_address_without_a_scheduler_is_said_soon(prepared, monkeypatch, address) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("qddot.cluster.CONNECT", 0.2)
    base, signals = prepared
    with pytest.raises(InputError, match="no Dask scheduler answers there"):
        reduce(base, pieces(signals), engine="dask", address=address)


def test_many_blocks_are_joined(prepared) -> None:
    base, signals = prepared
    few, many = reduce(base, pieces(signals, 10)), reduce(base, pieces(signals, 150))
    assert len(many.R) <= 64
    assert many.counts.sum() == few.counts.sum()
    np.testing.assert_allclose(least_squares(few).theta, least_squares(many).theta, rtol=1e-6, atol=1e-8)


def test_blocks_of_a_long_log_stay_equally_long(prepared) -> None:
    """A first block with half of the log would make the intervals of all parameters depend on two blocks."""
    base, signals = prepared
    once = list(pieces(signals, 20))
    blocks = 1 + once[-1][0]
    for repeats in (4, 13, 30):
        factors = reduce(base, ((blocks * k + block, piece) for k in range(repeats) for block, piece in once))
        *whole, last = factors.counts.tolist()
        assert 31 < len(factors.R) <= 64
        assert max(whole) < 1.3 * min(whole)
        assert last < 1.3 * max(whole)
        assert sum(factors.counts) == repeats * sum(reduce(base, once).counts)
        assert least_squares(factors).freedom.min() > 10


def test_hampel() -> None:
    np.testing.assert_allclose(hampel(np.array([0.0, -2.0, 4.0, 6.0, 9.0])), [1, 1, 0.5, 1 / 6, 0])
