# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time

import pytest
from rcl_interfaces.srv import GetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64

from robot_dynamics.nodes.ros.spinning import FastEntities, RestWatch


class Watched:
    """A node with a fast timer, its watch, and an executor that serves it when told to."""

    def __init__(self, node):
        self.node = node
        self.fast = FastEntities(node)
        self.fast.tick(0.001, lambda: None)
        self.watch = RestWatch(node, self.fast)
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)

    def sees_something(self, seconds: float = 10.0) -> bool:
        end = time.monotonic() + seconds
        while not self.watch.is_anything_ready():
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def serve(self, count: int = 10) -> None:
        for _ in range(count):
            self._executor.spin_once(timeout_sec=0.0)


@pytest.fixture
def watched(make_node):
    return Watched(make_node('watched'))


def test_what_is_fast_is_left_out(watched):
    # The timer of a millisecond is due all the time.
    assert not watched.sees_something(0.2)


def test_a_request_is_seen_until_it_is_served(watched, observer):
    client = observer.node.create_client(GetParameters, 'watched/get_parameters')
    assert observer.spin(10.0, client.service_is_ready)
    future = client.call_async(GetParameters.Request(names=['use_sim_time']))
    assert watched.sees_something()
    assert watched.sees_something()  # looking takes nothing away
    watched.serve()
    assert not watched.watch.is_anything_ready()
    assert observer.spin(10.0, future.done)


def test_entities_that_come_and_go_are_followed(watched, observer):
    assert not watched.watch.is_anything_ready()
    timer = watched.node.create_timer(0.01, lambda: None)
    assert watched.sees_something()
    watched.node.destroy_timer(timer)
    assert not watched.watch.is_anything_ready()

    subscription = watched.node.create_subscription(Float64, 'slow', lambda message: None,
                                                    QoSProfile(depth=1))
    publisher = observer.node.create_publisher(Float64, 'slow', QoSProfile(depth=1))
    assert observer.spin(10.0, lambda: publisher.get_subscription_count() > 0)

    def heard() -> bool:
        publisher.publish(Float64())
        return watched.watch.is_anything_ready()

    assert observer.spin(10.0, heard)
    watched.node.destroy_subscription(subscription)
    assert not watched.watch.is_anything_ready()
    for service in list(watched.node.services):
        watched.node.destroy_service(service)
    assert not watched.watch.is_anything_ready()
