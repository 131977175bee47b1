# SPDX-License-Identifier: Apache-2.0
"""One mistake in a log of one, two, three or seven joints: each is named, and nothing else."""

from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import Severity
from robot_dynamics.identification.checks.alternatives import common_lag, likely_mistake
from robot_dynamics.identification.checks.described_efforts import described_findings
from robot_dynamics.identification.checks.plausibility import plausibility
from robot_dynamics.identification.dataset.dataset import dataset_from_arrays, load_dataset
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

CASES = Path(__file__).parents[4] / 'shared' / 'cases'


class Moved:
    """A robot in an exciting motion with friction and noise of its efforts."""

    def __init__(self, robot, seconds=20.0, rate=100.0):
        self.robot = robot
        self.t = np.arange(int(seconds * rate)) / rate
        motion = exciting_fourier(robot, 0, base_frequency=0.1)
        self.q, self.v, self.a = motion.sample_many(self.t)
        tau = Dynamics(robot).inverse_dynamics(self.q, self.v, self.a)
        size = np.sqrt(np.mean(tau ** 2, axis=0))
        tau += 0.2 * size * np.tanh(self.v / 0.05)
        self.noise = 0.02 * size * np.random.default_rng(0).normal(size=tau.shape)
        self.tau = tau + self.noise

    @property
    def gravity(self):
        return Dynamics(self.robot).gravity_torque(self.q)

    def errors(self, q=None, tau=None, severities=(Severity.ERROR, Severity.WARNING)):
        """Return the errors and warnings among the findings, as pairs of subject and message."""
        dataset = dataset_from_arrays(self.robot, self.t, self.q if q is None else q,
                                      self.tau if tau is None else tau)
        return [(one.subject, one.message) for one in plausibility(dataset, self.robot)
                if one.severity in severities]


@pytest.fixture(scope='module')
def arms(make_arm):
    return {1: Moved(make_arm([('revolute', '0 1 0', 2.0)]).robot),
            2: Moved(Robot.from_urdf('urdf/planar_2r.urdf')),
            3: Moved(make_arm([('revolute', '0 0 1', 4.0), ('revolute', '0 1 0', 3.0),
                               ('revolute', '1 0 0', 1.5)]).robot),
            7: Moved(Robot.from_urdf(resolve_robot('arm7')))}


@pytest.mark.parametrize('joints', [1, 2, 3, 7])
def test_right_logs_have_no_errors(arms, joints):
    assert arms[joints].errors() == []


@pytest.mark.parametrize('links', [
    # A heavy joint 2 hides the errors of light wrists; without it, more of them would count.
    [('revolute', '0 0 1', 2.0), ('revolute', '0 1 0', 6.0), ('revolute', '0 0 1', 0.3),
     ('revolute', '1 0 0', 0.2)],
    # No joint but j3 moves its mass vertically: the others do not determine its unit.
    [('revolute', '0 0 1', 2.0), ('revolute', '0 0 1', 1.0), ('prismatic', '0 0 1', 4.0)]])
def test_right_logs_of_arms_with_light_joints(make_arm, links):
    assert Moved(make_arm(links).robot).errors() == []


@pytest.mark.parametrize('joints', [1, 2, 3, 7])
def test_all_efforts_of_the_opposite_sign(arms, joints):
    """Friction would drive the joints: the masses of the description are not needed."""
    arm = arms[joints]
    (subject, message), = arm.errors(tau=-arm.tau)
    assert 'has its sign flipped' in message
    assert subject == ('effort' if joints > 1 else arm.robot.joint_names[0])


@pytest.mark.parametrize('joints', [1, 2, 3, 7])
@pytest.mark.parametrize('has_friction', [True, False])
def test_efforts_without_gravity(arms, joints, has_friction):
    arm = arms[joints]
    tau = arm.tau - arm.gravity
    if not has_friction:
        tau = Dynamics(arm.robot).inverse_dynamics(arm.q, arm.v, arm.a) - arm.gravity + arm.noise
    (subject, message), = arm.errors(tau=tau)
    assert 'gravity-compensated' in message
    last = arm.robot.joint_names[-1]
    assert last in subject or joints == 7


@pytest.mark.parametrize('joints', [2, 3, 7])
def test_two_joints_exchanged(arms, joints):
    arm = arms[joints]
    names = arm.robot.joint_names
    for i in range(min(joints - 1, 3)):
        order = list(range(joints))
        order[i], order[i + 1] = i + 1, i
        # Joints may then be outside their limits too.
        subject, message = arm.errors(arm.q[:, order], arm.tau[:, order])[0]
        assert subject == f'{names[i]}, {names[i + 1]}'
        assert 'have their columns exchanged' in message


@pytest.mark.parametrize('joints', [2, 3, 7])
def test_efforts_of_two_joints_exchanged(arms, joints):
    arm = arms[joints]
    order = [1, 0, *range(2, joints)]
    names = arm.robot.joint_names
    (subject, message), = arm.errors(tau=arm.tau[:, order])
    assert subject == f'{names[0]}, {names[1]}' and 'have their efforts exchanged' in message


@pytest.mark.parametrize('joints', [2, 3, 7])
def test_one_joint_of_another_sign_or_unit(arms, joints):
    arm = arms[joints]
    name = arm.robot.joint_names[1]
    mirrored = np.where(np.arange(joints) == 1, -1.0, 1.0)
    for q, tau, words in ((None, arm.tau * mirrored, 'sign flipped'),
                          (arm.q * mirrored, None, 'position has the opposite sign'),
                          (None, arm.tau * (1.0 + 9.0 * (mirrored < 0.0)), 'look like amperes')):
        (subject, message), = arm.errors(q, tau)
        assert subject == name and words in message


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_the_sign_of_a_joint_of_mostly_friction(arms, sign):
    """Friction brakes, whatever the masses are; the joint turns about a vertical axis."""
    arm = arms[3]
    tau = arm.tau.copy()
    tau[:, 0] = 0.05 * tau[:, 0] + np.std(tau[:, 0]) * (np.tanh(arm.v[:, 0] / 0.03) + arm.v[:, 0])
    tau[:, 0] *= sign
    found = arm.errors(tau=tau)
    assert [(subject, message[:27]) for subject, message in found] == (
        [] if sign > 0.0 else [('j1', 'effort has its sign flipped')])


@pytest.mark.parametrize(('moves', 'what'), [(False, 'efforts'), (True, 'positions')])
def test_light_wrist_joints_exchanged(arms, moves, what):
    """Their efforts are at most a fortieth of the largest."""
    arm = arms[7]
    order = [0, 1, 2, 3, 4, 6, 5]
    size = np.std(arm.tau, axis=0) / np.max(np.std(arm.tau, axis=0))
    assert np.all(size[5:] < 0.025)
    found = arm.errors(arm.q[:, order]) if moves else arm.errors(tau=arm.tau[:, order])
    subject, message = found[0]
    assert subject == 'joint6, joint7' and f'have their {what} exchanged' in message


@pytest.mark.parametrize('joints', [3, 7])
def test_amperes_by_constants_of_the_joints(arms, joints):
    arm = arms[joints]
    constants = np.linspace(14.0, 6.0, joints)
    for sign in (1.0, -1.0):
        messages = ' '.join(message for _, message in arm.errors(tau=sign * arm.tau / constants))
        assert 'look like amperes' in messages
        assert ('has its sign flipped in all joints' in messages) == (sign < 0.0)


@pytest.mark.parametrize('joints', [2, 7])
def test_late_efforts_have_no_other_mistake(arms, joints):
    arm, lag = arms[joints], 0.3
    late = np.stack([np.interp(arm.t - lag, arm.t, one) for one in arm.tau.T], axis=1)
    dataset = dataset_from_arrays(arm.robot, arm.t, arm.q, late)
    assert not plausibility(dataset, arm.robot, lag)


def test_a_factor_that_a_wrong_mass_could_have(arms):
    """The other joints require the effort, whatever the masses are."""
    arm = arms[7]
    (subject, message), = arm.errors(tau=arm.tau / np.where(np.arange(7) == 1, 4.0, 1.0))
    assert subject == 'joint2' and 'look like amperes' in message


@pytest.mark.parametrize('joints', [1, 2, 3, 7])
def test_degrees_with_and_without_limits(arms, joints):
    arm = arms[joints]
    dataset = dataset_from_arrays(arm.robot, arm.t, np.degrees(arm.q), arm.tau)
    if joints > 1:
        finding = likely_mistake(dataset, arm.robot).finding
        assert finding.subject == 'position' and 'looks like degrees' in finding.message
    assert any('look like degrees' in message for _, message in arm.errors(np.degrees(arm.q)))


@pytest.mark.parametrize('joints', [3, 7])
def test_an_arm_on_a_wall(arms, joints):
    """The description stands upright; the masses of one or two joints could have such gravity."""
    arm = arms[joints]
    wall = Dynamics(arm.robot.with_gravity((9.81, 0.0, 0.0))).gravity_torque(arm.q)
    (subject, message), = arm.errors(tau=arm.tau - arm.gravity + wall)
    assert subject == 'gravity' and message.startswith('acts along +x')


@pytest.mark.parametrize('joints', [1, 2, 3, 7])
@pytest.mark.parametrize('lag', [-0.3, 0.1, 0.2, 0.5])
def test_late_efforts(arms, joints, lag):
    arm = arms[joints]
    late = np.stack([np.interp(arm.t - lag, arm.t, one) for one in arm.tau.T], axis=1)
    dataset = dataset_from_arrays(arm.robot, arm.t, arm.q, late)
    assert common_lag(dataset, arm.robot) == pytest.approx(lag, abs=0.021)
    assert common_lag(dataset_from_arrays(arm.robot, arm.t, arm.q, arm.tau), arm.robot) == 0.0


def test_a_vertical_joint_of_mostly_friction_has_no_other_unit(arms):
    """Its friction depends on speed as no column does; its described inertia is too large."""
    arm = arms[3]
    v = arm.v[:, 0] / np.std(arm.v[:, 0])
    tau = arm.tau.copy()
    size = 5.0 * np.std(tau[:, 0])
    tau[:, 0] = 0.1 * tau[:, 0] + size * np.sign(v) * (1.0 + 0.6 * np.exp(-np.abs(v) / 0.4)) \
        + 0.3 * size * np.cbrt(v)
    dataset = dataset_from_arrays(arm.robot, arm.t, arm.q, tau)
    assert not [one for one in plausibility(dataset, arm.robot)
                if one.severity is Severity.ERROR]


@pytest.mark.parametrize(('case', 'log', 'urdf', 'subject', 'words'), [
    ('ident_swapped_joints', 'swapped.csv', 'arm.urdf', 'shoulder_lift_joint, elbow_joint',
     'have their columns exchanged'),
    ('ident_gravity_compensated_moving', 'moving.csv', 'pendulum.urdf', 'hinge',
     'gravity-compensated'),
    ('ident_degrees_good', 'log.csv', 'arm.urdf', 'shoulder, elbow', 'look like degrees')])
def test_cases(case, log, urdf, subject, words):
    if not CASES.is_dir():
        pytest.skip('needs ../shared/cases')
    robot = Robot.from_urdf(CASES / case / urdf)
    errors = [one for one in plausibility(load_dataset(CASES / case / log, robot), robot)
              if one.severity is Severity.ERROR]
    assert any(one.subject == subject and words in one.message for one in errors)


def test_described_efforts_see_gravity_behind_any_friction(arms):
    """The fraction of gravity decides, whether or not inertia is seen."""
    arm = arms[3]
    slow = 0.05
    q = arm.robot.limits.lower * 0 + 0.8 * np.sin(2 * np.pi * slow * np.outer(
        arm.t, [1.0, 1.7, 2.3]))
    tau = 2.0 * np.sign(np.gradient(q, axis=0)) + arm.noise[:, :3]
    found = described_findings(dataset_from_arrays(arm.robot, arm.t, q, tau), arm.robot)
    assert [one.subject for one in found] == ['j2, j3']
    tau += Dynamics(arm.robot).gravity_torque(q)
    assert not described_findings(dataset_from_arrays(arm.robot, arm.t, q, tau), arm.robot)
