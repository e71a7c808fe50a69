"""Every number that steers identification, from the first line of a log to the verdict: what it is compared with, and why so much.

A number is a part (of 1) unless a unit is given. Guards against rounding and division by zero (1e-300, a relative 1e-12) decide
nothing and stand where they are needed. How much each matters is measured by `benchmarks/thresholds.py`, which takes 30 % from it
and adds 30 %: docs/thresholds.md.
"""

from __future__ import annotations

import numpy as np

# Reading a file -------------------------------------------------------------------------------------------------------------

ROWS_AT_ONCE = 100_000  # rows that are read at a time: 100,000 of seven joints are 20 MB, so that any log is read in little memory
MOST_SAMPLES = 1e8  # samples of a motion that is made anew: 1e8 of seven joints are 20 GB
KEPT_IN_MEMORY = 16 * 2**20  # bytes of parsed tables; beyond, a recording that is gone through several times waits in a file
LONGEST_PREAMBLE = 50  # lines above the names of the columns
POSSIBLE_RATES = (1.0, 20e3)  # Hz: from what can hardly show a motion to a drive's current loop; else it is another unit of time
LARGEST_ANGLE = 4 * np.pi  # rad: beyond two turns an angle is more likely in degrees
ENDLESS_ANGLE = 40 * np.pi  # rad: twenty turns, which an axis without limits hardly makes while it is identified
FAR_BEYOND_LIMITS = 3.0  # times a joint's largest angle: zeros and tolerances explain less, and degrees are 57 times radians
POSSIBLE_TORQUES = (1e-15, 1e15)  # N m or N: from what no sensor shows to what nothing bears, and six digits for other units
SAME_UNIT = 0.1  # logarithm of a ratio, 10 %: the nearest two units, turns a minute and degrees a second, differ by a factor of 6
SAME_CURVE = 0.9  # correlation: velocities without a name are those of the positions, up to noise; torques are not
DOUBLE_STEPS = 0.1  # of the steps that are twice the others: fewer are rows that are missing, not stamps that were rounded
ROUNDED_STAMPS = 0.01  # of the rows that share their stamp with another: more is a writer that rounds, fewer are faults
VELOCITY_MISFIT = 0.5  # of the squared steps of position: velocities that leave more are not theirs, and tell no unit
FASTEST_TIMES = 2.0  # times a joint's speed limit: controllers overshoot, but units of time are a factor of 1000 apart
SPEED_PARTS = 100  # parts of a log over which a peak speed is a mean, so that noise counts little
PLAIN_STEPS = 0.99  # of an angle's steps that must be shorter than a quarter turn, for a longer one to be a jump by a turn

# Times ----------------------------------------------------------------------------------------------------------------------

SHORTEST_STEP = 1e-300  # s: of shorter ones the rate is no number
GAP = 5.0  # steps: a longer pause ends a segment; shorter ones are interpolated, over less than a period of what a low-pass leaves
# of a step: one that is longer by more has lost a sample, one that is shorter by more is held; clocks agree that differ by less
HALF_SAMPLE = 0.5
# of a step, rms, from which uneven times are worth a warning: a motion at a tenth of the rate is then off by 3 % of its amplitude
JITTER = 0.05
EVEN_STEPS = 1e-6  # of a step, rms, below which nobody need know: rounding of times with six decimals
UNIFORM = 1e-3  # of a step: times as close to a grid are the grid
SAME_RATE = 1.05  # times: segments whose rates differ by more are not of one recording
SLOWER = 0.99  # times the rate: a lower one needs a low-pass, a higher one only a spline

# Noise ----------------------------------------------------------------------------------------------------------------------

BY_MEDIAN = 1.4826  # standard deviations in a median of absolute deviations, one over the third quartile of the normal distribution
NOISE_SAMPLES = 16384  # samples of a chunk whose spectrum tells the noise of its torques, to 2 %

# Positions and velocities ---------------------------------------------------------------------------------------------------

MOVES = 0.1  # rad (of any joint, where chunks are looked through for motion): a joint that moves less has not moved
SLIDES = 0.01  # m: a slider that moves less has not moved; the whole stroke of many is 0.1 m
STILL = 1e-3  # rad or m: less is the noise of a resting encoder
VELOCITY_MOVES = 0.01  # rad or m: velocities of a joint that moves less are mostly noise, and not compared
VELOCITY_STEPS = 9  # steps whose median is the velocity: as many as the arm's speed hardly changes in
SURE_STEP = 8.0  # standard deviations: such a step comes by chance once in 1e15
STEADY_STEPS = 3  # steps on each side among which none is held: where one is, a slow sensor catches up, and no sample is lost
HOTTEST = 200.0  # degrees C that no joint has while it is driven: larger temperatures are in K
JUMP = 0.01  # rad or m: a smaller step of one joint's positions is no fault worth a word
LARGEST_PLAY = 0.05  # rad or m, 3 degrees: no gear of an arm has more, and a larger step is a fault wherever it comes
STANDS_ALONE = 3.0  # times the longer of the steps before and after: a position that jumps does so once
ON_GRID = 0.02  # of a unit: steps that are as near to whole numbers of it are counted in it
ROUNDED_STEPS = 0.02  # of the steps that are exactly none: positions with as many are rounded
# of the accelerations, that rounding of positions may add to them: noise in the motion pulls parameters to one side
ROUNDED_MATTERS = 0.01
FROZEN_RUN = 20  # times the usual run of equal positions, and as many samples: a rounded signal has runs, but not such
CAUGHT_UP = 0.005  # rad or m, by which a frozen position is behind when it moves again
THAWED = 3.0  # times the steps after it: a step that catches up is longer than the motion goes on
# of the steps between new values that may differ from the others, for these to come at a rate of their own
CLOCK_STEPS = 0.1
FEW_RUNS = 10  # runs of equal positions: a rounded signal has more of them, and its usual run is known
LOST_SAMPLES = 0.001  # of the samples that may be lost or frozen in a log that claims to have all: velocities are wrong about each
PLACES_NAMED = 5  # places of a fault that are named
# rad or m, 10 % of a speed, 2 % of a torque: beyond limits by less is tolerance of a controller, not another unit or order
LIMIT_TOLERANCE = 0.01
SPEED_EXCEEDED = 1.1
EFFORT_EXCEEDED = 1.02
# scale beside 1, delay in steps, rest over the velocity: measured velocities serve below these, and are wrong above those
VELOCITY_AGREES = (0.01, 0.1, 0.1)
VELOCITY_DIFFERS = (0.05, 1.0, 0.2)
# of the accelerations of the positions, noise included: recorded ones that are further off are something else
ACCELERATION_AGREES = 0.3
NO_MEASUREMENT = 1e100  # rad, or per second or second squared: no measurement, and its square overflows

# Torques --------------------------------------------------------------------------------------------------------------------

SPIKE_REACH = 4  # samples on each side of a spike, which is shorter; more would take turns of friction with it
SPIKE_DEVIATIONS = 12.0  # standard deviations of the channel's usual difference from the median about a sample: noise has none
SPIKE_SIZE = 0.15  # of the channel's standard deviation: less does little harm, and a smooth channel has such turns
SPIKE_OFF_CURVE = 0.5  # of the difference from the median: a spike is off the curve about it, too, which misses little at a turn
SPIKE_SHARE = 0.1  # of the samples: of more, those about a spike do not tell what should stand there
SPIKE_ROUNDS = 5  # rounds in which smaller ones are looked for without those that were found
CURVE_SAMPLES = 6  # sound samples of eight about a spike, at least, for a cubic through them: two more than it has coefficients
STAND_INS = 5  # spikes at exactly one value, at least, that stand for samples which were lost
SPIKE_SAMPLES = 2000  # samples from which a channel's usual difference is known, to 2 %
STOP_PARTS = 10  # parts of a log that are looked at one by one: a limit may have been set for some of it only
PILED_UP = 10  # times as many samples at the largest value as at the next: a signal that is only rounded has about twice as many
STUCK_SAMPLES = 10  # equal samples in a row at the largest value: a turn of a smooth torque, rounded, has two or three
# of the longest way of a joint in a window of so many samples: less is rest, in which every torque stays where it is
RESTING_WAY = 0.02
RESTING_WINDOW = 21
SAME_TORQUE = 1e-9  # relative: torques that differ by less are equal; text with nine digits
HELD = 0.3  # of the samples that repeat the last torque: more is a sensor slower than the log, or a rounded one
WEIGHT_FACTOR = 3.0  # times: masses of descriptions are seldom off by as much; units, gears and currents are
WEIGHT_OF_NO_ARM = 30.0  # times: no description of the arm is as far off, but milli, pulses and motor sides of gears are
NO_WEIGHT = 1e-6  # N m or N, rms: gravity torques of a description that has no masses, or such as only fill a place
WEIGHT_VARIES = 0.01  # of the described weight that must vary along the log: of less, a SCARA's say, rounding decides
WEIGHT_SHOWS = 0.05  # of the largest joint's weight: where less shows, its slope says nothing
SURE_SLOPE = 3.0  # standard errors of a slope, to be sure of its sign and size: by chance once in 400
WEIGHT_BLOCKS = 20  # blocks of time that are left out in turn for the standard error of a slope
FRICTION_STEP = 0.1  # of a joint's usual speed, over which friction takes its step where nothing is fitted yet

# Filters --------------------------------------------------------------------------------------------------------------------

# periods of the cut-off, and Kaiser's shape: below a quarter of the cut-off all passes unchanged to 5e-5; a length of 5.2 changes
# 2 of 63 verdicts, and moves parameters by up to 1.5 standard deviations
KERNEL_LENGTH = 4.0
KERNEL_SHAPE = 9.0
# of the rate: above, differences of nine samples are no derivatives any more; with 0.325 the filter refuses 5 of 63 logs
HIGHEST_CUTOFF = 0.25
# cut-off over the frequency below which the motion lies: torques have its harmonics (squares of rates, turning friction). Of 63
# verdicts a least of 3.5 changes 3, and parameters by up to 2.3 standard deviations; a most of 14 or 26 changes one, of a gear
# with play
CUTOFF_LEAST = 5.0
CUTOFF_MOST = 20.0
TORQUE_BAND = 5.0
FEWEST_PERIODS = 16  # periods of the lowest cut-off in a log that is only looked at
FILTER_LOSS = 0.1  # of the longest segment, that the filter of the positions may cost at its ends
CLEAR_POWER = 100.0  # the motion's power over the noise's, up to where it is worth differentiating: amplitudes ten times the noise
MOTION_POWER = 0.999  # of the power of the positions that lies below the edge of the motion
MOVING_SPREAD = 0.01  # of the widest joint's standard deviation: joints that move less have no say in the band
NOISE_BAND = 0.5  # of half the rate, above which everything is noise; 0.65 changes one of 63 verdicts, 0.35 none
# samples in a period of the cut-off: products of low-passed positions and rates reach to four times the cut-off, and what lies
# beyond half of this rate comes back as another frequency: of a log without noise 1.8e-12 is left with 24, 1.2e-8 with 16
SMOOTH_RATE = 24
PACE_REACH = 3  # halves of a kernel about a decimated sample that say how slow a joint is there: all that its kernels have touched

# Friction at rest -----------------------------------------------------------------------------------------------------------

# rad/s or m/s, over which dry friction takes its step. Recorded drives take theirs at 0.03 and more: in three such logs friction
# and predictions are best with this (0.02 takes 2.5 % from the Coulomb friction of the fastest joint, 0.05 adds 2.5 % to another's)
STANDSTILL = 0.03
NARROWEST = 0.25  # of what a joint gains from sample to sample: over a narrower step of friction hardly a sample lies on it
WIDEST = 0.5  # of a joint's own usual speed: over a wider step friction is viscous; 0.8 blurs which torques have been exchanged
# rad/s or m/s, up to which a step may be as wide as a joint is usually fast: cut off at 0.02 m/s, other laws take in the rest
SLOW_STEP = 0.06
STANDSTILL_ROUNDS = 2  # rounds of parameters and speeds in turn: a third changes speeds by a few per cent
STRIBECK_ROUNDS = 4  # of them where Stribeck's curve, whose speed they share, or friction by the load is among the laws
STANDSTILL_TRIED = 13  # speeds of a joint, in equal ratios, before the best is refined
REST_WORTH = 0.01  # of a joint's samples at rest: less is not worth a word
RESTING_SPEED = 0.02  # of a joint's top speed: slower, it does not count as moving one way, and noise turns it back at will
MOTION_PARTS = 10  # parts of a chunk, in each of which a joint may move or rest
CHUNKS_HELD = 16  # chunks of a stream that are held until one moves: 1.6 million samples at rest

# Base parameters ------------------------------------------------------------------------------------------------------------

COLUMN_NOTHING = 1e-9  # of a column: a part of it that is shorter is rounding of the arithmetic
COLUMN_ROUNDING = 1e-4  # of a column: geometry with four digits (1.5708 for pi/2) makes parts of 1e-5 out of nothing
RANK_GAP = 10.0  # times: the shortest independent part over the longest dependent one

# Estimates ------------------------------------------------------------------------------------------------------------------

TIME_BLOCKS = 40  # blocks of time that are left out in turn for standard deviations, which are then known to 11 %
CHUNK_BLOCKS = 20  # blocks of a chunk of a streamed log, which has two chunks at least
MOST_BLOCKS = 64  # blocks of a streamed log, at which neighbours are merged
MEDIAN_SAMPLES = 10_000  # samples of a chunk from which medians are known, to 1 %
SHORTEST_BLOCK = 0.5  # s: blocks are at least as long, longer than residuals remember themselves
CONFIDENCE = 0.95  # that an interval holds the true value
WEIGHT_ROUNDS = 20  # rounds of weights and estimates in turn; three do
OUTLIER = 8.0  # robust standard deviations: an outlier stands out by so much; noise has none
LOCAL_SAMPLES = 100  # samples of a stretch whose noise is its own: enough to know it to a tenth
OUTLIER_SHARE = 1e-3  # of the samples of a joint that are outliers: more are worth a robust estimate
HAMPEL = (2.0, 4.0, 8.0)  # standardised residuals at which Hampel's weights begin to fall, fall faster, and are nothing
ROBUST_ROUNDS = 5  # rounds of the robust estimate
LOAD_ROUNDS = 50  # rounds of parameters and the load they make, at most: each gains a digit where friction is a tenth of the load
SAME_LOAD = 1e-12  # of the largest parameter: from there on the load does not change
ROTOR_ROUNDS = 3  # rounds in which rotors that came out negative are taken as 0: others may follow
# of the decimated samples that know nothing of each other: there are four in a period of the cut-off, and two would tell all
INDEPENDENT = 0.5

# Links that can exist -------------------------------------------------------------------------------------------------------

ROBOT_AS_GOOD = 1.02  # times the error of the fit: a robot that is off by more is worse than the fit, and that is said
TIE = 1e-9  # of the squared torques: the weight of the prior where data alone should decide, and it only breaks ties
AT_ZERO = 1e-6  # scaled drive constants below are at zero
GOAL_DIGITS = 1e-6  # by which the goal may be above its least: the divergence of a mass that is wrong by a thousandth
POLISHING = 30  # Newton's steps at most; quadratic convergence takes a few
DATA_RANK = 1e-9  # of the largest singular value of the scaled problem: below, the data say nothing of a direction
JACOBIAN_RANK = 1e-6  # the same of a Jacobian by differences, which are exact to 1e-8
TORQUES_KEPT = 1e-8  # of the torques: a change that is smaller is the solver's
LINK_RADIUS = 0.2  # of the distance between a link's joints, or of the usual one: half as thick as arms are
# kg/m^3, of the ellipsoid about its joints: a hollow link of aluminium with a motor, where torques do not say
LINK_DENSITY = 1000.0
DENSEST = 8e3  # kg/m^3, of that ellipsoid: solid steel; links of arms have 200 to 2000
FAR_CENTRE = 3.0  # times half its lengths from the middle of a link: no part of it lies there
SMALLEST_MOMENT = 1e-2  # of the largest second moment about the centre of mass: a body with volume has at least as much

# Laws of friction -----------------------------------------------------------------------------------------------------------

LAW_GAIN = 0.3  # of the squared error in an unseen fifth of a log that a law must take away to be worth another parameter a joint
# the same where all but a trace is explained, beyond noise by so much of it: then what is left is a law rather than a real drive
SMALL_LAW_GAIN = 0.15
TRACE = 0.5
LAW_AS_WELL = 0.01  # of all torques, by which an unseen fifth may be predicted worse: joints with small torques do not decide alone
IMPOSSIBLE_ROUNDS = 3  # of leaving out what no drive has: mostly one does, and what then turns impossible shows another law
MOST_LAWS = 3  # laws at most
SLOWEST_COG = 2  # times a turn of the joint: what comes once a turn is gravity or what balances it, a law of its own
# harmonics of a joint that are sought together: motors cog by their poles and by their slots. Of two on one joint of an irb120,
# one alone leaves 3 % of the torques, and 5 to 14 % of another motion's
COGS_AT_ONCE = 2
MOST_HARMONICS = 24  # a turn of the joint: motors have more poles, but behind a gear a low-pass takes them
# parts of a joint's positions between which something may begin to pull, and edges tried there: among so many, what is left has one
# minimum about the best
EDGES_WITHIN = (0.05, 0.95)
EDGES_TRIED = 25
STRIBECK_SPEEDS = (0.1, 0.3)  # of the usual speed, at which Stribeck's curve may have halved

# Verdict: torques -----------------------------------------------------------------------------------------------------------

UNEXPLAINED = 0.25  # of all torques: a model that leaves more is not that of the arm
# of all torques, beyond their noise: three real arms that are predicted well leave 1 to 7 %, one with a coupling 11 %. Of 63
# verdicts 0.07 and 0.13 change 3 and 7, in what is said besides the fault
MISSED = 0.1
# of a joint's power, or of what is unexplained: more is most of it, and then it is the reason; 0.35 changes 2 of 63 verdicts,
# 0.65 none
MOST_OF_IT = 0.5
NEARLY_ALL = 0.75  # of what is unexplained, where that is less than drives leave anyway: then it is the reason all the same
SMALL_FAULT = 0.005  # of a joint's torque: less is not looked at, whatever explains it
WORTH_A_WORD = 0.1  # of what is unexplained, that a delay or a tilt explains: worth a word
MATTERS = 0.01  # of a joint's torque: no drive's torque is known better, so less is no sign of a fault
TORQUE_ROUNDING = 1e-6  # of a torque: what is left of a log without noise is that of differentiating, and says nothing of the arm
# of the samples, that one joint's torque rests at one end (where a run of STUCK_SAMPLES does, see logs/stops): fewer are a start
CLIPPED = 0.01
# of the samples, at each end, that are left out in turn: more of them than are clipped, and enough remain
CLIPPED_SHARES = (0.03, 0.1, 0.2, 0.35)
UNTOUCHED = 0.02  # of a kernel that lies on samples which are left out: what it says hardly depends on them
LEVELS_TRIED = 9  # levels among the torques that are left out

# Verdict: what else may be true of a log ------------------------------------------------------------------------------------

# samples looked at, kernels a stretch of them is long, and samples in a period of the cut-off; 30 % more or less changes 1 or 2
# of 63 verdicts
TRIAL_SAMPLES = 2000
TRIAL_WINDOW = 8
TRIAL_RATE = 8
LAW_SAMPLES = 20_000  # samples looked at for laws of friction: 80 s at 250 Hz, whose turns are then all there
DRY_BLUR = 0.5  # samples: half the rise of a step that has been low-passed at half the rate of samples
# rows a joint that are fitted, about, and rounds of weights and parameters in turn
TRIAL_ROWS = 600
TRIAL_ROUNDS = 6
TRIAL_FIFTHS = 5  # parts of a log, each of which the others predict: halves of a short one move too differently to compare laws by
TRIAL_SETTLED = 1e-3  # of a joint's noise: from there on its weight does not change
POSITION_STEP = 1e-4  # rad or m, for derivatives by differences: errors of 1e-8 of a torque from both sides
# of a joint's torque: a joint that an alternative leaves less of is explained, if a little worse than before
STILL_EXPLAINED = 0.05
TURN_DEGREE = 5  # of the polynomial that a joint's speed is like for a kernel's length about a turn, but for play
REFINED = 4  # rounds of the error that explains most, with the parameters
LEAST_CLOCK = 1e-4  # difference of two clocks: quartz is better than that, and a log of minutes drifts by less than a sample
LONGEST_DELAY = 1.0  # s: later than that is no delay but another recording
DELAYS_TRIED = (-0.2, -0.1, -0.05, 0.05, 0.1, 0.2)  # s, tried of a single joint, where a first derivative does not reach
# faster than the clock says, where the search begins: as it says, twice, half; rates of logs are mistaken by factors of two
PACES_TRIED = (0.0, 1.0, -0.5)
TRIAL_PARTS = 20  # parts of a log, at whose ends something may begin or end
CHANGE_PARTS = 60  # the same for what is compared at once
SHOWS_THERE = 0.3  # of a joint's squared errors that must go with an alternative, for it to be said to show there
SHORT_WHILE = 0.3  # of a log, at most, that something happens besides: what lasts longer is how the arm is
CLEARLY = 0.9  # of what is unexplained: an alternative that explains more leaves little to look for
# times what the best alternative leaves: one that leaves less is as good, and the simpler is said. What is true leaves noise, its
# rivals several times as much; with more besides, a Puma without gravity (0.33) is one on a clock 3 times as fast (0.32)
AS_LITTLE = 1.1
FAULTS_AT_ONCE = 4  # small errors at once, at most: more are no accident but another arm
# of a torque's standard deviation, to each side: hysteresis as of strain gauges and friction behind a sensor
HYSTERESIS_WIDTHS = np.array([0.03, 0.1, 0.3])
STANDS_OUT = 3.0  # times the usual squared error: a part of the log that stands out belongs to what happened besides

# Verdict: motion ------------------------------------------------------------------------------------------------------------

CONDITION = 1000.0  # of the weighted regressor with columns of length 1: beyond, noise is amplified a thousand times
BEST_CONDITION = CONDITION / 3  # the same on random motions: from there on a better motion does not help
# of the torques, in postures that a log need not have seen, in its other half, or in another log: as uncertain as a fit may be.
# Of 63 verdicts 0.105 and 0.195 change 8 and 4, in what is said besides the fault
UNCERTAIN = 0.15
POSTURES = 300  # postures all over the workspace
WEAKEST_PART = 0.1  # part of a parameter in the direction that shows least: parameters with less are not named
# correlation of a residual with itself a period of the cut-off later; by chance, up to 4 over the root of the samples
COLOUR = 0.2
CHANCE_COLOUR = 4.0
# variance of neighbouring blocks together over their own: beyond, more is common to them than is their own; 1.4 changes one of 63
# verdicts, 2.6 none
BLOCK_MEMORY = 2.0
FEWEST_BLOCKS = 8  # blocks that know nothing of each other: from fewer, a standard deviation is uncertain by more than a quarter

# Verdict: recordings --------------------------------------------------------------------------------------------------------

DISAGREEMENT = 2.0  # times the unexplained variance without parameters of its own: more than half of it is disagreement
VALIDATION_WORSE = 3.0  # times what a fit leaves of its own log: it has learnt that log rather than the arm
VALIDATION_NOTICEABLE = 0.04  # of the torques: less is no harm, however good the fit is elsewhere

# Loads ----------------------------------------------------------------------------------------------------------------------

LOAD_SIZE = 0.1  # m: size of a load, by which moments of different order are compared
LOAD_RADIUS = 0.05  # m: radius of the ball that stands for a load where the motion does not show more of it
LOAD_CHANGES = 24  # times at which a load may have changed, evenly over a log: a twenty-fifth of it is as near as need be
LOAD_AS_WELL = 0.02  # of what is unexplained: a reason that explains so little more is no better than a simpler one
LOAD_MISSED = 0.1  # of the torques that a load makes: where more remains, its ten numbers hold some of the arm

# Output error ---------------------------------------------------------------------------------------------------------------

STEEPEST_SPEED = 1e-3  # rad/s or m/s: of a slower joint, friction is as steep as up to this speed
STIFFEST = 1.0  # the tracking index (bandwidth times step, squared): beyond, a single sample would rule the prediction
SETTLED = 0.01  # of an error in the state where the log begins, left when predictions begin to count
FEWEST_PREDICTED = 8  # samples of a segment, at least, and of the parabola through its start
POSITION_EXACT = 1e-6  # of a joint's travel: no position is known better
PARAMETER_STEP = 1e-6  # of a parameter's size, for derivatives by differences
# of the errors that may come from the rule of integration, and substeps at most until then
INTEGRATION_ERROR = 0.1
MOST_SUBSTEPS = 8
# by which the errors must fall for another round, and rounds at most
ERRORS_FALL = 0.02
OUTPUT_ERROR_ROUNDS = 12
SQUARES_FALL = 0.01  # by which the squared errors must fall for another step: less is a tenth of a standard deviation
STEP_KEPT = (0.25, 0.75)  # of what a step promised: below the first it is damped more, above the second less
LINEARISED_EVALUATIONS = 1000  # evaluations of the linearised errors, which cost next to nothing
START_WEIGHT = 1.0  # weight of the start: of masses within a factor of e, and of centres within a radius of gyration
BANDWIDTHS_TRIED = np.geomspace(0.5, 2.0, 5)  # times the present bandwidth

# Exciting motions -----------------------------------------------------------------------------------------------------------

LONGEST_RAMP = 1000.0  # periods: longer blends leave nothing of a period in the digits of a time
SERIES_DRAWN = 40  # random series from which the starting points are taken
# of each limit, by which the program stays inside at its sampled times, so that the motion keeps it between them; in turn
TIGHTER = (0.02, 0.04, 0.08)
FINE_STEP = 1e-3  # s: step of the grid on which limits are looked at
SMOOTH_SPEED = 0.05  # of a joint's speed limit, over which Coulomb friction is smoothed

# What a log is worth --------------------------------------------------------------------------------------------------------

PROPOSED_SECONDS = 5.0  # s: duration of a motion that is proposed
PROPOSED_HELPS = 0.7  # of a parameter's interval: a motion that leaves more does not help it
PROPOSED_SWING = 0.4  # of a joint's range to each side of its middle that a proposed motion goes through
# of the fastest a joint may go: slow shows gravity and dry friction, fast inertia and viscous friction
PROPOSED_SPEEDS = (0.2, 1.0)
# postures in which the other joints are held, one after the other: gravity and coupling show in some of any three
PROPOSED_POSTURES = 3
PROPOSED_LEAST = 0.1  # of the speeds of the fastest joint: one that rested will not go on doing so
ABSURD_TORQUE = 10.0  # times a joint's torque: a value that would cost more was not seen, and is rounding
NO_INFORMATION = 1e-9  # of the information there could be: as much is taken as known where a log shows nothing
IDLE_SHARE = 0.2  # of a block's fair share of the information: one that says less could be left out

# The report -----------------------------------------------------------------------------------------------------------------

FAILS_THERE = 1.5  # times the rms of all samples: from there on a place where a model fails is worth naming
FAILURE_PARTS = 8  # parts of the range of positions and times in which errors are compared
FAILURE_SAMPLES = 0.05  # of the samples: a place with fewer is none
# times the speed at which friction takes its step: below, a joint is slow; of its top speed: above, it is fast
SLOW_TIMES = 3.0
FAST_PART = 0.7
FOLDS = 5  # parts of a single recording that are left out in turn

# While the robot moves ------------------------------------------------------------------------------------------------------

# of a parameter's value, and standard deviations of the fit, that it may go from where a fit found it: friction halves as it warms
PRIOR_SPREAD = 0.5
PRIOR_DEVIATIONS = 10.0
# steps whose mean square is the noise that torques show, and times that mean: what a single step counts at most
SURPRISE_STEPS = 200
SURPRISE_CLIP = 4.0
# times the mean: squares beyond it are added up, and twenty steps' worth of them are no chance: the load has changed
SURPRISE_NOISE = 2.0
SURPRISE = 20.0
PRIOR_SLACK = 0.05  # of the memory, in which all of the prior is folded in once: its deviations are kept to half of that

# Delays of torques ----------------------------------------------------------------------------------------------------------

DELAY_FOUND = 0.01  # of a sample: a change that is smaller ends the search
# of a period of the cut-off, at most, in a round: the column of a delay is a derivative, and holds for less than that
DELAY_STEP = 0.25
DELAY_ROUNDS = 30

# Elastic joints, closed loops -----------------------------------------------------------------------------------------------

ELASTIC_ROUNDS = 4  # rounds of loads and stiffnesses in turn: each gains as many digits as the gear gives parts of an angle
ELASTIC_SURE = 3.0  # standard deviations by which a compliance must exceed zero to be one
# rounds of simulations and parameters in turn, and the relative change of the torques that ends them
CLOSED_LOOP_ROUNDS = 15
CLOSED_LOOP_SETTLED = 1e-4
SHORTER_STEPS = (1, 4, 16)  # by which the step of a simulation that diverges is divided, in turn

# Priors, and intervals by bounds --------------------------------------------------------------------------------------------

# weights of a link's description that are compared: from one that is off tenfold to one that is right to a hundredth
DESCRIPTION_WEIGHTS = np.geomspace(1e-2, 1e4, 25)
DESCRIPTION_ROUNDS = 3  # rounds over all links: weights hardly depend on each other
NO_EVIDENCE = 2.0  # twice a logarithm of probabilities: weights whose evidence differs by less are as good as each other
BOUND_SLACK = 1.05  # times the largest error of the fit: a bound that the fit itself keeps
MEMBERSHIP_RANGE = 1e12  # times the bound: larger equations than that a linear program does not solve
MEMBERSHIP_ROWS = 2000  # rows of all joints that a linear program looks at

# Surroundings of exciting motions -------------------------------------------------------------------------------------------

PARTING_POSTURES = 60  # random postures: what touches in all of them is how the robot is built
SAME_DISTANCE = 1e-6  # m: what comes no nearer and no farther than this is mounted there
KNOWN_STATES = 2000  # states of a log that stand for all of it
OVERLAP_PENALTY = 100.0  # units of log det that a metre of overlap costs where a search begins: a centimetre is one of information
