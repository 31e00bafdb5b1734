#include "supervisor/policy/replay/replay_figures.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace penstock::policy {

double jain_index(const std::vector<double>& amounts) {
  double sum = 0;
  double squares = 0;
  for (const double amount : amounts) {
    sum += amount;
    squares += amount * amount;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(amounts.size()) * squares) : 1;
}

std::vector<double> equal_shares(const std::vector<double>& wanted, double capacity) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
  std::vector<double> shares(wanted.size(), 0);
  double left = capacity;
  for (std::size_t i = 0; i < order.size(); ++i) {
    shares[order[i]] = std::min(wanted[order[i]], left / static_cast<double>(order.size() - i));
    left -= shares[order[i]];
  }
  return shares;
}

ReplayWaits waits_of(std::string project, std::vector<std::int64_t> waits_s, std::int64_t never_started) {
  ReplayWaits waits;
  waits.project = std::move(project);
  waits.never_started = never_started;
  waits.jobs = std::ssize(waits_s) + never_started;
  if (waits_s.empty()) return waits;
  std::sort(waits_s.begin(), waits_s.end());
  const auto at = [&](std::size_t percent) { return waits_s[(waits_s.size() - 1) * percent / 100]; };
  double sum = 0;
  for (const std::int64_t wait : waits_s) sum += static_cast<double>(wait);
  waits.mean_s = sum / static_cast<double>(waits_s.size());
  waits.median_s = at(50);
  waits.p95_s = at(95);
  waits.max_s = waits_s.back();
  return waits;
}

TypicalRequests::TypicalRequests(const ReplayTrace& trace) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::int64_t> counts;
  for (const ReplayJob& job : trace.jobs)
    if (job.devices > 0) ++counts[{job.devices, job.device_share, job.cpu_milli}];
  for (const auto& [kind, count] : counts)
    kinds_.push_back({std::get<0>(kind), std::get<1>(kind), std::get<2>(kind), count});
  std::stable_sort(kinds_.begin(), kinds_.end(), [](const Kind& a, const Kind& b) { return a.count > b.count; });
  if (kinds_.size() > kKindsMax) kinds_.resize(kKindsMax);
}

double TypicalRequests::unusable_part(const std::vector<BandRest>& bands) const {
  double free = 0;
  double unusable = 0;
  double all = 0;
  for (const Kind& kind : kinds_) all += static_cast<double>(kind.count);
  for (const BandRest& band : bands) {
    double here = static_cast<double>(band.whole);
    std::int64_t largest_part = 0;
    for (const std::int64_t part : band.parts) {
      here += static_cast<double>(part);
      largest_part = std::max(largest_part, part);
    }
    free += here;
    for (const Kind& kind : kinds_) {
      const bool by_part = kind.share < 1000 && largest_part >= kind.share;
      const bool fits = (by_part || band.whole >= kind.devices * 1000) && band.cpu_milli >= kind.cpu_milli;
      if (!fits) unusable += here * static_cast<double>(kind.count) / all;
    }
  }
  return free > 0 ? unusable / free : 0;
}

}  // namespace penstock::policy
