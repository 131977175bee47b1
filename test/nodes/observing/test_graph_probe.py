# SPDX-License-Identifier: Apache-2.0
import pytest

pytest.importorskip('rclpy', reason='ROS 2 (rclpy) is not installed')

from robot_dynamics.nodes.observing.graph_probe import with_worst


def test_of_figures_that_are_the_worst_of_their_time_the_largest_is_kept():
    before = {'worst period [ms]': '61.2', 'late cycles': '9', 'rate [Hz]': '480'}
    now = {'worst period [ms]': '2.4', 'late cycles': '12', 'rate [Hz]': '500'}
    assert with_worst(now, before) == {'worst period [ms]': '61.2', 'late cycles': '12',
                                       'rate [Hz]': '500'}
    assert with_worst(now, {}) == now
    # Other programs may publish an item of the same name.
    assert with_worst(now, {'late cycles': 'none'})['late cycles'] == '12'
    assert with_worst({'late cycles': 'none'}, now)['late cycles'] == '12'
