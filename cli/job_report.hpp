// What a person or a program is told about a job that has ended.
#pragma once

#include <optional>

#include "client/src/session.hpp"
#include "common/base/time.hpp"
#include "common/protocol/admin.hpp"

namespace penstock::cli {

/// What the graph could have done at best, from the durations that its subtasks have.
struct JobBounds {
  Duration critical_path{0};
  Duration lower_bound{0};     ///< The larger of critical path and work divided by slots.
  Duration list_schedule{0};   ///< Makespan of an ideal list schedule: longest critical path first, nothing costs time.
};

/// Everything about the end of a job as fields; pure.
Value describe_end(const client::JobView& view, Duration makespan, const std::optional<JobBounds>& bounds);
/// The failures of a job for a person, with the tail of their output; empty if there are none. Pure.
std::string describe_failures(const client::JobView& view);

}  // namespace penstock::cli
