"""Programs for GPUs: PTX for every quantity, accepted by the assembler where there is one; where there is a GPU, the CPU's bits."""

import ctypes
import itertools
import shutil
import subprocess
from types import SimpleNamespace

import llvmlite.binding as llvm
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qddot
from qddot.algorithms.quantities import QUANTITIES
from qddot.compile import cache
from qddot.compile.gpu import device_kernel, driver, thread, thread_ir
from qddot.compile.gpu.amd import code_object
from qddot.compile.gpu.anew import halves
from qddot.compile.gpu.device_kernel import DeviceKernel, Rows
from qddot.compile.gpu.dialects import AMD
from qddot.compile.gpu.loop_kernel_ir import loop_source
from qddot.compile.gpu.order import fewest_waiting, most_waiting
from qddot.compile.gpu.ptx import architecture, ptx
from qddot.compile.gpu.start_ir import load_starter
from qddot.compile.gpu.thread import WAITING, WORTH, Repeating, Shape, Source
from qddot.compile.gpu.thread_ir import ThreadKernel, source
from qddot.compile.gpu.windows import room_of, windows
from qddot.compile.lanes import Lanes
from qddot.compile.trace import complete, trace
from qddot.errors import DeviceError
from qddot.graph.expr import Expr, Trace
from qddot.graph.program import Input, Output, Program
from qddot.rollout import PDLaw
from tests.robots import CLASSIC
from tests.taking_turns import CPU, Turns

REALS = {"float": np.float32, "double": np.float64}
FEW = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "regressor", "christoffel")


def program_of(robot, quantity, real):
    return trace(robot.model, [complete(quantity, {}, lambda: robot.frame_names[-1])], REALS[real])


def assembled(text: str, folder) -> str:
    """What `ptxas` says; skips where there is none."""
    assembler = shutil.which("ptxas")
    if assembler is None:
        pytest.skip("no ptxas on the PATH: PTX was generated, and is not assembled")
    path = folder / "kernel.ptx"
    path.write_text(text)
    done = subprocess.run([assembler, "-arch=sm_90", "-v", path, "-o", folder / "kernel.cubin"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("quantity", FEW)
def test_ptx_is_assembled(quantity, real, tmp_path):
    code = source(program_of(qddot.load("two_link"), quantity, real), real, Shape())
    text = ptx(code.text, (9, 0))
    assert f".maxntid {code.threads}" in text
    assert "registers" in assembled(text, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSIC)
def test_every_quantity_of_every_robot_is_assembled(name, tmp_path):
    robot = qddot.load(name)
    values = dict.fromkeys(robot.symbols, 1.0)
    robot = robot.subs(values) if values else robot
    for quantity in QUANTITIES:
        program = program_of(robot, quantity, "float")
        if any(0 in x.shape for x in (*program.inputs, *program.outputs)):
            continue
        for shape in (Shape(), Shape(element_major=True)):
            assembled(ptx(source(program, "float", shape).text, (9, 0)), tmp_path)


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize(
    ("method", "stops"), [("semi_implicit", False), ("rk4", False), ("semi_implicit", True), ("variational", False)]
)
def test_rollouts_are_assembled(method, stops, real, tmp_path):
    step = qddot.load("cart_pole").rollout(PDLaw(10.0, 1.0), method=method, stops=stops).step(2, False)
    kept = (0, 2) if method == "variational" else (0, 1)
    code = loop_source(step.program(np.dtype(REALS[real]), in_stages=True), real, kept, Shape())
    assert "registers" in assembled(ptx(code.text, (9, 0)), tmp_path)


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1100"])
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("quantity", ["forward_dynamics", "mass_matrix"])
def test_code_for_amd(quantity, real, processor):
    """Assembled, though no such card is here: an ELF file for the machine AMDGPU."""
    program = program_of(qddot.load("two_link"), quantity, real)
    code = code_object(source(program, real, Shape(), AMD).text, processor)
    assert code[:4] == b"\x7fELF"
    assert int.from_bytes(code[18:20], "little") == 224
    assert b"qddot.kd" in code


def test_rollouts_for_amd():
    step = qddot.load("two_link").rollout(PDLaw(10.0, 1.0), method="rk4").step(2, False)
    text = loop_source(step.program(np.dtype(np.float32), in_stages=True), "float", (0, 1), Shape(), AMD).text
    assert b"qddot.kd" in code_object(text, "gfx90a")


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics_derivatives"])
def test_an_order_in_which_fewer_values_wait(quantity):
    """Every node once, after what it needs; where registers would not do, fewer wait than as made."""
    kernel = ThreadKernel(program_of(qddot.load("arm7"), quantity, "float"), Lanes(1, "float"), Shape())
    results = [x for output in kernel.outputs for x in output.values if x.__class__ is Expr]
    made = sorted(kernel.in_order(results), key=lambda node: node.number)
    operands = {n: [a for a in dict.fromkeys(kernel.operands(n)) if a in set(made)] for n in made}
    order = fewest_waiting(made, operands)
    place = {node: k for k, node in enumerate(order)}
    assert sorted(order, key=lambda node: node.number) == made
    assert all(place[a] < place[node] for node in made for a in operands[node])
    assert most_waiting(order, operands) <= most_waiting(made, operands)
    most, chosen = most_waiting(made, operands), kernel.in_order(results)
    assert chosen == (order if most > WAITING["float"] and most_waiting(order, operands) <= WORTH * most else made)


def loaded(text):
    """A kernel's text as a function of inputs and outputs, thread after thread on the CPU: the state noted as wrong, or None."""
    kernel = Turns(text)

    def run(inputs, outputs):
        worst = ctypes.c_uint64(2**64 - 1)
        rows = [n for x in inputs for n in (x.ctypes.data, x.shape[1])]
        kernel.run(1, len(inputs[0]), [len(inputs[0]), *rows, *(x.ctypes.data for x in outputs), ctypes.addressof(worst)])
        return None if worst.value == 2**64 - 1 else worst.value

    return run


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize(
    ("name", "quantity", "many"),
    [("puma560", "forward_dynamics_derivatives", 80), ("two_link", "regressor", 5), ("two_link", "inverse_dynamics", 5)],
)
def test_a_kernels_text_has_the_cpus_bits(name, quantity, many, real, monkeypatch):
    """Whatever is made again, and in whichever order: the text of a kernel, compiled for the CPU. It notes what is no number."""
    monkeypatch.setattr(thread, "MANY", {"float": many, "double": many})
    monkeypatch.setattr(thread_ir, "FREELY", Repeating(10, 1.0))
    robot = qddot.load(name)
    program = program_of(robot, quantity, real)
    kernel = ThreadKernel(program, Lanes(1, real), Shape(element_major=True), CPU)
    text = kernel.source().text
    assert thread.ANEW in text
    run = loaded(text)
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(5, x.size)).astype(REALS[real]) for x in program.inputs]
    outputs = [np.full((x.size, 5), np.nan, REALS[real]) for x in kernel.outputs]
    wanted = getattr(robot, quantity)(*inputs, dtype=REALS[real])
    assert run(inputs, outputs) is None
    for found, want in zip(outputs, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        np.testing.assert_array_equal(found.T, want.reshape(5, -1))
    for bad, x in itertools.product((np.nan, np.inf, np.finfo(REALS[real]).max), inputs):
        x[3, 1], before = bad, x[3, 1]  # of the second joint, on which everything depends: a last link may be symmetric
        noted = run(inputs, outputs)
        assert noted == (None if all(np.isfinite(found).all() for found in outputs) else 3)
        assert noted == 3 or np.isfinite(bad)
        x[3, 1] = before


@pytest.mark.parametrize("real", REALS)
def test_angles_of_points(real, tmp_path):
    """atan2 is code of our own on a GPU: the library's to two units in the last place, in every direction and on the axes."""
    dtype, recorder = REALS[real], Trace(float(np.finfo(REALS[real]).eps))
    angle = recorder.atan2(recorder.variable(0, 0), recorder.variable(1, 0))
    program = Program("angle", (Input("y", (1,)), Input("x", (1,))), (Output("angle", (1,), (angle,)),))
    run = loaded(ThreadKernel(program, Lanes(1, real), Shape(element_major=True), CPU).source().text)
    rng = np.random.default_rng(0)
    direction, distance = rng.uniform(-np.pi, np.pi, 4000), 10.0 ** rng.uniform(-30, 30, 4000)
    corners = np.array(list(itertools.product([0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30, np.sqrt(2) - 1], repeat=2))).T
    points = np.concatenate([distance * [np.sin(direction), np.cos(direction)], corners], axis=1).astype(dtype)
    found, wanted = np.empty((1, points.shape[1]), dtype), np.arctan2(*points.astype(float))
    assert run([points[:1].T.copy(), points[1:].T.copy()], [found]) is None
    assert np.all(np.abs(found[0] - wanted) <= 2 * np.spacing(np.abs(wanted).astype(dtype)))
    assert np.array_equal(np.signbit(found[0]), np.signbit(wanted))
    for bad in (np.nan, np.inf, np.finfo(dtype).max):
        assert run([np.full((1, 1), bad, dtype)] * 2, [found]) == 0
    assert "registers" in assembled(ptx(source(program, real, Shape()).text, (9, 0)), tmp_path)
    assert code_object(source(program, real, Shape(), AMD).text, "gfx90a")


def test_what_is_made_again():
    """Every value is there when it is needed, and fewer wait."""
    kernel = ThreadKernel(program_of(qddot.load("arm7"), "forward_dynamics_derivatives", "float"), Lanes(1, "float"), Shape())
    results = [x for output in (*kernel.outputs, *kernel.program.outputs[-1:]) for x in output.values]
    made, operands, wanted = kernel.needed(results)
    found = halves(made, operands, wanted, 24, 10)
    there: set[Expr] = set()
    for k, order in enumerate((found.first, found.second)):
        for node in order:
            assert there.issuperset(operands[node])
            there.add(node)
        assert k or found.kept <= there
        there = set(found.kept) if k == 0 else there
    assert wanted <= {*found.first, *found.second}
    assert set(found.first) & set(found.second)
    assert found.waiting < 0.75 * most_waiting(made, operands)


@pytest.mark.parametrize(("likes", "spilled", "chosen"), [(224, 48, 168), (224, 400, 0), (150, 0, 128), (96, 0, 0)])
def test_fewer_registers_are_chosen_once(monkeypatch, tmp_path, likes, spilled, chosen):
    """Where next to nothing goes to memory for it; another process finds the choice on disk."""
    monkeypatch.setenv("QDDOT_CACHE", str(tmp_path / "cache"))
    tried = []

    def compiled(where, code):
        tried.append(limit := int(code.text.split()[-1]))
        found = {driver.REGISTERS: limit or likes, driver.LOCAL_BYTES: spilled if limit else 0}
        return code, SimpleNamespace(attribute=found.__getitem__, limit=limit)

    monkeypatch.setattr(device_kernel, "compiled", compiled)
    shaped = lambda shape: Source(f"kernel {shape.registers or 0}", 128, 0)  # noqa: E731
    where = SimpleNamespace(name="a device")
    assert device_kernel.fitted(where, shaped, Shape())[1].limit == chosen
    assert tried[0] == 0
    tried.clear()
    assert device_kernel.fitted(where, shaped, Shape())[1].limit == chosen
    assert tried == [chosen]


@pytest.mark.parametrize(("capability", "name"), [((5, 0), "sm_50"), ((8, 8), "sm_87"), ((9, 0), "sm_90"), ((12, 1), "sm_90")])
def test_newer_devices_run_code_for_older_ones(capability, name):
    assert architecture(capability) == name


def test_a_device_that_is_too_old():
    with pytest.raises(DeviceError, match=r"compute capability 3\.5 is older than 5\.0"):
        architecture((3, 5))


def test_no_product_is_fused_but_those_that_the_cpu_fuses():
    """The driver may contract what is not said to be rounded."""
    text = ptx(source(program_of(qddot.load("arm7"), "inverse_dynamics", "float"), "float", Shape()).text, (9, 0))
    assert "mul.rn.f32" in text
    loose = ("mul.f32", "add.f32", "sub.f32", "div.full", "div.approx")
    assert not any(line.strip().startswith(loose) for line in text.splitlines())


@given(st.lists(st.integers(1, 300), min_size=1, max_size=5), st.integers(3, 200))
def test_windows_hold_every_column_once(sizes, most):
    outputs = [Output(f"x{k}", (n,), tuple(float(i + 1000 * k) for i in range(n))) for k, n in enumerate(sizes)]
    found = windows(outputs, most)
    held = []
    for window in found:
        assert sum(piece.pitch for piece in window.pieces) <= most
        at = 0
        for piece, values in zip(window.pieces, window.values, strict=True):
            columns = range(piece.start, piece.start + piece.count)
            assert values == outputs[piece.output].values[columns.start : columns.stop]
            assert piece.at == at  # no two pieces share a place
            assert np.gcd(piece.pitch, 32) <= 2  # and no more than two rows a bank
            held += [(piece.output, k) for k in columns]
            at += piece.pitch
    assert sorted(held) == [(k, i) for k, n in enumerate(sizes) for i in range(n)]
    assert room_of(found) <= most


def test_without_a_driver_the_error_says_so(monkeypatch):
    monkeypatch.setattr(driver, "LIBRARY", "libnosuchdriver.so")
    driver.driver.cache_clear()
    with pytest.raises(DeviceError, match="no NVIDIA driver is installed here"):
        driver.driver()
    driver.driver.cache_clear()


def test_kernels_are_kept_on_disk_and_never_trusted_when_damaged(monkeypatch, tmp_path):
    """In the cache of machine code, under its rules (tests/compile/test_cache.py)."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    text, read = source(program_of(qddot.load("two_link"), "mass_matrix", "double"), "double", Shape()).text, llvm.parse_assembly
    first, compiled = ptx(text, (9, 0)), []
    monkeypatch.setattr(llvm, "parse_assembly", lambda text: compiled.append(text) or read(text))
    assert ptx(text, (9, 0)) == first
    assert not compiled
    (entry,) = cache.entries()
    entry.write_bytes(entry.read_bytes()[:-1] + b"x")
    assert ptx(text, (9, 0)) == first
    assert len(compiled) == 1
    assert ".target sm_80" in ptx(text, (8, 0))  # and another device has an entry of its own
    assert len(compiled) == 2


@pytest.mark.parametrize(
    ("code", "fix"), [(2, "split the batch"), (100, "nvidia-smi"), (222, "update it"), (700, "an earlier kernel of this process")]
)
def test_errors_of_the_driver_become_ours(monkeypatch, code, fix):
    """No memory, no device, an old driver; and what an earlier kernel did, which shows in any later call."""

    def says(number, place):
        ctypes.cast(place, ctypes.POINTER(ctypes.c_char_p))[0] = b"it does not work"

    monkeypatch.setattr(driver, "driver", lambda: SimpleNamespace(cuCtxSynchronize=lambda: code, cuGetErrorString=says))
    with pytest.raises(DeviceError, match=rf"cuCtxSynchronize: it does not work \(CUDA error {code}\): .*{fix}"):
        driver.call("cuCtxSynchronize")


@pytest.mark.parametrize(("current", "refused"), [(7, 0), (8, 0), (0, 0), (8, 201)])
@pytest.mark.parametrize("outcome", [0, 700])
def test_a_launch_in_the_context_of_its_device(current, refused, outcome):
    """Machine code against a driver of ours: at once where the context is current, else between a push and a pop."""
    said = []

    def get(place):
        place[0] = current
        return 0

    def push(context):
        said.append(("push", context))
        return refused

    def pop(place):
        said.append("pop")
        return 0

    def launch(*given):
        said.append(given)
        return outcome

    P, N = ctypes.c_void_p, ctypes.c_uint32
    kinds = ([ctypes.POINTER(P)], [P], [P], [P, *7 * [N], P, P, P])
    calls = [ctypes.CFUNCTYPE(ctypes.c_int, *kind)(call) for kind, call in zip(kinds, (get, push, pop, launch), strict=True)]
    start = load_starter(*(ctypes.cast(x, P).value for x in calls))
    arguments = (P * 2)()
    code = start(P(11), P(7), 5, 128, 4096, 22, arguments)
    launched = (11, 5, 1, 1, 128, 1, 1, 4096, 22, ctypes.addressof(arguments), None)
    wanted = [launched] if current == 7 else [("push", 7), launched, "pop"] if not refused else [("push", 7)]
    assert (said, code) == (wanted, refused or outcome)


@pytest.fixture(scope="module")
def gpu():
    try:
        where = driver.device(0)
    except DeviceError as error:
        pytest.skip(f"no GPU here: {error}")
    return where, pytest.importorskip("torch", reason="PyTorch holds the memory of this test")


def told(kernel):
    """What the kernel has noted, after it has ended."""
    driver.wait(kernel.device, 0)
    return kernel.now.take()


@pytest.mark.parametrize("quantity", [*FEW, "inverse_dynamics_derivatives", "forward_dynamics_derivatives", "jacobian"])
def test_the_cpus_bits(gpu, quantity):
    """In both precisions, in every layout, of batches that fill a warp and such that do not."""
    where, torch = gpu
    robot = qddot.load("arm7")
    for real, shape in itertools.product(REALS, [Shape(), Shape(element_major=True), Shape(shared=10 << 10)]):
        program = program_of(robot, quantity, real)
        kernel = DeviceKernel(program, np.dtype(REALS[real]), where, shape)
        for states in (1, 31, 32, 33, 1000):
            rng = np.random.default_rng(states)
            drawn = [rng.normal(size=(states, x.size)).astype(REALS[real]) for x in program.inputs]
            inputs = [torch.from_numpy(x).cuda() for x in drawn]
            results = [torch.full((states, x.size), np.nan, dtype=inputs[0].dtype, device="cuda") for x in program.shown]
            torch.cuda.synchronize()
            kernel.launch(states, [Rows(x.data_ptr(), x.shape[1]) for x in inputs], [x.data_ptr() for x in results])
            assert told(kernel) is None, (real, shape, states)
            wanted = getattr(robot, quantity)(*drawn, dtype=REALS[real])
            for x, found, want in zip(program.shown, results, wanted if isinstance(wanted, tuple) else (wanted,)):
                got = found.cpu().numpy()
                got = got.reshape(x.size, states).T if shape.element_major else got
                np.testing.assert_array_equal(got, want.reshape(states, -1), err_msg=f"{real}, {shape}, {states} states")


def test_a_state_without_a_result_is_named(gpu):
    where, torch = gpu
    program = program_of(qddot.load("arm7"), "mass_matrix", "double")
    kernel = DeviceKernel(program, np.dtype(float), where)
    q = torch.zeros((1000, 7), dtype=torch.float64, device="cuda")
    q[777, 3] = float("nan")
    out = torch.empty((1000, 49), dtype=torch.float64, device="cuda")
    torch.cuda.synchronize()
    kernel.launch(1000, [Rows(q.data_ptr(), 7)], [out.data_ptr()])
    assert told(kernel) == 777
    kernel.launch(1, [Rows(q.data_ptr(), 0)], [out.data_ptr()])
    assert told(kernel) is None
