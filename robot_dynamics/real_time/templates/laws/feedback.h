/* SPDX-License-Identifier: Apache-2.0
 *
 * Linear feedback omega_D M0(q) s + K_P e + K_D s; see control/feedback/linear_feedback.py.
 */
#ifndef RD_FEEDBACK_H
#define RD_FEEDBACK_H

#include "robot.h"

struct rd_feedback {
    double e[RD_N], e_dot[RD_N]; /* q_d - q and v_d - v. */
    double s[RD_N], v_r[RD_N], a_r[RD_N]; /* Sliding variable and reference motion. */
    double mass_matrix[RD_N * RD_N]; /* M0 at the last answer, without payload. */
    double effort[RD_N]; /* The last answer. */
    double largest_s; /* Largest entry of s, either sign. */
};

/* Compute errors and reference motion; returns 0 where one is not finite. */
int rd_feedback_note_errors(struct rd_feedback *f, const double q[RD_N], const double v[RD_N],
                            const double q_d[RD_N], const double v_d[RD_N],
                            const double a_d[RD_N]);

/* Compute the effort for the errors noted last, at a position. */
void rd_feedback_answer_errors(struct rd_feedback *f, const double q[RD_N]);

/* Feedback to rest at a pose. */
void rd_feedback_hold(struct rd_feedback *f, const double q[RD_N], const double v[RD_N],
                      const double q_hold[RD_N]);

/* Add the damping effort -(omega_D M0(q) + K_D) v. */
void rd_feedback_add_damping(const double q[RD_N], const double v[RD_N], double tau[RD_N]);

#endif
