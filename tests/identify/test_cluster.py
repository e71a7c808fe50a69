"""Identification from many files on a cluster whose workers die at random: the bits of one machine."""

from __future__ import annotations

import os
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from qddot.cluster import ROUNDS, Handed, in_cluster
from qddot.errors import DeviceError, InputError
from qddot.identify import Log, ParameterSet
from tests.identify.arms import random_arm
from tests.identify.simulated import simulated, truth

FILES, ROWS, KILLS = 12, 3000, 6


class Killer(threading.Thread):
    """Kills one worker or another of a cluster after random times; so many that a slow machine, too, comes to an end."""

    def __init__(self, cluster, seed: int) -> None:
        super().__init__(daemon=True)
        self.cluster, self.draw, self.done, self.killed = cluster, np.random.default_rng(seed), threading.Event(), 0

    def run(self) -> None:
        while self.killed < KILLS and not self.done.wait(self.draw.uniform(0.5, 4.0)):
            alive = [nanny.pid for nanny in list(self.cluster.workers.values()) if nanny.pid]
            if alive:
                os.kill(alive[self.draw.integers(len(alive))], signal.SIGKILL)
                self.killed += 1

    def __enter__(self) -> Killer:
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self.done.set()
        self.join()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_many_files_while_workers_die_at_random(tmp_path) -> None:
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    robot = random_arm(0, 3)
    parameters = ParameterSet.of(robot)
    files = [tmp_path / f"{k:02}.csv" for k in range(FILES)]
    for k, file in enumerate(files):
        log = simulated(parameters, truth(parameters), 10.0, 200.0, (1e-5, 0.05), k)
        names = ",".join(["t", *(f"{kind}{j + 1}" for kind in ("q", "tau") for j in range(log.n))])
        np.savetxt(file, np.column_stack([log.t, log.q, log.tau]), delimiter=",", header=names, comments="")
    recorded = lambda: Log.chunks(files, robot, rows=ROWS, degrees=False, time_unit="s")  # noqa: E731
    here = robot.identify(recorded())
    with (
        distributed.LocalCluster(3, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        Killer(cluster, seed=0) as killer,
    ):
        there = robot.identify(recorded(), engine="dask", address=client)
    assert killer.killed >= 2
    for one, other in zip(here.factors.R, there.factors.R, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(here.estimate.theta, there.estimate.theta)
    np.testing.assert_array_equal(here.estimate.intervals, there.estimate.intervals)
    assert str(here.verdict) == str(there.verdict)


class Dying:
    """Stands for a client whose scheduler gives a task up so many times."""

    def __init__(self, times: int) -> None:
        self.times = times

    def submit(self, function, *task, pure: bool) -> Dying:
        self.call = lambda: function(*task)
        return self

    def result(self):
        from distributed import KilledWorker

        self.times -= 1
        if self.times >= 0:
            raise KilledWorker("task", SimpleNamespace(address="tcp://it"), 3)  # type: ignore[arg-type]
        return self.call()


def test_a_task_outlives_its_workers_but_not_without_end() -> None:
    pytest.importorskip("distributed", reason="dask is not installed")
    assert Handed(Dying(ROUNDS - 1), divmod, (7, 2)).result() == (3, 1)
    with pytest.raises(DeviceError, match=f"handed out {ROUNDS} times, and its workers died each time: have they enough memory"):
        Handed(Dying(ROUNDS), divmod, (7, 2)).result()
    with pytest.raises(ZeroDivisionError):  # an error of the task itself is no dead worker
        Handed(Dying(0), divmod, (7, 0)).result()


def test_a_script_without_its_guard_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers read the script anew, call the same again and fail; Dask says only that they did."""
    distributed = pytest.importorskip("distributed", reason="dask is not installed")

    def failing(**_: object) -> None:
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", failing)
    with pytest.raises(InputError, match=r'no workers start on this machine .*below if __name__ == "__main__":'):
        next(in_cluster(divmod, [(7, 2)], None))
