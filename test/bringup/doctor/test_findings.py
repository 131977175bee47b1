# SPDX-License-Identifier: Apache-2.0
from robot_dynamics.bringup.doctor.findings import (
    Examination,
    Level,
    Remark,
    Section,
    error,
    from_error,
    from_finding,
    gathered,
    listed,
    note,
    ok,
    warning,
)
from robot_dynamics.errors import Finding, ModelError, Severity


def test_only_errors_make_the_exit_status():
    mild = Section('a', (ok('x', 'fine'), note('y', 'so'), warning('z', 'bad', 'do')))
    assert Examination('it', (mild,)).exit_status == 0
    grave = Section('b', (error('w', 'broken', 'mend'),))
    examination = Examination('it', (mild, grave))
    assert examination.exit_status == 1
    assert [examination.count(level) for level in Level] == [1, 1, 1, 1]


def test_remarks_that_say_the_same_become_one_where_the_first_stood():
    remarks = gathered([warning('a', 'too fast', 'slow down'), ok('b', 'fine'),
                        warning('c', 'too fast', 'slow down'), warning('d', 'too fast', 'stop')])
    assert remarks == [warning('a, c', 'too fast', 'slow down'), ok('b', 'fine'),
                       warning('d', 'too fast', 'stop')]


def test_many_names_are_cut():
    assert listed('abc') == 'a, b, c'
    assert listed(['a', 'b', 'a']) == 'a, b'
    assert listed('abcdefgh') == 'a, b, c, d, e, f, g, h'
    assert listed('abcdefghi') == 'a, b, c, d, e, f, g and 2 more'


def test_exceptions_and_findings_become_remarks():
    refusal = ModelError('is odd', subject='link3', remedy='make it even')
    assert from_error(refusal, 'file') == error('link3', 'is odd', 'make it even')
    assert from_error(ModelError('is odd'), 'file').subject == 'file'
    finding = Finding(Severity.WARNING, 'link3', 'is odd', 'make it even')
    assert from_finding(finding) == warning('link3', 'is odd', 'make it even')
    assert from_finding(Finding(Severity.INFO, 'link3', 'is odd')).level is Level.NOTE


def test_nothing_that_somebody_sent_can_steer_the_terminal():
    remark = Remark(Level.ERROR, '/evil\x1b[2J', 'says \x07\nhello', '\x1b]0;title\x07')
    assert str(remark).isprintable()
    assert 'hello' in remark.message


def test_a_remark_is_a_sentence():
    assert str(error('joint3', 'has no limit', 'give one')) == 'joint3: has no limit; give one'
    assert str(ok('joint3', 'is well')) == 'joint3: is well'
