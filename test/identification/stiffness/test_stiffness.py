# SPDX-License-Identifier: Apache-2.0
"""Ratio, lost motion and stiffness of joints whose ratio, play and spring are known."""

import json

import numpy as np
import pytest
from rosbags.rosbag2 import Writer
from rosbags.typesys import Stores, get_typestore

from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.identification.stiffness.log import (
    Columns,
    joint_logs,
    read_columns,
    stiffness_settings,
)
from robot_dynamics.identification.stiffness.modes import examine_modes
from robot_dynamics.identification.stiffness.report import examine
from robot_dynamics.identification.stiffness.spring import DIRECTION, LOAD, direction

STIFFNESS, PLAY, RATIO = 2000.0, 2e-3, 100.0
MOTOR_STEP, LINK_STEP = 2 * np.pi / 2**12, 2 * np.pi / 2**17


def joint(play, seconds=40.0, rate=200.0, seed=0):
    """Columns of a joint of which the play follows the load or the direction, or is none."""
    t = np.arange(int(seconds * rate)) / rate
    link = 0.8 * np.sin(0.82 * t) + 0.4 * np.sin(1.95 * t + 1.0)
    torque = 15.0 * np.cos(link + 0.3) + 8.0 * np.sin(1.45 * t)
    theta = link.copy()
    if play == LOAD:
        theta += 0.5 * PLAY * np.sign(torque)
    if play == DIRECTION:
        at = link[0]
        for k in range(len(t)):
            at = link[k] = min(max(at, theta[k] - 0.5 * PLAY), theta[k] + 0.5 * PLAY)
    theta += torque / STIFFNESS
    noise = np.random.default_rng(seed).normal(size=len(t))
    return {'time': t, 'motor_elbow_position': MOTOR_STEP * np.round(RATIO * theta / MOTOR_STEP),
            'elbow_position': LINK_STEP * np.round(link / LINK_STEP),
            'elbow_effort': torque + 0.05 * noise}


def columns(values):
    return Columns(values, dict.fromkeys(values, values['time']), 'simulated')


def springs(values, **about):
    settings = stiffness_settings({'joints': {'elbow': about}} if about else None)
    (report,) = examine(joint_logs(columns(values), settings))
    return report


NAMES = {'motor': 'motor_elbow_position', 'link': 'elbow_position', 'torque': 'elbow_effort'}


@pytest.mark.parametrize('play', [LOAD, DIRECTION, ''])
@pytest.mark.parametrize('is_given', [False, True])
def test_known_springs_are_found(play, is_given):
    about = {**NAMES, 'gear_ratio': RATIO} if is_given else {}
    report = springs(joint(play), **about)
    spring = report.spring
    assert spring.follows == play
    assert spring.stiffness == pytest.approx(STIFFNESS, rel=5e-3)
    assert spring.ratio == pytest.approx(RATIO, rel=1e-4)
    assert np.isnan(spring.ratio_deviation) == is_given
    assert spring.lost_motion == pytest.approx(PLAY if play else 0.0, rel=0.02)
    assert spring.steps[0] == pytest.approx(MOTOR_STEP / RATIO, rel=0.01)
    assert not report.missing
    text = '\n'.join(report.lines)
    assert ('backlash' in text) == (play == LOAD) and ('hysteresis' in text) == (play == DIRECTION)


def pendulum(stiffness, *, dry=0.0):
    """Exact motion of a pendulum on a spring, and torques of motor and joint with noise."""
    step, ratio, inertia, viscous = 1e-3, 100.0, 0.8, 1.5
    t = np.arange(0.0, 60.0, step)
    random = np.random.default_rng(1)
    q, v, a = (np.zeros_like(t) for _ in range(3))
    for k in range(1, 16):
        x, y = random.normal(size=2) * 0.25 / k ** 0.7
        w = 0.2 * np.pi * k
        s, c = np.sin(w * t), np.cos(w * t)
        q, v, a = q + x * s + y * c, v + w * (x * c - y * s), a - w**2 * (x * s + y * c)
    spring = 1.2 * a + 30.0 * np.sin(q) + 0.3 * v
    theta = q + spring / stiffness
    speed = np.gradient(theta, step)
    motor = inertia * np.gradient(speed, step) + viscous * speed + dry * np.sign(speed) + spring
    noise = 0.05 * random.normal(size=t.shape)
    return {'time': t, 'link': q, 'motor': ratio * theta, 'motor_torque': (motor + noise) / ratio,
            'joint_torque': spring + noise}


@pytest.mark.parametrize('side', ['motor', 'joint'])
@pytest.mark.parametrize('is_given', [False, True])
@pytest.mark.parametrize(('stiffness', 'dry'), [(5000.0, 0.0), (1500.0, 0.0), (5000.0, 2.0)])
def test_exact_data_give_the_stiffness_within_its_deviation(stiffness, dry, side, is_given):
    """The columns of a motor torque are filtered exactly as often as the deflection."""
    about = {'motor': 'motor', 'link': 'link', 'torque': f'{side}_torque', 'torque_side': side}
    spring = springs(pendulum(stiffness, dry=dry), **about,
                     **({'gear_ratio': 100.0} if is_given else {})).spring
    assert abs(spring.stiffness - stiffness) < 3.0 * spring.stiffness_deviation
    assert spring.stiffness == pytest.approx(stiffness, rel=5e-3)
    assert spring.ratio == pytest.approx(100.0, rel=1e-4)
    assert spring.lost_motion == 0.0
    if side == 'motor':
        assert abs(spring.dry_friction - dry) < 3.0 * spring.dry_deviation


@pytest.mark.parametrize('stiffness', [5000.0, 1500.0])
def test_a_known_ratio_narrows_the_stiffness(stiffness):
    spring = springs(pendulum(stiffness), motor='motor', link='link', torque='motor_torque',
                     torque_side='motor', gear_ratio=100.0).spring
    assert spring.stiffness_deviation < 1e-4 * stiffness

def test_efforts_and_velocities_are_no_positions():
    values = joint(LOAD)
    for signal in ('effort', 'velocity'):
        values[f'motor_elbow/{signal}'] = values[f'elbow/{signal}'] = values['elbow_effort']
    (log,) = joint_logs(columns(values), stiffness_settings(None))
    assert (log.name, log.about.motor, log.about.link) \
        == ('elbow', 'motor_elbow_position', 'elbow_position')


def test_torques_of_the_motor_and_scales():
    values = joint(LOAD)
    t, theta = values['time'], values['motor_elbow_position'] / RATIO
    speed = np.gradient(0.8 * np.sin(0.82 * t) + 0.4 * np.sin(1.95 * t + 1.0), t)
    # In a motor's own torque there are its inertia and its friction.
    values['elbow_effort'] = (values['elbow_effort'] + 0.5 * np.gradient(speed, t)
                              + 2.0 * speed) / RATIO / 0.1
    values['motor_elbow_position'] = np.degrees(theta * RATIO)
    spring = springs(values, **NAMES, torque_side='motor', torque_scale=0.1,
                     motor_scale=np.pi / 180).spring
    assert spring.stiffness == pytest.approx(STIFFNESS, rel=0.02)
    assert spring.lost_motion == pytest.approx(PLAY, rel=0.05)


def driven(values, play=0.0, dry=3.0):
    """Columns of a joint of which the effort of the motor is told, carried by brakes at first."""
    t = values['time']
    theta = values['elbow_position'] + values['elbow_effort'] / STIFFNESS
    speed = np.gradient(theta, t)
    theta = theta + 0.5 * play * np.sign(speed)
    effort = values.pop('elbow_effort') + 0.5 * np.gradient(speed, t) + 2.0 * speed \
        + dry * np.sign(speed)
    values = {**values, 'motor_elbow_position': theta, 'motor_elbow_effort': effort}
    rest = 600
    braked = {name: np.concatenate([np.full(rest, 0.0 if 'effort' in name else value[0]), value])
              for name, value in values.items()}
    # While brakes carry it the spring is loaded all the same.
    braked['motor_elbow_position'][:rest] += 0.01
    return {**braked, 'time': np.arange(len(t) + rest) * 0.005}


def test_dry_friction_of_the_motor_and_a_start_with_brakes():
    report = springs(driven(joint('')))
    spring = report.spring
    assert spring.stiffness == pytest.approx(STIFFNESS, rel=0.01)
    assert spring.dry_friction == pytest.approx(3.0, rel=0.05)
    assert spring.braked == pytest.approx(3.0, abs=0.02)
    assert spring.follows == '' and spring.ratio == pytest.approx(1.0, rel=1e-4)
    text = '\n'.join(report.lines)
    assert 'dry friction of the motor' in text and 'carried by brakes' in text
    # Of play that follows the direction and dry friction only the difference is seen.
    spring = springs(driven(joint(''), play=0.01)).spring
    assert spring.stiffness == pytest.approx(STIFFNESS, rel=0.01)
    assert spring.follows == DIRECTION and np.isnan(spring.dry_friction)
    assert spring.lost_motion == pytest.approx(0.01 - 2 * 3.0 / STIFFNESS, rel=0.05)


def test_without_a_torque_there_is_no_stiffness():
    values = joint(DIRECTION)
    values['motor_elbow_position'] = values['motor_elbow_position'] - RATIO * values.pop(
        'elbow_effort') / STIFFNESS
    report = springs(values)
    assert np.isnan(report.spring.stiffness)
    assert 'no torque' in report.missing[0]
    assert report.spring.lost_motion == pytest.approx(PLAY, rel=0.02)
    assert json.dumps(report.to_dict(), allow_nan=False)


def test_direction_turns_after_play_alone():
    way, since = direction(np.array([0.0, 1.0, 2.0, 1.9, 2.1, 1.0, 0.0, 0.5]), 0.3)
    assert way.tolist() == [0, 1, 1, 1, 1, -1, -1, 1]
    assert since[4] == pytest.approx(2.1) and since[6] == pytest.approx(2.1)


def test_resonances_of_a_known_spring():
    inertia, stiffness, damping, rate = 0.1, 400.0, 0.2, 1000.0
    random = np.random.default_rng(1)
    torque = random.normal(size=6000)
    from scipy.signal import cont2discrete, lfilter
    numerator, denominator, _ = cont2discrete(
        ([1.0 / inertia, 0, 0], [1.0, damping / inertia, stiffness / inertia]), 1.0 / rate)
    output = lfilter(numerator.ravel(), denominator, torque)
    found = examine_modes(torque, output, rate, inertia=inertia)
    (mode,) = found.modes
    assert mode.frequency == pytest.approx(np.sqrt(stiffness / inertia) / 2 / np.pi, rel=1e-3)
    assert mode.damping == pytest.approx(damping / 2 / np.sqrt(stiffness * inertia), rel=0.02)
    assert found.stiffness == pytest.approx(stiffness, rel=2e-3)
    assert found.simulated < 1e-6


def test_a_flexible_arm_that_was_measured(shared):
    path = shared / 'data' / 'data' / 'daisy_flexible_arm' / 'robot_arm.dat'
    settings = stiffness_settings({'joints': {'arm': {'torque': 1, 'acceleration': 2}}})
    (report,) = examine(joint_logs(read_columns(path), settings))
    assert report.samples == 1024 and not report.has_rate
    # The third one of the equation is where the torque has no power.
    first, second = (mode.frequency for mode in report.modes.modes)
    assert first == pytest.approx(0.058, abs=1e-3)
    assert second == pytest.approx(0.127, abs=1e-3)
    assert report.modes.one_step < 0.0032 and report.modes.simulated < 0.075
    assert any('encoders' in text for text in report.missing)
    assert any('rate' in text and 'inertia' in text for text in report.missing)
    known = stiffness_settings({'log': {'rate': 500}, 'joints': {'arm': {
        'torque': 1, 'acceleration': 2, 'inertia': 0.1}}})
    (report,) = examine(joint_logs(read_columns(path), known))
    assert report.modes.stiffness == pytest.approx(0.1 * (2 * np.pi * 0.058 * 500)**2, rel=0.03)


@pytest.mark.parametrize('mark', [',', ';', '\t', '  '])
@pytest.mark.parametrize('has_header', [True, False])
def test_tables_of_any_kind(tmp_path, mark, has_header):
    path = tmp_path / 'log.dat'
    rows = ['# a remark', *([mark.join(['t', 'a', 'b'])] if has_header else []),
            *(mark.join([f'{k}', f'{k / 7:.6e}', f'{-k}']) for k in range(5)), '']
    path.write_text('\n'.join(rows))
    found = read_columns(path)
    assert list(found.values) == (['t', 'a', 'b'] if has_header else ['1', '2', '3'])
    assert found.named(2)[3] == pytest.approx(3 / 7)
    assert (found.time_of(2) is not None) == has_header


def test_recordings_and_archives(cases, tmp_path):
    bag = read_columns(cases / 'ident_bag' / 'run_mcap')
    name = next(name for name in bag.values if name.endswith('/position'))
    assert bag.time_of(name)[0] >= 0.0 and len(bag.named(name)) > 10
    np.savez(tmp_path / 'log.npz', time=np.arange(9.0), q=np.ones((9, 2)))
    assert list(read_columns(tmp_path / 'log.npz').values) == ['time', 'q/1', 'q/2']


@pytest.fixture
def record(tmp_path):
    """Record joint states: topic, name of the joint, position and effort by message."""
    def write(*topics):
        store = get_typestore(Stores.ROS2_HUMBLE)
        kind = 'sensor_msgs/msg/JointState'
        JointState, Header, Time = (store.types[name] for name in (
            kind, 'std_msgs/msg/Header', 'builtin_interfaces/msg/Time'))
        with Writer(tmp_path / 'bag', version=9) as writer:
            for topic, name, rows in topics:
                connection = writer.add_connection(topic, kind, typestore=store)
                for time, position, effort in rows:
                    stamp = round(1e9 * time)
                    position, effort = np.atleast_1d(position), np.atleast_1d(effort)
                    writer.write(connection, stamp, store.serialize_cdr(JointState(
                        Header(Time(stamp // 10**9, stamp % 10**9), ''), [name], position,
                        np.empty(0), effort), kind))
        return tmp_path / 'bag'
    return write


@pytest.mark.parametrize(('motor_topic', 'motor'), [
    ('/arm/motor_states', 'motor_elbow'), ('/arm/motor_states', 'elbow'),
    ('/motors', 'motor_elbow')])
def test_the_states_of_links_and_motors_are_found_by_themselves(record, motor_topic, motor):
    values = joint(None, seconds=10.0)
    t, link, torque = (values[name] for name in ('time', 'elbow_position', 'elbow_effort'))
    theta = values['motor_elbow_position'] / RATIO
    path = record(('/arm/controller/tracking_error', 'elbow', zip(t, 0.0 * link, torque,
                                                                  strict=True)),
                  ('/arm/joint_states', 'elbow', zip(t, link, 7.0 * torque, strict=True)),
                  ('/arm/inverse_dynamics/torque', 'elbow', zip(t, link, 3.0 * torque,
                                                                strict=True)),
                  (motor_topic, motor, zip(t, theta, torque, strict=True)))
    (report,) = examine(joint_logs(read_columns(path)))
    assert report.name == 'elbow'
    assert report.spring.ratio == pytest.approx(1.0, rel=2e-3)
    assert report.spring.stiffness == pytest.approx(STIFFNESS, rel=0.05)


def test_topics_that_nothing_tells_apart_are_named(record):
    t = np.arange(100) / 100.0
    rows = [(time, np.sin(time), 1.0) for time in t]
    path = record(('/one', 'elbow', rows), ('/two', 'elbow', rows),
                  ('/motors', 'motor_elbow', rows))
    with pytest.raises(RecordingError, match='among: /one:elbow/position, /two:elbow/position'):
        joint_logs(read_columns(path))


@pytest.mark.parametrize('content', [
    [], {'jonts': {}}, {'joints': 3}, {'joints': {'a': {'moter': 1}}}, {'log': {'rate': -1}},
    {'joints': {'a': {'gear_ratio': 0}}}, {'joints': {'a': {'torque_side': 'left'}}},
    {'joints': {'a': {'motor_scale': 'x'}}}, {'joints': {'a': {'motor': [1]}}},
    {'log': {'times': [3, 1]}}, {'joints': {'a': {'inertia': float('nan')}}}])
def test_wrong_settings_are_refused(content):
    with pytest.raises(ParameterError):
        stiffness_settings(content)


def test_wrong_logs_are_refused(tmp_path):
    values = joint('', seconds=2.0)
    with pytest.raises(RecordingError, match='motor'):
        joint_logs(columns({'time': values['time'], 'elbow_position': values['elbow_position']}))
    with pytest.raises(RecordingError, match='no column'):
        springs(values, motor='nothing', link='elbow_position')
    with pytest.raises(RecordingError, match='signals'):
        springs(values, motor='motor_elbow_position')
    with pytest.raises(RecordingError, match='does not move'):
        springs({**values, 'elbow_position': 0.0 * values['time']})
    with pytest.raises(RecordingError, match='does not move'):
        springs({**values, 'motor_elbow_position': 1e-6 * values['motor_elbow_position']})
    with pytest.raises(RecordingError, match='do not move together'):
        springs({**values, 'motor_elbow_position': np.random.default_rng(0).normal(
            size=len(values['time']))})
    with pytest.raises(RecordingError, match='without brakes'):
        springs({**values, 'elbow_effort': 0.0 * values['time']})
    with pytest.raises(RecordingError, match='usable rows'):
        springs({**values, 'elbow_position': np.nan * values['time']})
    with pytest.raises(RecordingError):
        springs({name: value[:70] for name, value in values.items()})
    for name, text in (('empty.csv', ''), ('one.csv', 'a,b\n1,2\n'), ('words.csv', 'a\nx\ny\n')):
        (tmp_path / name).write_text(text)
    for name in ('empty.csv', 'one.csv', 'nowhere.csv', 'nowhere.npz', 'nowhere'):
        with pytest.raises(RecordingError):
            read_columns(tmp_path / name)
    # Words are no numbers, and then there is nothing to see.
    with pytest.raises(RecordingError):
        joint_logs(read_columns(tmp_path / 'words.csv'),
                   stiffness_settings({'joints': {'a': {'motor': 1, 'link': 1}}}))
