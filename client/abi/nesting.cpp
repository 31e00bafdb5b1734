#include "client/abi/nesting.hpp"

#include <mutex>
#include <utility>

#include "client/abi/arguments.hpp"
#include "client/abi/cluster.hpp"
#include "client/abi/last_error.hpp"
#include "common/base/attempt_id.hpp"
#include "common/host/process.hpp"
#include "common/protocol/client.hpp"

namespace penstock::abi {
namespace {

// Invariant: only under the mutex; tests/integration/abi under the thread sanitizer.
std::mutex present_mutex;
std::optional<ParentRun> present;

Error no_run() {
  return {ErrorCode::WrongState, "this process", "runs no subtask now",
          "call it in a function or command that runs on a worker; elsewhere open a client with an address"};
}

}  // namespace

void set_present_run(const std::optional<ParentRun>& run) {
  const std::lock_guard lock{present_mutex};
  present = run;
}

Result<ParentRun> present_run() {
  {
    const std::lock_guard lock{present_mutex};
    if (present) return *present;
  }
  const std::optional<AttemptName> attempt = parse_attempt_id(environment_value("PENSTOCK_ATTEMPT_ID"));
  const JobSelector job = job_selector_of(environment_value("PENSTOCK_JOB"));
  if (!attempt || !job.id.valid()) return no_run();
  return ParentRun{{job.id, attempt->subtask}, attempt->attempt, attempt->identity};
}

}  // namespace penstock::abi

penstock_client* penstock_client_in_run(const char* name) try {
  const std::string address = penstock::environment_value("PENSTOCK_SUPERVISOR");
  if (const auto run = penstock::abi::present_run(); !run) return penstock::abi::refuse(run.error());
  if (address.empty())
    return penstock::abi::refuse({penstock::ErrorCode::Unsupported, "this run", "is not told where its supervisor is",
                                  "use a worker of version 0.2.0 or later"});
  penstock_client_options options{};
  options.size = sizeof options;
  options.address = address.c_str();
  options.name = name;
  penstock_client* client = penstock_client_open(&options);
  if (client != nullptr) client->in_run = true;
  return client;
}
PENSTOCK_NOTHING_THROWN(penstock::abi::refuse)
