/* SPDX-License-Identifier: Apache-2.0
 *
 * From a call in Python to a kernel, and back, for one sample of plain arrays. Where there is no
 * compiler of C, its translation numba_gate.py takes its place: change both.
 *
 * One function serves every method of Dynamics: the tuple that it is bound to holds a plan of
 * arguments, results and the address of the kernel, which may come from numba or from the C of
 * one robot. Plain float64 arrays of the right lengths are read where they lie; anything else
 * (batches, lists, wrong shapes, keywords) goes on to the general method, which converts or
 * reports what is wrong. So what is allowed is defined there, and not here.
 *
 * A call through ctypes takes some 5 us for six arrays, which is ten times what the equations
 * of a six-joint arm take (benchmark/dynamics.py). No header of Python or numpy is needed, and
 * so no development package: objects are opaque, the functions of Python that are called come as
 * addresses (those that Python has from 3.10 on), and arrays are read by the fields that numpy
 * documents and keeps fixed, which native/gate.py has checked on real arrays. Python's lock is
 * kept.
 *
 * Defined before this text: the offsets TYPE to FLAGS, the bits of the last, and MOST_INPUTS.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

enum { MOST_OUTPUTS = 6 };

/* Returns 0, or anything else for what the general method has to look at. */
typedef int64_t Kernel(const double *const *inputs, double *const *outputs, const double *robot);

typedef struct {
    Kernel *kernel;
    const double *robot;
    const double *first;          /* an input before those of the caller, or NULL */
    int64_t inputs, outputs;      /* of the caller */
    int64_t twice;                /* index of an input that the kernel gets twice, or -1 */
    int64_t lengths[MOST_INPUTS];
} Plan;

typedef struct object Object;

/* Functions of Python, in the order in which native/gate.py hands them over. */
static struct {
    Object *(*call)(Object *callable, Object *const *arguments, size_t count, Object *keywords);
    ptrdiff_t (*tuple_size)(Object *tuple);
    Object *(*tuple_item)(Object *tuple, ptrdiff_t index);
    Object *(*tuple_new)(ptrdiff_t count);
    int (*tuple_set)(Object *tuple, ptrdiff_t index, Object *item);
    Object *(*dictionary_new)(void);
    int (*dictionary_set)(Object *dictionary, Object *key, Object *item);
    Object *(*look_up)(Object *dictionary, Object *key);
    void (*clear_error)(void);
    void (*release)(Object *object);
} python;

void connect_to_python(const void *functions)
{
    memcpy(&python, functions, sizeof python);
}

/* What the function is bound to. */
enum {
    GENERAL,   /* the method for arguments of any kind */
    EMPTY,     /* numpy.empty */
    SAMPLE,    /* some float64 array */
    ENTRIES,   /* dictionary from an argument after the arrays to (plan, shapes, make, type) */
    DEFAULT,   /* the entry where there is no such argument */
    KEY        /* its name */
};
enum { PLAN, SHAPES, KEPT, MAKE, RESULT };

static void *address(const void *object, int offset)
{
    void *value;
    memcpy(&value, (const char *)object + offset, sizeof value);
    return value;
}

static int integer(const void *object, int offset)
{
    int value;
    memcpy(&value, (const char *)object + offset, sizeof value);
    return value;
}

/* Whether an object is a plain float64 array of one axis and that length. */
static int is_vector(const Object *array, const Object *sample, int64_t length)
{
    return address(array, TYPE) == address(sample, TYPE)
        && address(array, DESCRIPTOR) == address(sample, DESCRIPTOR)
        && integer(array, DIMENSIONS) == 1 && (integer(array, FLAGS) & READABLE) == READABLE
        && *(const int64_t *)address(array, SHAPE) == length;
}

/* The results as the method returns them; takes the references. */
static Object *results_of(Object *entry, Object *const *outputs, int64_t count)
{
    Object *tuple, *arguments[2], *made;
    int64_t k;

    if (count == 1)
        return outputs[0];
    tuple = python.tuple_new(count);
    if (tuple == NULL)
        return NULL;
    for (k = 0; k < count; ++k)
        python.tuple_set(tuple, k, outputs[k]);
    if (python.tuple_size(entry) <= MAKE)
        return tuple;
    /* A named tuple: tuple.__new__(type, tuple). */
    arguments[0] = python.tuple_item(entry, RESULT);
    arguments[1] = tuple;
    made = python.call(python.tuple_item(entry, MAKE), arguments, 2, NULL);
    python.release(tuple);
    return made;
}

/* What the general method returns for the same arguments. */
static Object *general(Object *self, Object *const *arguments, ptrdiff_t count, Object *names)
{
    const ptrdiff_t named = names == NULL ? 0 : python.tuple_size(names);
    Object *keywords = named > 0 ? python.dictionary_new() : NULL, *result = NULL;
    int failed = named > 0 && keywords == NULL;
    ptrdiff_t k;
    for (k = 0; k < named && !failed; ++k)
        failed = python.dictionary_set(keywords, python.tuple_item(names, k), arguments[count + k]);
    if (!failed)
        result = python.call(python.tuple_item(self, GENERAL), arguments, (size_t)count, keywords);
    python.release(keywords);
    return result;
}

Object *call(Object *self, Object *const *arguments, ptrdiff_t count, Object *names)
{
    Object *entry = python.tuple_item(self, DEFAULT);
    const Object *sample = python.tuple_item(self, SAMPLE);
    const Plan *plan = address(python.tuple_item(entry, PLAN), DATA);
    const ptrdiff_t required = plan->inputs;
    const double *inputs[MOST_INPUTS + 1];
    double *targets[MOST_OUTPUTS];
    Object *outputs[MOST_OUTPUTS], *shapes;
    int64_t k, at = 0;

    if (names != NULL || count != required) {
        const ptrdiff_t named = names == NULL ? 0 : python.tuple_size(names);
        if (count + named != required + 1
            || (named == 1 && python.tuple_item(names, 0) != python.tuple_item(self, KEY)))
            return general(self, arguments, count, names);
        entry = python.look_up(python.tuple_item(self, ENTRIES), arguments[required]);
        if (entry == NULL) {
            python.clear_error();
            return general(self, arguments, count, names);
        }
        plan = address(python.tuple_item(entry, PLAN), DATA);
    }
    if (plan->kernel == NULL)  /* the argument after the arrays is required */
        return general(self, arguments, count, names);
    if (plan->first != NULL)
        inputs[at++] = plan->first;
    for (k = 0; k < plan->inputs; ++k) {
        if (!is_vector(arguments[k], sample, plan->lengths[k]))
            return general(self, arguments, count, names);
        inputs[at++] = address(arguments[k], DATA);
        if (k == plan->twice)
            inputs[at++] = address(arguments[k], DATA);
    }
    shapes = python.tuple_item(entry, SHAPES);
    for (k = 0; k < plan->outputs; ++k) {
        Object *shape = python.tuple_item(shapes, k);
        outputs[k] = python.call(python.tuple_item(self, EMPTY), &shape, 1, NULL);
        if (outputs[k] == NULL) {
            while (k-- > 0)
                python.release(outputs[k]);
            return NULL;
        }
        targets[k] = address(outputs[k], DATA);
    }
    if (plan->kernel(inputs, targets, plan->robot) == 0)
        return results_of(entry, outputs, plan->outputs);
    for (k = 0; k < plan->outputs; ++k)
        python.release(outputs[k]);
    return general(self, arguments, count, names);
}

/* ---- many samples; touches no object of Python: its lock is not needed ---- */

/* Largest result, in bytes, that is first made in the cache where it is not read again soon. */
enum { LARGEST_BLOCK = 131072 };

/* Write a result to memory without reading that into the cache first, where possible. */
static void stream(double *restrict target, const double *restrict block, int64_t size)
{
    int64_t k = 0;
#if defined(__AVX512F__)
    if ((uintptr_t)target % 16 == 0 && size % 2 == 0) {
        for (; k < size && (uintptr_t)(target + k) % 64 != 0; k += 2)
            _mm_stream_pd(target + k, _mm_loadu_pd(block + k));
        for (; k + 8 <= size; k += 8)
            _mm512_stream_pd(target + k, _mm512_loadu_pd(block + k));
    }
#elif defined(__AVX__)
    if ((uintptr_t)target % 16 == 0 && size % 2 == 0) {
        for (; k < size && (uintptr_t)(target + k) % 32 != 0; k += 2)
            _mm_stream_pd(target + k, _mm_loadu_pd(block + k));
        for (; k + 4 <= size; k += 4)
            _mm256_stream_pd(target + k, _mm256_loadu_pd(block + k));
    }
#endif
#if defined(__SSE2__)
    if ((uintptr_t)target % 16 == 0 && size % 2 == 0)
        for (; k < size; k += 2)
            _mm_stream_pd(target + k, _mm_loadu_pd(block + k));
#endif
    memcpy(target + k, block + k, sizeof(double) * (size_t)(size - k));
}

/* Run a kernel on `count` samples. `strides` are the lengths of one sample of each input, 0 for
 * what all share, and then of each output. Returns the first status that is not 0. With
 * `past_cache` the only output is too large to be read from the cache afterwards. */
int64_t run_rows(Kernel *kernel, const double *robot, const double *const *inputs,
                 double *const *outputs, const int64_t *strides, int64_t input_count,
                 int64_t output_count, int64_t count, int64_t past_cache)
{
    const double *from[MOST_INPUTS + 1];
    double *to[MOST_OUTPUTS];
    const int64_t size = strides[input_count];
    double *block = NULL;
    int64_t sample, k, status = 0;

    if (past_cache && output_count == 1 && size * 8 <= LARGEST_BLOCK)
        block = malloc(sizeof(double) * (size_t)size);
    for (k = 0; k < input_count; ++k)
        from[k] = inputs[k];
    for (k = 0; k < output_count; ++k)
        to[k] = outputs[k];
    for (sample = 0; sample < count && status == 0; ++sample) {
        if (block == NULL)
            status = kernel(from, to, robot);
        else {
            status = kernel(from, &block, robot);
            stream(to[0], block, size);
        }
        for (k = 0; k < input_count; ++k)
            from[k] += strides[k];
        for (k = 0; k < output_count; ++k)
            to[k] += strides[input_count + k];
    }
#if defined(__SSE2__)
    _mm_sfence();
#endif
    free(block);
    return status;
}
