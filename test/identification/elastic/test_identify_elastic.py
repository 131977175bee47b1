# SPDX-License-Identifier: Apache-2.0
"""Identification of robots with elastic joints, from motions on paper."""

import csv
import json

import numpy as np
import pytest

from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.elastic.friction import StribeckFriction
from robot_dynamics.elastic.joints import ElasticJoints
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import (
    DimensionError,
    ParameterError,
    RecordingError,
    RobotDynamicsError,
)
from robot_dynamics.identification.dataset.settings import DatasetSettings
from robot_dynamics.identification.elastic.dataset import (
    ElasticDatasetSettings,
    elastic_dataset_from_arrays,
    elastic_settings_from,
    load_elastic_dataset,
)
from robot_dynamics.identification.elastic.encoders import (
    Encoders,
    losses,
    measured_base_parameters,
)
from robot_dynamics.identification.elastic.identify import (
    ElasticEstimateSettings,
    identify_elastic,
)
from robot_dynamics.model.robot import Robot

FRICTION = StribeckFriction([0.14, 0.2], [0.33, 0.4], [0.25, 0.2], [0.05, 0.1], [0.2, 0.3],
                            [16.0, 10.0])


@pytest.fixture(scope='module')
def robot():
    """A planar arm with springs and rotors that ride on links."""
    links = Robot.from_dh({
        'name': 'planar', 'convention': 'standard', 'gravity': [0.0, -9.81, 0.0],
        'links': [{'name': f'link{k}', 'joint': f'joint{k}', 'theta': 0, 'd': 0, 'a': 0.5,
                   'alpha': 0} for k in (1, 2)]}).with_parameters(
        [[21.0, -5.0, 0.3, 0, 0, 0, 0, 1.25, 0, 3.8], [10.0, -2.5, 0.1, 0, 0, 0, 0, 0.6, 0, 0.9]])
    return ElasticRobot(links, ElasticJoints(
        [8.0, 5.0], [0.02, 0.01], [3000.0, 1800.0], coulomb=[0.33, 0.4], viscous=[0.14, 0.2],
        names=links.joint_names))


def moved(robot, seconds=12.0, rate=500.0, seed=0, friction=None, rigid=False):
    """Return time, qbar, and efforts on links and of motors."""
    random = np.random.default_rng(seed)
    n, t = robot.n, np.arange(int(seconds * rate)) / rate
    speeds = 2 * np.pi * random.uniform(0.1, 0.9, (5, 2 * n))
    speeds[:, n:] = speeds[:, :n]
    phases = random.uniform(0, 2 * np.pi, (5, 2 * n))
    size = random.uniform(0.2, 0.5, (5, 2 * n))
    if rigid:
        phases[:, n:], size[:, n:] = phases[:, :n], size[:, :n]
    else:
        # Motors are where links are, but for some hundredths.
        phases[:4, n:], size[:4, n:] = phases[:4, :n], size[:4, :n]
        size[4] = 0.02
    angle = speeds[:, None] * t[None, :, None] + phases[:, None]
    q = np.sum(size[:, None] * np.sin(angle), axis=0)
    v = np.sum((size * speeds)[:, None] * np.cos(angle), axis=0)
    a = -np.sum((size * speeds**2)[:, None] * np.sin(angle), axis=0)
    dynamics = ElasticDynamics(robot)
    tau = dynamics.inverse_dynamics(q, v, a)
    if friction is not None:
        tau[:, n:] += friction.torque(v[:, n:]) - dynamics.friction_torque(v)[:, n:]
    return t, q, tau[:, :n], tau[:, n:]


def dataset(robot, t, q, outside, effort, **options):
    n = robot.n
    return elastic_dataset_from_arrays(robot, t, effort, q=q[:, :n], theta=q[:, n:],
                                       link_effort=outside, **options)


def test_exact_data_give_exact_base_parameters(robot):
    data = dataset(robot, *moved(robot))
    # A cut-off above half the rate is none.
    found = identify_elastic(data, robot, ElasticEstimateSettings(cutoff=300.0))
    true = found.base.values(robot.parameters())
    np.testing.assert_allclose(found.values, true, rtol=1e-6, atol=1e-6)
    assert found.base.rank == found.structural.rank == 14
    assert not found.losses and found.verdict == 'good'
    kinds = found.classes
    assert kinds['joint1/stiffness'] == kinds['joint2/rotor_inertia'] == 'independent'
    assert kinds['link1/m'] == kinds['link2/Jzz'] == 'combined'
    assert kinds['link1/Jxx'] == kinds['link2/mz'] == 'unidentifiable'
    np.testing.assert_allclose(found.identified_robot().joints.stiffness, [3000.0, 1800.0],
                               rtol=1e-6)
    assert json.loads(json.dumps(found.to_dict()))['rank'] == 14
    assert 'joint1/stiffness' in str(found)


@pytest.mark.parametrize('cutoff', [None, 3.0, 10.0])
def test_filtered_exact_data_give_them_within_their_deviations(robot, cutoff):
    """Regressors and efforts are filtered alike."""
    found = identify_elastic(dataset(robot, *moved(robot)), robot,
                             ElasticEstimateSettings(cutoff=cutoff))
    true = found.base.values(robot.parameters())
    np.testing.assert_array_less(np.abs(found.values - true), 3.0 * found.deviations)


@pytest.mark.parametrize('estimator', ['wls', 'huber', 'iv'])
def test_noisy_data_give_them_within_their_deviations(robot, estimator):
    scores = []
    for seed in range(4):
        t, q, outside, effort = moved(robot, seed=5)
        random = np.random.default_rng(seed)
        q = q + 2e-6 * random.normal(size=q.shape)
        effort = effort + 0.3 * random.normal(size=effort.shape)
        outside = outside + 0.3 * random.normal(size=effort.shape)
        found = identify_elastic(dataset(robot, t, q, outside, effort), robot,
                                 ElasticEstimateSettings(estimator=estimator, cutoff=6.0))
        true = found.base.values(robot.parameters())
        scores.append((found.values - true) / found.deviations)
        assert found.independent['joint1/stiffness'][1] < 3.0
    scores = np.concatenate(scores)
    assert np.abs(scores).max() < 5.0
    assert 0.4 < np.sqrt(np.mean(scores**2)) < 1.6


def test_friction_that_falls_from_standstill(robot):
    data = dataset(robot, *moved(robot, friction=FRICTION, seconds=8.0, rate=250.0))
    plain = identify_elastic(data, robot, ElasticEstimateSettings(cutoff=15.0))
    found = identify_elastic(data, robot,
                             ElasticEstimateSettings(cutoff=15.0, friction='stribeck'))
    np.testing.assert_allclose(found.friction.coefficients, FRICTION.coefficients, rtol=0.02)
    assert np.all(np.isfinite(found.friction_deviations))
    where = found.base.names.index('joint1/coulomb')
    where = list(found.base.independent).index(where)
    assert abs(plain.values[where] - 0.33) > 10.0 * abs(found.values[where] - 0.33)


def test_missing_encoders_are_told_by_what_they_hide(robot):
    dynamics = ElasticDynamics(robot)
    whole = measured_base_parameters(dynamics)
    assert whole.rank == 14
    for encoders in (Encoders.of_links(2), Encoders.of_motors(2)):
        left = measured_base_parameters(dynamics, encoders)
        lost = {loss.name: loss for loss in losses(whole, left)}
        assert left.rank == 11
        for joint in ('joint1', 'joint2'):
            assert lost[f'{joint}/stiffness'].after == 'unidentifiable'
            assert 'no longer identifiable' in str(lost[f'{joint}/stiffness'])
        # The rotor of joint 1 stands still on the base: it is as a part of link 1.
        assert lost['joint1/rotor_inertia'].before == 'independent'
        assert 'link1/Jzz' in lost['joint1/rotor_inertia'].partners
        # That of joint 2 rides on link 1, and turns differently.
        assert 'joint2/rotor_inertia' not in lost
    mixed = losses(whole, measured_base_parameters(dynamics, Encoders((True, True),
                                                                     (True, False))))
    assert [loss.name for loss in mixed] == ['joint2/stiffness']
    assert losses(whole, whole) == ()


@pytest.mark.parametrize('side', ['q', 'theta'])
def test_one_encoder_a_joint_tells_what_is_left(robot, side):
    t, q, outside, effort = moved(robot, rigid=True)
    # Springs do not give way, and nothing but the motors drives the joints.
    data = elastic_dataset_from_arrays(robot, t, effort + outside, **{side: q[:, :2]})
    found = identify_elastic(data, robot, ElasticEstimateSettings(cutoff=300.0))
    np.testing.assert_allclose(found.values, found.base.values(robot.parameters()), rtol=1e-6,
                               atol=1e-6)
    assert {loss.name for loss in found.losses} >= {'joint1/stiffness', 'joint2/stiffness'}
    assert found.base.rank == 11


def test_a_spring_that_encoders_cannot_see_is_rigid(robot):
    stiff = ElasticRobot(robot.links, ElasticJoints(
        robot.joints.gear_ratio, robot.joints.rotor_inertia, [3000.0, 1e9],
        coulomb=[0.33, 0.4], viscous=[0.14, 0.2], names=robot.links.joint_names))
    t, q, _, _ = moved(robot, rigid=True)
    q[:, 0] += 0.01 * np.sin(t)
    step = 2e-5
    dynamics = ElasticDynamics(stiff)
    v = np.gradient(q, t, axis=0)
    tau = dynamics.inverse_dynamics(q, v, np.gradient(v, t, axis=0))
    counted = step * np.round(q / step + np.array([0.0, 0.3, 0.1, 0.0]))
    data = dataset(stiff, t, counted, tau[:, :2], tau[:, 2:])
    found = identify_elastic(data, stiff, ElasticEstimateSettings(cutoff=3.0))
    assert found.encoders == Encoders((True, False), (True, True))
    assert [loss.name for loss in found.losses] == ['joint2/stiffness']
    (told,) = [finding for finding in found.findings if 'rigid' in finding.message]
    assert told.subject == 'joint2'
    assert found.independent['joint1/stiffness'][0] == pytest.approx(3000.0, rel=0.05)
    every = identify_elastic(data, stiff, ElasticEstimateSettings(cutoff=3.0, springs='all'))
    assert every.encoders == Encoders.both(2) and not every.losses


@pytest.mark.parametrize(('factor', 'words'), [
    (0.1, 'amperes'), (10.0, 'amperes'), (-1.0, 'sign flipped')])
@pytest.mark.parametrize('side', ['both', 'links'])
def test_efforts_that_fit_and_are_not_torques_are_no_good_model(robot, side, factor, words):
    t, q, outside, effort = moved(robot, 6.0, 200.0, rigid=side == 'links')
    if side == 'both':
        data = dataset(robot, t, q, factor * outside, factor * effort)
    else:
        data = elastic_dataset_from_arrays(robot, t, factor * (outside + effort),
                                           q=q[:, :robot.n])
    found = identify_elastic(data, robot, ElasticEstimateSettings(cutoff=300.0))
    assert found.validation.total < 1e-4
    assert found.verdict == 'poor'
    errors = [one for one in found.findings if one.severity.value == 'error']
    assert sum(words in one.message for one in errors) == 2


def test_friction_that_drives_a_motor_is_no_good_model(robot):
    t, q, outside, effort = moved(robot, 6.0, 200.0)
    theta_dot = np.gradient(q[:, robot.n:], t, axis=0)
    found = identify_elastic(dataset(robot, t, q, outside, effort - 60.0 * theta_dot), robot,
                             ElasticEstimateSettings(cutoff=300.0))
    assert found.validation.total < 0.05
    assert found.verdict == 'poor'
    assert [one.subject for one in found.findings if 'friction that drives' in one.message] == [
        'motor_joint1', 'motor_joint2']


def test_springs_that_are_described_wrongly_are_no_other_unit(robot):
    from dataclasses import replace
    described = ElasticRobot(robot.links, replace(robot.joints, stiffness=np.full(2, 40.0)))
    found = identify_elastic(dataset(described, *moved(robot, 6.0, 200.0)), described,
                             ElasticEstimateSettings(cutoff=300.0))
    assert found.verdict == 'good'
    np.testing.assert_allclose(found.identified_robot().joints.stiffness, [3000.0, 1800.0],
                               rtol=1e-6)


def test_a_joint_that_is_locked_is_missed(robot):
    t, q, _, _ = moved(robot)
    q = q.copy()
    q[:, [0, 2]] = 0.0
    tau = ElasticDynamics(robot).inverse_dynamics(
        q, np.gradient(q, t, axis=0), np.gradient(np.gradient(q, t, axis=0), t, axis=0))
    data = dataset(robot, t, q, tau[:, :2], tau[:, 2:])
    found = identify_elastic(data, robot, ElasticEstimateSettings(velocity_threshold=0.0))
    assert found.base.rank < 14
    assert any('of 14 base parameters' in finding.message for finding in found.findings)
    with pytest.raises(RecordingError, match='motor_joint1'):
        identify_elastic(data, robot, ElasticEstimateSettings(velocity_threshold=0.1))


def test_tables_of_motor_shafts(robot, tmp_path):
    t, q, outside, effort = moved(robot, seconds=4.0)
    ratio = robot.joints.gear_ratio
    columns = {'time': t}
    for k in range(2):
        columns[f'joint{k + 1}_position'] = q[:, k]
        columns[f'joint{k + 1}_effort'] = outside[:, k]
        columns[f'motor_joint{k + 1}_position'] = q[:, 2 + k] * ratio[k]
        columns[f'motor_joint{k + 1}_effort'] = effort[:, k] / ratio[k]
    path = tmp_path / 'log.csv'
    with path.open('w', newline='') as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(np.column_stack(list(columns.values())).tolist())
    settings = elastic_settings_from({'position': {'side': 'motor'}, 'links': {'efforts': True},
                                      'effort': {'kind': 'motor_torque'}})
    data = load_elastic_dataset(path, robot, settings)
    (segment,) = data.dataset.segments
    np.testing.assert_allclose(segment.position, q, atol=1e-9)
    np.testing.assert_allclose(segment.effort, np.hstack([outside, effort]), atol=1e-9)
    # Efforts of links are mostly not from outside; a side can be alone.
    alone = load_elastic_dataset(path, robot, ElasticDatasetSettings(
        DatasetSettings(position_side='motor', effort_kind='motor_torque'), encoders='motors'))
    np.testing.assert_allclose(alone.dataset.segments[0].position, q[:, 2:], atol=1e-9)
    free = load_elastic_dataset(path, robot, ElasticDatasetSettings(
        DatasetSettings(position_side='motor', position_scale=[2.0, 1.0], position_offset=0.5)))
    assert not np.any(free.dataset.segments[0].effort[:, :2])
    np.testing.assert_allclose(free.dataset.segments[0].position, q * [2.0, 1.0, 2.0, 1.0] + 0.5,
                               atol=1e-9)
    # Angles of shafts for those over gear ratios.
    with pytest.raises(RecordingError, match=r'motor_joint1 moves 7.* position: {side: motor}'):
        load_elastic_dataset(path, robot)
    with pytest.raises(ParameterError, match='unsigned_bits'):
        elastic_settings_from({'effort': {'unsigned_bits': 16}})


def test_recordings_with_a_topic_for_motors(robot, tmp_path):
    rosbag2 = pytest.importorskip('rosbags.rosbag2')
    typesys = pytest.importorskip('rosbags.typesys')
    types = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    state, header, stamp = (types.types[f'{kind}'] for kind in (
        'sensor_msgs/msg/JointState', 'std_msgs/msg/Header', 'builtin_interfaces/msg/Time'))
    t, q, _, effort = moved(robot, seconds=4.0, rate=200.0)
    with rosbag2.Writer(tmp_path / 'bag', version=8) as writer:
        topics = [writer.add_connection(name, state.__msgtype__, typestore=types)
                  for name in ('/joint_states', '/motor_states')]
        # Motors report a little later than links.
        for k, time in enumerate(t):
            for topic, late, position, force in ((topics[0], 0.0, q[k, :2], np.zeros(0)),
                                                 (topics[1], 0.002, q[k, 2:], effort[k])):
                nanoseconds = 10**9 + round((time + late) * 1e9)
                message = state(header(stamp(nanoseconds // 10**9, nanoseconds % 10**9), ''),
                                list(robot.links.joint_names), position, np.zeros(0), force)
                writer.write(topic, nanoseconds, types.serialize_cdr(message, state.__msgtype__))
    data = load_elastic_dataset(tmp_path / 'bag', robot, elastic_settings_from(
        {'links': {'topic': '/joint_states'}, 'motors': {'topic': '/motor_states'}}))
    (segment,) = data.dataset.segments
    np.testing.assert_allclose(segment.position[:, 2:], q[:len(segment.time), 2:], atol=1e-12)
    later = moved(robot, seconds=4.0, rate=1000.0)[1][2::5, :2]
    np.testing.assert_allclose(segment.position[:, :2], later[:len(segment.time)], atol=1e-6)
    assert not np.any(segment.effort[:, :2])


def test_one_joint_that_slides():
    links = Robot.from_urdf("""<robot name="lift"><link name="base"/><link name="car"><inertial>
      <mass value="3"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="lift" type="prismatic"><parent link="base"/><child link="car"/>
      <axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="100"/></joint>
      </robot>""")
    robot = ElasticRobot(links, ElasticJoints(50.0, 1e-4, 5e4, coulomb=2.0, viscous=3.0,
                                              names=links.joint_names))
    found = identify_elastic(dataset(robot, *moved(robot)), robot,
                             ElasticEstimateSettings(cutoff=300.0))
    np.testing.assert_allclose(found.values, found.base.values(robot.parameters()), rtol=1e-6)
    assert {name: value[0] for name, value in found.independent.items()} == pytest.approx(
        {'car/m': 3.0, 'lift/rotor_inertia': 1e-4, 'lift/coulomb': 2.0, 'lift/viscous': 3.0,
         'lift/stiffness': 5e4}, rel=1e-6)


def test_wrong_inputs_are_refused_by_name(robot):
    t, q, outside, effort = moved(robot, seconds=3.0)
    with pytest.raises(DimensionError, match='q and theta'):
        elastic_dataset_from_arrays(robot, t, effort)
    with pytest.raises(DimensionError, match='theta'):
        elastic_dataset_from_arrays(robot, t, effort, theta=q)
    with pytest.raises(RecordingError, match='usable'):
        dataset(robot, t, q * np.nan, outside, effort)
    with pytest.raises(RecordingError, match='effort'):
        dataset(robot, t, q, outside, effort * np.nan)
    with pytest.raises(RecordingError):
        dataset(robot, t[:5], q[:5], outside[:5], effort[:5])
    with pytest.raises(ParameterError, match='joint 2'):
        Encoders((True, False), (True, False))
    with pytest.raises(DimensionError, match='encoders'):
        measured_base_parameters(ElasticDynamics(robot), Encoders.both(3))
    for wrong in ({'estimator': 'best'}, {'friction': 'none'}, {'cutoff': -1.0},
                  {'velocity_threshold': np.nan}, {'cutoff': 'high'}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            ElasticEstimateSettings(**wrong)
    for wrong in ({'encoders': 'some'}, {'links': {'topik': 'x'}}, {'motors': 3},
                  {'links': {'efforts': 'yes'}}, {'effort': {'gear_ratio': 3.0}}):
        with pytest.raises(ParameterError):
            elastic_settings_from(wrong)
    # One row that is no number is left out, and counted.
    q[100] = np.nan
    data = dataset(robot, t, q, outside, effort)
    assert data.dataset.counts == {'rows without a finite position': 1}
    other = ElasticRobot(robot.links.with_parameters(robot.links.inertial_parameters),
                         robot.joints)
    assert identify_elastic(data, other, ElasticEstimateSettings(cutoff=20.0)).base.rank == 14
    with pytest.raises(RobotDynamicsError):
        load_elastic_dataset('nowhere', robot)
