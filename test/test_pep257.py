# SPDX-License-Identifier: Apache-2.0
"""pydocstyle of ROS 2, for build farms; ./test.sh runs the same rules with ruff."""

from pathlib import Path

import pytest

main = pytest.importorskip('ament_pep257.main', reason='ament_pep257 comes with ROS 2')
ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_pep257():
    # D401 and D403 reject a noun and the spelling of LaTeX at the beginning of a sentence.
    assert main.main(argv=[str(ROOT / 'robot_dynamics'), str(ROOT / 'setup.py'),
                           '--convention', 'numpy',
                           '--add-ignore', 'D105', 'D107', 'D401', 'D403']) == 0
