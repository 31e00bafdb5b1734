#include "supervisor/actors/auditor.hpp"

#include <gtest/gtest.h>

#include <caf/send.hpp>
#include <filesystem>

#include "common/loop/actor_host.hpp"
#include "supervisor/actors/audit_actor.hpp"
#include "tests/support/audit_files.hpp"
#include "tests/support/turn_until.hpp"

namespace penstock::supervisor {
namespace {

const Incarnation kClient{7};
const AuditedPeer kAda{"ada", "operator", "ab12", "10.0.0.1:77"};

FromClient order(std::uint64_t request, const std::string& command = "drain") {
  return AdminRequest{request, command, {"w1"}, "ada@desk"};
}
ToClient refusal(std::uint64_t request) {
  return AdminAnswer{request, {}, {ErrorCode::NotFound, "w1", "is not known", {}}};
}

class AuditorTest : public testing::Test {
 protected:
  Auditor& auditor() {
    if (auditor_ == nullptr)
      auditor_ = std::make_unique<Auditor>(actors_.system(), loop_, std::make_shared<AuditBook>(files_.book()), config_,
                                           [this] { ++told_; });
    return *auditor_;
  }
  /// The present one ends, and has written everything.
  std::size_t count(const std::string& part) {
    auditor_.reset();
    std::size_t found = 0;
    for (const std::string& line : files_.lines()) found += line.find(part) != std::string::npos ? 1 : 0;
    return found;
  }

  AuditFiles files_;
  AuditConfig config_;
  Loop loop_{Duration{0}};
  ActorHost actors_{loop_};
  int told_ = 0;
  std::unique_ptr<Auditor> auditor_;
};

TEST_F(AuditorTest, AnAnswerToAnOrderWaitsUntilItsRecordIsOnTheDisk) {
  auditor().asked(kClient, kAda, order(1));
  const std::uint64_t ticket = auditor().answered(kClient, AdminAnswer{1, Value{true}, {}});
  ASSERT_GT(ticket, 0U);
  EXPECT_FALSE(auditor().is_settled(ticket)) << "its thread has told nothing yet: the loop has had no turn";
  ASSERT_TRUE(turn_until(loop_, [&] { return auditor().is_settled(ticket); }));
  EXPECT_GT(told_, 0);
  const std::string expected =
      R"("user":"ada","role":"operator","serial":"ab12","from":"10.0.0.1:77","what":"drain w1","outcome":"done true")";
  EXPECT_NE(files_.text(audit_file_name(1)).find(expected), std::string::npos);
}

TEST_F(AuditorTest, QuestionsAndOtherAnswersNeedNoRecord) {
  auditor().asked(kClient, kAda, order(1, "jobs"));
  EXPECT_EQ(auditor().answered(kClient, AdminAnswer{1, Value{true}, {}}), 0U);
  EXPECT_EQ(auditor().answered(kClient, AdminAnswer{99, Value{true}, {}}), 0U);
  EXPECT_EQ(count("\"event\""), 0U);
}

TEST_F(AuditorTest, ManyRefusedOrdersAreTwoRecords) {
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    auditor().asked(kClient, kAda, order(i));
    EXPECT_EQ(auditor().answered(kClient, refusal(i)), 0U) << "nobody waits for it";
  }
  EXPECT_EQ(count("is not known"), 2U);
  EXPECT_NE(files_.text(audit_file_name(1)).find("\"count\":999"), std::string::npos);
}

TEST_F(AuditorTest, ASubmitIsRecordedWithItsJobAndNobodyWaitsForIt) {
  SubmitChunk chunk;
  chunk.submission = 5;
  chunk.first = true;
  chunk.spec.name = "night";
  auditor().asked(kClient, kAda, chunk);
  chunk.first = false;
  auditor().asked(kClient, kAda, chunk);
  EXPECT_EQ(auditor().answered(kClient, SubmitReply{.submission = 5, .job = JobId{17}}), 0U);
  EXPECT_EQ(count("submit 'night'\",\"outcome\":\"accepted: job-17"), 1U);
}

TEST_F(AuditorTest, SubmitsOfRunsAreCounted) {
  SubmitAgain again;
  again.spec.parent.edit().identity = JobIdentity{1, 2};
  for (again.submission = 1; again.submission <= 100; ++again.submission) {
    auditor().asked(kClient, kAda, again);
    auditor().answered(kClient, SubmitReply{.submission = again.submission, .job = JobId{3}});
  }
  EXPECT_EQ(count("\"event\":\"submit\""), 2U);
}

// An operator must not hide an order behind refused ones, nor by leaving before its answer.
TEST_F(AuditorTest, OrdersWhoseClientLeavesAreRecordedOneByOne) {
  auditor().asked(kClient, kAda, order(9));
  auditor().answered(kClient, refusal(9));
  auditor().asked(kClient, kAda, order(1));
  auditor().asked(kClient, kAda, order(3));
  auditor().asked(Incarnation{8}, kAda, order(2));
  auditor().left(kClient);
  EXPECT_EQ(auditor().answered(kClient, AdminAnswer{1, Value{true}, {}}), 0U);
  EXPECT_GT(auditor().answered(Incarnation{8}, AdminAnswer{2, Value{true}, {}}), 0U);
  EXPECT_EQ(count("the client has left"), 2U);
}

TEST_F(AuditorTest, BeyondTheLimitOrdersAreRecordedWithoutTheirAnswers) {
  config_.open_max = 2;
  for (std::uint64_t i = 1; i <= 4; ++i) auditor().asked(kClient, kAda, order(i));
  EXPECT_GT(auditor().answered(kClient, AdminAnswer{2, Value{true}, {}}), 0U);
  EXPECT_EQ(auditor().answered(kClient, AdminAnswer{3, Value{true}, {}}), 0U);
  EXPECT_EQ(count("not awaited: audit.open_max"), 2U);
}

// Clients get their answers, and records that do not fit are counted.
TEST_F(AuditorTest, ADiskThatCannotBeWrittenLosesNoMoreThanItSays) {
  config_.waiting_max = 2;
  static_cast<void>(auditor());
  std::filesystem::rename(files_.directory(), files_.directory() + ".away");
  std::uint64_t ticket = 0;
  for (std::uint64_t i = 1; i <= 5; ++i) {
    auditor().asked(kClient, kAda, order(i));
    ticket = auditor().answered(kClient, AdminAnswer{i, Value{true}, {}});
    ASSERT_TRUE(turn_until(loop_, [&] { return auditor().is_settled(ticket); }));
  }
  std::filesystem::rename(files_.directory() + ".away", files_.directory());
  ASSERT_TRUE(turn_until(loop_, [&] { return std::filesystem::exists(files_.path()); })) << "it tries again";
  EXPECT_EQ(count("drain w1"), 2U);
  EXPECT_NE(files_.text(audit_file_name(1)).find("\"event\":\"lost\""), std::string::npos);
  EXPECT_NE(files_.text(audit_file_name(1)).find("\"count\":3"), std::string::npos);
  EXPECT_EQ(files_.findings(), "");
}

TEST_F(AuditorTest, EachLineGoesToTheCopyWithItsDigest) {
  std::vector<std::string> copied;
  AuditSetup setup;
  setup.book = std::make_shared<AuditBook>(files_.book());
  setup.told = [](std::uint64_t, const std::optional<Error>&) {};
  setup.copy = [&copied](const std::string& line) { copied.push_back(line); };
  const AuditActor actor = spawn_audit(actors_.system(), std::move(setup));
  caf::anon_send(actor, AuditMail{std::make_shared<const std::vector<AuditRecord>>(1, audit_record("x")), 1});
  end_audit(actors_.system(), actor);
  std::vector<std::string> written = files_.lines();
  written.pop_back();  // The signature.
  EXPECT_EQ(copied, written);
}

}  // namespace
}  // namespace penstock::supervisor
