# SPDX-License-Identifier: Apache-2.0
"""The registry of controllers: one row per controller, read by everything that lists them.

Launch files, runner, ``robot-dynamics switch`` and ``doctor``, recorder, views, security policy,
parameter files and entry points read these rows (docs/add_a_controller.md). It contains plain data
and uses only the standard library, because ``setup.py`` reads this file without the package.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

#: Topics that every controller publishes, below the name of its node.
COMMON_TOPICS = ('mode', 'command', 'reference_status', 'tracking_error', 'timing')


class Controller(NamedTuple):
    """One row of the registry."""

    #: Name that users give, as in ``robot-dynamics up --controller``.
    name: str
    #: Name of its node, of the executable and of the module; empty for no controller.
    node: str
    #: Description for ``--help``.
    text: str
    #: Parameter values that select this controller in its node.
    parameters: Mapping[str, Any] = MappingProxyType({})
    #: Whether it follows trajectories on ``<node>/reference``.
    tracks: bool = True
    #: Whether it estimates parameters of the model while it runs.
    learns: bool = False
    #: Whether it is only for arms with elastic joints.
    is_elastic: bool = False
    #: Whether the parameters ``feedback.*`` set the gains of its feedback.
    has_feedback_gains: bool = True
    #: Topic of the states that it uses.
    states: str = 'joint_states'
    #: Topics that it publishes in addition to `COMMON_TOPICS`, below the name of its node.
    topics: tuple[str, ...] = ()
    #: Topics that it subscribes to in addition to states, description, reference and the commands
    #: of the other controllers.
    listens_to: tuple[str, ...] = ()
    #: Compiled functions that only its node uses, by module below ``robot_dynamics``;
    #: ``robot-dynamics warmup`` and ``up`` compile them before it starts.
    kernels: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    #: Python package that has the module of the node.
    package: str = 'robot_dynamics.nodes'

    @property
    def module(self) -> str:
        """Python module of the node."""
        return f'{self.package}.{self.node}'

    @property
    def published(self) -> tuple[str, ...]:
        """Topics that it publishes, relative to the namespace of the arm."""
        return tuple(f'{self.node}/{topic}' for topic in (*COMMON_TOPICS, *self.topics))

    @property
    def all_topics(self) -> tuple[str, ...]:
        """Its reference, if it tracks one, and all topics that it publishes."""
        return (*((f'{self.node}/reference',) if self.tracks else ()), *self.published)


_ADAPTIVE = Controller(
    'adaptive', 'adaptive_controller', 'the law of Slotine and Li, learns while it moves',
    parameters={'adapt': True}, learns=True, listens_to=('inverse_dynamics/contact',),
    topics=('sliding_variable', 'parameter_estimate', 'parameter_names'))

_ROWS = (
    _ADAPTIVE,
    _ADAPTIVE._replace(name='fixed', text='the same law, learns nothing',
                       parameters={'adapt': False}, learns=False),
    Controller('feedforward_lq', 'feedforward_lq_controller',
               'feedforward of the model and a least squares feedback', kernels={
                   'dynamics.kernels.effort_derivatives': ('inverse_dynamics_derivatives',),
                   'control.lq.rules': ('riccati_gain_of',),
                   'control.laws.feedforward_lq': ('apply_feedback', 'tracking_errors'),
                   'control.lq.gain_table': ('nearest_knot',)}),
    Controller('computed_torque', 'computed_torque_controller', 'the whole model in the loop'),
    Controller('pd_gravity', 'pd_gravity_controller', 'PD with the gravity of the model'),
    Controller('elastic_pd', 'elastic_pd_controller',
               'PD on the motors of elastic joints, gravity compensated on-line',
               is_elastic=True, has_feedback_gains=False, states='motor_states', kernels={
                   'dynamics.kernels.effort_derivatives': ('inverse_dynamics_derivatives',),
                   'elastic.rotors': ('add_rotor_matrices', 'rotor_columns',
                                      'add_rotor_derivatives')}),
    Controller('gravity', 'gravity_compensation_controller',
               'weightless, to be guided by hand', tracks=False,
               kernels={'control.laws.guiding': ('guide', 'feel')}),
    Controller('cartesian_impedance', 'cartesian_impedance_controller',
               'a spring about a pose of the end effector', tracks=False,
               topics=('tip_pose', 'tip_wrench'),
               listens_to=('cartesian_impedance_controller/pose',
                           'cartesian_impedance_controller/twist'),
               kernels={'control.laws.guiding': ('guide',),
                        'control.laws.impedance': ('find_inertia', 'find_wrench'),
                        'control.motion.pose_setpoint': ('move',),
                        'dynamics.kernels.kinematics': ('jacobian', 'jacobian_dot',
                                                        'forward_kinematics')}),
    Controller('none', '', 'no controller, the arm brakes', tracks=False,
               has_feedback_gains=False),
)

#: Rows by the names that users give.
CONTROLLERS: Mapping[str, Controller] = MappingProxyType({row.name: row for row in _ROWS})


def by_node(rows: Iterable[Controller]) -> dict[str, Controller]:
    """Rows by node name; for several rows with one node, the first."""
    found: dict[str, Controller] = {}
    for row in rows:
        if row.node:
            found.setdefault(row.node, row)
    return found


#: One row for each node that is a controller.
CONTROLLER_NODES: Mapping[str, Controller] = MappingProxyType(by_node(_ROWS))

#: Nodes that follow a reference.
TRACKING_NODES = tuple(node for node, row in CONTROLLER_NODES.items() if row.tracks)

#: Every node of this package: a module of `robot_dynamics.nodes` and an executable.
NODES = (*CONTROLLER_NODES, 'command_guard', 'excitation', 'inverse_dynamics', 'recorder',
         'reference', 'simulated_arm')

#: Nodes that subscribe to commands and do not apply them.
WATCHERS = ('command_guard', 'recorder')
