# SPDX-License-Identifier: Apache-2.0
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from robot_dynamics.bringup.cli import main
from robot_dynamics.bringup.processes import child_environment

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments, timeout=120):
    return subprocess.run([sys.executable, '-m', 'robot_dynamics.bringup.cli', *arguments],
                          capture_output=True, text=True, cwd=ROOT, timeout=timeout,
                          env=child_environment())


def test_help_of_the_demo_lists_the_choices(capsys):
    with pytest.raises(SystemExit) as caught:
        main(['demo', '--help'])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    for option in ('--robot', '--controller', '--seconds', '--seed'):
        assert option in text


def test_without_a_command_all_of_them_are_shown(capsys):
    assert main([]) == 2
    text = capsys.readouterr().out
    for command in ('up', 'demo', 'doctor', 'identify', 'excite', 'closed-form'):
        assert re.search(rf'\n    {command}\b', text), command


def test_robots_are_listed(capsys):
    assert main(['robots']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert 'arm7                     7 joints' in lines
    assert 'rpr                      3 joints, 1 of them prismatic' in lines


def test_check_prints_the_joints_of_a_robot(capsys):
    assert main(['check', 'arm7']) == 0
    out = capsys.readouterr().out
    assert out.startswith('arm7: 7 joints, 15.3 kg moving')
    assert '  joint2   -1.763 to   1.763 rad   effort to 176 N m\n' in out


def test_check_prints_units_and_missing_limits(capsys, tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text("""<robot name="arm"><link name="base"/><link name="a"/><link name="b"/>
        <joint name="turn" type="continuous"><parent link="base"/><child link="a"/></joint>
        <joint name="slide" type="prismatic"><parent link="a"/><child link="b"/>
          <limit lower="0" upper="0.4" velocity="1" effort="50"/></joint></robot>""")
    assert main(['check', str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split(maxsplit=1) == ['turn', 'without limits            no effort limit']
    assert lines[2] == '  slide    0.000 to   0.400 m     effort to 50 N'


def test_help_shows_no_defaults_that_say_nothing(capsys):
    for command in ('up', 'demo', 'report'):
        with pytest.raises(SystemExit):
            main([command, '--help'])
        text = ' '.join(capsys.readouterr().out.split())
        assert 'default' in text
        assert not any(f'(default: {value})' in text for value in ('', 'None', 'False'))


def test_check_refuses_with_one_line(capsys):
    assert main(['check', 'no_such.urdf']) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith('robot-dynamics check: no_such.urdf is neither a file nor')


def test_report_of_nothing_is_refused(capsys, tmp_path):
    assert main(['report', str(tmp_path / 'bag')]) == 1
    assert 'does not exist' in capsys.readouterr().err


def test_a_short_demo_is_refused_before_anything_starts(capsys, tmp_path):
    assert main(['demo', '--seconds', '3', '--output', str(tmp_path)]) == 1
    assert 'must be 19 or more' in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize('seconds', ['-3', '0', 'nan'])
def test_a_system_that_ends_before_it_starts_is_refused(capsys, seconds):
    assert main(['up', '--seconds', seconds]) == 1
    assert f'--seconds must be above 0 s, got {seconds}' in capsys.readouterr().err


def test_an_arm_is_real_or_simulated(capsys):
    assert main(['up', '--hardware', 'ur', '--plant', 'loaded']) == 1
    assert '--plant simulates an arm, beside --hardware' in capsys.readouterr().err
    assert main(['up', '--hardware', 'kuka']) == 1
    assert 'franka, gazebo' in capsys.readouterr().err


def test_up_runs_beside_a_driver(monkeypatch):
    pytest.importorskip('rclpy', reason='needs ROS 2')
    ran = []
    monkeypatch.setattr('robot_dynamics.bringup.commands.up.warm_up', lambda processes: None)
    monkeypatch.setattr('robot_dynamics.bringup.commands.up.run_until_stopped',
                        lambda processes, *given, **named: ran.append(processes))
    assert main(['up', '--hardware', 'ur', '--joint-states', 'ur/joint_states']) == 0
    (processes,) = ran
    controller, guard, _ = processes
    assert [process.node for process in processes] == [
        'adaptive_controller', 'command_guard', 'inverse_dynamics']
    # The description comes from the driver, as in the launch file.
    assert 'robot_description' not in controller.parameters
    assert controller.parameters['hardware_gravity_compensation'] is True
    assert guard.parameters['command_topic'] == 'forward_effort_controller/commands'
    assert {process.remappings for process in processes} == {
        (('joint_states', 'ur/joint_states'),)}


@pytest.mark.parametrize('command', ['up', 'demo'])
def test_without_ros_one_line_has_the_remedy(capsys, monkeypatch, tmp_path, command):
    monkeypatch.setattr('importlib.util.find_spec', lambda name: None)
    monkeypatch.chdir(tmp_path)
    assert main([command]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f'robot-dynamics {command}: rclpy is not installed for this Python;')
    assert error.count('\n') == 1


@pytest.mark.slow
@pytest.mark.parametrize('buffering', ['1', ''])
def test_a_closed_pipe_is_not_an_error_message(buffering):
    done = subprocess.run(['bash', '-c', f'{sys.executable} -m robot_dynamics.bringup.cli robots '
                           '| true; exit ${PIPESTATUS[0]}'], cwd=ROOT, timeout=120,
                          capture_output=True, text=True,
                          env={**child_environment(), 'PYTHONUNBUFFERED': buffering})
    assert done.stderr == ''
    assert done.returncode == 1


def test_version(capsys):
    with pytest.raises(SystemExit):
        main(['--version'])
    assert capsys.readouterr().out.strip()


def descendants(pid):
    """Return the ids of the processes that a process has started."""
    children = Path(f'/proc/{pid}/task/{pid}/children').read_text().split()
    return [int(child) for child in children]


@pytest.mark.ros
def test_up_runs_until_ctrl_c_and_leaves_nothing():
    pytest.importorskip('rclpy', reason='needs ROS 2')
    pytest.importorskip('mujoco', reason='needs the simulated arm')
    process = subprocess.Popen(
        [sys.executable, '-m', 'robot_dynamics.bringup.cli', 'up', '--rate', '100'],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT,
        env=child_environment())
    with process:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if 'tracking: the arm follows' in line:
                break
        pids = descendants(process.pid)
        assert len(pids) == 4, lines
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=120)[0]
    assert process.returncode == 0, rest
    assert lines[0].startswith('arm7, plant nominal, controller adaptive, 100 Hz; ROS_DOMAIN_ID=')
    assert lines[0].endswith(', on this machine only; Ctrl-C stops it\n')
    assert any(line.startswith('[adaptive_controller] ') for line in lines)
    deadline = time.monotonic() + 30.0
    while any(Path(f'/proc/{pid}').exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f'/proc/{pid}').exists() for pid in pids)


def test_what_a_shell_starts_in_the_background_can_be_interrupted():
    script = ('import signal, os\n'
              'from robot_dynamics.bringup.runner import StopFlag\n'
              'with StopFlag().listening() as stop:\n'
              '    for number in (signal.SIGHUP, signal.SIGINT):\n'
              '        os.kill(os.getpid(), number)\n'
              '        print(stop.is_set)\n')
    done = subprocess.run(
        ['bash', '-c', f'trap "" INT HUP; exec {sys.executable} -c "$SCRIPT"'], cwd=ROOT,
        env={**os.environ, 'SCRIPT': script}, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ['False', 'True'], done.stderr


@pytest.mark.ros
def test_up_ends_with_the_reason_of_a_node_that_refuses(tmp_path):
    pytest.importorskip('rclpy', reason='needs ROS 2')
    plant = tmp_path / 'plant.yaml'
    plant.write_text('/**: {ros__parameters: {mass_scale: -1.0}}\n')
    done = run('up', '--plant', str(plant))
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith('robot-dynamics up: /simulated_arm ended with status 1: ')
    assert 'mass_scale' in last


@pytest.mark.ros
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_demo_ends_by_itself_and_leaves_its_report(tmp_path):
    pytest.importorskip('rclpy', reason='needs ROS 2')
    output = tmp_path / 'out'
    # A run that says it was interrupted, by a machine that stood still, measures nothing.
    for _ in range(3):
        done = run('demo', '--seconds', '19', '--rate', '200', '--output', str(output))
        if not any(text in done.stdout + done.stderr for text in (
                'The controller stopped tracking', 'does not follow the reference any more')):
            break
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    # A busy machine skips lines, but none of the phases.
    phases = [name for line in lines for name in ('estimates frozen', 'adapting') if name in line]
    assert set(phases) == {'estimates frozen', 'adapting'}
    assert phases == sorted(phases, reverse=True)
    (total,) = [line for line in lines if line.startswith('all joints')]
    before, after = map(float, total.split()[2:4])
    assert after < before / 3
    assert (output / 'report.html').stat().st_size > 100_000
    assert (output / 'report.png').stat().st_size > 30_000
    metadata = (output / 'recording' / 'metadata.yaml').read_text()
    assert 'storage_identifier: mcap' in metadata
    for topic in ('/joint_states', '/adaptive_controller/tracking_error',
                  '/inverse_dynamics/terms/gravity', '/robot_description'):
        assert f'name: {topic}\n' in metadata


@pytest.mark.slow
def test_shipped_robots_are_found_from_anywhere(tmp_path):
    environment = {**os.environ, 'PYTHONPATH': str(ROOT)}
    done = subprocess.run([sys.executable, '-m', 'robot_dynamics.bringup.cli', 'robots'],
                          cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and 'arm7' in done.stdout


@pytest.mark.parametrize(('given', 'wanted'), [({}, '1'), ({'OPENBLAS_NUM_THREADS': '2'}, '2')])
def test_linear_algebra_has_one_thread_unless_the_user_sets_another_number(given, wanted):
    environment = {name: value for name, value in os.environ.items()
                   if name not in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS')}
    code = ('import os, sys; from robot_dynamics.bringup.cli import main; main([]); '
            'print(os.environ["OPENBLAS_NUM_THREADS"], "numpy" in sys.modules)')
    done = subprocess.run([sys.executable, '-c', code], text=True, check=True, cwd=ROOT,
                          stdout=subprocess.PIPE, env={**environment, **given})
    # Set before numpy is imported: a loaded library does not read the variable again.
    assert done.stdout.splitlines()[-1].split() == [wanted, 'False']
