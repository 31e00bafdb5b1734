#include "common/net/local_acceptor.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "common/net/local_socket.hpp"
#include "common/net/stream_socket.hpp"
#include "tests/support/turn_until.hpp"

namespace penstock {
namespace {

TEST(LocalAcceptor, HandsOutEachConnectionThatItsNameLeadsTo) {
  Loop loop;
  std::vector<Descriptor> accepted;
  Result<std::unique_ptr<LocalAcceptor>> acceptor =
      LocalAcceptor::open(loop, [&](Descriptor socket) { accepted.push_back(std::move(socket)); });
  ASSERT_TRUE(acceptor) << to_string(acceptor.error());
  const Result<Descriptor> one = connect_local((*acceptor)->name(), present_user());
  const Result<Descriptor> two = connect_local((*acceptor)->name(), present_user());
  ASSERT_TRUE(one && two);
  ASSERT_TRUE(turn_until(loop, [&] { return accepted.size() == 2; }));
  ASSERT_EQ(::write(two->get(), "x", 1), 1);
  char got = 0;
  ASSERT_EQ(::read(accepted[1].get(), &got, 1), 1);
  EXPECT_EQ(got, 'x');
}

TEST(LocalAcceptor, IsDestroyedWhileItHandsOne) {
  Loop loop;
  std::unique_ptr<LocalAcceptor> acceptor;
  int count = 0;
  Result<std::unique_ptr<LocalAcceptor>> opened = LocalAcceptor::open(loop, [&](const Descriptor&) {
    ++count;
    acceptor.reset();
  });
  ASSERT_TRUE(opened);
  acceptor = std::move(opened).value();
  const std::uint64_t name = acceptor->name();
  const Result<Descriptor> one = connect_local(name, present_user());
  const Result<Descriptor> two = connect_local(name, present_user());
  ASSERT_TRUE(one && two);
  ASSERT_TRUE(turn_until(loop, [&] { return acceptor == nullptr; }));
  EXPECT_EQ(count, 1);
  EXPECT_EQ(connect_local(name, present_user()).error().code, ErrorCode::Unreachable);
}

TEST(StreamSocket, KnowsLocalOnesFromTcp) {
  Result<LocalListener> listener = listen_locally();
  ASSERT_TRUE(listener);
  Result<Descriptor> connected = connect_local(listener->name, present_user());
  ASSERT_TRUE(connected);
  boost::asio::io_context io;
  const StreamSocket local = adopt_local(io, std::move(connected).value());
  EXPECT_TRUE(is_local(local));
  EXPECT_FALSE(peer_of(local));
  using boost::asio::ip::tcp;
  tcp::acceptor acceptor{io, {boost::asio::ip::address_v4::loopback(), 0}};
  tcp::socket socket{io};
  socket.connect(acceptor.local_endpoint());
  const StreamSocket stream{std::move(socket)};
  EXPECT_FALSE(is_local(stream));
  EXPECT_EQ(peer_of(stream), acceptor.local_endpoint());
}

}  // namespace
}  // namespace penstock
