# SPDX-License-Identifier: Apache-2.0
"""Files are written whole, and nothing of the user is ever replaced or removed."""

import os

import pytest

from robot_dynamics.errors import FileError
from robot_dynamics.files import (
    MARKS,
    mark_open,
    mark_written,
    remove_own_folder,
    require_own_folder,
    require_replaceable,
    write_file,
    write_files,
)


def names(folder):
    return {entry.name for entry in folder.iterdir()} - {MARKS}


def test_a_file_is_written_and_written_again(tmp_path):
    folder = tmp_path / 'a' / 'b'
    for content in (b'one', b'two'):
        write_files(folder, {'report.html': content})
        assert (folder / 'report.html').read_bytes() == content
    assert names(folder) == {'report.html'}


def test_permissions_are_those_of_the_user(tmp_path):
    before = os.umask(0o027)
    try:
        write_files(tmp_path, {'report.html': b'x'})
    finally:
        os.umask(before)
    assert (tmp_path / 'report.html').stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize('own', ['made', 'edited', 'replaced', 'appended'])
@pytest.mark.parametrize('role', ['written', 'removed'])
def test_a_file_of_the_user_stays_and_nothing_else_is_written(tmp_path, own, role):
    path = tmp_path / 'parameters.yaml'
    if own != 'made':
        write_files(tmp_path, {path.name: b'x' * 3_000_000})
    if own == 'replaced':
        path.unlink()
    with path.open('ab' if own == 'appended' else 'wb') as stream:
        stream.write(b'mine')
    content = path.read_bytes()
    reason = 'was not written by robot_dynamics' if own == 'made' else 'was changed after'
    files, others = ({'a': b'a', path.name: b'b'}, ()) if role == 'written' \
        else ({'a': b'a'}, (path.name,))
    with pytest.raises(FileError, match=f'parameters.yaml {reason}.*; move it away, or name'):
        write_files(tmp_path, files, others=others)
    assert path.read_bytes() == content and names(tmp_path) == {path.name}
    with pytest.raises(FileError, match=reason):
        require_replaceable(tmp_path, (path.name,))


def test_files_of_an_earlier_run_are_removed_and_others_stay(tmp_path):
    write_files(tmp_path, {'a': b'1', 'b': b'1', 'recording.npz': b'1'})
    (tmp_path / 'thesis.tex').write_text('mine')
    write_files(tmp_path, {'a': b'2'}, others=('a', 'b', 'c'))
    assert names(tmp_path) == {'a', 'recording.npz', 'thesis.tex'}
    # What was removed and then made by the user is not ours.
    (tmp_path / 'b').write_text('mine')
    with pytest.raises(FileError, match='/b was not written'):
        write_files(tmp_path, {'a': b'3'}, others=('b',))


@pytest.mark.parametrize('dangling', [False, True])
@pytest.mark.parametrize('ours_before', [False, True])
def test_a_link_is_neither_followed_nor_replaced(tmp_path, dangling, ours_before):
    precious, folder = tmp_path / 'precious', tmp_path / 'out'
    folder.mkdir()
    if ours_before:
        write_files(folder, {'report.html': b'x'})
        (folder / 'report.html').unlink()
    if not dangling:
        precious.write_text('x')
    (folder / 'report.html').symlink_to(precious)
    with pytest.raises(FileError, match=r'report\.html was not written'):
        write_files(folder, {'report.html': b'y'})
    assert (folder / 'report.html').is_symlink()
    assert precious.exists() is not dangling and (dangling or precious.read_text() == 'x')


@pytest.mark.timeout(20)
@pytest.mark.parametrize('obstacle', ['file', 'folder', 'pipe'])
def test_what_cannot_be_written_is_an_error(tmp_path, obstacle):
    out = tmp_path / 'out'
    if obstacle == 'file':
        out.write_text('x')
    elif obstacle == 'folder':
        (out / 'report.html').mkdir(parents=True)
    else:
        out.mkdir()
        os.mkfifo(out / 'report.html')
    with pytest.raises(FileError, match='cannot be written' if obstacle == 'file'
                       else 'was not written') as caught:
        write_files(out, {'report.html': b'x'})
    assert caught.value.subject and caught.value.remedy
    if obstacle != 'file':
        assert names(out) == {'report.html'}


@pytest.mark.parametrize('folder', ['/proc/nothing', 'x' * 5000, '\x00'])
def test_an_impossible_folder_is_an_error(tmp_path, folder):
    for write in (lambda: write_files(tmp_path / folder, {'report.html': b'x'}),
                  lambda: write_file(tmp_path / folder / 'report.html', 'x')):
        with pytest.raises(FileError, match='cannot be written'):
            write()


@pytest.mark.timeout(20)
@pytest.mark.parametrize('content', ['', '[]', '{}', '{"a": 1}', '\x00', '[' * 100_000, None])
def test_a_list_that_is_not_ours_is_in_the_way(tmp_path, content):
    if content is None:
        os.mkfifo(tmp_path / MARKS)
    else:
        (tmp_path / MARKS).write_text(content)
    with pytest.raises(FileError, match='is not a list of files'):
        write_files(tmp_path, {'a': b'x'})
    assert not names(tmp_path)
    assert content is None or (tmp_path / MARKS).read_text() == content


def test_a_full_disk_leaves_the_file_of_before(tmp_path, monkeypatch):
    write_files(tmp_path, {'a': b'before'})

    def fail(*_):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr('pathlib.Path.replace', fail)
    with pytest.raises(FileError, match=r'cannot be written \(No space left on device\)'):
        write_files(tmp_path, {'a': b'after'})
    assert (tmp_path / 'a').read_bytes() == b'before' and names(tmp_path) == {'a'}


@pytest.mark.parametrize('closed', [False, True])
def test_a_folder_of_ours_is_removed_whole(tmp_path, closed):
    folder = tmp_path / 'bag'
    remove_own_folder(folder)
    folder.mkdir()
    (folder / 'bag.mcap').write_text('messages')
    mark_open(folder, ('bag.mcap', 'metadata.yaml'))
    (folder / 'bag.mcap').write_text('more messages')
    if closed:
        mark_written(folder)
    require_own_folder(folder)
    remove_own_folder(folder)
    assert not folder.exists()


@pytest.mark.parametrize('name', ['thesis.db3', 'run1.mcap', 'metadata.yaml', '.hidden', 'sub'])
def test_a_folder_with_anything_of_the_user_stays_whole(tmp_path, name):
    folder = tmp_path / 'bag'
    write_files(folder, {'bag.mcap': b'messages'})
    if name == 'sub':
        (folder / name).mkdir()
    else:
        (folder / name).write_text('mine')
    for remove in (remove_own_folder, require_own_folder):
        with pytest.raises(FileError, match=f'{name} was not written by robot_dynamics'):
            remove(folder)
    assert names(folder) == {'bag.mcap', name}


def test_a_folder_that_cannot_be_made_is_rejected_before_the_work(tmp_path):
    (tmp_path / 'file').write_text('x')
    for folder in (tmp_path / 'file', tmp_path / 'file' / 'deeper'):
        with pytest.raises(FileError, match='file must be a folder, got a file'):
            require_replaceable(folder, ('report.html',))
    require_replaceable(tmp_path / 'new' / 'deeper', ('report.html',))
    assert not (tmp_path / 'new').exists()
    locked = tmp_path / 'locked'
    locked.mkdir(mode=0o500)
    if os.geteuid():
        with pytest.raises(FileError, match='cannot be written'):
            require_replaceable(locked / 'out', ('report.html',))
