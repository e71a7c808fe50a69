"""Signals: derivatives against analytic ones, no phase, one filter on both sides, chunks as good as the whole."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot.errors import InputError
from qddot.identify.regression.excerpt import few
from qddot.identify.regression.signals import Signals, prepare
from qddot.identify.regression.stream import stream
from qddot.logs.log import Log
from qddot.logs.lowpass import LowPass, convolved
from tests.reference import RECORDINGS, needs_recordings

HARMONICS = np.arange(1, 6)


def fourier(t: np.ndarray, joints: int = 3, base: float = 0.1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, qd, qdd (N, n) of a finite Fourier series, as robots are excited by."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 5, joints)) / HARMONICS[:, None]
    w = 2 * np.pi * base * HARMONICS
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    return s @ a + c @ b, (c * w) @ a - (s * w) @ b, -(s * w**2) @ a - (c * w**2) @ b


def noisy(t: np.ndarray, sigma: float, measured: float | None = None, base: float = 0.1) -> Log:
    """A log of the Fourier series at these times."""
    rng = np.random.default_rng(4)
    q, qd, qdd = fourier(t, base=base)
    speed = None if measured is None else qd + measured * rng.normal(size=qd.shape)
    return Log(t, q + sigma * rng.normal(size=q.shape), 2 * qdd + qd, qd=speed)


def relative(found: np.ndarray, exact: np.ndarray) -> float:
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


def errors(signals: Signals, base: float = 0.1) -> list[float]:
    """Relative errors of q, qd, qdd."""
    exact = fourier(signals.t, base=base)
    return [relative(found, value) for found, value in zip((signals.q, signals.qd, signals.qdd), exact)]


def test_torques_of_an_excerpt_have_no_phase_at_its_ends() -> None:
    """A kernel that is cut there would shift them against positions: these would be off by 1.3 %, a steep torque by 5 N m."""
    excerpt = few(prepare(noisy(np.arange(20_000) / 1000, 1e-5)))
    assert excerpt.thinned > 1
    _, qd, qdd = fourier(excerpt.t)
    tau = 2 * qdd + qd
    assert np.abs(excerpt.tau_raw - tau).max() < 1e-3 * np.abs(tau).max()


@pytest.mark.parametrize(
    ("rate", "sigma", "bounds"),
    [
        (1000, 0.0, (1e-4, 1e-4, 2e-4)),
        (1000, 1e-5, (1e-4, 1e-4, 5e-4)),
        (1000, 1e-4, (1e-4, 3e-4, 5e-3)),
        (5000, 1e-4, (1e-4, 2e-4, 2e-3)),
        (100, 1e-5, (1e-4, 2e-4, 2e-3)),
        (30, 1e-5, (1e-4, 2e-4, 2e-3)),
    ],
)
def test_derivatives(rate: float, sigma: float, bounds: tuple[float, ...]) -> None:
    signals = prepare(noisy(np.arange(40 * rate) / rate, sigma))
    assert signals.velocity == "derivative"
    assert all(error < bound for error, bound in zip(errors(signals), bounds)), errors(signals)


def test_the_cut_off_follows_the_motion() -> None:
    t = np.arange(40_000) / 1000
    slow, fast = (prepare(noisy(t, 1e-4, base=base)).cutoff for base in (0.1, 1.0))
    assert 2 < slow < 4  # five times the fifth harmonic at 0.5 Hz
    assert 20 < fast < 40
    chosen = prepare(noisy(t, 1e-4))
    assert "Hz below which 99.9 % of the motion's power lies" in chosen.findings[0].message
    assert prepare(noisy(t, 1e-4), 7.0).cutoff == 7.0
    with pytest.raises(InputError, match="at most a quarter of the rate"):
        prepare(noisy(t, 1e-4), 300.0)
    with pytest.raises(InputError, match=r"no segment is as long as the 80 s .* \(a longer log, or a higher cutoff=\)"):
        prepare(noisy(t, 1e-4), 0.1)


def test_no_phase() -> None:
    """A bump comes out where it went in, and as high to the left as to the right."""
    bump = np.exp(-(((np.arange(2001) - 1000) / 100.0) ** 2))[:, None]
    low_pass = LowPass(1000.0, 10.0)
    out = convolved(bump, low_pass.smooth)[:, 0]
    assert np.argmax(out) + low_pass.half == 1000
    np.testing.assert_allclose(out, out[::-1], atol=1e-12)


def test_the_filter() -> None:
    low_pass = LowPass(1000.0, 10.0)
    response = lambda f: low_pass.smooth @ np.cos(2 * np.pi * f / 1000 * np.arange(-low_pass.half, low_pass.half + 1))  # noqa: E731
    assert response(0.0) == pytest.approx(1, abs=1e-14)
    assert all(abs(response(f) - 1) < 1e-4 for f in (0.5, 1.0, 2.0, 2.5))
    assert response(10.0) == pytest.approx(0.5, abs=1e-3)
    assert all(abs(response(f)) < 1e-4 for f in (17.5, 20.0, 50.0, 400.0))


@pytest.mark.parametrize("factor", [1, 2, 7, 31, 400])
@pytest.mark.parametrize("samples", [401, 402, 1000, 1234])
def test_decimated_is_every_nth_of_the_smoothed(factor: int, samples: int) -> None:
    low_pass = LowPass(1000.0, 10.0)
    x = np.random.default_rng(0).normal(size=(samples, 3))
    np.testing.assert_allclose(low_pass.decimated(x, factor), convolved(x, low_pass.smooth)[::factor], atol=1e-12)
    cube = np.broadcast_to(x[:, :, None], (samples, 3, 2))
    np.testing.assert_allclose(low_pass.decimated(cube, factor)[..., 1], low_pass.decimated(x, factor), atol=1e-14)


def test_both_sides_keep_the_model() -> None:
    """tau = Y pi at every sample stays so behind the filter, friction's jumps and a cut-off far too low included."""
    arm = qddot.load("puma560")
    t = np.arange(4000) / 200
    rng = np.random.default_rng(5)
    q, _, _ = fourier(t, arm.nv)
    log = Log(t, q, rng.normal(size=q.shape)) + Log(t[:2000], q[:2000][::-1], rng.normal(size=(2000, arm.nv)))
    signals = prepare(log, 1.0)
    regressor = np.concatenate(
        [arm.regressor(signals.q, signals.qd, signals.qdd), np.sign(signals.qd)[..., None] * np.eye(arm.nv)], -1
    )
    pi = rng.normal(size=regressor.shape[-1])
    left, right = signals.decimated(regressor @ pi), signals.decimated(regressor) @ pi
    assert relative(left, right) < 1e-12
    assert signals.decimated_segments[-1].stop == len(left)


def test_segments_never_mix() -> None:
    t = np.arange(3000) / 100
    q, _, _ = fourier(t)
    first, second = Log(t, q, q), Log(t, q + 100, q - 100)
    both, alone = prepare(first + second, 3.0), prepare(first, 3.0)
    np.testing.assert_array_equal(both.q[both.segments[0]], alone.q)
    np.testing.assert_allclose(both.qdd[both.segments[1]], alone.qdd, atol=1e-9)
    half = both.decimated_segments[0]
    np.testing.assert_array_equal(both.decimated(both.tau_raw)[half], alone.decimated(alone.tau_raw))
    short = first + second[:50]
    signals = prepare(short, 3.0)
    assert "1 of 2 segments are shorter than the filter: left out" in [f.message for f in signals.findings]
    assert len(signals.segments) == 1


def test_time_is_decimated_like_the_rest() -> None:
    signals = prepare(noisy(np.arange(4000) / 100, 1e-5))
    found, centres, half = signals.decimated(signals.t), np.array(signals.centres(0)), signals.low_pass.half
    whole = (centres >= half) & (centres < len(signals) - half)
    np.testing.assert_allclose(found[whole], signals.t[centres[whole]], atol=1e-10)
    assert (np.diff(found) > 0).all()
    assert signals.t[0] < found[0] < found[-1] < signals.t[-1]


def test_decimated_samples_reach_the_ends() -> None:
    """Cut kernels keep constants, and whatever else is linear in the signal."""
    signals = prepare(noisy(np.arange(4000) / 100, 1e-5))
    centres, factor = signals.centres(0), signals.factor
    assert centres[0] < factor
    assert centres[-1] >= len(signals) - factor
    np.testing.assert_allclose(signals.decimated(np.ones(len(signals))), 1, atol=1e-12)


def test_jittered_times() -> None:
    rng = np.random.default_rng(6)
    t = np.arange(8000) / 200 + rng.uniform(-0.2, 0.2, 8000) / 200
    signals = prepare(noisy(t, 1e-5))
    assert "times are uneven: cubic splines onto 200" in signals.findings[-1].message
    assert all(error < bound for error, bound in zip(errors(signals), (1e-4, 2e-4, 2e-3))), errors(signals)


def test_measured_velocities() -> None:
    t = np.arange(4000) / 100
    good = prepare(noisy(t, 1e-3, measured=1e-4))
    assert good.velocity == "measured"
    assert errors(good)[2] < 2e-3 < errors(prepare(noisy(t, 1e-3)))[2]
    assert prepare(noisy(t, 1e-6, measured=1e-2)).velocity == "derivative"
    wrong = noisy(t, 1e-4, measured=1e-5)
    late = Log(wrong.t[1:], wrong.q[1:], wrong.tau[1:], qd=wrong.qd[:-1] if wrong.qd is not None else None)
    signals = prepare(late)
    assert signals.velocity == "derivative"
    assert "delay 10 ms" in signals.findings[1].message
    assert prepare(late, velocity="measured").velocity == "measured"


@pytest.mark.parametrize("rows", [700, 1000, 4096])
def test_a_stream_is_the_whole(rows: int) -> None:
    log = noisy(np.arange(10_000) / 100, 1e-4)
    both = log[:6000] + noisy(np.arange(5000) / 100, 1e-4)
    chunks = [piece for part in (both[:6000], both[6000:]) for piece in (part[a : a + rows] for a in range(0, len(part), rows))]
    whole = prepare(both, 3.0, velocity="derivative")
    parts = list(stream(chunks, 3.0, velocity="derivative"))
    np.testing.assert_allclose(np.concatenate([s.decimated(s.tau_raw) for s in parts]), whole.decimated(whole.tau_raw), atol=1e-10)
    np.testing.assert_allclose(np.concatenate([s.decimated(s.qdd) for s in parts]), whole.decimated(whole.qdd), atol=1e-9)


def test_a_stream_too_short() -> None:
    with pytest.raises(InputError, match="no stretch of the log is long enough"):
        list(stream([noisy(np.arange(100) / 100, 0.0)], 1.0))


# real arms ------------------------------------------------------------------------------------------------------------


@needs_recordings
@pytest.mark.parametrize(
    ("path", "low", "high"),
    [
        ("ur10_unisa/ur10_exciting_trajectory.csv", 2, 10),
        ("ur10_unisa/panda_exciting_trajectory.csv", 2, 7.5),
        ("kuka_lwr4_flobaroid/measurements_1.npz", 2, 8),
        ("kuka_kr300/rec_A.mat", 4, 30),
    ],
)
def test_real_cut_offs(path: str, low: float, high: float) -> None:
    signals = prepare(Log.load(RECORDINGS / path))
    assert low < signals.cutoff < high
    assert len(signals.decimated(signals.tau_raw)) > 100


@needs_recordings
def test_tx40_at_5_khz() -> None:
    files = {"q": RECORDINGS / "tx40_figaroh" / "pos_read_data.csv", "tau": RECORDINGS / "tx40_figaroh" / "curr_data.csv"}
    signals = prepare(Log.load(files, rate=5000, degrees=False))
    assert 20 < signals.cutoff < 200
    assert signals.factor > 5


def test_positions_pass_unchanged_where_the_motion_is() -> None:
    low_pass = LowPass(1000.0, 3.0)
    k = np.arange(-low_pass.half, low_pass.half + 1)
    assert len(low_pass.flat) == len(k)
    for f in (0.1, 0.3, 0.6):  # up to a fifth of the cut-off
        assert abs(np.sum(low_pass.flat * np.cos(2 * np.pi * f / 1000 * k)) - 1) < 1e-8
