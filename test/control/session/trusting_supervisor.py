# SPDX-License-Identifier: Apache-2.0
"""A supervisor for tests of other guards."""

from robot_dynamics.control.session.supervisor import MotionSupervisor


class TrustingSupervisor(MotionSupervisor):
    """Finds nothing: for tests of other guards, whose arms stand still or move as no arm does."""

    def check_state(self, q, v, stamp):
        self.stamp = stamp
        self.slope[:] = v
        self.speed[:] = abs(v)

    def check_following(self, q, q_d, effort, dt):
        pass

    def check_obedience(self, q, v, dt, effort):
        pass
