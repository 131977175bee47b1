# SPDX-License-Identifier: Apache-2.0
"""Checks of the topic of joint states: publishers, names, fields and values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.bringup.doctor.findings import CheckResult, error, listed, note, ok, warning
from robot_dynamics.bringup.doctor.replay import (
    Replay,
    check_efforts,
    check_motion,
    replay,
    uses_simulated_time,
)
from robot_dynamics.bringup.doctor.requirements import (
    StateRequirements,
    first_controller,
    gains_of,
    has_feedback_gains,
    lowest_rate,
)
from robot_dynamics.bringup.doctor.timing import SLOWEST, check_rate, check_stamps
from robot_dynamics.control.states.joint_state import Note, Reason
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.observing.graph_snapshot import (
    GraphSnapshot,
    NodeInfo,
    StateSample,
    Topic,
)

#: Remedies for messages that a controller rejects for their content; `timing` has those for
#: messages rejected for their time.
REMEDIES = {
    Reason.REPEATED_NAME: 'let the driver name every joint once',
    Reason.NO_POSITION: 'let the driver fill position; velocities alone are not enough',
    Reason.LENGTH: 'let the driver fill each array for every joint, or leave it empty',
    Reason.NOT_FINITE: 'wait until the hardware is up; if NaN remains, nothing writes this '
                       'interface',
    Reason.JUMP: 'two sources of one joint, a changing unit or a slipping encoder; positions are '
                 'accepted up to the velocity limit of the description',
    Reason.FROZEN: 'the driver has lost its arm and repeats the last state, or fills velocity '
                   'with something else',
    Reason.SKEW: 'publish all joints in one message, or raise state_skew',
    Reason.NO_TIME: 'let the driver stamp with its ROS clock',
}
#: Share of affected messages from which control suffers.
_BAD_SHARE = 0.1


def check_joint_states(graph: GraphSnapshot, robot: Robot | None) -> list[CheckResult]:
    """Check the joint states of a running system, with the robot of its description if known."""
    topic, samples = graph.topic(graph.states_topic), graph.states
    controller = first_controller(graph)
    other_topics = [] if controller is None else _other_states(graph, controller)
    if other_topics:
        # The controller uses that topic; this one has the states of links, without efforts.
        controller = None
    own = None if controller is None else StateRequirements.of(controller)
    requirements = own or StateRequirements(
        effort_kind='none' if other_topics else StateRequirements.effort_kind)
    prefix = '' if controller is None else (controller.parameters or {}).get('motor_prefix', '')
    if prefix:
        samples = tuple(_motor_states(sample, prefix) for sample in samples)
    if not topic.publishers and not samples:
        return [error(topic.name, 'has no publisher', 'start the driver of the arm, or '
                      'joint_state_broadcaster; where it has another name, remap joint_states')]
    results = [*other_topics, *check_publishers(topic, samples, requirements)]
    if not samples:
        return [*results, error(topic.name, 'has a publisher and no messages',
                                'activate the hardware and joint_state_broadcaster (ros2 control '
                                'list_controllers); across machines check the firewall')]
    lowest = SLOWEST
    if controller is not None and has_feedback_gains(controller):
        lowest = lowest_rate(*gains_of(controller), requirements.delay) or SLOWEST
    simulated = uses_simulated_time(samples, graph.clock)
    results += check_rate(topic.name, samples, own, lowest, simulated=simulated)
    replayed = replay(samples, robot, requirements, simulated=simulated)
    results += check_stamps(topic.name, samples, graph.clock, replayed, requirements,
                            simulated=simulated)
    if robot is not None:
        names = check_names(topic.name, samples, robot)
        results += names
        if any(result.remedy for result in names):
            return results
    results += check_rejections(topic.name, replayed)
    results += check_fields(topic.name, samples, replayed.joints, requirements)
    if robot is not None:
        results += [*check_motion(robot, replayed, samples),
                    *check_efforts(topic.name, robot, replayed, own)]
    return results


def _other_states(graph: GraphSnapshot, controller: NodeInfo) -> list[CheckResult]:
    """Notes on the topics of a controller's states, where it does not use that of the snapshot."""
    topics = [graph.topic(name) for name in controller.states_topics]
    published = [topic for topic in topics if topic.publishers]
    if not published or any(topic.name == graph.states_topic for topic in topics):
        return []
    return [note(topic.name, f'has the states that {controller.base_name} uses; published by '
                 + listed(publisher.node for publisher in topic.publishers))
            for topic in published]


def _motor_states(sample: StateSample, prefix: str) -> StateSample:
    """States of the motors in a message, under the names of the joints."""
    places = [k for k, name in enumerate(sample.names) if name.startswith(prefix)]
    position, velocity, effort = (
        # An array of another length stays as it is, so that the check finds it.
        tuple(values[k] for k in places) if len(values) == len(sample.names) else values
        for values in (sample.position, sample.velocity, sample.effort))
    return replace(sample, names=tuple(sample.names[k].removeprefix(prefix) for k in places),
                   position=position, velocity=velocity, effort=effort)


def check_publishers(topic: Topic, samples: Sequence[StateSample],
                     requirements: StateRequirements) -> list[CheckResult]:
    """Check the number of publishers."""
    count, wanted = len(topic.publishers), requirements.state_publishers
    names = listed(publisher.node for publisher in topic.publishers)
    if count in (0, wanted) or wanted == 0:
        return [ok(topic.name, f'published by {names}')] if count else []
    if count < wanted:
        return [error(topic.name, f'is published by {names} only, and the controller waits for '
                      f'{wanted} publishers', 'start the others, or set state_publishers')]
    layouts = list(dict.fromkeys(frozenset(sample.names) for sample in samples))
    if len(layouts) > 1 and not frozenset.intersection(*layouts):
        return [warning(topic.name, f'has {count} publishers, each with joints of its own: '
                        f'{names}', f'if that is intended set state_publishers to {count}')]
    return [error(topic.name, f'has {count} publishers: {names}',
                  'leave one: often a joint_state_publisher or a second system in this domain is '
                  'the other; the controller does not move an arm with two sources of states')]


def check_names(topic: str, samples: Sequence[StateSample], robot: Robot) -> list[CheckResult]:
    """Compare the names of joints with those of the robot."""
    named = tuple(dict.fromkeys(name for sample in samples for name in sample.names))
    missing = [name for name in robot.joint_names if name not in named]
    if missing:
        which = 'any joint of the description' if len(missing) == robot.n else listed(missing)
        return [error(topic, f'does not have {which}; it has {listed(named) or "no joints"}',
                      _name_remedy(missing, named))]
    foreign = [name for name in named if name not in robot.body_joint_names]
    results = [note(topic, f'has further joints, which are ignored: {listed(foreign)}')] \
        if foreign else []
    if [name for name in named if name in robot.joint_names] != list(robot.joint_names):
        results.append(note(topic, 'has the joints in another order than the description, which '
                                   'is accepted: joints are found by name'))
    return results or [ok(topic, f'has the {robot.n} joints of the description')]


def check_rejections(topic: str, replayed: Replay) -> list[CheckResult]:
    """Report the messages that a controller rejects for their content."""
    results = []
    for reason, remedy in REMEDIES.items():
        count = replayed.counts[reason]
        if count:
            make = error if count > _BAD_SHARE * replayed.total else warning
            results.append(make(topic, f'{count} of {replayed.total} messages rejected: '
                                f'{reason.value}', remedy))
    if replayed.notes[Note.MIMIC]:
        results.append(warning(topic, f'{Note.MIMIC.value} ({replayed.notes[Note.MIMIC]} times)',
                               'check its multiplier and offset in the description'))
    if replayed.notes[Note.VELOCITY_IMPLAUSIBLE]:
        results.append(warning(
            topic, f'implausibly large velocities '
                   f'({replayed.notes[Note.VELOCITY_IMPLAUSIBLE]} times)',
            'check their unit, and the velocity limits of the description'))
    if not replayed.counts[Reason.ACCEPTED] and not results and replayed.counts[Reason.WAITING]:
        results.append(error(topic, 'never has all joints within one state',
                             'publish all joints, in one message'))
    return results


def check_fields(topic: str, samples: Sequence[StateSample], joints: Sequence[str],
                 requirements: StateRequirements) -> list[CheckResult]:
    """Check that velocities and efforts are present."""
    ours = frozenset(joints)
    relevant = [sample for sample in samples if not ours.isdisjoint(sample.names)]
    if not relevant:
        return []
    missing = {name: np.mean([_is_missing(sample, name, ours) for sample in relevant])
               for name in ('velocity', 'effort')}
    results = []
    if missing['velocity'] > _BAD_SHARE:
        results.append(warning(topic, 'has no velocities: they are estimated from positions, late '
                               f'and rough (below {requirements.velocity_cutoff:g} Hz)',
                               'add the velocity state interface to the hardware, where it '
                               'measures any'))
    if missing['effort'] > _BAD_SHARE:
        make = note if requirements.effort_kind == 'none' else warning
        results.append(make(topic, 'has no efforts: that the arm obeys can only be detected while '
                            'it stands still', 'set effort_kind to none where the arm measures '
                                               'none'))
    return results


def _is_missing(sample: StateSample, field: str, joints: frozenset[str]) -> bool:
    """Whether a field is empty, or NaN for one of these joints."""
    values = getattr(sample, field)
    if len(values) != len(sample.names):
        return True
    return any(np.isnan(value) for name, value in zip(sample.names, values, strict=True)
               if name in joints)


def _name_remedy(missing: Sequence[str], named: Sequence[str]) -> str:
    """Remedy for joints with other names, which often differ by a prefix."""
    for joint in missing:
        for other in named:
            prefix = other.removesuffix(joint)
            if prefix and prefix != other:
                return f'give the description the prefix {prefix!r} that the driver has ' \
                       '(tf_prefix or prefix of its xacro), or remove it from the driver'
            prefix = joint.removesuffix(other)
            if prefix and prefix != joint:
                return f'give the driver the prefix {prefix!r} that the description has, or ' \
                       'remove it from the description'
    return 'is it the driver of another arm, or another description? Leave joints without state ' \
           'out by the parameter joints'
