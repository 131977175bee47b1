# SPDX-License-Identifier: Apache-2.0
"""Parameters of what is learnt, how, and where it is kept; and the law they describe."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from robot_dynamics.control.adaptation.partial_knowledge import Known
from robot_dynamics.control.feedback.gains import COORDINATES, AdaptationGains, FeedbackGains
from robot_dynamics.control.feedback.update_laws import UPDATE_LAWS
from robot_dynamics.control.laws.joint_feedback import JointGains
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.ros.parameters import Parameter, Values

_ADAPTATION = AdaptationGains()

LEARNING_PARAMETERS = (
    Parameter('feedback.joint_stiffness', (), 'Diagonal of a constant K_P for each joint, in the '
              'place of bandwidth and error rate; empty for those.', 'N m/rad or N/m', 1e-6, 1e9,
              read_only=True),
    Parameter('feedback.joint_damping', (), 'Diagonal of a constant K_D, as long as '
              'joint_stiffness.', 'N m s/rad or N s/m', 1e-6, 1e9, read_only=True),
    Parameter('adaptation.law', _ADAPTATION.law, 'Update law: gradient, projection (with '
              'leakage), dead_zone, composite, memory, natural, natural_memory.',
              choices=tuple(UPDATE_LAWS), read_only=True),
    Parameter('adaptation.coordinates', _ADAPTATION.coordinates, 'links: every link stays a '
              'body; base: only base parameters are learnt, and nothing else drifts.',
              choices=COORDINATES, read_only=True),
    Parameter('adaptation.leakage', _ADAPTATION.leakage, 'Rate at which estimates return to the '
              'model, under the law projection.', '1/s', 0.0, 100.0, read_only=True),
    Parameter('adaptation.dead_zone', _ADAPTATION.dead_zone, 'Length of s below which nothing is '
              'learnt from it, under the law dead_zone.', 'rad/s or m/s', 0.0, 100.0,
              read_only=True),
    Parameter('adaptation.rest_after', _ADAPTATION.rest_after, 'Time without desired motion '
              'after which nothing is learnt.', 's', 0.0, 1e6, read_only=True),
    Parameter('adaptation.rest_sliding', _ADAPTATION.rest_sliding, 'Entry of s beyond which an '
              'arm at rest learns all the same.', 'rad/s or m/s', 0.0, 1e6, read_only=True),
    Parameter('known.links', (), 'Links of which every inertial parameter is known: it is not '
              'learnt.', element=str, read_only=True),
    Parameter('known.parameters', (), 'Single parameters that are known, as link7/m or '
              'joint3/viscous.', element=str, read_only=True),
    Parameter('known.combinations', (), 'Sums of parameters that are known, as link1/Jzz + 0.25 '
              'link2/m.', element=str, read_only=True),
    Parameter('estimates.restore_from', '', 'File of estimates to go on from; empty for none. '
              'One that does not exist yet is no error where estimates are saved to it.',
              read_only=True),
    Parameter('estimates.save_to', '', 'File that estimates are written to when the controller '
              'lets go of the arm; empty for none.', read_only=True),
    Parameter('contact_topic', 'inverse_dynamics/contact', 'Where somebody says that the arm '
              'touches something: nothing is learnt meanwhile.', read_only=True, topic=True),
    Parameter('contact_freezes', True, 'Whether to listen to that.', read_only=True),
)


def make_adaptive_law(robot: Robot, values: Values) -> AdaptiveController:
    """Return the adaptive law as the parameters describe it, with restored estimates.

    Raises
    ------
    ParameterError, ControlError, InertiaError
        Where they do not fit the robot, or each other.
    """
    law = AdaptiveController(
        robot, feedback=_feedback(values),
        adaptation=AdaptationGains(**group(values, 'adaptation', AdaptationGains)),
        known=Known(**group(values, 'known', Known)), period=1.0 / values['rate'],
        delay=values['delay'], allow_unphysical=values['allow_unphysical'])
    if source := estimates_file(values):
        law.restore(source)
    return law


def estimates_file(values: Values) -> str:
    """Return the file of estimates to go on from, empty for none."""
    source, sink = values['estimates.restore_from'], values['estimates.save_to']
    return source if source != sink or Path(source).exists() else ''


def _feedback(values: Values) -> FeedbackGains | JointGains:
    """Return the gains of the feedback, in the form that is given."""
    stiffness = values['feedback.joint_stiffness']
    damping = values['feedback.joint_damping']
    if len(stiffness) != len(damping):
        raise ParameterError(f'has {len(damping)} values, joint_stiffness {len(stiffness)}',
                             subject='feedback.joint_damping',
                             remedy='give one value a joint in both, or leave both empty')
    if len(stiffness):
        return JointGains(tuple(stiffness), tuple(damping))
    return FeedbackGains(**group(values, 'feedback', FeedbackGains))


def group(values: Values, prefix: str, gains: type) -> dict[str, object]:
    """Return the parameters of one group as keywords of its class; others keep their default."""
    return {field.name: values[name] for field in fields(gains)
            if (name := f'{prefix}.{field.name}') in values}
