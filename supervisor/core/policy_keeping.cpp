// SupervisorCore: policy state that survives a restart: charged use, and settings of projects.
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

/// The most use that is forgotten when a supervisor crashes. Not a setting: against a half-life of hours it is nothing,
/// and one small record in that time costs nothing either.
constexpr Duration kUsageKeptEvery = std::chrono::seconds{10};

}  // namespace

/// Use changes all the time: its record is renewed now and then, and when the last job ends.
void SupervisorCore::keep_usage() {
  if (!gate_.durable() || policy_.config.accounts.empty()) return;
  if (event_.now >= later(policy_.kept, kUsageKeptEvery) || indices_.active.empty()) keep_policy();
}

void SupervisorCore::keep_policy() {
  if (!gate_.durable()) return;
  policy_.kept = event_.now;
  record::PolicyKept kept;
  kept.at_ms = clock_.unix_ms(policy_.decayed);
  for (const auto& [whom, used] : policy_.usage.tallies()) kept.usage.push_back({whom.first, whom.second, used});
  for (const auto& [of, amount] : policy_.settings) kept.settings.push_back({of.first, of.second, amount});
  for (const auto& [account, amount] : policy_.shares) kept.shares.push_back({account, amount});
  gate_.write(std::move(kept));
}

/// A setting that does not fit the present configuration is not set again, and an alert says so.
void SupervisorCore::recover_policy(const record::PolicyKept& kept) {
  if (!policed()) return;
  policy_.decayed = policy_.kept = event_.now;
  const Duration passed = event_.now - clock_.instant_of(kept.at_ms);
  // An earlier version kept none of users: most accounts are those of one, of the same name.
  for (const record::PolicyKept::Usage& usage : kept.usage)
    policy_.usage.charge({usage.account, usage.user.empty() ? usage.account : usage.user}, usage.used);
  policy_.usage.fade(left_after(std::max(passed, Duration{0}), policy_.config.usage_half_life));
  for (const record::PolicyKept::Setting& each : kept.settings)
    if (const Result<void> changed = change_project(each.project, each.what, each.amount); !changed)
      event_.out->add(supervisor_action::Alert{changed.error()});
  for (const record::PolicyKept::Shares& each : kept.shares)
    if (const Result<void> changed = change_account(each.account, each.amount); !changed)
      event_.out->add(supervisor_action::Alert{changed.error()});
}

/// A change that does not fit the configuration is refused whole.
Result<void> SupervisorCore::change_project(const std::string& project, ProjectSetting what, std::int64_t amount) {
  const std::int64_t at = find_project(policy_.config, project);
  if (at < 0) return Error{ErrorCode::NotFound, "project '" + project + "'", "is not known", "`projects` lists them"};
  PolicyConfig changed = policy_.config;
  set(changed.projects[static_cast<std::size_t>(at)], what, amount);
  PENSTOCK_TRY(check_policy(changed));
  policy_.config = std::move(changed);
  policy_.settings[{project, what}] = amount;
  policy_changed();
  return {};
}

/// The same for an account. Past use stays, and counts against other shares from now on.
Result<void> SupervisorCore::change_account(const std::string& account, std::int64_t shares) {
  const std::int64_t at = find_account(policy_.config, account);
  if (at < 0) return Error{ErrorCode::NotFound, "account '" + account + "'", "is not known", "`shares` lists them"};
  PolicyConfig changed = policy_.config;
  changed.accounts[static_cast<std::size_t>(at)].shares = shares;
  PENSTOCK_TRY(check_policy(changed));
  policy_.config = std::move(changed);
  policy_.shares[account] = shares;
  policy_changed();
  return {};
}

}  // namespace penstock::supervisor
