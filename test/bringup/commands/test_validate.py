# SPDX-License-Identifier: Apache-2.0
"""``robot-dynamics validate``: models and recordings to a page."""

import json

import numpy as np
import pytest

from robot_dynamics.bringup.cli import main
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.files import MARKS
from robot_dynamics.model.modify import with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot


@pytest.fixture(scope='module')
def work(tmp_path_factory):
    """A wrong description, recordings of two motions, and a model identified from the first."""
    folder = tmp_path_factory.mktemp('validate')
    robot = Robot.from_urdf(resolve_robot('rpr'))
    (folder / 'arm.urdf').write_text(with_scaled_masses(robot, 1.4).to_urdf())
    (folder / 'log.yaml').write_text(
        f'names: {{one: {robot.joint_names[0]}}}\nestimate: {{friction: coulomb, armature: false, '
        'gravity: known, cutoff: 5.0, lag: 0.0, coulomb_width: 0.05, strength: 10.0}\n')
    t, size = np.arange(2400) / 200.0, np.array([0.5, 0.1, 0.4])
    for part, faster in (('first', 1.0), ('second', 1.3)):
        w = 2 * np.pi * faster * np.array([0.3, 0.4, 0.5])
        q, v, a = (size * np.sin(w * t[:, None]), size * w * np.cos(w * t[:, None]),
                   -size * w ** 2 * np.sin(w * t[:, None]))
        np.savez(folder / f'{part}.npz', time=t, position=q, names=['one', *robot.joint_names[1:]],
                 effort=Dynamics(robot).inverse_dynamics(q, v, a) + np.tanh(v / 0.05) + v)
    assert main(['identify', str(folder / 'first.npz'), '--robot', str(folder / 'arm.urdf'),
                 '--config', str(folder / 'log.yaml'), '--output', str(folder / 'today')]) == 0
    return folder


def test_models_side_by_side(work, capsys):
    today, description = str(work / 'today'), str(work / 'arm.urdf')
    output = work / 'out'
    assert main(['validate', today, str(work / 'second.npz'), '--against', description,
                 '--config', str(work / 'log.yaml'), '--output', str(output)]) == 0
    assert {path.name for path in output.iterdir()} == {'report.html', 'result.json', MARKS}
    content = json.loads((output / 'result.json').read_text())
    ours, described = content['models']
    assert (ours['name'], described['name']) == (today, description)
    assert ours['total'] < 0.02 and ours['verdict'] == 'good'
    # It has no friction, and its masses are 1.4 times as large.
    assert described['total'] > 0.3
    assert capsys.readouterr().out.startswith(f'Good: {today} predicts this recording with ')


def test_a_description_alone_and_several_recordings(work, capsys):
    assert main(['validate', str(work / 'arm.urdf'), str(work / 'first.npz'),
                 str(work / 'second.npz'), '--config', str(work / 'log.yaml'),
                 '--output', str(work / 'alone')]) == 0
    assert json.loads((work / 'alone' / 'result.json').read_text())['rows'] == 4800
    assert capsys.readouterr().out.startswith('Not to be used: ')


def test_nothing_is_replaced_that_is_not_ours(work, capsys):
    folder = work / 'mine'
    folder.mkdir()
    (folder / 'report.html').write_text('my own')
    assert main(['validate', str(work / 'arm.urdf'), str(work / 'first.npz'),
                 '--output', str(folder)]) == 1
    assert 'report.html' in capsys.readouterr().err
    assert (folder / 'report.html').read_text() == 'my own'
