#include "supervisor/shell/peer_numbers.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

TEST(PeerNumbers, CountUpAndAreNotUsedAgain) {
  PeerNumbers<WorkerId> numbers;
  EXPECT_EQ(numbers.add(Incarnation{7}), WorkerId{1});
  EXPECT_EQ(numbers.add(Incarnation{8}), WorkerId{2});
  EXPECT_EQ(numbers.remove(Incarnation{7}), WorkerId{1});
  EXPECT_FALSE(numbers.find(Incarnation{7}).valid());
  EXPECT_FALSE(numbers.find(WorkerId{1}).valid());
  EXPECT_EQ(numbers.find(WorkerId{2}), Incarnation{8});
  EXPECT_EQ(numbers.add(Incarnation{7}), WorkerId{3});
}

TEST(PeerNumbers, AnUnknownPeerHasNone) {
  PeerNumbers<ClientId> numbers;
  EXPECT_FALSE(numbers.find(Incarnation{1}).valid());
  EXPECT_FALSE(numbers.remove(Incarnation{1}).valid());
  EXPECT_FALSE(numbers.find(ClientId{1}).valid());
}

TEST(PeerNumbers, APeerOfBeforeTheRestartComesBackByItsNumberOnce) {
  PeerNumbers<WorkerId> numbers;
  numbers.go_on_from(WorkerId{5});
  numbers.expect(Incarnation{7}, WorkerId{3});
  EXPECT_EQ(numbers.add(Incarnation{8}), WorkerId{5});
  EXPECT_EQ(numbers.add(Incarnation{7}), WorkerId{3});
  EXPECT_EQ(numbers.find(WorkerId{3}), Incarnation{7});
  numbers.remove(Incarnation{7});
  EXPECT_EQ(numbers.add(Incarnation{7}), WorkerId{6});
}

}  // namespace
}  // namespace penstock::supervisor
