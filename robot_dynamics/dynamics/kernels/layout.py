# SPDX-License-Identifier: Apache-2.0
"""Where things stand in the one float64 array that describes a robot to the kernels.

Row i describes body i, the last row holds what belongs to the whole robot. With q_i
the coordinate of body i, seen from the link frame of its parent::

    R = fixed + sin(q_i) sine + cos(q_i) cosine        (sine = cosine = 0 for a prismatic joint)
    p = point + q_i slide                              (slide = 0 for a revolute joint)

are the axes of link frame i and a point on its joint, because Rodrigues' formula reads
Exp([a] q) = a a^T + sin(q) [a] + cos(q) (1 - a a^T).
"""

# Offsets in the row of a body. Matrices stand column after column.
PARENT = 0        # row of the parent; -1 is the base
IS_PRISMATIC = 1  # 1 or 0
HAS_OFFSET = 2    # whether the origin of the link frame is off the joint
RUN_END = 3       # joint i carries bodies i to RUN_END - 1 ...
IS_SCATTERED = 4  # ... and others after them
FIXED = 5         # 9
SINE = 14         # 9
COSINE = 23       # 9
POINT = 32        # 3
SLIDE = 35        # 3
AXIS = 38         # 3, in the axes of the parent
OFFSET = 41       # 3, joint to link origin in the axes of the link
INERTIA = 44      # 10, `robot_dynamics.model.robot.PARAMETER_SUFFIXES`
WIDTH = 54

# Offsets in the last row.
GRAVITY = 0       # 3
ORIGIN = 3        # 3, origin of the calculation in the base frame
MARK = 6          # see below

# Most of a big robot's regressor is zero, and writing the zeros anew at each call would
# take a third of its time. Memory handed out for regressors begins with a head: a sign
# that no other memory has there by chance, the number of elements, and the mark of the
# tree whose zeros it holds. The regressor begins at BUFFER_START.
BUFFER_SIGN = 0
BUFFER_SIZE = 1
BUFFER_MARK = 2
BUFFER_START = 8
SIGN = 5816284379014637.0
NOBODY = 0.0
