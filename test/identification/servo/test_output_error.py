# SPDX-License-Identifier: Apache-2.0
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.identification.servo.log import (
    arrays_log,
    halves_of,
    read_servo_log,
    read_servo_logs,
)
from robot_dynamics.identification.servo.model import CLASSES, Layout, friction_of
from robot_dynamics.identification.servo.output_error import (
    OutputErrorSettings,
    Search,
    identify_drives,
    mean_error,
    output_error_settings,
    simulate_servos,
)
from robot_dynamics.model.robot import Robot

PENDULUM = """<robot name="p"><link name="base"/><link name="l"><inertial>
<origin xyz="0 0 -0.1"/><mass value="0.5"/><inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0"
ixz="0" iyz="0"/></inertial></link><joint name="j" type="continuous"><parent link="base"/>
<child link="l"/><axis xyz="0 1 0"/></joint></robot>"""
TRUE = {'gain': 0.1, 'back_emf': 0.03, 'armature': 0.002, 'viscous': 0.004, 'coulomb': 0.01,
        'load': 0.1, 'offset': 0.02}


@pytest.fixture(scope='module')
def pendulum():
    return Robot.from_urdf(PENDULUM)


def told(robot, seconds=4.0, rate=100.0, limit=1.0, seed=0, proportional=1.2):
    """Return what servos were told; positions are yet to come."""
    t = np.arange(int(seconds * rate)) / rate
    random = np.random.default_rng(seed)
    goal = np.stack([sum(random.uniform(0.2, 0.8) * np.sin(random.uniform(1, 8) * t)
                         for _ in range(3)) for _ in range(robot.n)], axis=1)
    law = np.tile([proportional, 0.0, limit], (robot.n, 1))
    return arrays_log(t, np.zeros_like(goal), goal, law, supply=7.4, velocity=np.zeros(robot.n))


def moved(robot, log, parameters, step=1e-3):
    layout = Layout(robot.joint_names, tuple(parameters), {
        name: np.full(robot.n, value) for name, value in parameters.items()})
    return simulate_servos(robot, log, layout, np.zeros(0), step)


def finely(robot, log, parameters):
    """Return the positions by an integrator of high order; no dry friction."""
    dynamics = Dynamics(robot)
    n = robot.n

    def slope(t, y):
        k = min(int(t / (log.time[1] - log.time[0]) + 1e-9), log.count - 1)
        q, v = y[:n], y[n:]
        asked = np.clip(log.law[:, 0] * (log.goal[k] - q), -log.law[:, 2], log.law[:, 2])
        tau = parameters['gain'] * log.supply[k] * asked - (
            parameters['back_emf'] + parameters['viscous']) * v
        M, C, g = dynamics.matrices(q, v)
        return np.concatenate([v, np.linalg.solve(M + parameters['armature'] * np.eye(n),
                                                  tau - C @ v - g)])
    out, y = [log.position[0]], np.concatenate([log.position[0], log.velocity])
    for a, b in zip(log.time[:-1], log.time[1:], strict=True):
        # Commands change at rows.
        y = solve_ivp(slope, (a, b - 1e-9), y, rtol=1e-8, atol=1e-10).y[:, -1]
        out.append(y[:n])
    return np.array(out)


@pytest.mark.parametrize('joints', [1, 3])
def test_a_servo_without_dry_friction_moves_as_its_equations_say(pendulum, three, joints):
    robot = pendulum if joints == 1 else three.robot
    size = 1.0 if joints == 1 else 100.0
    parameters = {'gain': 0.1 * size, 'back_emf': 0.03 * size, 'armature': 0.002 * size,
                  'viscous': 0.01 * size}
    log = told(robot, seconds=1.5)
    right = finely(robot, log, parameters)
    errors = [np.max(np.abs(moved(robot, log, parameters, step) - right))
              for step in (1e-3, 2.5e-4)]
    assert errors[1] < 0.01 * np.max(np.abs(right))
    # Of first order: a quarter of the step, a quarter of the error.
    assert errors[1] < 0.35 * errors[0]


def test_what_rubs_enough_stands_still(pendulum, three):
    for robot, size in ((pendulum, 1.0), (three.robot, 100.0)):
        log = told(robot)
        stuck = {'gain': 1e-3 * size, 'coulomb': size}
        assert np.max(np.abs(moved(robot, log, stuck))) < 1e-7
        assert np.max(np.abs(moved(robot, log, {**stuck, 'gain': 10 * size}))) > 0.01


def test_dry_friction_takes_its_part_of_the_push(pendulum):
    """A weightless rotor under a constant push: (push - F) t^2 / 2 J."""
    robot = pendulum.with_gravity((0.0, 0.0, 0.0))
    log = told(robot, seconds=0.5)
    log = replace(log, goal=np.full_like(log.goal, 1e6))
    inertia, push = 0.5 * 0.1 ** 2 + 1e-6 + 0.003, 0.1 * 7.4
    for friction, F in (({'coulomb': 0.2}, 0.2), ({'load': 0.3}, 0.3 * push),
                        ({'load_motor': 0.3, 'coulomb': 0.1}, 0.1 + 0.3 * push),
                        ({'stribeck': 0.2, 'stribeck_speed': 1e6}, 0.2)):
        q = moved(robot, log, {'gain': 0.1, 'armature': 0.003, **friction})[:, 0]
        np.testing.assert_allclose(q[10:], 0.5 * (push - F) / inertia * log.time[10:] ** 2,
                                   rtol=0.02)


def test_a_servo_that_is_off_has_no_brake(pendulum):
    log = told(pendulum)
    swing = {'gain': 0.0, 'back_emf': 0.05}
    off = replace(log, enabled=np.zeros_like(log.enabled), position=log.position + 0.5)
    on = replace(log, position=log.position + 0.5)
    free, braked = (np.abs(moved(pendulum, one, swing)[-100:, 0]).max() for one in (off, on))
    assert free > 0.45
    assert braked < 0.05


@pytest.fixture(scope='module')
def recorded(pendulum):
    logs = []
    for seed, proportional in ((0, 0.6), (1, 1.2)):
        log = told(pendulum, seed=seed, proportional=proportional)
        if seed == 1:
            log = replace(log, enabled=np.where(log.time > 2.5, 0.0, 1.0)[:, np.newaxis])
        q = moved(pendulum, log, TRUE, 2e-3)
        count = 2 * np.pi / 4096
        logs.append(replace(log, position=np.round(q / count) * count))
    return tuple(logs)


@pytest.fixture(scope='module')
def found(pendulum, recorded):
    return identify_drives(pendulum, recorded, OutputErrorSettings(step=5e-3, starts=1))


def test_drives_are_found_again(found):
    # The simulation of the search has other steps than that of the log.
    for name, relative in (('gain', 0.03), ('armature', 0.1), ('back_emf', 0.1), ('load', 0.15)):
        value, sd = found.parameters[f'j/{name}'], found.standard_deviations[f'j/{name}']
        assert value == pytest.approx(TRUE[name], rel=relative), name
        assert 0.0 < sd < 0.3 * value, name
    assert found.parameters['j/offset'] == pytest.approx(0.02, abs=0.01)
    assert found.mean_error[0] < 0.01
    assert found.validation[0] < 0.02
    assert found.costs[0] <= found.costs[-1]


def test_deviations_cover_the_truth(pendulum):
    """Noise of the encoder: the truth within three standard deviations, by linearisation."""
    settings = OutputErrorSettings(step=2e-3)
    clean = told(pendulum)
    # Off, at last: without that the brake of the motor is hardly told from friction.
    clean = replace(clean, enabled=np.where(clean.time > 2.5, 0.0, 1.0)[:, np.newaxis])
    q = moved(pendulum, clean, TRUE, 2e-3)
    layout = Layout(('j',), ('gain', 'back_emf', 'armature', 'viscous', 'coulomb', 'load',
                             'offset'), {name: np.array([TRUE[name]])
                                         for name in ('coulomb', 'load', 'offset')})
    truth = np.array([TRUE[name] for name in layout.free])
    inside, values, stated = [], [], []
    for run in range(12):
        noise = 0.01 * np.random.default_rng(run).normal(size=q.shape)
        noise[0] = 0.0
        search = Search(pendulum, [replace(clean, position=q + noise)], layout, settings)
        x = search.from_points([truth])[0][0]
        deviations = search.deviations(x)
        inside.append(np.abs(x - truth) < 3.0 * deviations)
        values.append(x)
        stated.append(deviations)
    assert np.mean(inside) >= 0.95
    ratio = np.mean(stated, axis=0) / np.std(values, axis=0)
    assert np.all((ratio > 0.6) & (ratio < 2.2))


def test_what_no_log_asks_for_is_said(pendulum, recorded):
    known = {name: TRUE[name] for name in TRUE if name != 'coulomb'}
    found = identify_drives(pendulum, recorded, OutputErrorSettings(
        friction=['viscous', 'coulomb', 'stribeck', 'stribeck_speed', 'load'],
        known={**known, 'stribeck_speed': 1.0}, starts=1, step=5e-3))
    assert found.parameters['j/coulomb'] + found.parameters['j/stribeck'] == pytest.approx(
        0.01, abs=0.004)
    words = ' '.join(map(str, found.findings))
    assert 'hardly determined' in words or 'at its bound' in words


def test_given_drives_are_judged(pendulum, recorded):
    right = mean_error(pendulum, recorded, TRUE, 2e-3)[0]
    wrong = mean_error(pendulum, recorded, {**TRUE, 'gain': 0.05}, 2e-3)[0]
    assert right < 5e-3
    assert wrong > 10 * right


def test_halves_begin_where_the_log_was(recorded):
    first, second = halves_of(recorded)
    assert first[0].count + second[0].count == recorded[0].count
    np.testing.assert_array_equal(second[0].position[0],
                                  recorded[0].position[recorded[0].count // 2])
    assert abs(second[0].velocity[0]) < 20.0


def table_of(t, q, goal):
    return [[a, b, c, 7.4, 1] for a, b, c in zip(t.tolist(), q.tolist(), goal.tolist(),
                                                 strict=True)]


def test_logs_are_read_and_what_is_left_out_is_counted(pendulum, tmp_path):
    t = np.arange(200) / 100.0
    rows = table_of(t, np.sin(t), np.cos(t))
    rows[20][1] = None
    rows[40][0] = rows[39][0]
    rows[60][0] = 0.1
    rows[80] = [1.0]
    for row in rows[100:]:
        row[0] = (row[0] or 0.0) + 1.0
    content = {'columns': ['time', 'position', 'goal', 'volts', 'on'], 'rows': rows}
    (tmp_path / 'run.json').write_text(json.dumps(content))
    section = {'logs': [{'source': 'run.json', 'proportional': 2.0}],
               'servo': {'limit': 0.5}, 'keys': {'supply': 'volts', 'enabled': 'on'}}
    logs = read_servo_logs(section, tmp_path, pendulum.joint_names)
    assert len(logs) == 2
    assert sum(log.count for log in logs) == 196
    assert logs[0].counts == {
        'rows with missing or extra fields': 1, 'rows without a finite position': 1,
        'rows out of order': 1, 'rows with the stamp of the row before': 1, 'gaps': 1}
    np.testing.assert_array_equal(logs[0].law, [[2.0, 0.0, 0.5]])
    np.testing.assert_array_equal(logs[0].supply, 7.4)
    assert logs[1].time[0] == 0.0
    # The same as a CSV file.
    (tmp_path / 'run.csv').write_text('time,position,goal\n' + '\n'.join(
        f'{a},{b},{c}' for a, b, c in zip(t, np.sin(t), np.cos(t), strict=True)))
    log, = read_servo_log(tmp_path / 'run.csv', ('j',), {}, {'proportional': 2.0, 'supply': 12})
    np.testing.assert_array_equal(log.supply, 12.0)
    assert log.velocity[0] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(('section', 'words'), [
    ({}, 'must be a list of logs'), ({'logs': []}, 'must be a list of logs'),
    ({'logs': [{}]}, 'source'),
    ({'logs': [{'source': 'run.csv'}]}, 'proportional'),
    ({'logs': [{'source': 'run.csv', 'proportional': -1}]}, 'nonnegative'),
    ({'logs': [{'source': 'run.csv', 'proportional': 1, 'colour': 1}]}, 'not a setting'),
    ({'logs': [{'source': 'run.csv', 'proportional': 1}], 'keys': {'position': 'x'}},
     'has no columns'),
    ({'logs': [{'source': 'run.csv', 'proportional': 1}], 'keys': {'colour': 'x'}},
     'not a setting'),
    ({'logs': [{'source': 'run.csv', 'proportional': 1}], 'servo': 3}, 'a mapping'),
    ({'logs': [{'source': 'no.csv', 'proportional': 1}]}, 'cannot be read'),
    ({'logs': [{'source': 'ms.csv', 'proportional': 1}]}, '5 s apart; give times in s')])
def test_logs_that_cannot_be(tmp_path, section, words):
    (tmp_path / 'run.csv').write_text('time,position,goal\n' + '\n'.join(
        f'{k},{k},{k}' for k in range(50)))
    # 5 ms between two rows.
    (tmp_path / 'ms.csv').write_text('time,position,goal\n' + '\n'.join(
        f'{5 * k},{k},{k}' for k in range(50)))
    with pytest.raises((ParameterError, RecordingError), match=words):
        read_servo_logs(section, tmp_path, ('j',))


def test_json_that_is_no_table(tmp_path):
    for text in ('', '{', '[]', '{"columns": [], "rows": []}', '{"columns": ["a"], "rows": 3}',
                 '{"columns": ["a"], "rows": [[]]}', '[' * 100_000):
        (tmp_path / 'x.json').write_text(text)
        with pytest.raises(RecordingError):
            read_servo_log(tmp_path / 'x.json', ('j',), {}, {'proportional': 1.0})


@pytest.mark.parametrize('settings', [
    {'friction': 'sticky'}, {'friction': ['sticky']}, {'friction': ['load', 'load_motor']},
    {'friction': ['stribeck']}, {'known': {'colour': 1.0}}, {'known': 3}, {'step': 0.0},
    {'step': 1e-9}, {'starts': 0}, {'friction': None}, {'friction': 1}, {'seed': 'x'},
    {'seed': -1}])
def test_settings_that_cannot_be(settings):
    with pytest.raises(ParameterError):
        OutputErrorSettings(**settings)


def test_wrong_robots_and_logs(pendulum, three, recorded):
    with pytest.raises(RecordingError, match='give one'):
        identify_drives(pendulum, ())
    with pytest.raises(RecordingError, match='must have 3 joints'):
        identify_drives(three.robot, recorded)
    still = replace(recorded[0], position=np.zeros_like(recorded[0].position))
    with pytest.raises(RecordingError, match='does not move'):
        identify_drives(pendulum, [still])
    backwards = replace(recorded[0], supply=-7.4 * np.ones_like(recorded[0].supply))
    with pytest.raises(RecordingError, match=r'diverges with all tried parameters.*check signs'):
        identify_drives(pendulum, [backwards], OutputErrorSettings(step=5e-3, starts=1))
    with pytest.raises(ParameterError, match='must be one number'):
        identify_drives(pendulum, recorded, OutputErrorSettings(known={'gain': 'much'}))
    with pytest.raises(ParameterError, match='is not a setting'):
        output_error_settings({'colour': 1})
    assert output_error_settings({'friction': 'coulomb', 'logs': []}).friction == 'coulomb'
    for name, terms in CLASSES.items():
        assert friction_of(name) == terms


def test_published_drives_on_a_real_log(shared):
    """The law of the servo, by published values: the class with load is the better one."""
    folder = shared / 'data' / 'data' / 'bam_xl330'
    robot = Robot.from_urdf(PENDULUM.replace('0.5', '0.49').replace('1e-6', '1e-7'))
    keys = {'time': 'timestamp', 'velocity': 'speed', 'goal': 'goal_position',
            'supply': 'input_volts', 'enabled': 'torque_enable'}
    logs = read_servo_log(folder / 'kp400_sin_sin.json', robot.joint_names, keys,
                          {'proportional': 1.15095, 'limit': 1.0})
    errors = []
    for name in ('m1', 'm3'):
        published = json.loads((folder / 'published_params' / f'{name}.json').read_text())
        gain = published['kt'] / published['R']
        errors.append(mean_error(robot, logs, {
            'gain': gain, 'back_emf': published['kt'] * gain, 'armature': published['armature'],
            'viscous': published['friction_viscous'], 'coulomb': published['friction_base'],
            'load': published.get('load_friction_base', 0.0),
            'offset': published['q_offset']}, 2e-3)[0])
    assert errors[0] < 0.12
    assert errors[1] < 0.75 * errors[0]
