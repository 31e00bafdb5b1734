// Job files: a job with its graph, written by hand or by a program, in TOML or JSON. `docs/job-files.md` describes
// every field.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/jobfile/document.hpp"
#include "common/base/result.hpp"
#include "common/protocol/config.hpp"
#include "common/protocol/graph.hpp"

namespace penstock::cli {

struct JobFileOptions {
  GraphLimits limits;
  std::string base_directory;  ///< Relative paths begin here; empty: the directory of the file, or the current one.
  bool look_for_input_files = true;  ///< Refuse input files that are missing and that no subtask makes.
};

/// A file that a subtask has to make.
struct JobOutputFile {
  std::uint32_t subtask = 0;
  std::string path;      ///< Absolute.
  bool is_read = false;  ///< By another subtask, which may take it away.
  friend bool operator==(const JobOutputFile&, const JobOutputFile&) = default;
};

/// The content of a job file, checked: dependencies exist, keys and file writers are unique, there is no cycle.
struct JobFile {
  JobSpec spec;  ///< Name and owner are empty if the file gives none.
  Graph graph;
  std::vector<std::string> operator_libraries;  ///< Absolute paths of shared libraries with native operators.
  std::vector<JobOutputFile> output_files;
  /// Names of `JobSpec::secrets`, and `file:PATH` or `command:TEXT`, which are read when the job is submitted.
  std::vector<std::pair<std::string, std::string>> secret_sources;
};

/// Error: the first mistake found, with `file:line:column` as its subject; codes ParseError, InvalidArgument,
/// UnknownKey, DuplicateKey, SelfDependency, GraphCycle, NotFound, LimitExceeded.
Result<JobFile> read_job_file(const std::string& path, const JobFileOptions& options = {});
/// `name` stands for the file in messages.
Result<JobFile> read_job_text(std::string_view text, DocumentFormat format, const std::string& name,
                              const JobFileOptions& options = {});

}  // namespace penstock::cli
