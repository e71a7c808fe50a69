"""Controllers and references, short and meant to be read.

A controller is called with (t, q, qd) and returns tau: a `torque` for `Robot.simulate`. A reference is called with t and returns q,
qd and qdd, or position, velocity and acceleration of a task, as a `Reference` or a plain tuple. Gains are one number, or one for
each coordinate.

>>> import qddot
>>> from qddot.control import PD, Hold
>>> robot = qddot.load("two_link")
>>> motion = robot.simulate([0, 0], None, 5.0, torque=PD(robot, Hold([1.0, 0.5]), kp=20, kd=5))
>>> abs(motion.q[-1] - [1.0, 0.5]).max() < 1e-3
np.True_
"""

from qddot.control.adaptive import SlotineLi
from qddot.control.elastic import ElasticFeedbackLinearisation
from qddot.control.hybrid import HybridForcePosition
from qddot.control.joint_space import PD, ComputedTorque
from qddot.control.observer import MomentumObserver
from qddot.control.references import Cubic, Hold, Quintic, Reference, Trapezoidal
from qddot.control.set_point import SetPointPD, gravity_stiffness
from qddot.control.sliding_mode import SlidingMode
from qddot.control.task_space import Impedance, OperationalSpace, Task
from qddot.control.time_optimal import TimedPath

__all__ = [
    "Cubic", "PD", "ComputedTorque", "ElasticFeedbackLinearisation", "Hold", "HybridForcePosition", "Impedance", "MomentumObserver",
    "OperationalSpace", "Quintic", "Reference", "SetPointPD", "SlidingMode", "SlotineLi", "Task", "TimedPath", "Trapezoidal",
    "gravity_stiffness",
]  # fmt: skip
