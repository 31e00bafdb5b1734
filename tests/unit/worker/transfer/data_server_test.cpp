// Peers that connect and say nothing, half of something, or take nothing of what they asked for.
#include "worker/transfer/data_server.hpp"

#include <gtest/gtest.h>

#include <list>

#include "tests/unit/worker/transfer/transfer_ends.hpp"

namespace penstock::worker {
namespace {

class CrowdedServer : public ::testing::Test {
 protected:
  void serve(const ServerLimits& limits) {
    auto opened = DataServer::open(turning.loop, local(0), there, limits);
    ASSERT_TRUE(opened);
    server = std::move(opened).value();
    put(there, 1, data);
  }

  tcp::socket& connect(const char* from = "127.0.0.1") {
    tcp::socket& socket = peers.emplace_back(turning.loop.io());
    socket.open(tcp::v4());
    socket.bind({asio::ip::make_address(from), 0});
    socket.connect({asio::ip::address_v4::loopback(), server->port()});
    socket.non_blocking(true);
    return socket;
  }

  /// Takes what has come; the server has ended the connection.
  static bool ended(tcp::socket& socket) {
    boost::system::error_code error;
    std::array<char, 4096> taken;
    while (socket.read_some(asio::buffer(taken), error) > 0) {
    }
    return error && error != asio::error::would_block;
  }

  /// With a connection of its own.
  bool fetched(DataClient& client) {
    Answer answer;
    client.fetch(local(server->port()), key(1), 0, answer.take());
    return turning.until([&] { return answer.told; }) && answer.is(data);
  }

  static TransferRequest request() {
    TransferRequest wanted;
    wanted.job = 3;
    wanted.subtask = wanted.output = 1;
    wanted.chunk_bytes = kChunk;
    return wanted;
  }

  Turning turning;
  ObjectStore here;
  ObjectStore there;
  std::vector<std::byte> data = content(100'000);
  std::unique_ptr<DataServer> server;
  std::list<tcp::socket> peers;
};

TEST_F(CrowdedServer, ANewcomerTakesThePlaceOfTheConnectionThatIsIdleForLongest) {
  ServerLimits limits;
  limits.visitors_max = 4;
  serve(limits);
  for (int i = 0; i < 12; ++i) connect();
  // The others are closed as the later ones come.
  ASSERT_TRUE(turning.until([&] { return std::count_if(peers.begin(), peers.end(), ended) == 8; }));
  EXPECT_TRUE(ended(peers.front()));
  EXPECT_FALSE(ended(peers.back()));
  DataClient client{turning.loop, here, worker::limits()};
  EXPECT_TRUE(fetched(client));
}

TEST_F(CrowdedServer, OneHostCannotCloseTheConnectionsOfAnother) {
  ServerLimits limits;
  limits.visitors_max = 4;
  limits.visitors_of_host_max = 2;
  serve(limits);
  tcp::socket& other = connect("127.0.0.2");
  for (int i = 0; i < 10; ++i) connect();
  ASSERT_TRUE(turning.until([&] { return std::count_if(peers.begin(), peers.end(), ended) == 8; }));
  EXPECT_FALSE(ended(other));
}

TEST_F(CrowdedServer, AConnectionWithoutAWholeRequestIsClosedAfterAWhile) {
  ServerLimits limits;
  limits.idle_max = milliseconds{100};
  serve(limits);
  tcp::socket& silent = connect();
  tcp::socket& half = connect();
  const TransferRequest wanted = request();
  say(half, &wanted, sizeof wanted / 2);
  EXPECT_TRUE(turning.until([&] { return ended(silent) && ended(half); }));
}

TEST_F(CrowdedServer, AReaderThatTakesNothingIsClosedAndItsPlaceIsFree) {
  ServerLimits limits;
  limits.visitors_max = 1;
  limits.pace.silence_max = milliseconds{100};
  serve(limits);
  data = content(24 << 20);  // More than the buffers of a connection take.
  put(there, 1, data);
  tcp::socket& greedy = connect();
  const TransferRequest wanted = request();
  say(greedy, &wanted, sizeof wanted);
  ASSERT_TRUE(turning.until([&] { return greedy.available() > 0; })) << "it is being answered";
  DataClient client{turning.loop, here, worker::limits()};
  bool got = false;
  EXPECT_TRUE(turning.until([&] { return got || (got = fetched(client)); }));
}

TEST_F(CrowdedServer, AConnectionThatIsBeingAnsweredIsNotClosedForANewcomer) {
  ServerLimits limits;
  limits.visitors_max = 1;
  serve(limits);
  data = content(24 << 20);
  put(there, 1, data);
  tcp::socket& busy = connect();
  const TransferRequest wanted = request();
  say(busy, &wanted, sizeof wanted);
  ASSERT_TRUE(turning.until([&] { return busy.available() > 0; }));
  tcp::socket& newcomer = connect();
  EXPECT_TRUE(turning.until([&] { return ended(newcomer); }));
  std::size_t taken = 0;
  const std::size_t all = sizeof(TransferReply) + data.size() + data.size() / kChunk * sizeof(TransferChunk);
  std::vector<char> buffer(1 << 20);
  EXPECT_TRUE(turning.until([&] {
    boost::system::error_code error;
    taken += busy.read_some(asio::buffer(buffer), error);
    return taken == all;
  }));
}

}  // namespace
}  // namespace penstock::worker
