"""Sizes that the kernels share with those who call them."""

from __future__ import annotations

AHEAD = 256
"""Pieces that are looked at before the first of them is looked up."""

ROOM = AHEAD + 2
"""Pieces that may be found when it was to stop at `AHEAD`: a character ends up to three."""

COLUMNS = 4
"""Of a table of pieces, a row a piece: its two numbers first. The second is 0 where none is."""

FRONT_ROWS = 1 << 13
"""Rows for the pieces seen last, in front of a table that is too large for the processor's nearer
memories: nine pieces in ten are found here."""

KEPT = 255
"""Longest piece whose ids are kept in the table, in bytes."""

INLINE = 3
"""Most ids of a piece that are in its row."""

RANK_BITS, ID_BITS = 24, 20
"""Of a slot in the table of pairs: left id, right id, rank."""

NO_PAIR = (1 << RANK_BITS) - 1
"""Rank of two ids that are not merged."""

FILLED = 1 << 16
"""Bytes of the bits that say which hashes any pair has."""
