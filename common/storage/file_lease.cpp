#include "common/storage/file_lease.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "lease-";

std::string path_of(const std::string& directory, std::uint64_t number) {
  return directory + "/" + std::string{kPrefix} + std::to_string(number);
}

/// The numbers of all present leases, ascending.
std::vector<std::uint64_t> numbers_in(const std::string& directory) {
  std::vector<std::uint64_t> numbers;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator{directory, code}) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPrefix)) continue;
    std::uint64_t number = 0;
    const char* end = name.data() + name.size();
    if (std::from_chars(name.data() + kPrefix.size(), end, number).ptr == end) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string content_of(const std::string& path) {
  std::ifstream file{path};
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Error held_by(const std::string& directory, std::uint64_t number) {
  const std::string content = content_of(path_of(directory, number));
  const std::string owner = content.substr(0, content.find('\n'));
  return {ErrorCode::StorageLocked, directory, "is held by " + (owner.empty() ? "another process" : owner),
          "end that one first, or give this one a directory of its own with `--state`"};
}

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

/// Whether the process that made the lease still lives.
bool is_locked(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return errno != ENOENT;  // The holder of a lease that we may not open counts as alive.
  struct flock lock = whole_file();
  const bool known = ::fcntl(file, F_OFD_GETLK, &lock) == 0;
  ::close(file);
  return !known || lock.l_type != F_UNLCK;
}

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

/// Whether the holder has been silent for the patience of the watch.
bool is_silent(LeaseWatch& watch, const std::string& content, Instant now) {
  if (content == watch.content)
    watch.silent += std::min(now - watch.looked, watch.patience / 4);
  else
    watch.silent = Duration{};
  watch.content = content;
  watch.looked = now;
  return watch.silent >= watch.patience;
}

Error cannot_write(const std::string& directory, int code) {
  const ErrorCode kind = code == ENOSPC || code == EDQUOT ? ErrorCode::StorageFull : ErrorCode::InvalidArgument;
  return {kind, directory, "cannot be written to: " + std::generic_category().message(code),
          "mend that, or name another directory with `--state`"};
}

}  // namespace

Result<std::unique_ptr<FileLease>> FileLease::claim(const std::string& directory, const std::string& owner,
                                                    LeaseWatch* watch, Instant now) {
  const std::vector<std::uint64_t> before = numbers_in(directory);
  const std::uint64_t newest = before.empty() ? 0 : before.back();
  const std::string path_before = path_of(directory, newest);
  // The content contains the number, so that two holders in a row never look the same.
  if (newest > 0 && is_locked(path_before) &&
      (watch == nullptr || !is_silent(*watch, path_before + content_of(path_before), now)))
    return held_by(directory, newest);
  bool contested = false;
  for (const std::uint64_t number : before) contested = contested || is_locked(path_of(directory, number));
  const std::string path = path_of(directory, newest + 1);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0 && errno == EEXIST) return held_by(directory, newest + 1);
  if (file < 0) return cannot_write(directory, errno);
  std::unique_ptr<FileLease> lease{new FileLease{directory, owner, newest + 1, file}};
  lease->contested_ = contested;
  struct flock lock = whole_file();
  if (::fcntl(file, F_OFD_SETLK, &lock) != 0) {
    const int code = errno;
    ::unlink(path.c_str());
    return cannot_write(directory, code);
  }
  if (const Result<void> renewed = lease->renew(); !renewed) return renewed.error();
  ::fsync(file);
  // This process may have been slow between looking and making, and made a number that others have passed.
  if (const std::vector<std::uint64_t> after = numbers_in(directory); !after.empty() && after.back() > newest + 1) {
    ::unlink(path.c_str());
    return held_by(directory, after.back());
  }
  return lease;
}

FileLease::FileLease(std::string directory, std::string owner, std::uint64_t number, int file)
    : directory_(std::move(directory)), owner_(std::move(owner)), number_(number), file_(file) {}

FileLease::~FileLease() { ::close(file_); }

// In ascending order: an earlier holder finds the next number until its own is gone.
void FileLease::settle() {
  for (const std::uint64_t number : numbers_in(directory_))
    if (number < number_) ::unlink(path_of(directory_, number).c_str());
}

bool FileLease::is_held() const {
  return is_there(path_of(directory_, number_)) && !is_there(path_of(directory_, number_ + 1));
}

Result<void> FileLease::check() const {
  if (is_held()) return {};
  const std::vector<std::uint64_t> numbers = numbers_in(directory_);
  Error error = held_by(directory_, numbers.empty() ? 0 : numbers.back());
  error.message += " now, which has taken it over: we were silent for too long, or our lease was removed";
  error.remedy = "nothing that was promised is lost; start this one again with `--standby`";
  return error;
}

Result<void> FileLease::renew() {
  PENSTOCK_TRY(check());
  const std::lock_guard lock{mutex_};
  const std::string content = owner_ + "\n" + std::to_string(++renewals_) + "\n";
  // Opened and closed each time, because a network file system shows changes to others only then.
  const int file = ::open(path_of(directory_, number_).c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return {};
  static_cast<void>(::pwrite(file, content.data(), content.size(), 0) < 0);
  ::close(file);
  return {};
}

}  // namespace penstock
