# SPDX-License-Identifier: Apache-2.0
"""Windows fill one by one, see an acceleration, and forget it with a gap."""

from types import SimpleNamespace

import numpy as np

from robot_dynamics.control.faults.fault_detector import UnexplainedAcceleration
from robot_dynamics.control.faults.motion_predictor import MotionFilter

FILTER = MotionFilter(0.002)


def test_windows_fill_and_forget():
    predictor = SimpleNamespace(filter=FILTER, innovation=np.zeros((2, 2)),
                                velocity=np.array([0.5, -0.01]))
    unexplained = UnexplainedAcceleration(predictor)
    # Velocities that are surprising in the newest state alone.
    for k in range(1, unexplained.size + 1):
        predictor.innovation[1] = (0.02, 0.0)
        unexplained.update(counts=True)
        filled = unexplained.acceleration[:, 0] != 0.0
        np.testing.assert_array_equal(filled, FILTER.lengths <= k)
        assert unexplained.count == k
        sums = [0.02 * weights[:length, 1].sum() for weights, length in
                zip(FILTER.weights, FILTER.lengths, strict=True)]
        np.testing.assert_allclose(unexplained.acceleration[filled, 0], np.array(sums)[filled])
    assert not np.any(unexplained.acceleration[:, 1])
    assert unexplained.slow.tolist() == [0, 1]
    unexplained.update(counts=True)
    assert unexplained.count == unexplained.size
    unexplained.update(counts=False)
    assert unexplained.count == 0 and not np.any(unexplained.acceleration)
