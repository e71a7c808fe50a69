"""Identification: from a log of a real arm to parameters with intervals and a verdict.

    log = Log.load("run.csv", robot)
    fit = robot.identify(log)
    print(fit.verdict)

The single steps: `Log` and `prepare` (recorded signals, through one filter), `ParameterSet` and `base_parameters` (the parameters,
and the combinations that torques depend on), `pieces` and `reduce` (any number of samples into small factors), `least_squares`
(parameters with uncertainty), `verdict`.
"""

from qddot.identify.checks.judge import verdict
from qddot.identify.checks.verdict import Concern, Verdict
from qddot.identify.closed_loop import ClosedLoop, closed_loop
from qddot.identify.drive_gains import DriveGains, drive_gains
from qddot.identify.elastic import ElasticJoints, elastic_joints
from qddot.identify.excitation.plan import Excitation, excitation
from qddot.identify.fit import Fit
from qddot.identify.floating_base import FloatingBase, floating_base
from qddot.identify.identification import identify
from qddot.identify.online.identify_online import OnlineIdentification
from qddot.identify.online.payload_online import OnlinePayload
from qddot.identify.output_error import OutputError, output_error
from qddot.identify.payload import Payload, payload
from qddot.identify.physical.consistent import Consistent, consistent
from qddot.identify.regression.base import Base, base_parameters
from qddot.identify.regression.estimators import Estimate, essential, least_squares
from qddot.identify.regression.instruments import instrumental
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.identify.regression.pieces import pieces, streamed
from qddot.identify.regression.reduction import Factors, reduce
from qddot.identify.regression.residuals import Residuals, residuals
from qddot.identify.regression.rows import Samples
from qddot.identify.regression.signals import Signals, prepare
from qddot.identify.regression.standstill import standstill_speeds
from qddot.identify.regression.stream import stream
from qddot.identify.temperature import ThermalFriction, thermal_friction
from qddot.identify.torque_delays import TorqueDelays, torque_delays
from qddot.logs.log import Log
from qddot.room import not_to_be_called

__all__ = [
    "Base", "ClosedLoop", "Concern", "Consistent", "DriveGains", "ElasticJoints", "Estimate", "Excitation", "Factors", "Fit",
    "FloatingBase", "Log", "OnlineIdentification", "OnlinePayload", "OutputError", "ParameterSet", "Payload", "Residuals",
    "Samples", "Signals", "ThermalFriction", "TorqueDelays", "Verdict", "base_parameters", "closed_loop", "consistent",
    "drive_gains", "elastic_joints", "essential", "excitation", "floating_base", "identify", "instrumental", "least_squares",
    "output_error", "payload", "pieces", "prepare", "reduce", "residuals", "standstill_speeds", "stream", "streamed",
    "thermal_friction", "torque_delays", "verdict",
]  # fmt: skip

not_to_be_called(__name__, "robot.identify(log), or qddot.identify.identify(robot, log)")
