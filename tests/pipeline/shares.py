"""Which of the traces of a corpus are judged by whom.

The checks are the same for both executors, so in the usual run Spark, which is slow here, judges
every fifth trace that this process judges; with the profile ``soak`` all of them.
"""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from antiphon.pipeline.tables.table import Executor

SPARK_STEP = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else 5


def share_of(seeds: range, executor: "Executor") -> range:
    """Return the seeds whose traces this executor judges."""
    return seeds[::SPARK_STEP] if executor.name == "spark" else seeds
