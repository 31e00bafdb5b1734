// Labels of workers, and to which of them jobs and projects limit themselves.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace penstock {

struct JobPolicy;
struct PolicyConfig;

/// Labels of one worker, or in one limit; more are refused.
inline constexpr std::size_t kLabelsMax = 64;

/// Only workers with one of these labels.
struct LabelLimit {
  std::string whose;  ///< `it` for the job itself, else as in `project 'vision'`.
  std::vector<std::string> labels;
  friend bool operator==(const LabelLimit&, const LabelLimit&) = default;
};

/// Those of the job and of its project, with the departments above it, for jobs of its kind. Where no policy is in force
/// projects are not known. Spec: policy-runai 7.
std::vector<LabelLimit> label_limits_of(const PolicyConfig& config, const JobPolicy& wishes);

/// All limits at once: what they leave is what each of them leaves.
bool allow(const std::vector<LabelLimit>& limits, const std::vector<std::string>& labels);

/// `it runs on 'a100' only, and project 'vision' on 't4' or 'v100'`.
std::string text_of(const std::vector<LabelLimit>& limits);

/// Each a word of 1 to 255 bytes, once, and not too many. Error: InvalidArgument or LimitExceeded, about `subject`.
Result<void> check_labels(const std::string& subject, const std::vector<std::string>& labels);

}  // namespace penstock
