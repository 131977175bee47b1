# SPDX-License-Identifier: Apache-2.0
"""``robot-dynamics identify`` with servos: from tables of commands and positions to files."""

import json

import numpy as np
import pytest
import yaml

from robot_dynamics.bringup.cli import main
from robot_dynamics.files import MARKS, write_files
from robot_dynamics.identification.servo.log import arrays_log
from robot_dynamics.identification.servo.model import Layout
from robot_dynamics.identification.servo.output_error import simulate_servos
from robot_dynamics.model.robot import Robot

PENDULUM = """<robot name="p"><link name="base"/><link name="l"><inertial>
<origin xyz="0 0 -0.1"/><mass value="0.5"/><inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0"
ixz="0" iyz="0"/></inertial></link><joint name="j" type="continuous"><parent link="base"/>
<child link="l"/><axis xyz="0 1 0"/></joint></robot>"""
TRUE = {'gain': 0.1, 'back_emf': 0.03, 'armature': 0.002, 'viscous': 0.004, 'coulomb': 0.01}
CONFIG = """
robot: pendulum.urdf
output_error:
  logs: [{source: runs/slow.csv, proportional: 0.6}, {source: runs/fast.csv, proportional: 1.2}]
  keys: {time: t, position: q, goal: wanted}
  servo: {supply: 7.4, limit: 1}
  friction: coulomb
  known: {offset: 0, back_emf: 0.03}
  step: 0.005
  starts: 1
"""
#: Of the simulation that is taken for the truth, as of the search.
STEP = 5e-3


@pytest.fixture(scope='module')
def work(tmp_path_factory):
    """A folder with a description, two logs and a YAML."""
    folder = tmp_path_factory.mktemp('drives')
    (folder / 'runs').mkdir()
    (folder / 'pendulum.urdf').write_text(PENDULUM)
    (folder / 'servo.yaml').write_text(CONFIG)
    robot = Robot.from_urdf(PENDULUM)
    layout = Layout(robot.joint_names, tuple(TRUE), {k: np.array([v]) for k, v in TRUE.items()})
    t = np.arange(300) / 100.0
    for name, proportional, w in (('slow', 0.6, 3.0), ('fast', 1.2, 11.0)):
        goal = 0.8 * np.sin(w * t)[:, None] + 0.4 * np.sin(0.7 * w * t + 1.0)[:, None]
        log = arrays_log(t, np.zeros_like(goal), goal, np.array([[proportional, 0.0, 1.0]]),
                         supply=7.4, velocity=np.zeros(1))
        q = simulate_servos(robot, log, layout, np.zeros(0), STEP)
        np.savetxt(folder / 'runs' / f'{name}.csv', np.column_stack([t, q, goal]),
                   delimiter=',', comments='', header='t,q,wanted')
    return folder


@pytest.mark.slow
def test_a_yaml_with_servos_is_enough(work, capsys):
    output = work / 'out'
    write_files(output, {'covariance.npz': b'of an earlier run'})
    assert main(['identify', '--config', str(work / 'servo.yaml'), '--output',
                 str(output)]) == 0
    assert {path.name for path in output.iterdir()} == {'identified.urdf', 'parameters.yaml',
                                                        'result.json', 'report.html', MARKS}
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith('Good: simulated from commands alone')
    assert any(line.split()[:1] == ['j/gain'] for line in said)
    assert said[-1].startswith(str(output / 'report.html'))
    content = json.loads((output / 'result.json').read_text())
    assert content['verdict'] == 'good'
    assert content['rows'] == 600
    assert content['known'] == {'back_emf': [0.03], 'offset': [0.0]}
    assert content['parameters']['j/gain'] == pytest.approx(0.1, rel=0.01)
    robot = Robot.from_urdf(output / 'identified.urdf')
    assert robot.armature[0] == pytest.approx(content['parameters']['j/armature'])
    assert robot.armature[0] == pytest.approx(0.002, rel=0.05)
    assert robot.damping[0] == pytest.approx(content['parameters']['j/viscous'])
    assert robot.friction[0] == pytest.approx(content['parameters']['j/coulomb'])
    given = yaml.safe_load((output / 'parameters.yaml').read_text())['/**']['ros__parameters']
    assert Robot.from_urdf(given['robot_description'].encode()).joint_names == ('j',)
    page = (output / 'report.html').read_text()
    assert 'slow' in page and 'fast' in page and 'j/gain' in page


def test_a_log_that_is_given_has_the_servo_of_its_name(work, tmp_path):
    """The same file elsewhere: its gain is the one that the section names beside it."""
    moved = tmp_path / 'fast.csv'
    moved.write_bytes((work / 'runs' / 'fast.csv').read_bytes())
    assert main(['identify', str(moved), '--config', str(work / 'servo.yaml'), '--output',
                 str(tmp_path / 'out')]) == 0
    content = json.loads((tmp_path / 'out' / 'result.json').read_text())
    assert content['sources'] == [str(moved)]
    assert content['rows'] == 300
    assert content['parameters']['j/gain'] == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize(('section', 'word'), [
    ('3', 'must be a mapping'), ('{}', 'logs'), ('{logs: 3}', 'logs'), ('{logs: [3]}', 'logs'),
    ('{logs: [{source: none.csv, proportional: 1}]}', 'none.csv'),
    ('{colour: 1}', r'output_error.colour'), ('{friction: sand}', 'friction')])
def test_wrong_sections(work, tmp_path, capsys, section, word):
    path = tmp_path / 'servo.yaml'
    path.write_text(f'output_error: {section}\n')
    assert main(['identify', '--robot', str(work / 'pendulum.urdf'), '--config', str(path),
                 '--output', str(tmp_path / 'out')]) == 1
    assert word in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()


def test_a_log_without_a_source_is_not_passed_over(work, tmp_path, capsys):
    content = yaml.safe_load(CONFIG)
    content['output_error']['logs'].append({'sorce': 'runs/third.csv', 'proportional': 1.0})
    (work / 'misspelt.yaml').write_text(yaml.safe_dump(content))
    assert main(['identify', '--config', str(work / 'misspelt.yaml'), '--output',
                 str(tmp_path / 'out')]) == 1
    assert 'give each a source' in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()
