/* SPDX-License-Identifier: Apache-2.0 */
#include "gain_rule.h"

#include <math.h>
#include <string.h>

#include "matrices.h"

/* Linear model at a point: derivatives of the efforts by q and v, side by side, and M. */
struct point {
    double efforts[RD_N * RD_STATES], M[RD_N * RD_N];
};

static void linearise(const double *q, const double *v, const double *a, struct point *point)
{
    for (int j = 0; j < RD_STATES; ++j) {
        double way[RD_STATES] = {0.0}, column[RD_N];
        way[j] = 1.0;
        rd_effort_change(q, v, a, way, way + RD_N, rd_model, column);
        for (int i = 0; i < RD_N; ++i)
            point->efforts[i * RD_STATES + j] = column[i];
    }
    for (int i = 0; i < RD_N; ++i)
        point->efforts[i * RD_STATES + RD_N + i] += rd_damping[i];
    rd_mass_matrix(q, rd_model, point->M);
}

/* Write 1 + scale A X, with A = [[0, 1], F]. */
static void apply_state_matrix(const double *F, double scale, const double *X, double *out)
{
    rd_multiply(F, X, RD_N, RD_STATES, RD_STATES, out + RD_N * RD_STATES);
    memcpy(out, X + RD_N * RD_STATES, RD_N * RD_STATES * sizeof *out);
    for (int k = 0; k < RD_STATES * RD_STATES; ++k)
        out[k] *= scale;
    for (int i = 0; i < RD_STATES; ++i)
        out[i * RD_STATES + i] += 1.0;
}

/* Write Phi and Gamma of the inputs M^-1 u. Returns 0 where M is not positive definite. */
static int discretise(const struct point *point, double *Phi, double *Gamma)
{
    double F[RD_N * RD_STATES], factor[RD_N * RD_N];
    double series[RD_STATES * RD_STATES] = {0.0}, spare[RD_STATES * RD_STATES];

    memcpy(factor, point->M, sizeof factor);
    for (int k = 0; k < RD_N * RD_STATES; ++k)
        F[k] = -point->efforts[k];
    if (!rd_factorise(factor, RD_N))
        return 0;
    rd_substitute(factor, F, RD_N, RD_STATES);
    for (int i = 0; i < RD_STATES; ++i)
        series[i * RD_STATES + i] = 1.0;
    for (int k = RD_SERIES_ORDER; k > 1; --k) {
        apply_state_matrix(F, RD_RULE_TIME / k, series, spare);
        memcpy(series, spare, sizeof series);
    }
    for (int i = 0; i < RD_STATES; ++i)
        for (int j = 0; j < RD_N; ++j)
            Gamma[i * RD_N + j] = RD_RULE_TIME * series[i * RD_STATES + RD_N + j];
    apply_state_matrix(F, RD_RULE_TIME, series, Phi);
    return 1;
}

#if RD_RICCATI
/* One step of the Riccati difference equation with R = 1: the gain, and X in place. */
static int step_back(const double *Phi, const double *Gamma, const double *weights, double *cost,
                     double *gain)
{
    double ahead[RD_STATES * RD_N], reached[RD_N * RD_N];
    double closed[RD_STATES * RD_STATES], spare[RD_STATES * RD_STATES];

    rd_multiply(cost, Gamma, RD_STATES, RD_STATES, RD_N, ahead);
    rd_multiply_transposed(ahead, Gamma, RD_N, RD_STATES, RD_N, reached);
    rd_multiply_transposed(ahead, Phi, RD_N, RD_STATES, RD_STATES, gain);
    for (int i = 0; i < RD_N; ++i)
        reached[i * RD_N + i] += 1.0;
    if (!rd_factorise(reached, RD_N))
        return 0;
    rd_substitute(reached, gain, RD_N, RD_STATES);
    /* X = Q + Phi^T X (Phi - Gamma K) */
    rd_multiply(Gamma, gain, RD_STATES, RD_N, RD_STATES, closed);
    for (int k = 0; k < RD_STATES * RD_STATES; ++k)
        closed[k] = Phi[k] - closed[k];
    rd_multiply(cost, closed, RD_STATES, RD_STATES, RD_STATES, spare);
    rd_multiply_transposed(Phi, spare, RD_STATES, RD_STATES, RD_STATES, cost);
    for (int i = 0; i < RD_STATES; ++i) {
        cost[i * RD_STATES + i] += weights[i];
        for (int j = 0; j < i; ++j) {
            /* Asymmetric rounding errors would grow from step to step. */
            const double mean = 0.5 * (cost[i * RD_STATES + j] + cost[j * RD_STATES + i]);
            cost[i * RD_STATES + j] = cost[j * RD_STATES + i] = mean;
        }
    }
    return 1;
}
#endif

/* Write the gain of the inputs M^-1 u, by the rule of the design. */
static int find_regulator(const struct point *point, const double *weights, double *cost,
                          double *gain)
{
    double Phi[RD_STATES * RD_STATES], Gamma[RD_STATES * RD_N];
#if RD_RICCATI
    int solved = discretise(point, Phi, Gamma);

    for (int k = 0; k < RD_RICCATI_STEPS && solved; ++k)
        solved = step_back(Phi, Gamma, weights, cost, gain);
    if (!solved || !isfinite(cost[0]))
        memcpy(cost, rd_initial_cost, RD_STATES * RD_STATES * sizeof *cost);
    return solved;
#else
    double weighted[RD_STATES * RD_N], reached[RD_N * RD_N];

    (void)cost;
    if (!discretise(point, Phi, Gamma))
        return 0;
    /* K = (Gamma^T Q Gamma)^-1 Gamma^T Q Phi */
    for (int k = 0; k < RD_STATES * RD_N; ++k)
        weighted[k] = weights[k / RD_N] * Gamma[k];
    rd_multiply_transposed(weighted, Gamma, RD_N, RD_STATES, RD_N, reached);
    rd_multiply_transposed(weighted, Phi, RD_N, RD_STATES, RD_STATES, gain);
    if (!rd_factorise(reached, RD_N))
        return 0;
    rd_substitute(reached, gain, RD_N, RD_STATES);
    return 1;
#endif
}

int rd_find_gain(const double q_d[RD_N], const double v_d[RD_N], const double a_d[RD_N],
                 const double weights[RD_STATES], double cost[RD_STATES * RD_STATES],
                 double K[RD_N * RD_GAINS])
{
    double gain[RD_N * RD_STATES], regulator[RD_N * RD_STATES];
    struct point point;

    linearise(q_d, v_d, a_d, &point);
    if (!find_regulator(&point, weights, cost, gain))
        return 0;
    rd_multiply(point.M, gain, RD_N, RD_N, RD_STATES, regulator);
    for (int i = 0; i < RD_N; ++i) {
        const double *row = regulator + i * RD_STATES, *change = point.efforts + i * RD_STATES;
        double *out = K + i * RD_GAINS;
        memcpy(out, row, RD_STATES * sizeof *out);
        for (int j = 0; j < RD_N && RD_COMPENSATES; ++j) {
            out[j] += RD_DISTURBANCE_RATE * (row[RD_N + j] + change[RD_N + j]);
            out[RD_N + j] += RD_DISTURBANCE_RATE * point.M[i * RD_N + j];
            out[RD_COMPENSATES * RD_STATES + j] = RD_DISTURBANCE_RATE * (row[j] + change[j]);
        }
    }
    return 1;
}
