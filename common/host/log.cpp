#include "common/host/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "common/base/check.hpp"
#include "common/host/clock.hpp"

namespace penstock {
namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::Debug: return spdlog::level::debug;
    case LogLevel::Info: return spdlog::level::info;
    case LogLevel::Warn: return spdlog::level::warn;
    case LogLevel::Error: return spdlog::level::err;
    case LogLevel::Off: return spdlog::level::off;
  }
  return spdlog::level::off;
}

/// Counts repetitions of a line within a second. Invariant: `recent` holds only lines of the present second; the mutex
/// is held for a map look-up. Logging is never on the path of a subtask.
class Repetitions {
 public:
  /// The number of lines that were left out before this one, or -1 if this one is to be left out.
  int admit(const std::string& line) {
    const std::lock_guard lock{mutex_};
    const Instant now = monotonic_now();
    if (now - since_ >= std::chrono::seconds{1}) {
      previous_ = std::exchange(recent_, {});
      since_ = now;
    }
    if (recent_[line]++ > 0) return -1;
    const auto found = previous_.find(line);
    return found == previous_.end() ? 0 : found->second - 1;
  }

 private:
  std::mutex mutex_;
  Instant since_{};
  std::map<std::string, int> recent_;
  std::map<std::string, int> previous_;
};

}  // namespace

void start_log(LogLevel level) {
  auto logger = spdlog::get("penstock");
  if (logger == nullptr) logger = spdlog::stderr_logger_mt("penstock");
  logger->set_level(level_of(level));
  // In UTC, so that logs of hosts can be compared, and so said.
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %v", spdlog::pattern_time_type::utc);
  logger->flush_on(spdlog::level::info);
}

Result<LogLevel> parse_log_level(std::string_view text) {
  if (text == "debug") return LogLevel::Debug;
  if (text == "info") return LogLevel::Info;
  if (text == "warn") return LogLevel::Warn;
  if (text == "error") return LogLevel::Error;
  if (text == "off") return LogLevel::Off;
  return Error{ErrorCode::InvalidArgument, std::string{text}, "is no log level", "use debug, info, warn, error or off"};
}

void log_line(LogLevel level, std::string_view event, std::string_view fields) {
  static Repetitions repetitions;
  const auto logger = spdlog::get("penstock");
  if (logger == nullptr || !logger->should_log(level_of(level))) return;
  std::string line{event};
  if (!fields.empty()) line.append(" ").append(fields);
  // Names come from peers: they must not begin a line that looks like ours, nor control a terminal.
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  const int left_out = repetitions.admit(line);
  if (left_out < 0) return;
  if (left_out > 0) line += " repeated=" + std::to_string(left_out);
  logger->log(level_of(level), line);
}

void log_error(LogLevel level, std::string_view event, const Error& error) {
  log_line(level, event, "code=" + std::string{to_string(error.code)} + " text=\"" + to_string(error) + "\"");
}

void check_failed(const char* condition, const char* file, int line, std::string_view detail) {
  std::fprintf(stderr, "%s:%d: check failed: %s %.*s\nThis is a defect of Penstock; please report it with this line.\n",
               file, line, condition, static_cast<int>(detail.size()), detail.data());
  std::abort();
}

}  // namespace penstock
