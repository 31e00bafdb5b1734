#include "supervisor/actors/security_notices.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

SecurityNotice read(const FramePayloadPtr& frame) {
  return std::get<SecurityNotice>(*decode_introduction(frame->bytes()));
}

std::vector<std::string> serials(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(std::to_string(i));
  return all;
}

TEST(SecurityNotices, RevocationsAreToldInFramesOfLimitedSize) {
  EXPECT_TRUE(revocation_notices({}).empty());
  EXPECT_EQ(revocation_notices(serials(kRevokedInNotice)).size(), 1U);
  const std::vector<std::string> all = serials(kRevokedInNotice + 1);
  const std::vector<FramePayloadPtr> frames = revocation_notices(all);
  ASSERT_EQ(frames.size(), 2U);
  std::vector<std::string> told = read(frames[0]).revoked;
  EXPECT_EQ(told.size(), kRevokedInNotice);
  for (const std::string& serial : read(frames[1]).revoked) told.push_back(serial);
  EXPECT_EQ(told, all);
}

class ToldCredentialsTest : public ::testing::Test {
 protected:
  std::vector<std::string> tell(const std::vector<std::string>& owners) {
    std::vector<ToWorker> messages{ForgetJob{JobId{1}}};
    for (const std::string& owner : owners) {
      AssignBatch batch;
      batch.owner = owner;
      messages.emplace_back(std::move(batch));
    }
    return texts(told.take_new(messages, "worker", source()));
  }
  static std::vector<std::string> texts(const std::vector<RunCredential>& credentials) {
    std::vector<std::string> all;
    for (const RunCredential& credential : credentials) all.push_back(credential.user + ":" + credential.pem);
    return all;
  }
  ToldCredentials::Source source() {
    return [this](const std::string& user) -> Result<std::shared_ptr<const RunCredential>> {
      const auto found = present.find(user);
      if (found == present.end()) return Error{ErrorCode::StorageFull, user, "no", {}};
      return found->second;
    };
  }
  void renew(const std::string& user, const std::string& pem) {
    present[user] = std::make_shared<const RunCredential>(RunCredential{user, pem});
  }

  std::map<std::string, std::shared_ptr<const RunCredential>> present;
  ToldCredentials told;
};

TEST_F(ToldCredentialsTest, AUserIsToldOnceAndTheWorkersOwnNever) {
  renew("ada", "1");
  renew("bob", "1");
  renew("worker", "1");
  using Texts = std::vector<std::string>;
  EXPECT_EQ(tell({"worker", "", "ada", "ada"}), Texts{"ada:1"});
  EXPECT_EQ(tell({"ada", "bob"}), Texts{"bob:1"});
  EXPECT_TRUE(tell({"ada", "bob"}).empty());
  EXPECT_EQ(texts(told.all()), (Texts{"ada:1", "bob:1"}));
}

TEST_F(ToldCredentialsTest, ARenewedOneIsToldAgain) {
  renew("ada", "1");
  renew("bob", "1");
  tell({"ada", "bob"});
  EXPECT_TRUE(told.take_replaced(source()).empty());
  renew("ada", "2");
  EXPECT_EQ(texts(told.take_replaced(source())), std::vector<std::string>{"ada:2"});
  EXPECT_TRUE(told.take_replaced(source()).empty());
}

TEST_F(ToldCredentialsTest, AUserWithoutOneIsAskedForAgain) {
  EXPECT_TRUE(tell({"ada"}).empty());
  renew("ada", "1");
  EXPECT_EQ(tell({"ada"}), std::vector<std::string>{"ada:1"});
  present.clear();
  EXPECT_TRUE(told.take_replaced(source()).empty());
  EXPECT_EQ(texts(told.all()), std::vector<std::string>{"ada:1"});
}

}  // namespace
}  // namespace penstock::supervisor
