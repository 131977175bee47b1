# SPDX-License-Identifier: Apache-2.0
"""The controller of docs/add_a_controller.md: one file and one row are enough."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from robot_dynamics.bringup.ros_environment import private_domain
from robot_dynamics.nodes.controllers import CONTROLLERS

ROOT = Path(__file__).resolve().parents[2]
REGISTRY = ROOT / 'robot_dynamics' / 'nodes' / 'controllers.py'
BLOCKS = re.findall(r'```python\n(.*?)```', (ROOT / 'docs' / 'add_a_controller.md').read_text(),
                    re.DOTALL)
NAME, NODE = 'inertia_pd', 'inertia_pd_controller'
#: Line of the registry before which the row is inserted.
MARKER = "    Controller('none', "

#: Adds the file to the package and the row to the registry, in every Python that starts.
SITE = """
import sys, types
from pathlib import Path
import robot_dynamics.nodes
robot_dynamics.nodes.__path__.append({folder!r})
module = types.ModuleType('robot_dynamics.nodes.controllers')
module.__file__ = {registry!r}
sys.modules[module.__name__] = module
text = Path({registry!r}).read_text()
assert text.count({marker!r}) == 1
text = text.replace({marker!r}, {row!r} + {marker!r})
exec(compile(text, {registry!r}, 'exec'), module.__dict__)
"""

LAUNCH = """
import sys
from launch import LaunchService
from launch.launch_description_sources import get_launch_description_from_python_launch_file
from launch import LaunchDescription
from launch.actions import SetLaunchConfiguration
service = LaunchService()
service.include_launch_description(LaunchDescription([
    *(SetLaunchConfiguration(*pair.split(':=')) for pair in sys.argv[2:]),
    *get_launch_description_from_python_launch_file(sys.argv[1]).entities]))
sys.exit(service.run())
"""


@pytest.fixture(scope='module')
def environment(tmp_path_factory):
    """Variables of a Python that has the file and the row."""
    nodes, site = (tmp_path_factory.mktemp(name) for name in ('nodes', 'site'))
    module, row = BLOCKS
    (nodes / f'{NODE}.py').write_text(module)
    (site / 'sitecustomize.py').write_text(
        SITE.format(folder=str(nodes), registry=str(REGISTRY), row=row,
                    marker=MARKER))
    paths = [str(ROOT), str(site), *filter(None, [os.environ.get('PYTHONPATH')])]
    return {**os.environ, 'PYTHONPATH': os.pathsep.join(paths), 'PYTHONUNBUFFERED': '1'}


def run(environment, *arguments, timeout=120):
    return subprocess.run([sys.executable, *arguments], env=environment, cwd=ROOT,
                          capture_output=True, text=True, timeout=timeout, check=False)


def command(environment, *arguments):
    return run(environment, '-m', 'robot_dynamics.bringup.cli', *arguments)


def stop(process):
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=30)[0]
    finally:
        process.kill()


def wait_for(log, text, process, seconds=240.0):
    """Wait until a process has written a text; cold kernels are compiled before."""
    end = time.monotonic() + seconds
    while text not in log.read_text():
        assert process.poll() is None and time.monotonic() < end, log.read_text()
        time.sleep(0.1)


@pytest.mark.slow
def test_the_row_reaches_what_lists_controllers(environment):
    assert NAME not in CONTROLLERS
    for arguments in (['up', '--help'], ['switch', '--help']):
        assert re.search(rf'\b{NAME}\b', command(environment, *arguments).stdout)
    code = ('from robot_dynamics.bringup.hardware import hardware_processes\n'
            'from robot_dynamics.bringup.system import System\n'
            'from robot_dynamics.nodes.documents import policy, views\n'
            'system = System("planar_2r", standby="all", plant="none", controller="none")\n'
            'print(*(process.node for process in hardware_processes(system, "ur")))\n'
            'print(*policy.documents().values())\n'
            'print(*views.documents())\n')
    done = run(environment, '-c', code)
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert NODE in first.split()
    assert f'/robot_dynamics/{NODE}' in ''.join(rest) and f'{NODE}.rviz' in rest[-1]


def test_the_row_is_an_entry_point(tmp_path):
    registry = tmp_path / 'robot_dynamics' / 'nodes' / 'controllers.py'
    registry.parent.mkdir(parents=True)
    registry.write_text(REGISTRY.read_text().replace(MARKER, BLOCKS[1] + MARKER))
    code = ('import runpy, setuptools\n'
            'setuptools.setup = lambda **options: print(*options["entry_points"]'
            '["console_scripts"], sep="\\n")\n'
            f'runpy.run_path({str(ROOT / "setup.py")!r})\n')
    done = subprocess.run([sys.executable, '-c', code], cwd=tmp_path, text=True, check=True,
                          capture_output=True)
    assert f'{NODE} = robot_dynamics.nodes.{NODE}:main' in done.stdout.splitlines()


def test_documents_name_every_controller():
    guide = (ROOT / 'docs' / 'controllers.md').read_text()
    readme = (ROOT / 'README.md').read_text()
    for row in CONTROLLERS.values():
        assert f'`{row.name}`' in guide
        assert f'`{row.node}`' in guide + '``' and f'`{row.node}`' in readme + '``'


def test_no_other_file_lists_controllers():
    """Two controllers in one file of code would be a list to keep up."""
    own = {name: row.node for row in CONTROLLERS.values() for name in (row.name, row.node)
           if '_' in name}
    code = [*(ROOT / 'robot_dynamics').rglob('*.py'), *(ROOT / 'launch').glob('*.py'),
            ROOT / 'setup.py']
    for path in set(code) - {REGISTRY}:
        words = set(re.findall(r"'(\w+)'", path.read_text()))
        named = {own[word] for word in words & set(own)}
        assert len(named) <= 1, f'{path.name}: {sorted(named)}'


@pytest.mark.ros
@pytest.mark.timeout(500)
def test_it_runs_is_checked_and_switched(environment, tmp_path):
    pytest.importorskip('rclpy', reason='needs ROS 2')
    domain = private_domain()
    environment = {**environment, 'ROS_DOMAIN_ID': str(domain),
                   'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    path, plant = tmp_path / 'log', tmp_path / 'plant.yaml'
    # In lock step, on a busy machine, too.
    plant.write_text('/**: {ros__parameters: {wait_for_commands: 1.5, hold_time: 0.5}}\n')
    with path.open('w') as log:
        up = subprocess.Popen(
            [sys.executable, '-m', 'robot_dynamics.bringup.cli', 'up', '--robot', 'planar_2r',
             '--controller', NAME, '--standby', 'pd_gravity', '--rate', '100',
             '--plant', str(plant), '--use-sim-time'],
            env=environment, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_for(path, f'[{NODE}]: tracking', up)
        report = command(environment, 'doctor', '--json', '--seconds', '3')
        results = [result for section in json.loads(report.stdout)['sections']
                   for result in section['remarks']]
        assert any(result['subject'] == f'/{NODE}' and result['level'] == 'ok'
                   and 'tracking' in result['message'] for result in results), report.stdout
        for name in ('pd_gravity', NAME):
            done = command(environment, 'switch', name)
            assert done.returncode == 0, done.stdout + done.stderr
    finally:
        stop(up)
    assert 'Traceback' not in path.read_text()


@pytest.mark.ros
@pytest.mark.timeout(500)
def test_it_runs_from_a_launch_file(environment, tmp_path):
    pytest.importorskip('launch_ros', reason='launch_ros comes with ROS 2 only')
    environment = {**environment, 'ROS_DOMAIN_ID': str(private_domain()),
                   'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    path = tmp_path / 'log'
    with path.open('w') as log:
        launched = subprocess.Popen(
            [sys.executable, '-c', LAUNCH, 'launch/simulation.launch.py', 'robot:=planar_2r',
             f'controller:={NAME}', 'rate:=100.0'],
            env=environment, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_for(path, f'[{NODE}]: tracking', launched)
    finally:
        stop(launched)
