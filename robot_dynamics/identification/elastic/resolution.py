# SPDX-License-Identifier: Apache-2.0
"""Whether encoders can tell that a spring gives way."""

from __future__ import annotations

import numpy as np

from robot_dynamics.identification.elastic.dataset import ElasticDataset
from robot_dynamics.identification.signals.filters import low_pass
from robot_dynamics.identification.signals.motion import WIDER
from robot_dynamics.identification.signals.resample import evenly

#: A deflection counts as seen from so many times its noise on.
SEEN = 3.0


def unseen_springs(data: ElasticDataset, cutoff: float) -> tuple[int, ...]:
    """Return the joints whose springs give way less than their encoders can tell.

    The stiffness of such a spring, estimated nevertheless, comes out near zero with a small
    deviation: its column holds nothing but noise, and noise explains nothing.

    Parameters
    ----------
    data : ElasticDataset
        The log.
    cutoff : float
        Below which the motion is, Hz. The noise of q - theta below it is that of as wide a
        band beyond the motion.

    Returns
    -------
    tuple of int
        Numbers of joints with both encoders.
    """
    encoders, dataset = data.encoders, data.dataset
    rate = 1.0 / dataset.period
    beyond = WIDER * cutoff
    if beyond >= 0.25 * rate:
        return ()
    measured = encoders.measured.tolist()
    out = []
    for joint in range(encoders.n):
        if not (encoders.links[joint] and encoders.motors[joint]):
            continue
        link, motor = measured.index(joint), measured.index(joint + encoders.n)
        seen = noise = count = 0.0
        for one in dataset.segments:
            position = evenly(one.time, one.position[:, [link, motor]], dataset.period)
            across = position[:, :1] - position[:, 1:]
            seen += float(np.sum((low_pass(across, rate, cutoff) - across.mean()) ** 2))
            noise += float(np.sum((across - low_pass(across, rate, beyond)) ** 2))
            count += len(across)
        share = cutoff / (0.5 * rate - beyond)
        if seen < SEEN**2 * noise * share:
            out.append(joint)
    return tuple(out)
