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

/// A function that runs on a disk of 64 MiB that only its own process sees; 0: as it should be.
using OnSmallDisk = int (*)(const ScratchDirectory&);

constexpr int kNotPermitted = 77;

/// In a process of its own, since the disk is of its mount namespace: its exit status, or -1 if a signal has ended it.
int on_small_disk(OnSmallDisk run) {
  const ScratchDirectory directory;
  // tidy: allow call: the disk is of a mount namespace, which is a process's
  const pid_t child = ::fork();
  if (child == 0) {
    const bool mounted = ::unshare(CLONE_NEWNS) == 0 &&
                         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount("tmpfs", directory.path().c_str(), "tmpfs", 0, "size=64m") == 0;
    ::_exit(mounted ? run(directory) : kNotPermitted);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::ofstream fill(const ScratchDirectory& directory) {
  std::ofstream filler{directory.at("filler"), std::ios::binary};
  for (std::string block(4096, 'x'); filler.good();) filler.write(block.data(), 4096).flush();
  return filler;
}

/// A refused commit has not moved the anchor ahead of the log.
int reopen(Storage& storage, const ScratchDirectory& directory) {
  if (!storage.close()) return 8;
  const auto opened =
      RocksdbStorage::open({.directory = directory.at("state"), .owner = "host h pid 7", .provable = true});
  if (!opened) std::fprintf(stderr, "%s\n", to_string(opened.error()).c_str());
  return opened ? 0 : 9;
}

int write_again_when_there_is_room(const ScratchDirectory& directory) {
  const Result<std::unique_ptr<Storage>> opened =
      RocksdbStorage::open({.directory = directory.at("state"), .owner = "host h pid 7", .provable = true});
  if (!opened) return 5;
  Storage* storage = opened->get();
  StorageBatch batch;
  batch.put("key", std::string(20000, 'x'));
  std::ofstream filler = fill(directory);
  const Result<void> refused = storage->commit(batch, Sync::Yes);
  if (refused || refused.error().code != ErrorCode::StorageFull) return 1;
  if (storage->commit(batch, Sync::Yes)) return 4;
  filler.close();
  std::filesystem::remove(directory.at("filler"));
  if (const Result<void> written = storage->commit(batch, Sync::Yes); !written) {
    std::fprintf(stderr, "%s\n", to_string(written.error()).c_str());
    return 2;
  }
  if (!storage->get("key").value_or(std::nullopt)) return 3;
  return reopen(**opened, directory);
}

/// The room that was put aside for a log is used up first; then a write buffer is to become a file, and cannot.
int fill_a_write_buffer_on_a_full_disk(const ScratchDirectory& directory) {
  const Result<std::unique_ptr<Storage>> opened = RocksdbStorage::open({.directory = directory.at("state"),
                                                                        .owner = "host h pid 7",
                                                                        .memory_bytes = std::size_t{8} << 20U,
                                                                        .provable = true});
  if (!opened) return 5;
  Storage* storage = opened->get();
  StorageBatch first;
  first.put("key", "value");
  if (!storage->commit(first, Sync::Yes)) return 7;
  std::ofstream filler = fill(directory);
  int kept = 0;
  int refused = 0;
  while (refused < 5 && kept < 100) {
    StorageBatch batch;
    batch.put("key" + std::to_string(kept), std::string(800'000, 'x'));
    const Result<void> written = storage->commit(batch, Sync::Yes);
    if (written && refused > 0) return 1;
    if (!written && written.error().code != ErrorCode::StorageFull) return 4;
    ++(written ? kept : refused);
  }
  if (refused == 0) return 6;
  filler.close();
  std::filesystem::remove(directory.at("filler"));
  StorageBatch batch;
  batch.put("last", "value");
  if (const Result<void> written = storage->commit(batch, Sync::Yes); !written) {
    std::fprintf(stderr, "%s\n", to_string(written.error()).c_str());
    return 2;
  }
  for (int i = 0; i < kept; ++i)
    if (!storage->get("key" + std::to_string(i)).value_or(std::nullopt)) return 3;
  return reopen(**opened, directory);
}

// Fault F11: far less room than a write buffer is enough, and nobody has to wait for it.
TEST(RocksdbStorage, AFullDiskIsWrittenToAgainAsSoonAsThereIsRoom) {
  const int code = on_small_disk(write_again_when_there_is_room);
  if (code == kNotPermitted) GTEST_SKIP() << "mount namespaces are not permitted";
  EXPECT_EQ(code, 0);
}

TEST(RocksdbStorage, AFullDiskThatAWriteBufferFindsEndsNoProcess) {
  const int code = on_small_disk(fill_a_write_buffer_on_a_full_disk);
  if (code == kNotPermitted) GTEST_SKIP() << "mount namespaces are not permitted";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace penstock
