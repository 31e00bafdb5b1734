#include "supervisor/core/share_view.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

using Rows = std::vector<std::vector<std::size_t>>;

ShareView::Sharer sharer(std::uint32_t job, std::int64_t demand, std::int64_t held) {
  return {JobId{job}, {.demand = demand, .held = held, .smallest_pending = demand > held ? 1 : 0}, 1000, 9};
}

/// The last one is a gang of that size which holds nothing.
ShareView pool(std::int64_t capacity, std::vector<ShareView::Sharer> others, std::int64_t gang) {
  ShareView view;
  view.capacity = capacity;
  view.sharers = std::move(others);
  view.subject = view.sharers.size();
  view.sharers.push_back({JobId{99}, {.demand = gang, .smallest_pending = gang}, 1000, 9});
  view.need = gang;
  return view;
}

TEST(ShareViewTest, TheSmallestWeightThatIsEnoughIsFound) {
  for (const bool max_min : {false, true}) {
    ShareView view = pool(8, {sharer(1, 8, 4), sharer(2, 8, 4)}, 4);
    view.max_min = max_min;
    EXPECT_FALSE(view.suffices());
    const std::optional<std::int64_t> weight = weight_that_suffices(view, 1'000'000'000);
    ASSERT_TRUE(weight.has_value());
    EXPECT_TRUE(view.with_weight(*weight).suffices());
    EXPECT_FALSE(view.with_weight(*weight - 1).suffices()) << *weight;
    EXPECT_FALSE(weight_that_suffices(view, *weight - 1).has_value());
  }
}

TEST(ShareViewTest, NoWeightMovesWhatIsPinned) {
  ShareView view = pool(8, {sharer(1, 8, 6)}, 4);
  view.sharers[0].group.pinned = 6;
  EXPECT_FALSE(weight_that_suffices(view, 1'000'000'000).has_value());
}

TEST(ShareViewTest, AWeightIsAPartOfItsProjects) {
  ShareView view = pool(8, {sharer(1, 8, 4), sharer(2, 8, 4)}, 4);
  view.projects = {{1000, 2000}};
  for (const std::size_t at : {std::size_t{1}, view.subject}) view.sharers[at].project = 0;
  EXPECT_FALSE(weight_that_suffices(view, 1'000'000'000).has_value()) << "not even all of its project's is enough";
  view.projects[0].weight = 3000;
  const std::optional<std::int64_t> weight = weight_that_suffices(view, 1'000'000'000);
  ASSERT_TRUE(weight.has_value());
  EXPECT_TRUE(view.with_weight(*weight).suffices());
  EXPECT_FALSE(view.with_weight(*weight - 1).suffices()) << *weight;
  EXPECT_EQ(weight_in_project(1000, 1000, 2000), 500);
  EXPECT_EQ(weight_in_project(1, 1, 1000), 1) << "never nothing";
  const ShareView alone = view.without({1});
  EXPECT_EQ(alone.projects[0].jobs, 1000) << "who is left of a project has all of its weight";
}

TEST(ShareViewTest, EndsAloneOrTogether) {
  ShareView view = pool(8, {sharer(1, 8, 2), sharer(2, 8, 3), sharer(3, 1, 1)}, 3);
  view.max_min = true;
  EXPECT_EQ(ends_that_suffice(view, {0, 1, 2}, 2, 64), (Rows{{0}, {1}}));
  EXPECT_EQ(ends_that_suffice(view, {0, 1, 2}, 1, 64), Rows{{0}});
  const ShareView all = pool(8, {sharer(1, 8, 2), sharer(2, 8, 3), sharer(3, 1, 1)}, 7);
  EXPECT_EQ(ends_that_suffice(all, {2, 0, 1}, 3, 64), (Rows{{2, 0, 1}}));
  EXPECT_EQ(ends_that_suffice(all, {0, 1, 2}, 3, 64), (Rows{{0, 1}}));
  EXPECT_EQ(ends_that_suffice(view, {2}, 2, 0), Rows{{2}}) << "looked at together";
  EXPECT_EQ(ends_that_suffice(pool(8, {sharer(1, 8, 8)}, 9), {0}, 3, 64), Rows{}) << "it would never fit";
}

// The division of the pass, and not one of all the pool: found by a reviewer.
TEST(ShareViewTest, WhoMayUseSomeBandsOnlyGetsWhatTheseHave) {
  for (const bool max_min : {false, true}) {
    ShareView view = pool(8, {sharer(1, 2, 2), sharer(2, 2, 2)}, 4);
    view.max_min = max_min;
    EXPECT_TRUE(view.suffices()) << "without a limit";
    view.limits = {{{0, 2}, 4}};
    EXPECT_FALSE(view.suffices());
    EXPECT_EQ(ends_that_suffice(view, {1, 0}, 0, 0), Rows{{0}}) << "the other does not help";
    EXPECT_EQ(ends_that_suffice(view, {1, 0}, 3, 64), Rows{{0}}) << "the other is on other bands";
    EXPECT_TRUE(view.with_more(4).suffices());
    view.limits = {{{2}, 2}};
    EXPECT_FALSE(weight_that_suffices(view, 1'000'000'000).has_value());
  }
}

// A job that could use all there was could use more.
TEST(ShareViewTest, MoreCapacityIsForAllWhoWantIt) {
  const ShareView view = pool(8, {sharer(1, 8, 8)}, 6);
  EXPECT_FALSE(view.with_more(2).suffices()) << "10 by 10 to 6 gives it 3.75";
  EXPECT_EQ(view.with_more(2).sharers[0].group.demand, 10);
  EXPECT_TRUE(pool(8, {sharer(1, 7, 7)}, 6).with_more(5).suffices());
}

}  // namespace
}  // namespace penstock::supervisor
