# SPDX-License-Identifier: Apache-2.0
r"""Inverse dynamics: the efforts that a motion requires.

The wrench on a body of inertia I and Christoffel operator B (`moments`) that moves with twist v
and acceleration A is I A + B v; summed over all that column k carries, f_k::

    tau_k = S_k . f_k + (rotor inertia) a_k

Luh, Walker, Paul, "On-line computational scheme for mechanical manipulators", in the axes of
the base.
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import ZERO, add, cross, load, scale
from robot_dynamics.dynamics.kernels.equation import DONE, equation
from robot_dynamics.dynamics.kernels.joint_table import (
    add_pairs,
    columns,
    get,
    get_pair,
    parent_column,
    power,
    put_pair,
)
from robot_dynamics.dynamics.kernels.layout import ARMATURE, BODY, GRAVITY
from robot_dynamics.dynamics.kernels.loading import routine
from robot_dynamics.dynamics.kernels.moments import (
    coriolis_at,
    coriolis_on,
    inertia_at,
    inertia_on,
    measure_all,
)
from robot_dynamics.dynamics.kernels.motion import (
    ACCELERATION,
    AFTER_SUMS,
    FIELD,
    FLOW,
    MOMENTUM,
    MORE_SUMS,
    POSITION,
    TWIST,
    move_all,
    place_all,
)
from robot_dynamics.dynamics.kernels.pose import is_body

#: Rows of the wrench of each body, then of everything that its column carries.
WRENCH = MORE_SUMS


@routine
def ask_for_wrenches(table, count):
    """Wrench that the motion of each body alone requires."""
    for i in columns(0, count):
        inertia, coriolis = inertia_at(table, i), coriolis_at(table, i, MOMENTUM, FLOW)
        put_pair(table, WRENCH, i, add_pairs(
            inertia_on(inertia, get_pair(table, ACCELERATION, i)),
            coriolis_on(coriolis, get_pair(table, TWIST, i))))


@routine
def gather_efforts(model, table, tau):
    """Wrenches summed from the tips to the base, and their efforts."""
    count = model.shape[0] - 1
    for k in range(count - 1, -1, -1):
        wrench = get_pair(table, WRENCH, k)
        tau[k] = power(get_pair(table, FIELD, k), wrench)
        parent = parent_column(model, k)
        if parent < count:
            put_pair(table, WRENCH, parent, add_pairs(get_pair(table, WRENCH, parent), wrench))


@equation('q n n', 'n')
def inverse_dynamics(model, q, v, a, tau):
    """Efforts tau = M a + C v + g."""
    count = model.shape[0] - 1
    table = np.empty((AFTER_SUMS, count + 1))
    place_all(model, q, False, table)
    move_all(model, v, v, a, scale(load(model, count, GRAVITY), -1.0), table)
    measure_all(model, table, count)
    ask_for_wrenches(table, count)
    gather_efforts(model, table, tau)
    for k in range(count):
        tau[k] += model[k, ARMATURE] * a[k]
    return DONE


@equation('q b6', 'n', on_demand=True)
def efforts_of_forces(model, q, forces, tau):
    """Efforts J^T f of a force at the origin of each link and a moment on it, base axes."""
    count = model.shape[0] - 1
    table = np.empty((AFTER_SUMS, count + 1))
    place_all(model, q, False, table)
    for i in range(count):
        force, moment = ZERO, ZERO
        if is_body(model, i):
            body = int(model[i, BODY])
            force = (forces[body, 0], forces[body, 1], forces[body, 2])
            moment = (forces[body, 3], forces[body, 4], forces[body, 5])
            moment = add(moment, cross(get(table, POSITION, i), force))
        put_pair(table, WRENCH, i, (force, moment))
    gather_efforts(model, table, tau)
    return DONE
