#include "common/base/lookup_map.hpp"

#include <gtest/gtest.h>

#include <map>

#include "common/base/ids.hpp"
#include "common/base/rng.hpp"

namespace penstock {
namespace {

TEST(LookupMap, AgreesWithAnOrderedMapUnderRandomUse) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng{seed};
    LookupMap<SubtaskIndex, int> map;
    std::map<SubtaskIndex, int> model;
    for (int step = 0; step < 2000; ++step) {
      // A narrow key space, so that erasures shift entries over one another often.
      const SubtaskIndex key{static_cast<std::uint32_t>(rng.below(64))};
      if (rng.chance(2, 5)) {
        EXPECT_EQ(map.erase(key), model.erase(key) == 1);
      } else {
        map[key] = step;
        model[key] = step;
      }
      ASSERT_EQ(map.size(), model.size());
      for (std::uint32_t probe = 0; probe < 64; ++probe) {
        const int* found = map.find(SubtaskIndex{probe});
        const auto expected = model.find(SubtaskIndex{probe});
        ASSERT_EQ(found != nullptr, expected != model.end()) << "seed " << seed << " step " << step;
        if (found != nullptr) { ASSERT_EQ(*found, expected->second); }
      }
    }
  }
}

TEST(LookupMap, InsertKeepsWhatIsThere) {
  LookupMap<SubtaskIndex, int> map;
  EXPECT_TRUE(map.insert(SubtaskIndex{1}, 10));
  EXPECT_FALSE(map.insert(SubtaskIndex{1}, 20));
  EXPECT_EQ(*map.find(SubtaskIndex{1}), 10);
}

}  // namespace
}  // namespace penstock
