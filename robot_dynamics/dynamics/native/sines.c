/* SPDX-License-Identifier: Apache-2.0
 *
 * Sine and cosine of several angles at once, in a form that compilers compute side by side.
 *
 * With k = round(x / (pi/2)) and r = x - k pi/2, at most pi/4 in size, sin x and cos x are up
 * to sign sin r and cos r, or the other way round where k is odd. Their Taylor series are cut
 * where the next term is below 1e-17 of the result. pi/2 comes in three parts, the first two of
 * 33 bits, so that k times a part is exact: r is right to the last bit or two even next to a
 * zero. (W. J. Cody, W. Waite, "Software Manual for the Elementary Functions", reduction of the
 * argument.) Where an angle is larger than that works for, or nan, all are left to the C
 * library. robot_dynamics/dynamics/kernels/lanes_math.py does the same for numba.
 */

/* Angles come in groups of so many, the last one filled up. */
#define GROUP 8

/* k fits in the 20 bits that the parts of pi/2 leave free. */
static const double largest_angle = 1e6;
static const double two_over_pi = 0x1.45f306dc9c883p-1;
static const double half_pi_1 = 0x1.921fb544p+0;
static const double half_pi_2 = 0x1.0b4611a6p-34;
static const double half_pi_3 = 0x1.3198a2e037073p-69;

/* A sum with this keeps a whole number in the lowest bits, rounded. */
static const double rounder = 0x1.8p52;

static void fill_group(const double *restrict x, double *restrict sine, double *restrict cosine)
{
    int i;
    for (i = 0; i < GROUP; ++i) {
        const double shifted = x[i] * two_over_pi + rounder;
        const double k = shifted - rounder;
        const double r = ((x[i] - k * half_pi_1) - k * half_pi_2) - k * half_pi_3;
        const double z = r * r;
        const double s = r + r * z * (-1.0 / 6.0 + z * (1.0 / 120.0 + z * (-1.0 / 5040.0
            + z * (1.0 / 362880.0 + z * (-1.0 / 39916800.0 + z * (1.0 / 6227020800.0
            + z * (-1.0 / 1307674368000.0 + z * (1.0 / 355687428096000.0))))))));
        const double c = 1.0 + z * (-1.0 / 2.0 + z * (1.0 / 24.0 + z * (-1.0 / 720.0
            + z * (1.0 / 40320.0 + z * (-1.0 / 3628800.0 + z * (1.0 / 479001600.0
            + z * (-1.0 / 87178291200.0 + z * (1.0 / 20922789888000.0))))))));
        int64_t turns;
        memcpy(&turns, &shifted, sizeof turns);
        sine[i] = ((turns & 1) != 0 ? c : s) * ((turns & 2) != 0 ? -1.0 : 1.0);
        cosine[i] = ((turns & 1) != 0 ? s : c) * (((turns + 1) & 2) != 0 ? -1.0 : 1.0);
    }
}

/* Sine and cosine of `count` angles, a multiple of GROUP. */
static void fill_sines(const double *restrict x, double *restrict sine, double *restrict cosine,
                       int count)
{
    int i, within = 1;
    for (i = 0; i < count; ++i)
        within &= fabs(x[i]) <= largest_angle;
    for (i = 0; i < count && within; i += GROUP)
        fill_group(x + i, sine + i, cosine + i);
    for (i = 0; i < count && !within; ++i) {
        sine[i] = sin(x[i]);
        cosine[i] = cos(x[i]);
    }
}
