# SPDX-License-Identifier: Apache-2.0
"""Faults of arms and drivers; docs/reliability.md has the whole matrix."""

import math

import numpy as np
import pytest

pytest.importorskip('mujoco')

from benchmark.fault_parts.arm import DESCRIPTIONS
from benchmark.fault_parts.lies import FAULTS, Fault, MachineDelays
from benchmark.fault_parts.runs import DEADLINES, FAULT_AFTER, LAWS, Bench, concerns, run
from robot_dynamics.control.laws.cartesian_impedance import ImpedanceSettings
from robot_dynamics.control.laws.impedance import Impedance
from robot_dynamics.control.session.modes import Mode

#: Faults after which an arm without brakes falls some time later, and how fast it is then.
FALLING = {'joint frozen': 2.7, 'joint frozen briefly': 1.7, 'torque sign': 4.2}
#: The arm is slow when that is found, and falls two seconds later. J.
FALLS_LATER = {('joint frozen', 'cartesian_impedance'): 0.5}


def judge(arm, law, rate, fault):
    outcome = run(arm, law, rate, fault)
    deadline = DEADLINES.get((fault, law), FAULTS[fault][0].deadline)
    # State timeouts and waiting states are seen one or two periods later.
    assert outcome.time_to_safe <= deadline + 2.0 / rate, outcome
    if (fault, law) in FALLS_LATER:
        assert outcome.energy_at_safe <= FALLS_LATER[fault, law], outcome
        return
    assert outcome.peak <= FALLING.get(fault, 1.5), outcome
    if fault not in FALLING:
        # A light wrist may be faster for an instant where the others are braked.
        assert outcome.speed_falls or outcome.energy_after <= 1.05 * outcome.energy_at_safe, \
            outcome


@pytest.mark.parametrize('law', LAWS)
@pytest.mark.parametrize('fault', FAULTS)
def test_arm7_gains_no_energy(fault, law):
    if concerns(fault, law):
        judge('arm7', law, 500.0, fault)


@pytest.mark.slow
@pytest.mark.skipif(not DESCRIPTIONS.is_dir(), reason='example-robot-data is not installed')
@pytest.mark.parametrize(('arm', 'law', 'rate'), [
    ('ur5', 'pd_gravity', 250.0), ('panda', 'computed_torque', 1000.0),
    ('arm7 with rotors', 'pd_gravity', 500.0)])
@pytest.mark.parametrize('fault', sorted({*FAULTS} - {*FALLING, 'states stop'}))
def test_other_arms_gain_no_energy(fault, arm, law, rate):
    judge(arm, law, rate, fault)


@pytest.mark.parametrize('law', LAWS)
def test_without_a_fault_nothing_is_found(law):
    bench = Bench('arm7', law, 500.0)
    bench.run_to_tracking()
    mode, end = bench.session.mode, bench.time + 3.0
    while bench.time < end:
        bench.cycle(Fault(bench.joint, math.inf))
    assert bench.session.mode is mode, bench.session.reason


def test_a_velocity_that_flips_while_an_arm_accelerates_is_not_put_down_to_the_position(
        monkeypatch):
    monkeypatch.setattr('benchmark.fault_parts.runs.PUSH_PHASE', 0.625)
    judge('arm7', 'gravity', 250.0, 'velocity sign')


@pytest.mark.parametrize('seed', range(6))
@pytest.mark.parametrize('law', ['adaptive', 'pd_gravity'])
def test_delays_of_the_machine_do_not_speed_an_arm_up(law, seed, monkeypatch):
    """Without friction; each delay alone is shorter than the timeout of states."""
    monkeypatch.setattr('benchmark.fault_parts.arm.COULOMB_SHARE', 0.0)
    monkeypatch.setattr('benchmark.fault_parts.arm.VISCOUS_SHARE', 0.0)
    bench = Bench('arm7', law, 250.0)
    bench.run_to_tracking()
    begin = bench.time + FAULT_AFTER
    delays = MachineDelays(bench.joint, begin, seed)
    while bench.time < begin + 3.0:
        bench.cycle(delays)
        assert np.abs(bench.arm.v / bench.limit).max() < 0.6
    assert bench.session.mode is Mode.SAFE
    assert np.abs(bench.arm.v / bench.limit).max() < 0.02


@pytest.mark.parametrize('rate', [250.0, 500.0])
@pytest.mark.parametrize('read_every', [0.012, 0.02, 0.028, 0.036])
def test_a_driver_that_reads_slowly_does_not_speed_an_arm_up(read_every, rate, monkeypatch):
    monkeypatch.setattr('benchmark.fault_parts.lies.READ_EVERY', read_every)
    outcome = run('arm7', 'adaptive', rate, 'states repeated')
    assert outcome.peak < 0.8
    # The feedback is stable with states as old as 15 ms.
    assert (outcome.time_to_safe < 0.25) == (read_every > 0.025)


def test_a_stiffer_spring_shows_a_frozen_encoder_sooner():
    """Its effort grows sooner beyond what friction may hold."""
    stiff = ImpedanceSettings(impedance=Impedance(stiffness=(2000.0,) * 3))
    outcome = run('arm7', 'cartesian_impedance', 500.0, 'joint frozen', settings=stiff)
    assert outcome.time_to_safe < 0.1 and outcome.reason.startswith('safe: a joint does not')
    assert run('arm7', 'cartesian_impedance', 500.0, 'joint frozen').time_to_safe > 0.5


class Push(Fault):
    """A wrist is pushed far beyond its speed limit."""

    def act(self, time, effort):
        pushed = effort.copy()
        pushed[self.joint] += 80.0 if self.begin <= time < self.begin + 0.02 else 0.0
        return pushed


@pytest.mark.parametrize('rate', [100.0, 500.0])
@pytest.mark.parametrize('law', LAWS)
def test_an_arm_that_was_pushed_is_braked(law, rate):
    bench = Bench('arm7', law, rate)
    bench.run_to_tracking()
    push = Push(4, bench.time)
    while bench.time < push.begin + 0.02:
        bench.cycle(push)
    assert np.abs(bench.arm.v / bench.limit).max() > 4.0
    energy = bench.arm.kinetic_energy
    while bench.time < push.begin + 1.0:
        bench.cycle(push)
        assert bench.arm.kinetic_energy < 1.2 * energy
    assert bench.session.mode is Mode.SAFE
    assert np.abs(bench.arm.v / bench.limit).max() < 0.3


def test_an_arm_that_stood_still_is_held_and_taken_up_again():
    """It goes back to the start gate, with the torque that holds it and no more."""
    bench = Bench('arm7', 'adaptive', 500.0)
    bench.run_to_tracking()
    end = bench.time + FAULT_AFTER
    while bench.time < end:
        bench.cycle(Fault(bench.joint, math.inf))
    fault, begin = FAULTS['arm stopped'][0](bench.joint, bench.time), bench.time
    while bench.session.mode is Mode.TRACKING:
        bench.cycle(fault)
    assert bench.time - begin < 0.2
    assert bench.session.mode is Mode.HOLDING and 'protective stop' in bench.session.reason
    # Efforts change no faster than their rate limit.
    for _ in range(25):
        bench.cycle(fault)
    held = bench.effort.copy()
    for _ in range(1000):
        bench.cycle(fault)
        assert np.abs(bench.effort - held).max() < 1e-3 * bench.model.limits.effort.max()
