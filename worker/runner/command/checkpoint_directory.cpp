#include "worker/runner/command/checkpoint_directory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "common/protocol/checkpoint_key.hpp"
#include "worker/store/object_store.hpp"

namespace penstock::worker {

std::string open_checkpoint_directory(const std::string& shared, const Template& program, SubtaskId id,
                                      const Account* account) {
  if (shared.empty()) return {};
  const std::string_view key = checkpoint_key_of(program, id.job);
  if (key.empty()) return {};
  const std::string directory = attempts_directory(shared, key) + "/" + std::to_string(id.index.value());
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) return {};
  const bool given = account == nullptr || (::chmod(directory.c_str(), 0700) == 0 &&
                                            ::lchown(directory.c_str(), account->uid, account->gid) == 0);
  return given ? directory : std::string{};
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
