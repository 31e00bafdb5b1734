#include "worker/runner/command/checkpoint_directory.hpp"

#include <algorithm>
#include <filesystem>

namespace penstock::worker {

std::string open_checkpoint_directory(const std::string& shared, const Template& program, SubtaskId id) {
  if (shared.empty()) return {};
  const std::string prefix = std::string{kCheckpointKey} + "=";
  const auto entry = std::find_if(program.environment.begin(), program.environment.end(),
                                  [&](const std::string& each) { return each.starts_with(prefix); });
  if (entry == program.environment.end()) return {};
  const std::string key = entry->substr(prefix.size());
  if (key.empty() || key.front() == '.' || key.find('/') != std::string::npos) return {};
  const std::string directory = shared + "/attempts/" + key + "/" + std::to_string(id.index.value());
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  return failure ? std::string{} : directory;
}

void remove_checkpoint_directory(const std::string& directory) {
  if (directory.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  // The job's goes with the last of its subtasks.
  std::filesystem::remove(std::filesystem::path{directory}.parent_path(), ignored);
}

}  // namespace penstock::worker
