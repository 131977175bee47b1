/* SPDX-License-Identifier: Apache-2.0
 *
 * Joint state monitor; see control/states/joint_state.py.
 */
#include "session.h"

#include <math.h>
#include <string.h>

void rd_monitor_init(struct rd_monitor *m)
{
    for (int i = 0; i < RD_N; i++)
        m->effort[i] = m->last_q[i] = m->last_v[i] = NAN;
    m->unchanged_since = -INFINITY;
    rd_monitor_forget(m);
}

void rd_monitor_forget(struct rd_monitor *m)
{
    m->stamp = -INFINITY;
    m->dt = 0.0;
    m->velocity_known = 0;
    for (int i = 0; i < RD_N; i++)
        m->source[i] = RD_UNKNOWN;
}

/* Whole turns in a step of a continuous joint, 0 for any other. */
static double turns_passed(double step, int i)
{
    return rd_continuous[i] != 0.0 ? rint(step / (2.0 * RD_PI)) : 0.0;
}

/* Whether positions have stood still for too long while a speed is reported: hardware that lost
 * its arm repeats the last values. */
static int is_frozen(struct rd_monitor *m, double t, const double q[RD_N], const double v[RD_N])
{
    int moves = 0;
    if (memcmp(q, m->last_q, sizeof m->last_q) != 0 || memcmp(v, m->last_v, sizeof m->last_v)) {
        memcpy(m->last_q, q, sizeof m->last_q);
        memcpy(m->last_v, v, sizeof m->last_v);
        m->repeats = 0;
        m->unchanged_since = t;
    } else {
        m->repeats++;
    }
    for (int i = 0; i < RD_N; i++)
        moves |= fabs(v[i]) > RD_MOVING;
    return m->repeats > RD_FROZEN_COUNT && t - m->unchanged_since > RD_FROZEN_AFTER && moves;
}

/* Verdict of one joint. Comparisons are written so that NaN fails. */
static enum rd_state check(const struct rd_monitor *m, int i, double dt, double q, double v)
{
    if (!(fabs(q) <= RD_POSITION_BOUND))
        return RD_NOT_FINITE;
    if (dt < -RD_STAMP_RESOLUTION)
        return RD_OUT_OF_ORDER;
    if (dt < RD_STAMP_RESOLUTION)
        return RD_DUPLICATE;
    double step = q - m->reported[i];
    step -= 2.0 * RD_PI * turns_passed(step, i);
    /* An arm that was pushed may be faster than its limits: it has to be braked. */
    double slow = fmin(m->v[i], v) * dt, fast = fmax(m->v[i], v) * dt;
    if (!(fabs(step) <= RD_MAX_JOINT_STEP + RD_SPEED_MARGIN * rd_plausible_speed[i] * dt
          || (!isnan(v) && slow - RD_MAX_JOINT_STEP <= step
              && step <= fast + RD_MAX_JOINT_STEP)))
        return RD_JUMP;
    return RD_ACCEPTED;
}

/* Take a joint: unwrap its position, and estimate a velocity that is missing or implausible. */
static void take(struct rd_monitor *m, int i, double dt, double q, double v, double effort)
{
    int first = m->stamp == -INFINITY;
    double step = q - m->reported[i], passed = turns_passed(step, i);
    m->turns[i] = first ? 0.0 : m->turns[i] - passed;
    step = first ? 0.0 : step - 2.0 * RD_PI * passed;
    m->reported[i] = q;
    m->q[i] = q + 2.0 * RD_PI * m->turns[i];
    if (fabs(v) <= RD_VELOCITY_MARGIN * rd_plausible_speed[i]) {
        m->v[i] = v;
        m->source[i] = RD_MEASURED;
    } else if (first) {
        m->v[i] = 0.0;
        m->source[i] = RD_UNKNOWN;
    } else {
        if (m->source[i] == RD_UNKNOWN)
            m->v[i] = (1.0 - exp(-dt / RD_SHORTEST_DIFFERENCE)) * step / dt;
        else
            m->v[i] += (1.0 - exp(-RD_VELOCITY_CUTOFF * dt)) * (step / dt - m->v[i]);
        m->source[i] = RD_ESTIMATED;
    }
    m->effort[i] = isfinite(effort) ? effort : NAN;
}

enum rd_state rd_monitor_update(struct rd_monitor *m, double t, const double q[RD_N],
                                const double v[RD_N], const double effort[RD_N])
{
    m->joint = -1;
    if (!isfinite(t))
        return RD_NO_TIME;
    if (is_frozen(m, t, q, v))
        return RD_FROZEN;
    double dt = t - m->stamp;
    for (int i = 0; i < RD_N; i++) {
        enum rd_state verdict = check(m, i, dt, q[i], v[i]);
        if (verdict != RD_ACCEPTED) {
            m->joint = i;
            return verdict;
        }
    }
    int known = 1;
    for (int i = 0; i < RD_N; i++) {
        take(m, i, dt, q[i], v[i], effort[i]);
        known = known && m->source[i] != RD_UNKNOWN;
    }
    m->dt = m->stamp > -INFINITY ? dt : 0.0;
    m->stamp = t;
    m->velocity_known = known;
    return RD_ACCEPTED;
}
