# SPDX-License-Identifier: Apache-2.0
"""Layout of the float64 array that describes a robot to the kernels.

The array is flat: a header, the table of the velocities of the bodies (`Equation` functions get
it as ``model``), and how the joints of the bodies follow the independent joints.

Row i of the table describes velocity i of the bodies, its last row the whole robot. If each joint
has one coordinate, row i is body i. With q_i its coordinate, in the link frame of its parent::

    R = fixed + sin(q_i) sine + cos(q_i) cosine        (sine = cosine = 0 for a prismatic joint)
    p = point + q_i slide                              (slide = 0 for a revolute joint)

are the axes of link frame i and a point on its joint, because Rodrigues' formula reads
Exp([a] q) = a a^T + sin(q) [a] + cos(q) (1 - a a^T).

A joint of several coordinates has a row for each velocity, FIRST_ROW to LAST_ROW, one after
the other. The last one represents the body: it is the PARENT of the rows that the body carries,
and only it has an inertia. Each earlier row is the parent of the next, so that the path along
PARENT contains every velocity that moves a body. The directions AXIS of such rows are those of
unit velocities *in the axes of the moved link*, so that the field u + w x X of each moves with
that link: with O and b its angular velocity and the velocity of its point at the origin, u' = O x
u + b x w and w' = O x w. The same holds for a single coordinate, because its own speed changes
neither u nor w. FIXED is the rotation of the joint frame, POINT its origin; SINE, COSINE and SLIDE
are not used.

The derivative of field k along velocity h is ad(field h) field k, (w_h x u_k + u_h x w_k, w_h x
w_k), if h is before k along PARENT or both belong to the same joint, and zero otherwise.
"""

# Offsets in the header.
ROWS = 0              # number of velocities of the bodies, n_b
BODIES = 1            # number of bodies
COORDINATES = 2       # number of independent velocities, n
POSITIONS = 3         # number of independent positions, nq
MOVING_POSITIONS = 4  # number of positions of the bodies, q_b
LENGTH = 5            # of the whole array
IS_CHECKED = 6        # whether quaternions are refused that are not of length 1
OFFSETS = 7           # where s0 of q_b = S q + s0 begins
POSITION_SHARES = 8   # where the entries (row, column, share) of S for positions begin,
RATE_SHARES = 9       # and those for rates, and where those end; none where S = 1
SHARES_END = 10
HAS_QUATERNIONS = 11  # whether any joint has one
MIMICS = 12           # whether some joint follows another, so that S is no permutation
HEADER = 16           # where the table begins

# Offsets in the row of a velocity. Matrices are stored column after column.
PARENT = 0        # row of the parent; -1 is the base
IS_PRISMATIC = 1  # 1 or 0
HAS_OFFSET = 2    # whether the origin of the link frame is off the joint
RUN_END = 3       # carries bodies BODY to RUN_END - 1 ...
IS_SCATTERED = 4  # ... and others after them
FIXED = 5         # 9
SINE = 14         # 9
COSINE = 23       # 9
POINT = 32        # 3
SLIDE = 35        # 3
AXIS = 38         # 3, in the axes of the parent; of the moved link, see above
OFFSET = 41       # 3, joint to link origin in the axes of the link
INERTIA = 44      # 10, `robot_dynamics.model.robot.PARAMETER_SUFFIXES`
FIRST_ROW = 54    # first and last row of the joint: both i for one coordinate
LAST_ROW = 55
KIND = 56         # `robot_dynamics.model.joint_types.JointType`
COORDINATE = 57   # where the positions of the joint begin
BODY = 58         # index of the body
ARMATURE = 59     # inertia of the rotor as the joint feels it
WIDTH = 60

# Offsets in the last row.
GRAVITY = 0       # 3
ORIGIN = 3        # 3, origin of the calculation in the base frame
N_BODIES = 6      # number of bodies
