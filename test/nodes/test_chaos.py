# SPDX-License-Identifier: Apache-2.0
"""Ten minutes of chaos, the same in every run; `benchmark/chaos.py` says what must hold."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='ROS 2 (rclpy) is not installed')

from benchmark.chaos_parts.run import SETUPS
from benchmark.chaos_parts.scenarios import catalogue, scenario_at

SCRIPT = Path(__file__).resolve().parents[2] / 'benchmark' / 'chaos.py'
MINUTES, SEED = 10, 1

pytestmark = [pytest.mark.slow, pytest.mark.skipif(
    sys.platform != 'linux', reason='what the machine takes is told by /proc')]


def chaos(file, *arguments, **environment):
    """Run it; return how it ended and what it tells of each system."""
    done = subprocess.run([sys.executable, str(SCRIPT), '--seed', str(SEED), '--json', str(file),
                           *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})
    assert file.is_file(), done.stderr
    return done, json.loads(file.read_text(encoding='utf-8'))


@pytest.mark.skipif('ROBOT_DYNAMICS_CHAOS' not in os.environ, reason='ten minutes of chaos on '
                    'request: set ROBOT_DYNAMICS_CHAOS=1; docs/reliability.md says what is open')
@pytest.mark.timeout(420)
def test_whatever_happens_the_arm_is_safe(tmp_path):
    done, runs = chaos(tmp_path / 'runs.json', '--minutes', str(MINUTES))
    assert done.returncode == 0, done.stderr + done.stdout
    outcomes = [outcome for run in runs for outcome in run['outcomes']]
    verdicts = [outcome['verdict'] for outcome in outcomes]
    assert sum(outcome['seconds'] for outcome in outcomes) >= 60.0 * MINUTES
    # Where nothing happens, nothing is wrong.
    assert sum(verdict['commands'] for verdict in verdicts) > 30_000
    assert sum(len(verdict['losses']) for verdict in verdicts) >= 15
    names = {scenario.name for setup in SETUPS for scenario in catalogue(setup)}
    assert len({outcome['name'] for outcome in outcomes}) > 0.7 * len(names)
    assert all(run['processes'] > 4 and run['leaked'] == [] for run in runs)


PLANTED = """
import sys
if 'robot_dynamics.nodes.adaptive_controller' in sys.orig_argv:
    import itertools
    import math
    import subprocess
    from robot_dynamics.control.session import ControlSession
    from robot_dynamics.nodes import effort_controller
    send, count = effort_controller.EffortControllerNode._send, itertools.count()
    time_left = ControlSession.time_left

    def _send(self, command):
        command.effort[0] = {60: math.nan, 70: 1e3}.get(next(count), command.effort[0])
        send(self, command)

    effort_controller.EffortControllerNode._send = _send
    ControlSession.time_left = lambda self, now: time_left(self, now) + 0.02
    subprocess.Popen(['sleep', '100'], start_new_session=True, stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
"""


@pytest.mark.timeout(120)
def test_faults_are_found(tmp_path):
    """NaN, an effort beyond its limit, a late safe command and a process that is left, planted."""
    (tmp_path / 'sitecustomize.py').write_text(PLANTED, encoding='utf-8')
    number = next(k for k in range(100) if scenario_at(SETUPS[0], SEED, 0, k)[0].name
                  == 'states are lost')
    paths = os.pathsep.join([str(tmp_path), str(SCRIPT.parents[1]),
                             os.environ.get('PYTHONPATH', '')])
    done, runs = chaos(tmp_path / 'runs.json', '--system', '0', '--only', str(number),
                       PYTHONPATH=paths)
    for pid in runs[0]['leaked']:
        os.kill(pid, signal.SIGKILL)
    assert done.returncode == 1, done.stdout
    assert len(runs[0]['leaked']) == 1
    for fault in ('not finite', 'beyond the limit', 'are its own; 104.0 are allowed',
                  'processes left: ['):
        assert fault in done.stderr, done.stderr
    assert f'--seed {SEED} --system 0 --only {number}' in done.stderr
