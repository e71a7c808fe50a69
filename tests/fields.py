"""Other kinds of scalars, to run the same algorithms over: complex numbers and 50 digits."""

from __future__ import annotations

import cmath

import mpmath


class Complex:
    """For derivatives without cancellation: f'(x) = Im f(x + ih) / h."""

    rounding = 2.0**-52

    def constant(self, x):
        return x

    def cos_sin(self, angle):
        return cmath.cos(angle), cmath.sin(angle)

    def sign(self, x):
        return (x.real > 0) - (x.real < 0)

    def sqrt(self, x):
        return cmath.sqrt(x)

    def inverse_fourth_root(self, x):
        return 1 / cmath.sqrt(cmath.sqrt(x))

    def atan2(self, y, x):
        """To first order in the step."""
        angle = cmath.phase(complex(x.real, y.real))
        return complex(angle, (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2))

    def where_positive(self, x, then, otherwise):
        return then if x.real > 0 else otherwise


class FiftyDigits:
    """Floats of the model are exact; everything computed from them carries 50 digits."""

    rounding = 0.0
    context = mpmath.mp.clone()
    context.dps = 50

    def constant(self, x):
        return self.context.mpf(x)

    def cos_sin(self, angle):
        return self.context.cos(angle), self.context.sin(angle)

    def sign(self, x):
        return self.context.sign(x)

    def sqrt(self, x):
        return self.context.sqrt(x)

    def inverse_fourth_root(self, x):
        return self.context.mpf(x) ** (-self.context.mpf(1) / 4)

    def atan2(self, y, x):
        return self.context.atan2(y, x)

    def where_positive(self, x, then, otherwise):
        return then if x > 0 else otherwise
