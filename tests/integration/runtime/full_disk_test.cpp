// The journal's storage on a disk that is full for a while.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/storage/rocksdb_storage.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

/// On a disk of 16 MiB that only the calling process sees. 0: as it should be; 77: it may not have one.
int fill_a_small_disk(const ScratchDirectory& directory) {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", directory.path().c_str(), "tmpfs", 0, "size=16m") != 0)
    return 77;
  const Result<std::unique_ptr<Storage>> opened =
      RocksdbStorage::open({.directory = directory.at("state"), .owner = "host h pid 7"});
  if (!opened) return 5;
  Storage* storage = opened->get();
  StorageBatch batch;
  batch.put("key", std::string(20000, 'x'));
  std::ofstream filler{directory.at("filler"), std::ios::binary};
  for (std::string block(4096, 'x'); filler.good();) filler.write(block.data(), 4096).flush();
  const Result<void> refused = storage->commit(batch, Sync::Yes);
  if (refused || refused.error().code != ErrorCode::StorageFull) return 1;
  if (storage->commit(batch, Sync::Yes)) return 4;
  filler.close();
  std::filesystem::remove(directory.at("filler"));
  if (const Result<void> written = storage->commit(batch, Sync::Yes); !written) {
    std::fprintf(stderr, "%s\n", to_string(written.error()).c_str());
    return 2;
  }
  return storage->get("key").value_or(std::nullopt) ? 0 : 3;
}

// Fault F11: far less room than a write buffer is enough, and nobody has to wait for it.
TEST(RocksdbStorage, AFullDiskIsWrittenToAgainAsSoonAsThereIsRoom) {
  const ScratchDirectory directory;
  // tidy: allow call: the disk is of a mount namespace, which is a process's
  const pid_t child = ::fork();
  if (child == 0) ::_exit(fill_a_small_disk(directory));
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "mount namespaces are not permitted";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace penstock
