# SPDX-License-Identifier: Apache-2.0
"""The controller in C makes the same decisions as the session in Python, step by step."""

import math
from functools import partial

import numpy as np
import pytest

pytest.importorskip('mujoco')

from benchmark.fault_parts.arm import DESCRIPTIONS
from benchmark.fault_parts.lies import FAULTS, Fault, MachineDelays
from benchmark.fault_parts.runs import concerns, measure, reference_points
from robot_dynamics import Dynamics
from robot_dynamics.control import ControlSession, SessionSettings
from robot_dynamics.control.feedback.protocol import HardwareGravityController
from robot_dynamics.control.session.limits import EffortLimiter
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.control.session.safe_command import SafeKind, StatesLost
from robot_dynamics.control.session.start_gate import StartGate
from robot_dynamics.control.session.stop_motion import StopKind, StopMotion
from robot_dynamics.control.states.reported_effort import EffortKind, ReportedEffort
from test.real_time.beside import BesideBench, laws, limited_buffer

has_descriptions = pytest.mark.skipif(not DESCRIPTIONS.is_dir(),
                                      reason='example-robot-data is not installed')


def run(bench, seconds, fault=None):
    end = bench.time + seconds
    while bench.time < end - 1e-9:
        bench.cycle(fault or Fault(bench.joint, math.inf))


@pytest.mark.parametrize('law', laws())
@pytest.mark.parametrize(('arm', 'rate'), [
    ('arm7', 500.0), pytest.param('ur5', 250.0, marks=[pytest.mark.slow, has_descriptions]),
    pytest.param('panda', 1000.0, marks=[pytest.mark.slow, has_descriptions])])
def test_twenty_seconds_of_tracking(arm, law, rate, programs):
    bench = BesideBench(arm, law, rate)
    bench.run_to_tracking()
    bench.follow(reference_points(bench.model, bench.q, 19.9))
    run(bench, 20.0)
    assert bench.beside.compare(programs) == {Mode.WAITING, Mode.HOLDING, bench.mode}
    assert bench.mode.follows


@pytest.mark.parametrize('law', laws())
@pytest.mark.parametrize('fault', FAULTS)
def test_faults_of_arms_and_drivers(fault, law, programs):
    if not concerns(fault, law):
        pytest.skip('a guided arm follows no joint reference')
    bench = BesideBench('arm7', law, 500.0, skips=FAULTS[fault][0] is MachineDelays)
    measure(bench, fault)
    bench.beside.compare(programs)


@pytest.mark.parametrize('law', laws())
def test_starts_and_stops(law, programs):
    bench = BesideBench('arm7', law, 500.0)
    beside = bench.beside
    bench.run_to_tracking()
    run(bench, 0.8)
    following = bench.mode
    beside.halt()
    run(bench, 0.02)
    beside.resume()
    assert bench.mode is Mode.HALTED, 'the arm was at rest too soon for the test'
    run(bench, 1.0)
    beside.resume()
    assert bench.mode is following
    run(bench, 0.5)
    if following is Mode.TRACKING:  # A guided arm still moves a little.
        beside.halt()
        run(bench, 0.02)
        beside.resume()
        assert bench.mode is following, 'a stop at rest is over at once'
        run(bench, 0.5)
    for _ in range(3):
        beside.wind_down(0.002)
    beside.stop()
    run(bench, 0.02)
    beside.reactivate()
    beside.take_over(bench.effort)
    run(bench, 1.5)
    assert beside.compare(programs) == {Mode.WAITING, Mode.HOLDING, following, Mode.HALTED,
                                        Mode.STOPPED}


def make_session(model, law, period, *, kind=EffortKind.TORQUE, scale=None, hardware=False,
                 rate_limit=None, together=False, compare=True, **settings):
    """Session with settings as the nodes make it."""
    limiter = EffortLimiter.for_robot(model, rate_limit=rate_limit)
    gravity = Dynamics(model).gravity_torque
    reported = ReportedEffort(kind, scale, gravity, hardware_gravity=hardware)
    if hardware:
        law = HardwareGravityController(law, gravity, limiter.hardware_gravity)
    return ControlSession(
        model, law, SessionSettings(period=period, **settings), limiter=limiter,
        trajectory=limited_buffer(model),
        gate=StartGate(limiter.limit, compare_effort=reported.comparable and compare,
                       as_sent=reported.as_sent),
        stop_motion=StopMotion.for_robot(
            model, 8.0, StopKind.TOGETHER if together else StopKind.EACH_JOINT))


#: Settings of sessions, by name.
VARIANTS = {
    'as it is': {},
    'resumes': {'resume_after': 20, 'states_lost': StatesLost.RELEASE},
    'hardware gravity': {'hardware': True, 'kind': EffortKind.GRAVITY_COMPENSATED,
                         'safe_kind': SafeKind.DAMPING, 'together': True, 'resume_after': 50},
    'rate limit': {'rate_limit': [400.0] * 7, 'kind': EffortKind.CURRENT, 'scale': [2.0] * 7,
                   'resume_after': 5, 'state_timeout': 0.05, 'safe_kind': SafeKind.DAMPING},
    'no efforts': {'kind': EffortKind.NONE, 'safe_kind': SafeKind.ZERO, 'resume_after': 5},
}


class Troubles(Fault):
    """States that are not finite, jump, stand still or lack velocities, for random times.

    Some are missing, and efforts are those of a few states before.
    """

    def __init__(self, joint, random):
        super().__init__(joint, 0.0)
        self._random, self._kind, self._left, self._kept = random, '', 0, None
        self._efforts = []

    def lie(self, true):
        self._efforts = [*self._efforts[-4:], true.effort]
        true.effort = self._efforts[0]
        if self._left == 0:
            is_well = self._kind != 'none'
            self._kind = 'none' if is_well else self._random.choice(
                ['nan', 'jump', 'frozen', 'no velocity', 'silence'])
            self._left = int(self._random.integers(300, 1000) if is_well
                             else self._random.choice([1, 3, 8, 40, 150]))
            self._kept = true
        self._left -= 1
        if self._kind == 'nan':
            true.q[self.joint] = math.nan
        elif self._kind == 'jump':
            true.q[self.joint] += 0.4
        elif self._kind == 'no velocity':
            true.v[:] = math.nan
        elif self._kind == 'frozen':
            true.q, true.v = self._kept.q, self._kept.v
        return None if self._kind == 'silence' or self._random.uniform() < 0.02 else true


def random_reference(bench, random):
    """Points of every kind, some of which are refused."""
    count, n = int(random.integers(1, 30)), bench.model.n
    times = np.cumsum(random.uniform(0.02, 0.3, count)) - random.choice([0.0, 0.3])
    q = bench.session.q_d + np.cumsum(random.normal(0.0, 0.02, (count, n)), axis=0)
    v = random.normal(0.0, 0.05, (count, n)) if random.uniform() < 0.6 else None
    a = random.normal(0.0, 0.1, (count, n)) if v is not None and random.uniform() < 0.5 else None
    if random.uniform() < 0.2:
        q[random.integers(count), random.integers(n)] = random.choice([math.nan, 9.0])
    now = bench.time + 1.0
    stamp = random.choice([0.0, now, now - 0.2, now + 0.3, now + 1000.0], p=[.5, .2, .1, .15, .05])
    bench.beside.reference(times, q, v, a, stamp)


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('variant', VARIANTS)
def test_random_events(variant, seed, programs):
    random = np.random.default_rng(seed)
    bench = BesideBench('arm7', 'pd_gravity', 500.0, skips=seed % 2 == 0,
                        make_session=partial(make_session, **VARIANTS[variant]))
    beside, troubles = bench.beside, Troubles(1, random)
    calls = {
        'reference': lambda: random_reference(bench, random), 'halt': beside.halt,
        'resume': beside.resume, 'cancel': beside.cancel, 'reactivate': beside.reactivate,
        'stop': beside.stop, 'clock': lambda: setattr(bench, 'time', bench.time - 0.05),
        'take over': lambda: beside.take_over(random.normal(0.0, 20.0, 7)),
        'wind down': lambda: beside.wind_down(0.002)}
    chances = np.array([60.0, 5.0, 12.0, 5.0, 1.0, 1.0, 0.5, 3.0, 0.5])
    for _ in range(5000):
        bench.cycle(troubles)
        if random.uniform() < 0.01:
            calls[random.choice(list(calls), p=chances / chances.sum())]()
        if bench.mode in (Mode.SAFE, Mode.STOPPED) and random.uniform() < 0.005:
            beside.reactivate()
    assert {Mode.HOLDING, Mode.SAFE} <= beside.compare(programs)
