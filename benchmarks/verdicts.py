"""What a fit says of logs in which something is wrong: is it noticed, and rightly named? And do intervals hold the truth?

    python benchmarks/verdicts.py [--seeds 8] [--clean 50] [--arms two_link arm3 ur5 panda] [--only NAME] [--processes 2]
                                  [--seconds 280] [--json cases.json]

With `--json`, cases that stand there already are not tried again: a run that was cut short goes on.

Each corruption (`corruptions.py`) is done to a simulated log with noise; the verdict's first serious concern is compared with the
names that fit. A corruption that is not refused is harmful where torques of another motion are off by more than 5 %. Of logs that
are not refused, 95 % intervals are counted that hold the true parameter: all of them, or those of the links where the arm has
friction with parameters of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Iterator
from multiprocessing import Pool
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from corruptions import CORRUPTIONS, Corruption, World, series, world

from qddot.identify import Fit
from qddot.model.friction import OTHER_WAY

HARM = 0.05
ARMS = ("two_link", "arm3", "ur5", "panda")


def harm(w: World, fit: Fit) -> float:
    """Part of the torques of another motion that the fit misses."""
    motion = series(w.robot, np.arange(2000) / 100, seed=99)
    tau = w.torque(*motion)
    return float(np.linalg.norm(fit.predict(*motion) - tau) / np.linalg.norm(tau))


def covered(w: World, fit: Fit, links: bool) -> tuple[int, int]:
    """How many of how many intervals hold the truth; `links`: of those that hold parameters of links and rotors only."""
    known = dict(zip(w.parameter_set.names, w.theta))
    known |= {f"{name}{OTHER_WAY}": known[name] for name in known if name.endswith((".viscous", ".coulomb"))}  # the same both ways
    true = np.array([known.get(name, 0.0) for name in fit.parameter_set.names])
    if w.more is not None and not links:
        return 0, 0  # a load, which is part of a link
    owners = [name.rpartition(".") for name in fit.base.names]
    friction = np.array([owner in w.robot.joint_names and kind != "armature" for owner, _, kind in owners])
    low, high = fit.estimate.intervals.T
    value = fit.base.K @ true
    inside = ((low <= value) & (value <= high))[~friction if links else slice(None)]
    return int(inside.sum()), len(inside)


def tried(asked: tuple[str, str, int]) -> dict[str, Any]:
    """One case."""
    warnings.simplefilter("ignore")
    name, arm, seed = asked
    corruption: Corruption = CORRUPTIONS[name]
    begun, found = time.process_time(), {"corruption": name, "arm": arm, "seed": seed}
    w = corruption.change(world(arm, seed))
    try:
        fit = w.given.identify(w.log)
    except Exception as error:
        return found | {
            "said": f"{type(error).__name__}: {str(error)[:200]}",
            "text": "",
            "harm": 0.0,
            "cpu": time.process_time() - begun,
        }
    first = next((c for c in fit.verdict.concerns if c.serious), None)
    laws = [f.message for f in fit.findings if f.code in ("friction", "spikes")]
    found |= {"said": first and first.kind, "text": first and first.text[:400], "harm": harm(w, fit), "laws": laws}
    found |= {"left": fit.training.relative, "cpu": time.process_time() - begun}
    if first is None:
        found["covered"], found["of"] = covered(w, fit, corruption.physics)
    return found


def judged(case: dict[str, Any]) -> str:
    """`right`, `wrong`, `missed`, `harmless` (unnoticed, and no harm), and of what is tolerated `fine`, `alarm`, `harm`."""
    corruption = CORRUPTIONS[case["corruption"]]
    names = corruption.names + (corruption.planar if case["arm"] == "two_link" else ())
    if not names:
        return "alarm" if case["said"] else "fine" if case["harm"] < HARM else "harm"
    if case["said"] is None:
        return "missed" if case["harm"] > HARM else "harmless"
    return "right" if case["said"] in names else "wrong"


def shown(case: dict[str, Any]) -> str:
    word = judged(case)
    return f"{word} ({case['said']})" if word in ("wrong", "alarm") else word


def cases(asked: argparse.Namespace) -> list[tuple[str, str, int]]:
    """All of them, seed by seed and as many clean logs in between: whatever the time, every corruption and arm has had its turn."""
    wanted = [name for name in CORRUPTIONS if asked.only in name]
    faulty = [(name, arm, seed) for seed in range(asked.seeds) for name in wanted for arm in asked.arms if name != "clean"]
    clean = [("clean", arm, seed) for seed in range(asked.clean) for arm in asked.arms if "clean" in wanted]
    share = lambda these: [((k + 0.5) / len(these), case) for k, case in enumerate(these)]  # noqa: E731
    return [case for _, case in sorted([*share(faulty), *share(clean)])]


def held(counted: np.ndarray) -> str:
    """The part of all intervals that hold, of (held, all) in each log (logs, 2), and its standard deviation: intervals of a log err
    together, logs by themselves."""
    part = counted[:, 0].sum() / counted[:, 1].sum()
    apart = counted[:, 0] - part * counted[:, 1]
    return f"{part:.1%} +- {np.sqrt(np.sum(apart**2)) / counted[:, 1].sum():.1%}"


def table(done: list[dict[str, Any]]) -> Iterator[str]:
    for name in CORRUPTIONS:
        mine = [case for case in done if case["corruption"] == name]
        if mine:
            words = [shown(case) for case in mine]
            told = "; ".join(f"{word} x{words.count(word)}" for word in dict.fromkeys(words))
            worst = max(case["harm"] for case in mine if case["said"] is None) if any(c["said"] is None for c in mine) else 0.0
            counted = np.array([(case["covered"], case["of"]) for case in mine if case.get("of")]).reshape(-1, 2)
            cover = f"  cover {held(counted)} of {counted[:, 1].sum()}" if len(counted) else ""
            yield f"{name:<28} {told}  | unnoticed off by {worst:.1%}{cover}"
    named = [judged(case) for case in done if CORRUPTIONS[case["corruption"]].names]
    if named:
        shares = [named.count(word) / len(named) for word in ("right", "wrong", "harmless")]
        yield f"named rightly {shares[0]:.1%}, wrongly {shares[1]:.1%}, unnoticed without harm {shares[2]:.1%}, " + (
            f"missed and harmful {named.count('missed')} of {len(named)}"
        )
    tolerated = [case for case in done if not CORRUPTIONS[case["corruption"]].names]
    clean = [case for case in tolerated if case["corruption"] == "clean"]
    yield f"false alarms on clean logs {sum(judged(c) == 'alarm' for c in clean)} of {len(clean)}"
    other = [judged(case) for case in tolerated if case["corruption"] != "clean"]
    if other:
        counts = [other.count(word) for word in ("fine", "alarm", "harm")]
        yield "tolerated: fine {}, refused {}, harmful {} of {}".format(*counts, len(other))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--clean", type=int, default=50)
    parser.add_argument("--arms", nargs="*", default=list(ARMS))
    parser.add_argument("--only", default="")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--json", default="")
    asked = parser.parse_args()
    done, begun = [], time.time()
    if asked.json and os.path.exists(asked.json):
        with open(asked.json, encoding="utf-8") as file:
            done = json.load(file)
    known = {(case["corruption"], case["arm"], case["seed"]) for case in done}
    left = [case for case in cases(asked) if case not in known]
    with Pool(asked.processes) as pool:
        for case in pool.imap_unordered(tried, left):
            done.append(case)
            if time.time() - begun > asked.seconds:
                pool.terminate()
                break
    print("\n".join(table(done)))
    cpu = [case["cpu"] for case in done]
    print(f"{len(done)} cases, {np.mean(cpu):.2f} s of a processor each, {max(cpu):.1f} s at most")
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump([case | {"judged": judged(case)} for case in done], file, indent=0)


if __name__ == "__main__":
    main()
