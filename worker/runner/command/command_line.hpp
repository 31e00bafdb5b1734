// Turns a template and a subtask into arguments and environment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock::worker {

/// Splits the payload of a command's subtask: further arguments with a NUL between them (one after the last is allowed,
/// so an empty last argument needs two). An empty payload has no argument.
std::vector<std::string> split_arguments(std::string_view payload);

/// Adds `NAME=value` entries to an environment; an entry replaces one of the same name.
void set_variables(std::vector<std::string>& environment, const std::vector<std::string>& additions);

/// The value of `name`, or `otherwise`.
std::string variable_of(const std::vector<std::string>& environment, std::string_view name, std::string_view otherwise);

/// True if the text contains a NUL, which would cut a C string short.
bool has_nul(const std::string& text);

}  // namespace penstock::worker
