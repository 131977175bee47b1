# SPDX-License-Identifier: Apache-2.0
"""The report of a run: page, picture and numbers from a recording."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from robot_dynamics.files import require_replaceable, write_files
from robot_dynamics.model.robot import Robot
from robot_dynamics.report import page
from robot_dynamics.report.recording import Recording, read_recording
from robot_dynamics.report.run_charts import draw_figure, run_charts
from robot_dynamics.report.summary import Summary, interrupted, latency, ratio, summarize, verdict
from robot_dynamics.report.words import figures

#: Names of the files.
PAGE, PICTURE = 'report.html', 'report.png'


@dataclass(frozen=True)
class Story:
    """Facts about a run that are not in its recording.

    Parameters
    ----------
    text : str
        Description of the run, in a sentence or two.
    facts : sequence of (str, str)
        Configuration of the run, row by row.
    truth : mapping of str to float
        True values of estimated parameters, as far as they are known.
    messages : sequence of str
        Warnings and errors of the nodes.
    failure : str
        Why the run ended early; empty for a run that did not.

    Examples
    --------
    >>> from robot_dynamics.report import Story
    >>> Story('The payload was added after 10 s.', [('payload', '1.5 kg')]).facts
    [('payload', '1.5 kg')]
    """

    text: str = ''
    facts: Sequence[tuple[str, str]] = ()
    truth: Mapping[str, float] = field(default_factory=dict)
    messages: Sequence[str] = ()
    failure: str = ''


@dataclass(frozen=True)
class Report:
    """The HTML page of a run, its PNG picture if drawn, and the numbers in them."""

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
        Folder of the report; created if missing.
    robot : Robot, optional
        The arm; read from the recorded ``robot_description`` by default.
    story : Story, optional
        Facts that are not in the recording.
    period : float, optional
        Period of the reference, s: errors are then compared over one period each.
    draw : bool
        Whether to draw the picture, which takes longer than everything else.

    Raises
    ------
    RecordingError
        When the recording cannot be read or is too short.
    FileError
        When a file cannot be written, or the user's is in its place.
    ModelError
        If the robot cannot be read, or has a floating base.

    See Also
    --------
    robot_dynamics.report.read_recording : the recording as arrays.
    robot_dynamics.report.summarize : its numbers.

    Examples
    --------
    ``build_report('demo-output/recording', 'report')`` reads the recording of the demo and writes
    ``report/report.html`` and ``report/report.png``.

    >>> from robot_dynamics.report import build_report
    >>> build_report('no/recording', 'report')
    Traceback (most recent call last):
    ...
    robot_dynamics.errors.RecordingError: no/recording does not exist; ...
    """
    require_replaceable(folder, (PAGE, PICTURE) if draw else (PAGE,))
    run = read_recording(recording)
    if robot is None and run.description is not None:
        # Bytes are always content, so that a recording cannot name a file to read.
        robot = Robot.from_urdf(run.description.encode())
    if robot is not None:
        robot.require_single_coordinates('a report')
    summary = summarize(run, robot, period=period)
    files = {PAGE: run_page(run, summary, robot, story).encode()}
    if draw:
        files[PICTURE] = draw_figure(run, summary, robot)
    write_files(folder, files)
    folder = Path(folder)
    return Report(folder / PAGE, folder / PICTURE if draw else None, summary,
                  run.controller)


def run_page(recording: Recording, summary: Summary, robot: Robot | None,
             story: Story | None = None) -> str:
    """HTML page about a run; without a robot, it does not show a moving arm."""
    story = story or Story()
    loop, before, after = summary.loop, summary.before, summary.after
    return page.Page(
        robot.name if robot is not None else recording.controller,
        _headline(story) if story.failure else verdict(summary), story.text, [
            page.Html(page.part('run.html').replace('{{unit}}', summary.unit)),
            page.tiles(_tiles(summary)),
            page.section(
                f'Every joint, {" and ".join(summary.compared)}',
                'Root mean square of the tracking error over '
                f'{before.window.start:.1f} to {before.window.end:.1f} s and over '
                f'{after.window.start:.1f} to {after.window.end:.1f} s.', _joint_table(summary)),
            page.section(
                'Torque by its parts',
                'Parts of the model torque for this motion, joint by joint, and the torque that '
                'the drives delivered. The difference between them is the error of the model.',
                page.tabs('Joint', 'torque-tabs'),
                page.chart('torque', 'Torque parts of the chosen joint over time')),
            page.section(
                'Estimates of the controller',
                'Ten parameters per link are estimated. Only some of their combinations act on '
                'the joints: single masses can differ from the true ones although the torque is '
                'right. The tracking error above is the result. Dotted lines are true masses, '
                'where they are known.',
                page.chart('estimates', 'Estimated mass of every link over time',
                           page.titled('Estimated mass of every link', 'kg'))),
            page.section(
                'The loop',
                f'{loop.state_rate:.1f} joint states and {loop.command_rate:.1f} commands a '
                'second, between separate processes, over DDS. From the stamp of a joint state '
                f'to its command published: {latency(loop)}. Heights of the histograms are square '
                'roots, so that single late cycles show.',
                page.pair(
                    page.chart('period', 'Histogram of the period',
                               page.titled('Period between joint states', 'ms'), is_wide=False,
                               has_legend=False),
                    page.chart('latency', 'Histogram of the latency',
                               page.titled('Joint state to command published', 'ms'),
                               is_wide=False, has_legend=False)),
                page.chart('loop', 'Worst period and latency over time',
                           page.titled('Worst in every tenth of a second', 'ms'))),
            *_messages(story),
            page.section('What ran',
                         page.facts(story.facts or [('controller', recording.controller)])),
        ], notice=interrupted(summary.interruptions) if summary.interruptions else '',
        without_scripts='The charts and the moving arm need JavaScript; the tables do not.',
    ).render(run_charts(recording, summary, robot, story.truth), 'arm.js', 'report.js')


def build_failure_report(folder: str | Path, subject: str, story: Story) -> Path:
    """Write ``report.html`` of a run that ended before enough was recorded; return its path.

    Raises a `FileError` when it cannot be written, or the user's is in its place.
    """
    require_replaceable(folder, (PAGE,))
    text = page.Page(subject, _headline(story), story.text, [
        *_messages(story), page.section('What ran', page.facts(story.facts))]).render({})
    write_files(folder, {PAGE: text.encode()})
    return Path(folder) / PAGE


def _headline(story: Story) -> str:
    return f'The run ended early: {story.failure}.'


def _messages(story: Story) -> list[page.Html]:
    """Section of the warnings and errors of nodes, if there are any."""
    if not story.messages:
        return []
    return [page.section('Warnings and errors of the nodes', page.items(story.messages))]


def _tiles(summary: Summary) -> list[page.Html]:
    loop, (first, last) = summary.loop, summary.compared
    out = [page.tile(figures(1e3 * summary.before.total), f'RMS error {first}', summary.unit,
                     'before'),
           page.tile(figures(1e3 * summary.after.total), f'RMS error {last}', summary.unit,
                     'after')]
    if summary.adaptation_start is not None:
        out.append(page.tile(figures(summary.improvement, 2), 'smaller', 'times'))
    out.append(page.tile(f'{loop.state_rate:.1f}', 'loop rate', 'Hz'))
    if not math.isnan(loop.latency_median):
        out += [page.tile(f'{1e3 * loop.latency_median:.2f}', 'median latency', 'ms'),
                page.tile(f'{1e3 * loop.latency_worst:.1f}', 'worst latency', 'ms')]
    return out


def _joint_table(summary: Summary) -> page.Html:
    before, after, (first, last) = summary.before, summary.after, summary.compared
    largest = max(before.rms.max(), after.rms.max()) or 1.0

    def row(name: str, bar: str, *values: float) -> tuple[str, ...]:
        return (name, bar, *(figures(1e3 * float(value)) for value in values), ratio(*values[:2]))
    return page.table(
        ('joint', '', f'RMS {first}, {summary.unit}', f'RMS {last}, {summary.unit}',
         f'worst {first}', f'worst {last}', 'RMS ratio'),
        [row(name, page.bars((values[0] / largest, 'before'), (values[1] / largest, 'after')),
             *values)
         for name, *values in zip(summary.joint_names, before.rms, after.rms, before.worst,
                                  after.worst, strict=True)],
        total=row('all joints', '', before.total, after.total, before.worst.max(),
                  after.worst.max()))
