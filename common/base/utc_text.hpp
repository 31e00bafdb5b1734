// Times of the wall clock as people read them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

namespace penstock {

/// Milliseconds since 1970 as `2026-11-30T09:12:31Z`; times outside the years 1000 to 9999 are the first or the last
/// second of these.
inline std::string utc_text(std::int64_t unix_ms) {
  using std::chrono::sys_days, std::chrono::year;
  const auto midnight = [](year in) { return std::chrono::sys_seconds{sys_days{in / 1 / 1}}; };
  constexpr std::chrono::seconds kOne{1};
  const auto at =
      std::clamp(std::chrono::sys_seconds{std::chrono::floor<std::chrono::seconds>(std::chrono::milliseconds{unix_ms})},
                 midnight(year{1000}), midnight(year{10'000}) - kOne);
  const sys_days day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{at - day};
  const auto padded = [](std::int64_t number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  return std::to_string(static_cast<int>(date.year())) + "-" + padded(static_cast<unsigned>(date.month())) + "-" +
         padded(static_cast<unsigned>(date.day())) + "T" + padded(time.hours().count()) + ":" +
         padded(time.minutes().count()) + ":" + padded(time.seconds().count()) + "Z";
}

}  // namespace penstock
