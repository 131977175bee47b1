# SPDX-License-Identifier: Apache-2.0
"""``Dynamics``: the equations of motion of a robot."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics import joint_terms
from robot_dynamics.dynamics.batches import Batches
from robot_dynamics.dynamics.coupling import Coupling
from robot_dynamics.dynamics.effort_derivatives import EffortDerivatives
from robot_dynamics.dynamics.effort_rates import EffortRates
from robot_dynamics.dynamics.gram import GramMethods
from robot_dynamics.dynamics.kernel_sets import kernels_for
from robot_dynamics.dynamics.kernels import solve
from robot_dynamics.dynamics.kernels import terms as term_kernels
from robot_dynamics.dynamics.link_kinematics import LinkKinematics
from robot_dynamics.dynamics.matrix_derivatives import MatrixDerivatives
from robot_dynamics.dynamics.native import use_native
from robot_dynamics.dynamics.packing import disown, pack, prepared_buffer
from robot_dynamics.dynamics.samples import (
    Samples,
    check_out,
    check_three,
    gather,
    write_three,
)
from robot_dynamics.errors import (
    ModelError,
    NoCompilerError,
    ParameterError,
    StateError,
    shown,
)
from robot_dynamics.model.arrays import FloatArray, is_positive
from robot_dynamics.model.robot import Robot


class Dynamics(EffortDerivatives, EffortRates, MatrixDerivatives, LinkKinematics, GramMethods):
    r"""Equations of motion of a rigid robot, on a fixed base or floating.

    With n independent velocities, one a joint on most arms, and nb moving bodies::

        M(q) a + C(q, v) v + g(q) = tau = Y(q, v, a) pi
        M(q) a_r + C(q, v) v_r + g(q)   = Yr(q, v, v_r, a_r) pi

    C is the Christoffel matrix, so that dM/dt - 2 C is skew-symmetric. pi holds ten
    inertial parameters a body, `Robot.parameters`.

    Joint arguments are float64 arrays of shape (n,), or batches of shape (..., n) whose
    leading axes broadcast against each other; other real numbers are accepted too, more
    slowly. Results of a single sample have no leading axes. Positions are in rad or m,
    efforts in N m or N, all vectors in the axes of the base frame.

    Where a joint is floating, planar or spherical, q is of shape (..., nq), with unit
    quaternions, and v holds the velocity of the moved body in that body's own axes, as tau
    holds the force and moment on it (`robot_dynamics.model.joints.JointType`). "d/dq_h"
    then is the derivative along velocity h, for which `Robot.integrate` moves q, and C is
    sum m J^T dJ/dt over all particles: what the Christoffel matrix is for a joint of one
    coordinate, dM/dt - 2 C skew-symmetric as ever.

    Parameters
    ----------
    robot : Robot
        The robot.
    coulomb_velocity : float, default 0.05
        epsilon in the smooth sign tanh(v / epsilon) of the Coulomb term. rad/s or m/s.
    threads : int, optional
        Number of threads that share a batch of thousands of samples; by default one for
        each core that the process may use. Smaller ones are done by the caller's.
    backend : {'numba', 'c'}, default 'numba'
        With 'c' the regressors, adaptive terms, matrices and inverse dynamics of one sample
        run in C made for this robot, which needs a C compiler when the robot is new; see
        `robot_dynamics.dynamics.native`. Everything else is the same, and so are results.
        Where no compiler is found, a RuntimeWarning says so and the numba kernels are used.

    Attributes
    ----------
    robot : Robot
        The robot.
    n : int
        Number of velocities, one a joint on most arms.
    parameters : ndarray, shape (10 nb,)
        Inertial parameters pi.
    backend : str
        What is used: 'numba' or 'c'.

    Notes
    -----
    Methods may be called from several threads at once. A kernel is compiled at its
    first use and then kept on disk; `robot_dynamics.dynamics.warmup.warm_up` does it
    ahead of time for all kernels that a control loop needs, not for those of large
    batches.
    """

    def __init__(self, robot: Robot, *, coulomb_velocity: float = 0.05,
                 threads: int | None = None, backend: str = 'numba'):
        if not isinstance(robot, Robot):
            raise ModelError('is no Robot', subject=type(robot).__name__,
                             remedy='read one with Robot.from_urdf or Robot.from_dh')
        if not is_positive(coulomb_velocity):
            raise ParameterError(f'is {shown(coulomb_velocity)}, not a positive number',
                                 subject='coulomb_velocity',
                                 remedy='give the speed below which Coulomb friction fades out')
        self.robot = robot
        self.n = robot.n
        self.parameters = robot.parameters
        self._epsilon = float(coulomb_velocity)
        self._model = pack(robot)
        self._kernels = kernels_for(robot)
        self._has_single_coordinates = robot.all_joints_1dof
        self._of_q, self._of_v = (_counted(robot, names) for names in (
            robot.position_names, robot.velocity_names))
        self._bodies = robot.n_bodies
        self._rows = robot.body_coordinates.n
        self._inertial = 10 * robot.n_bodies
        self._coupling = Coupling(robot)
        self._is_direct = self._coupling.is_direct
        self._threads = threads
        self._batches = Batches(robot, self._model, self._coupling, threads)
        self._choices: dict[tuple[str, ...], tuple[FloatArray, int]] = {}
        self._choose(())
        self.backend = 'numba'
        if use_native(backend):
            self._use_native()

    def _use_native(self) -> None:
        """Put kernels in C in place of the general methods, if there is a compiler."""
        from robot_dynamics.dynamics.native import backend as native
        general = {name: getattr(self, name) for name in native.METHODS}
        try:
            methods = native.native_methods(self.robot, self._model, general, self._choices)
        except NoCompilerError as error:
            warnings.warn(f'{error.subject}: {error.message}, so the numba kernels are used; '
                          f'{error.remedy}', RuntimeWarning, stacklevel=3)
            return
        self.__dict__.update(methods)
        self._batches.regressor_kernel = native.native_batches(
            self.robot, self._model, self._batches.regressor_kernel)
        self.backend = 'c'

    def __repr__(self) -> str:
        return f'<Dynamics of {self.robot!r}>'

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy packs its robot anew: nothing of this one is shared with another process.
        return partial(Dynamics, coulomb_velocity=self._epsilon, threads=self._threads,
                       backend=self.backend), (self.robot,)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Name of each inertial parameter: `Robot.parameter_names`."""
        return self.robot.parameter_names

    def column_names(self, terms: Sequence[str] = ()) -> tuple[str, ...]:
        """Name of each column of a regressor.

        Parameters
        ----------
        terms : sequence of str
            Joint terms, see `robot_dynamics.dynamics.joint_terms`.

        Returns
        -------
        tuple of str
            ``link/m`` to ``link/Jzz`` for each body, then ``joint/term``.
        """
        return self.robot.parameter_names + tuple(
            f'{joint}/{term}' for term in joint_terms.check_terms(terms)
            for joint in self.robot.velocity_names)

    def parameter_vector(self, terms: Sequence[str] = ()) -> FloatArray:
        """Return pi and the parameters of the terms as described, in column order.

        Shape (10 nb + len(terms) n,). Damping, friction and armature are those of the
        robot's description; offsets are zero.
        """
        return np.concatenate([self.parameters,
                               joint_terms.described_parameters(self.robot, terms)])

    def regressor_buffer(self, terms: Sequence[str] = ()) -> FloatArray:
        """Return an array for the regressor of one sample, the fastest to write into.

        A regressor written into it does not write its zeros again: leave alone the
        entries of bodies that a joint does not carry. Any other array will do as well,
        also the buffer of another robot, and gets its zeros written.
        """
        columns = self._choose(terms)[1]
        return prepared_buffer(self._model, columns) if self._is_direct \
            else np.zeros((self.n, columns))

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> FloatArray:
        """Efforts tau = M a + C v + g that the motion asks for.

        Parameters
        ----------
        q, v, a : array_like, shape (..., n)
            Positions, velocities, accelerations.

        Returns
        -------
        ndarray, shape (..., n)
            Joint efforts, N m or N.
        """
        if self._is_direct:
            tau = np.empty(self.n)
            try:
                if not self._kernels.inverse_dynamics.call(self._model, q, v, a, tau):
                    return tau
            except TypeError:
                self._kernels.inverse_dynamics.load()
        samples = self._gather(q=q, v=v, a=a)
        q, v, a = samples.rows
        if self._batches.takes(len(q)):
            return self._batches.inverse_dynamics(q, v, a).reshape(*samples.shape, self.n)
        tau = np.empty((len(q), self._rows))
        self._kernels.many_inverse_dynamics.load()(
            self._model, self._coupling.positions(q), self._coupling.rates(v),
            self._coupling.rates(a), tau)
        return self._coupling.efforts(tau).reshape(*samples.shape, self.n)

    def gravity_torque(self, q: ArrayLike) -> FloatArray:
        """Efforts g that hold the robot still against gravity.

        Parameters
        ----------
        q : array_like, shape (..., n)
            Positions.

        Returns
        -------
        ndarray, shape (..., n)
            Joint efforts, N m or N; the gradient of the potential energy.
        """
        rest = np.zeros(self.n)
        return self.inverse_dynamics(q, rest, rest)

    def matrices(self, q: ArrayLike, v: ArrayLike,
                 out: tuple[FloatArray, FloatArray, FloatArray] | None = None,
                 ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mass matrix, Christoffel matrix and gravity in one pass.

        Parameters
        ----------
        q, v : array_like, shape (..., n)
            Positions and velocities.
        out : tuple of three ndarrays, optional
            Where to write M, C and g.

        Returns
        -------
        M : ndarray, shape (..., n, n)
            Mass matrix, symmetric.
        C : ndarray, shape (..., n, n)
            C_ij = 1/2 sum_k (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) v_k.
        g : ndarray, shape (..., n)
            Gravity efforts.
        """
        if self._is_direct:
            n = self.n
            M, C, g = ((np.empty((n, n)), np.empty((n, n)), np.empty(n)) if out is None
                       else check_three(out))
            try:
                if not self._kernels.matrices.call(self._model, q, v, M, C, g):
                    return M, C, g
            except TypeError:
                self._kernels.matrices.load()
        samples = self._gather(q=q, v=v)
        result = self._matrices(*samples.rows)
        result = tuple(x.reshape(samples.shape + x.shape[1:]) for x in result)
        if out is None:
            return result
        write_three(check_three(out), result)
        return out

    def mass_matrix(self, q: ArrayLike) -> FloatArray:
        """Mass matrix M, shape (..., n, n), for positions of shape (..., n)."""
        return self.matrices(q, np.zeros(self.n))[0]

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike, factorisation: str = 'christoffel',
                        ) -> FloatArray:
        """Matrix C of the term C(q, v) v.

        Parameters
        ----------
        q, v : array_like, shape (..., n)
            Positions and velocities.
        factorisation : {'christoffel', 'garofalo'}
            The Christoffel matrix, see `matrices`, or that of Garofalo, Ott,
            Albu-Schaeffer, "On the closed form computation of the dynamic matrices and
            their differentiations", eq. 6b::

                C = sum_k J_k^T ((I_k adj_k - adj_k^T I_k) J_k + I_k dJ_k/dt)

        Returns
        -------
        ndarray, shape (..., n, n)
            C. Both choices give the same C v and both satisfy C + C^T = dM/dt, so that
            dM/dt - 2 C is skew-symmetric. They are equal for n <= 2; from n = 3 on they
            differ, so that this skewness does not make C unique, and the two lead to
            different Slotine-Li regressors, either of which suits that controller. All
            other methods use the Christoffel matrix unless they are asked for the other.
        """
        if isinstance(factorisation, str) and factorisation == 'christoffel':
            return self.matrices(q, v)[1]
        return self._coriolis_matrix(q, v, factorisation)

    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> FloatArray:
        """Accelerations a = M^-1 (tau - C v - g).

        Parameters
        ----------
        q, v, tau : array_like, shape (..., n)
            Positions, velocities, joint efforts.

        Returns
        -------
        ndarray, shape (..., n)
            Accelerations, rad/s^2 or m/s^2.

        Raises
        ------
        ModelError
            When M is not positive definite; names the joint.
        StateError
            When a position is not finite.
        """
        if self._is_direct:
            a = self._acceleration(q, v, tau)
            if a is not None:
                return a
        samples = self._gather(q=q, v=v, tau=tau)
        q, v, tau = samples.rows
        M, C, g = (np.ascontiguousarray(x) for x in self._matrices(q, v))
        a = np.empty_like(v)
        joint = solve.many_accelerations.load()(M, C, g, v, tau, a)
        if joint != solve.SOLVED:
            self._refuse_to_accelerate(q, joint)
        return a.reshape(*samples.shape, self.n)

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, terms: Sequence[str] = (),
                  out: FloatArray | None = None) -> FloatArray:
        """Regressor Y of the inverse dynamics: tau = Y(q, v, a) pi.

        Parameters
        ----------
        q, v, a : array_like, shape (..., n)
            Positions, velocities, accelerations.
        terms : sequence of str
            Joint terms to append, see `robot_dynamics.dynamics.joint_terms`.
        out : ndarray, optional
            Where to write the result; all of it is written.

        Returns
        -------
        ndarray, shape (..., n, 10 nb + len(terms) n)
            Row j is joint j, column block k is body k, then one column a joint and term.
        """
        return self.slotine_li_regressor(q, v, v, a, terms, out)

    def slotine_li_regressor(self, q: ArrayLike, v: ArrayLike, v_r: ArrayLike, a_r: ArrayLike,
                             terms: Sequence[str] = (), out: FloatArray | None = None,
                             ) -> FloatArray:
        """Slotine-Li regressor: M(q) a_r + C(q, v) v_r + g(q) = Yr(q, v, v_r, a_r) pi.

        Parameters
        ----------
        q, v : array_like, shape (..., n)
            Positions and velocities.
        v_r, a_r : array_like, shape (..., n)
            Reference velocities and accelerations.
        terms : sequence of str
            Joint terms to append, see `robot_dynamics.dynamics.joint_terms`.
        out : ndarray, optional
            Where to write the result; all of it is written.

        Returns
        -------
        ndarray, shape (..., n, 10 nb + len(terms) n)
            Row j is joint j, column block k is body k, then one column a joint and term.
        """
        try:
            choice, columns = self._choices[terms]
        except (KeyError, TypeError):
            choice, columns = self._choose(terms)
        if self._is_direct:
            Y = np.empty((self.n, columns)) if out is None else out
            try:
                if not self._kernels.slotine_li_regressor.call(self._model, choice, q, v, v_r,
                                                               a_r, Y):
                    return Y
            except TypeError:
                self._kernels.slotine_li_regressor.load()
        return self._regressors(q, v, v_r, a_r, choice, columns, out)

    def adaptive_terms(self, q: ArrayLike, v: ArrayLike, v_r: ArrayLike, a_r: ArrayLike,
                       s: ArrayLike, parameters: ArrayLike, terms: Sequence[str] = (),
                       ) -> tuple[FloatArray, FloatArray]:
        """Yr pi and Yr^T s without forming Yr, in O(nb).

        Parameters
        ----------
        q, v : array_like, shape (..., n)
            Positions and velocities.
        v_r, a_r : array_like, shape (..., n)
            Reference velocities and accelerations.
        s : array_like, shape (..., n)
            Sliding variable v_r - v.
        parameters : array_like, shape (..., 10 nb + len(terms) n)
            Parameters pi, in the order of `column_names`.
        terms : sequence of str
            Joint terms whose columns Yr has too.

        Returns
        -------
        tau : ndarray, shape (..., n)
            Yr pi, joint efforts.
        gradient : ndarray, shape (..., 10 nb + len(terms) n)
            Yr^T s.
        """
        try:
            choice, columns = self._choices[terms]
        except (KeyError, TypeError):
            choice, columns = self._choose(terms)
        if self._is_direct:
            tau = np.empty(self.n)
            gradient = np.empty(columns)
            try:
                if not self._kernels.adaptive_terms.call(self._model, choice, q, v, v_r, a_r, s,
                                                         parameters, tau, gradient):
                    return tau, gradient
            except TypeError:
                self._kernels.adaptive_terms.load()
        return self._adaptive_terms(q, v, v_r, a_r, s, parameters, choice, columns)

    def _acceleration(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> FloatArray | None:
        """Acceleration of one sample of plain arrays; None for anything else."""
        n = self.n
        M, C, g, a = np.empty((n, n)), np.empty((n, n)), np.empty(n), np.empty(n)
        try:
            if self._kernels.matrices.call(self._model, q, v, M, C, g):
                return None
            joint = solve.acceleration.call(self._model, M, C, g, v, tau, a)
        except TypeError:
            self._kernels.matrices.load()
            solve.acceleration.load()
            return None
        if joint >= solve.NO_INERTIA:
            self._refuse_to_accelerate(q, joint - solve.NO_INERTIA)
        return None if joint else a

    def _refuse_to_accelerate(self, q: FloatArray, joint: int) -> NoReturn:
        """Say why the mass matrix has no inverse."""
        if not np.all(np.isfinite(q)):
            raise StateError('is not finite', subject='q', remedy='give a position that a robot '
                                                                  'can be in')
        raise ModelError('has no inertia to move: the mass matrix is not positive definite',
                         subject=f'joint {self.robot.velocity_names[joint]}',
                         remedy='give the links that it moves a mass and an inertia that a real '
                                'body can have, or lock the joint')

    def _choose(self, terms: Sequence[str]) -> tuple[FloatArray, int]:
        """Return the terms as kernels read them, and the columns of a regressor with them."""
        terms = joint_terms.check_terms(terms)
        chosen = (joint_terms.choice_of(terms, self._epsilon),
                  self._inertial + len(terms) * self.n)
        self._choices[terms] = chosen
        return chosen

    def _gather(self, **arguments: ArrayLike) -> Samples:
        """Convert and broadcast joint vectors and ``parameters``, which is the longer."""
        columns = arguments.pop('columns', self.n)
        if 'q' in arguments and not self._has_single_coordinates:
            arguments['q'] = self.robot.check_positions(arguments['q'])
        counts = {'q': self._of_q,
                  'parameters': (columns, 'one value for each of column_names(terms)')}
        return gather({name: (value, *counts.get(name, self._of_v))
                       for name, value in arguments.items()})

    def _matrices(self, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """M, C and g of rows of samples."""
        if self._batches.takes(len(q)):
            return self._batches.matrices(q, v)
        count, rows = len(q), self._rows
        M, C, g = (np.empty((count, rows, rows)), np.empty((count, rows, rows)),
                   np.empty((count, rows)))
        self._kernels.many_matrices.load()(self._model, self._coupling.positions(q),
                                           self._coupling.rates(v), M, C, g)
        return (self._coupling.matrix(M), self._coupling.matrix(C), self._coupling.efforts(g))

    def _regressors(self, q: ArrayLike, v: ArrayLike, v_r: ArrayLike, a_r: ArrayLike,
                    choice: FloatArray, columns: int, out: FloatArray | None) -> FloatArray:
        """Slotine-Li regressors of any argument."""
        samples = self._gather(q=q, v=v, v_r=v_r, a_r=a_r)
        shape = (*samples.shape, self.n, columns)
        result = np.empty(shape) if out is None else check_out(out, shape)
        disown(result)
        q, v, v_r, a_r = samples.apart_from(result)
        rows = result.reshape(-1, self.n, columns)
        if self._batches.takes(len(q)):
            self._batches.regressors(choice, q, v, v_r, a_r, rows)
            return result if out is None else out
        of_bodies = rows if self._is_direct else np.empty((len(q), self._rows, self._inertial))
        self._kernels.slotine_li_regressors.load()(
            self._model, self._coupling.positions(q), self._coupling.rates(v),
            self._coupling.rates(v_r), self._coupling.rates(a_r), of_bodies)
        if not self._is_direct:
            rows[..., :self._inertial] = self._coupling.rows(of_bodies)
        if columns > self._inertial:
            term_kernels.many_term_columns.load()(choice, v_r, a_r, self._inertial, rows)
        return result if out is None else out

    def _adaptive_terms(self, q: ArrayLike, v: ArrayLike, v_r: ArrayLike, a_r: ArrayLike,
                        s: ArrayLike, parameters: ArrayLike, choice: FloatArray, columns: int,
                        ) -> tuple[FloatArray, FloatArray]:
        """Yr pi and Yr^T s of any argument."""
        samples = self._gather(parameters=parameters, columns=columns, q=q, v=v, v_r=v_r,
                               a_r=a_r, s=s)
        pi, q, v, v_r, a_r, s = samples.rows
        tau, gradient = np.empty((len(q), self._rows)), np.empty((len(q), columns))
        self._kernels.many_adaptive_terms.load()(
            self._model, self._coupling.positions(q), self._coupling.rates(v),
            self._coupling.rates(v_r), self._coupling.rates(a_r), self._coupling.rates(s),
            pi, tau, gradient)
        tau = np.ascontiguousarray(self._coupling.efforts(tau))
        if columns > self._inertial:
            term_kernels.add_many_terms.load()(choice, v_r, a_r, s, pi, self._inertial, tau,
                                               gradient)
        return tau.reshape(*samples.shape, self.n), gradient.reshape(*samples.shape, columns)


def _counted(robot: Robot, names: Sequence[str]) -> tuple[int, str]:
    """Length of a joint vector, and what it has one value for each of."""
    what = 'joints' if robot.all_joints_1dof else 'coordinates'
    return len(names), f'one value for each of the {len(names)} {what} {", ".join(names)}'
