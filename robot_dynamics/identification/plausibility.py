# SPDX-License-Identifier: Apache-2.0
"""What a model may predict well and still be dangerous for.

Efforts of the wrong sign that are nearly all friction are predicted well by a friction that
drives, and an arm whose friction is compensated by that runs away. A joint that stood still is
predicted well where it stood, and nothing is known of it elsewhere.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.errors import Finding, Severity
from robot_dynamics.identification.dataset import Dataset
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.observation_matrix import Stack
from robot_dynamics.identification.signals import SignalSettings

#: Friction that gives power drives: more than this part of the effort times the speed.
DRIVES = 0.05
#: A joint that moves by less stood still, rad or m.
STOOD = 0.02
#: Efforts that come later or earlier than positions by more are not of one clock, s.
APART = 0.02

# Terms that take no power from a joint on the whole.
_STORING = ('armature', 'offset')


def driving_friction(stack: Stack, model: Model) -> tuple[Finding, ...]:
    """Tell of joints whose identified friction drives them instead of braking.

    Parameters
    ----------
    stack : Stack
        Equations of the recording, with the features of the model among its own.
    model : Model
        What was identified.

    Returns
    -------
    tuple of Finding
        An error for each joint with mean(f v) < -`DRIVES` rms(effort) rms(v): friction takes
        power from a joint, whatever its law.
    """
    speed = stack.speeds_of_rows()
    numbers = {feature: stack.first_feature + k for k, feature in enumerate(stack.features)}
    values = {numbers[feature]: value for feature, value in zip(
        model.features, model.friction, strict=True) if feature.term not in _STORING}
    found = []
    for j, rows in enumerate(stack.joints):
        used = stack.used[:, j]
        x = np.array([values.get(int(k), 0.0) for k in rows.columns])
        v, y = speed[used, j], rows.y[used]
        power = float(np.mean((rows.A[used] @ x) * v)) if np.any(used) else 0.0
        size = float(np.sqrt(np.mean(y ** 2) * np.mean(v ** 2))) if np.any(used) else 0.0
        if power < -DRIVES * size:
            found.append(Finding(
                Severity.ERROR, model.robot.joint_names[j], 'its friction drives it, instead of '
                'braking it: efforts and positions have different signs',
                'set effort.sign to -1 for it, or position.scale'))
    return tuple(found)


def still_joints(dataset: Dataset) -> tuple[str, ...]:
    """Return the joints that stood still all the time."""
    low, high = (np.array([size(s.position, axis=0) for s in dataset.segments])
                 for size in (np.min, np.max))
    moved = np.max(high, axis=0) - np.min(low, axis=0)
    return tuple(name for name, one in zip(dataset.joint_names, moved, strict=True)
                 if one < STOOD)


def late_efforts(signals: SignalSettings) -> tuple[Finding, ...]:
    """Tell of efforts that come so much later or earlier than positions that clocks differ."""
    if abs(signals.lag) <= APART:
        return ()
    return (Finding(Severity.WARNING, 'effort',
                    f'comes {1e3 * abs(signals.lag):.0f} ms '
                    f'{"after" if signals.lag > 0.0 else "before"} the positions; that was taken '
                    'out', 'stamp both by one clock: a controller would feel it as a delay'),)
