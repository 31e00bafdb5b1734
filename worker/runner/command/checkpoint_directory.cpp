#include "worker/runner/command/checkpoint_directory.hpp"

#include <filesystem>

#include "common/protocol/checkpoint_key.hpp"
#include "worker/store/object_store.hpp"

namespace penstock::worker {

std::string open_checkpoint_directory(const std::string& shared, const Template& program, SubtaskId id) {
  if (shared.empty()) return {};
  const std::string_view key = checkpoint_key_of(program, id.job);
  if (key.empty()) return {};
  const std::string directory = attempts_directory(shared, key) + "/" + std::to_string(id.index.value());
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  return failure ? std::string{} : directory;
}

bool has_saved_state(const std::string& directory) {
  std::error_code failure;
  return !directory.empty() && !std::filesystem::is_empty(directory, failure) && !failure;
}

void remove_checkpoint_directory(const std::string& directory) {
  if (directory.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  // The last subtask of a job removes the job's directory.
  std::filesystem::remove(std::filesystem::path{directory}.parent_path(), ignored);
}

}  // namespace penstock::worker
