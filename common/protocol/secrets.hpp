// Variables of a job's programs that nobody else is told.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace penstock {

/// A variable in the environment of commands and process runners. In clear it is with the client, on its way, and with
/// workers; a supervisor keeps it sealed (common/security/secret_box.hpp).
struct Secret {
  std::string name;
  std::string value;
  friend bool operator==(const Secret&, const Secret&) = default;
};

/// Length limits of the list and of each value.
inline constexpr std::size_t kSecretsMax = 64;
inline constexpr std::size_t kSecretBytesMax = 64UL << 10U;

/// Whether a shell allows that name of a variable.
bool is_variable_name(std::string_view name);
/// Errors: InvalidArgument: a name is not one of a shell's variables, is there twice, or a value has a NUL;
/// LimitExceeded. No message has a value.
Result<void> check_secrets(const std::vector<Secret>& secrets);

}  // namespace penstock
