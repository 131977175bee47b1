/* SPDX-License-Identifier: Apache-2.0
 *
 * Gain of the least squares feedback at a point of the desired motion; see control/lq/rules.py.
 */
#ifndef RD_GAIN_RULE_H
#define RD_GAIN_RULE_H

#include "law_state.h"

/* Write the gain at a desired motion, and continue the cost matrix. Returns 0 where a mass matrix
 * is not positive definite. */
int rd_find_gain(const double q_d[RD_N], const double v_d[RD_N], const double a_d[RD_N],
                 const double weights[RD_STATES], double cost[RD_STATES * RD_STATES],
                 double K[RD_N * RD_GAINS]);

#endif
