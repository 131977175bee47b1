# SPDX-License-Identifier: Apache-2.0
"""The arm as it really is, rigid or with elastic joints, as the parameters describe it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.elastic.friction import StribeckFriction
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.ros.parameters import Parameter, Values, per_joint
from robot_dynamics.simulation.elastic_plant import ElasticPlant
from robot_dynamics.simulation.faulty_plant import FaultyPlant

#: How a plant differs from its description.
PLANT_PARAMETERS = (
    Parameter('initial_position', (), 'Joint positions at the start; empty means zero, or the '
              'nearest that limits allow.', 'rad or m', -1e3, 1e3, read_only=True),
    Parameter('payload_mass', 0.0, 'Mass the arm carries and its description does not know of.',
              'kg', 0.0, 1e3, read_only=True),
    Parameter('payload_com', (0.0, 0.0, 0.0), 'Centre of the payload in its frame.', 'm', -10.0,
              10.0, read_only=True),
    Parameter('payload_frame', '', 'Link or frame that carries the payload; empty means the last '
              'link.', read_only=True),
    Parameter('mass_scale', 1.0, 'Masses and inertias of the arm over those of its description.',
              low=0.01, high=100.0, read_only=True),
    Parameter('viscous_friction', (), 'Viscous friction of the joints, or of the motors of '
              'elastic joints; empty means as described.', 'N m s/rad or N s/m', 0.0, 1e5,
              read_only=True),
    Parameter('coulomb_friction', (), 'Coulomb friction of the joints, or of the motors of '
              'elastic joints; empty means as described.', 'N m or N', 0.0, 1e5,
              read_only=True),
    Parameter('armature', (), 'Rotor inertia of rigid joints as they feel it; empty means as '
              'described.', 'kg m^2 or kg', 0.0, 1e4, read_only=True),
    Parameter('effort_gain', (1.0,), 'True effort per effort commanded.', low=0.01, high=100.0,
              read_only=True),
    Parameter('stribeck.rise', (), 'Friction of the motors of elastic joints that is missing at '
              'standstill, f3 of docs/elastic.md; empty means none.', 'N m or N', 0.0, 1e5,
              read_only=True),
    Parameter('stribeck.rise_speed', (0.1,), 'Speed at which it is there, f4.',
              'rad/s or m/s', 1e-6, 1e3, read_only=True),
    Parameter('stribeck.drop', (), 'Friction of the motors that is lost at speed, f5; empty means '
              'none.', 'N m or N', 0.0, 1e5, read_only=True),
    Parameter('stribeck.drop_rate', (1.0,), 'Inverse of the speed at which it goes, f6.',
              's/rad or s/m', 1e-6, 1e6, read_only=True),
)

_STRIBECK = ('rise', 'rise_speed', 'drop', 'drop_rate')


def build_plant(model: Robot, values: Values) -> FaultyPlant:
    """Return an arm with rigid joints.

    Parameters
    ----------
    model : Robot
        The arm as described.
    values : mapping
        Values of `PLANT_PARAMETERS` and ``timestep``.

    Raises
    ------
    RobotDynamicsError
        Where they do not fit the arm.
    """
    for name in ('stribeck.rise', 'stribeck.drop'):
        if values[name]:
            raise ParameterError('is that of motors of elastic joints',
                                 subject=f'parameter {name}',
                                 remedy='set elastic_joints, too, or leave it out')
    names = model.joint_names
    robot = _laden(model, values)
    robot = replace(
        robot, damping=per_joint(values, 'viscous_friction', names, default=robot.damping),
        friction=per_joint(values, 'coulomb_friction', names, default=robot.friction),
        armature=per_joint(values, 'armature', names, default=robot.armature))
    plant = FaultyPlant(robot, timestep=values['timestep'],
                        effort_gain=per_joint(values, 'effort_gain', names))
    if values['initial_position']:
        plant.reset(per_joint(values, 'initial_position', names))
    return plant


def build_elastic_plant(model: ElasticRobot, values: Values) -> ElasticPlant:
    """Return an arm with elastic joints; as `build_plant`."""
    if values['armature']:
        raise ParameterError('is that of rigid joints', subject='parameter armature',
                             remedy='give rotor_inertia in the file of the elastic joints')
    names, joints = model.links.joint_names, model.joints
    friction = StribeckFriction(
        per_joint(values, 'viscous_friction', names, default=joints.viscous),
        per_joint(values, 'coulomb_friction', names, default=joints.coulomb),
        *(per_joint(values, f'stribeck.{name}', names, default=0.0) for name in _STRIBECK))
    plant = ElasticPlant(replace(model, links=_laden(model.links, values)),
                         timestep=values['timestep'], friction=friction,
                         effort_gain=per_joint(values, 'effort_gain', names))
    # What nothing can accelerate is refused now; at rest a step changes nothing else.
    plant.advance(steps=1)
    limits = model.links.limits
    start = np.clip(0.0, limits.lower, limits.upper)
    plant.reset(per_joint(values, 'initial_position', names, default=start))
    return plant


def _laden(model: Robot, values: Values) -> Robot:
    """Return links of other masses, and what they carry."""
    robot = with_scaled_masses(model, values['mass_scale'])
    if values['payload_mass'] > 0.0:
        robot = with_payload(robot, values['payload_mass'], values['payload_com'],
                             frame=values['payload_frame'] or None)
    return robot
