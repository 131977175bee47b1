# SPDX-License-Identifier: Apache-2.0
import json

import numpy as np
import pytest

from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.friction import (
    FAMILIES,
    LENGTHS,
    TERMS,
    check_terms,
    columns_of,
    options_of,
)


def swing(count=2000):
    t = np.linspace(0.0, 10.0, count)
    return 0.5 * np.sin(t), 0.5 * np.cos(t), -0.5 * np.sin(t)


@pytest.mark.parametrize('term', TERMS)
def test_every_term_has_a_column(term):
    q, v, a = swing()
    options = options_of(term, 0.3)
    columns = columns_of(term, options, q, v, a, np.ones_like(q))
    assert columns.shape == (len(q), len(options))
    assert np.all(np.isfinite(columns))
    assert np.any(columns)


def test_presliding_follows_its_equation():
    """The exact step against a fine integration of dz/dt = |u| (sign u - z) / length."""
    q, v, _ = swing(400)
    z, fine = 0.0, 200
    for k in range(1, len(q)):
        for step in np.full(fine, (q[k] - q[k - 1]) / fine):
            z += abs(step) * (np.sign(step) - z) / LENGTHS[2]
    column = columns_of('dahl', LENGTHS, q, v, v)
    assert column[-1, 2] == pytest.approx(z, abs=2e-3)
    # A slide of many lengths is Coulomb friction.
    sliding = np.flatnonzero(np.abs(v) > 0.45)[1:]
    np.testing.assert_allclose(column[sliding, 0], np.sign(v[sliding]), atol=1e-6)


def test_standstill_keeps_the_presliding_force():
    q = np.concatenate([np.linspace(0, 0.01, 50), np.full(50, 0.01)])
    z = columns_of('dahl', (0.002,), q, np.gradient(q), q)[:, 0]
    np.testing.assert_array_equal(z[50:], z[50])
    assert z[50] == pytest.approx(1 - np.exp(-5))


def test_a_dead_band_saves_coulomb_friction(cases, table):
    numbers = json.loads((cases / 'ident_coulomb' / 'expected.json').read_text())['numbers']
    data = table(cases / 'ident_coulomb' / 'slow.csv')
    v, tau = data['dq_measured'], data['tau']

    def fitted(rows):
        W = np.concatenate([columns_of(term, (0.0,), v, v, v) for term in ('sign', 'viscous')],
                           axis=1)[rows]
        return np.linalg.lstsq(W, tau[rows], rcond=None)[0]
    np.testing.assert_allclose(fitted(np.ones(len(v), bool)), numbers['naive_all_samples'],
                               atol=2e-3)
    coulomb, viscous = fitted(np.abs(v) > 0.05)
    np.testing.assert_allclose([coulomb, viscous], numbers['with_deadband_0p05'], atol=2e-3)
    assert abs(coulomb - numbers['true']['Fc']) < 0.05 * numbers['true']['Fc']


def test_names():
    for name, terms in FAMILIES.items():
        assert check_terms(name) == terms
    with pytest.raises(ParameterError, match='choose among'):
        check_terms('sticky')
    with pytest.raises(ParameterError, match='choose among'):
        check_terms(['sticky'])
    with pytest.raises(ParameterError, match='twice'):
        check_terms(['dahl', 'dahl'])
    with pytest.raises(ParameterError, match='load'):
        columns_of('load', (0.1,), *swing())
