// Hostile connections for as long as one likes: peers of both roles, and of the data port and its local socket,
// introduce themselves twice, break off at any step, stall, resume with wrong numbers and send nonsense, beside a
// client and two workers that are honest. Ends with an error when a process of the cluster ends, when an honest job
// gives a wrong result or none, or when something of the hostile peers remains at the end.
//
//   connection_fuzz [--seconds N] [--seed S]
#include <dirent.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <thread>

#include "client/include/penstock/client.hpp"
#include "common/base/rng.hpp"
#include "common/host/clock.hpp"
#include "common/net/local_socket.hpp"
#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/integration/supervisor/raw_peer.hpp"
#include "worker/transfer/transfer_format.hpp"

namespace penstock {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// ---- the honest ones

/// Runs jobs with known results, one after the other, and checks each.
class HonestClient {
 public:
  explicit HonestClient(const std::string& address) : address_(address), thread_([this] { run(); }) {}
  ~HonestClient() { end(); }
  void end() {
    ending_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::uint64_t jobs() const { return jobs_; }
  /// The first failure; read after `end`, or when `failed`.
  bool failed() const { return failed_; }
  const std::string& failure() const { return failure_; }

 private:
  void run() {
    auto client = engine::Client::open({.address = address_});
    if (!client) return fail("cannot connect: " + client.failure().text());
    for (std::uint64_t round = 0; !ending_ && !failed_; ++round) run_job(client.value(), round);
  }

  /// Three texts, one of them so large that it is handed on by a memory segment, and what they make together.
  void run_job(engine::Client& client, std::uint64_t round) {
    const std::string large(round % 4 == 0 ? 400'000 : 100, static_cast<char>('a' + round % 26));
    const std::string small = "round " + std::to_string(round);
    engine::GraphBuilder graph;
    const auto join = graph.operation<std::string>("concatenate");
    auto sum = graph.add(join, graph.value(large), graph.value(small));
    std::string expected = large + small;
    for (int i = 0; i < 5; ++i) {
      const std::string more = std::to_string(i);
      sum = graph.add(join, sum, graph.value(more));
      expected += more;
    }
    graph.want(sum);
    auto job = client.submit(std::move(graph));
    if (!job) return fail("a job is refused: " + job.failure().text());
    const auto result = job.value().result(sum);
    if (!result) return fail("a job has no result: " + result.failure().text());
    if (result.value() != expected) return fail("the result of job " + std::to_string(round) + " is another one's");
    ++jobs_;
  }

  void fail(const std::string& why) {
    failure_ = why;
    failed_ = true;
  }

  const std::string address_;
  std::atomic<bool> ending_{false};
  std::atomic<bool> failed_{false};
  std::atomic<std::uint64_t> jobs_{0};
  std::string failure_;  // Written before `failed_`.
  std::thread thread_;
};

// ---- the hostile ones

/// The knowledge that the hostile peers have of the cluster.
struct Surroundings {
  std::uint16_t supervisor_port = 0;
  std::uint16_t data_port = 0;
  Incarnation supervisor;            ///< As told by the last welcome.
  std::vector<Incarnation> lives{};  ///< The last few that peers have used.
  std::optional<worker::HandleOffer> offer{};
};

/// One hostile connection. `step` does one thing with it and never waits.
class Hostile {
 public:
  virtual ~Hostile() = default;
  /// False: it is done with.
  virtual bool step(Rng& rng, Surroundings& all) = 0;
};

std::vector<std::byte> noise(Rng& rng, std::size_t most) {
  std::vector<std::byte> bytes(1 + rng.below(most));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.next());
  return bytes;
}

template <class T>
std::vector<std::byte> bytes_of(const T& content) {
  const auto bytes = std::as_bytes(std::span{&content, 1});
  return {bytes.begin(), bytes.end()};
}

/// A part of it, a bit of it turned, or all of it.
void spoil(Rng& rng, std::vector<std::byte>& bytes) {
  switch (rng.below(8)) {
    case 0: bytes.resize(rng.below(bytes.size()) + 1); break;
    case 1: bytes[rng.below(bytes.size())] ^= static_cast<std::byte>(1U << rng.below(8)); break;
    default: break;
  }
}

class HostilePeer final : public Hostile {
 public:
  HostilePeer(Rng& rng, Surroundings& all) : peer_(all.supervisor_port) {
    hello_.role = rng.chance(1, 2) ? PeerRole::Client : PeerRole::Worker;
    hello_.name = rng.chance(1, 4) ? "w1" : "hostile-" + std::to_string(rng.below(8));
    hello_.host = "nowhere";
    // Now and then a life that another connection has or had.
    const bool known = !all.lives.empty() && rng.chance(1, 3);
    hello_.incarnation = known ? all.lives[rng.below(all.lives.size())] : Incarnation{rng.next() | 1};
    if (!known) all.lives.push_back(hello_.incarnation);
    if (all.lives.size() > 16) all.lives.erase(all.lives.begin());
    if (rng.chance(1, 3)) hello_.peer = rng.chance(3, 4) ? all.supervisor : Incarnation{rng.next()};
    if (rng.chance(1, 3)) hello_.received_through = rng.chance(1, 2) ? rng.below(5) : rng.next();
    if (rng.chance(1, 12)) hello_.major = static_cast<std::uint16_t>(rng.below(4));
    if (rng.chance(1, 24)) hello_.name.assign(rng.below(9000), 'x');
    if (rng.chance(1, 24)) hello_.incarnation = Incarnation{};
  }

  bool step(Rng& rng, Surroundings& all) override {
    if (const auto introduction = peer_.introduction())
      if (const auto* welcome = std::get_if<Welcome>(&*introduction)) all.supervisor = welcome->incarnation;
    switch (rng.below(16)) {
      case 0:
      case 1:
      case 2: return send(rng, hello_bytes(hello_));
      case 3: return send(rng, twice(hello_bytes(hello_)));
      case 4: return introduce_and_speak(rng);
      case 5:
      case 6:
      case 7:
      case 8: return send(rng, message(rng));
      case 9: return send(rng, heartbeat_bytes(rng.chance(3, 4) ? hello_.incarnation : Incarnation{rng.next()}));
      case 10: return send(rng, noise(rng, 200));
      case 11: return send(rng, absurd_length(rng));
      case 12: peer_.finish_sending(); return rng.chance(1, 2);
      case 13: peer_.reset(); return false;
      case 14: peer_.close(); return false;
      default: return !peer_.is_over() || rng.chance(1, 2);  // Stalls.
    }
  }

 private:
  static std::vector<std::byte> twice(std::vector<std::byte> bytes) {
    const std::vector<std::byte> once = bytes;
    bytes.insert(bytes.end(), once.begin(), once.end());
    return bytes;
  }
  bool send(Rng& rng, std::vector<std::byte> bytes) {
    spoil(rng, bytes);
    peer_.send(bytes);
    if (rng.chance(1, 16)) {
      peer_.reset();  // With what was sent still on its way.
      return false;
    }
    return peer_.connected();
  }
  bool introduce_and_speak(Rng& rng) {
    std::vector<std::byte> bytes = hello_bytes(hello_);
    for (std::uint64_t more = rng.below(4); more-- > 0;) {
      const std::vector<std::byte> next = message(rng);
      bytes.insert(bytes.end(), next.begin(), next.end());
    }
    return send(rng, std::move(bytes));
  }
  std::vector<std::byte> absurd_length(Rng& rng) {
    std::vector<std::byte> bytes = message(rng);
    const auto length = static_cast<std::uint32_t>(rng.next());
    std::memcpy(bytes.data() + 8, &length, sizeof length);
    return bytes;
  }
  /// A frame with numbers that are right, or not.
  std::vector<std::byte> message(Rng& rng) {
    LinkHeader link{hello_.incarnation, ++sequence_, 0};
    if (rng.chance(1, 6)) link.sequence = rng.chance(1, 2) ? rng.below(8) : rng.next();
    if (rng.chance(1, 4)) link.acknowledged = rng.chance(1, 2) ? rng.below(8) : rng.next();
    if (rng.chance(1, 16)) link.sender = Incarnation{rng.next()};
    if (rng.chance(1, 10)) {
      std::vector<std::uint64_t> words(1 + rng.below(20));
      for (std::uint64_t& word : words) word = rng.next();
      return frame_bytes(FrameKind::Messages, link, std::make_shared<const FramePayload>(std::move(words)));
    }
    const bool as_client = rng.chance(1, 16) ? rng.chance(1, 2) : hello_.role == PeerRole::Client;
    if (as_client) {
      const FromClient said = from_client(rng);
      return frame_bytes(FrameKind::Messages, link, encode(std::span{&said, 1}));
    }
    const FromWorker said = from_worker(rng);
    return frame_bytes(FrameKind::Messages, link, encode(std::span{&said, 1}));
  }
  /// Nothing that is meant for the jobs of the honest client.
  FromClient from_client(Rng& rng) {
    switch (rng.below(4)) {
      case 0: return AdminRequest{rng.next(), rng.chance(1, 2) ? "jobs" : "nothing", {}, "hostile"};
      case 1: return AttachJob{rng.next(), {JobId{static_cast<std::uint32_t>(rng.below(100))}, ""}};
      case 2: return SubmitAgain{rng.below(4), {JobId::none(), "none"}, {}, {}};
      default: {
        SubmitChunk chunk;
        chunk.submission = rng.below(4);
        chunk.first = rng.chance(1, 2);
        chunk.last = rng.chance(1, 8);
        chunk.spec.name = "hostile-" + std::to_string(rng.next());
        if (chunk.first) chunk.graph.templates.resize(rng.below(3));
        chunk.graph.template_of.assign(rng.below(5000), static_cast<std::uint32_t>(rng.below(2)));
        chunk.graph.input_offsets.assign(chunk.graph.template_of.size() + 1, 0);
        chunk.whole.subtasks = rng.chance(1, 8) ? rng.next() : 0;
        return chunk;
      }
    }
  }
  /// Of a worker that has no slots, so that the jobs of others do not wait for it.
  FromWorker from_worker(Rng& rng) {
    if (rng.chance(1, 3)) {
      Register description;
      description.name = hello_.name;
      description.host = hello_.host;
      description.reclaims = rng.chance(1, 3);
      description.bands.resize(rng.below(3));
      for (BandDescription& band : description.bands) band.name = "numa-" + std::to_string(rng.below(3));
      return description;
    }
    ReportBatch report;
    report.number = rng.chance(1, 2) ? rng.below(4) : rng.next();
    return report;
  }

  RawPeer peer_;
  Hello hello_;
  std::uint64_t sequence_ = 0;
};

class HostileReader final : public Hostile {
 public:
  explicit HostileReader(const Surroundings& all) : peer_(all.data_port) {}

  bool step(Rng& rng, Surroundings& all) override {
    static_cast<void>(peer_.is_over());
    switch (rng.below(10)) {
      case 0:
      case 1:
      case 2:
      case 3: peer_.send(request(rng)); return true;
      case 4: {
        std::vector<std::byte> many;
        for (std::uint64_t count = 1 + rng.below(20); count-- > 0;) {
          const std::vector<std::byte> one = request(rng);
          many.insert(many.end(), one.begin(), one.end());
        }
        peer_.send(many);
        return true;
      }
      case 5: peer_.send(noise(rng, 100)); return true;
      case 6: peer_.finish_sending(); return rng.chance(1, 2);
      case 7: peer_.reset(); return false;
      case 8: peer_.close(); return false;
      default: take_offer(all); return true;
    }
  }

 private:
  std::vector<std::byte> request(Rng& rng) {
    worker::TransferRequest request;
    request.format = static_cast<std::uint32_t>(rng.chance(1, 8) ? rng.next() : 2 + rng.below(3));
    request.job = static_cast<std::uint32_t>(1 + rng.below(100));
    request.subtask = static_cast<std::uint32_t>(rng.below(8));
    request.output = static_cast<std::uint32_t>(rng.chance(1, 8) ? rng.next() : 0);
    request.chunk_bytes = static_cast<std::uint32_t>(rng.chance(1, 8) ? rng.next() : 4096U << rng.below(8));
    request.offset = rng.chance(1, 4) ? request.chunk_bytes * rng.below(64) : rng.chance(1, 8) ? rng.next() : 0;
    std::vector<std::byte> bytes = bytes_of(request);
    spoil(rng, bytes);
    return bytes;
  }
  /// Of a reply `Offered` that has come: which local socket has the datum.
  void take_offer(Surroundings& all) {
    const std::span<const std::byte> received = peer_.received();
    worker::TransferReply reply;
    if (received.size() < sizeof reply + sizeof(worker::HandleOffer)) return;
    std::memcpy(&reply, received.data(), sizeof reply);
    if (reply.status != worker::TransferStatus::Offered) return;
    worker::HandleOffer offer;
    std::memcpy(&offer, received.data() + sizeof reply, sizeof offer);
    all.offer = offer;
  }

  RawPeer peer_;
};

class HostileVisitor final : public Hostile {
 public:
  explicit HostileVisitor(const worker::HandleOffer& offer) : offer_(offer) {
    if (Result<Descriptor> socket = connect_local(offer.desk, present_user()); socket)
      socket_ = std::move(socket).value();
  }

  bool step(Rng& rng, Surroundings&) override {
    if (!socket_) return false;
    std::array<std::byte, 4096> heard;
    static_cast<void>(::recv(socket_.get(), heard.data(), heard.size(), MSG_DONTWAIT));
    switch (rng.below(8)) {
      case 0: send(noise(rng, 60)); return true;
      case 1: ::shutdown(socket_.get(), SHUT_WR); return rng.chance(1, 2);
      case 2: return false;
      default: {
        worker::HandleRequest request;
        request.wish = static_cast<worker::HandleWish>(rng.chance(1, 12) ? rng.next() : 1 + rng.below(2));
        request.ticket = rng.chance(1, 2) ? offer_.ticket : offer_.ticket + rng.below(8);
        std::vector<std::byte> bytes = bytes_of(request);
        spoil(rng, bytes);
        send(bytes);
        return true;
      }
    }
  }

 private:
  void send(std::span<const std::byte> bytes) {
    static_cast<void>(::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  }

  const worker::HandleOffer offer_;
  Descriptor socket_;
};

// ---- the run

std::size_t entries_of(const std::string& directory) {
  std::size_t count = 0;
  DIR* open = ::opendir(directory.c_str());
  if (open == nullptr) return 0;
  while (::readdir(open) != nullptr) ++count;
  ::closedir(open);
  return count;
}

/// Descriptors and threads of a process.
std::size_t holdings_of(const Process& process) {
  const std::string place = "/proc/" + std::to_string(process.id());
  return entries_of(place + "/fd") + entries_of(place + "/task");
}

class Fuzz {
 public:
  Fuzz(std::uint64_t run_for, std::uint64_t seed) : seconds_(run_for), rng_(seed) {}

  /// The first failure; empty: none.
  std::string run() {
    for (const char* name : {"w1", "w2"}) cluster_.start_worker(name, {"--slots", "2", "--memory", "1GiB"});
    if (!cluster_.wait_for_workers(2)) return "the workers do not come";
    if (const std::string trouble = find_data_port(); !trouble.empty()) return trouble;
    all_.supervisor_port = cluster_.port();
    const std::size_t before = holdings_of(cluster_.supervisor());
    HonestClient honest{cluster_.address()};
    const Instant end = monotonic_now() + seconds{seconds_};
    for (std::string trouble; monotonic_now() < end;) {
      for (int i = 0; i < 64; ++i) step();
      ::usleep(1000);  // tidy: allow call: it is no wait for anything; the cluster has to have its turn on a small host
      trouble = look(honest);
      if (!trouble.empty()) return trouble;
    }
    hostile_.clear();
    const std::uint64_t jobs = honest.jobs();
    if (!wait_until([&] { return honest.failed() || honest.jobs() > jobs + 2; }))
      return "the honest client waits for ever";
    honest.end();
    if (const std::string trouble = look(honest); !trouble.empty()) return trouble;
    if (honest.jobs() == 0) return "no honest job has ended";
    std::printf("{\"steps\": %llu, \"connections\": %llu, \"honest_jobs\": %llu}\n",
                static_cast<unsigned long long>(steps_), static_cast<unsigned long long>(connections_),
                static_cast<unsigned long long>(honest.jobs()));
    // A thread or two of its libraries may come late.
    constexpr std::size_t kSpare = 6;
    if (!wait_until([&] { return holdings_of(cluster_.supervisor()) <= before + kSpare; }))
      return "the supervisor keeps " + std::to_string(holdings_of(cluster_.supervisor())) +
             " descriptors and threads; before there were " + std::to_string(before);
    return {};
  }

 private:
  std::string find_data_port() {
    const auto session = cluster_.connect();
    Graph graph;
    graph.templates.resize(1);
    graph.templates[0].program = "literal";
    graph.template_of = {0};
    graph.input_offsets = {0, 0};
    graph.payloads = "a text";
    graph.payload_offsets = {0, 6};
    JobSpec spec;
    spec.name = "first";
    const auto submitted = session->submit(spec, graph);
    if (!submitted) return to_string(submitted.error());
    const Result<JobState> end = session->wait(submitted->job, seconds{20});
    const auto view = session->view(submitted->job);
    if (!end || *end != JobState::Succeeded || view.outputs.empty())
      return "the first job does not succeed: " + to_string(view.error) +
             " outputs=" + std::to_string(view.outputs.size());
    const Result<HostPort> address = parse_host_port(view.outputs[0].data_address, "127.0.0.1");
    if (!address) return to_string(address.error());
    all_.data_port = address->port;
    return {};
  }

  void step() {
    ++steps_;
    constexpr std::size_t kAtOnce = 24;
    if (hostile_.size() < kAtOnce && rng_.chance(1, 3)) begin();
    if (hostile_.empty()) return;
    const std::size_t chosen = rng_.below(hostile_.size());
    if (!hostile_[chosen]->step(rng_, all_)) hostile_.erase(hostile_.begin() + static_cast<std::ptrdiff_t>(chosen));
  }

  void begin() {
    ++connections_;
    if (rng_.chance(3, 4))
      hostile_.push_back(std::make_unique<HostilePeer>(rng_, all_));
    else if (all_.offer && rng_.chance(1, 3))
      hostile_.push_back(std::make_unique<HostileVisitor>(*all_.offer));
    else
      hostile_.push_back(std::make_unique<HostileReader>(all_));
  }

  std::string look(const HonestClient& honest) {
    if (cluster_.supervisor().wait_for_end(Duration{0})) return "the supervisor has ended:\n" + tail_of("supervisor");
    for (const char* name : {"w1", "w2"})
      if (cluster_.worker(name).wait_for_end(Duration{0}))
        return std::string{"worker "} + name + " has ended:\n" + tail_of(name);
    if (honest.failed()) return "the honest client: " + honest.failure();
    return {};
  }

  std::string tail_of(const std::string& process) const {
    const std::string log = cluster_.log_of(process);
    return log.substr(log.size() - std::min<std::size_t>(log.size(), 6000));
  }

  const std::uint64_t seconds_;
  Rng rng_;
  // Patience is short, so that stalls are seen to end; silence is borne for long, as hosts of tests are slow.
  ClusterProcesses cluster_{{"--no-state", "--set", "wire.handshake_timeout=300ms", "--set", "wire.frame_timeout=500ms",
                             "--set", "link.reconnect_grace=200ms", "--set", "graph.submission_idle_max=300ms"}};
  Surroundings all_;
  std::vector<std::unique_ptr<Hostile>> hostile_;
  std::uint64_t steps_ = 0;
  std::uint64_t connections_ = 0;
};

std::uint64_t number_of(const char* text) {
  std::uint64_t number = 0;
  std::from_chars(text, text + std::strlen(text), number);
  return number;
}

}  // namespace
}  // namespace penstock

int main(int count, char** values) {
  std::uint64_t run_for = 20;
  std::uint64_t seed = 1;
  for (int i = 1; i + 1 < count; i += 2) {
    if (std::strcmp(values[i], "--seconds") == 0) run_for = penstock::number_of(values[i + 1]);
    if (std::strcmp(values[i], "--seed") == 0) seed = penstock::number_of(values[i + 1]);
  }
  const std::string trouble = penstock::Fuzz{run_for, seed}.run();
  if (trouble.empty()) return 0;
  std::fprintf(stderr, "connection_fuzz: seed %llu: %s\n", static_cast<unsigned long long>(seed), trouble.c_str());
  return 1;
}
