# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from robot_dynamics.control.states.reported_effort import EffortKind, ReportedEffort
from robot_dynamics.errors import ParameterError

GRAVITY = np.array([20.0, 3.0])
Q = np.array([0.3, -0.2])
#: Torque of the joints in every test below.
TORQUE = np.array([26.0, -1.0])


def gravity(q):
    np.testing.assert_array_equal(q, Q)
    return GRAVITY


@pytest.mark.parametrize(('kind', 'scale', 'reported'), [
    ('torque', None, TORQUE),
    ('torque', [-1.0, 1.0], [-26.0, -1.0]),
    ('torque', [1e-3, 1e-3], [26000.0, -1000.0]),
    ('current', [13.0, 10.0], [2.0, -0.1]),
    ('gravity_compensated', None, [6.0, -4.0]),
    ('gravity_compensated', [2.0, 2.0], [3.0, -2.0]),
])
@pytest.mark.parametrize('hardware_gravity', [False, True])
def test_what_drivers_report_as_joint_efforts(kind, scale, reported, hardware_gravity):
    effort = ReportedEffort(EffortKind(kind), scale, gravity, hardware_gravity=hardware_gravity)
    np.testing.assert_allclose(effort.joint_effort(Q, np.array(reported)), TORQUE)
    # Hardware that carries the arm was sent that much less.
    np.testing.assert_allclose(effort.as_sent(Q, np.array(reported)),
                               TORQUE - GRAVITY if hardware_gravity else TORQUE)


def test_nothing_is_made_of_what_is_nothing():
    effort = ReportedEffort(EffortKind.NONE, None, gravity)
    assert np.isnan(effort.joint_effort(Q, TORQUE)).all()
    assert np.isnan(effort.as_sent(Q, TORQUE)).all()
    missing = np.array([math.nan, 1.0])
    kept = ReportedEffort(EffortKind.GRAVITY_COMPENSATED, None, gravity).joint_effort(Q, missing)
    np.testing.assert_array_equal(kept, [math.nan, 4.0])


def test_torques_can_be_compared_with_commands_and_currents_cannot():
    comparable = {kind for kind in EffortKind
                  if ReportedEffort(kind, [1.0, 1.0], gravity).comparable}
    assert comparable == {EffortKind.TORQUE, EffortKind.GRAVITY_COMPENSATED}


def test_a_current_needs_a_scale():
    with pytest.raises(ParameterError, match='effort_scale') as error:
        ReportedEffort(EffortKind.CURRENT, None, gravity)
    assert 'N m per A' in error.value.remedy and 'none' in error.value.remedy


@pytest.mark.parametrize('bad', [0.0, math.nan, math.inf])
def test_a_scale_that_scales_nothing_is_refused(bad):
    with pytest.raises(ParameterError, match='effort_scale'):
        ReportedEffort(EffortKind.TORQUE, [1.0, bad], gravity)
