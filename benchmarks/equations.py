"""Closed forms: the mass matrix, all Christoffel symbols and the gravity forces, with every parameter a symbol.

    .venv/bin/python benchmarks/equations.py              prints a table, writes benchmarks/equations.json
    .venv/bin/python benchmarks/equations.py --sympy-4r   SymPy derives a 4R arm too (minutes)

Two kinds of arms: robots of the catalog whose numbers become symbols (`equations("all")`: mass, first and second moments about the
joint, offsets, gravity), and general arms built by `qddot.from_dh`, where each mass, centre of mass, tensor entry and length is
a SymPy symbol. Every run starts from a freshly loaded robot. Beside them SymPy derives planar arms by Lagrange and simplifies; the
same arms, with the same symbols, stand among ours, and both results must be equal. General arms are beyond its `simplify`.
Times are of the processor: all of this runs on one core, and neighbours on it do not count.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import sympy

import qddot

TARGETS = {"3R": 5e-3, "Puma 560": 50e-3, "6R": 50e-3, "7R": 0.2}
RUNS = 15
TWISTS = {"2R": (0, 0), "3R": (1, 0, 0), "6R": (1, 0, -1, 1, -1, 0), "7R": (1, -1, 1, -1, 1, -1, 0)}  # quarter turns


def general_arm(twists: tuple[int, ...]) -> qddot.Robot:
    """Links with ten inertial symbols each, offsets a and d, gravity g."""
    symbol = lambda name: sympy.Symbol(name, real=True)  # noqa: E731
    rows, inertias = [], []
    for i, twist in enumerate(twists, 1):
        rows.append((symbol(f"a{i}"), twist * sympy.pi / 2, symbol(f"d{i}"), 0))
        com, tensor = (f"x{i}", f"y{i}", f"z{i}"), (f"Ixx{i}", f"Ixy{i}", f"Ixz{i}", f"Iyy{i}", f"Iyz{i}", f"Izz{i}")
        inertias.append(qddot.Inertia(symbol(f"m{i}"), list(map(symbol, com)), list(map(symbol, tensor))))
    return qddot.from_dh(rows, inertias=inertias, gravity=(0, 0, -symbol("g")))


def measured(load: Callable[[], qddot.Robot], parameters: str) -> dict[str, float]:
    """Seconds: best and median of the whole, and medians of its parts."""
    parts: dict[str, list[float]] = {"setup": [], "M": [], "christoffel": [], "g": [], "total": []}
    terms = 0
    for _ in range(RUNS):
        robot = load()
        times = [time.process_time()]
        equations = robot.equations(parameters)
        times.append(time.process_time())
        for quantity in ("mass_matrix", "christoffel", "gravity_torque"):
            getattr(equations, quantity)
            times.append(time.process_time())
        for name, start, end in zip(parts, times, times[1:]):
            parts[name].append(end - start)
        parts["total"].append(times[-1] - times[0])
        terms = equations.M.terms
    return {"best": min(parts["total"]), **{name: statistics.median(x) for name, x in parts.items()}, "terms of M": terms}


def ours() -> dict[str, dict[str, float]]:
    catalog = {"2R: two_link": "two_link", "Puma 560": "puma560", "7R: arm7": "arm7"}
    found = {f"{title}, all symbols": measured(lambda name=name: qddot.load(name), "all") for title, name in catalog.items()}
    for title, twists in TWISTS.items():
        found[f"{title} general, all symbols"] = measured(lambda twists=twists: general_arm(twists), "given")
    for joints in (2, 3, 4):
        found[f"planar {joints}R, as SymPy has it"] = measured(lambda joints=joints: planar_arm(joints), "given")
    return found


def latex() -> dict[str, float]:
    """Seconds for the text of M of the Puma 560, all symbols, M itself computed before."""
    M = qddot.load("puma560").equations("all").M
    start = time.process_time()
    M.latex()
    return {"total": time.process_time() - start}


def planar_arm(joints: int) -> qddot.Robot:
    """The arm that SymPy gets: rods in a vertical plane, a symbol for each mass, length, centre of mass and moment of inertia."""
    m, length, r, inertia = planar_symbols(joints)
    rows = [(length[i], 0, 0, 0) for i in range(joints)]
    bodies = [qddot.Inertia(m[i], (r[i] - length[i], 0, 0), (0, 0, inertia[i])) for i in range(joints)]
    return qddot.from_dh(rows, inertias=bodies, gravity=(0, -sympy.Symbol("g", positive=True), 0))


def planar_symbols(joints: int) -> list[tuple[sympy.Symbol, ...]]:
    return [sympy.symbols(f"{name}1:{joints + 1}", positive=True) for name in ("m", "L", "r", "I")]


def by_sympy(joints: int) -> dict[str, float]:
    """Seconds SymPy takes for M, the Christoffel symbols and g of the planar arm: Lagrange, then `simplify` of every entry. They
    must be ours."""
    m, length, r, inertia = planar_symbols(joints)
    q, qd = (sympy.symbols(f"{name}1:{joints + 1}", real=True) for name in ("q", "qd"))
    gravity = sympy.Symbol("g", positive=True)
    start = time.process_time()
    kinetic, potential, x, y, angle = (sympy.Integer(0),) * 5
    rate = lambda f: sum(sympy.diff(f, a) * v for a, v in zip(q, qd))  # noqa: E731
    for i in range(joints):
        angle = angle + q[i]
        cx, cy = x + r[i] * sympy.cos(angle), y + r[i] * sympy.sin(angle)
        kinetic += m[i] * (rate(cx) ** 2 + rate(cy) ** 2) / 2 + inertia[i] * rate(angle) ** 2 / 2
        potential += m[i] * gravity * cy
        x, y = x + length[i] * sympy.cos(angle), y + length[i] * sympy.sin(angle)
    n = range(joints)
    M = [[sympy.simplify(sympy.diff(kinetic, qd[i], qd[j])) for j in n] for i in n]
    g = [sympy.simplify(sympy.diff(potential, q[i])) for i in n]
    christoffel = {
        (i, j, k): sympy.simplify((sympy.diff(M[k][j], q[i]) + sympy.diff(M[k][i], q[j]) - sympy.diff(M[i][j], q[k])) / 2)
        for i in n
        for j in range(i + 1)
        for k in n
    }
    seconds = time.process_time() - start
    ours = planar_arm(joints).equations()
    assert [[ours.read(x) for x in row] for row in M] == ours.M
    assert ours.g == [ours.read(x) for x in g]
    assert all(ours.christoffel[at] == ours.read(x) for at, x in christoffel.items())
    return {"total": seconds}


def shown(seconds: float) -> str:
    return f"{seconds * 1e3:9.2f} ms" if seconds < 1 else f"{seconds:9.2f} s "


def main() -> None:
    warnings.simplefilter("ignore")
    general_arm((0,)).equations().mass_matrix  # noqa: B018  imports are not what is measured
    results: dict[str, dict[str, float]] = ours()
    head = ("best", "total", "setup", "M", "christoffel", "g")
    print(f"{'':32}" + "".join(f"{name:>12}" for name in head) + f"{'terms':>8}")
    for title, row in results.items():
        target = next((limit for key, limit in TARGETS.items() if title.startswith(key)), None)
        verdict = "" if target is None else f"  target {target * 1e3:g} ms " + ("met" if row["total"] <= target else "MISSED")
        print(f"{title:32}" + "".join(shown(row[name]) for name in head) + f"{row['terms of M']:8.0f}" + verdict)
    others = {"LaTeX of M, Puma 560": latex}
    for n in (2, 3, 4) if "--sympy-4r" in sys.argv else (2, 3):
        others[f"SymPy simplifies planar {n}R"] = lambda n=n: by_sympy(n)
    for title, job in others.items():
        results[title] = job()
        print(f"{title:32}{shown(results[title]['total']):>12}", flush=True)
    Path(__file__).with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
