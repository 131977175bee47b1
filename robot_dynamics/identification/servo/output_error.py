# SPDX-License-Identifier: Apache-2.0
"""Parameters of servo drives by closed-loop output error identification.

Without measured efforts, or with only a coarse duty cycle, equations of efforts contain little
information. Therefore the whole loop is simulated from the commands, and the drive parameters
minimise the error of the simulated positions::

    minimise  sum_k rho(e_k),   e_k = (q_k - q(t_k; x)) / motion,   x between bounds
    rho(e) = 2 f^2 (sqrt(1 + (e / f)^2) - 1)

rho is quadratic for small errors and linear for large ones, because a single stick event that
differs shifts a simulation for seconds. The only measured signal in the simulation is the first
position, so that noise does not bias x, in contrast to regressors (M. Gautier, A. Janot and P.-O.
Vandanjon, "A new closed-loop output error method for parameter identification of robot dynamics",
IEEE Transactions on Control Systems Technology 21(2), 2013). The bodies are taken from the
description, because otherwise only ratios would be determined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.packing import body_table
from robot_dynamics.errors import Finding, ParameterError, RecordingError, Severity
from robot_dynamics.identification.dataset.settings import (
    read_estimate,
    require_number,
    values_of_joints,
)
from robot_dynamics.identification.least_squares import CORRELATION, newey_west
from robot_dynamics.identification.quality import OVERFIT, VAGUE, grade
from robot_dynamics.identification.result import FAIR, POOR
from robot_dynamics.identification.servo.log import ServoLog, halves_of
from robot_dynamics.identification.servo.model import (
    DRIVE,
    LIMIT,
    PARAMETERS,
    PROPORTIONAL,
    Layout,
    friction_of,
    simulate_drives,
)
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: f, the error relative to the deviation of the motion above which rho is linear; and its value
#: at the start of a search.
LINEAR_FROM, AT_FIRST = 0.01, 0.1
#: Number of random points, and their log-normal spread about typical values.
SAMPLES, SPREAD = 30, 0.8
#: Spread of further starts about the best point.
NEAR = 0.1
#: Step of finite differences, in scales: larger than the effect of a single event of sticking.
DIFFERENCE = 1e-2
#: Largest number of simulations with derivatives in one search.
MOST_STEPS = 60
#: Error of a simulation that diverged, relative to the motion.
LOST = 10.0
#: Relative difference below which two searches have the same minimum.
SAME = 0.01
#: Distance to a bound, in scales, within which an entry counts as at the bound.
AT_BOUND = 1e-4
#: Shortest step of the simulation, s.
SHORTEST_STEP = 1e-5


@dataclass(frozen=True)
class OutputErrorSettings:
    """Settings of `identify_drives`.

    Parameters
    ----------
    friction : str or sequence of str
        One of `robot_dynamics.identification.servo.model.CLASSES`, or names of parameters.
    known : mapping of str to float or sequence
        Known parameters: ``{'back_emf': 0.01}``.
    step : float
        Longest step of the simulation, s.
    starts : int
        Number of searches from the best of `SAMPLES` random points, and from points near the best
        result.
    seed : int
        Seed of these points.

    Examples
    --------
    >>> from robot_dynamics.identification import OutputErrorSettings
    >>> OutputErrorSettings(friction='coulomb', known={'offset': 0.0}).starts
    3
    """

    friction: Any = 'load'
    known: Mapping[str, Any] = field(default_factory=dict)
    step: float = 1e-3
    starts: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        friction_of(self.friction)
        if not isinstance(self.known, Mapping) or any(name not in PARAMETERS
                                                      for name in self.known):
            raise ParameterError(f'must be a mapping of parameters, got {self.known!r}',
                                 subject='known',
                                 remedy='give values by name: ' + ', '.join(PARAMETERS))
        require_number('step', self.step, 'give 0.001 or so, s', SHORTEST_STEP, 0.1)
        require_number('starts', self.starts, 'give 3 or so', 1, SAMPLES, whole=True)
        require_number('seed', self.seed, 'give 0', whole=True)


@dataclass(frozen=True, eq=False)
class OutputError:
    """Result of `identify_drives`."""

    layout: Layout
    #: Estimated parameters, shape (p,).
    x: FloatArray
    #: Standard deviations, shape (p,), which account for correlated errors of neighbouring rows;
    #: nan at a bound.
    deviations: FloatArray
    #: Mean absolute error of the simulated positions of all logs, shape (n,), rad or m.
    mean_error: FloatArray
    #: The same, each half of every log simulated with the parameters of the other halves.
    validation: FloatArray
    #: Minimum of each search, divided by rows, joints and 2 f: about the mean absolute error
    #: relative to the motion. Best first.
    costs: tuple[float, ...]
    findings: tuple[Finding, ...]
    #: Parameters from the first halves of all logs, and from the second ones, shape (p,).
    halves: tuple[FloatArray, FloatArray]

    @property
    def parameters(self) -> dict[str, float]:
        """Estimated parameters by name, ``joint/parameter``."""
        return dict(zip(self.layout.labels, self.x.tolist(), strict=True))

    @property
    def standard_deviations(self) -> dict[str, float]:
        """Standard deviations by name."""
        return dict(zip(self.layout.labels, self.deviations.tolist(), strict=True))


def output_error_settings(section: Mapping[str, Any]) -> OutputErrorSettings:
    """Settings from an ``output_error`` section of a YAML file."""
    return read_estimate(OutputErrorSettings, {'output_error': section}, 'output_error',
                         ('logs', 'keys', 'servo'))


def identify_drives(robot: Robot, logs: Sequence[ServoLog],
                    settings: OutputErrorSettings | None = None) -> OutputError:
    """Estimate the drives of an arm.

    Parameters
    ----------
    robot : Robot
        The arm, with joints of one coordinate and correct bodies.
    logs : sequence of ServoLog
        Commands and positions.
    settings : OutputErrorSettings, optional
        Friction class and search.

    Returns
    -------
    OutputError
        Parameters, and the errors of the simulated positions.

    Raises
    ------
    RecordingError
        If logs do not match the robot, or a joint diverges with all tried parameters.

    See Also
    --------
    robot_dynamics.identification.servo.log.read_servo_logs

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.identification import OutputErrorSettings, identify_drives
    >>> from robot_dynamics.identification.servo.log import arrays_log
    >>> from robot_dynamics.identification.servo.model import Layout
    >>> from robot_dynamics.identification.servo.output_error import simulate_servos
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf')
    >>> known = {'armature': 0.1, 'back_emf': 1.0, 'offset': 0.0, 'viscous': 0.1, 'coulomb': 0.1}
    >>> t = np.arange(0.0, 3.0, 0.05)
    >>> goal, law = 0.5 * np.sin(np.outer(t, [2.0, 3.0])), np.array([[50.0, 1.0, np.inf]] * 2)
    >>> true = Layout(robot.joint_names, ('gain', *known), {
    ...     name: np.full(2, value) for name, value in known.items()})
    >>> log = arrays_log(t, goal, goal, law)
    >>> position = simulate_servos(robot, log, true, np.array([3.0, 2.0]), 0.01)
    >>> log = arrays_log(t, position, goal, law)
    >>> found = identify_drives(robot, [log], OutputErrorSettings(
    ...     friction='coulomb', known=known, step=0.01, starts=1))
    >>> [round(x) for x in found.x.tolist()]
    [3, 2]
    """
    settings = OutputErrorSettings() if settings is None else settings
    layout = _layout(robot, settings)
    search = Search(robot, logs, layout, settings)
    found = search.best()
    x = found[0][0]
    errors = np.mean(np.concatenate(_errors(robot, logs, layout, x, settings.step)), axis=0)
    lost = [name for name, error in zip(robot.joint_names, errors, strict=True)
            if not np.isfinite(error)]
    if lost:
        raise RecordingError('diverges with all tried parameters', subject=', '.join(lost),
                             remedy='check signs and units: position and goal in rad or m, supply '
                                    'in V and above zero, the law of the servo')
    halves = halves_of(logs)
    first, second = (Search(robot, half, layout, settings).best()[0][0] for half in halves)
    validation = np.mean(np.concatenate([
        *_errors(robot, halves[1], layout, first, settings.step),
        *_errors(robot, halves[0], layout, second, settings.step)]), axis=0)
    deviations = search.deviations(x)
    costs = tuple(cost for _, cost in found)
    return OutputError(layout, x, deviations, errors, validation, costs,
                       _findings(layout, x, deviations, costs, logs), (first, second))


def simulate_servos(robot: Robot, log: ServoLog, layout: Layout, x: FloatArray,
                    step: float = 1e-3) -> FloatArray:
    """Simulated positions of the encoders, shape (N, n); nan after a joint diverged."""
    return _simulated(body_table(robot), log, layout.table(x), step)


def mean_error(robot: Robot, logs: Sequence[ServoLog], parameters: Mapping[str, Any],
               step: float = 1e-3) -> FloatArray:
    """Mean absolute error of given drives, (n,): parameters by name, all others 0."""
    layout = Layout(robot.joint_names, tuple(parameters), {
        name: values_of_joints(name, value, robot.n) for name, value in parameters.items()})
    return np.mean(np.concatenate(_errors(robot, logs, layout, np.zeros(0), step)), axis=0)


class Search:
    """Search for the drives of the smallest cost."""

    def __init__(self, robot: Robot, logs: Sequence[ServoLog], layout: Layout,
                 settings: OutputErrorSettings):
        if not logs:
            raise RecordingError('must not be empty', subject='list of logs', remedy='give one')
        for log in logs:
            if log.position.shape[1] != robot.n:
                raise RecordingError(f'must have {robot.n} joints, got {log.position.shape[1]}',
                                     subject=log.name, remedy='give those of the robot')
        self.logs, self.layout, self.settings = tuple(logs), layout, settings
        self._model = body_table(robot)
        position = np.concatenate([log.position for log in logs])
        self._motion = np.std(position, axis=0)
        still = [name for name, size in zip(robot.joint_names, self._motion, strict=True)
                 if not size > 0.0]
        if still:
            raise RecordingError('does not move', subject=', '.join(still),
                                 remedy='leave it out of the robot, or record it moving')
        self._scales = layout.scales(*_typical(robot, logs))
        low, high = layout.bounds()
        self._low, self._high = low / self._scales, high / self._scales

    def residual(self, z: FloatArray) -> FloatArray:
        """Errors of all logs relative to the motion, for scaled parameters."""
        table = self.layout.table(z * self._scales)
        errors = []
        for log in self.logs:
            position = _simulated(self._model, log, table, self.settings.step)
            error = (log.position - position) / self._motion
            errors.append(np.where(np.isfinite(error), np.clip(error, -LOST, LOST), LOST).ravel())
        return np.concatenate(errors)

    def slopes(self, z: FloatArray) -> FloatArray:
        """Derivative of `residual` by differences away from the nearer bound."""
        here = self.residual(z)
        out = np.empty((len(here), len(z)))
        for k in range(len(z)):
            moved = z.copy()
            step = DIFFERENCE if z[k] + DIFFERENCE <= self._high[k] else -DIFFERENCE
            moved[k] += step
            out[:, k] = (self.residual(moved) - here) / step
        return out

    def best(self) -> list[tuple[FloatArray, float]]:
        """Parameters and costs of the searches from several points, best first."""
        random = np.random.default_rng(self.settings.seed)
        points = np.exp(SPREAD * random.normal(size=(SAMPLES, len(self._scales))))
        points[0] = 1.0
        points = np.clip(points, self._low + AT_BOUND, self._high - AT_BOUND)
        order = np.argsort([float(np.sum(np.abs(self.residual(z)))) for z in points])
        found = self.from_points([points[k] * self._scales
                                  for k in order[:self.settings.starts]])
        # The cost has many local minima, so that searches from near the best result may improve
        # it.
        near = np.exp(NEAR * random.normal(size=(self.settings.starts, len(self._scales))))
        return sorted(found + self.from_points(found[0][0] * near), key=lambda one: one[1])

    def from_points(self, points: Iterable[FloatArray]) -> list[tuple[FloatArray, float]]:
        """Parameters and costs of the searches from given points, best first."""
        from scipy.optimize import least_squares
        found = []
        for point in points:
            z = point / self._scales
            for size in (AT_FIRST, LINEAR_FROM):
                inside = np.clip(z, self._low + AT_BOUND, self._high - AT_BOUND)
                result = least_squares(self.residual, inside, self.slopes,
                                       bounds=(self._low, self._high), max_nfev=MOST_STEPS,
                                       xtol=1e-5, ftol=1e-5, loss='soft_l1', f_scale=size)
                z = result.x
            cost = float(result.cost) / (LINEAR_FROM * len(result.fun))
            found.append((z * self._scales, cost))
        return sorted(found, key=lambda one: one[1])

    def deviations(self, x: FloatArray) -> FloatArray:
        """Standard deviations of parameters, nan at bounds.

        Those of an M-estimator, B^-1 S B^-1: B = sum rho''/2 de^T de, and S the covariance of
        sum rho'/2 de by W. K. Newey and K. D. West over a second, as simulation errors are
        correlated for long, or that for independent errors if larger (P. J. Huber, "Robust
        statistics", 1981, section 6.3).
        """
        z = x / self._scales
        free = (z - self._low > AT_BOUND) & (self._high - z > AT_BOUND)
        out = np.full(len(x), np.nan)
        if not np.any(free):
            return out
        J, e = self.slopes(z)[:, free], self.residual(z)
        flat = 1.0 / np.sqrt(1.0 + (e / LINEAR_FROM) ** 2)
        n = len(self.layout.joints)
        rows, correlation, samples = 0, 0, []
        for log in self.logs:
            near = int(np.ceil(CORRELATION * (log.count - 1) / (log.time[-1] - log.time[0])))
            correlation = max(correlation, near)
            samples.append(rows + np.repeat(np.arange(log.count), n))
            rows += log.count
        # Errors of different logs are independent.
        order = np.concatenate([one + k * (correlation + 1) for k, one in enumerate(samples)])
        joint = np.tile(np.arange(n), rows)
        bread = np.linalg.pinv((J * (flat ** 3)[:, np.newaxis]).T @ J)
        scores = J * (flat * e)[:, np.newaxis]
        variances = [np.diag(bread @ filling @ bread) for filling in (
            newey_west(scores, joint, order, correlation), scores.T @ scores)]
        out[free] = np.sqrt(np.max(variances, axis=0)) * self._scales[free]
        return out


def _layout(robot: Robot, settings: OutputErrorSettings) -> Layout:
    robot.require_single_coordinates('identification of drives')
    if robot.coupling.shape != (robot.n, robot.n) or np.any(robot.coupling != np.eye(robot.n)):
        raise ParameterError('must not have mimic joints', subject=robot.name,
                             remedy='name the joints of the arm alone, without mimic joints')
    names = tuple(dict.fromkeys((*DRIVE, *friction_of(settings.friction), *settings.known)))
    known = {name: values_of_joints(name, value, robot.n)
             for name, value in settings.known.items()}
    return Layout(robot.joint_names, names, known)


def _typical(robot: Robot, logs: Sequence[ServoLog]
             ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Typical efforts, inertias, commands and speeds of the joints."""
    dynamics = Dynamics(robot, armature=False)
    q = np.concatenate([log.position for log in logs])
    q = np.ascontiguousarray(q[::max(1, len(q) // 500)])
    inertia = np.mean(np.einsum('kjj->kj', dynamics.mass_matrix(q)), axis=0)
    speed = np.max([np.percentile(np.abs(np.diff(log.position, axis=0)
                                         / np.diff(log.time)[:, np.newaxis]), 90, axis=0)
                    for log in logs], axis=0)
    speed = np.maximum(speed, 1e-3)
    effort = np.max(np.abs(dynamics.gravity_torque(q)), axis=0)
    # Without gravity, the effort that reverses the motion within a tenth of a second.
    effort = np.maximum(effort, inertia * speed / 0.1)
    # Magnitudes of u by the law at the measured positions.
    asked = [log.supply * log.enabled * np.minimum(
        np.abs(log.goal - log.position) * log.law[:, PROPORTIONAL], log.law[:, LIMIT])
        for log in logs]
    command = np.max([np.percentile(one, 90, axis=0) for one in asked], axis=0)
    return effort, inertia, np.maximum(command, 1e-9), speed


def _simulated(model: FloatArray, log: ServoLog, table: FloatArray, step: float) -> FloatArray:
    out = np.full(log.position.shape, np.nan)
    start = np.stack([log.position[0], log.velocity])
    simulate_drives.load()(model, log.law, table, log.time, log.goal, log.supply, log.enabled,
                            step, start, out)
    return out


def _errors(robot: Robot, logs: Sequence[ServoLog], layout: Layout, x: FloatArray, step: float
            ) -> list[FloatArray]:
    """Absolute errors of the simulated positions of each log, shape (N, n)."""
    model, table = body_table(robot), layout.table(x)
    return [np.abs(log.position - _simulated(model, log, table, step)) for log in logs]


def _findings(layout: Layout, x: FloatArray, deviations: FloatArray, costs: Sequence[float],
              logs: Sequence[ServoLog]) -> tuple[Finding, ...]:
    findings = []
    for log in {log.name: log for log in logs}.values():
        findings += [Finding(Severity.INFO, log.name, f'{count} {reason}')
                     for reason, count in log.counts.items()]
    at_bound = [label for label, sd in zip(layout.labels, deviations, strict=True)
                if np.isnan(sd)]
    if at_bound:
        findings.append(Finding(Severity.INFO, ', '.join(at_bound), 'is at its bound: the logs do '
                                'not require it',
                                'choose a friction class without it'))
    vague = [label for label, value, sd in zip(layout.labels, x, deviations, strict=True)
             if sd > VAGUE * abs(value)]
    if vague:
        findings.append(Finding(Severity.INFO, ', '.join(vague), 'is hardly determined by the '
                                f'logs: standard deviation above {100 * VAGUE:.0f} %',
                                'give it under known, or record other motions'))
    if len(costs) > 1 and costs[1] > (1.0 + SAME) * costs[0]:
        findings.append(Finding(Severity.WARNING, 'searches', 'found the best minimum only once',
                                'raise starts'))
    return tuple(findings)


@dataclass(frozen=True, eq=False)
class DriveVerdict:
    """Verdict on identified drives."""

    #: good, fair or poor, and the reasons.
    verdict: str
    reasons: tuple[str, ...]
    #: Mean absolute deviation of the measured positions from their mean, shape (n,), rad or m.
    motion: FloatArray
    #: Mean position error of all joints relative to the motion.
    in_sample: float
    #: The same of the other halves.
    validation: float
    #: Joint with the largest validation error, and that error relative to its motion.
    worst: tuple[str, float]


@dataclass(frozen=True, eq=False)
class Simulated:
    """One log with simulated positions, (N, n), by the fit, and by the fit to the other halves.

    Positions are nan after a joint diverged.
    """

    log: ServoLog
    fitted: FloatArray
    held: FloatArray


def verdict_of_drives(found: OutputError, logs: Sequence[ServoLog]) -> DriveVerdict:
    """Verdict on drives from the errors of simulated positions relative to the motion."""
    position = np.concatenate([log.position for log in logs])
    motion = np.mean(np.abs(position - np.mean(position, axis=0)), axis=0)
    inside, outside = (float(np.mean(error / motion))
                       for error in (found.mean_error, found.validation))
    reasons = [f'positions simulated from commands alone differ by {100 * outside:.3g} % of the '
               f'motion in halves outside the fit, and by {100 * inside:.3g} % in the fit']
    joints = found.validation / motion
    # The first joint that diverged, if any.
    worst = int(np.argmax(np.nan_to_num(joints, nan=np.inf)))
    name, share = found.layout.joints[worst], float(joints[worst])
    verdict = grade(outside, joints) if np.isfinite(outside) else POOR
    if verdict != grade(outside, joints[:0]):
        reasons.append(f'{name} by itself is {100 * share:.0f} % of its motion off: do not rely '
                       'on its drive')
    if not np.isfinite(outside) or outside > OVERFIT * inside + 0.01:
        verdict = POOR if verdict == POOR else FAIR
        reasons.append('positions of other halves are simulated much worse than those of the fit: '
                       'the halves of the logs disagree')
    return DriveVerdict(verdict, tuple(reasons), motion, inside, outside, (name, share))


def simulated(robot: Robot, found: OutputError, logs: Sequence[ServoLog], step: float
              ) -> tuple[Simulated, ...]:
    """Simulated positions of all logs, with steps of at most ``step`` s."""
    out = []
    for log in logs:
        middle = log.count // 2
        held = [simulate_servos(robot, half, found.layout, x, step) for half, x in zip(
            (log.cut(0, middle), log.cut(middle, log.count)), found.halves[::-1], strict=True)]
        out.append(Simulated(log, simulate_servos(robot, log, found.layout, found.x, step),
                             np.concatenate(held)))
    return tuple(out)
