/* SPDX-License-Identifier: Apache-2.0
 *
 * Cartesian impedance: the end effector acts as a mass held at a desired pose by a spring.
 *
 *     tau = g + C v_r + J^T (F_K + F_D + Lambda (a_d - dJ/dt v_r)) + N^T M u_0 + M u_l
 *
 * See control/laws/cartesian_impedance.py; desired joint motions are ignored.
 */
#include <math.h>
#include <string.h>

#include "constants.h"
#include "impedance.h"
#include "law.h"
#include "matrices.h"
#include "modes.h"

static double within(double x, double most)
{
    return fmin(fmax(x, -most), most);
}

void rd_law_init(struct rd_law *law)
{
    const double still[RD_N] = {0.0};

    memset(law, 0, sizeof *law);
    rd_law_reset(law, still, still);
}

void rd_law_reset(struct rd_law *law, const double q[RD_N], const double v[RD_N])
{
    const double *begin = law->has_held ? law->held : q;
    double pose[RD_POSE];

    (void)v;
    rd_tip_pose(begin, pose);
    rd_setpoint_begin(&law->setpoint, pose);
    memcpy(law->posture, RD_POSTURE_GIVEN ? rd_posture : begin, sizeof law->posture);
    /* An arm that begins near a limit is not pushed. */
    for (int i = 0; i < RD_N; ++i) {
        law->lower[i] = fmin(rd_inner_lower[i], q[i]);
        law->upper[i] = fmax(rd_inner_upper[i], q[i]);
    }
    law->has_held = 0;
}

/* Add the brake above the speed limits of the joints, and the repulsion from their ends; returns
 * 0 for a joint that is far too fast or has no finite state. */
static int add_limits(const struct rd_law *law, const double *q, const double *v, double *u)
{
    for (int i = 0; i < RD_N; ++i) {
        const double speed = rd_joint_speed[i];
        double lowest, highest;
        /* Written so that NaN is rejected. */
        if (!(fabs(v[i]) <= RD_RUNAWAY * speed && isfinite(q[i])))
            return 0;
        lowest = within(RD_LIMIT_RATE * (law->lower[i] - q[i]), speed);
        highest = within(RD_LIMIT_RATE * (law->upper[i] - q[i]), speed);
        u[i] -= RD_RATE * (v[i] - fmin(fmax(v[i], lowest), highest));
    }
    return 1;
}

/* Acceleration of the critically damped return to the posture. */
static void restore_posture(const struct rd_law *law, const double *q, const double *v, double *u)
{
    for (int i = 0; i < RD_N; ++i) {
        double error = law->posture[i] - q[i];
        if (rd_continuous[i] != 0.0)
            error -= 2.0 * RD_PI * rint(error / (2.0 * RD_PI));
        u[i] = 2.0 * fmax(RD_POSTURE_RATE, RD_POSTURE_DAMPING)
               * (within(0.5 * RD_POSTURE_RATE * error, RD_POSTURE_SPEED) - v[i]);
    }
}

/* Write a velocity cut to some times the speed limits of the end effector. */
static void cut(const double *velocity, double times, double *out)
{
    for (int part = 0; part < 2; ++part) {
        const double most = part == 0 ? RD_TIP_SPEED : RD_TURN_RATE;
        const double share = times * most / fmax(rd_length(velocity + 3 * part), 1e-12);
        for (int i = 3 * part; i < 3 * part + 3; ++i)
            out[i] = velocity[i] * fmin(1.0, share);
    }
}

int rd_law_update(struct rd_law *law, const double q[RD_N], const double v[RD_N],
                  const double q_d[RD_N], const double v_d[RD_N], const double a_d[RD_N],
                  double dt, int adapt, double tau[RD_N])
{
    struct rd_setpoint *s = &law->setpoint;
    double M[RD_N * RD_N], J[6 * RD_N], response[RD_N * 6], mobility[36], inertia[36];
    double u_0[RD_N], u[RD_N], v_r[RD_N], moved[RD_N], pushed[RD_N];
    double velocity[6], slow[6], twist[6], bias[6], rate[6], braked[6], force[6], shares[2];
    double pose[RD_POSE], wrench[6];

    (void)q_d;
    (void)v_d;
    (void)a_d;
    (void)adapt;
    restore_posture(law, q, v, u_0);
    memcpy(u, u_0, sizeof u);
    if (!add_limits(law, q, v, u))
        return RD_CONTROLLER_FAILED;
    rd_setpoint_advance(s, dt);
    rd_mass_matrix(q, rd_parameters, M);
    rd_tip_jacobian(q, J);
    if (!rd_find_inertia(M, J, response, mobility, inertia))
        return RD_CONTROLLER_FAILED;
    rd_tip_pose(q, pose);
    rd_multiply(J, v, 6, RD_N, 1, rate);
    cut(rate, RD_COUNTED_SPEED, velocity);
    cut(velocity, 1.0, slow);
    /* What the desired motion takes without an error. */
    rd_multiply(inertia, s->twist, 6, 6, 1, twist);
    rd_multiply(response, twist, RD_N, 6, 1, v_r);
    rd_tip_bias(q, v, v_r, bias);
    rd_coriolis_effort(q, v, v_r, rd_parameters, moved);
    rd_gravity(q, rd_model, tau);
    /* J M^-1 (M u_0) = J u_0, so that N^T M u_0 needs no inverse. */
    rd_multiply(J, u_0, 6, RD_N, 1, braked);
    for (int i = 0; i < 6; ++i)
        braked[i] = s->acceleration[i] - bias[i] - RD_RATE * (velocity[i] - slow[i]) - braked[i];
    rd_multiply(inertia, braked, 6, 6, 1, force);
    for (int i = 0; i < 6; ++i)
        rate[i] = s->twist[i] - velocity[i];
    rd_find_wrench(mobility, pose, s, rate, wrench, shares);
    if (fmin(shares[0], shares[1]) < 1.0)
        rd_setpoint_yield(s, pose, shares);
    for (int i = 0; i < 6; ++i)
        force[i] += wrench[i];
    rd_multiply_transposed(J, force, RD_N, 6, 1, pushed);
    for (int i = 0; i < RD_N; ++i)
        tau[i] += moved[i] + pushed[i];
    rd_multiply(M, u, RD_N, RD_N, 1, moved);
    for (int i = 0; i < RD_N; ++i)
        tau[i] += moved[i];
    return 0;
}

void rd_law_holding_effort(struct rd_law *law, const double q[RD_N], const double v[RD_N],
                           const double q_hold[RD_N], double tau[RD_N])
{
    memcpy(law->held, q_hold, sizeof law->held);
    law->has_held = 1;
    rd_feedback_hold(&law->feedback, q, v, q_hold);
    rd_gravity(q, rd_model, tau);
    for (int i = 0; i < RD_N; ++i)
        tau[i] += law->feedback.effort[i];
}
