# SPDX-License-Identifier: Apache-2.0
"""The best blocks of a long recording that mostly repeats itself."""

import numpy as np
import pytest

from robot_dynamics.errors import ParameterError
from robot_dynamics.identification import blocks
from robot_dynamics.identification.blocks import best_blocks
from robot_dynamics.identification.dataset.dataset import dataset_from_arrays
from robot_dynamics.identification.rigid import EstimateSettings, identify

RATE = 100.0


@pytest.fixture(scope='module')
def production(three):
    """Return ten minutes of one slow motion of joint 3, and 40 s of an exciting motion."""
    t = np.arange(60_000) / RATE
    _, q, v, a = (x[:len(t)] for x in three.motion(seconds=600.0, rate=RATE))
    size = np.zeros((len(t), 1))
    size[30_000:34_000] = 1.0
    slow = 0.3 * np.sin(2.0 * np.pi * 0.1 * t)[:, np.newaxis] * np.array([0.0, 0.0, 1.0])
    speed = 0.3 * 0.2 * np.pi * np.cos(2.0 * np.pi * 0.1 * t)[:, np.newaxis] * [0.0, 0.0, 1.0]
    bend = -(0.2 * np.pi) ** 2 * slow
    parts = [np.where(size > 0.0, x, y) for x, y in ((q, slow), (v, speed), (a, bend))]
    tau = three.efforts(*parts) + 0.02 * np.random.default_rng(0).normal(size=q.shape)
    # The exciting part is a recording of its own: no jumps at its ends.
    time = t + 100.0 * (t >= 300.0) + 100.0 * (t >= 340.0)
    return dataset_from_arrays(three.robot, time, parts[0], tau)


def test_the_exciting_part_is_chosen_and_the_condition_kept(three, production, monkeypatch):
    monkeypatch.setattr(blocks, 'SHORTEST', 60.0)
    chosen, choice = best_blocks(production, three.robot)
    assert chosen.duration < 0.2 * production.duration
    exciting = production.segments[1]
    assert sum(np.isin(exciting.time, one.time).sum() for one in chosen.segments) == len(
        exciting.time)
    words = choice.reason.replace(',', '').split()
    assert float(words[2]) <= blocks.KEPT_CONDITION * float(words[-1])


def test_blocks_by_an_option_of_identify(three, production):
    given = dict(friction='coulomb', armature=False, gravity='known', cutoff=6.0, lag=0.0)
    found = identify(production, three.robot, EstimateSettings(**given, blocks='best'))
    assert found.choices[0].what == 'blocks'
    whole = identify(production, three.robot, EstimateSettings(**given))
    for term, true in (('viscous', 2.0), ('coulomb', 1.0)):
        for one in (found, whole):
            np.testing.assert_allclose(list(one.friction(term).values()), true, rtol=0.1)
    with pytest.raises(ParameterError, match='blocks must be one of all, best'):
        EstimateSettings(blocks='some')
