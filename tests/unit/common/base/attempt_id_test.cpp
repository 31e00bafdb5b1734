#include "common/base/attempt_id.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(AttemptId, HasTheWholeAttemptAndTheJobsIdentity) {
  const JobIdentity identity{0x0123456789abcdef, 0xf};
  const Attempt later{attempts_begin(2).value() + 1};
  EXPECT_EQ(attempt_id_of(identity, SubtaskIndex{42}, Attempt{1}), "0123456789abcdef000000000000000f-42-1");
  EXPECT_EQ(attempt_id_of(identity, SubtaskIndex{42}, later), "0123456789abcdef000000000000000f-42-4294967297");
  EXPECT_EQ(attempt_id_of({}, SubtaskIndex{0}, Attempt{1}), "00000000000000000000000000000000-0-1");
}

TEST(AttemptId, IsReadAsItIsWritten) {
  const AttemptName name{{0x0123456789abcdef, 0xf}, SubtaskIndex{42}, Attempt{4294967297}};
  EXPECT_EQ(parse_attempt_id(attempt_id_of(name.identity, name.subtask, name.attempt)), name);
  const AttemptName without{{}, SubtaskIndex{0}, Attempt{1}};
  EXPECT_EQ(parse_attempt_id("00000000000000000000000000000000-0-1"), without);
}

TEST(AttemptId, RefusesOtherTexts) {
  const std::string good = "0123456789abcdef000000000000000f";
  for (const std::string& text :
       {std::string{}, good, good + "-", good + "-1", good + "-1-", good + "--1", good + "-1-2-3",
        good + "-4294967296-1", good + "-1-99999999999999999999", good + "-+1-2", good + "-1- 2",
        good.substr(1) + "-1-2", good + "0-1-2", "g" + good.substr(1) + "-1-2"})
    EXPECT_FALSE(parse_attempt_id(text)) << text;
}

}  // namespace
}  // namespace penstock
