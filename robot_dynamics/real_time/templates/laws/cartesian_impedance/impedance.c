/* SPDX-License-Identifier: Apache-2.0 */
#include "impedance.h"

#include <math.h>
#include <string.h>

#include "constants.h"
#include "matrices.h"

/* Modes of G^1/2 A G^1/2: the root of G, eigenvalues, and eigenvectors in columns. */
struct modes {
    double root[6], squares[6], V[36];
};

double rd_length(const double x[3])
{
    return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
}

static void find_modes(const double *A, const double *diagonal, struct modes *m)
{
    double scaled[36];

    for (int i = 0; i < 6; ++i)
        m->root[i] = sqrt(diagonal[i]);
    for (int i = 0; i < 36; ++i)
        scaled[i] = m->root[i / 6] * A[i] * m->root[i % 6];
    rd_diagonalise(scaled, m->V, 6);
    for (int i = 0; i < 6; ++i)
        /* Rounding may make the mobility of a lost direction negative. */
        m->squares[i] = fmax(scaled[7 * i], 0.0);
}

/* Add share G^1/2 V diag(gains) V^T G^1/2 x. */
static void add_modal(const struct modes *m, const double *gains, const double *x, double share,
                      double *out)
{
    for (int k = 0; k < 6; ++k) {
        double amplitude = 0.0;
        for (int i = 0; i < 6; ++i)
            amplitude += m->V[6 * i + k] * m->root[i] * x[i];
        amplitude *= share * gains[k];
        for (int i = 0; i < 6; ++i)
            out[i] += m->root[i] * m->V[6 * i + k] * amplitude;
    }
}

int rd_find_inertia(const double M[RD_N * RD_N], const double J[6 * RD_N],
                    double response[RD_N * 6], double mobility[36], double inertia[36])
{
    double factor[RD_N * RD_N];
    struct modes m;

    memcpy(factor, M, sizeof factor);
    for (int i = 0; i < RD_N; ++i)
        for (int k = 0; k < 6; ++k)
            response[6 * i + k] = J[k * RD_N + i];
    if (!rd_factorise(factor, RD_N))
        return 0;
    rd_substitute(factor, response, RD_N, 6);
    rd_multiply(J, response, 6, RD_N, 6, mobility);
    find_modes(mobility, rd_true_inertia, &m);
    for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) {
            double total = 0.0;
            for (int k = 0; k < 6; ++k) {
                const double size = m.squares[k];
                const double inverse = size * RD_LOST >= 1.0 ? 1.0 / size : RD_LOST * RD_LOST * size;
                total += m.V[6 * i + k] * inverse * m.V[6 * j + k];
            }
            inertia[6 * i + j] = m.root[i] * total * m.root[j];
        }
    return 1;
}

/* Write K e and D e_dot, with modes kept within the rate R; see find_forces. */
static void find_forces(const double *mobility, const double *error, const double *rate,
                        double *spring, double *damper)
{
    double gains[6];
    struct modes m;

    memset(spring, 0, 6 * sizeof *spring);
    memset(damper, 0, 6 * sizeof *damper);
    find_modes(mobility, rd_stiffness, &m);
    for (int k = 0; k < 6; ++k)
        gains[k] = fmin(1.0, RD_STIFFEST * RD_RATE * RD_RATE / fmax(m.squares[k], RD_TINY));
    add_modal(&m, gains, error, 1.0, spring);
#if RD_DAMPING_GIVEN
    find_modes(mobility, rd_tip_damping, &m);
    for (int k = 0; k < 6; ++k)
        gains[k] = fmin(1.0, RD_RATE / fmax(m.squares[k], RD_TINY));
#else
    for (int k = 0; k < 6; ++k) {
        const double slowest = RD_SLOWEST_SHARE * RD_RATE;
        const double square = fmax(m.squares[k], slowest * slowest);
        gains[k] = fmin(2.0 * RD_DAMPING_RATIO * sqrt(square), RD_RATE) / square;
    }
#endif
    add_modal(&m, gains, rate, 1.0, damper);
}

/* Rotation, row after row, of a quaternion x y z w. */
static void rotation_of(const double *p, double *R)
{
    const double x = p[0], y = p[1], z = p[2], w = p[3];
    const double k = 2.0 / (x * x + y * y + z * z + w * w);
    const double rows[9] = {
        1.0 - k * (y * y + z * z), k * (x * y - z * w), k * (x * z + y * w),
        k * (x * y + z * w), 1.0 - k * (x * x + z * z), k * (y * z - x * w),
        k * (x * z - y * w), k * (y * z + x * w), 1.0 - k * (x * x + y * y)};
    memcpy(R, rows, sizeof rows);
}

void rd_find_wrench(const double mobility[36], const double pose[RD_POSE],
                    const struct rd_setpoint *s, const double rate[6], double wrench[6],
                    double shares[2])
{
    double R[9], turn[3][3], error[6], spring[6], eta;

    rotation_of(s->quaternion, R);
    for (int i = 0; i < 3; ++i) {
        error[i] = s->position[i] - pose[9 + i];
        for (int j = 0; j < 3; ++j)
            turn[i][j] = R[3 * i] * pose[3 * j] + R[3 * i + 1] * pose[3 * j + 1]
                         + R[3 * i + 2] * pose[3 * j + 2];
    }
    eta = 0.5 * sqrt(fmax(1.0 + turn[0][0] + turn[1][1] + turn[2][2], RD_SMALLEST_ETA));
    error[3] = (turn[2][1] - turn[1][2]) / (2.0 * eta);
    error[4] = (turn[0][2] - turn[2][0]) / (2.0 * eta);
    error[5] = (turn[1][0] - turn[0][1]) / (2.0 * eta);
    find_forces(mobility, error, rate, spring, wrench);
    /* 2 (eta K epsilon - epsilon x K epsilon); `error` has 2 epsilon. */
    {
        const double *e = error + 3, moment[3] = {spring[3], spring[4], spring[5]};
        for (int i = 0; i < 3; ++i) {
            const int next = (i + 1) % 3, last = (i + 2) % 3;
            spring[3 + i] = eta * moment[i] - 0.5 * (e[next] * moment[last] - e[last] * moment[next]);
        }
    }
    for (int part = 0; part < 2; ++part) {
        const double largest = part == 0 ? RD_LARGEST_FORCE : RD_LARGEST_MOMENT;
        shares[part] = fmin(1.0, largest / fmax(rd_length(spring + 3 * part), RD_TINY));
        for (int i = 3 * part; i < 3 * part + 3; ++i)
            wrench[i] += shares[part] * spring[i];
    }
    shares[1] = fmin(shares[1], 2.0 * RD_LARGEST_SINE / fmax(rd_length(error + 3), RD_TINY));
}
