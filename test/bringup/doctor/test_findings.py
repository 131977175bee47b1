# SPDX-License-Identifier: Apache-2.0
"""Results, and their text for terminals, pipes and programs."""

import json
import re

import pytest

from robot_dynamics.bringup.doctor.findings import (
    CheckResult,
    HealthReport,
    Level,
    Section,
    as_json,
    as_lines,
    as_text,
    error,
    from_error,
    from_model_finding,
    listed,
    merged,
    note,
    ok,
    summary,
    warning,
)
from robot_dynamics.errors import Finding, ModelError, Severity


def test_only_errors_make_the_exit_status():
    mild = Section('a', (ok('x', 'fine'), note('y', 'so'), warning('z', 'bad', 'do')))
    assert HealthReport('it', (mild,)).exit_status == 0
    grave = Section('b', (error('w', 'broken', 'mend'),))
    report = HealthReport('it', (mild, grave))
    assert report.exit_status == 1
    assert [report.count(level) for level in Level] == [1, 1, 1, 1]


def test_equal_messages_become_one_at_the_first_place():
    results = merged([warning('a', 'too fast', 'slow down'), ok('b', 'fine'),
                        warning('c', 'too fast', 'slow down'), warning('d', 'too fast', 'stop')])
    assert results == [warning('a, c', 'too fast', 'slow down'), ok('b', 'fine'),
                       warning('d', 'too fast', 'stop')]


def test_many_names_are_cut():
    assert listed('abc') == 'a, b, c'
    assert listed(['a', 'b', 'a']) == 'a, b'
    assert listed('abcdefgh') == 'a, b, c, d, e, f, g, h'
    assert listed('abcdefghi') == 'a, b, c, d, e, f, g and 2 more'


def test_exceptions_and_findings_become_results():
    refusal = ModelError('is odd', subject='link3', remedy='make it even')
    assert from_error(refusal, 'file') == error('link3', 'is odd', 'make it even')
    assert from_error(ModelError('is odd'), 'file').subject == 'file'
    finding = Finding(Severity.WARNING, 'link3', 'is odd', 'make it even')
    assert from_model_finding(finding) == warning('link3', 'is odd', 'make it even')
    assert from_model_finding(Finding(Severity.INFO, 'link3', 'is odd')).level is Level.NOTE


def test_control_characters_do_not_reach_the_terminal():
    result = CheckResult(Level.ERROR, '/evil\x1b[2J', 'says \x07\nhello', '\x1b]0;title\x07')
    assert str(result).isprintable()
    assert 'hello' in result.message


def test_text_of_a_result():
    assert str(error('joint3', 'has no limit', 'give one')) == 'joint3: has no limit; give one'
    assert str(ok('joint3', 'is well')) == 'joint3: is well'


EXAMINATION = HealthReport('domain 3: 4 nodes', (
    Section('joint states', (
        ok('/joint_states', 'published by /driver'),
        error('/joint_states', 'stamps are 5.2 s behind the clock of this machine: the '
              'controller turns them away', 'set the clocks of both machines by NTP or PTP'),
        warning('joint3', 'a' * 90, 'look'))),
    Section('commands', ()),
    Section('nodes', (note('/reference', 'waits'),))), ('  joint1 free',))


def test_text_fits_a_terminal_and_does_not_repeat_a_subject():
    text = as_text(EXAMINATION, 80)
    lines = text.splitlines()
    assert all(len(line) <= 80 for line in lines if 'a' * 90 not in line)
    assert lines[:2] == ['domain 3: 4 nodes', '  joint1 free']
    assert text.count('/joint_states:') == 1
    assert '  ok       /joint_states: published by /driver' in lines
    assert '  ERROR    stamps are 5.2 s behind' in text
    assert '           -> set the clocks' in text
    assert 'commands' not in lines
    assert lines[-1] == '1 error, 1 warning'
    assert '\x1b' not in text


def test_colours_change_nothing_but_colours():
    plain, painted = as_text(EXAMINATION, 80), as_text(EXAMINATION, 80, colours=True)
    assert re.sub('\x1b\\[[0-9;]*m', '', painted) == plain
    assert '\x1b[1;31mERROR\x1b[0m' in painted


@pytest.mark.parametrize('width', [1, 40, 1000])
def test_any_width_will_do(width):
    assert as_text(EXAMINATION, width).endswith('1 error, 1 warning')


def test_a_pipe_gets_a_line_for_each_result():
    lines = as_lines(EXAMINATION).splitlines()
    assert lines[2:4] == ['[joint states]', 'ok: /joint_states: published by /driver']
    assert lines[4].startswith('error: /joint_states: stamps are 5.2 s behind the clock of this '
                               'machine: the controller turns them away; set the clocks')
    assert lines[6:] == ['[nodes]', 'note: /reference: waits', '1 error, 1 warning']


def test_json_has_the_same_results():
    document = json.loads(as_json(EXAMINATION))
    assert (document['errors'], document['warnings']) == (1, 1)
    assert [section['title'] for section in document['sections']] == [
        'joint states', 'commands', 'nodes']
    assert document['sections'][0]['remarks'][2] == {
        'level': 'warning', 'subject': 'joint3', 'message': 'a' * 90, 'remedy': 'look'}


def test_the_last_line_counts():
    assert summary(HealthReport('it', ())) == 'nothing wrong'
    two = Section('x', (warning('a', 'b', 'c'),) * 2)
    assert summary(HealthReport('it', (two,))) == '2 warnings'
