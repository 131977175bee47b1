# SPDX-License-Identifier: Apache-2.0
"""Shipped robots are found wherever the package lives."""

import sys
from pathlib import Path

import pytest

from robot_dynamics.errors import ModelError
from robot_dynamics.model import shipped
from robot_dynamics.model.shipped import resolve_robot, shipped_robots


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """Pretend the package was imported from a site-packages folder outside any checkout."""
    module = tmp_path / 'lib' / 'robot_dynamics' / 'model' / 'shipped.py'
    monkeypatch.setattr(shipped, '__file__', str(module))
    monkeypatch.setattr(sys, 'prefix', str(tmp_path / 'prefix'))
    monkeypatch.setattr('site.USER_BASE', str(tmp_path / 'user'))
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    return tmp_path


def _install(prefix: Path, *names: str) -> Path:
    folder = prefix / 'share' / 'robot_dynamics' / 'urdf'
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_text('<robot/>')
    return folder


def test_checkout_offers_its_robots():
    robots = shipped_robots()
    assert 'arm7' in robots
    assert all(path.is_file() for path in robots.values())
    assert list(robots) == sorted(robots)


@pytest.mark.parametrize('where', ['prefix', 'user', 'lib'])
def test_pip_installation_is_found(elsewhere, where):
    folder = _install(elsewhere / where, 'a.urdf', 'a.yaml', 'notes.txt')
    assert shipped_robots() == {'a': folder / 'a.urdf', 'a.yaml': folder / 'a.yaml'}


def test_ros_workspace_is_found_before_pip(elsewhere, monkeypatch):
    _install(elsewhere / 'prefix', 'pip.urdf')
    folder = _install(elsewhere / 'overlay', 'ros.urdf')
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{elsewhere}/empty:{elsewhere}/overlay')
    assert shipped_robots() == {'ros': folder / 'ros.urdf'}


def test_missing_installation_says_where_it_looked(elsewhere):
    with pytest.raises(ModelError, match=r'not installed.*reinstall the package.*prefix'):
        shipped_robots()


def test_name_with_or_without_suffix():
    assert resolve_robot('arm7') == resolve_robot('arm7.urdf') == shipped_robots()['arm7']


def test_path_of_a_file(tmp_path, monkeypatch):
    file = tmp_path / 'arm7.urdf'
    file.write_text('<robot/>')
    assert resolve_robot(file) == file.resolve()
    assert resolve_robot(str(file)) == file.resolve()
    monkeypatch.chdir(tmp_path)
    assert resolve_robot('arm7.urdf') == file.resolve()


@pytest.mark.parametrize(('name', 'message'), [
    ('arm8', 'arm8 .*did you mean arm7.*arm7'),
    ('/no/such/file.urdf', '/no/such/file.urdf is neither a file'),
    ('/a/long/path' * 12 + '/arm.urdf', '/a/long/path/arm.urdf is neither a file'),
    ('', 'is neither a file nor a robot'),
    ('~no_such_user/arm.urdf', 'is neither a file nor a robot'),
    ('<robot/>' * 1000, 'is neither a file nor a robot'),
    ('\0', 'is neither a file nor a robot'),
])
def test_unknown_robot_lists_what_there_is(name, message):
    with pytest.raises(ModelError, match=message):
        resolve_robot(name)


def test_folder_is_not_a_robot(tmp_path):
    with pytest.raises(ModelError, match='is neither a file'):
        resolve_robot(tmp_path)
