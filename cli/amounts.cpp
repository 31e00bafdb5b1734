#include "cli/amounts.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace penstock::cli {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kCenturySeconds = 36525.0 * 86400;

constexpr std::array kDurationUnits{Unit{"ns", 1.0}, Unit{"us", 1e3},   Unit{"ms", 1e6},   Unit{"s", 1e9},
                                    Unit{"m", 60e9}, Unit{"min", 60e9}, Unit{"h", 3600e9}, Unit{"d", 86400e9}};
constexpr std::array kBytesUnits{Unit{"", 1.0},       Unit{"B", 1.0},      Unit{"kB", 1e3},     Unit{"MB", 1e6},
                                 Unit{"GB", 1e9},     Unit{"TB", 1e12},    Unit{"PB", 1e15},    Unit{"EB", 1e18},
                                 Unit{"KiB", 0x1p10}, Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40},
                                 Unit{"PiB", 0x1p50}, Unit{"EiB", 0x1p60}};

struct Quantity {
  double value = 0;
  std::string_view unit;
};

// A number, blanks, a word. False if it does not begin with a number.
bool split_quantity(std::string_view text, Quantity& quantity) {
  const auto [end, failure] =
      std::from_chars(text.data(), text.data() + text.size(), quantity.value, std::chars_format::fixed);
  if (failure != std::errc{} || !std::isfinite(quantity.value)) return false;
  quantity.unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (!quantity.unit.empty() && quantity.unit.front() == ' ') quantity.unit.remove_prefix(1);
  return true;
}

template <std::size_t size>
const Unit* find_unit(const std::array<Unit, size>& units, std::string_view name) {
  for (const Unit& unit : units)
    if (unit.name == name) return &unit;
  return nullptr;
}

Error refuse(std::string_view text, const char* message, const char* remedy) {
  return {ErrorCode::InvalidArgument, "'" + std::string{text.substr(0, 64)} + "'", message, remedy};
}

}  // namespace

Result<Duration> parse_duration_text(std::string_view text) {
  constexpr const char* kUnits = "like '10s' or '250ms'; units: ns, us, ms, s, min, h, d";
  Quantity quantity;
  if (!split_quantity(text, quantity)) return refuse(text, "is no duration", kUnits);
  if (quantity.unit.empty()) return refuse(text, "is a duration without a unit", kUnits);
  const Unit* unit = find_unit(kDurationUnits, quantity.unit);
  if (unit == nullptr) return refuse(text, "has an unknown unit of time", kUnits);
  if (quantity.value < 0) return refuse(text, "is a negative duration", "");
  if (quantity.value * unit->factor > kCenturySeconds * 1e9) return refuse(text, "is longer than a century", "");
  return Duration{std::llround(quantity.value * unit->factor)};
}

Result<Duration> duration_of_seconds(double seconds) {
  const auto shown = [&] { return show_fixed(seconds, 3) + " s"; };
  if (!std::isfinite(seconds)) return refuse("seconds", "is not a finite duration", "");
  if (seconds < 0) return refuse(shown(), "is a negative duration", "");
  if (seconds > kCenturySeconds) return refuse(shown(), "is longer than a century", "");
  return Duration{std::llround(seconds * 1e9)};
}

Result<Bytes> parse_bytes_text(std::string_view text) {
  constexpr const char* kUnits = "like '512MiB'; units: B, kB, MB, GB, TB, PB, EB, KiB, MiB, GiB, TiB, PiB, EiB";
  Quantity quantity;
  if (!split_quantity(text, quantity)) return refuse(text, "is no amount of bytes", kUnits);
  const Unit* unit = find_unit(kBytesUnits, quantity.unit);
  if (unit == nullptr) return refuse(text, "has an unknown unit of bytes", kUnits);
  if (quantity.value < 0) return refuse(text, "is a negative amount of bytes", "");
  if (quantity.value * unit->factor >= 0x1p63) return refuse(text, "is more bytes than 64 bits can count", "");
  return Bytes{static_cast<std::int64_t>(std::floor(quantity.value * unit->factor))};
}

std::string show_fixed(double value, int digits) {
  std::array<char, 512> buffer{};
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, digits).ptr;
  return {buffer.data(), end};
}

std::string show_duration(Duration duration) {
  const auto ns = static_cast<double>(duration.count());
  const auto three = [](double value) { return show_fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0); };
  const auto padded = [](std::int64_t value) { return (value < 10 ? "0" : "") + std::to_string(value); };
  if (duration < Duration{0}) return "-" + show_duration(duration == Duration::min() ? Duration::max() : -duration);
  if (duration.count() == 0) return "0 s";
  if (ns < 1e3) return std::to_string(duration.count()) + " ns";
  if (ns < 999.5e3) return three(ns / 1e3) + " us";
  if (ns < 999.5e6) return three(ns / 1e6) + " ms";
  if (ns < 119.5e9) return three(ns / 1e9) + " s";
  const std::int64_t seconds = std::llround(ns / 1e9);
  if (seconds < 7200) return std::to_string(seconds / 60) + " min " + padded(seconds % 60) + " s";
  const std::int64_t minutes = seconds / 60;
  if (minutes < 48 * 60) return std::to_string(minutes / 60) + " h " + padded(minutes % 60) + " min";
  return std::to_string(minutes / 1440) + " d " + padded(minutes / 60 % 24) + " h";
}

std::string show_bytes(std::int64_t bytes) {
  constexpr std::array kNames{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 0) return "-" + show_bytes(bytes == INT64_MIN ? INT64_MAX : -bytes);
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t name = 0;
  for (; value >= 1023.95 && name + 1 < kNames.size(); ++name) value /= 1024;
  return show_fixed(value, value < 99.95 ? 1 : 0) + " " + kNames[name];
}

std::string show_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

}  // namespace penstock::cli
