# SPDX-License-Identifier: Apache-2.0
"""From a recording to what a person looks at: page, picture and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from robot_dynamics.model.robot import Robot
from robot_dynamics.report.figure import draw_figure
from robot_dynamics.report.files import write_file
from robot_dynamics.report.page import Story, render_page
from robot_dynamics.report.recording import read_recording
from robot_dynamics.report.summary import Summary, summarize


@dataclass(frozen=True)
class Report:
    """Where the report is, and what it says.

    Parameters
    ----------
    page : Path
        The HTML page.
    picture : Path or None
        The PNG picture, where one was drawn.
    summary : Summary
        The numbers in them.
    controller : str
        Whose they are.
    """

    page: Path
    picture: Path | None
    summary: Summary
    controller: str


def build_report(recording: str | Path, folder: str | Path, *, robot: Robot | None = None,
                 story: Story | None = None, period: float | None = None,
                 draw: bool = True) -> Report:
    """Read a recording and write ``report.html`` and ``report.png``.

    Parameters
    ----------
    recording : str or Path
        Folder of a rosbag2 recording, or an MCAP file.
    folder : str or Path
        Where to write; made when missing.
    robot : Robot, optional
        The arm; read from the recorded ``robot_description`` by default.
    story : Story, optional
        What only the one who started the run knows.
    period : float, optional
        Period of the reference in s: errors are then compared over one period each.
    draw : bool
        Whether to draw the picture, which takes longer than all the rest.

    Raises
    ------
    RecordingError
        When the recording cannot be read or is too short.
    ModelError
        When the robot cannot be read, or floats.
    """
    run = read_recording(recording)
    if robot is None and run.description is not None:
        # As bytes it is always content: a recording names no file to be read.
        robot = Robot.from_urdf(run.description.encode())
    if robot is not None:
        robot.require_single_coordinates('a report')
    summary = summarize(run, robot, period=period)
    files = {'report.html': render_page(run, summary, robot, story).encode()}
    if draw:
        files['report.png'] = draw_figure(run, summary, robot)
    folder = Path(folder)
    for name, content in files.items():
        write_file(folder, name, content)
    return Report(folder / 'report.html', folder / 'report.png' if draw else None, summary,
                  run.controller)
