// An audit in a directory of its own, for tests.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "supervisor/audit/audit_book.hpp"
#include "supervisor/audit/audit_check.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock::supervisor {

inline AuditRecord audit_record(const std::string& what) {
  AuditRecord record;
  record.event = audit_event::kOrder;
  record.at_ms = 1'795'938'165'123;
  record.what = what;
  return record;
}

/// The directory with its authority, and books that write there.
class AuditFiles {
 public:
  AuditFiles() { static_cast<void>(Authority::open(scratch_.at("authority")).has_value()); }

  AuditBook book(std::uint64_t file_bytes_max = 1U << 20U, std::uint32_t keep_files = 0) const {
    return std::move(AuditBook::open({directory(), file_bytes_max, keep_files}, authority())).value();
  }
  /// Appends each as a batch of its own.
  void write(AuditBook& book, std::uint32_t count, const std::string& what = "order ") {
    for (std::uint32_t i = 0; i < count; ++i)
      static_cast<void>(book.append({audit_record(what + std::to_string(i))}).value());
  }
  Authority authority() const { return Authority::open(scratch_.at("authority")).value(); }
  /// The present one is gone.
  void replace_authority() { std::filesystem::remove_all(scratch_.at("authority")); }

  std::string directory() const { return scratch_.at("audit"); }
  std::string path(std::uint32_t file = 1) const { return directory() + "/" + audit_file_name(file); }
  std::vector<std::string> lines(std::uint32_t file = 1) const {
    std::vector<std::string> found;
    std::istringstream text{scratch_.read("audit/" + audit_file_name(file))};
    for (std::string line; std::getline(text, line);) found.push_back(line);
    return found;
  }
  void put(const std::vector<std::string>& lines, std::uint32_t file = 1) const {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    scratch_.write("audit/" + audit_file_name(file), text);
  }
  void put_text(const std::string& name, const std::string& text) const { scratch_.write("audit/" + name, text); }
  std::string text(const std::string& name) const { return scratch_.read("audit/" + name); }
  std::size_t bytes(std::uint32_t file = 1) const { return std::filesystem::file_size(path(file)); }

  AuditVerdict check(const std::optional<ChainPoint>& noted = std::nullopt) const {
    const Authority own = authority();
    return check_audit(directory(), own.certificate(), noted).value();
  }
  /// All findings, one a line.
  std::string findings(const std::optional<ChainPoint>& noted = std::nullopt) const {
    std::string all;
    for (const std::string& finding : check(noted).findings) all += finding + "\n";
    return all;
  }

 private:
  ScratchDirectory scratch_;
};

}  // namespace penstock::supervisor
