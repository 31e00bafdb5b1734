// Import of WfFormat: recorded workflows of https://wfcommons.org, to run again or to replay.
// tidy: foreign-file task, tasks
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "common/protocol/graph.hpp"

namespace penstock::cli {

struct ReplayOptions {
  bool replay = true;     ///< Burn the recorded time and make the recorded bytes in place of the programs.
  double time_scale = 1;  ///< Of recorded durations.
  double data_scale = 1;  ///< Of recorded sizes; 0: no data.
};

struct WorkflowImport {
  std::string title;  ///< The title in the file.
  std::string schema_version;
  JobSpec spec;  ///< Without a name.
  Graph graph;
  Duration work{0};               ///< Sum of the durations, scaled.
  std::int64_t output_bytes = 0;  ///< Sum of the outputs of subtasks, scaled; inputs from outside are left out.
};

/// Schema 1.5, and the older ones back to 1.0, with runtimes and files in each task.
///
/// Replayed, each subtask makes one datum as large as its output files together, and reads the datum of every parent
/// that makes one of its input files; further parents are order edges. Otherwise all edges are order edges, and the
/// programs find their files in the directory of the workflow. Every subtask takes one slot; `expected_ns` is the
/// scaled runtime.
/// scaled runtime.
///
/// Error: with `file:line:column`; ParseError, InvalidArgument, UnknownKey, DuplicateKey, SelfDependency, GraphCycle.
Result<WorkflowImport> read_wfformat(const std::string& path, const ReplayOptions& options);
/// `name` stands for the file in messages; commands run in `directory`.
struct WorkflowSource {
  std::string name;
  std::string directory;
};
Result<WorkflowImport> read_wfformat_text(std::string_view text, const WorkflowSource& source,
                                          const ReplayOptions& options);

}  // namespace penstock::cli
