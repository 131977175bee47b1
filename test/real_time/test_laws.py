# SPDX-License-Identifier: Apache-2.0
"""Each law in C beside its class in Python: the same inputs, efforts and estimates."""

import ctypes
import shutil
import subprocess
import sysconfig
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics import Dynamics, Robot
from robot_dynamics.control import ControlSession, SessionSettings
from robot_dynamics.control.adaptation.partial_knowledge import PartialKnowledge
from robot_dynamics.control.feedback.gains import AdaptationGains
from robot_dynamics.control.feedback.linear_feedback import JointGains
from robot_dynamics.control.feedback.loaded_model import Payload
from robot_dynamics.control.laws.cartesian_impedance import (
    CartesianImpedanceController,
    ImpedanceSettings,
)
from robot_dynamics.control.laws.feedforward_lq import FeedforwardLQController
from robot_dynamics.control.laws.impedance import Impedance
from robot_dynamics.control.laws.model_based import (
    ComputedTorqueController,
    PDGravityController,
)
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.lq.design import FeedbackDesign, Schedule
from robot_dynamics.errors import ParameterError, StopRequestedError
from robot_dynamics.model.rotation import quaternion_of_rotation
from robot_dynamics.real_time.generate import core_files
from robot_dynamics.real_time.laws import LAWS
from test.real_time.compiling import STRICT, compile_c, write_core

PERIOD = 0.002
EXAMPLES = Path(sysconfig.get_path('purelib'), 'cmeel.prefix/share/example-robot-data/robots')
ARMS = {
    'arm7': ('arm7', None),
    'panda': (EXAMPLES / 'panda_description/urdf/panda.urdf',
              [f'panda_joint{k}' for k in range(1, 8)]),
    'ur5': (EXAMPLES / 'ur_description/urdf/ur5_robot.urdf', None),
}
#: Relative difference of efforts and estimates that is permitted.
SAME = 1e-9

LIBRARIES: dict[int, Path] = {}

#: ``RD_CONTROLLER_STOPS`` of modes.h.
STOPS = 11

#: A law of the library, and its state, for ctypes.
SHIM = """
#include "law.h"
static struct rd_law law;
struct rd_law *the_law(void) { return &law; }
"""
IMPEDANCE_SHIM = SHIM + """
struct rd_goal *the_goal(void) { return &law.setpoint.goal; }
"""
ADAPTIVE_SHIM = SHIM + """
double *the_estimate(void) { return law.estimate; }
int the_reason(void) { return (int)law.frozen; }
"""


def arm(name):
    source, joints = ARMS[name]
    if not isinstance(source, str) and not source.exists():
        pytest.skip('example-robot-data is not installed')
    robot = Robot.from_urdf(source, joints=joints)
    rng = np.random.default_rng(3)
    return replace(robot, damping=rng.uniform(0.1, 0.5, robot.n),
                   friction=rng.uniform(0.1, 0.5, robot.n),
                   armature=rng.uniform(0.05, 0.1, robot.n))


def library_of(law, shim, folder):
    """Library of a law, compiled once."""
    texts = core_files(ControlSession(law.robot, law, SessionSettings(period=PERIOD)))
    key = hash(tuple(texts.values()))
    if key not in LIBRARIES:
        write_core(folder, texts | {'shim.c': shim})
        row = next(row for row in LAWS.values() if type(law) is row.kind)
        names = [Path(name).name for name in (row.source, *row.files) if name.endswith('.c')]
        # Without the address sanitizer, which has to be loaded before Python.
        options = [option.replace('address,', '') for option in STRICT]
        LIBRARIES[key] = compile_c(
            folder / 'law.so', *(folder / name for name in (*names, 'robot.c', 'constants.c',
                                                            'shim.c')),
            options=(*options, '-O1', '-shared', '-fPIC'))
    return LIBRARIES[key]


class Law:
    """The C of a law, with the methods of `TrackingController`."""

    def __init__(self, law, folder):
        is_adaptive = isinstance(law, AdaptiveController)
        shim = ADAPTIVE_SHIM if is_adaptive else IMPEDANCE_SHIM \
            if isinstance(law, CartesianImpedanceController) else SHIM
        self._c = ctypes.CDLL(str(library_of(law, shim, folder)))
        self._c.the_law.restype = ctypes.c_void_p
        self._law = ctypes.c_void_p(self._c.the_law())
        self._tau = np.zeros(law.robot.n)
        if is_adaptive:
            self._c.the_estimate.restype = ctypes.POINTER(ctypes.c_double)
            self.estimate = np.ctypeslib.as_array(self._c.the_estimate(), law.estimate.shape)
        self._c.rd_law_init(self._law)

    def _call(self, name, *vectors):
        pointers = [vector.ctypes.data_as(ctypes.c_void_p) if isinstance(vector, np.ndarray)
                    else vector for vector in vectors]
        return getattr(self._c, f'rd_law_{name}')(self._law, *pointers)

    @property
    def frozen(self):
        return self._c.the_reason() != 0

    def reset(self, q, v):
        self._call('reset', q, v)

    def update(self, q, v, q_d, v_d, a_d, dt, *, adapt):
        reason = self._call('update', q, v, q_d, v_d, a_d, ctypes.c_double(dt), int(adapt),
                            self._tau)
        assert reason == 0
        return self._tau

    def reason(self, q, v, q_d, v_d, a_d):
        """What `update` returns, 0 for an effort."""
        return self._call('update', q, v, q_d, v_d, a_d, ctypes.c_double(PERIOD), 1, self._tau)

    def holding_effort(self, q, v, q_hold):
        self._call('holding_effort', q, v, q_hold, self._tau)
        return self._tau

    def safe_effort(self, q, v):
        self._call('safe_effort', q, v, self._tau)
        return self._tau

    def note_applied(self, tau):
        self._call('note_applied', tau)

    def forget_recent(self):
        self._call('forget_recent')

    def set_goal(self, kind, *vectors):
        """Set a goal of the end effector, ``pose`` or ``twist``; 1 where it is followed."""
        self._c.the_goal.restype = ctypes.c_void_p
        return getattr(self._c, f'rd_goal_set_{kind}')(
            ctypes.c_void_p(self._c.the_goal()),
            *(vector.ctypes.data_as(ctypes.c_void_p) for vector in vectors))

    def restore(self, estimate):
        return self._call('restore', estimate)


class Motion:
    """Desired and measured motion of an arm that follows it: sums of sines, with noise."""

    def __init__(self, n, seed=5):
        self.rng = np.random.default_rng(seed)
        self.size = self.rng.uniform(0.1, 0.3, (3, n))
        self.rate = self.rng.uniform(1.0, 6.0, (3, n))
        self.phase = self.rng.uniform(0.0, 6.0, (3, n))
        self.lag = self.rng.uniform(0.001, 0.01, n)

    def at(self, t):
        phase = self.rate * t + self.phase
        return ((self.size * np.sin(phase)).sum(0),
                (self.size * self.rate * np.cos(phase)).sum(0),
                -(self.size * self.rate**2 * np.sin(phase)).sum(0))

    def state(self, t):
        q, v, _ = self.at(t - self.lag)
        return (q + 1e-5 * self.rng.normal(size=q.size),
                v + 1e-3 * self.rng.normal(size=q.size))


def same(value, other, size=None):
    """Whether two vectors agree relative to the largest entry."""
    size = np.abs(value).max() if size is None else size
    assert np.abs(np.asarray(value) - other).max() <= SAME * max(size, 1.0)


def compare(law, c, steps, events=lambda k: (PERIOD, True)):
    """Efforts and estimates of both along a motion, the arm heavier than its model."""
    n = law.robot.n
    motion = Motion(n)
    plant = Dynamics(law.robot.with_parameters(1.3 * law.robot.inertial_parameters))
    learnt = 0
    for k in range(steps):
        dt, adapt = events(k)
        t = k * PERIOD
        q, v = motion.state(t)
        q_d, v_d, a_d = motion.at(t)
        tau = law.update(q, v, q_d, v_d, a_d, dt, adapt=adapt).copy()
        same(tau, c.update(q, v, q_d, v_d, a_d, dt, adapt=adapt))
        if law.estimate.size:
            scale = np.abs(law.estimate).max()
            same(law.estimate, c.estimate, scale)
            assert law.frozen == c.frozen
            learnt += not law.frozen
        if k % 50 == 0:
            same(law.safe_effort(q, v), c.safe_effort(q, v))
            same(law.holding_effort(q, v, q_d), c.holding_effort(q, v, q_d))
        applied = plant.inverse_dynamics(*motion.at(t - motion.lag)) + 0.3 * v
        law.note_applied(applied)
        c.note_applied(applied)
    return learnt


MAKERS = {
    'pd_gravity': lambda robot: PDGravityController(robot, period=PERIOD),
    'pd_gravity constant': lambda robot: PDGravityController(
        robot, period=PERIOD, feedback=JointGains((20.0,) * robot.n, (2.0,) * robot.n)),
    'computed_torque': lambda robot: ComputedTorqueController(robot, period=PERIOD),
    'computed_torque constant': lambda robot: ComputedTorqueController(
        robot, period=PERIOD, feedback=JointGains((20.0,) * robot.n, (2.0,) * robot.n)),
}


@pytest.mark.parametrize('kind', MAKERS)
@pytest.mark.parametrize('name', ARMS)
def test_laws_of_a_model(name, kind, tmp_path):
    law = MAKERS[kind](arm(name))
    compare(law, Law(law, tmp_path), 300)


@pytest.mark.parametrize('kind', ['pd_gravity', 'computed_torque'])
def test_a_payload_is_carried(kind, tmp_path):
    robot = arm('arm7')
    law = MAKERS[kind](robot)
    law.carry(Payload(2.0, com=(0.0, 0.0, 0.1)).load_on(robot), 0.0)
    compare(law, Law(law, tmp_path), 100)


@pytest.mark.parametrize('name', ARMS)
def test_adaptive_law_learns_the_same(name, tmp_path):
    law = AdaptiveController(arm(name), period=PERIOD, adaptation=AdaptationGains(
        terms=('viscous', 'coulomb', 'armature')))
    before = law.estimate.copy()
    assert compare(law, Law(law, tmp_path), 4000) > 3900
    assert np.abs(law.estimate - before).max() > 0.1


@pytest.mark.parametrize('update_law', ['projection', 'dead_zone', 'composite', 'memory'])
def test_update_laws(update_law, tmp_path):
    robot = arm('arm7')
    law = AdaptiveController(robot, period=PERIOD, adaptation=AdaptationGains(
        law=update_law, terms=('coulomb', 'offset')))
    law.carry(Payload(1.0).load_on(robot), 0.0)
    compare(law, Law(law, tmp_path), 1000)


@pytest.fixture
def pair(tmp_path):
    """The adaptive law of arm7 in Python and in C, after a second of learning."""
    law = AdaptiveController(arm('arm7'), period=PERIOD)
    c = Law(law, tmp_path)
    compare(law, c, 500)
    return law, c


def test_recent_estimates_are_forgotten(pair):
    law, c = pair
    before = law.estimate.copy()
    law.forget_recent()
    c.forget_recent()
    assert np.any(law.estimate != before)
    same(law.estimate, c.estimate)
    compare(law, c, 100)


def test_gaps_and_pauses(pair):
    law, c = pair
    steps = {0: (0.0, True), 50: (0.05, True), **{k: (PERIOD, False) for k in range(100, 120)}}
    assert 490 < compare(law, c, 500, lambda k: steps.get(k, (PERIOD, True))) < 500


def test_an_arm_at_rest_does_not_learn(pair):
    law, c = pair
    still, q = np.zeros(7), np.full(7, 0.3)
    law.reset(q, still)
    c.reset(q, still)
    frozen = 0
    for _ in range(1200):
        same(law.update(q, still, q, still, still, PERIOD, adapt=True),
             c.update(q, still, q, still, still, PERIOD, adapt=True))
        assert law.frozen == c.frozen
        frozen += law.frozen
    assert 150 < frozen < 250


def test_a_step_that_is_too_large_freezes_until_the_reset(pair):
    law, c = pair
    motion = Motion(7)
    for k in range(3):
        law.note_applied(np.full(7, 1e9))
        c.note_applied(np.full(7, 1e9))
        q_d, v_d, a_d = motion.at(1.0 + k * PERIOD)
        q, v = q_d - 0.01, v_d
        same(law.update(q, v, q_d, v_d, a_d, PERIOD, adapt=True),
             c.update(q, v, q_d, v_d, a_d, PERIOD, adapt=True))
    assert law.learning.is_latched and c.frozen
    same(law.safe_effort(q, v), c.safe_effort(q, v))
    law.reset(q, v)
    c.reset(q, v)
    assert not law.frozen and not c.frozen
    same(c.estimate, law.adaptation.prior)
    compare(law, c, 100)


def test_estimates_go_both_ways(pair, tmp_path):
    law, c = pair
    law.save(tmp_path / 'estimates.yaml')
    restored = AdaptiveController(law.robot, period=PERIOD)
    restored.restore(tmp_path / 'estimates.yaml')
    (tmp_path / 'restored').mkdir()
    generated = Law(restored, tmp_path / 'restored')
    same(generated.estimate, law.estimate)
    learnt = c.estimate.copy()
    assert generated.restore(law.adaptation.prior) == 1
    same(generated.estimate, law.adaptation.prior)
    assert generated.restore(learnt) == 1
    same(generated.estimate, learnt)
    for impossible in (-learnt, np.full(learnt.size, np.nan)):
        assert generated.restore(impossible) == 0
    same(generated.estimate, law.adaptation.prior)


def test_a_state_that_is_not_finite_is_refused(pair):
    _, c = pair
    still = np.zeros(7)
    before = c.estimate.copy()
    assert c.reason(np.full(7, np.nan), still, still, still, still)
    assert np.all(c.estimate == before)
    assert not c.reason(still, still, still, still, still)


@pytest.mark.parametrize('gains', [AdaptationGains(law='natural'), AdaptationGains(law='gradient'),
                                   AdaptationGains(coordinates='base')])
def test_other_update_laws_are_refused(gains):
    law = AdaptiveController(Robot.from_urdf('planar_2r'), adaptation=gains)
    with pytest.raises(ParameterError, match='choose memory'):
        core_files(ControlSession(law.robot, law, SessionSettings(period=PERIOD)))


def test_known_parameters_are_refused():
    robot = Robot.from_urdf('planar_2r')
    law = AdaptiveController(robot, known=PartialKnowledge(links=robot.body_names[:1]))
    with pytest.raises(ParameterError, match='leave them out'):
        core_files(ControlSession(robot, law, SessionSettings(period=PERIOD)))


@pytest.mark.parametrize('name', ARMS)
def test_gains_are_found_along_the_motion(name, tmp_path):
    law = FeedforwardLQController(arm(name), period=PERIOD, delay=0.001)
    compare(law, Law(law, tmp_path), 2000)


@pytest.mark.parametrize('gain', ['riccati', 'one_step'])
def test_unknown_torques_are_compensated(gain, tmp_path):
    robot = Robot.from_urdf('planar_3r')
    law = FeedforwardLQController(
        robot, gain=gain, period=PERIOD, delay=0.001, design=FeedbackDesign(disturbance_rate=5.0),
        schedule=Schedule(eps0=0.01, eps1=0.012, rescale=3.0))
    law.carry(Payload(0.5).load_on(robot), 0.0)
    steps = {300: (-1.0, True), 310: (1.0, True), 400: (PERIOD, False)}
    c = Law(law, tmp_path)
    compare(law, c, 1000, lambda k: steps.get(k, (PERIOD, True)))
    assert np.abs(law.disturbance.effort).max() > 0.1
    assert law.schedule.counts['skipped'] > 0
    law.reset(np.zeros(3), np.zeros(3))
    c.reset(np.zeros(3), np.zeros(3))
    compare(law, c, 100)


def test_an_excessive_error_stops(tmp_path):
    law = FeedforwardLQController(Robot.from_urdf('planar_2r'), period=PERIOD, delay=0.001)
    c, still, far = Law(law, tmp_path), np.zeros(2), np.full(2, 1.0)
    for _ in range(4):
        law.update(still, still, far, still, still, PERIOD, adapt=True)
        assert c.reason(still, still, far, still, still) == 0
    with pytest.raises(StopRequestedError):
        law.update(still, still, far, still, still, PERIOD, adapt=True)
    assert c.reason(still, still, far, still, still) == STOPS


@pytest.mark.parametrize(('name', 'settings'), [
    ('arm7', ImpedanceSettings()), ('panda', ImpedanceSettings(posture=(0.3,) * 7)),
    ('ur5', ImpedanceSettings(impedance=Impedance(damping=(60.0,) * 3,
                                                  rotational_damping=(3.0,) * 3)))])
def test_end_effector_is_held_by_the_same_spring(name, settings, tmp_path):
    robot = arm(name)
    law = CartesianImpedanceController(robot, period=PERIOD, settings=settings)
    law.carry(Payload(0.5).load_on(robot), 0.0)
    c, motion, still = Law(law, tmp_path), Motion(robot.n), np.zeros(robot.n)
    q, v = motion.state(0.0)
    same(law.holding_effort(q, v, q), c.holding_effort(q, v, q))
    law.reset(q, v)
    c.reset(q, v)
    for k in range(1500):
        q, v = motion.state(k * PERIOD)
        if k % 100 == 0:
            pose = law.model.empty.forward_kinematics(motion.at(k * PERIOD + 0.2)[0], law.link)
            goal = pose[:3, 3].copy(), quaternion_of_rotation(pose[:3, :3])
            law.setpoint.follow_pose(*goal)
            assert c.set_goal('pose', *goal) == 1
        if k == 1250:
            twist = np.array([0.1, 0.0, -0.1, 0.3, 0.0, 0.0])
            law.setpoint.follow_twist(twist)
            assert c.set_goal('twist', twist) == 1
        same(law.update(q, v, still, still, still, PERIOD, adapt=False),
             c.update(q, v, still, still, still, PERIOD, adapt=False))
    same(law.safe_effort(q, v), c.safe_effort(q, v))
    assert c.set_goal('pose', q[:3], np.array([0.0, 0.0, 0.0, 2.0])) == 0
    assert c.set_goal('twist', np.full(6, np.nan)) == 0
    assert c.reason(q, np.full(robot.n, 1e3), still, still, still) != 0


#: Names of the libraries that a controller may use besides the mathematics library.
MEMORY = {'memcpy', 'memmove', 'memset'}


@pytest.mark.parametrize('kind', [PDGravityController, ComputedTorqueController,
                                  AdaptiveController, FeedforwardLQController,
                                  CartesianImpedanceController])
def test_only_mathematics_is_called(kind, tmp_path):
    if shutil.which('nm') is None:
        pytest.skip('nm is not installed')
    robot = Robot.from_urdf('planar_2r')
    write_core(tmp_path, core_files(ControlSession(robot, kind(robot, period=PERIOD),
                                                   SessionSettings(period=PERIOD))))
    library = compile_c(tmp_path / 'core.so', *tmp_path.glob('*.c'),
                        options=('-std=c99', '-O2', '-shared', '-fPIC', '-nostartfiles'))
    mathematics = symbols('--defined-only', output_of('cc', '-print-file-name=libm.so.6').strip())
    called = symbols('--undefined-only', library)
    assert 'sin' in mathematics and 'malloc' not in mathematics
    assert called and called <= mathematics | MEMORY


def symbols(which, library):
    """Names of a library, without versions."""
    return {line.split()[0].partition('@')[0] for line in output_of(
        'nm', '-D', '--format=posix', which, library).splitlines()}


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
