"""Planted defects of what programs share by name, and of outputs that clients keep."""
from defect import Defect

COORDINATION = {
    "dead-sessions-keep-their-places": Defect(
        "a place of a semaphore stays taken when the session of its holder has ended",
        [("supervisor/core/coordination/shared_objects.cpp",
          "  for (const auto& [name, holder] : held) release(name, holder, token);\n",
          "")],
        found_by="unit_supervisor:SharedObjects*"),
    "items-of-dead-sessions-are-gone": Defect(
        "an item that a session took and had not acknowledged goes with it",
        [("supervisor/core/coordination/shared_objects.cpp",
          "    else if (returns)\n      put_back(key, token);",
          "    else if (returns && token.empty())\n      put_back(key, token);")],
        found_by="unit_supervisor:SharedObjects*"),
    "outputs-of-cancelled-jobs-stay-with-late-holders": Defect(
        "an output whose subtask was to run again when its job was cancelled stays with a holder that came late",
        [("supervisor/core/data/data_directory.cpp",
          " || (has_ended && job.hot[subtask].phase != SubtaskPhase::Succeeded)",
          "")],
        found_by="unit_supervisor:KeptOutputs.*"),
}
