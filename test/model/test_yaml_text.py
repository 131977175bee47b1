# SPDX-License-Identifier: Apache-2.0
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from robot_dynamics.errors import ParameterError
from robot_dynamics.model.yaml_text import (
    MAX_BYTES,
    SafeLoader,
    UnusableYamlError,
    parse_yaml,
    read_yaml,
)

LETTERS = 'abcdefghijkl'


def bomb(line):
    """Return a text each line of which holds the one before eight times."""
    return 'a: &a {x: 1}\n' + ''.join(line(before, after) for before, after
                                      in pairwise(LETTERS))


@pytest.mark.parametrize('loader', [SafeLoader, yaml.SafeLoader], ids=('fast', 'python'))
class TestParse:
    @pytest.mark.parametrize(('text', 'value'), [
        ('', None), ('# nothing\n', None), ('a: 1', {'a': 1}), ('[1, 2.5, x, true, null]',
                                                                [1, 2.5, 'x', True, None]),
        ('a: &a [1, 2]\nb: *a', {'a': [1, 2], 'b': [1, 2]}),
        ('a: &a {x: 1}\nb: {<<: *a, y: 2}', {'a': {'x': 1}, 'b': {'x': 1, 'y': 2}}),
        ('a: 0x1F', {'a': 31}), ('a: .inf', {'a': float('inf')}), (f'a: {"9" * 100}',
                                                                  {'a': 10**100 - 1})])
    def test_reads_what_the_safe_loader_reads(self, loader, text, value):
        assert parse_yaml(text, loader) == value

    @pytest.mark.parametrize(('text', 'reason'), [
        ('a: [1', 'line'),
        ('a: 1\n--- 2\n', 'single document'),
        ('a: !!python/object/apply:os.getcwd []', 'python/object'),
        ('!!python/name:os.system', 'python/name'),
        ('a: !!int x', 'invalid literal'),
        ('a: !!float x', 'could not convert'),
        ('a: !!timestamp x', '.'),
        ('a: 2001-99-99', 'month'),
        ('a: !!binary "\\xff"', '.'),
        ('? [a]\n: 1', 'unhashable'),
        ('a: \x00', '.'),
        ('a: \ud800', '.'),
        ('[' * 5000, 'nested too deeply'),
        ('a: ' + '{b: ' * 2000, 'nested too deeply'),
        ('- ' * 2000, 'nested too deeply'),
        ('[' * 40 + ']' * 40, 'nested too deeply'),
        ('&a [*a]', 'recursive'),
        ('a: &a {b: *a}', 'recursive'),
        (bomb(lambda b, a: f'{a}: &{a} [{", ".join([f"*{b}"] * 8)}]\n'), 'expands to more than'),
        (bomb(lambda b, a: f'{a}: &{a} {{{", ".join(f"{k}: *{b}" for k in "pqrstuvw")}}}\n'),
         'expands to more than'),
        (bomb(lambda b, a: f'{a}: &{a} {{<<: [{", ".join([f"*{b}"] * 8)}]}}\n'),
         'expands to more than'),
        ('a: [' + '1,' * 60_000 + ']', 'expands to more than'),
        ('a: ' + '9' * 101, 'number of 101 characters in line 1'),
        ('a: 0x' + 'f' * 10_000, 'number of 10002 characters'),
        ('a: 1' + ':59' * 10_000, 'number of 30001 characters'),
        ('#' * (MAX_BYTES + 1), 'larger than 256 KiB'),
    ])
    def test_refuses_the_rest_at_once(self, within, loader, text, reason):
        def refused():
            with pytest.raises(UnusableYamlError, match=reason) as caught:
                parse_yaml(text, loader)
            return caught

        assert '\n' not in str(within(2.0, refused).value)


@pytest.mark.parametrize(('content', 'reason'), [
    (b'a: [1', 'cannot be read: .*line'), (b'\xff', 'not UTF-8 text .byte 0'),
    (b'#' * (MAX_BYTES + 9), 'larger than'), (None, 'No such file')])
def test_a_file_that_cannot_be_read_is_named(tmp_path, content, reason):
    path = tmp_path / 'file.yaml'
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ParameterError, match=reason) as caught:
        read_yaml(path, ParameterError, 'give another')
    assert caught.value.subject.endswith('file.yaml')
    assert caught.value.remedy == 'give another'


@pytest.mark.parametrize('path', ['/', '\x00', 'x' * 5000])
def test_a_path_that_is_none_is_refused(path):
    with pytest.raises(ParameterError, match='cannot be read'):
        read_yaml(Path(path), ParameterError, 'give another')


def test_reads_a_file_with_a_byte_order_mark(tmp_path):
    path = tmp_path / 'file.yaml'
    path.write_bytes(b'\xef\xbb\xbfa: 1\n')
    assert read_yaml(path, ParameterError, '') == {'a': 1}
