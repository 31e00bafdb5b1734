#include "common/base/attempt_id.hpp"

#include <charconv>

namespace penstock {
namespace {

/// All of the text, as the printed form has it.
template <class Number>
bool read_whole(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string attempt_id_of(const JobIdentity& identity, SubtaskIndex subtask, Attempt attempt) {
  return to_string(identity) + "-" + std::to_string(subtask.value()) + "-" + std::to_string(attempt.value());
}

std::optional<AttemptName> parse_attempt_id(std::string_view text) {
  constexpr std::size_t kIdentityDigits = 32;
  if (text.size() <= kIdentityDigits || text[kIdentityDigits] != '-') return std::nullopt;
  const JobIdentity identity = parse_identity(text.substr(0, kIdentityDigits));
  if (!identity.valid() && text.find_first_not_of('0') < kIdentityDigits) return std::nullopt;
  const std::string_view numbers = text.substr(kIdentityDigits + 1);
  const std::size_t dash = numbers.find('-');
  std::uint32_t subtask = 0;
  std::uint64_t attempt = 0;
  if (dash == std::string_view::npos || !read_whole(numbers.substr(0, dash), subtask) ||
      !read_whole(numbers.substr(dash + 1), attempt))
    return std::nullopt;
  return AttemptName{identity, SubtaskIndex{subtask}, Attempt{attempt}};
}

}  // namespace penstock
