/* SPDX-License-Identifier: Apache-2.0
 *
 * The control session: from a state to an effort; see control/session/session.py.
 */
#include "controller.h"

#include <math.h>
#include <string.h>

static const double still[RD_N] = {0.0};

static int follows(enum rd_mode mode)
{
    return mode == RD_TRACKING || mode == RD_GUIDED || mode == RD_HALTED;
}

static int is_active(enum rd_mode mode)
{
    return mode == RD_HOLDING || follows(mode);
}

static void set_mode(struct rd_controller *c, enum rd_mode mode, enum rd_cause cause)
{
    c->mode = mode;
    c->reason = (struct rd_finding){cause, -1, 0.0, 0.0};
}

static int all_below(const double v[RD_N], double speed)
{
    for (int i = 0; i < RD_N; i++)
        if (!(fabs(v[i]) < speed))
            return 0;
    return 1;
}

static void go_safe(struct rd_controller *c, enum rd_cause cause, int joint, double value,
                    double limit)
{
    double q[RD_N];
    c->mode = RD_SAFE;
    c->reason = (struct rd_finding){cause, joint, value, limit};
    c->adapted = 0;
    c->stop_motion.has_motion = 0;
    /* Braking is not delayed. */
    c->limiter.ramp_left = 0.0;
    rd_law_forget_recent(&c->law);
    c->good_states = 0;
    c->repeats_left = RD_SAFE_REPEATS;
    for (int i = 0; i < RD_N; i++)
        q[i] = c->monitor.q[i] + c->supervisor.unseen[i];
    rd_safe_begin(&c->safe, q, c->monitor.v, c->supervisor.slope, c->supervisor.lies);
}

/* Hold the measured pose; 0 where the arm cannot be held there. */
static int begin_holding(struct rd_controller *c)
{
    const struct rd_monitor *m = &c->monitor;
    if (!rd_command_gate_prepare(&c->command_gate, &c->law, &c->limiter, m->q))
        return 0;
    rd_limiter_begin_ramp(&c->limiter, RD_PERIOD);
    rd_trajectory_anchor(&c->trajectory, m->q);
    rd_gate_begin(&c->gate, m->stamp, m->q, m->effort);
    rd_supervisor_forget_lies(&c->supervisor);
    rd_safe_forget(&c->safe);
    /* In motion, an unknown load would look like an effort of the wrong sign. */
    c->obeys_until = all_below(m->v, RD_STILL) ? INFINITY : -INFINITY;
    memcpy(c->rests_at, m->q, sizeof c->rests_at);
    c->rests_since = c->stamp;
    set_mode(c, RD_HOLDING, c->gate.reason);
    return 1;
}

/* Lead the desired motion to rest. */
static void begin_halt(struct rd_controller *c)
{
    set_mode(c, RD_HALTED, RD_STOP_REQUESTED);
    c->adapted = 0;
    if (RD_GUIDES) {
        memcpy(c->q_d, c->monitor.q, sizeof c->q_d);
        memcpy(c->v_d, c->monitor.v, sizeof c->v_d);
    }
    rd_stop_motion_begin(&c->stop_motion, c->stamp, c->q_d, c->v_d);
}

/* Follow poses of the end effector; see ImpedanceSession. */
static void begin_guiding(struct rd_controller *c)
{
    set_mode(c, RD_GUIDED, RD_FOLLOWS_POSES);
    memcpy(c->seen, c->monitor.q, sizeof c->seen);
    memset(c->others, 0, sizeof c->others);
}

/* Whether an arm that is to be guided rests, so that the effort that holds it is known. */
static int rests(struct rd_controller *c)
{
    double moved = 0.0;
    for (int i = 0; i < RD_N; i++)
        moved = fmax(moved, fabs(c->monitor.q[i] - c->rests_at[i]));
    if (moved > RD_REST_DISTANCE) {
        memcpy(c->rests_at, c->monitor.q, sizeof c->rests_at);
        c->rests_since = c->stamp;
    }
    return c->stamp - c->rests_since >= RD_REST_TIME;
}

static void begin_tracking(struct rd_controller *c)
{
    if (RD_GUIDES && !rests(c))
        return;
    /* The reference starts at the pose held, not at the one measured now: the feedback that
     * carries an unknown load by a small error must not drop it. */
    rd_law_reset(&c->law, c->monitor.q, c->monitor.v);
    rd_limiter_begin_ramp(&c->limiter, RD_PERIOD);
    c->first_step = 1;
    rd_supervisor_begin_following(&c->supervisor, c->monitor.q, c->q_d, c->limiter.effort);
    c->obeys_until = fmin(c->obeys_until, c->stamp + RD_OBEDIENCE_TIME);
    set_mode(c, RD_TRACKING, RD_FOLLOWS);
    if (c->stop_motion.is_requested)
        begin_halt(c);
    else if (RD_GUIDES)
        begin_guiding(c);
}

/* Whether states had stopped and none is trusted again yet. */
static int is_lost(const struct rd_controller *c, double now)
{
    return c->mode == RD_SAFE && now - c->last_good > RD_STATE_TIMEOUT;
}

/* Safe command that may act for ever: damping of an old velocity would become a push. */
static int send_safe_at_rest(struct rd_controller *c, double dt)
{
    return rd_command_gate_send_safe(&c->command_gate, &c->law, &c->limiter, &c->safe,
                                     c->mode == RD_SAFE ? c->safe.q : c->monitor.q, still, dt);
}

/* Safe command where the state of the arm is unknown: brake it, then hold or release it. */
static int repeat_safe(struct rd_controller *c, double now)
{
    double dt = now - c->last_sent;
    c->last_sent = now;
    /* Written so that braking ends also by a clock that is NaN. */
    double step = 0.0 <= dt && dt <= RD_STATE_TIMEOUT ? dt : RD_STATE_TIMEOUT;
    if (c->repeats_left == RD_SAFE_REPEATS) {
        if (!rd_safe_coast(&c->safe, step, 0.0))
            return rd_command_gate_send_safe(&c->command_gate, &c->law, &c->limiter, &c->safe,
                                             c->safe.q, c->safe.v, dt);
        if (RD_RELEASE_LOST && !rd_safe_release(&c->safe, step))
            return send_safe_at_rest(c, dt);
    }
    c->repeats_left--;
    return send_safe_at_rest(c, dt);
}

/* Safe command that answers the last state. */
static int send_safe(struct rd_controller *c, double dt)
{
    const struct rd_monitor *m = &c->monitor;
    const struct rd_supervisor *s = &c->supervisor;
    if (s->is_repeated)
        rd_safe_coast(&c->safe, dt, c->lateness.age);
    else
        rd_safe_update(&c->safe, m->q, m->v, s->slope, s->lies, dt, c->lateness.age);
    return rd_command_gate_send_safe(&c->command_gate, &c->law, &c->limiter, &c->safe, c->safe.q,
                                     c->safe.v, dt);
}

/* Go safe for a finding, or back to the start gate with an arm that stands still; 0 where the arm
 * cannot be held. */
static int heed(struct rd_controller *c, struct rd_finding found)
{
    if (found.cause == RD_STANDS_STILL) {
        rd_law_forget_recent(&c->law);
        if (!begin_holding(c))
            return 0;
        c->reason = found;
        c->gate.reason = found.cause;
        return 1;
    }
    go_safe(c, found.cause, found.joint, found.value, found.limit);
    /* A joint that moves against its commands must not be moved by them. */
    if (found.cause == RD_MOVES_AGAINST)
        c->safe.released[found.joint] = 1;
    return 1;
}

/* Feed the tests with the last state; what is wrong. */
static struct rd_finding supervise(struct rd_controller *c)
{
    const struct rd_monitor *m = &c->monitor;
    struct rd_finding found = {RD_NOTHING, -1, 0.0, 0.0};
    double effort[RD_N];
    struct rd_finding state = found;
    int is_known = m->dt > 0.0 && m->velocity_known;
    if (is_known)
        state = rd_supervisor_check_state(&c->supervisor, m->q, m->v, m->stamp);
    else
        rd_supervisor_begin(&c->supervisor, m->q, m->stamp);
    /* A state that repeats a motion is as old as the one that it repeats. */
    double age = c->last_receive - c->supervisor.stamp + fmax(0.0, m->dt - RD_PERIOD);
    int is_late = rd_lateness_count(&c->lateness, age, m->dt);
    if (!(is_known && is_active(c->mode)))
        return found;
    if (state.cause != RD_NOTHING)
        return state;
    if (is_late)
        return (struct rd_finding){RD_ANSWERS_LATE, -1, c->lateness.age, RD_LONGEST_AGE};
    if (m->stamp < c->obeys_until && c->command_gate.has_sent) {
        for (int i = 0; i < RD_N; i++)
            effort[i] = c->limiter.effort[i] + c->limiter.hardware_gravity[i];
        return rd_supervisor_check_obedience(&c->supervisor, m->q, m->v, m->dt, effort);
    }
    return found;
}

/* Why an arm is not taken over: it is outside its limits. */
static struct rd_finding outside_limits(const struct rd_controller *c)
{
    for (int i = 0; i < RD_N; i++) {
        double q = c->monitor.q[i];
        if (q < rd_joint_lower[i] - RD_OUTSIDE)
            return (struct rd_finding){RD_OUTSIDE_LIMITS, i, q, rd_joint_lower[i]};
        if (q > rd_joint_upper[i] + RD_OUTSIDE)
            return (struct rd_finding){RD_OUTSIDE_LIMITS, i, q, rd_joint_upper[i]};
    }
    return (struct rd_finding){RD_NOTHING, -1, 0.0, 0.0};
}

/* Why an arm is not taken over: at rest its efforts have to hold it, unless brakes do so. */
static struct rd_finding opposes_gravity(struct rd_controller *c)
{
    const struct rd_monitor *m = &c->monitor;
    struct rd_finding found = {RD_NOTHING, -1, 0.0, 0.0};
    double needed[RD_N], reported[RD_N];
    double most = 0.0, product = 0.0, square = 0.0, least = INFINITY;
    for (int i = 0; i < RD_N; i++)
        if (!RD_COMPARE_EFFORT || fabs(m->v[i]) > RD_REST_SPEED)
            return found;
    rd_law_safe_effort(&c->law, m->q, still, needed);
    rd_law_less_gravity(&c->limiter, m->q, needed);
    rd_gate_as_sent(m->q, m->effort, reported);
    for (int i = 0; i < RD_N; i++) {
        needed[i] += c->limiter.hardware_gravity[i];
        reported[i] += c->limiter.hardware_gravity[i];
        /* As shares of the limits: a reading beyond them shows a sign and no more. */
        double share = fmin(fmax(needed[i] / rd_effort_limit[i], -1.0), 1.0);
        double shown = reported[i] / rd_effort_limit[i];
        double along = share * (shown < -1.0 ? -1.0 : shown > 1.0 ? 1.0 : shown);
        most = fmax(most, fabs(share));
        product += along;
        square += share * share;
        if (along < least) {
            least = along;
            found = (struct rd_finding){RD_OPPOSES_GRAVITY, i, reported[i], needed[i]};
        }
    }
    /* Written so that NaN, an effort that is not reported, does not oppose. */
    if (!(most > RD_MUCH_GRAVITY && product < RD_OPPOSES * square))
        found = (struct rd_finding){RD_NOTHING, -1, 0.0, 0.0};
    return found;
}

/* Change the mode after a good state that came after some silence; 0 where the arm cannot be held
 * at its pose. */
static int change_mode(struct rd_controller *c, double silence)
{
    const struct rd_monitor *m = &c->monitor;
    struct rd_finding found = supervise(c);
    int is_fast = rd_speed_guard_is_fast(&c->speed_guard, c->supervisor.speed);
    if (c->mode == RD_WAITING) {
        struct rd_finding refusal = outside_limits(c);
        if (refusal.cause == RD_NOTHING)
            refusal = opposes_gravity(c);
        if (refusal.cause == RD_NOTHING)
            return begin_holding(c);
        c->reason = refusal;
    } else if (c->mode == RD_SAFE) {
        int is_doubtful = is_fast || c->lateness.is_late;
        for (int i = 0; i < RD_N; i++)
            is_doubtful = is_doubtful || c->supervisor.lies[i] != RD_NONE;
        c->repeats_left = RD_SAFE_REPEATS;
        c->good_states = is_doubtful ? 0 : c->good_states + 1;
        /* Other causes need a new activation. */
        if (RD_RESUME_AFTER && c->reason.cause <= RD_TOO_FAST
            && c->good_states >= RD_RESUME_AFTER)
            return begin_holding(c);
    } else if (!(silence <= RD_STATE_TIMEOUT)) {
        go_safe(c, RD_STATES_STOPPED, -1, silence, RD_STATE_TIMEOUT);
    } else if (m->dt > RD_STATE_TIMEOUT) {
        go_safe(c, RD_CLOCK_JUMPED, -1, m->dt, RD_STATE_TIMEOUT);
    } else if (is_fast) {
        struct rd_finding detail = c->speed_guard.detail;
        go_safe(c, RD_TOO_FAST, detail.joint, detail.value, detail.limit);
    } else if (found.cause != RD_NOTHING) {
        return heed(c, found);
    } else if (follows(c->mode) && c->overruns_in_row > RD_MAX_OVERRUNS) {
        go_safe(c, RD_STATES_SLOW, -1, m->dt, RD_PERIOD);
    } else if (c->mode == RD_HOLDING && m->velocity_known
               && rd_gate_observe(&c->gate, m->stamp, m->q, m->effort)) {
        begin_tracking(c);
    }
    return 1;
}

/* Sample the desired motion at the stamp; go safe where the arm is far from it. */
static void update_desired_motion(struct rd_controller *c)
{
    if (c->mode == RD_HALTED)
        rd_stop_motion_sample(&c->stop_motion, c->stamp, c->q_d, c->v_d, c->a_d);
    else
        rd_trajectory_sample(&c->trajectory, c->stamp, c->q_d, c->v_d, c->a_d);
    if (c->mode == RD_GUIDED) {
        /* The reference of a joint of which not a digit changes moves away by the way of the
         * others, for the supervisor. */
        double moved = 0.0;
        for (int i = 0; i < RD_N; i++)
            moved = fmax(moved, fabs(c->monitor.q[i] - c->seen[i]));
        for (int i = 0; i < RD_N; i++) {
            c->others[i] = c->monitor.q[i] != c->seen[i] ? 0.0 : c->others[i] + moved;
            c->seen[i] = c->monitor.q[i];
            c->q_d[i] = c->seen[i] + c->others[i];
        }
        return;
    }
    double most = -1.0;
    int worst = -1;
    for (int i = 0; i < RD_N; i++) {
        double error = fabs(c->q_d[i] - c->monitor.q[i]);
        if (!(error <= RD_LARGEST_ERROR) && !(error <= most)) {
            most = error;
            worst = i;
        }
    }
    if (worst >= 0)
        go_safe(c, RD_FAR_FROM_REFERENCE, worst, most, RD_LARGEST_ERROR);
}

/* Act on a joint that stays where it is while its reference moves. */
static int check_following(struct rd_controller *c)
{
    const struct rd_monitor *m = &c->monitor;
    if (!m->velocity_known || c->supervisor.is_repeated)
        return 1;
    struct rd_finding found = rd_supervisor_check_following(&c->supervisor, m->q, c->q_d,
                                                            c->limiter.effort, m->dt);
    return found.cause == RD_NOTHING || heed(c, found);
}

static int send_holding(struct rd_controller *c, double dt)
{
    double tau[RD_N];
    rd_law_holding_effort(&c->law, c->monitor.q, c->monitor.v, c->q_d, tau);
    rd_law_less_gravity(&c->limiter, c->monitor.q, tau);
    return rd_command_gate_send(&c->command_gate, &c->limiter, tau, dt);
}

static int hold_pose(struct rd_controller *c, double dt)
{
    if (!send_holding(c, dt))
        return 0;
    rd_gate_note_sent(&c->gate, c->command_gate.effort);
    c->reason.cause = c->gate.reason;
    return 1;
}

static int track(struct rd_controller *c, double dt)
{
    const struct rd_monitor *m = &c->monitor;
    double tau[RD_N];
    if (RD_GUIDES && c->mode != RD_GUIDED) {
        c->adapted = 0;
        return send_holding(c, dt);
    }
    c->adapted = c->adapt_enabled && c->mode == RD_TRACKING && !c->first_step && c->is_regular
        && !c->limiter.any_saturated && m->velocity_known;
    double since_update = c->first_step ? 0.0 : dt;
    c->first_step = 0;
    const int cause = rd_law_update(&c->law, m->q, m->v, c->q_d, c->v_d, c->a_d, since_update,
                                    c->adapted, tau);
    if (cause != 0) {
        go_safe(c, (enum rd_cause)cause, -1, 0.0, 0.0);
        return send_safe(c, dt);
    }
    rd_law_less_gravity(&c->limiter, m->q, tau);
    if (!rd_command_gate_send(&c->command_gate, &c->limiter, tau, dt))
        return 0;
    for (int i = 0; i < RD_N; i++)
        tau[i] = c->command_gate.effort[i] + c->limiter.hardware_gravity[i];
    rd_law_note_applied(&c->law, tau);
    return 1;
}

/* Command of the mode; a law without a usable effort makes the session safe. */
static int answer(struct rd_controller *c, double silence, double dt)
{
    int works = change_mode(c, silence);
    if (works && is_active(c->mode))
        update_desired_motion(c);
    if (works && follows(c->mode))
        works = check_following(c);
    if (works && c->mode == RD_HOLDING && hold_pose(c, dt))
        return 1;
    if (works && follows(c->mode) && track(c, dt))
        return 1;
    if (!works || is_active(c->mode))
        go_safe(c, RD_CONTROLLER_FAILED, -1, 0.0, 0.0);
    return send_safe(c, dt);
}

/* Time step of the law, bounded, and whether it may learn from it; see StepClock. */
static double clock_step(struct rd_controller *c, double dt)
{
    c->is_regular = dt > 0.0 && RD_SHORTEST_REGULAR <= dt && dt <= RD_LONGEST_REGULAR;
    if (!(dt > 0.0))
        return 0.0;
    c->overruns_in_row = dt > RD_LONGEST_DT ? c->overruns_in_row + 1 : 0;
    return fmin(dt, RD_LONGEST_DT);
}

/* Answer a state; whether there is a command. */
static int on_state(struct rd_controller *c, double t, const double q[RD_N],
                    const double v[RD_N], const double effort[RD_N])
{
    if (t < c->last_receive - RD_CLOCK_TOLERANCE) {
        rd_monitor_forget(&c->monitor);
        c->good_states = 0;
        if (is_active(c->mode))
            go_safe(c, RD_CLOCK_JUMPED, -1, t - c->last_receive, 0.0);
    }
    c->last_receive = t;
    enum rd_state verdict = rd_monitor_update(&c->monitor, t, q, v, effort);
    if (verdict != RD_ACCEPTED) {
        int joint = c->monitor.joint;
        c->good_states = 0;
        if (verdict == RD_JUMP) {
            int stays = fabs(q[joint] - c->jumped_to) <= RD_SAME_PLACE;
            c->jumps = stays ? c->jumps + 1 : 1;
            c->jumped_to = q[joint];
        } else {
            c->jumps = 0;
        }
        if (c->jumps >= RD_LASTING_JUMPS && is_active(c->mode)) {
            /* Its velocity still brakes it. */
            c->supervisor.lies[joint] = RD_POSITION;
            go_safe(c, RD_POSITION_JUMPED, joint, q[joint], 0.0);
            rd_monitor_forget(&c->monitor);
            return repeat_safe(c, t);
        }
        /* The state before, which it contradicts, may be the wrong one. */
        if (c->jumps && is_lost(c, t))
            rd_monitor_forget(&c->monitor);
        if (verdict == RD_FROZEN) {
            /* The last effort answers a state that is no longer known: it is not held. */
            if (is_active(c->mode))
                go_safe(c, RD_STATES_STOPPED, -1, t - c->monitor.unchanged_since,
                        RD_FROZEN_AFTER);
            if (c->mode == RD_SAFE && c->repeats_left > 0)
                return repeat_safe(c, t);
        }
        return 0;
    }
    c->last_accepted = t;
    c->jumps = 0;
    if (is_lost(c, t) && c->good_states + 1 < RD_CONFIRMING_STATES) {
        c->good_states++;
        return 0;
    }
    double silence = t - c->last_good;
    c->last_good = t;
    if (c->mode == RD_STOPPED)
        return 0;
    c->stamp = c->monitor.stamp;
    c->last_sent = t;
    return answer(c, silence, clock_step(c, c->monitor.dt));
}

/* Watch for states that stop; whether there is a command. */
static int on_tick(struct rd_controller *c, double now)
{
    /* Written so that NaN counts as silence. */
    if (c->last_good + RD_STATE_TIMEOUT - now > 0.0)
        return 0;
    if (is_active(c->mode))
        go_safe(c, RD_STATES_STOPPED, -1, now - c->last_good, RD_STATE_TIMEOUT);
    if (is_lost(c, now) && now - c->last_accepted > RD_STATE_TIMEOUT) {
        /* After a permanent jump the next position counts as a first one. */
        rd_monitor_forget(&c->monitor);
        c->good_states = 0;
    }
    if (c->mode != RD_SAFE || c->repeats_left <= 0)
        return 0;
    return repeat_safe(c, now);
}

enum rd_mode rd_update(struct rd_controller *c, double t, const double q[RD_N],
                       const double v[RD_N], const double effort[RD_N], double tau[RD_N])
{
    c->has_command = on_state(c, t, q, v, effort) || on_tick(c, t);
    if (c->has_command)
        memcpy(tau, c->command_gate.effort, sizeof c->command_gate.effort);
    return c->mode;
}

void rd_init(struct rd_controller *c)
{
    memset(c, 0, sizeof *c);
    rd_law_init(&c->law);
    rd_monitor_init(&c->monitor);
    rd_supervisor_init(&c->supervisor);
    rd_safe_init(&c->safe);
    c->adapt_enabled = 1;
    c->last_receive = c->last_sent = c->last_accepted = c->last_good = -INFINITY;
    c->obeys_until = INFINITY;
    c->jumped_to = NAN;
    set_mode(c, RD_STOPPED, RD_NO_STATE);
}

void rd_reactivate(struct rd_controller *c)
{
    set_mode(c, RD_WAITING, RD_NO_STATE);
    rd_monitor_forget(&c->monitor);
    c->stop_motion.has_motion = c->stop_motion.is_requested = 0;
}

void rd_take_over(struct rd_controller *c, const double effort[RD_N])
{
    rd_limiter_begin_at(&c->limiter, effort);
}

enum rd_refusal rd_reference(struct rd_controller *c, int count, double stamp, const double *t,
                             const double *q, const double *v, const double *a)
{
    if (RD_GUIDES || c->mode != RD_TRACKING)
        return RD_NOT_TRACKING;
    return rd_trajectory_accept(&c->trajectory, (struct rd_points){count, t, q, v, a}, stamp,
                                c->stamp, c->monitor.q);
}

void rd_cancel_reference(struct rd_controller *c)
{
    if (c->mode == RD_TRACKING)
        rd_trajectory_stop(&c->trajectory, c->stamp);
}

void rd_halt(struct rd_controller *c)
{
    c->stop_motion.is_requested = 1;
    if (c->mode == RD_TRACKING || c->mode == RD_GUIDED)
        begin_halt(c);
}

int rd_resume(struct rd_controller *c)
{
    if (!c->stop_motion.is_requested)
        return 0;
    if (c->mode == RD_HALTED) {
        if (!rd_stop_motion_is_over(&c->stop_motion, c->stamp))
            return 0;
        rd_trajectory_anchor(&c->trajectory, c->q_d);
        set_mode(c, RD_TRACKING, RD_RESUMED);
    }
    if (RD_GUIDES && c->mode == RD_TRACKING) {
        rd_law_reset(&c->law, c->monitor.q, c->monitor.v);
        c->first_step = 1;
        begin_guiding(c);
    }
    c->stop_motion.has_motion = c->stop_motion.is_requested = 0;
    return 1;
}

int rd_wind_down(struct rd_controller *c, double dt, double tau[RD_N])
{
    rd_limiter_begin_ramp(&c->limiter, INFINITY);
    if (!send_safe_at_rest(c, dt) || !c->limiter.any_saturated)
        return 0;
    memcpy(tau, c->command_gate.effort, sizeof c->command_gate.effort);
    return 1;
}

int rd_stop(struct rd_controller *c, double tau[RD_N])
{
    c->adapted = 0;
    c->stop_motion.has_motion = 0;
    /* The last command may act for ever: it is not delayed by the rate limit. */
    c->limiter.has_last = 0;
    int has_command = send_safe_at_rest(c, 0.0);
    if (has_command)
        memcpy(tau, c->command_gate.effort, sizeof c->command_gate.effort);
    set_mode(c, RD_STOPPED, RD_REQUESTED);
    c->command_gate.has_sent = 0;
    c->limiter.has_last = 0;
    return has_command;
}

int rd_safe_has_failed(const struct rd_controller *c)
{
    int failed = c->safe.level == RD_ZERO;
    for (int i = 0; i < RD_N; i++)
        failed = failed || c->safe.released[i];
    return c->mode == RD_SAFE && failed;
}
