# SPDX-License-Identifier: Apache-2.0
"""Large batches of samples: several side by side in a register, on several cores."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from robot_dynamics.dynamics.carrying import Carrying
from robot_dynamics.dynamics.coupling import Coupling
from robot_dynamics.dynamics.threads import PIECE, check_threads, in_pieces
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Samples from which on a batch is large. A smaller one is done in a fraction of a
#: millisecond by the kernels that a control loop has loaded anyway; loading those for large
#: batches takes longer, and compiling them, once on a machine, some seconds.
LARGE = 256

#: Pieces of a batch that each thread gets, and samples of a piece at most.
PIECES_OF_A_THREAD, LARGEST_PIECE = 4, 16384

#: Bytes of results from which on they go past the cache: more than a core has for itself.
PAST_CACHE = 8 * 2**20


class Batches:
    """What the equations of one robot do with large batches.

    Arguments are C-contiguous float64 arrays of shape (N, n).

    Parameters
    ----------
    robot : Robot
        The robot.
    model : ndarray
        The robot as kernels read it.
    coupling : Coupling
        From independent joints to the joints of bodies.
    threads : int, optional
        Number of threads; by default one for each core that the process may use.

    Attributes
    ----------
    threads : int
        Number of threads.
    regressor_kernel : callable
        Returns, compiled, what fills regressors: a function with the arguments and the
        meaning of `robot_dynamics.dynamics.kernels.lanes_regressor.regressors` that
        does not hold Python's lock. The place for a faster one.
    """

    def __init__(self, robot: Robot, model: FloatArray, coupling: Coupling,
                 threads: int | None = None):
        self.threads = check_threads(threads)
        self.regressor_kernel: Callable[[], Callable[..., None]] = _regressors_in_lanes
        self._robot = robot
        self._model = model
        self._coupling = coupling
        self._are_possible = robot.all_joints_1dof

    @cached_property
    def carrying(self) -> Carrying:
        """Which joints move which bodies."""
        return Carrying.of(self._robot)

    def takes(self, count: int) -> bool:
        """Whether a batch of so many samples is to be computed here."""
        return self._are_possible and count >= LARGE

    def inverse_dynamics(self, q: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
        """Joint efforts, shape (N, n)."""
        from robot_dynamics.dynamics.kernels import lanes_dynamics
        kernel, model, to = lanes_dynamics.inverse_dynamics.load(), self._model, self._coupling
        tau = np.empty_like(q)

        def work(piece: slice) -> None:
            of_bodies = tau[piece] if to.is_direct else self._empty(piece)
            kernel(model, to.positions(q[piece]), to.rates(v[piece]), to.rates(a[piece]),
                   of_bodies)
            if not to.is_direct:
                tau[piece] = to.efforts(of_bodies)
        self._run(len(q), work)
        return tau

    def matrices(self, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """M and C, shape (N, n, n), and g, shape (N, n)."""
        from robot_dynamics.dynamics.kernels import lanes_dynamics
        kernel, model, to = lanes_dynamics.matrices.load(), self._model, self._coupling
        n, bodies = self._robot.n, self._robot.n_bodies
        M, C, g = np.empty((len(q), n, n)), np.empty((len(q), n, n)), np.empty((len(q), n))

        def work(piece: slice) -> None:
            results = ((M[piece], C[piece], g[piece]) if to.is_direct else
                       (self._empty(piece, bodies), self._empty(piece, bodies),
                        self._empty(piece)))
            kernel(model, to.positions(q[piece]), to.rates(v[piece]),
                   *(x.reshape(len(x), -1) for x in results))
            if not to.is_direct:
                M[piece], C[piece] = to.matrix(results[0]), to.matrix(results[1])
                g[piece] = to.efforts(results[2])
        self._run(len(q), work)
        return M, C, g

    def regressors(self, choice: FloatArray, q: FloatArray, v: FloatArray, v_r: FloatArray,
                   a_r: FloatArray, out: FloatArray) -> None:
        """Slotine-Li regressors with the chosen terms, written to ``out``, (N, n, columns)."""
        kernel, to, carrying = self.regressor_kernel(), self._coupling, self.carrying.arrays
        past_cache = out.nbytes >= PAST_CACHE

        def work(piece: slice) -> None:
            kernel(self._model, *carrying, choice, to.positions(q[piece]), to.rates(v[piece]),
                   to.rates(v_r[piece]), to.rates(a_r[piece]), v_r[piece], a_r[piece],
                   out[piece], past_cache)
        self._run(len(q), work)

    def _empty(self, piece: slice, *more: int) -> FloatArray:
        """Room for results of a piece that belong to bodies."""
        return np.empty((piece.stop - piece.start, self._robot.n_bodies, *more))

    def _run(self, count: int, work: Callable[[slice], None]) -> None:
        # Handing a piece to a thread costs some 50 us, so few pieces, but several for each.
        piece = min(max(PIECE, -(-count // (PIECES_OF_A_THREAD * self.threads))), LARGEST_PIECE)
        for _ in in_pieces(count, self.threads, work, piece):
            pass


def _regressors_in_lanes() -> Callable[..., None]:
    from robot_dynamics.dynamics.kernels import lanes_regressor
    return lanes_regressor.regressors.load()
