/* SPDX-License-Identifier: Apache-2.0
 *
 * Start gate; see control/session/start_gate.py and control/states/reported_effort.py.
 */
#include "session.h"

#include <math.h>
#include <string.h>

/* Commands for the reported efforts, NaN where unknown. */
void rd_gate_as_sent(const double q[RD_N], const double reported[RD_N], double effort[RD_N])
{
    double g[RD_N] = {0.0};
    if (RD_EFFORT_WITHOUT_GRAVITY || RD_HARDWARE_GRAVITY)
        rd_gravity(q, rd_parameters, g);
    for (int i = 0; i < RD_N; i++) {
        effort[i] = RD_EFFORT_UNKNOWN ? NAN : rd_reported_scale[i] * reported[i];
        if (RD_EFFORT_WITHOUT_GRAVITY)
            effort[i] += g[i];
        if (RD_HARDWARE_GRAVITY)
            effort[i] -= g[i];
    }
}

void rd_gate_begin(struct rd_gate *g, double stamp, const double q[RD_N],
                   const double effort[RD_N])
{
    for (int k = 0; k < RD_HISTORY; k++)
        for (int i = 0; i < RD_N; i++)
            g->sent[k][i] = NAN;
    g->next = g->count = g->proven = 0;
    rd_gate_as_sent(q, effort, g->effort_before);
    memcpy(g->still_at, q, sizeof g->still_at);
    g->still_since = stamp;
    g->reason = RD_HOLDING_MEASURED;
}

void rd_gate_note_sent(struct rd_gate *g, const double tau[RD_N])
{
    memcpy(g->sent[g->next], tau, sizeof g->sent[0]);
    g->next = (g->next + 1) % RD_HISTORY;
}

/* Whether one of the last commands is the effort reported at each joint. Unused rows hold NaN,
 * which agrees with nothing. */
static int agrees(const struct rd_gate *g, const double effort[RD_N])
{
    for (int k = 0; k < RD_HISTORY; k++) {
        int all = 1;
        for (int i = 0; i < RD_N; i++)
            all = all && fabs(g->sent[k][i] - effort[i]) <= rd_gate_tolerance[i];
        if (all)
            return 1;
    }
    return 0;
}

int rd_gate_observe(struct rd_gate *g, double stamp, const double q[RD_N],
                    const double effort[RD_N])
{
    double moved = 0.0, sent[RD_N];
    int unknown = 0;
    for (int i = 0; i < RD_N; i++) {
        moved = fmax(moved, fabs(q[i] - g->still_at[i]));
        unknown |= isnan(effort[i]);
    }
    if (moved > RD_STILL_TOLERANCE) {
        memcpy(g->still_at, q, sizeof g->still_at);
        g->still_since = stamp;
    }
    int settled = stamp - g->still_since >= RD_SETTLE_TIME;
    if (!RD_COMPARE_EFFORT || unknown) {
        g->count = 0;
        g->reason = RD_NO_EFFORT;
        return settled;
    }
    rd_gate_as_sent(q, effort, sent);
    if (!agrees(g, sent)) {
        g->count = g->proven = 0;
        g->reason = RD_OTHER_EFFORT;
        return 0;
    }
    g->count++;
    /* A joint that reports our command now and reported another effort before. */
    for (int i = 0; i < RD_N; i++)
        g->proven |= fabs(sent[i] - g->effort_before[i]) > 2.0 * rd_gate_tolerance[i];
    g->reason = g->proven ? RD_COUNTING : RD_ALWAYS_AGREED;
    return g->count >= RD_GATE_SAMPLES && (g->proven || settled);
}
