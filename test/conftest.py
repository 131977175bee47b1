# SPDX-License-Identifier: Apache-2.0
"""Where the tests find their data."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No example has a deadline of its own: the first one may have to compile kernels, and CI
# shares its machine. pytest-timeout bounds whole tests.
settings.register_profile('robot_dynamics', deadline=None)
settings.load_profile('robot_dynamics')

REPOSITORY = Path(__file__).resolve().parent.parent


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


def pytest_terminal_summary(terminalreporter):
    """Print why a test was run once more; pytest-rerunfailures only names it."""
    for report in terminalreporter.stats.get('rerun', ()):
        terminalreporter.write_sep('_', f'first run of {report.nodeid}')
        terminalreporter.write_line(report.longreprtext)
