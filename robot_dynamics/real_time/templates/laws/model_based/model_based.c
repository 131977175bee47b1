/* SPDX-License-Identifier: Apache-2.0
 *
 * What PD control with gravity and computed torque share; see control/laws/model_based.py.
 */
#include <string.h>

#include "constants.h"
#include "law.h"

void rd_law_init(struct rd_law *law)
{
    memset(law, 0, sizeof *law);
}

void rd_law_reset(struct rd_law *law, const double q[RD_N], const double v[RD_N])
{
    (void)law;
    (void)q;
    (void)v;
}

void rd_law_holding_effort(struct rd_law *law, const double q[RD_N], const double v[RD_N],
                           const double q_hold[RD_N], double tau[RD_N])
{
    rd_feedback_hold(&law->feedback, q, v, q_hold);
    rd_gravity(q, rd_model, tau);
    for (int i = 0; i < RD_N; ++i)
        tau[i] += law->feedback.effort[i];
}
