# SPDX-License-Identifier: Apache-2.0
"""Sessions with a simulated arm that hears nothing at first, loses messages and stalls.

Time is simulated too: states every 2 ms, commands half a millisecond later.
"""

import numpy as np
import pytest

from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.motion.references import PointToPoint, Sequence, exciting_fourier
from robot_dynamics.control.motion.trajectory_points import sample_points
from robot_dynamics.control.session.modes import Cause, Mode
from robot_dynamics.control.session.session import ControlSession, SessionSettings
from robot_dynamics.control.session.start_gate import StartGate
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import shipped_robots
from robot_dynamics.simulation.drive import Drive, DriveState, GravityAndDamping
from robot_dynamics.simulation.plant import Plant

pytest.importorskip('mujoco')

PERIOD = 0.002
ANSWER_TIME = 0.0005
ORIGIN = 100.0


class OpenGate(StartGate):
    """What a naive controller has."""

    def observe(self, stamp, q, effort):
        return True


class Rig:
    """An arm 30 % lighter than its model, with 2 kg in its hand, under a session."""

    def __init__(self, model, real, reference, *, deaf=0.0, brake_reads='nothing', gate=None,
                 **settings):
        self.model, self.reference = model, reference
        self.dynamics = Dynamics(real)
        self.plant = Plant(real)
        self.plant.reset(reference.start)
        self.drive = Drive(self.plant, GravityAndDamping(self.dynamics))
        self.law = AdaptiveController(model)
        self.session = ControlSession(model, self.law, SessionSettings(period=PERIOD, **settings),
                                      gate=gate)
        self.deaf, self.brake_reads = deaf, brake_reads
        self.t = 0.0
        self.tracked_since = None
        self.listened_when_tracking_began = None
        self.errors = []

    def reported_effort(self):
        """Return what drives say: braked ones nothing, gravity, or that they do not know."""
        if self.brake_reads == 'unknown':
            return np.full(self.model.n, np.nan)
        if self.brake_reads == 'gravity' and self.drive.state is DriveState.BRAKED:
            return self.dynamics.gravity_torque(self.plant.q)
        return self.drive.effort

    def cycle(self, *, state_arrives=True, command_arrives=True, told=None):
        """Run one period; a state may be told that is not the true one."""
        self.t += PERIOD
        self.drive.advance(self.t)
        session, now = self.session, ORIGIN + self.t
        command = session.on_joint_state(
            now, now, list(self.model.joint_names), *(told or (self.plant.q, self.plant.v)),
            self.reported_effort()) if state_arrives else None
        if command is None:
            command = session.on_tick(now)
        if session.mode is Mode.TRACKING:
            self._track(now)
        else:
            self.tracked_since = None
        if command is not None and command_arrives and self.t >= self.deaf:
            self.drive.advance(self.t + ANSWER_TIME)
            self.drive.command(command.effort)

    def _track(self, now):
        """Move to the start of the reference from where the arm is, then stream it."""
        if self.tracked_since is None:
            self.tracked_since, self.cycles = now, 0
            self.motion = Sequence(PointToPoint(self.plant.q, self.reference.start,
                                                velocity_limit=0.5, acceleration_limit=1.0),
                                   self.reference)
            self.listened_when_tracking_began = self.drive.state is DriveState.COMMANDED
        if self.cycles % 50 == 0:
            self.session.accept_trajectory(
                self.model.joint_names,
                sample_points(self.motion, now - self.tracked_since, 0.5, 0.02), now)
        self.cycles += 1
        self.errors.append(np.abs(self.session.q_d - self.session.monitor.q).max())

    def run(self, seconds, **how):
        """Run for a while and return the largest error of the last quarter of a second. rad."""
        for _ in range(round(seconds / PERIOD)):
            self.cycle(**how)
        return max(self.errors[-125:], default=np.nan)


@pytest.fixture(scope='module')
def new_rig():
    model = Robot.from_urdf(shipped_robots()['arm7'])
    parameters = model.inertial_parameters / 1.3
    offset, mass = 0.15, 2.0
    # A point mass on the axis of the last link: m, m z and J_xx = J_yy = m z^2.
    parameters[-1, [0, 3, 4, 7]] += mass * np.array([1.0, offset, offset**2, offset**2])
    real = model.with_parameters(parameters)
    calm = exciting_fourier(model, 1, ramp=2.0)
    return lambda reference=calm, **options: Rig(model, real, reference, **options)


@pytest.mark.slow
@pytest.mark.parametrize('brake_reads', ['nothing', 'gravity', 'unknown'])
def test_fifty_cold_starts(new_rig, brake_reads):
    generator = np.random.default_rng({'nothing': 1, 'gravity': 2, 'unknown': 3}[brake_reads])
    for _ in range(17):
        rig = new_rig(deaf=generator.uniform(0.07, 0.33), brake_reads=brake_reads)
        error = rig.run(2.5)
        assert rig.session.mode is Mode.TRACKING, rig.session.reason
        assert rig.listened_when_tracking_began
        assert rig.session.counts['safe_entries'] == 0
        assert not rig.law.frozen_reason
        # It sagged under the unknown load by 0.07 rad while it was held, and recovers.
        assert max(rig.errors) < 0.08
        assert error < 0.02


def test_a_naive_start_does_move_the_reference_before_the_arm_listens(new_rig):
    """What the other tests of this module would not notice if nothing were wrong with it."""
    rig = new_rig(deaf=0.2)
    naive = new_rig(deaf=0.2, gate=OpenGate(rig.model.limits.effort))
    for either in (rig, naive):
        either.run(0.19)
    assert rig.tracked_since is None
    assert naive.listened_when_tracking_began is False
    prior = rig.model.parameters
    np.testing.assert_array_equal(rig.law.adaptation.bodies.ravel(), prior)
    assert np.abs(naive.law.adaptation.bodies.ravel() - prior).max() > 0.0


@pytest.mark.slow
def test_lost_messages_change_nothing_visible(new_rig):
    generator = np.random.default_rng(4)
    lossy, perfect = new_rig(), new_rig()
    for rig, lost in ((lossy, 0.05), (perfect, 0.0)):
        for _ in range(3000):
            rig.cycle(state_arrives=generator.random() >= lost,
                      command_arrives=generator.random() >= lost)
        assert rig.session.mode is Mode.TRACKING
    assert lossy.session.counts['safe_entries'] == 0
    lossy_end, perfect_end = (np.array(rig.errors[-500:]) for rig in (lossy, perfect))
    assert np.sqrt(np.mean(lossy_end**2)) < 1.2 * np.sqrt(np.mean(perfect_end**2))


def test_a_stall_changes_nothing_visible(new_rig):
    rig = new_rig()
    rig.run(4.0)
    before = max(rig.errors[-500:])
    overruns = rig.session.clock.overruns
    rig.run(0.05, state_arrives=False)
    assert rig.session.mode is Mode.TRACKING
    rig.run(0.5)
    assert rig.session.clock.overruns == overruns + 1
    assert max(rig.errors[-250:]) < 2.0 * before
    assert rig.drive.catches == 0


def test_an_outage_is_survived_and_the_arm_taken_up_where_it_is(new_rig):
    rig = new_rig(resume_after=50)
    rig.run(3.0)
    rig.run(0.3, state_arrives=False)
    assert rig.session.mode is Mode.SAFE
    assert rig.session.cause is Cause.STATES_STOPPED
    rig.run(0.12)
    assert rig.session.mode is Mode.HOLDING
    held = rig.session.monitor.q.copy()
    while rig.session.mode is Mode.HOLDING:
        rig.cycle()
    assert rig.drive.state is DriveState.COMMANDED
    np.testing.assert_allclose(rig.session.q_d, held, atol=0.02)
    assert rig.run(4.0) < 0.02
    assert rig.session.counts['safe_entries'] == 1


@pytest.mark.slow
@pytest.mark.parametrize(('instant', 'most'), [(4.0, 1.5), (5.0, 6.0), (6.5, 1.5), (8.0, 6.0)])
def test_a_driver_that_has_lost_its_arm_does_not_drive_it(new_rig, instant, most):
    """It publishes what it knew last, as new: feedback acts on an error that only grows.

    Believed, it takes a wrist to many times its speed limit. What is left is what an unknown load
    does under a safe command that cannot know of it.
    """
    rig = new_rig()
    rig.run(instant)
    told, fastest = (rig.plant.q, rig.plant.v), 0.0
    assert np.abs(told[1]).max() > 0.1
    for _ in range(300):
        rig.cycle(told=told)
        fastest = max(fastest, (np.abs(rig.plant.v) / rig.model.limits.velocity).max())
    assert rig.session.mode is Mode.SAFE
    if rig.session.cause is Cause.STATES_STOPPED:
        assert 'stand still' in rig.session.reason
    else:
        assert rig.session.cause in (Cause.INCONSISTENT, Cause.ANSWERS_LATE)
    assert fastest < most
