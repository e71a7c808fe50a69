"""A rollout on a cluster: some motions a task, on a worker's processor or its GPU.

Motions do not know of each other, so the bits are those of one machine.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.cluster import in_cluster, seat
from qddot.errors import DeviceError, missing_extra
from qddot.rollout.start import Start, States

if TYPE_CHECKING:
    from qddot.rollout.rollout import Rollout

WORK = 200_000
"""Steps of one motion that make a task, at least: a task of tens of milliseconds."""


def spread(run: Rollout, start: Start, address: Any) -> States:
    """The states of all motions, in parts computed by the workers of a Dask cluster."""
    import cloudpickle  # comes with Dask, and takes laws that were written in a notebook

    how = {"method": run.method, "saturate": run.saturate, "stops": run.stops, "contacts": run.contacts}
    how |= {"constraints": run.constraints, "device": run.device}
    recipe = cloudpickle.dumps((run.robot, run.law, {"step": run.dt, **how}))
    count = int(np.prod(start.batch))
    size = max(1, min(-(-count // 2), WORK // start.count))
    parts = list(in_cluster(at_worker, ((recipe, part) for part in pieces(start, count, size)), address))
    joined = [np.concatenate(x, axis=1) for x in zip(*parts)]
    return States(*(x.reshape(len(x), *start.batch, x.shape[-1]) for x in joined))


def pieces(start: Start, count: int, size: int) -> Iterator[Start]:
    """The motions in one row, cut into pieces."""
    flat = lambda x: start.wide(x).reshape(count, x.shape[-1])  # noqa: E731
    q, qd, rest, control = flat(start.q), flat(start.qd), {name: flat(x) for name, x in start.rest.items()}, start.controls()
    if control is not None:
        control = control.reshape(start.count, count, -1) if start.changes else control.reshape(count, -1)
    for begin in range(0, count, size):
        some = slice(begin, min(begin + size, count))
        ours = None if control is None else control[:, some] if start.changes else control[some]
        own = {name: x[some] for name, x in rest.items()}
        yield start._replace(q=q[some], qd=qd[some], control=ours, rest=own, batch=(some.stop - some.start,))


def at_worker(recipe: bytes, part: Start) -> States:
    run = unpacked(recipe)
    return run.run(part) if run.device == "cpu" else there_and_back(run, part, seat())


def there_and_back(run: Rollout, part: Start, seat: int) -> States:
    """The states of NumPy arrays by a GPU: that of a worker's seat, where there are several. Raises MissingExtraError: without
    PyTorch, which holds the memory; DeviceError: PyTorch sees no GPU."""
    try:
        import torch
    except ImportError:
        raise missing_extra("torch", "torch", "device='cuda'") from None
    if not torch.cuda.is_available():
        raise DeviceError(
            "device='cuda': PyTorch sees no GPU here: install NVIDIA's driver and a PyTorch with CUDA, or leave the device out"
        )
    place = f"cuda:{seat % torch.cuda.device_count()}"
    given: dict[str, Any] = {"q0": part.q, "qd0": part.qd, "control": part.control, **part.rest}
    there: dict[str, Any] = {name: None if x is None else torch.from_numpy(np.array(x)).to(place) for name, x in given.items()}
    found = run(**there, steps=None if part.changes else part.count, every=part.every, check=part.check)
    return States(*(x.cpu().numpy() for x in found))


@lru_cache(maxsize=4)
def unpacked(recipe: bytes) -> Rollout:
    """Compiled once in a worker, not for every piece."""
    import cloudpickle

    from qddot.rollout.rollout import Rollout

    robot, law, how = cloudpickle.loads(recipe)
    return Rollout(robot, law, **how, threads=1)
