# SPDX-License-Identifier: Apache-2.0
"""Tables as spreadsheets, plotters and loggers write them."""

import numpy as np
import pytest

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.dataset import load_dataset
from robot_dynamics.identification.dataset.tables import read_table

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


def test_a_log_of_any_name_and_with_units_of_time(three, tmp_path):
    t, q, v, a = three.motion(seconds=1)
    tau = three.efforts(q, v, a)
    names = ['Time [s]'] + [f'{joint}_{word}' for word in ('position', 'effort')
                            for joint in three.robot.joint_names]
    rows = np.column_stack([t, q, tau])
    for name, mark in (('LOG.CSV', ','), ('log.tsv', '\t'), ('log.txt', ' ; ')):
        np.savetxt(tmp_path / name, rows, delimiter=mark, header=mark.join(names), comments='')
        np.testing.assert_allclose(
            load_dataset(tmp_path / name, three.robot).segments[0].position, q)
    (tmp_path / 'log.csv').write_text(','.join(names) + '\n' + '"5,000.1",1,2,3,4,5,6\n' * 20)
    with pytest.raises(RecordingError, match='no numeric times'):
        load_dataset(tmp_path / 'log.csv', three.robot)


@pytest.mark.parametrize(('arrays', 'subject'), [
    ({'time': np.zeros((40, 2))}, 'time'), ({'time': np.zeros(40, dtype=complex)}, 'time'),
    ({'names': np.array([['j1', 'j2', 'j3']])}, 'names'), ({'names': np.arange(3)}, 'names'),
    ({'position': np.zeros((40, 3), dtype=complex)}, 'position')])
def test_archives_of_other_arrays_are_refused(three, tmp_path, arrays, subject):
    whole = {'time': np.arange(40) * 0.01, 'position': np.ones((40, 3)),
             'effort': np.ones((40, 3))}
    np.savez(tmp_path / 'log.npz', **{**whole, **arrays})
    with pytest.raises(RecordingError, match='and type') as caught:
        load_dataset(tmp_path / 'log.npz', three.robot)
    assert caught.value.subject.endswith(subject)


def test_archives_with_dates_and_bytes(three, tmp_path):
    t, q, v, a = three.motion(seconds=1)
    start = np.datetime64('2024-05-01T12:00:00', 'ns')
    np.savez(tmp_path / 'log.npz', time=start + (t * 1e9).astype('timedelta64[ns]'), position=q,
             effort=three.efforts(q, v, a), names=np.array([b'j1', b'j2', b'j3']))
    segment, = load_dataset(tmp_path / 'log.npz', three.robot).segments
    np.testing.assert_allclose(segment.time, t, atol=1e-9)
    np.testing.assert_allclose(segment.position, q)
