# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys

import pytest

SAID = ('import os, sys, {first}; print(os.environ["OPENBLAS_NUM_THREADS"], '
        '"numpy" in sys.modules)')


def said(first: str, **given: str) -> list[str]:
    environment = {name: value for name, value in os.environ.items()
                   if name not in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS')}
    return subprocess.run([sys.executable, '-c', SAID.format(first=first)], text=True, check=True,
                          stdout=subprocess.PIPE, env={**environment, **given}).stdout.split()


@pytest.mark.parametrize(('given', 'wanted'), [({}, '1'), ({'OPENBLAS_NUM_THREADS': '2'}, '2')])
def test_linear_algebra_has_one_thread_unless_somebody_says_otherwise(given, wanted):
    assert said('robot_dynamics.bringup.cli', **given)[0] == wanted
    # Early enough: what has been loaded does not look again.
    assert said('robot_dynamics.bringup.blas_threads', **given) == [wanted, 'False']
