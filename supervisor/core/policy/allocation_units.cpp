#include "supervisor/core/policy/allocation_units.hpp"

#include <algorithm>
#include <utility>

#include "supervisor/core/band_kinds.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/policy/slot_granularity.hpp"

namespace penstock::supervisor {
namespace {

__extension__ using Wide = __int128;

/// `amount` for each `of`, if it comes with `whole` of that; rounded up.
std::int64_t part(std::int64_t amount, std::int64_t of, std::int64_t whole) {
  if (amount <= 0 || whole <= 0) return 0;
  const Wide all = (Wide{amount} * of + whole - 1) / whole;
  return static_cast<std::int64_t>(std::min<Wide>(all, INT64_MAX));
}

void keep_most(ResourceVector& most, const ResourceVector& other) {
  most.cpu = std::max(most.cpu, other.cpu);
  most.gpu = std::max(most.gpu, other.gpu);
  most.memory = std::max(most.memory, other.memory);
  most.device_memory = std::max(most.device_memory, other.device_memory);
  for (const NamedAmount& each : other.named) {
    const auto by_name = [](const NamedAmount& a, const NamedAmount& b) { return a.name < b.name; };
    const auto at = std::lower_bound(most.named.begin(), most.named.end(), each, by_name);
    if (at == most.named.end() || at->name != each.name)
      most.named.insert(at, each);
    else
      at->amount = std::max(at->amount, each.amount);
  }
}

void keep_least(ResourceVector& least, const ResourceVector& other) {
  least.cpu = std::min(least.cpu, other.cpu);
  least.gpu = std::min(least.gpu, other.gpu);
  least.memory = std::min(least.memory, other.memory);
  least.device_memory = std::min(least.device_memory, other.device_memory);
  for (NamedAmount& each : least.named) each.amount = std::min(each.amount, amount_of(other.named, each.name));
  std::erase_if(least.named, [](const NamedAmount& each) { return each.amount == 0; });
}

/// The amounts that it takes beside so many slots if each comes with as much; nothing if it takes no slot.
ResourceVector scaled_to(const ResourceVector& request, std::int64_t slots) {
  const std::int64_t whole = request.slots.value();
  ResourceVector scaled;
  scaled.cpu = MilliCpu{part(request.cpu.value(), slots, whole)};
  scaled.gpu = MilliGpu{part(request.gpu.value(), slots, whole)};
  scaled.memory = Bytes{part(request.memory.value(), slots, whole)};
  scaled.device_memory = Bytes{part(request.device_memory.value(), slots, whole)};
  for (const NamedAmount& each : request.named)
    if (const std::int64_t amount = part(each.amount, slots, whole); amount > 0)
      scaled.named.push_back({each.name, amount});
  return scaled;
}

/// Thousandths of the band's slots that go with `slots` and the amounts beside them: a run that takes half of a device
/// leaves no more than half of its slots to others.
std::uint64_t counts_for(std::int64_t slots, const ResourceVector& beside, const ResourceVector& band) {
  const std::int64_t all = band.slots.value();
  const std::int64_t most = std::max({slots, part(beside.gpu.value(), all, band.gpu.value()),
                                      part(beside.device_memory.value(), all, band.device_memory.value())});
  return static_cast<std::uint64_t>(std::clamp<std::int64_t>(most, 1, std::max<std::int64_t>(all, 1)));
}

void add_size(DomainView& domain, const BandEntry& band) {
  ResourceVector size = band.description.capacity;
  size.slots = kOneSlot * band.slots;
  size.named.clear();
  if (std::find(domain.sizes.begin(), domain.sizes.end(), size) == domain.sizes.end())
    domain.sizes.push_back(std::move(size));
}

}  // namespace

/// The largest subtask of each kind of band, and the most that any takes beside as many slots: a mixture of them on the
/// job's slots never takes more than was counted for these. Subtasks without slots are not counted.
void AllocationUnits::measure_requests(Job& job) const {
  const std::vector<Template>& templates = job.graph.shape->graph().templates;
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
    const auto takes = [kind](const Template& wanted) { return may_take(wanted, kind); };
    const bool measured =
        job.shares->kinds.is_shared(kind) && job.graph.larger_templates->empty();  // As of one like it.
    if (measured || std::none_of(templates.begin(), templates.end(), takes)) continue;
    KindShare& share = job.shares->kinds.edit(kind);
    measure_requests(templates, kind, share);
    if (job.spec.policy.gang == 0) share.beside_least = {};
    for (const LargerTemplate& larger : *job.graph.larger_templates) {
      ResourceVector request = templates[larger.of].request;
      request.memory = larger.memory;
      if (may_take(templates[larger.of], kind)) keep_most(share.beside, scaled_to(request, share.unit_milli));
    }
  }
}

void AllocationUnits::measure_requests(const std::vector<Template>& templates, BandKind kind, KindShare& share) {
  for (const Template& wanted : templates)
    if (may_take(wanted, kind)) {
      const std::int64_t slots = std::clamp<std::int64_t>(wanted.request.slots.value(), 1, 65'535'000);
      share.all_stay = (share.unit_milli == 0 || share.all_stay) && !wanted.retryable;
      share.any_stays = share.any_stays || !wanted.retryable;
      share.unit_milli = std::max(share.unit_milli, static_cast<std::uint32_t>(slots));
    }
  bool any = false;
  for (const Template& wanted : templates) {
    if (!may_take(wanted, kind)) continue;
    const ResourceVector scaled = scaled_to(wanted.request, share.unit_milli);
    keep_most(share.beside, scaled);
    if (std::exchange(any, true))
      keep_least(share.beside_least.edit(), scaled);
    else
      share.beside_least = Seldom{scaled};
  }
}

std::uint64_t AllocationUnits::run_milli_on_devices(const std::vector<Template>& templates, const JobSpec& spec) const {
  KindShare share;
  measure_requests(templates, BandKind::Gpu, share);
  if (share.unit_milli == 0) return 0;
  std::uint64_t least = ~std::uint64_t{0};
  for (const Reach& reach : view_.reaches_of(spec)) {
    DomainView domain;
    for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
      if (const BandEntry& band = workers_[BandSlot{i}];
          band.alive && band.kind == BandKind::Gpu && view_.is_in(reach, BandSlot{i}))
        add_size(domain, band);
    if (!domain.sizes.empty()) least = std::min(least, run_milli(share, BandKind::Gpu, domain));
  }
  return least == ~std::uint64_t{0} ? run_milli(share, BandKind::Gpu, {}) : least;
}

void AllocationUnits::size_allocation_units(PassUnderWay& pass) {
  pass.domains.assign(policy_.config.pools.size() * kBandKinds, {});
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive) continue;
    DomainView& domain = pass.domains[domain_of(policy_.pool_of_band[i], band.kind)];
    domain.capacity += std::uint64_t{band.slots} * 1000;
    add_size(domain, band);
  }
  choose_granularities(pass);
  for (const JobId id : policy_.agenda.in_sight())
    if (Job& job = jobs_[id]; job.shares != nullptr)
      for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
        if (job.shares->kinds[static_cast<std::size_t>(kind)].unit_milli == 0) continue;
        KindShare& share = job.shares->kinds.edit(kind);
        DomainView& domain = pass.domains[domain_of(job.shares->pool.position, kind)];
        share.allocation_unit = allocation_unit_of(share, kind, domain, view_.counts_quotas(job.shares->pool.position));
        // A gang is promised its slots together; their memory it may have to wait for.
        if (job.spec.policy.gang > 0) share.allocation_unit.cpu = {}, share.allocation_unit.memory = {};
        domain.by_amount |= share.allocation_unit.cpu > MilliCpu{0} || share.allocation_unit.memory > Bytes{0};
        if (job.shares->pool.spreads) size_in_all_pools(job, kind, pass);
      }
}

void AllocationUnits::size_in_all_pools(Job& job, BandKind kind, PassUnderWay& pass) const {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  const AllocationUnit& here = share.allocation_unit;
  for (const std::uint32_t pool : job.shares->pool.fallback.pools()) {
    DomainView& domain = pass.domains[domain_of(pool, kind)];
    const AllocationUnit unit = allocation_unit_of(share, kind, domain, view_.counts_quotas(pool));
    if (unit.milli != here.milli || unit.run_milli != here.run_milli || unit.entitles != here.entitles) {
      job.shares->pool.spreads = false;
      return;
    }
    domain.by_amount |= unit.cpu > MilliCpu{0} || unit.memory > Bytes{0};
  }
}

std::uint64_t AllocationUnits::run_milli(const KindShare& share, BandKind kind, const DomainView& domain) const {
  std::uint64_t most = std::max(share.unit_milli, 1U);
  if (kind == BandKind::Cpu) return most;
  for (const ResourceVector& size : domain.sizes) {
    const bool fits = share.beside.device_memory <= size.device_memory || size.device_memory.is_zero();
    if (fits) most = std::max(most, counts_for(share.unit_milli, share.beside, size));
  }
  return most;
}

void AllocationUnits::choose_granularities(PassUnderWay& pass) const {
  for (std::size_t at = 0; at < pass.domains.size(); ++at)
    pass.domains[at].granularity = view_.counts_quotas(static_cast<std::uint32_t>(at / kBandKinds)) ? 1 : 1000;
  for (const JobId id : policy_.agenda.in_sight()) {
    const Job& job = jobs_[id];
    if (job.shares == nullptr) continue;
    const KindShare& share = job.shares->kinds[static_cast<std::size_t>(BandKind::Gpu)];
    if (share.unit_milli == 0) continue;
    const auto tell_apart = [&](std::uint32_t pool) {
      DomainView& domain = pass.domains[domain_of(pool, BandKind::Gpu)];
      if (!view_.counts_quotas(pool))
        domain.granularity = policy::granularity_with(domain.granularity, run_milli(share, BandKind::Gpu, domain));
    };
    if (!job.shares->pool.spreads)
      tell_apart(job.shares->pool.position);
    else
      for (const std::uint32_t pool : job.shares->pool.fallback.pools()) tell_apart(pool);
  }
}

AllocationUnit AllocationUnits::allocation_unit_of(const KindShare& share, BandKind kind, const DomainView& domain,
                                                   bool quotas) const {
  AllocationUnit allocation_unit;
  if (share.unit_milli == 0) return allocation_unit;
  const ResourceVector& beside = share.beside;
  const bool by_amount = quotas && (beside.cpu > MilliCpu{0} || beside.memory > Bytes{0});
  const std::uint64_t run = run_milli(share, kind, domain);
  allocation_unit.milli =
      quotas && kind == BandKind::Gpu && run < 1000 ? run : round_up(run, quotas ? 1000 : domain.granularity);
  if (kind == BandKind::Cpu && !by_amount) {
    allocation_unit.run_milli = run;
    allocation_unit.entitles = allocation_unit.milli;
    return allocation_unit;
  }
  const std::uint64_t runs = std::max<std::uint64_t>(allocation_unit.milli / run, 1);
  allocation_unit.run_milli = (allocation_unit.milli + runs - 1) / runs;
  allocation_unit.entitles = runs * share.unit_milli;
  if (!by_amount) return allocation_unit;
  ResourceVector largest;
  for (const ResourceVector& size : domain.sizes) keep_most(largest, size);
  // A mixture that no band could hold at once is still tried.
  allocation_unit.cpu = std::min(beside.cpu * static_cast<std::int64_t>(runs), largest.cpu);
  allocation_unit.memory = std::min(beside.memory * static_cast<std::int64_t>(runs), largest.memory);
  return allocation_unit;
}

}  // namespace penstock::supervisor
