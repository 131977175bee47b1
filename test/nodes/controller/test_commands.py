# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.nodes.controller.commands import CommandClaim, EffortArray


@pytest.fixture
def listened(make_node, monkeypatch):
    """Return what a claim listens to, by graphs that are told one after another."""
    node = make_node('successor')

    def listen(*graphs):
        told = [[SimpleNamespace(node_namespace=namespace, node_name=name)
                 for namespace, name in graph] for graph in graphs]
        monkeypatch.setattr(node, 'get_publishers_info_by_topic',
                            lambda topic: told.pop(0) if len(told) > 1 else told[0])
        claim = CommandClaim(node, 'effort_controller/commands',
                             EffortArray(['a'], np.array([0])), ['a'])
        claim.listen_to_predecessors()
        topics = sorted(one.topic_name for one in node.subscriptions
                        if one.topic_name.endswith('/command'))
        claim.forget_predecessors()
        return topics

    return listen


UNNAMED = ('_NODE_NAMESPACE_UNKNOWN_', '_NODE_NAME_UNKNOWN_')


def test_the_name_of_a_predecessor_is_waited_for(listened):
    own, other = ('/', 'successor'), ('/arm', 'predecessor')
    assert listened([own, other]) == ['/arm/predecessor/command']
    assert listened([own, UNNAMED], [own, UNNAMED], [own, other]) == ['/arm/predecessor/command']


def test_who_never_gets_a_name_is_not_listened_to(listened):
    assert listened([('/', 'successor'), UNNAMED]) == []
