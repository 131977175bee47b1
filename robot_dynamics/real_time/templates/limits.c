/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits of the efforts sent to an arm and of its speed; see control/session/limits.py.
 */
#include "session.h"

#include <math.h>
#include <string.h>

static double clip(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

int rd_within(const double values[RD_N], const double limit[RD_N])
{
    for (int i = 0; i < RD_N; i++)
        if (!(fabs(values[i]) <= limit[i]))
            return 0;
    return 1;
}

void rd_limiter_begin_at(struct rd_limiter *l, const double effort[RD_N])
{
    if (!rd_within(effort, rd_possible_effort))
        return;
    for (int i = 0; i < RD_N; i++)
        l->effort[i] = clip(effort[i], -rd_effort_limit[i], rd_effort_limit[i]);
    l->has_last = 1;
    rd_limiter_begin_ramp(l, INFINITY);
}

void rd_limiter_begin_ramp(struct rd_limiter *l, double longest_step)
{
    l->ramp_left = l->has_last ? 2.0 * RD_RAMP_TIME : 0.0;
    l->longest_step = longest_step;
}

int rd_limiter_apply(struct rd_limiter *l, const double tau[RD_N], double dt)
{
    /* The first effort has no rate. Negative time and NaN allow no change. */
    double since = !l->has_last ? INFINITY : dt > 0.0 ? dt : 0.0;
    int is_ramp = l->ramp_left > 1e-9;
    if (is_ramp) {
        since = fmin(since, l->longest_step);
        l->ramp_left -= since;
    }
    for (int i = 0; i < RD_N; i++)
        if (!isfinite(tau[i]))
            return 0;
    const double *rate = is_ramp ? rd_ramp_rate : rd_effort_rate;
    /* In a ramp efforts change in proportion: if only some were delayed, the joints coupled with
     * them would be thrown. */
    double share = 1.0;
    for (int i = 0; i < RD_N && is_ramp && RD_RAMP_TOGETHER; i++) {
        double change = fabs(clip(tau[i], -rd_effort_limit[i], rd_effort_limit[i])
                             - l->effort[i]);
        if (change > rate[i] * since)
            share = fmin(share, rate[i] * since / change);
    }
    l->any_saturated = 0;
    for (int i = 0; i < RD_N; i++) {
        /* Neither an effort nor its sum with that of the hardware is beyond the limit. */
        double limit = rd_effort_limit[i], hardware = l->hardware_gravity[i];
        double low = fmin(0.0, -limit - fmin(hardware, 0.0));
        double high = fmax(0.0, limit - fmax(hardware, 0.0));
        double wanted = tau[i];
        if (share < 1.0)
            wanted = l->effort[i] + share * (clip(tau[i], -limit, limit) - l->effort[i]);
        if (isfinite(rate[i]) && isfinite(since))
            wanted = clip(wanted, l->effort[i] - rate[i] * since, l->effort[i] + rate[i] * since);
        l->effort[i] = clip(wanted, low, high);
        l->any_saturated |= l->effort[i] != tau[i];
    }
    l->has_last = 1;
    return 1;
}

int rd_speed_guard_is_fast(struct rd_speed_guard *s, const double v[RD_N])
{
    if (rd_within(v, rd_largest_speed)) {
        s->in_row = 0;
        return 0;
    }
    double most = -1.0;
    for (int i = 0; i < RD_N; i++) {
        if (fabs(v[i]) / rd_largest_speed[i] > most) {
            most = fabs(v[i]) / rd_largest_speed[i];
            s->detail = (struct rd_finding){RD_TOO_FAST, i, fabs(v[i]), rd_largest_speed[i]};
        }
    }
    return ++s->in_row >= RD_SPEED_STATES;
}

/* Efforts less the gravity that the hardware adds, which `l` gets; see protocol.py. */
void rd_law_less_gravity(struct rd_limiter *l, const double q[RD_N], double tau[RD_N])
{
    double g[RD_N];
    if (!RD_HARDWARE_GRAVITY)
        return;
    rd_gravity(q, rd_parameters, g);
    for (int i = 0; i < RD_N; i++) {
        l->hardware_gravity[i] = isfinite(g[i]) ? g[i] : l->hardware_gravity[i];
        tau[i] -= g[i];
    }
}

int rd_command_gate_prepare(struct rd_command_gate *g, struct rd_law *law, struct rd_limiter *l,
                            const double q[RD_N])
{
    const double still[RD_N] = {0.0};
    double effort[RD_N];
    rd_safe_effort(law, l, NULL, q, still, effort);
    if (!rd_within(effort, rd_effort_limit))
        return 0;
    memcpy(g->fallback, effort, sizeof g->fallback);
    return 1;
}

int rd_command_gate_send(struct rd_command_gate *g, struct rd_limiter *l, const double tau[RD_N],
                         double dt)
{
    /* A second check behind the limiter, because an arm is behind it. */
    if (!rd_limiter_apply(l, tau, dt) || !rd_within(l->effort, rd_effort_limit))
        return 0;
    memcpy(g->effort, l->effort, sizeof g->effort);
    g->has_sent = 1;
    return 1;
}

int rd_command_gate_send_safe(struct rd_command_gate *g, struct rd_law *law,
                              struct rd_limiter *l, struct rd_safe *s, const double q[RD_N],
                              const double v[RD_N], double dt)
{
    const double still[RD_N] = {0.0};
    double wanted[RD_N], held[RD_N], sent[RD_N];
    /* An arm that still holds itself is left alone. */
    if (!g->has_sent)
        return 0;
    rd_safe_effort(law, l, s, q, v, wanted);
    if (!rd_command_gate_send(g, l, wanted, dt))
        return rd_command_gate_send(g, l, g->fallback, dt);
    if (l->any_saturated) {
        rd_safe_effort(law, l, s, q, still, held);
        for (int i = 0; i < RD_N; i++) {
            wanted[i] -= held[i];
            sent[i] = g->effort[i] - held[i];
        }
        rd_safe_note_limits(s, wanted, sent);
    }
    return 1;
}
