# SPDX-License-Identifier: Apache-2.0
"""The gate between Python and kernels without a C compiler, compiled by numba.

This is a translation of ``gate.c``, which has the description. Addresses are int64; `gate.py`
checks the offsets of array fields.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from robot_dynamics.dynamics.kernels.loading import Compiled, helper

#: Longest list of inputs of a kernel, or of outputs.
MOST_INPUTS = 10

# Offsets in bytes in a PyArrayObject of CPython on a machine with 8-byte addresses.
TYPE = 8         # address of the type
DATA = 16        # address of the first element
DIMENSIONS = 24  # int: number of axes
SHAPE = 32       # address of the lengths of the axes
DESCRIPTOR = 56  # address of the element type
FLAGS = 64       # int

#: Flags of an array that a kernel can read: C-contiguous and aligned.
READABLE = 0x0001 | 0x0100

# A plan: words of int64.
KERNEL, ROBOT, FIRST, INPUTS, OUTPUTS, TWICE, LENGTHS = range(7)
# Bound data of the function, and one of its entries, as in gate.c.
GENERAL, EMPTY, SAMPLE, ENTRIES, DEFAULT, KEY = range(6)
PLAN, SHAPES, _, MAKE, RESULT = range(5)

_WORD = ir.IntType(64)


def _of_python(name: str, count: int, result: Any = types.int64) -> Any:
    return types.ExternalFunction(name, result(*[types.int64] * count))


call_object = _of_python('PyObject_VectorcallDict', 4)
tuple_size = _of_python('PyTuple_Size', 1)
item = _of_python('PyTuple_GetItem', 2)
tuple_new = _of_python('PyTuple_New', 1)
tuple_set = _of_python('PyTuple_SetItem', 3)
dictionary_new = _of_python('PyDict_New', 0)
dictionary_set = _of_python('PyDict_SetItem', 3, types.int32)
look_up = _of_python('PyDict_GetItemWithError', 2)
clear_error = _of_python('PyErr_Clear', 0, types.void)
release = _of_python('Py_DecRef', 1, types.void)


@intrinsic
def words(typingctx, address):
    """Words of int64 at an address."""
    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))
    return types.CPointer(types.int64)(types.int64), generate


@intrinsic
def integers(typingctx, address):
    """Integers of C at an address."""
    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))
    return types.CPointer(types.int32)(types.int64), generate


@intrinsic
def stack(typingctx):
    """Address of MOST_INPUTS + 1 words that exist as long as the calling function."""
    def generate(context, builder, signature, arguments):
        room = cgutils.alloca_once(builder, ir.ArrayType(_WORD, MOST_INPUTS + 1))
        return builder.ptrtoint(room, _WORD)
    return types.int64(), generate


@intrinsic
def run_kernel(typingctx, kernel, inputs, outputs, robot):
    """Status of a kernel."""
    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(_WORD, [_WORD] * 3)
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
    return types.int64(*[types.int64] * 4), generate


@helper
def is_vector(array, sample, length):
    """Whether an object is a plain float64 array of one axis and that length."""
    return (words(array + TYPE)[0] == words(sample + TYPE)[0]
            and words(array + DESCRIPTOR)[0] == words(sample + DESCRIPTOR)[0]
            and integers(array + DIMENSIONS)[0] == 1
            and (integers(array + FLAGS)[0] & READABLE) == READABLE
            and words(words(array + SHAPE)[0])[0] == length)


@helper
def results_of(entry, outputs, count):
    """The results as the method returns them; takes the references."""
    if count == 1:
        return outputs[0]
    results = tuple_new(count)
    if results == 0:
        return 0
    for k in range(count):
        tuple_set(results, k, outputs[k])
    if tuple_size(entry) <= MAKE:
        return results
    # A named tuple: tuple.__new__(type, tuple).
    address = stack()
    arguments = words(address)
    arguments[0], arguments[1] = item(entry, RESULT), results
    made = call_object(item(entry, MAKE), address, 2, 0)
    release(results)
    return made


@helper
def general(bound, arguments, count, names):
    """What the general method returns for the same arguments."""
    named = 0 if names == 0 else tuple_size(names)
    keywords = dictionary_new() if named > 0 else 0
    failed = named > 0 and keywords == 0
    for k in range(named):
        if not failed:
            failed = dictionary_set(keywords, item(names, k), words(arguments)[count + k]) != 0
    result = 0
    if not failed:
        result = call_object(item(bound, GENERAL), arguments, count, keywords)
    release(keywords)
    return result


def call(bound, arguments, count, names):
    """One call of a method."""
    given, entry, sample = words(arguments), item(bound, DEFAULT), item(bound, SAMPLE)
    plan = words(words(item(entry, PLAN) + DATA)[0])
    required = plan[INPUTS]
    if names != 0 or count != required:
        named = 0 if names == 0 else tuple_size(names)
        if count + named != required + 1 or (named == 1 and item(names, 0) != item(bound, KEY)):
            return general(bound, arguments, count, names)
        entry = look_up(item(bound, ENTRIES), given[required])
        if entry == 0:
            clear_error()
            return general(bound, arguments, count, names)
        plan = words(words(item(entry, PLAN) + DATA)[0])
    if plan[KERNEL] == 0:  # the argument after the arrays is required
        return general(bound, arguments, count, names)
    from_, to, made = stack(), stack(), stack()
    inputs, targets, outputs = words(from_), words(to), words(made)
    at = 0
    if plan[FIRST] != 0:
        inputs[0] = plan[FIRST]
        at = 1
    for k in range(plan[INPUTS]):
        if not is_vector(given[k], sample, plan[LENGTHS + k]):
            return general(bound, arguments, count, names)
        for _ in range(2 if k == plan[TWICE] else 1):
            inputs[at] = words(given[k] + DATA)[0]
            at += 1
    shapes, shape = item(entry, SHAPES), stack()
    for k in range(plan[OUTPUTS]):
        words(shape)[0] = item(shapes, k)
        outputs[k] = call_object(item(bound, EMPTY), shape, 1, 0)
        if outputs[k] == 0:
            for other in range(k):
                release(outputs[other])
            return 0
        targets[k] = words(outputs[k] + DATA)[0]
    if run_kernel(plan[KERNEL], from_, to, plan[ROBOT]) == 0:
        return results_of(entry, outputs, plan[OUTPUTS])
    for k in range(plan[OUTPUTS]):
        release(outputs[k])
    return general(bound, arguments, count, names)


def run_rows(kernel, robot, inputs, outputs, strides, input_count, output_count, count,
             past_cache):
    """Run a kernel on many samples; see gate.c."""
    from_, to, steps = stack(), stack(), words(strides)
    source, target = words(from_), words(to)
    for k in range(input_count):
        source[k] = words(inputs)[k]
    for k in range(output_count):
        target[k] = words(outputs)[k]
    status = 0
    for _ in range(count):
        status = run_kernel(kernel, from_, to, robot)
        if status != 0:
            break
        for k in range(input_count):
            source[k] += 8 * steps[k]
        for k in range(output_count):
            target[k] += 8 * steps[input_count + k]
    return status


class GateFunction(Compiled):
    """A function of int64 that Python and ctypes can call."""

    def __init__(self, function: Callable[..., Any], count: int):
        super().__init__(function, True)
        self.function, self.count = function, count
        self._callback: Any = None

    def load(self, *, announce: bool = True) -> int:
        """Address of the compiled function."""
        if self._callback is None:
            signature = types.int64(*[types.int64] * self.count)
            self._callback = self.callback(self.function, signature, announce=announce)
        return self._callback.address


CALL, RUN_ROWS = GateFunction(call, 4), GateFunction(run_rows, 9)
