#include "supervisor/core/worker_group.hpp"

#include "common/base/pattern.hpp"

namespace penstock::supervisor {

std::vector<WorkerGroup> groups_of(const Register& worker, std::string_view together) {
  if (together == kTogetherOnHost) return {{true, host_of(worker)}};
  std::vector<WorkerGroup> groups;
  for (const std::string& label : worker.labels)
    if (matches(together, label)) groups.push_back({false, label});
  return groups;
}

std::string text_of(const WorkerGroup& group) { return (group.is_host ? "host '" : "label '") + group.name + "'"; }

std::string text_of(const std::vector<GroupPart>& parts) {
  if (parts.size() == 1) return text_of(parts.front().group);
  std::string text;
  for (const GroupPart& each : parts)
    text += (text.empty() ? "" : ", ") + text_of(each.group) + " (" + std::to_string(each.slots) + ")";
  return text;
}

}  // namespace penstock::supervisor
