#include "common/protocol/client.hpp"

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

const Value& Value::operator[](const std::string& field) const {
  static const Value null;
  if (const Record* fields = record())
    for (const Field& entry : *fields)
      if (entry.first == field) return entry.second;
  return null;
}

}  // namespace penstock
