// Reports about a job that has ended, for people and programs.
#pragma once

#include <optional>

#include "cli/jobfile/bounds.hpp"
#include "client/src/session.hpp"
#include "common/base/time.hpp"
#include "common/protocol/admin.hpp"

namespace penstock::cli {

/// The end of a job as fields; pure.
Value describe_end(const client::JobView& view, Duration makespan, const std::optional<ScheduleBounds>& bounds);
/// The same without the failures, for a person after the text of `describe_failures`. Pure.
Value without_failures(const Value& end);
/// The failures of a job for a person, with the tail of their output; empty if there are none. Pure.
std::string describe_failures(const client::JobView& view);

}  // namespace penstock::cli
