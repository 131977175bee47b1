# SPDX-License-Identifier: Apache-2.0
import pytest

from robot_dynamics.bringup.progress import Progress, bar, parse_progress, progress_line


def test_reads_what_the_recorder_writes():
    line = '{"time": 12.0, "messages": 30211, "mode": "tracking", "error": 0.0021}'
    assert parse_progress(line) == Progress(12.0, 'tracking', 0.0021)
    line = '{"time": 0.0, "messages": 0, "mode": null, "error": null}'
    assert parse_progress(line) == Progress(0.0, '', None)


@pytest.mark.parametrize('line', ['', 'ready', '{', '{"time": 1.0}', '[1]',
                                  '{"time": "x", "mode": "a", "error": 1}'])
def test_other_lines_are_not_progress(line):
    assert parse_progress(line) is None


def test_a_line_shows_time_phase_and_error():
    line = progress_line(14.2, 'adapting', 0.0031)
    assert line.split() == ['14', 's', 'adapting', '3.100', 'mrad', bar(3.1)]
    assert progress_line(0.0, 'starting', None) == '    0 s  starting'


def test_the_bar_grows_by_eight_a_decade():
    lengths = [len(bar(value)) for value in (1.0, 10.0, 100.0, 1000.0, 1e6)]
    assert lengths == [8, 16, 24, 32, 32]
    assert bar(0.05) == bar(float('nan')) == '▏'
