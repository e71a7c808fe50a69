"""Check that the mass matrix is positive definite, for descriptions with inertias that no real body has."""

from __future__ import annotations

import numpy as np

from qddot.algorithms.mass_matrix import mass_matrix
from qddot.errors import ModelValueError
from qddot.model.configuration import neutral
from qddot.model.field import Floats
from qddot.model.model import Model
from qddot.model.overflow import overflow


def refuse_indefinite(model: Model) -> None:
    """Refuse inertias that make the mass matrix indefinite already at the zero configuration."""
    q = neutral(model.mechanism).tolist()
    M = np.array(mass_matrix(model.over(Floats()), q) if q else [[0.0]], dtype=float)
    if not np.isfinite(M).all():
        raise overflow(model, "mass_matrix")
    scale = abs(M).max() or 1.0
    moments = np.linalg.eigvalsh(M / scale) * scale
    if moments[0] < -1e-12 * abs(moments).max():
        link = model.doubtful[0]
        raise ModelValueError(
            f"the mass matrix is not positive definite at the zero configuration: its least eigenvalue is {moments[0]:.4g}",
            place=link.place,
            element=f"link {link.name!r} > inertia",
            fix=link.inertia.inconsistency() if link.inertia else "",
        )
