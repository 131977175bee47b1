# SPDX-License-Identifier: Apache-2.0
from dataclasses import fields, replace

import numpy as np
import pytest

from robot_dynamics.control.feedback.gains import (
    SLOWEST,
    AdaptationGains,
    FeedbackGains,
    check_gains,
    dead_time,
    largest_frequency,
)
from robot_dynamics.errors import ControlError, ParameterError

POSITIVE = ('frequency', 'payload', 'spread', 'term_frequency', 'composite_cutoff',
            'coulomb_velocity', 'largest_payload', 'longest_step', 'largest_sliding')


@pytest.mark.parametrize('value', [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize(('gains', 'name'), [(FeedbackGains, 'bandwidth'),
                                             (FeedbackGains, 'error_rate'),
                                             *((AdaptationGains, name) for name in POSITIVE)])
def test_a_gain_that_is_not_positive_is_refused(gains, name, value):
    with pytest.raises(ParameterError, match=name):
        gains(**{name: value})


@pytest.mark.parametrize('value', [-1e-9, np.nan, np.inf])
@pytest.mark.parametrize(('gains', 'name'), [(FeedbackGains, 'position_gain'),
                                             (AdaptationGains, 'composite'),
                                             (AdaptationGains, 'leakage'),
                                             (AdaptationGains, 'dead_zone')])
def test_a_gain_that_may_be_zero_may_not_be_negative(gains, name, value):
    assert getattr(gains(**{name: 0.0}), name) == 0.0
    with pytest.raises(ParameterError, match=name):
        gains(**{name: value})


@pytest.mark.parametrize('name', ['frequency', 'term_frequency'])
@pytest.mark.parametrize('value', [5e-324, 1e-200, 9e-7])
def test_a_frequency_whose_square_vanishes_is_refused(name, value):
    with pytest.raises(ParameterError, match=f'{name} must be') as caught:
        AdaptationGains(**{name: value})
    assert 'disable adaptation' in caught.value.remedy
    assert getattr(AdaptationGains(**{name: SLOWEST}), name) == SLOWEST


@pytest.mark.parametrize('name', ['payload', 'spread', 'largest_payload'])
def test_a_share_that_is_none_is_refused(name):
    with pytest.raises(ParameterError, match=rf'{name} must not be above 1e\+06, got 1e\+200'):
        AdaptationGains(**{name: 1e200})
    AdaptationGains(**{name: 100.0})


def test_every_gain_is_checked():
    names = {entry.name for entry in fields(AdaptationGains)}
    assert names == {*POSITIVE, 'composite', 'leakage', 'dead_zone', 'terms', 'law',
                     'coordinates', 'rest_after', 'rest_sliding'}


@pytest.mark.parametrize('name', ['rest_after', 'rest_sliding'])
def test_a_bound_of_rest_may_be_infinite_but_not_negative(name):
    assert getattr(AdaptationGains(**{name: np.inf}), name) == np.inf
    for value in (-1e-9, np.nan):
        with pytest.raises(ParameterError, match=name):
            AdaptationGains(**{name: value})


@pytest.mark.parametrize('name', ['sigma', '', ['natural'], None])
def test_an_unknown_law_is_refused(name):
    with pytest.raises(ParameterError, match='law must be one of'):
        AdaptationGains(law=name)


def test_coordinates_are_links_or_base_and_a_natural_law_knows_links_alone():
    with pytest.raises(ParameterError, match='coordinates'):
        AdaptationGains(coordinates='dh')
    with pytest.raises(ParameterError, match='whole bodies'):
        AdaptationGains(coordinates='base', law='natural')
    assert AdaptationGains(law='gradient').composite_weight == 0.0
    assert AdaptationGains(composite=1.5).composite_weight == 1.5


def test_an_unknown_term_is_refused():
    with pytest.raises(ParameterError, match='stiction is not a joint term'):
        AdaptationGains(terms=('viscous', 'stiction'))


def phase_margin(bandwidth, frequency, tau):
    """Phase of (wD p + wA^2) / p^2 exp(-p tau) above -180 degrees where its gain is one."""
    w = np.geomspace(1e-2, 1e5, 200001)
    p = 1j * w
    loop = (bandwidth * p + frequency**2) / p**2 * np.exp(-p * tau)
    crossing = np.argmin(np.abs(np.log(np.abs(loop))))
    return np.arctan(bandwidth * w[crossing] / frequency**2) - w[crossing] * tau


@pytest.mark.parametrize('bandwidth', [30.0, 60.0, 120.0])
@pytest.mark.parametrize('tau', [1e-4, 1e-3])
def test_the_largest_frequency_is_where_the_loop_loses_its_phase_margin(bandwidth, tau):
    limit = largest_frequency(bandwidth, 2.0 * tau, 0.0)
    assert phase_margin(bandwidth, 0.9 * limit, tau) > 0.0
    assert phase_margin(bandwidth, 1.1 * limit, tau) < 0.0


def test_dead_time_is_half_a_period_and_the_delay():
    assert dead_time(0.002, 0.001) == pytest.approx(0.002)


@pytest.mark.parametrize('period', [0.001, 0.002, 0.004, 0.01])
def test_default_gains_are_fit_for_the_usual_rates(period):
    check_gains(FeedbackGains(), AdaptationGains(), period=period, delay=0.001)


def test_a_bandwidth_too_high_for_the_period_is_refused_with_the_one_that_is_not():
    with pytest.raises(ControlError, match='bandwidth is 60 1/s, too large') as caught:
        check_gains(FeedbackGains(), None, period=0.02, delay=0.0)
    assert caught.value.remedy == 'set it to 50 1/s or less'
    check_gains(FeedbackGains(bandwidth=50.0), None, period=0.02, delay=0.0)


def test_an_error_rate_too_high_for_the_delay_is_refused_with_the_one_that_is_not():
    with pytest.raises(ControlError, match='error_rate is 300 1/s, too large') as caught:
        check_gains(FeedbackGains(error_rate=300.0), None, period=0.002, delay=0.001)
    assert caught.value.remedy == 'set it to 150 1/s or less'
    check_gains(FeedbackGains(error_rate=150.0), None, period=0.002, delay=0.001)


def test_terms_that_are_learnt_too_fast_together_are_refused_with_what_is_not():
    fast = AdaptationGains(terms=('armature', 'offset'), term_frequency=130.0)
    with pytest.raises(ControlError, match='term_frequency is 130 rad/s for each of 2') as caught:
        check_gains(FeedbackGains(), fast, period=0.002, delay=0.001)
    # Half of sqrt((omega_D / tau - w_A^2) / 2).
    assert caught.value.remedy == 'set it to 57 rad/s or less'
    check_gains(FeedbackGains(), replace(fast, term_frequency=57.0), period=0.002, delay=0.001)
    check_gains(FeedbackGains(), replace(fast, terms=()), period=0.002, delay=0.001)


def test_whole_numbers_are_gains_like_any_other():
    gains = FeedbackGains(60, 12, 1)
    assert gains == FeedbackGains(60.0, 12.0, 1.0)
    assert all(isinstance(value, float) for value in (gains.bandwidth, gains.error_rate,
                                                      gains.position_gain))


def test_an_adaptation_too_fast_for_the_delay_is_refused_with_one_that_is_not():
    with pytest.raises(ControlError, match='frequency is 200 rad/s, beyond') as caught:
        check_gains(FeedbackGains(), AdaptationGains(frequency=200.0), period=0.002, delay=0.001)
    assert caught.value.remedy == 'set it to 52 to 87 rad/s'
    check_gains(FeedbackGains(), AdaptationGains(frequency=87.0), period=0.002, delay=0.001)


def test_a_prediction_error_corrected_too_fast_is_refused_with_what_is_not():
    with pytest.raises(ControlError, match='composite is 8, too large for a period') as caught:
        check_gains(FeedbackGains(), AdaptationGains(composite=8.0), period=0.005, delay=0.001)
    # A share of composite w_A^2 / omega_D T = 1.5 a sample.
    assert caught.value.remedy == 'set it to 5 or less'
    check_gains(FeedbackGains(), AdaptationGains(composite=5.0), period=0.005, delay=0.001)


def test_states_too_far_apart_to_be_learnt_from_at_all_are_refused_with_what_is_not():
    slow = FeedbackGains(bandwidth=40.0, error_rate=8.0)
    with pytest.raises(ControlError, match=r'longest_step is 0\.015 s, too short for '
                                           r'states that come every 0\.02 s') as caught:
        check_gains(slow, AdaptationGains(frequency=20.0, composite=1.0), period=0.02, delay=0.001)
    assert 'set it to 0.04 s' in caught.value.remedy
    for longest_step in (0.02, 0.04):
        check_gains(slow, AdaptationGains(frequency=20.0, composite=1.0,
                                          longest_step=longest_step), period=0.02, delay=0.001)
    check_gains(slow, None, period=0.02, delay=0.001)


@pytest.mark.parametrize(('period', 'delay'), [(0.0, 0.0), (-0.002, 0.0), (np.nan, 0.0),
                                               (0.002, -0.001), (0.002, np.nan)])
def test_times_that_are_none_are_refused(period, delay):
    with pytest.raises(ParameterError):
        check_gains(FeedbackGains(), None, period=period, delay=delay)
