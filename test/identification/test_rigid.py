# SPDX-License-Identifier: Apache-2.0
import json
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.identification import consistent
from robot_dynamics.identification.consistent import prior_of
from robot_dynamics.identification.dataset.dataset import dataset_from_arrays
from robot_dynamics.identification.dataset.settings import DatasetSettings
from robot_dynamics.identification.friction import FAMILIES
from robot_dynamics.identification.least_squares import estimate
from robot_dynamics.identification.model_selection import ModelSelector, model_equations
from robot_dynamics.identification.observation_matrix import Stack
from robot_dynamics.identification.rigid import (
    EstimateSettings,
    base_estimate,
    estimate_settings,
    identify,
)
from robot_dynamics.identification.signals import SignalSettings
from robot_dynamics.model.modify import with_scaled_masses
from robot_dynamics.model.robot import Robot

PLAIN = EstimateSettings(friction='coulomb', armature=False, gravity='known', cutoff=8.0,
                         lag=0.0, coulomb_width=0.02)


def wrong(robot):
    """A description with links too light and too heavy, and their centres elsewhere."""
    masses = {name: factor for name, factor in zip(robot.body_names, (0.6, 1.5, 0.7),
                                                   strict=False)}
    return with_scaled_masses(robot, masses)


@pytest.fixture(scope='module')
def found(three):
    dataset = three.log(seconds=40, noise=(2e-6, 0.02))
    return identify(dataset, wrong(three.robot), PLAIN)


def test_a_wrong_description_is_put_right(three, found):
    _t, q, v, a = three.motion(seed=7)
    right = Dynamics(three.robot).inverse_dynamics(q, v, a)
    theirs = Dynamics(found.model.robot).inverse_dynamics(q, v, a) - right
    ours = Dynamics(found.identified_robot()).inverse_dynamics(q, v, a) - right
    assert np.linalg.norm(ours) < 0.01 * np.linalg.norm(right)
    assert np.linalg.norm(ours) < 0.05 * np.linalg.norm(theirs)
    assert found.verdict == 'good'
    assert found.is_consistent
    for name, value in found.friction('viscous').items():
        assert value == pytest.approx(2.0, rel=0.02), name
    for name, value in found.friction('coulomb').items():
        assert value == pytest.approx(1.0, rel=0.02), name


def test_all_parts_of_a_result(found, three):
    assert len(found.parameters) == len(found.standard_deviations) == 30 + 9
    assert found.validation.total < 0.01
    assert found.in_sample.rmse.shape == (3,)
    interval = found.confidence_interval(0.95)
    assert np.all(interval[:, 0] < found.base_values)
    assert np.all(interval[:, 1] > found.base_values)
    assert set(found.classes.values()) <= {'unidentifiable', 'combined', 'independent'}
    assert {choice.what for choice in found.choices} >= {'friction',
                                                         'prior weight'}
    assert all(choice.reason for choice in found.choices)
    assert json.loads(json.dumps(found.to_dict()))['verdict'] == 'good'
    assert found.worst[0][2] >= found.worst[-1][2]
    with pytest.raises(ParameterError):
        found.confidence_interval(1.5)


@pytest.mark.parametrize('estimator', ['ols', 'wls', 'huber', 'iv'])
def test_estimators_by_name(three, estimator):
    dataset = three.log(seconds=30, noise=(2e-6, 0.02))
    found = identify(dataset, wrong(three.robot), replace(PLAIN, estimator=estimator))
    _t, q, v, a = three.motion(seed=7)
    right = Dynamics(three.robot).inverse_dynamics(q, v, a)
    ours = Dynamics(found.identified_robot()).inverse_dynamics(q, v, a)
    assert np.linalg.norm(ours - right) < 0.02 * np.linalg.norm(right)


def test_the_base_of_the_paper_and_essential_parameters(three):
    dataset = three.log(seconds=20, noise=(2e-6, 0.02))
    settings = estimate_settings({'estimate': {
        'base': 'gauss_jordan', 'essential': True, 'friction': ['viscous', 'coulomb'],
        'armature': False, 'gravity': 'known', 'cutoff': 8.0, 'lag': 0.0,
        'coulomb_width': 0.02, 'estimator': 'wls'}})
    found = identify(dataset, wrong(three.robot), settings)
    # The first columns that are independent: of each group the first one.
    truth = found.base.values(np.concatenate([three.robot.parameters,
                                              np.repeat([2.0, 1.0], 3)]))
    order = [found.model.names[k] for k in found.base.independent]
    assert order == sorted(order, key=found.model.names.index)
    inside = np.abs(found.base_values - truth) < 4 * found.base_deviations + 1e-3
    assert np.all(inside)
    kept = found.essential_parameters
    assert 0 < len(kept) <= found.base.rank
    assert found.essential.growth <= 0.01
    for name in ('j1/coulomb', 'j2/viscous'):
        value, sd = kept[name]
        assert abs(value - (1.0 if 'coulomb' in name else 2.0)) < 5 * sd + 0.02
    assert found.to_dict()['essential'].keys() == kept.keys()


def test_auto_says_what_it_chose(three):
    dataset = three.log(seconds=30, noise=(1e-5, 0.05))
    found = identify(dataset, wrong(three.robot), EstimateSettings(armature=False))
    assert found.verdict == 'good'
    assert {choice.what for choice in found.choices} >= {'signals', 'friction', 'gravity',
                                                         'lag of efforts'}
    assert found.validation.total < 0.05


def test_gravity_that_is_not_where_it_is_described(three):
    tilted = np.array([0.3, -0.2, -9.8])
    tilted *= 9.81 / np.linalg.norm(tilted)
    real = three.robot.with_gravity(tilted)
    t, q, v, a = three.motion(seconds=40)
    tau = (Dynamics(real).inverse_dynamics(q, v, a) + 2 * v + np.tanh(v / 0.02)
           + 0.02 * np.random.default_rng(0).normal(size=q.shape))
    dataset = dataset_from_arrays(three.robot, t, q, tau)
    found = identify(dataset, three.robot, replace(PLAIN, gravity='auto'))
    np.testing.assert_allclose(found.model.gravity, tilted, atol=0.05)
    assert np.degrees(np.linalg.norm(found.tilt)) == pytest.approx(2.1, abs=0.3)


@pytest.mark.parametrize(('lag', 'within'), [(0.012, 2e-3), (-0.00204, 3e-4)])
def test_efforts_that_come_late_or_early_are_found(three, lag, within):
    """Also by less than the 5 ms between rows, as in logs of a Panda."""
    t, q, v, a = three.motion(seconds=30)
    tau = three.efforts(q, v, a, width=0.1)
    late = np.stack([np.interp(t - lag, t, column) for column in tau.T], axis=1)
    dataset = dataset_from_arrays(three.robot, t, q, late)
    found = identify(dataset, three.robot, replace(PLAIN, lag=None, coulomb_width=0.1))
    assert found.signals.lag == pytest.approx(lag, abs=within)


def test_a_joint_that_never_moved(three):
    t, q, v, a = three.motion(seconds=20)
    for x in (q, v, a):
        x[:, 0] = 0.0
    dataset = dataset_from_arrays(three.robot, t, q, three.efforts(q, v, a))
    found = identify(dataset, three.robot, PLAIN)
    assert any('combinations of inertial parameters' in f.message for f in found.findings)
    # What was not excited keeps its description.
    np.testing.assert_allclose(found.model.inertial, three.robot.parameters, atol=0.05)


def test_effort_that_is_current(cases, table):
    data = table(cases / 'ident_current_not_torque' / 'pendulum.csv')
    conversion = json.loads((cases / 'ident_current_not_torque' / 'conversion.json').read_text())
    expected = json.loads((cases / 'ident_current_not_torque' / 'expected.json').read_text())[
        'numbers']
    W = np.stack([data['ddq'], np.sin(data['q']), data['dq'], np.sign(data['dq'])], axis=1)
    robot = Robot.from_urdf("""<robot name="p"><link name="base"/><link name="l"><inertial>
        <mass value="2"/><origin xyz="0 0 -0.3"/><inertia ixx="0.05" iyy="0.05" izz="0.01"
        ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="revolute">
        <parent link="base"/><child link="l"/><axis xyz="0 1 0"/>
        <limit lower="-3" upper="3" velocity="5" effort="10"/></joint></robot>""")
    settings = DatasetSettings(effort_kind='current', sign=conversion['direction'],
                               gear_ratio=conversion['gear_ratio'],
                               torque_constant=conversion['torque_constant'])
    for given, theta in ((settings, expected['theta']),
                         (None, expected['theta_without_conversion'])):
        dataset = dataset_from_arrays(robot, data['t'], data['q'][:, None],
                                      data['effort'][:, None], settings=given)
        tau = dataset.segments[0].effort[:, 0]
        np.testing.assert_allclose(np.linalg.lstsq(W, tau, rcond=None)[0], theta, atol=1e-4)
        found = identify(dataset, robot, replace(PLAIN, armature=True, cutoff=5.0))
        words = ' '.join(str(finding) for finding in found.findings)
        assert ('sign flipped' in words) == (given is None)
        assert ('amperes' in words) == (given is None)


def test_noise_free_it_is_exact(rpr):
    """True base parameters to 1e-8, of exact motions: what the equations are, without filters."""
    from robot_dynamics.dynamics.base_parameters import structural_base
    dynamics = Dynamics(rpr.robot)
    _t, q, v, a = rpr.motion(seconds=10)
    W = dynamics.regressor(q, v, a, ('viscous',))
    tau = W @ np.concatenate([rpr.robot.parameters, [1.0, 2.0, 3.0]])
    base = structural_base(dynamics, ('viscous',))
    L = W.reshape(-1, W.shape[-1])[:, base.independent]
    values = np.linalg.lstsq(L, tau.ravel(), rcond=None)[0]
    truth = base.values(np.concatenate([rpr.robot.parameters, [1.0, 2.0, 3.0]]))
    np.testing.assert_allclose(values, truth, atol=1e-8)


def test_stated_deviations_cover_the_truth(rpr):
    """100 runs: true base parameters within three standard deviations, 98 % at least."""
    signals = SignalSettings(8.0)
    terms = FAMILIES['coulomb']
    log = rpr.log(seconds=10, rate=100.0, noise=(2e-6, 0.1), seed=3)
    first = Stack(rpr.robot, log, signals, terms,
                  coulomb_width=0.02)
    chosen = ModelSelector(first, 6).choose(np.arange(6), ('coulomb',), (1.0,), 'known')
    truth = np.concatenate([rpr.robot.parameters, [
        {'offset': 0.0, 'viscous': 2.0, 'coulomb': 1.0}[feature.term]
        for feature in chosen.model.features]])
    base, _ = base_estimate(first, chosen, 'wls', signals, terms)
    inside, scatter, stated = [], [], []
    for run in range(100):
        dataset = rpr.log(seconds=10, rate=100.0, noise=(2e-6, 0.1), seed=3, noise_seed=run)
        stack = Stack(rpr.robot, dataset, signals, terms, coulomb_width=0.02)
        equations = model_equations(stack, chosen)
        linear = estimate('wls', replace(equations, W=equations.W[:, base.independent]),
                          correlation=stack.rate)
        deviations = np.sqrt(np.diag(linear.covariance))
        inside.append(np.abs(linear.x - base.values(truth)) < 3.0 * deviations)
        scatter.append(linear.x)
        stated.append(deviations)
    assert np.mean(inside) >= 0.98
    # Honest in the other direction too: not wider than what the estimates scatter by.
    ratio = np.mean(stated, axis=0) / np.std(scatter, axis=0)
    assert 0.8 < np.median(ratio) < 1.6


def test_a_gravity_compensated_log(three):
    t, q, v, a = three.motion(seconds=30)
    tau = three.efforts(q, v, a) - Dynamics(three.robot).gravity_torque(q)
    plain = identify(dataset_from_arrays(three.robot, t, q, tau), three.robot, PLAIN)
    assert any('gravity-compensated' in f.message for f in plain.findings)
    settings = DatasetSettings(effort_kind='gravity_compensated')
    found = identify(dataset_from_arrays(three.robot, t, q, tau, settings=settings), three.robot,
                     PLAIN)
    assert found.validation.total < 0.02
    assert not any('gravity-compensated' in f.message for f in found.findings)


def test_velocities_that_lag_are_told(three):
    t, q, v, a = three.motion(seconds=30)
    late = np.stack([np.interp(t - 0.15, t, column) for column in v.T], axis=1)
    dataset = dataset_from_arrays(three.robot, t, q, three.efforts(q, v, a), late)
    found = identify(dataset, three.robot, replace(PLAIN, cutoff=None))
    assert any('lags position by up to 0.15 s' in f.message for f in found.findings)
    assert found.signals.velocity == 'position'


def test_one_joint_that_slides(make_arm):
    arm = make_arm([('prismatic', '0 0 1', 3.0)])
    found = identify(arm.log(seconds=20, noise=(1e-6, 0.01)), wrong(arm.robot), PLAIN)
    assert found.parameters['l1/m'] == pytest.approx(3.0, rel=0.02)


def test_what_one_joint_does_not_tell(make_arm):
    """A lag is what all joints have in common; a large tilt is doubted."""
    arm = make_arm([('revolute', '0 1 0', 3.0)])
    log = arm.log(seconds=20, noise=(1e-6, 0.01))
    described = arm.robot.with_gravity((9.81 * np.sin(0.15), 0.0, -9.81 * np.cos(0.15)))
    found = identify(log, described, replace(PLAIN, lag=None, gravity='estimate'))
    assert found.signals.lag == 0.0
    assert any('does not separate lag' in choice.reason for choice in found.choices)
    doubt, = (finding for finding in found.findings if finding.subject == 'gravity')
    assert 'more than usual for a mounted arm' in doubt.message
    np.testing.assert_allclose(found.model.gravity, arm.robot.gravity, atol=1.5)


def test_too_short_and_wrong(three, rpr):
    with pytest.raises(RecordingError, match='record'):
        identify(three.log(seconds=0.5), three.robot, PLAIN)
    with pytest.raises(ParameterError, match='other joints'):
        identify(three.log(seconds=5), replace(three.robot, joint_names=('a', 'b', 'c'),
                                               body_joint_names=('a', 'b', 'c')), PLAIN)
    with pytest.raises(ParameterError, match='velocity: position'):
        identify(replace(three.log(seconds=5), velocity_source='measured'), three.robot, PLAIN)
    for settings in ({'estimator': 'magic'}, {'friction': 'sticky'}, {'gravity': 'maybe'},
                     {'cutoff': -1.0}, {'strength': 'x'}, {'velocity_threshold': -1},
                     {'base': 'best'}, {'essential': 'yes'}, {'armature': 1}):
        with pytest.raises(ParameterError):
            EstimateSettings(**settings)
    with pytest.raises(ParameterError, match='is not a setting'):
        estimate_settings({'estimate': {'colour': 1}})
    with pytest.raises(ParameterError):
        estimate_settings({'estimate': 'manual'})
    assert estimate_settings({'estimate': 'auto'}) == EstimateSettings()


def test_the_pipeline_of_the_paper(make_arm):
    """L. Zollo et al. 2015, section 6, without elasticity: a coarse encoder and full friction.

    1 kHz, 1,250,000 counts a turn, Butterworth of fifth order at 20 Hz, differences of
    neighbours, slow samples left out, the pseudo-inverse; friction is eq. (43).
    """
    arm = make_arm([('revolute', '0 1 0', 20.0), ('revolute', '0 1 0', 10.0)])
    t, q, v, a = arm.motion(seconds=9.0, rate=1000.0)
    f1, f2, f3, f4, f5, f6 = (np.array(pair) for pair in (
        (0.1434, 0.1391), (0.3302, 0.3576), (0.2499, 0.2451), (0.0537, 0.1073),
        (0.2991, 0.3389), (16.624, 10.097)))
    speed = np.maximum(np.abs(v), 1e-9)
    tau = Dynamics(arm.robot).inverse_dynamics(q, v, a) + f1 * v + np.sign(v) * (
        f2 - f3 * np.exp(-speed / f4) - f5 * np.exp(-1.0 / (f6 * speed)))
    count = 2 * np.pi / 1_250_000
    dataset = dataset_from_arrays(arm.robot, t, np.round(q / count) * count, tau)
    settings = EstimateSettings(
        estimator='ols', friction=('viscous', 'coulomb'), armature=False, gravity='known',
        cutoff=20.0, order=5, derivative='first_order', lag=0.0, velocity_threshold=0.5,
        coulomb_width=0.02)
    found = identify(dataset, arm.robot, settings)
    rigid = found.base.independent < 20
    truth = found.base.values(np.concatenate([arm.robot.parameters, found.model.friction]))
    errors = np.abs(found.base_values - truth)[rigid] / np.max(np.abs(truth[rigid]))
    assert np.max(errors) < 0.01
    # Coulomb friction is biased by the last term of eq. (43), as in table 1 of the paper.
    assert all(value < 0.2 for value in found.friction('coulomb').values())
    for value, true in zip(found.friction('viscous').values(), f1, strict=True):
        assert value == pytest.approx(true, rel=0.25)
    assert found.verdict == 'good'


def test_recordings_that_say_nothing(three):
    t, q, v, a = three.motion(seconds=10)
    tau = three.efforts(q, v, a)
    for positions, efforts, words in ((q, 0.0 * tau, 'all its efforts are zero'),
                                      (q, 0.0 * tau + 1.0, 'effort is constant'),
                                      (0.0 * q + 0.3, tau, 'has no motion')):
        with pytest.raises(RecordingError, match=words):
            identify(dataset_from_arrays(three.robot, t, positions, efforts), three.robot, PLAIN)
    tau[:, 1] = 0.0
    with pytest.raises(RecordingError, match='moves, but all its efforts') as caught:
        identify(dataset_from_arrays(three.robot, t, q, tau), three.robot, PLAIN)
    assert caught.value.subject == 'j2'


def test_a_moment_is_too_short(three):
    with pytest.raises(RecordingError, match='record'):
        identify(three.log(seconds=0.6), three.robot, PLAIN)


def test_auto_closes_the_circle(rpr):
    """A wrong arm excites the right one; everything is chosen, and a new motion is predicted.

    The pull towards a description that the data contradict gives way, and rotors that nobody
    needs to explain the efforts are not made up.
    """
    right = rpr.robot
    wrong_arm = with_scaled_masses(right, dict(zip(right.body_names, (1.6, 0.4, 2.2),
                                                   strict=True)))
    plan, rate, steps = exciting_fourier(right, 3), 200.0, 5
    t = np.arange(round(9.0 * rate)) / rate
    wanted = plan.sample_many(t)
    truth, believed = Dynamics(right), Dynamics(wrong_arm)
    q, v, tau = wanted[0][0].copy(), np.zeros(right.n), np.zeros(right.n)
    rows = []
    for q_d, v_d, a_d in zip(*wanted, strict=True):
        rows.append((q.copy(), tau.copy(), v.copy()))
        tau = believed.inverse_dynamics(q, v, a_d + 400.0 * (q_d - q) + 40.0 * (v_d - v))
        for _ in range(steps):
            v = v + np.linalg.solve(truth.mass_matrix(q), tau - truth.inverse_dynamics(
                q, v, np.zeros(right.n))) / (rate * steps)
            q = q + v / (rate * steps)
    dataset = dataset_from_arrays(wrong_arm, t, *(np.array(x) for x in zip(*rows, strict=True)))
    found = identify(dataset, wrong_arm)
    motion = exciting_fourier(right, 11).sample_many(np.linspace(2.0, 12.0, 1000))
    real, before, after = (Dynamics(robot).inverse_dynamics(*motion) for robot in
                           (right, wrong_arm, found.identified_robot()))
    left, was = (np.linalg.norm(tau - real) / np.linalg.norm(real) for tau in (after, before))
    assert left < 0.02
    assert was > 20.0 * left


@pytest.mark.parametrize('inertia', [0.0, 0.5])
def test_rotors_are_estimated_where_efforts_ask_for_them(three, inertia):
    t, q, v, a = three.motion(seconds=10.0)
    tau = three.efforts(q, v, a) + inertia * a
    tau = tau + 0.01 * np.std(tau, axis=0) * np.random.default_rng(0).normal(size=tau.shape)
    found = identify(dataset_from_arrays(three.robot, t, q, tau), three.robot, EstimateSettings(
        friction='coulomb', gravity='known', cutoff=8.0, lag=0.0))
    choice = next(one for one in found.choices if one.what == 'armature')
    assert choice.value == ('estimated' if inertia else 'none')
    assert bool(found.friction('armature')) == bool(inertia)


@pytest.mark.parametrize('size', [1e-9, 1e-12])
def test_efforts_that_move_no_arm_are_refused_in_a_line_or_no_good(three, size):
    """Their bodies have no extent that rounding leaves: matrices of theirs have no inverse.

    Whether a pivot is zero in the end is up to the processor's arithmetic.
    """
    t, q, _, _ = three.motion(seconds=20.0)
    noise = size * np.random.default_rng(0).normal(size=q.shape)
    try:
        found = identify(dataset_from_arrays(three.robot, t, q, noise), three.robot,
                         replace(PLAIN, strength=10.0))
    except RecordingError as error:
        assert 'efforts of the recording ' in str(error) and 'check their unit' in str(error)
    else:
        assert found.verdict == 'poor'


def test_matrices_without_an_inverse_are_an_error_of_ours(monkeypatch):
    def singular(*_):
        raise np.linalg.LinAlgError('Singular matrix')

    prior = prior_of(np.array([[1.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.1, 0.0, 0.1]]))
    monkeypatch.setattr(consistent._Problem, 'slopes', singular)
    with pytest.raises(RecordingError, match=r'efforts of the recording .*check their unit'):
        consistent.fit_consistent(np.eye(10), np.ones(10), prior, 1.0)
