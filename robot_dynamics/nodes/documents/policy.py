# SPDX-License-Identifier: Apache-2.0
"""The SROS2 policy of the nodes: ``config/security/policy.xml`` and the topics of recorders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from robot_dynamics.nodes.controllers import CONTROLLER_NODES, TRACKING_NODES

FOLDER = Path('config', 'security')

_LICENSE = '<?xml version="1.0" encoding="UTF-8"?>\n<!-- SPDX-License-Identifier: Apache-2.0 -->\n'
_HEADER = f"""{_LICENSE}\
<!-- SROS2 policy: which node may publish, subscribe, serve and call what. Each node has an enclave
     of its own: only controllers may command the arm, only reference and excitation may publish
     references, only the arm may publish its state. Names are those that bringup gives by default,
     in the root namespace, without wildcards. docs/security.md describes how keys are made of it,
     also for an arm that is not simulated.
     Written by python -m robot_dynamics.nodes.documents.
-->
<policy version="0.2.0" xmlns:xi="http://www.w3.org/2001/XInclude">
  <enclaves>
"""
_OPERATOR = """\
      <!-- A person with ros2, rqt or robot-dynamics doctor: reads topics, changes parameters that
           can change, starts and stops controllers. Cannot command the arm. (sros2 takes whatever
           stands between two enclaves for an enclave, so this comment stands inside.) -->
"""
_WATCHED = f"""{_LICENSE}\
<!-- What a recorder, and a person with rqt or PlotJuggler, may subscribe to.
     Written by python -m robot_dynamics.nodes.documents. -->
"""

_COMMANDS = 'effort_controller/commands'
_ARM = ('joint_states', 'motor_states', 'robot_description')
_OF_MODEL = ('contact', 'flag_joints', 'flags', 'momentum_residual', 'residual', 'terms/coriolis',
             'terms/friction', 'terms/gravity', 'terms/inertial', 'torque')
_ON_DEMAND = ('parameter_names', 'regressor')
_READING = ('describe_parameters', 'get_parameter_types', 'get_parameters', 'list_parameters')
_CHANGING = ('set_parameters', 'set_parameters_atomically')
_MANAGING = ('change_state', 'get_available_states', 'get_available_transitions', 'get_state',
             'get_transition_graph', 'prepare', 'resume', 'stop', 'carry_payload')

#: Services of a driver with ros2_control by which its effort controller is read and deactivated.
_OF_DRIVER = ('controller_manager/list_controllers', 'controller_manager/switch_controller',
              'effort_controller/get_parameters')

#: Kinds of names by what a node may do with them; others are services.
_KINDS = {'publish': 'topic', 'subscribe': 'topic', 'execute': 'action'}

#: Names by what a node may do with them, as attributes of ``topics``, ``services``, ``actions``.
Rules = Mapping[str, Iterable[str]]


def documents() -> dict[Path, str]:
    """Policy and included profile, by path in the repository."""
    return {FOLDER / 'policy.xml': _HEADER + ''.join(_enclaves()) + '  </enclaves>\n</policy>\n',
            FOLDER / 'common' / 'watched.xml':
                _WATCHED + '<profile>\n' + _rules({'subscribe': _watched()}, 2) + '</profile>\n'}


def _enclaves() -> Iterable[str]:
    """Enclaves of all nodes, and of the operator."""
    for node in CONTROLLER_NODES:
        yield _enclave(node, _of_controller(node), include=('managed_node',))
    references = [f'{node}/reference' for node in TRACKING_NODES]
    tracking = [topic for node in TRACKING_NODES for topic in CONTROLLER_NODES[node].all_topics]
    yield _enclave('reference', {
        'publish': references,
        'subscribe': [*(f'{node}/{topic}' for node in TRACKING_NODES
                        for topic in ('mode', 'reference_status')),
                      'joint_states', 'robot_description']})
    yield _enclave('excitation', {
        'publish': [*references, 'excitation/state'],
        'subscribe': [*_ARM, 'excitation/state', _COMMANDS, *tracking]})
    yield _enclave('inverse_dynamics', {
        'publish': [f'~/{topic}' for topic in sorted((*_OF_MODEL, *_ON_DEMAND))],
        'subscribe': ('joint_states', 'robot_description'), 'reply': ('~/learn_thresholds',)})
    yield _enclave('simulated_arm', {
        'publish': ('/clock', *_ARM), 'subscribe': (_COMMANDS, 'robot_description'),
        'reply': ('~/clear_faults', '~/inject_fault')})
    yield _enclave('command_guard', {'subscribe': (_COMMANDS,), 'request': _OF_DRIVER})
    yield _enclave('recorder', {}, include=('watched',))
    yield _enclave('operator', {
        'subscribe': ['/parameter_events', '/rosout',
                      *(f'{node}/transition_event' for node in CONTROLLER_NODES),
                      *(f'inverse_dynamics/{topic}' for topic in _ON_DEMAND)],
        'request': _requests()}, include=('watched',), comment=_OPERATOR)


def _of_controller(node: str) -> Rules:
    """Topics of one controller, including the commands of the other controllers."""
    row = CONTROLLER_NODES[node]
    published = [topic.replace(node, '~') for topic in row.published]
    actions: Rules = {}
    if row.tracks:
        # Where control_msgs is installed.
        published.append('~/controller_state')
        actions = {'execute': ['~/follow_joint_trajectory']}
    return {
        'publish': [_COMMANDS, *sorted(published)],
        'subscribe': [row.states, 'robot_description', *row.listens_to, '~/reference',
                      *(f'{other}/command' for other in CONTROLLER_NODES if other != node)],
        'request': _OF_DRIVER, **actions}


def _requests() -> list[str]:
    """Services that an operator may call."""
    services = {**{node: (*_MANAGING, *_READING, *_CHANGING) for node in CONTROLLER_NODES},
                'inverse_dynamics': (*_READING, *_CHANGING), 'reference': _READING,
                'simulated_arm': _READING, 'recorder': _READING, 'command_guard': _READING,
                'controller_manager': ('list_controllers',)}
    return [f'{node}/{name}' for node, names in services.items() for name in names]


def _watched() -> list[str]:
    """Topics of a running system that are recorded and plotted."""
    return ['/diagnostics', *_ARM, _COMMANDS,
            *(topic for row in CONTROLLER_NODES.values() for topic in sorted(row.all_topics)),
            *(f'inverse_dynamics/{topic}' for topic in _OF_MODEL)]


def _enclave(node: str, rules: Rules, *, include: tuple[str, ...] = (), comment: str = '') -> str:
    """One enclave with the profile of one node."""
    includes = ''.join(f'          <xi:include href="common/{name}.xml" '
                       'xpointer="xpointer(/profile/*)"/>\n' for name in ('node', *include))
    return (f'    <enclave path="/robot_dynamics/{node}">\n{comment}      <profiles>\n'
            f'        <profile ns="/" node="{node}">\n{includes}{_rules(rules, 10)}'
            '        </profile>\n      </profiles>\n    </enclave>\n')


def _rules(rules: Rules, indent: int) -> str:
    """Elements that allow names."""
    space, text = ' ' * indent, ''
    for action, names in rules.items():
        kind = _KINDS.get(action, 'service')
        text += f'{space}<{kind}s {action}="ALLOW">\n'
        text += ''.join(f'{space}  <{kind}>{name}</{kind}>\n' for name in names)
        text += f'{space}</{kind}s>\n'
    return text
