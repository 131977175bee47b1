# SPDX-License-Identifier: Apache-2.0
"""``robot-dynamics identify``: from files to files."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from robot_dynamics.bringup.cli import main
from robot_dynamics.bringup.system import System
from robot_dynamics.control.feedback.loaded_model import Payload
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import BringupError
from robot_dynamics.files import MARKS, write_files
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

FILES = {'identified.urdf', 'parameters.yaml', 'covariance.npz', 'result.json', 'report.html'}


@pytest.fixture(scope='module')
def work(tmp_path_factory):
    """A folder with a description that is wrong, two recordings and a YAML."""
    folder = tmp_path_factory.mktemp('identify')
    robot = Robot.from_urdf(resolve_robot('rpr'))
    (folder / 'arm.urdf').write_text(with_scaled_masses(robot, 1.4).to_urdf())
    (folder / 'log.yaml').write_text(
        'names: {one: joint1}\nestimate: {friction: coulomb, armature: false, gravity: known, '
        'cutoff: 5.0, lag: 0.0, coulomb_width: 0.05, strength: 10.0}\n'
        .replace('joint1', robot.joint_names[0]))
    names = ['one', *robot.joint_names[1:]]
    random = np.random.default_rng(0)
    t = np.arange(2400) / 200.0
    for part in (1, 2):
        w = 2 * np.pi * np.array([0.3, 0.4, 0.5]) * (1.0 + 0.1 * part)
        size = np.array([0.5, 0.1, 0.4])
        q, v, a = (size * np.sin(w * t[:, None]), size * w * np.cos(w * t[:, None]),
                   -size * w ** 2 * np.sin(w * t[:, None]))
        tau = Dynamics(robot).inverse_dynamics(q, v, a) + np.tanh(v / 0.05) + v
        tau = tau + 0.02 * random.normal(size=tau.shape)
        np.savez(folder / f'{part}.npz', time=t, position=q, effort=tau, names=names)
    return folder


@pytest.fixture(scope='module')
def done(work):
    output = work / 'out'
    assert main(['identify', str(work / '1.npz'), str(work / '2.npz'), '--robot',
                 str(work / 'arm.urdf'), '--config', str(work / 'log.yaml'), '--output',
                 str(output)]) == 0
    return output


@pytest.mark.slow
def test_files_and_output(work, done, capsys):
    assert {path.name for path in done.iterdir()} == {*FILES, MARKS}
    assert main(['identify', str(work / '1.npz'), '--robot', str(work / 'arm.urdf'), '--config',
                 str(work / 'log.yaml'), '--output', str(work / 'again')]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].startswith('Good: ')
    assert out.splitlines()[-1].startswith(str(work / 'again' / 'report.html'))
    content = json.loads((done / 'result.json').read_text())
    assert content['verdict'] == 'good'
    assert content['rows'] == 4800
    robot = Robot.from_urdf(done / 'identified.urdf')
    right = Robot.from_urdf(resolve_robot('rpr'))
    q, v, a = np.random.default_rng(1).normal(size=(3, 50, 3)) * 0.5
    ours, true, wrong = (Dynamics(one).inverse_dynamics(q, v, a) for one in
                         (robot, right, Robot.from_urdf(work / 'arm.urdf')))
    assert np.linalg.norm(ours - true) < 0.05 * np.linalg.norm(wrong - true)


def test_a_payload_becomes_parameters_of_controllers(work, capsys):
    robot = Robot.from_urdf(resolve_robot('rpr'))
    carrying = with_payload(robot, 1.5, (0.0, 0.1, 0.0))
    with np.load(work / '1.npz') as log:
        t, q, names = log['time'], log['position'], log['names']
    v = np.gradient(q, t, axis=0)
    a = np.gradient(v, t, axis=0)
    tau = Dynamics(carrying).inverse_dynamics(q, v, a) + np.tanh(v / 0.05) + v
    np.savez(work / 'loaded.npz', time=t, position=q, effort=tau, names=names)
    (work / 'payload.yaml').write_text((work / 'log.yaml').read_text()
                                       + 'payload: {without: 1.npz}\n')
    output = work / 'with'
    assert main(['identify', str(work / 'loaded.npz'), '--robot', str(work / 'arm.urdf'),
                 '--config', str(work / 'payload.yaml'), '--output', str(output)]) == 0
    out = capsys.readouterr().out
    assert f'payload on {robot.body_names[-1]}:\n  mass: 1.' in out
    assert 'inertia about the centre, zz' in out and '+- 0.000 ' not in out
    assert 'Payload on' in (output / 'report.html').read_text()
    assert {path.name for path in output.iterdir()} == {*FILES, 'payload.yaml', MARKS}
    given = yaml.safe_load((output / 'payload.yaml').read_text())['/**']['ros__parameters']
    assert given['payload.mass'] == pytest.approx(1.5, abs=0.05)
    # What the nodes do with it.
    payload = Payload(**{name.partition('.')[2]: value for name, value in given.items()})
    q, v, a = np.random.default_rng(2).normal(size=(3, 50, 3)) * 0.5
    ours, true, without = (
        Dynamics(robot.with_parameters(parameters)).inverse_dynamics(q, v, a)
        for parameters in (robot.parameters + payload.load_on(robot).ravel(),
                           carrying.parameters, robot.parameters))
    assert np.linalg.norm(ours - true) < 0.05 * np.linalg.norm(without - true)


def test_the_same_system_on_the_identified_model(done):
    def given(system):
        return {process.node: process for process in system.processes()}
    plain, identified = given(System(robot='rpr')), given(System(robot='rpr',
                                                              identified=str(done)))
    assert set(plain) == set(identified)
    for name, process in identified.items():
        if name == 'simulated_arm':
            assert process.parameters == plain[name].parameters
            assert process.parameter_files == plain[name].parameter_files
        else:
            # It has no description of its own, which would win over that of the file.
            assert 'robot_description' not in process.parameters
            assert process.parameter_files[-1] == (done / 'parameters.yaml').resolve()
    # An arm with a running driver.
    for process in System(robot='', plant='none', identified=str(done)).processes():
        assert process.parameter_files or process.node == 'command_guard'
    with pytest.raises(BringupError, match=r'has no parameters\.yaml'):
        System(identified='nowhere').processes()


def test_wrong_inputs_end_with_one_line(work, tmp_path, capsys):
    def refused(*arguments, config=''):
        options = list(arguments)
        if config:
            path = tmp_path / 'config.yaml'
            path.write_text(config)
            options += ['--config', str(path)]
        assert main(['identify', *options, '--output', str(tmp_path / 'out')]) == 1
        error = capsys.readouterr().err.splitlines()[-1]
        assert error.startswith('robot-dynamics identify: ')
        assert not (tmp_path / 'out').exists()
        return error

    log, arm = str(work / '1.npz'), str(work / 'arm.urdf')
    assert 'neither a file nor' in refused(log, '--robot', 'no_such_arm')
    assert 'names' in refused(log, '--robot', arm)
    assert 'does not exist' in refused(str(work / 'nothing'), '--robot', arm)
    assert 'joints' in refused(log, '--robot', arm, config='joints: joint1\n')
    assert 'base_link' in refused(log, '--robot', arm, config='base_link: 3\n')
    assert 'estimate.colour' in refused(log, '--robot', arm, config='estimate: {colour: 1}\n')
    assert 'cannot be read' in refused(log, '--robot', arm, '--config', str(work / 'no.yaml'))
    assert 'give --robot' in refused(log)
    assert 'is missing' in refused('--robot', arm)


def test_an_old_urdf_does_not_outlive_a_refused_one(work, tmp_path, capsys):
    """Least squares of a short motion ends with impossible bodies."""
    text = (work / 'log.yaml').read_text().replace('estimate: {', 'estimate: {estimator: ols, ')
    config = tmp_path / 'log.yaml'
    config.write_text(text + 'log: {times: [0.0, 3.0]}\n')
    output = tmp_path / 'out'
    write_files(output, dict.fromkeys(('identified.urdf', 'parameters.yaml'), b'old'))
    command = ['identify', str(work / '1.npz'), '--robot', str(work / 'arm.urdf'), '--config',
               str(config), '--output', str(output)]
    assert main(command) == 1
    assert 'no URDF was written' in capsys.readouterr().err
    assert {path.name for path in output.iterdir()} == {
        *FILES, MARKS} - {'identified.urdf', 'parameters.yaml'}
    assert main([*command, '--allow-inconsistent']) == 0
    assert {path.name for path in output.iterdir()} == {*FILES, MARKS}


def test_the_help_names_the_choices(capsys):
    with pytest.raises(SystemExit) as caught:
        main(['identify', '--help'])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    for option in ('RECORDING', '--robot', '--config', '--data', '--live', '--output',
                   '--allow-inconsistent'):
        assert option in text


@pytest.mark.parametrize('seconds', ['x', '', '0', '-1', 'nan', 'inf', '3601'])
def test_times_to_listen_that_cannot_be(seconds, capsys):
    with pytest.raises(SystemExit):
        main(['identify', f'--live={seconds}'])
    assert f'--live: must be above 0 and up to 3600 s, got {seconds}' in capsys.readouterr().err


def test_joints_that_the_log_does_not_have_can_be_left_out(work, tmp_path):
    robot = Robot.from_urdf(work / 'arm.urdf')
    config = tmp_path / 'log.yaml'
    config.write_text((work / 'log.yaml').read_text()
                      + f'joints: [{robot.joint_names[2]}]\n')
    assert main(['identify', str(work / '1.npz'), '--robot', str(work / 'arm.urdf'), '--config',
                 str(config), '--output', str(tmp_path / 'out')]) in (0, 1)
    content = json.loads(Path(tmp_path / 'out' / 'result.json').read_text())
    assert content['joints'] == [robot.joint_names[2]]
