#include "tools/policy/command_policy_positions.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace penstock::tools {
namespace {

bool smaller_amount(const Decimal& a, const Decimal& b) {
  return a.point != b.point ? a.point < b.point : a.digits < b.digits;
}

int sign_of(const Decimal& number) { return number.digits.empty() ? 0 : number.negative ? -1 : 1; }

bool take(std::string_view& text, std::string_view choice) {
  if (text.empty() || choice.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

void take_digits(std::string_view& text, std::string& digits) {
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    digits += text.front();
    text.remove_prefix(1);
  }
}

}  // namespace

bool operator<(const Decimal& a, const Decimal& b) {
  if (sign_of(a) != sign_of(b)) return sign_of(a) < sign_of(b);
  return a.negative ? smaller_amount(b, a) : smaller_amount(a, b);
}

std::optional<Decimal> parse_decimal(std::string_view text) {
  Decimal number;
  number.negative = text.starts_with('-');
  (void)take(text, "+-");
  take_digits(text, number.digits);
  number.point = std::ssize(number.digits);
  if (take(text, ".")) take_digits(text, number.digits);
  if (number.digits.empty()) return std::nullopt;
  if (take(text, "eE")) {
    if (take(text, "+") && text.starts_with('-')) return std::nullopt;
    std::int32_t power = 0;
    const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), power);
    if (failure != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    number.point += power;
  }
  if (!text.empty()) return std::nullopt;
  const std::size_t first = number.digits.find_first_not_of('0');
  if (first == std::string::npos) return Decimal{};
  number.digits.erase(0, first);
  number.digits.erase(number.digits.find_last_not_of('0') + 1);
  number.point -= static_cast<std::int64_t>(first);
  return number;
}

std::optional<Decimal> decimal_of(const cli::DocumentValue& value) {
  if (value.kind == cli::DocumentValue::Kind::Integer) return parse_decimal(std::to_string(value.integer));
  if (value.is_text()) return parse_decimal(value.text);
  if (!value.is_number()) return std::nullopt;
  std::array<char, 32> text{};  // The shortest exact text of a double has at most 24 characters.
  const char* const end = std::to_chars(text.data(), text.data() + text.size(), value.number).ptr;
  return parse_decimal({text.data(), end});
}

}  // namespace penstock::tools
