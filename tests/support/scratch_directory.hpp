// A place for a test's files that no other test has.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>  // tidy: allow arrows: mkdtemp

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace penstock {

/// A place where a sync costs nothing, for tests of some thousand small states. REQUIRES: the test needs less than 32
/// MiB.
inline std::filesystem::path memory_directory() {
  const std::filesystem::path memory = "/dev/shm";
  std::error_code ignored;
  return std::filesystem::exists(memory, ignored) ? memory : std::filesystem::temp_directory_path();
}

/// A directory of its own under the temporary one, or under `parent`, removed with all that is in it.
class ScratchDirectory {
 public:
  ScratchDirectory() : ScratchDirectory(std::filesystem::temp_directory_path()) {}
  explicit ScratchDirectory(const std::filesystem::path& parent) : path_(parent / "penstock-test-XXXXXX") {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string at(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file; its path.
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream{at(name), std::ios::binary} << content;
    return at(name);
  }
  /// The whole content of a file; empty if it is not there.
  std::string read(const std::string& name) const {
    std::ifstream file{at(name), std::ios::binary};
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  std::string path_;
};

}  // namespace penstock
