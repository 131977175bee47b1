# SPDX-License-Identifier: Apache-2.0
"""What predicts the efforts of elastic joints well and still must not be used.

All parameters scale with the efforts, and nothing is left where these are of another unit or
sign. Springs and rotors may be described wrongly by orders of magnitude, masses are not: the
equations of a link and its motor, added up, are those of bodies, whatever the spring between.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.elastic.friction import StribeckFriction
from robot_dynamics.errors import Finding, Severity
from robot_dynamics.identification.elastic.equations import ElasticStack
from robot_dynamics.identification.elastic.problem import Problem
from robot_dynamics.identification.least_squares import LinearFit
from robot_dynamics.identification.plausibility import EXPLAINED, OTHER_UNIT

#: Friction that gives power drives: more than this part of the effort times the speed, and more
#: than so many standard deviations.
DRIVES, SEEN = 0.01, 3.0


def effort_findings(problem: Problem) -> tuple[Finding, ...]:
    """Tell of efforts that are not what the bodies as described ask for, in unit or sign.

    Parameters
    ----------
    problem : Problem
        The equations.

    Returns
    -------
    tuple of Finding
        Errors.
    """
    stack, out = problem.stack, []
    described = stack.W @ problem.described
    for joint, motor in enumerate(stack.rubbing):
        rows = _rows_of(stack, joint)
        used = np.all(stack.used[:, rows], axis=1)
        wanted, told = (x[used][:, rows].sum(axis=1) for x in (described, stack.y))
        square = float(wanted @ wanted)
        if square == 0.0 or not np.any(told):
            continue
        scale = float(wanted @ told) / square
        if 1.0 - float(np.sum((told - scale * wanted) ** 2) / (told @ told)) < EXPLAINED:
            continue
        name = stack.data.dataset.joint_names[motor]
        if scale < 0.0:
            out.append(Finding(Severity.ERROR, name, 'sign flipped: effort falls where the '
                               'description asks for more', 'set effort.sign to -1 for it'))
        elif not OTHER_UNIT < scale < 1.0 / OTHER_UNIT:
            out.append(Finding(
                Severity.ERROR, name, 'its effort looks like amperes or another unit: '
                f'{scale:.3g} times what the bodies ask for', 'set effort.kind with '
                'torque_constant; where efforts are right, mend the masses of the description '
                'first'))
    return tuple(out)


def driving_friction(problem: Problem, fit: LinearFit, friction: StribeckFriction | None
                     ) -> tuple[Finding, ...]:
    """Tell of motors whose friction drives them instead of braking them.

    Parameters
    ----------
    problem : Problem
        The equations.
    fit : LinearFit
        Their solution.
    friction : StribeckFriction, optional
        Friction by eq. 43; otherwise f_s and f_v of the solution count.
    """
    stack, out = problem.stack, []
    speeds = np.concatenate([motion.v[:, stack.rubbing] for motion in stack.motions])
    for joint, motor in enumerate(stack.rubbing):
        v = speeds[:, joint]
        size = float(np.sqrt(np.mean(v**2) * np.mean(stack.y[:, motor] ** 2)))
        if friction is not None:
            power, deviation = float(np.mean(friction.torque(speeds)[:, joint] * v)), 0.0
        else:
            effects = {'coulomb': float(np.mean(np.abs(v))), 'viscous': float(np.mean(v**2))}
            power, deviation = problem.power_of(fit, joint, effects)
        if power < -max(DRIVES * size, SEEN * deviation):
            out.append(Finding(
                Severity.ERROR, stack.data.dataset.joint_names[motor], 'its friction drives it, '
                'instead of braking it', 'check signs, zeros and gear ratio of its encoder and '
                'its effort'))
    return tuple(out)


def _rows_of(stack: ElasticStack, joint: int) -> list[int]:
    """Return the equations of a joint: of its link and its motor, or the one there is."""
    place = {coordinate: k for k, coordinate in enumerate(stack.data.encoders.measured)}
    return [place[k] for k in (joint, joint + stack.n) if k in place]
