# SPDX-License-Identifier: Apache-2.0
"""From the cache to memory.

A processor that writes to memory first reads what it is about to overwrite, and drops
something else from its cache for it. Results of a large batch, of which nothing is read
before all is written, are twice as fast past the cache.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from robot_dynamics.dynamics.kernels.loading import part

#: Float64 in a line of the cache, the piece of memory that is written at once.
LINE = 8

_LINE = ir.VectorType(ir.DoubleType(), LINE)


@intrinsic
def _put_lines(typing_context, source, begin, lines, memory, start, past_cache):
    """Write whole lines; past the cache, they must lie on multiples of their size in memory."""
    def generate(context, builder, kind, args):
        read, write = (make_array(array)(context, builder, args[k]).data
                       for array, k in ((source, 0), (memory, 3)))
        read, write = builder.gep(read, [args[1]]), builder.gep(write, [args[4]])
        once = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])

        def put(is_past_cache):
            with cgutils.for_range(builder, args[2]) as loop:
                place = builder.mul(loop.index, ir.Constant(loop.index.type, LINE))
                line, target = (builder.bitcast(builder.gep(pointer, [place]), _LINE.as_pointer())
                                for pointer in (read, write))
                stored = builder.store(builder.load(line, align=8), target,
                                       align=8 * LINE if is_past_cache else 8)
                if is_past_cache:
                    stored.set_metadata('nontemporal', once)

        with builder.if_else(args[5]) as (past, through):
            with past:
                put(True)
            with through:
                put(False)
        return context.get_dummy_value()
    return types.none(source, types.intp, types.intp, memory, types.intp,
                      types.boolean), generate


@part
def copy(source, count, memory, start, past_cache):
    """Copy the first entries of one flat array to ``memory[start:]``, line by line.

    `finish_copies` makes sure that other threads see what went past the cache.
    """
    past = (memory.ctypes.data // 8 + start) % LINE
    head = min(count, (LINE - past) % LINE)
    lines = (count - head) // LINE
    for k in range(head):
        memory[start + k] = source[k]
    _put_lines(source, head, lines, memory, start + head, past_cache)
    for k in range(head + lines * LINE, count):
        memory[start + k] = source[k]


@intrinsic
def finish_copies(typing_context):
    """Wait until all that was written is there for other threads."""
    def generate(context, builder, kind, args):
        builder.fence('seq_cst')
        return context.get_dummy_value()
    return types.none(), generate
