# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.bringup.cli import main
from robot_dynamics.bringup.demo import (
    LOST_TIMEOUT,
    PERIOD,
    RAMP,
    START_TIMEOUT,
    Watch,
    check_output,
    make_plan,
    make_story,
    true_masses,
)
from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.processes import NodeProcess
from robot_dynamics.bringup.runner import Line
from robot_dynamics.bringup.system import System
from robot_dynamics.errors import BringupError, FileError


class Show:
    """Feeds a watch with what a recorder says and keeps what it shows."""

    def __init__(self, **options):
        self.lines = []
        self.watch = Watch(make_plan(**options), self.lines.append)

    def say(self, time, mode='tracking', error=0.01, learns=False):
        text = json.dumps({'time': time, 'messages': 1, 'mode': mode, 'error': error,
                           'learns': learns})
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


def test_time_counts_from_the_first_error():
    show = Show(seconds=20.0)
    show.say(1.0, mode='holding', error=None)
    show.say(2.0, mode='holding', error=None)
    show.say(5.0)
    assert not show.watch.is_over()
    show.say(24.9)
    assert not show.watch.is_over()
    show.say(25.0)
    assert show.watch.is_over()


def test_nodes_that_stop_at_the_end_are_no_news():
    show = Show(seconds=20.0)
    show.say(1.0)
    show.say(21.0)
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
    with pytest.raises(BringupError, match='did not begin to move'):
        show.watch.is_over()


def test_a_controller_that_stops_following_is_given_up_with_its_reason():
    show = Show()
    show.say(1.0)
    show.complain('[ERROR] [1.0] [adaptive_controller]: safe: the clock jumped')
    show.say(2.0, mode='safe')
    assert not show.watch.is_over()
    show.say(2.0 + LOST_TIMEOUT + 0.1, mode='safe')
    with pytest.raises(BringupError, match=r'last warning: .*the clock jumped'):
        show.watch.is_over()


def test_a_run_does_not_end_while_the_controller_has_given_up():
    show = Show(seconds=20.0)
    show.say(1.0)
    show.say(20.5, mode='safe')
    show.say(21.5, mode='safe')
    assert not show.watch.is_over()
    show.say(22.5)
    assert show.watch.is_over()


def test_a_controller_that_gives_up_before_anything_moved_is_not_waited_for():
    show = Show()
    show.say(1.0, mode='stopped', error=None)
    show.say(1.0 + LOST_TIMEOUT + 1.0, mode='stopped', error=None)
    assert not show.watch.is_over()
    show.complain('[ERROR] [1.0] [adaptive_controller]: safe: the arm is far from its reference')
    show.say(8.0, mode='safe', error=None)
    show.say(8.0 + LOST_TIMEOUT + 0.1, mode='stopped', error=None)
    with pytest.raises(BringupError, match=r'last warning: safe: the arm is far'):
        show.watch.is_over()


def test_prismatic_joints_are_not_shown_in_radians():
    lines = []
    watch = Watch(make_plan(), lines.append, unit='mm')
    watch.on_line(Line(NodeProcess('recorder'), 'stdout', json.dumps(
        {'time': 1.0, 'messages': 1, 'mode': 'tracking', 'error': 0.01, 'learns': False})))
    assert '10.000 mm ' in lines[0]


def test_a_folder_that_nothing_can_be_left_in_is_refused(tmp_path):
    check_output(make_plan(output=tmp_path / 'new' / 'folder'))
    assert list((tmp_path / 'new' / 'folder').iterdir()) == []
    (tmp_path / 'file').write_text('')
    with pytest.raises(FileError, match=r'cannot be written .*name another folder'):
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
    show.say(4.0 + LOST_TIMEOUT)
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
