"""A closed form: an array of polynomials (or a single one) that is indexed, combined, differentiated, evaluated and printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.errors import InputError
from qddot.symbolic.evaluate import evaluate
from qddot.symbolic.printing.abbreviations import Abbreviations
from qddot.symbolic.printing.code import CPrinter, Program, PythonPrinter, c_source, callable_of, python_source
from qddot.symbolic.printing.printer import printed
from qddot.symbolic.printing.text import brief
from qddot.symbolic.printing.to_sympy import to_sympy

if TYPE_CHECKING:
    from qddot.symbolic.robot_in_letters import RobotInLetters


class Form:
    """The entries of one quantity of `Equations`.

    Indexing, slicing and `T` give other forms; `+ - * @` combine them. `==` is exact: True only if every entry is the same
    polynomial, whatever it was computed from.

    Attributes:
        entries: NumPy object array of `Poly` (or `Ratio`, after a division).
        name: the quantity's name, such as `mass_matrix`; empty for a part or a combination.

    >>> equations = qddot.load("point_mass_2r", symbolic=True).equations()
    >>> print(equations.M[0, 1])
    m2*L2*(L1*c2 + L2)
    >>> equations.M.shape, equations.M.T == equations.M, equations.M.terms
    ((2, 2), True, 9)
    """

    __array_priority__ = 100
    _op_priority = 100  # SymPy's: `m1 * form` with a symbol on the left is left to the form
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, equations: RobotInLetters, entries: Any, name: str = "") -> None:
        self.equations, self.name = equations, name
        self.entries = each(equations.lift, np.array(entries, dtype=object))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.entries.shape

    @property
    def ndim(self) -> int:
        return self.entries.ndim

    @property
    def T(self) -> Form:
        return Form(self.equations, self.entries.T)

    @property
    def terms(self) -> int:
        """The number of terms of all entries together, in canonical form."""
        return sum(len(x) for x in self.entries.flat)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Form]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Form:
        return Form(self.equations, self.entries[index])

    def __add__(self, o: Any) -> Form:
        return Form(self.equations, self.entries + self._other(o))

    __radd__ = __add__

    def __sub__(self, o: Any) -> Form:
        return Form(self.equations, self.entries - self._other(o))

    def __rsub__(self, o: Any) -> Form:
        return Form(self.equations, self._other(o) - self.entries)

    def __neg__(self) -> Form:
        return Form(self.equations, -self.entries)

    def __mul__(self, o: Any) -> Form:
        return Form(self.equations, self.entries * self._other(o))

    __rmul__ = __mul__

    def __truediv__(self, o: Any) -> Form:
        return Form(self.equations, self.entries / self._other(o))

    def __pow__(self, n: int) -> Form:
        """Return each entry raised to a power."""
        return self._map(lambda p: p**n)

    def __matmul__(self, o: Any) -> Form:
        return Form(self.equations, self.entries @ self._other(o))

    def __rmatmul__(self, o: Any) -> Form:
        return Form(self.equations, self._other(o) @ self.entries)

    def __eq__(self, o: object) -> bool:
        try:
            other = np.broadcast_to(self._other(o), self.shape)
        except ValueError:
            return False
        return all(a == b for a, b in zip(self.entries.flat, other.flat))

    def __bool__(self) -> bool:
        """False where every entry is 0."""
        return any(bool(x) for x in self.entries.flat)

    def _other(self, o: Any) -> np.ndarray:
        if isinstance(o, Form):
            return o.entries
        return each(self.equations.lift, np.array(o, dtype=object))

    # calculus and numbers -------------------------------------------------------------------------------------------------

    def diff(self, variable: Any) -> Form:
        """Return the derivative with respect to a joint variable (`"q2"`), its rate (`"qd2"`, `"qdd2"`) or a parameter (`"m1"`),
        given by its name, by the parameter's SymPy symbol, or by a form such as `equations.q[1]`.

        >>> equations = qddot.load("point_mass_2r", symbolic=True).equations()
        >>> print(equations.V.diff("q2"))  # the second element of g
        9.81*m2*L2*c12
        """
        return self._map(self.equations.derivative(variable))

    def dt(self) -> Form:
        """Return the derivative with respect to time.

        >>> equations = qddot.load("point_mass_2r", symbolic=True).equations()
        >>> print(equations.M[0, 1].dt())
        -m2*L1*L2*s2*qd2
        """
        return self._map(self.equations.alphabet.time_derivative)

    def subs(self, values: Mapping[Any, Any]) -> Form:
        """Return the form with letters replaced, all at once: `{"q2": "q1 + pi/2", "m1": 3}`.

        Args:
            values: letter, as in `diff` -> number, SymPy expression, text of one (as `Equations.read` takes it) or other form.

        >>> equations = qddot.load("point_mass_2r", symbolic=True).equations()
        >>> print(equations.M[0, 0].subs({"q2": "pi/2", "m1": 3}))
        (3 + m2)*L1**2 + m2*L2**2
        """
        return self._map(self.equations.substitution(values))

    def evaluate(
        self,
        q: Sequence[Any] | np.ndarray,
        qd: Sequence[Any] | np.ndarray | None = None,
        qdd: Sequence[Any] | np.ndarray | None = None,
        parameters: Mapping[Any, Any] | None = None,
        digits: int | None = None,
        **further: Any,
    ) -> Any:
        """Return the value in one state: a float or an array of them, or `mpmath` numbers with as many digits as wanted. For many
        states, see `lambdify`.

        Args:
            q, qd, qdd: (nq,), (nv,), (nv,), in rad or m and their rates; rates left out are zero.
            further: `tau`, `lam` or `p`, for forms that have their letters; zero where they are left out.
            parameters: name or SymPy symbol -> value; numbers that became symbols keep theirs if not given here.
            digits: decimal digits of the result; floats if None.

        >>> equations = qddot.load("point_mass_2r", symbolic=True).equations()
        >>> equations.g.evaluate([0, 0], parameters={"L1": 1, "L2": 1, "m1": 1, "m2": 1})
        array([29.43,  9.81])
        >>> print(equations.g[1].evaluate([1, 0], parameters={"L2": 1, "m2": 1, "L1": 1, "m1": 1}, digits=30))
        5.30036562056645
        """
        return evaluate(self, {"q": q, "qd": qd, "qdd": qdd, **further}, parameters, digits)

    def _map(self, f: Any) -> Form:
        return Form(self.equations, each(f, self.entries))

    def __float__(self) -> float:
        return float(self._single().value)

    def _single(self) -> Any:
        if self.shape != ():
            raise InputError(f"one entry is needed, this has shape {self.shape}")
        return self.entries.item()

    @property
    def value(self) -> Fraction:
        """The exact number that a single entry without letters is."""
        return self._single().value

    # printing -------------------------------------------------------------------------------------------------------------

    def latex(self, **style: Any) -> str:
        """Return LaTeX for math mode: an entry, a `bmatrix`, or several of them for an array of three indices.

        Args:
            **style: any of `angles="sum"`, `group="trigonometric"`, `abbreviate=None`, `notation="qddot"`, `digits=6`, `lhs=False`:
                see `qddot.symbolic.printing.presentation.Style`.

        >>> qddot.load("point_mass_2r", symbolic=True).equations().g[1].latex()
        '9.81 m_{2} L_{2} c_{12}'
        """
        return printed("latex", self, style)

    def text(self, **style: Any) -> str:
        """Return plain text, arrays as NumPy writes them; `c12` is cos(q1 + q2). Styles as for `latex`.

        >>> qddot.load("point_mass_2r", symbolic=True).equations().g[1].text()
        '9.81*m2*L2*c12'
        """
        return printed("text", self, style)

    def mathml(self, **style: Any) -> str:
        """Return a `<math>` element that browsers render. Styles as for `latex`.

        >>> qddot.load("point_mass_2r", symbolic=True).equations().M[1, 1].mathml()[:5]
        '<math'
        """
        return printed("mathml", self, style)

    def abbreviated(self, target: str = "text", **style: Any) -> tuple[str, Abbreviations]:
        """Return the text with short names for products and sums of parameters, such as `k1 = m2*L1*L2`, and their definitions,
        which have the same printers. To share names between forms, give one `Abbreviations` to each as `abbreviate=`.

        Args:
            target: `"text"`, `"latex"` or `"mathml"`.

        >>> text, names = qddot.load("two_link", symbolic=True).equations().M[1, 1].abbreviated()
        >>> text, names
        ('k1', k1 = m2*(l2**2/3 + r**2/4))
        """
        short = Abbreviations()
        return printed(target, self, {"abbreviate": short, **style}), short

    def sympy(self) -> Any:
        """Return an exactly equal SymPy expression, matrix (a vector is a column), or array of three indices.

        Joint variables, rates and parameters that stand for numbers are real symbols `q1, qd1, qdd1, m1`; the robot's own symbols
        are themselves. It is expanded, in sines and cosines of single angles.

        >>> qddot.load("point_mass_2r", symbolic=True).equations().g[1].sympy()
        -981*L2*m2*sin(q1)*sin(q2)/100 + 981*L2*m2*cos(q1)*cos(q2)/100
        """
        return to_sympy(self)

    def python(self) -> str:
        """Return the source of a Python function over NumPy: `def mass_matrix(q, *, L1, m1)`.

        Arguments `qd` and `qdd` follow `q` if they occur, and it broadcasts over leading dimensions. Parameters are keywords;
        those that stand for numbers default to them. A name that is no identifier is spelt as one.

        >>> source = qddot.load("point_mass_2r", symbolic=True).equations().g.python()
        >>> source.splitlines()[3]
        'def gravity_torque(q, *, L1, L2, m1, m2):'
        """
        return python_source(Program(self, PythonPrinter))

    def c(self) -> str:
        """Return the source of a C99 function: `void mass_matrix(const double q[2], const double p[4], double out[4])`.

        `qd` and `qdd` stand after `q` if they occur; `p` holds the parameters in the order its comment gives, and is left out if
        there are none; `out` is filled row by row. Numbers are rounded to double, nothing else is.

        >>> print(qddot.load("point_mass_2r", symbolic=True).equations().g.c())
        #include <math.h>
        <BLANKLINE>
        /* p: L1, L2, m1, m2 */
        void gravity_torque(const double q[2], const double p[4], double out[2])
        {
            const double L1 = p[0];
            const double L2 = p[1];
            const double m1 = p[2];
            const double m2 = p[3];
            const double q1 = q[0];
            const double q2 = q[1];
            const double c1 = cos(q1);
            const double c12 = cos(q1 + q2);
            const double k1 = (m1 + m2)*L1;
            const double k2 = m2*L2;
            out[0] = 9.81*k1*c1 + 9.81*k2*c12;
            out[1] = 9.81*k2*c12;
        }
        """
        return c_source(Program(self, CPrinter))

    def lambdify(self) -> Callable[..., Any]:
        """Return a function `f(q, /, qd=None, qdd=None, **parameters)` that computes floats.

        Args of the function:
            q, qd, qdd: (..., nq), (..., nv), (..., nv), broadcast over leading dimensions; rates left out are zero.
            tau, lam, p: keywords for forms that have their letters; zero where they are left out.
            parameters: by name, numbers or arrays of the leading dimensions; those that stand for numbers keep theirs.

        Raises (the function; so does `evaluate`):
            InputError: an array of another shape, or a quaternion in q whose length is not 1.

        >>> g = qddot.load("point_mass_2r", symbolic=True).equations().g.lambdify()
        >>> g([0, 0], L1=1, L2=1, m1=1, m2=1)
        array([29.43,  9.81])
        """
        return callable_of(self)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def __repr__(self) -> str:
        return brief(self)

    def __str__(self) -> str:
        return self.text()


def each(f: Callable[[Any], Any], entries: np.ndarray) -> np.ndarray:
    """Apply a function to each entry of an object array."""
    return np.vectorize(f, otypes=[object])(entries)
