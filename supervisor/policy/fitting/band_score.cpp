#include "supervisor/policy/fitting/band_score.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <utility>

#include "supervisor/policy/fitting/device_fit.hpp"
#include "supervisor/policy/wide.hpp"

namespace penstock::policy {
namespace {

constexpr std::int64_t kPackSteps = 9;
constexpr std::int64_t kSharedDevice = 1000 * kScoreUnit;
constexpr std::int64_t kFitsNow = 100 * kScoreUnit;
constexpr std::int64_t kNoDeviceWasted = 10 * kScoreUnit;

/// Of a list, one part in so many of all bands is short: to look at each of it costs less than to pass over others.
constexpr std::size_t kShortList = 4;

/// A list may name bands of other pools, and such as are not here.
bool is_in_pool(const Trial& trial, std::uint32_t band) {
  return band < trial.snapshot().bands.size() && trial.room(band).in_pool;
}

/// The resource by which bands are packed for a member, and its bounds over the pool.
struct PackRange {
  std::size_t resource = 0;
  std::int64_t low = INT64_MAX;
  std::int64_t high = 0;
};

PackRange pack_range(const Trial& trial, bool cpu_only, std::span<const std::uint32_t> bands) {
  PackRange range;
  range.resource = static_cast<std::size_t>(cpu_only ? Resource::Cpu : Resource::Gpu);
  for (const std::uint32_t band : bands) {
    if (!is_in_pool(trial, band) || trial.snapshot().bands[band].capacity.of(range.resource) == 0) continue;
    const std::int64_t free = trial.room(band).later().of(range.resource);
    range.low = std::min(range.low, free);
    range.high = std::max(range.high, free);
  }
  return range;
}

}  // namespace

BandFit fit_part(const Trial& trial, std::uint32_t member, std::uint32_t band, std::uint32_t device) {
  const BandRoom& room = trial.room(band);
  DeviceFit part = part_on(room, trial.memory_on(member, band), device);
  const bool now = part.now && trial.snapshot().members[member].request.within(room.idle) &&
                   room.places_idle >= 1 + static_cast<std::int64_t>(part.opened);
  return {now, std::move(part.groups)};
}

std::int64_t pack_score(std::int64_t free, std::int64_t low, std::int64_t high) {
  if (high == 0) return 0;
  if (high == low) return kPackSteps * kScoreUnit;
  return static_cast<std::int64_t>(Wide{kPackSteps * kScoreUnit} * (high - free) / (high - low));
}

bool band_allowed(const Snapshot& snapshot, const Member& member, std::uint32_t band) {
  const std::span<const std::uint32_t> only = snapshot.bands_of(member);
  return only.empty() || std::binary_search(only.begin(), only.end(), band);
}

namespace {

/// The first bands of an index that hold a member: now, and else later.
struct FirstFits {
  std::optional<BandChoice> now;
  std::optional<BandChoice> later;
};

FirstFits first_fits(const Trial& trial, const Choice& choice, const BandsByRoom& bands, std::int64_t request) {
  const Snapshot& snapshot = trial.snapshot();
  FirstFits found;
  for (auto at = bands.lower_bound({request, 0}); at != bands.end(); ++at) {
    const std::uint32_t band = trial.band_of_rank(at->second);
    if (!choice.allowed.empty() && !choice.allowed[band]) continue;
    std::optional<BandFit> fit = trial.fit(choice.member, band, Trial::When::NowOrLater);
    if (!fit || !band_allowed(snapshot, snapshot.members[choice.member], band)) continue;
    if (fit->now) {
      found.now = BandChoice{band, std::move(*fit)};
      return found;
    }
    if (!found.later) found.later = BandChoice{band, std::move(*fit)};
  }
  return found;
}

/// Whether different room always gives different points, so that the order of
/// an index is the order by points.
bool points_differ(const Trial& trial, std::initializer_list<Trial::Index> indices) {
  std::int64_t low = INT64_MAX;
  std::int64_t high = 0;
  for (const Trial::Index index : indices) {
    const BandsByRoom& bands = trial.bands_by_room(index);
    if (bands.empty()) continue;
    low = std::min(low, bands.begin()->first);
    high = std::max(high, bands.rbegin()->first);
  }
  return low == INT64_MAX || high - low <= kPackSteps * kScoreUnit;
}

std::optional<BandChoice> fullest_with_devices(const Trial& trial, const Choice& choice) {
  const std::int64_t request = trial.snapshot().members[choice.member].request.gpu;
  FirstFits found = first_fits(trial, choice, trial.bands_by_room(Trial::Index::Devices), request);
  return found.now ? std::move(found.now) : std::move(found.later);
}

/// A band where a device is shared already comes before all others, then one that has room now, then the fullest. The
/// index has the fullest first, so that the first of each kind is its best.
std::optional<BandChoice> fullest_with_parts(const Trial& trial, const Choice& choice) {
  const Snapshot& snapshot = trial.snapshot();
  std::array<std::uint32_t, 4> first{kNone, kNone, kNone, kNone};
  const std::size_t best_kind = first.size() - 1;
  for (const auto& [room, rank] : trial.bands_by_room(Trial::Index::Devices)) {
    const std::uint32_t band = trial.band_of_rank(rank);
    if (!choice.allowed.empty() && !choice.allowed[band]) continue;
    const std::optional<bool> now = trial.fits_now_or_later(choice.member, band, Trial::When::NowOrLater);
    if (!now || !band_allowed(snapshot, snapshot.members[choice.member], band)) continue;
    const bool shared = trial.room(band).shared_memory_mib >= trial.memory_on(choice.member, band);
    const std::size_t kind = (shared ? 2U : 0U) + (*now ? 1U : 0U);
    if (first[kind] == kNone) first[kind] = band;
    if (kind == best_kind) break;
  }
  for (std::size_t kind = first.size(); kind-- > 0;)
    if (first[kind] != kNone)
      return BandChoice{first[kind], *trial.fit(choice.member, first[kind], Trial::When::NowOrLater)};
  return std::nullopt;
}

/// Bands without devices before those with.
std::optional<BandChoice> fullest_with_cpu(const Trial& trial, const Choice& choice) {
  const std::int64_t request = trial.snapshot().members[choice.member].request.cpu;
  FirstFits alone = first_fits(trial, choice, trial.bands_by_room(Trial::Index::CpuAlone), request);
  if (alone.now) return std::move(alone.now);
  FirstFits beside = first_fits(trial, choice, trial.bands_by_room(Trial::Index::CpuBesideDevices), request);
  if (beside.now) return std::move(beside.now);
  return alone.later ? std::move(alone.later) : std::move(beside.later);
}

/// The best of these by points, by a look at each. Points need to be comparable among them only.
std::optional<BandChoice> best_by_points(const Trial& trial, const Choice& choice,
                                         std::span<const std::uint32_t> bands) {
  const std::uint32_t member = choice.member;
  const std::vector<bool>& allowed = choice.allowed;
  const Snapshot& snapshot = trial.snapshot();
  const Member& source = snapshot.members[member];
  const bool cpu_only = source.request.gpu == 0 && source.devices == 0;
  const Fitting fitting = cpu_only ? trial.parts().cpu_fitting : trial.parts().gpu_fitting;
  const PackRange range = pack_range(trial, cpu_only, bands);
  std::optional<BandChoice> best;
  std::int64_t best_score = 0;
  for (const std::uint32_t band : bands) {
    if (!is_in_pool(trial, band) || (!allowed.empty() && !allowed[band])) continue;
    std::optional<BandFit> fit = trial.fit(member, band, Trial::When::NowOrLater);
    if (!fit || !band_allowed(snapshot, source, band)) continue;
    const BandRoom& room = trial.room(band);
    const Resources& capacity = snapshot.bands[band].capacity;
    const std::int64_t free = room.later().of(range.resource);
    std::int64_t score = 0;
    if (fitting == Fitting::Spread || fitting == Fitting::Worst) {
      const std::int64_t all = capacity.of(range.resource);
      score = all == 0 ? 0 : static_cast<std::int64_t>(Wide{kScoreUnit} * free / all);
    } else if (capacity.of(range.resource) > 0) {
      score = pack_score(free, range.low, range.high);
    }
    const std::int64_t mib =
        source.device_memory_mib > 0 ? source.device_memory_mib : source.device_share * room.device_memory_mib / 1000;
    if (source.devices > 0 && shared_device_fits(room, {source.devices, mib, fitting})) score += kSharedDevice;
    if (fit->now) score += kFitsNow;
    if (cpu_only && capacity.gpu == 0) score += kNoDeviceWasted;
    if (best &&
        (score < best_score || (score == best_score && snapshot.bands[band].name >= snapshot.bands[best->band].name)))
      continue;
    best = BandChoice{band, std::move(*fit)};
    best_score = score;
  }
  return best;
}

/// Bands without devices are all alike to fragmentation, which then packs them.
bool goes_by_growth(const Trial& trial, const Choice& choice) {
  const Member& source = trial.snapshot().members[choice.member];
  const bool cpu_only = source.request.gpu == 0 && source.devices == 0;
  const Fitting fitting = cpu_only ? trial.parts().cpu_fitting : trial.parts().gpu_fitting;
  return fitting == Fitting::Fragmentation && trial.total().gpu > 0;
}

/// The best of these by growth; kNone: it fits none.
std::uint32_t least_of(const Trial& trial, const Choice& choice, DeviceFragmentation& scores,
                       std::span<const std::uint32_t> bands) {
  const Snapshot& snapshot = trial.snapshot();
  const std::size_t row = scores.row_of(snapshot.members[choice.member]);
  std::uint32_t best = kNone;
  BandGrowth least;
  for (const std::uint32_t band : bands) {
    if (!is_in_pool(trial, band) || (!choice.allowed.empty() && !choice.allowed[band])) continue;
    const BandGrowth& growth = scores.growth(trial, row, choice.member, band);
    if (growth.fits == BandGrowth::Fits::Not || grows_less(least, growth)) continue;
    if (!band_allowed(snapshot, snapshot.members[choice.member], band)) continue;
    if (best != kNone && !grows_less(growth, least) && snapshot.bands[band].name >= snapshot.bands[best].name) continue;
    best = band;
    least = growth;
  }
  return best;
}

std::uint32_t first_in_order(const Trial& trial, const Choice& choice, DeviceFragmentation& scores) {
  const Member& source = trial.snapshot().members[choice.member];
  for (const RankedGrowth& each : scores.in_order(trial, scores.row_of(source), choice.member))
    if ((choice.allowed.empty() || choice.allowed[each.band]) && band_allowed(trial.snapshot(), source, each.band))
      return each.band;
  return kNone;
}

/// With the device where fragmentation grows least.
std::optional<BandChoice> on_device(const Trial& trial, const Choice& choice, DeviceFragmentation& scores,
                                    std::uint32_t band) {
  if (band == kNone) return std::nullopt;
  const Member& source = trial.snapshot().members[choice.member];
  if (source.devices == 1 && trial.parts().device_fitting != Fitting::Spread) {
    const BandGrowth& growth = scores.growth(trial, scores.row_of(source), choice.member, band);
    return BandChoice{band, fit_part(trial, choice.member, band, growth.device)};
  }
  return BandChoice{band, *trial.fit(choice.member, band, Trial::When::NowOrLater)};
}

std::optional<BandChoice> best_by_growth(const Trial& trial, const Choice& choice) {
  DeviceFragmentation& scores = trial.fragmentation();
  const std::span<const std::uint32_t> only = trial.snapshot().bands_of(trial.snapshot().members[choice.member]);
  const bool is_short = !only.empty() && only.size() * kShortList <= trial.bands().size();
  return on_device(trial, choice, scores,
                   is_short ? least_of(trial, choice, scores, only) : first_in_order(trial, choice, scores));
}

std::optional<BandChoice> best_band(const Trial& trial, const Choice& choice) {
  if (goes_by_growth(trial, choice)) return best_by_growth(trial, choice);
  const Member& source = trial.snapshot().members[choice.member];
  const bool cpu_only = source.request.gpu == 0 && source.devices == 0;
  const Fitting fitting = cpu_only ? trial.parts().cpu_fitting : trial.parts().gpu_fitting;
  const bool packed = fitting != Fitting::Worst && fitting != Fitting::Spread;
  const std::span<const std::uint32_t> only = trial.snapshot().bands_of(source);
  const bool is_short = !only.empty() && only.size() * kShortList <= trial.bands().size();
  const bool has_request = !cpu_only || source.request.cpu > 0;
  if (packed && is_short && has_request &&
      points_differ(trial, {Trial::Index::Devices, Trial::Index::CpuAlone, Trial::Index::CpuBesideDevices}))
    return best_by_points(trial, choice, only);
  if (packed && source.devices == 0 && source.request.gpu > 0 && points_differ(trial, {Trial::Index::Devices}))
    return fullest_with_devices(trial, choice);
  if (packed && cpu_only && source.request.cpu > 0 &&
      points_differ(trial, {Trial::Index::CpuAlone, Trial::Index::CpuBesideDevices}))
    return fullest_with_cpu(trial, choice);
  if (packed && source.devices > 0 && source.request.gpu == 0 && points_differ(trial, {Trial::Index::Devices}))
    return fullest_with_parts(trial, choice);
  return best_by_points(trial, choice, trial.bands());
}

/// A member that waits for no other is better off, even where it may only be promised a place. Spec: policy-runai 7.
std::optional<BandChoice> as_asked(std::optional<BandChoice> best, Trial::When when) {
  if (best && when == Trial::When::Later) best->fit.now = false;
  return best;
}

}  // namespace

std::optional<BandChoice> choose_band(const Trial& trial, std::uint32_t member, Trial::When when,
                                      const std::vector<bool>& allowed) {
  return as_asked(best_band(trial, {member, when, allowed}), when);
}

std::optional<BandChoice> choose_band_by_scan(const Trial& trial, const Choice& choice) {
  if (goes_by_growth(trial, choice)) {
    const Member& source = trial.snapshot().members[choice.member];
    DeviceFragmentation afresh{trial, trial.snapshot().workloads[source.workload].pool};
    return as_asked(on_device(trial, choice, afresh, least_of(trial, choice, afresh, trial.bands())), choice.when);
  }
  return as_asked(best_by_points(trial, choice, trial.bands()), choice.when);
}

}  // namespace penstock::policy
