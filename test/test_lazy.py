# SPDX-License-Identifier: Apache-2.0
import importlib
import subprocess
import sys

import pytest

PACKAGES = ['robot_dynamics', *(f'robot_dynamics.{room}' for room in (
    'model', 'closed_form', 'elastic', 'control', 'identification', 'simulation', 'report',
    'bringup'))]


@pytest.mark.parametrize('name', PACKAGES)
def test_every_public_name_is_imported_on_use(name):
    package = importlib.import_module(name)
    assert all(getattr(package, public) is not None for public in package.__all__)
    with pytest.raises(AttributeError, match=f"'{name}' has no attribute 'missing'"):
        _ = package.missing


def test_one_name_costs_only_its_own_module():
    code = ('import sys, robot_dynamics\nrobot_dynamics.ModelError\n'
            "print('numpy' in sys.modules, 'robot_dynamics.model' in sys.modules)")
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ['False', 'False']
