#include "cli/jobfile/job_array.hpp"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "cli/jobfile/field_reader.hpp"

namespace penstock::cli {
namespace {

constexpr std::string_view kPlaceholder = "{i}";

Error refuse(std::string message, std::string remedy = {}) {
  return {ErrorCode::InvalidArgument, {}, std::move(message), std::move(remedy)};
}

bool read_number(std::string_view text, std::uint64_t& number) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc{} && end == text.data() + text.size() && !text.empty();
}

// One of `7`, `1-10`, `0-90:10`.
Result<void> add_range(std::string_view text, std::uint64_t items_max, std::vector<std::string>& items) {
  const std::string shown = in_quotes(text);
  const auto wrong = [&] { return refuse(shown + " is no range of numbers", "like '1-10', '0-90:10' or '1-3,7'"); };
  std::uint64_t low = 0, high = 0, step = 1;
  std::string_view range = text;
  if (const std::size_t colon = range.find(':'); colon != std::string_view::npos) {
    if (!read_number(range.substr(colon + 1), step) || step == 0) return wrong();
    range = range.substr(0, colon);
  }
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
  if (!read_number(first, low) || !read_number(last, high)) return wrong();
  if (high < low) return refuse(shown + " ends before it begins");
  if ((high - low) / step >= items_max - items.size())
    return Error{
        ErrorCode::LimitExceeded, {}, shown + " makes more than " + std::to_string(items_max) + " subtasks", {}};
  const std::size_t width = first.size() == last.size() && first.front() == '0' ? first.size() : 0;
  for (std::uint64_t number = low;; number += step) {
    std::string item = std::to_string(number);
    if (item.size() < width) item.insert(0, width - item.size(), '0');
    items.push_back(std::move(item));
    if (high - number < step) break;
  }
  return {};
}

Result<void> add_item(const DocumentValue& value, std::vector<std::string>& items) {
  if (value.kind == DocumentValue::Kind::Integer) {
    items.push_back(std::to_string(value.integer));
    return {};
  }
  if (!value.is_text()) return refuse("must hold texts and integers, not " + std::string{kind_name(value)});
  if (const Result<void> good = check_name_text(value.text); !good) return refuse(good.error().message);
  items.push_back(value.text);
  return {};
}

}  // namespace

Result<std::vector<std::string>> read_array(const DocumentValue& value, std::uint64_t items_max) {
  std::vector<std::string> items;
  if (value.is_text()) {
    std::string_view rest = value.text;
    while (true) {
      const std::size_t comma = rest.find(',');
      std::string_view part = rest.substr(0, comma);
      while (part.starts_with(' ')) part.remove_prefix(1);
      while (part.ends_with(' ')) part.remove_suffix(1);
      PENSTOCK_TRY(add_range(part, items_max, items));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  } else if (value.is_list()) {
    if (value.items.size() > items_max)
      return Error{ErrorCode::LimitExceeded, {}, "makes more than " + std::to_string(items_max) + " subtasks", {}};
    for (const DocumentValue& item : value.items) PENSTOCK_TRY(add_item(item, items));
  } else {
    return refuse("must be a text like '1-10' or a list, not " + std::string{kind_name(value)});
  }
  if (items.empty()) return refuse("is empty");
  std::unordered_set<std::string_view> seen;
  for (const std::string& item : items)
    if (!seen.insert(item).second) return Error{ErrorCode::DuplicateKey, {}, "holds " + in_quotes(item) + " twice", {}};
  return items;
}

bool has_placeholder(std::string_view text) { return text.find(kPlaceholder) != std::string_view::npos; }

std::string substitute(std::string_view text, std::string_view item) {
  std::string made;
  while (true) {
    const std::size_t at = text.find(kPlaceholder);
    if (at == std::string_view::npos) return made += text;
    const bool literal = at > 0 && text[at - 1] == '{' && text.substr(at + kPlaceholder.size()).starts_with('}');
    made += text.substr(0, literal ? at - 1 : at);
    made += literal ? kPlaceholder : item;
    text.remove_prefix(at + kPlaceholder.size() + (literal ? 1 : 0));
  }
}

}  // namespace penstock::cli
