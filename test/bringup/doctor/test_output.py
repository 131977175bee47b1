# SPDX-License-Identifier: Apache-2.0
import json
import re

import pytest

from robot_dynamics.bringup.doctor.findings import Examination, Section, error, note, ok, warning
from robot_dynamics.bringup.doctor.output import as_json, as_lines, as_text, summary

EXAMINATION = Examination('domain 3: 4 nodes', (
    Section('joint states', (
        ok('/joint_states', 'published by /driver'),
        error('/joint_states', 'stamps are 5.2 s behind the clock of this machine: the '
              'controller turns them away', 'set the clocks of both machines by NTP or PTP'),
        warning('joint3', 'a' * 90, 'look'))),
    Section('commands', ()),
    Section('nodes', (note('/reference', 'waits'),))), ('  joint1 free',))


def test_text_fits_a_terminal_and_tells_a_subject_once():
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


def test_a_pipe_gets_a_line_for_each_remark():
    lines = as_lines(EXAMINATION).splitlines()
    assert lines[2] == 'ok: /joint_states: published by /driver'
    assert lines[3].startswith('error: /joint_states: stamps are 5.2 s behind the clock of this '
                               'machine: the controller turns them away; set the clocks')
    assert len(lines) == 7


def test_json_says_the_same():
    document = json.loads(as_json(EXAMINATION))
    assert (document['errors'], document['warnings']) == (1, 1)
    assert [section['title'] for section in document['sections']] == [
        'joint states', 'commands', 'nodes']
    assert document['sections'][0]['remarks'][2] == {
        'level': 'warning', 'subject': 'joint3', 'message': 'a' * 90, 'remedy': 'look'}


def test_the_last_line_counts():
    assert summary(Examination('it', ())) == 'nothing wrong'
    two = Section('x', (warning('a', 'b', 'c'),) * 2)
    assert summary(Examination('it', (two,))) == '2 warnings'
