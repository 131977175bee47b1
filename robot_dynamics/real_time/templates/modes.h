/* SPDX-License-Identifier: Apache-2.0
 *
 * Modes of a controller, causes of its safe mode and other reasons; see control/session/modes.py.
 */
#ifndef RD_MODES_H
#define RD_MODES_H

enum rd_mode {
    RD_WAITING, /* No state to take the arm over at: no command, or the safe one where one acts. */
    RD_HOLDING, /* The measured pose is held, without adaptation, until the arm obeys. */
    RD_TRACKING, /* The reference is followed. */
    RD_GUIDED, /* The arm follows poses of its end effector, and no reference of its joints. */
    RD_HALTED, /* A stop was requested: the arm is led to rest and held there until a resume. */
    RD_SAFE, /* Only the safe command is sent. */
    RD_STOPPED, /* The safe command was sent; no command follows. */
    RD_MODES
};

enum rd_cause {
    /* Causes of the safe mode. */
    RD_STATES_STOPPED,
    RD_STATES_SLOW,
    RD_ANSWERS_LATE,
    RD_CLOCK_JUMPED,
    RD_TOO_FAST,
    RD_FAR_FROM_REFERENCE,
    RD_INCONSISTENT,
    RD_POSITION_JUMPED,
    RD_NOT_FOLLOWING,
    RD_MOVES_AGAINST,
    RD_CONTROLLER_FAILED,
    RD_CONTROLLER_STOPS,
    /* Reasons of the other modes. */
    RD_NO_STATE,
    RD_OUTSIDE_LIMITS,
    RD_OPPOSES_GRAVITY,
    RD_STANDS_STILL,
    RD_HOLDING_MEASURED,
    RD_NO_EFFORT,
    RD_OTHER_EFFORT,
    RD_COUNTING,
    RD_ALWAYS_AGREED,
    RD_FOLLOWS,
    RD_FOLLOWS_POSES,
    RD_RESUMED,
    RD_STOP_REQUESTED,
    RD_REQUESTED,
    RD_NOTHING, /* No finding. */
    RD_CAUSES
};

/* Reason of a mode: the joint concerned, -1 for none, the value found and its limit. */
struct rd_finding {
    enum rd_cause cause;
    int joint;
    double value, limit;
};

extern const char *const rd_mode_text[RD_MODES];
extern const char *const rd_cause_text[RD_CAUSES];

#endif
