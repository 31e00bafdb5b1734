#include "common/base/ids.hpp"

namespace penstock {

std::string to_string(JobId id) { return id.valid() ? "job-" + std::to_string(id.value()) : "job-none"; }

std::string to_string(SubtaskId id) {
  return std::to_string(id.job.value()) + ":" + std::to_string(id.index.value());
}

std::string to_string(WorkerId id) { return id.valid() ? "w" + std::to_string(id.value()) : "w-none"; }

std::string to_string(BandId id) { return to_string(id.worker) + "/" + std::to_string(id.band.value()); }

std::string to_string(const DataKey& key) {
  return to_string(key.producer) + "." + std::to_string(key.output);
}

std::string to_string(SubtaskId id, Attempt attempt) {
  return to_string(id) + "#" + std::to_string(attempt.value());
}

}  // namespace penstock
