# SPDX-License-Identifier: Apache-2.0
"""What joint states say, and who says it: publishers, names, fields, values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.bringup.doctor.efforts import judge_efforts
from robot_dynamics.bringup.doctor.findings import Remark, error, listed, note, ok, warning
from robot_dynamics.bringup.doctor.motion import judge_motion
from robot_dynamics.bringup.doctor.rates import lowest_rate
from robot_dynamics.bringup.doctor.replay import Replay, is_simulated, replay
from robot_dynamics.bringup.doctor.requirements import (
    JUDGE_THEIR_GAINS,
    Wishes,
    first_controller,
    gains_of,
    motor_prefix,
)
from robot_dynamics.bringup.doctor.timing import SLOWEST, judge_pace, judge_stamps
from robot_dynamics.control.states.joint_state import Note, Reason
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.observing.graph_snapshot import (
    GraphSnapshot,
    NodeInfo,
    StateSample,
    Topic,
)

#: What to do about messages that a controller turns away for what they say. Those turned
#: away for their time are judged by `pace`.
REMEDIES = {
    Reason.REPEATED_NAME: 'let the driver name every joint once',
    Reason.NO_POSITION: 'let the driver fill position; velocities alone move no arm',
    Reason.LENGTH: 'let the driver fill each array for every joint, or leave it empty',
    Reason.NOT_FINITE: 'wait until the hardware is up; NaN that stays is an interface that '
                       'nothing fills',
    Reason.JUMP: 'two sources of one joint, a unit that changes or an encoder that slips; the '
                 'velocity limit of the description bounds what is believed',
    Reason.FROZEN: 'the driver has lost its arm and publishes what it knew last, or fills '
                   'velocity with something else',
    Reason.SKEW: 'publish all joints in one message, or raise state_skew',
    Reason.NO_TIME: 'let the driver stamp with its ROS clock',
}
#: Share of messages turned away from which on control suffers.
_BAD_SHARE = 0.1


def judge_states(graph: GraphSnapshot, robot: Robot | None) -> list[Remark]:
    """Say what is wrong with joint states.

    Parameters
    ----------
    graph : GraphSnapshot
        The running system.
    robot : Robot, optional
        The robot that it describes, where that could be read.
    """
    topic, samples = graph.topic(graph.states_topic), graph.states
    controller = first_controller(graph)
    elsewhere = [] if controller is None else _taken_elsewhere(graph, controller)
    if elsewhere:
        # What it asks for is told there; these are the states of links, which have no efforts.
        controller = None
    told = None if controller is None else Wishes.of(controller)
    wishes = told or Wishes(effort_kind='none' if elsewhere else Wishes.effort_kind)
    if controller is not None and (prefix := motor_prefix(controller)):
        samples = tuple(_of_motors(sample, prefix) for sample in samples)
    if not topic.publishers and not samples:
        return [error(topic.name, 'nobody publishes it', 'start the driver of the arm, or '
                      'joint_state_broadcaster; where it has another name, remap joint_states')]
    remarks = [*elsewhere, *judge_publishers(topic, samples, wishes)]
    if not samples:
        return [*remarks, error(topic.name, 'is published and nothing comes',
                                'activate the hardware and joint_state_broadcaster (ros2 control '
                                'list_controllers); across machines look at the firewall')]
    lowest = SLOWEST if controller is None or controller.base_name in JUDGE_THEIR_GAINS else \
        lowest_rate(*gains_of(controller), wishes.delay) or SLOWEST
    simulated = is_simulated(samples, graph.clock)
    remarks += judge_pace(topic.name, samples, told, lowest, simulated=simulated)
    replayed = replay(samples, robot, wishes, simulated=simulated)
    remarks += judge_stamps(topic.name, samples, graph.clock, replayed, wishes,
                            simulated=simulated)
    if robot is not None:
        names = judge_names(topic.name, samples, robot)
        remarks += names
        if any(remark.remedy for remark in names):
            return remarks
    remarks += judge_content(topic.name, replayed)
    remarks += judge_fields(topic.name, samples, replayed.joints, wishes)
    if robot is not None:
        remarks += [*judge_motion(topic.name, robot, replayed, samples),
                    *judge_efforts(topic.name, robot, replayed, None if told is None else wishes)]
    return remarks


def _taken_elsewhere(graph: GraphSnapshot, controller: NodeInfo) -> list[Remark]:
    """Say where a controller takes states from, where that is not the topic listened to."""
    topics = [graph.topic(name) for name in controller.states_topics]
    told = [topic for topic in topics if topic.publishers]
    if not told or any(topic.name == graph.states_topic for topic in topics):
        return []
    return [note(topic.name, f'{controller.base_name} takes its states from here; published by '
                 + listed(publisher.node for publisher in topic.publishers)) for topic in told]


def _of_motors(sample: StateSample, prefix: str) -> StateSample:
    """Return what a message says of the motors of joints, under the names of the joints."""
    places = [k for k, name in enumerate(sample.names) if name.startswith(prefix)]
    position, velocity, effort = (
        # An array of another length is wrong as it is, and is to be seen so.
        tuple(values[k] for k in places) if len(values) == len(sample.names) else values
        for values in (sample.position, sample.velocity, sample.effort))
    return replace(sample, names=tuple(sample.names[k].removeprefix(prefix) for k in places),
                   position=position, velocity=velocity, effort=effort)


def judge_publishers(topic: Topic, samples: Sequence[StateSample], wishes: Wishes
                     ) -> list[Remark]:
    """Say whether as many publish as should."""
    count, wanted = len(topic.publishers), wishes.state_publishers
    names = listed(publisher.node for publisher in topic.publishers)
    if count in (0, wanted) or wanted == 0:
        return [ok(topic.name, f'published by {names}')] if count else []
    if count < wanted:
        return [error(topic.name, f'is published by {names} only, and the controller waits for '
                      f'{wanted} publishers', 'start the others, or set state_publishers')]
    layouts = list(dict.fromkeys(frozenset(sample.names) for sample in samples))
    disjoint = len(layouts) > 1 and not frozenset.intersection(*layouts)
    if disjoint:
        return [warning(topic.name, f'{count} publishers, each of joints of its own: {names}',
                        f'if that is meant set state_publishers to {count}')]
    return [error(topic.name, f'{count} publishers: {names}',
                  'leave one: a joint_state_publisher or a second system in this domain is the '
                  'usual other; the controller does not move an arm that two speak for')]


def judge_names(topic: str, samples: Sequence[StateSample], robot: Robot) -> list[Remark]:
    """Compare the joints named with those of the robot."""
    named = tuple(dict.fromkeys(name for sample in samples for name in sample.names))
    missing = [name for name in robot.joint_names if name not in named]
    if missing:
        which = 'no joint of the description' if len(missing) == robot.n else listed(missing)
        text = f'tells nothing of {which}' if len(missing) < robot.n else f'names {which}'
        return [error(topic, f'{text}; it names {listed(named) or "none"}',
                      _renaming(missing, named))]
    foreign = [name for name in named if name not in robot.body_joint_names]
    ordered = [name for name in named if name in robot.joint_names] == list(robot.joint_names)
    remarks = [note(topic, f'further joints are ignored: {listed(foreign)}')] if foreign else []
    if not ordered:
        remarks.append(note(topic, 'joints in another order than the description, which does not '
                                   'matter here: names count'))
    return remarks or [ok(topic, f'the {robot.n} joints of the description')]


def judge_content(topic: str, replayed: Replay) -> list[Remark]:
    """Say which messages a controller turns away for what they say."""
    remarks = []
    for reason, remedy in REMEDIES.items():
        count = replayed.counts[reason]
        if count:
            make = error if count > _BAD_SHARE * replayed.total else warning
            remarks.append(make(topic, f'{count} of {replayed.total} messages turned away: '
                                f'{reason.value}', remedy))
    if replayed.notes[Note.MIMIC]:
        remarks.append(warning(topic, f'{Note.MIMIC.value} ({replayed.notes[Note.MIMIC]} times)',
                               'check its multiplier and offset in the description'))
    if replayed.notes[Note.VELOCITY_IMPLAUSIBLE]:
        remarks.append(warning(
            topic, f'velocities beyond any plausible speed '
                   f'({replayed.notes[Note.VELOCITY_IMPLAUSIBLE]} times)',
            'check their unit, and the velocity limits of the description'))
    complete = replayed.counts[Reason.ACCEPTED]
    if not complete and not remarks and replayed.counts[Reason.WAITING]:
        remarks.append(error(topic, 'never tells all joints within one state',
                             'publish all joints, in one message'))
    return remarks


def judge_fields(topic: str, samples: Sequence[StateSample], joints: Sequence[str],
                 wishes: Wishes) -> list[Remark]:
    """Say whether velocities and efforts are told."""
    ours = frozenset(joints)
    relevant = [sample for sample in samples if not ours.isdisjoint(sample.names)]
    remarks = []
    missing = {name: np.mean([_is_missing(sample, name, ours) for sample in relevant])
               for name in ('velocity', 'effort')} if relevant else {}
    if missing.get('velocity', 0.0) > _BAD_SHARE:
        remarks.append(warning(topic, 'no velocities: they are estimated from positions, late '
                               f'and rough (below {wishes.velocity_cutoff:g} Hz)',
                               'add the velocity state interface to the hardware, where it '
                               'measures any'))
    if missing.get('effort', 0.0) > _BAD_SHARE:
        make = note if wishes.effort_kind == 'none' else warning
        remarks.append(make(topic, 'no efforts: whether the arm obeys can only be seen by its '
                            'standing still', 'set effort_kind to none where the arm measures '
                                              'none'))
    return remarks


def _is_missing(sample: StateSample, field: str, joints: frozenset[str]) -> bool:
    """Whether a field is empty, or not a number for a joint of ours."""
    values = getattr(sample, field)
    if len(values) != len(sample.names):
        return True
    return any(np.isnan(value) for name, value in zip(sample.names, values, strict=True)
               if name in joints)


def _renaming(missing: Sequence[str], named: Sequence[str]) -> str:
    """Return what to do about joints that have other names."""
    for joint in missing:
        for other in named:
            prefix = other.removesuffix(joint)
            if prefix and prefix != other:
                return f'give the description the prefix {prefix!r} that the driver has ' \
                       '(tf_prefix or prefix of its xacro), or take it from the driver'
            prefix = joint.removesuffix(other)
            if prefix and prefix != joint:
                return f'give the driver the prefix {prefix!r} that the description has, or ' \
                       'take it from the description'
    return 'is it the driver of another arm, or another description? Joints that have no state ' \
           'have to be left out by the parameter joints'
