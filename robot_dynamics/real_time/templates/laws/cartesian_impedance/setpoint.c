/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "constants.h"
#include "impedance.h"
#include "law.h"

/* Quaternion of R(a) R(b). */
static void compose(const double *a, const double *b, double *out)
{
    const double c[4] = {a[3] * b[0] + b[3] * a[0] + a[1] * b[2] - a[2] * b[1],
                         a[3] * b[1] + b[3] * a[1] + a[2] * b[0] - a[0] * b[2],
                         a[3] * b[2] + b[3] * a[2] + a[0] * b[1] - a[1] * b[0],
                         a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]};
    memcpy(out, c, sizeof c);
}

/* Quaternion of the rotation by twice a vector. */
static void quaternion_of_half(const double *half, double *out)
{
    const double angle = rd_length(half), factor = angle > 1e-9 ? sin(angle) / angle : 1.0;

    for (int i = 0; i < 3; ++i)
        out[i] = factor * half[i];
    out[3] = cos(angle);
}

/* Quaternion, w >= 0, of the rotation of a pose; see model/rotation.py. */
static void quaternion_of(const double *R, double *out)
{
    const double x = R[0], y = R[4], z = R[8];
    const double rows[4][4] = {
        {1.0 + x - y - z, R[1] + R[3], R[2] + R[6], R[7] - R[5]},
        {R[1] + R[3], 1.0 - x + y - z, R[5] + R[7], R[2] - R[6]},
        {R[2] + R[6], R[5] + R[7], 1.0 - x - y + z, R[3] - R[1]},
        {R[7] - R[5], R[2] - R[6], R[3] - R[1], 1.0 + x + y + z}};
    double scale;
    int best = 0;

    for (int i = 1; i < 4; ++i)
        if (rows[i][i] > rows[best][best])
            best = i;
    scale = 1.0 / sqrt(rows[best][0] * rows[best][0] + rows[best][1] * rows[best][1]
                       + rows[best][2] * rows[best][2] + rows[best][3] * rows[best][3]);
    for (int i = 0; i < 4; ++i)
        out[i] = (rows[best][3] < 0.0 ? -scale : scale) * rows[best][i];
}

/* Rotation vector from an orientation to another, at most pi long. */
static void turn_between(const double *to, const double *from, double *out)
{
    const double back[4] = {-from[0], -from[1], -from[2], from[3]};
    double turn[4], sine, factor;

    compose(to, back, turn);
    sine = rd_length(turn);
    factor = copysign(sine < 1e-9 ? 2.0 : 2.0 * atan2(sine, fabs(turn[3])) / sine, turn[3]);
    for (int i = 0; i < 3; ++i)
        out[i] = factor * turn[i];
}

void rd_setpoint_begin(struct rd_setpoint *s, const double pose[RD_POSE])
{
    memset(s, 0, sizeof *s);
    memcpy(s->position, pose + 9, sizeof s->position);
    quaternion_of(pose, s->quaternion);
}

/* Acceleration of a displacement or rotation towards a goal. */
static void accelerate(enum rd_goal_kind kind, const double *way, const double *velocity, double rate,
                       double speed, double most, double *out)
{
    const double far = rd_length(way);
    double share = 1.0;

    if (kind == RD_GOAL_POSE)
        /* Fast where it is far, but not faster than it can brake. */
        speed = fmin(fmin(speed, RD_APPROACH_RATE * far), sqrt(most * far));
    if (far > speed || (kind == RD_GOAL_POSE && far > 0.0))
        share = speed / far;
    for (int i = 0; i < 3; ++i)
        out[i] = rate * (share * way[i] - velocity[i]);
    share = fmin(1.0, most / fmax(rd_length(out), RD_TINY));
    for (int i = 0; i < 3; ++i)
        out[i] *= share;
}

void rd_setpoint_advance(struct rd_setpoint *s, double dt)
{
    const double rate = dt > 0.0 ? fmin(4.0 * RD_APPROACH_RATE, 1.0 / dt) : 0.0;
    double way[6] = {0.0}, half[3], turn[4], after[4], scale;
    struct rd_goal *goal = &s->goal;

    goal->age += dt;
    if (goal->age > RD_GOAL_TIMEOUT)
        goal->kind = RD_GOAL_NONE;
    if (goal->kind == RD_GOAL_TWIST) {
        memcpy(way, goal->values, sizeof way);
    } else if (goal->kind == RD_GOAL_POSE) {
        for (int i = 0; i < 3; ++i)
            way[i] = goal->values[i] - s->position[i];
        turn_between(goal->values + 3, s->quaternion, way + 3);
    }
    accelerate(goal->kind, way, s->twist, rate, RD_TIP_SPEED, RD_TIP_ACCELERATION,
               s->acceleration);
    accelerate(goal->kind, way + 3, s->twist + 3, rate, RD_TURN_RATE, RD_TURN_ACCELERATION,
               s->acceleration + 3);
    for (int i = 0; i < 3; ++i) {
        s->position[i] += dt * (s->twist[i] + 0.5 * dt * s->acceleration[i]);
        half[i] = 0.5 * dt * (s->twist[3 + i] + 0.5 * dt * s->acceleration[3 + i]);
    }
    quaternion_of_half(half, turn);
    compose(turn, s->quaternion, after);
    scale = 1.0 / sqrt(after[0] * after[0] + after[1] * after[1] + after[2] * after[2]
                       + after[3] * after[3]);
    for (int i = 0; i < 4; ++i)
        s->quaternion[i] = scale * after[i];
    for (int i = 0; i < 6; ++i)
        s->twist[i] += dt * s->acceleration[i];
}

void rd_setpoint_yield(struct rd_setpoint *s, const double pose[RD_POSE], const double shares[2])
{
    double turned[4], half[3], turn[4];

    for (int i = 0; i < 3; ++i) {
        if (shares[0] < 1.0)
            s->twist[i] = 0.0;
        if (shares[1] < 1.0)
            s->twist[3 + i] = 0.0;
        s->position[i] = pose[9 + i] + shares[0] * (s->position[i] - pose[9 + i]);
    }
    quaternion_of(pose, turned);
    turn_between(s->quaternion, turned, half);
    for (int i = 0; i < 3; ++i)
        half[i] *= 0.5 * shares[1];
    quaternion_of_half(half, turn);
    compose(turn, turned, s->quaternion);
}

int rd_goal_set_pose(struct rd_goal *goal, const double position[3], const double quaternion[4])
{
    const double *p = quaternion;
    const double length = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]);

    if (!(isfinite(position[0] + position[1] + position[2])
          && fabs(length - 1.0) <= RD_QUATERNION_TOLERANCE))
        return 0;
    memcpy(goal->values, position, 3 * sizeof *position);
    for (int i = 0; i < 4; ++i)
        goal->values[3 + i] = p[i] / length;
    goal->kind = RD_GOAL_POSE;
    goal->age = 0.0;
    return 1;
}

int rd_goal_set_twist(struct rd_goal *goal, const double twist[6])
{
    for (int i = 0; i < 6; ++i)
        if (!isfinite(twist[i]))
            return 0;
    memcpy(goal->values, twist, 6 * sizeof *twist);
    goal->kind = RD_GOAL_TWIST;
    goal->age = 0.0;
    return 1;
}
