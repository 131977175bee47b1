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

from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import candidate_folders, resolve_robot
from robot_dynamics.nodes.controllers import CONTROLLER_NODES
from robot_dynamics.nodes.documents.views import ORIGINAL, TEMPLATES, documents
from robot_dynamics.nodes.ros import qos

CONFIG = next(iter(candidate_folders('config')))
NODES = ('adaptive_controller', 'inverse_dynamics', 'simulated_arm')
#: Every view by the name of its controller: for rqt, PlotJuggler and RViz.
VIEWS = {ORIGINAL: {kind: CONFIG / path.name for kind, path in TEMPLATES.items()}} | {
    controller: {kind: CONFIG / 'views' / f'{controller}.{kind}' for kind in TEMPLATES}
    for controller in CONTROLLER_NODES if controller != ORIGINAL}
#: What a controller needs to be configured.
WISHES = {'elastic_pd_controller': {'robot': 'planar_2r', 'elastic_joints': 'planar_2r'}}
#: Fields of our messages that a curve can be of.
FIELDS = {'sensor_msgs/msg/JointState': ('position', 'velocity', 'effort'),
          'std_msgs/msg/Float64MultiArray': ('data',)}


def imported(setting):
    """Return a value as rqt imports it; only plain values are used here."""
    assert setting['type'] == 'repr'
    return ast.literal_eval(setting['repr'])


def perspective(controller=ORIGINAL):
    return json.loads(VIEWS[controller]['perspective'].read_text())['groups']


def plotted_by_rqt(controller=ORIGINAL):
    """Yield topic, field and index of each curve."""
    for group in perspective(controller)['pluginmanager']['groups'].values():
        for curve in imported(group['groups']['plugin']['keys']['topics']):
            topic, field, index = re.fullmatch(r'(.*)/(\w+)\[(\d+)\]', curve).groups()
            yield topic, field, int(index)


def layout(controller=ORIGINAL):
    return ET.parse(VIEWS[controller]['xml']).getroot()


def plotted_by_plotjuggler(names, controller=ORIGINAL):
    """Yield topic, field and index of each curve; joint vectors are labelled by joint."""
    for curve in layout(controller).iter('curve'):
        name = curve.get('name')
        array = re.fullmatch(r'(.*)/(data)\[(\d+)\]', name)
        if array:
            yield array[1], array[2], int(array[3])
        else:
            topic, joint, field = name.rsplit('/', 2)
            yield topic, field, names.index(joint)


def displays(controller=ORIGINAL):
    manager = yaml.safe_load(VIEWS[controller]['rviz'].read_text())['Visualization Manager']
    return {display['Name']: display for display in manager['Displays']}, manager


@pytest.fixture(scope='module')
def robot() -> Robot:
    return Robot.from_urdf(resolve_robot('arm7'))


def test_every_curve_is_of_a_topic_that_is_published(start, observer, robot):
    """By the system of each controller; of all those that run here one has the arm."""
    names = list(robot.joint_names)
    curves = {controller: {*plotted_by_rqt(controller), *plotted_by_plotjuggler(names, controller)}
              for controller in VIEWS}
    efforts = {controller: [display['Topic']['Value']
                            for display in displays(controller)[0].values()
                            if 'Topic' in display] for controller in VIEWS}
    for controller in VIEWS:
        wanted = {topic for topic, _, _ in curves[controller]} | set(efforts[controller])
        # Its own, the model's and the arm's, and none of another controller.
        assert {topic.split('/')[1] for topic in wanted} == {
            controller, 'inverse_dynamics', 'joint_states'}
    wanted = {topic for views in curves.values() for topic, _, _ in views}.union(
        *efforts.values())
    for node in ('inverse_dynamics', 'simulated_arm', *VIEWS):
        start(node, **{'robot': 'arm7', **WISHES.get(node, {})})

    def published():
        return {name for name, _ in observer.node.get_topic_names_and_types()
                if observer.node.count_publishers(name)}

    assert observer.spin(120.0, lambda: wanted <= published()), wanted - published()
    types = dict(observer.node.get_topic_names_and_types())
    for controller in VIEWS:
        sizes = {f'/{controller}/timing': 4, '/adaptive_controller/parameter_estimate':
                 len(AdaptiveController(robot).estimate)}
        for topic, field, index in curves[controller]:
            (kind,) = types[topic]
            assert field in FIELDS[kind], topic
            assert index < sizes.get(topic, robot.n), topic
        for topic in efforts[controller]:
            assert types[topic] == ['sensor_msgs/msg/JointState']


def test_views_are_what_is_made_of_those_of_the_adaptive_controller():
    for path, text in documents().items():
        assert (CONFIG.parent / path).read_text(encoding='utf-8') == text, \
            f'{path}: run python -m robot_dynamics.nodes.documents'
    files = {path.name for path in (CONFIG / 'views').iterdir()}
    assert files == {path.name for path in documents()}


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


@pytest.mark.parametrize('controller', VIEWS)
def test_rqt_can_import_the_perspective(controller):
    groups = perspective(controller)
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


@pytest.mark.parametrize('controller', VIEWS)
def test_plotjuggler_subscribes_to_what_it_plots(robot, controller):
    root = layout(controller)
    (topics,) = [element.get('value') for element in root.iter('selected_topics')]
    assert set(topics.split(';')) == {
        topic for topic, _, _ in plotted_by_plotjuggler(list(robot.joint_names), controller)}
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


@pytest.mark.parametrize('controller', VIEWS)
def test_rviz_shows_the_arm_by_its_latched_description(controller):
    shown, _ = displays(controller)
    topic = shown['Arm']['Description Topic']
    assert topic['Value'] == '/robot_description'
    assert topic['Durability Policy'] == 'Transient Local'
    assert all(display['Enabled'] == display['Value'] for display in shown.values())
    assert np.all([display['Class'].startswith('rviz_default_plugins/')
                   for display in shown.values()])
