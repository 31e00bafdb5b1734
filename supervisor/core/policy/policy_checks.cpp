#include "supervisor/core/policy/policy_checks.hpp"
#include "common/base/nearest_name.hpp"
#include "common/protocol/time_limit.hpp"
#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/policy/limit_rules.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_owners.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/pool_parts.hpp"
#include "supervisor/core/unused_settings.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {
namespace {

template <class Entry>
Error unknown_name(const char* kind, const std::string& name, const std::vector<Entry>& entries) {
  NearestName nearest{name};
  for (const Entry& entry : entries) nearest.offer(entry.name);
  return {ErrorCode::NotFound, std::string{kind} + " '" + name + "'", "is not known",
          nearest.best().empty() ? "`penstock " + std::string{kind} + "s` lists them" : nearest.remedy()};
}

constexpr std::pair<Guarantee, const char*> kGuarantees[] = {
    {Guarantee::Slots, " slots"}, {Guarantee::GpuSlots, " GPU slots"}, {Guarantee::Memory, " bytes of memory"}};

/// The present amount of a guaranteed resource on the bands of a pool.
std::int64_t amount_in(const WorkerTable& workers, const std::vector<std::uint32_t>& pool_of_band, std::uint32_t pool,
                       Guarantee of) {
  const BandKind kind = of == Guarantee::GpuSlots ? BandKind::Gpu : BandKind::Cpu;
  std::int64_t amount = 0;
  for (std::uint32_t i = 0; i < workers.band_slots(); ++i) {
    const BandEntry& band = workers[BandSlot{i}];
    if (!band.alive || band.kind != kind || pool_of_band[i] != pool) continue;
    amount += of == Guarantee::Memory ? band.description.capacity.memory.value() : std::int64_t{band.slots};
  }
  return amount;
}

/// Departments speak for their parts.
std::int64_t guaranteed_together(const PolicyConfig& config, const ProjectTree& tree, std::uint32_t pool,
                                 Guarantee of) {
  const std::vector<std::int64_t> amounts = guarantees_in(config, tree, pool, of);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < amounts.size(); ++i) sum += config.projects[i].department.empty() ? amounts[i] : 0;
  return sum;
}

/// More than the site lets a job ask for would keep others waiting. Without a policy workers are drained all the same.
Result<void> check_grace(Duration grace, Duration most) {
  if (grace <= most) return {};
  const auto text = [](Duration of) { return decimal_text(std::int64_t{of / std::chrono::milliseconds{1}}) + " s"; };
  return Error{ErrorCode::InvalidArgument, "grace of " + text(grace),
               "is above `policy.grace_max`, which is " + text(most), "ask for less, or have it raised"};
}

Result<void> check_gang_groups(const JobPolicy& wishes, const std::string& subject) {
  if (wishes.gang_groups == 0) return {};
  const std::string groups = "gang_groups of " + std::to_string(wishes.gang_groups);
  if (wishes.together.empty())
    return Error{ErrorCode::InvalidArgument, subject, "has " + groups + ", and not `together`",
                 "say with `together` what each group stays on"};
  if (wishes.is_elastic())
    return Error{ErrorCode::InvalidArgument, subject, "has " + groups + ", and a gang_max",
                 "a gang in groups does not grow: leave one of them out"};
  if (wishes.gang % wishes.gang_groups != 0)
    return Error{ErrorCode::InvalidArgument, subject,
                 "has " + groups + ", which do not divide its gang of " + std::to_string(wishes.gang) + " evenly",
                 "all groups have as many slots"};
  return {};
}

Result<void> check_gang_wishes(const JobSpec& spec) {
  const JobPolicy& wishes = spec.policy;
  if (wishes.gang == 0 && wishes.gang_max == 0 && wishes.gang_groups == 0 && wishes.together.empty()) return {};
  const std::string subject = "job '" + spec.name + "'";
  if (wishes.gang == 0)
    return Error{ErrorCode::InvalidArgument, subject,
                 std::string{"has "} +
                     (wishes.gang_max > 0      ? "gang_max"
                      : wishes.gang_groups > 0 ? "gang_groups"
                                               : "together") +
                     ", and is no gang",
                 "say with `gang` how many slots it needs at once"};
  if (wishes.gang_max > 0 && wishes.gang_max < wishes.gang)
    return Error{
        ErrorCode::InvalidArgument, subject,
        "has a gang_max of " + std::to_string(wishes.gang_max) + ", below its gang of " + std::to_string(wishes.gang),
        "gang is the least and gang_max the most that it holds"};
  return check_gang_groups(wishes, subject);
}

}  // namespace

Result<void> PolicyChecks::check_policy_of(const JobSpec& spec) const {
  if (!spec.policy.labels.empty()) PENSTOCK_TRY(check_labels("job '" + spec.name + "'", spec.policy.labels));
  if (!spec.policy.pools.empty()) PENSTOCK_TRY(check_pool_names("job '" + spec.name + "'", spec.policy.pools));
  PENSTOCK_TRY(check_grace(spec.grace, policy_.config.grace_max));
  if (spec.time_limit != Duration{0})
    PENSTOCK_TRY(check_time_limit("time_limit of job '" + spec.name + "'", spec.time_limit));
  PENSTOCK_TRY(check_gang_wishes(spec));
  if (!view_.policed()) return {};
  const PolicyConfig& config = policy_.config;
  const JobPolicy& wishes = spec.policy;
  if (!wishes.project.empty()) {
    const std::int64_t project = find_project(config, wishes.project);
    if (project < 0) return unknown_name("project", wishes.project, config.projects);
    if (config.projects[static_cast<std::size_t>(project)].is_department)
      return Error{ErrorCode::InvalidArgument, "project '" + wishes.project + "'", "is a department",
                   "name one of its projects"};
  }
  if (!wishes.account.empty() && find_account(config, wishes.account) < 0)
    return Error{ErrorCode::NotFound, "account '" + wishes.account + "'", "is not known",
                 "`penstock shares` lists them"};
  for (const std::string& pool : wishes.pools)
    if (find_pool(config, pool) < 0) return unknown_name("pool", pool, config.pools);
  PENSTOCK_TRY(check_one_scale(config, "job '" + spec.name + "'", wishes.pools));
  PENSTOCK_TRY(view_.scale_of(spec).inside_of_new(spec.priority));
  if (wishes.slots_max > 0 && wishes.gang > wishes.slots_max)
    return Error{ErrorCode::InvalidArgument, "gang of " + std::to_string(wishes.gang),
                 "is larger than its own slots_max, which is " + std::to_string(wishes.slots_max), "raise it"};
  if (wishes.slots_max > 0 && wishes.gang_max > wishes.slots_max)
    return Error{ErrorCode::InvalidArgument, "gang_max of " + std::to_string(wishes.gang_max),
                 "is larger than slots_max of its job, which is " + std::to_string(wishes.slots_max),
                 "raise slots_max, or lower gang_max"};
  return rules_.check_rules_of(spec);
}

std::vector<std::string> PolicyChecks::warnings_of_policy() const {
  std::vector<std::string> warnings = policy_warnings(policy_.config);
  for (std::string& unused : unused_settings(policy_.config)) warnings.push_back(std::move(unused));
  for (std::uint32_t pool = 0; pool < policy_.config.pools.size(); ++pool)
    for (const auto& [of, unit] : kGuarantees) {
      if (!view_.counts_quotas(pool)) continue;
      const std::int64_t all = amount_in(workers_, policy_.pool_of_band, pool, of);
      const std::int64_t sum = guaranteed_together(policy_.config, policy_.tree, pool, of);
      if (sum > all)
        warnings.push_back("pool '" + policy_.config.pools[pool].name + "' has " + std::to_string(all) + unit +
                           " now, and " + std::to_string(sum) + " are guaranteed: first come, first served");
    }
  return warnings;
}

void PolicyChecks::add_warnings(Value::Record& answer) {
  Value::List all;
  for (std::string& warning : warnings_of_policy()) {
    all.emplace_back(warning);
    event_.out->add(supervisor_action::Alert{Error{ErrorCode::InvalidArgument, "policy", std::move(warning), {}}});
  }
  if (!all.empty()) answer.emplace_back("warnings", std::move(all));
}

}  // namespace penstock::supervisor
