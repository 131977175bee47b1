# SPDX-License-Identifier: Apache-2.0
"""Time derivatives of the efforts along a motion, for `Dynamics`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.model.arrays import FloatArray

if TYPE_CHECKING:
    from robot_dynamics.dynamics.equations import Dynamics


class EffortRates:
    """How fast efforts change along a motion: what a motor behind a spring has to know."""

    def inverse_dynamics_rates(self: Dynamics, q: ArrayLike, v: ArrayLike, a: ArrayLike,
                               jerk: ArrayLike, snap: ArrayLike,
                               ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Efforts tau = M a + C v + g along a motion and two time derivatives of them.

        Parameters
        ----------
        q, v, a, jerk, snap : array_like, shape (..., n)
            Positions and their first four time derivatives.

        Returns
        -------
        tau, tau_dot, tau_ddot : ndarray, shape (..., n)
            N m, N m/s and N m/s^2, or N and so on.

        Raises
        ------
        ModelError
            When a joint has several coordinates.

        Notes
        -----
        ::

            tau'  = M j + M' a + C a + C' v + g'
            tau'' = M s + 2 M' j + M'' a + C j + 2 C' a + C'' v + g''

        The matrices with one dash are those of `time_derivatives` (Garofalo, Ott,
        Albu-Schaeffer, "On the closed form computation of the dynamic matrices and their
        differentiations", eq. 25), those with two the next of them; here they are not
        made, but efforts are differentiated as a whole, by the recursion of Newton and
        Euler with derivatives of every vector in it.
        """
        from robot_dynamics.dynamics.kernels.effort_rates import effort_rates
        self.robot.require_single_coordinates('a derivative of efforts by time')
        samples = self._gather(q=q, v=v, a=a, jerk=jerk, snap=snap)
        positions, *rates = samples.rows
        motion = np.stack([self._coupling.positions(positions),
                           *map(self._coupling.rates, rates)], axis=-1)
        tau = np.empty((len(motion), 3, self._rows))
        effort_rates.load()(self._model, np.ascontiguousarray(motion), tau)
        return tuple(self._coupling.efforts(tau[:, k]).reshape(*samples.shape, self.n)
                     for k in range(3))
