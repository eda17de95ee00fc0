"""Side-by-side measurements against other systems: ``python -m bench.NAME [--quick] [--json]``."""
