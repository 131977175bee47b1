/* SPDX-License-Identifier: Apache-2.0
 *
 * The controller of one arm: from states to efforts within limits.
 *
 * It is the control session of the package robot_dynamics (control/session/session.py). One
 * thread calls all functions. They allocate nothing, take no locks and never block.
 *
 *     static struct rd_controller c;
 *     rd_init(&c);
 *     rd_reactivate(&c);
 *     for (;;) rd_update(&c, t, q, v, effort, tau);
 */
#ifndef RD_CONTROLLER_H
#define RD_CONTROLLER_H

#ifdef __cplusplus
extern "C" {
#endif

#include "session.h"

struct rd_controller {
    enum rd_mode mode;
    struct rd_finding reason; /* Reason of the mode; in RD_SAFE its cause. */
    int adapt_enabled; /* Whether the law may learn at all; set by the caller. */
    int adapted; /* Whether it was allowed to in the last step. */
    int has_command; /* Whether the last rd_update gave a command. */
    double q_d[RD_N], v_d[RD_N], a_d[RD_N]; /* Desired motion of the last answer. */
    struct rd_law law;
    struct rd_monitor monitor;
    struct rd_gate gate;
    struct rd_limiter limiter;
    struct rd_command_gate command_gate;
    struct rd_speed_guard speed_guard;
    struct rd_supervisor supervisor;
    struct rd_lateness lateness;
    struct rd_safe safe;
    struct rd_trajectory trajectory;
    struct rd_stop_motion stop_motion;
    double rests_at[RD_N], rests_since, seen[RD_N], others[RD_N]; /* Of an arm that is guided. */
    double stamp, last_receive, last_sent, last_accepted, last_good, obeys_until, jumped_to;
    int first_step, good_states, jumps, repeats_left, overruns_in_row, is_regular;
};

/* Begin in RD_STOPPED, with the estimates of the Python law. */
void rd_init(struct rd_controller *c);

/* Answer the state of a cycle at time t, s, on a clock that counts from a recent time.
 *
 * effort is as the hardware reports it, NaN where it does not. tau gets the command where there
 * is one (has_command); otherwise it is left as it is, and the last command stays. Returns the
 * mode. */
enum rd_mode rd_update(struct rd_controller *c, double t, const double q[RD_N],
                       const double v[RD_N], const double effort[RD_N], double tau[RD_N]);

/* Follow a trajectory, completely or not at all: `count` times from its start, rows of positions
 * and, or NULL, of velocities and accelerations. `stamp` is its start, 0 for now. Returns why it is
 * refused; trajectory.joint and trajectory.value have the details. */
enum rd_refusal rd_reference(struct rd_controller *c, int count, double stamp, const double *t,
                             const double *q, const double *v, const double *a);

/* Come to rest on the path of the trajectory that is followed, and go on tracking. */
void rd_cancel_reference(struct rd_controller *c);

/* Start over at the pose of the next good state; ends a requested stop. */
void rd_reactivate(struct rd_controller *c);

/* Continue from an effort that already acts on the arm; call it after rd_reactivate. */
void rd_take_over(struct rd_controller *c, const double effort[RD_N]);

/* Stop as fast as the acceleration bounds allow, then hold until rd_resume. */
void rd_halt(struct rd_controller *c);

/* Follow references again, from the pose held. Returns 0 where no stop was requested, or the arm
 * is not at rest yet. */
int rd_resume(struct rd_controller *c);

/* Next command on the way to the safe effort within the rate limit, dt after the last; returns 0
 * at its end, or where no command was ever given. */
int rd_wind_down(struct rd_controller *c, double dt, double tau[RD_N]);

/* End: tau gets the safe command, which may act for ever. Returns 0, and leaves tau, where no
 * command was ever given. */
int rd_stop(struct rd_controller *c, double tau[RD_N]);

/* Whether the safe command does not stop the arm, so that its driver must. */
int rd_safe_has_failed(const struct rd_controller *c);

#ifdef __cplusplus
}
#endif

#endif
