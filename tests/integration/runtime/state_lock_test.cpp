// The holder of a state directory, asked from another process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/storage/rocksdb_storage.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

/// A process that tries to lock a file, as RocksDB does, and then does nothing.
class LockOfAnother {
 public:
  explicit LockOfAnother(const std::string& path) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(ends), 0);
    process_ = ::fork();  // tidy: allow call: within one process such a lock keeps nobody out
    if (process_ == 0) {
      struct flock lock {};
      lock.l_type = F_WRLCK;
      const char answer = ::fcntl(::open(path.c_str(), O_RDWR), F_SETLK, &lock) == 0 ? 'y' : 'n';
      static_cast<void>(::write(ends[1], &answer, 1) == 0);
      for (;;) ::pause();
    }
    char answer = 0;
    EXPECT_EQ(::read(ends[0], &answer, 1), 1);
    has_it_ = answer == 'y';
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~LockOfAnother() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  LockOfAnother(const LockOfAnother&) = delete;
  LockOfAnother& operator=(const LockOfAnother&) = delete;
  bool has_it() const { return has_it_; }

 private:
  pid_t process_ = -1;
  bool has_it_ = false;
};

// Fault F08: the database is closed for a moment when a full disk has room again; a standby must not get in between.
TEST(RocksdbStorage, WhoseDatabaseIsClosedForAMomentStillHoldsTheState) {
  const ScratchDirectory directory;
  const RocksdbOptions options{.directory = directory.at("state"), .owner = "host h pid 7"};
  ASSERT_TRUE(RocksdbStorage::open(options).value()->close().has_value());
  const std::string lock = options.directory + "/OWNER.LOCK";
  {
    const LockOfAnother another{lock};
    ASSERT_TRUE(another.has_it());
    EXPECT_EQ(RocksdbStorage::open(options).error().code, ErrorCode::StorageLocked);
    EXPECT_EQ(RocksdbStorage::salvage(options).error().code, ErrorCode::StorageLocked);
  }
  const Result<std::unique_ptr<Storage>> opened = RocksdbStorage::open(options);
  ASSERT_TRUE(opened.has_value());
  EXPECT_FALSE(LockOfAnother{lock}.has_it());
}

}  // namespace
}  // namespace penstock
