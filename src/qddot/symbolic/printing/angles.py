"""Products of sines and cosines rewritten as shorter ones: `c1 c2 - s1 s2 = c12`, exactly.

Revolute joints about parallel axes form a cluster. The canonical monomials in the sines and cosines of one cluster can be written
in several ways, each a linear map from a monomial to a sum of products of waves:

    products      in the angles themselves, s^2 replaced (as in the ring)
    sines         in the angles themselves, c^2 replaced: s2^2 instead of 1 - c2^2
    turns         in the angles of the links against the body that carries the cluster, q2 and q2 + q3, or against one of the links:
                  c2 c23 or s2 c12
    turn_sines    like turns, with c^2 replaced
    fourier       sines and cosines of whole sums, linearly: c23, c223

The first that needs the fewest terms is taken, cluster by cluster; monomials as they are need no rewriting. A factor that all terms
have may stay as it is while only the rest is rewritten: c2 (c1 c2 - s1 s2) is c2 c12.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from math import comb
from typing import Any, NamedTuple

from flint import fmpq

from qddot.model.joints import Helical, Prismatic, Revolute
from qddot.symbolic.printing.tree import Wave

Exponents = tuple[int, ...]
"""The exponents of a monomial in one cluster: cosine and sine of each angle in turn."""

Waves = tuple[tuple[Wave, int], ...]
"""A product of powers of waves."""

TURNED = 3
"""The most joints in a cluster that is written in turns: the effort grows quickly, and for more joints whole sums are shorter."""

DEGREE = 9
"""The highest degree of a monomial that is written in sums of angles: the effort doubles with each degree."""

Way = Callable[[Exponents], list[tuple[Waves, fmpq]]]
"""A way of writing: monomial -> terms (product of waves, coefficient)."""


class Link(NamedTuple):
    """One angle of a cluster: the place of its inner neighbour in the cluster (or None), and the sense of its axis."""

    angle: int
    inner: int | None
    sense: int


class Cluster:
    """Parallel joints, innermost first.

    Attributes:
        angles: their indices in `Alphabet.angles`.
        products: the way that keeps monomials as they are.
        ways: the other ways of writing; those after the first use sums of angles.
    """

    def __init__(self, links: list[Link], whole: bool) -> None:
        self.links = links
        self.angles = [link.angle for link in links]
        self.one: Exponents = (0,) * (2 * len(links))
        own = [((link.angle, 1),) for link in links]
        self.products = self._way(own, plain)
        self.ways: list[Way] = [self._way(own, by_sines)]
        if whole and 1 < len(links) <= TURNED:
            for against in (None, *reversed(range(len(links)))):
                turned = [tuple(sorted(self._turn(i, against).items())) for i in range(len(links))]
                turns = [(of if of[0][1] > 0 else tuple((a, -m) for a, m in of)) for of in turned]
                flips = [1 if of[0][1] > 0 else -1 for of in turned]
                self.ways += [self._way(turns, self._by_turns(finish, flips, against)) for finish in (plain, by_sines)]
        self.ways.append(cache(self._fourier))

    def waves(self, local: Exponents | Waves) -> Waves:
        """Return a monomial as a product of waves; a product of waves as it is."""
        return self.products(local)[0][0] if local and isinstance(local[0], int) else local  # type: ignore[return-value, arg-type]

    def beside(self, common: Exponents, way: Way) -> Way:
        """Return a way that keeps a common monomial as it is and writes the rest in the given way."""
        kept = self.waves(common)

        def found(m: Exponents) -> list[tuple[Waves, fmpq]]:
            rest = way(tuple(a - b for a, b in zip(m, common)))
            return [(tuple((Counter(dict(kept)) + Counter(dict(waves))).items()), x) for waves, x in rest]

        return found

    def is_settled(self, monomials: Iterable[Exponents]) -> bool:
        """Tell whether no other way could be shorter: at most one angle occurs, and that without squares."""
        powers = [(i // 2, e) for m in monomials for i, e in enumerate(m) if e]
        return all(e == 1 for _, e in powers) and len({angle for angle, _ in powers}) <= 1

    def _turn(self, i: int, against: int | None = None) -> dict[int, int]:
        """Return the angle of link i against the body that carries the cluster, as multiples of joint angles; with `against`, the
        angle of every other link against that link."""
        link = self.links[i]
        turn = {} if link.inner is None else dict(self._turn(link.inner))
        turn[link.angle] = turn.get(link.angle, 0) + link.sense
        if against is not None and against != i:
            for angle, times in self._turn(against).items():
                turn[angle] = turn.get(angle, 0) - times
        return {angle: times for angle, times in turn.items() if times}

    def _way(self, of: list[tuple[tuple[int, int], ...]], rewrite: Callable[[Exponents], dict[Exponents, fmpq]]) -> Way:
        waves = [Wave(function, x) for x in of for function in ("cos", "sin")]

        @cache
        def way(m: Exponents) -> list[tuple[Waves, fmpq]]:
            return [(tuple((waves[i], e) for i, e in enumerate(key) if e), x) for key, x in rewrite(m).items() if x]

        return way

    def _by_turns(self, finish: Callable[[Exponents], dict[Exponents, fmpq]], flips: list[int], against: int | None):
        """Return a rewriting in the cosines and sines of turns, where turn i is taken `flips[i]` times."""

        def rewrite(m: Exponents) -> dict[Exponents, fmpq]:
            found: dict[Exponents, fmpq] = defaultdict(fmpq)
            for function, multiples, x in spectrum(m):
                of = [0] * len(self.links)
                for i, times in enumerate(multiples):
                    link = self.links[i]
                    of[i] += times * link.sense
                    if link.inner is not None:
                        of[link.inner] -= times * link.sense
                if against is not None:
                    of[against] = sum(of)
                of = [n * flip for n, flip in zip(of, flips)]
                for key, y in expanded(function, tuple(of)).items():
                    for last, z in finish(key).items():
                        found[last] += x * y * z
            return found

        return rewrite

    def _fourier(self, m: Exponents) -> list[tuple[Waves, fmpq]]:
        found = []
        for function, multiples, x in spectrum(m):
            of = tuple((angle, n) for angle, n in sorted(zip(self.angles, multiples)) if n)
            sign = 1
            if of and of[0][1] < 0:
                of, sign = tuple((angle, -n) for angle, n in of), -1 if function == "sin" else 1
            found.append((((Wave(function, of), 1),) if of else (), x * sign))
        return found


def plain(m: Exponents) -> dict[Exponents, fmpq]:
    """Return the monomial with s^2 replaced by 1 - c^2."""
    return replaced(m, kept=0)


def by_sines(m: Exponents) -> dict[Exponents, fmpq]:
    """Return the monomial with c^2 replaced by 1 - s^2."""
    return replaced(m, kept=1)


def replaced(m: Exponents, kept: int) -> dict[Exponents, fmpq]:
    """Replace squares of one function by those of the other, which is the `kept` one of each pair."""
    found: dict[Exponents, fmpq] = {(): fmpq(1)}
    for i in range(0, len(m), 2):
        whole, odd = divmod(m[i + 1 - kept], 2)
        stays = m[i + kept]
        parts = [((stays + 2 * k, odd), (-1) ** k * comb(whole, k)) for k in range(whole + 1)]
        found = {
            (*key, *(pair if kept == 0 else pair[::-1])): x * y for key, x in found.items() for pair, y in parts
        }  # distinct keys: each k gives another power
    return found


def spectrum(m: Exponents) -> Iterator[tuple[str, tuple[int, ...], fmpq]]:
    """Yield the monomial as a sum of (function, multiples of the angles, coefficient), by `2 c = z + 1/z`, `2i s = z - 1/z`."""
    series: dict[tuple[int, ...], int] = {(): 1}
    for cosines, sines in zip(m[::2], m[1::2]):
        line = {0: 1}
        for sign in [1] * cosines + [-1] * sines:
            after: dict[int, int] = defaultdict(int)
            for n, x in line.items():
                after[n + 1] += x
                after[n - 1] += sign * x
            line = after
        series = {(*key, n): x * y for key, x in series.items() for n, y in line.items() if y}
    sines = sum(m[1::2])
    scale = fmpq((-1) ** (sines // 2), 2 ** sum(m))
    for n, x in series.items():
        first = next((k for k in n if k), 0)
        if first == 0 and sines % 2 == 0:
            yield "cos", n, scale * x
        elif first > 0:
            yield "sin" if sines % 2 else "cos", n, scale * (2 * x)


@cache
def expanded(function: str, multiples: tuple[int, ...]) -> dict[Exponents, int]:
    """Return a wave of a sum of angles in the cosines and sines of each."""
    cos: dict[Exponents, int] = {(0,) * (2 * len(multiples)): 1}
    sin: dict[Exponents, int] = {}
    for i, n in enumerate(multiples):
        for _ in range(abs(n)):
            sense, c, s = 1 if n > 0 else -1, 2 * i, 2 * i + 1
            cos, sin = plus(times(cos, c), times(sin, s), -sense), plus(times(sin, c), times(cos, s), sense)
    return cos if function == "cos" else sin


def times(p: dict[Exponents, int], letter: int) -> dict[Exponents, int]:
    """Multiply a polynomial by one letter."""
    return {(*key[:letter], key[letter] + 1, *key[letter + 1 :]): x for key, x in p.items()}


def plus(p: dict[Exponents, int], r: dict[Exponents, int], factor: int) -> dict[Exponents, int]:
    """Return `p + factor r`."""
    found = dict(p)
    for key, x in r.items():
        found[key] = found.get(key, 0) + factor * x
    return found


def clusters_of(lifted: Any, angles: list[Any]) -> list[Cluster]:
    """Return clusters with every joint angle in one: joints on a chain whose axes stay parallel, whatever sliders lie between."""
    number = {angle.coordinate: k for k, angle in enumerate(angles) if isinstance(angle.multiple, Fraction)}
    groups: dict[int, list[Link]] = {}  # by the number of the innermost angle
    place: dict[int, tuple[int, int]] = {}  # body -> group, place in it
    whole: dict[int, bool] = {}
    used: set[int] = set()
    for body in lifted.bodies:
        angle = number.get(body.coordinates[0]) if body.coordinates and isinstance(body.joint, (Revolute, Helical)) else None
        if angle is None or not isinstance(body.rate, (int, float, Fraction)):
            continue
        steps = Fraction(body.rate) / angles[angle].multiple
        carrier, sense = parallel_to(lifted, body)
        if carrier in place and angle not in used:
            root, inner = place[carrier]
        else:
            root, inner, sense = angle, None, 1
        if angle in used:  # a joint that follows another: its angle is in a cluster already, the joints it carries may join
            if carrier in place:
                place[body.index] = place[carrier]
                whole[place[carrier][0]] = False
            continue
        used.add(angle)
        groups.setdefault(root, []).append(Link(angle, inner, sense * (1 if steps > 0 else -1)))
        place[body.index] = root, len(groups[root]) - 1
        whole[root] = whole.get(root, True) and abs(steps) == 1
    found = [Cluster(links, whole[root]) for root, links in groups.items()]
    rest = [k for k, angle in enumerate(angles) if angle.coordinate is not None and k not in used]
    return found + [Cluster([Link(k, None, 1)], False) for k in rest]


def parallel_to(lifted: Any, body: Any) -> tuple[int, int]:
    """Return the next revolute body inward if its axis is parallel, and 1, or -1 for opposed axes; (-2, 0) if there is none."""
    axis = [row[2] for row in body.placement.R]
    while body.parent >= 0:
        body = lifted.bodies[body.parent]
        if isinstance(body.joint, (Revolute, Helical)):
            if axis[0] == 0 and axis[1] == 0 and axis[2] in (1, -1):
                return body.index, 1 if axis[2] == 1 else -1
            break
        if not isinstance(body.joint, Prismatic):
            break
        axis = [row[0] * axis[0] + row[1] * axis[1] + row[2] * axis[2] for row in body.placement.R]
    return -2, 0


def convert(terms: dict[tuple[Any, Any], Any], k: int, way: Way) -> dict[tuple[Any, Any], Any]:
    """Return terms `(trigonometric key, rest) -> coefficient` with cluster k of each key written in one way."""
    found: dict[tuple[Any, Any], Any] = {}
    for (key, rest), x in terms.items():
        before, after = key[:k], key[k + 1 :]
        for waves, y in way(key[k]):
            new = (*before, waves, *after), rest
            found[new] = found[new] + x * y if new in found else x * y
    return {key: x for key, x in found.items() if x}


def shortest(terms: dict[tuple[Any, Any], Any], clusters: list[Cluster], single: bool) -> dict[tuple[Any, Any], Any]:
    """Return the terms with each cluster written in the way that needs the fewest; `single`: in single angles only."""
    for k, cluster in enumerate(clusters):
        used = {key[k] for key, _ in terms}
        if not cluster.is_settled(used):
            ways = cluster.ways[:1] if single or max(map(sum, used)) > DEGREE else cluster.ways
            found = [terms, *(convert(terms, k, way) for way in ways)]
            for start in (terms, squared(terms, k)):
                used = {key[k] for key, _ in start}
                common = tuple(min(powers) for powers in zip(*used))
                if any(common) and len(used) > 1:
                    found += [convert(start, k, cluster.beside(common, way)) for way in (cluster.products, *ways)]
            terms = min(found, key=weight)
    return terms


def squared(terms: dict[tuple[Any, Any], Any], k: int) -> dict[tuple[Any, Any], Any]:
    """Return the terms with s^2 for 1 - c^2 in cluster k, still as monomials."""
    return convert(terms, k, lambda m: [(n, x) for n, x in by_sines(m).items() if x])  # type: ignore[arg-type]


def weight(terms: dict[tuple[Any, Any], Any]) -> int:
    """Return how long terms are to read: the number of coefficients and of different trigonometric products."""
    return len(terms) + len({key for key, _ in terms})


def wave_order(pair: tuple[Wave, int]) -> tuple:
    """Return a key that sorts waves by the joints, then the function; higher powers first."""
    wave, exponent = pair
    return wave.of, wave.function, -exponent
