# SPDX-License-Identifier: Apache-2.0
"""Checks of the topic of joint states: publishers, rate, stamps, names, fields and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.bringup.doctor.findings import (
    CheckResult,
    collected,
    error,
    listed,
    note,
    ok,
    warning,
)
from robot_dynamics.bringup.doctor.replay import (
    Replay,
    check_efforts,
    check_motion,
    clock_at,
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
from robot_dynamics.control.states.joint_state import Note, Reason
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.observing.graph_snapshot import (
    ClockSample,
    GraphSnapshot,
    NodeInfo,
    StateSample,
    Topic,
)

#: Relative tolerance of the rate that a controller expects.
RATE_TOLERANCE = 0.1
#: Lowest rate for torque control. Hz.
SLOWEST = 80.0
#: Largest share of late states, which arrive more than 1.5 periods after the previous one.
LATE_SHARE = 0.05
#: Largest age of states for control, in s and in periods.
LATE, LATE_PERIODS = 0.005, 3.0
_CLOCKS = 'set the clocks of both machines by NTP or PTP (chrony)'
#: Earliest plausible stamp of a wall clock, in 2001. ns.
_NO_WALL_CLOCK = 10**18
_USUAL_RATES = (100.0, 125.0, 200.0, 250.0, 400.0, 500.0, 800.0, 1000.0, 2000.0)

#: Remedies for messages that a controller rejects because of their order or their content.
SEQUENCE_REMEDIES = {
    Reason.DUPLICATE: 'one of them is ignored: stop the node that repeats states',
    Reason.OUT_OF_ORDER: 'two publishers, or a clock that is set back: leave one, and keep the '
                         'clock steady',
}
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
#: Share of affected messages above which control is impaired.
_BAD_SHARE = 0.1


@collected
def check_joint_states(graph: GraphSnapshot, robot: Robot | None) -> Iterator[CheckResult]:
    """Check the joint states of a running system, with the robot of its description if known."""
    topic, samples = graph.topic(graph.states_topic), graph.states
    controller = first_controller(graph)
    other_topics = [] if controller is None else _other_states(graph, controller)
    if other_topics:
        # The controller uses the other topic; this one has the states of links, without efforts.
        controller = None
    own = None if controller is None else StateRequirements.of(controller)
    requirements = own or StateRequirements(
        effort_kind='none' if other_topics else StateRequirements.effort_kind)
    prefix = '' if controller is None else (controller.parameters or {}).get('motor_prefix', '')
    if prefix:
        samples = tuple(_motor_states(sample, prefix) for sample in samples)
    if not topic.publishers and not samples:
        yield error(topic.name, 'has no publisher', 'start the driver of the arm, or '
                    'joint_state_broadcaster; where it has another name, remap joint_states')
        return
    yield from other_topics
    yield from check_publishers(topic, samples, requirements)
    if not samples:
        yield error(topic.name, 'has a publisher and no messages',
                    'activate the hardware and joint_state_broadcaster (ros2 control '
                    'list_controllers); across machines check the firewall')
        return
    lowest = SLOWEST
    if controller is not None and has_feedback_gains(controller):
        lowest = lowest_rate(*gains_of(controller), requirements.delay) or SLOWEST
    simulated = uses_simulated_time(samples, graph.clock)
    yield from check_rate(topic.name, samples, own, lowest, simulated=simulated)
    replayed = replay(samples, robot, requirements, simulated=simulated)
    yield from check_stamps(topic.name, samples, graph.clock, replayed, requirements,
                            simulated=simulated)
    if robot is not None:
        names = check_names(topic.name, samples, robot)
        yield from names
        if any(result.remedy for result in names):
            return
    yield from check_rejections(topic.name, replayed)
    yield from check_fields(topic.name, samples, replayed.joints, requirements)
    if robot is not None:
        yield from check_motion(robot, replayed, samples)
        yield from check_efforts(topic.name, robot, replayed, own)


def _other_states(graph: GraphSnapshot, controller: NodeInfo) -> list[CheckResult]:
    """Notes on the topics of a controller's states if it does not use that of the snapshot."""
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
        # An array of another length is kept, so that the check finds it.
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


def check_rate(topic: str, samples: Sequence[StateSample],
               requirements: StateRequirements | None, lowest: float = SLOWEST, *,
               simulated: bool = False) -> list[CheckResult]:
    """Check rate and regularity of states.

    `lowest` is the lowest rate for the gains of the controller, Hz. With `simulated` stamps the
    rate refers to simulated time, even if that is slow; gaps are always measured in machine time.
    """
    if len(samples) < 3:
        return [error(topic, f'had {len(samples)} messages in all', 'a controller needs hundreds '
                      'per second: start the driver, or joint_state_broadcaster')]
    gaps = np.diff([1e-9 * (sample.received - samples[0].received) for sample in samples])
    received = float(len(gaps) / gaps.sum()) if gaps.sum() > 0.0 else np.inf
    sent = rate_by_stamps(samples)
    rate = received if sent is None else sent
    arrived = 1.0 if sent is None else \
        len(gaps) / (1e-9 * sent * (samples[-1].stamp - samples[0].stamp))
    of_what = ' of simulated time' if simulated else ''
    results = [*_check_slow(topic, rate, requirements, lowest)]
    if arrived < 1.0 - RATE_TOLERANCE:
        # Gaps may be those of this process then.
        results.append(warning(
            topic, f'has {rate:.0f} Hz by its stamps, of which {100 * arrived:.0f} % arrived here',
            'this machine, that of the driver or the network is too busy: see below'))
    else:
        results += _check_gaps(topic, gaps, rate, requirements, simulated)
    return results or [ok(topic, f'{rate:.0f} Hz{of_what}, the longest gap '
                                 f'{1e3 * gaps.max():.3g} ms')]


def rate_by_stamps(samples: Sequence[StateSample]) -> float | None:
    """Rate of states by their stamps, Hz, however many were lost.

    None where they are not stamped, or where messages with other joints are between them.
    """
    stamps = [sample.stamp for sample in samples if sample.stamp]
    is_one = len({sample.names for sample in samples}) == 1
    period = float(np.median(np.diff(stamps))) if is_one and len(stamps) > 2 else 0.0
    return 1e9 / period if period > 0.0 else None


def _check_slow(topic: str, rate: float, requirements: StateRequirements | None, lowest: float
                ) -> Iterator[CheckResult]:
    expected = '' if requirements is None else \
        f', and the controller expects {requirements.rate:g} Hz'
    if rate < lowest:
        yield error(topic, f'has {rate:.3g} Hz, too slow to control torque{expected}',
                    f'publish at {lowest:.0f} Hz or more, best at 500 Hz: update_rate of '
                    'the controller manager, and no joint_state_publisher in between')
    elif requirements is not None and abs(rate / requirements.rate - 1.0) > RATE_TOLERANCE:
        usual = next((usual for usual in _USUAL_RATES if abs(rate / usual - 1.0) < 0.05),
                     float(f'{rate:.2g}'))
        yield warning(topic, f'has {rate:.0f} Hz{expected}',
                      f'set its parameter rate to {usual:g}, or the update_rate of the driver to '
                      f'{requirements.rate:g}')


def _check_gaps(topic: str, gaps: FloatArray, rate: float, requirements: StateRequirements | None,
                simulated: bool) -> Iterator[CheckResult]:
    worst = float(gaps.max())
    if requirements is not None and worst > requirements.state_timeout:
        yield warning(topic, f'has a gap of {worst:.2g} s: after {requirements.state_timeout:g} s '
                      'the controller makes the arm safe', 'keep the machine of the driver free; '
                      'wireless links are not sufficient')
    elif not simulated:
        period = 1.0 / (rate if requirements is None else requirements.rate)
        late = float(np.mean(gaps > 1.5 * max(period, float(np.median(gaps)))))
        if late > LATE_SHARE:
            yield warning(topic, f'{100 * late:.0f} % of the messages come more than half a '
                          f'period late, the latest {1e3 * worst:.3g} ms after the one before',
                          'free the processor of the driver, or give it a real-time priority')


def check_stamps(topic: str, samples: Sequence[StateSample], clock: Sequence[ClockSample],
                 replayed: Replay, requirements: StateRequirements, *, simulated: bool
                 ) -> list[CheckResult]:
    """Check the stamps of states, of simulated time or of this machine's."""
    stamped = [sample for sample in samples if sample.stamp]
    if not stamped:
        return [warning(topic, 'has messages without stamp: the time of receiving is taken',
                        'let the driver stamp them; otherwise delays remain unnoticed')]
    if len(stamped) > 2 and len({sample.stamp for sample in stamped}) == 1:
        return [error(topic, f'has the same stamp in {len(stamped)} messages',
                      'the driver repeats an old state: is the hardware connected and active?')]
    results = [*_rejected(topic, replayed, SEQUENCE_REMEDIES)]
    if len(stamped) < len(samples):
        results.append(warning(topic, f'has {len(samples) - len(stamped)} of {len(samples)} '
                               'messages without stamp', 'let every publisher stamp them'))
    age = float(np.median([1e-9 * (
        (clock_at(clock, sample.received) if simulated else sample.received) - sample.stamp)
        for sample in stamped]))
    results += _check_age(topic, stamped, age, requirements, simulated)
    kind = 'simulated time' if simulated else "this machine's time"
    return results or [ok(topic, f'stamps are {kind}, {1e3 * max(age, 0.0):.2g} ms old when they '
                                 'are received')]


def _check_age(topic: str, stamped: Sequence[StateSample], age: float,
               requirements: StateRequirements, simulated: bool) -> Iterator[CheckResult]:
    period = 1.0 / requirements.rate
    clock = '/clock' if simulated else 'the clock of this machine'
    where, remedy = _delay(stamped)
    if not simulated and stamped[-1].stamp < _NO_WALL_CLOCK:
        yield error(topic, f'has stamps of {1e-9 * stamped[-1].stamp:.1f} s, which are not from a '
                    'wall clock', 'simulated time? bridge /clock and set use_sim_time on every '
                    'node; else let the driver stamp with its ROS clock')
    elif age < -requirements.max_future:
        yield error(topic, f'has stamps {-age:.3g} s ahead of {clock}: the controller rejects '
                    'them', _CLOCKS)
    elif age > requirements.max_age:
        yield error(topic, f'has stamps {age:.3g} s behind {clock}: the controller rejects '
                    f'them{where}', remedy)
    elif not simulated and age > max(LATE, LATE_PERIODS * period):
        yield warning(topic, f'has states that are {_time_text(age)} old when they are received'
                      f'{where}: efforts for old states make an arm oscillate', remedy)
    elif not simulated and -age > period:
        yield note(topic, f'has stamps {_time_text(-age)} ahead of {clock}', _CLOCKS)


def _delay(stamped: Sequence[StateSample]) -> tuple[str, str]:
    """Origin of the delay, if the middleware reports the time of sending, and its remedy."""
    timed = [sample for sample in stamped if sample.sent]
    if not timed:
        return '', f'{_CLOCKS}, or find where states wait'
    before = float(np.median([1e-9 * (sample.sent - sample.stamp) for sample in timed]))
    after = float(np.median([1e-9 * (sample.received - sample.sent) for sample in timed]))
    where = f' ({_time_text(before)} of it before they were sent, {_time_text(after)} on the way)'
    if before > after:
        return where, 'the driver stamps by another clock, or holds states back: let it stamp ' \
                      'them with its ROS clock when it measures, and send them at once'
    return where, f'{_CLOCKS}, or find what delays messages in the network'


def _time_text(seconds: float) -> str:
    return f'{seconds:.3g} s' if abs(seconds) >= 0.1 else f'{1e3 * seconds:.2g} ms'


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


def _rejected(topic: str, replayed: Replay, remedies: Mapping[Reason, str]
              ) -> Iterator[CheckResult]:
    """Messages that a controller rejects for given reasons; an error if there are many."""
    for reason, remedy in remedies.items():
        if count := replayed.counts[reason]:
            make = error if count > _BAD_SHARE * replayed.total else warning
            yield make(topic, f'{count} of {replayed.total} messages rejected: {reason.value}',
                       remedy)


def check_rejections(topic: str, replayed: Replay) -> list[CheckResult]:
    """Report the messages that a controller rejects because of their content."""
    results = [*_rejected(topic, replayed, REMEDIES)]
    if count := replayed.notes[Note.MIMIC]:
        results.append(warning(topic, f'{Note.MIMIC.value} ({count} times)',
                               'check its multiplier and offset in the description'))
    if count := replayed.notes[Note.VELOCITY_IMPLAUSIBLE]:
        results.append(warning(topic, f'implausibly large velocities ({count} times)',
                               'check their unit, and the velocity limits of the description'))
    if not replayed.counts[Reason.ACCEPTED] and not results and replayed.counts[Reason.WAITING]:
        results.append(error(topic, 'never has all joints within one state',
                             'publish all joints, in one message'))
    return results


@collected
def check_fields(topic: str, samples: Sequence[StateSample], joints: Sequence[str],
                 requirements: StateRequirements) -> Iterator[CheckResult]:
    """Check that velocities and efforts are present."""
    ours = frozenset(joints)
    relevant = [sample for sample in samples if not ours.isdisjoint(sample.names)]
    if not relevant:
        return
    velocity, effort = (np.mean([_is_missing(sample, name, ours) for sample in relevant])
                        for name in ('velocity', 'effort'))
    if velocity > _BAD_SHARE:
        yield warning(topic, 'has no velocities: they are estimated from positions, late and '
                      f'rough (below {requirements.velocity_cutoff:g} Hz)',
                      'add the velocity state interface to the hardware, where it measures any')
    if effort > _BAD_SHARE:
        make = note if requirements.effort_kind == 'none' else warning
        yield make(topic, 'has no efforts: that the arm obeys can only be detected while it '
                   'stands still', 'set effort_kind to none where the arm measures none')


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
