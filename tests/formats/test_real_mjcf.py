"""The MJCF models that Gymnasium ships, against MuJoCo itself; only files are taken from there, the package is not imported."""

from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("mujoco")

import qddot
from qddot.errors import ModelWarning
from tests.formats.test_mjcf import check_against_mujoco
from tests.slow import slow_but

SPEC = find_spec("gymnasium")
ASSETS = Path(SPEC.origin).parent / "envs" / "mujoco" / "assets" if SPEC and SPEC.origin else Path("nowhere")
FLUID = ("swimmer",)
FILES = [path for path in sorted(ASSETS.glob("*.xml")) if path.stem not in FLUID]


@pytest.mark.filterwarnings("ignore::UserWarning")  # MuJoCo's own, of old files
@pytest.mark.parametrize("path", slow_but(FILES, *FILES[::2]), ids=lambda path: path.stem)
def test_against_mujoco(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where MuJoCo may write its log
    check_against_mujoco(path, 0)


@pytest.mark.skipif(not FILES, reason="gymnasium is not installed")
def test_a_swimmer_loses_its_water():
    with pytest.warns(ModelWarning, match="a fluid of density 4000 and viscosity 0.1"):
        qddot.load(ASSETS / "swimmer.xml")
    with pytest.raises(qddot.ModelValueError, match=r"swimmer.xml:\d+:\d+: option: a fluid"):
        qddot.load(ASSETS / "swimmer.xml", strict=True)
