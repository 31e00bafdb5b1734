// The text that names one attempt among all attempts of all jobs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/ids.hpp"

namespace penstock {

/// `<identity>-42-2`: names this attempt of this job among all attempts that any supervisor has ever made. Without an
/// identity, as for jobs of a supervisor before 0.2.0, the digits are 0 and the name is unique only with the job's
/// number.
std::string attempt_id_of(const JobIdentity& identity, SubtaskIndex subtask, Attempt attempt);

/// The parts of such a text.
struct AttemptName {
  JobIdentity identity;
  SubtaskIndex subtask;
  Attempt attempt;
  friend bool operator==(const AttemptName&, const AttemptName&) = default;
};
/// None for any other text.
std::optional<AttemptName> parse_attempt_id(std::string_view text);

}  // namespace penstock
