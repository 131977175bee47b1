# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import SimpleNamespace

import pytest

from robot_dynamics.control.motion.trajectory_points import PointArrays, TrajectoryPoint
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.nodes.controller import references
from robot_dynamics.nodes.controller.references import FINISH, References
from robot_dynamics.nodes.ros.diagnostics import Level


class Fake:
    """A node, its logger and publisher, and a session."""

    def __init__(self):
        self.warnings: list[str] = []
        self.parameters = SimpleNamespace(values={
            'max_trajectory_points': 10, 'rejected_trajectory': FINISH})
        self.fast = SimpleNamespace(
            subscribe=lambda *given, **named: SimpleNamespace(topic_name='/reference'))
        self.mode = Mode.TRACKING

    def advertise(self, *given):
        return SimpleNamespace(publish=lambda message: None)

    def get_logger(self):
        return SimpleNamespace(warning=lambda text, **named: self.warnings.append(text))

    def count_publishers(self, topic):
        return 1

    def accept_trajectory(self, *given, **named):
        return 0.0


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(time=100.0)
    monkeypatch.setattr(references.time, 'monotonic', lambda: now.time)
    return now


def test_a_stream_that_goes_on_after_a_switch_is_no_warning(clock):
    fake = Fake()
    followed = References(fake, fake, SimpleNamespace(seconds=float), lambda length: None)
    points = PointArrays.of([TrajectoryPoint(1.0, [0.0])], 1)
    followed.follow(['a'], points, 0, '/reference')
    fake.mode = Mode.STOPPED
    clock.time += 0.3
    followed.reject(TrajectoryError('cannot be followed', subject='trajectory'))
    assert fake.warnings == [] and followed.status().level is Level.OK
    clock.time += 0.3
    followed.reject(TrajectoryError('cannot be followed', subject='trajectory'))
    assert fake.warnings == ['trajectory rejected: trajectory cannot be followed']
    assert followed.status().level is Level.WARN


def test_one_that_is_wrong_is_a_warning_at_once(clock):
    fake = Fake()
    followed = References(fake, fake, SimpleNamespace(seconds=float), lambda length: None)
    followed.follow(['a'], PointArrays.of([TrajectoryPoint(1.0, [0.0])], 1), 0, '/reference')
    followed.reject(TrajectoryError('is too fast', subject='a'))
    assert fake.warnings == ['trajectory rejected: a is too fast; the motion before is finished']
