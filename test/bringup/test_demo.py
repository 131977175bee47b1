# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.bringup import demo
from robot_dynamics.bringup.cli import main
from robot_dynamics.bringup.demo import (
    LOST_TIMEOUT,
    PERIOD,
    RAMP,
    SLOW_LOST_TIMEOUT,
    START_TIMEOUT,
    Watch,
    check_arm,
    check_output,
    make_plan,
    make_story,
    report_failure,
    true_masses,
)
from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.processes import NodeProcess
from robot_dynamics.bringup.runner import Line
from robot_dynamics.bringup.system import System
from robot_dynamics.errors import BringupError, FileError

#: An arm that needs 6.87 N m at its shoulder.
WEAK = (
    '<robot name="weak"><link name="base"/>'
    '<link name="upper"><inertial><origin xyz="0.15 0 0"/><mass value="2"/>'
    '<inertia ixx="0.002" ixy="0" ixz="0" iyy="0.016" iyz="0" izz="0.016"/></inertial></link>'
    '<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>'
    '<axis xyz="0 1 0"/><limit lower="-1.5" upper="1.5" effort="3" velocity="2"/></joint>'
    '<link name="lower"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>'
    '<inertia ixx="0.0005" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.004"/></inertial></link>'
    '<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>'
    '<origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>'
    '<limit lower="-2" upper="2" effort="3" velocity="2"/></joint></robot>')


class Show:
    """Feeds a watch with what a recorder says and keeps what it shows."""

    def __init__(self, **options):
        self.lines = []
        self.watch = Watch(make_plan(**options), self.lines.append)

    def say(self, time, mode='tracking', error=0.01, learns=False, tracked=0.0):
        text = json.dumps({'time': time, 'tracked': tracked, 'messages': 1, 'mode': mode,
                           'error': error, 'learns': learns})
        self.watch.on_line(Line(NodeProcess('recorder'), 'stdout', text))

    def complain(self, text):
        self.watch.on_line(Line(NodeProcess('adaptive_controller'), 'stderr', text))


def test_all_five_processes_run_and_are_recorded(tmp_path):
    plan = make_plan(output=tmp_path)
    assert [process.node for process in plan.processes()] == [
        'recorder', 'simulated_arm', 'adaptive_controller', 'inverse_dynamics', 'reference']
    assert plan.processes()[0].parameters['output'] == str(tmp_path / 'recording')


def test_adaptation_begins_after_one_whole_period_of_the_reference():
    processes = {process.node: process for process in make_plan().processes()}
    period = 1 / processes['reference'].parameters['base_frequency']
    assert period == PERIOD
    assert processes['adaptive_controller'].parameters['adapt_after'] == RAMP + period
    assert make_plan().seconds - RAMP - period >= period


def test_an_intended_model_error_is_not_reported_as_a_fault():
    laden, sound = ({process.node: process for process in make_plan(plant=plant).processes()}
                    for plant in ('loaded', 'nominal'))
    efforts = load_description('arm7').robot.limits.effort
    np.testing.assert_allclose(laden['inverse_dynamics'].parameters['faults.thresholds'],
                               1.5 * efforts)
    assert 'faults.thresholds' not in sound['inverse_dynamics'].parameters


def test_the_arm_waits_where_the_motion_starts():
    from robot_dynamics.control.motion.references import exciting_fourier
    plan = make_plan(seed=5)
    robot = load_description('arm7').robot
    start = exciting_fourier(robot, 5, base_frequency=1 / PERIOD).sample(0.0)[0]
    processes = {process.node: process for process in plan.processes()}
    np.testing.assert_allclose(processes['simulated_arm'].parameters['initial_position'], start)


@pytest.mark.parametrize(('options', 'words'), [
    ({'seconds': 5.0}, 'seconds must be 19 or more, got 5'),
    ({'seconds': float('nan')}, 'seconds must be 19 or more, got nan'),
    ({'controller': 'none'}, 'controller must not be none'),
    ({'plant': 'none'}, 'plant must not be none')])
def test_what_could_show_nothing_is_refused(options, words):
    with pytest.raises(BringupError, match=words):
        make_plan(**options)


def test_help_offers_nothing_that_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(['demo', '--help'])
    text = ' '.join(capsys.readouterr().out.split())
    assert 'gravity (weightless' in text and 'loaded, nominal, or path' in text
    assert 'none' not in text.partition('options:')[2]


def test_the_time_of_the_arm_counts():
    show = Show(seconds=20.0)
    show.say(1.0, mode='holding', error=None)
    show.say(2.0, mode='holding', error=None)
    assert not show.watch.has_begun
    show.say(5.0)
    assert show.watch.has_begun and not show.watch.is_over()
    show.say(80.0, tracked=19.9)
    assert not show.watch.is_over()
    show.say(81.0, tracked=20.0)
    assert show.watch.is_over()


def test_a_slow_arm_is_shown_once_a_second_of_its_time():
    show = Show()
    for k in range(9):
        show.say(1.0 + k, tracked=0.25 * k)
    assert [line.split()[0] for line in show.lines] == ['0', '1', '2']


def test_nodes_that_stop_at_the_end_are_no_news():
    show = Show(seconds=20.0)
    show.say(1.0)
    show.say(21.0, tracked=20.0)
    assert show.watch.is_over()
    lines = len(show.lines)
    show.say(22.0, mode='stopped')
    assert len(show.lines) == lines


def test_phases_are_named():
    show = Show()
    show.say(1.0, mode='holding', error=None)
    show.say(2.0, mode='holding', error=None)
    show.say(3.0)
    show.say(9.0, learns=True)
    assert [line.split('s  ')[1].split('   ')[0].strip() for line in show.lines] == [
        'holding', 'estimates frozen', 'adapting']


def test_without_adaptation_nothing_is_called_adapting():
    show = Show(controller='fixed')
    show.say(1.0)
    show.say(20.0, learns=True)
    assert all('tracking' in line for line in show.lines)


def test_complaints_are_passed_on_and_the_rest_is_not():
    show = Show()
    show.complain('[INFO] [1.0] [adaptive_controller]: tracking: the arm follows')
    show.complain('[ERROR] [1.0] [adaptive_controller]: safe: joint states stopped')
    assert show.lines == ['  adaptive_controller: error: safe: joint states stopped']


def test_an_arm_that_never_moves_is_given_up():
    show = Show()
    show.say(START_TIMEOUT - 1.0, mode='holding', error=None)
    assert not show.watch.is_over()
    show.say(START_TIMEOUT + 1.0, mode='holding', error=None)
    with pytest.raises(BringupError, match='the arm did not move within 90 s'):
        show.watch.is_over()


def test_a_controller_that_stops_following_is_given_up_with_its_reason():
    show = Show()
    show.say(1.0)
    show.complain('[ERROR] [0.5] [adaptive_controller]: safe: joint states stopped')
    show.complain('[INFO] [0.6] [adaptive_controller]: tracking: the arm follows')
    show.complain('[ERROR] [1.0] [adaptive_controller]: safe: the clock jumped')
    show.complain('[ERROR] [1.1] [adaptive_controller]: safe: joint states stopped')
    show.watch.on_line(Line(NodeProcess('inverse_dynamics'), 'stderr',
                            '[WARN] [1.2] [inverse_dynamics]: fault of joint6'))
    show.say(2.0, mode='safe')
    assert not show.watch.is_over()
    show.say(2.0 + SLOW_LOST_TIMEOUT + 0.1, mode='safe')
    with pytest.raises(BringupError, match=r'stopped following the reference: the clock jumped$'):
        show.watch.is_over()


def test_in_real_time_a_busy_machine_is_named():
    show = Show(real_time=True)
    show.say(1.0)
    show.say(2.0, mode='safe')
    show.say(2.0 + LOST_TIMEOUT + 0.1, mode='safe')
    with pytest.raises(BringupError, match='run it without --real-time, if this machine is busy'):
        show.watch.is_over()


def test_a_run_does_not_end_while_the_controller_has_given_up():
    show = Show(seconds=20.0)
    show.say(1.0)
    show.say(20.5, mode='safe', tracked=20.5)
    show.say(21.5, mode='safe', tracked=21.5)
    assert not show.watch.is_over()
    show.say(22.5, tracked=22.5)
    assert show.watch.is_over()


def test_a_controller_that_gives_up_before_anything_moved_is_not_waited_for():
    show = Show()
    show.say(1.0, mode='stopped', error=None)
    show.say(1.0 + SLOW_LOST_TIMEOUT + 1.0, mode='stopped', error=None)
    assert not show.watch.is_over()
    show.complain('[ERROR] [1.0] [adaptive_controller]: safe: the arm is far from its reference')
    show.say(8.0, mode='safe', error=None)
    show.say(8.0 + SLOW_LOST_TIMEOUT + 0.1, mode='stopped', error=None)
    with pytest.raises(BringupError, match='the reference: the arm is far'):
        show.watch.is_over()


def test_prismatic_joints_are_not_shown_in_radians():
    lines = []
    watch = Watch(make_plan(), lines.append, unit='mm')
    watch.on_line(Line(NodeProcess('recorder'), 'stdout', json.dumps(
        {'time': 1.0, 'tracked': 0.0, 'messages': 1, 'mode': 'tracking', 'error': 0.01,
         'learns': False})))
    assert '10.000 mm ' in lines[0]


def test_a_folder_that_nothing_can_be_left_in_is_refused(tmp_path):
    check_output(make_plan(output=tmp_path / 'new' / 'folder'))
    assert list((tmp_path / 'new' / 'folder').iterdir()) == []
    (tmp_path / 'file').write_text('')
    with pytest.raises(FileError, match=r'must be a folder, got a file; .*name another place'):
        check_output(make_plan(output=tmp_path / 'file'))


@pytest.mark.parametrize('name', ['report.html', 'report.png', 'recording/thesis.db3'])
def test_nothing_of_the_user_is_deleted(tmp_path, capsys, name):
    own = tmp_path / name
    own.parent.mkdir(exist_ok=True)
    own.write_text('mine')
    assert main(['demo', '--output', str(tmp_path)]) == 1
    assert f'{own} was not written by robot_dynamics' in capsys.readouterr().err
    assert own.read_text() == 'mine'


def test_the_demo_ends_with_its_recorder_and_other_systems_do_not():
    assert all(process.essential for process in make_plan().processes())
    recorder, *others = System(robot='arm7', record=Path('x')).processes()
    assert recorder.node == 'recorder' and not recorder.essential
    assert all(process.essential for process in others)


def test_a_short_loss_is_forgiven():
    show = Show()
    show.say(1.0)
    show.say(2.0, mode='safe')
    show.say(4.0)
    show.say(4.0 + SLOW_LOST_TIMEOUT)
    assert not show.watch.is_over()


def test_the_story_describes_the_plant():
    story = make_story(make_plan())
    assert '30 % heavier' in story.text
    assert '2 kg' in story.text
    assert 'frozen for 11 s of uninterrupted tracking' in story.text
    facts = dict(story.facts)
    assert facts['robot'] == 'arm7, 7 joints'
    assert 'payload_mass 2' in facts['plant']
    assert 'numba' in facts['versions']


def test_the_story_of_a_perfect_model_has_no_differences():
    story = make_story(make_plan(plant='nominal', controller='fixed'))
    assert story.text == 'It does not learn.'


def test_true_masses_are_scaled_and_loaded():
    robot = load_description('arm7').robot
    plant = System(plant='loaded').plant_parameters()
    true = true_masses(robot, plant)
    nominal = dict(zip(robot.body_names, robot.inertial_parameters[:, 0], strict=True))
    assert true['link1/m'] == pytest.approx(nominal['link1'] / 1.3)
    assert true['link7/m'] == pytest.approx(nominal['link7'] / 1.3 + 2.0)


def test_arm_and_controller_wait_for_each_other_unless_in_real_time():
    simulated, real = ({process.node: process.parameters for process in
                        make_plan(real_time=real).processes()} for real in (False, True))
    assert all(parameters['use_sim_time'] for parameters in simulated.values())
    assert not any(parameters['use_sim_time'] for parameters in real.values())
    wait = simulated['simulated_arm']['wait_for_commands']
    assert simulated['adaptive_controller']['state_timeout'] > wait > 0.0
    assert 'wait_for_commands' not in real['simulated_arm']
    assert real['adaptive_controller']['state_timeout'] == 0.3


def test_an_arm_that_cannot_hold_itself_is_refused_by_the_sentence_of_the_doctor(tmp_path, capsys):
    weak = tmp_path / 'weak.urdf'
    weak.write_text(WEAK)
    assert main(['demo', '--robot', str(weak), '--output', str(tmp_path / 'out')]) == 1
    refusal = capsys.readouterr().err
    assert 'shoulder needs 6.87 N m to hold the arm still and has 3' in refusal
    assert main(['doctor', str(weak)]) == 1
    said = capsys.readouterr().out
    assert refusal.partition('demo: shoulder ')[2].strip() in said
    assert not (tmp_path / 'out' / 'recording').exists()


def test_a_weak_arm_is_tried_with_the_warning_of_the_doctor(tmp_path, capsys):
    weak = tmp_path / 'weak.urdf'
    weak.write_text(WEAK.replace('effort="3"', 'effort="6"'))
    check_arm(load_description(weak).robot)
    assert 'doctor: warning: shoulder: needs 6.87 N m to hold' in capsys.readouterr().out


def test_an_impossible_payload_is_refused_before_the_start(tmp_path, capsys):
    plant = tmp_path / 'plant.yaml'
    plant.write_text('/**:\n  ros__parameters:\n    payload_mass: -2.0\n')
    assert main(['demo', '--plant', str(plant), '--output', str(tmp_path / 'out')]) == 1
    assert 'payload mass must be a positive number, got -2.0' in capsys.readouterr().err


def test_a_run_without_a_recording_leaves_a_page_with_its_reason(tmp_path, capsys):
    plan = make_plan(output=tmp_path)
    show = Show(output=tmp_path)
    show.complain('[ERROR] [1.0] [adaptive_controller]: safe: <the clock jumped>')
    report_failure(plan, BringupError('ended with status 1: no memory', subject='/x'), show.watch)
    page = (tmp_path / 'report.html').read_text()
    assert 'The run ended early: /x ended with status 1: no memory.' in page
    assert 'adaptive_controller: error: safe: &lt;the clock jumped&gt;' in page
    assert 'payload_mass 2' in page
    assert f'{tmp_path / "report.html"}  what happened until then' in capsys.readouterr().out


def test_a_report_that_cannot_be_written_does_not_hide_the_reason(tmp_path, capsys):
    (tmp_path / 'report.html').write_text('mine')
    show = Show(output=tmp_path)
    report_failure(make_plan(output=tmp_path), BringupError('ended', subject='/x'), show.watch)
    assert 'no report: ' in capsys.readouterr().out
    assert (tmp_path / 'report.html').read_text() == 'mine'


@pytest.mark.parametrize(('has_begun', 'words'), [
    (False, 'stopped before the arm moved\n'), (True, 'stopped; the recording so far is in ')])
def test_a_recording_is_promised_only_where_the_arm_moved(tmp_path, monkeypatch, capsys, has_begun,
                                                         words):
    def stopped(processes, on_line, is_over):
        if has_begun:
            on_line(Line(NodeProcess('recorder'), 'stdout', json.dumps(
                {'time': 1.0, 'tracked': 0.0, 'messages': 1, 'mode': 'tracking', 'error': 0.01,
                 'learns': False})))
        return False

    monkeypatch.setattr(demo, 'run_until_stopped', stopped)
    monkeypatch.setattr(demo, 'require_ros', lambda: None)
    monkeypatch.setattr(demo, 'warm_up', lambda processes: 0.0)
    assert main(['demo', '--output', str(tmp_path)]) == 130
    out = capsys.readouterr().out
    assert words in out and out.count('stopped') == 1


def test_the_last_word_of_a_run_that_failed_is_its_reason(tmp_path, monkeypatch, capsys):
    def fails(processes, on_line, is_over):
        raise BringupError('ended with status 1: no memory', subject='/adaptive_controller')

    monkeypatch.setattr(demo, 'run_until_stopped', fails)
    monkeypatch.setattr(demo, 'require_ros', lambda: None)
    monkeypatch.setattr(demo, 'warm_up', lambda processes: 0.0)
    assert main(['demo', '--output', str(tmp_path)]) == 1
    assert capsys.readouterr().err == \
        'robot-dynamics demo: /adaptive_controller ended with status 1: no memory\n'
    assert 'no memory' in (tmp_path / 'report.html').read_text()
