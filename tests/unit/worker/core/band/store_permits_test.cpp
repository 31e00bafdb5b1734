#include "worker/core/band/store_permits.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

TEST(StorePermits, APermitThatIsGivenBackGoesToTheFirstInLine) {
  StorePermits permits{1};
  EXPECT_TRUE(permits.take(RecordIndex{0}));
  EXPECT_FALSE(permits.take(RecordIndex{1}));
  EXPECT_FALSE(permits.take(RecordIndex{2}));
  EXPECT_EQ(permits.give_back(), RecordIndex{1});
  EXPECT_EQ(permits.available(), 0U);
}

TEST(StorePermits, ARecordThatStopsWaitingGetsNone) {
  StorePermits permits{1};
  permits.take(RecordIndex{0});
  permits.take(RecordIndex{1});
  permits.stop_waiting(RecordIndex{1});
  permits.stop_waiting(RecordIndex{1});
  EXPECT_EQ(permits.give_back(), RecordIndex::none());
  EXPECT_EQ(permits.available(), 1U);
}

}  // namespace
}  // namespace penstock::worker
