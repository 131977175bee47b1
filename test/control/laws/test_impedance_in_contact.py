# SPDX-License-Identifier: Apache-2.0
"""Cartesian impedance on a simulated arm with the delay of a real one; docs/impedance.md."""

import pytest

pytest.importorskip('mujoco')

from benchmark.impedance import contact, push, stiffness_errors


def test_stiffness_at_rest_is_as_set():
    along, _, _ = stiffness_errors('arm7', 1000.0)
    assert along < 0.05


@pytest.mark.parametrize('stiffness', [300.0, 2000.0])
def test_touches_a_table_without_bouncing_and_presses_with_its_stiffness(stiffness):
    touched = contact('arm7', stiffness)
    assert touched.bounce < 1e-4
    assert touched.settled < 0.1
    assert touched.force == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize('stiffness', [300.0, 2000.0])
def test_a_push_dies_out(stiffness):
    fast, slow = push('arm7', stiffness)
    assert fast > 0.1 and slow < 0.01 * fast
