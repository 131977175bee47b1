# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from robot_dynamics.errors import RecordingError
from robot_dynamics.report.recording import read_recording
from robot_dynamics.report.run_page import run_page
from robot_dynamics.report.summary import first_change, ratio, summarize, table, verdict
from robot_dynamics.report.words import figures


def test_errors_before_and_after(run):
    summary = summarize(run, period=5.0)
    # A sine of amplitude a has an RMS of a / sqrt(2).
    amplitudes = np.arange(1, 8) / math.sqrt(2)
    np.testing.assert_allclose(summary.before.rms, 0.02 * amplitudes, rtol=1e-3)
    np.testing.assert_allclose(summary.after.rms, 0.001 * amplitudes, rtol=1e-3)
    assert summary.improvement == pytest.approx(20.0, rel=1e-3)
    assert summary.before.total == pytest.approx(
        0.02 * math.sqrt(np.mean(np.arange(1, 8) ** 2) / 2), rel=1e-3)


def test_windows_end_where_adaptation_begins_and_at_the_end(run):
    summary = summarize(run, period=5.0)
    # The estimates move one sample after the switch at 6 s.
    assert summary.adaptation_start == pytest.approx(6.0, abs=0.011)
    assert summary.before.window.length == pytest.approx(5.0)
    assert summary.before.window.end == summary.adaptation_start
    assert summary.after.window.length == pytest.approx(5.0)
    assert summary.after.window.end == pytest.approx(12.0, abs=0.02)


def test_windows_shrink_to_what_there_is(run):
    summary = summarize(run, period=50.0)
    assert summary.before.window.length == pytest.approx(6.0, abs=0.02)
    assert summary.after.window.length == pytest.approx(summary.before.window.length, abs=0.02)


def test_the_loop(run):
    loop = summarize(run).loop
    assert loop.state_rate == pytest.approx(100.0)
    assert loop.command_rate == pytest.approx(100.0)
    assert loop.worst_period == pytest.approx(0.01)
    assert loop.latency_median == pytest.approx(0.0004)
    assert loop.latency_worst == pytest.approx(0.0031)


@pytest.mark.slow
def test_missing_commands_and_timing_show(make_bag):
    loop = summarize(read_recording(make_bag(commands_every=2, with_timing=False))).loop
    assert loop.command_rate == pytest.approx(50.0, rel=1e-3)
    assert math.isnan(loop.latency_worst)


@pytest.mark.slow
@pytest.mark.parametrize('options', [{'latency': -0.019}, {'with_timing': False}])
def test_an_unknown_latency_is_reported_as_unknown(make_bag, options):
    run = read_recording(make_bag(**options))
    summary = summarize(run)
    assert 'latency          unknown' in table(summary)
    page = run_page(run, summary, None)
    assert 'command published: unknown' in page and 'median latency' not in page


@pytest.mark.slow
def test_without_adaptation_halves_are_compared(make_bag):
    run = read_recording(make_bag(adapts=False))
    assert first_change(run) is None
    summary = summarize(run)
    assert summary.adaptation_start is None
    assert summary.before.window.end == pytest.approx(6.0, abs=0.02)
    assert verdict(summary).startswith('Without adaptation')


@pytest.mark.slow
@pytest.mark.parametrize('switch', [0.0, 0.5])
def test_a_controller_that_adapts_from_the_start_is_compared_with_its_first_seconds(
        make_bag, switch):
    run = read_recording(make_bag(switch=switch))
    summary = summarize(run)
    assert summary.adapts_from_start
    assert summary.before.window.start == 0.0
    assert summary.before.window.length == pytest.approx(6.0, abs=0.02)
    assert summary.after.window.end == pytest.approx(12.0, abs=0.02)
    assert verdict(summary).startswith('Adapting from the start, the arm follows')
    assert 'in the first 6 s' in verdict(summary)


def test_with_a_time_before_adaptation_it_does_not_adapt_from_the_start(run):
    assert not summarize(run).adapts_from_start


def test_a_short_run_is_refused(make_bag):
    with pytest.raises(RecordingError, match=r'0\.5 s beside the start of adaptation; run longer'):
        summarize(read_recording(make_bag(seconds=6.5)))
    # Without adaptation its start is not mentioned.
    with pytest.raises(RecordingError, match=r'of tracking or more, got 1\.5 s; run longer'):
        summarize(read_recording(make_bag(seconds=1.5, adapts=False)))


@pytest.mark.slow
def test_a_run_that_became_worse_is_called_so(make_bag):
    summary = summarize(read_recording(make_bag(after=0.04)))
    assert 'did not improve' in verdict(summary)


@pytest.mark.slow
def test_interruptions_are_counted_and_reported(make_bag):
    modes = ((-2.0, 'holding'), (0.0, 'tracking'), (4.0, 'safe'), (4.5, 'holding'),
             (5.0, 'tracking'), (7.0, 'safe'), (8.0, 'tracking'), (20.0, 'stopped'))
    summary = summarize(read_recording(make_bag(modes=modes)))
    assert summary.interruptions == 2
    assert table(summary).splitlines()[-1].startswith('The controller stopped tracking 2 times')


def test_a_run_that_was_not_interrupted_says_nothing(run):
    assert summarize(run).interruptions == 0
    assert 'stopped tracking' not in table(summarize(run))


@pytest.mark.slow
@pytest.mark.parametrize('end', [19.0, 20.0, 21.0])
def test_the_end_of_a_run_is_no_interruption(make_bag, end):
    # The recorder may hear of it before the last error's stamp, by the clock of the arm.
    modes = ((0.0, 'tracking'), (end, 'safe'), (end, 'stopped'))
    assert summarize(read_recording(make_bag(modes=modes))).interruptions == 0


def test_the_table_has_a_line_for_each_joint(run):
    summary = summarize(run)
    lines = table(summary).splitlines()
    for name in summary.joint_names:
        (line,) = [line for line in lines if line.startswith(name)]
        assert line.endswith('20 x')
    assert any(line.startswith('loop rate        100.0 joint states') for line in lines)
    assert any('3.10 ms worst' in line for line in lines)


@pytest.mark.parametrize(('value', 'text'), [
    (0.0, '0'), (21.44, '21.4'), (0.3151, '0.315'), (1234.4, '1234'), (999.96, '1000'),
    (1e-6, '0.0000'), (0.99996, '1.00'), (5.0, '5.00'), (100.0, '100'), (0.01234, '0.0123'),
    (float('nan'), 'nan')])
def test_figures(value, text):
    assert figures(value) == text


def test_ratios():
    assert ratio(0.02, 0.001) == '20 x'
    assert ratio(0.02, 0.0) == '-'


@pytest.mark.slow
def test_of_a_released_arm_the_distance_from_the_held_pose_is_reported(make_bag):
    summary = summarize(read_recording(make_bag(
        adapts=False, modes=((-1.0, 'holding'), (0.0, 'guided'), (20.0, 'stopped')))))
    assert summary.let_go
    assert verdict(summary).startswith('Released, the arm is ')
    assert 'from the pose held before at first' in verdict(summary)


@pytest.mark.slow
def test_a_controller_that_followed_a_reference_did_not_let_go(make_bag):
    modes = ((0.0, 'tracking'), (6.0, 'guided'))
    assert not summarize(read_recording(make_bag(adapts=False, modes=modes))).let_go


@pytest.mark.slow
def test_only_what_is_learnt_has_a_before_and_an_after(run, make_bag):
    assert summarize(run).compared == ('before', 'after')
    for options in ({'adapts': False}, {'switch': 0.0}):
        summary = summarize(read_recording(make_bag(**options)))
        assert summary.compared == ('at first', 'at the end')
        assert 'at the end' in table(summary).splitlines()[0]
        assert 'before' not in table(summary)
