"""Our own main-text extraction: a model that scores the blocks of a page (tier ``own``).

The order of work: `passes` (one parse, three compiled passes: `scan`, `measure`, `features`),
`forest` (trees in integers), `decision` (the blocks of greatest expected F1), `render`; `model`
joins them. `train` makes the weights, with the targets of `labels` and the pages of `surround`.
"""
