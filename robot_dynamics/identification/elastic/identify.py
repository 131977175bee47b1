# SPDX-License-Identifier: Apache-2.0
"""``identify_elastic``: from a log of links and motors to an `ElasticIdentification`."""

from __future__ import annotations

import numpy as np

from robot_dynamics.dynamics.base_parameters import BaseParameters, base_parameters
from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.elastic.friction import StribeckFriction
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import Finding, RecordingError, Severity
from robot_dynamics.identification.checks.described_efforts import EXPLAINED, scale_findings
from robot_dynamics.identification.checks.plausibility import driving_finding
from robot_dynamics.identification.elastic.dataset import ElasticDataset
from robot_dynamics.identification.elastic.encoders import (
    Encoders,
    losses,
    measured_base_parameters,
    require_fit,
)
from robot_dynamics.identification.elastic.problem import (
    ElasticEstimateSettings,
    ElasticStack,
    Problem,
    StribeckSpeeds,
)
from robot_dynamics.identification.elastic.result import ElasticIdentification
from robot_dynamics.identification.least_squares import LinearFit
from robot_dynamics.identification.quality import CONDITION, grade
from robot_dynamics.identification.result import POOR, Residuals
from robot_dynamics.identification.rigid import RECORDED_TOLERANCE, require_motion
from robot_dynamics.identification.signals import (
    OF_RATE,
    WIDER,
    SignalSettings,
    cutoff_of,
    evenly,
    low_pass,
)

#: Largest ratio of prediction errors with richer friction to those without. The richer terms are
#: nearly collinear if speeds vary little, and sensitive to noise.
GAIN = 0.5
#: Friction counts as driving a motor if its power is below this fraction of effort times speed,
#: and below this number of standard deviations.
DRIVES, SEEN_POWER = 0.01, 3.0
#: Candidate cut-offs as multiples of that of the spectrum of the positions.
CUTOFFS = (1.0, 2.0, 4.0, 8.0)
#: Least ratio of a deflection to its noise.
SEEN = 3.0


def identify_elastic(data: ElasticDataset, robot: ElasticRobot,
                     settings: ElasticEstimateSettings | None = None) -> ElasticIdentification:
    """Identify a robot with elastic joints.

    Parameters
    ----------
    data : ElasticDataset
        A log of its links and motors.
    robot : ElasticRobot
        Its description, with correct kinematics, gear ratios and rotor axes.
    settings : ElasticEstimateSettings, optional
        Settings of the estimate.

    Returns
    -------
    ElasticIdentification
        Base parameters with standard deviations, classes of parameters, and losses by missing
        encoders.

    See Also
    --------
    load_elastic_dataset, identify

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.elastic.dynamics import ElasticDynamics
    >>> from robot_dynamics.elastic.robot import ElasticJoints, ElasticRobot
    >>> from robot_dynamics.identification import (ElasticEstimateSettings,
    ...                                            elastic_dataset_from_arrays, identify_elastic)
    >>> robot = ElasticRobot(Robot.from_urdf('urdf/planar_2r.urdf'),
    ...                      ElasticJoints([50.0, 50.0], [1e-4, 1e-4], [500.0, 500.0]))
    >>> t, w = np.arange(0.0, 20.0, 0.01)[:, None], np.array([1.0, 1.7, 1.3, 2.1])
    >>> y, v, a = np.sin(w * t), w * np.cos(w * t), -w**2 * np.sin(w * t)
    >>> tau = ElasticDynamics(robot).regressor(y, v, a) @ robot.parameters('paper')
    >>> data = elastic_dataset_from_arrays(robot, t[:, 0], tau[:, 2:], q=y[:, :2],
    ...                                    theta=y[:, 2:], link_effort=tau[:, :2])
    >>> settings = ElasticEstimateSettings(cutoff=8.0, springs='all')
    >>> found = identify_elastic(data, robot, settings)
    >>> found.verdict, found.base.rank == found.structural.rank
    ('good', True)
    """
    settings = ElasticEstimateSettings() if settings is None else settings
    require_fit(data.encoders, robot)
    if data.dataset.joint_names != data.encoders.names(robot):
        raise RecordingError('must have the joints of the robot, got: '
                             + ', '.join(data.dataset.joint_names), subject=data.source,
                             remedy='load it with this robot')
    # Efforts act on motors, and on links without a measured motor.
    require_motion(data.dataset, tuple(
        robot.coordinate_names[k] for k in data.encoders.measured
        if k >= robot.n or not data.encoders.motors[k]))
    dynamics, order = ElasticDynamics(robot), settings.parameters
    data, stiff = _with_seen_springs(data, robot, settings)
    whole = measured_base_parameters(dynamics, Encoders.both(robot.n), order)
    structural = measured_base_parameters(dynamics, data.encoders, order)
    stacks = _stacks(dynamics, data, settings)
    base = _recorded(stacks[0], structural)
    problems = [Problem(dynamics, stack, base, settings) for stack in stacks]
    problem, fit, speeds, in_sample, validation = _solved(problems, settings.friction)
    friction, friction_deviations = problem.friction(fit, speeds)
    verdict, findings = _verdict(base, structural, validation, problem.condition(fit), fit)
    errors = (*_effort_findings(problem), *_driving_motors(problem, fit, friction))
    if errors:
        verdict, findings = POOR, (*errors, *findings)
    r = base.rank
    return ElasticIdentification(
        robot, data.encoders, order, base, fit.x[:r], fit.covariance[:r, :r], structural,
        losses(whole, structural), friction, friction_deviations, settings.estimator, in_sample,
        validation, problem.stack.settings, problem.condition(fit), verdict,
        data.dataset.findings + stiff + findings, problem.curves(fit, speeds))


def _with_seen_springs(data: ElasticDataset, robot: ElasticRobot,
                       settings: ElasticEstimateSettings
                       ) -> tuple[ElasticDataset, tuple[Finding, ...]]:
    """Log in which springs without resolvable deflection are rigid, and warnings about these."""
    if settings.springs == 'all':
        return data, ()
    cutoff = cutoff_of(data.dataset) if settings.cutoff is None else settings.cutoff
    joints = unseen_springs(data, cutoff)
    if not joints:
        return data, ()
    return data.with_rigid(joints), tuple(Finding(
        Severity.WARNING, robot.links.joint_names[joint], 'has a spring deflection below the '
        'resolution of its encoders, and is taken as rigid',
        'load the joint more, or use finer encoders') for joint in joints)


def _stacks(dynamics: ElasticDynamics, data: ElasticDataset, settings: ElasticEstimateSettings
            ) -> list[ElasticStack]:
    """Equations with the given cut-off, or with all candidates."""
    measured = data.dataset.velocity_source == 'measured' and data.dataset.has_velocity
    first = cutoff_of(data.dataset)
    tried = [settings.cutoff] if settings.cutoff is not None else sorted(
        {min(share * first, OF_RATE / data.dataset.period) for share in CUTOFFS})
    stacks: list[ElasticStack] = []
    for cutoff in tried:
        signals = SignalSettings(cutoff, settings.order, settings.derivative,
                                 'measured' if measured else 'position', lag=settings.lag)
        try:
            stacks.append(ElasticStack(dynamics, data, signals, settings.parameters,
                                       velocity_threshold=settings.velocity_threshold))
        except RecordingError:
            # Too few rows at a low cut-off; a higher one may have enough.
            if cutoff == tried[-1] and not stacks:
                raise
    return stacks


def _solved(problems: list[Problem], friction: str
            ) -> tuple[Problem, LinearFit, StribeckSpeeds | None, Residuals, Residuals]:
    """Problem with the best cut-off and friction, its solution and its residuals."""
    found = []
    for kind in ('coulomb', 'stribeck') if friction == 'auto' else (friction,):
        solved = [(problem, *problem.solve(kind)) for problem in problems if problem.is_enough]
        if not solved:
            raise RecordingError('is too short for its parameters',
                                 subject=problems[0].stack.data.source,
                                 remedy='record longer, or give a higher cutoff')
        best = min(solved, key=lambda one: one[0].volume(one[1]))
        found.append((*best, *best[0].residuals(*best[1:])))
    plain, rich = found[0], found[-1]
    return rich if rich[4].total < GAIN * plain[4].total else plain


def _recorded(stack: ElasticStack, structural: BaseParameters) -> BaseParameters:
    """Base parameters of a recording: the structural ones, or fewer."""
    R = np.linalg.qr(stack.equations(stack.W).W, mode='r')
    recorded = base_parameters(R, structural.names, method='gauss_jordan',
                               tolerance=RECORDED_TOLERANCE)
    # The structural base is free of rounding and noise.
    return structural if recorded.rank >= structural.rank else recorded


def _effort_findings(problem: Problem) -> list[Finding]:
    """Errors for efforts of another unit or sign than the described bodies require.

    All parameters scale with the efforts. The sum of the equations of a link and its motor does
    not contain the spring, so that it can be compared with the bodies.
    """
    stack, scales = problem.stack, {}
    described = stack.W @ problem.described
    place = {coordinate: k for k, coordinate in enumerate(stack.data.encoders.measured)}
    for joint, motor in enumerate(stack.friction_rows):
        rows = [place[k] for k in (joint, joint + stack.n) if k in place]
        used = np.all(stack.used[:, rows], axis=1)
        wanted, measured = (x[used][:, rows].sum(axis=1) for x in (described, stack.y))
        square = float(wanted @ wanted)
        if square == 0.0 or not np.any(measured):
            continue
        scale = float(wanted @ measured) / square
        if 1.0 - float(np.sum((measured - scale * wanted) ** 2)
                       / (measured @ measured)) >= EXPLAINED:
            scales[stack.data.dataset.joint_names[motor]] = scale
    return [one for name, scale in scales.items()
            for one in scale_findings({name: scale}, common=False)]


def _driving_motors(problem: Problem, fit: LinearFit, friction: StribeckFriction | None
                    ) -> list[Finding]:
    """Errors for motors that their friction drives instead of braking them."""
    stack, out = problem.stack, []
    speeds = np.concatenate([motion.v[:, stack.friction_rows] for motion in stack.motions])
    for joint, motor in enumerate(stack.friction_rows):
        v = speeds[:, joint]
        size = float(np.sqrt(np.mean(v**2) * np.mean(stack.y[:, motor] ** 2)))
        if friction is not None:
            power, deviation = float(np.mean(friction.torque(speeds)[:, joint] * v)), 0.0
        else:
            effects = {'coulomb': float(np.mean(np.abs(v))), 'viscous': float(np.mean(v**2))}
            power, deviation = problem.power_of(fit, joint, effects)
        if power < -max(DRIVES * size, SEEN_POWER * deviation):
            out.append(driving_finding(stack.data.dataset.joint_names[motor]))
    return out


def _verdict(base: BaseParameters, structural: BaseParameters, validation: Residuals,
            condition: float, fit: LinearFit) -> tuple[str, tuple[Finding, ...]]:
    """Verdict, and findings with remedies."""
    findings = []
    verdict = grade(validation.total, validation.relative)
    if base.rank < structural.rank:
        findings.append(Finding(
            Severity.WARNING, 'recording', f'determines {base.rank} of {structural.rank} base '
            'parameters', 'move every joint, several at a time, with changing speed'))
    if condition > CONDITION:
        findings.append(Finding(
            Severity.INFO, 'recording', f'has a condition number of {condition:.0f}: the motion '
            'hardly separates some parameters', 'move faster, in more ways'))
    for name, value, sd in zip(base.base_names, fit.x, np.sqrt(np.diag(fit.covariance)),
                               strict=False):
        # A combination may have either sign.
        if ' ' not in name and name.endswith(('/stiffness', '/rotor_inertia')) \
                and value < 2.0 * sd:
            verdict = POOR if value < 0.0 else verdict
            findings.append(Finding(
                Severity.WARNING, name, f'is {value:.3g} +- {sd:.2g}', 'record more motion under '
                'load, or with finer encoders; check sign and unit of the efforts'))
    return verdict, tuple(findings)


def unseen_springs(data: ElasticDataset, cutoff: float) -> tuple[int, ...]:
    """Joints with both encoders and a spring deflection below their resolution.

    The estimated stiffness of such a spring would be near zero with a small deviation, as its
    column contains only noise. The noise of q - theta below the cut-off of the motion, Hz, is
    estimated from a band of equal width above the cut-off.
    """
    encoders, dataset = data.encoders, data.dataset
    rate = 1.0 / dataset.period
    beyond = WIDER * cutoff
    if beyond >= 0.25 * rate:
        return ()
    measured = encoders.measured.tolist()
    out = []
    for joint in range(encoders.n):
        if not (encoders.links[joint] and encoders.motors[joint]):
            continue
        link, motor = measured.index(joint), measured.index(joint + encoders.n)
        seen = noise = count = 0.0
        for one in dataset.segments:
            position = evenly(one.time, one.position[:, [link, motor]], dataset.period)
            across = position[:, :1] - position[:, 1:]
            seen += float(np.sum((low_pass(across, rate, cutoff) - across.mean()) ** 2))
            noise += float(np.sum((across - low_pass(across, rate, beyond)) ** 2))
            count += len(across)
        share = cutoff / (0.5 * rate - beyond)
        if seen < SEEN**2 * noise * share:
            out.append(joint)
    return tuple(out)
