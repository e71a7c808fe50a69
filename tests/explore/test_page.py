"""What is in the page, without a browser."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sympy
from click.testing import CliRunner

import qddot
from qddot.catalog import known_names
from qddot.cli import main
from qddot.errors import InputError, NoAssetError, UnboundSymbolError
from qddot.explore import lens as lens_module
from qddot.explore import page as page_module
from qddot.explore import show
from qddot.explore.lens import lens
from qddot.explore.page import page
from qddot.explore.scene import scene
from tests.robots import random_model

HOSTILE = "</script><img src=x onerror=alert(1)>${1}`\"'&<!--"


def parts(html: str) -> dict[str, str]:
    """The script elements that are data."""
    return dict(re.findall(r'<script type="[^"]*" id="(\w+)">(.*?)</script>', html, re.DOTALL))


def equations(html: str) -> dict:
    text = parts(html)["equations"]
    return json.loads(text if text.startswith("{") else gzip.decompress(base64.b64decode(text)))


@pytest.fixture
def stub(monkeypatch):
    """Pages without the bundle, which says nothing about what Python puts in."""
    monkeypatch.setattr(page_module, "asset", lambda name: b"var explorer;")


def test_scripts_are_allowed_by_their_hash_and_nothing_else_is(stub):
    html = page(qddot.load("two_link"))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(scripts) == 2
    for text in (*scripts, re.search(r"<style>(.*?)</style>", html, re.DOTALL)[1]):
        assert f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert not re.search(r'(src|href)="(?!data:,)', html)


def test_names_are_text(stub):
    build = qddot.Builder(HOSTILE).body(HOSTILE, "base", joint_name=HOSTILE + "2", axis=(0, 0, 1), mass=1, com=(0.1, 0, 0))
    html = page(build.robot())
    data = json.loads(parts(html)["robot"])
    assert data["name"] == HOSTILE
    assert data["bodies"][0]["name"] == HOSTILE
    assert "<img" not in html
    assert html.count("</script>") == 4


def test_the_lens_has_the_ring_s_own_forms():
    robot = qddot.load("two_link")
    data = lens(robot.model)
    assert [x["name"] for x in data["variants"]] == ["numbers", "letters"]
    entry = data["variants"][0]["quantities"]["mass_matrix"]["entries"][0]
    exact = robot.equations().M[0, 0]
    assert sympy.simplify(sympy.sympify(entry["sympy"]) - sympy.sympify(str(exact.sympy()))) == 0
    assert entry["latex"] == exact.latex()
    assert "".join(text for _, text, _ in entry["terms"]).count("<mn>0.245</mn>") == 1


def test_short_entries_of_a_long_matrix_are_written(monkeypatch):
    monkeypatch.setattr(lens_module, "MANY", 20)
    monkeypatch.setattr(lens_module, "SHORT", 2)
    mass = lens(qddot.load("puma560").model)["variants"][0]["quantities"]["mass_matrix"]
    assert "terms" in mass["missing"]
    assert mass["entries"][0] is None
    assert len(mass["entries"][35]["terms"]) == 1


def test_forms_of_long_chains_are_not_computed(monkeypatch):
    monkeypatch.setattr(lens_module, "DEEPEST", 5)
    puma = lens(qddot.load("puma560").model)["variants"][0]["quantities"]
    assert "more than 5 degrees of freedom" in puma["mass_matrix"]["missing"]
    monkeypatch.setattr(lens_module, "MANY", 20)
    flying = lens(qddot.load("quadrotor_arm").model)["variants"][0]["quantities"]  # its base turns and shifts, an arm of two links
    assert re.match(r"M\(q\) has \d+ terms in closed form, and this many times more", flying["coriolis_torque"]["missing"])


def value(tree, q, qd, letters) -> float:
    """A tree, walked as the page does."""
    if not isinstance(tree, list):
        return tree
    what, *of = tree
    inner = [x if not isinstance(x, list) else value(x, q, qd, letters) for x in of] if what not in ("q", "qd", "letter") else of
    return {
        "q": lambda: q[inner[0]], "qd": lambda: qd[inner[0]], "letter": lambda: letters[inner[0]], "sin": lambda: np.sin(inner[0]),
        "cos": lambda: np.cos(inner[0]), "sign": lambda: np.sign(inner[0]), "sqrt": lambda: np.sqrt(inner[0]),
        "abs": lambda: abs(inner[0]), "/": lambda: 1 / inner[0], "^": lambda: inner[0] ** inner[1],
        "*": lambda: np.prod(inner), "+": lambda: np.sum(inner),
    }[what]()  # fmt: skip


@pytest.mark.parametrize("name", ["two_link", "puma560", "rp_arm", "cart_pole"])
def test_terms_add_up_to_the_kernels(name):
    robot, rng = qddot.load(name), np.random.default_rng(0)
    q, qd = robot.random_configuration(rng), rng.normal(size=robot.nv)
    for variant in lens(robot.model)["variants"]:
        values = variant["values"]
        names = {name: sum(value(tree, (), (), values) for _, _, tree in x["terms"]) for name, x in variant["names"].items()}
        letters = values | names
        for quantity, inputs in (
            ("mass_matrix", (q,)),
            ("coriolis_torque", (q, qd)),
            ("gravity_torque", (q,)),
            ("friction_torque", (qd,)),
        ):
            entries = variant["quantities"][quantity].get("entries")
            if entries is None:  # too long in letters
                assert (variant["name"], quantity) == ("letters", "coriolis_torque")
                continue
            want = getattr(robot, quantity)(*inputs).ravel()
            for k, expected in enumerate(want):
                entry = entries[entries[k]] if isinstance(entries[k], int) else entries[k]
                for terms in (entry["terms"], entry.get("short", entry)["terms"]):
                    total = sum(value(tree, q, qd, letters) for _, _, tree in terms)
                    assert total == pytest.approx(expected, abs=1e-9 * max(1, np.abs(want).max())), (variant["name"], quantity, k)


def test_letters_of_the_robot_s_own(stub):
    robot = qddot.load("two_link", symbolic=True)
    with pytest.raises(UnboundSymbolError):
        page(robot)
    data = lens(qddot.load("two_link").model, robot.model, {"l1": 0.5, "l2": 0.7, "m1": 0.5, "m2": 0.7, "r": 0.04})
    first = data["variants"][0]
    assert first["name"] == "letters"
    assert first["values"]["l1"] == 0.5
    assert "l_{1}" in first["quantities"]["mass_matrix"]["entries"][0]["latex"]


def test_the_derivation_knows_which_step_makes_what():
    found = lens(qddot.load("two_link").model)["derivation"]
    heads = re.findall(r"<h2>\d+\. ([^<]*)</h2>", found["body"])
    titles = {quantity: heads[k - 1] for quantity, k in found["steps"].items()}
    assert titles["mass_matrix"] == "The mass matrix"
    assert titles["gravity_torque"] == "Gravity"
    assert titles["coriolis_torque"] == titles["coriolis_matrix"] == "The forces of the velocities"
    assert titles["inverse_dynamics"] == "The equations of motion"


def test_planar_arms_are_seen_straight_on():
    flat = scene(qddot.load("two_link").model)
    assert flat["normal"] == [0, 0, 1]
    assert flat["up"] == [0, 1, 0]
    assert scene(qddot.load("arm7").model)["normal"] is None


def test_a_box_of_equal_inertia_is_the_box():
    solid = qddot.Inertia.box(3.0, (0.1, 0.2, 0.4))
    robot = qddot.Builder("box").body("b", "base", axis=(0, 0, 1), inertia=solid).robot()
    assert sorted(scene(robot.model)["bodies"][0]["box"]["size"]) == pytest.approx([0.1, 0.2, 0.4])


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2, 3))])
def test_every_robot_has_a_page(seed, stub):
    robot = qddot.robot.Robot(random_model(np.random.default_rng(seed), 5, mimic=0.2))
    data = json.loads(parts(page(robot))["robot"])
    assert len(data["coordinates"]) == robot.nv
    assert len(data["start"]["q"]) == robot.nq


def test_files_notebooks_and_commands(stub, tmp_path, monkeypatch):
    robot = qddot.load("two_link")
    made = robot.explore(tmp_path / "arm.html")
    assert (tmp_path / "arm.html").read_text("utf-8") == made.html
    assert [x.name for x in tmp_path.iterdir()] == ["arm.html"]
    assert "<script" not in made._repr_html_()
    assert "srcdoc=" in made._repr_html_()
    with pytest.raises(InputError, match=r"\.html"):
        robot.explore(tmp_path / "arm.pdf")
    opened: list[str] = []
    monkeypatch.setattr(show.webbrowser, "open", lambda uri: opened.append(uri) or True)
    robot.explore()
    assert Path(opened[0].removeprefix("file://")).is_file()
    monkeypatch.setattr(show, "in_notebook", lambda: True)
    robot.explore()
    assert len(opened) == 1
    done = CliRunner().invoke(main, ["explore", "two_link", "-o", str(tmp_path / "cli.html")])
    assert done.exit_code == 0, done.output
    assert done.output.strip() == str(tmp_path / "cli.html")
    monkeypatch.setattr(show, "in_notebook", lambda: False)
    shown = CliRunner().invoke(main, ["explore", "two_link"]).output.strip()
    assert opened[-1] == Path(shown).as_uri()  # where it is, for whom another browser suits
    assert equations((tmp_path / "cli.html").read_text("utf-8"))["variants"][0]["values"]["m1"] == 0.5


def test_notebooks_are_known(monkeypatch):
    """Jupyter and VS Code by their kernel, marimo by what it says; a terminal of IPython is none."""
    shell = SimpleNamespace()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "marimo", None)
    assert not show.in_notebook()
    shell.kernel = object()
    assert show.in_notebook()
    monkeypatch.delitem(sys.modules, "IPython")
    for running in (True, False):
        monkeypatch.setitem(sys.modules, "marimo", SimpleNamespace(running_in_notebook=lambda r=running: r))
        assert show.in_notebook() == running


@pytest.mark.parametrize(("name", "most"), [("two_link", 0.9e6), pytest.param("panda/panda", 1.6e6, marks=pytest.mark.slow)])
def test_a_page_can_be_mailed(asset, name, most):
    """With the script, the maths font, and meshes of at most 4,000 triangles."""
    if name not in known_names():
        pytest.skip("needs the extra `robots`")
    assert len(page(qddot.load(name))) < most


def test_a_motion_is_in_its_page(stub, tmp_path):
    robot = qddot.load("two_link")
    motion = robot.simulate([0.3, 0.4], None, 0.5)
    data = json.loads(parts(motion.explore(tmp_path / "motion.html").html)["robot"])
    assert data["motion"]["q"][-1] == pytest.approx(motion.q[-1], rel=1e-8)
    assert len(data["motion"]["t"]) == len(data["motion"]["tau"]) == 501


@pytest.mark.slow
def test_a_fit_is_in_its_page(stub, tmp_path):
    pytest.importorskip("cvxpy")
    from tests.identify.test_verdict import LOG, fitted

    fit = fitted(LOG)
    motion = json.loads(parts(fit.explore(tmp_path / "fit.html").html)["robot"])["motion"]
    measured, predicted = (np.array(motion[name]) for name in ("measured", "tau"))
    assert measured.shape == predicted.shape == np.array(motion["qd"]).shape
    error = np.linalg.norm(measured - predicted) / np.linalg.norm(measured)
    assert error == pytest.approx(fit.training.relative, rel=0.05)
    assert motion["t"][:: len(motion["t"]) - 1] == pytest.approx(fit.judged.t[[0, -1]])
    twice = json.loads(parts(fitted(LOG + LOG).explore(tmp_path / "twice.html").html)["robot"])["motion"]
    assert np.all(np.diff(twice["t"]) > 0)  # though the second recording's clock begins anew


def test_what_cannot_be_explored(stub, monkeypatch):
    with pytest.raises(InputError, match="no joints"):
        page(qddot.Builder("stone").robot())
    with pytest.raises(InputError, match="q"):
        page(qddot.load("two_link"), q=[1.0])

    def missing(name):
        raise NoAssetError("run web/assets.py")

    monkeypatch.setattr(page_module, "asset", missing)
    with pytest.raises(NoAssetError):
        qddot.load("two_link").explore("never.html")
    assert not Path("never.html").exists()


def test_letters_may_stand_for_roots():
    """A link that is fixed at 45 degrees brings sqrt(2) into the parameters, which are numbers in the page."""
    body = '<inertial><mass value="1"/><origin xyz="0.1 0 0"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    joints = (
        '<joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/></joint>'
        '<joint name="k" type="fixed"><parent link="a"/><child link="b"/><origin rpy="0 0 0.7853981633974483"/></joint>'
    )
    text = f'<robot name="r"><link name="base"/><link name="a">{body}</link><link name="b">{body}</link>{joints}</robot>'
    letters = lens(qddot.load_string(text).model)["variants"][-1]
    assert letters["values"]["mx1"] == pytest.approx(0.1 + 0.1 / 2**0.5, rel=1e-14)
