# SPDX-License-Identifier: Apache-2.0
"""Derivatives of recorded formulas, recorded on the same tape."""

from __future__ import annotations

from collections.abc import Mapping

from robot_dynamics.closed_form.recording import live
from robot_dynamics.closed_form.tape import Formula, Scalar, Tape


class Derivative:
    """Total derivative along rates of variables, by the rules of sums and products.

    Every formula is differentiated once, however often it is asked for.

    Parameters
    ----------
    tape : Tape
        Where formulas and derivatives are recorded.
    rates : mapping of Formula to scalar
        By variable, its rate. ``{q_k: 1}`` gives the partial derivative by q_k, and
        ``{q_k: v_k, v_k: a_k}`` for all k the derivative by time.
    """

    def __init__(self, tape: Tape, rates: Mapping[Formula, Scalar]):
        self._tape = tape
        self._known: dict[Formula, Scalar] = dict(rates)

    def __call__(self, x: Scalar) -> Scalar:
        """Return the derivative of a scalar."""
        if not isinstance(x, Formula):
            return 0
        if x not in self._known:
            for formula in live(self._tape, [x]):
                if formula not in self._known:
                    self._known[formula] = self._of(formula)
        return self._known[x]

    def _of(self, x: Formula) -> Scalar:
        tape, known = self._tape, self._known
        if x.operation == 'symbol':
            return 0
        rates = [known[part] if isinstance(part, Formula) else 0 for part in x.arguments]
        if x.operation == 'sine':
            return rates[0] * tape.cosine(x.arguments[0])
        if x.operation == 'cosine':
            return -(rates[0] * tape.sine(x.arguments[0]))
        if x.operation == 'negate':
            return -rates[0]
        if x.operation == 'add':
            return rates[0] + rates[1]
        if x.operation == 'subtract':
            return rates[0] - rates[1]
        return rates[0] * x.arguments[1] + x.arguments[0] * rates[1]
