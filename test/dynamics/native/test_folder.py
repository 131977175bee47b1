# SPDX-License-Identifier: Apache-2.0
import os
import tempfile
from pathlib import Path

import pytest

from robot_dynamics.dynamics.kernels.cache import cache_base
from robot_dynamics.dynamics.native.build import is_private, is_trusted, library_folder


@pytest.fixture
def fresh(monkeypatch):
    """`library_folder`, which has not answered before, with no place to go."""
    monkeypatch.delenv('XDG_CACHE_HOME', raising=False)
    monkeypatch.delenv('HOME', raising=False)
    monkeypatch.setattr('numba.core.config.CACHE_DIR', '')
    for function in (library_folder, cache_base):
        function.cache_clear()
    yield monkeypatch
    for function in (library_folder, cache_base):
        function.cache_clear()


@pytest.fixture
def place():
    """A directory of this user's alone, below one that everybody may add to."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def test_the_cache_of_the_user_comes_first(fresh, place):
    fresh.setenv('XDG_CACHE_HOME', str(place / 'cache'))
    fresh.setenv('HOME', str(place))
    assert library_folder() == (place / 'cache' / 'robot_dynamics' / 'native').resolve()


def test_else_it_is_below_the_home_directory(fresh, place):
    fresh.setenv('HOME', str(place))
    assert library_folder() == (place / '.cache' / 'robot_dynamics' / 'native').resolve()


@pytest.mark.parametrize('mode', [0o777, 0o770, 0o775])
def test_a_cache_that_others_write_is_not_used(fresh, place, mode):
    open_to_all = place / 'cache'
    open_to_all.mkdir()
    open_to_all.chmod(mode)
    fresh.setenv('XDG_CACHE_HOME', str(open_to_all))
    found = library_folder()
    assert open_to_all not in found.parents
    assert is_private(found)


def test_a_folder_that_others_have_opened_is_not_used(fresh, place):
    fresh.setenv('XDG_CACHE_HOME', str(place))
    native = place / 'robot_dynamics' / 'native'
    native.mkdir(parents=True)
    native.chmod(0o777)
    assert library_folder() != native.resolve()


def test_a_link_to_an_open_directory_is_not_used(fresh, place):
    target = place / 'theirs'
    target.mkdir()
    target.chmod(0o777)
    (place / 'robot_dynamics').mkdir()
    (place / 'robot_dynamics' / 'native').symlink_to(target)
    fresh.setenv('XDG_CACHE_HOME', str(place))
    assert library_folder() != target.resolve()


def test_without_a_home_it_is_a_private_one_of_this_user(fresh):
    found = library_folder()
    assert is_private(found)
    assert Path(tempfile.gettempdir()) in found.parents


@pytest.mark.skipif(os.geteuid() != 0, reason='only root can give files away')
def test_what_belongs_to_somebody_else_is_not_trusted(place):
    theirs = place / 'theirs'
    theirs.mkdir(mode=0o700)
    os.chown(theirs, 12345, 12345)
    assert not is_private(theirs)
    below = theirs / 'ours'
    below.mkdir(mode=0o700)
    assert not is_private(below)
    library = place / 'x.so'
    library.write_bytes(b'')
    library.chmod(0o700)
    assert is_trusted(library)
    os.chown(library, 12345, 12345)
    assert not is_trusted(library)


def test_only_regular_files_are_trusted(place):
    library, link = place / 'x.so', place / 'y.so'
    assert not is_trusted(library)
    library.write_bytes(b'')
    library.chmod(0o700)
    assert is_trusted(library)
    link.symlink_to(library)
    assert not is_trusted(link)
    library.chmod(0o702)
    assert not is_trusted(library)
    assert not is_trusted(place)


def test_a_relative_cache_is_not_used(fresh, place, monkeypatch):
    monkeypatch.chdir(place)
    fresh.setenv('XDG_CACHE_HOME', 'cache')
    assert place.resolve() not in library_folder().parents
