# SPDX-License-Identifier: Apache-2.0
"""flake8 of ROS 2, for build farms; ./test.sh runs ruff."""

from pathlib import Path

import pytest

main = pytest.importorskip('ament_flake8.main', reason='ament_flake8 comes with ROS 2')
ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_flake8():
    status, errors = main.main_with_errors(argv=[
        '--config', str(ROOT / '.ci' / 'flake8.ini'),
        *(str(ROOT / name) for name in ('robot_dynamics', 'launch', 'examples', 'setup.py'))])
    assert status == 0, '\n'.join(errors)
