# SPDX-License-Identifier: Apache-2.0
import json
import shutil

import numpy as np
import pytest

from robot_dynamics.errors import DimensionError, ParameterError, RecordingError
from robot_dynamics.identification.dataset.bags import read_bag
from robot_dynamics.identification.dataset.dataset import dataset_from_arrays, load_dataset
from robot_dynamics.identification.dataset.settings import (
    DatasetSettings,
    read_settings,
    settings_from,
)

NAMES = ('shoulder', 'elbow', 'wrist')
BAGS = ('run_sqlite3', 'run_mcap', 'run_mcap_no_metadata', 'run_sqlite3/run_sqlite3.db3',
        'run_mcap/run_mcap.mcap')


@pytest.fixture
def named(three):
    from dataclasses import replace
    return replace(three.robot, joint_names=NAMES, body_joint_names=NAMES)


@pytest.mark.parametrize('bag', BAGS)
def test_bags_give_the_same_rows(cases, bag):
    expected = json.loads((cases / 'ident_bag' / 'expected.json').read_text())['numbers']
    log = read_bag(cases / 'ident_bag' / bag, expected['model_order'], {})
    assert log.count == expected['rows']
    row = expected['row_10']
    for name, key in (('position', 'q'), ('velocity', 'v'), ('effort', 'effort')):
        np.testing.assert_allclose(getattr(log, name)[10], row[key], atol=1e-9)
    np.testing.assert_allclose(np.diff(log.stamps) * 1e-9, expected['dt'], atol=1e-9)
    assert np.all(np.isnan(log.velocity[:5]))


def test_a_row_without_effort_is_dropped_and_counted(cases, named):
    dataset = load_dataset(cases / 'ident_bag' / 'run_mcap', named)
    assert dataset.count == 19
    assert dataset.counts['rows without a finite effort'] == 1
    assert not dataset.has_velocity
    assert any('no complete velocities' in f.message for f in dataset.findings)


def test_joints_under_other_names(cases):
    joints = ('a', 'b', 'c')
    log = read_bag(cases / 'ident_bag' / 'run_mcap', joints, dict(zip(NAMES, joints, strict=True)))
    assert log.names == joints
    with pytest.raises(RecordingError, match='shoulder'):
        read_bag(cases / 'ident_bag' / 'run_mcap', joints, {})
    with pytest.raises(RecordingError, match='is not recorded'):
        read_bag(cases / 'ident_bag' / 'run_mcap', NAMES, {}, '/other')


def test_a_recording_cut_off_in_the_middle(cases, tmp_path):
    whole = (cases / 'ident_bag' / 'run_mcap' / 'run_mcap.mcap').read_bytes()
    (tmp_path / 'cut.mcap').write_bytes(whole[:40])
    with pytest.raises(RecordingError):
        read_bag(tmp_path / 'cut.mcap', NAMES, {})


def arrays(arm, **kwargs):
    t, q, v, a = arm.motion(**kwargs)
    return t, q, v, arm.efforts(q, v, a)


def test_what_is_wrong_is_found_and_counted(three):
    t, q, _v, tau = arrays(three, seconds=10)
    t, q, tau = t.copy(), q.copy(), tau.copy()
    q[100, 1] = np.nan
    tau[200, 0] = np.inf
    t[300] = t[299]
    t[400:402] = t[398:400] - 0.001
    tau[500, 2] = 1e4
    q[600, 0] += 3.0
    t[1000:] += 0.5
    dataset = dataset_from_arrays(three.robot, t, q, tau)
    counts = dict(dataset.counts)
    assert counts.pop('rows without a finite position') == 1
    assert counts.pop('rows without a finite effort') == 1
    assert counts.pop('rows with the stamp of the row before') == 1
    assert counts.pop('rows out of order') == 2
    assert counts.pop('rows with a spike of effort') == 1
    assert counts.pop('rows with a jump of position') == 1
    assert counts.pop('gaps') == 1
    assert not counts
    assert len(dataset.segments) == 2
    assert dataset.count == len(t) - 7
    assert len(dataset.findings) >= 7


def test_a_clean_log_is_left_alone(three):
    t, q, v, tau = arrays(three)
    dataset = dataset_from_arrays(three.robot, t, q, tau, v)
    assert dataset.counts == {}
    assert dataset.count == len(t)
    np.testing.assert_array_equal(dataset.segments[0].effort, tau)


def test_wrapped_angles_are_unwrapped(three):
    t, q, _v, tau = arrays(three)
    turning = q + np.array([2.0, 0.0, 0.0]) * t[:, None]
    wrapped = (turning + np.pi) % (2 * np.pi) - np.pi
    dataset = dataset_from_arrays(three.robot, t, wrapped, tau)
    steps = dataset.segments[0].position - turning
    np.testing.assert_allclose(steps, steps[0] * np.ones_like(steps), atol=1e-9)
    assert dataset.counts['wraps undone'] >= 6


def test_repeated_rows_are_dropped_while_the_arm_moves(three):
    t, q, _v, tau = arrays(three)
    q, tau = q.copy(), tau.copy()
    for k in (50, 90, 333):
        q[k], tau[k] = q[k - 1], tau[k - 1]
    dataset = dataset_from_arrays(three.robot, t, q, tau)
    assert dataset.counts == {'rows that repeat the one before': 3}


def test_rows_of_an_arm_that_its_brakes_hold_are_dropped(three):
    t, q, v, tau = arrays(three)
    jitter = 1e-4 * np.random.default_rng(0).choice([-1.0, 0.0, 1.0], (100, 3))
    still, none = np.tile(q[0], (100, 1)) + jitter, np.zeros((100, 3))
    whole = [np.concatenate(parts) for parts in ((still, q), (none, tau), (none, v))]
    time = np.arange(len(whole[0])) * (t[1] - t[0])
    dataset = dataset_from_arrays(three.robot, time, *whole)
    assert dataset.counts == {'rows at rest without any effort, as with brakes on': 100}
    np.testing.assert_array_equal(dataset.segments[0].effort, tau)


def test_an_arm_that_swings_without_effort_is_kept(three):
    t, q, v, tau = arrays(three)
    tau = tau.copy()
    tau[100:200] = 0.0
    tau[300:310] = 0.0
    assert np.all(np.ptp(q[100:200], axis=0) > 0.01)
    assert 'rows at rest without any effort, as with brakes on' not in dataset_from_arrays(
        three.robot, t, q, tau, v).counts


def test_units_and_couplings(three):
    t, q, _v, tau = arrays(three)
    C = np.array([[10.0, 0, 0], [0, -20.0, 0], [0, 5.0, 5.0]])
    motors = np.linalg.solve(C.T, tau.T).T
    settings = DatasetSettings(effort_kind='current', torque_constant=(0.1, 0.2, 0.3),
                               sign=(1, -1, 1), coupling=C.tolist(), position_side='motor',
                               position_offset=(0.5, 0, 0))
    dataset = dataset_from_arrays(three.robot, t, q @ C.T, motors / [0.1, -0.2, 0.3],
                                  settings=settings)
    np.testing.assert_allclose(dataset.segments[0].effort, tau, atol=1e-9)
    np.testing.assert_allclose(dataset.segments[0].position, q + [0.5, 0, 0], atol=1e-9)
    assert dataset.axis_names == ('j1', 'j2', 'j3', 'j3/motor')
    np.testing.assert_allclose(dataset.axes[3], [0, 1, 1])


def test_tables(three, tmp_path):
    t, q, v, tau = arrays(three, seconds=2)
    header = ['t'] + [f'- {j}_{word}' for word in ('position', 'velocity', 'effort')
                      for j in three.robot.joint_names]
    rows = [','.join(map(repr, row)) for row in np.column_stack([t, q, v, tau]).tolist()]
    rows.insert(100, '1.0,garbage')
    rows.append(rows[-1].rsplit(',', 3)[0])
    (tmp_path / 'log.csv').write_text('\n'.join([','.join(header), *rows]))
    dataset = load_dataset(tmp_path / 'log.csv', three.robot)
    assert dataset.count == len(t)
    assert dataset.counts == {'rows with missing or extra fields': 2}
    np.testing.assert_allclose(dataset.segments[0].effort, tau)
    np.savez(tmp_path / 'log.npz', times=t, positions=q, torques=tau[:-3])
    keys = {'time': 'times', 'position': 'positions', 'effort': 'torques'}
    dataset = load_dataset(tmp_path / 'log.npz', three.robot, DatasetSettings(keys=keys))
    assert dataset.counts == {'rows that not all arrays have': 3}
    for name, array in (('p', q), ('e', tau)):
        np.savetxt(tmp_path / f'{name}.csv', array, delimiter=',', comments='',
                   header=','.join(three.robot.joint_names))
    settings = DatasetSettings(files={'position': 'p.csv', 'effort': 'e.csv'}, rate=200.0)
    assert load_dataset(tmp_path, three.robot, settings).count == len(t)
    with pytest.raises(RecordingError, match='rate'):
        load_dataset(tmp_path, three.robot, DatasetSettings(files=settings.files))


@pytest.mark.parametrize('content', [b'', b'a,b\n', b'\x00\xff', b't,j1\n1,2\n', b'PK\x03\x04'])
@pytest.mark.parametrize('name', ['x.csv', 'x.npz', 'x.mcap', 'x.db3'])
def test_files_that_are_no_log(three, tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RecordingError):
        load_dataset(tmp_path / name, three.robot)
    with pytest.raises(RecordingError):
        load_dataset(tmp_path / ('no_' + name), three.robot)


def test_wrong_arrays(three):
    t, q, _v, tau = arrays(three, seconds=1)
    with pytest.raises(DimensionError, match='q'):
        dataset_from_arrays(three.robot, t, q[:, :2], tau)
    with pytest.raises(RecordingError, match='usable row'):
        dataset_from_arrays(three.robot, t, q * np.nan, tau)
    with pytest.raises(RecordingError, match='usable row'):
        dataset_from_arrays(three.robot, [], np.zeros((0, 3)), np.zeros((0, 3)))
    with pytest.raises(RecordingError):
        dataset_from_arrays(three.robot, t[:5], q[:5], tau[:5])
    # Times in ms, and in ns since 1970.
    for time in (1e3 * t, 1.7e18 + 1e9 * t):
        with pytest.raises(RecordingError, match='s apart; give times in s'):
            dataset_from_arrays(three.robot, time, q, tau)


@pytest.mark.filterwarnings('error')
def test_times_of_any_kind_cause_no_warning(three):
    t, q, v, a = three.motion(seconds=5.0)
    tau = three.efforts(q, v, a)
    with pytest.raises(RecordingError, match='s apart; give times in s'):
        dataset_from_arrays(three.robot, 1.7e18 + 1e9 * t, q, tau)
    # A time that was spoilt is the time of no row, wherever it stands.
    for place, wrong in ((0, 1e300), (500, -1e308), (-1, 1e308), (7, np.inf), (8, 9e9)):
        time = 1.7e9 + t
        time[place] = wrong
        dataset = dataset_from_arrays(three.robot, time, q, tau)
        assert dataset.counts['rows without a time'] == 1
        assert dataset.duration == pytest.approx(5.0, abs=0.1)


@pytest.mark.parametrize('content', [
    {'effort': {'kind': 'volts'}}, {'effort': {'colour': 1}}, {'effort': 3}, {'log': {'rate': -1}},
    {'velocity': 'guess'}, {'position': {'side': 'left'}}, {'log': {'times': [3]}},
    {'names': ['a']}, 'text', {'log': {'times': [3, 1]}}])
def test_settings_that_cannot_be(content):
    with pytest.raises(ParameterError):
        settings_from(content)


@pytest.mark.parametrize('settings', [
    {'sign': 0}, {'gear_ratio': [1, 2]}, {'coupling': [[1, 0], [0, 1]]}, {'sign': 'minus'},
    {'coupling': np.ones((3, 3)).tolist()}, {'torque_constant': np.nan, 'effort_kind': 'current'}])
def test_drives_that_cannot_be(three, settings):
    t, q, _v, tau = arrays(three, seconds=1)
    with pytest.raises(ParameterError):
        dataset_from_arrays(three.robot, t, q, tau, settings=DatasetSettings(**settings))


def test_settings_of_a_file(tmp_path):
    (tmp_path / 'a.yaml').write_text('effort: {kind: current, sign: -1}\nlog: {times: [1, 2]}\n'
                                     'estimate: auto\n')
    settings, content = read_settings(tmp_path / 'a.yaml')
    assert settings.effort_kind == 'current'
    assert settings.times == (1, 2)
    assert content['estimate'] == 'auto'
    with pytest.raises(ParameterError):
        read_settings(tmp_path / 'b.yaml')


def test_real_bags_of_both_kinds_are_the_same(shared, tmp_path):
    from robot_dynamics.model.robot import Robot
    robot = Robot.from_urdf(shared / 'data' / 'urdf' / 'panda_hand.urdf',
                            joints=[f'panda_joint{k}' for k in range(1, 8)])
    settings = DatasetSettings(names={f'fer_joint{k}': f'panda_joint{k}' for k in range(1, 8)})
    folder = shared / 'data' / 'data' / 'panda_unisa'
    one, other = (load_dataset(folder / f'panda_exciting_trajectory.{kind}', robot, settings)
                  for kind in ('db3', 'mcap'))
    np.testing.assert_array_equal(one.segments[0].effort, other.segments[0].effort)
    assert one.counts == other.counts
    assert one.counts['rows with a spike of effort'] >= 1
    copy = tmp_path / 'bag'
    copy.mkdir()
    shutil.copy(folder / 'panda_exciting_trajectory.mcap', copy)
    assert load_dataset(copy, robot, settings).count == one.count


class TestReferenceOfTheLoop:
    """The reference of a position controller in another file, topic or key."""

    GAINS = {'proportional': 100.0, 'derivative': 10.0}

    @pytest.fixture
    def run(self, three):
        """Time, positions and efforts, and a reference with times of its own that starts first."""
        t, q, _, tau = arrays(three, seconds=2)
        early = np.arange(-0.5, 2.5, 0.004)
        return 1.7e9 + t, q, tau, 1.7e9 + early, np.stack([np.sin(early), early, -early], axis=1)

    def check(self, three, run, path, **settings):
        t, _, tau, _, _ = run
        dataset = load_dataset(path, three.robot, DatasetSettings(**self.GAINS, **settings))
        since = t - 1.7e9
        np.testing.assert_allclose(dataset.segments[0].effort, tau)
        np.testing.assert_allclose(dataset.segments[0].reference,
                                   np.stack([np.sin(since), since, -since], axis=1), atol=1e-4)
        np.testing.assert_allclose(dataset.gains, [[100.0] * 3, [10.0] * 3])

    def table(self, path, three, time, **quantities):
        header = ['t', *(f'{j}_{word}' for word in quantities for j in three.robot.joint_names)]
        np.savetxt(path, np.column_stack([time, *quantities.values()]), delimiter=',',
                   comments='', header=','.join(header), fmt='%.17g')

    def test_a_file_beside_the_log(self, three, run, tmp_path):
        t, q, tau, early, goal = run
        self.table(tmp_path / 'log.csv', three, t, position=q, effort=tau)
        self.table(tmp_path / 'goal.csv', three, early, position=goal)
        self.check(three, run, tmp_path / 'log.csv', reference='goal.csv')

    def test_columns_of_the_same_table(self, three, run, tmp_path):
        t, q, tau, _, _ = run
        since = t - 1.7e9
        goal = np.stack([np.sin(since), since, -since], axis=1)
        np.savez(tmp_path / 'log.npz', time=t, position=q, effort=tau, wanted=goal)
        self.check(three, run, tmp_path / 'log.npz', reference='wanted')

    def test_a_topic_of_the_same_bag(self, three, run, tmp_path):
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import Stores, get_typestore
        store = get_typestore(Stores.ROS2_HUMBLE)
        header, state, stamp = (store.types[name] for name in (
            'std_msgs/msg/Header', 'sensor_msgs/msg/JointState', 'builtin_interfaces/msg/Time'))
        t, q, tau, early, goal = run
        empty = np.zeros(0)
        with Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
            for topic, rows in (('/joint_states', zip(t, q, tau, strict=True)),
                                ('/wanted', ((at, one, empty) for at, one
                                             in zip(early, goal, strict=True)))):
                line = writer.add_connection(topic, state.__msgtype__, typestore=store)
                for at, position, effort in rows:
                    at = round(at * 1e9)
                    message = state(header(stamp(at // 10**9, at % 10**9), ''),
                                    list(three.robot.joint_names), position, empty, effort)
                    writer.write(line, at, store.serialize_cdr(message, state.__msgtype__))
        self.check(three, run, tmp_path / 'bag', reference='/wanted')
