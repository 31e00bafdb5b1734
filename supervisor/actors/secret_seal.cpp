#include "supervisor/actors/secret_seal.hpp"

#include <algorithm>

#include "common/host/log.hpp"
#include "common/protocol/rights.hpp"

namespace penstock::supervisor {
namespace {

bool has_secrets(const ToWorker& message) {
  const auto* batch = std::get_if<AssignBatch>(&message);
  return batch != nullptr && !batch->secrets.empty();
}

/// False if it cannot be opened.
bool open_secret(Secret& secret, const SecretBox* box) {
  Result<std::string> value = Error{ErrorCode::Unsupported,
                                    "secret '" + secret.name + "'",
                                    "was sealed, and this supervisor runs with --insecure",
                                    {}};
  if (box != nullptr) value = box->unseal(secret.name, secret.value);
  if (value)
    secret.value = std::move(value).value();
  else
    log_error(LogLevel::Error, "a secret is not opened", value.error());
  return value.has_value();
}

}  // namespace

Result<void> seal_secrets(FromClient& message, const SecretBox* box) {
  JobSpec* const spec = submitted_by(message);
  if (spec == nullptr || !spec->secrets.any()) return {};
  PENSTOCK_TRY(check_secrets(*spec->secrets));
  if (box == nullptr)
    return Error{ErrorCode::Unsupported, "the job", "has secrets, and this supervisor runs with --insecure",
                 "submit it to a supervisor with TLS"};
  for (Secret& secret : spec->secrets.edit()) {
    Result<std::string> sealed = box->seal(secret.name, secret.value);
    if (!sealed) return std::move(sealed).error();
    secret.value = std::move(sealed).value();
  }
  return {};
}

bool have_secrets(const std::vector<ToWorker>& messages) {
  return std::any_of(messages.begin(), messages.end(), has_secrets);
}

std::vector<ToWorker> with_open_secrets(const std::vector<ToWorker>& messages, const SecretBox* box) {
  std::vector<ToWorker> opened = messages;
  for (ToWorker& message : opened)
    if (has_secrets(message))
      std::erase_if(std::get<AssignBatch>(message).secrets, [&](Secret& secret) { return !open_secret(secret, box); });
  return opened;
}

}  // namespace penstock::supervisor
