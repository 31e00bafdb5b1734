// A host, or the workers that have one label: where a gang that stays together is placed.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "common/protocol/handshake.hpp"

namespace penstock::supervisor {

/// The wish of a gang to be on one host; any other is a pattern of labels (common/base/pattern.hpp).
inline constexpr std::string_view kTogetherOnHost = "host";

struct WorkerGroup {
  bool is_host = true;
  std::string name;  ///< Of the host, or the label.

  friend bool operator==(const WorkerGroup&, const WorkerGroup&) = default;
  friend auto operator<=>(const WorkerGroup&, const WorkerGroup&) = default;
};

/// So many slots of a gang are in one group of workers. A group without a name has no worker: no place is known.
struct GroupPart {
  WorkerGroup group;
  std::uint32_t slots = 0;
  friend bool operator==(const GroupPart&, const GroupPart&) = default;
};

/// A worker that names no host is one of its own.
inline const std::string& host_of(const Register& worker) { return worker.host.empty() ? worker.name : worker.host; }

inline bool is_in(const WorkerGroup& group, const Register& worker) {
  if (group.is_host) return host_of(worker) == group.name;
  return std::find(worker.labels.begin(), worker.labels.end(), group.name) != worker.labels.end();
}

/// The groups of that wish to which the worker belongs.
std::vector<WorkerGroup> groups_of(const Register& worker, std::string_view together);

/// `host 'h1'`, or `label 'rack-7'`.
std::string text_of(const WorkerGroup& group);
/// The same of one part; of several, `host 'h1' (4), host 'h2' (8)`.
std::string text_of(const std::vector<GroupPart>& parts);

}  // namespace penstock::supervisor
