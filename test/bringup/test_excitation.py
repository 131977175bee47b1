# SPDX-License-Identifier: Apache-2.0
"""Designing a motion from the command line, and what runs to play it."""

import numpy as np
import pytest
import yaml

from robot_dynamics.bringup import cli
from robot_dynamics.bringup.commands import up
from robot_dynamics.bringup.excitation import EXCITATION_ARGUMENTS, excitation_processes
from robot_dynamics.bringup.processes import shipped_config
from robot_dynamics.bringup.progress import progress_bar
from robot_dynamics.bringup.system import System
from robot_dynamics.errors import BringupError
from robot_dynamics.identification.excitation.plan import ExcitationPlan

QUICK = ['--seconds', '4', '--restarts', '1', '--iterations', '3', '--workers', '1']


@pytest.fixture(scope='module')
def plan(tmp_path_factory):
    path = tmp_path_factory.mktemp('plans') / 'plan.yaml'
    assert cli.main(['excite', 'rpr', '--output', str(path), *QUICK]) == 0
    return path


@pytest.mark.slow
def test_a_summary_has_condition_and_use_of_limits(tmp_path, capsys):
    path = tmp_path / 'plan.yaml'
    assert cli.main(['excite', 'rpr', '--output', str(path), '--kind', 'fourier', '--objective',
                     'd_optimal', '--terms', 'viscous', 'coulomb', '--seed', '4', '--scale',
                     '0.7', '--acceleration', '3', '2', '4', '--start', '0.1', '1', '0.2',
                     *QUICK]) == 0
    said = capsys.readouterr().out
    assert 'base parameters of rpr' in said and 'random motions within the same limits' in said
    assert str(path) in said
    made = ExcitationPlan.read(path)
    for name in made.joint_names:
        (line,) = [line for line in said.splitlines() if line.startswith(f'{name} ')]
        assert line.count('%') == 4
        assert all(0 <= float(word) <= 100 for word in line.split()[1::2])
    np.testing.assert_allclose(made.motion.evaluate([0.0])[0], [0.1, 1.0, 0.2])
    np.testing.assert_allclose(made.limits.acceleration, [3.0, 2.0, 4.0])
    facts = yaml.safe_load(path.read_text())['facts']
    assert facts['seed'] == 4 and facts['objective'] == 'd_optimal'


@pytest.mark.parametrize(('arguments', 'wanted'), [
    (['nobody'], 'neither a file nor a robot'), (['rpr', '--seconds', '0'], 'seconds'),
    (['rpr', '--scale', '2'], 'scale'), (['rpr', '--start', '1'], 'start'),
    (['rpr', '--start', '9', '9', '9'], 'must start between'),
    (['rpr', '--restarts', '0'], 'restarts'),
    (['rpr', '--acceleration', '1', '2'], '--acceleration'),
    (['rpr', '--output', '/no/such/folder/plan.yaml', *QUICK], 'cannot be written')])
def test_wrong_options_give_one_line(arguments, wanted, capsys):
    assert cli.main(['excite', *arguments]) == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if 'compiling' not in line]
    assert line.startswith('robot-dynamics excite: ') and wanted in line


def test_the_bar_is_for_terminals_only(monkeypatch, capsys):
    bar = progress_bar()
    bar(0.5)
    assert capsys.readouterr().err == ''
    monkeypatch.setattr('sys.stderr.isatty', lambda: True)
    for share in (0.0, 0.5, 0.501, 1.0):
        bar(share)
    said = capsys.readouterr().err
    assert said.count('\r') == 3 and said.endswith('100 %\n')


def test_what_runs_to_play_a_plan(plan, tmp_path):
    processes = excitation_processes(System(robot='rpr', controller='computed_torque'), str(plan),
                                     str(tmp_path / 'run'), '3')
    assert [process.node for process in processes] == [
        'simulated_arm', 'computed_torque_controller', 'inverse_dynamics', 'excitation']
    player = processes[-1]
    assert player.parameters['periods'] == 3 and player.parameters['plan'] == str(plan)
    assert player.parameters['output'] == str(tmp_path / 'run')
    assert player.parameters['robot_description'] == \
        processes[0].parameters['robot_description']
    assert player.parameter_files == (shipped_config() / 'excitation.yaml',)
    # An arm of others, of which the topic robot_description tells.
    others = excitation_processes(System(robot='', plant='none', inverse_dynamics=False),
                                  str(plan))
    assert [process.node for process in others] == [
        'adaptive_controller', 'command_guard', 'excitation']
    assert 'robot_description' not in others[-1].parameters


@pytest.mark.parametrize(('wait', 'timeout'), [(0.0, None), (1.0, 1.5)])
def test_an_arm_that_waits_is_not_stopped_by_a_busy_machine(plan, tmp_path, wait, timeout):
    path = tmp_path / 'arm.yaml'
    path.write_text(f'/**: {{ros__parameters: {{wait_for_commands: {wait}}}}}\n')
    *_, player = excitation_processes(
        System(robot='rpr', controller='computed_torque', plant=str(path)), str(plan))
    assert player.parameters.get('state_timeout') == timeout


def test_a_recording_is_named_with_the_next_command():
    rigid = System(robot='my arm.urdf')
    springy = System(robot='planar_2r', controller='elastic_pd')
    assert up.recorded(rigid, 'run', is_excited=True) == \
        "run  recorded; next: robot-dynamics identify run --robot 'my arm.urdf'"
    assert '--elastic-joints' in up.recorded(springy, 'run', is_excited=True)
    for system, is_excited in ((rigid, False), (System(robot='', plant='none'), True)):
        assert up.recorded(system, 'run', is_excited=is_excited).endswith(
            'robot-dynamics report run')


def test_periods_of_a_plan(plan, tmp_path, monkeypatch, capsys):
    played = []
    monkeypatch.setattr(up, 'require_ros', lambda: None)
    monkeypatch.setattr(up, 'run_excitation',
                        lambda processes, *_: played.append(processes[-1].parameters))
    for periods, count in (((), 1), (('--periods', '5'), 5)):
        cli.main(['up', '--robot', 'rpr', '--excitation', str(plan), *periods])
        assert played[-1]['periods'] == count
    assert cli.main(['up', '--robot', 'rpr', '--periods', '5']) == 1
    assert '--periods' in capsys.readouterr().err and len(played) == 2


def test_an_arm_controlled_by_position_needs_no_controller_of_ours(plan, tmp_path):
    config = tmp_path / 'mine.yaml'
    config.write_text('excitation:\n  ros__parameters:\n    play_as: trajectory\n')
    system = System(robot='rpr', controller='none', plant='none', inverse_dynamics=False)
    (player,) = excitation_processes(system, str(plan), config=str(config))
    assert player.node == 'excitation' and 'robot_description' in player.parameters
    with pytest.raises(BringupError, match='must follow a reference'):
        excitation_processes(system, str(plan))


@pytest.mark.parametrize(('changes', 'wanted'), [
    ({'plan': ''}, 'plan is not given'), ({'plan': '/no/such'}, '/no/such is not a file'),
    ({'periods': 'many'}, 'periods'), ({'periods': 0}, 'from 1 to 1000'),
    ({'periods': '1001'}, 'from 1 to 1000'), ({'config': '/no/such.yaml'}, 'no/such.yaml')])
def test_what_cannot_be_played_is_refused(plan, changes, wanted):
    with pytest.raises(BringupError, match=wanted):
        excitation_processes(System(robot='rpr'), **{'plan': str(plan), **changes})


def test_the_file_of_settings_holds_parameters_of_the_node():
    content = yaml.safe_load((shipped_config() / 'excitation.yaml').read_text())
    values = content['excitation']['ros__parameters']
    known = yaml.safe_load((shipped_config() / 'parameters' / 'excitation.yaml')
                           .read_text())
    (defaults,) = known.values()
    for name, value in values.items():
        assert defaults['ros__parameters'][name] == value, name
    assert set(EXCITATION_ARGUMENTS) == {'plan', 'output', 'periods', 'config'}
