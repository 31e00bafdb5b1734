// The words for the purpose of a job, for reading and printing.
#pragma once

#include <string_view>
#include <vector>

#include "common/protocol/graph.hpp"

namespace penstock {

inline constexpr JobKind kJobKinds[] = {JobKind::Training, JobKind::Interactive, JobKind::Inference};

constexpr std::string_view to_string(JobKind kind) {
  switch (kind) {
    case JobKind::Training: return "training";
    case JobKind::Interactive: return "interactive";
    case JobKind::Inference: return "inference";
  }
  return "";
}

/// In the order of `kJobKinds`.
inline std::vector<std::string_view> job_kind_words() {
  std::vector<std::string_view> words;
  for (const JobKind kind : kJobKinds) words.push_back(to_string(kind));
  return words;
}

}  // namespace penstock
