// Where the secrets of a job come from.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/secrets.hpp"

namespace penstock::cli {

/// The name of a variable, and `file:PATH` or `command:TEXT`: the content of a file, or the standard output of a
/// command of the shell on this host.
using SecretSource = std::pair<std::string, std::string>;

/// `NAME=SOURCE`, as on a command line. Error: InvalidArgument.
Result<SecretSource> parse_secret_source(const std::string& text);
/// Reads the values; one newline at the end is left out, as a shell does. Errors: InvalidArgument: the source cannot be
/// read, or its command has failed; those of `check_secrets`. No message has a value.
Result<std::vector<Secret>> read_secrets(const std::vector<SecretSource>& sources);

}  // namespace penstock::cli
