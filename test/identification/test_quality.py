# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.identification.quality import FAIR_ERROR, GOOD_ERROR, JOINT, grade
from robot_dynamics.identification.result import Residuals


@pytest.mark.parametrize(('total', 'joints', 'verdict'), [
    (0.03, [0.02, 0.05], 'good'), (0.03, [0.02, 0.21], 'fair'), (0.03, [0.02, 0.9], 'poor'),
    (GOOD_ERROR, [JOINT * GOOD_ERROR], 'good'), (0.11, [0.1, 0.1], 'fair'),
    (FAIR_ERROR, [JOINT * FAIR_ERROR], 'fair'), (0.26, [0.1, 0.1], 'poor'),
    (0.03, [np.nan, 0.1], 'poor'), (np.nan, [0.1], 'poor')])
def test_one_joint_that_is_far_off_is_no_good_model(total, joints, verdict):
    assert grade(total, np.array(joints)) == verdict


def test_the_worst_joint_is_that_of_the_largest_relative_error():
    residuals = Residuals.of(np.array([4.0, 1.0]), np.array([1e4, 20.0]), np.array([10.0, 10.0]))
    assert residuals.worst == 1
    assert residuals.total < 0.03 and residuals.relative[1] > 0.2
