"""Small valid inputs that use every feature of a format: what mutants are made from."""

from __future__ import annotations

import math
from typing import Any

URDF = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.1 0 0.2" rpy="0.1 0.2 0.3"/><mass value="2.5"/>
<inertia ixx="0.4" ixy="0.01" ixz="0" iyy="0.5" iyz="-0.02" izz="0.3"/></inertial>
<visual><origin xyz="0 0 0.1"/><geometry><box size="0.1 0.2 0.3"/></geometry></visual></link>
<link name="lower"><inertial><mass value="1.5"/><inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.1"/></inertial></link>
<link name="finger"><inertial><mass value="0.1"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
<link name="tool"/>
<joint name="shoulder" type="revolute"><origin xyz="0 0 0.3" rpy="0 1.5708 0"/><parent link="base"/><child link="upper"/>
<axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="80" velocity="3"/><dynamics damping="0.5" friction="0.2"/></joint>
<joint name="elbow" type="prismatic"><origin xyz="0.4 0 0"/><parent link="upper"/><child link="lower"/><axis xyz="0 0.6 0.8"/>
<limit lower="-0.1" upper="0.5" effort="100" velocity="1"/></joint>
<joint name="grip" type="continuous"><parent link="lower"/><child link="finger"/><axis xyz="1 0 0"/>
<mimic joint="shoulder" multiplier="-0.5" offset="0.1"/></joint>
<joint name="flange" type="fixed"><origin xyz="0 0 0.1"/><parent link="lower"/><child link="tool"/></joint></robot>"""

XACRO = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="m" default="2"/>
<xacro:property name="l" value="0.4"/><xacro:property name="names" value="${['a', 'b']}"/>
<xacro:macro name="inertial" params="mass r:=${l/2} *origin"><inertial><xacro:insert_block name="origin"/><mass value="${mass}"/>
<inertia ixx="${mass*r**2}" ixy="0" ixz="0" iyy="${mass*r*r}" iyz="0" izz="${mass*pow(r, 2)}"/></inertial></xacro:macro>
<link name="base"/><xacro:if value="${l &gt; 0.1}"><link name="${names[0]}"><xacro:inertial mass="$(arg m)"><origin xyz="${l} 0 0"/>
</xacro:inertial></link></xacro:if>
<joint name="j1" type="continuous"><origin xyz="0 0 ${sin(pi/2)*l}"/><parent link="base"/><child link="a"/>
<axis xyz="0 1 0"/></joint></robot>"""

MJCF = """<mujoco model="arm"><compiler angle="radian"/><option gravity="0 0 -9.81"/>
<default><joint damping="0.1" armature="0.01"/></default>
<worldbody><body name="upper" pos="0 0 0.3" quat="0.7 0 0.7 0"><joint name="j1" axis="0 0 1" range="-2 2" ref="0.1"/>
<inertial pos="0.1 0 0" mass="2" diaginertia="0.3 0.2 0.1"/><body name="lower" pos="0.4 0 0" euler="0.1 0.2 0.3">
<joint name="j2" type="slide" axis="0 0.6 0.8" frictionloss="0.2" stiffness="3" springref="0.1"/>
<geom type="capsule" size="0.05 0.2" mass="1"/><site name="tip" pos="0 0 0.2"/></body></body></worldbody>
<equality><joint joint1="j1" joint2="j2" polycoef="0 1 0 0 0"/></equality>
<actuator><motor joint="j1" gear="50" ctrlrange="-1 1"/></actuator></mujoco>"""

XML = {".urdf": URDF, ".xacro": XACRO, ".xml": MJCF}

DOCUMENTS: list[dict[str, Any]] = [
    {
        "name": "arm",
        "convention": "standard",
        "gravity": [0, 0, -9.81],
        "values": {"l1": 0.5, "m1": 0.7},
        "dh": [
            {"name": "a", "a": "l1", "alpha": "pi/2", "inertia": {"shape": "box", "mass": "m1", "size": [0.1, 0.2, "l1"]}},
            {"name": "b", "a": 0.4, "type": "prismatic", "inertia": {"mass": 1.5, "com": [0, 0.1, 0], "tensor": [0.1, 0.2, 0.2]}},
        ],
        "frames": [{"name": "tool", "link": "b", "xyz": [0, 0, 0.1]}],
    },
    {
        "gravity": [0, -9.81, 0],
        "values": {"m1": 2.0, "L1": 0.4, "I1": 0.03},
        "bodies": [
            {"name": "arm", "joint_name": "j1", "inertia": {"mass": "m1", "com": ["L1", 0, 0], "tensor": [0, "I1", "I1"]}},
            {
                "name": "slide",
                "joint_name": "j2",
                "parent": "arm",
                "type": "prismatic",
                "axis": "x",
                "xyz": [0.1, 0, 0],
                "rpy": [0, 0.1, 0],
                "inertia": {"mass": 1.5, "tensor": [0, 0.02, 0.02]},
                "drive": {"viscous": 0.1, "gear_ratio": 50, "rotor_inertia": 1e-4},
                "limits": [-1, 1],
            },
        ],
    },
    {
        "screws": [
            {"screw": [0, 0, 1, 0, 0, 0], "inertia": {"mass": 2.0, "com": [0.1, 0, 0]}},
            {"screw": [0, 1, 0, -0.3, 0, 0], "inertia": {"mass": 1.0, "tensor": [0.1, 0.1, 0.1]}},
        ]
    },
]

N = 60
LOG: dict[str, list[float]] = {
    "t": [0.01 * i for i in range(N)],
    "q1": [math.sin(0.1 * i) for i in range(N)],
    "q2": [math.cos(0.2 * i) for i in range(N)],
    "tau1": [2 * math.cos(0.1 * i) for i in range(N)],
    "tau2": [math.sin(0.3 * i) for i in range(N)],
}
