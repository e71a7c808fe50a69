"""Tasks on a Dask cluster: results come in order, and the number of submitted tasks is bounded.

A task is a pure function of its arguments: if its worker dies, the scheduler gives it to another worker, and nothing is lost. After
a few dead workers the scheduler blames the task and gives it up. Since workers may die for other reasons, the task is submitted
again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import count
from typing import Any

from qddot.errors import DeviceError, InputError, missing_extra

CONNECT = 5  # s to wait for a scheduler
AHEAD = 8  # tasks submitted per worker; the others wait
ROUNDS = 8  # times that a task is submitted, each until the scheduler gives it up, by default after four workers


def in_cluster(function: Callable, tasks: Iterable[tuple], address: Any) -> Iterator[Any]:
    """Yield `function(*task)` for each task, computed by the workers.

    `address`: of a scheduler, or a `distributed.Client`; None: a cluster on this machine, for the time of the call. Raises
    MissingExtraError: the extra `dist` is not installed; InputError: no scheduler answers at the address, or workers do not start;
    DeviceError: workers died each time that a task was submitted.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise missing_extra("distributed", "dist", "engine='dask'") from None
    if isinstance(address, Client):
        ahead = AHEAD * max(1, sum(address.nthreads().values()))  # type: ignore[union-attr]
        yield from window((Handed(address, function, task) for task in tasks), ahead)
    elif address is not None:
        try:
            client = Client(address, timeout=CONNECT)
        except (OSError, ValueError) as error:
            raise InputError(f"address={address!r}: no Dask scheduler answers there within {CONNECT} s ({error})") from None
        with client:
            yield from in_cluster(function, tasks, client)
    else:
        try:
            cluster = LocalCluster(threads_per_worker=1, dashboard_address=":0")
        except RuntimeError as error:
            guard = 'they read the script anew, so it calls this below if __name__ == "__main__":'
            raise InputError(f"engine='dask': no workers start on this machine ({error}): {guard}") from error
        with cluster, Client(cluster) as client:
            yield from in_cluster(function, tasks, client)


class Handed:
    """A submitted task, which is submitted again if its workers die."""

    def __init__(self, client: Any, function: Callable, task: tuple) -> None:
        self.submit = lambda: client.submit(function, *task, pure=False)
        self.future = self.submit()

    def result(self) -> Any:
        """Wait for the result; submit the task again if the scheduler gave it up."""
        from distributed import KilledWorker

        for turn in count(1):
            try:
                return self.future.result()
            except KilledWorker as error:
                if turn == ROUNDS:
                    message = f"a task was handed out {ROUNDS} times, and its workers died each time: have they enough memory?"
                    raise DeviceError(f"{message} ({error})") from None
                self.future = self.submit()
        raise AssertionError  # counting does not end


def window(futures: Iterator[Any], ahead: int) -> Iterator[Any]:
    """Yield results in order, with at most `ahead` tasks submitted at a time."""
    waiting: deque[Any] = deque()
    for future in futures:
        waiting.append(future)
        if len(waiting) >= ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


@cache
def seat() -> int:
    """Return this worker's number among the workers of its machine, from 0; to be called within a task."""
    from distributed import get_client, get_worker

    me, workers = get_worker().address, get_client().scheduler_info(n_workers=-1)["workers"]
    return sorted(address for address, x in workers.items() if x["host"] == workers[me]["host"]).index(me)
