/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits of a motion at every time; see control/motion/trajectory_limits.py.
 */
#include "session.h"

#include <math.h>
#include <string.h>

enum { DEGREE = RD_ORDER - 1, KNOTS = 17 };

/* Coefficients of a joint's piece and of its derivatives about a time in it; row d gets those of
 * derivative d, entries beyond its degree are zero. */
static void taylor(const struct rd_piece *p, int i, double start, double rows[RD_ORDER][RD_ORDER])
{
    memset(rows, 0, sizeof(double[RD_ORDER][RD_ORDER]));
    for (int j = 0; j <= DEGREE; j++)
        rows[0][j] = p->c[j][i];
    for (int first = 0; start != 0.0 && first < DEGREE; first++)
        for (int j = DEGREE - 1; j >= first; j--)
            rows[0][j] += start * rows[0][j + 1];
    for (int d = 1; d <= DEGREE; d++)
        for (int j = 0; j <= DEGREE - d; j++)
            rows[d][j] = (j + 1.0) * rows[d - 1][j + 1];
}

static double value_of(double rows[RD_ORDER][RD_ORDER], int d, double s)
{
    double value = 0.0;
    for (int j = DEGREE - d; j >= 0; j--)
        value = rows[d][j] + s * value;
    return value;
}

static int inside(double x, double low, double high)
{
    return low <= x && x <= high;
}

/* Whether the Bernstein coefficients of derivative d on [0, h] are within the limits: the
 * polynomial lies between the least and the largest of them. */
static int surely_within(double rows[RD_ORDER][RD_ORDER], int d, double h, double low,
                         double high)
{
    double h2 = h * h;
    double g0 = rows[d][0], g1 = h * rows[d][1] / 5.0, g2 = h2 * rows[d][2] / 10.0;
    double g3 = h2 * h * rows[d][3] / 10.0, g4 = h2 * h2 * rows[d][4] / 5.0;
    double g5 = h2 * h2 * h * rows[d][5];
    return inside(g0, low, high) && inside(g0 + g1, low, high)
        && inside(g0 + 2.0 * g1 + g2, low, high)
        && inside(g0 + 3.0 * (g1 + g2) + g3, low, high)
        && inside(g0 + 4.0 * (g1 + g3) + 6.0 * g2 + g4, low, high)
        && inside(g0 + 5.0 * (g1 + g4) + 10.0 * (g2 + g3) + g5, low, high);
}

/* Whether derivative d is outside low to high anywhere in [0, length], and there its value that is
 * farthest outside. The extremes of a derivative are the roots of the next, which lie between the
 * extremes of that. */
static int farthest_outside(double rows[RD_ORDER][RD_ORDER], int d, double length, double low,
                            double high, double *what)
{
    double knots[2][KNOTS] = {{0.0, length}};
    int count = 2, now = 0, is_outside = 0;
    for (int above = DEGREE - 1; above > d; above--) {
        int found = 0;
        for (int j = 0; j < count; j++) {
            knots[1 - now][found++] = knots[now][j];
            if (j + 1 == count)
                break;
            double left = knots[now][j], right = knots[now][j + 1];
            int rises = value_of(rows, above, left) < 0.0;
            if (rises == (value_of(rows, above, right) < 0.0))
                continue;
            for (int k = 0; k < RD_HALVINGS; k++) {
                double middle = 0.5 * (left + right);
                if ((value_of(rows, above, middle) < 0.0) == rises)
                    left = middle;
                else
                    right = middle;
            }
            knots[1 - now][found++] = left;
        }
        count = found;
        now = 1 - now;
    }
    double most = 0.0;
    for (int j = 0; j < count; j++) {
        double value = value_of(rows, d, knots[now][j]);
        double excess = fmax(low - value, value - high);
        if (!inside(value, low, high) && (!is_outside || excess > most)) {
            is_outside = 1;
            *what = value;
            most = excess;
        }
    }
    return is_outside;
}

enum rd_refusal rd_find_violation(struct rd_trajectory *b, const struct rd_piece *pieces,
                                  int count, const double lower[RD_N], const double upper[RD_N],
                                  double overshoot)
{
    double rows[RD_ORDER][RD_ORDER];
    for (int k = 0; k < count; k++) {
        double start = pieces[k].begin - pieces[k].origin;
        double length = (k + 1 < count ? pieces[k + 1].begin : pieces[k].begin)
            - pieces[k].begin;
        for (int i = 0; i < RD_N; i++) {
            const double speed = fmin(rd_trajectory_speed[i] * (1.0 + overshoot), RD_NO_LIMIT);
            const double high[] = {upper[i], speed, rd_trajectory_acceleration[i]};
            taylor(&pieces[k], i, start, rows);
            for (int d = 0; d < 3; d++) {
                double low = d ? -high[d] : lower[i];
                /* Most pieces are far from their limits; only the others need their extremes. */
                if (!surely_within(rows, d, length, low, high[d])
                    && farthest_outside(rows, d, length, low, high[d], &b->value)) {
                    b->joint = i;
                    return (enum rd_refusal)(RD_BEYOND_POSITION + d);
                }
            }
        }
    }
    return RD_FOLLOWED;
}
