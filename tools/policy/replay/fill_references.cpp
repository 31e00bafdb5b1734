// Written after the paper alone, and in its terms: an oracle for the fitting `fragmentation` shares nothing with it.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

#include "tools/policy/replay/fill.hpp"

namespace penstock::policy {
namespace {

constexpr std::int64_t kWhole = 1000;

/// A band with the free thousandths of each of its devices.
struct Machine {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::vector<std::int64_t> devices;

  std::int64_t free() const { return std::accumulate(devices.begin(), devices.end(), std::int64_t{0}); }
};

/// A kind of request: thousandths of cores, bytes, and so much of each of `devices` devices.
using Ask = std::array<std::int64_t, 4>;
constexpr std::size_t kCpu = 0;
constexpr std::size_t kMemory = 1;
constexpr std::size_t kDevices = 2;
constexpr std::size_t kShare = 3;

Ask ask_of(const ReplayJob& job) {
  return {job.cpu_milli, job.memory_mib * 1024 * 1024, job.devices, job.devices == 0 ? 0 : job.device_share};
}

bool fits(const Machine& machine, const Ask& request) {
  if (machine.cpu < request[kCpu] || machine.memory < request[kMemory]) return false;
  return std::count_if(machine.devices.begin(), machine.devices.end(),
                       [&request](std::int64_t free) { return free >= request[kShare]; }) >= request[kDevices];
}

/// With the request on these devices.
Machine with(Machine machine, const Ask& request, const std::vector<std::size_t>& devices) {
  machine.cpu -= request[kCpu];
  machine.memory -= request[kMemory];
  for (const std::size_t device : devices) machine.devices[device] -= request[kShare];
  return machine;
}

/// F_n(M) of the paper, times the number of requests: what a request of the workload, drawn at random, cannot use.
struct TypicalAsks {
  struct Kind {
    Ask request;
    std::vector<std::uint32_t> bands;
    std::int64_t count = 0;
  };
  std::vector<Kind> kinds;

  explicit TypicalAsks(const ReplayTrace& trace) {
    std::map<std::pair<Ask, std::vector<std::uint32_t>>, std::int64_t> counts;
    for (const ReplayJob& job : trace.jobs) ++counts[{ask_of(job), job.bands}];
    for (const auto& [kind, count] : counts) kinds.push_back({kind.first, kind.second, count});
  }

  std::int64_t fragmentation(const Machine& machine, std::uint32_t band) const {
    std::int64_t sum = 0;
    for (const Kind& kind : kinds) {
      const bool may = kind.bands.empty() || std::binary_search(kind.bands.begin(), kind.bands.end(), band);
      if (kind.request[kDevices] == 0 || !may || !fits(machine, kind.request)) {
        sum += kind.count * machine.free();
        continue;
      }
      for (const std::int64_t free : machine.devices)
        if (free < kind.request[kShare]) sum += kind.count * free;
    }
    return sum;
  }
};

/// The least comes first.
struct Score {
  double value = 0;
  std::vector<std::size_t> devices;
};

/// The first devices of an order that have room.
template <class Before>
std::vector<std::size_t> first_devices(const Machine& machine, const Ask& request, const Before& before) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < machine.devices.size(); ++i)
    if (request[kDevices] > 0 && machine.devices[i] >= request[kShare]) all.push_back(i);
  std::stable_sort(all.begin(), all.end(),
                   [&](std::size_t a, std::size_t b) { return before(machine.devices[a], machine.devices[b]); });
  all.resize(static_cast<std::size_t>(request[kDevices]));
  return all;
}

class Filling {
 public:
  Filling(const ReplayTrace& filling, const ReplayTrace& typical, FillReference reference)
      : filling_(filling), typical_(typical), reference_(reference) {
    for (const Band& band : filling.bands) {
      machines_.push_back({band.capacity.cpu, band.capacity.memory,
                           std::vector<std::int64_t>(static_cast<std::size_t>(band.capacity.gpu / kWhole), kWhole)});
      most_ = {std::max(most_[kCpu], band.capacity.cpu), std::max(most_[kMemory], band.capacity.memory),
               std::max(most_[kDevices], band.capacity.gpu), 0};
    }
    empty_ = machines_;
  }

  FillResult run() {
    FillResult result;
    for (const Band& band : filling_.bands) result.devices += band.capacity.gpu;
    for (const ReplayJob& job : filling_.jobs) {
      const Ask request = ask_of(job);
      result.asked_for += request[kDevices] * request[kShare];
      if (place(job, request))
        result.allocated += request[kDevices] * request[kShare];
      else
        ++result.unplaced;
    }
    return result;
  }

 private:
  bool place(const ReplayJob& job, const Ask& request) {
    std::vector<Known>& known = known_[request];
    known.resize(machines_.size());
    std::optional<std::uint32_t> best;
    const auto look_at = [&](std::uint32_t band) {
      Known& each = known[band];
      if (!each.valid)
        each = {true, fits(machines_[band], request) ? std::optional{score(band, request)} : std::nullopt};
      if (each.score && (!best || each.score->value < known[*best].score->value)) best = band;
    };
    if (job.bands.empty())
      for (std::uint32_t band = 0; band < machines_.size(); ++band) look_at(band);
    else
      for (const std::uint32_t band : job.bands) look_at(band);
    if (!best) return false;
    machines_[*best] = with(machines_[*best], request, known[*best].score->devices);
    for (auto& [other, scores] : known_)
      if (!scores.empty()) scores[*best].valid = false;
    return true;
  }

  Score score(std::uint32_t band, const Ask& request) const {
    const Machine& machine = machines_[band];
    const auto fullest = [](std::int64_t a, std::int64_t b) { return a < b; };
    Score best{0, first_devices(machine, request, fullest)};
    switch (reference_) {
      case FillReference::BestFit: best.value = left(with(machine, request, best.devices)); break;
      case FillReference::Packing: best.value = packed(band, request, best.devices); break;
      case FillReference::Gradient: return gradient(band, request);
    }
    return best;
  }

  double left(const Machine& machine) const {
    const auto part = [](std::int64_t free, std::int64_t most) {
      return most == 0 ? 0 : static_cast<double>(free) / static_cast<double>(most);
    };
    return part(machine.cpu, most_[kCpu]) + part(machine.memory, most_[kMemory]) +
           part(machine.free(), most_[kDevices]);
  }

  /// The class of the band first, then the least left.
  double packed(std::uint32_t band, const Ask& request, const std::vector<std::size_t>& devices) const {
    const Machine& machine = machines_[band];
    const bool opens = std::any_of(devices.begin(), devices.end(),
                                   [&machine](std::size_t device) { return machine.devices[device] == kWhole; });
    const bool idle = machine.cpu == empty_[band].cpu;
    return (idle ? 20 : opens ? 10 : 0) + left(with(machine, request, devices));
  }

  Score gradient(std::uint32_t band, const Ask& request) const {
    const Machine& machine = machines_[band];
    const std::int64_t before = typical_.fragmentation(machine, band);
    const auto growth = [&](const std::vector<std::size_t>& devices) {
      return static_cast<double>(typical_.fragmentation(with(machine, request, devices), band) - before);
    };
    if (request[kDevices] != 1 || request[kShare] == kWhole) {
      const std::vector<std::size_t> any = first_devices(machine, request, std::greater<>{});
      return {growth(any), any};
    }
    std::optional<Score> best;
    for (std::size_t device = 0; device < machine.devices.size(); ++device) {
      if (machine.devices[device] < request[kShare]) continue;
      const double value = growth({device});
      if (!best || value < best->value) best = Score{value, {device}};
    }
    return *best;
  }

  struct Known {
    bool valid = false;
    std::optional<Score> score;
  };

  const ReplayTrace& filling_;
  const TypicalAsks typical_;
  const FillReference reference_;
  std::vector<Machine> machines_;
  std::vector<Machine> empty_;
  Ask most_{};
  std::map<Ask, std::vector<Known>> known_;
};

}  // namespace

FillResult fill_by_reference(const ReplayTrace& filling, const ReplayTrace& typical, FillReference reference) {
  return Filling{filling, typical, reference}.run();
}

}  // namespace penstock::policy
