# SPDX-License-Identifier: Apache-2.0
"""An identification in words: one sentence, and some lines for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping

from robot_dynamics.errors import Severity
from robot_dynamics.identification.result import Identification
from robot_dynamics.model.robot import effort_units

#: Verdicts in words, and their colours on a page.
VERDICT_WORDS: Mapping[str, str] = {'good': 'Good', 'fair': 'Usable with care',
                                    'poor': 'Not to be used'}
VERDICT_COLOURS: Mapping[str, str] = {'good': '--c2', 'fair': '--c5', 'poor': '--c1'}

_LONGEST = 160


def verdict_sentence(found: Identification) -> str:
    """Return in one sentence whether to use it."""
    names, worst = found.model.robot.joint_names, found.validation.worst
    return (f'{VERDICT_WORDS[found.verdict]}: the model predicts motion that it has not seen with '
            f'{percent(found.validation.total)} error, its own with '
            f'{percent(found.in_sample.total)}'
            + worst_joint(len(names), names[worst], found.validation.relative[worst]) + '.')


def worst_joint(count: int, name: str, share: float) -> str:
    """Return which of some joints is furthest off, and by how much; nothing of one alone."""
    if count < 2:
        return ''
    return f'; worst of all {name}' + (f' with {percent(share)}' if math.isfinite(share) else '')


def percent(share: float) -> str:
    """Return a share in percent with as many digits as tell something."""
    value = 100.0 * share
    digits = '.0f' if value >= 100.0 else '.1f' if value >= 1.0 else '.2g'
    return f'{value:{digits}}\N{NO-BREAK SPACE}%'


def summary_text(found: Identification) -> str:
    """Return the verdict, joint by joint, and what to know, for a terminal."""
    names, kinds = found.model.robot.joint_names, effort_units(found.model.robot)
    width = max(len('joint'), *map(len, names))
    lines = [verdict_sentence(found), '',
             f'  {"joint":<{width}}   {"RMS, not seen":>14}   {"not seen":>9}   {"fitted":>9}']
    for k, name in enumerate(names):
        rmse = f'{found.validation.rmse[k]:.3g} {kinds[k]}'
        lines.append(f'  {name:<{width}}   {rmse:>14}   '
                     f'{percent(found.validation.relative[k]):>9}   '
                     f'{percent(found.in_sample.relative[k]):>9}')
    lines += ['', f'{found.base.rank} base parameters, condition number '
                  f'{found.base.condition:.3g}', *found.verdict_reasons[1:]]
    lines += [f'missing: {short(", ".join(one.parameters))}; to tell it, {one.motion}'
              for one in found.missing]
    told = {', '.join(one.parameters[:3]) for one in found.missing}
    lines += [f'{finding.severity.value}: {finding}' for finding in found.findings
              if finding.severity is not Severity.INFO
              and not any(finding.subject.startswith(text) for text in told)]
    return '\n'.join(lines)


def short(text: str) -> str:
    """Return a text, cut where it is too long for a line or two."""
    return text if len(text) <= _LONGEST else f'{text[:_LONGEST - 3]}...'
