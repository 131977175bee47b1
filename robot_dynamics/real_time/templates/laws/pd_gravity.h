/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RD_LAW_STATE_H
#define RD_LAW_STATE_H

/* PD control with gravity has no memory. */
struct rd_law {
    char unused;
};

#endif
