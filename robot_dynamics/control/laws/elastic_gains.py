# SPDX-License-Identifier: Apache-2.0
"""Gains of PD control with on-line gravity compensation for robots with elastic joints.

Stiffness. With alpha >= ||dg/dq||, the set point is the only equilibrium, and stable for every
damping, if::

    lambda_min([[K, -K], [-K, K + K_P]]) > alpha

Damping. The fastest motion of a sampled loop is that of a motor against its spring, with the
inertia 1/(B^-1)_ii of the motor when the links are free. It is smaller than that of the rotor,
because of the coupling. With an effort that is one period late and held for a period, this motion
is damped if::

    K_D,i < 2 / ((B^-1)_ii (T + delay))

This condition is necessary (and exact if the delay is zero or a whole period). The sufficient
check is the spectrum of the sampled loop with its delay at many poses.

Late efforts. Springs oscillate so fast that an effort a few milliseconds late excites them instead
of damping them, so the longest delay of a stable loop is reported. In the worst case a damping K
adds as much energy to a mode phi of the springs as it should remove. The arm's own damping D
removes more if::

    sum_i K_i phi_i^2 < phi^T D phi        i over the motors

References
----------
A. De Luca, B. Siciliano and L. Zollo, "PD control with on-line gravity compensation for robots
with elastic joints: Theory and experiments", Automatica 41(10), 2005.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import each_joint, not_negative, positive
from robot_dynamics.control.feedback.sampled_loop import closed_loop, spectral_radii
from robot_dynamics.dynamics.linearisation import LinearModel
from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.errors import ControlError
from robot_dynamics.model.arrays import FloatArray

#: Poses at which gains are checked.
POSES = 64
#: Poses at which they are designed.
_DESIGN_POSES = 6
#: Largest absolute position in poses of a joint without limits. rad or m.
_UNLIMITED = np.pi
#: Candidates of the design for the damping, as shares of its bound.
_SHARES = np.array([0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
#: Least stiffness over that of the softest spring.
_LEAST_SHARE = 0.02
#: First share, and the factor by which another one must speed up the slowest motion: a damping
#: without effect stays small, because states may be late.
_FIRST_SHARE, _WORTH_IT = 0.15, 0.001
#: Longest delay for which `ElasticLoop.patient_damping` is designed: slower motions are damped at
#: any delay. s.
_LATEST = 0.025
#: Least share of the damping that remains: an arm without damping of its own must stop, too.
_LEAST_PATIENT = 0.02
#: Longest delay checked, in periods; the steps are half periods.
_MOST_PERIODS = 15
#: Candidates of the design for the stiffness, over the least sufficient one; a stiffer joint needs
#: more damping than a slow loop can give.
_STIFFNESS_MARGINS = (1.1, 1.5, 2.2)


@dataclass(frozen=True, eq=False)
class ElasticPDGains:
    """K_P (N m/rad or N/m) and K_D (N m s/rad or N s/m) of each motor, shape (n,)."""

    stiffness: FloatArray
    damping: FloatArray


@dataclass(frozen=True, eq=False)
class ElasticGainReport:
    """Stability of a set of gains.

    Parameters
    ----------
    gravity_slope : float
        alpha, largest norm of dg/dq at the poses checked. N m/rad.
    spring_slope : float
        lambda_min of the stiffness condition. N m/rad.
    least_stiffness : float
        Common K_P of all motors at which that condition holds; inf if the springs are too soft. N
        m/rad.
    damping_bound : ndarray, shape (n,)
        2 / ((B^-1)_ii (T + delay)), the least over all poses. N m s/rad.
    radius : float
        Largest spectral radius of the sampled loop with its delay.
    slowest : float
        Longest time constant of that loop; inf where it is unstable. s.
    longest_delay : float
        Longest delay of a stable loop, up to 15 periods. s.
    """

    gravity_slope: float
    spring_slope: float
    least_stiffness: float
    damping_bound: FloatArray
    radius: float
    slowest: float
    longest_delay: float

    @property
    def is_stiff_enough(self) -> bool:
        """Whether the sufficient condition holds."""
        return self.spring_slope > self.gravity_slope

    def __str__(self) -> str:
        bounds = ', '.join(f'{bound:.3g}' for bound in self.damping_bound)
        condition = 'holds' if self.is_stiff_enough else \
            'does not hold: other equilibria are not excluded'
        return (f'stiffness: {self.spring_slope:.4g} > {self.gravity_slope:.4g} {condition}, '
                f'K_P from {self.least_stiffness:.4g} on is sufficient; damping below {bounds}; '
                f'sampled loop: spectral radius {self.radius:.4f}, slowest time constant '
                f'{self.slowest:.2g} s, stable up to {1e3 * self.longest_delay:.3g} ms late')


class _CachedModel(LinearModel):
    """A linear model that is discretised once for each period."""

    def discrete(self, period: float, order: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Phi and Gamma; see `LinearModel.discrete`."""
        known = self.__dict__.setdefault('known', {})
        if (period, order) not in known:
            known[period, order] = super().discrete(period, order)
        return known[period, order]


class ElasticLoop:
    """The sampled loop around a robot with elastic joints, at poses within its limits."""

    def __init__(self, dynamics: ElasticDynamics, *, period: float, delay: float, seed: int = 0):
        self.period = positive('period', period, 's')
        self.delay = not_negative('delay', delay, 's')
        self.dynamics = dynamics
        self.n = dynamics.n
        limits = dynamics.robot.links.limits
        lower = np.where(np.isfinite(limits.lower), limits.lower, -_UNLIMITED)
        upper = np.where(np.isfinite(limits.upper), limits.upper, _UNLIMITED)
        q = np.random.default_rng(seed).uniform(lower, upper, (POSES, self.n))
        links, stiffness = dynamics.links, dynamics.robot.joints.stiffness
        still = np.zeros_like(q)
        self.slopes = links.inverse_dynamics_derivatives(q, still, still)[0]
        g = links.gravity_torque(q)
        qbar = np.concatenate([q, q + g / stiffness], axis=1)
        rest = np.zeros_like(qbar)
        held = np.concatenate([still, g], axis=1)
        model = dynamics.linearise(qbar, rest, held)
        self.model = _CachedModel(model.A, np.ascontiguousarray(model.B[..., self.n:]))
        self._few = _CachedModel(self.model.A[:_DESIGN_POSES], self.model.B[:_DESIGN_POSES])
        inertia = dynamics.inertia_matrix(qbar)
        inverse = np.linalg.inv(inertia)
        self._modes = _spring_modes(inertia, dynamics)
        motor = np.arange(self.n, 2 * self.n)
        self.damping_bound = 2.0 / (inverse[:, motor, motor].max(axis=0)
                                    * (self.period + self.delay))
        self.gravity_slope = float(np.linalg.norm(self.slopes, ord=2, axis=(1, 2)).max())

    def radius(self, gains: ElasticPDGains, *, delay: float | None = None, quickly: bool = False
               ) -> float:
        """Largest spectral radius over the poses, or `quickly` a few; inf without a finite one."""
        n, model = self.n, self._few if quickly else self.model
        poses = len(model.A)
        K = np.zeros((poses, n, 4 * n))
        # u = ... - K_P dtheta - K_D dtheta' + dg/dq dtheta, gravity being that of the motors.
        K[:, :, n:2 * n] = np.diag(gains.stiffness) - self.slopes[:poses]
        K[:, :, 3 * n:] = np.diag(gains.damping)
        delay = self.delay if delay is None else delay
        radii = spectral_radii(closed_loop(model, K, self.period, delay))
        worst = float(np.max(radii))
        return worst if np.isfinite(worst) else np.inf

    def longest_delay(self, gains: ElasticPDGains) -> float:
        """Longest delay of a stable loop, in steps of half a period, s."""
        longest, step = 0.0, 0.5 * self.period
        for k in range(2 * _MOST_PERIODS + 1):
            if not self.radius(gains, delay=k * step, quickly=True) < 1.0:
                break
            longest = k * step
        return longest

    def patient_damping(self, gains: ElasticPDGains) -> FloatArray:
        """Damping that does not excite the springs at any delay, shape (n,), N m s/rad or N s/m.

        To first order in the damping, and for the modes that are faster than `_LATEST`.
        """
        shapes, own = self._modes
        taken = shapes**2 @ gains.damping
        return gains.damping * float(np.clip((own / taken).min(initial=1.0), _LEAST_PATIENT, 1.0))

    def report(self, gains: ElasticPDGains) -> ElasticGainReport:
        """Stability of gains."""
        radius = self.radius(gains)
        slowest = -self.period / np.log(radius) if 0.0 < radius < 1.0 else np.inf
        return ElasticGainReport(self.gravity_slope, self._spring_slope(gains.stiffness),
                                 self.least_stiffness(), self.damping_bound, radius, slowest,
                                 self.longest_delay(gains))

    def least_stiffness(self) -> float:
        """Least common K_P of all motors for the sufficient condition, N m/rad or N/m."""
        K, alpha = self.dynamics.robot.joints.stiffness, self.gravity_slope
        if np.any(K <= alpha):
            return np.inf
        # Joint by joint: (K - alpha) (K + K_P - alpha) > K^2.
        return float(np.max(K**2 / (K - alpha) - (K - alpha)))

    def design(self, stiffness: ArrayLike | None = None) -> ElasticPDGains:
        """Gains with the fastest decay of the slowest motion of the sampled loop; see `require`.

        The stiffness K_P, shape (n,) or (), is a little more than sufficient by default. Raises a
        ControlError if springs are too soft for a stiffness that is sufficient.
        """
        if stiffness is None:
            least = self.least_stiffness()
            if not np.isfinite(least):
                raise ControlError('are too soft for the sufficient condition of PD control with '
                                   'on-line gravity compensation', subject='springs',
                                   remedy='set gains.stiffness of the motors')
            # An arm without gravity load needs stiffness, too.
            least = max(least, _LEAST_SHARE * float(self.dynamics.robot.joints.stiffness.min()))
            tried = [self._damped(np.full(self.n, margin * least))
                     for margin in _STIFFNESS_MARGINS]
        else:
            tried = [self._damped(each_joint('stiffness', stiffness, self.n))]
        return min(tried, key=self.radius)

    def _damped(self, K_P: FloatArray) -> ElasticPDGains:
        """Stiffness with a damping chosen joint by joint."""
        shares = np.full(self.n, _FIRST_SHARE)
        best = self.radius(ElasticPDGains(K_P, shares * self.damping_bound), quickly=True)
        for _ in range(2):
            for joint in range(self.n):
                for share in _SHARES:
                    tried = shares.copy()
                    tried[joint] = share
                    radius = self.radius(ElasticPDGains(K_P, tried * self.damping_bound),
                                         quickly=True)
                    if radius < best - _WORTH_IT * max(1.0 - best, 0.0):
                        best, shares = radius, tried
        return ElasticPDGains(K_P, shares * self.damping_bound)

    def require(self, gains: ElasticPDGains) -> ElasticGainReport:
        """Report of gains that are stable.

        Raises a ControlError if a damping is outside its bound, or the sampled loop is not
        stable.
        """
        names = self.dynamics.robot.links.joint_names
        for name, damping, bound in zip(names, gains.damping, self.damping_bound, strict=True):
            if not 0.0 < damping < bound:
                raise ControlError(f'must have a damping between 0 and {bound:.4g}, the bound '
                                   f'for a period of {self.period:g} s and a delay of '
                                   f'{self.delay:g} s, got {damping:.4g}', subject=name,
                                   remedy='set it within these, or leave gains.damping empty')
        report = self.report(gains)
        if not report.radius < 1.0:
            raise ControlError(f'make the sampled loop unstable: spectral radius '
                               f'{report.radius:.4f}', subject='stiffness and damping',
                               remedy='lower the stiffness, or the period and the delay; '
                                      + str(report))
        return report

    def _spring_slope(self, K_P: FloatArray) -> float:
        """lambda_min([[K, -K], [-K, K + K_P]]), N m/rad or N/m."""
        K = np.diag(self.dynamics.robot.joints.stiffness)
        return float(np.linalg.eigvalsh(np.block([[K, -K], [-K, K + np.diag(K_P)]]))[0])


def _spring_modes(inertia: FloatArray, dynamics: ElasticDynamics) -> tuple[FloatArray, FloatArray]:
    """Fast modes of the springs: motor parts phi for phi^T B phi = 1, and own damping, 1/s.

    For B at k poses, shape (k, 2 n, 2 n), the result has shapes (m, n) and (m,). The own damping
    is phi^T D phi, D of the springs and the viscous friction of the motors.
    """
    joints, n = dynamics.robot.joints, dynamics.n

    def across(values: FloatArray) -> FloatArray:
        diagonal = np.diag(np.broadcast_to(values, n))
        return np.block([[diagonal, -diagonal], [-diagonal, diagonal]])

    D = across(joints.spring_damping)
    D[n:, n:] += np.diag(np.broadcast_to(joints.viscous, n))
    half = np.linalg.inv(np.linalg.cholesky(inertia))
    squares, vectors = np.linalg.eigh(half @ across(joints.stiffness) @ half.swapaxes(1, 2))
    shapes = half.swapaxes(1, 2) @ vectors
    own = np.einsum('kim,ij,kjm->km', shapes, D, shapes)
    fast = squares * _LATEST**2 > 1.0
    return shapes.swapaxes(1, 2)[fast][:, n:], own[fast]
