// Labels of workers, and the limits of jobs and projects to workers with a label.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace penstock {

struct JobPolicy;
struct PolicyConfig;
struct Register;

/// The most labels of one worker, or in one limit; more are refused.
inline constexpr std::size_t kLabelsMax = 64;

/// Limits a job to workers with one of these labels, or to those that run the jobs of a user.
struct LabelLimit {
  std::string whose;  ///< `it` for the job itself, else as in `project 'vision'`.
  std::vector<std::string> labels;
  std::string user{};  ///< Instead of labels: limits it to workers that run the jobs of this user.
  friend bool operator==(const LabelLimit&, const LabelLimit&) = default;
};

/// The limits of the job, of its project and of the departments above it, for jobs of its kind. Without a policy in
/// force projects are unknown. Spec: policy-runai 7.
std::vector<LabelLimit> label_limits_of(const PolicyConfig& config, const JobPolicy& wishes);

/// Whether the worker runs the jobs of that user.
bool runs_jobs_of(const Register& worker, const std::string& user);
/// Whether the worker satisfies every limit.
bool allow(const std::vector<LabelLimit>& limits, const Register& worker);

/// `it runs on 'a100' only, and project 'vision' on 't4' or 'v100'`.
std::string text_of(const std::vector<LabelLimit>& limits);

/// Checks that each label is a word of 1 to 255 bytes, occurs once, and that there are not too many. Error:
/// InvalidArgument or LimitExceeded, about `subject`.
Result<void> check_labels(const std::string& subject, const std::vector<std::string>& labels);

}  // namespace penstock
