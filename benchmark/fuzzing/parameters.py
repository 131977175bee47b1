# SPDX-License-Identifier: Apache-2.0
"""Parameters: files for drivers, plants and motions, and values as services carry them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import rclpy
import yaml
from hypothesis import strategies as st
from rclpy.context import Context
from rclpy.signals import SignalHandlerOptions

from fuzzing import mutate_bytes, mutate_data, odd, seeds
from fuzzing.judge import ACCEPTED, promise
from fuzzing.kind import Drawn, Mutated
from fuzzing.usable import check_command
from robot_dynamics.bringup.hardware import NODES, load_hardware
from robot_dynamics.bringup.plants import read_plant
from robot_dynamics.bringup.processes import NodeProcess, parameter_yaml
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes import adaptive_controller
from robot_dynamics.nodes.controller.parameters import make_reported_effort, make_session
from robot_dynamics.nodes.documents.parameters import TABLES
from robot_dynamics.nodes.reference import FileMotion, make_motion, middle
from robot_dynamics.nodes.ros.parameters import Parameter, Type
from robot_dynamics.nodes.ros.runtime import readable_arguments
from robot_dynamics.nodes.simulated_arm import build_plant

_MOTION = {
    'header': {'frame_id': 'base'}, 'joint_names': ['joint1', 'joint2'],
    'points': [{'positions': [0.1 * k, -0.1 * k], 'velocities': [0.1, -0.1],
                'accelerations': [0.0, 0.0], 'time_from_start': {'sec': k, 'nanosec': 500_000_000}}
               for k in range(4)]}


@cache
def robot() -> Robot:
    """Return the arm that parameters are for."""
    return Robot.from_urdf(resolve_robot('planar_2r'))


def defaults(node: str) -> dict[str, Any]:
    """Default values of the parameters of a node."""
    return {row.name: row.default for row in TABLES[node]}


class HardwareFiles(Mutated):
    """Parameter files for the nodes beside a driver."""

    name = 'hardware'
    text = 'parameter files'
    share = 3000

    def mutant(self, random: Random) -> bytes:
        """Return the content of a file."""
        raw = random.choice([raw for raw in seeds.parameter_files()
                             if random.random() < 0.1 or seeds.parsed(raw).keys() <= set(NODES)])
        if random.random() < 0.2:
            return mutate_bytes.mutate(raw, random)
        content = seeds.parsed(raw)
        if random.random() < 0.5:
            node = random.choice(NODES)
            row = random.choice(TABLES[node])
            content = {node: {'ros__parameters': {row.name: odd.value(random)}}}
        return mutate_data.text(mutate_data.mutate(content, random), random)

    def run(self, item: bytes) -> str:
        """Let rcl and the product read it; build what its values describe."""
        path = self.scratch / 'parameters.yaml'
        path.write_bytes(item)
        _let_rcl_read(path)
        for node, given in load_hardware(str(path)).items():
            parameter_yaml(NodeProcess(node, parameters=given))
            rows = {row.name: row for row in TABLES[node]}
            values = {name: rows[name].convert(value) for name, value in given.items()
                      if name in rows}
            build(node, {**defaults(node), **values})
        return ACCEPTED


class PlantFiles(Mutated):
    """Parameter files of the simulated arm."""

    name = 'plants'
    text = 'plant files'
    share = 1000

    def mutant(self, random: Random) -> bytes:
        """Return the content of a file."""
        raw = random.choice([raw for raw in seeds.parameter_files() if b'payload_mass' in raw])
        if random.random() < 0.2:
            return mutate_bytes.mutate(raw, random)
        return mutate_data.text(mutate_data.mutate(seeds.parsed(raw), random), random)

    def run(self, item: bytes) -> str:
        """Read it; build the arm that it describes."""
        path = self.scratch / 'plant.yaml'
        path.write_bytes(item)
        rows = {row.name: row for row in TABLES['simulated_arm']}
        values = {name: rows[name].convert(value) for name, value in read_plant(path).items()
                  if name in rows}
        build('simulated_arm', {**defaults('simulated_arm'), **values})
        return ACCEPTED


class MotionFiles(Mutated):
    """Files of a JointTrajectory for the reference node."""

    name = 'motions'
    text = 'trajectory files'
    share = 1000

    def mutant(self, random: Random) -> bytes:
        """Return the content of a file."""
        if random.random() < 0.2:
            return mutate_bytes.mutate(yaml.safe_dump(_MOTION).encode(), random)
        motion = mutate_data.mutate(_MOTION, random)
        return mutate_data.text(motion, random)

    def run(self, item: bytes) -> str:
        """Read it; follow what is accepted."""
        path = self.scratch / 'motion.yaml'
        path.write_bytes(item)
        check_motion(FileMotion(robot(), path))
        return ACCEPTED


class ParameterValues(Drawn):
    """Values of parameters as a service or a command line carries them."""

    name = 'values'
    text = 'parameter values'
    share = 1000

    def strategy(self) -> st.SearchStrategy[Any]:
        """Return nodes with some of their values, of any type and of the right one."""
        nodes = [(node, rough) for node in TABLES if node != 'recorder'
                 for rough in (False, False, True)]
        return st.sampled_from(nodes).flatmap(lambda choice: st.tuples(
            st.just(choice[0]), st.lists(st.sampled_from(TABLES[choice[0]]).flatmap(
                lambda row: st.tuples(st.just(row.name), _values(row, choice[1]))),
                min_size=1, max_size=4), _choices(choice[0])))

    def run(self, item: tuple[str, list[tuple[str, Any]], dict[str, str]]) -> str:
        """Convert them; build what they describe."""
        node, given, chosen = item
        rows = {row.name: row for row in TABLES[node]}
        values = defaults(node)
        for name, value in (*chosen.items(), *given):
            values[name] = rows[name].convert(value)
            _check_value(rows[name], values[name])
        build(node, values)
        return ACCEPTED


def build(node: str, values: Mapping[str, Any]) -> None:
    """Build what a node builds of its values, and use it a little."""
    arm = robot()
    if node == 'adaptive_controller':
        # The law needs nothing of the node.
        law = adaptive_controller.make_law(arm, values)
        session = make_session(arm, law, values)
        for k in range(1, 4):
            t = k / values['rate']
            check_command(session, session.on_joint_state(
                t, t, list(arm.joint_names), [0.1, 0.2], [0.0, 0.0], [0.0, 0.0]))
    elif node == 'simulated_arm':
        plant = build_plant(arm, values)
        plant.advance(steps=5)
        promise(bool(np.all(np.isfinite(plant.q))), 'the plant is not finite')
    elif node == 'reference' and values['trajectory'] != 'file':
        check_motion(make_motion(arm, values, middle(arm)))
    elif node == 'inverse_dynamics':
        make_reported_effort(arm, Dynamics(arm), values)


def check_motion(motion: Any) -> None:
    """Raise unless a motion is finite and within the limits of the arm."""
    arm = robot()
    q, v, a = np.empty(arm.n), np.empty(arm.n), np.empty(arm.n)
    for t in (0.0, 0.3, 2.0, 1e3, 1e6):
        motion.sample_into(t, q, v, a)
        promise(bool(np.all(np.isfinite((q, v, a)))), f'the motion is not finite at {t:g} s')
        promise(bool(np.all((q >= arm.limits.lower - 1e-3) & (q <= arm.limits.upper + 1e-3))),
                f'the motion leaves its range at {t:g} s')


def _let_rcl_read(path: Path) -> None:
    """Hand a parameter file to rcl, which may refuse it but must survive it."""
    with readable_arguments(['--ros-args', '--params-file', str(path)]) as arguments:
        context = Context()
        try:
            rclpy.init(args=arguments, context=context,
                       signal_handler_options=SignalHandlerOptions.NO)
        except RuntimeError:
            return
        rclpy.shutdown(context=context)


def _choices(node: str) -> st.SearchStrategy[dict[str, str]]:
    """Parameters that decide which other values matter."""
    return st.fixed_dictionaries({row.name: st.sampled_from((row.default, *row.choices))
                                  for row in TABLES[node]
                                  if row.choices and isinstance(row.default, str)})


def _values(row: Parameter, rough: bool) -> st.SearchStrategy[Any]:
    """Return values of a row: of its type and often at its bounds, or any."""
    numbers = st.floats() | st.integers(-2**63, 2**63 - 1)
    if row.low is not None:
        bounded = st.floats(row.low, row.high) | st.sampled_from((row.low, row.high))
        numbers = bounded if row.type != Type.INTEGER else st.integers(int(row.low), int(row.high))
    right: dict[Any, st.SearchStrategy[Any]] = {
        Type.BOOL: st.booleans(), Type.INTEGER: numbers, Type.DOUBLE: numbers,
        Type.STRING: st.sampled_from(row.choices) if row.choices else st.text(max_size=20),
        Type.DOUBLE_ARRAY: st.lists(numbers, min_size=1, max_size=2),
        Type.STRING_ARRAY: st.lists(st.sampled_from(robot().joint_names), max_size=3)}
    if not rough:
        return right[row.type]
    anything = st.none() | st.booleans() | st.integers(-2**63, 2**63 - 1) | st.floats() | st.text()
    other = anything | st.lists(anything, max_size=5) | st.binary(max_size=5) \
        | st.sampled_from(odd.NAMES + odd.NUMBERS) | st.sampled_from(_TEXTS)
    return right[row.type] | other


#: Texts that a list of numbers may be given as.
_TEXTS = ('[1, 2.5]', '[.nan]', '[2001-99-99]', '[' * 500, '[1e400]', f'[{"9" * 400}]',
          '[!!int x]', '[0x' + 'f' * 400 + ']', '&a [*a]', '[[1]]', '{a: 1}', '[1, 2',
          '!!python/name:os.system', '[' + '1,' * 50_000 + ']')


def _check_value(row: Parameter, value: Any) -> None:
    """Raise unless a converted value is of the type of its row, finite and in its range."""
    for element in value if isinstance(value, tuple) else (value,):
        if isinstance(element, float):
            promise(math.isfinite(element), f'{row.name} is not finite')
        if row.low is not None:
            promise(row.low <= element <= row.high, f'{row.name} is out of its range')
