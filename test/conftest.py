# SPDX-License-Identifier: Apache-2.0
"""Data and helpers of all tests, and which of them need packages that are optional."""

import ctypes
import gc
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

try:
    from hypothesis import settings
except ImportError:
    pass
else:
    # Examples have no deadline of their own: the first one may have to compile kernels, and CI
    # shares its machine. pytest-timeout bounds whole tests.
    settings.register_profile('robot_dynamics', deadline=None)
    settings.load_profile('robot_dynamics')

# Many robots of the tests are made at random: their C would be compiled for one call each. Tests
# of the C ask for it (test/dynamics/native).
os.environ.setdefault('ROBOT_DYNAMICS_BACKEND', 'numba')

# Matrices of an arm are small: threads of OpenBLAS cost more than they save, and with a test on
# every core they wait for each other. Commands and the systems they start have one, too.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

REPOSITORY = Path(__file__).resolve().parent.parent

#: Packages that tests may import at their top although neither the package nor ROS needs them.
OPTIONAL = ('hypothesis', 'lz4', 'matplotlib', 'mujoco', 'pinocchio', 'rosbags', 'sympy',
            'urdf_parser_py', 'xacro')


#: Variable of the environment that marks all processes of a test run.
RUN = 'ROBOT_DYNAMICS_TEST_RUN'


def pytest_configure(config):
    """Start the process that ends what this run leaves behind, see `reaper.py`."""
    if sys.platform != 'linux' or config.option.collectonly or RUN in os.environ:
        return
    if os.environ.get('ROBOT_DYNAMICS_TEST_SCRIPT') == str(os.getppid()):
        # End as the script does that started this run (PR_SET_PDEATHSIG).
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    os.environ[RUN] = secrets.token_hex(16)
    subprocess.Popen([sys.executable, str(Path(__file__).with_name('reaper.py')),
                      str(os.getpid()), f'{RUN}={os.environ[RUN]}'], start_new_session=True,
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL)


class _Module(pytest.Module):
    """A test file: skipped where an optional package is missing, except in CI."""

    def collect(self):
        try:
            return list(super().collect())
        except self.CollectError as error:
            missing = getattr(error.__cause__, 'name', None) or ''
            if missing.partition('.')[0] not in OPTIONAL or os.environ.get('CI') == 'true':
                raise
            pytest.skip(f'needs the package {missing}', allow_module_level=True)


def pytest_pycollect_makemodule(module_path, parent):
    return _Module.from_parent(parent, path=module_path)


@pytest.fixture(scope='session')
def cases() -> Path:
    """Directory of the small inputs with known right answers that belong to the tests."""
    return REPOSITORY / 'test' / 'cases'


@pytest.fixture(scope='session')
def shared() -> Path:
    """Directory of reference data that lives beside the repository, not in it.

    Tests that need it skip on a machine without it, and fail in CI.
    """
    directory = REPOSITORY.parent / 'shared'
    if not directory.is_dir():
        message = f'the reference data {directory.name}/ is not beside the repository'
        if os.environ.get('CI') == 'true':
            pytest.fail(message)
        pytest.skip(message)
    return directory


#: Processor time of `_fixed_work` on the machine on which bounds of time were set. s.
_FIXED_WORK = 0.0094


def _fixed_work() -> float:
    """Return the processor time of some work that is always the same. s."""
    begin, total = time.process_time(), 0
    for k in range(300_000):
        total += k % 7
    return time.process_time() - begin


def slowness() -> float:
    """How many times slower than where bounds of time were set this machine is now; 1 or more."""
    return max(1.0, min(_fixed_work() for _ in range(3)) / _FIXED_WORK)


@pytest.fixture(name='slowness')
def fixture_of_slowness():
    """`slowness`, for tests that count microseconds themselves."""
    return slowness


@pytest.fixture
def within():
    """Call a function that has to come to an end within a processor time, and return its result.

    The bound is for a quiet machine: it grows with `slowness`, and what a noisy machine held up
    is called again, three times in all. What other tests left to the garbage collector is not
    the function's.
    """
    def call(seconds, function):
        times = []
        gc.disable()
        try:
            for _ in range(3):
                begin = time.process_time()
                result = function()
                times.append(time.process_time() - begin)
                if times[-1] < seconds * slowness():
                    return result
        finally:
            gc.enable()
        pytest.fail(f'took {min(times):.3f} s of the processor at best, not {seconds:g} s')
    return call


def pytest_terminal_summary(terminalreporter):
    """Print why a test was run once more; pytest-rerunfailures only names it."""
    for report in terminalreporter.stats.get('rerun', ()):
        terminalreporter.write_sep('_', f'first run of {report.nodeid}')
        terminalreporter.write_line(report.longreprtext)
