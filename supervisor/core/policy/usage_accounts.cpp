#include "supervisor/core/policy/usage_accounts.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/ledger/commit_gate.hpp"
#include "supervisor/core/ledger/wall_clock.hpp"
#include "supervisor/core/policy/charged_user.hpp"
#include "supervisor/core/policy/policy_turns.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_state.hpp"

namespace penstock::supervisor {
namespace {

/// The most use that is forgotten when a supervisor crashes. Not a setting: against a half-life of hours it is nothing,
/// and one small record in that time costs nothing either.
constexpr Duration kUsageKeptEvery = std::chrono::seconds{10};

}  // namespace

void UsageAccounts::keep_usage() {
  if (!gate_.durable() || policy_.config.accounts.empty()) return;
  if (event_.now >= later(policy_.kept, kUsageKeptEvery) || indices_.active.empty()) keep_policy();
}

void UsageAccounts::keep_policy() {
  if (!gate_.durable()) return;
  policy_.kept = event_.now;
  record::PolicyKept kept;
  kept.at_ms = clock_.unix_ms(policy_.decayed);
  for (const auto& [whom, used] : policy_.usage.tallies()) kept.usage.push_back({whom.first, whom.second, used});
  for (const auto& [of, amount] : policy_.settings) kept.settings.push_back({of.first, of.second, amount});
  for (const auto& [account, amount] : policy_.shares) kept.shares.push_back({account, amount});
  gate_.write(std::move(kept));
}

void UsageAccounts::recover_policy(const record::PolicyKept& kept) {
  if (!view_.policed()) return;
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

Result<void> UsageAccounts::change_project(const std::string& project, ProjectSetting what, std::int64_t amount) {
  const std::int64_t at = find_project(policy_.config, project);
  if (at < 0) return Error{ErrorCode::NotFound, "project '" + project + "'", "is not known", "`projects` lists them"};
  PolicyConfig changed = policy_.config;
  set(changed.projects[static_cast<std::size_t>(at)], what, amount);
  PENSTOCK_TRY(check_policy(changed));
  policy_.config = std::move(changed);
  policy_.settings[{project, what}] = amount;
  turns_.policy_changed();
  return {};
}

Result<void> UsageAccounts::change_account(const std::string& account, std::int64_t shares) {
  const std::int64_t at = find_account(policy_.config, account);
  if (at < 0) return Error{ErrorCode::NotFound, "account '" + account + "'", "is not known", "`shares` lists them"};
  PolicyConfig changed = policy_.config;
  changed.accounts[static_cast<std::size_t>(at)].shares = shares;
  PENSTOCK_TRY(check_policy(changed));
  policy_.config = std::move(changed);
  policy_.shares[account] = shares;
  turns_.policy_changed();
  return {};
}

void UsageAccounts::charge_accounts() {
  const Duration passed = event_.now - policy_.decayed;
  const double left = left_after(passed, policy_.config.usage_half_life);
  policy_.usage.fade(left);
  policy_.decayed = event_.now;
  for (const JobId id : policy_.agenda.in_sight()) {
    Job& job = jobs_[id];
    charge(job);
  }
  keep_usage();
}

void UsageAccounts::charge_to_account(Job& job) const {
  const std::int64_t account = charged_account(policy_.config, job.spec.owner, job.spec.policy.account);
  job.shares->account =
      static_cast<std::uint32_t>(account < 0 ? static_cast<std::int64_t>(policy_.config.accounts.size()) : account);
}

void UsageAccounts::charge(Job& job) {
  if (job.shares == nullptr) return;
  UsedSeconds used{};
  if (job.shares->use.any()) used = seconds_of(std::exchange(accrue(job).used, {}));
  if (job.shares->account >= policy_.config.accounts.size()) return;
  for (double& each : used) each *= static_cast<double>(job.shares->rules.usage_factor) / 1000;
  policy_.usage.charge(charged_for(job, policy_.config.accounts), used);
}

AccountTree UsageAccounts::accounts_now() const {
  std::set<UsageTable::Key> active;
  for (const JobId id : policy_.agenda.in_sight())
    if (const Job& job = jobs_[id]; job.shares != nullptr && job.shares->account < policy_.config.accounts.size())
      active.insert(charged_for(job, policy_.config.accounts));
  return account_tree(policy_.config, policy_.usage, active);
}

JobUse& UsageAccounts::accrue(Job& job) const {
  JobUse& use = job.shares->use.edit();
  const auto passed = static_cast<double>((event_.now - use.accrued) / std::chrono::microseconds{1});
  for (std::size_t i = 0; i < kUsedKinds; ++i) use.used[i] += static_cast<double>(use.started_rate[i]) * passed;
  use.accrued = event_.now;
  return use;
}

void UsageAccounts::note_use(Job& job, const AttemptReport& report) const {
  const std::uint32_t subtask = report.subtask.value();
  if (job.shares == nullptr || (job.hot[subtask].flags & SubtaskFlag::kStarted) != 0) return;
  const UsedRate rate = rate_of(job, subtask);
  for (std::size_t i = 0; i < kUsedKinds; ++i)
    job.shares->use.edit().used[i] += static_cast<double>(rate[i]) * static_cast<double>(report.run_us);
}

UsedRate UsageAccounts::rate_of(const Job& job, std::uint32_t subtask) const {
  return used_rate(job.graph.shape->template_of(subtask), policy_.config.usage);
}

}  // namespace penstock::supervisor
