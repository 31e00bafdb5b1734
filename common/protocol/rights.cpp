#include "common/protocol/rights.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace penstock {
namespace {

/// Commands of every client: questions, and orders about jobs.
constexpr std::array<std::string_view, 28> kUse{
    "audit", "bands",   "cancel", "counters", "data",   "explain", "explain-data", "hold",   "job",    "jobs",
    "keep",  "kept",    "limits", "logs",     "places", "pools",   "projects",     "queue",  "queues", "release",
    "rerun", "results", "shared", "shares",   "unkeep", "users",   "words",        "workers"};

/// Of these the commands with which a run looks after its own work.
constexpr std::array<std::string_view, 10> kOfRuns{"cancel", "explain", "job",     "keep",   "kept",
                                                   "places", "results", "release", "shared", "unkeep"};

struct PowerOf {
  Power operator()(const SubmitChunk&) const { return Power::Use; }
  Power operator()(const SubmitAgain&) const { return Power::Use; }
  Power operator()(const AttachJob&) const { return Power::Use; }
  Power operator()(const ReleaseJob&) const { return Power::Use; }
  Power operator()(const UnfollowJob&) const { return Power::Use; }
  Power operator()(const ReleaseOutputs&) const { return Power::Use; }
  Power operator()(const AdminRequest& request) const { return power_for(request.command); }
};

std::string name_of(const FromClient& message) {
  const auto* const request = std::get_if<AdminRequest>(&message);
  return request == nullptr ? "the message" : "`" + request->command + "`";
}

/// Whether the message is of a run: it submits nothing but work of the run, which a secret number of 128 bits names.
struct IsOfRun {
  bool operator()(const SubmitChunk& chunk) const { return !chunk.first || chunk.spec.parent.any(); }
  bool operator()(const SubmitAgain& again) const { return again.spec.parent.any(); }
  bool operator()(const AttachJob& attach) const { return attach.identity.valid(); }
  bool operator()(const ReleaseJob& release) const { return release.identity.valid(); }
  bool operator()(const UnfollowJob& unfollow) const { return unfollow.identity.valid(); }
  bool operator()(const ReleaseOutputs& release) const { return release.identity.valid(); }
  bool operator()(const AdminRequest& request) const {
    return std::find(kOfRuns.begin(), kOfRuns.end(), request.command) != kOfRuns.end();
  }
};

/// Whether the message names its job by a secret: a number alone can be guessed. An attached job is looked for among
/// the jobs that the client sees.
bool knows_its_job(const FromClient& message) {
  if (const auto* release = std::get_if<ReleaseJob>(&message)) return release->identity.valid();
  if (const auto* unfollow = std::get_if<UnfollowJob>(&message)) return unfollow->identity.valid();
  if (const auto* outputs = std::get_if<ReleaseOutputs>(&message)) return outputs->identity.valid();
  return true;
}

bool has(Role role, const FromClient& message) {
  switch (role) {
    case Role::Client: return power_for(message) == Power::Use && knows_its_job(message);
    case Role::Operator:
    case Role::Admin: return true;
    case Role::Worker:
    case Role::Run: return std::visit(IsOfRun{}, message);
    case Role::Supervisor:
    case Role::Metrics: return false;
  }
  return false;
}

template <class Spec, class Message>
Spec* spec_in(Message& message) {
  if (auto* chunk = std::get_if<SubmitChunk>(&message)) return &chunk->spec;
  if (auto* again = std::get_if<SubmitAgain>(&message)) return &again->spec;
  return nullptr;
}

}  // namespace

Power power_for(std::string_view command) {
  return std::find(kUse.begin(), kUse.end(), command) != kUse.end() ? Power::Use : Power::Steer;
}

Power power_for(const FromClient& message) { return std::visit(PowerOf{}, message); }

Result<void> check_right(Role role, const FromClient& message) {
  if (has(role, message)) return {};
  if (!knows_its_job(message))
    return Error{
        ErrorCode::PermissionDenied, name_of(message), "names its job by a number alone, which can be guessed", {}};
  const Power power = power_for(message);
  const bool of_run = role == Role::Run || role == Role::Worker;
  return Error{ErrorCode::PermissionDenied, name_of(message),
               "needs the role " + std::string{power == Power::Steer ? "operator" : "client"} +
                   ", and this certificate has the role " + std::string{to_string(role)},
               of_run ? "runs submit work that ends with them; for more, log the user in on that host: `penstock login`"
                      : "ask an administrator: `penstock token create --role operator --user NAME`"};
}

const JobSpec* submitted_by(const FromClient& message) { return spec_in<const JobSpec>(message); }
JobSpec* submitted_by(FromClient& message) { return spec_in<JobSpec>(message); }

Result<void> check_share(const PeerIdentity& sender, const FromClient& message) {
  const JobSpec* const spec = submitted_by(message);
  if (spec == nullptr || !spec->share.any()) return {};
  const std::string& share = *spec->share;
  std::string list;
  for (const std::string& group : sender.groups) {
    if (group == share) return {};
    list += (list.empty() ? "" : ", ") + group;
  }
  return Error{ErrorCode::PermissionDenied, "group '" + share + "'",
               "is none of user '" + sender.user + "'" + (list.empty() ? "" : ", which has " + list),
               "ask an administrator: `penstock token create --group GROUP`"};
}

}  // namespace penstock
