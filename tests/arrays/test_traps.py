"""Traps of both libraries' interfaces: where each is met, and tests of those that no other test here meets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from qddot.errors import InputError
from tests.arrays.cases import arm, states

SRC = Path(__file__).parents[2] / "src"

MET = {
    "XLA: an unknown version of its interface, registered, stops its whole backend": "jax: versions_of_the_interface_are_read",
    "XLA: a target is never forgotten, its code must live as long": "jax: targets_are_named_by_content_and_outlive_their_robot",
    "XLA: a name is part of what is cached on disk": "torch: names_are_those_of_the_content",
    "XLA: its threads flush subnormal numbers to zero": "jax: subnormal_numbers_are_kept",
    "XLA: jit gathers what is spread over devices": "jax: shard_map",
    "XLA: a handler cannot raise, and nobody reads the processor's flags": "jax: the_handler_looks_before_it_reads",
    "XLA: nobody reads margins": "jax: a_singular_state_has_no_numbers",
    "XLA: float32 is the default": "jax: single_precision_stays_single",
    "XLA: a result may lie where an argument was": "traps: memory_given_away_is_read_before_it_is_written",
    "XLA: code with addresses in it is another one in each process": "traps: code_with_addresses_in_it_is_not_kept",
    "XLA: programs without inputs": "jax: a_robot_without_joints",
    "XLA: quaternions have two derivatives": "jax: quaternions_derivative_along_q_and_along_the_tangent",
    "PyTorch: jacfwd of a plain registration is zero": "torch: jacobians_by_transforms_are_the_exact_ones",
    "PyTorch: a plain autograd.Function stops its tracer, or drops tangents there": "torch: transforms_compiled",
    "PyTorch: the short way must not be taken where a tangent is followed": "torch: forward_mode_with_dual_numbers",
    "PyTorch: a boxed kernel cannot raise": "torch: the_operator_looks_before_it_reads",
    "PyTorch: Inductor needs a compiler, and ours none": "torch: compiled_by_inductor",
    "PyTorch: threads on small batches": "traps: threads_change_no_bit",
    "PyTorch: heavy to import": "kinds: nothing_is_imported_for_numpy_arrays",
}
"""What goes wrong, and the test that would see it: file and name, both after `test_`."""


def three(lead: tuple[int, ...]) -> list[np.ndarray]:
    given = states(arm(), lead)
    return [given[x] for x in ("q", "qd", "qdd")]


@pytest.mark.parametrize("trap", MET)
def test_each_is_met(trap):
    file, name = MET[trap].split(": ")
    assert f"\ndef test_{name}(" in (Path(__file__).parent / f"test_{file}.py").read_text()


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
@pytest.mark.parametrize("donated", [(0,), (2,), (0, 1, 2)])
def test_memory_given_away_is_read_before_it_is_written(donated):
    """XLA may put a result where an argument was; a kernel takes it that results and arguments do not overlap."""
    jax = pytest.importorskip("jax", reason="JAX is not installed: make test-arrays")
    jax.config.update("jax_enable_x64", True)
    numbers = three((500,))
    twice = jax.jit(lambda q, qd, qdd: arm().inverse_dynamics(q, qd, arm().inverse_dynamics(q, qd, qdd)), donate_argnums=donated)
    found = twice(*(jax.numpy.array(x) for x in numbers))
    expected = arm().inverse_dynamics(*numbers[:2], arm().inverse_dynamics(*numbers))
    assert np.array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_code_with_addresses_in_it_is_not_kept(library, tmp_path):
    """Addresses are new in every process: were such code kept, each process would leave files that nobody can use."""
    pytest.importorskip(library, reason=f"{library} is not installed: make test-arrays")
    make = {"torch": "import torch; z = torch.zeros(3, 2)", "jax": "import jax.numpy as jnp; z = jnp.zeros((3, 2))"}[library]
    text = f"import qddot; {make}; qddot.load('two_link').inverse_dynamics(z, z, z)"
    environment = {**os.environ, "PYTHONPATH": str(SRC), "QDDOT_CACHE": str(tmp_path)}
    counts = []
    for _ in range(2):
        subprocess.run([sys.executable, "-c", text], env=environment, check=True, timeout=300)
        counts.append(sum(path.is_file() for path in tmp_path.rglob("*")))
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize("count", [1, 15, 16, 17, 1000, 5003])
def test_threads_change_no_bit(count):
    """Small batches stay with one thread, large ones are cut at multiples of a vector."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-arrays")
    tensors, before = [torch.from_numpy(x) for x in three((count,))], torch.get_num_threads()
    expected = arm().inverse_dynamics(*three((count,)))
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            assert np.array_equal(arm().inverse_dynamics(*tensors).numpy(), expected)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_a_list_of_tensors_is_not_made_numpys(library):
    made = pytest.importorskip(library, reason=f"{library} is not installed: make test-arrays")
    with pytest.raises(InputError, match=r"q is a list, of which the first is a .*: (torch|jnp)\.stack\(q\)"):
        arm().gravity_torque([made.ones(()) for _ in range(7)])
    numbers = np.zeros((2, 7))
    assert arm().gravity_torque(list(numbers)).shape == (2, 7)


def test_a_cluster_is_not_for_jax():
    jax = pytest.importorskip("jax", reason="JAX is not installed: make test-arrays")
    with pytest.raises(InputError, match='engine="dask" is for NumPy arrays'):
        arm().rollout(engine="dask")(jax.numpy.zeros((1, 7)), None, None, steps=1)
