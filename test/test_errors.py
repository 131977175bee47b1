# SPDX-License-Identifier: Apache-2.0
import ast
import copy
import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics import errors
from robot_dynamics.errors import ModelError, RobotDynamicsError, printable, shown

PACKAGE = Path(errors.__file__).parent
KINDS = {name for name, value in vars(errors).items()
         if isinstance(value, type) and issubclass(value, RobotDynamicsError)}
MODULES = sorted(PACKAGE.rglob('*.py'))


@given(st.text(), st.text(), st.text())
def test_every_error_is_one_printable_line(message, subject, remedy):
    error = ModelError(message, subject=subject, remedy=remedy)
    for text in (str(error), error.message, error.subject, error.remedy):
        assert text.isprintable()


@pytest.mark.parametrize('text', ['x' * 10**6, '\x00' * 10**6, '\n' * 10**6, 'é\u202e' * 10**5])
def test_no_error_is_longer_than_a_screen(text):
    error = ModelError(text, subject=text, remedy=text)
    assert len(str(error)) <= 1210


@pytest.mark.parametrize('subject', ['', ' ', '\n'])
def test_a_name_that_cannot_be_seen_is_quoted(subject):
    assert str(ModelError('is no link', subject=subject)) == f'{subject!r} is no link'


def test_what_can_be_printed_and_is_short_stays_as_it_is():
    error = ModelError('é is  0', subject='关节 1', remedy='give "a" or \'b\'')
    assert str(error) == '关节 1 é is  0; give "a" or \'b\''


@pytest.mark.parametrize(('text', 'expected'), [
    ('a\n  b\tc', 'a b c'),
    ('\x1b[31mred', '\\x1b[31mred'),
    ('\u202e', '\\u202e'),
    ('\ud800', '\\ud800'),
    ('abcdefghijklm', 'abcdefg...'),
    ('\x00\x00\x00\x00', '\\x00\\x0...'),
])
def test_printable(text, expected):
    assert printable(text, 10 if len(expected) <= 10 else 20) == expected


@pytest.mark.parametrize(('value', 'longest'), [
    ('x' * 10_000, 60), (10**10_000, 60), (list(range(10_000)), 60), ([[[[[1]]]]], 20),
    ({k: k for k in range(1000)}, 60)], ids=('text', 'integer', 'list', 'depth', 'mapping'))
def test_values_are_shown_in_short(value, longest):
    assert len(shown(value)) <= longest


def test_shown_says_what_a_small_value_is():
    assert shown([1, 'a', None]) == "[1, 'a', None]"


def test_copies_say_the_same():
    error = ModelError('is bad\n', subject='joint', remedy='mend it')
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(twin) is ModelError
        assert (twin.message, twin.subject, twin.remedy) == ('is bad', 'joint', 'mend it')


@pytest.mark.parametrize(('is_venv', 'is_managed', 'has_pip', 'line'), [
    (True, True, True, 'run: /opt/py -m pip install rosbags'),
    (False, False, True, 'run: /opt/py -m pip install rosbags'),
    (False, True, True, 'run: PIP_BREAK_SYSTEM_PACKAGES=1 /opt/py -m pip install rosbags'),
    (False, True, False, 'run: sudo apt install python3-pip && PIP_BREAK_SYSTEM_PACKAGES=1 '
                         '/opt/py -m pip install rosbags')])
def test_installation_of_a_package(monkeypatch, tmp_path, is_venv, is_managed, has_pip, line):
    monkeypatch.setattr(errors.sys, 'executable', '/opt/py')
    monkeypatch.setattr(errors.sys, 'prefix', str(tmp_path / 'venv') if is_venv
                        else errors.sys.base_prefix)
    monkeypatch.setattr(errors.sysconfig, 'get_path', lambda name: str(tmp_path))
    monkeypatch.setattr(errors, 'find_spec', lambda name: has_pip or None)
    if is_managed:
        (tmp_path / 'EXTERNALLY-MANAGED').touch()
    assert errors.install_line('rosbags') == line
    assert errors.install_line('rosbags', 'python3-rosbags') == \
        f'{line}, or: sudo apt install python3-rosbags'


def test_only_one_place_has_a_line_of_pip():
    texts = [node.value for path in MODULES if path.name != 'errors.py'
             for node in ast.walk(ast.parse(path.read_text(encoding='utf-8')))
             if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert not [text for text in texts if re.search(r'pip install\b', text)]


@pytest.mark.slow
@pytest.mark.parametrize('path', MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_error_names_what_it_is_about_and_what_to_do(path):
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                and node.func.id in KINDS):
            continue
        given = {keyword.arg for keyword in node.keywords}
        assert {'subject', 'remedy'} <= given, f'line {node.lineno}'
