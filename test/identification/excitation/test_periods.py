# SPDX-License-Identifier: Apache-2.0
import json

import numpy as np
import pytest

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.log import Log
from robot_dynamics.identification.excitation.periods import (
    Periods,
    average,
    read_periods,
)

FIRST, DURATION, COUNT = 10**18 + 250_000_000, 3.0, 8
NOISE = (1e-4, 1e-3, 0.2)


def clean(t):
    w = 2 * np.pi / DURATION
    q = np.stack([np.sin(w * t), np.cos(2 * w * t)], axis=1)
    v = np.stack([w * np.cos(w * t), -2 * w * np.sin(2 * w * t)], axis=1)
    return q, v, 5.0 * q


def recorded(seed=0, pause=None):
    """A log that begins before the periods and ends after them, with jitter and noise."""
    random = np.random.default_rng(seed)
    t = np.arange(-0.5, COUNT * DURATION + 0.5, 0.005)
    t = t + random.uniform(-5e-4, 5e-4, len(t))
    if pause is not None:
        t = t[(t < pause) | (t > pause + 0.3)]
    values = [x + s * random.normal(size=x.shape)
              for x, s in zip(clean(t), NOISE, strict=True)]
    return Log(('a', 'b'), FIRST + np.round(t * 1e9).astype(np.int64), *values)


def test_an_average_has_less_noise_and_says_how_much_there_was():
    found = average(recorded(), Periods(FIRST, DURATION, COUNT))
    assert found.count == COUNT
    t = (found.log.stamps - FIRST) * 1e-9
    assert t[0] == 0.0 and t[-1] < DURATION and len(t) == pytest.approx(600, abs=3)
    _, _, effort = clean(t)
    left = np.std(found.log.effort - effort, axis=0)
    # Interpolation averages neighbours a little, too.
    assert np.all(left < 1.1 * NOISE[2] / np.sqrt(COUNT))
    assert np.all(left > 0.5 * NOISE[2] / np.sqrt(COUNT))
    for deviation, noise in zip(found.deviations, NOISE, strict=True):
        assert np.all((deviation > 0.6 * noise) & (deviation < 1.5 * noise))


def test_periods_with_pauses_are_left_out():
    found = average(recorded(pause=3.7), Periods(FIRST, DURATION, COUNT))
    assert found.count == COUNT - 1


def test_rows_without_numbers_out_of_order_and_twice_do_no_harm():
    log = recorded()
    random = np.random.default_rng(3)
    shuffled = random.permutation(log.count)
    position = log.position.copy()
    position[::50] = np.nan
    broken = Log(log.names, np.concatenate([log.stamps[shuffled], log.stamps[:100]]),
                 *(np.concatenate([x[shuffled], x[:100]])
                   for x in (position, log.velocity, log.effort)))
    found = average(broken, Periods(FIRST, DURATION, COUNT))
    t = (found.log.stamps - FIRST) * 1e-9
    np.testing.assert_allclose(found.log.position, clean(t)[0], atol=1e-3)


@pytest.mark.parametrize('periods', [Periods(FIRST, DURATION, 1),
                                     Periods(FIRST + 10**15, DURATION, COUNT)])
def test_less_than_two_periods_are_refused(periods):
    with pytest.raises(RecordingError, match='complete period'):
        average(recorded(), periods)


def test_an_empty_log_is_refused():
    nothing = np.zeros((0, 2))
    with pytest.raises(RecordingError, match='no rows'):
        average(Log(('a', 'b'), np.zeros(0, np.int64), nothing, nothing, nothing),
                Periods(FIRST, DURATION, 2))


def write_states(path, texts):
    rosbag2 = pytest.importorskip('rosbags.rosbag2')
    from rosbags.typesys import Stores, get_typestore
    store = get_typestore(Stores.LATEST)
    String = store.types['std_msgs/msg/String']
    with rosbag2.Writer(path, version=8) as writer:
        connection = writer.add_connection('/left/excitation/state', String.__msgtype__,
                                           typestore=store)
        for k, text in enumerate(texts):
            writer.write(connection, k, store.serialize_cdr(String(text), String.__msgtype__))


def state(stage, period, first=FIRST):
    return json.dumps({'stage': stage, 'period': period, 'periods': 3, 'first_period': first,
                       'duration': DURATION, 'reason': ''})


@pytest.mark.parametrize(('last', 'count'), [(('done', 3), 3), (('stopped', 3), 2),
                                             (('playing', 2), 1)])
def test_what_the_node_said_of_its_periods(tmp_path, last, count):
    write_states(tmp_path / 'bag', [state('waiting', 0, 0), state('approaching', 0),
                                    state('playing', 1), state(*last)])
    assert read_periods(tmp_path / 'bag') == Periods(FIRST, DURATION, count)


@pytest.mark.parametrize('texts', [
    [state('waiting', 0, 0)], [state('playing', 1)], ['{'], ['[]'], ['{"first_period": "x"}']])
def test_a_recording_without_periods_is_refused(tmp_path, texts):
    write_states(tmp_path / 'bag', texts)
    with pytest.raises(RecordingError):
        read_periods(tmp_path / 'bag')
