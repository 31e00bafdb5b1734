#include "worker/shell/peer_addresses.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

TEST(PeerAddresses, TheLatestAddressOfAWorkerCounts) {
  PeerAddresses peers;
  EXPECT_EQ(peers.find(WorkerId{1}), nullptr);
  EXPECT_TRUE(peers.note({{{WorkerId{1}, "a:1"}, {WorkerId{2}, "b:1"}}}).empty());
  EXPECT_TRUE(peers.note({{{WorkerId{1}, "c:1"}}}).empty());
  ASSERT_NE(peers.find(WorkerId{1}), nullptr);
  EXPECT_EQ(*peers.find(WorkerId{1}), "c:1");
  EXPECT_EQ(*peers.find(WorkerId{2}), "b:1");
}

TEST(PeerAddresses, AWorkerThatIsGoneLeavesItsAddressForWhatIsStillOnItsWay) {
  PeerAddresses peers;
  static_cast<void>(peers.note({{{WorkerId{1}, "a:1"}}}));
  EXPECT_EQ(peers.note({{{WorkerId{1}, ""}, {WorkerId{7}, ""}}}), std::vector<std::string>{"a:1"});
  EXPECT_EQ(peers.find(WorkerId{1}), nullptr);
  EXPECT_TRUE(peers.note({{{WorkerId{1}, ""}}}).empty());
}

TEST(PeerAddresses, AnotherIncarnationKnowsNone) {
  PeerAddresses peers;
  static_cast<void>(peers.note({{{WorkerId{1}, "a:1"}}}));
  peers.clear();
  EXPECT_EQ(peers.find(WorkerId{1}), nullptr);
}

}  // namespace
}  // namespace penstock::worker
