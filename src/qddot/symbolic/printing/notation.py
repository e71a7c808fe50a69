"""Names on paper: the letters of quantities in several books, symbols split into letter and subscripts, and numbers as written."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple


class Notation(NamedTuple):
    """The letters of one book."""

    variable: str  # of the joints: `q` or `theta`
    quantities: dict[str, str]  # name of a quantity -> its letter
    script: str = ""  # letters of energies that are set in script


QDDOT = {
    "mass_matrix": "M", "coriolis_matrix": "C", "coriolis_torque": "c", "gravity_torque": "g", "friction_torque": "tau_f",
    "spring_torque": "tau_s", "inverse_dynamics": "tau", "load_torque": "load", "forward_dynamics": "qdd",
    "mass_matrix_rate": "Mdot", "christoffel": "Gamma", "kinetic_energy": "K", "potential_energy": "P", "lagrangian": "L",
    "hamiltonian": "H", "jacobian": "J", "jacobian_dot": "Jdot", "transform": "T", "generalized_momentum": "p",
    "hamiltonian_of_momentum": "H", "velocities_of_momentum": "qdot", "rates_of_momentum": "pdot", "centrifugal_matrix": "Q",
    "coriolis_products_matrix": "B", "bias_torque": "h", "constraint_residual": "phi", "constraint_jacobian": "A",
    "constraint_jacobian_dot": "Adot", "constraint_multipliers": "lambda", "constraint_projection": "P",
    "constraint_projection_of_rates": "P_qdd", "constraint_null_space": "N", "reduced_dynamics": "tau_N",
}  # fmt: skip

NOTATIONS = {
    "qddot": Notation("q", QDDOT, "L"),
    "lynch-park": Notation("theta", QDDOT, "KPL"),
    "craig": Notation(
        "theta",
        QDDOT
        | {
            "coriolis_torque": "V",
            "coriolis_matrix": "V_m",
            "centrifugal_matrix": "C",
            "gravity_torque": "G",
            "kinetic_energy": "k",
            "potential_energy": "u",
        },
        "L",
    ),
    "siciliano": Notation(
        "q", QDDOT | {"mass_matrix": "B", "mass_matrix_rate": "Bdot", "kinetic_energy": "T", "potential_energy": "U"}, "TUL"
    ),
    "featherstone": Notation("q", QDDOT | {"mass_matrix": "H", "mass_matrix_rate": "Hdot"}, "L"),
}
"""Lynch and Park, *Modern Robotics*; Craig, *Introduction to Robotics*; Siciliano et al., *Robotics: Modelling, Planning and
Control*; Featherstone, *Rigid Body Dynamics Algorithms*. A quantity without a letter in a book keeps ours."""

ENERGIES = ("kinetic_energy", "potential_energy", "lagrangian")

OF_Q = (
    "mass_matrix", "gravity_torque", "christoffel", "potential_energy", "jacobian", "transform", "centrifugal_matrix",
    "coriolis_products_matrix", "constraint_residual", "constraint_jacobian", "constraint_projection",
    "constraint_projection_of_rates", "constraint_null_space",
)  # fmt: skip
OF_Q_AND_QD = (
    "coriolis_matrix", "coriolis_torque", "mass_matrix_rate", "kinetic_energy", "lagrangian", "hamiltonian", "jacobian_dot",
    "generalized_momentum", "bias_torque", "constraint_jacobian_dot",
)  # fmt: skip
ARGUMENTS: dict[str, int] = {**dict.fromkeys(OF_Q, 1), **dict.fromkeys(OF_Q_AND_QD, 2)}
"""The arguments written after a quantity: 1 for `(q)`, 2 for `(q, qd)`; none if it is not here."""

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "zeta": "ζ", "eta": "η", "theta": "θ", "iota": "ι",
    "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "upsilon": "υ",
    "phi": "ϕ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π",
    "Sigma": "Σ", "Upsilon": "Υ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
"""Letters by the names that LaTeX gives them."""

SIGNS = {sign: name for name, sign in GREEK.items()} | {"ε": "epsilon", "φ": "phi"}

WORD = re.compile(r"([A-Za-z]+)(\d*)")


class Name(NamedTuple):
    """A symbol's letter (or word) and its subscripts: `Ixx2` is `I` with `xx`, `2`."""

    head: str
    subscripts: tuple[str, ...] = ()


def split(name: str) -> Name:
    """Split `m1`, `Ixx2`, `l_c1`, `alpha3` or `α3` into letter and subscripts. A name of any other form is all head."""
    name = SIGNS.get(name[:1], name[:1]) + name[1:] if re.fullmatch(r"[\d_]?", name[1:2]) else name
    pieces = [WORD.fullmatch(piece) for piece in name.split("_")]
    first, rest = pieces[0], name.split("_")[1:]
    if not first or not all(re.fullmatch(r"[A-Za-z]*\d*", piece) and piece for piece in rest):
        return Name(name)
    word, digits = first.groups()
    subscripts: list[str] = []
    if word not in GREEK and 1 < len(word) <= 3 and word[1:].islower():
        word, letters = word[0], word[1:]
        subscripts.append(letters)
    if digits:
        subscripts.append(digits)
    for piece in rest:
        letters = piece.rstrip("0123456789")
        subscripts += [x for x in (letters, piece[len(letters) :]) if x]
    return Name(word, tuple(subscripts))


def rate(name: str, dots: str = "d") -> str:
    """Return the rate of a coordinate in plain text: `xd` for x, `qd1` for q1; with "dd" its acceleration."""
    stem = name.rstrip("0123456789")
    return f"{stem}{dots}{name[len(stem) :]}"


class Shown(NamedTuple):
    """A number, not negative, as it is written."""

    digits: str  # with a decimal point if it has one; the numerator of a fraction
    bottom: str = ""  # the denominator of a fraction
    cut: bool = False  # True if further digits are missing
    exponent: int = 0  # the power of ten
    rounded: bool = False  # True if it was rounded to the digits shown


EXACT = 12
"""The most digits of a decimal that is written in full."""


def shown(x: Fraction, fractions: bool, digits: int, rounded: bool = False, exact: int = EXACT) -> Shown:
    """Return a number >= 0 as it is written. `fractions`: write 1/2 rather than 0.5, as suits formulas with symbols; only for
    numerators and denominators up to 12, and not for fifths and tenths, which were decimals; `digits`, `rounded`, `exact`: see
    `Style`."""
    if x.denominator == 1 and x < 10**EXACT:
        return Shown(str(x.numerator))
    if fractions and x.numerator <= 12 and x.denominator <= 12 and x.denominator % 5:
        return Shown(str(x.numerator), str(x.denominator))
    decimal = finite(x, exact)
    if decimal is not None:
        return decimal
    if x.numerator < 100 and x.denominator < 100:
        return Shown(str(x.numerator), str(x.denominator))
    order = magnitude(x)
    if rounded:
        near = round(x * Fraction(10) ** (digits - 1 - order)) * Fraction(10) ** (order - digits + 1)
        places = digits - 1 - magnitude(near)
        if 0 < places <= EXACT:  # 2.3996 is 2.40: a zero that is a significant digit is shown
            return Shown(placed(str(near * 10**places), places), rounded=True)
        return (finite(near, digits) or Shown(str(near.numerator)))._replace(rounded=True)
    kept = str(x * Fraction(10) ** (digits - 1 - order) // 1)
    cut = Fraction(int(kept)) * Fraction(10) ** (order - digits + 1) != x
    if -5 < order < digits:
        return Shown(placed(kept, digits - 1 - order), cut=cut)
    return Shown(placed(kept, digits - 1), cut=cut, exponent=order)


def finite(x: Fraction, exact: int) -> Shown | None:
    """Return the decimal if it has at most `exact` digits; otherwise None."""
    twos, fives = (multiplicity(prime, x.denominator) for prime in (2, 5))
    if x.denominator != 2**twos * 5**fives:
        return None
    places = max(twos, fives)
    whole = str(x.numerator * 10**places // x.denominator)
    significant = whole.strip("0")
    if len(significant) > exact:
        return None
    if len(whole) <= EXACT and places <= EXACT:
        return Shown(placed(whole, places))
    return Shown(placed(significant, len(significant) - 1), exponent=magnitude(x))


def multiplicity(prime: int, n: int) -> int:
    """Return how often a prime divides n."""
    count = 0
    while n % prime == 0:
        n //= prime
        count += 1
    return count


def magnitude(x: Fraction) -> int:
    """Return the power of ten of the first digit."""
    guess = len(str(x.numerator)) - len(str(x.denominator))
    return guess if x >= Fraction(10) ** guess else guess - 1


def placed(whole: str, places: int) -> str:
    """Return digits with a decimal point that many places from the right."""
    if places <= 0:
        return whole
    whole = whole.rjust(places + 1, "0")
    return f"{whole[:-places]}.{whole[-places:]}"
