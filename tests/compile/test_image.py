"""Machine code that is loaded without LLVM: it is the same code, in memory that is never written and executed at once."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import qddot
from qddot.compile import cache, emit, image, llvm
from qddot.compile.llvm import this_computer
from qddot.compile.processor import identity

pytestmark = pytest.mark.skipif(not image.POSSIBLE, reason="code is loaded in this way on x86-64 under Linux only")

PARTS = """
declare double @sin(double)
declare double @ours(double)
@pointer = global ptr @twice
@count = internal global i64 40
define double @twice(double %x) nounwind {
  %y = fmul double %x, 2.0
  ret double %y
}
define double @outside(double %x) nounwind {
  %s = call double @sin(double %x)
  %y = call double @twice(double %s)
  %z = call double @ours(double %y)
  ret double %z
}
define ptr @address_of_ours() nounwind {
  ret ptr @twice
}
define ptr @address_outside() nounwind {
  ret ptr @sin
}
define ptr @address_in_a_variable() nounwind {
  %p = load ptr, ptr @pointer
  ret ptr %p
}
define i64 @counted() nounwind {
  %n = load i64, ptr @count
  %more = add i64 %n, 1
  store i64 %more, ptr @count
  ret i64 %more
}
"""


def loaded(text: str, known: dict[str, int] | None = None) -> image.Image:
    return image.Image(emit.object_file(text, this_computer(), 2, "small"), known or {})


def function(code: image.Image, name: str, result: type, *arguments: type):
    return ctypes.CFUNCTYPE(result, *arguments)(code.get_function_address(name))


def test_every_kind_of_reference_leads_where_it_should():
    ours = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x + 0.25)
    code = loaded(PARTS, {"ours": ctypes.cast(ours, ctypes.c_void_p).value or 0})
    assert function(code, "outside", ctypes.c_double, ctypes.c_double)(1.25) == 2 * math.sin(1.25) + 0.25
    assert function(code, "address_of_ours", ctypes.c_void_p)() == code.get_function_address("twice")
    assert function(code, "address_in_a_variable", ctypes.c_void_p)() == code.get_function_address("twice")
    assert function(code, "address_outside", ctypes.c_void_p)() == image.of_process("sin")
    assert [function(code, "counted", ctypes.c_int64)() for _ in range(2)] == [41, 42]


def modes(address: int) -> str:
    """What may be done with the memory at an address, such as `r-xp`; nothing if there is none."""
    for line in Path("/proc/self/maps").read_text("utf-8").splitlines():
        first, last = (int(x, 16) for x in line.split()[0].split("-"))
        if first <= address < last:
            return line.split()[1]
    return ""


def test_no_memory_is_written_and_executed_and_all_of_it_is_released():
    code = loaded(PARTS, {"ours": 1})
    first, variable = code.get_function_address("twice"), code.get_function_address("pointer")
    assert modes(first) == "r-xp"
    assert modes(variable) == "rw-p"
    del code
    gc.collect()
    assert modes(first) != "r-xp"


@pytest.mark.parametrize(
    "text",
    [
        "define void @f() {\nret void\n}",  # it may be unwound, by tables that nobody has registered
        "@x = thread_local global i64 0\ndefine ptr @f() nounwind {\nret ptr @x\n}",
        "declare void @no_such_function()\ndefine void @f() nounwind {\ncall void @no_such_function()\nret void\n}",
        "@x = internal global i64 1, align 8192\ndefine ptr @f() nounwind {\nret ptr @x\n}",
    ],
)
def test_what_is_unknown_is_refused(text):
    with pytest.raises(image.Unloadable):
        loaded(text)
    with pytest.raises(image.Unloadable):
        image.Image(b"\x7fELF and nothing more", {})


ROBOTS = ("two_link", "panda", "quadruped")


def results(robot: qddot.Robot) -> list[bytes]:
    rng = np.random.default_rng(3)
    q = robot.neutral() + np.zeros((130, robot.nq))
    qd, x = rng.normal(size=(2, 130, robot.nv))
    q += 0 if robot.nq > robot.nv else qd
    methods = robot.inverse_dynamics, robot.forward_dynamics, robot.inverse_dynamics_derivatives, robot.regressor
    found = [np.asarray(part) for f in methods for part in as_tuple(f(q, qd, x))]
    found += [np.asarray(part) for f in methods for part in as_tuple(f(q[0], qd[0], x[0]))]
    found += [robot.mass_matrix(q), robot.mass_matrix(q, dtype=np.float32), robot.mass_matrix(np.repeat(q, 2, 1)[:, ::2])]
    found += [robot.inverse_dynamics(*(np.resize(a, (20_000, a.shape[1])) for a in (q, qd, x)), threads=2)]
    return [a.tobytes() for a in found]


def as_tuple(found) -> tuple:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", ROBOTS)
def test_images_compute_the_bits_of_code_that_llvm_loads(name, monkeypatch):
    def never(*_):
        raise AssertionError("loaded by LLVM")

    with monkeypatch.context() as patch:
        patch.setattr(emit, "link", never)
        patch.setattr(llvm, "_shared", {})
        first = results(qddot.load(name))
    kept = dict(llvm._shared)
    linked, link = [], emit.link
    monkeypatch.setattr(image, "DISTANCES", ())  # as if the relocations of all code were unknown
    monkeypatch.setattr(emit, "link", lambda *given: linked.append(1) or link(*given))
    monkeypatch.setattr(llvm, "_shared", {})
    assert results(qddot.load(name)) == first
    assert linked
    KEPT.extend([kept, llvm._shared])  # kernels of other tests may still call them


KEPT: list[object] = []

SCRIPT = """
import os, sys
import numpy as np
import qddot
robot = qddot.load("panda")
q = np.full((200, 7), 0.1)
first = robot.forward_dynamics(q, q, q).tobytes() + robot.inverse_dynamics(q[0], q[0], q[0]).tobytes()
child = os.fork()
again = robot.forward_dynamics(q, q, q).tobytes() + robot.inverse_dynamics(q[0], q[0], q[0]).tobytes()
if not child:
    os._exit(first != again)
assert os.waitpid(child, 0)[1] == 0
print("llvmlite.binding" in sys.modules, hash(first) == hash(again))
"""


def test_a_process_that_finds_its_code_in_the_cache_does_not_load_llvm(tmp_path):
    environment = {**os.environ, cache.VARIABLE: str(tmp_path)}
    run = lambda: subprocess.check_output([sys.executable, "-c", SCRIPT], env=environment, text=True).split()  # noqa: E731
    assert [run(), run()] == [["True", "True"], ["False", "True"]]


ENDING = """
import threading, time
import numpy as np
import qddot
robot, n = qddot.load("quadruped"), 3_000_000
q, p, out = np.broadcast_to(robot.neutral(), (n, 19)), np.broadcast_to(np.ones(18), (n, 18)), np.empty(n)
def compute(states):
    robot.hamiltonian_of_momentum(q[:states], p[:states], out=out[:states], threads=1, check=False)
for states in (20, 20, 200):
    compute(states)
threading.Thread(target=compute, args=(n,), daemon=True).start()
time.sleep(0.05)
"""


def test_a_thread_may_compute_while_python_ends():
    """It does so without Python's lock, and so cannot be stopped: the code that kernels share must stay."""
    for _ in range(3):
        subprocess.run([sys.executable, "-c", ENDING], check=True)


TOGETHER = """
import sys, threading
import numpy as np
import qddot
sys.setswitchinterval(1e-6)
x = np.random.default_rng(0).normal(size=(3, 5, 2))
robots = [qddot.load("two_link") for _ in range(8)]
expected = [robot.inverse_dynamics(*x) for robot in robots][0]
start = threading.Barrier(8)
def compute(robot):
    start.wait()
    for _ in range(300):
        assert (robot.inverse_dynamics(*x) == expected).all()
threads = [threading.Thread(target=compute, args=(robot,)) for robot in robots]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_threads_may_need_the_general_entry_at_the_same_time():
    """Each may load it, and the code of all of them must stay: most of such processes crashed when one replaced the other."""
    for _ in range(6):
        subprocess.run([sys.executable, "-c", TOGETHER], check=True)


def test_what_follows_from_the_processors_words_is_not_kept(monkeypatch):
    """The cache holds what LLVM says, and not what qddot makes of it, which another version may see otherwise."""
    found = this_computer()
    monkeypatch.setattr(llvm, "computer", lambda *words: words)
    version, triple, cpu, features = llvm.this_computer.__wrapped__()
    assert (cpu, f"LLVM {version} for {triple}") == (found.cpu, found.maker)
    assert features["sse2"] is True


def test_a_processor_is_known_by_what_it_says():
    assert identity() == identity()
    assert ("avx512f" in this_computer().features.replace("-avx512f", "")) == (this_computer().vector_bytes == 64)
