# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from benchmark.closed_loop import LoopConditions, run_closed_loop
from robot_dynamics.control.laws.model_based import PDGravityController
from robot_dynamics.control.motion.references import Hold, PointToPoint
from robot_dynamics.errors import SimulationError
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.simulation.sensors import JointSensors, SensorQuality


class Witness(PDGravityController):
    """PD + gravity that remembers how it was called."""

    def __init__(self, robot):
        super().__init__(robot)
        self.steps, self.times, self.adapt, self.applied = [], [], [], []

    def update(self, q, v, q_d, v_d, a_d, dt, *, adapt):
        self.steps.append(dt)
        self.adapt.append(adapt)
        return super().update(q, v, q_d, v_d, a_d, dt, adapt=adapt)

    def note_applied(self, tau):
        self.applied.append(tau.copy())


def run(robot, seconds=0.5, reference=Hold, controller=None, start=0.4, **options):
    plant = Plant(robot)
    plant.reset([start])
    controller = controller or Witness(robot)
    return run_closed_loop(controller, plant, reference, seconds, **options), controller, plant


def test_an_exact_model_stays_where_it_is_held(pendulum):
    record, controller, plant = run(pendulum)
    assert np.max(np.abs(record.error)) < 1e-5
    assert len(record.time) == 250
    np.testing.assert_allclose(np.diff(record.time), 0.002, atol=1e-12)
    assert controller.steps[0] == 0.0
    np.testing.assert_allclose(controller.steps[1:], 0.002, atol=1e-12)
    # The hold of half a second came before.
    assert plant.time == pytest.approx(1.0)


def test_one_of_some_samples_is_recorded_and_the_run_is_the_same(pendulum):
    def reference(pose):
        return PointToPoint(pose, pose + 0.5, duration=0.4)

    whole, _, _ = run(pendulum, reference=reference)
    part, controller, _ = run(pendulum, reference=reference, every=50)
    assert len(controller.steps) == 250
    np.testing.assert_array_equal(part.time, whole.time[::50])
    np.testing.assert_array_equal(part.q, whole.q[::50])
    np.testing.assert_array_equal(part.error, whole.error[::50])
    with pytest.raises(SimulationError, match='every must be at least 1, got 0'):
        run(pendulum, every=0)


def test_the_reference_starts_where_the_arm_is(pendulum):
    poses = []

    def reference(pose):
        poses.append(pose)
        return PointToPoint(pose, pose + 0.5, duration=0.4)

    record, _, _ = run(pendulum, reference=reference)
    np.testing.assert_allclose(poses[0], record.q[0], atol=1e-12)
    assert record.error[0, 0] == pytest.approx(0.0, abs=1e-9)
    assert record.q[-1, 0] == pytest.approx(0.9, abs=0.02)


def test_an_offset_reference_starts_beside_the_arm(pendulum):
    record, _, _ = run(pendulum, conditions=LoopConditions(offset=0.1))
    assert record.error[0, 0] == pytest.approx(0.1, abs=1e-4)
    assert abs(record.error[-1, 0]) < 0.01


def test_lost_states_are_not_answered(pendulum):
    record, controller, _ = run(pendulum, seconds=4.0,
                                conditions=LoopConditions(loss=0.2, seed=3))
    assert 0.15 < 1.0 - len(record.time) / 2000 < 0.25
    assert set(np.round(np.array(controller.steps[1:]) / 0.002).astype(int)) >= {1, 2, 3}
    assert sum(controller.steps) == pytest.approx(record.time[-1] - record.time[0])


def test_during_a_stall_the_last_torque_acts_and_the_step_is_bounded(pendulum):
    record, controller, _ = run(pendulum, conditions=LoopConditions(stalls=((0.2, 0.05),)))
    gaps = np.diff(record.time)
    assert gaps.max() == pytest.approx(0.052, abs=1e-9)
    assert np.count_nonzero(gaps > 0.003) == 1
    assert max(controller.steps) == pytest.approx(0.020)


def test_a_delay_lets_the_torque_before_act_a_while_longer(pendulum):
    plant = Plant(pendulum)
    plant.reset([0.0])
    seen = []
    advance, set_effort = plant.advance, plant.set_effort

    def watch_advance(seconds=None, *, steps=None):
        seen.append(steps)
        return advance(seconds, steps=steps)

    def watch_effort(tau):
        seen.append('effort')
        set_effort(tau)

    plant.advance, plant.set_effort = watch_advance, watch_effort
    run_closed_loop(Witness(pendulum), plant, Hold, 0.002,
                    conditions=LoopConditions(delay=0.0015, hold=0.0))
    assert seen == [3, 'effort', 1]


def test_cut_efforts_are_counted_reported_and_stop_adaptation(pendulum):
    record, controller, _ = run(pendulum, start=0.0,
                                reference=lambda pose: Hold(pose + 1.5))
    assert record.saturated > 5
    assert np.max(np.abs(controller.applied)) == 5.0
    assert np.max(np.abs(record.effort)) == 5.0
    cut = np.abs(record.effort[:-1, 0]) == 5.0
    np.testing.assert_array_equal(~np.array(controller.adapt[1:]), cut)
    np.testing.assert_array_equal(record.adapted, controller.adapt)


def test_the_error_is_that_of_the_true_state(pendulum):
    sensors = JointSensors(SensorQuality(delay=0.02, position_noise=1e-3), seed=1)
    record, _, _ = run(pendulum, sensors=sensors, conditions=LoopConditions(hold=0.1),
                       reference=lambda pose: PointToPoint(pose, pose + 1.0, duration=0.4))
    np.testing.assert_allclose(record.q_d[100], PointToPoint(
        record.q_d[0], record.q_d[0] + 1.0, duration=0.4).sample(record.time[100])[0], atol=1e-9)


def test_summaries_of_a_record(pendulum):
    record, _, _ = run(pendulum, conditions=LoopConditions(offset=0.1))
    early = record.error[record.time < 0.1]
    assert record.rms(0.0, 0.1) == pytest.approx(np.sqrt(np.mean(early**2)))
    assert record.peak(0.0, 0.1) == np.max(np.abs(early))
    np.testing.assert_allclose(record.rms_by_joint(0.0, 0.1), [record.rms(0.0, 0.1)])


@pytest.mark.parametrize('conditions', [LoopConditions(period=0.0001),
                                        LoopConditions(delay=0.003),
                                        LoopConditions(delay=-0.001)])
def test_a_period_the_plant_cannot_step_is_refused(pendulum, conditions):
    with pytest.raises(SimulationError, match='period'):
        run(pendulum, conditions=conditions)
