"""qddot: from a robot's description to its equations of motion and to fast code that computes them.

>>> import qddot
>>> robot = qddot.load("two_link")
>>> robot.mass_matrix([1.0471975511965976, 1.5707963267948966]).round(4)
array([[0.3315, 0.1146],
       [0.1146, 0.1146]])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from typing import IO, TYPE_CHECKING, Any

from qddot.errors import (
    ConvergenceError,
    InputError,
    InputWarning,
    IntegrationError,
    MissingExtraError,
    ModelError,
    ModelFormatError,
    ModelLimitError,
    ModelReferenceError,
    ModelSecurityError,
    ModelStructureError,
    ModelSyntaxError,
    ModelValueError,
    ModelWarning,
    QddotError,
    RankWarning,
    SingularityError,
    SpeedWarning,
    UnboundSymbolError,
    UnknownNameError,
)
from qddot.formats import catalog_names, load_model, load_text
from qddot.model.description import Frame, Limits, Mimic
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from qddot.model.transmission import Transmission
from qddot.robot import Robot

if TYPE_CHECKING:
    from qddot.constraints.constraint import holonomic, pfaffian
    from qddot.constraints.standard import (
        connect,
        contact_point,
        fixed_frame,
        frames_fixed,
        joint_equality,
        loop_closure,
        point_on_line,
        point_on_plane,
        weld,
    )
    from qddot.formats.screws import inertia_from_spatial_matrix
    from qddot.made_here import Builder, from_dh, from_screws

__version__ = "0.1.0"

__all__ = [
    "Builder", "ConvergenceError", "Drive", "Frame", "Inertia", "InputError", "InputWarning", "IntegrationError", "Limits", "Mimic",
    "MissingExtraError", "ModelError", "ModelFormatError", "ModelLimitError", "ModelReferenceError", "ModelSecurityError",
    "ModelStructureError", "ModelSyntaxError", "ModelValueError", "ModelWarning", "QddotError", "RankWarning", "Robot",
    "SingularityError", "SpeedWarning", "Transmission", "UnboundSymbolError", "UnknownNameError", "catalog_names", "connect",
    "contact_point", "fixed_frame", "frames_fixed", "from_dh", "from_screws", "holonomic", "inertia_from_spatial_matrix",
    "joint_equality", "load", "load_string", "loop_closure", "pfaffian", "point_on_line", "point_on_plane", "weld",
]  # fmt: skip


LATER = {
    "qddot.constraints.constraint": ("holonomic", "pfaffian"),
    "qddot.constraints.standard": (
        "connect", "contact_point", "fixed_frame", "frames_fixed", "joint_equality", "loop_closure", "point_on_line",
        "point_on_plane", "weld",
    ),
    "qddot.formats.screws": ("inertia_from_spatial_matrix",),
    "qddot.made_here": ("Builder", "from_dh", "from_screws"),
}  # fmt: skip
"""Public names that not everybody needs: their modules are loaded when they are first named, which saves a fifth of the import."""


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Load a package when it is first named, as in `qddot.control.PD`; for a name of another library give the name used here."""
    if name == "System":  # imports SymPy, so only when needed
        from qddot.system import System

        return System
    for module, names in LATER.items():
        if name in names:
            found = globals()[name] = getattr(import_module(module), name)
            return found
    if not name.startswith("_") and find_spec(f"qddot.{name}") is not None:
        return import_module(f"qddot.{name}")
    from qddot.names_elsewhere import no_such_name

    raise no_such_name(name, "qddot", __all__)


def load(
    source: str | PathLike[str] | IO[Any],
    strict: bool = False,
    floating: bool = False,
    gravity: Sequence[float] | None = None,
    symbolic: bool = False,
    arguments: Mapping[str, object] | None = None,
    packages: Mapping[str, str | PathLike[str]] | None = None,
) -> Robot:
    """Load a robot from a file (URDF, xacro, MJCF; `.toml`, `.json`, `.yaml`), or from the catalog by name (`catalog_names()`).

    Args:
        source: path, an open file, or a catalog name such as `"puma560"`. For the text of a description see `load_string`.
        strict: refuse doubtful descriptions, which are otherwise kept with a `ModelWarning`: inertias no real body has, massless
            moving links, a table without any inertia, negative damping, revolute joints without limits, meshes outside the
            description's folders; in MJCF, forces that the model cannot represent.
        floating: let the root link move freely instead of fixing it to the world.
        gravity: acceleration (3,) in m/s^2, instead of the file's own or the default (0, 0, -9.81).
        symbolic: keep symbols for which the file gives values.
        arguments: values of a xacro file's `<xacro:arg>`s, such as `{"prefix": "left_"}`, and of variables of the environment that
            it asks for.
        packages: folders of packages that a description names by `package://` or `$(find ...)`, if they are not above or beside
            it. Files are opened only in these folders and in the description's own.

    Raises:
        ModelError: the description is wrong; the message names file, line, element, value, rule and fix.
        UnknownNameError: no catalog robot, or no xacro argument, of that name.
        MissingExtraError: MJCF without the package `mujoco`.
        FileNotFoundError: no such file.

    >>> qddot.load("panda").nv  # from the catalog
    7
    >>> qddot.load("two_link", gravity=(0, 0, -9.81)).gravity_torque([0, 0])  # the same arm, lying flat
    array([0., 0.])
    """
    how = {"strict": strict, "floating": floating, "gravity": gravity, "symbolic": symbolic}
    return Robot(load_model(source, **how, arguments=arguments, packages=packages))


def load_string(text: str | bytes, format: str | None = None, **how: Any) -> Robot:
    """Load a robot from the text of a description, such as ROS's `/robot_description`.

    >>> import qddot
    >>> qddot.load_string('<robot name="r"><link name="base"/></robot>').name
    'r'

    A text has no folder, so it can include and open only files of the `packages` given.

    Args:
        text: URDF, xacro, MJCF, or qddot's own schema in TOML, JSON or YAML.
        format: `"urdf"`, `"mjcf"`, `"xacro"`, `"toml"`, `"json"` or `"yaml"`; None: found from how the text begins.
        how: `strict`, `floating`, `gravity`, `symbolic`, `arguments`, `packages`, as in `load`.

    Raises:
        ModelError: the description is wrong; the message names line, element, value, rule and fix.
        InputError: an unknown format.
    """
    return Robot(load_text(text, format=format, **how))
