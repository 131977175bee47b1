# SPDX-License-Identifier: Apache-2.0
"""``robot-dynamics doctor``: checks of a robot description or a running system.

Observation and checks are separate. Observations are plain data
(`robot_dynamics.nodes.observing.graph_snapshot`, `MachineState`, a `Robot`); every check is a
function from these to results.

A robot has six checks: its text, masses, gravity, limits and strength (`robot`), and the default
controller (`requirements`). A running system has seven: environment and description (`system`),
joint states (`joint_states`), commands, clock and nodes (`nodes`), and `machine`.
"""
