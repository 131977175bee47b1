# SPDX-License-Identifier: Apache-2.0
"""Damaged descriptions: one of our errors or a robot, soon, and nothing on stderr."""

import random
import re
import warnings
from functools import partial

import pytest

from robot_dynamics.errors import ModelError
from robot_dynamics.model.robot import Robot

MUTATIONS = 800
LONGEST = 2.0

FRAGMENTS = [text.encode('utf-8') for text in (
    'nan', 'inf', '-inf', '1e400', '1e308', '-1e308', '1e-320', '9e11', '-9e11', '', ' ', '0',
    '-1', 'abc', '1,5', '1_0', '１', '0x10', '0 0 0', '1 2', '0 0 0 0', '${x}', '$(find y)',
    'fixed', 'floating', 'planar', 'continuous', 'prismatic', 'revolute', 'unknown', 'xacro:',
    '<', '>', '&amp;', '&foo;', '"', "'", '\x00', '\ufeff', '<!--', '-->', '<![CDATA[', ']]>',
    '<!DOCTYPE robot>', '<!DOCTYPE a [<!ENTITY b "c">]>',
    '<?xml version="1.0" encoding="utf-16"?>',
    '<robot name="r">', '</robot>', '<link name="base"/>', '<limit lower="1" upper="1"/>',
    '<mimic joint="j1" multiplier="1e8" offset="3"/>')] + [b'\xff', b'\xef\xbb\xbf']


def replaced(rng, text, pattern, choices):
    """Replace one match of a pattern by a choice or by another match."""
    matches = list(re.finditer(pattern, text, re.DOTALL))
    if not matches:
        return text
    match = rng.choice(matches)
    new = rng.choice(choices) if choices and rng.random() < 0.6 else rng.choice(matches).group()
    return text[:match.start()] + new + text[match.end():]


def inserted(rng, text, new):
    place = rng.randrange(len(text) + 1)
    return text[:place] + new + text[place:]


def damaged(rng, text):
    for _ in range(rng.choice((1, 1, 1, 1, 2, 4))):
        kind = rng.randrange(7)
        if kind == 0 and text:
            place = rng.randrange(len(text))
            text = text[:place] + bytes([rng.randrange(256)]) + text[place + 1:]
        elif kind == 1:
            text = inserted(rng, text, rng.choice(FRAGMENTS))
        elif kind in (2, 3):
            text = replaced(rng, text, rb'(?<==")[^"<>]*(?=")', FRAGMENTS)
        elif kind == 4:
            text = replaced(rng, text, rb'<[^<>]*/>', [b''])
        elif kind == 5:
            text = replaced(rng, text, rb'<(link|joint|inertial)\b.*?</\1>', [b''])
        else:
            text = replaced(rng, text, rb'[A-Za-z_]+', [])
    return text[:rng.randrange(len(text))] if text and rng.random() < 0.05 else text


@pytest.fixture(scope='module')
def originals(cases):
    return [path.read_bytes() for path in sorted(cases.glob('urdf_*/*'))
            if path.suffix in ('.urdf', '.xacro')]


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(4))
def test_damaged_descriptions(originals, capfd, within, seed):
    rng = random.Random(seed)
    robots = refusals = 0
    for _ in range(MUTATIONS // 4):
        source = damaged(rng, rng.choice(originals))
        if rng.random() < 0.3:
            source = '<' + source.decode('utf-8', 'surrogateescape').lstrip('\ufeff<')
        names = re.findall(rb'<joint name="([^"]*)"', source) if isinstance(source, bytes) else []
        arguments = {}
        if names and rng.random() < 0.3:
            name = rng.choice(names).decode('utf-8', 'replace')
            arguments = rng.choice(({'joints': [name]}, {'locked': {name: 0.1}}))
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            try:
                robot = within(LONGEST, partial(Robot.from_urdf, source, **arguments))
                assert robot.n > 0
                robots += 1
            except ModelError as error:
                assert error.subject
                assert error.remedy
                assert len(str(error)) < 2000
                refusals += 1
    # Both ways out are taken.
    assert robots >= 10
    assert refusals >= 50
    assert capfd.readouterr() == ('', '')


@pytest.mark.parametrize('value', ['1' * 2_000_000, '0.' + '0' * 2_000_000 + '1', '0 ' * 1_000_000,
                                   '1e' + '9' * 2_000_000])
def test_endless_values(make_urdf, within, value):
    def refused():
        with pytest.raises(ModelError) as caught:
            Robot.from_urdf(make_urdf(f'j revolute a b|<origin xyz="{value}"/>'))
        return caught

    caught = within(LONGEST, refused)
    assert len(str(caught.value)) < 300


def test_star_of_roots_and_long_chain_of_mimics(make_urdf, within):
    count = 2000
    chain = [f'j{i} revolute k{i} k{i + 1}|' + (f'<mimic joint="j{i + 1}"/>' if i < count else '')
             for i in range(count + 1)]

    def refused():
        with pytest.raises(ModelError, match='500 moving joints'):
            Robot.from_urdf(make_urdf(*chain))
        with pytest.raises(ModelError, match='4000 links without parent'):
            Robot.from_urdf('<robot>' + ''.join(f'<link name="r{i}"/>' for i in range(4000))
                            + '</robot>')

    within(2.0 * LONGEST, refused)
