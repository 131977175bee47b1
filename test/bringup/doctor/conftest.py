# SPDX-License-Identifier: Apache-2.0
"""Arms and running systems for the doctor to look at."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.nodes.observing.graph_snapshot import (
    JOINT_STATE_TYPE,
    Endpoint,
    GraphSnapshot,
    NodeInfo,
    StateSample,
    StatusSeen,
    Topic,
)

#: Some time in 2026. ns.
NOW = 1_790_000_000_000_000_000
ARRAY = 'std_msgs/msg/Float64MultiArray'
COMMANDS = '/effort_controller/commands'


@pytest.fixture(scope='session')
def arm():
    """The 7-joint arm and the text that describes it."""
    return load_description('arm7')


@pytest.fixture(scope='session')
def robot(arm):
    return arm.robot


@pytest.fixture(scope='session')
def stream(robot):
    """Make joint states of a slowly moving arm: what a driver would publish."""
    return partial(_stream, robot)


def _stream(robot, count=200, rate=500.0, *, age=0.0005, effort=lambda gravity: gravity,
            origin=NOW, change=lambda index, sample: sample):
    time = np.arange(count) / rate
    middle = 0.5 * (robot.limits.lower + robot.limits.upper)
    q = middle + 0.3 * np.sin(3.0 * time)[:, None]
    v = np.repeat(0.9 * np.cos(3.0 * time)[:, None], robot.n, axis=1)
    tau = effort(Dynamics(robot).gravity_torque(q))
    samples = []
    for k in range(count):
        received = origin + round(1e9 * time[k])
        stamp = received - round(1e9 * age)
        samples.append(change(k, StateSample(
            received, received - 100_000, stamp, robot.joint_names, tuple(q[k]), tuple(v[k]),
            tuple(tau[k]))))
    return tuple(sample for sample in samples if sample is not None)


@pytest.fixture(scope='session')
def controller():
    """A controller that tracks, as its node would look."""
    name = '/adaptive_controller'
    return NodeInfo(
        name, {'stop_with_parent': True, 'use_sim_time': False, 'rate': 500.0,
               'effort_kind': 'torque', 'state_publishers': 1, 'description_timeout': 10.0,
               'robot': '', 'robot_description': ''}, 'active',
        publishes={COMMANDS: (ARRAY,), f'{name}/mode': ('std_msgs/msg/String',),
                   f'{name}/tracking_error': (JOINT_STATE_TYPE,),
                   f'{name}/parameter_estimate': (ARRAY,)},
        subscribes={'/joint_states': (JOINT_STATE_TYPE,)})


@pytest.fixture(scope='session')
def healthy(arm, stream, controller):
    """A system with which nothing is wrong."""
    driver = NodeInfo('/driver', {'use_sim_time': False})
    states = Topic('/joint_states', (Endpoint('/driver', JOINT_STATE_TYPE),),
                   (Endpoint(controller.name, JOINT_STATE_TYPE, reliable=False),))
    description = Topic('/robot_description',
                        (Endpoint('/driver', 'std_msgs/msg/String', latched=True),))
    commands = Topic(COMMANDS, (Endpoint(controller.name, ARRAY),),
                     (Endpoint('/driver', ARRAY),))
    return GraphSnapshot(
        seconds=4.0, middleware='rmw_fastrtps_cpp', nodes=(controller, driver),
        topics={topic.name: topic for topic in (states, description, commands)},
        states=stream(), descriptions=(arm.urdf,), statuses=(
            StatusSeen('adaptive_controller: state', 0, 'complete states',
                       {'mode': 'tracking', 'reason': 'the arm follows'}),
            StatusSeen('adaptive_controller: loop', 0, 'ok',
                       {'rate [Hz]': '500', 'worst period [ms]': '2.4',
                        'garbage collector': 'off'})))


@pytest.fixture(scope='session')
def with_parameters():
    """Change parameters of the first controller of a system."""
    def change(graph, **parameters):
        node = graph.controllers[0]
        changed = replace(node, parameters={**node.parameters, **parameters})
        return replace(graph, nodes=tuple(changed if other is node else other
                                          for other in graph.nodes))
    return change


@pytest.fixture(scope='session')
def with_topic():
    """Change the users of a topic of a system."""
    def change(graph, name, **users):
        return replace(graph, topics={**graph.topics,
                                      name: replace(graph.topic(name), **users)})
    return change


@pytest.fixture(scope='session')
def worst():
    """Return the results of the worst level among some, which has to be the only bad one."""
    def pick(results, level):
        found = [result for result in results if result.level >= Level.WARNING]
        assert [result.level for result in found] == [level], results
        return found[0]
    return pick


@pytest.fixture(scope='session')
def is_well():
    """Whether nothing has to be done."""
    def check(results):
        assert all(result.level <= Level.NOTE for result in results), results
        return True
    return check
