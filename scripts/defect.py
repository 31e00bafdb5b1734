"""A planted defect: a text in a source file, and what stands there instead."""
from typing import NamedTuple

SEEDS = "seeds"  # Simulator, fault level 3.
POLICY = "policy"  # The same with --policy: seen only where a policy divides the cluster.


class Defect(NamedTuple):
    what: str
    edits: list  # [(file, text, instead), ...]
    found_by: str = SEEDS  # Or "<test program>:<filter of GoogleTest>": no promise that a seed sees is broken.
    seeds: int = 0  # So many at least, where it is rarer than that.
