"""Reader of MJCF: MuJoCo compiles the file, and its bodies, joints, inertias and sites become a model.

MuJoCo's equation of motion is `M qdd + bias = tau + passive + constraint`. Armature is on the diagonal of M; springs, dampers and
dry friction are drives here. Contacts and limits are not read, since they act only on contact; actuators only produce tau. Any
other part of the equation of motion gives a warning, or is refused when strict (`qddot.formats.mjcf_rest`).

A body with several joints becomes a chain with massless links between them, named `body.joint`. A joint's `ref` goes into its
origin, so that q is the same number as in MuJoCo. Only quaternion joints differ: a free joint has q = (quaternion, position) and
qd = (omega, v) in body axes here, (position, quaternion) and (v in world axes, omega) there.
"""

from __future__ import annotations

from collections.abc import Sequence

from qddot.errors import ModelFormatError, first_few
from qddot.formats.mjcf_actuators import Motors
from qddot.formats.mjcf_compile import Compiled, compile_source, pose_of, vec_of
from qddot.formats.mjcf_rest import constraints, report_rest
from qddot.formats.mjcf_text import read_source
from qddot.formats.mjcf_visuals import visuals_of
from qddot.formats.reach import Reach
from qddot.formats.source import Description
from qddot.formats.subject import Subject
from qddot.formats.xml_tree import Element
from qddot.model.check import warn
from qddot.model.description import Frame, Joint, Limits, Link
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from qddot.model.model import Model, unused
from qddot.model.pose import from_axis_angle, snapped
from qddot.model.scalar import Scalar
from qddot.model.spatial import Mat, Transform, Vec
from qddot.place import Place

KINDS = ("free", "spherical", "prismatic", "revolute")  # in the order of MuJoCo's mjtJoint
FREE, BALL, SLIDE, HINGE = range(4)
HERE = Vec(0.0, 0.0, 0.0)
STILL = Transform(Mat(Vec(1.0, 0.0, 0.0), Vec(0.0, 1.0, 0.0), Vec(0.0, 0.0, 1.0)), HERE)


def model_of(
    root: Element, description: Description, reach: Reach, *, strict: bool = False, gravity: Sequence[Scalar] | None = None
) -> Model:
    """Return the robot in the root element of an MJCF file and in the files it includes, which are in `reach`. Raises
    MissingExtraError: the package `mujoco` is not installed."""
    if root.tag != "mujoco":
        raise ModelFormatError(f"the root is <{root.tag}>, expected <mujoco>", place=root.place, fix="this reads MJCF")
    compiled = compile_source(read_source(root, description.name, reach, strict), reach)
    reader = _Reader(compiled)
    reader.read()
    report_rest(compiled, strict)
    return Model(
        root.attributes.get("model") or description.stem,
        reader.links,
        reader.joints,
        reader.frames,
        reader.gravity if gravity is None else gravity,
        strict=strict,
        constraints=constraints(compiled, [reader.link(i) for i in range(compiled.model.nbody)]),
    )


class _Reader:
    """Builder of the description from the compiled model."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled, self.model = compiled, compiled.model
        self.motors = Motors(self.model)
        self.links: list[Link] = []
        self.joints: list[Joint] = []
        self.frames: list[Frame] = []
        self.taken = {self.model.body(i).name for i in range(self.model.nbody)}
        self.fixed = {self.model.joint(i).name for i in range(self.model.njnt)}

    @property
    def gravity(self) -> Vec:
        return HERE if self.compiled.is_off("GRAVITY") else vec_of(self.model.opt.gravity)

    def link(self, body: int) -> str:
        return self.model.body(body).name

    def subject(self, kind: str, name: str) -> Subject:
        """Return the subject of errors about a body, joint or site."""
        element = self.compiled.elements.get((kind, name))
        return Subject(element.path if element else f"{kind} {name!r}", self.compiled.place(kind, name))

    def read(self) -> None:
        """Fill `links`, `joints` and `frames`."""
        for body in range(self.model.nbody):
            name = self.link(body)
            place = self.compiled.place("body", name)
            if body:
                self.read_joints(body, name, place)
            self.links.append(Link(name, self.inertia(body, name), place, visuals_of(self.model, body, self.compiled.meshes)))
        self.read_sites()

    # bodies -----------------------------------------------------------------------------------------------------------

    def inertia(self, body: int, name: str) -> Inertia | None:
        if name in self.compiled.doubtful:
            return self.compiled.doubtful[name]
        model = self.model
        mass, moments = float(model.body_mass[body]), model.body_inertia[body]
        if body == 0 or (mass == 0 and not moments.any()):
            return None
        frame = pose_of(model.body_ipos[body], model.body_iquat[body])
        made = self.subject("body", name).made  # since numbers may overflow
        return made(made(Inertia, mass, tensor=tuple(float(x) for x in moments)).moved, frame)

    def read_joints(self, body: int, name: str, place: Place) -> None:
        """Add the chain of joints that moves a body, with massless links between them; a fixed joint if it has none."""
        model = self.model
        parent, origin = self.link(model.body_parentid[body]), pose_of(model.body_pos[body], model.body_quat[body])
        first, count = model.body_jntadr[body], model.body_jntnum[body]
        if not count:
            joint = unused(f"{name}_joint", self.fixed)
            self.fixed.add(joint)
            self.joints.append(Joint(joint, "fixed", parent, name, origin, place=place))
        for i in range(first, first + count):
            last = i == first + count - 1
            child = name if last else unused(f"{name}.{model.joint(i).name}", self.taken)
            self.taken.add(child)
            subject = self.subject("joint", model.joint(i).name)
            joint = subject.made(self.joint, i, parent, child, origin)  # since numbers may overflow
            self.joints.append(joint)
            if not last:
                self.links.append(Link(child, None, joint.place))
            parent, origin = child, STILL

    def read_sites(self) -> None:
        """Add named sites as frames; one with the name of a body gets another name, since links are frames, too."""
        renamed = []
        for i in range(self.model.nsite):
            site = self.model.site(i)
            if not site.name:
                continue
            place = self.compiled.place("site", site.name)
            name = site.name if site.name not in self.taken else unused(f"{site.name}_site", self.taken)
            renamed += [name] * (name != site.name)
            self.taken.add(name)
            pose = pose_of(self.model.site_pos[i], self.model.site_quat[i])
            self.frames.append(Frame(name, self.link(self.model.site_bodyid[i]), pose, place))
        if renamed:
            rule = f"sites that have the name of a body are the frames {first_few(map(repr, renamed))}"
            warn(rule, place=Place(self.compiled.file), element="site")

    # joints -----------------------------------------------------------------------------------------------------------

    def joint(self, i: int, parent: str, child: str, origin: Transform) -> Joint:
        """Return a joint. MuJoCo turns a body about an anchor in its own frame: to the anchor, turn, and back."""
        model, kind, name = self.model, self.model.jnt_type[i], self.model.joint(i).name
        subject = self.subject("joint", name)
        axis, anchor = vec_of(model.jnt_axis[i]), HERE if kind == SLIDE else vec_of(model.jnt_pos[i])
        common = {"limits": self.limits(i), "drive": self.drive(i, subject), "place": subject.place}
        if kind == FREE:  # its q is the pose in the world
            return Joint(name, KINDS[kind], parent, child, STILL, **common)
        if kind in (SLIDE, HINGE):
            origin, common["axis"] = origin @ Transform(STILL.R, anchor) @ self.before(i, axis), axis
        else:
            origin = origin @ Transform(STILL.R, anchor)
        return Joint(name, KINDS[kind], parent, child, snapped(origin), tip=Transform(STILL.R, -anchor), **common)

    def before(self, i: int, axis: Vec) -> Transform:
        """Return the motion of the joint from `ref`, at which the file describes it, back to zero."""
        reference = float(self.model.qpos0[self.model.jnt_qposadr[i]])
        if self.model.jnt_type[i] == SLIDE:
            return Transform(STILL.R, axis * -reference)
        return Transform(from_axis_angle(axis, -reference), HERE)

    def limits(self, i: int) -> Limits:
        model = self.model
        effort = self.motors.effort(i)
        if model.jnt_type[i] in (FREE, BALL) or not model.jnt_limited[i]:
            return Limits(effort=effort)
        lower, upper = (float(x) for x in model.jnt_range[i])
        return Limits(lower, upper, effort=effort)

    def drive(self, i: int, subject: Subject) -> Drive | None:
        """Return armature, damping, dry friction and spring as a drive (see `mjcf_rest` for other terms); None without any."""
        model, dof, kind = self.model, self.model.jnt_dofadr[i], self.model.jnt_type[i]
        armature, damping = self.motors.reflected(i)
        viscous = 0.0 if self.compiled.is_off("DAMPER", "PASSIVE") else float(model.dof_damping[dof]) + damping
        values = {
            "viscous" if viscous >= 0 else "damping": viscous,  # a negative one is kept and reported
            "rotor_inertia": 0.0 if kind == FREE else float(model.dof_armature[dof]) + armature,
            "coulomb": 0.0 if kind == FREE or self.compiled.is_off("FRICTIONLOSS") else float(model.dof_frictionloss[dof]),
        }
        if kind in (SLIDE, HINGE) and not self.compiled.is_off("SPRING", "PASSIVE"):
            values["stiffness"] = float(model.jnt_stiffness[i])
            values["rest"] = float(model.qpos_spring[model.jnt_qposadr[i]]) if values["stiffness"] else 0.0
        if not any(values.values()):
            return None
        return subject.made(Drive, **values)
