# SPDX-License-Identifier: Apache-2.0
"""How stiff a feedback may be, by the inertia that it moves and by how late it is.

To first order a joint under tau_fb = omega_D M s + K_P e obeys, with dead time tau,
``(omega_D p + omega_D lambda + kappa) / p^2 exp(-p tau)``, kappa an eigenvalue of M^-1 K_P:
K_P makes position errors decay as if lambda were larger by kappa / omega_D. The lightest
motion of the arm has the largest kappa, and a stiffness that is gentle to a shoulder makes a
wrist swing with all it has.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.adaptation.metric import mass_matrices, typical_motions
from robot_dynamics.control.checks import exceeds, rounded_down
from robot_dynamics.control.feedback.gains import RATE_MARGIN, FeedbackGains, dead_time
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ControlError
from robot_dynamics.model.arrays import FloatArray


def check_stiffness(dynamics: Dynamics, gains: FeedbackGains, *, period: float,
                    delay: float) -> None:
    """Refuse a stiffness K_P that is unstable at a sampling period and delay.

    Parameters
    ----------
    dynamics : Dynamics
        Equations of the arm, of which the mass matrix is asked all over the joint ranges.
    gains : FeedbackGains
        Gains that `robot_dynamics.control.feedback.gains.check_gains` has passed.
    period, delay : float
        Sampling period, and time from the measurement of a state to the torque that
        answers it. s.

    Raises
    ------
    ControlError
        Names the joint of the lightest motion, and the largest stiffness there may be.
    InertiaError
        Where some motion of the model moves no mass.
    """
    # Asked of every model: a feedback weighted by M leaves a joint alone that moves no mass.
    inertia, joint = lightest_motion(dynamics)
    if gains.stiffness == 0.0:
        return
    largest = RATE_MARGIN / dead_time(period, delay) - gains.error_rate
    most = max(largest * gains.bandwidth * inertia, 0.0)
    if exceeds(gains.stiffness, most):
        name = dynamics.robot.joint_names[joint]
        raise ControlError(f'is {gains.stiffness:g} N m/rad or N/m, too much for {name}, which '
                           f'moves {inertia:.3g} kg m^2 or kg, at a period of {1e3 * period:g} ms '
                           f'and a delay of {1e3 * delay:g} ms', subject='stiffness',
                           remedy=f'set it to {rounded_down(most):g} or less; to be stiffer, '
                                  'raise bandwidth and error_rate, which follow the inertia of '
                                  'each joint')


def lightest_motion(dynamics: Dynamics) -> tuple[float, int]:
    """Return the least eigenvalue of M over the joint ranges, and the joint that moves most.

    kg m^2 or kg.
    """
    mass: FloatArray = mass_matrices(dynamics, typical_motions(dynamics.robot).q)
    eigenvalues, vectors = np.linalg.eigh(mass)
    posture = int(np.argmin(eigenvalues[:, 0]))
    return (float(eigenvalues[posture, 0]), int(np.argmax(np.abs(vectors[posture, :, 0]))))

