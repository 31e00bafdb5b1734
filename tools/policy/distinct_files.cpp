#include "tools/policy/distinct_files.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace penstock::tools {
namespace {

/// Detects the same file also by another name, a link or another folder.
bool same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(a, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) return false;
  if (std::filesystem::equivalent(a, b, ignored)) return true;
  const auto whole = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
  };
  return !whole(a).empty() && whole(a) == whole(b);
}

}  // namespace

Result<void> check_distinct(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written) {
  std::vector<NamedFile> known = read;
  for (const NamedFile& each : written) {
    if (each.path.empty()) continue;
    for (const NamedFile& other : known)
      if (!other.path.empty() && same_file(each.path, other.path))
        return Error{ErrorCode::InvalidArgument, each.path,
                     "would be written by " + each.option + ", and is the file of " + other.option + " too",
                     "name another file"};
    known.push_back(each);
  }
  return {};
}

Result<void> write_file(const std::string& path, const std::string& text) {
  std::ofstream file{path, std::ios::binary};
  file << text;
  file.close();
  if (!file) return Error{ErrorCode::InvalidArgument, path, "cannot be written", "name a file in a folder that exists"};
  return {};
}

}  // namespace penstock::tools
