// Files that one command reads and writes.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace penstock::tools {

/// A file, and the option that named it.
struct NamedFile {
  std::string option;
  std::string path;  ///< Empty: not requested.
};

/// Checks that every output is a file of its own, and not an input. Devices and pipes may be named several times.
/// Error: InvalidArgument with both options.
Result<void> check_distinct(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written);

/// Replaces the content of a file. Error: InvalidArgument.
Result<void> write_file(const std::string& path, const std::string& text);

}  // namespace penstock::tools
