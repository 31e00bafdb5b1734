#include "common/storage/rocksdb_list.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/storage/rocksdb_pieces.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLengthFile = "/MANIFEST.LENGTH";

/// The list in force; empty: none.
std::string list_in_force(const std::string& directory) {
  std::ifstream file{directory + "/CURRENT"};
  std::string name;
  file >> name;
  return name;
}

/// Content that can be read may not be on the disk yet.
bool sync(const std::string& place) {
  const int file = ::open(place.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool done = ::fdatasync(file) == 0;
  ::close(file);
  return done;
}

}  // namespace

Result<void> ListLength::check(const std::string& directory) {
  const std::string name = list_in_force(directory);
  std::ifstream list{directory + "/" + name, std::ios::binary};
  if (name.empty() || !list) return {};  // Opening reports a missing list.
  std::stringstream text;
  text << list.rdbuf();
  const std::string content = text.str();
  const LogExtent intact = extent_of_log(content);
  std::ifstream file{directory + kLengthFile};
  std::string noted;
  std::uintmax_t bytes = 0;
  if (!(file >> noted >> bytes) || noted != name) bytes = 0;
  if (intact.gaps == 0 && intact.end >= bytes) return {};
  const std::string how = content.size() < bytes
                              ? "has " + std::to_string(content.size()) + " bytes and had " + std::to_string(bytes)
                              : "cannot be read behind byte " + std::to_string(intact.end);
  return Error{ErrorCode::StorageDamaged, directory, "its list of files " + name + " " + how,
               "start once with `--salvage` to keep what is intact"};
}

void ListLength::note() {
  const std::lock_guard lock{mutex_};
  const std::string name = list_in_force(directory_);
  std::error_code failed;
  const std::uintmax_t bytes = fs::file_size(directory_ + "/" + name, failed);
  if (failed || !sync(directory_ + "/" + name)) return;
  const std::string place = directory_ + kLengthFile;
  std::ofstream file{place + ".new", std::ios::trunc};
  file << name << ' ' << bytes << '\n';
  file.close();
  if (file) fs::rename(place + ".new", place, failed);
}

}  // namespace penstock
