# SPDX-License-Identifier: Apache-2.0
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.identification.servo.log import arrays_log
from robot_dynamics.identification.servo.model import Layout
from robot_dynamics.identification.servo.output_error import (
    OutputError,
    simulate_servos,
    simulated,
    verdict_of_drives,
)
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.report.drives import (
    SAMPLES,
    curves,
    drives_page,
    drives_sentence,
    drives_text,
    unit_of,
)

STEP = 2e-3


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(resolve_robot('rpr'))


@pytest.fixture(scope='module')
def result(robot):
    """Drives that the second halves tell badly, of an arm with a joint that slides."""
    names = ('gain', 'armature', 'viscous')
    layout = Layout(robot.joint_names, names, {'back_emf': np.full(3, 1.0)})
    x = np.tile([60.0, 0.5, 2.0], 3)
    t = np.arange(2000) / 500.0
    goal = np.stack([0.3 * np.sin(3.0 * t), 0.05 * np.sin(2.0 * t), 0.3 * np.cos(2.0 * t)],
                    axis=1)
    log = arrays_log(t, np.zeros_like(goal), goal, np.tile([8.0, 0.0, 1e3], (3, 1)),
                     velocity=np.zeros(3), name='run <1>.csv')
    q = simulate_servos(robot, log, layout, x, STEP)
    log = arrays_log(t, q, goal, log.law, velocity=np.zeros(3), name='run <1>.csv')
    deviations = 0.01 * x
    deviations[1] = np.nan
    found = OutputError(layout, x, deviations, np.array([0.001, 0.0002, 0.001]),
                        np.array([0.02, 0.001, 0.02]), (0.1, 0.2), (), (x, 1.3 * x))
    return found, verdict_of_drives(found, [log]), simulated(robot, found, [log], STEP)


def test_the_verdict_counts_what_was_not_seen(result):
    found, judged, runs = result
    motion = np.mean(np.abs(runs[0].log.position - runs[0].log.position.mean(axis=0)), axis=0)
    assert judged.validation == pytest.approx(np.mean(found.validation / motion))
    assert judged.in_sample == pytest.approx(np.mean(found.mean_error / motion))
    # Far worse than what was fitted.
    assert judged.verdict == 'fair'
    assert len(judged.reasons) == 2
    name, share = judged.worst
    assert name == 'joint3' and share == pytest.approx(np.max(found.validation / motion))
    assert f'worst of all {name}' in drives_sentence(judged)


def test_one_servo_that_is_far_off_is_no_good_drive(result):
    found, _, runs = result
    motion = np.mean(np.abs(runs[0].log.position - runs[0].log.position.mean(axis=0)), axis=0)
    off = replace(found, mean_error=np.array([0.01, 0.25, 0.01]) * motion,
                  validation=np.array([0.01, 0.25, 0.01]) * motion)
    judged = verdict_of_drives(off, [runs[0].log])
    assert judged.validation < 0.1 and judged.verdict == 'fair'
    assert 'joint2 by itself is 25 % of its motion off' in judged.reasons[1]
    lost = verdict_of_drives(replace(off, validation=np.array([1.0, np.nan, 1.0])), [runs[0].log])
    assert lost.verdict == 'poor' and lost.worst[0] == 'joint2'
    assert drives_sentence(lost)


def test_halves_are_simulated_with_what_the_others_tell(result):
    _, _, (run,) = result
    middle = run.log.count // 2
    np.testing.assert_allclose(run.fitted, run.log.position, atol=1e-12)
    assert np.max(np.abs((run.held - run.log.position)[:middle])) > 1e-4
    # The first halves tell the truth; the second begins with a velocity out of positions.
    assert np.max(np.abs((run.held - run.log.position)[middle:])) < 0.01


def test_the_page_is_whole_and_needs_nothing_else(outline_of, robot, result):
    page = drives_page(*result, robot)
    outline = outline_of(page)
    assert outline.open == []
    assert outline.loads == []
    assert '{{' not in page
    assert '<1>' not in page
    for name in re.findall(r"byId\('([a-z-]+)'\)", page):
        assert name in outline.ids, name
    text = ' '.join(outline.text)
    assert text.index(drives_sentence(result[1])) < text.index('What was identified')
    for label in result[0].layout.labels:
        assert label in text
    assert 'at its bound' in text
    data = json.loads(re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
    assert [one['unit'] for one in data] == ['rad', 'm', 'rad']


def test_curves_are_thinned_and_goals_stay_in_sight(robot, result):
    run = result[2][0]
    goal = run.log.goal.copy()
    goal[0] = 1e6
    run = replace(run, log=replace(run.log, goal=goal))
    for j, one in enumerate(curves([run], robot)):
        assert len(one['time']) == len(one['measured']) == len(one['held']) <= SAMPLES
        assert max(one['goal']) <= 2.0 * np.ptp(run.log.position[:, j]) + np.max(
            run.log.position[:, j])
        assert one['error'][5] == pytest.approx(one['measured'][5] - one['simulated'][5],
                                                abs=1e-4)


def test_what_a_terminal_says(robot, result):
    lines = drives_text(*result[:2], robot).splitlines()
    assert lines[0].startswith('Usable with care: ')
    sliding = robot.joint_names[1]
    assert any(line.startswith(f'  {sliding}') and line.endswith(' m') for line in lines)
    assert unit_of(f'{sliding}/gain', robot) == 'N/V'
    assert unit_of(f'{robot.joint_names[0]}/armature', robot) == 'kg m^2'
