/* SPDX-License-Identifier: Apache-2.0
 *
 * State of feedforward and least squares feedback; see control/laws/feedforward_lq.py and
 * control/lq in robot_dynamics.
 */
#ifndef RD_LAW_STATE_H
#define RD_LAW_STATE_H

#include "constants.h"
#include "robot.h"

/* Entries of the state, and columns of a gain: with the integral, one third more. */
#define RD_STATES (2 * RD_N)
#define RD_GAINS ((2 + RD_COMPENSATES) * RD_N)

struct rd_law {
    double e[RD_N], e_dot[RD_N]; /* q_d - q and v_d - v. */
    double error_norm; /* mean |e| + t_c mean |e_dot|, rad or m. */
    double K[RD_N * RD_GAINS], K_next[RD_N * RD_GAINS], lead_left; /* Interpolated gain. */
    double cost[RD_STATES * RD_STATES]; /* Of the Riccati equation. */
    double disturbance[RD_N]; /* Integral of the compensation of unknown torques. */
    double largest[RD_STATES]; /* Largest errors since the last gain. */
    double age; /* Of the gain, INFINITY for none. */
    int excessive; /* Samples in a row with an excessive error. */
};

#endif
