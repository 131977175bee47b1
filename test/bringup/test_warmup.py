# SPDX-License-Identifier: Apache-2.0
"""What is compiled before nodes start: with a cache that holds that much, they compile nothing."""

import shutil
import time

import pytest

from robot_dynamics.bringup.plants import NO_PLANT
from robot_dynamics.bringup.processes import child_environment
from robot_dynamics.bringup.runner import ProcessRunner
from robot_dynamics.bringup.system import SWITCHABLE, System
from robot_dynamics.bringup.warmup import every_node, kernels_of, warm_up
from robot_dynamics.dynamics.warmup import kernels_ahead
from robot_dynamics.nodes.controllers import CONTROLLER_NODES, CONTROLLERS


@pytest.fixture
def cache(tmp_path):
    """Make a cache of what was compiled for some processes, and of nothing else."""
    def make(processes):
        warm_up(processes)
        kernels = {*kernels_ahead(), *kernels_of(processes)}
        place = tmp_path / 'robot_dynamics'
        for directory in {kernel.directory for kernel in kernels}:
            shutil.copytree(directory, place / directory.name,
                            ignore=shutil.ignore_patterns('*.compiled', 'lock'))
        for kernel in kernels:
            (place / kernel.directory.name / f'{kernel.name}.compiled').touch()
        return tmp_path
    return make


@pytest.mark.slow
def test_nodes_find_all_that_they_ask_for(cache):
    pytest.importorskip('rclpy', reason='ROS 2 (rclpy) is not installed')
    # An elastic arm with its controller, and every other controller waiting for an arm.
    alone = {'robot': 'planar_2r', 'inverse_dynamics': False, 'reference': 'none'}
    systems = [System(controller='elastic_pd', rate=50.0, **alone),
               *(System(controller=name, plant=NO_PLANT, namespace=name, **alone)
                 for name in SWITCHABLE if not CONTROLLERS[name].is_elastic)]
    processes = [process for system in systems for process in system.processes()]
    waiting = set(CONTROLLER_NODES)
    lines, found = [], set()

    def on_line(line):
        lines.append(f'{line.process.node}: {line.text}')
        # Equations are compiled, and the law was asked once.
        if 'not activated yet' in line.text:
            found.add(line.process.node)

    environment = {**child_environment(), 'NUMBA_CACHE_DIR': str(cache(processes))}
    with ProcessRunner(processes, on_line=on_line, environment=environment) as runner:
        end = time.monotonic() + 120.0
        while found != waiting and time.monotonic() < end:
            runner.poll(0.1)
    assert found == waiting, '\n'.join(lines)
    assert not [line for line in lines if 'compiling' in line]


def test_what_a_system_is_not_made_of_is_not_compiled():
    assert kernels_of(System(robot='planar_2r').processes()) == ()
    names = [kernel.name for kernel in kernels_of(System(
        robot='planar_2r', controller='elastic_pd').processes())]
    assert 'motion.advance' in names and len(set(names)) == len(names)
    assert {*names, 'guiding.guide', 'rules.riccati_gain_of',
            'effort_derivatives.inverse_dynamics_derivatives'} <= {
        kernel.name for kernel in kernels_of(every_node())}
