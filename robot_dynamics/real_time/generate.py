# SPDX-License-Identifier: Apache-2.0
"""Writes the package of a controller: readable C for one robot and one law."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from robot_dynamics.control.feedback.protocol import HardwareGravityController
from robot_dynamics.control.session.session import ControlSession
from robot_dynamics.errors import ParameterError
from robot_dynamics.files import write_files
from robot_dynamics.real_time.constants import constants_files, session_constants
from robot_dynamics.real_time.kernels import write_robot
from robot_dynamics.real_time.laws import LAWS

#: Templates of every controller.
SESSION_FILES = ('controller.h', 'session.h', 'session.c', 'law.h', 'modes.h', 'modes.c',
                 'joint_state.c', 'start_gate.c', 'limits.c', 'safe_command.c', 'supervisor.c',
                 'trajectory.c', 'trajectory_limits.c', 'stop_motion.c')
#: Templates of the plugin, and the folder where they go. Words between two `@` in them are
#: replaced, see `_words`.
PLUGIN_FILES = {
    **dict.fromkeys(('CMakeLists.txt', 'package.xml', 'plugin.xml', 'controllers.yaml',
                     'README.md'), ''),
    **dict.fromkeys(('plugin.cpp', 'references.hpp', 'follow_joint_trajectory.hpp',
                     'goal_tolerances.hpp', 'status.hpp', 'messages.hpp', 'telemetry.hpp',
                     'estimates_file.hpp', 'ros_versions.hpp'), 'src'),
}
#: Equations that the session needs.
_KERNELS = ('gravity', 'mass_matrix', 'inverse_dynamics')


def core_files(session: ControlSession) -> dict[str, str]:
    """The C of a session and its law, by name of the file; it needs a C99 compiler and libm."""
    law, row = _law(session), LAWS[_law_name(session)]
    texts = {file: template(file) for file in SESSION_FILES}
    texts |= {Path(file).name: template(f'laws/{file}') for file in (row.source, *row.files)}
    texts['robot.h'], texts['robot.c'] = write_robot(
        session.robot, dict.fromkeys((*_KERNELS, *row.kernels)), getattr(law, 'link', ''))
    return texts | constants_files([*session_constants(session), *row.constants(law)])


def write_package(folder: Path, name: str, session: ControlSession) -> None:
    """Write the package of a controller into a folder.

    Parameters
    ----------
    folder : Path
        The folder; it is created.
    name : str
        Name of the package and of the controller.
    session : ControlSession
        The session in Python, with its law, as it would begin.
    """
    places: dict[Path, dict[str, bytes]] = {}
    for file, text in core_files(session).items():
        place = Path('include', name) if file.endswith('.h') else Path('src')
        places.setdefault(place, {})[file] = text.encode()
    words = _words(name, session)
    for file, folder_name in PLUGIN_FILES.items():
        text = template(file)
        for word, value in words.items():
            text = text.replace(f'@{word}@', value)
        places.setdefault(Path(folder_name), {})[file] = text.encode()
    places[Path('src')]['names.hpp'] = _names(session).encode()
    for place, texts in places.items():
        write_files(folder / place, texts)


def _law(session: ControlSession) -> Any:
    """Law of a session, without the wrapper for hardware that compensates gravity."""
    controller = session.controller
    return controller.controller if isinstance(controller, HardwareGravityController) \
        else controller


def _law_name(session: ControlSession) -> str:
    """Name of the law of a session in `LAWS`; raises a ParameterError where it is not there."""
    law = _law(session)
    for name, row in LAWS.items():
        if type(law) is row.kind:
            return name
    raise ParameterError(f'cannot be written as C, {type(law).__name__}', subject='law',
                         remedy='choose one of ' + ', '.join(LAWS))


def _words(name: str, session: ControlSession) -> dict[str, str]:
    """Words of the templates of a package."""
    return {'NAME': name, 'CLASS': ''.join(part.capitalize() for part in name.split('_')),
            'LAW': _law_name(session), 'ROBOT': session.robot.name,
            'RATE': f'{1.0 / session.settings.period:.0f}',
            'JOINTS': ', '.join(session.robot.joint_names)}


def _names(session: ControlSession) -> str:
    """Header of the plugin with the names of joints and parameters."""
    law, robot = _law(session), session.robot

    def texts(name: str, values: Sequence[str]) -> str:
        lines = ',\n  '.join(map(json.dumps, values))
        return f'constexpr const char * {name}[] = {{\n  {lines}}};'

    lines = ['// SPDX-License-Identifier: Apache-2.0', '//',
             '// Names of the arm, of its joints and of its parameters.', '#pragma once', '',
             'namespace RD_PACKAGE', '{',
             f'constexpr const char * rd_robot_name = {json.dumps(robot.name)};',
             f'constexpr const char * rd_base_name = {json.dumps(robot.base_name)};',
             texts('rd_joint_names', robot.joint_names)]
    if estimates := getattr(law, 'estimate_names', ()):
        lines.append(texts('rd_estimate_names', estimates))
    return '\n'.join([*lines, '}  // namespace RD_PACKAGE', ''])


def template(name: str) -> str:
    """Text of a template."""
    return files(__package__).joinpath('templates', name).read_text(encoding='utf-8')
