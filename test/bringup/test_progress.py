# SPDX-License-Identifier: Apache-2.0
import pytest

from robot_dynamics.bringup.processes import NodeProcess
from robot_dynamics.bringup.progress import (
    Progress,
    WarningFilter,
    bar,
    parse_progress,
    progress_line,
)
from robot_dynamics.bringup.runner import Line


def test_reads_what_the_recorder_writes():
    line = ('{"time": 12.0, "tracked": 9.5, "messages": 311, "mode": "tracking", "error": 0.0021, '
            '"learns": true}')
    assert parse_progress(line) == Progress(12.0, 'tracking', 0.0021, True, 9.5)
    line = ('{"time": 0.0, "tracked": 0.0, "messages": 0, "mode": null, "error": null, '
            '"learns": false}')
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


@pytest.mark.parametrize('columns', [60, 80, 200])
@pytest.mark.parametrize('error', [1e-5, 0.01, 0.5, 5.0])
def test_a_line_fits_into_the_terminal(columns, error):
    for phase in ('estimates frozen', 'adapting'):
        assert len(progress_line(12.0, phase, error, columns=columns)) < columns


def read(warnings, text, node='reference', stream='stderr'):
    return warnings.read(Line(NodeProcess(node), stream, text))


def test_warnings_are_selected():
    warnings = WarningFilter()
    assert read(warnings, '[INFO] [1795828011.05] [reference]: the motion starts') is None
    assert read(warnings, '[WARN] [1795828011.05] [reference]: refused: [x]: y') \
        == '  reference: warning: refused: [x]: y'
    assert warnings.all == ['reference: warning: refused: [x]: y']
    assert read(warnings, 'the ERROR of others') == '    the ERROR of others'
    assert read(warnings, '[DEBUG] [1.0] [reference]: more') is None
    assert read(warnings, 'more') is None


def test_a_traceback_is_shown_to_its_end():
    warnings = WarningFilter()
    read(warnings, '[FATAL] [1.0] [reference]: Traceback (most recent call last):')
    assert read(warnings, '[INFO] [1.0] [recorder]: recording', node='recorder') is None
    assert read(warnings, 'from elsewhere', node='recorder') is None
    assert read(warnings, 'on stdout', stream='stdout') is None
    assert read(warnings, 'ValueError: no') == '    ValueError: no'
    assert warnings.all[-1] == 'reference: error: Traceback (most recent call last):'
