# SPDX-License-Identifier: Apache-2.0
"""Stand-in arms of the fault matrix: rigid bodies in MuJoCo with friction, without hard stops."""

from __future__ import annotations

import re
import sysconfig
from dataclasses import replace
from pathlib import Path

import numpy as np

from robot_dynamics.control.feedback.drives import with_rotors
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.arrays import BoolArray, FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.simulation.plant import Plant

DESCRIPTIONS = Path(sysconfig.get_path('purelib'),
                    'cmeel.prefix/share/example-robot-data/robots')
#: URDF of each arm, its flange, a pose away from its limits, and the joint at fault: one that
#: carries gravity.
ARMS: dict[str, tuple[str, str, tuple[float, ...], int]] = {
    'arm7': ('arm7', 'flange', (0.0, 0.4, 0.0, -1.5, 0.0, 1.6, 0.0), 1),
    'ur5': ('ur_description/urdf/ur5_joint_limited_robot.urdf', 'tool0',
            (0.0, -1.0, 1.2, -0.6, 0.8, 0.0), 1),
    'panda': ('panda_description/urdf/panda.urdf', 'panda_hand',
              (0.0, -0.3, 0.0, -1.8, 0.0, 1.6, 0.7), 1),
}
#: Ending of the names of arms with the rotors that nodes assume, in the arm and in the model.
ROTORS = ' with rotors'
ARMS |= {name + ROTORS: arm for name, arm in ARMS.items()}
#: Coulomb friction as a share of the effort limits, and viscous friction at the speed limit.
COULOMB_SHARE, VISCOUS_SHARE = 0.004, 0.02
TIMESTEP = 0.0005
#: Damping of a closed brake. N m s/rad.
BRAKE = 1e6


def load_arm(name: str) -> Robot:
    """Model of an arm; the fingers of a hand are fixed."""
    if name.endswith(ROTORS):
        return with_rotors(load_arm(name.removesuffix(ROTORS)))
    source = ARMS[name][0]
    if name == 'arm7':
        return Robot.from_urdf(source)
    text = (DESCRIPTIONS / source).read_text()
    text = re.sub(r'<mimic\s[^>]*>', '', text)
    return Robot.from_urdf(re.sub(r'(<joint name="panda_finger_joint\d" )type="prismatic"',
                                  r'\1type="fixed"', text))


class StandIn:
    """An arm that applies efforts, holds itself until the first, and can have brakes closed.

    `q`, `v` and `effort`, shape (n,), are its motion and the effort applied last.
    """

    def __init__(self, model: Robot, flange: str, q: FloatArray):
        limits = model.limits
        friction = COULOMB_SHARE * limits.effort
        self._damping = VISCOUS_SHARE * limits.effort / limits.velocity
        self._plant = Plant(replace(model, friction=friction, damping=self._damping),
                            timestep=TIMESTEP, joint_limits=False)
        self._dynamics, self._flange = Dynamics(model), flange
        self._plant.reset(q)
        self._begun = False

    @property
    def q(self) -> FloatArray:
        """Positions, a copy. rad."""
        return self._plant.q

    @property
    def v(self) -> FloatArray:
        """Velocities, a copy. rad/s."""
        return self._plant.v

    @property
    def tip_speed(self) -> float:
        """Speed of the flange. m/s."""
        twist = self._dynamics.jacobian(self.q, self._flange) @ self.v
        return float(np.linalg.norm(twist[:3]))

    @property
    def kinetic_energy(self) -> float:
        """Kinetic energy of the links. J."""
        return float(0.5 * self.v @ self._dynamics.mass_matrix(self.q) @ self.v)

    def advance(self, seconds: float, effort: FloatArray | None, blocked: BoolArray) -> None:
        """Simulate some time with an effort; None for an arm that nobody commands yet."""
        if effort is not None:
            self._begun = True
            self._plant.set_effort(effort)
        if not self._begun:
            return
        # A brake is a damping that nothing overcomes; MuJoCo integrates it implicitly.
        self._plant._model.dof_damping[self._plant._dof] = np.where(blocked, BRAKE, self._damping)
        self._plant.advance(seconds)
