/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether an arm moves as its states and commands say; see control/session/supervisor.py.
 */
#include "session.h"

#include <math.h>
#include <string.h>

static const struct rd_finding nothing = {RD_NOTHING, -1, 0.0, 0.0};

void rd_supervisor_init(struct rd_supervisor *s)
{
    s->stamp = -INFINITY;
    s->left_behind = -1;
}

/* Start over at a position; `lies` stay. */
void rd_supervisor_begin(struct rd_supervisor *s, const double q[RD_N], double stamp)
{
    memcpy(s->q, q, sizeof s->q);
    s->stamp = stamp;
    memset(s->v, 0, sizeof s->v);
    memset(s->slope, 0, sizeof s->slope);
    memset(s->speed, 0, sizeof s->speed);
    memset(s->difference, 0, sizeof s->difference);
    memset(s->fast, 0, sizeof s->fast);
    memset(s->in_row, 0, sizeof s->in_row);
    memset(s->jumps, 0, sizeof s->jumps);
    s->window = -1.0;
    s->is_repeated = 0;
}

void rd_supervisor_forget_lies(struct rd_supervisor *s)
{
    memset(s->lies, 0, sizeof s->lies);
    memset(s->unseen, 0, sizeof s->unseen);
    s->left_behind = -1;
}

void rd_supervisor_begin_following(struct rd_supervisor *s, const double q[RD_N],
                                   const double q_d[RD_N], const double effort[RD_N])
{
    memset(s->following, 0, sizeof s->following);
    memcpy(s->following[RD_ANCHOR], q, sizeof s->q);
    memcpy(s->following[RD_REFERENCE], q_d, sizeof s->q);
    memcpy(s->following[RD_HELD_BY], effort, sizeof s->q);
}

/* Update slopes and differences; the joint that is most inconsistent, or -1. */
static int compare(struct rd_supervisor *s, const double q[RD_N], const double v[RD_N], double dt)
{
    double keep = exp(-dt / RD_MEMORY), worst = 1.0;
    double blend = 1.0 - exp(-2.0 * RD_PI * RD_SLOPE_CUTOFF * dt);
    int joint = -1;
    for (int i = 0; i < RD_N; i++) {
        double step = q[i] - s->q[i];
        s->jumps[0][i] = fmax(keep * s->jumps[0][i], fabs(step / dt - s->jumps[2][i]));
        s->jumps[2][i] = step / dt;
        s->jumps[1][i] = fmax(keep * s->jumps[1][i], fabs(v[i] - s->v[i]));
        s->slope[i] += blend * (step / dt - s->slope[i]);
        s->difference[i] = keep * s->difference[i] + step - 0.5 * (v[i] + s->v[i]) * dt;
        s->q[i] = q[i];
        s->v[i] = v[i];
        s->speed[i] = fmax(fabs(v[i]), fabs(s->slope[i]));
        s->fast[i] = fmax(keep * s->fast[i], fmin(fabs(v[i]), fabs(s->slope[i])));
        double excess = fabs(s->difference[i])
            / (rd_least_difference[i] + RD_VELOCITY_LAG * s->fast[i]);
        s->in_row[i] = excess > 1.0 ? s->in_row[i] + 1 : 0;
        if (s->in_row[i] < RD_INCONSISTENT_STATES)
            continue;
        /* The measurement that jumped is the wrong one. */
        if (s->lies[i] == RD_NONE)
            s->lies[i] = s->jumps[0][i] > fmax(rd_lasting_jump[i], s->jumps[1][i])
                ? RD_POSITION : RD_VELOCITY;
        if (excess > worst) {
            worst = excess;
            joint = i;
        }
    }
    return joint;
}

struct rd_finding rd_supervisor_check_state(struct rd_supervisor *s, const double q[RD_N],
                                            const double v[RD_N], double stamp)
{
    double dt = stamp - s->stamp;
    if (!(0.0 < dt && dt < RD_LONGEST_STEP)) {
        rd_supervisor_begin(s, q, stamp);
        for (int i = 0; i < RD_N; i++) {
            s->v[i] = s->slope[i] = s->jumps[2][i] = v[i];
            s->speed[i] = fabs(v[i]);
        }
        return nothing;
    }
    int repeated = 1, moves = 0;
    for (int i = 0; i < RD_N; i++) {
        repeated = repeated && q[i] == s->q[i] && v[i] == s->v[i];
        moves |= fabs(v[i]) > RD_STILL;
    }
    s->is_repeated = repeated && moves;
    if (s->is_repeated)
        return nothing;
    s->stamp = stamp;
    int joint = compare(s, q, v, dt), stays = s->left_behind;
    if (stays >= 0 && fabs(q[stays] - s->following[RD_ANCHOR][stays])
                          > RD_MOVED_SHARE * rd_stuck_distance[stays]) {
        /* Its brake has opened, or its encoder measures again. */
        s->lies[stays] = RD_NONE;
        s->left_behind = -1;
    }
    if (joint < 0)
        return nothing;
    return (struct rd_finding){RD_INCONSISTENT, joint, v[joint], s->slope[joint]};
}

/* Update the memory; the joint that its reference left behind farthest, or -1. */
static int follow(struct rd_supervisor *s, const double q[RD_N], const double q_d[RD_N],
                  const double effort[RD_N], double dt)
{
    double worst = 1.0, (*memory)[RD_N] = s->following;
    int joint = -1;
    for (int i = 0; i < RD_N; i++) {
        memory[RD_IMPULSE][i] += dt * (effort[i] - memory[RD_HELD_BY][i]);
        memory[RD_BLIND][i] += dt;
        double asked = fabs(q_d[i] - memory[RD_REFERENCE][i]);
        if (fabs(q[i] - memory[RD_ANCHOR][i])
            > RD_MOVED_SHARE * fmax(asked, rd_stuck_distance[i])) {
            memory[RD_ANCHOR][i] = q[i];
            memory[RD_REFERENCE][i] = q_d[i];
            memory[RD_HELD_BY][i] = effort[i];
            memory[RD_IMPULSE][i] = memory[RD_BLIND][i] = 0.0;
            memory[RD_MOVED_AT][i] = s->v[i];
        } else if (asked > worst * rd_stuck_distance[i]
                   && fabs(effort[i] - memory[RD_HELD_BY][i]) > rd_friction_effort[i]) {
            worst = asked / rd_stuck_distance[i];
            joint = i;
        }
    }
    return joint;
}

struct rd_finding rd_supervisor_check_following(struct rd_supervisor *s, const double q[RD_N],
                                                const double q_d[RD_N],
                                                const double effort[RD_N], double dt)
{
    double M[RD_N * RD_N], fastest = 0.0;
    int joint = follow(s, q, q_d, effort, dt), moved = 0;
    if (joint < 0)
        return nothing;
    for (int i = 0; i < RD_N; i++) {
        moved += fabs(q_d[i] - s->following[RD_REFERENCE][i])
            > RD_MOVED_SHARE * rd_stuck_distance[i];
        fastest = fmax(fastest, fabs(s->slope[i]));
    }
    double asked = fabs(q_d[joint] - s->following[RD_REFERENCE][joint]);
    if (moved > 1 && fastest < RD_STILL)
        return (struct rd_finding){RD_STANDS_STILL, -1, asked, 0.0};
    s->lies[joint] = RD_BOTH;
    s->left_behind = joint;
    /* The speed that it has, and how far it went, if it is free and its encoder is frozen. */
    rd_mass_matrix(q, rd_parameters, M);
    double gained = s->following[RD_IMPULSE][joint] / M[(RD_N + 1) * joint];
    s->slope[joint] = s->following[RD_MOVED_AT][joint] + gained;
    s->unseen[joint] = s->following[RD_BLIND][joint]
        * (s->following[RD_MOVED_AT][joint] + gained / 3.0);
    return (struct rd_finding){RD_NOT_FOLLOWING, joint, q[joint], asked};
}

struct rd_finding rd_supervisor_check_obedience(struct rd_supervisor *s, const double q[RD_N],
                                                const double v[RD_N], double dt,
                                                const double effort[RD_N])
{
    double a[RD_N], acting[RD_N], most = 0.0;
    struct rd_finding found = nothing;
    if (!(0.0 <= s->window && s->window < RD_OBEDIENCE_WINDOW)) {
        s->window = 0.0;
        memcpy(s->v_before, v, sizeof s->v_before);
        memset(s->commanded, 0, sizeof s->commanded);
        return nothing;
    }
    s->window += dt;
    for (int i = 0; i < RD_N; i++)
        s->commanded[i] += dt * effort[i];
    if (s->window < RD_OBEDIENCE_WINDOW)
        return nothing;
    for (int i = 0; i < RD_N; i++)
        a[i] = (v[i] - s->v_before[i]) / s->window;
    rd_inverse_dynamics(q, v, a, rd_parameters, acting);
    for (int i = 0; i < RD_N; i++) {
        double commanded = s->commanded[i] / s->window, size = fabs(commanded);
        double along = commanded > 0.0 ? acting[i] : commanded < 0.0 ? -acting[i] : 0.0;
        if (along < RD_REVERSED_SHARE * size && size > rd_compared_effort[i]
            && fabs(v[i]) > RD_STILL && size > most) {
            most = size;
            found = (struct rd_finding){RD_MOVES_AGAINST, i, acting[i], commanded};
        }
    }
    return found;
}

int rd_lateness_count(struct rd_lateness *l, double age, double dt)
{
    l->age = fmax(age, l->age - l->age / RD_COUNTED_STATES);
    double weight = fmin(1.0, fmax(1.0 / RD_COUNTED_STATES, dt / RD_COUNTED_TIME));
    l->share += ((age > RD_LONGEST_AGE) - l->share) * weight;
    l->very_late = age > 2.0 * RD_LONGEST_AGE ? l->very_late + 1 : 0;
    l->is_late = l->very_late >= RD_VERY_LATE_STATES
        || l->share > (l->is_late ? RD_FEW_LATE : RD_TOO_MANY_LATE);
    return l->is_late;
}
