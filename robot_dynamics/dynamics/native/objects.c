/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects of Python as the methods in gate.c see them.
 *
 * No header of Python or numpy is needed, and so no development package: objects are
 * opaque, the functions of Python's stable ABI that are called come as addresses, and
 * arrays are read by the fields that numpy keeps fixed, which have been checked on real
 * arrays before (robot_dynamics/dynamics/kernels/direct.py). Python's lock is kept.
 *
 * Defined before this text: JOINTS, the offsets TYPE to FLAGS and the bits of the last.
 */

typedef struct object Object;

/* Functions of Python, in the order in which native/library.py hands them over. */
struct Python {
    Object *(*vectorcall)(Object *callable, Object *const *arguments, size_t count, Object *names);
    ptrdiff_t (*tuple_size)(Object *tuple);
    Object *(*tuple_item)(Object *tuple, ptrdiff_t index);
    Object *(*tuple_pack)(ptrdiff_t count, ...);
    Object *(*look_up)(Object *dictionary, Object *key);
    void (*clear_error)(void);
    void (*keep)(Object *object);
    void (*release)(Object *object);
};

static struct Python python;

void connect_to_python(const struct Python *functions)
{
    python = *functions;
}

/* What a method is bound to: a tuple of these. */
enum Bound {
    GENERAL,     /* the method for arguments of any kind */
    EMPTY,       /* numpy.empty */
    SHAPES,      /* tuple of the shapes of the results */
    CHOICES,     /* dictionary from joint terms to (their vector, length of a gradient) */
    NO_TERMS,    /* the entry of CHOICES for no terms */
    PARAMETERS,  /* array of the robot's inertial parameters */
    OUT_NAME,    /* 'out' */
    TERMS_NAME,  /* 'terms' */
    NONE         /* None */
};

static Object *bound(Object *self, enum Bound which)
{
    return python.tuple_item(self, which);
}

static Object *general(Object *self, Object *const *arguments, ptrdiff_t count, Object *names)
{
    return python.vectorcall(bound(self, GENERAL), arguments, (size_t)count, names);
}

/* A new array of that shape; NULL with an exception if there is no memory. */
static Object *new_array(Object *self, Object *shape)
{
    return python.vectorcall(bound(self, EMPTY), &shape, 1, NULL);
}

static Object *new_result(Object *self, int which)
{
    return new_array(self, python.tuple_item(bound(self, SHAPES), which));
}

static void release(Object *object)
{
    if (object != NULL)
        python.release(object);
}

/* ---- fields of objects ---- */

static ptrdiff_t word(const void *object, int offset)
{
    ptrdiff_t value;
    memcpy(&value, (const char *)object + offset, sizeof value);
    return value;
}

static int integer(const void *object, int offset)
{
    int value;
    memcpy(&value, (const char *)object + offset, sizeof value);
    return value;
}

static void *address(const void *object, int offset)
{
    void *value;
    memcpy(&value, (const char *)object + offset, sizeof value);
    return value;
}

static double *data(const Object *array)
{
    return address(array, DATA);
}

static ptrdiff_t length(const Object *array, int axis)
{
    return word(address(array, SHAPE), 8 * axis);
}

/* Whether an object is an array of float64 with so many axes and these flags. */
static int is_plain(const Object *array, const Object *sample, int axes, int flags)
{
    return address(array, TYPE) == address(sample, TYPE)
        && address(array, DESCRIPTOR) == address(sample, DESCRIPTOR)
        && integer(array, DIMENSIONS) == axes && (integer(array, FLAGS) & flags) == flags;
}

static int is_vector(const Object *array, const Object *sample, ptrdiff_t size)
{
    return is_plain(array, sample, 1, READABLE) && length(array, 0) == size;
}

static int is_vector_to_write(const Object *array, const Object *sample, ptrdiff_t size)
{
    return is_plain(array, sample, 1, READABLE | WRITEABLE) && length(array, 0) == size;
}

static int is_matrix_to_write(const Object *array, const Object *sample, ptrdiff_t rows,
                              ptrdiff_t columns)
{
    return is_plain(array, sample, 2, READABLE | WRITEABLE) && length(array, 0) == rows
        && length(array, 1) == columns;
}

static int are_vectors(Object *const *arrays, int count, const Object *sample)
{
    int k;
    for (k = 0; k < count; ++k)
        if (!is_vector(arrays[k], sample, JOINTS))
            return 0;
    return 1;
}

static int are_apart(const Object *one, ptrdiff_t its_size, const Object *other,
                     ptrdiff_t other_size)
{
    const uintptr_t first = (uintptr_t)data(one), second = (uintptr_t)data(other);
    return first + sizeof(double) * (size_t)its_size <= second
        || second + sizeof(double) * (size_t)other_size <= first;
}

/* Whether none of some joint vectors lies in an array of so many elements. */
static int all_apart(Object *const *vectors, int count, const Object *out, ptrdiff_t size)
{
    int k;
    for (k = 0; k < count; ++k)
        if (!are_apart(vectors[k], JOINTS, out, size))
            return 0;
    return 1;
}

/* ---- arguments ---- */

enum { ONLY_REQUIRED = 0, WITH_TERMS = 1, WITH_OUT = 2 };

/* Sort arguments into places: `required` of them by position, then terms and out, if the
 * method has them, by position or name. Whether that is all there is. A place of an optional
 * argument that is not given holds NULL. */
static int take(Object *self, Object *const *arguments, ptrdiff_t count, Object *names,
                int required, int optional, Object **places)
{
    const int terms = optional & WITH_TERMS ? required : -1;
    const int out = optional & WITH_OUT ? required + (terms >= 0) : -1;
    const int all = required + (terms >= 0) + (out >= 0);
    const ptrdiff_t named = names == NULL ? 0 : python.tuple_size(names);
    ptrdiff_t k;

    if (count < required || count > all)
        return 0;
    for (k = 0; k < all; ++k)
        places[k] = k < count ? arguments[k] : NULL;
    for (k = 0; k < named; ++k) {
        const Object *name = python.tuple_item(names, k);
        const int place = name == bound(self, OUT_NAME) ? out
            : name == bound(self, TERMS_NAME) ? terms : -1;
        if (place < 0 || places[place] != NULL)
            return 0;
        places[place] = arguments[count + k];
    }
    if (out >= 0 && places[out] == bound(self, NONE))
        places[out] = NULL;
    return 1;
}

/* The entry of CHOICES for joint terms; NULL if there is none. */
static Object *choice_of(Object *self, Object *terms)
{
    Object *choice;
    if (terms == NULL)
        return bound(self, NO_TERMS);
    choice = python.look_up(bound(self, CHOICES), terms);
    if (choice == NULL)
        python.clear_error();
    return choice;
}

static Object *terms_vector(Object *choice)
{
    return python.tuple_item(choice, 0);
}

