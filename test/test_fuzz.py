# SPDX-License-Identifier: Apache-2.0
"""Twenty thousand wrong inputs, the same in every run; `benchmark/fuzz.py` says what must hold."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != 'linux', reason='memory is measured by /proc')]
pytest.importorskip('hypothesis', reason='fuzzing draws inputs from strategies')
pytest.importorskip('rosbags', reason='fuzzing writes recordings')

SCRIPT = Path(__file__).resolve().parents[1] / 'benchmark' / 'fuzz.py'
#: As few of each kind as would be noticed.
COUNT, SEED, FEWEST = 20_000, 1, 40


def fuzz(*arguments, **environment):
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True,
                          text=True, check=False, env={**os.environ, **environment})


@pytest.mark.timeout(900)
def test_nothing_crashes_hangs_or_grows(tmp_path):
    file = tmp_path / 'outcomes.json'
    done = fuzz('--count', str(COUNT), '--seed', str(SEED), '--json', str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    kinds = json.loads(file.read_text(encoding='utf-8'))
    assert sum(kind['inputs'] for kind in kinds) == COUNT
    for kind in kinds:
        # What is always refused, or never, tests nothing.
        assert kind['inputs'] >= FEWEST and kind['accepted'] and sum(kind['refused'].values())


#: The hang is planted into two inputs of each worker, three attempts each, the death into one of
#: all.
PLANTED = """
import os, time
import robot_dynamics.model.urdf as urdf
from robot_dynamics.errors import ModelError
whole = urdf.check_tree
hangs = iter(range(6))

def check_tree(tree):
    count = len(tree.links)
    if count == 4:
        raise KeyError('planted')
    if count == 2:
        raise ModelError('planted', subject='x')
    if count == 3 and next(hangs, None) is not None:
        end = time.process_time() + 2.1
        while time.process_time() < end: pass
    if count == 5 and not os.path.exists({dead!r}):
        open({dead!r}, 'w').close()
        os.abort()
    return whole(tree)

urdf.check_tree = check_tree
"""


@pytest.mark.timeout(900)
def test_faults_are_found(tmp_path):
    """A crash, a refusal without a remedy, a hang and a death, planted into the reader."""
    (tmp_path / 'sitecustomize.py').write_text(
        PLANTED.format(dead=str(tmp_path / 'dead')), encoding='utf-8')
    paths = os.pathsep.join([str(tmp_path), str(SCRIPT.parents[1]),
                             os.environ.get('PYTHONPATH', '')])
    done = fuzz('--count', '80', '--kinds', 'urdf', PYTHONPATH=paths)
    assert done.returncode == 1, done.stdout + done.stderr
    for fault in ("KeyError: 'planted'", 'no remedy: x planted', 'takes ', 'the worker dies'):
        assert fault in done.stdout, done.stdout
    assert '--repeat urdf:1:' in done.stdout


def test_an_input_can_be_repeated(tmp_path):
    files = [tmp_path / name for name in ('a', 'b', 'c')]
    for file, which in zip(files, ('dh:7:123', 'dh:7:123', 'dh:8:123'), strict=True):
        done = fuzz('--repeat', which, '--save', str(file))
        assert done.returncode == 0, done.stderr
    first, again, other = (file.read_bytes() for file in files)
    assert first == again != other
