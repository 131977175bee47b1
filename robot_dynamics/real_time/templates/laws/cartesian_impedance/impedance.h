/* SPDX-License-Identifier: Apache-2.0
 *
 * Spring and damper of an end effector, as a sampled loop bears them; see
 * control/laws/impedance.py.
 */
#ifndef RD_IMPEDANCE_H
#define RD_IMPEDANCE_H

#include "law_state.h"

double rd_length(const double x[3]);

/* Write M^-1 J^T, A = J M^-1 J^T, and the inertia of the end effector without lost directions.
 * Returns 0 where M is not positive definite. */
int rd_find_inertia(const double M[RD_N * RD_N], const double J[6 * RD_N],
                    double response[RD_N * 6], double mobility[36], double inertia[36]);

/* Write force and moment of spring and damper, and the shares of spring and angle that are left;
 * `rate` is the desired twist less the measured one. */
void rd_find_wrench(const double mobility[36], const double pose[RD_POSE],
                    const struct rd_setpoint *s, const double rate[6], double wrench[6],
                    double shares[2]);

#endif
