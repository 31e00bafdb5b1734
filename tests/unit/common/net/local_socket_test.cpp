#include "common/net/local_socket.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace penstock {
namespace {

const std::uint32_t kUs = present_user();

TEST(LocalSocket, WhoKnowsItsNumberReachesIt) {
  Result<LocalListener> listener = listen_locally();
  ASSERT_TRUE(listener) << to_string(listener.error());
  EXPECT_EQ(accept_local(listener->socket, kUs).error().code, ErrorCode::WrongState) << "nobody waits";
  const Result<Descriptor> here = connect_local(listener->name, kUs);
  ASSERT_TRUE(here) << to_string(here.error());
  const Result<Descriptor> there = accept_local(listener->socket, kUs);
  ASSERT_TRUE(there);
  ASSERT_EQ(::write(here->get(), "x", 1), 1);
  char got = 0;
  ASSERT_EQ(::read(there->get(), &got, 1), 1);
  EXPECT_EQ(got, 'x');
  EXPECT_EQ(connect_local(listener->name + 1, kUs).error().code, ErrorCode::Unreachable);
}

TEST(LocalSocket, ItIsGoneWithItsDescriptorAndIsNeverAnothers) {
  std::uint64_t name = 0;
  {
    const Result<LocalListener> listener = listen_locally();
    ASSERT_TRUE(listener);
    name = listener->name;
  }
  EXPECT_EQ(connect_local(name, kUs).error().code, ErrorCode::Unreachable);
  const Result<LocalListener> next = listen_locally();
  ASSERT_TRUE(next);
  EXPECT_NE(next->name, name);
}

TEST(LocalSocket, AListenerOfAnotherUserIsNotBelieved) {
  const Result<LocalListener> listener = listen_locally();
  ASSERT_TRUE(listener);
  EXPECT_EQ(connect_local(listener->name, kUs + 1).error().code, ErrorCode::Unreachable);
}

TEST(LocalSocket, WhoComesForAnotherUserReadsTheEndAtOnceAndTheNextOneIsServed) {
  Result<LocalListener> listener = listen_locally();
  ASSERT_TRUE(listener);
  const Result<Descriptor> refused = connect_local(listener->name, kUs);
  ASSERT_TRUE(refused);
  EXPECT_EQ(accept_local(listener->socket, kUs + 1).error().code, ErrorCode::WrongState) << "nobody else waits";
  char got = 0;
  EXPECT_EQ(::read(refused->get(), &got, 1), 0);
  const Result<Descriptor> next = connect_local(listener->name, kUs);
  ASSERT_TRUE(next);
  EXPECT_TRUE(accept_local(listener->socket, kUs));
}

// With a real user: the kernel names the user, not the other side.
TEST(LocalSocket, AProcessOfAnotherUserIsSentAway) {
  if (kUs != 0) GTEST_SKIP() << "only root can become another user";
  Result<LocalListener> listener = listen_locally();
  ASSERT_TRUE(listener);
  const pid_t child = ::fork();  // tidy: allow call: it becomes another user before it does anything
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(2);
    ::_exit(connect_local(listener->name, kUs) ? 0 : 3);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(accept_local(listener->socket, kUs).error().code, ErrorCode::WrongState) << "it was sent away";
}

TEST(LocalSocket, WhatTheOtherSideDoesNotReadIsWaitedForOnlySoLong) {
  const Result<LocalListener> listener = listen_locally();
  ASSERT_TRUE(listener);
  const Result<Descriptor> socket = connect_local(listener->name, kUs);
  ASSERT_TRUE(socket);
  const std::string much(1 << 16, 'x');
  EXPECT_TRUE(wait_until_writable(*socket, std::chrono::milliseconds{1}));
  while (::send(socket->get(), much.data(), much.size(), MSG_NOSIGNAL) > 0) {
  }
  EXPECT_FALSE(wait_until_writable(*socket, std::chrono::milliseconds{1}));
  hang_up(*socket);
  EXPECT_TRUE(wait_until_writable(*socket, std::chrono::milliseconds{1})) << "to hear that it has ended";
}

}  // namespace
}  // namespace penstock
