# SPDX-License-Identifier: Apache-2.0
import json
import re
import struct

import numpy as np
import pytest

from robot_dynamics.errors import FileError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.report.recording import read_recording
from robot_dynamics.report.run_charts import Skeleton, run_charts
from robot_dynamics.report.run_page import Story, build_report, run_page
from robot_dynamics.report.summary import summarize, unit_of, verdict


@pytest.fixture(scope='module')
def arm7():
    return Robot.from_urdf(resolve_robot('arm7'))


@pytest.fixture(scope='module')
def page(run, arm7):
    story = Story('A <story> & more.', [('robot', 'arm7 </script>')], {'link7/m': 2.5})
    return run_page(run, summarize(run), arm7, story)


def embedded(page):
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
    return json.loads(text)


def test_the_page_is_whole_and_needs_nothing_else(outline_of, page):
    outline = outline_of(page)
    assert outline.open == []
    assert outline.loads == []
    assert len(outline.ids) == len(set(outline.ids))
    assert not re.search(r'https?://|@import|url\(', page)
    assert '{{' not in page


def test_scripts_only_use_elements_that_are_there(outline_of, page):
    ids = outline_of(page).ids
    for name in re.findall(r"(?:byId|getElementById)\('([\w-]+)'\)", page):
        assert name in ids, name


def test_colours_are_defined_for_light_and_dark(page):
    light, dark = (set(re.findall(r'(--[\w-]+):', part)) for part in
                   re.search(r':root \{(.*?)\}\s*:root\[data-theme="dark"\] \{(.*?)\}', page,
                             re.S).groups())
    assert light == dark
    used = set(re.findall(r'var\((--[\w-]+)\)', page)) - {'--'}
    assert {name for name in used if '$' not in name} <= light


def test_the_verdict_comes_first_and_texts_are_escaped(outline_of, page, run):
    words = ' '.join(' '.join(outline_of(page).text).split())
    assert words.index(verdict(summarize(run))) < words.index('Every joint')
    assert 'A <story> & more.' in words
    assert 'arm7 </script>' in words


def test_embedded_numbers_are_those_of_the_run(page, run):
    data = embedded(page)
    assert data['joints'] == list(run.states.names)
    assert data['adaptation'] == pytest.approx(6.0, abs=0.01)
    assert data['estimates']['names'][6] == 'link7'
    assert data['estimates']['truth'] == [None] * 6 + [2.5]
    assert data['estimates']['values'][6][-1] == pytest.approx(
        run.estimates.values[-1, 60], abs=2e-3)
    last = np.array([joint[-1] for joint in data['error']['joints']])
    # The last quarter of a second holds half a cycle's worth of the sine squared.
    np.testing.assert_allclose(last / last[0], np.arange(1, 8), rtol=1e-3)
    for chart in ('error', 'torque', 'estimates'):
        assert all(np.isfinite(data[chart]['time']))


def test_the_arm_moves_as_our_kinematics_say(run, arm7):
    frames = run_charts(run, summarize(run), arm7, {})['arm']
    index = 106
    time = frames['time'][index]
    k = np.searchsorted(run.states.time, time, side='right') - 1
    expected = 1e3 * Skeleton(arm7).points(run.states.position[k:k + 1])[0]
    assert np.abs(np.array(frames['points'][index]) - expected.ravel()).max() <= 0.5
    # Before adaptation the desired pose is visibly elsewhere.
    away = np.abs(np.array(frames['desired'][index]) - frames['points'][index]).max()
    assert away > 5.0


def test_a_run_without_robot_has_no_arm(outline_of, run):
    page = run_page(run, summarize(run), None)
    assert embedded(page)['arm'] is None
    assert outline_of(page).open == []


def test_units_follow_the_joints(arm7):
    assert unit_of(arm7) == unit_of(None) == 'mrad'
    assert unit_of(Robot.from_urdf(resolve_robot('rpr'))) == 'mrad or mm'


@pytest.mark.slow
@pytest.mark.parametrize('options', [{}, {'with_description': False}, {'adapts': False}])
def test_build_leaves_page_and_picture(make_bag, tmp_path, options):
    report = build_report(make_bag(**options), tmp_path / 'out')
    assert report.page.read_text().startswith('<!doctype html>')
    data = report.picture.read_bytes()
    assert data.startswith(b'\x89PNG')
    width, height = struct.unpack('>II', data[16:24])
    assert width > 1200 and height > 600
    assert len(data) > 30_000


@pytest.mark.slow
def test_where_nothing_is_learnt_nothing_is_called_after(outline_of, make_bag, arm7):
    run = read_recording(make_bag(adapts=False))
    words = ' '.join(' '.join(outline_of(run_page(run, summarize(run), arm7)).text).split())
    assert 'Every joint, at first and at the end' in words
    assert 'RMS error at the end' in words
    assert 'smaller' not in words


@pytest.mark.slow
@pytest.mark.parametrize('name', ['report.html', 'report.png'])
def test_a_report_replaces_only_reports(bag, tmp_path, name):
    for _ in range(2):
        build_report(bag, tmp_path)
    (tmp_path / name).write_text('mine')
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(FileError, match=f'{name} was changed after robot_dynamics wrote it'):
        build_report(bag, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
