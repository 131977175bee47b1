# SPDX-License-Identifier: Apache-2.0
"""Logs in tables as tools write them, read without settings."""

import json
import re

import numpy as np
import pytest
import yaml

from robot_dynamics import Robot
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.dataset import load_dataset
from robot_dynamics.identification.dataset.settings import DatasetSettings, settings_from

JOINTS = ('j1', 'j2', 'j3')
START = 1_700_000_000


def csv_of(names, columns, path, form='{:.17g}', mark=','):
    rows = [mark.join(form.format(x) if isinstance(x, float) else str(x) for x in row)
            for row in zip(*columns, strict=True)]
    path.write_text('\n'.join([mark.join(names)] * bool(names) + rows) + '\n')


def stamps(t):
    """Return seconds and nanoseconds since 1970."""
    return (np.array([START + int(x) for x in t]),
            np.array([round((x - int(x)) * 1e9) for x in t]))


def plotjuggler(t, q, v, tau, path):
    """Write two topics; the second one has positions of the same joints, and no efforts."""
    names, columns = ['__time'], [list(START + t)]
    for k, joint in enumerate(JOINTS):
        for word, x in (('position', q), ('velocity', v), ('effort', tau)):
            names.append(f'/arm/joint_states/{joint}/{word}')
            columns.append(list(x[:, k]))
        names.append(f'/arm/command/{joint}/position')
        columns.append(list(x[:, k]))
    csv_of(names, columns, path)


def plotjuggler_stamps(t, q, v, tau, path):
    seconds, nanoseconds = stamps(t)
    names = ['/joint_states/header/stamp/sec', '/joint_states/header/stamp/nanosec']
    columns = [list(seconds), list(nanoseconds)]
    for word, x in (('position', q), ('velocity', v), ('effort', tau)):
        names += [f'/joint_states/{joint}/{word}' for joint in JOINTS]
        columns += [list(column) for column in x.T]
    csv_of(names, columns, path)


def rostopic(t, q, v, tau, path):
    """Write rostopic echo -p; the joints of the message are in another order."""
    seconds, nanoseconds = stamps(t)
    stamp = [f'{a}{b:09d}' for a, b in zip(seconds, nanoseconds, strict=True)]
    order = [2, 0, 1]
    count = range(3)
    names = ['%time', 'field.header.seq', 'field.header.stamp', 'field.header.frame_id',
             *(f'field.{word}{k}' for word in ('name', 'position', 'velocity', 'effort')
               for k in count)]
    csv_of(names, [stamp, range(len(t)), stamp, [''] * len(t),
                   *([JOINTS[k]] * len(t) for k in order),
                   *(list(x[:, k]) for x in (q, v, tau) for k in order)], path)


def ros2_echo(t, q, v, tau, path):
    """Write ros2 topic echo --csv, which has no line of names."""
    seconds, nanoseconds = stamps(t)
    csv_of([], [list(seconds), list(nanoseconds), ['base'] * len(t),
                *([joint] * len(t) for joint in JOINTS),
                *(list(column) for x in (q, v, tau) for column in x.T)], path)


def in_joint_order(t, q, v, tau, path):
    csv_of(['t', *(f'{word}{k}' for word in ('q', 'dq', 'tau') for k in range(3))],
           [list(t), *(list(column) for x in (q, v, tau) for column in x.T)], path)


def rtde_client(t, q, v, tau, path):
    """Write record.py of the RTDE client of Universal Robots: blanks, and commands beside."""
    words = 'target_q', 'actual_q', 'actual_qd', 'actual_current', 'actual_TCP_pose'
    csv_of(['timestamp', *(f'{word}_{k}' for word in words for k in range(3))],
           [list(t), *(list(column) for x in (q + 1.0, q, v, tau, tau) for column in x.T)], path,
           mark=' ')


def libfranka(t, q, v, tau, path):
    """Write franka::logToCSV: milliseconds, blanks after commas, commands beside."""
    names = ['time', ' success_rate']
    for word in ('state.q', 'state.q_d', 'state.dq', 'state.dq_d', 'state.tau_J',
                 'state.tau_ext_hat_filtered', 'cmd.q_d', 'cmd.tau_J_d'):
        names += [f' {word}[{k}]' for k in range(3)]
    csv_of(names, [[round(1e3 * x) for x in t], [1.0] * len(t), *(
        list(column) for x in (q, q + 1.0, v, v + 1.0, tau, 0.0 * tau, q + 2.0, tau + 1.0)
        for column in x.T)], path)


def kortex(t, q, v, tau, path):
    """Write the fields of Kinova's BaseCyclic feedback: degrees."""
    csv_of(['time', *(f'actuators[{k}].{word}' for k in range(3)
                      for word in ('position', 'velocity', 'torque', 'current_motor'))],
           [list(t), *(list(x[:, k]) for k in range(3)
                       for x in (np.rad2deg(q), np.rad2deg(v), tau, 9.0 * tau))], path)


def json_lines(t, q, v, tau, path):
    seconds, nanoseconds = stamps(t)
    path.with_suffix('.jsonl').write_text('\n'.join(json.dumps({
        'stamp': [int(seconds[k]), int(nanoseconds[k])], 'name': list(JOINTS),
        'position': q[k].tolist(), 'velocity': v[k].tolist(), 'effort': tau[k].tolist()})
        for k in range(len(t))))


def lists_in_cells(t, q, v, tau, path):
    csv_of(['time', 'position', 'velocity', 'effort'],
           [list(t), *([f'"{row.tolist()}"' for row in x] for x in (q, v, tau))], path)


@pytest.fixture(scope='module')
def moved(three):
    t, q, v, a = three.motion(seconds=2)
    return t, q, v, three.efforts(q, v, a)


@pytest.mark.parametrize('write', [
    plotjuggler, plotjuggler_stamps, rostopic, ros2_echo, in_joint_order, rtde_client, libfranka,
    kortex, json_lines, lists_in_cells])
def test_tables_of_tools_are_read_without_settings(three, moved, tmp_path, write):
    t, q, v, tau = moved
    write(t, q, v, tau, tmp_path / 'log.csv')
    path, = tmp_path.iterdir()
    segment, = load_dataset(path, three.robot).segments
    np.testing.assert_allclose(segment.time, t, atol=1e-6)
    np.testing.assert_allclose(segment.position, q, atol=1e-12)
    np.testing.assert_allclose(segment.velocity, v, atol=1e-12)
    np.testing.assert_allclose(segment.effort, tau, atol=1e-12)


@pytest.mark.parametrize(('case', 'file'), [
    ('ident_plotjuggler', 'log.csv'), ('ident_rostopic_p', 'log.csv'),
    ('ident_sec_nanosec', 'log.csv'), ('ident_time_units', 'log_ms.csv'),
    ('ident_time_units', 'log_ns.csv')])
def test_cases(shared, case, file):
    cases = shared / 'cases'
    robot = Robot.from_urdf(cases / case / 'arm.urdf')
    dataset = load_dataset(cases / case / file, robot)
    assert dataset.count == 3000 and dataset.counts == {}
    assert dataset.duration == pytest.approx(3000 / 150, abs=0.02)
    assert dataset.segments[0].position[0].tolist() == [-0.259902, 0.212836]
    assert dataset.segments[0].effort[0].tolist() == [-9.027066, -2.135539]


def test_a_table_without_names_is_read_with_the_settings_of_the_message(shared):
    folder = shared / 'cases' / 'ident_headerless'
    robot = Robot.from_urdf(folder / 'arm.urdf')
    with pytest.raises(RecordingError, match='no line of names') as caught:
        load_dataset(folder / 'log.csv', robot)
    text = caught.value.remedy.partition(': ')[2]
    dataset = load_dataset(folder / 'log.csv', robot, settings_from(yaml.safe_load(text)))
    assert dataset.count == 3000 and dataset.has_velocity
    assert dataset.segments[0].velocity[0].tolist() == [0.497020, -0.980068]


def test_the_one_missing_column_is_named(three, moved, tmp_path):
    t, q, _, tau = moved
    path = tmp_path / 'log.csv'
    csv_of(['time', *(f'{joint}_position' for joint in JOINTS), 'j1_effort', 'j3_effort'],
           [list(t), *map(list, q.T), list(tau[:, 0]), list(tau[:, 2])], path)
    with pytest.raises(RecordingError, match='has no effort of j2; add it') as caught:
        load_dataset(path, three.robot)
    assert '5 j1_effort' in caught.value.remedy


@pytest.mark.parametrize('names', [
    [f'{joint}_{word}' for word in ('position', 'effort') for joint in ('a', 'b', 'c')],
    ['q1', 'q2', 'q3', 'load a', 'load b', 'load c']])
def test_settings_of_the_message_work(three, moved, tmp_path, names):
    t, q, _, tau = moved
    path = tmp_path / 'log.csv'
    csv_of(['time', *names], [list(t), *map(list, q.T), *map(list, tau.T)], path)
    with pytest.raises(RecordingError) as caught:
        load_dataset(path, three.robot)
    text = re.search(r'(names|log): \{.*\}', caught.value.remedy)[0]
    segment, = load_dataset(path, three.robot, settings_from(yaml.safe_load(text))).segments
    np.testing.assert_allclose(segment.effort, tau)


def test_columns_by_number_and_two_columns_of_time(three, moved, tmp_path):
    t, q, _, tau = moved
    path = tmp_path / 'log.csv'
    seconds, nanoseconds = stamps(t)
    csv_of(['a', 'a', *'bbbccc'], [list(seconds), list(nanoseconds), *map(list, q.T),
                                   *map(list, tau.T)], path)
    keys = {'time': [1, 2], 'position': [3, 4, 5], 'effort': [6, 7, 8]}
    segment, = load_dataset(path, three.robot, DatasetSettings(keys=keys)).segments
    np.testing.assert_allclose(segment.time, t, atol=1e-6)
    np.testing.assert_allclose(segment.effort, tau)
    with pytest.raises(RecordingError, match='not exactly one column 9'):
        load_dataset(path, three.robot, DatasetSettings(keys={**keys, 'effort': [6, 7, 9]}))


def test_two_arms_in_one_table_need_a_topic(three, moved, tmp_path):
    t, q, _, tau = moved
    path = tmp_path / 'log.csv'
    names, columns = ['__time'], [list(t)]
    for side, sign in (('left', 1.0), ('right', -1.0)):
        for word, x in (('position', q), ('effort', tau)):
            names += [f'/{side}/joint_states/{joint}/{word}' for joint in JOINTS]
            columns += [list(sign * column) for column in x.T]
    csv_of(names, columns, path)
    with pytest.raises(RecordingError, match='several sources') as caught:
        load_dataset(path, three.robot)
    assert 'topic: "/left/joint_states"' in caught.value.remedy
    segment, = load_dataset(path, three.robot,
                            DatasetSettings(topic='/right/joint_states')).segments
    np.testing.assert_allclose(segment.position, -q)


@pytest.mark.parametrize(('unit', 'factor'), [('ms', 1e3), ('us', 1e6), ('ns', 1e9)])
@pytest.mark.parametrize('start', [0.0, 1.7e9])
def test_units_of_time(three, moved, tmp_path, unit, factor, start):
    t, q, _, tau = moved
    path = tmp_path / 'log.npz'
    np.savez(path, time=np.round((start + t) * factor).astype(np.int64), position=q, effort=tau)
    for settings in (DatasetSettings(), DatasetSettings(time_unit=unit)):
        dataset = load_dataset(path, three.robot, settings)
        np.testing.assert_allclose(dataset.segments[0].time, t, atol=1e-6)
        told = any('times were read as ' + unit in one.message for one in dataset.findings)
        assert told == (settings.time_unit is None)


def test_absolute_and_relative_times(three, moved, tmp_path):
    t, q, _, tau = moved
    names = ['time', *(f'{joint}_{word}' for word in ('position', 'effort') for joint in JOINTS)]
    for start, times in ((START, (START + 0.5, START + 1.5)), (START, (0.5, 1.5)),
                         (7.0, (0.5, 1.5))):
        path = tmp_path / 'log.csv'
        csv_of(names, [list(start + t), *map(list, q.T), *map(list, tau.T)], path)
        dataset = load_dataset(path, three.robot, DatasetSettings(times=times))
        np.testing.assert_allclose(dataset.segments[0].position, q[100:301])


def test_a_log_of_any_name_and_with_units_of_time(three, tmp_path):
    t, q, v, a = three.motion(seconds=1)
    tau = three.efforts(q, v, a)
    names = ['Time [s]'] + [f'{joint}_{word}' for word in ('position', 'effort')
                            for joint in three.robot.joint_names]
    rows = np.column_stack([t, q, tau])
    for name, mark in (('LOG.CSV', ','), ('log.tsv', '\t'), ('log.txt', ' ; ')):
        np.savetxt(tmp_path / name, rows, delimiter=mark, header=mark.join(names), comments='')
        np.testing.assert_allclose(
            load_dataset(tmp_path / name, three.robot).segments[0].position, q)
    (tmp_path / 'log.csv').write_text(','.join(names) + '\n' + '"5,000.1",1,2,3,4,5,6\n' * 20)
    with pytest.raises(RecordingError, match='no numeric times'):
        load_dataset(tmp_path / 'log.csv', three.robot)


@pytest.mark.parametrize(('arrays', 'subject'), [
    ({'time': np.zeros((40, 2))}, 'time'), ({'time': np.zeros(40, dtype=complex)}, 'time'),
    ({'names': np.array([['j1', 'j2', 'j3']])}, 'names'), ({'names': np.arange(3)}, 'names'),
    ({'position': np.zeros((40, 3), dtype=complex)}, 'position')])
def test_archives_of_other_arrays_are_refused(three, tmp_path, arrays, subject):
    whole = {'time': np.arange(40) * 0.01, 'position': np.ones((40, 3)),
             'effort': np.ones((40, 3))}
    np.savez(tmp_path / 'log.npz', **{**whole, **arrays})
    with pytest.raises(RecordingError, match='and type') as caught:
        load_dataset(tmp_path / 'log.npz', three.robot)
    assert caught.value.subject.endswith(subject)


def test_archives_with_dates_and_bytes(three, tmp_path):
    t, q, v, a = three.motion(seconds=1)
    start = np.datetime64('2024-05-01T12:00:00', 'ns')
    np.savez(tmp_path / 'log.npz', time=start + (t * 1e9).astype('timedelta64[ns]'), position=q,
             effort=three.efforts(q, v, a), names=np.array([b'j1', b'j2', b'j3']))
    segment, = load_dataset(tmp_path / 'log.npz', three.robot).segments
    np.testing.assert_allclose(segment.time, t, atol=1e-9)
    np.testing.assert_allclose(segment.position, q)
