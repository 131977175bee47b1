# SPDX-License-Identifier: Apache-2.0
"""Batches in pieces."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.caller import available_cores, check_threads, in_pieces
from robot_dynamics.errors import ParameterError


@pytest.mark.parametrize('threads', [1, 2, 5])
@pytest.mark.parametrize('count', [0, 1, 9, 10, 11, 37])
def test_every_sample_once_and_in_order(count, threads):
    def work(piece):
        time.sleep(0.001 * (piece.start % 3))
        return list(range(piece.start, piece.stop))
    samples = [sample for piece in in_pieces(count, threads, work, 10) for sample in piece]
    assert samples == list(range(count))


def test_one_thread_or_one_piece_is_the_callers():
    def who(piece):
        return threading.get_ident()
    me = threading.get_ident()
    assert list(in_pieces(30, 1, who, 10)) == [me, me, me]
    assert list(in_pieces(10, 4, who, 10)) == [me]
    assert me not in list(in_pieces(11, 4, who, 10))


def test_threads_work_at_the_same_time_and_end():
    meeting = threading.Barrier(3, timeout=20.0)
    before = threading.active_count()
    list(in_pieces(3, 3, lambda piece: meeting.wait(), 1))
    assert threading.active_count() == before


def test_results_do_not_pile_up_behind_a_slow_reader():
    begun = []
    results = in_pieces(400, 2, lambda piece: begun.append(piece.start), 10)
    next(results)
    time.sleep(0.2)
    assert len(begun) <= 4
    assert len(list(results)) == 39 and len(begun) == 40


def test_a_failure_reaches_the_caller():
    def fail(piece):
        if piece.start == 20:
            raise ValueError('piece 20')
    for threads in (1, 3):
        with pytest.raises(ValueError, match='piece 20'):
            list(in_pieces(40, threads, fail, 10))


def test_default_is_what_this_process_may_use(monkeypatch):
    assert check_threads(None) == available_cores() >= 1
    if hasattr(os, 'sched_getaffinity'):
        monkeypatch.setattr(os, 'sched_getaffinity', lambda pid: {1, 4, 5})
        assert check_threads(None) == 3
        monkeypatch.delattr(os, 'sched_getaffinity')
    monkeypatch.setattr(os, 'cpu_count', lambda: None)
    assert check_threads(None) == 1


@pytest.mark.parametrize('wrong', [0, -1, 1.5, True, 'two'])
def test_what_is_no_number_of_threads(tree, wrong):
    with pytest.raises(ParameterError, match=r'threads must be a positive whole number'):
        Dynamics(tree(0, 2), threads=wrong)


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='there is no fork')
@pytest.mark.filterwarnings('ignore:.*fork:DeprecationWarning')
def test_a_forked_process_computes_the_same(tree):
    """Threads of the parent are gone there: each call has its own."""
    dynamics = Dynamics(tree(0, 4), threads=2)
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 6000, 4))
    expected = dynamics.regressor(q, v, a)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(dynamics.regressor(q, v, a), expected) else 1)
    for _ in range(600):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.05)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail('the forked process hangs')
    assert status == 0
