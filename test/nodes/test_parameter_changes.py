# SPDX-License-Identifier: Apache-2.0
"""Parameters changed from outside while a node runs: all of a change or nothing, and when."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.parameter import Parameter as RosParameter

#: A node whose cycle is far longer than the time between two changes.
PAIR = """
import json, sys, time
from robot_dynamics.nodes.ros.node import PlainNode
from robot_dynamics.nodes.ros.parameters import Parameter
from robot_dynamics.nodes.ros.runtime import run

TABLE = (Parameter('first', 0.0, 'One.', '', 0.0, 1000.0),
         Parameter('second', 0.0, 'The same.', '', 0.0, 1000.0))

class Pair(PlainNode):
    def __init__(self, stopped):
        super().__init__('pair', TABLE, stopped)
        self.cycles, self.torn, self.changes, self.busy = 0, 0, 0, False

    def start(self):
        self.fast.tick(0.005, self.cycle)

    def pair(self):
        return [self.parameters.values[name] for name in ('first', 'second')]

    def cycle(self):
        self.busy, before = True, self.pair()
        time.sleep(0.003)
        self.torn += before != self.pair() or before[0] != before[1]
        self.cycles, self.busy = self.cycles + 1, False

    def on_parameters(self, values):
        self.torn += self.busy or dict(values) != dict(self.parameters.values)
        self.changes += 1

    def stop(self):
        print(json.dumps({'cycles': self.cycles, 'torn': self.torn, 'changes': self.changes,
                          'last': self.pair()}))

sys.exit(run(Pair, None, TABLE))
"""
CHANGES = 10


@pytest.mark.parametrize('style', ['single', 'events', 'waitset'])
def test_a_change_is_whole_and_between_two_cycles(observer, tmp_path, style):
    if style == 'events':
        pytest.importorskip('rclpy.experimental', reason='this rclpy has no EventsExecutor')
    script = tmp_path / 'pair.py'
    script.write_text(PAIR)
    node = subprocess.Popen([sys.executable, str(script), '--ros-args', '-p', f'spin:={style}'],
                            stdout=subprocess.PIPE, text=True, env=os.environ)
    try:
        change = observer.node.create_client(SetParametersAtomically,
                                             'pair/set_parameters_atomically')
        assert observer.spin(30.0, change.service_is_ready)
        for number in range(1, CHANGES + 1):
            good = _call(observer, change, first=number, second=float(number))
            assert good.successful, good.reason
            # Refused as a whole for its second part, for its range, type or name.
            wrong = ({'second': -1.0}, {'second': 'x'}, {'third': 1.0})[number % 3]
            bad = _call(observer, change, first=0.0, **wrong)
            assert not bad.successful and bad.reason
        answer = observer.call(GetParameters, 'pair/get_parameters',
                               GetParameters.Request(names=['first', 'second']))
        assert [value.double_value for value in answer.values] == [CHANGES, CHANGES]
    finally:
        node.terminate()
        output, _ = node.communicate(timeout=10.0)
    seen = json.loads(output)
    assert seen['torn'] == 0
    assert seen['cycles'] > CHANGES and 1 < seen['changes'] <= CHANGES
    assert seen['last'] == [CHANGES, CHANGES]


def _call(observer, client, **values):
    request = SetParametersAtomically.Request(parameters=[
        RosParameter(name, value=value).to_parameter_msg() for name, value in values.items()])
    return observer.ask(client, request).result
