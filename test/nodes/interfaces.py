# SPDX-License-Identifier: Apache-2.0
"""Interface packages of these tests, built for the ROS 2 of this Python and made importable.

ROS 2 packages such as control_msgs are on no registry of Python. Their definitions are built with
the generators of ROS 2, which takes 25 s of processor time, and kept in a temporary folder.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import site
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

#: Their definitions.
SOURCES = Path(__file__).resolve().parents[1] / 'interfaces'
#: What builds an interface package, by the name of a folder below share/ of ROS 2.
GENERATORS = ('ament_cmake', 'rosidl_default_generators')


def ros_prefixes() -> list[Path]:
    """Folders with a ROS 2: those that are sourced, or that of the wheels of this Python."""
    sourced = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    return [Path(each) for each in sourced if each] or [Path(sys.prefix)]


def why_not_built() -> str:
    """Reason that nothing can be built here, empty without one."""
    missing = [tool for tool in ('cmake', 'cc', 'c++') if shutil.which(tool) is None]
    missing += [name for name in GENERATORS
                if not any((prefix / 'share' / name).is_dir() for prefix in ros_prefixes())]
    return f'interfaces cannot be built without {", ".join(missing)}' if missing else ''


def build(source: Path) -> Path:
    """Build an interface package from its folder, unless that was done; return the prefix."""
    folder = Path(tempfile.gettempdir(), f'robot_dynamics_interfaces_{os.getuid()}')
    prefix = folder / _key(source)
    if (prefix / 'share' / source.name / 'package.xml').is_file():
        return prefix
    made = folder / f'{prefix.name}.{os.getpid()}'
    ros = os.pathsep.join(map(str, ros_prefixes()))
    environment = {**os.environ, 'AMENT_PREFIX_PATH': ros, 'CMAKE_PREFIX_PATH': ros,
                   'PATH': os.pathsep.join((str(Path(sys.prefix, 'bin')), os.environ['PATH'])),
                   'PYTHONPATH': os.pathsep.join((*site.getsitepackages(),
                                                  os.environ.get('PYTHONPATH', '')))}
    for command in (
            ['cmake', '-S', source, '-B', made / 'build', '-DBUILD_TESTING=OFF',
             f'-DCMAKE_INSTALL_PREFIX={prefix}', '-DCMAKE_BUILD_TYPE=Debug',
             f'-DCMAKE_PROJECT_{source.name}_INCLUDE={SOURCES / "wheels.cmake"}',
             f'-DPython3_EXECUTABLE={sys.executable}', f'-DPYTHON_EXECUTABLE={sys.executable}'],
            ['cmake', '--build', made / 'build', '--parallel', '2'],
            ['cmake', '--install', made / 'build']):
        done = subprocess.run([str(word) for word in command], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout[-4000:]
    shutil.rmtree(made)
    return prefix


def environment_with(prefix: Path) -> dict[str, str]:
    """Variables by which a process finds an interface package below a prefix."""
    paths = {'AMENT_PREFIX_PATH': [prefix], 'LD_LIBRARY_PATH': [prefix / 'lib'],
             'PYTHONPATH': _python_folders(prefix)}
    return {name: os.pathsep.join([*map(str, first), *filter(None, [os.environ.get(name)])])
            for name, first in paths.items()}


def use_here(prefix: Path) -> None:
    """Let this process import an interface package below a prefix."""
    sys.path[:0] = map(str, _python_folders(prefix))
    # The loader has read LD_LIBRARY_PATH already. What others need comes first.
    waiting = sorted((prefix / 'lib').glob('*.so'))
    while waiting:
        failed = []
        for library in waiting:
            try:
                ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
            except OSError:
                failed.append(library)
        assert len(failed) < len(waiting), failed
        waiting = failed


def is_installed(name: str) -> bool:
    """Whether this Python finds a package of ROS 2 already."""
    return find_spec(name) is not None


def _python_folders(prefix: Path) -> list[Path]:
    return sorted(folder for name in ('site-packages', 'dist-packages')
                  for folder in prefix.rglob(name))


def _key(source: Path) -> str:
    """Name of an installation: other definitions or another ROS 2 have another one."""
    texts = [path.read_bytes() for path in sorted(source.rglob('*')) if path.is_file()]
    texts.append((SOURCES / 'wheels.cmake').read_bytes())
    try:
        ros = version('ros-rclpy')
    except PackageNotFoundError:
        ros = os.environ.get('ROS_DISTRO', '')
    texts.append(f'{sys.version} {ros}'.encode())
    return f'{source.name}-{hashlib.sha256(b"".join(texts)).hexdigest()[:16]}'
