# SPDX-License-Identifier: Apache-2.0
"""Writes the package of a controller: readable C for one robot and one law."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

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
#: Templates of the plugin, and where they go; `@NAME@` is the name of the package and `@CLASS@`
#: that of its class.
PLUGIN_FILES: dict[str, str] = {}
#: Equations that the session needs.
_KERNELS = ('gravity', 'mass_matrix', 'inverse_dynamics')


def core_files(session: ControlSession) -> dict[str, str]:
    """The C of a session and its law, by name of the file; it needs a C99 compiler and libm."""
    controller = session.controller
    law = controller.controller if isinstance(controller, HardwareGravityController) \
        else controller
    row = next((row for row in LAWS.values() if type(law) is row.kind), None)
    if row is None:
        raise ParameterError(f'cannot be written as C, {type(law).__name__}', subject='law',
                             remedy='choose one of ' + ', '.join(LAWS))
    texts = {file: template(file) for file in SESSION_FILES}
    texts |= {Path(file).name: template(f'laws/{file}') for file in row.files}
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
    class_name = ''.join(part.capitalize() for part in name.split('_'))
    places: dict[Path, dict[str, bytes]] = {}
    for file, text in core_files(session).items():
        place = Path('include', name) if file.endswith('.h') else Path('src')
        places.setdefault(place, {})[file] = text.encode()
    for file, target in PLUGIN_FILES.items():
        path = Path(target.replace('@NAME@', name))
        places.setdefault(path.parent, {})[path.name] = template(file).replace(
            '@NAME@', name).replace('@CLASS@', class_name).encode()
    for place, texts in places.items():
        write_files(folder / place, texts)


def template(name: str) -> str:
    """Text of a template."""
    return files(__package__).joinpath('templates', name).read_text(encoding='utf-8')
