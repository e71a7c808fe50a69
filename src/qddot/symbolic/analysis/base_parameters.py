"""Base parameters: the combinations of parameters that the joint forces depend on, and why the others do not show.

About half of the ten numbers of each link act only together with others: a mass on the axis of a hinge may as well belong to the
link before it. `Equations.base_parameters` finds the combinations that matter, exactly; `Equations.identifiability` does so for
chosen parameters.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from qddot.algorithms import regressor as standard
from qddot.model.lower import WORLD
from qddot.model.model import LiftedModel
from qddot.model.regroup import split
from qddot.model.spatial import PseudoInertia, Transform, Vec, map_scalars, symmetric, upper
from qddot.symbolic.analysis.linearity import Dependences, Regressor, dependences, echelon, parameter, regressor
from qddot.symbolic.analysis.reasons import Reasons
from qddot.symbolic.exact.ring import Generator, Poly
from qddot.symbolic.form import Form

if TYPE_CHECKING:
    from qddot.symbolic.equations import Equations

PREFERRED = ("Ixx", "Ixy", "Ixz", "Iyz", "Izz", "Iyy", "mcx", "mcy", "mcz", "m")
"""The ten numbers of a link in the order in which combinations are named after them: `Ixx - Iyy` after Ixx, last after a mass."""


@dataclass(frozen=True, repr=False)
class BaseParameters:
    """The combinations of parameters that the joint forces depend on: `tau = Y pi + tau_0 = regressor @ values + tau_0`.

    Attributes:
        names: for each combination, the parameter it is named after, which is in no other (r,).
        combinations: the combinations in letters named like the parameters (r,).
        values: the combinations with the numbers or symbols that the parameters are in this robot (r,).
        regressor: Y_B (nv, r), whose columns are independent.
        alone: parameters that are a combination by themselves.
        grouped: parameter that shows only in combination with `names` -> reason.
        unidentifiable: parameter that does not show at all -> reason.
    """

    names: tuple[str, ...]
    combinations: Form
    values: Form
    regressor: Form
    alone: tuple[str, ...]
    grouped: Mapping[str, str]
    unidentifiable: Mapping[str, str]

    @property
    def rank(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        total = len(self.names) + len(self.grouped) + len(self.unidentifiable)
        return f"{self.rank} combinations of {total} parameters ({len(self.alone)} of them alone, {len(self.unidentifiable)} never)"

    def __str__(self) -> str:
        """Return a line on each parameter that is not alone."""
        return "\n".join([repr(self), *self.grouped.values(), *self.unidentifiable.values()])


def base_parameters(equations: Equations) -> BaseParameters:
    """See `Equations.base_parameters`.

    The parameters that can be moved inward through joints are known beforehand (see `qddot.model.regroup`). Few columns are left
    that may still depend on one another, as those of an arm in a plane, or of one whose first axis is vertical.
    """
    found = regressor(equations)
    order = preference(equations.lifted)
    moved = echelon(null_vectors(equations, order), reverse=True)
    rest = dependences(found.Y.entries, [j for k, j in enumerate(order) if k not in moved])
    others = dict(rest.others)
    for place, row in moved.items():
        others[order[place]] = expressed({order[k]: -x for k, x in enumerate(row) if k != place and x != 0}, rest)
    values = [equations.lift(x) for _, x in standard.named_parameters(equations.lifted)]
    reasons = Reasons(equations, found.names, inward={order[place] for place in moved})
    return assembled(found, sorted(rest.independent), others, with_letters(equations, found.names), (equations, values), reasons)


def identifiability(equations: Equations, names: Sequence[str]) -> BaseParameters:
    """See `Equations.identifiability`."""
    found = regressor(equations, names)
    letters = [parameter(equations, name) for name in names]
    own = equations, [equations.alphabet.ring.letters[i] for i in letters]
    independent, others = dependences(found.Y.entries, range(len(names)))
    return assembled(found, independent, others, own, own, Reasons(equations, names, letters))


def assembled(
    found: Regressor,
    independent: Sequence[int],
    others: Mapping[int, Mapping[int, Any]],
    letters: tuple[Equations, Sequence[Any]],
    values: tuple[Equations, Sequence[Any]],
    reasons: Reasons,
) -> BaseParameters:
    """Return the base parameters, given the dependent columns as combinations of the independent ones."""
    names = found.names
    merged = {b: {j: k[b] for j, k in sorted(others.items()) if b in k} for b in independent}

    def sums(equations: Equations, x: Sequence[Any]) -> Form:
        return Form(
            equations, [x[b] + sum((x[j] * equations.lift(k) for j, k in merged[b].items()), x[b] * 0) for b in independent]
        )

    return BaseParameters(
        names=tuple(names[b] for b in independent),
        combinations=sums(*letters),
        values=sums(*values),
        regressor=Form(found.Y.equations, found.Y.entries[:, list(independent)], "regressor"),
        alone=tuple(names[b] for b in independent if not merged[b]),
        grouped={names[j]: reasons.sentence(j, k) for j, k in sorted(others.items()) if k},
        unidentifiable={names[j]: reasons.sentence(j, k) for j, k in sorted(others.items()) if not k},
    )


def expressed(combination: Mapping[int, Any], rest: Dependences) -> dict[int, Any]:
    """Return a combination of columns as one of independent columns."""
    total: dict[int, Any] = {}
    for j, k in combination.items():
        for b, factor in rest.others.get(j, {j: 1}).items():
            total[b] = total.get(b, 0) + k * factor
    return {b: k for b, k in total.items() if k != 0}


# parameters that move inward through joints -----------------------------------------------------------------------------------


def preference(model: LiftedModel) -> list[int]:
    """Return the columns of the regressor, link by link and then the drives, in the order of preference for being kept."""
    links = sum(body.is_link for body in model.bodies)
    total = len(standard.named_parameters(model))
    inside = [standard.INERTIAL.index(kind) for kind in PREFERRED]
    return [10 * link + k for link in range(links) for k in inside] + list(range(10 * links, total))


def null_vectors(equations: Equations, order: Sequence[int]) -> Iterator[list[Any]]:
    """Yield changes of parameters that no joint force shows: a part of a link is moved to the link before it, or to the world."""
    model = equations.lifted
    starts = {body.index: 10 * k for k, body in enumerate(body for body in model.bodies if body.is_link)}
    for body in model.bodies:
        if body.index not in starts or (body.parent != WORLD and body.parent not in starts):
            continue
        for unit in unit_moments():
            moved = map_scalars(int, split(body, unit)[1])
            if moved == PseudoInertia():
                continue
            change = dict(zip(count(starts[body.index]), numbers(body.link.inverse, moved)))
            if body.parent != WORLD:
                seen = model.bodies[body.parent].link.inverse @ body.placement
                change |= zip(count(starts[body.parent]), (-x for x in numbers(seen, moved)))
            yield [equations.lift(change[j]) if change.get(j, 0) != 0 else 0 for j in order]


def unit_moments() -> Iterator[PseudoInertia]:
    """Yield ten bodies with a single moment of mass, of size 1, each."""
    for k in range(10):
        m, *rest = (int(i == k) for i in range(10))
        yield PseudoInertia(m, Vec(*rest[:3]), symmetric(*rest[3:]))


def numbers(seen: Transform, moments: PseudoInertia) -> list[Any]:
    """Return the ten numbers of a body, seen from another frame."""
    m, h, I = seen.out_inertia(moments.rigid)
    return [m, *h, *upper(I)]


# letters for parameters -------------------------------------------------------------------------------------------------------


def with_letters(equations: Equations, names: Sequence[str]) -> tuple[Equations, list[Poly]]:
    """Return the equations with further letters for the standard parameters, whose values they have, and these letters."""
    old = equations.alphabet.ring
    ring = old.extended([Generator(name, "parameter", name) for name in names])
    written = copy.copy(equations)
    written.alphabet = copy.copy(equations.alphabet)
    written.alphabet.ring = ring
    letters = ring.letters[len(old.letters) :]
    written.alphabet.parameters = {**equations.alphabet.parameters, **dict(zip(names, letters))}
    written.values = {**equations.values, **dict(standard.named_parameters(equations.lifted))}
    written._coriolis = {}
    written.__dict__["parameters"] = (*equations.parameters, *names)
    return written, letters
