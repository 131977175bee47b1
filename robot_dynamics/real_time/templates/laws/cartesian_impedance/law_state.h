/* SPDX-License-Identifier: Apache-2.0
 *
 * State of the Cartesian impedance of a link; see control/laws/cartesian_impedance.py.
 *
 * Vectors of six are a force and a moment, or a velocity and an angular velocity, in the axes of
 * the base. A pose has its rotation, row after row, and then its position.
 */
#ifndef RD_LAW_STATE_H
#define RD_LAW_STATE_H

#include "feedback.h"

#define RD_POSE 12

enum rd_goal_kind { RD_GOAL_NONE, RD_GOAL_POSE, RD_GOAL_TWIST };

/* A pose or twist to follow, valid for RD_GOAL_TIMEOUT. */
struct rd_goal {
    double values[7]; /* Position and quaternion x y z w, or a twist. */
    double age; /* s. */
    enum rd_goal_kind kind;
};

/* A desired pose that follows goals within limits; see control/motion/pose_setpoint.py. */
struct rd_setpoint {
    double position[3], quaternion[4]; /* x y z w. */
    double twist[6], acceleration[6];
    struct rd_goal goal;
};

/* Set a pose, quaternion x y z w; returns 0 where it is none, which changes nothing. */
int rd_goal_set_pose(struct rd_goal *goal, const double position[3], const double quaternion[4]);

/* Set a twist, cut to the limits; returns 0 where it is not finite. */
int rd_goal_set_twist(struct rd_goal *goal, const double twist[6]);

void rd_setpoint_begin(struct rd_setpoint *s, const double pose[RD_POSE]);
void rd_setpoint_advance(struct rd_setpoint *s, double dt);

/* Keep a share of the distance and one of the angle from a measured pose. */
void rd_setpoint_yield(struct rd_setpoint *s, const double pose[RD_POSE], const double shares[2]);

struct rd_law {
    struct rd_feedback feedback; /* Holds the arm before control begins, and in a stop. */
    struct rd_setpoint setpoint;
    double posture[RD_N], lower[RD_N], upper[RD_N];
    double held[RD_N]; /* Pose held last. */
    int has_held;
};

#endif
