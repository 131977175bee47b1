# SPDX-License-Identifier: Apache-2.0
"""``robot-dynamics identify`` of joints with springs: from a simulated arm to its files."""

import json

import numpy as np
import pytest
import yaml

from robot_dynamics.bringup.cli import main
from robot_dynamics.bringup.system import System, identified_files
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.files import MARKS, write_files
from robot_dynamics.model.modify import with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.simulation.elastic_plant import ElasticPlant

FILES = {'identified.urdf', 'elastic_joints.yaml', 'parameters.yaml', 'result.json',
         'report.html'}
#: Samples a second, Hz, and how long the arm moves, s.
RATE, SECONDS = 500, 8


@pytest.fixture(scope='module')
def robot():
    return ElasticRobot.from_yaml('planar_2r', Robot.from_urdf(resolve_robot('planar_2r')))


@pytest.fixture(scope='module')
def moved(robot):
    """Time, positions of links and motors, and efforts of motors, of a simulated arm."""
    plant, gravity = ElasticPlant(robot, timestep=1e-3), Dynamics(robot.links).gravity_torque
    t = np.arange(RATE * SECONDS) / RATE
    w, size = 2 * np.pi * np.array([[0.3, 0.45], [0.8, 0.95]]), np.array([[0.5, 0.6], [0.2, 0.3]])
    goal = np.sum(size * np.sin(w * t[:, None, None] + [[0.0, 1.0], [2.0, 3.0]]), axis=1)
    plant.reset(goal[0])
    q, tau = np.empty((len(t), 4)), np.empty((len(t), 2))
    for k, (wanted, pull) in enumerate(zip(goal, gravity(goal), strict=True)):
        before = plant.effort
        plant.set_effort(80.0 * (wanted - plant.motor_q) - 6.0 * plant.motor_v + pull)
        q[k] = *plant.q, *plant.motor_q
        # At a step a filter sees the mean of both sides.
        tau[k] = 0.5 * (before + plant.effort)
        plant.advance(steps=1000 // RATE)
    return t, 1e-6 * np.round(q / 1e-6), tau


@pytest.fixture(scope='module')
def work(robot, moved, tmp_path_factory):
    """A folder with a log, and a description that is wrong in masses, motors and springs."""
    folder = tmp_path_factory.mktemp('elastic')
    (folder / 'arm.urdf').write_text(with_scaled_masses(robot.links, 1.3).to_urdf())
    (folder / 'springs.yaml').write_text(
        'every_joint: {gear_ratio: 50, spring_damping: 0.5}\n'
        'joints:\n  joint1: {rotor_inertia: 3.0e-4, stiffness: 2600}\n'
        '  joint2: {rotor_inertia: 2.0e-4, stiffness: 700}\n')
    t, q, tau = moved
    names = [*robot.links.joint_names, *robot.coordinate_names[2:]]
    effort = np.hstack([np.zeros_like(tau), tau])
    np.savez(folder / 'log.npz', time=t, position=q, effort=effort, names=names)
    np.savez(folder / 'links.npz', time=t, position=q[:, :2], effort=tau, names=names[:2])
    np.savez(folder / 'other.npz', time=t, position=q, effort=effort,
             names=[*names[:2], 'drive_1', 'drive_2'])
    np.savez(folder / 'short.npz', time=t[:20], position=q[:20], effort=effort[:20], names=names)
    np.savez(folder / 'nan.npz', time=t, position=np.full_like(q, np.nan), effort=effort,
             names=names)
    np.savez(folder / 'idle.npz', time=t, position=q, effort=0.0 * effort, names=names)
    np.savez(folder / 'still.npz', time=t, position=0.0 * q + 0.3, effort=effort, names=names)
    np.savez(folder / 'shafts.npz', time=t, position=q * [1.0, 1.0, 50.0, 50.0], effort=effort,
             names=names)
    return folder


def identify(work, log, content='', *more):
    (work / 'log.yaml').write_text(f'elastic_joints: springs.yaml\n{content}')
    return main(['identify', str(work / log), '--robot', str(work / 'arm.urdf'), '--config',
                 str(work / 'log.yaml'), '--output', str(work / 'out'), *more])


@pytest.mark.slow
def test_from_a_recording_to_a_controller(work, robot, capsys):
    assert identify(work, 'log.npz') == 0
    out = capsys.readouterr().out
    assert out.startswith('Good: ')
    assert 'identifiable alone: ' in out and 'only together: link2/m, link1/mx, link1/Jzz' in out
    assert 'unidentifiable: link1/m, ' in out and 'less than' not in out
    output = work / 'out'
    assert {path.name for path in output.iterdir()} == {*FILES, MARKS}
    # What a controller reads, as its parameters name it.
    sections = yaml.safe_load((output / 'parameters.yaml').read_text())
    given = {**sections['/**']['ros__parameters'],
            **sections['/**/elastic_pd_controller']['ros__parameters']}
    links = Robot.from_urdf(given['robot_description'].encode(), joints=given['joints'],
                            base_link=given['base_link'])
    found = ElasticRobot.from_yaml(given['elastic_joints'], links)
    np.testing.assert_allclose(found.joints.stiffness, robot.joints.stiffness, rtol=0.01)
    np.testing.assert_allclose(found.joints.rotor_inertia, robot.joints.rotor_inertia, rtol=0.02)
    np.testing.assert_allclose(found.joints.coulomb, robot.joints.coulomb, atol=0.05)
    np.testing.assert_allclose(found.joints.viscous, robot.joints.viscous, atol=0.05)
    np.testing.assert_array_equal(found.joints.spring_damping, [0.5, 0.5])
    np.testing.assert_allclose(found.rotor_axes, robot.rotor_axes, atol=1e-12)
    q = np.random.default_rng(1).uniform(-1.0, 1.0, (20, 2))
    np.testing.assert_allclose(Dynamics(links).gravity_torque(q),
                               Dynamics(robot.links).gravity_torque(q), atol=0.05)
    result = json.loads((output / 'result.json').read_text())
    assert (result['verdict'], result['rank'], result['structural_rank']) == ('good', 14, 14)
    assert result['rows'] == RATE * SECONDS
    assert np.array(result['covariance']).shape == (14, 14)
    assert result['partners']['link2/m'] == ['link1/mx', 'link1/Jzz']
    page = (output / 'report.html').read_text()
    assert page.index('Good: ') < page.index('Springs and motors')
    assert '{{' not in page and 'motor_joint2' in page
    # The simulated arm stays as described; its controller has what was identified.
    processes = {one.node: one for one in System(
        robot='planar_2r', controller='elastic_pd', identified=str(output)).processes()}
    assert processes['elastic_pd_controller'].parameters['elastic_joints'] == \
        str(identified_files(str(output)).parent / 'elastic_joints.yaml')
    assert processes['simulated_arm'].parameters['elastic_joints'].endswith('planar_2r.yaml')


@pytest.mark.parametrize(('log', 'side'), [('links.npz', 'links'), ('log.npz', 'motors')])
def test_one_encoder_a_joint(work, log, side, capsys):
    # A file that another run has left.
    write_files(work / 'out', {'covariance.npz': b'old'})
    assert identify(work, log, f'encoders: {side}\n') == 0
    out = capsys.readouterr().out
    assert f'{side.capitalize()} alone were measured' in out
    assert '  joint1/stiffness: no longer identifiable' in out
    assert 'A stiffness needs encoders on both sides of its spring' in out
    assert 'joint1/rotor_inertia: only together with link2/m' in out
    assert {path.name for path in (work / 'out').iterdir()} == {*FILES, MARKS}
    springs = yaml.safe_load((work / 'out' / 'elastic_joints.yaml').read_text())['joints']
    assert springs['joint1']['stiffness'] == 2600.0
    # That of joint 2 rides on link 1, and is identified all the same.
    assert springs['joint2']['rotor_inertia'] == pytest.approx(1e-4, rel=0.1)
    assert 'in combination' in (work / 'out' / 'report.html').read_text()


@pytest.mark.parametrize(('log', 'content', 'words'), [
    ('links.npz', '', 'has no states of the motors: lacks some of motor_joint1, motor_joint2; '
                      'record the states of the motors'),
    ('other.npz', '', 'lacks some of motor_joint1'),
    ('short.npz', '', 'too short'),
    ('nan.npz', '', 'usable'),
    ('shafts.npz', '', 'motor_joint1 moves 49.6'),
    ('idle.npz', '', 'motor_joint1, motor_joint2 moves, but all its efforts are zero'),
    # The efforts of this log stand beside its motors.
    ('log.npz', 'encoders: links\n', 'joint1, joint2 moves, but all its efforts are zero'),
    ('still.npz', '', 'has no motion'),
    ('log.npz', 'encoders: none\n', 'encoders'),
    ('log.npz', 'estimate: {strength: 3}\n', 'estimate.strength is not a setting'),
    ('log.npz', 'payload: {without: log.npz}\n',
     'payload cannot be identified with elastic joints'),
    ('log.npz', 'output_error: {}\n', 'cannot be combined with output_error')])
def test_what_cannot_be_is_refused_by_name(work, log, content, words, capsys):
    assert identify(work, log, content) == 1
    error = capsys.readouterr().err
    assert words in error and len(error.strip().splitlines()) == 1


def test_springs_that_cannot_be_are_refused(work, capsys):
    assert identify(work, 'log.npz', '', '--live', '3') == 1
    assert 'omit --live' in capsys.readouterr().err
    assert identify(work, 'log.npz', '', '--elastic-joints', 'arm7') == 1
    assert 'joint' in capsys.readouterr().err
    (work / 'log.yaml').write_text('elastic_joints: [1]\n')
    assert main(['identify', str(work / 'log.npz'), '--robot', str(work / 'arm.urdf'),
                 '--config', str(work / 'log.yaml')]) == 1
    assert 'elastic_joints must be a name, got [1]' in capsys.readouterr().err


def test_names_of_motors_can_be_given(work, capsys):
    assert identify(work, 'other.npz', 'names: {drive_1: motor_joint1, drive_2: motor_joint2}\n'
                                       'estimate: {cutoff: 10}\n') == 0
    assert capsys.readouterr().out.startswith('Good: ')


def test_efforts_with_the_wrong_sign_leave_no_model(work, capsys):
    settings = 'effort: {sign: -1}\nestimate: {cutoff: 10}\n'
    assert identify(work, 'log.npz', settings) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith('Not to be used: ')
    assert 'effort has its sign flipped' in captured.out
    assert 'has the impossible estimate -' in captured.err and 'check sign' in captured.err
    assert '--allow-inconsistent' not in captured.err
    assert {path.name for path in (work / 'out').iterdir()} == {'result.json', 'report.html',
                                                                MARKS}
    assert 'No URDF and no parameter file' in (work / 'out' / 'report.html').read_text()
    # A negative rotor is in no file, whatever is allowed.
    assert identify(work, 'log.npz', settings, '--allow-inconsistent') == 1
    assert 'has the impossible estimate -' in capsys.readouterr().err
    assert not (work / 'out' / 'elastic_joints.yaml').exists()
    refused = json.loads((work / 'out' / 'result.json').read_text())['refused']
    assert 'has the impossible estimate' in refused
