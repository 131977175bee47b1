/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of one robot as the gate calls them.
 *
 * Inputs and outputs are those of the equations of the same names in
 * robot_dynamics/dynamics/kernels; `robot` is gravity, the armature of its joints, and
 * its inertial parameters. Defined before this text: JOINTS, BODIES, INERTIAL (ten per body),
 * the codes of joint terms, the runs of zeros of the regressor, the tree, and the kernels.
 */

/* Where things stand in `robot`. */
enum { ROTORS = 3, PARAMETERS = 3 + JOINTS };

typedef const double *const *Inputs;
typedef double *const *Outputs;

/* Effort per unit of a term's parameter. */
static double term_value(double code, double v, double a, double epsilon)
{
    if (code == VISCOUS)
        return v;
    if (code == COULOMB)
        return tanh(v / epsilon);
    return code == ARMATURE ? a : 1.0;
}

static void fill_regressor(const double *q, const double *v, const double *v_r,
                           const double *a_r, const double *gravity, double *Y)
{
    size_t k;
    for (k = 0; k + 1 < sizeof zeros / sizeof zeros[0]; k += 2)
        memset(Y + zeros[k], 0, sizeof(double) * (size_t)(zeros[k + 1] - zeros[k]));
    slotine_li_kernel(q, v, v_r, a_r, gravity, Y);
}

/* Yr and the columns of joint terms; choice: their number, epsilon and codes. */
int64_t slotine_li_regressor(Inputs in, Outputs out, const double *robot)
{
    const double *choice = in[0], *q = in[1], *v = in[2], *v_r = in[3], *a_r = in[4];
    const size_t terms = (size_t)choice[0], width = INERTIAL + terms * JOINTS;
    size_t j, t;
    double *block, *Y = out[0];

    if (terms == 0) {
        fill_regressor(q, v, v_r, a_r, robot, Y);
        return 0;
    }
    block = malloc(sizeof(double) * JOINTS * INERTIAL);
    if (block == NULL)
        return -1;
    fill_regressor(q, v, v_r, a_r, robot, block);
    for (j = 0; j < JOINTS; ++j) {
        memcpy(Y + j * width, block + j * INERTIAL, sizeof(double) * INERTIAL);
        memset(Y + j * width + INERTIAL, 0, sizeof(double) * terms * JOINTS);
        for (t = 0; t < terms; ++t)
            Y[j * width + INERTIAL + t * JOINTS + j] =
                term_value(choice[t + 2], v_r[j], a_r[j], choice[1]);
    }
    free(block);
    return 0;
}

int64_t adaptive_terms(Inputs in, Outputs out, const double *robot)
{
    const double *choice = in[0], *v_r = in[3], *a_r = in[4], *s = in[5], *pi = in[6];
    double *tau = out[0], *gradient = out[1];
    const size_t terms = (size_t)choice[0];
    size_t t, j;

    adaptive_kernel(in[1], in[2], v_r, a_r, s, pi, robot, tau, gradient);
    for (t = 0; t < terms; ++t)
        for (j = 0; j < JOINTS; ++j) {
            const size_t k = INERTIAL + t * JOINTS + j;
            const double value = term_value(choice[t + 2], v_r[j], a_r[j], choice[1]);
            tau[j] += value * pi[k];
            gradient[k] = value * s[j];
        }
    return 0;
}

int64_t inverse_dynamics(Inputs in, Outputs out, const double *robot)
{
    size_t j;
    efforts_kernel(in[0], in[1], in[2], robot + PARAMETERS, robot, out[0]);
    for (j = 0; j < JOINTS; ++j)
        out[0][j] += robot[ROTORS + j] * in[2][j];
    return 0;
}

int64_t matrices(Inputs in, Outputs out, const double *robot)
{
    size_t j;
    matrices_kernel(in[0], in[1], robot + PARAMETERS, robot, out[0], out[1], out[2]);
    for (j = 0; j < JOINTS; ++j)
        out[0][j * JOINTS + j] += robot[ROTORS + j];
    return 0;
}

int64_t mass_matrix(Inputs in, Outputs out, const double *robot)
{
    size_t j;
    mass_kernel(in[0], robot + PARAMETERS, out[0]);
    for (j = 0; j < JOINTS; ++j)
        out[0][j * JOINTS + j] += robot[ROTORS + j];
    return 0;
}

/* M = L^T D L in the lower triangle of M, from the tips to the base, as in
 * robot_dynamics/dynamics/kernels/solve.py; zeros of a tree stay zero and are passed over.
 * Returns 0, or one more than a joint whose pivot shows that M is not positive definite. */
static int64_t factorise(double *M)
{
    double whole[JOINTS];
    int k, i, j;

    for (k = 0; k < JOINTS; ++k)
        whole[k] = M[k * JOINTS + k];
    for (k = JOINTS - 1; k >= 0; --k) {
        double *below = M + k * JOINTS;
        const double pivot = below[k];
        if (!(pivot > JOINTS * DBL_EPSILON * whole[k] && pivot > 0.0))
            return k + 1;
        for (i = k - 1; i >= 0; --i) {
            const double share = below[i] / pivot;
            double *row = M + i * JOINTS;
            if (share == 0.0)
                continue;
            for (j = 0; j <= i; ++j)
                row[j] -= share * below[j];
            below[i] = share;
        }
    }
    return 0;
}

int64_t forward_dynamics(Inputs in, Outputs out, const double *robot)
{
    const double still[JOINTS] = {0.0};
    double M[JOINTS * JOINTS], *a = out[0];
    int64_t status;
    int k, j;

    mass_kernel(in[0], robot + PARAMETERS, M);
    efforts_kernel(in[0], in[1], still, robot + PARAMETERS, robot, a);
    for (k = 0; k < JOINTS; ++k) {
        M[k * JOINTS + k] += robot[ROTORS + k];
        a[k] = in[2][k] - a[k];
    }
    status = factorise(M);
    for (k = JOINTS - 1; k >= 0 && status == 0; --k)
        for (j = 0; j < k; ++j)
            a[j] -= M[k * JOINTS + j] * a[k];
    for (k = 0; k < JOINTS && status == 0; ++k) {
        a[k] /= M[k * JOINTS + k];
        for (j = 0; j < k; ++j)
            a[k] -= M[k * JOINTS + j] * a[j];
    }
    return status;
}

int64_t forward_kinematics(Inputs in, Outputs out, const double *robot)
{
    (void)robot;
    poses_kernel(in[0], out[0]);
    return 0;
}

int64_t com_jacobian(Inputs in, Outputs out, const double *robot)
{
    double mass = 0.0;
    size_t k;
    for (k = 0; k < INERTIAL; k += 10)
        mass += robot[PARAMETERS + k];
    com_kernel(in[0], robot + PARAMETERS, out[0]);
    for (k = 0; k < 3 * JOINTS; ++k)
        out[0][k] /= mass;
    return 0;
}

/* The vector x of a frame with such a pose, in the axes in which the pose is given. */
static void turn(const double *pose, const double *x, double *y)
{
    int row;
    for (row = 0; row < 3; ++row)
        y[row] = pose[4 * row] * x[0] + pose[4 * row + 1] * x[1] + pose[4 * row + 2] * x[2];
}

/* frame: its pose on its body, then that body and whether its own axes are wanted. */
int64_t jacobian(Inputs in, Outputs out, const double *robot)
{
    const double *frame = in[0];
    const double at[3] = {frame[3], frame[7], frame[11]};
    const int body = (int)frame[16], is_in_own_axes = frame[17] != 0.0;
    double poses[16 * BODIES], X[3], *J = out[0];
    int k, row, axis, share;

    (void)robot;
    memset(J, 0, sizeof(double) * 6 * JOINTS);
    if (body < 0)
        return 0;
    poses_kernel(in[1], poses);
    turn(poses + 16 * body, at, X);
    for (row = 0; row < 3; ++row)
        X[row] += poses[16 * body + 4 * row + 3];
    for (k = body; k >= 0; k = bodies[k].parent) {
        const double *pose = poses + 16 * k;
        double z[3], arm[3], twist[6] = {0.0};

        turn(pose, bodies[k].axis, z);
        turn(pose, bodies[k].offset, arm);
        for (row = 0; row < 3; ++row)
            arm[row] += X[row] - pose[4 * row + 3];
        for (row = 0; row < 3; ++row) {
            const int next = (row + 1) % 3, last = (row + 2) % 3;
            twist[row] = bodies[k].is_prismatic ? z[row] : z[next] * arm[last] - z[last] * arm[next];
            twist[row + 3] = bodies[k].is_prismatic ? 0.0 : z[row];
        }
        if (is_in_own_axes)
            for (row = 0; row < 6; row += 3) {
                double of_body[3] = {0.0}, of_frame[3] = {0.0};
                for (axis = 0; axis < 9; ++axis)
                    of_body[axis % 3] += poses[16 * body + 4 * (axis / 3) + axis % 3]
                                         * twist[row + axis / 3];
                for (axis = 0; axis < 9; ++axis)
                    of_frame[axis % 3] += frame[4 * (axis / 3) + axis % 3] * of_body[axis / 3];
                memcpy(twist + row, of_frame, sizeof of_frame);
            }
        for (share = bodies[k].begin; share < bodies[k].end; ++share)
            for (row = 0; row < 6; ++row)
                J[row * JOINTS + shares[share].joint] += shares[share].factor * twist[row];
    }
    return 0;
}
