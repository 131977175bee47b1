/* SPDX-License-Identifier: Apache-2.0
 *
 * The gradient update law, kept physically consistent; see control/adaptation/gradient.py.
 */
#include <math.h>
#include <string.h>

#include "law.h"
#include "matrices.h"

/* Write pi + dt Gamma y of a body; returns whether the step is plausible. */
static int move_body(int b, const double *pi, const double *y, double dt, double *target)
{
    double power = 0.0, trace = 0.0;

    for (int i = 0; i < 10; ++i) {
        const double rate = rd_dot(rd_body_gain + 100 * b + 10 * i, y, 10);
        power += rate * y[i];
        trace += rd_body_trace[10 * b + i] * pi[i];
        target[i] = pi[i] + dt * rate;
    }
    return dt * sqrt(RD_BODY_METRIC_GAIN * fmax(power, 0.0))
           <= RD_LARGEST_RELATIVE_STEP * (1.0 + fmax(trace, 0.0));
}

/* Move a body to the half-space value <= largest, the shortest way in the metric. */
static void keep_below(double *pi, double value, double largest, const double *way_back)
{
    if (value > largest)
        for (int i = 0; i < 10; ++i)
            pi[i] -= (value - largest) * way_back[i];
}

/* Whether the pseudo-inertia is positive definite, by the pivots of its L D L^T. */
static int is_positive_definite(const double *pi)
{
    const double m = pi[0], mx = pi[1], my = pi[2], mz = pi[3];
    const double half = 0.5 * (pi[4] + pi[7] + pi[9]);
    double xx, yy, zz, xy, xz, yz;

    if (!(m > 0.0))
        return 0;
    xx = half - pi[4] - mx * mx / m;
    yy = half - pi[7] - my * my / m;
    zz = half - pi[9] - mz * mz / m;
    xy = -pi[5] - mx * my / m;
    xz = -pi[6] - mx * mz / m;
    yz = -pi[8] - my * mz / m;
    if (!(xx > 0.0))
        return 0;
    yy -= xy * xy / xx;
    yz -= xy * xz / xx;
    zz -= xz * xz / xx;
    return yy > 0.0 && zz * yy > yz * yz;
}

/* Write T A T^T for a lower triangular T. */
static void congruence(const double *T, double A[4][4], double out[4][4])
{
    double work[4][4];

    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            work[i][j] = 0.0;
            for (int k = 0; k <= j; ++k)
                work[i][j] += A[i][k] * T[4 * j + k];
        }
    for (int i = 0; i < 4; ++i)
        for (int j = i; j < 4; ++j) {
            double total = 0.0;
            for (int k = 0; k <= i; ++k)
                total += T[4 * i + k] * work[k][j];
            out[i][j] = out[j][i] = total;
        }
}

/* Raise the eigenvalues of X = L^-1 P L^-T to the floor: the nearest consistent body. */
static void project_to_cone(int b, double *pi)
{
    const double half = 0.5 * (pi[4] + pi[7] + pi[9]);
    double P[4][4] = {{half - pi[4], -pi[5], -pi[6], pi[1]},
                      {-pi[5], half - pi[7], -pi[8], pi[2]},
                      {-pi[6], -pi[8], half - pi[9], pi[3]},
                      {pi[1], pi[2], pi[3], pi[0]}};
    double X[4][4], V[4][4];

    congruence(rd_body_inverse + 16 * b, P, X);
    rd_diagonalise(&X[0][0], &V[0][0], 4);
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            P[i][j] = 0.0;
            for (int k = 0; k < 4; ++k)
                P[i][j] += fmax(X[k][k], RD_CONE_FLOOR) * V[i][k] * V[j][k];
        }
    congruence(rd_body_root + 16 * b, P, X);
    pi[0] = X[3][3];
    pi[1] = X[0][3];
    pi[2] = X[1][3];
    pi[3] = X[2][3];
    pi[4] = X[1][1] + X[2][2];
    pi[5] = -X[0][1];
    pi[6] = -X[0][2];
    pi[7] = X[0][0] + X[2][2];
    pi[8] = -X[1][2];
    pi[9] = X[0][0] + X[1][1];
}

static int all_finite(const double *x, int count)
{
    int finite = 1;

    for (int k = 0; k < count; ++k)
        finite &= isfinite(x[k]) != 0;
    return finite;
}

enum rd_frozen rd_settle_estimates(double target[RD_ESTIMATES], double estimate[RD_ESTIMATES])
{
    if (!all_finite(target, RD_ESTIMATES))
        return RD_INVALID_ESTIMATE;
    for (int b = 0; b < RD_N_BODIES; ++b) {
        double *pi = target + 10 * b;
        keep_below(pi, pi[0], rd_largest_mass[b], rd_mass_way_back + 10 * b);
        keep_below(pi, 0.5 * (pi[4] + pi[7] + pi[9]), rd_largest_spread[b],
                   rd_spread_way_back + 10 * b);
        if (!is_positive_definite(pi))
            project_to_cone(b, pi);
    }
    for (int k = RD_INERTIAL; k < RD_ESTIMATES; ++k)
        target[k] = fmin(fmax(target[k], rd_least_term[k - RD_INERTIAL]),
                         rd_largest_term[k - RD_INERTIAL]);
    memcpy(estimate, target, RD_ESTIMATES * sizeof *estimate);
    return RD_NOT_FROZEN;
}

enum rd_frozen rd_step_estimates(double estimate[RD_ESTIMATES],
                                 const double gradient[RD_ESTIMATES], double dt)
{
    double target[RD_ESTIMATES];

    if (!all_finite(gradient, RD_ESTIMATES))
        return RD_INVALID_ESTIMATE;
    for (int b = 0; b < RD_N_BODIES; ++b)
        if (!move_body(b, estimate + 10 * b, gradient + 10 * b, dt, target + 10 * b))
            return RD_LARGE_ESTIMATE;
    for (int k = RD_INERTIAL; k < RD_ESTIMATES; ++k)
        target[k] = estimate[k] + dt * rd_term_gain[k - RD_INERTIAL] * gradient[k];
    if (RD_LEAKAGE > 0.0)
        /* Exact over the step: no rate moves the estimates beyond the prior. */
        for (int k = 0; k < RD_ESTIMATES; ++k)
            target[k] -= expm1(-RD_LEAKAGE * dt) * (rd_prior[k] - estimate[k]);
    return rd_settle_estimates(target, estimate);
}

double rd_dot(const double *x, const double *y, int count)
{
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
    int k = 0;


    for (; k + 3 < count; k += 4) {
        a += x[k] * y[k];
        b += x[k + 1] * y[k + 1];
        c += x[k + 2] * y[k + 2];
        d += x[k + 3] * y[k + 3];
    }
    for (; k < count; ++k)
        a += x[k] * y[k];
    return (a + b) + (c + d);
}
