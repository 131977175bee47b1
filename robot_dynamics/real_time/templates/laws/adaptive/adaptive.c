/* SPDX-License-Identifier: Apache-2.0
 *
 * The adaptive law of Slotine and Li; see control/laws/slotine_li.py and
 * control/adaptation/learning.py.
 *
 *     tau = Yr(q, v, v_r, a_r) pi + omega_D M0(q) s + K_P e
 */
#include <math.h>
#include <string.h>

#include "law.h"
#include "modes.h"

/* Effort of a joint term per unit of its parameter. */
static double term_value(int t, double v, double a)
{
    switch ((int)rd_terms[t]) {
    case RD_TERM_VISCOUS:
        return v;
    case RD_TERM_COULOMB:
        return tanh(v / RD_COULOMB_VELOCITY);
    case RD_TERM_ARMATURE:
        return a;
    default:
        return 1.0; /* A constant effort. */
    }
}

static void forget(struct rd_law *law)
{
    memcpy(law->estimate, rd_prior, sizeof law->estimate);
#if RD_REMEMBERS
    rd_memory_forget(&law->memory);
#endif
    memset(&law->prediction, 0, sizeof law->prediction);
    memset(&law->velocity, 0, sizeof law->velocity);
    law->velocity.span = 1.0;
    law->still = 0.0;
    law->is_latched = 0;
    law->frozen = RD_NOT_FROZEN;
}

void rd_law_init(struct rd_law *law)
{
    memset(law, 0, sizeof *law);
    forget(law);
    memcpy(law->estimate, rd_initial, sizeof law->estimate);
}

void rd_law_reset(struct rd_law *law, const double q[RD_N], const double v[RD_N])
{
    (void)q;
    (void)v;
    /* Estimates that a rejected step froze may be wrong. */
    if (law->is_latched)
        forget(law);
    memset(&law->prediction, 0, sizeof law->prediction);
    memset(&law->velocity, 0, sizeof law->velocity);
    law->velocity.span = 1.0;
    law->still = 0.0;
    memset(law->applied, 0, sizeof law->applied);
}

int rd_law_restore(struct rd_law *law, const double estimate[RD_ESTIMATES])
{
    double target[RD_ESTIMATES], largest = 0.0;
    int same = 1;

    forget(law);
    memcpy(target, estimate, sizeof target);
    if (rd_settle_estimates(target, law->estimate) != RD_NOT_FROZEN)
        return 0;
    for (int k = 0; k < RD_ESTIMATES; ++k)
        largest = fmax(largest, fabs(estimate[k]));
    for (int k = 0; k < RD_ESTIMATES; ++k)
        same &= fabs(law->estimate[k] - estimate[k]) <= RD_SAME_ESTIMATE * largest;
    if (!same)
        memcpy(law->estimate, rd_prior, sizeof law->estimate);
    return same;
}

void rd_law_forget_recent(struct rd_law *law)
{
    double target[RD_ESTIMATES];

    if (law->kept == 0 || law->is_latched)
        return;
    memcpy(target, law->recent[0], sizeof target);
    forget(law);
    rd_settle_estimates(target, law->estimate);
    law->kept = 0;
}

void rd_law_note_applied(struct rd_law *law, const double tau[RD_N])
{
    memcpy(law->applied, tau, sizeof law->applied);
}

/* Filtered velocities; the means move by a share of the way to a sample. */
static const double *filter_velocity(struct rd_velocity_filter *f, const double *v,
                                     const double *v_d, double dt)
{
    const double share = f->samples >= 2 ? 1.0 - exp(-dt / RD_NOISE_FADING) : 0.0;
    const double ratio = dt / f->span;
    const double spread = 1.0 + (1.0 + ratio) * (1.0 + ratio) + ratio * ratio;

    for (int i = 0; i < RD_N; ++i) {
        const double bend = v[i] - f->last[i] - ratio * (f->last[i] - f->before[i]);
        const double error = v[i] - v_d[i];
        double gain = 1.0;
        f->noise[i] += share * (bend * bend / spread - f->noise[i]);
        f->error[i] += share * (error * error - f->error[i]);
        f->before[i] = f->last[i];
        f->last[i] = v[i];
        if (f->error[i] > 0.0)
            gain = fmax(0.0, 1.0 - RD_NOISE_MARGIN * f->noise[i] / f->error[i]);
        f->value[i] = v_d[i] + gain * error;
    }
    f->samples += f->samples < 2;
    f->span = dt;
    return f->value;
}

/* Store the velocity after an interval that is not used. */
static void skip(struct rd_law *law, const double *v)
{
    memcpy(law->prediction.v_before, v, sizeof law->prediction.v_before);
    law->prediction.has_state = 1;
}

/* Add one interval: the state at its end, and the effort during it. */
static void predict(struct rd_law *law, const double *q, const double *v, double dt)
{
    struct rd_prediction *p = &law->prediction;
    const double share = 1.0 - exp(-2.0 * RD_PI * RD_COMPOSITE_CUTOFF * dt);
    double q_m[RD_N], v_m[RD_N], a_m[RD_N], Y[RD_N * RD_INERTIAL];

    if (!p->has_state) {
        skip(law, v);
        return;
    }
    for (int i = 0; i < RD_N; ++i) {
        v_m[i] = 0.5 * (v[i] + p->v_before[i]);
        q_m[i] = q[i] - 0.5 * dt * v_m[i];
        a_m[i] = (v[i] - p->v_before[i]) / dt;
        p->v_before[i] = v[i];
    }
    rd_regressor(q_m, v_m, a_m, Y);
    for (int i = 0; i < RD_N; ++i) {
        const double *restrict y = Y + i * RD_INERTIAL;
        double *restrict row = p->filtered + i * RD_COLUMNS;
        const double tau = law->applied[i] - rd_rotors[i] * a_m[i] - rd_dot(y, rd_load, RD_INERTIAL);
        row[RD_ESTIMATES] += share * (tau - row[RD_ESTIMATES]);
        for (int k = 0; k < RD_INERTIAL; ++k)
            row[k] += share * (y[k] - row[k]);
        for (int t = 0; t < RD_TERMS; ++t) {
            double *entry = row + RD_INERTIAL + t * RD_N + i;
            *entry += share * (term_value(t, v_m[i], a_m[i]) - *entry);
        }
    }
}

/* Add Y_f^T W (tau_f - Y_f pi) to the gradient. */
static void add_prediction_error(const struct rd_law *law, double *restrict gradient)
{
    for (int i = 0; i < RD_N; ++i) {
        const double *restrict row = law->prediction.filtered + i * RD_COLUMNS;
        const double error = (row[RD_ESTIMATES] - rd_dot(row, law->estimate, RD_ESTIMATES))
                             * (RD_COMPOSITE_WEIGHT / law->feedback.mass_matrix[i * RD_N + i]);
        for (int k = 0; k < RD_ESTIMATES; ++k)
            gradient[k] += row[k] * error;
    }
}

/* Whether the arm is at rest with nothing more to correct. */
static int is_resting(struct rd_law *law, const double *v_d, double dt)
{
    double speed = 0.0;

    for (int i = 0; i < RD_N; ++i)
        speed = fmax(speed, fabs(v_d[i]));
    law->still = speed > RD_REST_DESIRED_SPEED ? 0.0 : law->still + dt;
    return law->still > RD_REST_AFTER && law->feedback.largest_s <= RD_REST_SLIDING;
}

/* Move the estimates along the gradients, and to the target of the memory. */
static enum rd_frozen move(struct rd_law *law, double *gradient, double dt)
{
    const struct rd_feedback *f = &law->feedback;
    double noise = 0.0, zone, length;
    enum rd_frozen outcome;

    for (int i = 0; i < RD_N; ++i)
        noise += law->velocity.noise[i];
    zone = fmax(sqrt(RD_NOISE_MARGIN * noise), RD_DEAD_ZONE);
    if (zone > 0.0) {
        length = sqrt(rd_dot(f->s, f->s, RD_N));
        for (int k = 0; k < RD_ESTIMATES; ++k)
            gradient[k] *= length > 0.0 ? fmax(0.0, 1.0 - zone / length) : 0.0;
    }
    if (RD_COMPOSITE_WEIGHT > 0.0)
        add_prediction_error(law, gradient);
    outcome = rd_step_estimates(law->estimate, gradient, dt);
#if RD_REMEMBERS
    if (outcome == RD_NOT_FROZEN
        && rd_memory_observe(&law->memory, law->prediction.filtered, dt)
        && rd_memory_find_target(&law->memory, law->estimate))
        outcome = rd_settle_estimates(law->memory.target, law->estimate);
#endif
    return outcome;
}

/* Add the last interval, and move the estimates where allowed; see Learning.learn. */
static void learn(struct rd_law *law, const double *q, const double *v, const double *v_d,
                  double dt, double *gradient, int adapt)
{
    const struct rd_feedback *f = &law->feedback;
    double step = 0.0;

    for (int i = 0; i < RD_N; ++i)
        step = fmax(step, fabs(f->e[i] - law->error[i]));
    memcpy(law->error, f->e, sizeof law->error);
    law->patience = step > RD_REFERENCE_STEP ? RD_PATIENCE : fmax(law->patience - dt, 0.0);
    if (!(dt > 0.0 && dt <= RD_LONGEST_LEARNING_STEP)) {
        skip(law, v);
        law->velocity.samples = 0;
        law->velocity.span = 1.0;
        if (adapt && !law->is_latched)
            law->frozen = dt > 0.0 ? RD_LONG_STEP : RD_NOT_FROZEN;
        return;
    }
    if (RD_COMPOSITE_WEIGHT > 0.0)
        predict(law, q, filter_velocity(&law->velocity, v, v_d, dt), dt);
    if (!adapt || law->is_latched) {
        law->still = 0.0;
    } else if (f->largest_s > RD_LARGEST_SLIDING) {
        law->frozen = RD_LARGE_ERROR;
    } else if (is_resting(law, v_d, dt)) {
        law->frozen = RD_RESTING;
    } else {
        law->frozen = move(law, gradient, dt);
        law->is_latched = law->frozen == RD_INVALID_ESTIMATE
                          || (law->frozen != RD_NOT_FROZEN && law->patience == 0.0);
    }
}

/* Keep the present estimates for rd_law_forget_recent, from time to time. */
static void keep(struct rd_law *law, double dt)
{
    law->since_kept += dt;
    if (law->since_kept < RD_KEPT_EVERY && law->kept > 0)
        return;
    law->since_kept = 0.0;
    if (law->kept == RD_KEPT) {
        memmove(law->recent[0], law->recent[1], (RD_KEPT - 1) * sizeof law->recent[0]);
        --law->kept;
    }
    memcpy(law->recent[law->kept++], law->estimate, sizeof law->estimate);
}

int rd_law_update(struct rd_law *law, const double q[RD_N], const double v[RD_N],
                  const double q_d[RD_N], const double v_d[RD_N], const double a_d[RD_N],
                  double dt, int adapt, double tau[RD_N])
{
    struct rd_feedback *f = &law->feedback;
    double gradient[RD_ESTIMATES];

    if (!rd_feedback_note_errors(f, q, v, q_d, v_d, a_d))
        return RD_CONTROLLER_FAILED;
    rd_feedback_answer_errors(f, q);
    for (int k = 0; k < RD_ESTIMATES; ++k)
        law->parameters[k] = law->estimate[k] + (k < RD_INERTIAL ? rd_load[k] : 0.0);
    rd_adaptive_terms(q, v, f->v_r, f->a_r, f->s, law->parameters, tau, gradient);
    for (int i = 0; i < RD_N; ++i)
        tau[i] += rd_rotors[i] * f->a_r[i];
    for (int t = 0; t < RD_TERMS; ++t)
        for (int i = 0; i < RD_N; ++i) {
            const int k = RD_INERTIAL + t * RD_N + i;
            const double value = term_value(t, f->v_r[i], f->a_r[i]);
            tau[i] += value * law->parameters[k];
            gradient[k] = value * f->s[i];
        }
    learn(law, q, v, v_d, dt, gradient, adapt);
    keep(law, dt);
    for (int i = 0; i < RD_N; ++i)
        tau[i] += f->effort[i];
    rd_law_note_applied(law, tau);
    return 0;
}

/* Gravity by the estimates, or by the model where a rejected step froze them. */
static void estimated_gravity(const struct rd_law *law, const double *q, double *g)
{
    double parameters[RD_INERTIAL];

    for (int k = 0; k < RD_INERTIAL; ++k)
        parameters[k] = law->is_latched ? rd_model[k] : law->estimate[k] + rd_load[k];
    rd_gravity(q, parameters, g);
}

void rd_law_holding_effort(struct rd_law *law, const double q[RD_N], const double v[RD_N],
                           const double q_hold[RD_N], double tau[RD_N])
{
    rd_feedback_hold(&law->feedback, q, v, q_hold);
    estimated_gravity(law, q, tau);
    for (int i = 0; i < RD_N; ++i)
        tau[i] += law->feedback.effort[i];
}

void rd_law_safe_effort(struct rd_law *law, const double q[RD_N], const double v[RD_N],
                        double tau[RD_N])
{
    estimated_gravity(law, q, tau);
    rd_feedback_add_damping(q, v, tau);
}
