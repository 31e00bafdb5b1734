// SubtaskSet against std::set.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>
#include <utility>
#include <vector>

#include "worker/core/jobs/subtask_set.hpp"

namespace penstock::worker {
namespace {

/// Neighbours of one word, and others on either side of where a word and a page end.
std::uint32_t number_of(std::uint8_t drawn) {
  constexpr std::uint32_t kFirst[]{0, 60, 640, 65'530, 262'140};
  return kFirst[drawn % 5] + drawn / 5 % 12;
}

void set_agrees_with_std_set(const std::vector<std::pair<bool, std::uint8_t>>& steps) {
  SubtaskSet set;
  std::set<std::uint32_t> model;
  bool has_erased = false;
  for (const auto& [inserts, drawn] : steps) {
    const std::uint32_t number = number_of(drawn);
    if (inserts) {
      set.insert(SubtaskIndex{number});
      model.insert(number);
    } else {
      set.erase(SubtaskIndex{number});
      model.erase(number);
      has_erased = true;
    }
    for (int each = 0; each < 60; ++each) {
      const std::uint32_t other = number_of(static_cast<std::uint8_t>(each));
      RC_ASSERT(set.contains(SubtaskIndex{other}) == model.contains(other));
    }
    RC_ASSERT(set.has_erased() == has_erased);
  }
}

TEST(SubtaskSetProperty, AgreesWithASetOfNumbers) {
  EXPECT_TRUE(rc::check("subtask set", set_agrees_with_std_set));
}

}  // namespace
}  // namespace penstock::worker
