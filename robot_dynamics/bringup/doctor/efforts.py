# SPDX-License-Identifier: Apache-2.0
"""What reported efforts look like beside gravity, and what the controller was told they are."""

from __future__ import annotations

from enum import Enum

import numpy as np

from robot_dynamics.bringup.doctor.findings import Remark, error, note, ok, warning
from robot_dynamics.bringup.doctor.replay import Replay
from robot_dynamics.bringup.doctor.requirements import Wishes
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot

#: Efforts of gravity below which nothing can be told from them, as a share of the limits.
_FAINT = 0.01
#: Efforts below this share of gravity are as good as none.
_NOTHING = 0.05
#: How much of efforts may be left unexplained by a multiple of gravity.
_UNEXPLAINED = 0.4
#: Multiples of gravity that still are torques: no model is exact, and payloads come on top.
_TORQUE = (0.5, 2.0)


class Looks(Enum):
    """What efforts look like."""

    UNKNOWN = 'nothing that can be told'
    NOTHING = 'nothing, though gravity asks for something'
    TORQUE = 'joint torques'
    SCALED = 'joint torques by another scale'
    REVERSED = 'joint torques of the other sign'
    OTHER = 'neither joint torques nor nothing'


def looks_of_efforts(robot: Robot, replayed: Replay) -> tuple[Looks, float]:
    """Return what efforts look like, and what multiple of gravity they are.

    Parameters
    ----------
    robot : Robot
        The model.
    replayed : Replay
        Complete states.
    """
    told = ~np.isnan(replayed.effort).any(axis=1)
    if not told.any():
        return Looks.UNKNOWN, np.nan
    effort = replayed.effort[told]
    gravity = Dynamics(robot).gravity_torque(replayed.q[told])
    size = float(np.linalg.norm(gravity))
    scale = np.where(np.isfinite(robot.limits.effort), robot.limits.effort, 0.0)
    if size <= max(_FAINT * float(np.linalg.norm(scale)) * np.sqrt(len(effort)), 1e-6):
        return Looks.UNKNOWN, np.nan
    if np.linalg.norm(effort) < _NOTHING * size:
        return Looks.NOTHING, 0.0
    multiple = float(np.sum(effort * gravity) / size**2)
    left = float(np.linalg.norm(effort - multiple * gravity) / np.linalg.norm(effort))
    if left > _UNEXPLAINED:
        return Looks.OTHER, multiple
    if multiple < 0.0:
        return Looks.REVERSED, multiple
    return (Looks.TORQUE if _TORQUE[0] <= multiple <= _TORQUE[1] else Looks.SCALED), multiple


def judge_efforts(topic: str, robot: Robot, replayed: Replay, wishes: Wishes | None
                  ) -> list[Remark]:
    """Compare what efforts look like with what the controller takes them for.

    Parameters
    ----------
    topic : str
        Topic of the states.
    robot, replayed
        Model and complete states.
    wishes : Wishes, optional
        What the controller was told; None where there is none.
    """
    looks, multiple = looks_of_efforts(robot, replayed)
    if looks is Looks.UNKNOWN:
        return []
    if wishes is None:
        return [note(topic, f'efforts look like {looks.value}' + _multiple(looks, multiple),
                     _ADVICE.get(looks, ''))]
    kind = wishes.effort_kind
    if kind == 'torque' and looks is Looks.NOTHING and not wishes.hardware_gravity_compensation:
        return [error(topic, 'efforts are zero and the controller takes them for torques: it '
                      'never sees that the arm obeys', _ADVICE[looks])]
    if kind == 'torque' and looks in (Looks.SCALED, Looks.REVERSED):
        return [warning(topic, f'efforts look like {looks.value}{_multiple(looks, multiple)}, and '
                        'the controller takes them for torques', _ADVICE[looks])]
    if kind == 'gravity_compensated' and looks is Looks.TORQUE:
        return [warning(topic, 'efforts look like joint torques with gravity, and the controller '
                        'takes them for what comes on top of it', 'set effort_kind to torque')]
    if kind == 'none' and looks is Looks.TORQUE:
        return [note(topic, 'efforts look like joint torques, and the controller does not use '
                     'them', 'with effort_kind torque it would see that the arm obeys')]
    if kind == 'torque' and looks is Looks.TORQUE:
        return [ok(topic, f'efforts are joint torques: {multiple:.2f} times the gravity of the '
                          'model')]
    return []


_ADVICE = {
    Looks.NOTHING: 'set effort_kind to none where the driver measures no effort, to '
                   'gravity_compensated where it tells what comes on top of gravity',
    Looks.TORQUE: 'effort_kind torque is right',
    Looks.SCALED: 'currents? set effort_kind and effort_scale; or check the masses of the '
                  'description',
    Looks.REVERSED: 'set effort_scale to -1, or check gravity and the joint axes',
}


def _multiple(looks: Looks, multiple: float) -> str:
    return f' ({multiple:.3g} times gravity)' \
        if looks in (Looks.TORQUE, Looks.SCALED, Looks.REVERSED) else ''
