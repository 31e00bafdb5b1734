#include "common/protocol/secrets.hpp"

#include <algorithm>

namespace penstock {

bool is_variable_name(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

Result<void> check_secrets(const std::vector<Secret>& secrets) {
  if (secrets.size() > kSecretsMax)
    return Error{ErrorCode::LimitExceeded, "the job", "has more than " + std::to_string(kSecretsMax) + " secrets", {}};
  for (auto secret = secrets.begin(); secret != secrets.end(); ++secret) {
    const auto refuse = [&](ErrorCode code, std::string message, std::string remedy = {}) {
      return Error{code, "secret '" + secret->name.substr(0, 64) + "'", std::move(message), std::move(remedy)};
    };
    if (!is_variable_name(secret->name) || secret->name.size() > 255)
      return refuse(ErrorCode::InvalidArgument, "is no name of a variable", "use letters, digits and _");
    if (std::any_of(secrets.begin(), secret, [&](const Secret& other) { return other.name == secret->name; }))
      return refuse(ErrorCode::InvalidArgument, "is there twice");
    if (secret->value.find('\0') != std::string::npos)
      return refuse(ErrorCode::InvalidArgument, "has a NUL, which no variable can have", "encode it, e.g. by base64");
    if (secret->value.size() > kSecretBytesMax)
      return refuse(ErrorCode::LimitExceeded, "has more than " + std::to_string(kSecretBytesMax) + " bytes");
  }
  return {};
}

}  // namespace penstock
