# SPDX-License-Identifier: Apache-2.0
"""A test run that is interrupted leaves no process behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != 'linux', reason='processes are read from /proc')

#: The run that is interrupted writes the ids of its processes to this file.
VICTIM = os.environ.get('ROBOT_DYNAMICS_TEST_VICTIM')

if VICTIM:
    def test_victim():
        own = [subprocess.Popen(['sleep', '1000'], start_new_session=True).pid, os.fork()]
        if own[-1] == 0:
            time.sleep(1000)
        # Longer than the reaper needs to see a process that has no marker.
        time.sleep(1.0)
        Path(VICTIM).write_text(' '.join(map(str, own)))
        time.sleep(1000)


def is_alive(pid):
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


@pytest.mark.parametrize('kind', [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left(kind, tmp_path):
    file = tmp_path / 'pids'
    environment = {**os.environ, 'ROBOT_DYNAMICS_TEST_VICTIM': str(file)}
    del environment['ROBOT_DYNAMICS_TEST_RUN']
    # Ignored, also by children, where the tests run in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    run = subprocess.Popen(
        [sys.executable, '-m', 'pytest', '-q', f'{__file__}::test_victim'], env=environment,
        cwd=Path(__file__).parents[1], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert wait_until(lambda: file.exists() and file.read_text(), 60.0)
        pids = [int(text) for text in file.read_text().split()]
        assert all(map(is_alive, pids))
    finally:
        run.send_signal(kind)
    assert run.wait(30.0) != 0
    assert wait_until(lambda: not any(map(is_alive, pids)), 30.0)
