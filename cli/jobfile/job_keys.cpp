#include "cli/jobfile/job_keys.hpp"

#include <algorithm>
#include <charconv>

#include "cli/jobfile/field_reader.hpp"
#include "common/base/nearest_name.hpp"

namespace penstock::cli {
namespace {

constexpr std::string_view kAll = "[*]";

Error unknown(std::string message, std::string remedy) {
  return {ErrorCode::UnknownKey, {}, std::move(message), std::move(remedy)};
}

}  // namespace

Result<void> check_key(std::string_view key) {
  PENSTOCK_TRY(check_name_text(key));
  for (const std::string_view reserved : {std::string_view{"#"}, kAll})
    if (key.find(reserved) != std::string_view::npos)
      return Error{ErrorCode::InvalidArgument,
                   {},
                   "the name " + in_quotes(key) + " contains '" + std::string{reserved} + "'",
                   "dependencies give it a meaning"};
  return {};
}

Result<void> KeyTable::add(KeyedEntry entry, const std::vector<std::string>& element_keys) {
  if (entry.is_array && !arrays_.try_emplace(entry.key, static_cast<std::uint32_t>(entries_.size())).second)
    return Error{ErrorCode::DuplicateKey, {}, "two arrays have the key " + in_quotes(entry.key), "keys must be unique"};
  if (entry.is_array ? subtasks_.contains(entry.key) : arrays_.contains(entry.key))
    return Error{ErrorCode::DuplicateKey,
                 {},
                 "an array and a subtask have the key " + in_quotes(entry.key),
                 "keys must be unique"};
  for (std::uint32_t i = 0; i < entry.count; ++i)
    if (!subtasks_.try_emplace(element_keys[i], entry.first + i).second)
      return Error{ErrorCode::DuplicateKey,
                   {},
                   "two subtasks have the key " + in_quotes(element_keys[i]),
                   "keys must be unique"};
  entries_.push_back(std::move(entry));
  return {};
}

Result<KeyTarget> KeyTable::find(std::string_view mention) const {
  const std::size_t hash = mention.find('#');
  Result<KeyTarget> target = find_subtasks(mention.substr(0, hash));
  if (!target || hash == std::string_view::npos) return target;
  const Result<std::uint16_t> output = find_output(target.value(), mention.substr(hash + 1));
  if (!output) return output.error();
  target->output = output.value();
  return target;
}

Result<KeyTarget> KeyTable::find_subtasks(std::string_view key) const {
  if (const auto found = subtasks_.find(std::string{key}); found != subtasks_.end())
    return KeyTarget{found->second, 1, 0};
  const bool all = key.ends_with(kAll);
  const std::string base{all ? key.substr(0, key.size() - kAll.size()) : key};
  if (const auto found = arrays_.find(base); found != arrays_.end()) {
    const KeyedEntry& entry = entries_[found->second];
    if (all) return KeyTarget{entry.first, entry.count, 0};
    return unknown(in_quotes(key) + " is an array", "write '" + base + "[*]' for all of it, or name one element");
  }
  if (all && subtasks_.contains(base)) return unknown(in_quotes(base) + " is no array", "write '" + base + "'");
  NearestName nearest{key};
  for (const KeyedEntry& entry : entries_) nearest.offer(entry.is_array ? entry.key + std::string{kAll} : entry.key);
  if (nearest.best().empty())
    for (const auto& [name, subtask] : subtasks_) nearest.offer(name);
  return unknown("no subtask has the key " + in_quotes(key), nearest.remedy());
}

Result<std::uint16_t> KeyTable::find_output(const KeyTarget& target, std::string_view output) const {
  const auto after =
      std::upper_bound(entries_.begin(), entries_.end(), target.first,
                       [](std::uint32_t subtask, const KeyedEntry& entry) { return subtask < entry.first; });
  const KeyedEntry& entry = *std::prev(after);
  NearestName nearest{output};
  for (std::size_t i = 0; i < entry.output_names.size(); ++i) {
    if (entry.output_names[i] == output) return static_cast<std::uint16_t>(i);
    nearest.offer(entry.output_names[i]);
  }
  std::uint16_t number = 0;
  const auto [end, failure] = std::from_chars(output.data(), output.data() + output.size(), number);
  if (failure == std::errc{} && end == output.data() + output.size() && number < entry.output_count) return number;
  const std::string has =
      entry.output_count == 1 ? "one output, 0" : "outputs 0 to " + std::to_string(entry.output_count - 1);
  return unknown(in_quotes(entry.key) + " has no output " + in_quotes(output) + "; it makes " + has, nearest.remedy());
}

}  // namespace penstock::cli
