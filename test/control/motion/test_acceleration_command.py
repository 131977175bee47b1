# SPDX-License-Identifier: Apache-2.0
"""Joint accelerations within bounds: the exam's cases, another solver, wrong inputs."""

import json
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from robot_dynamics.control.motion.acceleration_command import (
    AccelerationSolver,
    Outcome,
    bounded_acceleration,
    end_effector_acceleration,
    minimum_norm_acceleration,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ControlError, DimensionError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

TOLERANCE = 1e-8


@pytest.fixture(scope='module')
def exercise(shared):
    """The exam's cases and the counterexamples to what it says."""
    return json.loads((shared / 'reference' / 'ref_exercise1.json').read_text())


def planar_3r(q, v):
    """Jacobian of the tip of three links of 1 m, and its rate times velocity."""
    angle, rate = np.cumsum(q), np.cumsum(v)
    J = np.array([[-np.sin(angle[k:]).sum() for k in range(3)],
                  [np.cos(angle[k:]).sum() for k in range(3)]])
    h = -np.array([(np.cos(angle) * rate**2).sum(), (np.sin(angle) * rate**2).sum()])
    return J, h


@pytest.mark.slow
def test_cases_of_the_exam(exercise):
    upper = exercise['meta']['Umax']
    assert len(exercise['cases']) == 4
    for case in exercise['cases']:
        J, h = np.array(case['J']), np.array(case['h'])
        free = minimum_norm_acceleration(J, -h)
        np.testing.assert_allclose(free.u, case['u_minnorm'], atol=TOLERANCE)
        np.testing.assert_allclose(J @ free.u + h, case['pdd_minnorm'], atol=TOLERANCE)
        bounded = bounded_acceleration(J, -h, upper)
        np.testing.assert_allclose(bounded.u, case['u_feasible_min_norm'], atol=TOLERANCE)
        assert bounded.meets_task is free.meets_task is case['h_in_range_J']
        np.testing.assert_array_equal(
            bounded.held, np.where(np.abs(bounded.u) == upper, np.sign(bounded.u), 0))


@pytest.mark.parametrize('name', ['multi_violation_but_feasible', 'argmax_picks_wrong_joint'])
def test_counterexamples_to_its_algorithm(exercise, name):
    case = exercise['counterexamples'][name]
    J, h = planar_3r(np.array(case['q0']), np.array(case['qd0']))
    free = minimum_norm_acceleration(J, -h)
    np.testing.assert_allclose(free.u, case['u_minnorm'], atol=TOLERANCE)
    upper = np.array(exercise['meta']['Umax'])
    assert list(np.flatnonzero(np.abs(free.u) > upper) + 1) == case['violated']
    bounded = bounded_acceleration(J, -h, upper)
    assert bounded.outcome is Outcome.EXACT
    np.testing.assert_allclose(bounded.u, case['u_feasible_min_norm'], atol=TOLERANCE)


def least_distance(J, b, lower, upper):
    """Return the least u with J u = b within bounds, or None, by another method.

    C. L. Lawson, R. J. Hanson, Solving Least Squares Problems, chapter 23: min |z| with
    G z >= h is a non-negative least squares problem, whose residual is zero where there is
    no such z.
    """
    U, s, Vt = np.linalg.svd(J)
    rank = int(np.sum(s > 1e-10 * s[0]))
    least = Vt[:rank].T @ ((U.T @ b)[:rank] / s[:rank])
    if np.max(np.abs(J @ least - b)) > 1e-9 * max(1.0, np.abs(b).max()):
        return None
    N = Vt[rank:].T
    G, h = np.vstack([N, -N]), np.concatenate([lower - least, least - upper])
    E = np.vstack([G.T, h])
    target = np.zeros(len(E))
    target[-1] = 1.0
    y, length = nnls(E, target, maxiter=1000)
    if length < 1e-9:
        return None
    residual = E @ y - target
    return least + N @ (-residual[:-1] / residual[-1])


def random_case(random):
    """Return J, b and bounds; some Jacobians are singular, some tasks out of reach."""
    n = int(random.integers(3, 11))
    m = int(random.integers(1, n + 1))
    J = random.normal(size=(m, n))
    if random.random() < 0.2:
        rank = int(random.integers(1, m + 1))
        J = random.normal(size=(m, rank)) @ random.normal(size=(rank, n))
    upper = random.uniform(0.3, 3.0, n)
    lower = -upper if random.random() < 0.5 else -random.uniform(-0.2, 3.0, n)
    # Many joints at their bounds, so that some tasks are just beyond what can be had.
    inside = np.clip(2.0 * random.uniform(lower, upper), lower, upper)
    b = J @ inside * random.uniform(0.6, 1.4)
    return J, b, lower, upper


@pytest.mark.slow
def test_another_solver_agrees_in_ten_thousand_cases():
    random = np.random.default_rng(20210712)
    verdicts = {True: 0, False: 0}
    held_counts = np.zeros(11, dtype=int)
    for _ in range(10_000):
        J, b, lower, upper = random_case(random)
        expected = least_distance(J, b, lower, upper)
        answer = bounded_acceleration(J, b, upper, lower)
        assert answer.meets_task is (expected is not None)
        verdicts[answer.meets_task] += 1
        if answer.meets_task:
            np.testing.assert_allclose(answer.u, expected, atol=1e-7)
            np.testing.assert_allclose(J @ answer.u, b, atol=1e-9 * max(1.0, np.abs(b).max()))
            assert np.all((answer.u >= lower) & (answer.u <= upper))
            held_counts[np.count_nonzero(answer.held)] += 1
        else:
            assert np.all(np.isnan(answer.u))
    # Both verdicts, and several joints held at once, are well represented.
    assert min(verdicts.values()) > 2000
    assert held_counts[2:].sum() > 1000


def test_what_contradicts_is_named():
    # Both joints have to push together, and each alone is too weak.
    answer = bounded_acceleration([[1.0, 1.0]], [3.0], 1.0)
    assert answer.outcome is Outcome.OUT_OF_BOUNDS
    np.testing.assert_array_equal(answer.held, [1, 1])
    assert np.all(np.isnan(answer.u))


def test_singular_and_unreachable_within_bounds():
    # The second row is out of reach; the first is met as if it were alone.
    J = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    answer = bounded_acceleration(J, [2.0, 5.0], [1.0, 0.75, 1.0])
    assert answer.outcome is Outcome.UNREACHABLE and not answer.meets_task
    np.testing.assert_allclose(answer.u, [0.5, 0.75, 0.0], atol=1e-12)
    # Two rows that say the same of one joint: half of what each wants.
    twice = bounded_acceleration([[1.0, 0.0], [1.0, 0.0]], [1.0, 2.0], np.inf)
    assert twice.outcome is Outcome.UNREACHABLE
    np.testing.assert_allclose(twice.u, [1.5, 0.0], atol=1e-12)
    nothing = bounded_acceleration(np.zeros((2, 3)), np.zeros(2), 1.0)
    assert nothing.meets_task and not np.any(nothing.u)


def test_what_the_task_fixes_no_rounding_moves():
    # Joint 0 does not move the tip and has no bounds; the others have no choice.
    random = np.random.default_rng(8)
    for _ in range(500):
        n = int(random.integers(2, 8))
        J = random.normal(size=(n, n))
        J[:, 0] = 0.0
        needed = random.normal(size=n)
        bound = np.full(n, np.inf)
        bound[1] = abs(needed[1])
        enough, little = (bounded_acceleration(J, J @ needed, factor * bound)
                          for factor in (1.0 + 1e-9, 0.99))
        assert enough.outcome is Outcome.EXACT
        np.testing.assert_allclose(enough.u[1:], needed[1:], rtol=1e-6)
        assert abs(enough.u[0]) < 1e-9
        assert little.outcome is Outcome.OUT_OF_BOUNDS and little.held[1]


def test_more_tasks_than_joints_and_one_joint():
    J = np.array([[1.0], [2.0], [-1.0]])
    assert bounded_acceleration(J, [0.5, 1.0, -0.5], 1.0).u == pytest.approx([0.5])
    assert bounded_acceleration(J, [0.5, 1.0, 0.5], 1.0).outcome is Outcome.UNREACHABLE
    assert bounded_acceleration(J, [1.5, 3.0, -1.5], 1.0).outcome is Outcome.OUT_OF_BOUNDS


def test_nearest_to_what_is_preferred():
    answer = bounded_acceleration([[1.0, 1.0, 0.0]], [1.0], [2.0, 2.0, 0.2],
                                  preferred=[1.0, -1.0, 0.5])
    np.testing.assert_allclose(answer.u, [1.5, -0.5, 0.2], atol=1e-12)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32 - 1),
       st.sampled_from([1e-6, 1.0, 1e6]))
def test_optimal_by_its_own_conditions(n, m, seed, scale):
    random = np.random.default_rng(seed)
    J = random.normal(size=(m, n))
    upper = scale * random.uniform(0.1, 1.0, n)
    b = J @ (upper * random.uniform(-1.0, 1.0, n)) * random.uniform(0.5, 1.5)
    answer = bounded_acceleration(J, b, upper)
    if not answer.meets_task:
        return
    # u = J^T y off the bounds; at a bound it would go beyond, not back.
    free = answer.held == 0
    y = np.linalg.lstsq(J[:, free].T, answer.u[free], rcond=None)[0] if free.any() else None
    if y is not None and np.linalg.matrix_rank(J[:, free]) == m:
        wish = J.T @ y
        np.testing.assert_allclose(wish[free], answer.u[free], atol=1e-8 * scale)
        assert np.all((wish - answer.u)[~free] * answer.held[~free] > -1e-8 * scale)


@pytest.mark.slow
def test_end_effector_of_an_arm_keeps_its_velocity():
    robot = Robot.from_urdf(resolve_robot('arm7'))
    dynamics = Dynamics(robot)
    random = np.random.default_rng(5)
    q, v = random.uniform(-1.0, 1.0, 7), random.uniform(-0.5, 0.5, 7)
    tip = robot.body_names[-1]
    for acceleration in (np.zeros(6), np.array([0.3, -0.2, 0.1])):
        size = acceleration.size
        answer = end_effector_acceleration(dynamics, q, v, tip, acceleration, 50.0)
        assert answer.meets_task
        # By differences of the velocity along the motion.
        dt = 1e-6

        def velocity(t, u=answer.u, size=size):
            return dynamics.jacobian(q + t * v + 0.5 * t * t * u, tip)[:size] @ (v + t * u)

        np.testing.assert_allclose((velocity(dt) - velocity(-dt)) / (2.0 * dt), acceleration,
                                   atol=1e-7)


def test_takes_less_than_fifty_microseconds(slowness):
    random = np.random.default_rng(1)
    solver = AccelerationSolver(7)
    cases = [random.normal(size=(6, 7)) for _ in range(200)]
    tasks = [J @ random.uniform(-1.2, 1.2, 7) for J in cases]
    bound = np.ones(7)
    times = []
    for J, b in zip(cases, tasks, strict=True):
        start = time.perf_counter()
        solver.solve(J, b, -bound, bound)
        times.append(time.perf_counter() - start)
    assert np.median(times) < 50e-6 * slowness()


@pytest.mark.parametrize(('arguments', 'error', 'says'), [
    (([[1.0, np.nan]], [0.0], 1.0), ControlError, 'Jacobian'),
    (([1.0, 2.0], [0.0], 1.0), DimensionError, 'Jacobian'),
    ((np.zeros((0, 3)), [], 1.0), DimensionError, 'Jacobian'),
    (([[1.0, 2.0]], [0.0, 1.0], 1.0), DimensionError, 'task'),
    (([[1.0, 2.0]], [np.inf], 1.0), ControlError, 'task'),
    (([[1.0, 2.0]], [1.0], [1.0, 1.0, 1.0]), DimensionError, 'upper bounds'),
    (([[1.0, 2.0]], [1.0], [1.0, np.nan]), ControlError, 'upper bounds'),
    (([[1.0, 2.0]], [1.0], [1.0, -1.0]), ControlError, 'joint 1'),
    (([[1.0, 2.0]], ['a'], 1.0), DimensionError, 'task'),
])
def test_wrong_inputs_are_named(arguments, error, says):
    with pytest.raises(error, match=says):
        bounded_acceleration(*arguments)
    with pytest.raises((ControlError, DimensionError), match='preferred'):
        bounded_acceleration([[1.0, 2.0]], [1.0], 1.0, preferred=np.nan)


def test_numbers_that_are_none_do_not_hang_the_solver():
    solver = AccelerationSolver(3)
    bound = np.ones(3)
    for bad in (np.nan, np.inf):
        try:
            solver.solve(np.full((2, 3), bad), np.ones(2), -bound, bound)
        except ControlError:
            continue
        assert not np.any(np.isinf(solver.u))
