/* SPDX-License-Identifier: Apache-2.0
 *
 * Feedforward of the model, and a least squares feedback around the trajectory.
 *
 *     tau = M(q_d) a_d + C(q_d, v_d) v_d + g(q_d) + friction(v_d) + K (e, e_dot)
 *
 * See control/laws/feedforward_lq.py; the schedule is in control/lq/design.py.
 */
#include <math.h>
#include <string.h>

#include "gain_rule.h"
#include "law.h"
#include "matrices.h"
#include "modes.h"

void rd_law_init(struct rd_law *law)
{
    memset(law, 0, sizeof *law);
    memcpy(law->cost, rd_cost, sizeof law->cost);
    law->age = INFINITY;
}

void rd_law_reset(struct rd_law *law, const double q[RD_N], const double v[RD_N])
{
    (void)q;
    (void)v;
    law->age = INFINITY;
    law->excessive = 0;
    law->lead_left = 0.0;
    memset(law->disturbance, 0, sizeof law->disturbance);
    memset(law->largest, 0, sizeof law->largest);
}

/* Write errors and their norm, and note the largest; returns 0 where one is not finite. */
static int note_errors(struct rd_law *law, const double *q, const double *v, const double *q_d,
                       const double *v_d, const double *a_d)
{
    double norm = 0.0;

    for (int i = 0; i < RD_N; ++i) {
        law->e[i] = q_d[i] - q[i];
        if (rd_continuous[i] != 0.0) /* The short way round. */
            law->e[i] -= 2.0 * RD_PI * rint(law->e[i] / (2.0 * RD_PI));
        law->e_dot[i] = v_d[i] - v[i];
        if (!isfinite(law->e[i] + law->e_dot[i] + a_d[i]))
            return 0;
        norm += fabs(law->e[i]) + RD_TIME_CONSTANT * fabs(law->e_dot[i]);
    }
    law->error_norm = norm / RD_N;
    for (int i = 0; i < RD_N; ++i) {
        law->largest[i] = fmax(law->largest[i], fabs(law->e[i]));
        law->largest[RD_N + i] = fmax(law->largest[RD_N + i], fabs(law->e_dot[i]));
    }
    return 1;
}

/* Efforts of the desired motion with friction. */
static void feedforward(const double *q_d, const double *v_d, const double *a_d, double *tau)
{
    rd_inverse_dynamics(q_d, v_d, a_d, rd_model, tau);
    for (int i = 0; i < RD_N; ++i)
        tau[i] += rd_damping[i] * v_d[i]
                  + rd_friction[i] * tanh(v_d[i] / RD_COULOMB_VELOCITY);
}

/* Add K (e, e_dot). */
static void add_feedback(const struct rd_law *law, const double *K, double *tau)
{
    for (int i = 0; i < RD_N; ++i)
        for (int j = 0; j < RD_N; ++j)
            tau[i] += K[i * RD_GAINS + j] * law->e[j]
                      + K[i * RD_GAINS + RD_N + j] * law->e_dot[j];
}

/* Weights in proportion to the largest errors over their mean, within bounds. */
static void rescale(const double *largest, double *weights)
{
    for (int kind = 0; kind < RD_STATES; kind += RD_N) {
        double mean = 0.0;
        for (int i = 0; i < RD_N; ++i)
            mean += largest[kind + i] / RD_N;
        for (int i = kind; i < kind + RD_N && mean > 0.0; ++i)
            weights[i] *= fmin(fmax(largest[i] / mean, 1.0 / RD_RESCALE), RD_RESCALE);
    }
}

/* Find the gain at the desired motion, and begin to interpolate to it. */
static int update_gain(struct rd_law *law, const double *q_d, const double *v_d,
                       const double *a_d)
{
    double weights[RD_STATES];

    memcpy(weights, rd_weights, sizeof weights);
    rescale(law->largest, weights);
    if (!rd_find_gain(q_d, v_d, a_d, weights, law->cost, law->K_next))
        return 0;
    memset(law->largest, 0, sizeof law->largest);
    law->lead_left = isinf(law->age) ? 0.0 : RD_UPDATE_PERIOD;
    law->age = 0.0;
    return 1;
}

/* Add the integral of the compensation, then integrate the error. */
static void compensate(struct rd_law *law, int adds, double dt, double *tau)
{
    for (int i = 0; i < RD_N; ++i) {
        const double *gains = law->K + i * RD_GAINS + RD_COMPENSATES * RD_STATES;
        double change = 0.0;
        tau[i] += law->disturbance[i];
        for (int j = 0; j < RD_N; ++j)
            change += dt * gains[j] * law->e[j];
        if (adds && dt > 0.0 && dt <= RD_LONGEST_GAP && isfinite(change))
            law->disturbance[i] = fmin(fmax(law->disturbance[i] + change,
                                            -rd_largest_disturbance[i]),
                                       rd_largest_disturbance[i]);
    }
}

int rd_law_update(struct rd_law *law, const double q[RD_N], const double v[RD_N],
                  const double q_d[RD_N], const double v_d[RD_N], const double a_d[RD_N],
                  double dt, int adapt, double tau[RD_N])
{
    int feeds_back;
    double share;

    if (!note_errors(law, q, v, q_d, v_d, a_d))
        return RD_CONTROLLER_FAILED;
    dt = dt > 0.0 ? dt : 0.0;
    law->excessive = law->error_norm <= RD_EPS2 ? 0 : law->excessive + 1;
    if (law->excessive >= RD_DEBOUNCE)
        return RD_CONTROLLER_STOPS;
    law->age += dt;
    feeds_back = law->error_norm >= RD_EPS0;
    if ((isinf(law->age) || (law->error_norm >= RD_EPS1
                             && law->age >= RD_UPDATE_PERIOD - 0.1 * dt))
        && !update_gain(law, q_d, v_d, a_d))
        return RD_CONTROLLER_FAILED;
    feedforward(q_d, v_d, a_d, tau);
    share = dt >= law->lead_left ? 1.0 : dt / law->lead_left;
    law->lead_left = fmax(law->lead_left - dt, 0.0);
    for (int k = 0; k < RD_N * RD_GAINS; ++k)
        law->K[k] += share * (law->K_next[k] - law->K[k]);
    if (feeds_back)
        add_feedback(law, law->K, tau);
    if (RD_COMPENSATES)
        compensate(law, adapt && feeds_back, dt, tau);
    return 0;
}

void rd_law_holding_effort(struct rd_law *law, const double q[RD_N], const double v[RD_N],
                           const double q_hold[RD_N], double tau[RD_N])
{
    const double still[RD_N] = {0.0};
    double K[RD_N * RD_GAINS];

    feedforward(q_hold, still, still, tau);
    if (note_errors(law, q, v, q_hold, still, still)
        && rd_find_gain(q_hold, still, still, rd_weights, law->cost, K))
        add_feedback(law, K, tau);
    else
        tau[0] = NAN; /* The limiter rejects it. */
}

void rd_law_safe_effort(struct rd_law *law, const double q[RD_N], const double v[RD_N],
                        double tau[RD_N])
{
    double M[RD_N * RD_N], momentum[RD_N];

    (void)law;
    rd_gravity(q, rd_model, tau);
    rd_mass_matrix(q, rd_model, M);
    rd_multiply(M, v, RD_N, RD_N, 1, momentum);
    for (int i = 0; i < RD_N; ++i)
        tau[i] -= RD_DAMPING_RATE * momentum[i];
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
