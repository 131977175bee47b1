/* SPDX-License-Identifier: Apache-2.0
 *
 * Trajectory buffer: the reference of an arm, made from points; see piecewise.py and trajectory.py
 * in control/motion. A motion is a row of pieces, the last of which is at rest.
 *
 * Points are read in the control cycle.
 */
#include "session.h"

#include <math.h>
#include <string.h>

const char *const rd_refusal_text[RD_REFUSALS] = {
    "",
    "cannot be followed, the controller is not tracking",
    "has no point",
    "has too many points; send it in parts",
    "has a value that is not finite",
    "has accelerations without velocities",
    "has times that do not increase from zero",
    "has a stamp too far in the future; compare the clocks",
    "ended already; compare the clocks, or send it without a stamp",
    "has a point outside the limits",
    "starts away from the arm",
    "leaves the position limits",
    "is faster than the speed limits",
    "exceeds the acceleration limit",
};

/* Number of pieces that begin before t, or at it where `also_at`. */
static int begun(const struct rd_piece *pieces, int count, double t, int also_at)
{
    int low = 0, high = count;
    while (high > low) {
        int middle = (low + high) / 2;
        if (pieces[middle].begin < t || (also_at && pieces[middle].begin == t))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int piece_at(const struct rd_piece *pieces, int count, double t)
{
    int k = begun(pieces, count, t, 1) - 1;
    return k > 0 ? k : 0;
}

/* Motion at t. */
static void evaluate(const struct rd_piece *pieces, int count, double t, double q[RD_N],
                     double v[RD_N], double a[RD_N])
{
    int k = piece_at(pieces, count, t);
    /* The first piece may begin at -inf: before its origin the motion is at rest. */
    double s = fmax(t - pieces[k].origin, 0.0);
    for (int i = 0; i < RD_N; i++) {
        double position = 0.0, velocity = 0.0, half = 0.0;
        for (int j = RD_ORDER - 1; j >= 0; j--) {
            half = velocity + s * half;
            velocity = position + s * velocity;
            position = pieces[k].c[j][i] + s * position;
        }
        q[i] = position;
        v[i] = velocity;
        a[i] = 2.0 * half;
    }
}

/* Piece of constant acceleration; NULL for none, or for rest. */
static void uniform(struct rd_piece *p, double t, const double q[RD_N], const double *v,
                    const double *a)
{
    memset(p, 0, sizeof *p);
    p->begin = p->origin = t;
    for (int i = 0; i < RD_N; i++) {
        p->c[0][i] = q[i];
        p->c[1][i] = v ? v[i] : 0.0;
        p->c[2][i] = a ? 0.5 * a[i] : 0.0;
    }
}

/* Piece of duration h with given positions, velocities and, where not NULL, accelerations. */
static void joining(struct rd_piece *p, double t, double h, const double q0[RD_N],
                    const double v0[RD_N], const double *a0, const double q1[RD_N],
                    const double v1[RD_N], const double *a1)
{
    uniform(p, t, q0, v0, a0);
    for (int i = 0; i < RD_N; i++) {
        if (!a0) {
            double distance = q1[i] - q0[i] - v0[i] * h, speed = (v1[i] - v0[i]) * h;
            p->c[2][i] = (3.0 * distance - speed) / (h * h);
            p->c[3][i] = (speed - 2.0 * distance) / (h * h * h);
            continue;
        }
        double distance = q1[i] - q0[i] - v0[i] * h - 0.5 * a0[i] * (h * h);
        double speed = (v1[i] - v0[i] - a0[i] * h) * h;
        double acceleration = (a1[i] - a0[i]) * (h * h);
        p->c[3][i] = (10.0 * distance - 4.0 * speed + 0.5 * acceleration) / (h * h * h);
        p->c[4][i] = (-15.0 * distance + 7.0 * speed - acceleration) / (h * h * h * h);
        p->c[5][i] = (6.0 * distance - 3.0 * speed + 0.5 * acceleration) / (h * h * h * h * h);
    }
}

/* Velocities and accelerations at points first to last, from the clamped cubic spline with the
 * velocity of the first point that ends at rest; see spline_derivatives. */
static void spline(struct rd_trajectory *b, int first, int last)
{
    double *t = b->t, *diagonal = b->diagonal;
    memset(b->v[last], 0, sizeof b->v[last]);
    memset(b->a[last], 0, sizeof b->a[last]);
    for (int k = first + 1; k < last; k++) {
        double before = t[k] - t[k - 1], after = t[k + 1] - t[k];
        double factor = k > first + 1 ? after / diagonal[k - 1] : 0.0;
        diagonal[k] = 2.0 * (before + after);
        if (k > first + 1)
            diagonal[k] -= factor * (t[k - 1] - t[k - 2]);
        for (int i = 0; i < RD_N; i++) {
            b->v[k][i] = 3.0 * (after * ((b->q[k][i] - b->q[k - 1][i]) / before)
                                + before * ((b->q[k + 1][i] - b->q[k][i]) / after));
            b->v[k][i] -= k > first + 1 ? factor * b->v[k - 1][i] : after * b->v[first][i];
        }
    }
    for (int k = last - 1; k > first; k--)
        for (int i = 0; i < RD_N; i++)
            b->v[k][i] = (b->v[k][i] - (t[k] - t[k - 1]) * b->v[k + 1][i]) / diagonal[k];
    for (int k = first; k < last; k++) {
        double h = t[k + 1] - t[k];
        for (int i = 0; i < RD_N; i++)
            b->a[k][i] = (6.0 * ((b->q[k + 1][i] - b->q[k][i]) / h) - 4.0 * b->v[k][i]
                          - 2.0 * b->v[k + 1][i]) / h;
    }
}

/* Pieces from a motion at t to rest, and the rest; their number. */
static int ending(struct rd_piece *out, double t, const double *q_end, const double *v_end,
                  const double *a_end, double coast)
{
    double q[RD_N], v[RD_N], a[RD_N], fastest = 0.0;
    int count = 0;
    memcpy(q, q_end, sizeof q);
    memcpy(v, v_end, sizeof v);
    memcpy(a, a_end, sizeof a);
    for (int i = 0; i < RD_N; i++)
        fastest = fmax(fastest, fabs(v[i]));
    if (fastest > RD_AT_REST) {
        if (coast > 0.0) {
            uniform(&out[count++], t, q, v, a);
            evaluate(out, 1, t + coast, q, v, a);
            t += coast;
        } else {
            for (int i = 0; i < RD_N; i++)
                a[i] = a[i] * v[i] < 0.0 ? a[i] : 0.0;
        }
        fastest = 0.0;
        for (int i = 0; i < RD_N; i++)
            fastest = fmax(fastest, fabs(v[i]));
        double h = fmax(RD_SHORTEST_STOP, RD_STOP_PEAK * fastest / RD_RUNNING_OUT);
        struct rd_piece *stop = &out[count++];
        uniform(stop, t, q, v, a);
        for (int i = 0; i < RD_N; i++) {
            stop->c[3][i] = -(3.0 * v[i] + 2.0 * a[i] * h) / (3.0 * (h * h));
            stop->c[4][i] = (2.0 * v[i] + a[i] * h) / (4.0 * (h * h * h));
        }
        evaluate(stop, 1, t + h, q, v, a);
        t += h;
    }
    uniform(&out[count], t, q, NULL, NULL);
    return count + 1;
}

/* Pieces through points 1 to `last` of the buffer, and the stop after them; their number. */
static int pieces_through(struct rd_trajectory *b, struct rd_piece *out, int last, int has_a,
                          double coast)
{
    double q[RD_N], v[RD_N], a[RD_N] = {0.0};
    int count = last - 1;
    for (int k = 1; k < last; k++)
        joining(&out[k - 1], b->t[k], b->t[k + 1] - b->t[k], b->q[k], b->v[k],
                has_a ? b->a[k] : NULL, b->q[k + 1], b->v[k + 1], has_a ? b->a[k + 1] : NULL);
    if (has_a)
        memcpy(a, b->a[last], sizeof a);
    else if (count)
        evaluate(&out[count - 1], 1, b->t[last], q, v, a);
    return count + ending(&out[count], b->t[last], b->q[last], b->v[last], a, coast);
}

void rd_trajectory_anchor(struct rd_trajectory *b, const double q[RD_N])
{
    uniform(b->pieces[b->active], 0.0, q, NULL, NULL);
    b->pieces[b->active][0].begin = -INFINITY;
    b->count = 1;
}

void rd_trajectory_sample(struct rd_trajectory *b, double t, double q[RD_N], double v[RD_N],
                          double a[RD_N])
{
    evaluate(b->pieces[b->active], b->count, t, q, v, a);
}

/* Time at which the motion is at rest, s. */
double rd_trajectory_end(const struct rd_trajectory *b)
{
    return b->pieces[b->active][b->count - 1].begin;
}

/* Copy the pieces from now until t to the other row; their number, or -1 if they are too many. */
static int keep_until(struct rd_trajectory *b, double t, double now)
{
    const struct rd_piece *old = b->pieces[b->active];
    int first = piece_at(old, b->count, now), kept = begun(old, b->count, t, 0) - first;
    if (kept > RD_MAX_PIECES / 2)
        return -1;
    if (kept <= 0)
        return 0;
    memcpy(b->pieces[!b->active], &old[first], (size_t)kept * sizeof *old);
    return kept;
}

/* Come to rest on the path of the present motion; see TrajectoryBuffer.stop. */
void rd_trajectory_stop(struct rd_trajectory *b, double now)
{
    struct rd_piece *old = b->pieces[b->active];
    double q[RD_N], v[RD_N], a[RD_N], slowest = 0.0;
    evaluate(old, b->count, now, q, v, a);
    for (int i = 0; i < RD_N; i++)
        slowest = fmax(slowest, fabs(v[i]) / rd_stop_acceleration[i]);
    double duration = fmax(RD_SHORTEST_STOP, RD_STOP_PEAK * slowest);
    int last = (int)fmin(rint(duration / RD_STOP_STEP), RD_STOP_POINTS) + 1;
    for (int k = 1; k <= last; k++) {
        double x = k == last ? 1.0 : (k - 1) * (1.0 / (last - 1));
        double share = 1.0 - 3.0 * (x * x) + 2.0 * (x * x * x);
        double slowing = 6.0 * x * (x - 1.0) / duration;
        evaluate(old, b->count, now + duration * (x - x * x * x + 0.5 * (x * x * x * x)),
                 b->q[k], v, a);
        b->t[k] = now + duration * x;
        for (int i = 0; i < RD_N; i++) {
            b->v[k][i] = share * v[i];
            b->a[k][i] = share * share * a[i] + slowing * v[i];
        }
    }
    int kept = keep_until(b, now, now);
    b->active = !b->active;
    b->count = kept + pieces_through(b, &b->pieces[b->active][kept], last, 1, RD_COAST);
}

/* Times, lengths and values of points; see read_points. */
static enum rd_refusal check_values(struct rd_trajectory *b, const struct rd_points *p)
{
    const double *rows[] = {p->q, p->v, p->a};
    if (p->count < 1)
        return RD_NO_POINT;
    if (p->count > RD_MAX_POINTS)
        return RD_TOO_MANY_POINTS;
    for (int row = 0; row < 3; row++) {
        for (int x = 0; rows[row] && x < p->count * RD_N; x++) {
            if (!isfinite(rows[row][x])) {
                b->joint = x % RD_N;
                b->value = rows[row][x];
                return RD_POINT_NOT_FINITE;
            }
        }
    }
    if (p->a && !p->v)
        return RD_NO_VELOCITIES;
    for (int k = 0; k < p->count; k++) {
        double least = k ? p->t[k - 1] + RD_SHORTEST_SEGMENT : 0.0;
        if (!(p->t[k] <= RD_LONGEST && p->t[k] >= least)) {
            b->value = p->t[k];
            return RD_WRONG_TIMES;
        }
    }
    return RD_FOLLOWED;
}

/* Where the motion goes over into a trajectory. */
struct junction {
    double t, q[RD_N], v[RD_N], a[RD_N], measured[RD_N], lower[RD_N], upper[RD_N];
};

static enum rd_refusal refuse(struct rd_trajectory *b, enum rd_refusal why, int joint,
                              double value)
{
    b->joint = joint;
    b->value = value;
    return why;
}

/* Reject points that are beyond a limit. */
static enum rd_refusal check_points(struct rd_trajectory *b, const struct rd_points *p,
                                    const struct junction *here)
{
    for (int x = 0; x < p->count * RD_N; x++) {
        int i = x % RD_N;
        if (!(p->q[x] >= here->lower[i] && p->q[x] <= here->upper[i]))
            return refuse(b, RD_POINT_OUTSIDE, i, p->q[x]);
        if (p->v && !(fabs(p->v[x]) <= rd_trajectory_speed[i]))
            return refuse(b, RD_POINT_OUTSIDE, i, p->v[x]);
        if (p->a && !(fabs(p->a[x]) <= rd_trajectory_acceleration[i]))
            return refuse(b, RD_POINT_OUTSIDE, i, p->a[x]);
    }
    return RD_FOLLOWED;
}

/* Full turns that move a continuous joint nearest to its present position. */
static double turns(int i, double here, double there)
{
    return rd_continuous[i] != 0.0 ? 2.0 * RD_PI * rint((here - there) / (2.0 * RD_PI)) : 0.0;
}

/* Quintic from the junction to the state of a motion at the time of joining. */
static void bridge(struct rd_piece *out, const struct junction *here, double joined,
                   const struct rd_piece *motion, int count)
{
    double q[RD_N], v[RD_N], a[RD_N];
    evaluate(motion, count, joined, q, v, a);
    joining(out, here->t, joined - here->t, here->q, here->v, here->a, q, v, a);
}

/* Move a motion to the left, to begin at t: the same from then on; its number of pieces. */
static int since(struct rd_piece *out, const struct rd_piece *motion, int count, double t)
{
    int first = piece_at(motion, count, t);
    memmove(out, &motion[first], (size_t)(count - first) * sizeof *out);
    out[0].begin = t;
    return count - first;
}

/* Motion from the junction along points 1 to `last`; in *count the number of its pieces. */
static enum rd_refusal join(struct rd_trajectory *b, struct rd_piece *out,
                            const struct rd_points *p, double start, const struct junction *here,
                            double coast, int *count)
{
    double q[RD_N], v[RD_N], a[RD_N], away[3] = {0.0};
    int last = p->count, has_a = p->a || !p->v;
    int later = start + p->t[0] > here->t + RD_SHORTEST_SEGMENT;
    for (int k = 1; k <= last; k++) {
        b->t[k] = start + p->t[k - 1];
        for (int i = 0; i < RD_N; i++) {
            int x = RD_N * (k - 1) + i;
            b->q[k][i] = p->q[x] + (later ? turns(i, here->q[i], p->q[i]) : 0.0);
            b->v[k][i] = p->v ? p->v[x] : 0.0;
            b->a[k][i] = p->a ? p->a[x] : 0.0;
        }
    }
    if (!p->v) {
        /* The spline begins at the junction where the first point is later. */
        b->t[0] = here->t;
        memcpy(b->q[0], here->q, sizeof here->q);
        memcpy(b->v[0], here->v, sizeof here->v);
        spline(b, later ? 0 : 1, last);
    }
    /* One place is left for the bridge. */
    struct rd_piece *motion = &out[1];
    int pieces = pieces_through(b, motion, last, has_a, coast);
    if (later) {
        bridge(out, here, b->t[1], motion, pieces);
        *count = pieces + 1;
        return RD_FOLLOWED;
    }
    evaluate(motion, pieces, here->t, q, v, a);
    for (int i = 0; i < RD_N; i++) {
        double shift = turns(i, here->q[i], q[i]);
        for (int k = 0; k < pieces; k++)
            motion[k].c[0][i] += shift;
        q[i] += shift;
    }
    int worst = 0;
    double most = -INFINITY;
    for (int i = 0; i < RD_N; i++) {
        double outside = fmax(fmin(here->q[i], here->measured[i]) - q[i],
                              q[i] - fmax(here->q[i], here->measured[i]));
        if (outside > most) {
            most = outside;
            worst = i;
        }
        away[0] = fmax(away[0], fabs(q[i] - here->q[i]));
        away[1] = fmax(away[1], fabs(v[i] - here->v[i]));
        away[2] = fmax(away[2], fabs(a[i] - here->a[i]));
    }
    if (!(most <= RD_START_TOLERANCE))
        return refuse(b, RD_STARTS_ELSEWHERE, worst, most);
    if (away[0] <= rd_agreement[0] && away[1] <= rd_agreement[1] && away[2] <= rd_agreement[2]) {
        *count = since(out, motion, pieces, here->t);
        return RD_FOLLOWED;
    }
    double duration = fmax(fmax(RD_SHORTEST_BLEND, sqrt(RD_QUINTIC_PEAK_ACCELERATION * away[0]
                                                        / RD_BLEND_ACCELERATION)),
                           RD_VELOCITY_BLEND_PEAK * away[1] / RD_BLEND_ACCELERATION);
    bridge(out, here, here->t + duration, motion, pieces);
    *count = 1 + since(motion, motion, pieces, here->t + duration);
    return RD_FOLLOWED;
}

enum rd_refusal rd_trajectory_accept(struct rd_trajectory *b, struct rd_points points,
                                     double stamp, double now, const double measured[RD_N])
{
    struct junction here;
    double start = stamp != 0.0 ? stamp : now;
    b->joint = -1;
    b->value = 0.0;
    enum rd_refusal refusal = check_values(b, &points);
    if (refusal != RD_FOLLOWED)
        return refusal;
    if (!(start <= now + RD_LONGEST_WAIT))
        return refuse(b, RD_WRONG_STAMP, -1, start - now);
    here.t = fmax(now, start);
    if (start + points.t[points.count - 1] < here.t)
        return refuse(b, RD_TOO_OLD, -1, now - (start + points.t[points.count - 1]));
    evaluate(b->pieces[b->active], b->count, here.t, here.q, here.v, here.a);
    memcpy(here.measured, measured, sizeof here.measured);
    for (int i = 0; i < RD_N; i++) {
        here.lower[i] = fmin(rd_trajectory_lower[i], fmin(here.q[i], measured[i]));
        here.upper[i] = fmax(rd_trajectory_upper[i], fmax(here.q[i], measured[i]));
    }
    refusal = check_points(b, &points, &here);
    if (refusal != RD_FOLLOWED)
        return refusal;
    int kept = keep_until(b, here.t, now), count = 0;
    if (kept < 0)
        return RD_TOO_MANY_POINTS;
    struct rd_piece *next = b->pieces[!b->active];
    /* The stop after the last point, which is not part of the message, may exceed a limit, or
     * the polynomials between points that keep it. */
    for (int attempt = 0; attempt < 2; attempt++) {
        refusal = join(b, &next[kept], &points, start, &here, attempt ? 0.0 : RD_COAST, &count);
        if (refusal == RD_FOLLOWED)
            refusal = rd_find_violation(b, &next[kept], count, here.lower, here.upper,
                                        attempt ? RD_OVERSHOOT : 0.0);
        if (refusal == RD_FOLLOWED) {
            b->active = !b->active;
            b->count = kept + count;
            return RD_FOLLOWED;
        }
    }
    return refusal;
}
