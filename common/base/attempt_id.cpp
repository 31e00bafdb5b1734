#include "common/base/attempt_id.hpp"

namespace penstock {

std::string attempt_id_of(const JobIdentity& identity, SubtaskIndex subtask, Attempt attempt) {
  return to_string(identity) + "-" + std::to_string(subtask.value()) + "-" + std::to_string(attempt.value());
}

}  // namespace penstock
