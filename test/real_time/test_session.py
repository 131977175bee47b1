# SPDX-License-Identifier: Apache-2.0
"""The controller in C makes the same decisions as the session in Python, step by step."""

import math

import pytest

pytest.importorskip('mujoco')

from benchmark.fault_parts.arm import DESCRIPTIONS
from benchmark.fault_parts.lies import FAULTS, Fault, MachineDelays
from benchmark.fault_parts.runs import measure, reference_points
from robot_dynamics.control.session.modes import Mode
from test.real_time.beside import BesideBench, laws

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
    assert bench.beside.compare(programs) == {Mode.WAITING, Mode.HOLDING, Mode.TRACKING}


@pytest.mark.parametrize('law', laws())
@pytest.mark.parametrize('fault', FAULTS)
def test_faults_of_arms_and_drivers(fault, law, programs):
    bench = BesideBench('arm7', law, 500.0, skips=FAULTS[fault][0] is MachineDelays)
    measure(bench, fault)
    bench.beside.compare(programs)
