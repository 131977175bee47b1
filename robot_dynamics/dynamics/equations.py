# SPDX-License-Identifier: Apache-2.0
"""``Dynamics``: the equations of motion of a robot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics import joint_terms, least_squares
from robot_dynamics.dynamics.caller import (
    LEFT_OUT,
    Caller,
    Samples,
    check_out,
    check_several,
    finished,
    gather,
    in_pieces,
    write_several,
)
from robot_dynamics.dynamics.kernels import (
    coriolis,
    effort_derivatives,
    effort_rates,
    forward_dynamics,
    kinematics,
    matrices,
    matrix_derivatives,
    newton_euler,
    slotine_li,
    time_derivatives,
)
from robot_dynamics.dynamics.kernels.equation import Equation
from robot_dynamics.dynamics.least_squares import Factor, NormalEquations
from robot_dynamics.dynamics.linearisation import LinearModel, motion_of_deviations, product
from robot_dynamics.dynamics.results import (
    ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives,
    InverseDynamicsRates,
    JacobianDerivatives,
    MatrixTimeDerivatives,
    ParameterDerivatives,
    StateDerivatives,
    TimeDerivatives,
)
from robot_dynamics.errors import (
    DimensionError,
    ModelError,
    ParameterError,
    StateError,
    shown,
)
from robot_dynamics.model.arrays import FloatArray, is_positive, real_array
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.robot_data import Frame

#: Factorisations of C by name, with their numbers in the kernels.
FACTORISATIONS = {'christoffel': float(coriolis.CHRISTOFFEL),
                  'garofalo': float(coriolis.GAROFALO)}

#: Axes that Jacobians can be given in.
AXES = ('base', 'link')

#: Number of samples whose regressors a least-squares problem stores at a time.
_AT_A_TIME = 128


# Methods that call one equation directly for plain arrays of one sample.
_PLAIN: dict[str, tuple[Equation, type | None]] = {
    'inverse_dynamics': (newton_euler.inverse_dynamics, None),
    'matrices': (matrices.matrices, None),
    'mass_matrix': (matrices.mass_matrix, None),
    'forward_dynamics': (forward_dynamics.forward_dynamics, None),
    'inverse_dynamics_derivatives': (effort_derivatives.inverse_dynamics_derivatives,
                                     InverseDynamicsDerivatives),
    'forward_dynamics_derivatives': (forward_dynamics.forward_dynamics_derivatives,
                                     ForwardDynamicsDerivatives),
    'matrix_time_derivatives': (time_derivatives.matrix_time_derivatives, MatrixTimeDerivatives),
    'inverse_dynamics_rates': (effort_rates.inverse_dynamics_rates, InverseDynamicsRates),
    'com_position': (kinematics.com_position, None),
    'com_jacobian': (kinematics.com_jacobian, None),
    'forward_kinematics': (kinematics.forward_kinematics, None),
}


class Dynamics:
    r"""Equations of motion of a rigid robot, on a fixed base or floating.

    With n independent velocities, one per joint on most arms, and nb moving bodies::

        M(q) a + C(q, v) v + g(q) = tau = Y(q, v, a) pi + armature * a
        M(q) a_r + C(q, v) v_r + g(q)   = Yr(q, v, v_r, a_r) pi + armature * a_r

    C is the Christoffel matrix, so that dM/dt - 2 C is skew-symmetric. pi contains ten inertial
    parameters per body, `Robot.parameters`. M includes the described armature, the rotor inertia
    reflected to the joints, as in MuJoCo and Pinocchio. Damping and friction are not part of tau
    (see the terms of `regressor`).

    Joint arguments are positions q, velocities v, accelerations a and joint efforts tau:
    float64 arrays of shape (n,), or batches of shape (..., n) whose
    leading axes broadcast against each other; other real numbers are accepted, but slower. Results
    of a single sample have no leading axes. Positions are in rad or m, efforts in N m or N, all
    vectors in the axes of the base frame.

    With floating, planar or spherical joints, q has shape (..., nq) and contains unit quaternions.
    v contains the velocity of the moved body in its own axes, and tau the force and moment on it
    (`robot_dynamics.model.joints.JointType`). "d/dq_h" is then the derivative along velocity h,
    with q moved by `Robot.integrate`. C is sum m J^T dJ/dt over all particles, which generalises
    the Christoffel matrix: dM/dt - 2 C is skew-symmetric.

    Parameters
    ----------
    robot : Robot
        The robot.
    coulomb_velocity : float, default 0.05
        epsilon in the smooth sign tanh(v / epsilon) of the Coulomb term. rad/s or m/s.
    threads : int, optional
        Number of threads for batches of thousands of samples; by default one for each core that
        the process may use. Smaller batches are computed in the calling thread.
    backend : {'auto', 'numba', 'c'}
        'c' generates the equations of this robot in C and compiles them once per robot. This takes
        about a second for an arm, is announced, and needs a C compiler; without one a
        RuntimeWarning reports that numba is used. 'auto' does the same if a compiler is found and
        there are at most 40 joints, each with one coordinate, and gives no warning otherwise.
        Other equations use numba. Results are the same. The variable ROBOT_DYNAMICS_BACKEND sets
        the meaning of 'auto'.
    armature : bool, default True
        Whether M, tau, accelerations and all their derivatives include the described armature.

    Attributes
    ----------
    robot : Robot
        The robot.
    n : int
        Number of velocities, one per joint on most arms.
    armature : ndarray, shape (n,)
        The included armature: zeros with ``armature=False``.
    backend : str
        Backend in use: 'numba' or 'c'.

    Notes
    -----
    Methods may be called from several threads at once. A kernel is compiled at its first use and
    then cached on disk; `robot_dynamics.dynamics.warmup.warm_up` compiles the kernels of control
    loops ahead of time.

    "Garofalo et al." in the methods is Garofalo, Ott, Albu-Schaeffer, "On the closed form
    computation of the dynamic matrices and their differentiations".

    Examples
    --------
    The examples of the methods use the same import.

    >>> from robot_dynamics import Dynamics, Robot
    >>> dynamics = Dynamics(Robot.from_urdf('urdf/planar_2r.urdf'))
    >>> dynamics.inverse_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).shape
    (2,)
    """

    def __init__(self, robot: Robot, *, coulomb_velocity: float = 0.05,
                 threads: int | None = None, backend: str = 'auto', armature: bool = True):
        if not isinstance(robot, Robot):
            raise ModelError(f'must be a Robot, got {type(robot).__name__}', subject='robot',
                             remedy='read one with Robot.from_urdf or Robot.from_dh')
        if not is_positive(coulomb_velocity):
            raise ParameterError(f'must be a positive number, got {shown(coulomb_velocity)}',
                                 subject='coulomb_velocity',
                                 remedy='give the speed below which Coulomb friction fades out')
        self.robot = robot
        self.n = robot.n
        self.armature = np.array(robot.armature) if armature else np.zeros(robot.n)
        self.armature.flags.writeable = False
        self._options: dict[str, Any] = {
            'coulomb_velocity': float(coulomb_velocity), 'threads': threads, 'backend': backend,
            'armature': bool(armature)}
        self._parameters = robot.parameters
        self._of_q, self._of_v = (_counted(robot, names) for names in (
            robot.position_names, robot.velocity_names))
        self._inertial = 10 * robot.n_bodies
        self._caller = Caller(robot, self.armature, backend, threads)
        self.backend = self._caller.backend
        if backend == 'c':  # a copy does not warn again
            self._options['backend'] = self.backend
        # Functions found at the first call of a method, by its last argument.
        self._entries: dict[str, dict[Any, Any]] = {}
        self._choices: dict[tuple[str, ...], FloatArray] = {}
        self._frames: dict[tuple[str, str], FloatArray] = {}

    def __repr__(self) -> str:
        return f'<Dynamics of {self.robot!r}>'

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy packs its robot again, so that no memory is shared with another process.
        return partial(Dynamics, **self._options), (self.robot,)

    @property
    def parameters(self) -> FloatArray:
        """Inertial parameters pi, shape (10 nb,)."""
        return self._parameters

    @parameters.setter
    def parameters(self, value: Any) -> NoReturn:
        raise ParameterError('cannot be set', subject='parameters of Dynamics',
                             remedy='make new equations: '
                                    'Dynamics(robot.with_parameters(parameters))')

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Name of each inertial parameter, ``link/m`` to ``link/Jzz``."""
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

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> dynamics.column_names(['viscous'])[-3:]
        ('link2/Jzz', 'joint1/viscous', 'joint2/viscous')
        """
        return self.robot.parameter_names + tuple(
            f'{joint}/{term}' for term in joint_terms.check_terms(terms)
            for joint in self.robot.velocity_names)

    def parameter_vector(self, terms: Sequence[str] = ()) -> FloatArray:
        """Vector of pi and the described parameters of the terms; see `column_names`.

        Damping, friction and armature are those of the robot's description; offsets are zero.

        Parameters
        ----------
        terms : sequence of str
            Joint terms, see `robot_dynamics.dynamics.joint_terms`.

        Returns
        -------
        ndarray, shape (10 nb + len(terms) n,)
            In SI units.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> dynamics.parameter_vector().shape, dynamics.parameter_vector(['viscous']).shape
        ((20,), (22,))
        """
        return np.concatenate([self.parameters,
                               joint_terms.described_parameters(self.robot, terms)])

    # ---- dynamics ----

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike,
                         external: ArrayLike | Mapping[str, ArrayLike] | None = None,
                         ) -> FloatArray:
        """Efforts tau = M a + C v + g - J^T f that a motion requires.

        M includes the armature (see `Dynamics`); friction and damping are not included.

        Parameters
        ----------
        q, v, a : array_like, shape (..., n)
        external : array_like, shape (..., nb, 6), or mapping of link names to (..., 6), optional
            External force at the origin of a link (3) and moment on it (3), N and N m, base
            axes.

        Returns
        -------
        ndarray, shape (..., n)
            Joint efforts, N m or N.

        See Also
        --------
        forward_dynamics, gravity_torque, regressor

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> dynamics.inverse_dynamics([0.0, 0.0], [0.0, 0.0], [1.0, 0.0]).round(3)
        array([27.194,  5.275])
        >>> push = {'link2': [0.0, -10.0, 0.0, 0.0, 0.0, 0.0]}
        >>> dynamics.inverse_dynamics([0.0, 0.0], [0.0, 0.0], [1.0, 0.0], push).round(3)
        array([27.194,  5.275])
        """
        tau = self._evaluate('inverse_dynamics', q=q, v=v, a=a)
        return tau if external is None else tau - self._external_efforts(q, external)

    def gravity_torque(self, q: ArrayLike) -> FloatArray:
        """Efforts g that hold the robot at rest against gravity.

        Parameters
        ----------
        q : array_like, shape (..., n)

        Returns
        -------
        ndarray, shape (..., n)
            Joint efforts, N m or N; the gradient of the potential energy.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> dynamics.gravity_torque([0.0, 0.0]).round(3)
        array([25.751,  4.905])
        """
        rest = np.zeros(self.n)
        return self.inverse_dynamics(q, rest, rest)

    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike,
                         external: ArrayLike | Mapping[str, ArrayLike] | None = None,
                         ) -> FloatArray:
        """Accelerations a = M^-1 (tau + J^T f - C v - g).

        M includes the armature (see `Dynamics`); friction and damping are not included.

        Parameters
        ----------
        q, v, tau : array_like, shape (..., n)
        external : array_like or mapping, optional
            External forces, as for `inverse_dynamics`.

        Returns
        -------
        ndarray, shape (..., n)
            Accelerations, rad/s^2 or m/s^2.

        Raises
        ------
        ModelError
            If M is not positive definite; names the joint.
        StateError
            If a position is not finite.

        Notes
        -----
        The articulated-body algorithm, in time proportional to n: Featherstone, "Rigid Body
        Dynamics Algorithms", chapter 7.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> q, v = [0.3, -0.2], [1.0, 0.5]
        >>> tau = dynamics.inverse_dynamics(q, v, [2.0, -1.0])
        >>> dynamics.forward_dynamics(q, v, tau).round(6)
        array([ 2., -1.])
        """
        if external is not None:
            tau = np.asarray(tau) + self._external_efforts(q, external)
        return self._evaluate('forward_dynamics', q=q, v=v, tau=tau)

    def matrices(self, q: ArrayLike, v: ArrayLike,
                 out: tuple[FloatArray, FloatArray, FloatArray] | None = None,
                 ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mass matrix, Christoffel matrix and gravity in one pass.

        Parameters
        ----------
        q, v : array_like, shape (..., n)
        out : tuple of three ndarrays, optional
            Arrays for M, C and g.

        Returns
        -------
        M : ndarray, shape (..., n, n)
            Mass matrix, symmetric, with the armature (see `Dynamics`).
        C : ndarray, shape (..., n, n)
            C_ij = 1/2 sum_k (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) v_k.
        g : ndarray, shape (..., n)
            Gravity efforts.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> M, C, g = dynamics.matrices([0.3, -0.2], [1.0, 0.5])
        >>> M.round(3)
        array([[1.421, 0.359],
               [0.359, 0.145]])
        """
        if out is not None:
            M, C, g = _written(out, self.matrices(q, v), ('M', 'C', 'g'))
            return M, C, g
        return self._evaluate('matrices', q=q, v=v)

    def mass_matrix(self, q: ArrayLike) -> FloatArray:
        """Mass matrix M with the armature (see `Dynamics`).

        Parameters
        ----------
        q : array_like, shape (..., n)

        Returns
        -------
        ndarray, shape (..., n, n)
            kg m^2, kg m or kg.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> dynamics.mass_matrix([0.0, 0.0]).round(3)
        array([[1.443, 0.37 ],
               [0.37 , 0.145]])
        """
        return self._evaluate('mass_matrix', q=q)

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike, factorisation: str = 'christoffel',
                        ) -> FloatArray:
        """Matrix C of the term C(q, v) v.

        Parameters
        ----------
        q, v : array_like, shape (..., n)
        factorisation : {'christoffel', 'garofalo'}
            The Christoffel matrix, see `matrices`, or that of Garofalo et al., eq. 6b::

                C = sum_k J_k^T ((I_k adj_k - adj_k^T I_k) J_k + I_k dJ_k/dt)

        Returns
        -------
        ndarray, shape (..., n, n)
            C. Both choices give the same C v and both satisfy C + C^T = dM/dt, so that
            dM/dt - 2 C is skew-symmetric. They are equal for n <= 2 and differ from n = 3 on: skew
            symmetry does not make C unique. The two lead to different Slotine-Li regressors, both
            valid for that controller. All other methods use the Christoffel matrix by default.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> dynamics.coriolis_matrix([0.0, 1.0], [1.0, 0.5]).round(3) + 0.0
        array([[-0.086, -0.257],
               [ 0.171,  0.   ]])
        """
        if _kind_of(factorisation) == coriolis.CHRISTOFFEL:
            return self.matrices(q, v)[1]
        return self._garofalo(q, v, np.zeros(self.n))[0]

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> FloatArray:
        """Kinetic energy 1/2 v^T M v, with that of the rotors (see `Dynamics`).

        Parameters
        ----------
        q, v : array_like, shape (..., n)

        Returns
        -------
        ndarray, shape (...,)
            J; a float for one sample.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> round(float(dynamics.kinetic_energy([0.0, 0.0], [1.0, 0.0])), 4)
        0.7216
        """
        M = self.mass_matrix(q)
        v = real_array(v, 'v')
        return 0.5 * np.einsum('...i,...ij,...j->...', v, M, v)[()]

    def potential_energy(self, q: ArrayLike) -> FloatArray:
        """Potential energy -sum m g_0 . c of gravity, zero at the origin of the base.

        Parameters
        ----------
        q : array_like, shape (..., n)

        Returns
        -------
        ndarray, shape (...,)
            J; a float for one sample. Its gradient is `gravity_torque`.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> rise = dynamics.potential_energy([1.0, 0.0]) - dynamics.potential_energy([0.0, 0.0])
        >>> round(float(rise), 4)
        21.6464
        """
        mass = self.robot.inertial_parameters[:, 0].sum()
        if not mass > 0.0:
            return np.zeros(self._gather(q=q).shape)[()]
        return (-mass * (self.com_position(q) @ self.robot.gravity))[()]

    # ---- regressors ----

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, terms: Sequence[str] = (),
                  out: FloatArray | None = None) -> FloatArray:
        """Regressor Y of the inverse dynamics: tau = Y(q, v, a) pi + armature * a.

        Parameters
        ----------
        q, v, a : array_like, shape (..., n)
        terms : sequence of str
            Joint terms to append, see `robot_dynamics.dynamics.joint_terms`; with 'armature' and
            `parameter_vector`, tau = Y pi without the second summand.
        out : ndarray, optional
            Array for the result; every entry is overwritten.

        Returns
        -------
        ndarray, shape (..., n, 10 nb + len(terms) n)
            Row j is joint j, column block k is body k, then one column per joint and term.

        Examples
        --------
        >>> robot = Robot.from_urdf('planar_2r')
        >>> dynamics = Dynamics(robot)
        >>> q, v, a = [0.3, -0.2], [1.0, 0.5], [2.0, -1.0]
        >>> Y = dynamics.regressor(q, v, a)
        >>> bool(np.allclose(Y @ robot.parameters, dynamics.inverse_dynamics(q, v, a)))
        True
        """
        if _is_for_one_sample(out):
            return _filled(out, self.regressor(q, v, a, terms))
        choice = self._choose('regressor', terms)
        return self._regressors(choice, self._gather(q=q, v=v, v_r=v, a=a), out)

    def slotine_li_regressor(self, q: ArrayLike, v: ArrayLike, v_r: ArrayLike, a_r: ArrayLike,
                             terms: Sequence[str] = (), out: FloatArray | None = None,
                             ) -> FloatArray:
        """Slotine-Li regressor: M a_r + C v_r + g = Yr(q, v, v_r, a_r) pi + armature * a_r.

        Parameters
        ----------
        q, v, v_r, a_r : array_like, shape (..., n)
            Positions and velocities, reference velocities and accelerations.
        terms : sequence of str
            Joint terms to append, see `robot_dynamics.dynamics.joint_terms`.
        out : ndarray, optional
            Array for the result; every entry is overwritten.

        Returns
        -------
        ndarray, shape (..., n, 10 nb + len(terms) n)
            Row j is joint j, column block k is body k, then one column per joint and term.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> q, v, v_r, a_r = [0.3, -0.2], [1.0, 0.5], [0.9, 0.6], [2.0, -1.0]
        >>> Yr = dynamics.slotine_li_regressor(q, v, v_r, a_r)
        >>> M, C, g = dynamics.matrices(q, v)
        >>> bool(np.allclose(Yr @ dynamics.parameters, M @ a_r + C @ v_r + g))
        True
        """
        if _is_for_one_sample(out):
            return _filled(out, self.slotine_li_regressor(q, v, v_r, a_r, terms))
        choice = self._choose('slotine_li_regressor', terms)
        return self._regressors(choice, self._gather(q=q, v=v, v_r=v_r, a_r=a_r), out)

    def adaptive_terms(self, q: ArrayLike, v: ArrayLike, v_r: ArrayLike, a_r: ArrayLike,
                       s: ArrayLike, parameters: ArrayLike, terms: Sequence[str] = (),
                       ) -> tuple[FloatArray, FloatArray]:
        """Yr pi and Yr^T s without forming Yr, in O(nb).

        Parameters
        ----------
        q, v, v_r, a_r : array_like, shape (..., n)
            Positions and velocities, reference velocities and accelerations.
        s : array_like, shape (..., n)
            Sliding variable v_r - v.
        parameters : array_like, shape (..., 10 nb + len(terms) n)
            Parameters pi, in the order of `column_names`.
        terms : sequence of str
            Joint terms whose columns are appended to Yr.

        Returns
        -------
        tau : ndarray, shape (..., n)
            Yr pi, joint efforts; with armature only if it is one of the terms.
        gradient : ndarray, shape (..., 10 nb + len(terms) n)
            Yr^T s.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> q, v, v_r, a_r = [0.3, -0.2], [1.0, 0.5], [0.9, 0.6], [2.0, -1.0]
        >>> s = [-0.1, 0.1]
        >>> tau, gradient = dynamics.adaptive_terms(q, v, v_r, a_r, s, dynamics.parameters)
        >>> Yr = dynamics.slotine_li_regressor(q, v, v_r, a_r)
        >>> bool(np.allclose(gradient, Yr.T @ s))
        True
        """
        choice = self._choose('adaptive_terms', terms)
        samples = self._gather(q=q, v=v, v_r=v_r, a_r=a_r, s=s, parameters=parameters,
                               columns=self._columns(choice))
        tau, gradient = self._run(slotine_li.adaptive_terms, samples, choice)
        return tau, gradient

    def normal_equations(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, tau: ArrayLike,
                         weights: ArrayLike | None = None, *, terms: Sequence[str] = (),
                         columns: Sequence[int] | None = None, factor: str = 'gram',
                         ) -> NormalEquations | Factor:
        r"""Least-squares equations of a recording, in constant memory.

        W stacks the regressors Y(q, v, a) of all samples and tau their efforts, each row
        multiplied by the root of its weight, so that ::

            |W x - tau|^2 = sum_k sum_j weight_kj (Y_j(q_k, v_k, a_k) x - tau_kj)^2

        Parameters
        ----------
        q, v, a, tau : array_like, shape (..., n)
        weights : array_like, shape (n,) or (..., n), optional
            Weight of the squared error of each joint, or of each row; one by default. The inverse
            variance of the efforts gives the minimum-variance estimate.
        terms : sequence of str
            Joint terms whose columns are appended to Y; rotors need 'armature'.
        columns : sequence of int, optional
            Columns of Y to keep, in this order, such as those of base parameters; all by default.
        factor : {'gram', 'qr'}
            The normal equations, or the triangular factor of a QR decomposition. The latter takes
            several times as long, but its errors grow with the condition number of W instead of
            its square.

        Returns
        -------
        NormalEquations or Factor
            W^T W, W^T tau and tau^T tau, or R, z and rest.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 100, 2))
        >>> tau = dynamics.inverse_dynamics(q, v, a)
        >>> equations = dynamics.normal_equations(q, v, a, tau)
        >>> equations.W_W.shape, equations.W_tau.shape
        ((20, 20), (20,))
        """
        if not isinstance(factor, str) or factor not in ('gram', 'qr'):
            raise ParameterError(f"must be 'gram' or 'qr', got {shown(factor)}",
                                 subject='factor', remedy="leave it out for 'gram'")
        choice = self._choose('regressor', terms)
        kept = least_squares.check_columns(columns, self._columns(choice))
        arguments = {'q': q, 'v': v, 'a': a, 'tau': tau}
        same = np.ones(self.n)
        if weights is not None:
            weights = least_squares.check_weights(weights)
            if weights.shape == same.shape:
                same = weights
            else:
                arguments['weights'] = weights
        rows = self._gather(**arguments).rows

        def share(piece: slice) -> FloatArray:
            q, v, a, tau, *own = (x[piece] for x in rows)
            roots = np.sqrt(own[0] if own else np.broadcast_to(same, tau.shape))
            Y = self._caller.evaluate(slotine_li.slotine_li_regressor, [q, v, v, a],
                                      choice)[0][0]
            W = np.empty((*tau.shape, len(kept) + 1))
            np.multiply(Y if len(kept) == Y.shape[-1] and columns is None else Y[..., kept],
                        roots[..., np.newaxis], out=W[..., :-1])
            W[..., -1] = tau * roots
            W = W.reshape(-1, len(kept) + 1)
            return product(W.T, W) if factor == 'gram' else least_squares.triangle_of(W)

        shares: Iterator[FloatArray] = in_pieces(len(rows[0]), self._caller.threads, share,
                                                 _AT_A_TIME)
        combine = least_squares.summed if factor == 'gram' else least_squares.merged
        return combine(shares, len(kept))

    # ---- derivatives ----
    #
    # For a joint of several coordinates, d/dq_h is the derivative along the motion with unit
    # velocity v_h: such velocities are not derivatives of coordinates.

    def inverse_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike,
                                     out: tuple[FloatArray, FloatArray, FloatArray] | None = None,
                                     ) -> InverseDynamicsDerivatives:
        """Derivatives of the inverse dynamics tau = M a + C v + g.

        Parameters
        ----------
        q, v, a : array_like, shape (..., n)
        out : tuple of three ndarrays, optional
            Arrays for the results, which must not share memory.

        Returns
        -------
        InverseDynamicsDerivatives
            dtau_dq, dtau_dv and M, shape (..., n, n), M with the armature (see `Dynamics`).

        Notes
        -----
        ::

            dtau/dq_h = dM/dq_h a + dC/dq_h v + dg/dq_h
            dtau/dv_h = dC/dv_h v + C e_h

        computed without these tensors in O(n d) for a tree of depth d: Singh, Russell,
        Wensing, "Efficient analytical derivatives of rigid-body dynamics using spatial
        vector algebra". Equal to Garofalo et al., eq. 24.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> found = dynamics.inverse_dynamics_derivatives([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
        >>> found.dtau_dq.round(3)
        array([[-0.049,  0.736],
               [ 0.736,  0.736]])
        """
        if out is not None:
            computed = self.inverse_dynamics_derivatives(q, v, a)
            return InverseDynamicsDerivatives(*_written(out, computed, computed._fields))
        return self._evaluate('inverse_dynamics_derivatives', q=q, v=v, a=a)

    def forward_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike,
                                     ) -> ForwardDynamicsDerivatives:
        """Derivatives of the forward dynamics a = M^-1 (tau - C v - g).

        Parameters
        ----------
        q, v, tau : array_like, shape (..., n)

        Returns
        -------
        ForwardDynamicsDerivatives
            da_dq = -M^-1 dtau/dq at the acceleration a, da_dv = -M^-1 dtau/dv and
            da_dtau = M^-1, shape (..., n, n), M with the armature (see `Dynamics`).

        Raises
        ------
        ModelError
            If M is not positive definite; names the joint.

        Notes
        -----
        By differentiation of tau = tau(q, v, a(q, v, tau)): Sohl, Bobrow, "A recursive multibody
        dynamics and sensitivity algorithm for branched kinematic chains"; Singh, Russell, Wensing
        (see `inverse_dynamics_derivatives`).

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> q, v, tau = [0.3, -0.2], [1.0, 0.5], [1.0, 1.0]
        >>> found = dynamics.forward_dynamics_derivatives(q, v, tau)
        >>> bool(np.allclose(found.da_dtau @ dynamics.mass_matrix(q), np.eye(2)))
        True
        """
        return self._evaluate('forward_dynamics_derivatives', q=q, v=v, tau=tau)

    def linearise(self, q: ArrayLike, v: ArrayLike, *, tau: ArrayLike | None = None,
                  a: ArrayLike | None = None) -> LinearModel:
        """Linear model of small deviations from a point of a trajectory.

        Parameters
        ----------
        q, v : array_like, shape (..., n)
            Positions and velocities of the point.
        tau : array_like, shape (..., n), optional
            Joint efforts there; or give ``a``.
        a : array_like, shape (..., n), optional
            Accelerations there; or give ``tau``.

        Returns
        -------
        LinearModel
            A and B of dx/dt = A x + B u with x = (dq, dv), u = dtau; `LinearModel.discrete` gives
            the model for a sampling period. M includes the armature (see `Dynamics`).

        Notes
        -----
        ::

            A = [[0, 1], [-M^-1 dtau/dq, -M^-1 dtau/dv]],   B = [[0], [M^-1]]

        Van Winssen, deSilva, "Accurate trajectory control of robotic manipulators", eq. 5,
        with the sign of A corrected. For joints of several coordinates dq is `Robot.difference`,
        which rotates with their velocity: see `robot_dynamics.dynamics.linearisation`.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> model = dynamics.linearise([0.3, -0.2], [0.0, 0.0], a=[0.0, 0.0])
        >>> model.A.shape, model.B.shape
        ((4, 4), (4, 2))
        >>> Phi, Gamma = model.discrete(0.002)
        """
        if (tau is None) == (a is None):
            raise ParameterError('must not both be given' if tau is not None
                                 else 'must not both be missing', subject='tau and a',
                                 remedy='give the efforts or the accelerations of the point')
        if a is None:
            assert tau is not None
            blocks: Sequence[FloatArray] = self.forward_dynamics_derivatives(q, v, tau)
        else:
            blocks = self._run(forward_dynamics.acceleration_derivatives,
                               self._gather(q=q, v=v, a=a))
        v = np.broadcast_to(np.asarray(v, dtype=np.float64), blocks[0].shape[:-1])
        return LinearModel.of(motion_of_deviations(self.robot, v), *blocks)

    def inverse_dynamics_rates(self, q: ArrayLike, v: ArrayLike, a: ArrayLike,
                               jerk: ArrayLike, snap: ArrayLike) -> InverseDynamicsRates:
        """Efforts tau = M a + C v + g along a motion, and their first two time derivatives.

        Parameters
        ----------
        q, v, a, jerk, snap : array_like, shape (..., n)
            Positions and their first four time derivatives.

        Returns
        -------
        InverseDynamicsRates
            tau, tau_dot, tau_ddot, shape (..., n), M with the armature (see `Dynamics`).

        Raises
        ------
        ModelError
            If a joint has several coordinates.

        Notes
        -----
        ::

            tau'  = M j + M' a + C a + C' v + g'
            tau'' = M s + 2 M' j + M'' a + C j + 2 C' a + C'' v + g''

        First derivatives of the matrices are those of `time_derivatives` (Garofalo et al.,
        eq. 25). They are not computed here: the Newton-Euler recursion is
        evaluated with the derivatives of every vector. The motion of a motor behind a spring
        follows from tau' and tau''.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> rates = dynamics.inverse_dynamics_rates(*np.zeros((5, 2)))
        >>> rates.tau.round(3), rates.tau_dot.round(3)
        (array([25.751,  4.905]), array([0., 0.]))
        """
        self.robot.require_single_coordinates('a derivative of efforts by time')
        return self._evaluate('inverse_dynamics_rates', q=q, v=v, a=a, jerk=jerk, snap=snap)

    def matrix_time_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike,
                                out: tuple[FloatArray, ...] | None = None,
                                ) -> MatrixTimeDerivatives:
        """M, C and g and their time derivatives along a motion, in one pass.

        Parameters
        ----------
        q, v, a : array_like, shape (..., n)
        out : tuple of six ndarrays, optional
            Arrays for the results, which must not share memory.

        Returns
        -------
        MatrixTimeDerivatives
            M, C, g, M_dot, C_dot, g_dot, shapes (..., n, n) and (..., n). C is the Christoffel
            matrix, M with the armature; see `matrices` and `time_derivatives`.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> found = dynamics.matrix_time_derivatives([0.0, 1.0], [1.0, 0.5], [0.0, 0.0])
        >>> bool(np.allclose(found.M_dot, found.C + found.C.T))
        True
        """
        if out is not None:
            computed = self.matrix_time_derivatives(q, v, a)
            return MatrixTimeDerivatives(*_written(out, computed, computed._fields))
        return self._evaluate('matrix_time_derivatives', q=q, v=v, a=a)

    def time_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike,
                         factorisation: str = 'christoffel') -> TimeDerivatives:
        """Time derivatives of M, C and g along a motion.

        Parameters
        ----------
        q, v, a : array_like, shape (..., n)
        factorisation : {'christoffel', 'garofalo'}
            Factorisation of C; see `coriolis_matrix`.

        Returns
        -------
        TimeDerivatives
            M_dot and C_dot, shape (..., n, n), and g_dot, shape (..., n).

        Notes
        -----
        Garofalo et al., eq. 25, computed directly::

            dM/dt = sum dJ^T/dt I J + J^T I dJ/dt
            dC/dt = sum dJ^T/dt (Psi J + I dJ/dt) + J^T I d2J/dt2
                    + J^T (dPsi/dt J + Psi dJ/dt)
            dg/dt = sum (dJ^T/dt I - J^T I adj) gamma

        (with adj of dv/dt = J a + dJ/dt v in dPsi/dt, where the paper prints J v).

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> M_dot, C_dot, g_dot = dynamics.time_derivatives([0.0, 1.0], [1.0, 0.5], [0.0, 0.0])
        >>> M_dot.round(3)
        array([[-0.171, -0.086],
               [-0.086, -0.   ]])
        """
        kind = _kind_of(factorisation)
        *_, dM, dC, dg = self.matrix_time_derivatives(q, v, a)
        if kind == coriolis.GAROFALO:
            _, dC = self._garofalo(q, v, a)
        return TimeDerivatives(dM, dC, dg)

    def state_derivatives(self, q: ArrayLike, v: ArrayLike, factorisation: str = 'christoffel',
                          ) -> StateDerivatives:
        """Derivatives of M, C and g along the state.

        Parameters
        ----------
        q, v : array_like, shape (..., n)
        factorisation : {'christoffel', 'garofalo'}
            Factorisation of C; see `coriolis_matrix`.

        Returns
        -------
        StateDerivatives
            dM_dq, dC_dq and dC_dv, shape (..., n, n, n), and dg_dq, shape (..., n, n); the
            index of q_h or v_h comes first.

        Notes
        -----
        Garofalo et al., eq. 24::

            dM/dq_h = sum dJ^T/dq_h I J + J^T I dJ/dq_h
            dC/dq_h = sum dJ^T/dq_h (Psi J + I dJ/dt) + J^T I d(dJ/dt)/dq_h
                      + J^T (Psi(dJ/dq_h v) J + Psi dJ/dq_h)
            dC/dv_h = sum J^T (Psi(J^h) J + I d(dJ/dt)/dv_h)
            dg/dq_h = sum (dJ^T/dq_h I - J^T I adj(J^h)) gamma

        where for the Christoffel matrix Psi(v) is
        1/2 (I adj(v) - adj(v)^T I + Hb(I v)), also linear in v.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> found = dynamics.state_derivatives([0.0, 1.0], [1.0, 0.5])
        >>> found.dM_dq[1].round(3)
        array([[-0.342, -0.171],
               [-0.171,  0.   ]])
        """
        return self._factorised('state_derivatives', matrix_derivatives.state_derivatives,
                                factorisation, StateDerivatives, q, v)

    def parameter_derivatives(self, q: ArrayLike, v: ArrayLike,
                              factorisation: str = 'christoffel') -> ParameterDerivatives:
        """Derivatives of M, C and g along the inertial parameters.

        Parameters
        ----------
        q, v : array_like, shape (..., n)
        factorisation : {'christoffel', 'garofalo'}
            Factorisation of C; see `coriolis_matrix`.

        Returns
        -------
        ParameterDerivatives
            dM_dpi and dC_dpi, shape (..., 10 nb, n, n), and dg_dpi, shape (..., 10 nb, n),
            in the order of `Robot.parameter_names`. C = sum_p dC_dpi[p] pi_p, likewise g, and M
            without the armature.

        Notes
        -----
        Garofalo et al., eq. 13, for column j::

            dM^j/dpi_h = J^T A(J^j)^h
            dC^j/dpi_h = J^T (A(adj J^j + dJ^j/dt)^h - adj^T A(J^j)^h)
            dg/dpi_h   = J^T A(gamma)^h

        (the dot in the second equation is missing in the paper).

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> found = dynamics.parameter_derivatives([0.3, -0.2], [1.0, 0.5])
        >>> g = found.dg_dpi.T @ dynamics.parameters
        >>> bool(np.allclose(g, dynamics.gravity_torque([0.3, -0.2])))
        True
        """
        return self._factorised('parameter_derivatives', matrix_derivatives.parameter_derivatives,
                                factorisation, ParameterDerivatives, q, v)

    # ---- kinematics ----
    #
    # In 'base' axes, rows 0-2 of a Jacobian are the velocity of the frame's origin and rows
    # 3-5 the angular velocity. In 'link' axes both are expressed in the axes of the frame, which
    # gives the body twist: J_k of Garofalo et al. The paper computes Jacobians from link to link
    # (eqs. 27-32); here each column is evaluated directly.

    def forward_kinematics(self, q: ArrayLike, link: str | None = None) -> FloatArray:
        """Poses in the base frame.

        Parameters
        ----------
        q : array_like, shape (..., n)
        link : str, optional
            A link or frame of the robot; all moving bodies by default.

        Returns
        -------
        ndarray, shape (..., nb, 4, 4), or (..., 4, 4) for one link
            Homogeneous transformations from the link frame to the base frame, metres.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> dynamics.forward_kinematics([0.0, 0.0], 'link2')[:3, 3].round(3)
        array([0.45, 0.  , 0.  ])
        """
        if link is None:
            return self._evaluate('forward_kinematics', q=q)
        frame = self._frame(link)
        poses = self.forward_kinematics(q)
        if frame.body < 0:
            return np.broadcast_to(frame.pose, (*poses.shape[:-3], 4, 4)).copy()
        return product(poses[..., frame.body, :, :], frame.pose)

    def jacobian(self, q: ArrayLike, link: str, axes: str = 'base') -> FloatArray:
        """Geometric Jacobian of a link or frame.

        Parameters
        ----------
        q : array_like, shape (..., n)
        link : str
            A link or frame of the robot.
        axes : {'base', 'link'}
            Axes of the Jacobian.

        Returns
        -------
        ndarray, shape (..., 6, n)
            Linear velocity of the frame's origin (rows 0-2) and angular velocity (rows
            3-5) per unit joint speed. In link axes, J_k of Garofalo et al., eq. 27.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> dynamics.jacobian([0.0, 0.0], 'link2').round(3)[:3]
        array([[0.  , 0.  ],
               [0.  , 0.  ],
               [0.45, 0.  ]])
        """
        return self._of_frame('jacobian', kinematics.jacobian, link, axes, q=q)[0]

    def jacobian_dot(self, q: ArrayLike, v: ArrayLike, link: str, axes: str = 'base',
                     ) -> FloatArray:
        """Time derivative of the Jacobian of a link or frame.

        Parameters
        ----------
        q, v : array_like, shape (..., n)
        link, axes : str
            See `jacobian`.

        Returns
        -------
        ndarray, shape (..., 6, n)
            dJ/dt, so that the acceleration of the frame's origin and the angular
            acceleration are J a + dJ/dt v (in base axes). Garofalo et al., eq. 28.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> dynamics.jacobian_dot([0.0, 0.0], [1.0, 0.0], 'link2').round(3)[:3]
        array([[-0.45,  0.  ],
               [ 0.  ,  0.  ],
               [ 0.  ,  0.  ]])
        """
        return self._of_frame('jacobian_dot', kinematics.jacobian_dot, link, axes, q=q, v=v)[0]

    def jacobian_ddot(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, link: str,
                      axes: str = 'base') -> FloatArray:
        """Second time derivative of the Jacobian of a link or frame.

        Parameters
        ----------
        q, v, a : array_like, shape (..., n)
        link, axes : str
            See `jacobian`.

        Returns
        -------
        ndarray, shape (..., 6, n)
            d2J/dt2. Garofalo et al., eq. 29.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> dynamics.jacobian_ddot([0.0, 0.0], [1.0, 0.0], [0.0, 0.0], 'link2').shape
        (6, 2)
        """
        return self._of_frame('jacobian_ddot', kinematics.jacobian_ddot, link, axes,
                              q=q, v=v, a=a)[0]

    def jacobian_derivatives(self, q: ArrayLike, v: ArrayLike, link: str, axes: str = 'base',
                             ) -> JacobianDerivatives:
        """Derivatives along q of the Jacobian of a link or frame, and of its rate.

        Parameters
        ----------
        q, v : array_like, shape (..., n)
        link, axes : str
            See `jacobian`.

        Returns
        -------
        JacobianDerivatives
            dJ_dq and dJdot_dq, shape (..., n, 6, n); the index of q_h comes first. Garofalo
            et al., eqs. 30 to 32.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> dJ_dq, dJdot_dq = dynamics.jacobian_derivatives([0.0, 0.0], [1.0, 0.0], 'link2')
        >>> dJ_dq.shape
        (2, 6, 2)
        """
        return JacobianDerivatives(*self._of_frame(
            'jacobian_derivatives', kinematics.jacobian_derivatives, link, axes,
            JacobianDerivatives, q=q, v=v))

    def com_position(self, q: ArrayLike) -> FloatArray:
        """Centre of mass of all moving links in the base frame.

        Parameters
        ----------
        q : array_like, shape (..., n)

        Returns
        -------
        ndarray, shape (..., 3)
            Metres.

        Raises
        ------
        ModelError
            If the links have no mass.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> dynamics.com_position([0.0, 0.0]).round(3)
        array([ 0.404, -0.014,  0.001])
        """
        self._require_mass()
        return self._evaluate('com_position', q=q)

    def com_jacobian(self, q: ArrayLike) -> FloatArray:
        """Jacobian of the centre of mass of all moving links.

        Parameters
        ----------
        q : array_like, shape (..., n)

        Returns
        -------
        ndarray, shape (..., 3, n)
            Velocity of the centre of mass per unit joint speed, base axes:
            J_com = P^T I J / m, Garofalo et al., eq. 7. Gravity is g(q) = -m J_com^T g_0.

        Raises
        ------
        ModelError
            If the links have no mass.

        Examples
        --------
        >>> dynamics = Dynamics(Robot.from_urdf('planar_2r'))
        >>> dynamics.com_jacobian([0.0, 0.0]).round(3)
        array([[-0.001,  0.012],
               [ 0.   ,  0.   ],
               [ 0.404,  0.077]])
        """
        self._require_mass()
        return self._evaluate('com_jacobian', q=q)

    # ---- from arguments to equations ----

    def _evaluate(self, name: str, **arguments: ArrayLike) -> Any:
        """Result of a method of `_PLAIN`; from then on plain arrays bypass it."""
        equation, result = _PLAIN[name]
        self._open(name, equation, LEFT_OUT, None, '', result)
        found = self._run(equation, self._gather(**arguments))
        if len(found) == 1:
            return found[0]
        return tuple(found) if result is None else result(*found)

    def _run(self, equation: Equation, samples: Samples, first: FloatArray | None = None,
             ) -> list[FloatArray]:
        """Results of an equation in the shape of the batch."""
        if not samples.shape:
            found = self._caller.one_sample(equation, samples.rows, first)
            if found is not None:
                return found
        results, status = self._caller.evaluate(equation, samples.rows, first)
        if status:
            self._refuse_to_accelerate(samples.rows[0], status - 1)
        return list(finished(samples, tuple(results)))

    def _open(self, name: str, equation: Equation, key: Any, first: FloatArray | None,
              key_name: str, result: type | None = None) -> None:
        """Call the kernel of a method directly for plain arrays of one sample."""
        if name in self.__dict__ and key in self._entries[name]:
            return
        entries = self._entries.setdefault(name, {})
        self._caller.add_entry(entries, key, equation, name, first, result)
        if name not in self.__dict__ and entries:
            self.__dict__[name] = self._caller.function(
                name, getattr(type(self), name).__doc__ or '', equation,
                getattr(type(self), name).__get__(self), entries, key_name, result)

    def _of_frame(self, name: str, equation: Equation, link: str, axes: str,
                  result: type | None = None, **arguments: ArrayLike) -> list[FloatArray]:
        """Results of an equation of a frame; in base axes plain arrays then skip the method."""
        frame = self._packed_frame(link, axes)
        if axes == 'base':
            self._open(name, equation, link, frame, 'link', result)
        return self._run(equation, self._gather(**arguments), frame)

    def _factorised(self, name: str, equation: Equation, factorisation: str, result: type,
                    q: ArrayLike, v: ArrayLike) -> Any:
        """Result of a method of q, v and a factorisation; from then on plain arrays bypass it."""
        kind = np.array([_kind_of(factorisation)])
        for known, of_known in ((LEFT_OUT, np.array([FACTORISATIONS['christoffel']])),
                                (factorisation, kind)):
            self._open(name, equation, known, of_known, 'factorisation', result)
        return result(*self._run(equation, self._gather(q=q, v=v), kind))

    def _regressors(self, choice: FloatArray, samples: Samples, out: FloatArray | None,
                    ) -> FloatArray:
        """Slotine-Li regressors of any argument."""
        columns = self._columns(choice)
        if out is None:
            return self._run(slotine_li.slotine_li_regressor, samples, choice)[0]
        result = check_out(out, (*samples.shape, self.n, columns))
        self._caller.evaluate(slotine_li.slotine_li_regressor, samples.apart_from(result),
                              choice, result.reshape(-1, self.n, columns))
        return out

    def _choose(self, name: str, terms: Sequence[str]) -> FloatArray:
        """The terms as kernels read them; from then on plain arrays bypass the method."""
        terms = joint_terms.check_terms(terms)
        for known in ((), terms):
            if known not in self._choices:
                self._choices[known] = joint_terms.choice_of(known,
                                                             self._options['coulomb_velocity'])
        equation = {'adaptive_terms': slotine_li.adaptive_terms}.get(
            name, slotine_li.slotine_li_regressor)
        self._open(name, equation, LEFT_OUT, self._choices[()], 'terms')
        self._open(name, equation, terms, self._choices[terms], 'terms')
        return self._choices[terms]

    def _columns(self, choice: FloatArray) -> int:
        return self._inertial + int(choice[0]) * self.n

    def _external_efforts(self, q: ArrayLike,
                          external: ArrayLike | Mapping[str, ArrayLike]) -> FloatArray:
        """Efforts J^T f of external forces."""
        if isinstance(external, Mapping):
            pairs = {name: real_array(value, f'external force on {name}')
                     for name, value in external.items()}
            batch = np.broadcast_shapes(*(value.shape[:-1] for value in pairs.values()))
            forces = np.zeros((*batch, self.robot.n_bodies, 6))
            for name, value in pairs.items():
                if name not in self.robot.body_names:
                    raise ModelError('is not a moving link of this robot', subject=str(name),
                                     remedy='name one of: ' + ', '.join(self.robot.body_names))
                forces[..., self.robot.body_names.index(name), :] = value
        else:
            forces = real_array(external, 'external')
            if forces.shape[-2:] != (self.robot.n_bodies, 6):
                raise DimensionError(f'must be of shape (..., {self.robot.n_bodies}, 6), got '
                                     f'{forces.shape}', subject='external',
                                     remedy='give force and moment of each moving link')
        flat = forces.reshape(*forces.shape[:-2], -1)
        samples = self._gather(q=q, external=flat)
        return self._run(newton_euler.efforts_of_forces, samples)[0]

    def _garofalo(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> list[FloatArray]:
        """C and its time derivative, as Garofalo, Ott and Albu-Schaeffer factorise it."""
        return self._run(coriolis.coriolis_in_time, self._gather(q=q, v=v, a=a),
                         np.array([FACTORISATIONS['garofalo']]))

    def _refuse_to_accelerate(self, q: FloatArray, joint: int) -> NoReturn:
        """Raise the error of a mass matrix that is not positive definite."""
        if not np.all(np.isfinite(q)):
            raise StateError('contains NaN or inf', subject='q', remedy='give finite positions')
        raise ModelError('moves no inertia, so the mass matrix is not positive definite',
                         subject=f'joint {self.robot.velocity_names[joint]}',
                         remedy='give the links that it moves a mass and an inertia that a rigid '
                                'body can have, or lock the joint')

    def _require_mass(self) -> None:
        if not self.robot.inertial_parameters[:, 0].sum() > 0.0:
            raise ModelError('has no moving mass, so it has no centre of mass',
                             subject=self.robot.name, remedy='give the links their masses')

    def _gather(self, **arguments: Any) -> Samples:
        """Convert and broadcast joint vectors, ``parameters`` and ``external``."""
        columns = arguments.pop('columns', self.n)
        if not self.robot.all_joints_1dof:
            arguments['q'] = self.robot.check_positions(arguments['q'])
        counts = {'q': self._of_q,
                  'parameters': (columns, 'one value for each of column_names(terms)'),
                  'external': (6 * self.robot.n_bodies, 'six values for each moving link')}
        return gather({name: (value, *counts.get(name, self._of_v))
                       for name, value in arguments.items()})

    def _packed_frame(self, link: str, axes: str) -> FloatArray:
        """A frame as kernels read it, shape (5, 4), computed once.

        Pose of the frame on its body; then the column of that body, -1 for the base, and whether
        the axes are those of the frame.
        """
        try:
            return self._frames[link, axes]
        except (KeyError, TypeError):
            pass
        if not isinstance(axes, str) or axes not in AXES:
            raise ParameterError(f'must be one of {", ".join(AXES)}, got {axes!r}',
                                 subject='axes', remedy="leave it out for 'base'")
        frame = self._frame(link)
        packed = np.zeros((5, 4))
        packed[:4] = frame.pose
        packed[4, :2] = (-1 if frame.body < 0 else
                         self.robot.body_coordinates.velocities(frame.body).stop - 1,
                         axes == 'link')
        self._frames[link, axes] = packed
        return packed

    def _frame(self, name: str) -> Frame:
        """Body and pose of a named link or frame."""
        robot = self.robot
        if isinstance(name, str):
            if name in robot.frames:
                return robot.frames[name]
            if name in robot.body_names:
                return Frame(robot.body_names.index(name), np.eye(4))
            if name == robot.base_name:
                return Frame(-1, np.eye(4))
        known = dict.fromkeys((robot.base_name, *robot.body_names, *robot.frames))
        raise ModelError('is not a link of this robot', subject=str(name),
                         remedy='name one of: ' + ', '.join(known))


def _counted(robot: Robot, names: Sequence[str]) -> tuple[int, str]:
    """Length of a joint vector, and the names of its entries."""
    what = 'joints' if robot.all_joints_1dof else 'coordinates'
    return len(names), f'one value for each of the {len(names)} {what} {", ".join(names)}'


def _written(out: tuple[FloatArray, ...], results: tuple[FloatArray, ...],
             names: tuple[str, ...]) -> tuple[FloatArray, ...]:
    """``out`` with the results in it."""
    write_several(check_several(out, names), results, names)
    return out


def _is_for_one_sample(out: FloatArray | None) -> TypeGuard[FloatArray]:
    """Whether ``out`` is for one sample: the regressor is then made in new memory and copied."""
    return isinstance(out, np.ndarray) and out.ndim == 2


def _filled(out: FloatArray, result: FloatArray) -> FloatArray:
    check_out(out, result.shape)[...] = result
    return out


def _kind_of(factorisation: Any) -> float:
    """Number of a factorisation in the kernels."""
    try:
        return FACTORISATIONS[factorisation]
    except (KeyError, TypeError):
        raise ParameterError(f'must be one of {", ".join(FACTORISATIONS)}, got '
                             f'{factorisation!r}', subject='factorisation',
                             remedy="leave it out for 'christoffel'") from None
