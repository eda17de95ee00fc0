"""py3langid's model read by a compiled loop, in whole numbers. Import inside functions only.

The model is a finite automaton over bytes that emits features, and one row of log probabilities
a feature. The package walks it in Python and multiplies in single precision, whose last bits
depend on the machine. Here the rows are integers (the stored half-precision numbers are exact
multiples of 2 ** -9), the logarithms of the counts are rounded to 2 ** -16, and sums are exact.
"""

from __future__ import annotations

import numpy as np

from corpusmill.stages import kernel_types as types
from corpusmill.stages.compiled import array, kernel, out

_U8, _I16, _I32, _I64 = types.uint8, types.int16, types.int32, types.int64


@kernel(
    types.void(array(_U8), array(_I64), array(_I32), array(_I32), array(_I32),
               array(_I16, dims=2), array(_I64), out(_I64, dims=2))
)  # fmt: skip
def scores(  # type: ignore[no-untyped-def]
    data, byte_start, row_base, next_state, emits, weights, log_of_count, result
):
    """Adds to ``result[d, c]`` the score of class c for document d, in units of 2 ** -25.

    `emits` is the feature of a state or -1, `log_of_count` the table of log(1 + n).
    """
    classes = weights.shape[1]
    count = np.zeros(weights.shape[0], np.int32)
    seen = np.empty(weights.shape[0], np.int32)
    for doc in range(len(byte_start) - 1):
        state = np.int64(0)
        used = 0
        for i in range(byte_start[doc], byte_start[doc + 1]):
            state = np.int64(next_state[row_base[state] + data[i]])
            feature = emits[state]
            if feature >= 0:
                if count[feature] == 0:
                    seen[used] = feature
                    used += 1
                count[feature] += 1
        for k in range(used):
            feature = seen[k]
            factor = log_of_count[min(count[feature], len(log_of_count) - 1)]
            count[feature] = 0
            for c in range(classes):
                result[doc, c] += factor * weights[feature, c]
