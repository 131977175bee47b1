/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the laws with a constant model: the safe effort, and no estimates to go back to.
 */
#include "constants.h"
#include "law.h"

void rd_law_safe_effort(struct rd_law *law, const double q[RD_N], const double v[RD_N],
                        double tau[RD_N])
{
    (void)law;
    rd_gravity(q, rd_model, tau);
    rd_feedback_add_damping(q, v, tau);
}

void rd_law_note_applied(struct rd_law *law, const double tau[RD_N])
{
    (void)law;
    (void)tau;
}

void rd_law_forget_recent(struct rd_law *law)
{
    (void)law;
}
