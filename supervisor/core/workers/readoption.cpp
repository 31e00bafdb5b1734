#include "supervisor/core/workers/readoption.hpp"

#include <algorithm>
#include <utility>

#include "common/base/coverage_mark.hpp"

namespace penstock::supervisor {

namespace {

// Of the wait, while workers come back: ten thousand handshakes take two processors 20 s (fault F32).
constexpr int kCrowdFactor = 20;

}  // namespace

void Readoption::begin(std::vector<record::WorkerJoined> expected) {
  absent_ = std::move(expected);
  if (absent_.empty()) return;
  active_ = true;
  until_ = later(event_.now, config_.reclaim_wait);
  latest_ = later(event_.now, config_.reclaim_wait * kCrowdFactor);
}

template <class Is>
std::optional<record::WorkerJoined> Readoption::take(Is is) {
  const auto found = std::find_if(absent_.begin(), absent_.end(), is);
  if (found == absent_.end()) return {};
  std::optional worker{std::move(*found)};
  absent_.erase(found);
  return worker;
}

std::optional<Readoption::Returned> Readoption::take_back(WorkerId worker, Incarnation incarnation) {
  std::optional<record::WorkerJoined> found = take(
      [&](const record::WorkerJoined& known) { return known.worker == worker && known.incarnation == incarnation; });
  if (!found) return {};
  return Returned{std::move(*found), !active_ || awaits_disk()};
}

std::optional<record::WorkerJoined> Readoption::take_ended(Incarnation incarnation) {
  return take([&](const record::WorkerJoined& known) { return known.incarnation == incarnation; });
}

void Readoption::claim_ended() {
  --claims_open_;
  if (active_ && !awaits_disk())
    until_ = std::min(latest_, std::max(until_, later(event_.now, config_.reclaim_wait / 3)));
}

// Workers that are present and have not finished their claims get more time than absent ones.
bool Readoption::gives_up_absent() {
  if (event_.now < until_ || awaits_disk()) return false;
  const Instant last = later(latest_, config_.reclaim_wait * 7);
  if (claims_open_ > 0 && event_.now < last) {
    PENSTOCK_COVERAGE_MARK("a claim takes long");
    until_ = std::min(last, later(event_.now, config_.reclaim_wait / 3 + std::chrono::milliseconds{1}));
    return false;
  }
  until_ = kNever;
  if (!gate_.durable() || absent_.empty()) return true;
  for (const record::WorkerJoined& absent : absent_) gate_.write(record::WorkerGone{absent.worker});
  ticket_ = gate_.next_ticket();
  return false;
}

void Readoption::end() {
  active_ = false;
  until_ = latest_ = kNever;
  ticket_.reset();
}

}  // namespace penstock::supervisor
