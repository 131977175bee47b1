/* SPDX-License-Identifier: Apache-2.0
 *
 * Plays a script to a controller: a line with a letter and numbers for each call. Prints a line
 * for each: mode, result, whether there is a command, whether the law learnt, the efforts, and the
 * joint and the cause of the mode.
 */
#include "controller.h"

#include <stdio.h>

static struct rd_controller c;
static double t[RD_MAX_POINTS + 1], rows[3][(RD_MAX_POINTS + 1) * RD_N];

static void read_numbers(double *to, int count)
{
    for (int i = 0; i < count; i++)
        if (scanf("%lf", &to[i]) != 1)
            to[i] = 0.0;
}

/* Number of derivatives, start, number of points, times and rows. */
static int reference(void)
{
    double head[3];
    read_numbers(head, 3);
    int derivatives = (int)head[0], count = (int)head[2];
    read_numbers(t, count);
    for (int row = 0; row <= derivatives; row++)
        read_numbers(rows[row], count * RD_N);
    return (int)rd_reference(&c, count, head[1], t, rows[0], derivatives > 0 ? rows[1] : NULL,
                             derivatives > 1 ? rows[2] : NULL);
}

int main(void)
{
    char call;
    double x[1 + 3 * RD_N], tau[RD_N] = {0.0};
    rd_init(&c);
    while (scanf(" %c", &call) == 1) {
        int result = 0;
        c.has_command = 0;
        switch (call) {
        case 's':
            read_numbers(x, 1 + 3 * RD_N);
            rd_update(&c, x[0], &x[1], &x[1 + RD_N], &x[1 + 2 * RD_N], tau);
            break;
        case 'r': result = reference(); break;
        case 'a': rd_reactivate(&c); break;
        case 'e': read_numbers(x, RD_N); rd_take_over(&c, x); break;
#if RD_GUIDES
        case 'p': read_numbers(x, 7); rd_goal_set_pose(&c.law.setpoint.goal, x, &x[3]); break;
#endif
        case 'c': rd_cancel_reference(&c); break;
        case 'h': rd_halt(&c); break;
        case 'u': result = rd_resume(&c); break;
        case 'w': read_numbers(x, 1); c.has_command = rd_wind_down(&c, x[0], tau); break;
        case 'x': c.has_command = rd_stop(&c, tau); break;
        }
        printf("%d %d %d %d", c.mode, result, c.has_command, c.adapted);
        for (int i = 0; i < RD_N; i++)
            printf(" %.17g", c.has_command ? tau[i] : 0.0);
        printf(" %d %s\n", c.reason.joint, rd_cause_text[c.reason.cause]);
    }
    return 0;
}
