#include "common/protocol/rights.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

AdminRequest request(const std::string& command) {
  AdminRequest asked;
  asked.command = command;
  return asked;
}

TEST(Rights, AClientUsesTheClusterAndDoesNotSteerIt) {
  for (const char* command : {"jobs", "explain", "cancel", "hold", "release", "shared", "keep", "rerun"})
    EXPECT_TRUE(check_right(Role::Client, request(command))) << command;
  for (const char* command : {"drain", "undrain", "set", "priority", "move", "reload"}) {
    const Result<void> refused = check_right(Role::Client, request(command));
    ASSERT_FALSE(refused) << command;
    EXPECT_EQ(refused.error().code, ErrorCode::PermissionDenied);
    EXPECT_NE(to_string(refused.error()).find("operator"), std::string::npos);
    EXPECT_TRUE(check_right(Role::Operator, request(command)));
    EXPECT_TRUE(check_right(Role::Admin, request(command)));
  }
}

TEST(Rights, AJobThatIsLetGoIsNamedByMoreThanANumber) {
  for (const FromClient& by_number : {FromClient{ReleaseJob{JobId{1}}}, FromClient{UnfollowJob{JobId{1}}},
                                      FromClient{ReleaseOutputs{JobId{1}, {}, {}}}}) {
    EXPECT_FALSE(check_right(Role::Client, by_number)) << by_number.index();
    EXPECT_FALSE(check_right(Role::Worker, by_number));
    EXPECT_TRUE(check_right(Role::Operator, by_number));
  }
  EXPECT_TRUE(check_right(Role::Client, ReleaseJob{JobId{1}, {1, 2}}));
  EXPECT_TRUE(check_right(Role::Worker, UnfollowJob{JobId{1}, {1, 2}}));
}

TEST(Rights, AJobIsSharedWithAGroupOfItsSender) {
  const PeerIdentity ada{Role::Client, "ada", "", {"vision", "speech"}};
  SubmitChunk chunk;
  EXPECT_TRUE(check_share(ada, chunk)) << "with nobody";
  chunk.spec.share = Seldom{std::string{"speech"}};
  EXPECT_TRUE(check_share(ada, chunk));
  chunk.spec.share = Seldom{std::string{"other"}};
  EXPECT_NE(to_string(check_share(ada, chunk).error()).find("has vision, speech"), std::string::npos);
  SubmitAgain again;
  again.spec.share = chunk.spec.share;
  EXPECT_EQ(check_share(ada, again).error().code, ErrorCode::PermissionDenied);
  EXPECT_TRUE(check_share(ada, AttachJob{})) << "submits none";
}

TEST(Rights, AnUnknownCommandIsNotOpenToEverybody) { EXPECT_FALSE(check_right(Role::Client, request("format-disk"))); }

SubmitChunk chunk_of_run() {
  SubmitChunk chunk;
  chunk.first = true;
  chunk.spec.parent.edit().id = {JobId{1}, SubtaskIndex{2}};
  return chunk;
}

TEST(Rights, AWorkerSubmitsForItsRunsAlone) {
  EXPECT_TRUE(check_right(Role::Worker, chunk_of_run()));
  SubmitChunk own;
  own.first = true;
  EXPECT_EQ(check_right(Role::Worker, own).error().code, ErrorCode::PermissionDenied);
  EXPECT_FALSE(check_right(Role::Worker, SubmitAgain{}));
  EXPECT_FALSE(check_right(Role::Worker, AttachJob{1, {JobId{1}, ""}, {}})) << "a number can be guessed";
  EXPECT_TRUE(check_right(Role::Worker, AttachJob{1, {JobId{1}, ""}, {1, 2}}));
  for (const char* word : {"shared", "results", "cancel"})
    EXPECT_TRUE(check_right(Role::Worker, request(word))) << word;
  for (const char* all : {"jobs", "audit", "data", "logs"})
    EXPECT_FALSE(check_right(Role::Worker, request(all))) << all;
  EXPECT_FALSE(check_right(Role::Worker, request("drain")));
}

TEST(Rights, OtherRolesSendNothingThatClientsSend) {
  for (const Role role : {Role::Supervisor, Role::Metrics})
    for (const FromClient& message :
         {FromClient{SubmitChunk{}}, FromClient{SubmitAgain{}}, FromClient{AttachJob{}}, FromClient{ReleaseJob{}},
          FromClient{UnfollowJob{}}, FromClient{ReleaseOutputs{}}, FromClient{request("jobs")}})
      EXPECT_FALSE(check_right(role, message)) << to_string(role) << " " << message.index();
}

}  // namespace
}  // namespace penstock
