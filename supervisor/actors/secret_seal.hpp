// The secrets of jobs at the supervisor's border: sealed on their way in, opened on their way to workers.
#pragma once

#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/assign.hpp"
#include "common/protocol/client.hpp"
#include "common/security/secret_box.hpp"

namespace penstock::supervisor {

/// Seals those of a job that is submitted; `box`: null if there is none. Errors: as of `check_secrets`; Unsupported:
/// there is no box.
Result<void> seal_secrets(FromClient& message, const SecretBox* box);

bool have_secrets(const std::vector<ToWorker>& messages);
/// The messages with the secrets in clear. One that cannot be opened is left out: the program that wants it fails, and
/// the log has the cause.
std::vector<ToWorker> with_open_secrets(const std::vector<ToWorker>& messages, const SecretBox* box);

}  // namespace penstock::supervisor
