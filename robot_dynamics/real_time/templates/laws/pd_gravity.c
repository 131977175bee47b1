/* SPDX-License-Identifier: Apache-2.0
 *
 * PD control with gravity; see control/laws/model_based.py.
 */
#include "law.h"

#include "constants.h"

#include <math.h>

void rd_law_init(struct rd_law *law)
{
    law->unused = 0;
}

void rd_law_reset(struct rd_law *law, const double q[RD_N], const double v[RD_N])
{
    (void)law, (void)q, (void)v;
}

int rd_law_update(struct rd_law *law, const double q[RD_N], const double v[RD_N],
                  const double q_d[RD_N], const double v_d[RD_N], const double a_d[RD_N],
                  double dt, int adapt, double tau[RD_N])
{
    double M[RD_N * RD_N], g[RD_N], e[RD_N], s[RD_N];
    (void)law, (void)a_d, (void)dt, (void)adapt;
    rd_mass_matrix(q, rd_parameters, M);
    rd_gravity(q, rd_model, g);
    for (int i = 0; i < RD_N; i++) {
        e[i] = q_d[i] - q[i];
        if (rd_continuous[i] != 0.0)
            e[i] -= 2.0 * RD_PI * rint(e[i] / (2.0 * RD_PI));
        s[i] = v_d[i] - v[i] + rd_error_rate[i] * e[i];
    }
    for (int i = 0; i < RD_N; i++) {
        double total = 0.0;
        for (int j = 0; j < RD_N; j++)
            total += M[RD_N * i + j] * s[j];
        tau[i] = g[i] + (RD_BANDWIDTH * total + rd_position_gain[i] * e[i]
                         + rd_damping_gain[i] * s[i]);
    }
    return 0;
}

void rd_law_holding_effort(struct rd_law *law, const double q[RD_N], const double v[RD_N],
                           const double q_hold[RD_N], double tau[RD_N])
{
    const double still[RD_N] = {0.0};
    rd_law_update(law, q, v, q_hold, still, still, 0.0, 0, tau);
}

void rd_law_safe_effort(struct rd_law *law, const double q[RD_N], const double v[RD_N],
                        double tau[RD_N])
{
    double M[RD_N * RD_N];
    (void)law;
    rd_mass_matrix(q, rd_parameters, M);
    rd_gravity(q, rd_model, tau);
    for (int i = 0; i < RD_N; i++) {
        double momentum = 0.0;
        for (int j = 0; j < RD_N; j++)
            momentum += M[RD_N * i + j] * v[j];
        tau[i] += -RD_BANDWIDTH * momentum - rd_damping_gain[i] * v[i];
    }
}

void rd_law_note_applied(struct rd_law *law, const double tau[RD_N])
{
    (void)law, (void)tau;
}

void rd_law_forget_recent(struct rd_law *law)
{
    (void)law;
}
