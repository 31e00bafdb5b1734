// Log lines of shells: key=value, with ids.
#pragma once

#include <string_view>

#include "common/base/result.hpp"

namespace penstock {

/// `error`: an operator must act; `warn`: degraded, continues; `info`: at most one line for each job or worker event;
/// `debug`: for each batch; no line for each subtask.
enum class LogLevel { Debug, Info, Warn, Error, Off };

/// Sends log lines to standard error, from `level` upwards. Called once by `main`.
void start_log(LogLevel level);
/// `debug`, `info`, `warn`, `error` or `off`.
Result<LogLevel> parse_log_level(std::string_view text);

/// One line: `event` is a fixed word or two, `fields` are `key=value` pairs. From any thread. The same line at most
/// once a second, with a count of those left out. Control characters become `?`.
void log_line(LogLevel level, std::string_view event, std::string_view fields = {});
/// An error with its code, subject and remedy.
void log_error(LogLevel level, std::string_view event, const Error& error);

}  // namespace penstock
