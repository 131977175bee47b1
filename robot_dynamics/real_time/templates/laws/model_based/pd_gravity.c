/* SPDX-License-Identifier: Apache-2.0
 *
 * PD control with gravity: tau = omega_D M0(q) s + K_P e + g(q), under constant gains
 * K_P e + K_D e_dot + g(q); see PDGravityController in control/laws/model_based.py.
 */
#include "constants.h"
#include "law.h"
#include "modes.h"

int rd_law_update(struct rd_law *law, const double q[RD_N], const double v[RD_N],
                  const double q_d[RD_N], const double v_d[RD_N], const double a_d[RD_N],
                  double dt, int adapt, double tau[RD_N])
{
    struct rd_feedback *f = &law->feedback;

    (void)dt;
    (void)adapt;
    if (!rd_feedback_note_errors(f, q, v, q_d, v_d, a_d))
        return RD_CONTROLLER_FAILED;
    rd_feedback_answer_errors(f, q);
    rd_gravity(q, rd_model, tau);
    for (int i = 0; i < RD_N; ++i)
        tau[i] += f->effort[i];
    return 0;
}
