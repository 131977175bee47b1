/* SPDX-License-Identifier: Apache-2.0
 *
 * Plays a recording to a controller in C at a rate, and prints the times of its update in ns.
 *
 *     timing RECORDING RATE TIMES
 *
 * The recording is of doubles: number of states, the state before which the trajectory is given,
 * its number of points, then times, positions, velocities and accelerations, then for each state
 * its time, positions, velocities and efforts. It is played so many times, each from the beginning;
 * at the rate 0 without pauses.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "controller.h"

enum { WIDTH = 1 + 3 * RD_N };

/* Time of a typical update, ns. */
static const double TYPICAL = 1e4;

static struct rd_controller c;
static unsigned long heap_calls;

extern void *__libc_malloc(size_t size);

void *malloc(size_t size)
{
    ++heap_calls;
    return __libc_malloc(size);
}

static double *read_recording(const char *path)
{
    FILE *file = fopen(path, "rb");
    double *numbers = NULL;
    long size;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0)
        exit(2);
    rewind(file);
    numbers = malloc((size_t)size);
    if (numbers == NULL || fread(numbers, 1, (size_t)size, file) != (size_t)size)
        exit(2);
    fclose(file);
    return numbers;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Time of a loop that computes nothing for ``duration`` ns: longer where it is interrupted. */
static double time_of_nothing(double duration)
{
    const double from = now();
    double to = from;
    while (to - from < duration)
        to = now();
    return to - from;
}

static int before(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Largest time of a state, where the time of a state is the median of its plays. */
static double slowest_state(const double *times, long states, long plays)
{
    double *of_state = malloc(sizeof(double) * (size_t)plays), slowest = 0.0;
    if (of_state == NULL)
        exit(2);
    for (long k = 0; k < states; ++k) {
        for (long play = 0; play < plays; ++play)
            of_state[play] = times[play * states + k];
        qsort(of_state, (size_t)plays, sizeof *of_state, before);
        slowest = of_state[plays / 2] > slowest ? of_state[plays / 2] : slowest;
    }
    free(of_state);
    return slowest;
}

int main(int argc, char **argv)
{
    const double *numbers = argc == 4 ? read_recording(argv[1]) : NULL;
    if (numbers == NULL)
        return 2;
    const long states = (long)numbers[0], begin = (long)numbers[1];
    const int points = (int)numbers[2];
    const double *t = numbers + 3, *q = t + points, *v = q + points * RD_N, *a = v + points * RD_N;
    const double *rows = a + points * RD_N, rate = atof(argv[2]);
    const long count = atol(argv[3]) * states;
    double *times = malloc(sizeof(double) * (size_t)count), tau[RD_N] = {0.0};
    const struct sched_param priority = {.sched_priority = 50};
    double worst_of_nothing = 0.0;
    struct timespec next;

    /* As a controller_manager asks for it; where it is not permitted, as it is. */
    const int is_real_time = sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
    mlockall(MCL_CURRENT | MCL_FUTURE);
    for (long k = 0; k < count; ++k)
        times[k] = 0.0;
    heap_calls = 0;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long k = 0; k < count; ++k) {
        const double *row = rows + k % states * WIDTH;
        if (k % states == 0) {
            rd_init(&c);
            rd_reactivate(&c);
        } else if (k % states == begin) {
            rd_reference(&c, points, 0.0, t, q, v, a, NULL);
        }
        if (rate > 0.0) {
            next.tv_nsec += (long)(1e9 / rate);
            next.tv_sec += next.tv_nsec / 1000000000L;
            next.tv_nsec %= 1000000000L;
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        }
        const double from = now();
        rd_update(&c, row[0], row + 1, row + 1 + RD_N, row + 1 + 2 * RD_N, tau);
        times[k] = now() - from;
        if (rate > 0.0) {
            const double of_nothing = time_of_nothing(TYPICAL);
            worst_of_nothing = of_nothing > worst_of_nothing ? of_nothing : worst_of_nothing;
        }
    }
    const unsigned long heap = heap_calls;
    const double slowest = slowest_state(times, states, count / states);
    qsort(times, (size_t)count, sizeof *times, before);
    printf("%d %ld %lu %d %.0f %.0f %.0f %.0f %.0f", c.mode, count, heap, is_real_time,
           times[count / 2], times[count * 999 / 1000], slowest, times[count - 1],
           worst_of_nothing);
    for (int i = 0; i < RD_N; ++i)
        printf(" %.17g", tau[i]);
    printf("\n");
    return 0;
}
