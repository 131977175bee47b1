/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of one robot as the gate calls them.
 *
 * Inputs and outputs are those of the equations of the same names in
 * robot_dynamics/dynamics/kernels; `robot` is gravity, the armature of its joints, and
 * its inertial parameters. Defined before this text: JOINTS, INERTIAL (ten a body), the codes of joint terms,
 * the runs of zeros of the regressor, and the kernels.
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
static int64_t regressor_with_terms(const double *choice, const double *q, const double *v,
                                    const double *v_r, const double *a_r,
                                    const double *gravity, double *Y)
{
    const size_t terms = (size_t)choice[0], width = INERTIAL + terms * JOINTS;
    size_t j, t;
    double *block;

    if (terms == 0) {
        fill_regressor(q, v, v_r, a_r, gravity, Y);
        return 0;
    }
    block = malloc(sizeof(double) * JOINTS * INERTIAL);
    if (block == NULL)
        return -1;
    fill_regressor(q, v, v_r, a_r, gravity, block);
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

int64_t slotine_li_regressor(Inputs in, Outputs out, const double *robot)
{
    return regressor_with_terms(in[0], in[1], in[2], in[3], in[4], robot, out[0]);
}

int64_t regressor(Inputs in, Outputs out, const double *robot)
{
    return regressor_with_terms(in[0], in[1], in[2], in[2], in[3], robot, out[0]);
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
