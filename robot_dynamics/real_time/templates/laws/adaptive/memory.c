/* SPDX-License-Identifier: Apache-2.0
 *
 * Regressor memory: least squares on past motion, in proximal steps. The work of a step is spread
 * over many samples. See control/adaptation/regressor_memory.py.
 */
#include <math.h>
#include <string.h>

#include "law.h"

#if RD_REMEMBERS

void rd_memory_forget(struct rd_memory *m)
{
    memset(m, 0, sizeof *m);
    m->rows_factorised = -1;
}

/* Begin to add the present smoothed sample. */
static void begin_sample(struct rd_memory *m)
{
    memcpy(m->sample, m->smoothed, sizeof m->sample);
    m->span = m->since_sample;
    m->since_sample = 0.0;
    m->fading = exp(-m->span / RD_MEMORY_TIME);
    m->time = m->fading * m->time + m->span;
    if (m->since_recent >= RD_MEMORY_INTERVAL / RD_RECENT) {
        memcpy(m->recent[m->next_recent], m->sample, sizeof m->sample);
        m->next_recent = (m->next_recent + 1) % RD_RECENT;
        m->since_recent = 0.0;
    }
}

/* Add S^T W S over a time to some rows of the fading sums. */
static void take_in(struct rd_memory *m)
{
    const int end = m->row + RD_MEMORY_ROWS < RD_COLUMNS ? m->row + RD_MEMORY_ROWS : RD_COLUMNS;

    for (int i = m->row; i < end; ++i) {
        double *restrict sums = m->sums + i * RD_COLUMNS;
        for (int j = i; j < RD_COLUMNS; ++j)
            sums[j] *= m->fading;
        for (int k = 0; k < RD_N; ++k) {
            const double *restrict row = m->sample + k * RD_COLUMNS;
            const double factor = m->span * rd_memory_weight[k] * row[i];
            if (factor != 0.0)
                for (int j = i; j < RD_COLUMNS; ++j)
                    sums[j] += factor * row[j];
        }
    }
    m->row = end < RD_COLUMNS ? end : 0;
}

/* Begin a step: Omega + Gamma^-1 and b of the present sums. */
static void begin_step(struct rd_memory *m)
{
    for (int i = 0; i < RD_ESTIMATES; ++i) /* On and above the diagonal. */
        memcpy(m->factor + i * (RD_COLUMNS + 1), m->sums + i * (RD_COLUMNS + 1),
               sizeof *m->sums * (size_t)(RD_COLUMNS - i));
    for (int b = 0; b < RD_N_BODIES; ++b)
        for (int i = 0; i < 10; ++i)
            for (int j = i; j < 10; ++j)
                m->factor[(10 * b + i) * RD_COLUMNS + 10 * b + j]
                    += rd_body_precision[100 * b + 10 * i + j];
    for (int i = RD_INERTIAL; i < RD_ESTIMATES; ++i)
        m->factor[i * RD_COLUMNS + i] += rd_term_precision[i - RD_INERTIAL];
    m->rows_factorised = 0;
    m->since_step = 0.0;
}

/* Continue A = U^T D^-1 U, row by row of U with D its diagonal, in place. */
static void factorise_rows(struct rd_memory *m)
{
    int done = 0, row = m->rows_factorised;

    for (; row < RD_ESTIMATES && done < RD_MEMORY_WORK; ++row) {
        double *restrict out = m->factor + row * RD_COLUMNS;
        for (int k = 0; k < row; ++k) {
            const double *restrict above = m->factor + k * RD_COLUMNS;
            const double factor = above[row] / above[k];
            if (factor != 0.0)
                for (int j = row; j < RD_ESTIMATES; ++j)
                    out[j] -= factor * above[j];
        }
        done += row * (RD_ESTIMATES - row);
    }
    m->rows_factorised = row;
}

int rd_memory_observe(struct rd_memory *m, const double filtered[RD_N * RD_COLUMNS], double dt)
{
    const double share = 1.0 - exp(-2.0 * RD_PI * RD_MEMORY_CUTOFF * dt);

    m->since_sample += dt;
    m->since_step += dt;
    m->since_recent += dt;
    for (int k = 0; k < RD_N * RD_COLUMNS; ++k)
        m->smoothed[k] += share * (filtered[k] - m->smoothed[k]);
    if (m->row == 0)
        begin_sample(m);
    take_in(m);
    if (m->rows_factorised >= 0 && m->rows_factorised < RD_ESTIMATES)
        factorise_rows(m);
    if (m->row != 0)
        return 0;
    /* Between two samples, where the sums are those of whole samples. */
    if (m->rows_factorised == RD_ESTIMATES) {
        m->rows_factorised = -1;
        return 1;
    }
    if (m->since_step >= RD_MEMORY_INTERVAL)
        begin_step(m);
    return 0;
}

/* Solve U^T D^-1 U target = b + Gamma^-1 pi, with b in the last column of the factor. */
static void minimise(struct rd_memory *m, const double *estimate)
{
    double *target = m->target;

    for (int i = 0; i < RD_ESTIMATES; ++i) {
        target[i] = m->factor[i * RD_COLUMNS + RD_ESTIMATES];
        if (i < RD_INERTIAL)
            for (int j = 0; j < 10; ++j)
                target[i] += rd_body_precision[10 * i + j] * estimate[i / 10 * 10 + j];
        else
            target[i] += rd_term_precision[i - RD_INERTIAL] * estimate[i];
    }
    for (int i = 0; i < RD_ESTIMATES; ++i) {
        const double *row = m->factor + i * RD_COLUMNS;
        const double share = target[i] / row[i];
        for (int j = i + 1; j < RD_ESTIMATES; ++j)
            target[j] -= row[j] * share;
    }
    for (int i = RD_ESTIMATES - 1; i >= 0; --i) {
        const double *row = m->factor + i * RD_COLUMNS;
        target[i] = (target[i] - rd_dot(row + i + 1, target + i + 1, RD_ESTIMATES - 1 - i))
                    / row[i];
    }
}

/* Mean squared error tau - Y pi of recent samples, weighted by W. */
static double recent_error(const struct rd_memory *m, const double *estimate)
{
    double sum = 0.0;

    for (int r = 0; r < RD_RECENT; ++r)
        for (int i = 0; i < RD_N; ++i) {
            const double *row = m->recent[r] + i * RD_COLUMNS;
            const double error = row[RD_ESTIMATES] - rd_dot(row, estimate, RD_ESTIMATES);
            sum += rd_memory_weight[i] * error * error;
        }
    return sum / RD_RECENT;
}

/* Sum of the squared errors over the memory. */
static double past_error(const struct rd_memory *m, const double *estimate)
{
    double sum = m->sums[RD_COLUMNS * RD_COLUMNS - 1];

    for (int i = 0; i < RD_ESTIMATES; ++i) {
        const double *row = m->sums + i * RD_COLUMNS;
        sum += 2.0 * (0.5 * row[i] * estimate[i] - row[RD_ESTIMATES]
                      + rd_dot(row + i + 1, estimate + i + 1, RD_ESTIMATES - 1 - i))
               * estimate[i];
    }
    return fmax(sum, 0.0);
}

int rd_memory_find_target(struct rd_memory *m, const double estimate[RD_ESTIMATES])
{
    double past, power, samples;

    minimise(m, estimate);
    past = past_error(m, m->target);
    power = m->sums[RD_COLUMNS * RD_COLUMNS - 1];
    if (recent_error(m, m->target)
        > RD_CONTRADICTION * (past + RD_NEGLIGIBLE * power) / m->time) {
        rd_memory_forget(m);
        return 0;
    }
    samples = m->time * 2.0 * RD_MEMORY_CUTOFF * RD_N;
    return past_error(m, estimate) > past * (1.0 + RD_ESTIMATES / samples);
}

#endif
