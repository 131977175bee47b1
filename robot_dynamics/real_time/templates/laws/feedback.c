/* SPDX-License-Identifier: Apache-2.0 */
#include "feedback.h"

#include <math.h>

#include "constants.h"
#include "matrices.h"

int rd_feedback_note_errors(struct rd_feedback *f, const double q[RD_N], const double v[RD_N],
                            const double q_d[RD_N], const double v_d[RD_N],
                            const double a_d[RD_N])
{
    const double turn = 2.0 * RD_PI;
    int is_finite = 1;

    for (int i = 0; i < RD_N; ++i) {
        f->e[i] = q_d[i] - q[i];
        if (rd_continuous[i] != 0.0) /* The short way round. */
            f->e[i] -= turn * rint(f->e[i] / turn);
        f->e_dot[i] = v_d[i] - v[i];
        f->s[i] = f->e_dot[i] + rd_error_rate[i] * f->e[i];
        f->v_r[i] = v_d[i] + rd_error_rate[i] * f->e[i];
        f->a_r[i] = a_d[i] + rd_error_rate[i] * f->e_dot[i];
        is_finite &= isfinite(f->s[i] + f->a_r[i]) != 0;
    }
    return is_finite;
}

void rd_feedback_answer_errors(struct rd_feedback *f, const double q[RD_N])
{
    rd_mass_matrix(q, rd_parameters, f->mass_matrix);
    rd_multiply(f->mass_matrix, f->s, RD_N, RD_N, 1, f->effort);
    f->largest_s = 0.0;
    for (int i = 0; i < RD_N; ++i) {
        f->effort[i] = RD_BANDWIDTH * f->effort[i] + rd_position_gain[i] * f->e[i]
                       + rd_damping_gain[i] * f->s[i];
        f->largest_s = fmax(f->largest_s, fabs(f->s[i]));
    }
}

void rd_feedback_hold(struct rd_feedback *f, const double q[RD_N], const double v[RD_N],
                      const double q_hold[RD_N])
{
    const double still[RD_N] = {0.0};

    rd_feedback_note_errors(f, q, v, q_hold, still, still);
    rd_feedback_answer_errors(f, q);
}

void rd_feedback_add_damping(const double q[RD_N], const double v[RD_N], double tau[RD_N])
{
    double M[RD_N * RD_N], momentum[RD_N];

    rd_mass_matrix(q, rd_parameters, M);
    rd_multiply(M, v, RD_N, RD_N, 1, momentum);
    for (int i = 0; i < RD_N; ++i)
        tau[i] -= RD_BANDWIDTH * momentum[i] + rd_damping_gain[i] * v[i];
}
