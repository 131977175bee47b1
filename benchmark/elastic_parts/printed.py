# SPDX-License-Identifier: Apache-2.0
"""What is printed in Zollo et al., section 6, and the identification as it is described there."""

from __future__ import annotations

import numpy as np
from scipy.signal import butter, sosfiltfilt

from robot_dynamics.dynamics.base_parameters import BaseParameters
from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.model.arrays import FloatArray

#: Table 1: real and estimated values, by the first parameter of each combination.
TABLE_1 = {
    'joint1/stiffness': ('K1', 3000.0, 3000.79), 'joint2/stiffness': ('K2', 1800.0, 1799.79),
    'link1/m': ('m1 - 4 Izz1 + 4 Izz2', -30.8333, -30.8352),
    'link2/m': ('m2 - 4 Izz2', 6.5667, 6.5670),
    'link1/mx': ('cx1 + 2 Izz1', 22.6333, 22.6345), 'link1/my': ('cy1', 0.0, -1.04e-5),
    'link2/mx': ('cx2 + 2 Izz2', -0.7833, -0.7835), 'link2/my': ('cy2', 0.0, 3.18e-6),
    'joint1/rotor_inertia': ('Ups1', 21.18, 21.1446),
    'joint2/rotor_inertia': ('Ups2', 12.10, 12.1036),
    'joint1/coulomb': ('fs1', 0.3302, 0.1016), 'joint2/coulomb': ('fs2', 0.3576, 0.1249),
    'joint1/viscous': ('fv1', 0.1434, 0.1288), 'joint2/viscous': ('fv2', 0.1391, 0.1389),
}
#: Normalised mean error of Table 1, and that without static friction.
ERROR_1, ERROR_1_WITHOUT = 0.103, 0.00862
#: Table 2: normalised mean error by signal-to-noise ratio.
TABLE_2 = {20: 3.84e3, 70: 44.5, 80: 4.73, 100: 0.157, 200: 0.111}
#: Tables 3 to 6: real and estimated values of pi_1 to pi_84, as printed.
TABLES_3_TO_6: tuple[tuple[float, float], ...] = (
    (2000, 1999.3), (2000, 1999.8), (2000, 1999.6), (2000, 1999.9), (2000, 1999.3),
    (2000, 2000.1), (0.10, 0.0985), (17.4, 17.41), (4.80, 4.7988), (0.82, 0.819), (0.34, 0.339),
    (0.09, 0.0889),
    (2000, -0.25e-4), (0, -0.22e-4), (0, -0.15e-5), (-6.3301, -6.33087), (0.1044, 0.10425),
    (3.9585, 3.95835), (-0.0974, -0.09769), (-0.0677, -0.0679), (0.336, 0.33587),
    (0, -0.00015), (0.0156, 0.015), (0, -0.12e-4), (0, -0.21e-4), (0, -0.15e-4), (0, -0.25e-4),
    (0, -0.18e-4), (0, -0.25e-4), (0.0029, 0.0026),
    (0, -0.15e-5), (0.35, 0.34), (0.2e-4, -0.0015), (0, -0.1e-4), (0, -0.1e-5), (0, -0.9e-5),
    (1.031, 1.016), (3.727, 3.714), (2.842, 2.838), (0.037, 0.033), (1.440, 1.435),
    (-0.023, -0.038),
    (0.090, 0.077), (0.111, 0.098), (0.015, 0.5e-3), (-0.0013, -0.0026), (0.0068, 0.0055),
    (0.0047, 0.0034), (0.0021, 0.0008), (0.0013, 0), (0.0021, 0.0008), (0, -0.0013),
    (0, -0.0013), (0, -0.0013),
    (0.3e-4, 0.1e-4), (0.4e-4, 0.9e-4), (0.3e-4, 0.9e-4), (0, -0.1e-4), (0, -0.1e-4),
    (0, -0.1e-5), (0.0002, -0.0011), (0.0002, -0.0011), (4e-5, 0.12e-4), (0, 0.13e-4),
    (0, -0.13e-4), (0, -0.11e-4),
    (0.0002, 0.0252), (0.0002, 0.0252), (0.0002, 0.0252), (3.3e-5, 0.25e-4), (3.3e-5, 0.25e-4),
    (3.0e-5, 0.15e-4), (0.395, 0.396), (0.126, 0.127), (0.132, 0.147),
    (0.0112, 0.0118), (0.0093, 0.0140), (0.0039, 0.0040), (0.0014, 0.0006), (0.0008, 0.0005),
    (0.0014, 0.0017), (7.12e-5, 2.01e-5), (8.26e-5, 5.95e-5), (3.67e-5, 1.42e-5),
)
#: Normalised mean error of the PUMA 560.
ERROR_PUMA = 0.123

_CUTOFF, _ORDER, _THRESHOLD = 20.0, 5, 0.5


def relative_errors(values: FloatArray, true: FloatArray) -> FloatArray:
    """Return errors over real values, and errors themselves where the real value is zero."""
    return np.abs(values - true) / np.where(np.abs(true) > 1e-12, np.abs(true), 1.0)


def noise_of(signals: FloatArray, ratio: float | None, random: np.random.Generator
             ) -> FloatArray:
    """Return white noise at a signal-to-noise ratio in dB of each column; none for None."""
    if ratio is None:
        return np.zeros_like(signals)
    size = np.sqrt(np.mean(signals**2, axis=0)) * 10.0 ** (-ratio / 20.0)
    return size * random.normal(size=signals.shape)


def as_printed(dynamics: ElasticDynamics, base: BaseParameters, q: FloatArray, effort: FloatArray,
               rate: float, *, ratio: float | None = None, seed: int = 0) -> FloatArray:
    """Return base parameters as section 6 describes it.

    A Butterworth filter of fifth order at 20 Hz, differences of neighbours, noise on
    positions, velocities and accelerations, measurements with a slow motor discarded, and
    the pseudo-inverse of eq. 42.

    Parameters
    ----------
    dynamics : ElasticDynamics
        The robot.
    base : BaseParameters
        Its base parameters.
    q, effort : ndarray, shape (N, 2 n) and (N, n)
        Measured.
    rate : float
        Samples a second, Hz.
    ratio : float, optional
        Signal-to-noise ratio, dB.
    seed : int
        Of the noise.
    """
    n = dynamics.n
    smooth = sosfiltfilt(butter(_ORDER, _CUTOFF, fs=rate, output='sos'), q, axis=0)
    v = np.gradient(smooth, 1.0 / rate, axis=0)
    a = np.gradient(v, 1.0 / rate, axis=0)
    random = np.random.default_rng(seed)
    smooth, v, a = (x + noise_of(x, ratio, random) for x in (smooth, v, a))
    inner = slice(100, -100)
    kept = np.all(np.abs(v[inner, n:]) >= _THRESHOLD, axis=1)
    Y = dynamics.regressor(smooth[inner][kept], v[inner][kept], a[inner][kept])
    W = Y.reshape(-1, Y.shape[-1])[:, base.independent]
    T = np.concatenate([np.zeros((len(Y), n)), effort[inner][kept]], axis=1).ravel()
    lengths = np.linalg.norm(W, axis=0)
    return np.linalg.lstsq(W / lengths, T, rcond=None)[0] / lengths
