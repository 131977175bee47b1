/* SPDX-License-Identifier: Apache-2.0
 *
 * State of a law of feedback and model, without memory; see control/laws/model_based.py.
 */
#ifndef RD_LAW_STATE_H
#define RD_LAW_STATE_H

#include "feedback.h"

struct rd_law {
    struct rd_feedback feedback;
};

#endif
