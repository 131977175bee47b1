/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a controller: the guards between a state and an effort, and the trajectory buffer.
 *
 * Each file is the module of that name below control/ in the package robot_dynamics: the same
 * decisions in the same order, tested against it step by step. What cannot happen here is left
 * out: ros2_control gives one complete state each cycle, with the joints in order and the time of
 * the cycle as stamp and receive time. So there are no names, parts of states, late stamps or
 * other publishers.
 *
 * Nothing is allocated. Vectors have one value per joint, SI units.
 */
#ifndef RD_SESSION_H
#define RD_SESSION_H

#include "constants.h"
#include "law.h"
#include "modes.h"
#include "robot.h"

/* Joint state monitor: complete, plausible states; see joint_state.py. */
enum rd_state { RD_ACCEPTED, RD_NOT_FINITE, RD_DUPLICATE, RD_OUT_OF_ORDER, RD_JUMP, RD_FROZEN,
                RD_NO_TIME };
enum rd_source { RD_UNKNOWN, RD_ESTIMATED, RD_MEASURED };

struct rd_monitor {
    double q[RD_N], v[RD_N], effort[RD_N]; /* The last accepted state; effort NaN if unknown. */
    double stamp, dt; /* Its stamp, -INFINITY for none, and time since the state before. */
    int velocity_known; /* Whether no velocity is assumed to be zero. */
    int joint; /* Joint concerned by the last verdict, -1 for none. */
    double reported[RD_N], turns[RD_N];
    enum rd_source source[RD_N];
    double last_q[RD_N], last_v[RD_N], unchanged_since;
    int repeats;
};

void rd_monitor_init(struct rd_monitor *m);
void rd_monitor_forget(struct rd_monitor *m);
enum rd_state rd_monitor_update(struct rd_monitor *m, double t, const double q[RD_N],
                                const double v[RD_N], const double effort[RD_N]);

/* Start gate: hold the measured pose until the arm obeys; see start_gate.py. */
struct rd_gate {
    double sent[RD_HISTORY][RD_N];
    double effort_before[RD_N], still_at[RD_N], still_since;
    int count, next, proven;
    enum rd_cause reason;
};

void rd_gate_as_sent(const double q[RD_N], const double reported[RD_N], double effort[RD_N]);
void rd_gate_begin(struct rd_gate *g, double stamp, const double q[RD_N],
                   const double effort[RD_N]);
void rd_gate_note_sent(struct rd_gate *g, const double tau[RD_N]);
int rd_gate_observe(struct rd_gate *g, double stamp, const double q[RD_N],
                    const double effort[RD_N]);

/* Effort limiter; see limits.py. */
struct rd_limiter {
    double effort[RD_N]; /* The last effort. */
    double hardware_gravity[RD_N]; /* Effort that the hardware adds by itself. */
    int any_saturated;
    double ramp_left, longest_step;
    int has_last;
};

void rd_limiter_begin_at(struct rd_limiter *l, const double effort[RD_N]);
void rd_limiter_begin_ramp(struct rd_limiter *l, double longest_step);
int rd_limiter_apply(struct rd_limiter *l, const double tau[RD_N], double dt); /* 0 if finite. */
int rd_within(const double values[RD_N], const double limit[RD_N]);

/* Speed guard: an arm far beyond its speed limits; see limits.py. */
struct rd_speed_guard {
    int in_row;
    struct rd_finding detail;
};

int rd_speed_guard_is_fast(struct rd_speed_guard *s, const double v[RD_N]);

/* Control law of hardware that may compensate gravity itself; see protocol.py. */
void rd_law_less_gravity(struct rd_limiter *l, const double q[RD_N], double tau[RD_N]);

/* Motion that the safe command answers; see safe_command.py. */
enum rd_level { RD_FULL, RD_UNDAMPED, RD_ZERO };

struct rd_safe {
    double q[RD_N], v[RD_N], known[RD_N];
    enum rd_level level;
    int released[RD_N];
    double share, energy, energy_before, coasted, acting[RD_N], inertia[RD_N * RD_N];
    int in_row, brakes;
};

void rd_safe_init(struct rd_safe *s);
void rd_safe_forget(struct rd_safe *s);
void rd_safe_begin(struct rd_safe *s, const double q[RD_N], const double v[RD_N],
                   const double slope[RD_N], const int lies[RD_N]);
void rd_safe_update(struct rd_safe *s, const double q[RD_N], const double v[RD_N],
                    const double slope[RD_N], const int lies[RD_N], double dt, double age);
int rd_safe_coast(struct rd_safe *s, double dt, double age);
int rd_safe_release(struct rd_safe *s, double dt);
void rd_safe_note_limits(struct rd_safe *s, const double wanted[RD_N], const double sent[RD_N]);
/* Safe effort at a pose and velocity; `s` may be NULL: the whole command. */
void rd_safe_effort(struct rd_law *law, struct rd_limiter *l, const struct rd_safe *s,
                    const double q[RD_N], const double v[RD_N], double tau[RD_N]);

/* Command gate: efforts become commands within limits, or the safe effort; see limits.py. */
struct rd_command_gate {
    double fallback[RD_N];
    double effort[RD_N]; /* The last command. */
    int has_sent;
};

int rd_command_gate_prepare(struct rd_command_gate *g, struct rd_law *law, struct rd_limiter *l,
                            const double q[RD_N]);
int rd_command_gate_send(struct rd_command_gate *g, struct rd_limiter *l, const double tau[RD_N],
                         double dt);
int rd_command_gate_send_safe(struct rd_command_gate *g, struct rd_law *law,
                              struct rd_limiter *l, struct rd_safe *s, const double q[RD_N],
                              const double v[RD_N], double dt);

/* Motion supervisor and lateness counter; see supervisor.py. */
enum rd_lie { RD_NONE, RD_VELOCITY, RD_POSITION, RD_BOTH };
enum rd_row { RD_ANCHOR, RD_REFERENCE, RD_HELD_BY, RD_IMPULSE, RD_BLIND, RD_MOVED_AT, RD_ROWS };

struct rd_supervisor {
    double slope[RD_N], speed[RD_N], unseen[RD_N];
    int lies[RD_N], is_repeated;
    double q[RD_N], v[RD_N], difference[RD_N], fast[RD_N], jumps[3][RD_N];
    int in_row[RD_N];
    double following[RD_ROWS][RD_N], v_before[RD_N], commanded[RD_N], window, stamp;
    int left_behind;
};

void rd_supervisor_init(struct rd_supervisor *s);
void rd_supervisor_begin(struct rd_supervisor *s, const double q[RD_N], double stamp);
void rd_supervisor_forget_lies(struct rd_supervisor *s);
void rd_supervisor_begin_following(struct rd_supervisor *s, const double q[RD_N],
                                   const double q_d[RD_N], const double effort[RD_N]);
struct rd_finding rd_supervisor_check_state(struct rd_supervisor *s, const double q[RD_N],
                                            const double v[RD_N], double stamp);
struct rd_finding rd_supervisor_check_following(struct rd_supervisor *s, const double q[RD_N],
                                                const double q_d[RD_N],
                                                const double effort[RD_N], double dt);
struct rd_finding rd_supervisor_check_obedience(struct rd_supervisor *s, const double q[RD_N],
                                                const double v[RD_N], double dt,
                                                const double effort[RD_N]);

struct rd_lateness {
    double share, age;
    int very_late, is_late;
};

int rd_lateness_count(struct rd_lateness *l, double age, double dt);

/* Trajectory buffer; see piecewise.py, trajectory.py and trajectory_limits.py. */
#define RD_ORDER 6
#define RD_ROWS_OF_POINTS (RD_MAX_POINTS + RD_STOP_POINTS + 2)
#define RD_MAX_PIECES (2 * RD_ROWS_OF_POINTS + 8)

/* Polynomial of the time since `origin`, from `begin` on. */
struct rd_piece {
    double begin, origin, c[RD_ORDER][RD_N];
};

/* Points of a trajectory: times from its start, rows of positions and, or NULL, derivatives. */
struct rd_points {
    int count;
    const double *t, *q, *v, *a;
};

enum rd_refusal {
    RD_FOLLOWED,
    RD_NOT_TRACKING,
    RD_NO_POINT,
    RD_TOO_MANY_POINTS,
    RD_POINT_NOT_FINITE,
    RD_NO_VELOCITIES,
    RD_WRONG_TIMES,
    RD_WRONG_STAMP,
    RD_TOO_OLD,
    RD_POINT_OUTSIDE,
    RD_STARTS_ELSEWHERE,
    RD_BEYOND_POSITION,
    RD_BEYOND_SPEED,
    RD_BEYOND_ACCELERATION,
    RD_REFUSALS
};

extern const char *const rd_refusal_text[RD_REFUSALS];

struct rd_trajectory {
    struct rd_piece pieces[2][RD_MAX_PIECES];
    int active, count;
    /* Work space: points with absolute times, and the spline through them. */
    double t[RD_ROWS_OF_POINTS], diagonal[RD_ROWS_OF_POINTS];
    double q[RD_ROWS_OF_POINTS][RD_N], v[RD_ROWS_OF_POINTS][RD_N], a[RD_ROWS_OF_POINTS][RD_N];
    int joint; /* Joint concerned by the last refusal, -1 for none. */
    double value; /* Its value. */
};

void rd_trajectory_anchor(struct rd_trajectory *b, const double q[RD_N]);
void rd_trajectory_sample(struct rd_trajectory *b, double t, double q[RD_N], double v[RD_N],
                          double a[RD_N]);
double rd_trajectory_end(const struct rd_trajectory *b);
void rd_trajectory_stop(struct rd_trajectory *b, double now);
enum rd_refusal rd_trajectory_accept(struct rd_trajectory *b, struct rd_points points,
                                     double stamp, double now, const double measured[RD_N]);
/* First violation of a limit by a motion; see trajectory_limits.c. */
enum rd_refusal rd_find_violation(struct rd_trajectory *b, const struct rd_piece *pieces,
                                  int count, const double lower[RD_N], const double upper[RD_N],
                                  double overshoot);

/* Requested stops; see stop_motion.py. */
struct rd_stop_motion {
    int is_requested, has_motion;
    double since, duration, q[RD_N], v[RD_N], times[RD_N], u[RD_N], lower[RD_N], upper[RD_N];
};

void rd_stop_motion_begin(struct rd_stop_motion *s, double stamp, const double q[RD_N],
                          const double v[RD_N]);
void rd_stop_motion_sample(const struct rd_stop_motion *s, double stamp, double q[RD_N],
                           double v[RD_N], double a[RD_N]);
int rd_stop_motion_is_over(const struct rd_stop_motion *s, double stamp);

#endif
