"""The compiled loop that counts pieces. Import inside functions only.

A row of the table has a piece's two numbers, where its bytes are in the arena, and its count; a
row in front of it (see `kernel_sizes.FRONT_ROWS`) the place of that row, and what is to be added.
"""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out

from .kernel_sizes import COLUMNS, FRONT_ROWS, ROOM
from .piece_kernel import LONG, WALK, look_ahead, same_bytes

_U8, _I64, _U64 = types.uint8, types.int64, types.uint64

_1, _2, _3 = np.uint64(1), np.uint64(2), np.uint64(3)
_FRONT_MASK = np.uint64(FRONT_ROWS - 1)


@kernel(types.void(array(_U8), array(_I64), *WALK, out(_I64), out(_U64), out(_U8)))
def count_pieces(  # type: ignore[no-untyped-def]
    data, borders, classes, steps, of_byte, of_class, style, digits, state, table, arena
):
    """Counts the pieces of the texts between `borders` in `data`.

    `state` holds: text, byte in it, pieces so far, bytes of `arena` used. Stops, to be called
    again with larger arrays, where the table would be over half full or `arena` could not take a
    piece.
    """
    mask = np.uint64(len(table) // COLUMNS - 1)
    front = np.zeros(FRONT_ROWS * COLUMNS, dtype=np.uint64)
    stops, numbers = np.empty(ROOM, dtype=np.int64), np.empty(3 * ROOM, dtype=np.uint64)
    text, at, pieces, used = state[0], state[1], state[2], state[3]
    full = 0
    while text + 1 < len(borders) and not full:
        found = look_ahead(
            data, borders, classes, steps, of_byte, of_class, style, digits, text, at, len(data),
            table, front, stops, numbers,
        )  # fmt: skip
        for piece in range(found):
            low, high = numbers[3 * piece], numbers[3 * piece + 1]
            place = numbers[3 * piece + 2]
            stop = stops[piece]
            near = (place & _FRONT_MASK) << _2
            if front[near] == low and front[near + _1] == high and high < LONG:
                front[near + _3] += _1
                at = stop
                continue
            while True:
                row = (place & mask) << _2
                if table[row + _1] == high and table[row] == low:
                    begin = np.int64(table[row + _2])
                    if high < LONG or same_bytes(data, at, arena, begin, stop - at):
                        break
                elif table[row + _1] == 0:
                    if np.uint64(2 * pieces) > mask or used + (stop - at) > len(arena):
                        full = 1
                    if full:
                        break
                    table[row], table[row + _1] = low, high
                    table[row + _2] = np.uint64(used)
                    for k in range(at, stop):
                        arena[used] = data[k]
                        used += 1
                    pieces += 1
                    break
                place += _1
            if full:
                break
            table[front[near + _2] + _3] += front[near + _3]
            front[near], front[near + _1] = low, high
            front[near + _2], front[near + _3] = row, _1
            at = stop
        while text + 1 < len(borders) and at >= borders[text + 1]:
            text += 1
    for near in range(0, len(front), COLUMNS):
        table[front[near + 2] + _3] += front[near + 3]
    state[0], state[1], state[2], state[3] = text, at, pieces, used
