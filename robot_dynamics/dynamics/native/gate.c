/* SPDX-License-Identifier: Apache-2.0
 *
 * Methods of Dynamics, between Python and the kernels of one robot.
 *
 * Each takes the arguments of the method that it stands for. Plain float64 arrays of the right
 * shapes are read where they lie; anything else (batches, lists, wrong shapes, unknown
 * keywords) goes on to the general method, which converts or complains. So there is one
 * definition of what is allowed, and it is not here.
 *
 * Defined before this text: objects.c, JOINTS, INERTIAL (ten a body), IS_DIRECT, TREE_MARK, the
 * head of prepared memory BUFFER_SIGN to BUFFER_START, the codes of joint terms, the runs of
 * zeros of the regressor, and the kernels.
 */

/* ---- the regressors ---- */

/* Whether `out` holds this robot's zeros already; see robot_dynamics/dynamics/packing.py.
 * Otherwise, if it shows such memory, that is marked as this robot's, who has to write the
 * zeros; or as nobody's, if it is only a part of it or no robot may rely on its zeros. */
static int take_prepared(const Object *out, const Object *sample)
{
    const Object *base = address(out, BASE);
    double *head;
    int is_whole;

    if (base == NULL || !is_plain(base, sample, 1, READABLE) || length(base, 0) <= BUFFER_START)
        return 0;
    head = data(base);
    if (head[BUFFER_SIGN] != SIGN)
        return 0;
    is_whole = IS_DIRECT && data(out) == head + BUFFER_START
        && head[BUFFER_SIZE] == (double)(JOINTS * INERTIAL);
    if (is_whole && head[BUFFER_MARK] == TREE_MARK)
        return 1;
    head[BUFFER_MARK] = is_whole ? TREE_MARK : NOBODY;
    return 0;
}

/* Write zeros where no joint carries the body: runs from one place to the next. */
static void clear_outside(double *Y)
{
    size_t k;
    for (k = 0; k + 1 < sizeof zeros / sizeof zeros[0]; k += 2)
        memset(Y + zeros[k], 0, sizeof(double) * (size_t)(zeros[k + 1] - zeros[k]));
}

/* Regressor of plain arguments (q, v, v_r, a_r); `is_taken` tells whether they are. */
static Object *fill_regressor(Object *self, Object *const *state, Object *terms, Object *out,
                              int *is_taken)
{
    Object *choice = choice_of(self, terms);
    const Object *sample = terms_vector(bound(self, NO_TERMS));
    const ptrdiff_t size = JOINTS * INERTIAL;

    *is_taken = choice != NULL && length(terms_vector(choice), 0) == 1
        && are_vectors(state, 4, sample)
        && (out == NULL || (is_matrix_to_write(out, sample, JOINTS, INERTIAL)
                            && all_apart(state, 4, out, size)));
    if (!*is_taken)
        return NULL;
    if (out == NULL)
        out = new_result(self, 0);
    else
        python.keep(out);
    if (out == NULL)
        return NULL;
    if (!take_prepared(out, sample))
        clear_outside(data(out));
    slotine_li_kernel(data(state[0]), data(state[1]), data(state[2]), data(state[3]), data(out));
    return out;
}

Object *slotine_li_regressor(Object *self, Object *const *arguments, ptrdiff_t count,
                             Object *names)
{
    Object *given[6];
    int is_taken;

    if (take(self, arguments, count, names, 4, WITH_TERMS | WITH_OUT, given)) {
        Object *result = fill_regressor(self, given, given[4], given[5], &is_taken);
        if (is_taken)
            return result;
    }
    return general(self, arguments, count, names);
}

Object *regressor(Object *self, Object *const *arguments, ptrdiff_t count, Object *names)
{
    Object *given[5];
    int is_taken;

    if (take(self, arguments, count, names, 3, WITH_TERMS | WITH_OUT, given)) {
        Object *const state[4] = {given[0], given[1], given[1], given[2]};
        Object *result = fill_regressor(self, state, given[3], given[4], &is_taken);
        if (is_taken)
            return result;
    }
    return general(self, arguments, count, names);
}

/* ---- regressors of many samples ---- */

/* Largest regressor, in elements, that is first made in a block beside the stack. */
enum { LARGEST_BLOCK = 16384 };

/* Elements that one store takes past the cache: the most that the processor can. */
#if defined(__AVX512F__)
#define WIDE 8
#define STREAM_WIDE(to, from) _mm512_stream_pd(to, _mm512_loadu_pd(from))
#elif defined(__AVX__)
#define WIDE 4
#define STREAM_WIDE(to, from) _mm256_stream_pd(to, _mm256_loadu_pd(from))
#elif defined(__SSE2__)
#define WIDE 2
#define STREAM_WIDE(to, from) _mm_stream_pd(to, _mm_loadu_pd(from))
#endif

/* Write a regressor to memory without reading that into the cache first, where possible. */
static void stream(double *restrict target, const double *restrict block)
{
#if defined(WIDE)
    if ((uintptr_t)target % 16 == 0) {
        const ptrdiff_t size = JOINTS * INERTIAL;
        ptrdiff_t k = 0;
        for (; k < size && (uintptr_t)(target + k) % (8 * WIDE) != 0; k += 2)
            _mm_stream_pd(target + k, _mm_loadu_pd(block + k));
        for (; k + WIDE <= size; k += WIDE)
            STREAM_WIDE(target + k, block + k);
        for (; k < size; k += 2)
            _mm_stream_pd(target + k, _mm_loadu_pd(block + k));
        return;
    }
#endif
    memcpy(target, block, sizeof(double) * JOINTS * INERTIAL);
}

/* Yr of each row of (count, JOINTS) arrays, all of it written to Y, (count, JOINTS, INERTIAL).
 * With `past_cache` Y is too large to be read from the cache afterwards. Touches no object of
 * Python: its lock is not needed. */
void many_regressors(const double *q, const double *v, const double *v_r, const double *a_r,
                     double *Y, ptrdiff_t count, int past_cache)
{
    const ptrdiff_t size = JOINTS * INERTIAL;
    const int by_block = past_cache && size <= LARGEST_BLOCK;
    double block[JOINTS * INERTIAL <= LARGEST_BLOCK ? JOINTS * INERTIAL : 1];
    ptrdiff_t k;

    if (by_block)
        memset(block, 0, sizeof block);
    for (k = 0; k < count; ++k) {
        const ptrdiff_t at = k * JOINTS;
        double *const target = by_block ? block : Y + k * size;
        if (!by_block)
            clear_outside(target);
        slotine_li_kernel(q + at, v + at, v_r + at, a_r + at, target);
        if (by_block)
            stream(Y + k * size, block);
    }
#if defined(WIDE)
    _mm_sfence();
#endif
}

/* ---- Yr pi and Yr^T s ---- */

/* Effort per unit of a term's parameter. */
static double term_value(double code, double v, double a, double epsilon)
{
    if (code == VISCOUS)
        return v;
    if (code == COULOMB)
        return tanh(v / epsilon);
    return code == ARMATURE ? a : 1.0;
}

/* Add the efforts of joint terms to tau, and write their part of the gradient. */
static void add_terms(const double *choice, ptrdiff_t count, const double *v, const double *a,
                      const double *s, const double *parameters, double *tau, double *gradient)
{
    ptrdiff_t t, j;
    for (t = 0; t < count; ++t)
        for (j = 0; j < JOINTS; ++j) {
            const ptrdiff_t k = INERTIAL + t * JOINTS + j;
            const double value = term_value(choice[t + 1], v[j], a[j], choice[0]);
            tau[j] += value * parameters[k];
            gradient[k] = value * s[j];
        }
}

Object *adaptive_terms(Object *self, Object *const *arguments, ptrdiff_t count, Object *names)
{
    const Object *sample = terms_vector(bound(self, NO_TERMS));
    Object *given[7], *choice, *tau, *gradient, *results = NULL;
    ptrdiff_t terms;

    if (!take(self, arguments, count, names, 6, WITH_TERMS, given)
        || (choice = choice_of(self, given[6])) == NULL || !are_vectors(given, 5, sample))
        return general(self, arguments, count, names);
    terms = length(terms_vector(choice), 0) - 1;
    if (!is_vector(given[5], sample, INERTIAL + terms * JOINTS))
        return general(self, arguments, count, names);
    tau = new_result(self, 0);
    gradient = tau == NULL ? NULL : new_array(self, python.tuple_item(choice, 1));
    if (gradient != NULL) {
        adaptive_kernel(data(given[0]), data(given[1]), data(given[2]), data(given[3]),
                        data(given[4]), data(given[5]), data(tau), data(gradient));
        add_terms(data(terms_vector(choice)), terms, data(given[2]), data(given[3]),
                  data(given[4]), data(given[5]), data(tau), data(gradient));
        results = python.tuple_pack(2, tau, gradient);
    }
    release(tau);
    release(gradient);
    return results;
}

/* ---- inverse dynamics ---- */

Object *inverse_dynamics(Object *self, Object *const *arguments, ptrdiff_t count, Object *names)
{
    Object *given[3], *tau;

    if (!take(self, arguments, count, names, 3, ONLY_REQUIRED, given)
        || !are_vectors(given, 3, terms_vector(bound(self, NO_TERMS))))
        return general(self, arguments, count, names);
    tau = new_result(self, 0);
    if (tau != NULL)
        efforts_kernel(data(given[0]), data(given[1]), data(given[2]),
                       data(bound(self, PARAMETERS)), data(tau));
    return tau;
}

/* ---- M, C and g ---- */

static const ptrdiff_t matrix_sizes[3] = {JOINTS * JOINTS, JOINTS * JOINTS, JOINTS};

/* Whether M, C and g are plain, apart from each other and from q and v. */
static int are_matrices_to_write(Object *const *out, Object *const *state, const Object *sample)
{
    int k;
    if (!(is_matrix_to_write(out[0], sample, JOINTS, JOINTS)
          && is_matrix_to_write(out[1], sample, JOINTS, JOINTS)
          && is_vector_to_write(out[2], sample, JOINTS)))
        return 0;
    for (k = 0; k < 3; ++k)
        if (!all_apart(state, 2, out[k], matrix_sizes[k])
            || !are_apart(out[k], matrix_sizes[k], out[(k + 1) % 3], matrix_sizes[(k + 1) % 3]))
            return 0;
    return 1;
}

static void fill_matrices(Object *self, Object *const *state, Object *const *out)
{
    matrices_kernel(data(state[0]), data(state[1]), data(bound(self, PARAMETERS)),
                    data(out[0]), data(out[1]), data(out[2]));
}

static Object *new_matrices(Object *self, Object *const *state)
{
    Object *out[3] = {NULL, NULL, NULL}, *results = NULL;
    int k;

    for (k = 0; k < 3 && (k == 0 || out[k - 1] != NULL); ++k)
        out[k] = new_result(self, k);
    if (out[2] != NULL) {
        fill_matrices(self, state, out);
        results = python.tuple_pack(3, out[0], out[1], out[2]);
    }
    for (k = 0; k < 3; ++k)
        release(out[k]);
    return results;
}

Object *matrices(Object *self, Object *const *arguments, ptrdiff_t count, Object *names)
{
    const Object *sample = terms_vector(bound(self, NO_TERMS));
    Object *given[3], *out[3];
    int k;

    if (!take(self, arguments, count, names, 2, WITH_OUT, given) || !are_vectors(given, 2, sample))
        return general(self, arguments, count, names);
    if (given[2] == NULL)
        return new_matrices(self, given);
    if (address(given[2], TYPE) != address(self, TYPE) || python.tuple_size(given[2]) != 3)
        return general(self, arguments, count, names);
    for (k = 0; k < 3; ++k)
        out[k] = python.tuple_item(given[2], k);
    if (!are_matrices_to_write(out, given, sample))
        return general(self, arguments, count, names);
    fill_matrices(self, given, out);
    python.keep(given[2]);
    return given[2];
}
