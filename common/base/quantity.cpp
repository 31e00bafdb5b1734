#include "common/base/quantity.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

namespace penstock {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kCentury = kSecond * 86400 * 36525;

// Printing takes the first exact unit, so the preferred names come first.
constexpr std::array kDurationUnits{Unit{"h", 3600 * kSecond}, Unit{"min", 60 * kSecond},  Unit{"s", kSecond},
                                    Unit{"ms", 1'000'000},     Unit{"us", 1000},           Unit{"ns", 1},
                                    Unit{"m", 60 * kSecond},   Unit{"d", 86400 * kSecond}, Unit{"µs", 1000}};
constexpr std::array kBytesUnits{Unit{"EiB", std::int64_t{1} << 60},
                                 Unit{"PiB", std::int64_t{1} << 50},
                                 Unit{"TiB", std::int64_t{1} << 40},
                                 Unit{"GiB", std::int64_t{1} << 30},
                                 Unit{"MiB", std::int64_t{1} << 20},
                                 Unit{"KiB", std::int64_t{1} << 10},
                                 Unit{"B", 1},
                                 Unit{"kB", 1000},
                                 Unit{"MB", 1'000'000},
                                 Unit{"GB", 1'000'000'000},
                                 Unit{"TB", 1'000'000'000'000},
                                 Unit{"PB", 1'000'000'000'000'000},
                                 Unit{"EB", 1'000'000'000'000'000'000}};

/// A number with up to nine digits after the point, and the word after it.
struct Written {
  std::int64_t whole = 0;
  std::int64_t fraction = 0;
  std::int64_t fraction_of = 1;
  std::string_view unit;
  bool too_large = false;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<Written> read_written(std::string_view text) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  Written written;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), written.whole);
  written.too_large = error == std::errc::result_out_of_range;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.size() >= 2 && text.front() == '.' && is_digit(text[1])) {
    text.remove_prefix(1);
    for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
      if (written.fraction_of >= 1'000'000'000) continue;  // A fraction below a nanosecond of a second is ignored.
      written.fraction = written.fraction * 10 + (text.front() - '0');
      written.fraction_of *= 10;
    }
  }
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  written.unit = text;
  return written;
}

/// `written` times `factor`, rounded down; none if it does not fit.
std::optional<std::int64_t> scaled(const Written& written, std::int64_t factor) {
  std::int64_t whole = 0;
  if (written.too_large || __builtin_mul_overflow(written.whole, factor, &whole)) return std::nullopt;
  // In two parts, so that no product exceeds 64 bits: 10^9 times 10^9 at most.
  const std::int64_t part = factor / written.fraction_of * written.fraction +
                            factor % written.fraction_of * written.fraction / written.fraction_of;
  if (__builtin_add_overflow(whole, part, &whole)) return std::nullopt;
  return whole;
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

template <std::size_t size>
std::string print(std::int64_t value, const std::array<Unit, size>& units, const char* zero) {
  if (value == 0) return zero;
  for (const Unit& unit : units)
    if (value % unit.factor == 0) return std::to_string(value / unit.factor) + std::string{unit.name};
  return {};
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  constexpr const char* kRemedy = "write it like 10s or 250ms; units are ns, us, ms, s, min, h, d";
  if (text == "0") return Duration{0};
  const std::optional<Written> written = read_written(text);
  if (!written) return refuse(text, text.starts_with('-') ? "is a negative duration" : "is no duration", kRemedy);
  if (written->unit.empty()) return refuse(text, "is a duration without a unit", kRemedy);
  const Unit* unit = find_unit(kDurationUnits, written->unit);
  if (unit == nullptr) return refuse(text, "has an unknown unit of time", kRemedy);
  const std::optional<std::int64_t> duration = scaled(*written, unit->factor);
  if (!duration || *duration > kCentury) return refuse(text, "is longer than a century", "");
  return Duration{*duration};
}

Result<Bytes> parse_bytes(std::string_view text) {
  constexpr const char* kRemedy =
      "write it like 512MiB; units are B, kB, MB, GB, TB, PB, EB, KiB, MiB, GiB, TiB, PiB, EiB";
  const std::optional<Written> written = read_written(text);
  if (!written)
    return refuse(text, text.starts_with('-') ? "is a negative amount of bytes" : "is no amount of bytes", kRemedy);
  const Unit* unit = find_unit(kBytesUnits, written->unit.empty() ? "B" : written->unit);
  if (unit == nullptr) return refuse(text, "has an unknown unit of bytes", kRemedy);
  const std::optional<std::int64_t> bytes = scaled(*written, unit->factor);
  if (!bytes) return refuse(text, "is more bytes than 64 bits can count", "");
  return Bytes{*bytes};
}

std::string to_text(Duration duration) { return print(duration.count(), kDurationUnits, "0s"); }
std::string to_text(Bytes bytes) { return print(bytes.value(), kBytesUnits, "0B"); }

}  // namespace penstock
