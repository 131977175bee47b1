/* SPDX-License-Identifier: Apache-2.0
 *
 * Computed torque; see ComputedTorqueController in control/laws/model_based.py.
 *
 *     tau = M a_d + C v + g + M0 (lambda e_dot + omega_D s) + friction(v_d) + K_P e + K_D s
 *
 * M, C and g are those with the payload, M0 that of the feedback, without it.
 */
#include <math.h>

#include "constants.h"
#include "law.h"
#include "matrices.h"
#include "modes.h"

int rd_law_update(struct rd_law *law, const double q[RD_N], const double v[RD_N],
                  const double q_d[RD_N], const double v_d[RD_N], const double a_d[RD_N],
                  double dt, int adapt, double tau[RD_N])
{
    struct rd_feedback *f = &law->feedback;
    double extra[RD_N], weighted[RD_N];

    (void)dt;
    (void)adapt;
    if (!rd_feedback_note_errors(f, q, v, q_d, v_d, a_d))
        return RD_CONTROLLER_FAILED;
    rd_feedback_answer_errors(f, q); /* omega_D M0 s is a part of it. */
    rd_inverse_dynamics(q, v, a_d, rd_model, tau);
    for (int i = 0; i < RD_N; ++i)
        extra[i] = RD_CONSTANT_GAINS ? 0.0 : f->a_r[i] - a_d[i];
    rd_multiply(f->mass_matrix, extra, RD_N, RD_N, 1, weighted);
    for (int i = 0; i < RD_N; ++i)
        tau[i] += weighted[i] + rd_damping[i] * v_d[i]
                  + rd_friction[i] * tanh(v_d[i] / RD_COULOMB_VELOCITY) + f->effort[i];
    return 0;
}
