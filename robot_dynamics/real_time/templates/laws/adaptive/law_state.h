/* SPDX-License-Identifier: Apache-2.0
 *
 * State of the adaptive law: estimates, filters, and the memory of past motion.
 *
 * See control/laws/slotine_li.py and control/adaptation in robot_dynamics: each structure is the
 * class of that name there. RD_ESTIMATES counts the estimates, ten for each body and then one for
 * each joint and term.
 */
#ifndef RD_LAW_STATE_H
#define RD_LAW_STATE_H

#include "constants.h"
#include "feedback.h"

#define RD_INERTIAL (10 * RD_N_BODIES)
/* Columns of a regressor that has the effort in the last one. */
#define RD_COLUMNS (RD_ESTIMATES + 1)

/* Reason why the last update did not change the estimates although it was allowed to. */
enum rd_frozen {
    RD_NOT_FROZEN,
    RD_LONG_STEP, /* The time step is too long. */
    RD_LARGE_ERROR, /* The tracking error is implausibly large. */
    RD_RESTING, /* The arm is at rest. */
    RD_INVALID_ESTIMATE, /* A step of the estimates was not finite. */
    RD_LARGE_ESTIMATE /* A step of the estimates was implausibly large. */
};

/* Prediction error of recent samples; see PredictionError in learning.py. */
struct rd_prediction {
    double filtered[RD_N * RD_COLUMNS]; /* Regressor and effort. */
    double v_before[RD_N];
    int has_state;
};

/* Velocity filter; see VelocityFilter in learning.py. */
struct rd_velocity_filter {
    double last[RD_N], before[RD_N], noise[RD_N], error[RD_N], value[RD_N];
    double span;
    int samples;
};

#if RD_REMEMBERS
/* Fading sums of regressors and efforts; see regressor_memory.py. */
struct rd_memory {
    double smoothed[RD_N * RD_COLUMNS], sample[RD_N * RD_COLUMNS];
    double recent[RD_RECENT][RD_N * RD_COLUMNS];
    double sums[RD_COLUMNS * RD_COLUMNS]; /* On and above the diagonal. */
    double factor[RD_ESTIMATES * RD_COLUMNS];
    double target[RD_ESTIMATES];
    double time, span, fading, since_sample, since_step, since_recent;
    int row, rows_factorised, next_recent;
};

void rd_memory_forget(struct rd_memory *m);

/* Add a filtered regressor with the effort in its last column; returns whether a step is ready. */
int rd_memory_observe(struct rd_memory *m, const double filtered[RD_N * RD_COLUMNS], double dt);

/* Compute the target of the step that is ready. Returns 0 if noise explains the errors of the
 * present estimates, or if recent samples contradict the memory, which is then cleared. */
int rd_memory_find_target(struct rd_memory *m, const double estimate[RD_ESTIMATES]);
#endif

struct rd_law {
    struct rd_feedback feedback;
    struct rd_prediction prediction;
    struct rd_velocity_filter velocity;
#if RD_REMEMBERS
    struct rd_memory memory;
#endif
    double estimate[RD_ESTIMATES]; /* Without payload. */
    double parameters[RD_ESTIMATES]; /* With it, as of the last update. */
    double applied[RD_N]; /* Effort that acts since the last update. */
    double recent[RD_KEPT][RD_ESTIMATES], since_kept; /* Past estimates, oldest first. */
    double error[RD_N], patience; /* Position error before, and time of patience left. */
    double still; /* Time without desired motion. */
    enum rd_frozen frozen;
    int kept, is_latched;
};

/* Move the estimates along a gradient for a time, and keep them physically consistent. Unless the
 * result is RD_NOT_FROZEN they are unchanged. See gradient.py. */
enum rd_frozen rd_step_estimates(double estimate[RD_ESTIMATES],
                                 const double gradient[RD_ESTIMATES], double dt);

/* Move the estimates to the admissible ones nearest to a target, which is changed. */
enum rd_frozen rd_settle_estimates(double target[RD_ESTIMATES], double estimate[RD_ESTIMATES]);

/* Sum of products, in four independent sums. */
double rd_dot(const double *x, const double *y, int count);

/* Continue from estimates, as of a file of the Python controller. Returns 0, and starts from the
 * model, where they are beyond the range of the estimates. */
int rd_law_restore(struct rd_law *law, const double estimate[RD_ESTIMATES]);

#endif
