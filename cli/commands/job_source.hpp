// The sources of the job of `run` and `submit`.
#pragma once

#include <string>

#include "cli/jobfile/job_file.hpp"
#include "common/base/result.hpp"

namespace CLI {
class App;
}

namespace penstock::cli {

struct JobSource {
  std::string file;      ///< A job file, TOML or JSON.
  std::string wfformat;  ///< Or a workflow in WfFormat.
  bool replay = false;
  double time_scale = 1;
  double data_scale = -1;  ///< Negative: the same as of times.
  std::string name;        ///< Empty: the file's.
  std::int32_t priority = 0;
  bool priority_given = false;
  bool wait_for_resources = false;
  // Each given option replaces the field of the file.
  JobPolicy policy;
  double weight = 0;
  double user_factor = -1;  ///< Negative: not given.
  std::string kind;
  std::string grace;
  std::string time_limit;
  bool preemptible = false;
  bool not_preemptible = false;
  std::string share;
  std::vector<std::string> secrets;  ///< Beside those of the file.
};

void add_job_source(CLI::App& command, JobSource& source);
/// Reads and checks the job. `fallback_name` names a job without a name. Errors: those of `read_job_file`.
Result<JobFile> load_job(const JobSource& source, const std::string& fallback_name);
/// Checks that this host has the programs of all commands. Error: ProgramNotFound.
Result<void> check_programs(const Graph& graph);

}  // namespace penstock::cli
