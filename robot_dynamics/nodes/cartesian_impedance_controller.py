# SPDX-License-Identifier: Apache-2.0
"""Hold an end effector at a pose by a spring and a damper; the pose follows messages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped

from robot_dynamics.control.laws.cartesian_impedance import (
    CartesianImpedanceController,
    ImpedanceSettings,
)
from robot_dynamics.control.laws.impedance import (
    DAMPING_BOUNDS,
    RATIO_BOUNDS,
    STIFFNESS_BOUNDS,
    Impedance,
)
from robot_dynamics.control.motion.pose_setpoint import SetpointLimits
from robot_dynamics.control.session.hand_guiding import ImpedanceSession
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.errors import ControlError, ParameterError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.rotation import quaternion_of_rotation
from robot_dynamics.nodes.controller.effort_controller import EffortControllerNode, run_controller
from robot_dynamics.nodes.controller.parameters import (
    FEEDBACK_PARAMETERS,
    feedback_keywords,
    group,
)
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.diagnostics import Level, Status
from robot_dynamics.nodes.ros.messages import to_nanoseconds, write_stamp
from robot_dynamics.nodes.ros.parameters import Parameter, Values
from robot_dynamics.nodes.ros.stopping import StopRequest

_SETTINGS = ImpedanceSettings()
_IMPEDANCE, _LIMITS = _SETTINGS.impedance, _SETTINGS.limits
#: Warnings of refused setpoints are this far apart. s.
_WARNING_PERIOD = 2.0
#: Share of its stiffness below which a mode is reported.
_SOFTENED = 0.95

TABLE = (
    *FEEDBACK_PARAMETERS,
    Parameter('link', '', 'Link or frame that is controlled; empty means the last one of the '
              'description that moves.', read_only=True),
    Parameter('impedance.stiffness', _IMPEDANCE.stiffness, 'Stiffness along the axes x, y and z '
              'of the base.', 'N/m', *STIFFNESS_BOUNDS[0]),
    Parameter('impedance.rotational_stiffness', _IMPEDANCE.rotational_stiffness, 'Stiffness about '
              'the axes x, y and z of the base.', 'N m/rad', *STIFFNESS_BOUNDS[1]),
    Parameter('impedance.damping_ratio', _IMPEDANCE.damping_ratio, 'Damping ratio of every mode '
              'of the end effector, where impedance.damping is empty.', '', *RATIO_BOUNDS),
    Parameter('impedance.damping', (), 'Damping along the axes x, y and z of the base; empty for '
              'that of the damping ratio.', 'N s/m', *DAMPING_BOUNDS[0]),
    Parameter('impedance.rotational_damping', (), 'Damping about the axes x, y and z of the '
              'base, given together with impedance.damping.', 'N m s/rad', *DAMPING_BOUNDS[1]),
    Parameter('impedance.blend_time', _SETTINGS.blend_time, 'Time in which a change of stiffness '
              'and damping is complete.', 's', 0.05, 60.0, read_only=True),
    Parameter('impedance.largest_force', _SETTINGS.largest_force, 'Largest force of the spring.',
              'N', 1.0, 1000.0, read_only=True),
    Parameter('impedance.largest_moment', _SETTINGS.largest_moment, 'Largest moment of the '
              'spring.', 'N m', 0.1, 500.0, read_only=True),
    Parameter('posture.positions', (), 'Posture of the null space, one value per joint; empty '
              'means that in which control begins.', 'rad or m', -1e3, 1e3, read_only=True),
    Parameter('posture.rate', _SETTINGS.posture_rate, 'Frequency at which the null space returns '
              'to the posture, the root of its stiffness over its inertia; 0 for damping alone.',
              'rad/s', 0.0, 20.0, read_only=True),
    Parameter('setpoint.speed', _LIMITS.speed, 'Largest speed of the desired pose; a faster end '
              'effector is braked.', 'm/s', 0.001, 10.0, read_only=True),
    Parameter('setpoint.turn_rate', _LIMITS.turn_rate, 'Largest angular velocity of the desired '
              'pose; a faster end effector is braked.', 'rad/s', 0.01, 10.0, read_only=True),
    Parameter('setpoint.acceleration', _LIMITS.acceleration, 'Largest acceleration of the desired '
              'pose.', 'm/s^2', 0.01, 100.0, read_only=True),
    Parameter('setpoint.turn_acceleration', _LIMITS.turn_acceleration, 'Largest angular '
              'acceleration of the desired pose.', 'rad/s^2', 0.01, 1000.0, read_only=True),
    Parameter('setpoint.timeout', _LIMITS.timeout, 'Time for which a pose or twist is valid, and '
              'largest age of its stamp; without a new one the desired pose comes to rest.', 's',
              0.01, 3600.0, read_only=True),
)


class CartesianImpedanceControllerNode(EffortControllerNode):
    """Cartesian impedance in a managed node."""

    law: CartesianImpedanceController
    session_type = ImpedanceSession
    follows_references = False

    def __init__(self, stopped: StopRequest):
        super().__init__('cartesian_impedance_controller', TABLE, stopped)
        self._refused = 0

    def make_law(self, robot: Robot, values: Values) -> CartesianImpedanceController:
        """Make the law of the parameters."""
        return make_law(robot, values)

    def check(self, values: Values) -> None:
        """Reject also an impedance that is not complete."""
        super().check(values)
        _impedance(values)

    def on_parameters(self, values: Values) -> None:
        """Change to another impedance."""
        super().on_parameters(values)
        if self.is_built:
            self.law.adjust(_impedance(values))

    def build(self) -> None:
        """Build everything; subscribe to poses and twists."""
        super().build()
        self.fast.subscribe(PoseStamped, '~/pose', self._on_pose, qos.command())
        self.fast.subscribe(TwistStamped, '~/twist', self._on_twist, qos.command())

    def law_telemetry(self) -> tuple[Callable[[int], None], ...]:
        """Make the publishers of the pose of the end effector, and of its spring and damper."""
        self._pose, self._wrench = PoseStamped(), WrenchStamped()
        self._pose.header.frame_id = self._wrench.header.frame_id = self.robot.base_name
        self._poses = self.advertise(PoseStamped, '~/tip_pose', qos.telemetry())
        self._wrenches = self.advertise(WrenchStamped, '~/tip_wrench', qos.telemetry())
        return self._publish_pose, self._publish_wrench

    def law_status(self) -> dict[str, Callable[[], Status]]:
        """Diagnostics item of the impedance."""
        return {'impedance': self._impedance_status}

    def _on_pose(self, message: PoseStamped) -> None:
        position, turn = message.pose.position, message.pose.orientation
        self._follow(message, self.law.setpoint.follow_pose,
                     np.array([position.x, position.y, position.z]),
                     np.array([turn.x, turn.y, turn.z, turn.w]))

    def _on_twist(self, message: TwistStamped) -> None:
        twist = message.twist
        self._follow(message, self.law.setpoint.follow_twist, np.array([
            twist.linear.x, twist.linear.y, twist.linear.z,
            twist.angular.x, twist.angular.y, twist.angular.z]))

    def _follow(self, message: Any, follow: Callable[..., None], *goal: Any) -> None:
        """Give a goal to the law, or log why it is refused."""
        try:
            self._check_header(message.header)
            follow(*goal)
        except ControlError as error:
            self._refused += 1
            self.get_logger().warning(f'setpoint refused: {error}',
                                      throttle_duration_sec=_WARNING_PERIOD)

    def _check_header(self, header: Any) -> None:
        """Reject a setpoint in another frame, of the past, or in another mode."""
        if header.frame_id != self.robot.base_name:
            raise ControlError(f'must be {self.robot.base_name}, got {header.frame_id!r}',
                               subject='frame_id', remedy='transform it to the base of the arm')
        stamp = self._stamps.seconds(to_nanoseconds(header.stamp))
        timeout = self.values['setpoint.timeout']
        if stamp is not None and self._stamps.now() - stamp > timeout:
            raise ControlError(f'is {self._stamps.now() - stamp:.3g} s old, at most {timeout:g} s '
                               'are allowed', subject='setpoint',
                               remedy='compare the clocks, or leave the stamp zero for "now"')
        if self.session.mode is not Mode.GUIDED:
            raise ControlError(f'cannot be followed, the controller is {self.session.mode.value}',
                               subject='setpoint', remedy='send it when the mode is guided')

    def _publish_pose(self, stamp: int) -> None:
        # Not the one of the law, which is that of the last state it answered.
        pose = self.law.model.empty.forward_kinematics(self.session.monitor.q, self.law.link)
        at, turn = self._pose.pose.position, self._pose.pose.orientation
        at.x, at.y, at.z = pose[:3, 3].tolist()
        turn.x, turn.y, turn.z, turn.w = quaternion_of_rotation(pose[:3, :3]).tolist()
        write_stamp(self._pose.header.stamp, stamp)
        self._poses.publish(self._pose)

    def _publish_wrench(self, stamp: int) -> None:
        if self.session.mode is not Mode.GUIDED:
            return
        force, torque = self._wrench.wrench.force, self._wrench.wrench.torque
        force.x, force.y, force.z, torque.x, torque.y, torque.z = self.law.wrench.tolist()
        write_stamp(self._wrench.header.stamp, stamp)
        self._wrenches.publish(self._wrench)

    def _impedance_status(self) -> Status:
        law = self.law
        values = {'link': law.link, 'refused setpoints': self._refused,
                  'time since the last setpoint': f'{law.setpoint.age:.2f} s',
                  'smallest share of stiffness': f'{law.softened:.2f}'}
        if law.softened < _SOFTENED:
            return Status(Level.WARN, f'a light motion has {100.0 * law.softened:.0f} % of its '
                                      'stiffness: more is unstable at this rate', values)
        return Status(Level.OK, 'as set', values)


def _impedance(values: Values) -> Impedance:
    """Spring and damper of the parameters; raises a ParameterError where one is missing."""
    return Impedance(**group(values, 'impedance', Impedance))


def make_law(robot: Robot, values: Values) -> CartesianImpedanceController:
    """Make the law that the parameters describe."""
    link = values['link']
    if link and link not in robot.frames:
        raise ParameterError(f'must be a link or frame of the robot, got {link!r}',
                             subject='parameter link',
                             remedy='choose one of: ' + ', '.join(robot.frames))
    settings = ImpedanceSettings(
        impedance=_impedance(values), posture=values['posture.positions'],
        posture_rate=values['posture.rate'],
        limits=SetpointLimits(**group(values, 'setpoint', SetpointLimits)),
        **group(values, 'impedance', ImpedanceSettings))
    return CartesianImpedanceController(robot, settings=settings, link=link,
                                        **feedback_keywords(robot, values))


main = partial(run_controller, CartesianImpedanceControllerNode, TABLE)

if __name__ == '__main__':
    sys.exit(main())
