#include "worker/shell/renewed_link.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

TEST(RenewedLink, ALinkTakesEverythingUntilItIsMadeAnew) {
  RenewedLink link;
  EXPECT_TRUE(link.takes({FromWorker{DrainState{}}}));
}

TEST(RenewedLink, NothingPassesBeforeTheIntroductionAndEverythingBehindIt) {
  RenewedLink link;
  link.renew();
  EXPECT_FALSE(link.takes({FromWorker{ReportBatch{}}}));
  EXPECT_FALSE(link.takes({FromWorker{DrainState{}}, FromWorker{Register{}}}));
  EXPECT_TRUE(link.takes({FromWorker{Register{}}, FromWorker{ReportBatch{}}}));
  EXPECT_TRUE(link.takes({FromWorker{ReportBatch{}}}));
}

}  // namespace
}  // namespace penstock::worker
