// The graph of one job as the supervisor runs it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/base/seldom.hpp"
#include "supervisor/core/graph_table.hpp"
#include "supervisor/core/jobs/subtask.hpp"

namespace penstock::supervisor {

/// The graph, which equal jobs share, and the templates by which this job runs it.
struct JobGraph {
  SharedGraph* shared = nullptr;      ///< Null once the job has ended and nothing refers to it.
  const GraphShape* shape = nullptr;  ///< Of `shared`.
  GraphHash hash;                     ///< Remembered: the graph may be asked for again by the name of the job.
  JobId written_as;                   ///< The same, of a job that has ended without success: as in `SharedGraph`.
  std::vector<TemplateFacts> templates;
  Seldom<std::vector<LargerTemplate>> larger_templates;  ///< Numbered on after those of the graph.
  Seldom<std::map<LargerTemplate, TemplateIndex>> larger_numbers;
};

}  // namespace penstock::supervisor
