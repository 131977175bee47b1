# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.errors import ModelError
from robot_dynamics.model.urdf_document import MAX_BYTES, read_source

TEXT = '<?xml version="1.0" encoding="{}"?>\n<robot name="bras_été"/>'


@pytest.mark.parametrize('encoding', ['utf-8', 'utf-8-sig', 'utf-16', 'utf-32', 'iso-8859-1',
                                      'windows-1252', 'iso-8859-15'])
def test_encodings(encoding):
    text = TEXT.format('utf-8' if encoding == 'utf-8-sig' else encoding)
    assert read_source(text.encode(encoding)).text == text


@pytest.mark.parametrize('encoding', ['utf-16-le', 'utf-16-be'])
def test_utf16_without_mark(encoding):
    text = '<robot name="bras_été"/>'
    assert read_source(text.encode(encoding)).text == text


def test_multibyte_encoding():
    text = '<?xml version="1.0" encoding="GB2312"?><robot name="机械臂"/>'
    assert read_source(text.encode('gb2312')).text == text


def test_mark_wins_over_declaration():
    text = TEXT.format('iso-8859-1')
    assert read_source(text.encode('utf-8-sig')).text == text


def test_declaration_of_utf16_in_bytes_of_utf8():
    text = TEXT.format('utf-16')
    assert read_source(text.encode('utf-8')).text == text


def test_string_keeps_its_characters_whatever_it_declares():
    text = TEXT.format('iso-8859-1')
    assert read_source('\ufeff' + text).text == text


class Located:
    """A path that is no `pathlib.Path`."""

    def __init__(self, path):
        self._path = path

    def __fspath__(self):
        return str(self._path)


def test_path_as_string_and_as_path(tmp_path):
    file = tmp_path / 'arm.urdf'
    file.write_text('<robot name="é"/>', encoding='utf-8')
    for source in (file, str(file), Located(file)):
        read = read_source(source)
        assert read.text == '<robot name="é"/>'
        assert read.path == file
        assert read.label == str(file)


@pytest.mark.parametrize('source, words', [
    ('', 'is empty'),
    ('  \n', 'is empty'),
    (b'', 'is empty'),
    (b' \n', 'is empty'),
    ('no/such/arm.urdf', 'does not exist'),
    ('a\x00b', 'does not exist'),
    ('x' * 5000, 'cannot be read'),
    (None, 'got a value of type NoneType'),
    (np.zeros(3), 'got a value of type ndarray'),
    (b'<robot name="\xe9"/>', 'is not valid utf-8 text (byte 13)'),
    (b'<?xml version="1.0" encoding="klingon"?><robot/>', "unknown encoding 'klingon'"),
    (b'<?xml version="1.0" encoding="punycode"?><robot/>', "unknown encoding 'punycode'"),
    (b'<?xml version="1.0" encoding="zip"?><robot/>', "unknown encoding 'zip'"),
    (b'<' + b' ' * MAX_BYTES, 'is larger than 5 MiB'),
    ('<' + ' ' * MAX_BYTES, 'is larger than 5 MiB'),
])
def test_refusals_say_what_to_do(source, words):
    with pytest.raises(ModelError) as caught:
        read_source(source)
    assert words in caught.value.message
    assert caught.value.remedy
    assert len(str(caught.value)) < 400


def test_directory_and_device_are_not_read(tmp_path):
    for source in (tmp_path, '/dev/zero'):
        with pytest.raises(ModelError, match='not a regular file'):
            read_source(source)


def test_large_file_is_not_read_whole(tmp_path):
    file = tmp_path / 'large.urdf'
    with file.open('wb') as stream:
        stream.seek(20 * MAX_BYTES)
        stream.write(b'>')
    with pytest.raises(ModelError, match='larger than'):
        read_source(file)
