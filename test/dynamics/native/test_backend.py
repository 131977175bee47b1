# SPDX-License-Identifier: Apache-2.0
"""Kernels in C do what the general methods do, whatever they are given."""

import copy
import gc
import pickle
import shutil
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

from robot_dynamics.dynamics import JOINT_TERMS, Dynamics
from robot_dynamics.dynamics.caller import PIECE
from robot_dynamics.dynamics.kernels.cache import cache_base
from robot_dynamics.dynamics.native import build
from robot_dynamics.dynamics.native.gate import _PAST_CACHE as PAST_CACHE
from robot_dynamics.errors import BackendError, DimensionError, ParameterError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

pytestmark = pytest.mark.skipif(shutil.which('cc') is None, reason='there is no C compiler')

TOLERANCE = 1e-12


def both(robot, **options):
    """The same equations by both backends."""
    return (Dynamics(robot, backend='numba', **options),
            Dynamics(robot, backend='c', **options))


def close(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            close(one, other)
        return
    assert found.shape == expected.shape and found.dtype == expected.dtype
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    assert np.max(np.abs(found - expected), initial=0.0) <= TOLERANCE * scale


def state(n, seed=0, count=5, shape=()):
    return np.random.default_rng(seed).uniform(-3.0, 3.0, (count, *shape, n))


def calls(dynamics, x, terms=()):
    """Every method that has a kernel, on one state."""
    q, v, v_r, a_r, s = x
    pi = np.concatenate([dynamics.parameters, np.linspace(0.1, 1.0, len(terms) * dynamics.n)])
    return {
        'slotine_li_regressor': dynamics.slotine_li_regressor(q, v, v_r, a_r, terms),
        'regressor': dynamics.regressor(q, v, a_r, terms),
        'adaptive_terms': dynamics.adaptive_terms(q, v, v_r, a_r, s, pi, terms),
        'inverse_dynamics': dynamics.inverse_dynamics(q, v, a_r),
        'matrices': dynamics.matrices(q, v),
        'gravity_torque': dynamics.gravity_torque(q), 'mass_matrix': dynamics.mass_matrix(q),
        'coriolis_matrix': dynamics.coriolis_matrix(q, v),
        'forward_dynamics': dynamics.forward_dynamics(q, v, a_r),
    }


@pytest.fixture(scope='module')
def arm():
    """Equations of PUMA 560 by both backends."""
    return both(Robot.from_urdf(resolve_robot('puma560')))


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(3))
def test_random_trees(tree, seed):
    numba, c = both(tree(seed, bodies=5 + seed))
    for sample in range(3):
        x = state(numba.n, sample)
        expected = calls(numba, x)
        for name, found in calls(c, x).items():
            close(found, expected[name])


@pytest.mark.slow
def test_there_is_a_kernel_for_each_method(arm):
    _, c = arm
    calls(c, state(c.n))
    for name in ('slotine_li_regressor', 'regressor', 'adaptive_terms', 'inverse_dynamics',
                 'matrices', 'mass_matrix', 'forward_dynamics'):
        function = getattr(c, name)
        assert type(function).__name__ == 'builtin_function_or_method'
        assert function.__doc__ == getattr(Dynamics, name).__doc__
        assert function.__name__ == name


@pytest.mark.parametrize('terms', [(), ('viscous',), ('offset', 'coulomb', 'armature'),
                                   JOINT_TERMS], ids=len)
def test_joint_terms(arm, terms):
    numba, c = arm
    x = state(numba.n)
    for again in range(2):
        expected = calls(numba, x + again, terms)
        for name, found in calls(c, x + again, terms).items():
            close(found, expected[name])


def test_terms_given_as_a_list_or_a_name(arm):
    numba, c = arm
    q, v, v_r, a_r, s = state(numba.n)
    for terms in (['viscous', 'coulomb'], 'viscous'):
        count = len(numba.column_names(terms))
        close(c.adaptive_terms(q, v, v_r, a_r, s, np.ones(count), terms),
              numba.adaptive_terms(q, v, v_r, a_r, s, np.ones(count), terms))
    with pytest.raises(ParameterError, match='not a joint term'):
        c.adaptive_terms(q, v, v_r, a_r, s, np.ones(60), ('viscosity',))


def test_the_smooth_sign_is_that_of_the_dynamics():
    robot = Robot.from_urdf(resolve_robot('planar_2r'))
    numba, c = both(robot, coulomb_velocity=0.7)
    x = state(2)
    for _ in range(2):
        close(calls(c, x, ('coulomb',))['adaptive_terms'],
              calls(numba, x, ('coulomb',))['adaptive_terms'])


def test_batches_lists_and_other_numbers(arm):
    numba, c = arm
    n = numba.n
    for x in (state(n, shape=(3,)), state(n, shape=(2, 4)), state(n).astype(np.float32),
              state(n).tolist(), state(2 * n)[:, ::2]):
        q, v, v_r, a_r, _ = x
        close(c.slotine_li_regressor(q, v, v_r, a_r), numba.slotine_li_regressor(q, v, v_r, a_r))
        close(c.inverse_dynamics(q, v, a_r), numba.inverse_dynamics(q, v, a_r))
        close(c.matrices(q, v), numba.matrices(q, v))
    q, v, v_r, a_r, _ = state(n)
    close(c.matrices(q, state(n, shape=(3,))[0]), numba.matrices(q, state(n, shape=(3,))[0]))


@pytest.mark.slow
@pytest.mark.parametrize('threads', [1, 2])
@pytest.mark.parametrize('count', [256, 2 * PIECE + 3])
def test_large_batches(tree, threads, count):
    numba, c = both(tree(1, bodies=7), threads=threads)
    q, v, v_r, a_r, _ = state(7, shape=(count,))
    for terms in ((), ('viscous',)):
        expected = numba.slotine_li_regressor(q, v, v_r, a_r, terms)
        close(c.slotine_li_regressor(q, v, v_r, a_r, terms), expected)
        out = np.full(expected.shape, np.nan)
        assert c.slotine_li_regressor(q, v, v_r, a_r, terms, out) is out
        close(out, expected)
    close(c.regressor(q, v, a_r), numba.regressor(q, v, a_r))
    found, wanted = (dynamics.normal_equations(q, v, a_r, v_r) for dynamics in (c, numba))
    close(found.W_W, wanted.W_W)
    close(found.W_tau, wanted.W_tau)


@pytest.mark.parametrize('offset', range(4))
def test_results_past_the_cache_may_lie_anywhere(arm, offset):
    numba, c = arm
    n = numba.n
    count = PAST_CACHE // (8 * 10 * n * n) + 1
    q, v, a = state(n, count=3, shape=(count,))
    memory = np.full(count * 10 * n * n + 8, np.nan)
    out = memory[offset:offset + count * 10 * n * n].reshape(count, n, 10 * n)
    c.regressor(q, v, a, out=out)
    close(out, numba.regressor(q, v, a))
    assert np.all(np.isnan(memory[:offset])) and np.all(np.isnan(memory[offset - 8:]))


def test_large_batches_with_mimic_joints(cases):
    numba, c = both(Robot.from_urdf(cases / 'urdf_mimic' / 'mimic.urdf'))
    q, v, a = state(numba.n, count=3, shape=(256,))
    close(c.regressor(q, v, a), numba.regressor(q, v, a))


MISUSE = [
    lambda d, q, out: d.inverse_dynamics(q[:-1], q, q),
    lambda d, q, out: d.inverse_dynamics(q, q, None),
    lambda d, q, out: d.slotine_li_regressor(q, q, q, q, out=np.zeros((2, 2))),
    lambda d, q, out: d.slotine_li_regressor(q, q, q, q, out=out.astype(np.float32)),
    lambda d, q, out: d.slotine_li_regressor(q, q, q, q, out=out.T.copy().T),
    lambda d, q, out: d.matrices(q, q, out=(np.zeros((6, 6)),) * 3),
    lambda d, q, out: d.matrices(q, q, out=5),
    lambda d, q, out: d.adaptive_terms(q, q, q, q, q, np.zeros(7)),
    lambda d, q, out: d.inverse_dynamics(q, q),
    lambda d, q, out: d.inverse_dynamics(q, q, q, q),
    lambda d, q, out: d.inverse_dynamics(q, q, a=q, b=1),
    lambda d, q, out: d.slotine_li_regressor(q, q, q, q, (), out, out=out),
    lambda d, q, out: d.slotine_li_regressor(q, q, q, q, wrong=1),
    lambda d, q, out: d.inverse_dynamics('a', q, q),
]


@pytest.mark.parametrize('misuse', MISUSE, ids=range(len(MISUSE)))
def test_misuse_is_answered_as_ever(arm, misuse):
    errors = []
    for dynamics in arm:
        q, out = np.zeros(dynamics.n), np.zeros((dynamics.n, 10 * dynamics.n))
        with pytest.raises((DimensionError, TypeError)) as caught:
            misuse(dynamics, q, out)
        errors.append((type(caught.value), str(caught.value)))
    assert errors[0] == errors[1]


def test_names_of_arguments(arm):
    numba, c = arm
    q, v, v_r, a_r, _ = state(numba.n)
    out = np.empty((numba.n, 10 * numba.n))
    assert c.slotine_li_regressor(a_r=a_r, v_r=v_r, v=v, q=q, out=out) is out
    close(out, numba.slotine_li_regressor(q, v, v_r, a_r))
    out[...] = 7.0
    assert c.regressor(q, v, a_r, out=out, terms=()) is out
    close(out, numba.regressor(q, v, a_r))


@pytest.mark.slow
def test_out_is_the_object_given_and_all_of_it_is_written(tree):
    robot = tree(1, bodies=7)
    numba, c = both(robot)
    n = robot.n
    q, v, v_r, a_r, _ = state(n)
    expected = numba.slotine_li_regressor(q, v, v_r, a_r)
    assert np.any(expected == 0.0)
    wide = np.full((2 * n, 10 * n), np.nan)
    for out in (np.full((n, 10 * n), np.nan), wide[:n]):
        assert c.slotine_li_regressor(q, v, v_r, a_r, out=out) is out
        close(out, expected)
    assert np.all(np.isnan(wide[n:]))
    three = tuple(np.full(shape, np.nan) for shape in ((n, n), (n, n), (n,)))
    assert all(x is y for x, y in zip(c.matrices(q, v, out=three), three, strict=True))
    close(three, numba.matrices(q, v))


def test_out_may_overlap_with_the_state(arm):
    numba, c = arm
    n = numba.n
    expected = numba.slotine_li_regressor(*state(n)[:4])
    out = np.zeros((n, 10 * n))
    q, v, v_r, a_r = state(n)[:4]
    view = out.ravel()[3:3 + n]
    view[...] = q
    close(c.slotine_li_regressor(view, v, v_r, a_r, out=out), expected)


def test_mimic_joints(cases):
    numba, c = both(Robot.from_urdf(cases / 'urdf_mimic' / 'mimic.urdf'))
    assert not numba.robot.is_directly_driven
    x = state(numba.n)
    for terms in ((), ('viscous', 'armature')):
        expected = calls(numba, x, terms)
        for _ in range(2):
            for name, found in calls(c, x, terms).items():
                close(found, expected[name])


def test_other_inertial_parameters_share_a_library(arm, monkeypatch):
    _, c = arm
    monkeypatch.setattr(build, 'compile_library', None)
    heavier = c.robot.with_parameters(2.0 * c.parameters)
    q, v, a = state(c.n)[:3]
    close(Dynamics(heavier, backend='c').inverse_dynamics(q, v, a),
          2.0 * c.inverse_dynamics(q, v, a))


def test_not_a_number_travels(arm):
    numba, c = arm
    x = state(numba.n)
    x[0, 2] = np.nan
    wanted = calls_that_take_nan(numba, x)
    for name, found in calls_that_take_nan(c, x).items():
        expected = wanted[name]
        assert np.array_equal(np.isnan(found), np.isnan(expected))
        assert np.any(np.isnan(found))


def calls_that_take_nan(dynamics, x):
    q, v, _, a_r, _ = x
    return {'tau': dynamics.inverse_dynamics(q, v, a_r),
            'M': dynamics.matrices(q, v)[0]}


def test_copies_and_pickles_keep_the_backend(arm):
    _, c = arm
    q, v, a = state(c.n)[:3]
    for copied in (copy.deepcopy(c), pickle.loads(pickle.dumps(c))):
        assert copied.backend == 'c'
        close(copied.inverse_dynamics(q, v, a), c.inverse_dynamics(q, v, a))


@pytest.mark.slow
def test_nothing_is_leaked(arm):
    c = Dynamics(arm[1].robot, backend='c')
    q, v, v_r, a_r, s = state(c.n)
    out, three = c.regressor(q, v, a_r), c.matrices(q, v)
    pi = np.zeros(10 * c.n)

    def use(c, count):
        for _ in range(count):
            c.slotine_li_regressor(q, v, v_r, a_r, out=out)
            c.slotine_li_regressor(q, v, v_r, a_r)
            c.adaptive_terms(q, v, v_r, a_r, s, pi)
            c.inverse_dynamics(q, v, a_r)
            c.matrices(q, v)
            c.matrices(q, v, three)
    use(c, 10)
    gc.collect()
    objects = [q, v, v_r, a_r, s, pi, out, three, np.empty, None, ()]
    counts = [sys.getrefcount(x) for x in objects]
    use(c, 300)
    after = [sys.getrefcount(x) for x in objects]
    # None and () are used all over; the others stay exactly as they were.
    assert after[:-2] == counts[:-2]
    assert all(abs(x - y) < 100 for x, y in zip(after, counts, strict=True))
    gone = weakref.ref(c)
    del c
    gc.collect()
    assert gone() is None


def test_threads_do_not_disturb_each_other(arm):
    _, c = arm
    states = [state(c.n, seed) for seed in range(4)]
    expected = [c.slotine_li_regressor(*x[:4]) for x in states]
    failures = []

    def work(x, wanted):
        for _ in range(2000):
            if not np.array_equal(c.slotine_li_regressor(*x[:4]), wanted):
                failures.append(x)
    threads = [threading.Thread(target=work, args=pair)
               for pair in zip(states, expected, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_unknown_backends_are_refused():
    robot = Robot.from_urdf(resolve_robot('planar_2r'))
    with pytest.raises(ParameterError, match="backend must be one of auto, numba, c, got 'for"):
        Dynamics(robot, backend='fortran')
    for backend in (None, ['c'], np.array(['c', 'c']), b'c', 1):
        with pytest.raises(ParameterError, match=r'backend must be one of auto, numba, c, got'):
            Dynamics(robot, backend=backend)


@pytest.mark.slow
def test_without_a_compiler_the_general_kernels_are_used(tmp_path):
    robot = resolve_robot('planar_2r')
    shutil.copytree(cache_base(), tmp_path / 'robot_dynamics',
                    ignore=shutil.ignore_patterns('native'))
    script = ('import copy, sys, warnings\n'
              'from robot_dynamics import Dynamics, Robot\n'
              'warnings.simplefilter("always")\n'
              f'robot = Robot.from_urdf({str(robot)!r})\n'
              'c = Dynamics(robot, backend="c")\n'
              'print(c.backend, copy.copy(c).backend, Dynamics(robot).backend)\n'
              'print(c.inverse_dynamics([0.3, 0.1], [1, 2], [3, 4]).tolist())\n')
    done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True,
                          check=True, env={'PATH': str(tmp_path), 'HOME': str(tmp_path),
                                           'NUMBA_CACHE_DIR': str(tmp_path),
                                           'PYTHONPATH': ':'.join(filter(None, sys.path))})
    (warning,) = [line for line in done.stderr.splitlines() if 'Warning' in line]
    assert warning.startswith('<string>:5: RuntimeWarning: ')
    assert warning.endswith(
        "backend 'c' needs a C compiler (cc, gcc, clang not on the PATH), so the numba "
        'kernels are used; install one, on Debian and Ubuntu with: sudo apt install gcc libc6-dev;'
        " or use backend 'numba'")
    used, efforts = done.stdout.splitlines()
    assert used == 'numba numba numba'
    expected = Dynamics(Robot.from_urdf(robot)).inverse_dynamics([0.3, 0.1], [1, 2], [3, 4])
    assert efforts == str(expected.tolist())


def test_too_many_bodies_are_refused(tree):
    with pytest.raises(BackendError, match='more than 40'):
        Dynamics(tree(0, bodies=41), backend='c')


def test_a_robot_that_floats_is_refused_with_what_to_do():
    robot = Robot.from_urdf(resolve_robot('planar_2r'), floating_base=True)
    with pytest.raises(BackendError, match=r"several coordinates.*'auto' or 'numba'"):
        Dynamics(robot, backend='c')


def test_the_default_is_c_where_it_is_possible(arm, monkeypatch):
    monkeypatch.delenv('ROBOT_DYNAMICS_BACKEND', raising=False)
    assert Dynamics(arm[1].robot).backend == 'c'
    floating = Robot.from_urdf(resolve_robot('planar_2r'), floating_base=True)
    dynamics = Dynamics(floating)
    assert dynamics.backend == 'numba'
    q, v = floating.neutral(), np.ones(floating.n)
    for _ in range(2):
        close(dynamics.inverse_dynamics(q, v, v),
              Dynamics(floating, backend='numba').inverse_dynamics(q, v, v))
    monkeypatch.setenv('ROBOT_DYNAMICS_BACKEND', 'numba')
    assert Dynamics(arm[1].robot).backend == 'numba'
    monkeypatch.setenv('ROBOT_DYNAMICS_BACKEND', 'fortran')
    with pytest.raises(ParameterError, match='ROBOT_DYNAMICS_BACKEND must be one of'):
        Dynamics(arm[1].robot)


def test_gravity_is_not_part_of_the_library(arm, monkeypatch):
    _, c = arm
    monkeypatch.setattr(build, 'compile_library', None)
    tilted = c.robot.with_gravity((1.0, -2.0, 3.0))
    x = state(c.n)
    expected = calls(Dynamics(tilted, backend='numba'), x)
    for name, found in calls(Dynamics(tilted, backend='c'), x).items():
        close(found, expected[name])
