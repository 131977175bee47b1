# SPDX-License-Identifier: Apache-2.0
"""The rooms of the package: what each may import, and what every module has."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / 'robot_dynamics'
MODULES = sorted(PACKAGE.rglob('*.py'))

#: Each room may import itself and what stands to its left.
ROOMS = ('lazy', 'errors', 'files', 'model', 'recordings', 'closed_form', 'dynamics', 'elastic',
         'control', 'real_time', 'identification', 'simulation', 'nodes', 'report', 'bringup')
ROS = ('rclpy', 'rcl_interfaces', 'sensor_msgs', 'std_msgs', 'trajectory_msgs', 'std_srvs',
       'diagnostic_msgs', 'lifecycle_msgs', 'rosgraph_msgs', 'builtin_interfaces',
       'geometry_msgs', 'controller_manager_msgs')

#: Modules of one folder, at most, and the share of modules with exactly one importer.
MOST_MODULES, SINGLE_IMPORTERS = 20, 0.15

IMPORT_WITHOUT_ROS = """
import importlib, importlib.abc, pkgutil, sys

class Block(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition('.')[0] in {blocked!r}:
            raise ImportError('blocked: ' + name)

sys.meta_path.insert(0, Block())
import robot_dynamics
count = 0
for module in pkgutil.walk_packages(robot_dynamics.__path__, 'robot_dynamics.'):
    if module.name.split('.')[1] != 'nodes' and not module.name.endswith('.__main__'):
        importlib.import_module(module.name)
        count += 1
print(count)
"""


def room_of(path):
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix('.py')


def imported_names(path):
    """Yield every module that a file imports, also inside functions."""
    package = ('robot_dynamics', *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[:len(package) + 1 - node.level] if node.level else ()
            name = '.'.join([*base, *filter(None, [node.module])])
            yield name
            yield from (f'{name}.{alias.name}' for alias in node.names)


def module_id(path):
    return str(path.relative_to(PACKAGE))


def test_there_are_modules_in_every_room():
    assert {room_of(path) for path in MODULES} - {'__init__'} == set(ROOMS)


@pytest.mark.parametrize('path', MODULES, ids=module_id)
def test_imports_go_to_the_left(path):
    room = room_of(path)
    allowed = ROOMS if room == '__init__' else ROOMS[:ROOMS.index(room) + 1]
    for name in imported_names(path):
        parts = name.split('.')
        if parts[0] == 'robot_dynamics' and len(parts) > 1 and parts[1] in ROOMS:
            assert parts[1] in allowed, f'{module_id(path)} imports {name}'


@pytest.mark.parametrize('path', [path for path in MODULES if room_of(path) != 'nodes'],
                         ids=module_id)
def test_only_nodes_import_ros(path):
    for name in imported_names(path):
        assert name.split('.')[0] not in ROS, f'{module_id(path)} imports {name}'


def test_everything_but_nodes_imports_without_ros(tmp_path):
    script = IMPORT_WITHOUT_ROS.format(blocked=(*ROS, 'launch', 'launch_ros'))
    done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True,
                          cwd=PACKAGE.parent, timeout=120)
    assert done.returncode == 0, done.stderr
    expected = sum(room_of(path) != 'nodes' and path.name != '__main__.py' for path in MODULES) - 1
    assert int(done.stdout.split()[-1]) == expected


@pytest.mark.parametrize('path', MODULES, ids=module_id)
def test_every_module_has_a_licence_and_a_docstring(path):
    text = path.read_text(encoding='utf-8')
    assert text.splitlines()[0] == '# SPDX-License-Identifier: Apache-2.0'
    assert ast.get_docstring(ast.parse(text))


@cache
def package_graph():
    """The modules of the package that each module imports, type-only and lazy imports too."""
    names = {'.'.join(('robot_dynamics', *path.relative_to(PACKAGE).with_suffix('').parts))
             .removesuffix('.__init__'): path for path in MODULES}
    graph = {}
    for name, path in names.items():
        imported = set()
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(node, ast.ImportFrom):
                # A module of that name, or else what the module before it defines.
                imported |= {f'{node.module}.{alias.name}'
                             if f'{node.module}.{alias.name}' in names else node.module
                             for alias in node.names}
            elif isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
        graph[name] = (imported & set(names)) - {name}
    return graph


def circles_of(graph):
    """Groups of nodes that reach each other."""
    reached = {}
    for start in graph:
        new, seen = {start}, set()
        while new:
            new = {target for node in new for target in graph[node]} - seen
            seen |= new
        reached[start] = seen
    return {frozenset(other for other in reached[node] if node in reached[other])
            for node in graph if node in reached[node]}


def test_imports_make_no_circle():
    circles = sorted(map(sorted, circles_of(package_graph())))
    assert not circles, '\n'.join(map(' '.join, circles))


def test_rooms_inside_rooms_import_one_way():
    between = {}
    for name, targets in package_graph().items():
        for target in targets:
            own, other = name.split('.')[1:-1], target.split('.')[1:-1]
            if len(own) > 1 and len(other) > 1 and own[0] == other[0] and own[1] != other[1]:
                between.setdefault('.'.join(own[:2]), set()).add('.'.join(other[:2]))
                between.setdefault('.'.join(other[:2]), set())
    circles = sorted(map(sorted, circles_of(between)))
    assert not circles, '\n'.join(map(' '.join, circles))


@pytest.mark.parametrize('folder', sorted({path.parent for path in MODULES}), ids=module_id)
def test_a_folder_is_read_at_a_glance(folder):
    modules = [path for path in folder.glob('*.py') if path.name != '__init__.py']
    assert len(modules) <= MOST_MODULES


def test_few_modules_have_a_single_importer():
    graph = package_graph()
    modules = [name for name in graph
               if not PACKAGE.joinpath(*name.split('.')[1:], '__init__.py').exists()]
    single = [name for name in modules if sum(name in targets for targets in graph.values()) == 1]
    assert len(single) <= SINGLE_IMPORTERS * len(modules), ' '.join(single)
