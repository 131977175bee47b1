# SPDX-License-Identifier: Apache-2.0
"""``robot-dynamics doctor``: looks at a robot or a running system and says what is wrong.

Looking and judging are apart. What was seen is plain data
(`robot_dynamics.nodes.observing.graph_snapshot`, `machine_seen`, a `Robot`); every judgement is a
function of it that returns remarks.
"""
