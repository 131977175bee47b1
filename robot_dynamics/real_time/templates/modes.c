/* SPDX-License-Identifier: Apache-2.0 */
#include "modes.h"

const char *const rd_mode_text[RD_MODES] = {
    "waiting", "holding", "tracking", "guided", "halted", "safe", "stopped",
};

const char *const rd_cause_text[RD_CAUSES] = {
    "joint states stopped",
    "joint states come too slowly",
    "states come too late for the feedback",
    "the clock jumped",
    "the arm is faster than it may be",
    "the arm is far from its reference",
    "position and velocity contradict each other",
    "a position jumped for good",
    "a joint does not follow its reference",
    "a joint moves against its command",
    "the controller failed",
    "the controller requests a stop",
    "no joint state yet",
    "a joint is outside its limits",
    "a joint reports an effort against gravity",
    "the arm stands still while its reference moves",
    "holding the measured pose",
    "no effort to compare: waiting for the arm to stay still",
    "the effort reported is not the one commanded",
    "the arm follows: counting states",
    "efforts agree but always did: waiting for the arm to stay still",
    "the arm follows",
    "the arm follows the poses of its end effector",
    "resumed: the arm follows",
    "a stop was requested",
    "the controller was stopped",
    "",
};
