#include "worker/runner/command/spool.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "common/host/host.hpp"
#include "common/host/process.hpp"

namespace penstock::worker {
namespace {

constexpr std::size_t kFreshMax = 64;
constexpr mode_t kMode = 0700;
constexpr mode_t kPassedThrough = 0711;  ///< Of the directory around those of several accounts.
constexpr const char* kRootPrefix = "penstock-spool-";
constexpr long kLengthAt = 16;  ///< Offset of an entry's length in the result of getdents64.

Descriptor open_directory(const std::string& path) {
  return Descriptor{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)};
}

/// True if it is ours, it is empty and its mode is unchanged.
bool is_fresh(const std::string& directory) {
  const Descriptor opened = open_directory(directory);
  struct stat status {};
  if (!opened || ::fstat(opened.get(), &status) != 0 || (status.st_mode & 07777) != kMode) return false;
  if (status.st_uid != ::geteuid()) return false;
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

/// A directory that cannot be removed stays, and so does the spool. A command may have left a million files.
void remove(const std::string& directory) {
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
}

Error no_directory(const std::string& where, int number) {
  const bool full = number == ENOSPC || number == EDQUOT;
  return Error{full ? ErrorCode::StorageFull : ErrorCode::InvalidArgument, where,
               std::string{"no working directory can be made there: "} + std::strerror(number),
               "name another spool directory"};
}

}  // namespace

Spool::Spool(std::string place, std::shared_ptr<BlockingWork> removals)
    : place_(std::move(place)), removals_(std::move(removals)) {}

// The root stays locked until it is gone: no other spool takes it for an orphan.
Spool::~Spool() {
  if (root_.empty()) return;
  remove_later([root = std::move(root_), lock = std::make_shared<Descriptor>(std::move(root_lock_))] { remove(root); });
}

Result<void> Spool::make_place() {
  if (place_.empty()) place_ = environment_value("TMPDIR", "/tmp");
  std::error_code error;
  std::filesystem::create_directories(place_, error);
  if (error)
    return Error{ErrorCode::InvalidArgument, place_, "cannot be made: " + error.message(),
                 "name another spool directory"};
  // A working directory must not change its meaning when this process changes its own.
  if (std::filesystem::path absolute = std::filesystem::absolute(place_, error); !error) place_ = absolute.string();
  return {};
}

Result<void> Spool::make_root() {
  if (!root_.empty()) return {};
  PENSTOCK_TRY(make_place());
  do {
    std::string name = place_ + "/" + kRootPrefix + "XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) return no_directory(place_, errno);
    root_ = name;
  } while (!lock_root());
  remove_orphans();
  return {};
}

// False if another process took the directory for an orphan before it was locked, and removes it.
bool Spool::lock_root() {
  root_lock_ = open_directory(root_);
  struct stat status {};
  return root_lock_ && ::flock(root_lock_.get(), LOCK_EX | LOCK_NB) == 0 && ::fstat(root_lock_.get(), &status) == 0 &&
         status.st_nlink > 0;
}

void Spool::remove_orphans() {
  std::error_code error;
  for (std::filesystem::directory_iterator entry{place_, error}, end; !error && entry != end; entry.increment(error)) {
    const std::string path = entry->path().string();
    if (path == root_ || !entry->path().filename().string().starts_with(kRootPrefix)) continue;
    const Descriptor orphan = open_directory(path);
    struct stat status {};
    if (!orphan || ::fstat(orphan.get(), &status) != 0 || status.st_uid != ::geteuid()) continue;
    if (::flock(orphan.get(), LOCK_EX | LOCK_NB) == 0) remove_later([path] { remove(path); });
  }
}

Result<std::string> Spool::take(const Account* account) {
  if (account != nullptr) {
    Result<std::string> made = make();
    // The root belongs to us, so nobody can put another file in the place of the directory.
    if (made &&
        (::chmod(root_.c_str(), kPassedThrough) != 0 || ::lchown(made->c_str(), account->uid, account->gid) != 0))
      return no_directory(*made, errno);
    return made;
  }
  while (!fresh_.empty()) {
    std::string directory = std::move(fresh_.back());
    fresh_.pop_back();
    if (::access(directory.c_str(), W_OK | X_OK) == 0) return directory;
  }
  return make();
}

Result<std::string> Spool::make() {
  PENSTOCK_TRY(make_root());
  std::string directory = root_ + "/run-" + std::to_string(made_++);
  if (::mkdir(directory.c_str(), kMode) == 0) return directory;
  const int number = errno;
  if (number == ENOENT) root_.clear();  // Another process has removed the root; the next call makes it again.
  return no_directory(root_.empty() ? place_ : root_, number);
}

void Spool::give_back(std::string directory) {
  if (fresh_.size() < kFreshMax && is_fresh(directory)) {
    fresh_.push_back(std::move(directory));
    return;
  }
  if (::rmdir(directory.c_str()) == 0 || errno == ENOENT) return;
  remove_later([directory = std::move(directory)] { remove(directory); });
}

void Spool::remove_later(std::function<void()> removal) {
  if (removals_ == nullptr) return removal();
  removals_->add(BlockingWork::Turn::Later, std::move(removal));
}

}  // namespace penstock::worker
