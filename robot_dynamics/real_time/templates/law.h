/* SPDX-License-Identifier: Apache-2.0
 *
 * Interface of a control law; see TrackingController in control/feedback/protocol.py.
 *
 * law_state.h and law.c are those of one law. Vectors have one value per joint, in the order of
 * the robot, SI units. RD_DAMPING_RATE and RD_LONGEST_DELAY in constants.h are its properties of
 * these names.
 */
#ifndef RD_LAW_H
#define RD_LAW_H

#include "law_state.h"
#include "robot.h"

/* Start from the estimates of the Python law. */
void rd_law_init(struct rd_law *law);

/* Reset filters and finite differences; keep the estimates. */
void rd_law_reset(struct rd_law *law, const double q[RD_N], const double v[RD_N]);

/* Effort tau for a state and desired motion; dt, s, is the time since the last update, 0 on the
 * first; the estimates may change where adapt. Returns 0, or the cause why the controller must
 * become safe, of modes.h. */
int rd_law_update(struct rd_law *law, const double q[RD_N], const double v[RD_N],
                  const double q_d[RD_N], const double v_d[RD_N], const double a_d[RD_N],
                  double dt, int adapt, double tau[RD_N]);

/* Feedback to a fixed pose plus gravity, without any adaptation. */
void rd_law_holding_effort(struct rd_law *law, const double q[RD_N], const double v[RD_N],
                           const double q_hold[RD_N], double tau[RD_N]);

/* Gravity plus damping, for the safe command. */
void rd_law_safe_effort(struct rd_law *law, const double q[RD_N], const double v[RD_N],
                        double tau[RD_N]);

/* Store the effort that was sent after limits. */
void rd_law_note_applied(struct rd_law *law, const double tau[RD_N]);

/* Return to the estimates of some tenths of a second ago, before a fault. */
void rd_law_forget_recent(struct rd_law *law);

#endif
