#include "tools/policy/command_policy_positions.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "supervisor/policy/snapshot.hpp"

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

bool CasePositions::set(std::uint32_t workload, const cli::DocumentValue& value) {
  if (value.kind == cli::DocumentValue::Kind::Null) return true;
  if (value.kind == cli::DocumentValue::Kind::Integer) return set(workload, value.integer), true;
  std::array<char, 32> text{};  // The shortest exact text of a double has at most 24 characters.
  const char* const end = std::to_chars(text.data(), text.data() + text.size(), value.number).ptr;
  if (!value.is_text() && !value.is_number()) return false;
  const std::optional<Decimal> number =
      parse_decimal(value.is_text() ? std::string_view{value.text} : std::string_view{text.data(), end});
  if (number) positions_[workload] = *number;
  return number.has_value();
}

void CasePositions::set(std::uint32_t workload, std::int64_t value) {
  positions_[workload] = *parse_decimal(std::to_string(value));
}

void CasePositions::reset(std::uint32_t workload, std::int64_t submitted) {
  if (positions_.contains(workload)) set(workload, submitted);
}

void CasePositions::give_to(policy::Snapshot& snapshot) const {
  std::vector<Decimal> values{Decimal{}};
  for (const auto& [workload, value] : positions_) values.push_back(value);
  std::sort(values.begin(), values.end());
  const auto same = [](const Decimal& a, const Decimal& b) { return !(a < b); };
  values.erase(std::unique(values.begin(), values.end(), same), values.end());
  const auto zero = std::lower_bound(values.begin(), values.end(), Decimal{});
  for (const auto& [workload, value] : positions_)
    snapshot.workloads[workload].position = std::lower_bound(values.begin(), values.end(), value) - zero;
}

}  // namespace penstock::tools
