# SPDX-License-Identifier: Apache-2.0
r"""Poses, Jacobians of a frame of a link and of the centre of mass, and their derivatives.

Column k of the Jacobian of a frame with origin X is the velocity u_k + w_k x X of that point
and the angular velocity w_k that unit speed of column k gives it. With the rates of the
fields (`motion`) and X' = b + O x X::

    dJ_k/dt   = u' + w' x X + w x X',                        w'
    d2J_k/dt2 = u'' + w'' x X + 2 w' x X' + w x X'',         w''

and along column h, which carries the frame::

    dX  = u_h + w_h x X        dv  = [S_h, v] + [v_h, S_h]   (v the twist of the frame,
    dS  = [S_h, S_k]           dS' = [S_h, dS_k/dt] + [[v_h, S_h], S_k]    v_h of h's parent)

where dS and dS' are zero when column h does not carry column k. In the axes of the frame
itself, R^T J is the J_k of Garofalo, Ott, Albu-Schaeffer, "On the closed form computation of
the dynamic matrices and their differentiations", whose recursion from link to link, eqs.
27-32, adds up the same terms.
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import (
    ZERO,
    add,
    add_scaled,
    cross,
    product,
    scale,
    subtract,
    times,
    transpose_times,
)
from robot_dynamics.dynamics.kernels.equation import DONE, equation
from robot_dynamics.dynamics.kernels.joint_table import (
    add_pairs,
    bracket,
    get,
    get_matrix,
    get_pair,
    is_carried,
    parent_column,
)
from robot_dynamics.dynamics.kernels.layout import BODY, FIRST_ROW, ORIGIN, PARENT
from robot_dynamics.dynamics.kernels.loading import helper, routine
from robot_dynamics.dynamics.kernels.matrices import clear
from robot_dynamics.dynamics.kernels.moments import measure_at_rest, sum_to_base
from robot_dynamics.dynamics.kernels.motion import (
    ACCELERATION,
    AFTER_SUMS,
    AXES,
    CURVE,
    FIELD,
    FIRST,
    MASS,
    POSITION,
    RATE,
    SECOND,
    TWIST,
    bend_all,
    move_all,
    place_all,
)
from robot_dynamics.dynamics.kernels.pose import is_body


@helper
def at_point(field, X):
    """Velocity at X and angular velocity of a field."""
    return add(field[0], cross(field[1], X)), field[1]


@helper
def write(out, k, x):
    """Write one column of a Jacobian."""
    for row in range(3):
        out[row, k] = x[0][row]
        out[row + 3, k] = x[1][row]


@helper
def turn_both(w, x):
    """W x each of two vectors."""
    return cross(w, x[0]), cross(w, x[1])


@helper
def subtract_both(x, y):
    """Difference of two pairs of vectors."""
    return subtract(x[0], y[0]), subtract(x[1], y[1])


@helper
def into_axes(axes, x):
    """Each of two vectors in the axes of a frame."""
    return transpose_times(axes, x[0]), transpose_times(axes, x[1])


@helper
def frame_of(table, i, pose):
    """Axes and origin of a frame with a pose on the body of column i."""
    of_body = get_matrix(table, AXES, i)
    axes = product(of_body, ((pose[0, 0], pose[1, 0], pose[2, 0]),
                             (pose[0, 1], pose[1, 1], pose[2, 1]),
                             (pose[0, 2], pose[1, 2], pose[2, 2])))
    return axes, add(get(table, POSITION, i), times(of_body, (pose[0, 3], pose[1, 3],
                                                              pose[2, 3])))


@helper
def pose_of(frame):
    """Column of the body of a packed frame, and whether the axes are those of the frame."""
    return int(frame[4, 0]), frame[4, 1] != 0.0


@equation('q', 'b44')
def forward_kinematics(model, q, poses):
    """Poses of the link frames in the base frame."""
    count = model.shape[0] - 1
    table = np.empty((MASS, count + 1))
    place_all(model, q, True, table)
    for i in range(count):
        if is_body(model, i):
            pose = poses[int(model[i, BODY])]
            axes, p = get_matrix(table, AXES, i), get(table, POSITION, i)
            for row in range(3):
                for column in range(3):
                    pose[row, column] = axes[column][row]
                pose[row, 3] = p[row] + model[count, ORIGIN + row]
                pose[3, row] = 0.0
            pose[3, 3] = 1.0
    return DONE


@equation('54 q', '6n')
def jacobian(model, frame, q, J):
    """Jacobian of a frame.

    ``frame``, shape (5, 4), is the pose of the frame on its body, and below it the column of that
    body and whether the axes are those of the frame.
    """
    count, (i, is_in_own_axes) = model.shape[0] - 1, pose_of(frame)
    table = np.empty((MASS, count + 1))
    place_all(model, q, True, table)
    axes, X = frame_of(table, i, frame)
    clear(J)
    k = i
    while k >= 0:
        x = at_point(get_pair(table, FIELD, k), X)
        write(J, k, into_axes(axes, x) if is_in_own_axes else x)
        k = int(model[k, PARENT])
    return DONE


@routine
def fill_rates(model, frame, q, v, a, dJ, ddJ):
    """Time derivatives of the Jacobian of a frame; see `jacobian`."""
    count, (i, is_in_own_axes) = model.shape[0] - 1, pose_of(frame)
    table = np.empty((MASS, count + 1))
    place_all(model, q, True, table)
    move_all(model, v, v, a, ZERO, table)
    bend_all(table, count)
    axes, X = frame_of(table, i, frame)
    twist, acceleration = get_pair(table, TWIST, i), get_pair(table, ACCELERATION, i)
    dX, omega = at_point(twist, X)
    ddX, alpha = at_point(acceleration, X)
    ddX = add(ddX, cross(omega, dX))
    clear(dJ)
    clear(ddJ)
    k = i
    while k >= 0:
        S, dS = get_pair(table, FIELD, k), get_pair(table, RATE, k)
        x = at_point(S, X)
        dx, dw = at_point(dS, X)
        ddx, ddw = at_point(get_pair(table, CURVE, k), X)
        first = add(dx, cross(S[1], dX)), dw
        second = add(add_scaled(ddx, cross(dw, dX), 2.0), cross(S[1], ddX)), ddw
        if is_in_own_axes:
            # d(R^T y)/dt = R^T (dy/dt - O x y), once and twice.
            turned = turn_both(omega, first)
            second = subtract_both(second, add_pairs(
                add_pairs(turned, turned),
                subtract_both(turn_both(alpha, x), turn_both(omega, turn_both(omega, x)))))
            first = subtract_both(first, turn_both(omega, x))
            x, first, second = (into_axes(axes, x), into_axes(axes, first),
                                into_axes(axes, second))
        write(dJ, k, first)
        write(ddJ, k, second)
        k = int(model[k, PARENT])


@equation('54 q n', '6n', on_demand=True)
def jacobian_dot(model, frame, q, v, dJ):
    """Time derivative of the Jacobian of a frame."""
    fill_rates(model, frame, q, v, np.zeros(v.size), dJ, np.empty(dJ.shape))
    return DONE


@equation('54 q n n', '6n', on_demand=True)
def jacobian_ddot(model, frame, q, v, a, ddJ):
    """Second time derivative of the Jacobian of a frame."""
    fill_rates(model, frame, q, v, a, np.empty(ddJ.shape), ddJ)
    return DONE


@helper
def change_of_frame(model, table, i, h, X):
    """Effect of column h on a frame at X and its velocities; and [v, S_h] of the parent."""
    S = get_pair(table, FIELD, h)
    below = get_pair(table, TWIST, parent_column(model, int(model[h, FIRST_ROW])))
    reached = bracket(below, S)
    twist = get_pair(table, TWIST, i)
    moved = add_pairs(bracket(S, twist), reached)
    shift = at_point(S, X)[0]
    return shift, add(at_point(moved, X)[0], cross(twist[1], shift)), moved[1], reached


@equation('54 q n', 'n6n n6n', on_demand=True)
def jacobian_derivatives(model, frame, q, v, of_J, of_dJ):
    """Derivatives, [h, :, k], of the Jacobian of a frame and its rate along column h."""
    count, (i, is_in_own_axes) = model.shape[0] - 1, pose_of(frame)
    table = np.empty((MASS, count + 1))
    of_J[:] = 0.0
    of_dJ[:] = 0.0
    place_all(model, q, True, table)
    move_all(model, v, v, v, ZERO, table)
    axes, X = frame_of(table, i, frame)
    dX, omega = at_point(get_pair(table, TWIST, i), X)
    h = i
    while h >= 0:
        S_h = get_pair(table, FIELD, h)
        shift, shift_of_dX, shift_of_omega, reached = change_of_frame(model, table, i, h, X)
        k = i
        while k >= 0:
            S, dS = get_pair(table, FIELD, k), get_pair(table, RATE, k)
            of_S, of_dS = (ZERO, ZERO), (ZERO, ZERO)
            if is_carried(model, k, h):
                of_S = bracket(S_h, S)
                of_dS = add_pairs(bracket(S_h, dS), bracket(reached, S))
            x, w = at_point(of_S, X)
            first = add(x, cross(S[1], shift)), w
            dx, dw = at_point(of_dS, X)
            second = add(add(add(dx, cross(dS[1], shift)), cross(w, dX)),
                         cross(S[1], shift_of_dX)), dw
            if is_in_own_axes:
                J, dJ = at_point(S, X), at_point(dS, X)
                dJ = subtract_both((add(dJ[0], cross(S[1], dX)), dJ[1]),
                                   turn_both(omega, J))
                second = subtract_both(second, add_pairs(
                    add_pairs(turn_both(shift_of_omega, J), turn_both(omega, first)),
                    turn_both(S_h[1], dJ)))
                first = subtract_both(first, turn_both(S_h[1], J))
                first, second = into_axes(axes, first), into_axes(axes, second)
            write(of_J[h], k, first)
            write(of_dJ[h], k, second)
            k = int(model[k, PARENT])
        h = int(model[h, PARENT])
    return DONE


@equation('q', '3', on_demand=True)
def com_position(model, q, position):
    """Centre of mass of all moving bodies."""
    count = model.shape[0] - 1
    table = np.empty((AFTER_SUMS, count + 1))
    place_all(model, q, True, table)
    measure_at_rest(model, table, count)
    mass, first = 0.0, ZERO
    for i in range(count):
        mass += table[MASS, i]
        first = add(first, get(table, FIRST, i))
    for row in range(3):
        position[row] = first[row] / mass + model[count, ORIGIN + row]
    return DONE


@equation('q', '3n', on_demand=True)
def com_jacobian(model, q, J):
    """Jacobian of the centre of mass: (sum m J_k) / (sum m) over all particles.

    Garofalo, Ott, Albu-Schaeffer (see above), eq. 7.
    """
    count = model.shape[0] - 1
    table = np.empty((AFTER_SUMS, count + 1))
    place_all(model, q, True, table)
    measure_at_rest(model, table, count)
    mass = 0.0
    for i in range(count):
        mass += table[MASS, i]
    sum_to_base(model, table, SECOND)
    for k in range(count):
        u, w = get_pair(table, FIELD, k)
        velocity = scale(add_scaled(cross(w, get(table, FIRST, k)), u, table[MASS, k]),
                         1.0 / mass)
        for row in range(3):
            J[row, k] = velocity[row]
    return DONE
