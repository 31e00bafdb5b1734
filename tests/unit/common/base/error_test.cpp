#include <gtest/gtest.h>

#include "common/base/result.hpp"

namespace penstock {
namespace {

TEST(Error, TextNamesTheSubjectAndTheWayOut) {
  EXPECT_EQ(to_string(Error{ErrorCode::NotFound, "job 'a'", "is unknown", "`jobs` lists all"}),
            "job 'a': is unknown (`jobs` lists all)");
  EXPECT_EQ(to_string(Error{ErrorCode::NotFound, {}, "is unknown", {}}), "is unknown");
}

TEST(Error, EveryCodeHasAWordOfItsOwn) {
  EXPECT_EQ(to_string(ErrorCode::StorageFull), "StorageFull");
  EXPECT_EQ(to_string(ErrorCode{255}), "Unknown");
}

}  // namespace
}  // namespace penstock
