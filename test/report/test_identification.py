# SPDX-License-Identifier: Apache-2.0
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.dataset.dataset import dataset_from_arrays
from robot_dynamics.identification.friction import columns_of
from robot_dynamics.identification.outputs import make_outputs
from robot_dynamics.identification.rigid import EstimateSettings, identify
from robot_dynamics.model.modify import with_scaled_masses
from robot_dynamics.model.robot import Robot, effort_units
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.report.identification import (
    friction_table,
    identification_page,
    steady,
    summary_text,
    verdict_sentence,
)
from robot_dynamics.report.words import percent


@pytest.fixture(scope='module')
def result():
    """An arm of which the first joint hardly moves, two pieces of recording."""
    robot = Robot.from_urdf(resolve_robot('rpr'))
    t = np.arange(4000) / 200.0
    shape = np.array([0.0, 0.1, 0.4])
    angle = 2 * np.pi * np.array([0.3, 0.4, 0.5]) * t[:, None] + np.array([0.0, 1.0, 2.0])
    rate = 2 * np.pi * np.array([0.3, 0.4, 0.5])
    q, v, a = (shape * np.sin(angle), shape * rate * np.cos(angle),
               -shape * rate ** 2 * np.sin(angle))
    tau = (Dynamics(robot).inverse_dynamics(q, v, a) + 2.0 * np.tanh(v / 0.05) + v
           + 0.05 * np.random.default_rng(0).normal(size=q.shape))
    time = np.where(t > 12.0, t + 5.0, t)
    dataset = dataset_from_arrays(robot, time, q, tau)
    found = identify(dataset, with_scaled_masses(robot, 1.3), EstimateSettings(
        friction='coulomb', armature=False, gravity='known', cutoff=5.0, lag=0.0,
        coulomb_width=0.05, strength=10.0))
    return found, dataset, make_outputs(found, dataset, robot.to_urdf())


@pytest.fixture(scope='module')
def page(result):
    return identification_page(*result)


def embedded(page):
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
    return json.loads(text)


def test_the_page_is_whole_and_needs_nothing_else(outline_of, page, result):
    outline = outline_of(page)
    assert outline.open == []
    assert outline.loads == []
    assert '{{' not in page
    for name in re.findall(r"byId\('([a-z-]+)'\)", page):
        assert name in outline.ids, name
    text = ' '.join(outline.text)
    # The verdict stands first.
    assert text.index(verdict_sentence(result[0])) < text.index('Every joint')
    assert len(page) < 2_000_000


def test_missing_excitation_and_the_motion_that_gives_it_are_listed(outline_of, page, result):
    found = result[0]
    assert found.missing
    text = ' '.join(outline_of(page).text)
    for one in found.missing:
        assert one.motion in text
    assert f'all but {sum(len(one.parameters) for one in found.missing)}' in text
    assert f'swing {found.model.robot.joint_names[0]}' in text


def test_charts_say_what_was_measured(page, result):
    found, dataset, _ = result
    data = embedded(page)
    n = dataset.n
    assert data['joints'] == list(dataset.joint_names)
    assert data['units'] == ['N m', 'N', 'N m']
    efforts = data['efforts']
    held, fitted = efforts['models']
    assert (held['name'], fitted['name']) == ('held out', 'predicted')
    for curves in (efforts['measured'], *(one[name] for one in (held, fitted)
                                          for name in ('predicted', 'residual'))):
        assert len(curves) == n
        assert len(curves[0]) == len(efforts['time'])
    measured, predicted, residual = (np.array(curves, dtype=float) for curves in (
        efforts['measured'], fitted['predicted'], fitted['residual']))
    np.testing.assert_allclose(measured - predicted, residual, atol=2e-2)
    # The stretch that is drawn holds the worst three seconds, the gap as a hole in all lines.
    time = np.array(efforts['time'])
    assert time[0] <= found.worst[0][0] and time[-1] >= found.worst[0][0] + 3.0
    assert np.all(np.diff(time) > 0.0)
    (gap,) = np.flatnonzero(np.isnan(measured).any(axis=0))
    assert 12.0 < time[gap] < 17.0 and np.isnan(residual[:, gap]).all()
    assert time[gap - 1] > 10.0 and time[gap + 1] < 19.0
    for one in data['overview']['errors']:
        assert one.count(None) == 1
    spectra = data['spectra']
    assert [one['name'] for one in spectra['curves']] == ['effort', 'error']
    assert len(spectra['curves'][0]['density'][0]) == len(spectra['frequency'])
    assert len(data['overview']['errors']) == n
    for curve in data['friction']:
        assert len(curve['identified']) == len(curve['speed']) == len(curve['urdf'])
        assert len(curve['at']) == len(curve['measured'])
    # Coulomb friction of 2 and viscous of 1, as simulated.
    slide = data['friction'][1]
    assert slide['identified'][-1] == pytest.approx(2.0 + slide['speed'][-1], rel=0.05)
    assert slide['urdf'][-1] == pytest.approx(slide['identified'][-1], rel=0.05)
    near = int(np.argmax(slide['at']))
    assert slide['measured'][near] == pytest.approx(2.0 + slide['at'][near], rel=0.1)


def test_errors_of_the_reason_have_three_digits_however_small(result):
    found = result[0]
    assert f'{100 * found.validation.total:.3g} % error' in found.verdict_reasons[0]


def test_friction_has_its_units(outline_of, result):
    cells = outline_of(friction_table(result[0])).text
    cells_by = {name: cells[k + 3:k + 5] for k, name in enumerate(cells)}
    turns, slides, _ = result[0].model.robot.joint_names
    assert cells_by[f'{turns}/viscous'][0] == 'N m s/rad'
    assert cells_by[f'{slides}/viscous'][0] == 'N s/m'
    assert cells_by[f'{turns}/coulomb'] == ['N m', '0.05 rad/s']
    assert cells_by[f'{slides}/coulomb'] == ['N', '0.05 m/s']


def test_names_of_all_kinds_do_no_harm(outline_of, result):
    found, dataset, outputs = result
    name = '</script><b onload=x>'
    robot = replace(found.model.robot, name=name)
    odd = replace(found, model=replace(found.model, robot=robot))
    page = identification_page(odd, replace(dataset, source=name, counts={name: 3}), outputs)
    assert name not in page
    assert '&lt;/script&gt;' in page
    assert outline_of(page).open == []


def test_a_refused_urdf_is_reported_first(outline_of, result):
    found, dataset, outputs = result
    inertial = found.model.inertial.copy()
    inertial[0] = -1.0
    broken = replace(found, model=replace(found.model, inertial=inertial))
    made = make_outputs(broken, dataset, found.model.robot.to_urdf())
    page = identification_page(broken, dataset, made)
    text = ' '.join(outline_of(page).text)
    assert text.index('No URDF was written') < text.index('Every joint')
    assert '"notice"' not in identification_page(found, dataset, outputs).split('<main>')[1].split(
        '<noscript>')[0]


def test_the_words_for_a_terminal(result):
    found = result[0]
    lines = summary_text(found).splitlines()
    assert lines[0] == verdict_sentence(found)
    assert sum('N m' in line or ' N ' in line for line in lines) >= 3
    assert any(line.startswith('missing: ') and 'swing' in line for line in lines)
    assert len(lines) < 40
    assert lines[0].count('worst of all') == 1 and lines[0].count('joint') == 1
    off = replace(found.validation, relative=np.array([0.02, 0.21, 0.03]))
    assert verdict_sentence(replace(found, validation=off, verdict='fair')).endswith(
        'worst of all ' + found.model.robot.joint_names[1] + ' with 21.0\N{NO-BREAK SPACE}%.')
    poor = replace(found, verdict='poor')
    assert verdict_sentence(poor).startswith('Not to be used')
    assert effort_units(found.model.robot) == ('N m', 'N', 'N m')
    assert [percent(x) for x in (0.0012, 0.034, 1.5)] == ['0.12\N{NO-BREAK SPACE}%',
                                                          '3.4\N{NO-BREAK SPACE}%',
                                                          '150\N{NO-BREAK SPACE}%']


@pytest.mark.parametrize(('term', 'there'), [
    ('dahl', 1.0), ('load_dahl', 7.0), ('load', 7.0), ('viscous', 2.0), ('coulomb', 1.0),
    ('offset', 1.0)])
def test_friction_at_a_steady_speed(term, there):
    """What a long motion at one speed ends with."""
    speed = np.array([2.0])
    assert steady(term, 0.001, speed, -7.0)[0] == pytest.approx(there)
    if term not in ('load', 'load_dahl'):
        x = np.linspace(0.0, 1.0, 500)
        at = columns_of(term, (0.001,), x, np.full(500, 2.0), np.zeros(500))[-1, 0]
        assert at == pytest.approx(there, abs=1e-9)
