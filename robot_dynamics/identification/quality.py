# SPDX-License-Identifier: Apache-2.0
"""Verdict on an identification, and motions needed in a better recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.base_parameters import BaseParameters
from robot_dynamics.errors import Finding, Severity
from robot_dynamics.identification.checks.described_bodies import description_findings
from robot_dynamics.identification.checks.plausibility import effort_steps
from robot_dynamics.identification.consistent import impossible_bodies
from robot_dynamics.identification.dataset.dataset import Dataset
from robot_dynamics.identification.least_squares import LinearFit
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.observation_matrix import Stack
from robot_dynamics.identification.result import FAIR, GOOD, POOR, Missing, Residuals
from robot_dynamics.identification.signals import WIDER, SignalSettings, low_pass, motions_of
from robot_dynamics.model.arrays import FloatArray, IntArray
from robot_dynamics.model.robot import Robot, effort_units, prismatic_joints

#: Relative errors of predictions up to which a model is good, and fair.
GOOD_ERROR, FAIR_ERROR = 0.10, 0.25
#: Error of a joint relative to its reference effort up to which a model is good.
GOOD_SHARE = 0.02
#: Errors up to this multiple of the noise of a reading are those of the reading.
OF_READING = 1.5
#: Factor by which a single joint may be worse.
JOINT = 2.0
#: Largest factor between the errors of predictions and of the fit.
OVERFIT = 2.5
#: Largest condition number of a base with well separated parameters.
CONDITION = 300.0
#: Largest plausible tilt of the base against its description, degrees.
LARGE_TILT = 5.0
#: Base parameters with a larger relative standard deviation are undetermined.
VAGUE = 0.3

_PIECE = 3.0
#: Part outside the row space of the motion below which a parameter is determined.
DETERMINED = 1e-3
# Random states of a motion.
_STATES = 40


def grade(total: float, joints: FloatArray) -> str:
    """Verdict good, fair or poor from the relative errors of all joints and of each joint."""
    error = float(np.max(np.append(joints / JOINT, total)))
    return GOOD if error <= GOOD_ERROR else FAIR if error <= FAIR_ERROR else POOR


def reference_efforts(robot: Robot, dataset: Dataset) -> FloatArray:
    """Efforts that errors are compared with in use, shape (n,), N m or N.

    These are the effort limits, but at most the largest measured range of the joints of that unit:
    limits may be placeholders, and a light joint moves the same arm.
    """
    weakest, strongest = dataset.effort_extremes
    ranges, slides = strongest - weakest, prismatic_joints(robot)
    largest = np.array([np.max(ranges[slides == one]) for one in slides])
    limits = robot.limits.effort
    return np.where((limits > 0.0) & (limits < largest), limits, largest)


def reading_noise(dataset: Dataset, signals: SignalSettings) -> FloatArray:
    """RMS noise of the filtered efforts of each joint, shape (n,), N m or N.

    It is that of white noise as above the frequencies of the motion, and of the steps of a coarse
    reading.
    """
    noise = np.zeros(dataset.n)
    motions = motions_of(dataset, signals)
    for motion in motions:
        fast = motion.effort - low_pass(motion.effort, motion.rate, WIDER * signals.cutoff)
        noise += np.var(fast, axis=0) * 2.0 * signals.cutoff / motion.rate / len(motions)
    return np.sqrt(noise + effort_steps(dataset) ** 2 / 12.0)


def errors_in_use(validation: Residuals, reference: FloatArray, noise: FloatArray) -> FloatArray:
    """Relative errors of the joints for the verdict, shape (n,).

    The error of a light joint is large relative to its efforts, but may be small relative to its
    reference effort, or be that of its reading.
    """
    share = JOINT * GOOD_ERROR / GOOD_SHARE * validation.rmse / np.maximum(reference, 1e-300)
    errors = np.minimum(validation.relative, share)
    return np.where(validation.rmse <= OF_READING * noise, np.minimum(errors, GOOD_ERROR), errors)


def verdict_of(in_sample: Residuals, validation: Residuals, base: BaseParameters,
               structural: BaseParameters, missing: Sequence[Missing], model: Model,
               linear: LinearFit, reference: FloatArray, noise: FloatArray,
               known: Sequence[Finding] = (), still: Sequence[str] = ()
               ) -> tuple[str, tuple[str, ...], tuple[Finding, ...]]:
    """Verdict, its reasons, and findings with remedies.

    ``base`` and ``structural`` are the base parameters of the recording and of the best motion,
    ``missing`` those that the recording does not determine. ``reference`` and ``noise`` are
    `reference_efforts` and `reading_noise`. ``known`` are findings on the recording and on
    friction; an error among them makes the verdict poor. ``still`` are joints at rest.
    """
    reasons = [f'predicts the other half of the recording with {100 * validation.total:.3g} % '
               f'error, its own with {100 * in_sample.total:.3g} %']
    errors = errors_in_use(validation, reference, noise)
    verdict = grade(validation.total, errors)
    reasons += _inexact_joints(validation, errors, reference, noise, model.robot)
    if validation.total > OVERFIT * in_sample.total + 0.01:
        verdict = POOR if verdict == POOR else FAIR
        reasons.append('predicts much worse than it fits: the halves of the recording disagree')
    for one in known:
        if one.severity is Severity.ERROR:
            verdict = POOR
            reasons.append(f'{one.subject}: {one.message}')
    far = description_findings(model)
    if far:
        verdict = POOR if verdict == POOR else FAIR
        reasons += [f'{one.subject} {one.message}' for one in far]
    if still:
        verdict = POOR if verdict == POOR else FAIR
        reasons.append(f'{", ".join(still)} stood still: its friction is unknown, and so is '
                       'gravity except where it stood')
    findings = [*far, *_missing_findings(missing, base, structural, model)]
    if base.condition > CONDITION:
        reasons.append(f'condition number {base.condition:.0f}: the motion hardly separates '
                       'some parameters')
    vague = [name for name, value, sd in zip(base.base_names, linear.x,
                                             np.sqrt(np.diag(linear.covariance)), strict=True)
             if sd > VAGUE * abs(value)]
    if vague:
        findings.append(Finding(Severity.INFO, 'recording',
                                f'{len(vague)} of {base.rank} base parameters have a standard '
                                f'deviation above {100 * VAGUE:.0f} %, such as '
                                + ', '.join(vague[:3]), 'move those links faster or in more ways'))
    broken = impossible_bodies(model.robot.body_names, model.inertial)
    if broken:
        verdict = POOR
        reasons.append('physically inconsistent parameters of ' + ', '.join(broken))
        findings.append(Finding(Severity.WARNING, ', '.join(broken),
                                'has physically inconsistent parameters',
                                "use the estimator 'consistent'"))
    tilt = np.degrees(np.arccos(np.clip(model.gravity @ model.robot.gravity / max(
        float(np.linalg.norm(model.gravity) * np.linalg.norm(model.robot.gravity)), 1e-300),
        -1.0, 1.0))) if np.any(model.robot.gravity) else 0.0
    if tilt > LARGE_TILT:
        findings.append(Finding(Severity.WARNING, 'gravity', f'is {tilt:.1f} deg off the '
                                'description, more than usual for a mounted arm',
                                'measure it; set estimate.gravity: known if it stands upright'))
    wrong = [model.axis_names[f.axis] for f, value in zip(model.features, model.friction,
                                                          strict=True)
             if f.term == 'armature' and value < 0.0]
    if wrong:
        findings.append(Finding(Severity.WARNING, ', '.join(wrong), 'has a negative rotor inertia',
                                'check sign and unit of its efforts'))
    return verdict, tuple(reasons), tuple(findings)


def _inexact_joints(validation: Residuals, errors: FloatArray, reference: FloatArray,
                    noise: FloatArray, robot: Robot) -> Iterator[str]:
    """Sentences on joints with errors that are large relative to their efforts."""
    for j, (name, unit) in enumerate(zip(robot.joint_names, effort_units(robot), strict=True)):
        if validation.relative[j] <= JOINT * GOOD_ERROR:
            continue
        rmse = validation.rmse[j]
        text = (f'{name} misses {rmse:.2g} {unit}, {100 * validation.relative[j]:.0f} % of its '
                f'effort here and {100 * rmse / reference[j]:.2g} % of {reference[j]:.3g} {unit}')
        if rmse <= OF_READING * noise[j]:
            yield f'{text}: the noise of its reading is {noise[j]:.2g} {unit}'
        elif errors[j] <= JOINT * GOOD_ERROR:
            yield f'{text}: too little for the verdict, but its own efforts are not determined'
        else:
            yield f'{text}: do not rely on its efforts'


def _missing_findings(missing: Sequence[Missing], base: BaseParameters, structural: BaseParameters,
             model: Model) -> Iterator[Finding]:
    """Findings on parameters that another motion would determine."""
    if not missing:
        return
    rigid = 10 * model.robot.n_bodies
    determined = int(np.sum(base.independent < rigid))
    possible = int(np.sum(structural.independent < rigid))
    # Ranks may be equal although the combinations differ.
    if determined < possible:
        yield Finding(Severity.WARNING, 'recording',
                      f'determines {determined} of {possible} combinations of inertial '
                      'parameters; the others keep the values of the description')
    for one in missing:
        yield Finding(Severity.WARNING, ', '.join(one.parameters[:3])
                      + (f' and {len(one.parameters) - 3} more' if len(one.parameters) > 3
                         else ''), 'is not determined by the recording', one.motion)


def worst_pieces(stack: Stack, residual: FloatArray, order: IntArray
                 ) -> tuple[tuple[float, float, float], ...]:
    """The three pieces of three seconds with the largest relative errors: start, end (s), error.

    ``residual`` and ``order`` are the errors and their samples, joint by joint.
    """
    effort = np.concatenate([one.y[stack.used[:, j]] for j, one in enumerate(stack.joints)])
    piece = ((stack.time[order] - stack.time[0]) / _PIECE).astype(int)
    errors = np.bincount(piece, residual ** 2)
    squares = np.bincount(piece, effort ** 2)
    relative = np.sqrt(errors / np.maximum(squares, 1e-12 * np.max(squares, initial=1e-300)))
    ranked = [int(k) for k in np.argsort(-relative) if squares[k] > 0.0][:3]
    return tuple((float(stack.time[0] + _PIECE * k), float(stack.time[0] + _PIECE * (k + 1)),
                  float(relative[k])) for k in ranked)


def missing_motion(model: Model, base: BaseParameters, structural: BaseParameters,
                   terms: Sequence[str] = ()) -> tuple[Missing, ...]:
    """Undetermined base parameters, and the simplest motion that would determine them.

    ``base`` and ``structural`` are those of the recording and of the best motion, the latter with
    the joint terms ``terms``.
    """
    dynamics = Dynamics(model.robot.with_gravity(model.gravity))
    names = model.names
    place = {name: k for k, name in enumerate(names)}
    # Terms that are not in the model are not required.
    common = [k for k, name in enumerate(structural.names) if name in place]
    columns = [place[structural.names[k]] for k in common]
    rigid = 10 * model.robot.n_bodies
    everything = _regressor(dynamics, terms, range(model.robot.n))[:, common]
    scale = np.ones(len(names))
    scale[columns] = np.maximum(np.linalg.norm(everything, axis=0), 1e-12)
    wanted = np.zeros((structural.rank, len(names)))
    wanted[:, columns] = structural.matrix[:, common]
    wanted = _unit(wanted / scale)
    determined = _span(base.matrix / scale)
    left = [k for k in range(structural.rank) if structural.independent[k] < rigid
            and _left(wanted[k], determined) > DETERMINED]
    out = []
    for words, moving in _motions(model.robot.joint_names):
        if not left:
            break
        W = np.zeros((_STATES * model.robot.n, len(names)))
        W[:, columns] = _regressor(dynamics, terms, moving)[:, common]
        both = _span(np.concatenate([determined, _unit(W / scale)]))
        found = [k for k in left if _left(wanted[k], both) <= DETERMINED]
        if found:
            out.append(Missing(tuple(structural.base_names[k] for k in found), words))
            left = [k for k in left if k not in found]
    return tuple(out)


def _motions(joints: Sequence[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield descriptions of simple motions, and the joints that move in them."""
    yield 'hold the arm still in many different poses', ()
    for j, name in enumerate(joints):
        yield f'swing {name} to and fro with changing speed, the others in several poses', (j,)
    for i, j in combinations(range(len(joints)), 2):
        yield f'swing {joints[i]} and {joints[j]} at the same time', (i, j)
    yield 'swing all joints at the same time, fast', tuple(range(len(joints)))


def _regressor(dynamics: Dynamics, terms: Sequence[str], moving: Sequence[int]) -> FloatArray:
    """Stacked regressors of random states in which some joints move."""
    random, n = np.random.default_rng(0), dynamics.robot.n
    q = random.uniform(-np.pi, np.pi, (_STATES, n))
    v, a = np.zeros((_STATES, n)), np.zeros((_STATES, n))
    moving = list(moving)
    v[:, moving] = random.uniform(-2.0, 2.0, (_STATES, len(moving)))
    a[:, moving] = random.uniform(-4.0, 4.0, (_STATES, len(moving)))
    W = dynamics.regressor(q, v, a, terms)
    return W.reshape(-1, W.shape[-1])


def _unit(rows: FloatArray) -> FloatArray:
    """Rows scaled to unit length; zero rows stay zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0.0, lengths, 1.0)


def _span(rows: FloatArray) -> FloatArray:
    """Orthonormal basis of the row space."""
    if not len(rows):
        return rows
    _, sizes, basis = np.linalg.svd(_unit(rows), full_matrices=False)
    return basis[sizes > 1e-8 * max(float(sizes[0]), 1e-300)]


def _left(row: FloatArray, basis: FloatArray) -> float:
    """Length of the part of a row outside a span."""
    return float(np.linalg.norm(row - (row @ basis.T) @ basis))
