/* SPDX-License-Identifier: Apache-2.0
 *
 * The safe command, for states that can no longer be trusted; see control/session/safe_command.py.
 */
#include "session.h"

#include <math.h>
#include <string.h>

/* Velocity without one that is wrong; of two that may be right the lower. */
static double trusted(double v, double slope, int lies)
{
    if (lies == RD_VELOCITY)
        return slope;
    if (lies == RD_POSITION)
        return v;
    double least = fmin(fabs(v), fabs(slope));
    return v > 0.0 && slope > 0.0 ? least : v < 0.0 && slope < 0.0 ? -least : 0.0;
}

/* Kinetic energy, J; keeps it and the mass matrix. */
static double kinetic_energy(struct rd_safe *s)
{
    double energy = 0.0;
    rd_mass_matrix(s->q, rd_parameters, s->inertia);
    for (int i = 0; i < RD_N; i++)
        for (int j = 0; j < RD_N; j++)
            energy += 0.5 * s->known[i] * s->inertia[RD_N * i + j] * s->known[j];
    return s->energy_before = energy;
}

/* Speed of a joint after the last command, which may have been reduced by limits. */
static double decayed(struct rd_safe *s, int i, double exponent)
{
    double speed = s->known[i] * exp(-exponent * fmax(s->acting[i], 0.0));
    s->acting[i] = 1.0;
    return speed;
}

/* Give up damping, then gravity, where the energy rises. */
static void judge(struct rd_safe *s, double dt)
{
    double before = s->energy_before, energy = kinetic_energy(s), power = 0.0, bound = 0.0;
    for (int i = 0; i < RD_N; i++) {
        power += rd_energy_power[i] * fabs(s->known[i]);
        for (int j = 0; j < RD_N; j++)
            bound += 0.5 * rd_energy_speed[i] * s->inertia[RD_N * i + j] * rd_energy_speed[j];
    }
    /* More than all efforts can do: a velocity was wrong before. */
    if (energy - before > power * dt)
        s->energy = energy;
    if (energy <= (1.0 + RD_ENERGY_SHARE) * s->energy + bound) {
        s->energy = fmin(s->energy, energy);
        s->in_row = 0;
        return;
    }
    s->in_row++;
    if (s->in_row >= RD_JUDGED_STATES && s->level != RD_ZERO) {
        s->level = s->level == RD_FULL ? RD_UNDAMPED : RD_ZERO;
        s->energy = energy;
        s->in_row = 0;
    }
}

void rd_safe_init(struct rd_safe *s)
{
    for (int i = 0; i < RD_N; i++)
        s->acting[i] = 1.0;
    rd_safe_forget(s);
}

void rd_safe_forget(struct rd_safe *s)
{
    s->level = RD_FULL;
    s->share = 1.0;
    memset(s->released, 0, sizeof s->released);
}

void rd_safe_begin(struct rd_safe *s, const double q[RD_N], const double v[RD_N],
                   const double slope[RD_N], const int lies[RD_N])
{
    rd_safe_forget(s);
    memcpy(s->q, q, sizeof s->q);
    for (int i = 0; i < RD_N; i++)
        s->v[i] = s->known[i] = lies[i] == RD_BOTH ? slope[i] : trusted(v[i], slope[i], lies[i]);
    s->in_row = s->brakes = 0;
    s->coasted = 0.0;
    s->energy = kinetic_energy(s);
}

/* Rate of a damping that is stable with states of some age: late states would turn it into
 * excitation. */
static double stable_rate(double age)
{
    return fmin(RD_DAMPING_RATE, RD_SAFE_MARGIN / (0.5 * RD_PERIOD + fmax(age, 0.0)));
}

/* Have the safe command damp the known speeds at a rate. */
static void damp(struct rd_safe *s, double rate)
{
    double share = s->level == RD_FULL ? rate / RD_DAMPING_RATE : 0.0;
    for (int i = 0; i < RD_N; i++)
        s->v[i] = share * s->known[i];
}

void rd_safe_update(struct rd_safe *s, const double q[RD_N], const double v[RD_N],
                    const double slope[RD_N], const int lies[RD_N], double dt, double age)
{
    s->share = 1.0;
    s->coasted = 0.0;
    double rate = stable_rate(age);
    double exponent = s->level == RD_FULL ? rate * dt : 0.0;
    s->brakes = 1;
    for (int i = 0; i < RD_N; i++) {
        double after = decayed(s, i, exponent);
        s->known[i] = lies[i] == RD_BOTH ? after : trusted(v[i], slope[i], lies[i]);
        s->q[i] = lies[i] >= RD_POSITION ? s->q[i] + s->known[i] * dt : q[i];
    }
    judge(s, dt);
    damp(s, rate);
}

/* Continue without a state, the last of some age; whether the arm is at rest by then. */
int rd_safe_coast(struct rd_safe *s, double dt, double age)
{
    double rate = stable_rate(age);
    int rests = 1;
    s->coasted += dt;
    for (int i = 0; i < RD_N; i++) {
        /* At first nothing has braked the arm since the last state. */
        if (s->brakes)
            s->known[i] = decayed(s, i, rate * dt);
        s->q[i] += s->known[i] * dt;
        rests = rests && fabs(s->known[i]) <= RD_REST_SHARE * rd_energy_speed[i];
    }
    damp(s, rate);
    s->brakes = 1;
    return s->coasted > RD_LONGEST_BRAKING || rests;
}

/* Reduce the effort; whether it is zero by then. */
int rd_safe_release(struct rd_safe *s, double dt)
{
    s->share = fmax(0.0, s->share - dt / RD_RELEASE_TIME);
    return s->share == 0.0;
}

/* Note that limits reduced the damping: it brakes less. */
void rd_safe_note_limits(struct rd_safe *s, const double wanted[RD_N], const double sent[RD_N])
{
    for (int i = 0; i < RD_N; i++)
        if (fabs(sent[i]) < fabs(wanted[i]))
            s->acting[i] = sent[i] / wanted[i];
}

void rd_safe_effort(struct rd_law *law, struct rd_limiter *l, const struct rd_safe *s,
                    const double q[RD_N], const double v[RD_N], double tau[RD_N])
{
    const double still[RD_N] = {0.0};
    double gravity[RD_N] = {0.0};
    memset(tau, 0, RD_N * sizeof *tau);
    if (RD_SAFE_ZERO || (s && s->level == RD_ZERO))
        return;
    rd_law_safe_effort(law, q, v, tau);
    rd_law_less_gravity(l, q, tau);
    if (!RD_SAFE_GRAVITY) {
        rd_law_safe_effort(law, q, still, gravity);
        rd_law_less_gravity(l, q, gravity);
    }
    for (int i = 0; i < RD_N; i++) {
        tau[i] -= gravity[i];
        if (s)
            tau[i] = s->released[i] ? 0.0 : tau[i] * s->share;
    }
}
