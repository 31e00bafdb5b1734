#include "common/storage/durable_files.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

namespace penstock {
namespace {

namespace fs = std::filesystem;

/// Written last into the fresh directory: it is complete. The content names how to keep the directory that it replaces.
constexpr const char* kComplete = "/REPLACES";

Error error_of(const std::string& path, const std::error_code& code) {
  if (code == std::errc::no_space_on_device)
    return {ErrorCode::StorageFull, path, "the disk is full", "make room, and try again"};
  if (code == std::errc::no_such_file_or_directory) return {ErrorCode::NotFound, path, "is not there", {}};
  return {ErrorCode::Internal, path, code.message(), {}};
}

Error last_error(const std::string& path) { return error_of(path, {errno, std::generic_category()}); }

std::string parent_of(const std::string& path) {
  const fs::path parent = fs::path{path}.parent_path();
  return parent.empty() ? "." : parent.string();
}

bool is_of_a_holder(const std::string& name) {
  return name == "LOCK" || name == "OWNER" || name == "OWNER.LOCK" || name == "REPLACES";
}

std::vector<fs::path> files_of(const std::string& directory, std::error_code& code) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator{directory, code})
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.rbegin(), files.rend());
  return files;
}

Result<void> copy_one(const fs::path& from, const fs::path& to) {
  std::error_code code;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, code);
  if (code) return error_of(from.string(), code);
  return sync_path(to.string());
}

Result<void> rename_path(const std::string& from, const std::string& to) {
  std::error_code code;
  fs::rename(from, to, code);
  if (code) return error_of(from, code);
  return sync_path(parent_of(to));
}

std::string free_name(const std::string& directory, const std::string& kept_as) {
  std::error_code ignored;
  for (int number = 1;; ++number)
    if (std::string name = directory + "." + kept_as + "-" + std::to_string(number); !fs::exists(name, ignored))
      return name;
}

std::string first_line(const std::string& path) {
  std::ifstream file{path};
  std::string line;
  std::getline(file, line);
  return line;
}

/// After the exchange: the old content has the name of the fresh one.
Result<std::string> put_aside(const std::string& directory, const std::string& kept_as) {
  const std::string kept = free_name(directory, kept_as);
  PENSTOCK_TRY(rename_path(fresh_beside(directory), kept));
  std::error_code ignored;
  fs::remove(directory + kComplete, ignored);
  return kept;
}

}  // namespace

Result<void> sync_path(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return last_error(path);
  const int failed = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  if (failed != 0) return error_of(path, {failed, std::generic_category()});
  return {};
}

Result<void> copy_directory(const std::string& from, const std::string& to, Share share) {
  std::error_code code;
  fs::create_directories(to, code);
  if (code) return error_of(to, code);
  for (const fs::path& file : files_of(from, code)) {
    if (is_of_a_holder(file.filename())) continue;
    const fs::path target = fs::path{to} / file.filename();
    if (share == Share::Tables && file.extension() == ".sst") {
      fs::create_hard_link(file, target, code);
      if (!code) continue;
      if (code == std::errc::no_such_file_or_directory) return error_of(file.string(), code);
      code.clear();  // A file system without links.
    }
    PENSTOCK_TRY(copy_one(file, target));
  }
  if (code) return error_of(from, code);
  return sync_path(to);
}

std::string fresh_beside(const std::string& directory) { return directory + ".new"; }

Result<std::string> replace_directory(const std::string& directory, const std::string& kept_as) {
  const std::string fresh = fresh_beside(directory);
  std::ofstream{fresh + kComplete, std::ios::trunc} << kept_as << '\n';
  PENSTOCK_TRY(sync_path(fresh + kComplete));
  PENSTOCK_TRY(sync_path(fresh));
  std::error_code code;
  if (!fs::exists(directory, code)) {
    PENSTOCK_TRY(rename_path(fresh, directory));
    fs::remove(directory + kComplete, code);
    return std::string{};
  }
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, directory.c_str(), RENAME_EXCHANGE) == 0) {
    PENSTOCK_TRY(sync_path(parent_of(directory)));
    return put_aside(directory, kept_as);
  }
  if (errno != EINVAL && errno != ENOSYS) return last_error(fresh);
  // The file system cannot exchange. Between the two steps no directory has the name; `finish_replacement` does the
  // second.
  std::string kept = free_name(directory, kept_as);
  PENSTOCK_TRY(rename_path(directory, kept));
  PENSTOCK_TRY(rename_path(fresh, directory));
  fs::remove(directory + kComplete, code);
  return kept;
}

Result<void> finish_replacement(const std::string& directory) {
  std::error_code code;
  const std::string fresh = fresh_beside(directory);
  if (!fs::exists(directory, code)) {
    if (fs::exists(fresh + kComplete, code)) {
      PENSTOCK_TRY(rename_path(fresh, directory));
      fs::remove(directory + kComplete, code);
    } else if (fs::exists(directory + ".salvaged", code)) {
      // Up to 0.1.0 a salvage was two renames; the first came when this directory was complete.
      return rename_path(directory + ".salvaged", directory);
    }
    return {};
  }
  if (fs::exists(directory + kComplete, code)) {
    if (!fs::exists(fresh, code)) {
      fs::remove(directory + kComplete, code);
      return {};
    }
    const Result<std::string> kept = put_aside(directory, first_line(directory + kComplete));
    if (!kept) return kept.error();
    return {};
  }
  fs::remove_all(fresh, code);  // The directory was not complete, or its completion was not reported.
  return {};
}

Result<void> orphan_open_files(const std::string& directory) {
  std::error_code code;
  for (const fs::path& file : files_of(directory, code)) {
    if (file.extension() == ".sst") continue;
    if (is_of_a_holder(file.filename()) || file.extension() == ".own") {
      fs::remove(file, code);
    } else {
      const std::string own = file.string() + ".own";
      PENSTOCK_TRY(copy_one(file, own));
      fs::rename(own, file, code);
    }
    if (code) return error_of(file.string(), code);
  }
  if (code) return error_of(directory, code);
  return sync_path(directory);
}

}  // namespace penstock
