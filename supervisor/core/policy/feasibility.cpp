#include "supervisor/core/policy/feasibility.hpp"

#include <algorithm>
#include <array>

#include "common/base/quantity.hpp"
#include "common/protocol/job_kind.hpp"
#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/gang_sizes.hpp"
#include "supervisor/core/placement/eligibility.hpp"
#include "supervisor/core/policy/allocation_units.hpp"
#include "supervisor/core/policy/limit_rules.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_owners.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/core/workers/readoption.hpp"

namespace penstock::supervisor {
namespace {

/// Thousandths of `wanted` that `there` lacks.
std::int64_t lacking(std::int64_t wanted, std::int64_t there) {
  if (wanted <= there) return 0;
  const std::int64_t part = std::max<std::int64_t>(wanted / 1000, 1);
  return std::max<std::int64_t>((wanted - std::max<std::int64_t>(there, 0)) / part, 1);
}

/// The distance of a band from holding a request, summed over the missing amounts.
std::int64_t distance_of(const ResourceVector& request, const ResourceVector& limit) {
  std::int64_t sum = lacking(request.slots.value(), limit.slots.value()) +
                     lacking(request.cpu.value(), limit.cpu.value()) + lacking(request.gpu.value(), limit.gpu.value()) +
                     lacking(request.memory.value(), limit.memory.value()) +
                     lacking(request.device_memory.value(), limit.device_memory.value());
  for (const NamedAmount& named : request.named) sum += lacking(named.amount, amount_of(limit.named, named.name));
  return sum;
}

/// The fault of a worker that does not satisfy the limits.
const char* lacks_it(const std::vector<LabelLimit>& limits) {
  const bool by_user =
      std::any_of(limits.begin(), limits.end(), [](const LabelLimit& limit) { return !limit.user.empty(); });
  return by_user ? " does (`accept_users` of [worker])" : " has such labels";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// The largest gang below `gang` that finds a place; 0: none.
std::uint32_t next_smaller_gang(const BandSizes& sizes, std::uint32_t gang) {
  std::uint64_t best = 0;
  for (const auto& [size, count] : sizes) {
    best = std::max(best, std::min<std::uint64_t>(size, gang - 1));
    best = std::max(best, std::min<std::uint64_t>((gang - 1) / size, count) * size);
  }
  return static_cast<std::uint32_t>(best);
}

/// Several devices are given whole.
Result<void> check_devices(const GraphShape& shape) {
  for (const Template& each : shape.graph().templates) {
    const std::int64_t gpu = each.request.gpu.value();
    if (gpu <= 1000 || (gpu % 1000 == 0 && gpu / 1000 <= static_cast<std::int64_t>(kBandDevicesMax))) continue;
    return Error{ErrorCode::RequestTooLarge, "template '" + (each.name.empty() ? each.program : each.name) + "'",
                 "requests " + std::to_string(gpu) +
                     " thousandths of a GPU: a subtask has a part of one GPU, or 1 to " +
                     std::to_string(kBandDevicesMax) + " whole ones",
                 "request a whole number of GPUs; the `gang` of a job starts subtasks of several hosts together"};
  }
  return {};
}

/// How a host with several GPUs could have the subtask.
std::string device_remedy(const Template& wanted, const std::string& other) {
  if (whole_devices(wanted.request) < 2) return other;
  return "on hosts with as many GPUs start workers with --gpus-together (host.gpus_together), or " + other;
}

/// The reason why a job is never preempted.
std::string never_leaves_text(const JobPolicy& wishes) {
  return std::string{"is never preempted ("} +
         (wishes.preemptible == Preemptible::No ? "preemptible = false"
                                                : "kind " + std::string{to_string(wishes.kind)}) +
         ")";
}

/// Where quotas count, a job that never leaves starts only within the guarantee of its project: without a project it
/// would wait for ever. Spec: policy-runai 6.
Result<void> check_has_project(const PolicyState& policy, const std::vector<Reach>& reaches, const JobSpec& spec) {
  if (!spec.policy.project.empty() || spec.policy.may_be_preempted()) return {};
  for (const Reach& reach : reaches)
    if (policy.parts[domain_of(reach.pool, BandKind::Cpu)].sharing != policy::Sharing::QuotaTree) return {};
  const std::string pools = reaches.size() == 1 ? "pool '" + policy.config.pools[reaches.front().pool].name + "'"
                                                : "each of its " + std::to_string(reaches.size()) + " pools";
  return Error{ErrorCode::InvalidArgument, "job '" + spec.name + "'",
               never_leaves_text(spec.policy) + " and has no project: in " + pools +
                   " such jobs get only the guarantee of their project, so it would wait for ever",
               "give it a project (`penstock projects` lists them), or say preemptible = true"};
}

std::uint32_t first_subtask_of(const GraphShape& shape, std::uint32_t template_index) {
  for (std::uint32_t subtask = 0; subtask < shape.size(); ++subtask)
    if (shape.template_index(subtask) == template_index) return subtask;
  return 0;
}

}  // namespace

bool Feasibility::any_band_for(const Template& wanted, const Reach& reach) const {
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    if (workers_[BandSlot{i}].alive && view_.is_in(reach, BandSlot{i}) &&
        eligibility_.is_eligible(wanted, workers_[BandSlot{i}]))
      return true;
  return false;
}

bool Feasibility::could_hold_larger(const Job& job, const Reach& reach) const {
  const std::size_t of_graph = job.graph.shape->graph().templates.size();
  for (std::size_t i = 0; i < job.graph.larger_templates->size(); ++i)
    if (!any_band_for(job.template_at(static_cast<std::uint32_t>(of_graph + i)), reach)) return false;
  return true;
}

bool Feasibility::could_hold(const Job& job, std::uint32_t pool) const {
  const Reach reach{pool, job.place.label_limits};
  const std::vector<Template>& templates = job.graph.shape->graph().templates;
  return std::all_of(templates.begin(), templates.end(),
                     [&](const Template& wanted) { return any_band_for(wanted, reach); }) &&
         could_hold_larger(job, reach) && check_gang(job.spec, *job.graph.shape, reach);
}

std::vector<GroupRoom> Feasibility::groups_that_could_hold(const Job& job, std::uint32_t pool) const {
  Reach reach{pool, job.place.label_limits};
  std::vector<GroupRoom> rooms;
  for (WorkerGroup& group : view_.groups_in(reach, job.spec.policy.together)) {
    reach.group = group;
    if (const std::uint32_t held = groups_held_in(job.spec, *job.graph.shape, reach); held > 0)
      rooms.push_back({std::move(group), held});
  }
  return rooms;
}

Result<void> Feasibility::check_cap(const JobSpec& spec, const GraphShape& shape) const {
  if (!view_.policed() || spec.policy.slots_max == 0) return {};
  const std::vector<Template>& templates = shape.graph().templates;
  for (std::uint32_t i = 0; i < templates.size(); ++i) {
    const std::int64_t slots = (templates[i].request.slots.value() + 999) / 1000;
    if (slots <= spec.policy.slots_max) continue;
    return Error{ErrorCode::InvalidArgument,
                 "subtask '" + shape.name(first_subtask_of(shape, i)) + "' of job '" + spec.name + "'",
                 "needs " + std::to_string(slots) + " slots, and slots_max of its job is " +
                     std::to_string(spec.policy.slots_max),
                 "raise slots_max"};
  }
  const std::uint64_t milli = units_.run_milli_on_devices(templates, spec);
  if (milli <= std::uint64_t{spec.policy.slots_max} * 1000) return {};
  return Error{ErrorCode::InvalidArgument, "job '" + spec.name + "'",
               "takes " + std::to_string((milli + 999) / 1000) +
                   " slots of a device band, and slots_max of its job is " + std::to_string(spec.policy.slots_max),
               "raise slots_max, or ask for a smaller part of a device"};
}

Result<void> Feasibility::check_feasible(const JobSpec& spec, const GraphShape& shape) const {
  PENSTOCK_TRY(check_cap(spec, shape));
  PENSTOCK_TRY(rules_.check_limits(spec, shape));
  PENSTOCK_TRY(check_devices(shape));
  if (spec.wait_for_resources) return {};
  std::vector<Reach> reaches = view_.reaches_of(spec);
  if (!shape.external_inputs().empty()) reaches.resize(1);  // As in `open_pools`.
  if (view_.policed()) {
    PENSTOCK_TRY(check_has_project(policy_, reaches, spec));
    PENSTOCK_TRY(check_owners(spec, shape, reaches));
  }
  // Without any worker nothing can be said yet; the job waits for the first. The same goes for those of its pool.
  if (workers_.alive_bands() == 0 || readoption_.is_active()) return {};
  Result<void> first = check_feasible_in(spec, shape, reaches.front());
  for (std::size_t i = 1; !first && i < reaches.size(); ++i)
    if (check_feasible_in(spec, shape, reaches[i])) return {};
  if (first || reaches.size() == 1) return first;
  Error error = first.error();
  error.message += "; nor can any other of its " + std::to_string(reaches.size()) + " pools hold it";
  return error;
}

Result<void> Feasibility::check_owners(const JobSpec& spec, const GraphShape& shape,
                                       const std::vector<Reach>& reaches) const {
  if (spec.policy.project.empty()) return {};
  Result<void> first;
  for (const Reach& reach : reaches) {
    const Result<void> within = check_owners_in(spec, shape, reach);
    if (within) return {};
    if (first) first = within;
  }
  return first;
}

Result<void> Feasibility::check_owners_in(const JobSpec& spec, const GraphShape& shape, const Reach& reach) const {
  const bool quotas = view_.counts_quotas(reach.pool);
  if (!quotas && !view_.shares_slots(reach.pool)) return {};
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
    const std::uint64_t milli = least_at_once(spec, shape, reach, kind);
    if (quotas && !spec.policy.may_be_preempted()) PENSTOCK_TRY(check_guarantee_in(spec, milli, reach, kind));
    PENSTOCK_TRY(check_ceiling(spec, milli, kind));
    if (quotas && kind == BandKind::Cpu) PENSTOCK_TRY(check_memory_ceiling(spec, shape));
  }
  return {};
}

Result<void> Feasibility::check_ceiling(const JobSpec& spec, std::uint64_t milli, BandKind kind) const {
  const std::vector<ProjectConfig>& projects = policy_.config.projects;
  const bool cpu = kind == BandKind::Cpu;
  for (auto at = static_cast<std::uint32_t>(find_project(policy_.config, spec.policy.project)); at < projects.size();
       at = policy_.tree.parents[at]) {
    const std::int64_t most = cpu ? projects[at].slots_max : projects[at].gpu_slots_max;
    if (most == kUnbounded || milli <= static_cast<std::uint64_t>(most) * 1000) continue;
    return Error{ErrorCode::LimitExceeded, "job '" + spec.name + "'",
                 "takes " + decimal_text(milli) + (cpu ? " slots" : " GPU slots") + " at once, and " +
                     owner_text(projects[at]) + " may hold " + std::to_string(most) + ", so it would wait for ever",
                 std::string{"raise "} + (cpu ? "slots_max" : "gpu_slots_max") +
                     " there, ask for less, or submit with --wait-for-resources"};
  }
  return {};
}

Result<void> Feasibility::check_memory_ceiling(const JobSpec& spec, const GraphShape& shape) const {
  if (spec.policy.gang > 0) return {};  // The slots of a gang are counted, and not its memory (`AllocationUnits`).
  Bytes largest;
  for (const Template& wanted : shape.graph().templates)
    if (!wants_gpu(wanted)) largest = std::max(largest, wanted.request.memory);
  const std::vector<ProjectConfig>& projects = policy_.config.projects;
  for (auto at = static_cast<std::uint32_t>(find_project(policy_.config, spec.policy.project)); at < projects.size();
       at = policy_.tree.parents[at]) {
    if (projects[at].memory_max == kUnboundedBytes || largest <= projects[at].memory_max) continue;
    return Error{ErrorCode::LimitExceeded, "job '" + spec.name + "'",
                 "has a subtask that requests " + to_text(largest) + " of memory, and " + owner_text(projects[at]) +
                     " may hold " + to_text(projects[at].memory_max) + ", so it would wait for ever",
                 "raise memory_max there, request less, or submit with --wait-for-resources"};
  }
  return {};
}

Result<void> Feasibility::check_guarantee_in(const JobSpec& spec, std::uint64_t milli, const Reach& reach,
                                             BandKind kind) const {
  const bool cpu = kind == BandKind::Cpu;
  const std::vector<std::int64_t> guaranteed =
      guarantees_in(policy_.config, policy_.tree, reach.pool, cpu ? Guarantee::Slots : Guarantee::GpuSlots);
  std::string orders;
  std::string owner;
  const auto slots = static_cast<std::int64_t>((milli + 999) / 1000);
  for (auto at = static_cast<std::uint32_t>(find_project(policy_.config, spec.policy.project)); at < guaranteed.size();
       at = policy_.tree.parents[at]) {
    if (milli <= static_cast<std::uint64_t>(guaranteed[at]) * 1000) continue;
    const ProjectConfig& each = policy_.config.projects[at];
    if (owner.empty()) owner = owner_text(each) + " is guaranteed " + std::to_string(guaranteed[at]);
    orders += (orders.empty() ? "" : "; ") + std::string{cpu ? "set quota " : "set gpu-quota "} + each.name + " " +
              std::to_string(slots);
    const std::uint32_t home = policy_.tree.guarantee_pools[at];
    if (home != reach.pool) orders = "guarantees of that project are in pool '" + policy_.config.pools[home].name + "'";
    if (home != reach.pool) break;
  }
  if (owner.empty()) return {};
  return Error{ErrorCode::InvalidArgument, "job '" + spec.name + "'",
               never_leaves_text(spec.policy) + " and takes " + decimal_text(milli) + (cpu ? " slots" : " GPU slots") +
                   " at once: in pool '" + policy_.config.pools[reach.pool].name +
                   "' such jobs get only the guarantee of their project, and " + owner + ", so it would wait for ever",
               orders + ", say preemptible = true, or submit with --wait-for-resources"};
}

Result<void> Feasibility::check_feasible_in(const JobSpec& spec, const GraphShape& shape, const Reach& reach) const {
  const bool pool_is_empty = !view_.has_workers({reach.pool, {}});
  if (!pool_is_empty) PENSTOCK_TRY(check_labels_in(spec, reach));
  const std::vector<Template>& templates = shape.graph().templates;
  for (std::uint32_t i = 0; i < templates.size(); ++i) {
    if (any_band_for(templates[i], reach)) continue;
    const bool elsewhere = reach.pool != kAnyPool && any_band_for(templates[i], {kAnyPool, reach.labels});
    if (pool_is_empty && !(elsewhere && !templates[i].required.worker.empty())) continue;
    Error error = explain_infeasible(templates[i], reach);
    if (reach.pool != kAnyPool)
      error.subject = "subtask '" + shape.name(first_subtask_of(shape, i)) + "' of job '" + spec.name + "'";
    return error;
  }
  return reach.pool == kAnyPool || pool_is_empty ? Result<void>{} : check_gang(spec, shape, reach);
}

Result<void> Feasibility::check_labels_in(const JobSpec& spec, const Reach& reach) const {
  if (reach.labels.empty() || view_.has_workers(reach)) return {};
  const std::string of_pool = reach.pool == kAnyPool ? "" : " of pool '" + policy_.config.pools[reach.pool].name + "'";
  return Error{ErrorCode::NoAvailableBand, "job '" + spec.name + "'",
               text_of(reach.labels) + ", and no worker" + of_pool + lacks_it(reach.labels),
               "`penstock workers` shows them; change the limits, or submit with --wait-for-resources"};
}

/// The bands of one kind in a pool that could run subtasks of a gang; nothing if none wants that kind.
struct Feasibility::GangRoom {
  BandSizes sizes;
  std::uint64_t total = 0;
  bool anywhere = true;  ///< Each of these bands may have any of its subtasks; else it takes its slots one by one.
};

Feasibility::GangRoom Feasibility::room_for_gang(const GraphShape& shape, const Reach& reach, BandKind kind) const {
  GangRoom room;
  std::vector<const Template*> of_kind;
  for (const Template& wanted : shape.graph().templates)
    if (wants_gpu(wanted) == (kind == BandKind::Gpu)) of_kind.push_back(&wanted);
  const bool takes_slots = std::any_of(of_kind.begin(), of_kind.end(),
                                       [](const Template* wanted) { return wanted->request.slots.value() > 0; });
  for (std::uint32_t i = 0; takes_slots && i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive || band.kind != kind || !view_.is_in(reach, BandSlot{i})) continue;
    bool fits_all = true;
    bool fits_any = false;
    bool is_free = true;  // To go to any band that fits.
    for (const Template* wanted : of_kind) {
      const bool fits = eligibility_.is_eligible(*wanted, band);
      fits_all = fits_all && fits, fits_any = fits_any || fits;
      is_free = is_free && wanted->required.empty();
    }
    if (is_free && !fits_any) continue;
    ++room.sizes[band.slots];
    room.total += band.slots;
    room.anywhere = room.anywhere && is_free && fits_all;
  }
  return room;
}

std::uint64_t Feasibility::least_at_once(const JobSpec& spec, const GraphShape& shape, const Reach& reach,
                                         BandKind kind) const {
  std::int64_t largest = 0;
  for (const Template& wanted : shape.graph().templates)
    if (wants_gpu(wanted) == (kind == BandKind::Gpu)) largest = std::max(largest, wanted.request.slots.value());
  if (largest == 0) return 0;
  const bool whole = spec.policy.gang > 0 && room_for_gang(shape, reach, kind).anywhere;
  const std::uint64_t run = kind == BandKind::Cpu ? static_cast<std::uint64_t>((largest + 999) / 1000 * 1000)
                                                  : units_.run_milli_on_devices(shape.graph().templates, spec);
  return std::max(run, whole ? std::uint64_t{spec.policy.gang} * 1000 : 0);
}

Result<void> Feasibility::check_gang(const JobSpec& spec, const GraphShape& shape, const Reach& reach) const {
  if (spec.policy.gang == 0) return {};
  if (!spec.policy.together.empty() && !reach.group) return check_together(spec, shape, reach);
  return check_slots_of_gang(spec, shape, reach, spec.policy.gang);
}

Result<void> Feasibility::check_slots_of_gang(const JobSpec& spec, const GraphShape& shape, const Reach& reach,
                                              std::uint32_t gang) const {
  const std::array<GangRoom, kBandKinds> rooms{room_for_gang(shape, reach, BandKind::Cpu),
                                               room_for_gang(shape, reach, BandKind::Gpu)};
  const std::uint64_t most = std::max(rooms[0].total, rooms[1].total);
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
    const GangRoom& room = rooms[static_cast<std::size_t>(kind)];
    if (room.total == 0) continue;
    const std::string subject = "gang of " + std::to_string(gang) + " of job '" + spec.name + "'";
    const std::string of_pool = "pool '" + policy_.config.pools[reach.pool].name + "'";
    if (gang > room.total && (room.anywhere || room.total == most))
      return Error{ErrorCode::RequestTooLarge, subject,
                   "is larger than " + of_pool + ", which has " + std::to_string(room.total) +
                       (kind == BandKind::Gpu ? " gpu slots" : " cpu slots"),
                   "make it smaller, or submit with --wait-for-resources"};
    if (!room.anywhere || view_.counts_quotas(reach.pool) || holds_gang(room.sizes, gang)) continue;
    return Error{ErrorCode::RequestTooLarge, subject,
                 "fits neither one band of " + of_pool + ", of which the largest has " +
                     std::to_string(room.sizes.rbegin()->first) + " slots, nor whole bands of one size",
                 "a gang of " + std::to_string(next_smaller_gang(room.sizes, gang)) +
                     " does; or submit with --wait-for-resources"};
  }
  return {};
}

std::uint32_t Feasibility::groups_held_in(const JobSpec& spec, const GraphShape& shape, const Reach& reach) const {
  const std::vector<Template>& templates = shape.graph().templates;
  if (!std::all_of(templates.begin(), templates.end(),
                   [&](const Template& wanted) { return any_band_for(wanted, reach); }))
    return 0;
  const std::uint32_t size = std::max(spec.policy.group_slots(), 1U);
  const std::uint64_t slots =
      std::max(room_for_gang(shape, reach, BandKind::Cpu).total, room_for_gang(shape, reach, BandKind::Gpu).total);
  auto groups = static_cast<std::uint32_t>(std::min<std::uint64_t>(spec.policy.gang / size, slots / size));
  while (groups > 0 && !check_slots_of_gang(spec, shape, reach, groups * size)) --groups;
  return groups;
}

Result<void> Feasibility::check_together(const JobSpec& spec, const GraphShape& shape, const Reach& reach) const {
  const std::string& together = spec.policy.together;
  const std::string of_pool = " of pool '" + policy_.config.pools[reach.pool].name + "'";
  const bool on_host = together == kTogetherOnHost;
  const std::vector<WorkerGroup> groups = view_.groups_in(reach, together);
  if (groups.empty())
    return Error{
        ErrorCode::NoAvailableBand, "job '" + spec.name + "'",
        "stays on workers with one label like '" + together + "', and no worker" + of_pool + " has such a label",
        "`penstock workers` shows them; change `together`, or submit with --wait-for-resources"};
  const std::string gang = "gang of " + std::to_string(spec.policy.gang) + " of job '" + spec.name + "'";
  const std::string places = on_host ? "host" : "group of workers with one label";
  const std::uint32_t size = spec.policy.group_slots();
  const std::uint32_t all = spec.policy.gang / std::max(size, 1U);
  std::uint64_t held = 0;
  std::string largest;
  std::uint64_t most = 0;
  for (const WorkerGroup& group : groups) {
    const Reach there{reach.pool, reach.labels, group};
    held += groups_held_in(spec, shape, there);
    if (held >= all) return {};
    const std::uint64_t slots =
        std::max(room_for_gang(shape, there, BandKind::Cpu).total, room_for_gang(shape, there, BandKind::Gpu).total);
    if (largest.empty() || slots > most) most = slots, largest = text_of(group);
  }
  if (held > 0)
    return Error{ErrorCode::RequestTooLarge, gang,
                 "has " + std::to_string(all) + " groups of " + std::to_string(size) + ", and the " +
                     (on_host ? "hosts" : "workers with such labels") + of_pool + " could hold " +
                     std::to_string(held) + " of them",
                 "make it smaller, or submit with --wait-for-resources"};
  return Error{ErrorCode::RequestTooLarge, gang,
               (all > 1 ? "has groups of " + std::to_string(size) + ", of which one fits on no " : "fits on no ") +
                   places + of_pool + " alone; the largest, " + largest + ", has " + std::to_string(most) +
                   " slots for it",
               "make it smaller, leave `together` out, or submit with --wait-for-resources"};
}

/// The bands for a template in a pool, and outside it.
struct Feasibility::Offer {
  bool offered = false;  ///< A worker of the pool has its operator.
  bool kind_exists = false;
  std::vector<std::string> operators;
  std::string nearest = "none";
  std::string elsewhere;  ///< A band of another pool that could have it,
  std::string other_pool;
  std::string barred;  ///< A band of the pool that could have it, if its labels were others.
  std::string whole;   ///< A band of several devices, which gives only whole ones.
};

Feasibility::Offer Feasibility::look_for(const Template& wanted, const Reach& reach) const {
  Offer offer;
  offer.offered = wanted.runner != RunnerKind::Native;
  std::int64_t nearest_distance = INT64_MAX;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive) continue;
    const Register& worker = workers_.worker_of(BandSlot{i}).description;
    const std::string name = worker.name + "/" + band.description.name;
    if (!view_.is_in(reach, BandSlot{i})) {
      if (view_.is_in({reach.pool, {}}, BandSlot{i})) {
        if (offer.barred.empty() && eligibility_.is_eligible(wanted, band)) offer.barred = name;
        continue;
      }
      if (!view_.is_in({kAnyPool, reach.labels}, BandSlot{i})) continue;
      if (!offer.elsewhere.empty() || !eligibility_.is_eligible(wanted, band)) continue;
      offer.elsewhere = name;
      offer.other_pool = policy_.config.pools[policy_.pool_of_band[i]].name;
      continue;
    }
    if (offer.whole.empty() && eligibility_.refuses_part(wanted, band)) offer.whole = name;
    const auto& names = worker.operators;
    offer.offered |= names.empty() || std::find(names.begin(), names.end(), wanted.program) != names.end();
    for (const std::string& each : names)
      if (std::find(offer.operators.begin(), offer.operators.end(), each) == offer.operators.end())
        offer.operators.push_back(each);
    const bool right_kind = (band.description.kind == BandKind::Gpu) == wants_gpu(wanted);
    offer.kind_exists |= right_kind;
    ResourceVector limit = band.description.capacity;
    limit.memory = std::max(limit.memory, band.description.memory_hard_limit);
    // A band of the right kind is nearer than any other.
    const std::int64_t distance = distance_of(wanted.request, limit) + (right_kind ? 0 : 1'000'000'000);
    if (distance >= nearest_distance) continue;
    nearest_distance = distance;
    std::string excess = first_excess(wanted.request, limit);
    if (excess.empty() && !devices_could_hold(wanted.request, band.description.devices))
      excess = "device memory " + std::to_string(wanted.request.device_memory.value()) + " > that of its devices";
    offer.nearest = name + (excess.empty() ? "" : " (" + excess + ")");
  }
  return offer;
}

Error Feasibility::explain_infeasible(const Template& wanted, const Reach& reach) const {
  const Offer offer = look_for(wanted, reach);
  const std::string subject = "template '" + (wanted.name.empty() ? wanted.program : wanted.name) + "'";
  const std::string wait = "change the request, or submit with --wait-for-resources";
  const std::string of_pool = reach.pool == kAnyPool ? "" : " of pool '" + policy_.config.pools[reach.pool].name + "'";
  const bool outside = !offer.elsewhere.empty();
  const std::string there =
      outside ? "; " + offer.elsewhere + " of pool '" + offer.other_pool + "' could have it" : std::string{};
  const std::string remedy = outside ? "submit the job to pool '" + offer.other_pool + "', " + wait : wait;
  if (!offer.barred.empty())
    return {ErrorCode::NoAvailableBand, subject,
            offer.barred + " could have it, but " + text_of(reach.labels) + ", and its worker" +
                lacks_it(reach.labels) + there,
            "`penstock workers` shows them; change the limits or the requirement"};
  const BandSelector& required = wanted.required;
  const std::string band =
      required.worker + (required.worker.empty() || required.band.empty() ? "" : "/") + required.band;
  if (!required.empty() && outside)
    return {ErrorCode::NoAvailableBand, subject,
            "requires band '" + band + "', which is in pool '" + offer.other_pool + "'; the nearest" + of_pool +
                ", which is its job's, is " + offer.nearest,
            "submit the job to pool '" + offer.other_pool + "', or leave the requirement out"};
  // The requirement names the band, so labels do not matter.
  const auto pool_outside = [&](const BandSelector& which) -> std::string {
    bool inside = which.empty() || reach.pool == kAnyPool;
    std::string other;
    for (std::uint32_t i = 0; i < workers_.band_slots() && !inside; ++i) {
      const BandEntry& each = workers_[BandSlot{i}];
      if (!each.alive || !workers_.selects(which, each)) continue;
      inside = view_.is_in({reach.pool, {}}, BandSlot{i});
      if (const auto pool = policy_.pool_of_band[i]; !inside && other.empty() && pool < policy_.config.pools.size())
        other = policy_.config.pools[pool].name;
    }
    return inside ? "" : other;
  };
  if (!offer.offered)
    return {ErrorCode::UnknownOperator, subject,
            "no worker" + of_pool + " offers the operator '" + wanted.program + "'" + there,
            offer.operators.empty() ? "load a library of operators on a worker"
                                    : "offered are: " + joined(offer.operators)};
  if (const std::string other = pool_outside(required); !other.empty())
    return {ErrorCode::NoAvailableBand, subject,
            "requires band '" + band + "', which is in pool '" + other + "', and its job is in pool '" +
                policy_.config.pools[reach.pool].name + "'",
            "submit the job to pool '" + other + "', or leave the requirement out"};
  if (!required.empty())
    return {ErrorCode::NoAvailableBand, subject,
            "requires band '" + band + "', which is not there or too small; the nearest is " + offer.nearest, wait};
  if (!offer.whole.empty())
    return {
        ErrorCode::NoAvailableBand, subject,
        "requests a part of a GPU, and " + offer.whole +
            " has several: in a pool that counts slots such a band gives whole ones only" + there,
        "request whole GPUs, put its worker in a pool with the preset quota, or start a worker without --gpus-together "
        "(host.gpus_together)"};
  if (wants_gpu(wanted) && !offer.kind_exists)
    return {ErrorCode::MissingDevice, subject,
            "requests a GPU, and no worker" + of_pool + " has one; the nearest band is " + offer.nearest + there,
            remedy};
  return {ErrorCode::RequestTooLarge, subject,
          "requests more than any band" + of_pool + " has; the nearest is " + offer.nearest + there,
          device_remedy(wanted, remedy)};
}

std::string Feasibility::explain_unschedulable(const Job& job, std::uint32_t subtask) const {
  const Template wanted = job.template_at(job.template_index_of(subtask));
  const Reach reach{job.shares == nullptr ? kAnyPool : job.shares->pool.position, job.place.label_limits};
  if (!view_.has_workers({reach.pool, {}}) && reach.pool != kAnyPool)
    return "pool '" + policy_.config.pools[reach.pool].name + "' has no worker now";
  if (const Result<void> labels = check_labels_in(job.spec, reach); !labels)
    return "infeasible: " + labels.error().message;
  if (any_band_for(wanted, reach)) return "no band may have it now: those that could are draining, or it failed there";
  return "infeasible: " + explain_infeasible(wanted, reach).message;
}

}  // namespace penstock::supervisor
