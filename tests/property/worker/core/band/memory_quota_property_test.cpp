// MemoryQuota under random use: what must hold whatever happens.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <vector>

#include "worker/core/band/memory_quota.hpp"

namespace penstock::worker {
namespace {

constexpr std::int64_t kCapacity = 100;
constexpr std::int64_t kHardLimit = 160;
constexpr std::uint32_t kRecords = 10;

using Step = std::tuple<std::uint8_t, std::uint8_t, std::uint8_t, std::uint8_t>;

struct Model {
  std::map<std::uint32_t, std::int64_t> granted;
  std::map<std::uint32_t, std::int64_t> wanted;

  std::int64_t used() const {
    std::int64_t sum = 0;
    for (const auto& [record, bytes] : granted) sum += bytes;
    return sum;
  }
  void check_against(const MemoryQuota& quota) const {
    RC_ASSERT(quota.used() == Bytes{used()});
    RC_ASSERT(quota.waiting() == wanted.size());
    for (std::uint32_t record = 0; record < kRecords; ++record) {
      const auto found = granted.find(record);
      RC_ASSERT(quota.granted_to(RecordIndex{record}) == Bytes{found == granted.end() ? 0 : found->second});
    }
  }
};

void grants_are_conserved(const std::vector<Step>& steps) {
  MemoryQuota quota{Bytes{kCapacity}, Bytes{kHardLimit}, {.overtake_max = 3, .scan_max = 4, .forward_bypass_max = 2}};
  Model model;
  std::uint64_t sequence = 0;
  for (const auto& [kind, a, b, c] : steps) {
    const std::uint32_t record = a % kRecords;
    const std::int64_t bytes = b % (kHardLimit + 20);
    const QuotaRequest request{RecordIndex{record}, Bytes{bytes}, 0, c, sequence++};
    switch (kind % 5) {
      case 0:
      case 1: {
        const QuotaAnswer answer = quota.request(request);
        RC_ASSERT((answer == QuotaAnswer::Refused) == (bytes > kHardLimit));
        if (answer == QuotaAnswer::Granted) model.granted[record] = bytes;
        if (answer == QuotaAnswer::Waits) model.wanted[record] = bytes;
        break;
      }
      case 2:
        if (model.granted.contains(record) || model.wanted.contains(record)) break;
        if (quota.try_request(request)) model.granted[record] = bytes;
        break;
      case 3:
        quota.release(RecordIndex{record});
        model.granted.erase(record);
        model.wanted.erase(record);
        break;
      case 4:
        quota.shrink(RecordIndex{record}, Bytes{bytes});
        if (model.granted.contains(record) && bytes < model.granted[record]) model.granted[record] = bytes;
        break;
      default: break;
    }
    quota.validate();
    std::vector<RecordIndex> granted;
    quota.take_granted(granted);
    for (const RecordIndex index : granted) {
      RC_ASSERT(model.wanted.contains(index.value()));
      model.granted[index.value()] = model.wanted[index.value()];
      model.wanted.erase(index.value());
    }
    quota.validate();
    model.check_against(quota);
    // The request that is first in line waits only for memory that others really hold.
    if (quota.head().valid()) {
      const std::int64_t own = model.granted.contains(quota.head().value()) ? model.granted[quota.head().value()] : 0;
      const std::int64_t others = model.used() - own;
      const std::int64_t wants = model.wanted[quota.head().value()];
      const std::size_t other_holders = model.granted.size() - model.granted.count(quota.head().value());
      const bool must_wait = wants <= kCapacity ? others + wants > kCapacity : other_holders > 0;
      RC_ASSERT(must_wait);
    }
  }
}

TEST(MemoryQuotaProperty, GrantsAreConservedAndNobodyWaitsForNothing) {
  EXPECT_TRUE(rc::check("grants match the model after every step", grants_are_conserved));
}

// No request waits for ever: however many small ones keep coming, the first in line is overtaken a bounded number of
// times.
void waiting_is_bounded(const std::vector<std::uint8_t>& sizes) {
  MemoryQuota quota{Bytes{kCapacity}, Bytes{kHardLimit}, {.overtake_max = 3, .scan_max = 4, .forward_bypass_max = 2}};
  std::uint64_t sequence = 0;
  quota.request({RecordIndex{0}, Bytes{60}, 0, 0, sequence++});
  quota.request({RecordIndex{1}, Bytes{90}, 0, 9, sequence++});
  int overtakes = 0;
  for (std::uint32_t i = 0; i < sizes.size(); ++i) {
    const RecordIndex small{i + 2};
    quota.request({small, Bytes{1 + sizes[i] % 10}, 0, 0, sequence++});
    std::vector<RecordIndex> granted;
    quota.take_granted(granted);
    overtakes += static_cast<int>(granted.size());
    for (const RecordIndex index : granted) quota.release(index);
  }
  RC_ASSERT(overtakes <= 3);
  quota.release(RecordIndex{0});
  std::vector<RecordIndex> granted;
  quota.take_granted(granted);
  RC_ASSERT(!granted.empty() && granted.front() == RecordIndex{1});
}

TEST(MemoryQuotaProperty, WaitingIsBounded) {
  EXPECT_TRUE(rc::check("the first in line is overtaken at most three times", waiting_is_bounded));
}

// Requests that overtake the first in line may stay for ever: the first waits no longer than for requests that were
// there before it.
void overtakers_delay_nobody(const std::vector<std::uint8_t>& sizes) {
  MemoryQuota quota{Bytes{kCapacity}, Bytes{kHardLimit}, {.overtake_max = 3, .scan_max = 4, .forward_bypass_max = 2}};
  std::uint64_t sequence = 0;
  const std::int64_t head = 20 + (sizes.empty() ? 0 : sizes.front() % 80);
  quota.request({RecordIndex{0}, Bytes{60}, 0, 9, sequence++});
  quota.request({RecordIndex{1}, Bytes{head}, 0, 8, sequence++});
  std::vector<RecordIndex> granted;
  for (std::uint32_t i = 0; i < sizes.size(); ++i)
    quota.request({RecordIndex{i + 2}, Bytes{1 + sizes[i] % 40}, 0, 0, sequence++});
  quota.take_granted(granted);
  quota.release(RecordIndex{0});
  quota.take_granted(granted);
  RC_ASSERT(!quota.waits(RecordIndex{1}));
}

TEST(MemoryQuotaProperty, OvertakersDelayNobody) {
  EXPECT_TRUE(rc::check("the first in line is granted when those before it have ended", overtakers_delay_nobody));
}

}  // namespace
}  // namespace penstock::worker
