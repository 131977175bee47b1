# SPDX-License-Identifier: Apache-2.0
import os

import pytest

from robot_dynamics.errors import RecordingError
from robot_dynamics.report.files import write_file
from robot_dynamics.report.run_page import build_report


def test_a_file_is_written_and_written_again(tmp_path):
    for content in (b'one', b'two'):
        path = write_file(tmp_path / 'a' / 'b', 'report.html', content)
        assert path == tmp_path / 'a' / 'b' / 'report.html'
        assert path.read_bytes() == content
    assert [entry.name for entry in path.parent.iterdir()] == ['report.html']


def test_who_may_read_is_for_the_user_to_say(tmp_path):
    before = os.umask(0o027)
    try:
        path = write_file(tmp_path, 'report.html', b'x')
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.slow
@pytest.mark.parametrize('name', ['report.html', 'report.png'])
@pytest.mark.parametrize('dangling', [False, True])
def test_a_link_in_the_folder_is_replaced_not_followed(bag, tmp_path, name, dangling):
    precious = tmp_path / 'precious'
    if not dangling:
        precious.write_text('precious')
    output = tmp_path / 'report'
    output.mkdir()
    (output / name).symlink_to(precious)
    build_report(bag, output)
    assert not (output / name).is_symlink()
    assert precious.exists() is not dangling
    assert dangling or precious.read_text() == 'precious'
    assert {entry.name for entry in output.iterdir()} == {'report.html', 'report.png'}


@pytest.mark.parametrize('obstacle', ['file', 'folder', 'pipe'])
def test_what_cannot_be_written_is_said(tmp_path, obstacle):
    if obstacle == 'file':
        (tmp_path / 'out').write_text('x')
    else:
        (tmp_path / 'out' / 'report.html').mkdir(parents=True)
        if obstacle == 'pipe':
            (tmp_path / 'out' / 'report.html').rmdir()
            os.mkfifo(tmp_path / 'out' / 'report.html')
            # Replaced, as a link is: writing does not wait for a reader.
            assert write_file(tmp_path / 'out', 'report.html', b'x').read_bytes() == b'x'
            return
    with pytest.raises(RecordingError, match='cannot be written') as caught:
        write_file(tmp_path / 'out', 'report.html', b'x')
    assert caught.value.subject and caught.value.remedy
    if obstacle == 'folder':
        assert [entry.name for entry in (tmp_path / 'out').iterdir()] == ['report.html']


@pytest.mark.parametrize('folder', ['/proc/nothing', 'x' * 5000, '\x00'])
def test_a_folder_that_is_none_is_refused(tmp_path, folder):
    with pytest.raises(RecordingError, match='cannot be written'):
        write_file(tmp_path / folder, 'report.html', b'x')
