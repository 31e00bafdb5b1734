// A cluster of real processes: it finishes graphs, and loses nothing when a worker is killed or hangs.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "common/base/rng.hpp"
#include "common/wire/codec.hpp"
#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/integration/cluster/witness.hpp"

namespace penstock {
namespace {

TEST(Cluster, TwoWorkersFinishAGraphAndEachSubtaskIsToldOnce) {
  ClusterProcesses cluster;
  cluster.start_worker("w1", {"--slots", "2"});
  cluster.start_worker("w2", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(2));
  const auto session = cluster.connect();
  Witness witness{*session, 2000};
  const auto submitted = session->submit(named("stencil"), stencil(100, 20, 50'000, 1000));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  witness.expect_each_once();
}

TEST(Cluster, TheSameNameIsTheSameJob) {
  ClusterProcesses cluster;
  cluster.start_worker("w1");
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  const auto first = session->submit(named("twice"), stencil(2, 2, 0, 0));
  const auto second = cluster.connect()->submit(named("twice"), stencil(2, 2, 0, 0));
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->job, second->job);
  EXPECT_FALSE(first->existed);
  EXPECT_TRUE(second->existed);
}

// Fault: a worker process dies in the middle; its data is computed again elsewhere.
TEST(Cluster, AWorkerThatIsKilledLosesNothing) {
  ClusterProcesses cluster;
  cluster.start_worker("w1", {"--slots", "2"});
  cluster.start_worker("w2", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(2));
  const auto session = cluster.connect();
  Witness witness{*session, 4000};
  const auto submitted = session->submit(named("killed"), stencil(200, 20, 200'000, 1000));
  ASSERT_TRUE(submitted.has_value());
  wait_for_some(*session, submitted->job, witness, 400);
  cluster.kill_worker("w1");
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  witness.expect_each_once();
}

// Fault: a worker process hangs; it is given up after `silence_max`, and fenced when it is back.
TEST(Cluster, AWorkerThatHangsIsReplacedAndComesBackAfresh) {
  ClusterProcesses cluster{{"--set", "link.heartbeat=100ms", "--set", "link.silence_max=500ms"}};
  cluster.start_worker("w1", {"--slots", "2"});
  cluster.start_worker("w2", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(2));
  const auto session = cluster.connect();
  Witness witness{*session, 4000};
  const auto submitted = session->submit(named("hangs"), stencil(200, 20, 200'000, 1000));
  ASSERT_TRUE(submitted.has_value());
  wait_for_some(*session, submitted->job, witness, 400);
  cluster.worker("w1").signal_group(SIGSTOP);
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  witness.expect_each_once();
  cluster.worker("w1").signal_group(SIGCONT);
  EXPECT_TRUE(cluster.wait_for_workers(2));
  const auto again = session->submit(named("after"), stencil(20, 20, 0, 0));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(wait_for_end(*session, again->job), JobState::Succeeded);
}

int raw_client(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  timeval patience{10, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return fd;
}

/// Sends bytes, and reads until the other side closes; what came.
std::string converse(std::uint16_t port, std::span<const std::byte> bytes) {
  const int fd = raw_client(port);
  ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  std::string answer;
  char part[4096];
  for (ssize_t count = 0; (count = ::recv(fd, part, sizeof part, 0)) > 0;)
    answer.append(part, static_cast<std::size_t>(count));
  ::close(fd);
  return answer;
}

std::vector<std::byte> introduction_frame(const Hello& hello) {
  const FramePayloadPtr payload = encode(Introduction{hello});
  const FrameHeaderBytes header = write_header(FrameKind::Introduction, {hello.incarnation, 0, 0}, *payload);
  std::vector<std::byte> bytes(kFrameHeaderBytes + payload->bytes().size());
  std::memcpy(bytes.data(), header.data(), kFrameHeaderBytes);
  std::memcpy(bytes.data() + kFrameHeaderBytes, payload->bytes().data(), payload->bytes().size());
  return bytes;
}

std::int64_t resident_kib(int process) {
  std::ifstream status{"/proc/" + std::to_string(process) + "/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::strtoll(line.c_str() + 6, nullptr, 10);
  return -1;
}

TEST(Cluster, HostilePeersAreDroppedAndMemoryStaysFlat) {
  ClusterProcesses cluster;
  cluster.start_worker("w1", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  const auto submitted = session->submit(named("undisturbed"), stencil(100, 20, 500'000, 100));
  ASSERT_TRUE(submitted.has_value());
  const std::int64_t before = resident_kib(cluster.supervisor().id());

  Rng rng{20261121};
  for (int i = 0; i < 20; ++i) {
    std::vector<std::byte> noise(1 + rng.below(5000));
    for (std::byte& byte : noise) byte = static_cast<std::byte>(rng.below(256));
    converse(cluster.port(), noise);
  }
  // A length of 4 GiB, and a well-framed payload that announces 0xFFFFFFFF segments.
  std::vector<std::byte> frame = introduction_frame(Hello{});
  std::memset(frame.data() + 8, 0xff, 4);
  converse(cluster.port(), frame);
  const FramePayload segments{std::vector<std::uint64_t>{0xffffffffffffffffULL, 0}};
  const FrameHeaderBytes header = write_header(FrameKind::Introduction, {Incarnation{7}, 0, 0}, segments);
  std::vector<std::byte> bytes(kFrameHeaderBytes + 16);
  std::memcpy(bytes.data(), header.data(), kFrameHeaderBytes);
  std::memcpy(bytes.data() + kFrameHeaderBytes, segments.bytes().data(), 16);
  converse(cluster.port(), bytes);

  EXPECT_LT(resident_kib(cluster.supervisor().id()) - before, 16 * 1024);
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
}

TEST(Cluster, AWorkerOfAnotherVersionIsRefusedByName) {
  ClusterProcesses cluster{{"--insecure"}};
  Hello hello;
  hello.major = 99;
  hello.software_version = "42.0";
  hello.role = PeerRole::Worker;
  hello.name = "from-the-future";
  hello.incarnation = Incarnation{4242};
  const std::string answer = converse(cluster.port(), introduction_frame(hello));
  ASSERT_GT(answer.size(), kFrameHeaderBytes);
  std::vector<std::uint64_t> words((answer.size() - kFrameHeaderBytes) / 8);
  std::memcpy(words.data(), answer.data() + kFrameHeaderBytes, words.size() * 8);
  const Result<Introduction> introduction = decode_introduction(std::as_bytes(std::span{words}));
  ASSERT_TRUE(introduction.has_value());
  const auto* refusal = std::get_if<Refusal>(&*introduction);
  ASSERT_NE(refusal, nullptr);
  EXPECT_EQ(refusal->error.code, ErrorCode::VersionMismatch);
  EXPECT_NE(to_string(refusal->error).find("protocol 99."), std::string::npos) << to_string(refusal->error);
  EXPECT_NE(to_string(refusal->error).find("42.0"), std::string::npos) << to_string(refusal->error);
}

TEST(Cluster, AnotherWorkerOfTheSameNameWaitsUntilTheFirstIsGone) {
  ClusterProcesses cluster;
  cluster.start_worker("same");
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const RunningBinary second{{{"worker", "--supervisor", cluster.address(), "--name", "same"}, {}, {}, {}}};
  ASSERT_TRUE(second.wait_for_errors("is the name of another worker, which is alive: "));
  ASSERT_TRUE(second.wait_for_errors("process " + std::to_string(cluster.worker("same").id())));
  ASSERT_TRUE(second.wait_for_errors("--name"));
  ASSERT_TRUE(cluster.wait_for_workers(1));
  // Its connection is closed with it: the next life need not wait until it is given up.
  cluster.kill_worker("same");
  EXPECT_TRUE(second.wait_for_errors(" linked"));
}

TEST(Cluster, APortInUseAndASupervisorThatIsNotThereAreNamed) {
  ClusterProcesses cluster;
  const BinaryRun second = run_binary({"supervisor", "--listen", cluster.address()});
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_NE(second.errors.find(cluster.address()), std::string::npos) << second.errors;
  EXPECT_NE(second.errors.find("another process listens there"), std::string::npos) << second.errors;
  const BinaryRun nobody = run_binary({"jobs", "--supervisor", "127.0.0.1:1"});
  EXPECT_EQ(nobody.exit_code, 2);
  EXPECT_NE(nobody.errors.find("127.0.0.1:1"), std::string::npos) << nobody.errors;
}

TEST(Cluster, OperatorsAskAndOrder) {
  ClusterProcesses cluster;
  cluster.start_worker("w1", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  const auto submitted = session->submit(named("long"), stencil(1, 2, 60'000'000'000, 0));
  ASSERT_TRUE(submitted.has_value());
  const auto ask = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--supervisor", cluster.address(), "--json"});
    return run_binary(arguments);
  };
  EXPECT_NE(ask({"jobs"}).output.find("\"long\""), std::string::npos);
  EXPECT_NE(ask({"job", "long"}).output.find("\"running\""), std::string::npos);
  EXPECT_NE(ask({"workers"}).output.find("\"w1\""), std::string::npos);
  EXPECT_NE(ask({"bands"}).output.find("\"slots\":2"), std::string::npos);
  EXPECT_EQ(ask({"queues"}).exit_code, 0);
  EXPECT_EQ(ask({"priority", "long", "7"}).exit_code, 0);
  EXPECT_NE(ask({"job", "long"}).output.find("\"priority\":7"), std::string::npos);
  EXPECT_EQ(ask({"explain", "long", "0"}).exit_code, 0);
  EXPECT_EQ(ask({"drain", "w1"}).exit_code, 0);
  EXPECT_NE(ask({"workers"}).output.find("draining"), std::string::npos);
  EXPECT_EQ(ask({"undrain", "w1"}).exit_code, 0);
  EXPECT_EQ(ask({"job", "nobody"}).exit_code, 2);
  EXPECT_EQ(ask({"cancel", "long", "--kill-after", "0s"}).exit_code, 0);
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Cancelled);
  EXPECT_EQ(ask({"wait", "long"}).exit_code, 1);
}

}  // namespace
}  // namespace penstock
