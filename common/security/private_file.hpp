// Files that only their owner may read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/host/descriptor.hpp"

namespace penstock {

/// Makes the directory, for its owner alone, and those above it. Error: InvalidArgument: it cannot be made, or an
/// existing one is of another user or others may write to it.
Result<void> make_private_directory(const std::string& path);

/// Writes the file in one step: a reader, or a kill, finds the old content or the new one. Its mode is 0600 from the
/// first byte. Errors: InvalidArgument, StorageFull.
Result<void> write_private_file(const std::string& path, const std::string& content);

/// Length limit of a file of a key or a certificate, in bytes.
inline constexpr std::size_t kPrivateFileBytesMax = 1 << 20;

/// Errors: NotFound; InvalidArgument: the file is of another user, others may read it, or it is too long.
Result<std::string> read_private_file(const std::string& path, std::size_t bytes_max = kPrivateFileBytesMax);

/// A lock between processes, held for as long as this lives; waits for it. Converts to false if the file cannot be
/// opened.
class FileLock {
 public:
  enum class Kind : std::uint8_t {
    Exclusive,  ///< Makes the file if it is not there.
    Shared,
  };
  FileLock(const std::string& path, Kind kind);
  explicit operator bool() const { return static_cast<bool>(file_); }

 private:
  Descriptor file_;
};

/// The names in a directory, in order; none if it is not there. A directory may change meanwhile.
std::vector<std::string> names_in(const std::string& directory);

}  // namespace penstock
