// What a job file says of a program: the fields that a template and a subtask without one share.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/jobfile/field_reader.hpp"
#include "common/protocol/graph.hpp"

namespace penstock::cli {

/// The fields as they stand in the file, `{i}` and all. A subtask begins with a copy of its template's, or of the
/// defaults at the top of the file, and its own fields replace them.
struct ProgramText {
  Template content;                    ///< Its program, arguments and environment are only filled by `build_program`.
  std::string operator_name;           ///< This or `command`.
  std::vector<std::string> command;    ///< With the arguments of a template.
  bool shell = false;                  ///< The command was one text, for `sh -c`.
  std::vector<std::string> arguments;  ///< Further ones of the subtask itself.
  std::vector<std::pair<std::string, std::string>> environment;
  std::string payload;
  std::optional<Duration> burn;  ///< With `output_bytes` the payload of the operators `burn` and `noop`.
  std::optional<std::int64_t> output_bytes;
  bool own_payload = false;         ///< `payload`, or the two above, were said by the subtask itself.
  std::int32_t priority_added = 0;  ///< What the subtask itself wants beyond its template.
  bool own_expected = false;
  Duration expected{0};
  std::vector<std::string> output_names;
};

/// Where relative paths of the file begin.
struct FileBase {
  std::string directory;
  std::string resolve(const std::string& path) const;
};

/// `cwd`, `env`, `retries`, `attempts`, `time_limit`, `kill_grace`, `on_failure`, `retryable`: also at the top of a
/// file.
void read_limits(FieldReader& reader, const FileBase& base, ProgramText& text);
/// All fields of a program, the limits included.
void read_program(FieldReader& reader, const FileBase& base, ProgramText& text);
/// Turns what a template says into what its subtasks start with.
void close_template(ProgramText& text);

/// How a program is made ready for one subtask.
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
