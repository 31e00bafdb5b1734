#include "common/host/life_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "common/host/process.hpp"

namespace penstock {
namespace {

Descriptor open_directory(const std::string& path) {
  return Descriptor{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)};
}

Result<void> make_place(const std::string& place) {
  std::error_code error;
  std::filesystem::create_directories(place, error);
  if (error)
    return Error{ErrorCode::InvalidArgument, place, "cannot be made: " + error.message(), "name another directory"};
  return {};
}

Result<std::string> make_inside(const std::string& place, const std::string& prefix) {
  std::string name = place + "/" + prefix + "XXXXXX";
  if (::mkdtemp(name.data()) != nullptr) return name;
  const bool full = errno == ENOSPC || errno == EDQUOT;
  return Error{full ? ErrorCode::StorageFull : ErrorCode::InvalidArgument, place,
               std::string{"no directory can be made there: "} + std::strerror(errno), "name another directory"};
}

}  // namespace

Result<void> check_directory(const std::string& place) {
  PENSTOCK_TRY(make_place(place));
  const Result<std::string> made = make_inside(place, ".penstock-");
  if (!made) return made.error();
  ::rmdir(made->c_str());
  return {};
}

LifeDirectory::LifeDirectory(std::string place, std::string prefix)
    : place_(std::move(place)), prefix_(std::move(prefix)) {}

LifeDirectory::~LifeDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Result<std::string> LifeDirectory::path() {
  if (path_.empty()) PENSTOCK_TRY(make());
  return path_;
}

Result<void> LifeDirectory::make() {
  if (place_.empty()) place_ = environment_value("TMPDIR", "/tmp");
  PENSTOCK_TRY(make_place(place_));
  for (bool locked = false; !locked;) {
    Result<std::string> made = make_inside(place_, prefix_);
    if (!made) return std::move(made).error();
    path_ = std::move(made).value();
    const Result<bool> tried = lock();
    if (!tried) {
      ::rmdir(path_.c_str());
      path_.clear();
      return tried.error();
    }
    locked = *tried;
  }
  remove_orphans();
  return {};
}

// False if another process took the directory for an orphan before it was locked, and removes it.
Result<bool> LifeDirectory::lock() {
  lock_ = open_directory(path_);
  const bool locked = lock_ && ::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0;
  if (!locked && errno != EWOULDBLOCK && errno != ENOENT)
    return Error{ErrorCode::InvalidArgument, place_,
                 std::string{"what is in it cannot be locked: "} + std::strerror(errno),
                 "name a directory of a local disk"};
  struct stat status {};
  return locked && ::fstat(lock_.get(), &status) == 0 && status.st_nlink > 0;
}

void LifeDirectory::remove_orphans() const {
  std::error_code error;
  for (std::filesystem::directory_iterator entry{place_, error}, end; !error && entry != end; entry.increment(error)) {
    const std::string path = entry->path().string();
    if (path == path_ || !entry->path().filename().string().starts_with(prefix_)) continue;
    const Descriptor orphan = open_directory(path);
    struct stat status {};
    if (!orphan || ::fstat(orphan.get(), &status) != 0 || status.st_uid != ::geteuid()) continue;
    if (::flock(orphan.get(), LOCK_EX | LOCK_NB) != 0) continue;
    std::error_code ignored;  // A directory that cannot be removed stays.
    std::filesystem::remove_all(path, ignored);
  }
}

}  // namespace penstock
