// The keys of a job file's subtasks, and the meaning of a dependency on them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/result.hpp"

namespace penstock::cli {

/// One entry of the file: a subtask, or an array of them in a row.
struct KeyedEntry {
  std::string key;
  std::uint32_t first = 0;
  std::uint32_t count = 1;
  bool is_array = false;
  std::uint16_t output_count = 1;
  std::vector<std::string> output_names;
};

/// The target of a dependency: some subtasks in a row, and one output of each.
struct KeyTarget {
  std::uint32_t first = 0;
  std::uint32_t count = 1;
  std::uint16_t output = 0;
};

class KeyTable {
 public:
  /// Adds the keys of an entry: `element_keys`, one for each subtask. Error without subject: DuplicateKey.
  Result<void> add(KeyedEntry entry, const std::vector<std::string>& element_keys);
  /// `key`, `key[*]`, and each with `#output`, by number or name. Error without subject: UnknownKey.
  Result<KeyTarget> find(std::string_view mention) const;
  const std::vector<KeyedEntry>& entries() const { return entries_; }

 private:
  Result<KeyTarget> find_subtasks(std::string_view key) const;
  Result<std::uint16_t> find_output(const KeyTarget& target, std::string_view output) const;

  std::vector<KeyedEntry> entries_;
  std::unordered_map<std::string, std::uint32_t> subtasks_;
  std::unordered_map<std::string, std::uint32_t> arrays_;  ///< Key of an array: position in `entries_`.
};

/// Refuses names with special meaning in dependencies, beside the rules for names: `#` and `[*]`.
Result<void> check_key(std::string_view key);

}  // namespace penstock::cli
