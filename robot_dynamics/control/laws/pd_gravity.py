# SPDX-License-Identifier: Apache-2.0
"""The baseline: the same feedback with the gravity of the model, and nothing learnt."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.laws.model_controller import ModelController
from robot_dynamics.model.arrays import FloatArray


class PDGravityController(ModelController):
    """tau = omega_D M0(q) (e_dot + lambda e) + K_P e + g0(q).

    Implements `robot_dynamics.control.feedback.protocol.TrackingController`. Its feedback is that
    of `robot_dynamics.control.laws.slotine_li.AdaptiveController`, to the last digit, so that
    the two differ by what is fed forward and learnt alone. Parameters are those of
    `ModelController`.
    """

    _user = 'PD control'

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Return the effort for this state and desired motion; see `TrackingController`."""
        self.feedback.note_errors(q, v, q_d, v_d, a_d)
        mass, self.tau_model = self.model.mass_and_gravity(q)
        self.feedback.answer_errors(mass)
        np.add(self.tau_model, self.tau_feedback, out=self._tau)
        return self._tau
