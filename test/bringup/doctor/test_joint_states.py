# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.bringup.doctor.joint_states import (
    REMEDIES,
    judge_content,
    judge_fields,
    judge_names,
    judge_publishers,
    judge_states,
)
from robot_dynamics.bringup.doctor.replay import replay
from robot_dynamics.bringup.doctor.requirements import Wishes
from robot_dynamics.control.states.joint_state import Reason
from robot_dynamics.nodes.observing.graph_snapshot import JOINT_STATE_TYPE, Endpoint, Topic

TOPIC = '/joint_states'
NAN = float('nan')


def publishers(*names):
    return Topic(TOPIC, tuple(Endpoint(name, JOINT_STATE_TYPE) for name in names))


def content(robot, samples):
    return judge_content(TOPIC, replay(samples, robot, Wishes(), simulated=False))


def test_a_healthy_system(healthy, robot, is_well):
    remarks = judge_states(healthy, robot)
    assert is_well(remarks)
    told = ' '.join(remark.message for remark in remarks)
    for words in ('published by /driver', '500 Hz', "stamps are this machine's time",
                  'the 7 joints of the description', 'efforts are joint torques: 1.00 times'):
        assert words in told


def test_motors_behind_springs_are_judged_under_the_names_of_their_joints(
        healthy, robot, controller, is_well):
    elastic = replace(controller, name='/elastic_pd_controller',
                      subscribes={'/motor_states': (JOINT_STATE_TYPE,)}, publishes={
                          name.replace('adaptive', 'elastic_pd'): types
                          for name, types in controller.publishes.items()},
                      parameters={**controller.parameters, 'motor_prefix': 'motor_'})
    together = tuple(replace(
        sample, names=sample.names + tuple(f'motor_{name}' for name in sample.names),
        position=(NAN,) * robot.n + sample.position, effort=(NAN,) * robot.n + sample.effort,
        velocity=(NAN,) * robot.n + sample.velocity) for sample in healthy.states)
    for states in (together, tuple(replace(sample, names=sample.names[robot.n:],
                                           **{field: getattr(sample, field)[robot.n:]
                                              for field in ('position', 'velocity', 'effort')})
                                   for sample in together)):
        remarks = judge_states(replace(healthy, nodes=(elastic, *healthy.nodes[1:]),
                                       states=states), robot)
        assert is_well(remarks)
        assert 'the 7 joints of the description' in ' '.join(
            remark.message for remark in remarks)
    # A driver that tells of links only is found out.
    links_only = replace(healthy, nodes=(elastic, *healthy.nodes[1:]))
    remarks = judge_states(links_only, robot)
    assert any(remark.level is Level.ERROR and 'no joint of the description' in remark.message
               for remark in remarks), remarks
    # One that tells of motors elsewhere is not; links have no efforts.
    topic = Topic('/motor_states', (Endpoint('/driver', JOINT_STATE_TYPE),))
    remarks = judge_states(replace(
        links_only, topics={**healthy.topics, topic.name: topic},
        states=tuple(replace(sample, effort=()) for sample in healthy.states)), robot)
    assert is_well(remarks)
    (told,) = [remark for remark in remarks if remark.subject == topic.name]
    assert told.message == 'elastic_pd_controller takes its states from here; published by /driver'


def test_without_a_description_the_rest_is_judged(healthy, is_well):
    remarks = judge_states(healthy, None)
    assert is_well(remarks) and len(remarks) == 3


def test_nobody_publishes(healthy, robot, with_topic):
    (remark,) = judge_states(replace(with_topic(healthy, TOPIC, publishers=()), states=()), robot)
    assert remark.level is Level.ERROR and 'nobody publishes it' in remark.message


def test_published_and_silent(healthy, robot, worst):
    remark = worst(judge_states(replace(healthy, states=()), robot), Level.ERROR)
    assert 'nothing comes' in remark.message


@pytest.mark.parametrize(('names', 'wanted', 'level'), [
    (['/a'], 1, Level.OK), (['/a', '/b'], 2, Level.OK), (['/a', '/b'], 0, Level.OK),
    (['/a', '/b'], 1, Level.ERROR), (['/a'], 2, Level.ERROR)])
def test_how_many_publish(stream, names, wanted, level):
    (remark,) = judge_publishers(publishers(*names), stream(4), Wishes(state_publishers=wanted))
    assert remark.level is level
    assert ', '.join(names) in remark.message


def test_two_halves_of_an_arm(stream):
    halves = stream(4, change=lambda k, s: replace(s, names=s.names[:3] if k % 2 else s.names[3:]))
    (remark,) = judge_publishers(publishers('/a', '/b'), halves, Wishes())
    assert remark.level is Level.WARNING
    assert remark.remedy == 'if that is meant set state_publishers to 2'


def renamed(prefix):
    return lambda k, s: replace(s, names=tuple(prefix + name for name in s.names))


def test_the_joints_of_the_description(robot, stream):
    (remark,) = judge_names(TOPIC, stream(3), robot)
    assert remark.level is Level.OK


def test_a_prefix_on_one_side(robot, stream):
    (remark,) = judge_names(TOPIC, stream(3, change=renamed('left_')), robot)
    assert remark.level is Level.ERROR
    assert 'names no joint of the description; it names left_joint1' in remark.message
    assert "give the description the prefix 'left_'" in remark.remedy
    prefixed = replace(robot, joint_names=tuple(f'left_{name}' for name in robot.joint_names))
    (remark,) = judge_names(TOPIC, stream(3), prefixed)
    assert "give the driver the prefix 'left_'" in remark.remedy


def test_another_arm(robot, stream):
    (remark,) = judge_names(TOPIC, stream(3, change=lambda k, s: replace(
        s, names=tuple('abcdefg'))), robot)
    assert remark.level is Level.ERROR and 'another arm' in remark.remedy


def test_a_joint_that_is_missing(robot, stream):
    (remark,) = judge_names(TOPIC, stream(3, change=lambda k, s: replace(
        s, names=s.names[:6], position=s.position[:6])), robot)
    assert remark.level is Level.ERROR
    assert remark.message.startswith('tells nothing of joint7; it names joint1')


def test_further_joints_and_another_order_do_not_matter(robot, stream):
    samples = stream(3, change=lambda k, s: replace(s, names=(*s.names[::-1], 'finger')))
    first, second = judge_names(TOPIC, samples, robot)
    assert first.level is second.level is Level.NOTE
    assert 'finger' in first.message and 'order' in second.message


def test_names_that_are_wrong_are_the_last_word(healthy, robot, stream, worst):
    graph = replace(healthy, states=stream(change=renamed('left_')))
    remark = worst(judge_states(graph, robot), Level.ERROR)
    assert 'left_' in remark.message


@pytest.mark.parametrize(('change', 'reason'), [
    (lambda s: replace(s, position=(NAN, *s.position[1:])), Reason.NOT_FINITE),
    (lambda s: replace(s, position=()), Reason.NO_POSITION),
    (lambda s: replace(s, velocity=s.velocity[:3]), Reason.LENGTH),
    (lambda s: replace(s, names=(s.names[0], *s.names[:6])), Reason.REPEATED_NAME),
    (lambda s: replace(s, position=tuple(x + 1.0 for x in s.position)), Reason.JUMP)])
@pytest.mark.parametrize(('share', 'level'), [(2, Level.ERROR), (50, Level.WARNING)])
def test_messages_that_are_turned_away(robot, stream, change, reason, share, level):
    samples = stream(200, change=lambda k, s: change(s) if k % share == 1 else s)
    (remark,) = content(robot, samples)
    assert remark.level is level
    assert f'{200 // share} of 200 messages turned away: {reason.value}' in remark.message
    assert remark.remedy == REMEDIES[reason]


def test_every_reason_is_spoken_of():
    # Those of time by pace, foreign joints and parts by the names.
    elsewhere = {Reason.ACCEPTED, Reason.WAITING, Reason.FOREIGN, Reason.DUPLICATE,
                 Reason.OUT_OF_ORDER, Reason.FUTURE, Reason.STALE}
    assert set(REMEDIES) == set(Reason) - elsewhere


def test_joints_that_are_never_told_together(robot, stream):
    samples = stream(20, change=lambda k, s: replace(
        s, names=s.names[:6], position=s.position[:6], velocity=(), effort=()))
    (remark,) = content(robot, samples)
    assert remark.level is Level.ERROR and 'never tells all joints' in remark.message


def test_velocities_that_nobody_believes(robot, stream):
    (remark,) = content(robot, stream(20, change=lambda k, s: replace(
        s, velocity=tuple(1e3 for _ in s.velocity))))
    assert remark.level is Level.WARNING
    assert '(20 times)' in remark.message


@pytest.mark.parametrize('missing', [(), (NAN,) * 7])
def test_fields_that_are_missing(robot, stream, missing):
    names = robot.joint_names
    samples = stream(20, change=lambda k, s: replace(s, velocity=missing, effort=missing))
    first, second = judge_fields(TOPIC, samples, names, Wishes())
    assert first.level is second.level is Level.WARNING
    assert 'no velocities' in first.message and 'effort_kind to none' in second.remedy
    assert judge_fields(TOPIC, stream(20), names, Wishes()) == []
    # Who does not use efforts does not miss them.
    assert judge_fields(TOPIC, samples, names, Wishes(effort_kind='none'))[1].level is Level.NOTE


def test_a_finger_without_velocity_is_no_matter(robot, stream):
    samples = stream(20, change=lambda k, s: replace(
        s, names=(*s.names, 'finger'), position=(*s.position, 0.0), velocity=(*s.velocity, NAN),
        effort=(*s.effort, NAN)))
    assert judge_fields(TOPIC, samples, robot.joint_names, Wishes()) == []
