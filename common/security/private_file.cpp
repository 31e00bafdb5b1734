#include "common/security/private_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/host/descriptor.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

Error failed(const std::string& path, const char* step) {
  const ErrorCode code = errno == ENOSPC || errno == EDQUOT ? ErrorCode::StorageFull : ErrorCode::InvalidArgument;
  return {code, path, std::string{"cannot be "} + step + ": " + std::strerror(errno), {}};
}

Result<void> write_all(int file, const std::string& content, const std::string& path) {
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t count = ::write(file, content.data() + done, content.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(path, "written");
    done += static_cast<std::size_t>(count);
  }
  if (::fsync(file) != 0) return failed(path, "written");
  return {};
}

}  // namespace

Result<void> make_private_directory(const std::string& path) {
  std::error_code code;
  if (const fs::path above = fs::path{path}.parent_path(); !above.empty()) fs::create_directories(above, code);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failed(path, "made");
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return failed(path, "looked at");
  if (!S_ISDIR(found.st_mode)) return Error{ErrorCode::InvalidArgument, path, "is no directory", {}};
  if (found.st_uid != ::geteuid())
    return Error{ErrorCode::InvalidArgument, path, "is a directory of another user", "name another place"};
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Error{ErrorCode::InvalidArgument, path, "may be written by others", "run `chmod 700 " + path + "`"};
  return {};
}

Result<void> write_private_file(const std::string& path, const std::string& content) {
  const std::string draft = path + "." + std::to_string(::getpid()) + ".new";
  ::unlink(draft.c_str());
  const Descriptor file{::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!file) return failed(path, "written");
  Result<void> written = write_all(file.get(), content, path);
  if (written && ::rename(draft.c_str(), path.c_str()) != 0) written = failed(path, "written");
  if (!written) ::unlink(draft.c_str());
  return written;
}

Result<std::string> read_private_file(const std::string& path, std::size_t bytes_max) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!file && errno == ENOENT) return Error{ErrorCode::NotFound, path, "does not exist", {}};
  if (!file) return failed(path, "read");
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return failed(path, "looked at");
  if (!S_ISREG(found.st_mode) || static_cast<std::uint64_t>(found.st_size) > bytes_max)
    return Error{ErrorCode::InvalidArgument, path, "is no file of a key or certificate", {}};
  if (found.st_uid != ::geteuid() && found.st_uid != 0)
    return Error{ErrorCode::InvalidArgument, path, "is a file of another user", {}};
  if ((found.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return Error{ErrorCode::InvalidArgument, path, "may be read by others", "run `chmod 600 " + path + "`"};
  std::string content(static_cast<std::size_t>(found.st_size), '\0');
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t count = ::read(file.get(), content.data() + done, content.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(path, "read");
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  content.resize(done);
  return content;
}

FileLock::FileLock(const std::string& path, Kind kind)
    : file_(::open(path.c_str(), (kind == Kind::Exclusive ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW,
                   0600)) {
  while (file_ && ::flock(file_.get(), kind == Kind::Exclusive ? LOCK_EX : LOCK_SH) != 0 && errno == EINTR) {
  }
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code gone;
  // A loop over the iterator would throw where a directory goes away meanwhile.
  for (fs::directory_iterator at{directory, gone}, end; !gone && at != end; at.increment(gone))
    names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace penstock
