#include "worker/runner/command/spool.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <mutex>
#include <thread>

#include "common/runtime/descriptor.hpp"
#include "common/runtime/host.hpp"
#include "common/runtime/process.hpp"

namespace penstock::worker {
namespace {

constexpr std::size_t kFreshMax = 64;
constexpr mode_t kMode = 0700;
constexpr long kLengthAt = 16;  ///< Of an entry's length in what getdents64 gives.

/// Nothing is in it and its mode is what it was.
bool is_fresh(const std::string& directory) {
  const Descriptor opened{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)};
  struct stat status {};
  if (!opened || ::fstat(opened.get(), &status) != 0 || (status.st_mode & 07777) != kMode) return false;
  // Every directory has the entries `.` and `..`. Not `readdir`: it allocates 32 KiB.
  alignas(8) char entries[512];
  long count = 0;
  for (long size = 0; (size = ::syscall(SYS_getdents64, opened.get(), entries, sizeof entries)) > 0;)
    for (long at = 0; at < size; ++count) {
      std::uint16_t length = 0;
      std::memcpy(&length, entries + at + kLengthAt, sizeof length);
      at += length;
      if (count == 2) return false;
    }
  return true;
}

}  // namespace

/// Removes directories one after the other on a thread of its own: a command may have left a million files.
/// Invariant: `waiting` and `ending` are touched under the mutex only. Thread-sanitized by tests/integration/runner.
struct Spool::Sweeper {
  Sweeper() : thread([this] { sweep(); }) {}
  ~Sweeper() {
    {
      const std::lock_guard lock{mutex};
      ending = true;
    }
    news.notify_one();
    thread.join();
  }

  void add(std::string directory) {
    {
      const std::lock_guard lock{mutex};
      waiting.push_back(std::move(directory));
    }
    news.notify_one();
  }

  void sweep() {
    std::unique_lock lock{mutex};
    for (;;) {
      news.wait(lock, [this] { return ending || !waiting.empty(); });
      if (waiting.empty()) return;
      const std::string directory = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      std::error_code ignored;  // What cannot be removed stays, and the spool with it.
      std::filesystem::remove_all(directory, ignored);
      lock.lock();
    }
  }

  std::mutex mutex;
  std::condition_variable news;
  std::deque<std::string> waiting;
  bool ending = false;
  std::thread thread;  // Last: it uses all of the above.
};

Spool::Spool(std::string root) : root_(std::move(root)), owned_(root_.empty()) {}

Spool::~Spool() {
  sweeper_.reset();
  for (const std::string& directory : fresh_) ::rmdir(directory.c_str());
  std::error_code ignored;
  if (owned_ && ready_) std::filesystem::remove_all(root_, ignored);
}

Result<void> Spool::make_root() {
  if (ready_) return {};
  if (owned_) {
    std::string name = environment_value("TMPDIR", "/tmp") + "/penstock-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr)
      return Error{ErrorCode::InvalidArgument, name, std::string{"cannot be made: "} + std::strerror(errno),
                   "name a spool directory"};
    root_ = name;
  } else {
    std::error_code error;
    std::filesystem::create_directories(root_, error);
    if (error)
      return Error{ErrorCode::InvalidArgument, root_, "cannot be made: " + error.message(),
                   "name another spool directory"};
    // A working directory must not change its meaning when somebody changes ours.
    if (std::filesystem::path absolute = std::filesystem::absolute(root_, error); !error) root_ = absolute.string();
  }
  ready_ = true;
  return {};
}

Result<std::string> Spool::take() {
  while (!fresh_.empty()) {
    std::string directory = std::move(fresh_.back());
    fresh_.pop_back();
    if (::access(directory.c_str(), W_OK | X_OK) == 0) return directory;
  }
  return make();
}

Result<std::string> Spool::make() {
  PENSTOCK_TRY(make_root());
  const std::string stem = root_ + "/run-";
  // An earlier life of the worker may have left one of that name; a number that it did not use will come.
  for (int tries = 0; tries < 10000; ++tries) {
    std::string directory = stem + std::to_string(made_++);
    if (::mkdir(directory.c_str(), kMode) == 0) return directory;
    if (errno != EEXIST) break;
  }
  const int number = errno;
  if (number == ENOENT) ready_ = false;  // Somebody has removed the root; the next one makes it again.
  const bool full = number == ENOSPC || number == EDQUOT;
  return Error{full ? ErrorCode::StorageFull : ErrorCode::InvalidArgument, root_,
               std::string{"no working directory can be made there: "} + std::strerror(number),
               "name another spool directory"};
}

void Spool::give_back(std::string directory) {
  if (fresh_.size() < kFreshMax && is_fresh(directory)) {
    fresh_.push_back(std::move(directory));
    return;
  }
  if (::rmdir(directory.c_str()) == 0 || errno == ENOENT) return;
  if (sweeper_ == nullptr) sweeper_ = std::make_unique<Sweeper>();
  sweeper_->add(std::move(directory));
}

}  // namespace penstock::worker
