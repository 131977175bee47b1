# SPDX-License-Identifier: Apache-2.0
"""A node of ours takes no name that rclpy keeps something of its own under."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import rclpy
from rclpy.context import Context
from rclpy.lifecycle import LifecycleNode

import robot_dynamics.nodes

FOLDER = Path(robot_dynamics.nodes.__file__).parent
ROOTS = {'NodeParts', 'PlainNode', 'ManagedNode'}


def node_classes(sources) -> dict[str, ast.ClassDef]:
    """Return the classes that are nodes, by name: those made of one of the roots."""
    classes = {node.name: node for source in sources for node in ast.walk(ast.parse(source))
               if isinstance(node, ast.ClassDef)}

    def is_node(name: str) -> bool:
        return name in ROOTS or (name in classes and any(
            is_node(base.id) for base in classes[name].bases if isinstance(base, ast.Name)))

    return {name: found for name, found in classes.items() if is_node(name)}


def names_taken(found: ast.ClassDef) -> set[str]:
    """Return what a class sets on itself, and its private methods."""
    names = {target.attr for target in ast.walk(found)
             if isinstance(target, ast.Attribute) and isinstance(target.ctx, ast.Store)
             and isinstance(target.value, ast.Name) and target.value.id == 'self'}
    for item in found.body:
        if isinstance(item, ast.FunctionDef) and not item.name.startswith('__'):
            names |= {item.name} if item.name.startswith('_') else set()
        if isinstance(item, ast.Assign):
            names |= {target.id for target in item.targets}
        if isinstance(item, ast.AnnAssign):
            names.add(item.target.id)
    return names


@pytest.fixture(scope='module')
def kept():
    """What rclpy keeps: the variables of a managed node and its private methods."""
    context = Context()
    rclpy.init(args=[], context=context)
    node = LifecycleNode('kept', context=context)
    yield {name for name in {*vars(node), *dir(LifecycleNode)} if not name.startswith('__')
           and (name in vars(node) or name.startswith('_'))}
    node.destroy_node()
    context.try_shutdown()


def test_no_node_takes_them(kept):
    classes = node_classes(path.read_text(encoding='utf-8') for path in FOLDER.rglob('*.py'))
    assert {'AdaptiveControllerNode', 'ReferenceNode', 'EffortControllerNode'} <= classes.keys()
    assert {name: names_taken(found) & kept for name, found in classes.items()
            if names_taken(found) & kept} == {}


@pytest.mark.parametrize('body', [
    'def start(self):\n        self._publishers = {}', '_timers: list = []', '_logger = None',
    'def _validate_topic_or_service_name(self):\n        pass'])
def test_those_that_do_are_found(kept, body):
    classes = node_classes([f'class Node(PlainNode):\n    {body}\n'])
    assert names_taken(classes['Node']) & kept
