# SPDX-License-Identifier: Apache-2.0
"""Views for rqt, PlotJuggler and RViz show topics that nodes really publish."""

from __future__ import annotations

import ast
import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import yaml
from sensor_msgs.msg import JointState

from robot_dynamics.control.slotine_li import AdaptiveController
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import candidate_folders, resolve_robot
from robot_dynamics.nodes import qos

CONFIG = next(iter(candidate_folders('config')))
NODES = ('adaptive_controller', 'inverse_dynamics', 'simulated_arm')
#: Fields of our messages that a curve can be of.
FIELDS = {'sensor_msgs/msg/JointState': ('position', 'velocity', 'effort'),
          'std_msgs/msg/Float64MultiArray': ('data',)}


def imported(setting):
    """Return a value as rqt imports it; only plain values are used here."""
    assert setting['type'] == 'repr'
    return ast.literal_eval(setting['repr'])


def perspective():
    return json.loads((CONFIG / 'robot_dynamics.perspective').read_text())['groups']


def plotted_by_rqt():
    """Yield topic, field and index of each curve."""
    for group in perspective()['pluginmanager']['groups'].values():
        for curve in imported(group['groups']['plugin']['keys']['topics']):
            topic, field, index = re.fullmatch(r'(.*)/(\w+)\[(\d+)\]', curve).groups()
            yield topic, field, int(index)


def layout():
    return ET.parse(CONFIG / 'plotjuggler.xml').getroot()


def plotted_by_plotjuggler(names):
    """Yield topic, field and index of each curve; joint vectors are labelled by joint."""
    for curve in layout().iter('curve'):
        name = curve.get('name')
        array = re.fullmatch(r'(.*)/(data)\[(\d+)\]', name)
        if array:
            yield array[1], array[2], int(array[3])
        else:
            topic, joint, field = name.rsplit('/', 2)
            yield topic, field, names.index(joint)


def displays():
    manager = yaml.safe_load((CONFIG / 'robot_dynamics.rviz').read_text())[
        'Visualization Manager']
    return {display['Name']: display for display in manager['Displays']}, manager


@pytest.fixture(scope='module')
def robot() -> Robot:
    return Robot.from_urdf(resolve_robot('arm7'))


def test_every_curve_is_of_a_topic_that_is_published(start, observer, robot):
    names = list(robot.joint_names)
    curves = {*plotted_by_rqt(), *plotted_by_plotjuggler(names)}
    shown, _ = displays()
    efforts = [display['Topic']['Value'] for display in shown.values() if 'Topic' in display]
    wanted = {topic for topic, _, _ in curves} | set(efforts)
    for node in NODES:
        start(node, robot='arm7')

    def published():
        return dict(observer.node.get_topic_names_and_types())

    assert observer.spin(60.0, lambda: wanted <= published().keys()), wanted - published().keys()
    types = published()
    sizes = {'/adaptive_controller/parameter_estimate': len(AdaptiveController(robot).estimate),
             '/adaptive_controller/timing': 4}
    for topic, field, index in curves:
        (kind,) = types[topic]
        assert field in FIELDS[kind], topic
        assert index < sizes.get(topic, robot.n), topic
    for topic in efforts:
        assert types[topic] == ['sensor_msgs/msg/JointState']


def test_efforts_carry_the_frame_without_which_rviz_drops_them(start, observer, robot):
    heard = observer.collect(JointState, 'inverse_dynamics/torque', 10)
    sent = observer.collect(JointState, 'adaptive_controller/command', 10)
    states = observer.collect(JointState, 'joint_states', qos.state())
    for node in NODES:
        start(node, robot='arm7')
    assert observer.spin(60.0, lambda: heard and states and sent)
    _, manager = displays()
    frame = manager['Global Options']['Fixed Frame']
    assert {m.header.frame_id for m in (*heard, *states, *sent)} == {robot.base_name} == {frame}


def test_rqt_can_import_the_perspective():
    groups = perspective()
    running = imported(groups['pluginmanager']['keys']['running-plugins'])
    instances = {f'plugin__{plugin.replace("/", "__")}__{number}'
                 for plugin, numbers in running.items() for number in numbers}
    # Settings of what is not running would be lost.
    assert set(groups['pluginmanager']['groups']) <= instances

    def check(group):
        for setting in group['keys'].values():
            imported(setting)
        for below in group['groups'].values():
            check(below)

    for group in groups.values():
        check(group)


def test_plotjuggler_subscribes_to_what_it_plots(robot):
    root = layout()
    (topics,) = [element.get('value') for element in root.iter('selected_topics')]
    assert set(topics.split(';')) == {
        topic for topic, _, _ in plotted_by_plotjuggler(list(robot.joint_names))}
    (plugin,) = root.iter('plugin')
    assert plugin.get('ID') == root.find('previouslyLoaded_Streamer').get('name')
    # What its reader of splitters relies on.
    for splitter in root.iter('DockSplitter'):
        sizes = [float(size) for size in splitter.get('sizes').split(';')]
        assert len(sizes) == int(splitter.get('count')) == len(splitter.findall('DockArea'))
        assert sum(sizes) == pytest.approx(1.0, abs=1e-3)
        assert splitter.get('orientation') in ('-', '|')
        for area in splitter:
            assert [child.tag for child in area] == ['plot']
            colours = [curve.get('color') for curve in area.iter('curve')]
            assert len(set(colours)) == len(colours)


def test_the_estimates_plotted_are_what_the_title_says(robot):
    names = AdaptiveController(robot).estimate_names
    (area,) = [area for area in layout().iter('DockArea') if 'last link' in area.get('name')]
    indices = [int(re.search(r'\[(\d+)\]', curve.get('name'))[1]) for curve in area.iter('curve')]
    assert [names[index] for index in indices] == [
        f'{robot.body_names[-1]}/{name}' for name in ('m', 'mx', 'my', 'mz')]


def test_rviz_shows_the_arm_by_its_latched_description():
    shown, _ = displays()
    topic = shown['Arm']['Description Topic']
    assert topic['Value'] == '/robot_description'
    assert topic['Durability Policy'] == 'Transient Local'
    assert all(display['Enabled'] == display['Value'] for display in shown.values())
    assert np.all([display['Class'].startswith('rviz_default_plugins/')
                   for display in shown.values()])
