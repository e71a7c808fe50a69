"""A rollout on a cluster: each task computes some of the motions, on a worker's processor or its GPU.

Motions are independent, so the bits are those of one machine.
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
"""Motions times steps in one task: a task then takes tens of milliseconds."""


def spread(run: Rollout, start: Start, address: Any) -> States:
    """Return the states of all motions, computed in parts by the workers of a Dask cluster."""
    import cloudpickle  # a dependency of Dask; it also pickles laws that are defined in a notebook

    how = {"method": run.method, "saturate": run.saturate, "stops": run.stops, "contacts": run.contacts}
    how |= {"constraints": run.constraints, "device": run.device}
    recipe = cloudpickle.dumps((run.robot, run.law, {"step": run.dt, **how}))
    count = int(np.prod(start.batch))
    size = max(1, min(-(-count // 2), WORK // start.count))
    parts = list(in_cluster(at_worker, ((recipe, part) for part in pieces(start, count, size)), address))
    joined = [np.concatenate(x, axis=1) for x in zip(*parts)]
    return States(*(x.reshape(len(x), *start.batch, x.shape[-1]) for x in joined))


def pieces(start: Start, count: int, size: int) -> Iterator[Start]:
    """Yield the motions, with one batch dimension, in pieces of `size`."""
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
    """Return the states of one piece, in a worker."""
    run = unpacked(recipe)
    return run.run(part) if run.device == "cpu" else there_and_back(run, part, seat())


def there_and_back(run: Rollout, part: Start, seat: int) -> States:
    """Return the states as NumPy arrays, computed by a GPU; of several, the one with the number `seat`. Raises MissingExtraError:
    there is no PyTorch, which manages the memory; DeviceError: PyTorch sees no GPU."""
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
    """Return the rollout; cached, so that a worker compiles once and not for every piece."""
    import cloudpickle

    from qddot.rollout.rollout import Rollout

    robot, law, how = cloudpickle.loads(recipe)
    return Rollout(robot, law, **how, threads=1)
