#include "common/protocol/client.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(JobSelector, ANumberSelectsByNumberAndByName) {
  for (const char* text : {"12", "job-12"}) {
    const JobSelector selector = job_selector_of(text);
    EXPECT_EQ(selector.id, JobId{12}) << text;
    EXPECT_EQ(selector.name, text);
  }
}

TEST(JobSelector, AnythingElseIsANameAlone) {
  for (const char* text : {"nightly", "12a", "job-", "-1", "4294967296", ""}) {
    const JobSelector selector = job_selector_of(text);
    EXPECT_FALSE(selector.id.valid()) << text;
    EXPECT_EQ(selector.name, text);
  }
}

TEST(JobState, HasTheWordsOfTheManual) {
  EXPECT_EQ(to_string(JobState::Running), "running");
  EXPECT_EQ(to_string(JobState::Cancelled), "cancelled");
}

TEST(Value, AFieldThatIsNotThereIsNull) {
  const Value value{Value::Record{{"name", "a"}}};
  EXPECT_EQ(value["name"], Value{"a"});
  EXPECT_EQ(value["size"], Value{});
  EXPECT_TRUE(Value{"a"}["name"].is_null()) << "a text has no fields";
}

}  // namespace
}  // namespace penstock
