# SPDX-License-Identifier: Apache-2.0
"""The SROS2 policy against what the nodes really publish, hear and serve."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from robot_dynamics.bringup.processes import ENCLAVES
from robot_dynamics.nodes.controllers import CONTROLLER_NODES, TRACKING_NODES
from robot_dynamics.nodes.documents.parameters import TABLES
from robot_dynamics.nodes.ros import qos

pytest.importorskip('mujoco', reason='the simulated arm needs MuJoCo')
etree = pytest.importorskip('lxml.etree', reason='reading the policy needs lxml')

FOLDER = Path(__file__).resolve().parents[2] / 'config' / 'security'
OPERATOR = 'operator'
#: Elements of a policy, their children and attributes, as the schema of SROS2 has them.
GRAMMAR = {
    'policy': ({'enclaves'}, {'version'}), 'enclaves': ({'enclave'}, set()),
    'enclave': ({'profiles'}, {'path'}), 'profiles': ({'profile'}, {'type'}),
    'profile': ({'topics', 'services', 'actions'}, {'ns', 'node'}),
    'topics': ({'topic'}, {'publish', 'subscribe'}),
    'services': ({'service'}, {'reply', 'request'}),
    'actions': ({'action'}, {'call', 'execute'}),
    'topic': (set(), set()), 'service': (set(), set()), 'action': (set(), set()),
}
KINDS = {'publish': 'publisher', 'subscribe': 'subscriber', 'reply': 'service',
         'request': 'client'}
#: What is there for a moment at the start or while one controller follows another, or from
#: Jazzy on only.
BRIEF = {('subscribe', '/robot_description'),
         # Where control_msgs is installed.
         *(('publish', f'/{name}/controller_state') for name in TRACKING_NODES),
         *(('subscribe', f'/{name}/command') for name in CONTROLLER_NODES)}
#: An arm with springs, so that it tells of its motors, too, and who has it: for the slow states
#: of this test.
ELASTIC = {'elastic_joints': 'planar_2r'}
HAS_ARM, GENTLE = 'elastic_pd_controller', {'rate': 50.0, 'delay': 0.01}
NEWER = re.compile(r'/\w+/get_type_description')


@pytest.fixture(scope='module')
def policy():
    tree = etree.parse(str(FOLDER / 'policy.xml'))
    tree.xinclude()
    return tree.getroot()


@pytest.fixture(scope='module')
def allowed(policy) -> dict[str, dict[str, set[str]]]:
    """Full names by node and by what it may do with them."""
    found = {}
    for enclave in policy.iter('enclave'):
        (profile,) = enclave.iter('profile')
        node = profile.get('node')
        assert enclave.get('path') == f'{ENCLAVES}/{node}' and profile.get('ns') == '/'
        rules = defaultdict(set)
        for group in profile.iterchildren('topics', 'services'):
            for action in KINDS:
                if group.get(action) is not None:
                    assert group.get(action) == 'ALLOW'
                    rules[action] |= {_full(item.text, node) for item in group.iterchildren('*')}
        found[node] = rules
    return found


def _full(name: str, node: str) -> str:
    """Return a name as SROS2 expands it in the root namespace."""
    return name if name.startswith('/') else '/' + name.replace('~', node)


def test_the_policy_is_one(policy):
    assert policy.tag == 'policy' and policy.get('version') == '0.2.0'
    # sros2 takes even a comment between two enclaves for an enclave.
    assert all(child.tag == 'enclave' for child in policy.find('enclaves'))
    for element in policy.iter('*'):
        children, attributes = GRAMMAR[element.tag]
        assert {child.tag for child in element.iterchildren('*')} <= children
        assert set(element.attrib) - {'{http://www.w3.org/XML/1998/namespace}base'} <= attributes
        if not children:
            assert re.fullmatch(r'(~?/)?[a-z_]+(/[a-z_]+)*', element.text), element.text


def test_every_node_has_an_enclave(allowed):
    assert set(allowed) == {*TABLES, OPERATOR}


#: Services of a driver with ros2_control, which does not run here.
SWITCH = '/controller_manager/switch_controller'
OF_DRIVER = {SWITCH, '/controller_manager/list_controllers', '/effort_controller/get_parameters'}


def test_who_moves_the_arm_and_who_says_where_it_is(allowed):
    def who(action, name):
        return {node for node, rules in allowed.items() if name in rules[action]}

    assert who('publish', '/effort_controller/commands') == set(CONTROLLER_NODES)
    assert who('subscribe', '/effort_controller/commands') == {
        'simulated_arm', 'recorder', 'excitation', 'command_guard', OPERATOR}
    for controller in CONTROLLER_NODES:
        assert who('publish', f'/{controller}/mode') == {controller}
        assert who('publish', f'/{controller}/reference') == (
            {'reference', 'excitation'} if controller in TRACKING_NODES else set())
    for topic in ('/joint_states', '/robot_description', '/clock'):
        assert who('publish', topic) == {'simulated_arm'}
    requests = {node: rules['request'] for node, rules in allowed.items() if rules['request']}
    assert {node for node, names in requests.items() if SWITCH in names} == \
        {*CONTROLLER_NODES, 'command_guard'}
    assert {node for node, names in requests.items() if names - OF_DRIVER} == {OPERATOR}
    replies = set().union(*(rules['reply'] for rules in allowed.values()))
    assert requests[OPERATOR] - OF_DRIVER <= replies
    common = {'/diagnostics', '/rosout', '/parameter_events'}
    assert allowed[OPERATOR]['publish'] == common


def test_the_policy_allows_what_the_nodes_do_and_nothing_else(allowed, start, observer, tmp_path,
                                                                make_plan):
    start('recorder', output=tmp_path / 'recording', use_sim_time=True,
          topics=[*sorted(allowed['recorder']['subscribe'] - {'/clock'})])
    start('simulated_arm', robot='planar_2r', hold_time=0.5, publish_description=True,
          use_sim_time=True, rate=50.0, **ELASTIC)
    patient = {'description_timeout': 60.0, 'use_sim_time': True}
    for node in ('inverse_dynamics', 'reference'):
        start(node, **patient)
    start('command_guard', use_sim_time=True)
    for node in CONTROLLER_NODES:
        has_arm = node == HAS_ARM
        start(node, state_timeout=1.0, max_age=2.0, autostart=has_arm, **patient,
              **({**GENTLE, **ELASTIC} if has_arm else {}))
    start('excitation', plan=make_plan('planar_2r'), output=tmp_path / 'excited', patience=600.0,
          **patient)
    modes = observer.collect(String, f'{HAS_ARM}/mode', qos.latched())
    seen = {node: defaultdict(set) for node in TABLES}

    def prepare(node: str) -> None:
        """Let a controller that stands by show what it would do."""
        for transition, service, request in (
                (Transition.TRANSITION_CONFIGURE, ChangeState, ChangeState.Request()),
                (None, Trigger, Trigger.Request())):
            name = f'{node}/{"prepare" if transition is None else "change_state"}'
            if transition is not None:
                request.transition.id = transition
            answer = observer.call(service, name, request, timeout=60.0, again=False)
            assert answer.success, (node, answer)
            observer.spin(1.0, look)

    def look() -> bool:
        for node, rules in seen.items():
            for action, kind in KINDS.items():
                ask = getattr(observer.node, f'get_{kind}_names_and_types_by_node')
                if node in observer.node.get_node_names():
                    rules[action] |= {name for name, _ in ask(node, '/')}
        return bool(modes) and modes[-1].data == 'tracking' and not missing()

    def missing() -> set[tuple[str, str, str]]:
        return {(node, action, name) for node, rules in seen.items() for action in KINDS
                for name in allowed[node][action] - rules[action] - OF_DRIVER
                if (action, name) not in BRIEF and not NEWER.fullmatch(name)}

    assert observer.spin(90.0, lambda: look() or (bool(modes) and modes[-1].data == 'tracking')), \
        [mode.data for mode in modes]
    for node in CONTROLLER_NODES:
        if node != HAS_ARM:
            prepare(node)
    assert observer.spin(90.0, look), missing()
    for node, rules in seen.items():
        for action, names in rules.items():
            assert names <= allowed[node][action], (node, action)
