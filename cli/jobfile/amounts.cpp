#include "cli/jobfile/amounts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace penstock::cli {
namespace {

constexpr double kCenturySeconds = 36525.0 * 86400;

Error refuse(std::string_view text, const char* message, const char* remedy) {
  return {ErrorCode::InvalidArgument, "'" + std::string{text.substr(0, 64)} + "'", message, remedy};
}

}  // namespace

Result<Duration> duration_of_seconds(double seconds) {
  const auto shown = [&] { return show_fixed(seconds, 3) + " s"; };
  if (!std::isfinite(seconds)) return refuse("seconds", "is not a finite duration", "");
  if (seconds < 0) return refuse(shown(), "is a negative duration", "");
  if (seconds > kCenturySeconds) return refuse(shown(), "is longer than a century", "");
  return Duration{std::llround(seconds * 1e9)};
}

std::string show_fixed(double value, int digits) {
  std::array<char, 512> buffer{};
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, digits).ptr;
  return {buffer.data(), end};
}

std::string show_rounded(double value, int digits) {
  if (!std::isfinite(value) || value == 0) return show_fixed(value, 0);
  const int before_point = static_cast<int>(std::floor(std::log10(std::fabs(value)))) + 1;
  // Twelve digits; smaller parts are of no use to people.
  std::string text = show_fixed(value, std::clamp(digits - before_point, 0, 12));
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
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
  if (minutes < 2880) return std::to_string(minutes / 60) + " h " + padded(minutes % 60) + " min";
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
