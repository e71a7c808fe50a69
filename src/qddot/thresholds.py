"""Thresholds of identification, from reading a log to the verdict, each with its meaning and the reason for its size.

A number is a fraction of 1 unless a unit is given. Guards against rounding and division by zero (1e-300, a relative 1e-12) decide
nothing and are written where they are needed. `benchmarks/thresholds.py` measures how much each threshold matters, by changes of
30 % up and down: docs/thresholds.md.
"""

from __future__ import annotations

import numpy as np

# Reading a file -------------------------------------------------------------------------------------------------------------

ROWS_AT_ONCE = 100_000  # rows that are read at a time: 100,000 of seven joints take 20 MB, so that any log is read in little memory
MOST_SAMPLES = 1e8  # samples of a generated motion: 1e8 of seven joints take 20 GB
KEPT_IN_MEMORY = 16 * 2**20  # bytes of parsed tables kept in memory; larger recordings that are read repeatedly are kept in a file
LONGEST_PREAMBLE = 50  # lines above the line of column names
POSSIBLE_RATES = (1.0, 20e3)  # Hz: from too slow to show a motion to a drive's current loop; other rates mean another unit of time
SLOWEST_RATE = 2.5  # Hz, of arrays: slower ones show no acceleration, and 1 or 2 kHz with times in milliseconds are 1 or 2 Hz
LARGEST_ANGLE = 4 * np.pi  # rad: beyond two turns an angle is more likely in degrees
ENDLESS_ANGLE = 40 * np.pi  # rad: twenty turns, more than an axis without limits makes during an identification
FAR_BEYOND_LIMITS = 3.0  # times a joint's largest angle: zeros and tolerances explain less, while degrees are 57 times radians
# N m or N: from less than any sensor shows to more than anything bears, and six digits for other units
POSSIBLE_TORQUES = (1e-15, 1e15)
SAME_UNIT = 0.1  # logarithm of a ratio, 10 %: the nearest two units, turns a minute and degrees a second, differ by a factor of 6
# fraction that positions leave of the sums of unnamed columns over time, if those are their velocities: noise and a delay of 10 ms
# leave less, torques of nothing but friction, the same at all joints, 0.08
RATE_MISFIT = 0.05
ROUGHER = 1.5  # times as rough as unnamed torques: no positions are, of which five real logs' torques were 2.6 to 16 times as rough
DOUBLE_STEPS = 0.1  # fraction of the steps that are twice the others: fewer are missing rows, more are rounded stamps
ROUNDED_STAMPS = 0.01  # fraction of the rows that share their stamp with another: more means rounded stamps, fewer are faults
VELOCITY_MISFIT = 0.5  # fraction of the squared steps of position: velocities that miss more are not theirs, and tell no unit
FASTEST_TIMES = 2.0  # times a joint's speed limit: controllers overshoot, but units of time differ by a factor of 1000
SPEED_PARTS = 100  # parts of a log over which a peak speed is averaged, so that noise counts little
PLAIN_STEPS = 0.99  # fraction of an angle's steps that must be shorter than a quarter turn, for a longer one to be a jump by a turn

# Times ----------------------------------------------------------------------------------------------------------------------

SHORTEST_STEP = 1e-300  # s: the rate of shorter steps overflows
GAP = 5.0  # steps: a longer pause ends a segment; shorter ones are interpolated, over less than a period of the low-pass
# fraction of a step: one longer by more has lost a sample, one shorter by more is held; clocks that differ by less agree
HALF_SAMPLE = 0.5
JITTER = 0.05  # fraction of a step, rms: more uneven times cause a warning, as a motion at a tenth of the rate is then off by 3 %
EVEN_STEPS = 1e-6  # fraction of a step, rms, below which times count as even: rounding of times with six decimals
UNIFORM = 1e-3  # fraction of a step: times as close to an even grid count as the grid
SAME_RATE = 1.05  # ratio of rates: segments whose rates differ by more are not of one recording
LATE_STAMPS = 9  # stamps before and after a long step, of which most must be right to tell a lost sample from a late stamp
STAMPS_COMPARED = 20_000  # samples of the liveliest stretch by which stamps are compared: chance is 2 % among so many
STAMPS_TOGETHER = 1000  # samples whose stamps are averaged: jitter of 20 % leaves 0.6 % of a step, and clocks drift by less
STAMPS_MISS = 0.5  # squared misfit of positions to even times over that to their stamps: more may be the positions' own noise
UNSTEADY = 8e-4  # change of a clock's rate by STAMPS_TOGETHER: half of what a lost sample makes, far above that of real clocks
STALLED = 3.0  # robust standard deviations of stamps from a steady clock: later ones are of a logger that stalls, and do not count
STALL_ROUNDS = 3  # of steady clocks and stamps that count; two settle stalls of twenty samples
SLOWER = 0.99  # times the rate: a lower one needs a low-pass, a higher one only a spline

# Noise ----------------------------------------------------------------------------------------------------------------------

BY_MEDIAN = 1.4826  # standard deviations per median absolute deviation, for a normal distribution
NOISE_SAMPLES = 16384  # samples of a chunk from whose spectrum the noise of its torques is known to 2 %

# Positions and velocities ---------------------------------------------------------------------------------------------------

MOVES = 0.1  # rad (for any joint, where chunks are searched for motion): a joint that moves less counts as still
SLIDES = 0.01  # m: a slider that moves less counts as still; the whole stroke of many is 0.1 m
STILL = 1e-3  # rad or m: smaller motion is the noise of a resting encoder
VELOCITY_MOVES = 0.01  # rad or m: velocities of a joint that moves less are mostly noise, and are not compared
VELOCITY_STEPS = 9  # number of steps whose median is the velocity: over so many the arm's speed hardly changes
SURE_STEP = 8.0  # standard deviations: so large a step occurs by chance once in 1e15
STEADY_STEPS = 3  # steps on each side among which none is held: next to a held one a slow sensor catches up, and no sample is lost
HOTTEST = 200.0  # degrees C: no joint is as hot while it is driven, so larger temperatures are in K
JUMP = 0.01  # rad or m: a smaller step of one joint's positions is not reported
LARGEST_PLAY = 0.05  # rad or m, 3 degrees: no gear of an arm has more play, so a larger step is a fault wherever it occurs
STANDS_ALONE = 3.0  # times the longer of the steps before and after: a position that jumps does so once
ON_GRID = 0.02  # fraction of a unit: steps as near to multiples of a unit are multiples of it
ROUNDED_STEPS = 0.02  # fraction of the steps that are exactly zero: positions with as many are rounded
# fraction of the accelerations that rounding of positions may add: noise in the motion biases parameters. Torques of another motion
# are off by up to 0.5 % at 0.014 and 1.7 % at 0.027, and encoders of 16 to 19 bits add 0.01 to 0.02 in closed loops that stick
ROUNDED_MATTERS = 0.025
FROZEN_RUN = 20  # times the usual run of equal positions, and as many samples: a rounded signal has no run as long
CAUGHT_UP = 0.005  # rad or m: distance by which a frozen position is behind when it moves again
THAWED = 3.0  # times the steps after it: the step by which a frozen position catches up is longer than those of the motion
CLOCK_STEPS = 0.1  # fraction of the steps between new values that may differ from the others, for a channel with a rate of its own
FEW_RUNS = 10  # runs of equal positions: a rounded signal has more of them, and its usual run is known
LOST_SAMPLES = 0.001  # fraction of lost or frozen samples allowed where stamps have no gaps: velocities around each are wrong
PLACES_NAMED = 5  # number of places of a fault that are named
# rad or m, 10 % of a speed, 2 % of a torque: excess over limits that a controller tolerates, not another unit or order
LIMIT_TOLERANCE = 0.01
SPEED_EXCEEDED = 1.1
EFFORT_EXCEEDED = 1.02
# error of the scale, delay in steps, residual over the velocity: below these measured velocities are used, above those they are
# wrong
VELOCITY_AGREES = (0.01, 0.1, 0.1)
VELOCITY_DIFFERS = (0.05, 1.0, 0.2)
ACCELERATION_AGREES = 0.3  # fraction of the accelerations of the positions, with noise: recorded ones that differ by more are wrong
NO_MEASUREMENT = 1e100  # rad, or per second or second squared: no measurement is as large, and its square overflows

# Torques --------------------------------------------------------------------------------------------------------------------

SPIKE_REACH = 4  # samples on each side of a spike, which is shorter; with more, turns of friction would count as spikes
SPIKE_DEVIATIONS = 12.0  # standard deviations of the channel's usual difference from the local median: noise has none as large
# fraction of the channel's standard deviation: smaller spikes do little harm, and smooth channels have such turns
SPIKE_SIZE = 0.15
SPIKE_OFF_CURVE = 0.5  # fraction of the difference from the median by which a spike is off its neighbours' curve too, unlike a turn
SPIKE_SHARE = 0.1  # fraction of the samples: with more spikes the samples around them do not tell the right value
SPIKE_ROUNDS = 5  # rounds of searching for smaller spikes without those found before
CURVE_SAMPLES = 6  # sound samples of the eight around a spike from which a cubic replaces it: two more than its coefficients
STAND_INS = 5  # number of spikes at exactly one value from which that value counts as a placeholder for lost samples
SPIKE_SAMPLES = 2000  # samples from which a channel's usual difference is known to 2 %
STOP_PARTS = 10  # parts of a log that are examined one by one: a limit may have been set for some of it only
PILED_UP = 10  # times as many samples at the largest value as at the next: a signal that is only rounded has about twice as many
STUCK_SAMPLES = 10  # equal samples in a row at the largest value: a turn of a smooth torque, rounded, has two or three
# fraction of a joint's longest way in a window of so many samples: less is rest, with constant torques
RESTING_WAY = 0.02
RESTING_WINDOW = 21
SAME_TORQUE = 1e-9  # relative: torques that differ by less count as equal, as in text with nine digits
HELD = 0.3  # fraction of the samples that repeat the last torque: more means a sensor slower than the log, or a rounded one
WEIGHT_FACTOR = 3.0  # times: masses of descriptions are rarely wrong by as much; units, gears and currents are
WEIGHT_OF_NO_ARM = 30.0  # times: no description of the right arm is as wrong, but milli-units, counts and motor sides of gears are
NO_WEIGHT = 1e-6  # N m or N, rms: gravity torques of a description without masses, or with placeholders for them
WEIGHT_VARIES = 0.01  # fraction of the described weight that must vary along the log: if less varies, as in a SCARA, it is rounding
WEIGHT_SHOWS = 0.05  # fraction of the largest joint's weight: the slope of a joint with less is not significant
SURE_SLOPE = 3.0  # standard errors by which a slope is significant: by chance once in 400
WEIGHT_BLOCKS = 20  # blocks of time that are left out in turn for the standard error of a slope
FRICTION_STEP = 0.1  # fraction of a joint's usual speed: width of the friction step before anything is fitted

# Filters --------------------------------------------------------------------------------------------------------------------

# periods of the cut-off, and Kaiser's shape: below a quarter of the cut-off all passes unchanged to 5e-5; a length of 5.2 changes
# 2 of 63 verdicts, and moves parameters by up to 1.5 standard deviations
KERNEL_LENGTH = 4.0
KERNEL_SHAPE = 9.0
HIGHEST_CUTOFF = 0.25  # fraction of the rate: beyond, differences of nine samples are poor derivatives; 0.325 refuses 5 of 63 logs
# cut-off over the frequency below which the motion lies: torques have its harmonics (squares of rates, turning friction). Of 63
# verdicts a least of 3.5 changes 3, and parameters by up to 2.3 standard deviations; a most of 14 or 26 changes one, of a gear
# with play
CUTOFF_LEAST = 5.0
CUTOFF_MOST = 20.0
TORQUE_BAND = 5.0
FEWEST_PERIODS = 16  # periods of the lowest cut-off in a log that is audited without a fit
FILTER_LOSS = 0.1  # fraction of the longest segment that the filter of the positions may lose at its ends
CLEAR_POWER = 100.0  # power of the motion over that of the noise down to which positions can be differentiated
MOTION_POWER = 0.999  # fraction of the power of the positions that lies below the upper edge of the motion's band
MOVING_SPREAD = 0.01  # fraction of the widest joint's standard deviation: joints that move less do not count for the band
NOISE_BAND = 0.5  # fraction of half the rate above which everything is noise; 0.65 changes one of 63 verdicts, 0.35 none
# samples in a period of the cut-off: products of low-passed positions and rates reach to four times the cut-off, and what lies
# beyond half of this rate comes back as another frequency: of a log without noise 1.8e-12 is left with 24, 1.2e-8 with 16
SMOOTH_RATE = 24
PACE_REACH = 3  # halves of a kernel around a decimated sample from which its pace is computed: all samples that its kernels touch

# Friction at rest -----------------------------------------------------------------------------------------------------------

# rad/s or m/s, over which dry friction takes its step. Recorded drives take theirs at 0.03 and more: in three such logs friction
# and predictions are best with this (0.02 takes 2.5 % from the Coulomb friction of the fastest joint, 0.05 adds 2.5 % to another's)
STANDSTILL = 0.03
NARROWEST = 0.05  # fraction of a joint's change of speed from sample to sample: narrower ones show only in joints that creep
HELD_KERNELS = 0.1  # kernels that a joint stays in place to count as held by friction: the filter hides shorter holds
HELD_SECONDS = 0.05  # the same in seconds, where kernels are shorter: rounded positions may stand still for so long in a slow turn
HELD_TURN = 0.2  # fraction of the way of an even turn in the same time: a joint that covers less is held by friction
WIDEST = 0.5  # fraction of a joint's usual speed: a wider step looks like viscous friction; 0.8 hides which torques were exchanged
SLOW_STEP = 0.06  # rad/s or m/s up to which a step may be as wide as a joint's usual speed; with 0.02 other laws absorb the rest
STANDSTILL_ROUNDS = 2  # rounds of parameters and speeds by turns: a third round changes speeds by a few per cent
STRIBECK_ROUNDS = 4  # the same with Stribeck's curve, whose speed they share, or friction by the load
STANDSTILL_TRIED = 13  # speeds of a joint, in equal ratios, that are tried before the best is refined
SURE_SHAPE = 4.0  # standard deviations by which friction's step must differ in shape: where it does not, up to 3.0 were seen
REST_WORTH = 0.01  # fraction of a joint's samples at rest: less is not reported
RESTING_SPEED = 0.02  # fraction of a joint's top speed: below it the sign of the speed is noise, and no direction of motion
MOTION_PARTS = 10  # parts of a chunk, in each of which a joint moves or rests
CHUNKS_HELD = 16  # chunks of a stream that are held until one moves: 1.6 million samples at rest

# Base parameters ------------------------------------------------------------------------------------------------------------

COLUMN_NOTHING = 1e-9  # fraction of a column: a shorter remainder is rounding of the arithmetic
COLUMN_ROUNDING = 1e-4  # fraction of a column: geometry with four digits (1.5708 for pi/2) makes remainders of 1e-5 from nothing
RANK_GAP = 10.0  # ratio of the shortest independent remainder of a column to the longest dependent one

# Estimates ------------------------------------------------------------------------------------------------------------------

TIME_BLOCKS = 40  # blocks of time that are left out in turn for standard deviations, which are then known to 11 %
CHUNK_BLOCKS = 20  # blocks of a chunk of a streamed log, which has at least two chunks
MOST_BLOCKS = 64  # blocks of a streamed log at which neighbours are merged
MEDIAN_SAMPLES = 10_000  # samples of a chunk from which medians are known to 1 %
SHORTEST_BLOCK = 0.5  # s: shortest block, longer than the correlation time of residuals
CONFIDENCE = 0.95  # probability that an interval holds the true value
WEIGHT_ROUNDS = 20  # rounds of weights and estimates by turns; three usually suffice
OUTLIER = 8.0  # robust standard deviations by which an outlier stands out; noise has none
LOCAL_SAMPLES = 100  # samples of a stretch with a noise of its own: enough to know it to a tenth
OUTLIER_SHARE = 1e-3  # fraction of a joint's samples that are outliers: with more the estimate is robust
HAMPEL = (2.0, 4.0, 8.0)  # standardised residuals from which Hampel's weights decrease, decrease faster, and are zero
ROBUST_ROUNDS = 5  # rounds of the robust estimate
LOAD_ROUNDS = 50  # largest number of rounds of parameters and load: each gains a digit if friction is a tenth of the load
LOAD_MEMORY = 6  # rounds from which the load is extrapolated at which they settle: more of them differ by rounding only
SAME_LOAD = 1e-12  # fraction of the largest parameter: a smaller change of the parameters ends the rounds
ROTOR_ROUNDS = 3  # rounds in which rotors that came out negative are set to 0: others may follow
INDEPENDENT = 0.5  # fraction of the decimated samples that are independent: a period of the cut-off has four, and two would suffice

# Links that can exist -------------------------------------------------------------------------------------------------------

ROBOT_AS_GOOD = 1.02  # times the error of the fit: a robot with a larger error is reported as worse than the fit
TIE = 1e-9  # fraction of the squared torques: weight of a prior that only decides what the data leave open
AT_ZERO = 1e-6  # scaled drive constants below this are at their bound
GOAL_DIGITS = 1e-6  # accuracy of the minimum: the divergence of a mass that is wrong by a thousandth
POLISHING = 30  # largest number of Newton steps; quadratic convergence takes a few
DATA_RANK = 1e-9  # fraction of the largest singular value of the scaled problem: directions below it are left open by the data
JACOBIAN_RANK = 1e-6  # the same for a Jacobian by differences, which is exact to 1e-8
TORQUES_KEPT = 1e-8  # fraction of the torques: a smaller change is the solver's accuracy
LINK_RADIUS = 0.2  # fraction of the distance between a link's joints, or of the usual one: half the thickness of typical links
LINK_DENSITY = 1000.0  # kg/m^3, of the ellipsoid around its joints: a hollow aluminium link with a motor, by default
DENSEST = 8e3  # kg/m^3, of that ellipsoid: solid steel; links of arms have 200 to 2000
FAR_CENTRE = 3.0  # times half its lengths from the middle of a link: no part of the link is there
SMALLEST_MOMENT = 1e-2  # fraction of the largest second moment about the centre of mass that a body with volume has at least

# Laws of friction -----------------------------------------------------------------------------------------------------------

LAW_GAIN = 0.3  # fraction of the squared error in predicted fifths of a log that a law must remove to be worth its parameters
# the same if all but a trace, as a fraction of the noise, is explained: then the rest is a law, not a drive's imperfection
SMALL_LAW_GAIN = 0.15
TRACE = 0.5
LAW_AS_WELL = 0.01  # fraction of all torques by which predicted fifths may get worse: joints with small torques do not decide alone
IMPOSSIBLE_ROUNDS = 3  # rounds of leaving out impossible terms: usually one suffices; further ones mean that another law is at work
# laws added at most: each kind there is, and three of them a second time, as with a speed of each joint's own
MOST_LAWS = 10
SLOWEST_COG = 2  # times a turn of the joint: effects once a turn are gravity or balancing, a law of their own
# harmonics of a joint that are sought together: motors cog by their poles and by their slots. Of two on one joint of an irb120,
# one alone leaves 3 % of the torques, and 5 to 14 % of another motion's
COGS_AT_ONCE = 2
MOST_HARMONICS = 24  # times a turn of the joint: motors have more poles, but behind a gear the low-pass removes them
# quantiles of a joint's positions between which the edge of a pull is sought, and the number of edges tried: the residual has one
# minimum near the best of so many
EDGES_WITHIN = (0.05, 0.95)
EDGES_TRIED = 25
STRIBECK_SPEEDS = (0.1, 0.3)  # fractions of the usual speed at which Stribeck's curve may have halved
# times the speed of all joints, at which a joint's own curve may have halved; from the best of them the fit refines it
OWN_SPEEDS = np.geomspace(0.2, 5.0, 13)

# Verdict: torques -----------------------------------------------------------------------------------------------------------

UNEXPLAINED = 0.25  # fraction of all torques: a model that leaves more is not that of the arm
# of all torques, beyond their noise: three real arms that are predicted well leave 1 to 7 %, one with a coupling 11 %. Of 63
# verdicts 0.07 and 0.13 change 3 and 7, in what is said besides the fault
MISSED = 0.1
# of a joint's power, or of what is unexplained: more is most of it, and then it is the reason; 0.35 changes 2 of 63 verdicts,
# 0.65 none
MOST_OF_IT = 0.5
NEARLY_ALL = 0.75  # fraction of a residual smaller than drives usually leave: an explanation of more is accepted all the same
SMALL_FAULT = 0.005  # fraction of a joint's torque: no explanation is looked for if less is left
WORTH_A_WORD = 0.1  # fraction of the residual that a delay or a tilt must explain to be mentioned
MATTERS = 0.01  # fraction of a joint's torque: no drive's torque is known better, so a smaller residual is no sign of a fault
TORQUE_ROUNDING = 1e-6  # fraction of a torque: a residual as small comes from differentiation in a log without noise
CLIPPED = 0.01  # fraction of the samples in which a torque rests at one end, with a run of STUCK_SAMPLES: fewer occur by chance
CLIPPED_SHARES = (0.03, 0.1, 0.2, 0.35)  # fractions of the samples at each end left out in turn: more than are clipped
UNTOUCHED = 0.02  # fraction of a kernel that lies on samples left out: its result hardly depends on them
LEVELS_TRIED = 9  # levels that are tried among the torques left out

# Verdict: what else may be true of a log ------------------------------------------------------------------------------------

# samples looked at, kernels a stretch of them is long, and samples in a period of the cut-off; 30 % more or less changes 1 or 2
# of 63 verdicts
TRIAL_SAMPLES = 2000
TRIAL_WINDOW = 8
TRIAL_RATE = 8
LAW_SAMPLES = 20_000  # samples examined for laws of friction: 80 s at 250 Hz, with all their turns
DRY_BLUR = 0.5  # samples: half the rise of a step after a low-pass at half the rate of samples
TRIAL_ROWS = 600  # rows a joint that are fitted, about
TRIAL_ROUNDS = 6  # rounds of weights and parameters in turn
TRIAL_FIFTHS = 5  # parts of a log, each predicted by the others: the halves of a short log move too differently to compare laws
TRIAL_SETTLED = 1e-3  # fraction of a joint's noise: a smaller change of it ends the rounds of weights
POSITION_STEP = 1e-4  # rad or m, for derivatives by differences: truncation and rounding are both about 1e-8 of a torque
LARGEST_SOUGHT = 1e3  # rad, m or times: no error of positions is as large, and trials of it would leave what positions can be
# fraction of a joint's torque: a smaller residual counts as explained, even if it is slightly worse than before
STILL_EXPLAINED = 0.05
TURN_DEGREE = 5  # degree of the polynomial that a joint's speed follows around a turn, for a kernel's length, except for play
REFINED = 4  # Gauss-Newton steps, with the parameters, for the error that explains most
HARD_STEP = 1e-6  # rad/s or m/s: in excerpts a step of friction as narrow as this is as good as one without width
LEAST_GAIN = 1e-4  # times: a torque scaled by less, or by more than its inverse, is no measurement
LARGEST_TILT = np.pi / 4  # rad: a base that leans by more is mounted another way
LEANING_ROUNDS = 6  # Gauss-Newton steps for the direction of gravity: from a quarter turn off, four suffice
SURELY_LIKELIER = 50.0  # twice the logarithm of odds: chance makes 11 once in a thousand times, coloured noise more
MOVED = 0.1  # fraction of the parameters beyond their intervals: a fault that leaves only a trace and moves fewer does no harm
HARM = 0.05  # fraction of the torques of another motion: an arm that is predicted worse is not identified
LEAST_PLAY = 3e-4  # rad or m, an arc minute: the least play of gears, while joints that stick before they turn look like less
LEAST_CLOCK = 1e-4  # relative difference of two clocks: quartz is better, and a log of minutes drifts by less than a sample
LONGEST_DELAY = 1.0  # s: a later torque is not a delayed one but another recording
DELAYS_TRIED = (-0.2, -0.1, -0.05, 0.05, 0.1, 0.2)  # s, for single joints, since a first derivative holds for short delays only
PACES_TRIED = (0.0, 1.0, -0.5)  # relative errors of the speed to start from: none, twice, half, as rates of logs are mistaken
TRIAL_PARTS = 20  # parts of a log at whose ends an effect may begin or end
CHANGE_PARTS = 60  # the same for effects that are compared all at once
SHOWS_THERE = 0.3  # fraction of a joint's squared errors that an alternative must remove to be said to show there
SHORT_WHILE = 0.3  # fraction of a log: an effect that lasts longer is taken as a property of the arm
CLEARLY = 0.9  # fraction of the residual: an alternative that explains more leaves little to look for
# times what the best alternative leaves: one that leaves less is as good, and the simpler is said. What is true leaves noise, its
# rivals several times as much; with more besides, a Puma without gravity (0.33) is one on a clock 3 times as fast (0.32)
AS_LITTLE = 1.1
FAULTS_AT_ONCE = 4  # largest number of small errors at once: more would mean another arm
HYSTERESIS_WIDTHS = np.array([0.03, 0.1, 0.3])  # fractions of a torque's deviation, to each side: strain gauges have such
STANDS_OUT = 3.0  # times the usual squared error: parts of the log above that belong to a temporary effect

# Verdict: motion ------------------------------------------------------------------------------------------------------------

CONDITION = 1000.0  # condition number of the weighted regressor with columns of length 1: beyond, noise is amplified a thousandfold
BEST_CONDITION = CONDITION / 3  # the same on random motions: beyond, no motion would do much better
# of the torques, in postures that a log need not have seen, in its other half, or in another log: as uncertain as a fit may be.
# Of 63 verdicts 0.105 and 0.195 change 8 and 4, in what is said besides the fault
UNCERTAIN = 0.15
POSTURES = 300  # random postures in the whole workspace
WEAKEST_PART = 0.1  # component of a parameter in the weakest direction: parameters with less are not named
# correlation of a residual with itself a period of the cut-off later; by chance, up to 4 over the root of the samples
COLOUR = 0.2
CHANCE_COLOUR = 4.0
# variance of neighbouring blocks together over their own: beyond, more is common to them than is their own; 1.4 changes one of 63
# verdicts, 2.6 none
BLOCK_MEMORY = 2.0
FEWEST_BLOCKS = 8  # independent blocks: with fewer a standard deviation is uncertain by more than a quarter

# Verdict: recordings --------------------------------------------------------------------------------------------------------

DISAGREEMENT = 2.0  # times the unexplained variance with separate parameters: more than half of it is disagreement
VALIDATION_WORSE = 3.0  # times the residual of the fit's own log: beyond, the fit does not generalise
VALIDATION_NOTICEABLE = 0.04  # fraction of the torques: a smaller error does no harm, however good the fit is elsewhere

# Loads ----------------------------------------------------------------------------------------------------------------------

LOAD_SIZE = 0.1  # m: typical size of a load, which makes moments of different order comparable
LOAD_RADIUS = 0.05  # m: radius of the ball that is assumed for a load whose shape the motion does not show
LOAD_CHANGES = 24  # times at which a load may have changed, evenly spaced over a log
LOAD_AS_WELL = 0.02  # fraction of the residual: a reason that explains so little more is no better than a simpler one
LOAD_MISSED = 0.1  # fraction of the load's torques: with a larger residual its parameters contain errors of the arm

# Output error ---------------------------------------------------------------------------------------------------------------

STEEPEST_SPEED = 1e-3  # rad/s or m/s: below it the slope of friction is taken as that up to this speed
STIFFEST = 1.0  # tracking index (bandwidth times step, squared): beyond, a single sample would dominate the prediction
SETTLED = 0.01  # fraction of an error of the initial state that may be left when predictions begin to count
FEWEST_PREDICTED = 8  # smallest number of samples of a segment, and of the parabola through its start
POSITION_EXACT = 1e-6  # fraction of a joint's travel: no position is known better
PARAMETER_STEP = 1e-6  # fraction of a parameter's size, for derivatives by differences
INTEGRATION_ERROR = 0.1  # fraction of the errors that may come from the rule of integration
MOST_SUBSTEPS = 8  # substeps at most, until they come from there
ERRORS_FALL = 0.02  # fraction by which the errors must fall for another round
OUTPUT_ERROR_ROUNDS = 12  # rounds at most
SQUARES_FALL = 0.01  # decrease of the squared errors for another step: less is a tenth of a standard deviation
STEP_KEPT = (0.25, 0.75)  # fractions of the expected decrease: below the first, damping is raised, above the second it is reduced
LINEARISED_EVALUATIONS = 1000  # evaluations of the linearised errors, which take hardly any time
START_WEIGHT = 1.0  # weight of the start: masses within a factor of e, and centres within a radius of gyration
BANDWIDTHS_TRIED = np.geomspace(0.5, 2.0, 5)  # times the present bandwidth

# Exciting motions -----------------------------------------------------------------------------------------------------------

LONGEST_RAMP = 1000.0  # periods: with longer blends a period vanishes in the digits of a time
SERIES_DRAWN = 40  # random series from which the starts are chosen
TIGHTER = (0.02, 0.04, 0.08)  # fractions of each limit, in turn, kept as a margin at sampled times, for the motion in between
FINE_STEP = 1e-3  # s: step of the grid on which limits are checked
SMOOTH_SPEED = 0.05  # fraction of a joint's speed limit over which Coulomb friction is smoothed

# What a log is worth --------------------------------------------------------------------------------------------------------

PROPOSED_SECONDS = 5.0  # s: duration of a proposed motion
PROPOSED_HELPS = 0.7  # fraction of a parameter's interval: a motion that leaves more does not help it
PROPOSED_SWING = 0.4  # fraction of a joint's range, to each side of its middle, that a proposed motion covers
# fractions of a joint's top speed: slow for gravity and dry friction, fast for inertia and viscous friction
PROPOSED_SPEEDS = (0.2, 1.0)
PROPOSED_POSTURES = 3  # postures in which the other joints are held in turn: gravity and coupling show in some of any three
PROPOSED_LEAST = 0.1  # fraction of the fastest joint's speed that joints at rest in the log are assumed to have later
ABSURD_TORQUE = 10.0  # times a joint's torque: a value that would cause more has not been observed, and is rounding
NO_INFORMATION = 1e-9  # fraction of the largest information, added where a log has none
IDLE_SHARE = 0.2  # fraction of a block's even share of the information: a block with less could be left out

# The report -----------------------------------------------------------------------------------------------------------------

FAILS_THERE = 1.5  # times the rms of all samples: a place with larger errors is named
FAILURE_PARTS = 8  # parts of the range of positions and of times in which errors are compared
FAILURE_SAMPLES = 0.05  # fraction of the samples: places with fewer are ignored
SLOW_TIMES = 3.0  # times the standstill speed, below which a joint is slow
FAST_PART = 0.7  # fraction of its top speed, above which it is fast
FOLDS = 5  # parts of a single recording that are left out in turn

# While the robot moves ------------------------------------------------------------------------------------------------------

# fraction of a parameter's value, and standard deviations of the fit, that it may change by: friction halves as it warms
PRIOR_SPREAD = 0.5
PRIOR_DEVIATIONS = 10.0
# steps over which the mean square is the observed noise, and the largest multiple of that mean that a step counts as
SURPRISE_STEPS = 200
SURPRISE_CLIP = 4.0
# times the mean: squares beyond it are summed, and when twenty steps' worth have come, the load has changed
SURPRISE_NOISE = 2.0
SURPRISE = 20.0
PRIOR_SLACK = 0.05  # fraction of the memory in which all of the prior is added once: its deviations are kept to half of that

# Delays of torques ----------------------------------------------------------------------------------------------------------

DELAY_FOUND = 0.01  # fraction of a sample: a smaller change ends the search
# fraction of a period of the cut-off: largest change in a round, since a delay's column is a first derivative
DELAY_STEP = 0.25
DELAY_ROUNDS = 30
ALIGNED = 1.5  # samples: torques of the cycle before or after are aligned, later or earlier ones are a fault that the verdict names
WITHIN_A_CYCLE = 0.5  # samples: torques that are off by more are logged with the positions of another cycle, which is worth a word
# samples, 2e-5 s at 250 Hz, which moves parameters by 0.2 to 1.3 of their standard deviations in three simulated arms
LEAST_DELAY = 0.005
SURE_DELAY = 4.0  # standard deviations by which a delay must exceed zero: with 40 blocks by chance once in some thousand logs
DELAY_SOUGHT = 10.0  # samples: up to there a delay of all torques is found that is told, though it is too long to be mended
ALIGNED_ROUNDS = 5  # of delays and parameters by turns; three settle half a millisecond and a whole sample alike

# Elastic joints, closed loops -----------------------------------------------------------------------------------------------

ELASTIC_ROUNDS = 4  # rounds of loads and stiffnesses by turns: the error falls each time by the ratio of the winding to the motion
ELASTIC_SURE = 3.0  # standard deviations by which a compliance must exceed zero to be significant
# rounds of simulations and parameters by turns, and the relative change of the torques that ends them
CLOSED_LOOP_ROUNDS = 15
CLOSED_LOOP_SETTLED = 1e-4
SHORTER_STEPS = (1, 4, 16)  # divisors of the step of a simulation that diverges, in turn

# Priors, and intervals by bounds --------------------------------------------------------------------------------------------

DESCRIPTION_WEIGHTS = np.geomspace(1e-2, 1e4, 25)  # weights compared: from an error by a factor of ten to one of 1 %
DESCRIPTION_ROUNDS = 3  # rounds over all links: weights hardly depend on each other
NO_EVIDENCE = 2.0  # twice a log-probability: weights whose evidence differs by less are equally good
BOUND_SLACK = 1.05  # times the largest error of the fit, for a bound that the fit itself keeps
MEMBERSHIP_RANGE = 1e12  # times the bound: linear programs with larger coefficients are not solved
MEMBERSHIP_ROWS = 2000  # rows of all joints that a linear program uses

# Surroundings of exciting motions -------------------------------------------------------------------------------------------

PARTING_POSTURES = 60  # random postures: parts that touch in all of them are built so
SAME_DISTANCE = 1e-6  # m: parts whose distance varies by less are mounted there
KNOWN_STATES = 2000  # states of a log that represent all of it
OVERLAP_PENALTY = 100.0  # units of log det per metre of overlap at the start of a search: a centimetre costs one unit
