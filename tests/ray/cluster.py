"""A Ray cluster of two machines with one CPU each, both this one: a process that holds it until its
standard input ends. All that Ray writes lies in one folder.

    python cluster.py            prints the address; a line `lose` takes the second machine away
"""

from __future__ import annotations

import sys

OBJECT_STORE = 80 << 20


def main() -> None:
    """Holds the cluster."""
    from ray.cluster_utils import Cluster

    of_a_node = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": OBJECT_STORE}
    held = Cluster(initialize_head=True, head_node_args=of_a_node)
    second = held.add_node(num_cpus=1, object_store_memory=OBJECT_STORE)
    print(held.address, flush=True)
    for line in sys.stdin:
        if line.strip() == "lose":
            held.remove_node(second, allow_graceful=False)
            print("lost", flush=True)
    held.shutdown()


if __name__ == "__main__":
    main()
