"""Names on paper: the letters of quantities in several books, symbols split into letter and subscripts, and numbers as written."""

from __future__ import annotations

import re
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context, Decimal, Inexact
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
    decimal, is_cut = quotient(x, exact)
    if not is_cut:
        return in_full(decimal)
    if x.numerator < 100 and x.denominator < 100:
        return Shown(str(x.numerator), str(x.denominator))
    if rounded:
        near, _ = quotient(x, digits, ROUND_HALF_EVEN)
        places = digits - 1 - near.adjusted()
        if 0 < places <= EXACT:  # 2.3996 is 2.40: a zero that is a significant digit is shown
            return Shown(f"{near:.{places}f}", rounded=True)
        return in_full(near)._replace(rounded=True)
    kept, is_cut = quotient(x, digits)
    order = kept.adjusted()
    if -5 < order < digits:
        return Shown(f"{kept:.{digits - 1 - order}f}", cut=is_cut)
    return Shown(f"{mantissa(kept):.{digits - 1}f}", cut=is_cut, exponent=order)


def quotient(x: Fraction, digits: int, rounding: str = ROUND_DOWN) -> tuple[Decimal, bool]:
    """Return a fraction as a decimal with at most so many digits, and True if it has more."""
    context = Context(prec=digits, rounding=rounding)
    found = context.divide(Decimal(x.numerator), Decimal(x.denominator)).normalize(context)
    return found, bool(context.flags[Inexact])


def in_full(x: Decimal) -> Shown:
    """Return all digits of a decimal; with a power of ten if there are many zeros."""
    order, places = x.adjusted(), max(0, -int(x.as_tuple().exponent))
    if places <= EXACT and order + places < EXACT:
        return Shown(f"{x:f}")
    return Shown(f"{mantissa(x):f}", exponent=order)


def mantissa(x: Decimal) -> Decimal:
    """Return the decimal with its point behind the first digit."""
    digits = x.as_tuple().digits
    return Decimal((0, digits, 1 - len(digits)))
