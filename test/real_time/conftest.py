# SPDX-License-Identifier: Apache-2.0
"""Programs of controllers are compiled once."""

import pytest


@pytest.fixture(scope='session')
def programs(tmp_path_factory):
    """Folder of compiled programs."""
    return tmp_path_factory.mktemp('programs')
