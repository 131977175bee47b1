/* SPDX-License-Identifier: Apache-2.0
 *
 * Requested stops: the fastest motion to rest; see control/session/stop_motion.py.
 */
#include "session.h"

#include <math.h>

/* Lead the desired motion to rest from its state at a time. */
void rd_stop_motion_begin(struct rd_stop_motion *s, double stamp, const double q[RD_N],
                          const double v[RD_N])
{
    s->has_motion = 1;
    s->since = stamp;
    s->duration = 0.0;
    for (int i = 0; i < RD_N; i++) {
        s->times[i] = fabs(v[i]) / rd_stop_acceleration[i];
        s->duration = fmax(s->duration, s->times[i]);
    }
    for (int i = 0; i < RD_N; i++) {
        if (RD_STOP_TOGETHER)
            s->times[i] = v[i] != 0.0 ? s->duration : 0.0;
        s->q[i] = q[i];
        s->v[i] = v[i];
        s->u[i] = s->times[i] > 0.0 ? -v[i] / s->times[i] : 0.0;
        /* An arm that sags a little beyond a limit must not jump. */
        s->lower[i] = fmin(rd_joint_lower[i], q[i]);
        s->upper[i] = fmax(rd_joint_upper[i], q[i]);
    }
}

void rd_stop_motion_sample(const struct rd_stop_motion *s, double stamp, double q[RD_N],
                           double v[RD_N], double a[RD_N])
{
    for (int i = 0; i < RD_N; i++) {
        double elapsed = fmin(fmax(stamp - s->since, 0.0), s->times[i]);
        int moves = elapsed < s->times[i];
        q[i] = s->q[i] + (s->v[i] + 0.5 * s->u[i] * elapsed) * elapsed;
        moves = moves && q[i] >= s->lower[i] && q[i] <= s->upper[i];
        q[i] = fmin(fmax(q[i], s->lower[i]), s->upper[i]);
        v[i] = moves ? s->v[i] + s->u[i] * elapsed : 0.0;
        a[i] = moves ? s->u[i] : 0.0;
    }
}

int rd_stop_motion_is_over(const struct rd_stop_motion *s, double stamp)
{
    return !s->has_motion || stamp - s->since >= s->duration;
}
