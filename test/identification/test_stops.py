# SPDX-License-Identifier: Apache-2.0
"""Joints that lie on their stops: their equations are left out, those of the others stay."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.identification.dataset.dataset import dataset_from_arrays
from robot_dynamics.identification.least_squares import ESTIMATORS
from robot_dynamics.identification.rigid import EstimateSettings, identify
from robot_dynamics.identification.signals import Motion
from robot_dynamics.identification.stops import on_stops, stops_of

PLAIN = EstimateSettings(friction='coulomb', armature=False, gravity='known', cutoff=8.0,
                         lag=0.0, coulomb_width=0.02)
RATE = 100.0


def limited(robot, joint, lower, upper):
    """Return a robot of which one joint has other limits."""
    low, high = robot.limits.lower.copy(), robot.limits.upper.copy()
    low[joint], high[joint] = lower, upper
    return replace(robot, limits=replace(robot.limits, lower=low, upper=high))


def lying(robot, q, v):
    t = np.arange(len(q)) / RATE
    dataset = dataset_from_arrays(robot, t, q, np.ones_like(q))
    return on_stops(robot, dataset, Motion(t, q, v, 0.0 * v, 0.0 * v, RATE), cutoff=10.0)


def test_at_rest_at_a_limit_or_beyond_it(three):
    robot = limited(three.robot, 1, -0.5, 0.5)
    t = np.arange(1000) / RATE
    q = np.stack([np.sin(t), 0.4 * np.sin(t), np.cos(t)], axis=1)
    v = np.stack([np.cos(t), 0.4 * np.cos(t), -np.sin(t)], axis=1)
    assert not np.any(lying(robot, q, v))
    q[300:400, 1], v[300:400, 1] = 0.495, 0.001
    q[700:702, 1] = -0.51
    found = lying(robot, q, v)
    assert not np.any(found[:, [0, 2]])
    # Two hundredths of a second at each side: 2 / cut-off.
    np.testing.assert_array_equal(np.flatnonzero(found[:, 1]),
                                  [*range(280, 420), *range(680, 722)])
    # For a moment only, as at a turning point, it lies on nothing.
    q[320:400, 1] = 0.3
    assert not np.any(lying(robot, q, v)[200:500])


def test_a_limit_that_is_passed_by_far_or_never_near_is_no_stop(three):
    robot = limited(three.robot, 1, -0.5, 0.5)
    t = np.arange(1000) / RATE
    q = np.stack([np.sin(t)] * 3, axis=1)
    lower, upper = stops_of(robot, dataset_from_arrays(robot, t, q, np.ones_like(q)))
    assert np.all(np.isinf(lower)) and np.all(np.isinf(upper))
    assert not np.any(lying(robot, q, 0.0 * q + 1.0))


@pytest.mark.parametrize('joint', [1, 2])
def test_stops_push_and_the_arm_is_identified(three, joint):
    """A stop of 3000 N m/rad that a joint is pressed into by up to 0.04 rad."""
    t, q, v, a = three.motion(seconds=30)
    limit = np.max(np.abs(q[:, joint])) - 0.04
    tau = three.efforts(q, v, a) + 0.02 * np.random.default_rng(0).normal(size=q.shape)
    tau[:, joint] += 3000.0 * np.sign(q[:, joint]) * np.maximum(np.abs(q[:, joint]) - limit, 0.0)
    told, untold = (identify(dataset_from_arrays(robot, t, q, tau), robot, PLAIN)
                    for robot in (limited(three.robot, joint, -limit, limit), three.robot))
    assert told.verdict == 'good' and untold.verdict != 'good'
    assert np.max(told.validation.relative) < 0.01
    np.testing.assert_allclose(told.parameters[f'j{joint + 1}/viscous'], 2.0, rtol=0.02)
    finding, = (one for one in told.findings if 'lies on a stop' in one.message)
    assert finding.subject == f'j{joint + 1}'
    assert not any('lies on a stop' in one.message for one in untold.findings)


@pytest.mark.parametrize('estimator', ['consistent', *ESTIMATORS])
def test_a_joint_that_lies_on_its_stop_all_the_time(three, estimator):
    robot = limited(three.robot, 1, -0.5, 0.5)
    t, q, v, a = three.motion(seconds=15)
    for x, value in ((q, -0.5), (v, 0.0), (a, 0.0)):
        x[:, 1] = value
    tau = three.efforts(q, v, a)
    tau[:, 1] = 0.3
    found = identify(dataset_from_arrays(robot, t, q, tau), robot,
                     replace(PLAIN, estimator=estimator))
    assert found.verdict == 'fair'
    np.testing.assert_allclose(found.validation.relative, 0.0, atol=0.01)
    np.testing.assert_allclose(found.parameters['j3/viscous'], 2.0, rtol=0.02)
