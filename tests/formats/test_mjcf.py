"""MJCF against MuJoCo itself: mass matrix, bias, passive forces, inverse and forward dynamics, poses of bodies and sites."""

from pathlib import Path

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import qddot  # noqa: E402
from qddot.errors import ModelWarning  # noqa: E402
from qddot.model.constraints import Connect, Coupling, Weld  # noqa: E402
from qddot.model.spatial import Transform, Vec  # noqa: E402
from tests.oracles.comparison import assert_close  # noqa: E402
from tests.slow import slow_but  # noqa: E402

OFF = ("mjDSBL_CONTACT", "mjDSBL_LIMIT", "mjDSBL_EQUALITY", "mjDSBL_FRICTIONLOSS", "mjDSBL_ACTUATION")
I = '<inertial pos="0.1 0.02 -0.2" euler="20 30 40" mass="1.3" diaginertia="0.05 0.04 0.03"/>'

HINGES = f"""<mujoco model="hinges"><compiler angle="degree" eulerseq="ZYX"/><option gravity="0.3 -1 -9"/>
<default><joint armature="0.02" damping="0.1"/>
<default class="stiff"><joint stiffness="7" springref="25" ref="-10"/></default></default>
<worldbody><body name="a" pos="0 0 1" euler="10 20 30"><joint name="ja" axis="0 1 2" ref="40" pos="0.1 0 0.2"/>{I}
  <body name="b" pos="0.3 0 0"><joint name="jb" class="stiff" axis="1 0 0" pos="0 0 0.3" frictionloss="0.4"/>
    <geom type="capsule" size="0.05" fromto="0 0 0 0.1 0.2 0.3"/><geom type="box" size="0.1 0.2 0.05" mass="0.7" pos="0 0 0.1"/>
    <site name="tool" pos="0.1 0.1 0.1" axisangle="1 1 0 50"/></body>
  <body name="c" pos="0 0.3 0" xyaxes="0 1 0 -1 0 0"><joint name="jc" type="slide" axis="1 1 0" ref="0.15" stiffness="30"
    springref="-0.1"/>{I}
    <body name="welded" pos="0.1 0 0"><geom type="cylinder" size="0.05 0.1"/></body></body></body></worldbody></mujoco>"""

CHAIN = f"""<mujoco><worldbody>
  <body name="cart" pos="0.2 0.3 0.4" euler="30 0 0">
    <joint name="x" type="slide" axis="1 0 0" damping="0.3"/><joint name="y" type="slide" axis="0 1 0" ref="0.2"/>
    <joint name="turn" axis="0 0.6 0.8" pos="0.1 0.2 0.3" ref="35" armature="0.4"/>{I}
    <body name="arm" pos="0.1 0 0"><joint name="roll" axis="1 0 0"/>
      <joint name="ball" type="ball" pos="0 0 0.1" armature="0.05" damping="0.2"/>
      {I}</body></body></worldbody></mujoco>"""

FLOATING = f"""<mujoco><compiler angle="radian"/><worldbody><geom type="plane" size="1 1 1"/>
  <body name="trunk" pos="0 0 1"><joint type="free" damping="0.3"/><geom type="ellipsoid" size="0.1 0.2 0.3"/>
    <body name="leg" pos="0.1 0 -0.3" quat="0.9 0.1 -0.2 0.3"><joint name="hip" type="ball" pos="0.1 0 0"/>{I}
      <body pos="0 0 -0.3"><joint axis="0 1 0" ref="0.4" damping="1"/><joint axis="1 0 0"/>{I}</body></body></body>
  <body name="ball"><freejoint name="loose"/><geom size="0.1"/></body></worldbody></mujoco>"""

MOTORS = f"""<mujoco><worldbody><body><joint name="j" axis="1 0 0" actuatorfrcrange="-7 7"/>{I}
  <body pos="0 0 0.2"><joint name="k" axis="0 1 0"/>{I}</body></body></worldbody>
  <actuator><motor joint="j" gear="3" ctrlrange="-2 2"/><motor joint="k" gear="3" ctrlrange="-2 2"/></actuator></mujoco>"""

TEXTS = {"hinges": HINGES, "chain": CHAIN, "floating": FLOATING, "motors": MOTORS}


def saved(tmp_path: Path, text: str, name: str = "robot.xml") -> Path:
    (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
    (tmp_path / name).write_text(text)
    return tmp_path / name


class There:
    """MuJoCo in a state given in the conventions here; `v_there = T v` turns a free joint's linear velocity into world axes."""

    def __init__(self, path: Path, q, qd) -> None:
        self.model = mujoco.MjModel.from_xml_path(str(path))
        for flag in OFF:
            self.model.opt.disableflags |= getattr(mujoco.mjtDisableBit, flag)
        self.data = mujoco.MjData(self.model)
        nv = self.model.nv
        self.T, self.drift, qpos = np.eye(nv), np.zeros(nv), np.array(q)
        for j in np.flatnonzero(self.model.jnt_type == 0):
            i, k = self.model.jnt_qposadr[j], self.model.jnt_dofadr[j]
            qpos[i : i + 7] = [*q[i + 4 : i + 7], *q[i : i + 4]]
            R = np.zeros(9)
            mujoco.mju_quat2Mat(R, q[i : i + 4])
            R, zero = R.reshape(3, 3), np.zeros((3, 3))
            self.T[k : k + 6, k : k + 6] = np.block([[zero, R], [np.eye(3), zero]])
            self.drift[k : k + 3] = R @ np.cross(qd[k : k + 3], qd[k + 3 : k + 6])
        self.data.qpos[:], self.data.qvel[:] = qpos, self.T @ qd
        mujoco.mj_forward(self.model, self.data)

    @property
    def mass_matrix(self):
        M = np.zeros((self.model.nv, self.model.nv))
        for row, unit in zip(M, np.eye(self.model.nv)):
            mujoco.mj_mulM(self.model, self.data, row, unit)
        return self.T.T @ M @ self.T

    def inverse_dynamics(self, qdd):
        self.data.qacc[:] = self.T @ qdd + self.drift
        mujoco.mj_inverse(self.model, self.data)
        return self.T.T @ self.data.qfrc_inverse

    def forward_dynamics(self, tau):
        self.data.qfrc_applied[:] = np.linalg.solve(self.T.T, tau)
        mujoco.mj_forward(self.model, self.data)
        return np.linalg.solve(self.T, self.data.qacc - self.drift)

    @property
    def passive(self):
        return -self.T.T @ self.data.qfrc_passive


def check_against_mujoco(path: Path, seed: int) -> None:
    robot, rng = qddot.load(path), np.random.default_rng(seed)
    q, qd, qdd = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    there = There(path, q, qd)
    dry = there.model.dof_frictionloss * np.sign(qd)
    assert (robot.nq, robot.nv) == (there.model.nq, there.model.nv)
    assert_close(robot.mass_matrix(q), there.mass_matrix, what="MJCF mass matrix")
    tau = there.inverse_dynamics(qdd)
    assert_close(robot.inverse_dynamics(q, qd, qdd), tau + dry, what="MJCF inverse dynamics")
    assert_close(robot.friction_torque(qd) - dry + robot.spring_torque(q), there.passive, what="MJCF passive")
    cond = np.linalg.cond(there.mass_matrix)
    assert_close(robot.forward_dynamics(q, qd, tau + dry), there.forward_dynamics(tau), 1e-14 * cond, what="MJCF forward dynamics")
    for kind, where, turned in (("body", there.data.xpos, there.data.xmat), ("site", there.data.site_xpos, there.data.site_xmat)):
        for i in range(getattr(there.model, f"n{kind}")):
            name = getattr(there.model, kind)(i).name
            if name:
                T = robot.transform(q, frame=name)
                assert_close(T[:3, 3], where[i], what="MJCF pose", floor=1)
                assert_close(T[:3, :3], turned[i].reshape(3, 3), what="MJCF pose")


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", TEXTS)
def test_against_mujoco(tmp_path, name, seed):
    check_against_mujoco(saved(tmp_path, TEXTS[name]), seed)


# random trees ---------------------------------------------------------------------------------------------------------


def numbers(values) -> str:
    return " ".join(f"{x:.6g}" for x in np.atleast_1d(values))


def random_joint(rng, name: str, kind: str) -> str:
    own = {"pos": rng.normal(size=3) * 0.2, "damping": rng.uniform(0, 1), "axis": rng.normal(size=3)}
    if kind != "free":
        own["armature"] = rng.uniform(0, 0.1)
    if kind in ("hinge", "slide"):
        own |= {"ref": rng.normal(), "stiffness": rng.uniform(0, 5), "springref": rng.normal(), "frictionloss": rng.uniform(0, 1)}
    if kind == "free":
        own.pop("pos")
    return f'<joint name="{name}" type="{kind}" ' + " ".join(f'{k}="{numbers(v)}"' for k, v in own.items()) + "/>"


def random_body(rng, depth: int, count: list[int]) -> str:
    """A body with up to three joints and up to two bodies on it."""
    count[0] += 1
    name = f"b{count[0]}"
    kinds = ["free"] if depth == 0 and rng.random() < 0.5 else list(rng.choice(["hinge", "slide", "ball"], size=rng.integers(0, 4)))
    kinds = kinds[: kinds.index("ball") + 1] if "ball" in kinds else kinds
    motion = "".join(random_joint(rng, f"{name}_{i}", kind) for i, kind in enumerate(kinds))
    a, b, c = rng.uniform(0.1, 0.3, size=3)
    at = f'pos="{numbers(rng.normal(size=3))}" euler="{numbers(rng.normal(size=3))}"'
    weight = f'<geom type="box" size="{numbers([a, b, c])}" {at}/>'
    below = "".join(random_body(rng, depth + 1, count) for _ in range(rng.integers(0, 3))) if depth < 3 else ""
    pose = f'pos="{numbers(rng.normal(size=3))}" quat="{numbers(rng.normal(size=4))}"'
    site = f'<site name="s{count[0]}_{depth}" pos="{numbers(rng.normal(size=3))}"/>'
    return f'<body name="{name}" {pose}>{motion}{weight}{site}{below}</body>'


@pytest.mark.parametrize("seed", slow_but(range(12), 1, 2, 3))
def test_random_trees(tmp_path, seed):
    rng = np.random.default_rng(seed)
    bodies = "".join(random_body(rng, 0, count) for count in ([0], [100]))
    head = f'<compiler angle="radian"/><option gravity="{numbers(rng.normal(size=3) * 5)}"/>'
    path = saved(tmp_path, f"<mujoco>{head}<worldbody>{bodies}</worldbody></mujoco>")
    if mujoco.MjModel.from_xml_path(str(path)).nv:
        check_against_mujoco(path, seed)


# names, limits, order -------------------------------------------------------------------------------------------------


def test_what_is_read(tmp_path):
    robot = qddot.load(saved(tmp_path, HINGES))
    assert robot.name == "hinges"
    assert robot.joint_names == ("ja", "jb", "jc")
    assert robot.link_names == ("world", "a", "b", "c", "welded")
    assert "tool" in robot.frame_names
    assert robot.gravity.tolist() == [0.3, -1, -9]
    assert robot.drives["ja"] == qddot.Drive(viscous=0.1, rotor_inertia=0.02)
    assert robot.drives["jb"].rest == pytest.approx(np.radians(25))
    assert robot.drives["jb"].coulomb == 0.4


def test_several_joints_a_body_are_a_chain_of_massless_links(tmp_path):
    robot = qddot.load(saved(tmp_path, CHAIN, "planar.xml"))
    assert robot.name == "planar"
    assert robot.joint_names == ("x", "y", "turn", "roll", "ball")
    assert robot.link_names == ("world", "cart.x", "cart.y", "cart", "arm.roll", "arm")
    assert [link.name for link in robot.model.links if link.inertia is None] == ["world", "cart.x", "cart.y", "arm.roll"]


def test_unnamed_things_get_names(tmp_path):
    robot = qddot.load(saved(tmp_path, FLOATING))
    assert robot.link_names == ("world", "trunk", "leg", "body5.body5_joint", "body5", "ball")
    assert robot.joint_names == ("trunk_joint", "hip", "body5_joint", "body5_joint_2", "loose")


def test_limits_of_position_and_effort(tmp_path):
    text = f"""<mujoco><worldbody><body><joint name="a" range="-30 60"/>{I}<body><joint name="b" limited="false" range="-1 1"/>{I}
      <body><joint name="c" type="slide" range="-1 2" actuatorfrcrange="-9 4"/>{I}</body></body></body></worldbody>
      <actuator><motor joint="a" gear="-50" ctrlrange="-1 1"/><motor joint="a" gear="2" ctrlrange="-3 3"/>
      <position joint="b" kp="10" forcerange="-5 5" gear="2"/><motor joint="c"/></actuator></mujoco>"""
    with pytest.warns(ModelWarning) as caught:
        limits = qddot.load(saved(tmp_path, text)).limits
    assert limits.lower.tolist() == pytest.approx([np.radians(-30), -np.inf, -1])
    assert limits.upper.tolist() == pytest.approx([np.radians(60), np.inf, 2])
    assert limits.effort.tolist() == [56, 10, 9]
    messages = " ".join(str(w.message) for w in caught)
    assert "'c': the effort limit differs by direction" in messages
    assert "follows a law of its own" in messages


def test_a_motor_reflects_its_rotor(tmp_path):
    if not hasattr(mujoco.MjModel, "actuator_armature"):
        pytest.skip("this MuJoCo has no rotors in actuators")
    text = MOTORS.replace('gear="3" ctrl', 'gear="3" armature="0.1" damping="0.2" ctrl')
    path = saved(tmp_path, text)
    assert qddot.load(path).drives["j"] == qddot.Drive(viscous=9 * 0.2, rotor_inertia=9 * 0.1)
    check_against_mujoco(path, 0)


@pytest.mark.parametrize("flag", ["gravity", "spring", "damper"])
def test_disabled_terms(tmp_path, flag):
    text = HINGES.replace('"0.3 -1 -9"/>', f'"0.3 -1 -9"><flag {flag}="disable"/></option>')
    check_against_mujoco(saved(tmp_path, text), 3)


def test_a_site_may_have_the_name_of_a_body(tmp_path):
    with pytest.warns(ModelWarning, match="'a_site'"):
        robot = qddot.load(saved(tmp_path, HINGES.replace('name="tool"', 'name="a"')))
    assert "a_site" in robot.frame_names


def test_gravity_may_be_given(tmp_path):
    assert qddot.load(saved(tmp_path, HINGES), gravity=(0, 0, -1)).gravity.tolist() == [0, 0, -1]


def test_written_as_urdf_it_is_the_same_robot(tmp_path):
    robot = qddot.load(saved(tmp_path, CHAIN))
    robot.to_urdf(tmp_path / "back.urdf")
    back, rng = qddot.load(tmp_path / "back.urdf"), np.random.default_rng(0)
    q, qd, qdd = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    assert_close(back.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), what="MJCF as URDF")


# includes, meshes -----------------------------------------------------------------------------------------------------


def test_includes(tmp_path):
    body = f'<body name="b"><joint/>{I}</body>'
    saved(tmp_path, f'<mujocoinclude>\n<include file="deep.xml"/>\n{body}</mujocoinclude>', "parts/b.xml")
    saved(tmp_path, f'<mujocoinclude><body name="c"><joint axis="1 0 0"/>{I}</body></mujocoinclude>', "parts/deep.xml")
    path = saved(tmp_path, '<mujoco><worldbody>\n<include file="parts/b.xml"/></worldbody></mujoco>')
    assert qddot.load(path).link_names == ("world", "c", "b")
    check_against_mujoco(path, 0)


def test_attached_replicated_and_framed_bodies(tmp_path):
    saved(
        tmp_path,
        f'<mujoco>\n<worldbody><body name="b"><joint name="j" ref="20"/>{I}<site name="s"/></body></worldbody></mujoco>',
        "sub.xml",
    )
    body = f'<body name="{{}}"><joint axis="0 1 0"/>{I}</body>'
    path = saved(
        tmp_path,
        f"""<mujoco><asset><model name="m" file="sub.xml"/></asset><worldbody>
        <body name="a"><joint name="j"/>{I}<attach model="m" body="b" prefix="p_"/></body>
        <replicate count="3" offset="1 0 0" euler="0 0 30">{body.format("r")}</replicate>
        <frame pos="1 2 3" euler="10 20 30">{body.format("f")}</frame></worldbody></mujoco>""",
    )
    robot = qddot.load(path)
    assert robot.link_names == ("world", "a", "p_b", "r0", "r1", "r2", "f")
    assert "p_s" in robot.frame_names
    check_against_mujoco(path, 1)


def test_a_missing_mesh_is_reported_where_the_inertia_is_given(tmp_path):
    text = """<mujoco><asset><mesh name="m" file="no.stl"/><texture name="t" type="2d" file="no.png"/>
      <material name="m" texture="t"/>
      </asset><worldbody><body name="b"><joint/>{}<geom type="mesh" mesh="m" material="m"/></body></worldbody></mujoco>"""
    with pytest.warns(ModelWarning, match=r"robot.xml:1:16: asset > mesh 'm' 'no.stl': the file does not exist"):
        assert qddot.load(saved(tmp_path, text.format(I))).nv == 1
    with pytest.raises(qddot.ModelReferenceError, match="give the body an <inertial>") as info:
        qddot.load(saved(tmp_path, text.format("")))
    assert info.value.line == 1


# constraints ----------------------------------------------------------------------------------------------------------

LOOP = f"""<mujoco><compiler angle="radian"/><worldbody>
  <body name="a" pos="1 0 0"><joint name="j" ref="0.3" axis="0 1 0"/>{I}<site name="s" pos="0.1 0 0"/></body>
  <body name="b" pos="0 1 0" euler="0 0 1.5707963267948966"><joint name="k" type="slide" ref="0.2"/>{I}
    <site name="t" pos="0 0.1 0"/></body>
</worldbody><equality>
  <connect name="pin" body1="a" body2="b" anchor="0.5 0.5 0"/>
  <connect name="sites" site1="s" site2="t"/>
  <weld name="glue" body1="a" body2="b" anchor="0.1 0.2 0.3"/>
  <joint name="gear" joint1="j" joint2="k" polycoef="0.1 2 3 0 0" active="false"/>
  <joint name="lock" joint1="j" polycoef="0.5 0 0 0 0"/>
</equality></mujoco>"""


def test_equality_constraints_are_kept_and_reported(tmp_path):
    with pytest.warns(ModelWarning, match="'pin', 'sites', 'glue', 'gear', 'lock' are kept as data; .* of the open tree"):
        robot = qddot.load(saved(tmp_path, LOOP))
    pin, sites, glue, gear, lock = robot.model.constraints
    assert pin == Connect("pin", "a", "b", Vec(0.5, 0.5, 0.0), pin.point2)
    assert pin.point2 == pytest.approx((-0.5, -1.5, 0))
    assert sites == Connect("sites", "a", "b", Vec(0.1, 0.0, 0.0), Vec(0.0, 0.1, 0.0))
    assert isinstance(glue, Weld)
    assert gear.active is False
    assert gear.leader == "k"
    for q in (0.7, -0.4):  # MuJoCo's polynomial is about the reference positions
        ours = np.polynomial.Polynomial(gear.coefficients)(q)
        assert ours == pytest.approx(0.3 + 0.1 + 2 * (q - 0.2) + 3 * (q - 0.2) ** 2)
    assert lock == Coupling("lock", "j", None, (0.8,))
    assert pin.place.line == 6
    assert robot.with_gravity((0, 0, 0)).model.constraints == robot.model.constraints
    assert robot.with_floating_base().model.constraints == robot.model.constraints


def test_constraints_may_be_disabled(tmp_path):
    text = LOOP.replace("<worldbody>", '<option><flag equality="disable"/></option><worldbody>', 1)
    assert not any(constraint.active for constraint in qddot.load(saved(tmp_path, text)).model.constraints)


def test_loops_are_closed_where_the_file_draws_them(tmp_path):
    robot = qddot.load(saved(tmp_path, LOOP))
    q = np.array([0.3, 0.2])
    pin, _, glue, *_ = robot.model.constraints
    point = lambda link, p: (robot.transform(q, frame=link) @ [*p, 1])[:3]  # noqa: E731
    assert point(pin.link1, pin.point1) == pytest.approx(point(pin.link2, pin.point2))

    def pose(link: str, on: Transform):
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = np.array(on.R, float), np.array(on.p, float)
        return robot.transform(q, frame=link) @ T

    assert pose(glue.link1, glue.pose1) == pytest.approx(pose(glue.link2, glue.pose2), abs=1e-12)


def test_constraints_are_not_written_as_urdf(tmp_path):
    robot = qddot.load(saved(tmp_path, LOOP))
    with pytest.warns(ModelWarning, match="the constraints 'pin', .* are not written"):
        robot.to_urdf(tmp_path / "a.urdf")
