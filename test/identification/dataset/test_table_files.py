# SPDX-License-Identifier: Apache-2.0
"""Tables as spreadsheets, plotters and loggers write them."""

import json

import numpy as np
import pytest

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.table_files import read_table

VALUES = np.array([[0.0, 1.5, -2.25], [0.5, 1e-3, 1234.5], [1.0, -0.0, 7.0]])
NAMES = ['time', 'j1_position', 'j1_effort']


def text(mark=',', quote='', point='.', end='\n'):
    rows = [NAMES, *[[repr(x).replace('.', point) for x in row] for row in VALUES.tolist()]]
    return end.join(mark.join(f'{quote}{field}{quote}' for field in row) for row in rows) + end


@pytest.mark.parametrize('content', [
    text(), text(end='\r\n'), '\ufeff' + text(), text(quote='"'), text(';'), text(';', point=','),
    text(';', '"', ','), text('\t'), text('\t', point=','), text(' '), text('   '),
    '# logger 3\n%\n\n' + text(), text('; ', point=',')])
def test_the_same_table_however_it_is_written(tmp_path, content):
    path = tmp_path / 'log.csv'
    path.write_text(content, encoding='utf-8', newline='')
    header, values, broken = read_table(path)
    assert header == NAMES and broken == 0
    np.testing.assert_array_equal(values, VALUES)


def test_wide_characters(tmp_path):
    path = tmp_path / 'log.csv'
    path.write_text(text('\t'), encoding='utf-16')
    np.testing.assert_array_equal(read_table(path)[1], VALUES)


def test_what_can_be_read_in_two_ways_is_no_number(tmp_path):
    path = tmp_path / 'log.csv'
    path.write_text('time,x\n"0","1,234"\n"1","2"\n')
    np.testing.assert_array_equal(read_table(path)[1], [[0.0, np.nan], [1.0, 2.0]])


@pytest.mark.parametrize(('content', 'words'), [
    ('', 'has no rows'), ('time,x\n', 'has no rows'), ('# a\n\n', 'has no rows'),
    ('time,x\n1;2\n', 'has 0 valid rows of 2'), ('time,x\na,b\nc,d\n', "such as 'a'"),
    ('x' * 200_000 + '\n1\n', 'field larger'),
    ('time,a,b\n0,1,2\ntime,b,a\n1,2,1\n', 'another order')])
def test_what_is_no_table_is_told(tmp_path, content, words):
    path = tmp_path / 'log.csv'
    path.write_text(content)
    with pytest.raises(RecordingError, match=words):
        read_table(path)


def test_names_in_a_comment(tmp_path):
    path = tmp_path / 'log.csv'
    path.write_text('# pump 3\n# timestamp actual_q_0\n0 1.5\n1 2.5\n')
    header, values, broken = read_table(path)
    assert header == ['timestamp', 'actual_q_0'] and broken == 0
    np.testing.assert_array_equal(values, [[0.0, 1.5], [1.0, 2.5]])


def test_a_table_without_names_is_numbered(tmp_path):
    path = tmp_path / 'log.csv'
    path.write_text('# nothing\n0,-0.25\n1,2.5\n')
    header, values, _ = read_table(path)
    assert header == ['1', '2']
    np.testing.assert_array_equal(values, [[0.0, -0.25], [1.0, 2.5]])


@pytest.mark.parametrize('cells', [
    ('"[1.0, 2.0]"', '"[3.0, 4.0]"'), ('[1.0 2.0]', '[3.0 4.0]'),
    ('"array(\'d\', [1.0, 2.0])"', '"array(\'d\', [3.0, 4.0])"'),
    ('"(1.0, 2.0)"', '"(3.0, 4.0)"')])
def test_lists_in_cells(tmp_path, cells):
    path = tmp_path / 'log.csv'
    path.write_text(f'time,name,position\n0,"[\'b\', \'a\']",{cells[0]}\n1,"[\'b\', \'a\']",'
                    f'{cells[1]}\n2,"[\'b\', \'c\']",{cells[0]}\n3,"[\'b\']","[1.0]"\n')
    header, values, broken = read_table(path)
    assert header == ['time', 'name[b]', 'name[a]', 'position[b]', 'position[a]']
    assert broken == 2
    np.testing.assert_array_equal(values[:, [0, 3, 4]], [[0.0, 1.0, 2.0], [1.0, 3.0, 4.0]])


@pytest.mark.parametrize('form', ['lines', 'list'])
def test_json_objects(tmp_path, form):
    objects = [{'header': {'stamp': {'sec': 5, 'nanosec': k}}, 'name': ['b', 'a'],
                'position': [k, None if k else 0.5]} for k in range(3)]
    path = tmp_path / ('log.jsonl' if form == 'lines' else 'log.json')
    path.write_text('\n'.join(map(json.dumps, [*objects, {'other': 1}])) + '\n{"cut'
                    if form == 'lines' else json.dumps([*objects, {'other': 1}]))
    header, values, broken = read_table(path)
    assert header[:2] == ['header.stamp.sec', 'header.stamp.nanosec']
    assert header[-2:] == ['position[b]', 'position[a]'] and broken == 1
    np.testing.assert_array_equal(values[:, [1, -2, -1]],
                                  [[0, 0, 0.5], [1, 1, np.nan], [2, 2, np.nan]])
