#include "tools/policy/replay/replay_figures.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

namespace penstock::policy {

double jain_index(const std::vector<double>& amounts) {
  double sum = 0;
  double squares = 0;
  for (const double amount : amounts) {
    sum += amount;
    squares += amount * amount;
  }
  if (squares > 0) return sum * sum / (static_cast<double>(amounts.size()) * squares);
  return amounts.empty() ? 1 : 0;
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

ReplayTimes times_of(std::vector<std::int64_t> seconds) {
  ReplayTimes times;
  if (seconds.empty()) return times;
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](std::size_t percent) { return seconds[(seconds.size() * percent + 99) / 100 - 1]; };
  double sum = 0;
  for (const std::int64_t each : seconds) sum += static_cast<double>(each);
  times.mean_s = sum / static_cast<double>(seconds.size());
  times.median_s = at(50);
  times.p95_s = at(95);
  times.max_s = seconds.back();
  return times;
}

ReplayWaits waits_of(std::string project, ProjectTimes times) {
  return {times_of(std::move(times.waits_s)), std::move(project), times.jobs, times.never_started,
          times_of(std::move(times.completions_s))};
}

RequestGrid::RequestGrid(std::vector<Request> requests) : below_(requests.size() + 1) {
  std::sort(requests.begin(), requests.end(),
            [](const Request& a, const Request& b) { return a.cpu_milli < b.cpu_milli; });
  for (std::size_t i = 1; i <= requests.size(); ++i) {
    const Request& each = requests[i - 1];
    cpu_milli_.push_back(each.cpu_milli);
    memory_max_ = std::max(memory_max_, each.memory);
    all_ += each.count;
    for (std::size_t at = i; at < below_.size(); at += at & -at) below_[at].push_back(each);
  }
  for (std::vector<Request>& each : below_) {
    std::sort(each.begin(), each.end(), [](const Request& a, const Request& b) { return a.memory < b.memory; });
    std::int64_t sum = 0;
    for (Request& request : each) request.count = sum += request.count;
  }
}

std::int64_t RequestGrid::fitting(std::int64_t cpu_milli, std::int64_t memory) const {
  if (cpu_milli >= cpu_milli_.back() && memory >= memory_max_) return all_;
  const auto end = std::upper_bound(cpu_milli_.begin(), cpu_milli_.end(), cpu_milli);
  std::int64_t sum = 0;
  for (auto at = static_cast<std::size_t>(end - cpu_milli_.begin()); at > 0; at -= at & -at) {
    const auto larger = [](std::int64_t most, const Request& request) { return most < request.memory; };
    const auto last = std::upper_bound(below_[at].begin(), below_[at].end(), memory, larger);
    if (last != below_[at].begin()) sum += std::prev(last)->count;
  }
  return sum;
}

TypicalRequests::TypicalRequests(const ReplayTrace& trace) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>> counts;
  for (const ReplayJob& job : trace.jobs)
    if (job.devices > 0) ++counts[{job.devices, job.device_share}][{job.cpu_milli, job.memory_mib << 20}];
  for (const auto& [shape, kinds] : counts) {
    std::vector<RequestGrid::Request> requests;
    for (const auto& [kind, count] : kinds) requests.push_back({kind.first, kind.second, count});
    shapes_.push_back({shape.first, shape.second, RequestGrid{std::move(requests)}});
    all_ += shapes_.back().requests.all();
  }
}

RestValue TypicalRequests::value_of(const BandRest& band) const {
  RestValue value{band.whole, 0};
  std::int64_t largest_part = 0;
  for (const std::int64_t part : band.parts) {
    value.free += part;
    largest_part = std::max(largest_part, part);
  }
  if (value.free == 0) return value;
  std::int64_t fitting = 0;
  for (const Shape& shape : shapes_) {
    const bool by_part = shape.share < 1000 && largest_part >= shape.share;
    if (by_part || band.whole >= shape.devices * 1000) fitting += shape.requests.fitting(band.cpu_milli, band.memory);
  }
  value.unusable = value.free * (all_ - fitting);
  return value;
}

double TypicalRequests::unusable_part(const RestValue& sum) const {
  if (sum.free == 0 || all_ == 0) return 0;
  return static_cast<double>(sum.unusable) / static_cast<double>(all_) / static_cast<double>(sum.free);
}

double TypicalRequests::unusable_part(const std::vector<BandRest>& bands) const {
  RestValue sum;
  for (const BandRest& band : bands) sum += value_of(band);
  return unusable_part(sum);
}

void ReplayMeter::Sum::add(const ReplaySample& sample, double for_s) {
  seconds += for_s;
  used += sample.used * for_s;
  fragmented += sample.fragmented * for_s;
  waiting += sample.waiting * for_s;
  if (!sample.judged) return;
  fairness += sample.fairness * for_s;
  judged += for_s;
}

void ReplayMeter::Sum::add(const Sum& other) {
  seconds += other.seconds;
  used += other.used;
  fragmented += other.fragmented;
  fairness += other.fairness;
  judged += other.judged;
  waiting += other.waiting;
}

ReplaySample ReplayMeter::Sum::mean() const {
  ReplaySample sample;
  if (seconds == 0) return sample;
  sample.used = used / seconds;
  sample.fragmented = fragmented / seconds;
  sample.waiting = waiting / seconds;
  sample.judged = judged > 0;
  if (sample.judged) sample.fairness = fairness / judged;
  return sample;
}

ReplayMeter::ReplayMeter(std::int64_t begins_s, std::int64_t samples_max)
    : begins_s_(begins_s), samples_max_(static_cast<std::size_t>(std::max<std::int64_t>(2, samples_max))) {}

void ReplayMeter::hold(const ReplaySample& now, Duration time) {
  if (time <= Duration{0}) return;
  const auto seconds = [](Duration each) { return std::chrono::duration<double>{each}.count(); };
  all_.add(now, seconds(time));
  // As few steps as there are samples, however long it lasts.
  while ((passed_ + time - Duration{1}) / span_ >= static_cast<std::int64_t>(samples_max_)) halve();
  while (time > Duration{0}) {
    const std::int64_t at = passed_ / span_;
    if (at >= std::ssize(sums_)) sums_.resize(static_cast<std::size_t>(at + 1));
    const Duration here = std::min<Duration>(time, span_ * (at + 1) - passed_);
    sums_[static_cast<std::size_t>(at)].add(now, seconds(here));
    passed_ += here;
    time -= here;
  }
}

void ReplayMeter::halve() {
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (i % 2 == 1)
      sums_[i / 2].add(sums_[i]);
    else if (i > 0)
      sums_[i / 2] = sums_[i];
  }
  sums_.resize((sums_.size() + 1) / 2);
  span_ *= 2;
}

std::vector<ReplaySample> ReplayMeter::samples() const {
  std::vector<ReplaySample> all;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    all.push_back(sums_[i].mean());
    all.back().at_s = begins_s_ + span_.count() * static_cast<std::int64_t>(i);
  }
  return all;
}

ReplaySample ReplayMeter::mean() const { return all_.mean(); }

}  // namespace penstock::policy
