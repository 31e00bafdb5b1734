// The program of a job file: the fields that a template and a subtask without one share.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/jobfile/field_reader.hpp"
#include "common/protocol/graph.hpp"

namespace penstock::cli {

/// The fields as in the file, with `{i}`. A subtask begins with a copy of its template's, or of the defaults at the top
/// of the file, and its own fields replace them.
struct ProgramText {
  Template content;                    ///< `build_program` fills its program, arguments and environment.
  std::string operator_name;           ///< This or `command`.
  std::vector<std::string> command;    ///< With the arguments of a template.
  bool shell = false;                  ///< The command is one text, for `sh -c`.
  std::vector<std::string> arguments;  ///< Further ones of the subtask itself.
  std::vector<std::pair<std::string, std::string>> environment;
  std::string payload;
  std::optional<Duration> burn;  ///< With `output_bytes` the payload of the operators `burn` and `noop`.
  std::optional<std::int64_t> output_bytes;
  bool own_payload = false;         ///< `payload`, or the two above, are fields of the subtask itself.
  std::int32_t priority_added = 0;  ///< The subtask's own priority, added to its template's.
  bool own_expected = false;
  Duration expected{0};
  std::vector<std::string> output_names;
};

/// The start of relative paths in the file.
struct FileBase {
  std::string directory;
  std::string resolve(const std::string& path) const;
};

/// `cwd`, `env`, `retries`, `attempts`, `time_limit`, `kill_grace`, `on_failure`, `retryable`: also at the top of a
/// file.
void read_limits(FieldReader& reader, const FileBase& base, ProgramText& text);
/// All fields of a program, the limits included.
void read_program(FieldReader& reader, const FileBase& base, ProgramText& text);
/// Turns the fields of a template into the initial fields of its subtasks.
void close_template(ProgramText& text);

/// The use of a program for one subtask.
struct ProgramUse {
  std::optional<std::string_view> item;  ///< Of an array, for `{i}`.
  bool share = false;  ///< Keep constant arguments out of the template too, so that more subtasks share it.
};
struct BuiltProgram {
  Template content;
  std::string payload;   ///< Of the subtask; for a command its last arguments, separated by NUL.
  Duration expected{0};  ///< 0: the template's.
};
BuiltProgram build_program(const ProgramText& text, const ProgramUse& use);

/// The payload of the built-in operators `burn` and `noop`: nanoseconds and bytes as little-endian 64-bit numbers.
std::string burn_payload(Duration burn, std::int64_t output_bytes);

}  // namespace penstock::cli
