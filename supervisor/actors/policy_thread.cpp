#include "supervisor/actors/policy_thread.hpp"

#include <algorithm>
#include <exception>

#include "supervisor/core/job_shares.hpp"
#include "supervisor/policy/policy_engine.hpp"

namespace penstock::supervisor {

namespace {

/// REQUIRES: one of the words.
template <class Enum, std::size_t count>
Enum position_of(const std::string& word, const std::array<const char*, count>& words) {
  const auto found = std::find(words.begin(), words.end(), word);
  return static_cast<Enum>(found == words.end() ? 0 : found - words.begin());
}

}  // namespace

policy::MultifactorOptions multifactor_of(const FactorConfig& factors) {
  static_assert(static_cast<int>(policy::FairShareFactor::FluxRank) + 1 == kFairShareFactorWords.size());
  policy::MultifactorOptions options;
  options.weights = {static_cast<double>(factors.wait), static_cast<double>(factors.fair_share),
                     static_cast<double>(factors.qos),  static_cast<double>(factors.queue),
                     static_cast<double>(factors.size), static_cast<double>(factors.user)};
  options.wait_max = factors.wait_max;
  options.favor = position_of<policy::SizeFavor>(factors.size_favor, kSizeFavorWords);
  options.factor = position_of<policy::FairShareFactor>(factors.fair_share_factor, kFairShareFactorWords);
  return options;
}

Result<std::vector<policy::Parts>> parts_of(const std::vector<PoolConfig>& pools) {
  std::vector<policy::Parts> parts;
  for (const PoolConfig& pool : pools) {
    Result<policy::Parts> found = policy::preset(pool.preset);
    if (!found) {
      Error error = std::move(found).error();
      error.subject = "pool '" + pool.name + "', preset '" + pool.preset + "'";
      return error;
    }
    found->preemption = pool.preemption;
    found->multifactor = multifactor_of(pool.factors);
    if (found->has(policy::Action::Backfill))
      found->reserve_depth = static_cast<std::uint32_t>(std::min<std::int64_t>(pool.reserve_depth, 0xffffffff));
    parts.insert(parts.end(), kBandKinds, *found);
  }
  return parts;
}

supervisor_event::PassEnded run_pass(const supervisor_action::RunPass& order) {
  supervisor_event::PassEnded ended;
  ended.number = order.number;
  try {
    Result<std::vector<policy::Parts>> parts = parts_of(order.pools);
    const Result<void> good = parts ? policy::check_snapshot(order.snapshot) : Result<void>{parts.error()};
    if (good)
      ended.plan = policy::PolicyEngine{std::move(parts).value()}.pass(order.snapshot);
    else
      ended.failure = to_string(good.error());
  } catch (const std::exception& failure) {
    ended.failure = failure.what();
  }
  return ended;
}

PolicyThread::PolicyThread(Done done) : done_(std::move(done)), thread_([this] { serve(); }) {}

PolicyThread::~PolicyThread() {
  {
    const std::lock_guard lock{mutex_};
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void PolicyThread::run(supervisor_action::RunPass&& order) {
  {
    const std::lock_guard lock{mutex_};
    waiting_ = std::move(order);
  }
  changed_.notify_one();
}

void PolicyThread::serve() {
  while (true) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return ending_ || waiting_.has_value(); });
    if (ending_) return;
    const supervisor_action::RunPass order = std::move(*waiting_);
    waiting_.reset();
    lock.unlock();
    done_(run_pass(order));
  }
}

}  // namespace penstock::supervisor
