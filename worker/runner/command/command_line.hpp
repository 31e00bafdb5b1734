// How a template and a subtask become arguments and environment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock::worker {

/// The payload of a command's subtask: further arguments with a NUL between them (one after the last does no harm, so
/// an empty last argument needs two). No payload: no argument.
std::vector<std::string> split_arguments(std::string_view payload);

/// Adds `NAME=value` entries to an environment; one of the same name takes the place of the one there.
void set_variables(std::vector<std::string>& environment, const std::vector<std::string>& additions);

/// The value of `name`, or `otherwise`.
std::string variable_of(const std::vector<std::string>& environment, std::string_view name, std::string_view otherwise);

/// True if a text that becomes a C string would be cut short.
bool has_nul(const std::string& text);

}  // namespace penstock::worker
