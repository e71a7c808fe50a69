"""All errors of a description, reported at once."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from qddot.errors import ModelError, ModelLimitError, ModelSecurityError

MOST = 20  # errors that are gathered: nobody corrects more in one go, and searching similar names for each takes time
AT_ONCE = (ModelLimitError, ModelSecurityError)  # after these nothing more is read


class Faults:
    """Collect the errors of a description's parts until all parts are checked: `with faults:` around each, then `tell()`.

    >>> from qddot.model.faults import Faults
    >>> faults = Faults()
    >>> for mass in (1.0, -1.0, -2.0):
    ...     with faults:
    ...         inertia = qddot.Inertia(mass)
    >>> faults.tell()
    Traceback (most recent call last):
        ...
    qddot.errors.ModelValueError: inertia mass='-1': a mass is not negative (give its magnitude, in kg); 1 more in ...
    """

    def __init__(self) -> None:
        self.found: list[ModelError] = []

    def __enter__(self) -> Faults:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if not isinstance(error, ModelError) or isinstance(error, AT_ONCE):
            return False
        self.found += [error, *error.others]
        if len(self.found) >= MOST:
            self.tell()
        return True

    def tell(self) -> None:
        """Raise the first error, with the others attached; do nothing if there is none."""
        if self.found:
            raise together(self.found) from None


def together(errors: Sequence[ModelError]) -> ModelError:
    """Return the first error with the others attached as `others`."""
    first, *others = errors
    for error in others:
        error.others = ()
    first.others = tuple(others)
    return first
