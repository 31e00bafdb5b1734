// Reference cases of the quota policy that ask one function: division, capacity, order, reclaim, minimum runtime.
// tidy: foreign-file podsets
#include "supervisor/policy/fitting/band_score.hpp"
#include "supervisor/policy/ordering/project_order.hpp"
#include "supervisor/policy/ordering/workload_order.hpp"
#include "supervisor/policy/sharing/capacity_rules.hpp"
#include "supervisor/policy/sharing/min_runtime.hpp"
#include "supervisor/policy/sharing/quota_division.hpp"
#include "supervisor/policy/sharing/reclaim_rules.hpp"
#include "tools/policy/command_policy_case.hpp"

namespace penstock::tools {
namespace {

using namespace penstock::policy;

constexpr const char* kNames[kResources] = {"cpu", "memory", "gpu"};
constexpr const char* kTitles[kResources] = {"CPU", "Memory", "GPU"};
/// Devices in thousandths; the others as the tables have them.
constexpr double kPlainScale[kResources] = {1, 1, 1000};
/// Where the tables have fractions of everything.
constexpr double kFineScale[kResources] = {1000, 1000, 1000};

std::int64_t amount_of(const cli::DocumentValue& table, const char* name, double scale, std::int64_t fallback = 0) {
  if (!has_field(table, name)) return fallback;
  const double value = number_of(table, name);
  return value == -1 ? kUnlimited : scaled(value, scale);
}

Owner owner_of(const cli::DocumentValue& source, const double (&scale)[kResources]) {
  Owner owner;
  owner.name = text_of(source, "id");
  owner.priority = integer_of(source, "priority", 100);
  owner.created = integer_of(source, "created", integer_of(source, "order"));
  for (std::size_t resource = 0; resource < kResources; ++resource) {
    const cli::DocumentValue& table = field_of(source, kNames[resource]);
    OwnedAmount& owned = owner.of[resource];
    owned.guaranteed = amount_of(table, "quota", scale[resource]);
    owned.limit = amount_of(table, "limit", scale[resource], kUnlimited);
    owned.weight = scaled(number_of(table, "weight"), 1000);
    owned.usage = number_of(table, "usage");
    owned.request = amount_of(table, "request", scale[resource]);
    owned.allocated = amount_of(table, "allocated", scale[resource]);
    owned.fixed = amount_of(table, "allocated_non_preemptible", scale[resource]);
    owned.fair_share = amount_of(table, "fair_share", scale[resource]);
  }
  const auto seconds = [&](const char* name) -> std::optional<Duration> {
    if (!has_field(source, name)) return std::nullopt;
    return Duration{scaled(number_of(source, name), 1e9)};
  };
  owner.preempt_min_runtime = seconds("preempt_min_runtime_s");
  owner.reclaim_min_runtime = seconds("reclaim_min_runtime_s");
  return owner;
}

/// The owners of a case, with their tree. An owner with an unknown parent is a root.
std::vector<Owner> owners_of(const cli::DocumentValue& subject, const double (&scale)[kResources]) {
  std::vector<Owner> owners;
  const std::vector<cli::DocumentValue>& list = field_of(subject, "queues").items;
  for (const cli::DocumentValue& each : list) owners.push_back(owner_of(each, scale));
  for (std::size_t i = 0; i < list.size(); ++i)
    for (std::uint32_t parent = 0; parent < owners.size(); ++parent)
      if (has_field(list[i], "parent") && owners[parent].name == text_of(list[i], "parent")) owners[i].parent = parent;
  return owners;
}

/// Whether every path upwards ends. A case with an endless one is not run.
bool parents_end(const std::vector<Owner>& owners) {
  for (const Owner& owner : owners) {
    std::size_t steps = 0;
    for (std::uint32_t at = owner.parent; at != kNone; at = owners[at].parent)
      if (++steps > owners.size()) return false;
  }
  return true;
}

std::uint32_t owner_named(const std::vector<Owner>& owners, const std::string& name) {
  for (std::uint32_t i = 0; i < owners.size(); ++i)
    if (owners[i].name == name) return i;
  return kNone;
}

/// Amounts under `cpu` or `cpu_milli`, `memory`, `gpu`.
Resources resources_of(const cli::DocumentValue& table, const double (&scale)[kResources]) {
  const char* cpu = has_field(table, "cpu_milli") ? "cpu_milli" : "cpu";
  return {amount_of(table, cpu, scale[0]), amount_of(table, "memory", scale[1]), amount_of(table, "gpu", scale[2])};
}

void compare_flag(CaseChecker& checker, const cli::DocumentValue& expect, const char* name, bool got) {
  checker.only_fields(expect, {name, "resource"});
  if (checker.demand(expect, name))
    checker.equal(name, flag_of(expect, name) ? "true" : "false", got ? "true" : "false");
}

void compare_order(CaseChecker& checker, const cli::DocumentValue& expect, int got) {
  checker.only_fields(expect, {"order"});
  if (checker.demand(expect, "order")) checker.equal("order", integer_of(expect, "order"), got);
}

/// Compares one fair share; an owner that the case lacks is a difference.
void compare_share(const std::vector<Owner>& owners, const std::string& name, std::size_t resource,
                   const cli::DocumentValue& expected, CaseChecker& checker) {
  const std::uint32_t owner = owner_named(owners, name);
  if (owner == kNone) return checker.fail("the case has no queue '" + name + "'");
  if (!expected.is_number()) return checker.fail("fair_share." + name + ": must be a number");
  checker.near(std::string{kTitles[resource]} + " of " + name, expected.number,
               static_cast<double>(owners[owner].of[resource].fair_share) / kPlainScale[resource], 1e-6);
}

void check_division(const cli::DocumentValue& subject, CaseChecker& checker) {
  std::vector<Owner> owners = owners_of(subject, kPlainScale);
  if (!parents_end(owners)) return checker.fail("a queue is its own ancestor");
  const cli::DocumentValue& expect = field_of(subject, "expect");
  checker.only_fields(expect, {"fair_share", "remaining"});
  if (!checker.demand(expect, "fair_share")) return;
  const double strength = number_of(subject, "k_value", 1);
  if (text_of(subject, "kind") == "fair_share_one_resource") {
    std::size_t resource = 0;
    while (resource + 1 < kResources && text_of(subject, "resource") != kNames[resource]) ++resource;
    std::vector<std::uint32_t> siblings;
    for (std::uint32_t owner = 0; owner < owners.size(); ++owner) siblings.push_back(owner);
    const ResourceDivision division{resource, resource == 2 ? 1000 : 1, strength};
    std::int64_t left = scaled(number_of(subject, "total"), kPlainScale[resource]);
    if (text_of(subject, "phase") != "over_quota_only") left = divide_guaranteed(owners, siblings, division, left);
    left = divide_over_quota(owners, siblings, division, left);
    if (has_field(expect, "remaining"))
      checker.near("remaining", number_of(expect, "remaining"), static_cast<double>(left) / kPlainScale[resource],
                   1e-6);
    for (const cli::DocumentField& each : field_of(expect, "fair_share").fields)
      compare_share(owners, each.name, resource, each.value, checker);
    return;
  }
  divide_tree(owners, resources_of(field_of(subject, "total"), kPlainScale), strength);
  for (const cli::DocumentField& each : field_of(expect, "fair_share").fields) {
    checker.only_fields(each.value, {kNames, kNames + kResources});
    if (each.value.fields.empty()) checker.fail("fair_share." + each.name + ": nothing to compare with");
    for (std::size_t resource = 0; resource < kResources; ++resource)
      if (has_field(each.value, kNames[resource]))
        compare_share(owners, each.name, resource, field_of(each.value, kNames[resource]), checker);
  }
}

void check_capacity(const cli::DocumentValue& subject, CaseChecker& checker) {
  const std::vector<Owner> owners = owners_of(subject, kFineScale);
  if (!parents_end(owners)) return checker.fail("a queue is its own ancestor");
  const Resources amount = resources_of(field_of(subject, "requests"), kFineScale);
  const std::vector<std::string> checks = texts_of(field_of(subject, "checks"));
  const bool preemptible = flag_of(subject, "job_preemptible");
  bool refused = false;
  for (std::uint32_t at = owner_named(owners, text_of(subject, "job_queue")); at != kNone; at = owners[at].parent)
    for (const std::string& check : checks) {
      if (check == "limit" && over_limit(owners[at], amount)) refused = true;
      if (check == "non_preemptible_quota" && !preemptible && over_guarantee(owners[at], amount)) refused = true;
    }
  compare_flag(checker, field_of(subject, "expect"), "schedulable", !refused);
}

void check_one_bound(const cli::DocumentValue& subject, CaseChecker& checker) {
  const Owner owner = owner_of(field_of(subject, "queue"), kFineScale);
  const Resources amount = resources_of(field_of(subject, "requests"), kFineScale);
  const std::optional<Refusal> refusal =
      text_of(subject, "kind") == "over_limit" ? over_limit(owner, amount) : over_guarantee(owner, amount);
  const cli::DocumentValue& expect = field_of(subject, "expect");
  compare_flag(checker, expect, "over", refusal.has_value());
  if (has_field(expect, "resource"))
    checker.equal("resource", text_of(expect, "resource"), refusal ? kTitles[refusal->resource] : "");
}

void check_project_order(const cli::DocumentValue& subject, CaseChecker& checker) {
  const Owner left = owner_of(field_of(subject, "left"), kPlainScale);
  const Owner right = owner_of(field_of(subject, "right"), kPlainScale);
  const Resources left_job = resources_of(field_of(subject, "left_job"), kPlainScale);
  const Resources right_job = resources_of(field_of(subject, "right_job"), kPlainScale);
  const Resources total = resources_of(field_of(subject, "total"), kPlainScale);
  const int order = compare_ranks(rank_project({&left, left_job, left_job}, total),
                                  rank_project({&right, right_job, right_job}, total));
  compare_order(checker, field_of(subject, "expect"), order);
}

std::vector<SetCount> gangs_of(const cli::DocumentValue& job) {
  std::vector<SetCount> gangs;
  for (const cli::DocumentValue& set : field_of(job, "podsets").items) {
    SetCount gang{0, integer_of(set, "min_available", 1)};
    for (const std::string& state : texts_of(field_of(set, "pod_states")))  // tidy: foreign
      if (state == "Running" || state == "Allocated" || state == "Bound" || state == "Binding" || state == "Pipelined")
        ++gang.active;
    gangs.push_back(gang);
  }
  return gangs;
}

void check_elastic_order(const cli::DocumentValue& subject, CaseChecker& checker) {
  const GangState left = gang_state(gangs_of(field_of(subject, "left")));
  const GangState right = gang_state(gangs_of(field_of(subject, "right")));
  compare_order(checker, field_of(subject, "expect"), left < right ? -1 : right < left ? 1 : 0);
}

void check_pack_score(const cli::DocumentValue& subject, CaseChecker& checker) {
  const cli::DocumentValue& expect = field_of(subject, "expect");
  checker.only_fields(expect, {"score"});
  if (!checker.demand(expect, "score")) return;
  std::int64_t low = INT64_MAX;
  std::int64_t high = 0;
  const std::vector<cli::DocumentValue>& nodes = field_of(subject, "nodes").items;
  for (const cli::DocumentValue& node : nodes) {
    if (integer_of(node, "gpus") == 0) continue;
    low = std::min(low, integer_of(node, "idle_gpus"));
    high = std::max(high, integer_of(node, "idle_gpus"));
  }
  std::vector<std::string_view> names;
  for (const cli::DocumentValue& node : nodes) names.push_back(field_of(node, "name").text);
  checker.only_fields(field_of(expect, "score"), names);
  for (const cli::DocumentValue& node : nodes) {
    const std::int64_t score = integer_of(node, "gpus") == 0 ? 0 : pack_score(integer_of(node, "idle_gpus"), low, high);
    if (!checker.demand(field_of(expect, "score"), text_of(node, "name"), "expect.score")) continue;
    checker.near("score of " + text_of(node, "name"), number_of(field_of(expect, "score"), text_of(node, "name")),
                 static_cast<double>(score) / static_cast<double>(kScoreUnit), 1e-6);
  }
}

Reclaimer reclaimer_of(const cli::DocumentValue& subject, const std::vector<Owner>& owners) {
  const cli::DocumentValue& source = field_of(subject, "reclaimer");
  return {owner_named(owners, text_of(source, "queue")), resources_of(field_of(source, "requests"), kPlainScale),
          flag_of(source, "preemptible", true)};
}

void check_reclaim(const cli::DocumentValue& subject, CaseChecker& checker) {
  const std::vector<Owner> owners = owners_of(subject, kPlainScale);
  if (!parents_end(owners)) return checker.fail("a queue is its own ancestor");
  const Reclaimer reclaimer = reclaimer_of(subject, owners);
  if (reclaimer.project == kNone) return checker.fail("the reclaimer has no project");
  if (text_of(subject, "kind") == "can_reclaim")
    return compare_flag(checker, field_of(subject, "expect"), "allowed", may_reclaim(owners, reclaimer));
  std::vector<ReclaimedPiece> pieces;
  for (const cli::DocumentField& each : field_of(subject, "victims_by_queue").fields)
    for (const cli::DocumentValue& piece : each.value.items)
      if (const std::uint32_t owner = owner_named(owners, each.name); owner != kNone)
        pieces.push_back({owner, resources_of(piece, kPlainScale)});
      else
        return checker.fail("the case has no queue '" + each.name + "'");
  const std::int64_t saturation = scaled(number_of(subject, "saturation_multiplier", 1), 1000);
  compare_flag(checker, field_of(subject, "expect"), "allowed", reclaim_is_fair(owners, reclaimer, pieces, saturation));
}

void check_strategy(const cli::DocumentValue& subject, CaseChecker& checker) {
  const Owner reclaimer = owner_of(field_of(subject, "reclaimer_queue"), kPlainScale);
  const Owner victim = owner_of(field_of(subject, "victim_queue"), kPlainScale);
  const Resources remaining = resources_of(field_of(subject, "victim_remaining"), kPlainScale);
  const bool allowed =
      text_of(subject, "strategy") == "victim_over_fair_share"
          ? victim_is_over_share(victim, remaining)
          : reclaimer_is_guaranteed(reclaimer, resources_of(field_of(subject, "requests"), kPlainScale), victim,
                                    remaining);
  compare_flag(checker, field_of(subject, "expect"), "allowed", allowed);
}

/// An owner that the table describes itself is added if the list lacks it.
std::uint32_t named_or_added(std::vector<Owner>& owners, const cli::DocumentValue& source) {
  if (!source.is_table()) return kNone;
  const std::uint32_t known = owner_named(owners, text_of(source, "id"));
  if (known != kNone) return known;
  Owner added = owner_of(source, kPlainScale);
  added.parent = owner_named(owners, text_of(source, "parent"));
  owners.push_back(std::move(added));
  return static_cast<std::uint32_t>(owners.size() - 1);
}

void check_min_runtime(const cli::DocumentValue& subject, CaseChecker& checker) {
  std::vector<Owner> owners = owners_of(subject, kPlainScale);
  const std::uint32_t victim = named_or_added(owners, field_of(subject, "victim_queue"));
  if (!parents_end(owners)) return checker.fail("a queue is its own ancestor");
  const bool preempts = text_of(subject, "action") == "preempt";
  const bool between = text_of(subject, "method") == "lca";
  const std::uint32_t reclaimer = preempts ? kNone : named_or_added(owners, field_of(subject, "reclaimer_queue"));
  const Duration fallback{scaled(number_of(subject, preempts ? "default_preempt_s" : "default_reclaim_s"), 1e9)};
  Duration got{};
  if (preempts)
    got = preempt_min_runtime(owners, victim, fallback);
  else
    got = between ? reclaim_min_runtime_between(owners, reclaimer, victim, fallback)
                  : reclaim_min_runtime(owners, victim, fallback);
  const cli::DocumentValue& expect = field_of(subject, "expect");
  checker.only_fields(expect, {"error", "min_runtime_s"});
  const bool unknown = victim == kNone || (between && reclaimer == kNone);
  checker.equal("error", flag_of(expect, "error") ? 1 : 0, unknown ? 1 : 0);
  if (unknown && !has_field(expect, "min_runtime_s")) return;
  if (!checker.demand(expect, "min_runtime_s")) return;
  checker.near("minimum runtime", number_of(expect, "min_runtime_s"), std::chrono::duration<double>(got).count(), 1e-6);
}

}  // namespace

CaseVerdict check_quota_table(const cli::DocumentValue& subject, const std::string& id) {
  const std::string kind = text_of(subject, "kind");
  CaseChecker checker{id, kind};
  if (kind.starts_with("fair_share_"))
    check_division(subject, checker);
  else if (kind == "capacity_check")
    check_capacity(subject, checker);
  else if (kind == "over_limit" || kind == "non_preemptible_over_quota")
    check_one_bound(subject, checker);
  else if (kind == "queue_order")
    check_project_order(subject, checker);
  else if (kind == "elastic_job_order")
    check_elastic_order(subject, checker);
  else if (kind == "bin_pack_score")
    check_pack_score(subject, checker);
  else if (kind == "can_reclaim" || kind == "reclaim_allowed")
    check_reclaim(subject, checker);
  else if (kind == "reclaim_strategy")
    check_strategy(subject, checker);
  else if (kind == "min_runtime")
    check_min_runtime(subject, checker);
  else
    checker.fail("the kind '" + kind + "' is not understood");
  return checker.take();
}

}  // namespace penstock::tools
