# SPDX-License-Identifier: Apache-2.0
"""The parameter file that tells controllers what the arm carries."""

from __future__ import annotations

import numpy as np
import yaml

from robot_dynamics.identification.payload import Payload
from robot_dynamics.model.inertia import check_body, com_from_parameters

#: Name of the file.
PAYLOAD = 'payload.yaml'

_HEAD = """\
# An identified payload, for every controller: --ros-args --params-file payload.yaml. It is
# carried when the service ~/carry_payload says so, or from the start with payload.carried.
"""


def payload_file(payload: Payload) -> str:
    """Return a ROS 2 parameter file with a payload.

    Parameters
    ----------
    payload : Payload
        The payload; mass, centre and, where the motion tells it and there can be such a body,
        inertia are written. It counts as a point otherwise.

    Returns
    -------
    str
        YAML.
    """
    values = {'payload.mass': float(payload.mass),
              'payload.com': [float(x) for x in payload.com], 'payload.frame': payload.body}
    if np.isfinite(payload.deviations).all() and check_body(
            payload.parameters).is_consistent:
        _, _, J = com_from_parameters(payload.parameters)
        values['payload.inertia'] = [float(J[i, j]) for i in range(3) for j in range(i, 3)]
    return _HEAD + yaml.safe_dump({'/**': {'ros__parameters': values}}, allow_unicode=True,
                                  width=float('inf'), sort_keys=False)


def payload_text(payload: Payload) -> str:
    """Return one line on a payload, for a terminal."""
    mass, x, y, z = payload.deviations[:4]
    centre = ', '.join(f'{value:.3f}' for value in payload.com)
    spread = ', '.join(f'{value / payload.mass:.3f}' for value in (x, y, z))
    return (f'payload on {payload.body}: {payload.mass:.3f} +- {mass:.3f} kg, centre at '
            f'({centre}) +- ({spread}) m')
