# SPDX-License-Identifier: Apache-2.0
"""What is held near a limit by motors obeys the model, and is used."""

from dataclasses import replace

import numpy as np

from robot_dynamics.identification.dataset.dataset import dataset_from_arrays
from robot_dynamics.identification.friction import FAMILIES
from robot_dynamics.identification.observation_matrix import Stack
from robot_dynamics.identification.rigid import take_back
from robot_dynamics.identification.signals import SignalSettings


def held(three, push):
    """Equations of an arm that rests at its upper limit for a third of the time, pressed on."""
    limit = 0.6
    t, q, v, a = three.motion(seconds=24)
    q[:, 1] = 0.45 * np.sin(1.3 * t) + 0.1 * np.sin(3.1 * t)
    # It comes to rest there smoothly, and leaves it so.
    share = np.clip(np.minimum(t - 8.0, 16.0 - t) / 1.5 + 0.5, 0.0, 1.0)
    share = share ** 3 * (10.0 - 15.0 * share + 6.0 * share ** 2)
    q[:, 1] += share * (limit - q[:, 1])
    v[:, 1] = np.gradient(q[:, 1], t)
    a[:, 1] = np.gradient(v[:, 1], t)
    tau = three.efforts(q, v, a) + 0.02 * np.random.default_rng(0).normal(size=q.shape)
    tau[:, 1] += push * (share > 0.99)
    upper = three.robot.limits.upper.copy()
    upper[1] = limit
    robot = replace(three.robot, limits=replace(three.robot.limits, upper=upper))
    stack = Stack(robot, dataset_from_arrays(robot, t, q, tau), SignalSettings(5.0),
                  FAMILIES['coulomb'], coulomb_width=0.02)
    before = np.count_nonzero(stack.on_stops, axis=0)
    take_back(stack, (), FAMILIES)
    return stack, before


def test_what_motors_hold_is_used(three):
    stack, before = held(three, 0.0)
    assert before[1] > 50 and before[0] == before[2] == 0
    assert np.all(stack.used) and not np.any(stack.on_stops)


def test_what_a_stop_holds_is_not(three):
    stack, before = held(three, 15.0)
    assert np.count_nonzero(stack.on_stops[:, 1]) == before[1]
    assert not np.any(stack.used & stack.on_stops)


def test_speeds_that_are_too_slow_stay_out(three):
    stack, _ = held(three, 0.0)
    slow = Stack(stack.robot, stack.dataset, stack.settings, stack.terms, coulomb_width=0.02,
                 velocity_threshold=0.05)
    take_back(slow, (), FAMILIES)
    assert not np.any(slow.on_stops)
    np.testing.assert_array_equal(slow.used, np.abs(slow.speeds_of_rows()) >= 0.05)
