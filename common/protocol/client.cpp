#include "common/protocol/client.hpp"

#include <charconv>

namespace penstock {

std::string_view to_string(JobState state) {
  switch (state) {
    case JobState::Running: return "running";
    case JobState::Succeeded: return "succeeded";
    case JobState::Failed: return "failed";
    case JobState::Cancelled: return "cancelled";
  }
  return "unknown";
}

void append(std::vector<SubtaskRange>& ranges, SubtaskIndex subtask) {
  if (!ranges.empty() && ranges.back().last.value() + 1 == subtask.value())
    ranges.back().last = subtask;
  else
    ranges.push_back({subtask, subtask});
}

JobSelector job_selector_of(const std::string& text, const Viewer& viewer) {
  JobSelector selector;
  selector.viewer = viewer;
  const std::string_view digits = std::string_view{text}.substr(text.starts_with("job-") ? 4 : 0);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc{} && end == digits.data() + digits.size()) selector.id = JobId{number};
  selector.name = text;
  return selector;
}

const Value& Value::operator[](const std::string& field) const {
  static const Value null;
  if (const Record* fields = record())
    for (const Field& entry : *fields)
      if (entry.first == field) return entry.second;
  return null;
}

}  // namespace penstock
