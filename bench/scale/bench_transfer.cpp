// Speed of transfers between two workers' data planes on the loopback, and of control messages meanwhile.
//
//   bench_transfer [OPTIONS] [MIB [COUNT [STREAMS [ROUNDS]]]]: COUNT data of so many MiB each (256, 8, 4), so often (3)
//     --noise=PERCENT     of each datum is random (100), the rest repeats
//     --packing=WORD      never, pays (the default), always
//     --maps              data are mapped, as workers of one host do, and not copied; nobody reads them here
//     --chunk=KIB         the unit of checking and resuming (as workers have it)
//     --raw               with --apart: each round moves the same bytes over plain sockets, too, a thread for each
//                         stream: into memory that is kept, and into a small buffer as iperf3 does; medians at the end
//     --secure            both are workers of a cluster made for them, so that connections are secured
//     --credentials=DIR   the same, with the credentials of a worker there
//     --apart             the holder is a process of its own; the processor's time is then the reader's alone
//     --parent=PID        ends with that process, which has started it
//     --serve=HOST:PORT   only the holder, until it is ended; --from=HOST:PORT only the reader: on two hosts
//
// Between rounds the received data are dropped, so the memory of a later round was in use just before. The first round
// includes the time for new memory of the system: in a virtual machine that returns free memory to its host, that can
// be most of the time.
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bench/scale/raw_transfer.hpp"
#include "common/base/rng.hpp"
#include "common/host/clock.hpp"
#include "common/host/host.hpp"
#include "common/security/authority.hpp"
#include "common/security/credential_store.hpp"
#include "common/security/tls_session.hpp"
#include "worker/transfer/transfer_thread.hpp"

namespace penstock::worker {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

/// Sends 64 bytes there and back between two sockets of the control loop, a millisecond apart.
class Pings {
 public:
  explicit Pings(Loop& loop) : timer_(loop), here_(loop.io()), there_(loop.io()) {
    tcp::acceptor acceptor{loop.io(), {boost::asio::ip::address_v4::loopback(), 0}};
    here_.connect(acceptor.local_endpoint());
    acceptor.accept(there_);
    here_.set_option(tcp::no_delay{true});
    there_.set_option(tcp::no_delay{true});
    echo();
    send();
  }

  double percentile(double part) {
    std::sort(micros_.begin(), micros_.end());
    return micros_.empty() ? 0 : micros_[static_cast<std::size_t>(part * static_cast<double>(micros_.size() - 1))];
  }
  std::size_t count() const { return micros_.size(); }
  void forget() { micros_.clear(); }

 private:
  void echo() {
    boost::asio::async_read(there_, boost::asio::buffer(pong_), [this](const error_code& error, std::size_t) {
      if (error) return;
      boost::asio::async_write(there_, boost::asio::buffer(pong_), [this](const error_code& failed, std::size_t) {
        if (!failed) echo();
      });
    });
  }
  void send() {
    const Instant begin = monotonic_now();
    boost::asio::async_write(here_, boost::asio::buffer(ping_), [](const error_code&, std::size_t) {});
    boost::asio::async_read(here_, boost::asio::buffer(answer_), [this, begin](const error_code& error, std::size_t) {
      if (error) return;
      micros_.push_back(static_cast<double>((monotonic_now() - begin).count()) / 1000);
      timer_.arm(monotonic_now() + std::chrono::milliseconds{1}, [this] { send(); });
    });
  }

  LoopTimer timer_;
  tcp::socket here_;
  tcp::socket there_;
  std::array<char, 64> ping_{};
  std::array<char, 64> pong_{};
  std::array<char, 64> answer_{};
  std::vector<double> micros_;
};

struct Load {
  std::uint64_t noise_percent = 100;
  Packing packing = Packing::WherePays;
  HostPort serve;  ///< No host: both sides are here.
  HostPort from;
  bool apart = false;
  bool maps = false;
  bool raw = false;
  bool secure = false;
  std::string credentials;     ///< Directory of those of a cluster; empty: connections are plain.
  std::uint16_t raw_port = 0;  ///< 0: plain sockets are not measured.
  std::uint32_t chunk_bytes = TransferLimits{}.chunk_bytes;
  std::size_t bytes = 0;  ///< Of each datum.
  std::uint32_t count = 0;
  std::uint32_t streams = 0;
  std::uint32_t rounds = 0;
};

/// Of the job that the data belong to.
constexpr JobIdentity kIdentity{1, 2};
DataKey key_of(std::uint32_t number) { return DataKey{{JobId{1}, SubtaskIndex{number}}, 0}; }

bool fill(ObjectStore& store, const Load& load) {
  store.name_job(key_of(0).producer.job, kIdentity);
  Rng random{1};
  for (std::uint32_t i = 0; i < load.count; ++i) {
    std::shared_ptr<Blob> blob = store.allocate(load.bytes);
    if (blob == nullptr) return false;
    for (std::size_t at = 0; at + 8 <= load.bytes; at += 8) {
      const std::uint64_t word = at / 8 % 100 < load.noise_percent ? random.next() : 0x2020202020202020U;
      std::memcpy(blob->data() + at, &word, sizeof word);
    }
    store.put(key_of(i), std::move(blob));
  }
  return true;
}

struct Reader {
  Loop loop;
  ObjectStore store;
  std::unique_ptr<TransferThread> transfer;
  std::unique_ptr<Pings> pings;
};

/// Fetches all data, once. The rate in GB/s; 0 if one does not arrive.
double bring(Reader& reader, const HostPort& from, const Load& load) {
  std::uint32_t done = 0;
  bool failed = false;
  Pings& pings = *reader.pings;
  pings.forget();
  const std::int64_t cpu_before = process_usage().cpu_us;
  const Instant begin = monotonic_now();
  for (std::uint32_t i = 0; i < load.count; ++i) {
    const auto on_done = [&, i](std::shared_ptr<Blob> blob, const Error&) {
      failed = failed || blob == nullptr;
      if (blob != nullptr) reader.store.put(key_of(i), std::move(blob));
      if (++done == load.count) reader.loop.stop();
    };
    reader.transfer->fetch(from, key_of(i), 0, on_done, kIdentity);
  }
  reader.loop.run();
  const double seconds = static_cast<double>((monotonic_now() - begin).count()) / 1e9;
  const double gigabytes = static_cast<double>(load.bytes) * load.count / 1e9;
  const double cpu = static_cast<double>(process_usage().cpu_us - cpu_before) / 1e6;
  std::printf(
      "%u x %zu MiB over %u streams: %.2f GB/s, %.2f s of processor for a GB; %zu control round trips: p50 %.0f us, "
      "p99 %.0f us, max %.0f us%s\n",
      load.count, load.bytes >> 20U, load.streams, gigabytes / seconds, cpu / gigabytes, pings.count(),
      pings.percentile(0.5), pings.percentile(0.99), pings.percentile(1), failed ? "; FAILED" : "");
  for (std::uint32_t i = 0; i < load.count; ++i) reader.store.drop(key_of(i));
  return failed ? 0 : gigabytes / seconds;
}

/// The same over plain sockets.
double bring_raw(Reader& reader, std::uint16_t port, const Load& load, bool keeps) {
  const std::int64_t cpu_before = process_usage().cpu_us;
  const Instant begin = monotonic_now();
  std::vector<std::shared_ptr<Blob>> kept(load.count);
  const auto into = [&](std::uint32_t number) {
    kept[number] = reader.store.allocate(load.bytes);
    return kept[number] == nullptr ? nullptr : kept[number]->data();
  };
  const bool good =
      fetch_raw(port, load.streams, load.count, load.bytes, keeps ? into : std::function<std::byte*(std::uint32_t)>{});
  const double seconds = static_cast<double>((monotonic_now() - begin).count()) / 1e9;
  const double gigabytes = static_cast<double>(load.bytes) * load.count / 1e9;
  const double cpu = static_cast<double>(process_usage().cpu_us - cpu_before) / 1e6;
  std::printf("  plain sockets, %s: %.2f GB/s, %.2f s of processor for a GB%s\n", keeps ? "kept" : "dropped",
              gigabytes / seconds, cpu / gigabytes, good ? "" : "; FAILED");
  return good ? gigabytes / seconds : 0;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

/// All rounds. The first, which has new memory, does not count for the medians.
bool bring_often(Reader& reader, const HostPort& from, const Load& load) {
  std::vector<double> ours;
  std::vector<double> kept;
  std::vector<double> dropped;
  for (std::uint32_t round = 0; round < load.rounds; ++round) {
    const double rate = bring(reader, from, load);
    if (rate <= 0) return false;
    const double raw = load.raw_port == 0 ? 0 : bring_raw(reader, load.raw_port, load, true);
    const double raw_dropped = load.raw_port == 0 ? 0 : bring_raw(reader, load.raw_port, load, false);
    if (round == 0) continue;
    ours.push_back(rate);
    kept.push_back(raw);
    dropped.push_back(raw_dropped);
  }
  if (load.raw_port != 0)
    std::printf("medians: %.2f GB/s; plain sockets %.2f kept (ratio %.2f), %.2f dropped (ratio %.2f)\n", median(ours),
                median(kept), median(ours) / median(kept), median(dropped), median(ours) / median(dropped));
  return true;
}

/// The two processes are workers of a cluster that is made for them.
void make_cluster(const std::string& directory) {
  const Result<Authority> authority = Authority::make();
  if (!authority) return;
  const Result<Credential> worker = authority->issue(Role::Worker, "bench", std::chrono::hours{24});
  if (worker) (void)CredentialStore{directory}.save(authority->cluster(), Role::Worker, *worker).has_value();
}

/// False if there are no credentials in the directory.
bool secure(TransferOptions& options, const std::string& directory) {
  const CredentialStore store{directory};
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator{directory + "/clusters", code}) {
    const Result<Credential> own = store.load(entry.path().filename().string(), Role::Worker);
    Result<std::shared_ptr<const TlsClient>> client = TlsClient::make(store, PeerRole::Worker, Role::Worker);
    if (!own || !client) return false;
    Result<std::shared_ptr<const TlsServer>> server = TlsServer::make(*own);
    if (!server) return false;
    options.limits.tls = std::move(client).value();
    options.server.security.settings = [settings = *server] { return settings; };
    return true;
  }
  return false;
}

int measure(const Load& load) {
  Reader reader;
  ObjectStore there;
  TransferOptions options;
  options.listen = HostPort{"127.0.0.1", 0};
  options.limits.streams_max = load.streams;
  options.limits.packing = options.server.packing = load.packing;
  options.limits.maps = load.maps;
  options.limits.chunk_bytes = load.chunk_bytes;
  if (!load.credentials.empty() && !secure(options, load.credentials)) return 1;
  auto here = TransferThread::open(reader.loop, reader.store, options);
  if (!load.serve.host.empty()) options.listen = load.serve;
  if (load.from.host.empty() && !fill(there, load)) return 1;
  auto holder = TransferThread::open(reader.loop, there, options);
  if (!here || !holder) return 1;
  if (!load.serve.host.empty()) {
    const RawHolder raw{[&there](std::uint32_t number) { return there.find(key_of(number))->bytes(); }};
    std::printf("%u %u\n", (*holder)->port(), raw.port());
    std::fflush(stdout);
    reader.loop.run();
  }
  reader.transfer = std::move(here).value();
  reader.pings = std::make_unique<Pings>(reader.loop);
  const HostPort from = load.from.host.empty() ? HostPort{"127.0.0.1", (*holder)->port()} : load.from;
  return bring_often(reader, from, load) ? 0 : 1;
}

/// This program as a holder, in a process of its own that ends with this object, or with this process if that is
/// killed.
class Holder {
 public:
  explicit Holder(const Load& load) {
    std::vector<std::string> words{"bench_transfer",
                                   "--serve=127.0.0.1:0",
                                   "--parent=" + std::to_string(getpid()),
                                   "--noise=" + std::to_string(load.noise_percent),
                                   std::to_string(load.bytes >> 20U),
                                   std::to_string(load.count),
                                   std::to_string(load.streams)};
    if (!load.credentials.empty()) words.emplace_back("--credentials=" + load.credentials);
    if (load.packing != Packing::WherePays)
      words.emplace_back(load.packing == Packing::Never ? "--packing=never" : "--packing=always");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int ends[2];
    if (pipe(ends) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (posix_spawn(&child_, "/proc/self/exe", &actions, nullptr, arguments.data(), environ) != 0) child_ = 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    std::FILE* said = fdopen(ends[0], "r");
    if (std::fscanf(said, "%hu %hu", &port_, &raw_port_) != 2) port_ = 0;  // Written when all is there.
    std::fclose(said);
  }
  ~Holder() {
    if (child_ == 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  std::uint16_t port() const { return port_; }  ///< 0: it could not be started.
  std::uint16_t raw_port() const { return raw_port_; }

 private:
  pid_t child_ = 0;
  std::uint16_t port_ = 0;
  std::uint16_t raw_port_ = 0;
};

int measure_apart(Load load) {
  const Holder holder{load};
  if (holder.port() == 0) return 1;
  load.from = {"127.0.0.1", holder.port()};
  if (load.raw) load.raw_port = holder.raw_port();
  return measure(load);
}

bool take_option(std::string_view text, Load& load) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string value{text.substr(equals + 1)};
  const std::string_view name = text.substr(0, equals);
  if (name == "--chunk") return load.chunk_bytes = std::strtoul(value.c_str(), nullptr, 10) << 10U, true;
  if (name == "--noise") return load.noise_percent = std::strtoul(value.c_str(), nullptr, 10), true;
  if (name == "--packing") {
    load.packing = value == "never" ? Packing::Never : value == "always" ? Packing::Always : Packing::WherePays;
    return value == "never" || value == "always" || value == "pays";
  }
  if (name == "--credentials") return load.credentials = value, true;
  if (name == "--parent") return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && std::to_string(getppid()) == value;
  const Result<HostPort> address = parse_host_port(value, "127.0.0.1");
  if (!address) return false;
  if (name == "--serve") return load.serve = *address, true;
  return name == "--from" && (load.from = *address, true);
}

int run(int argc, char** argv) {
  Load load;
  std::array<std::uint64_t, 4> numbers{256, 8, 4, 3};
  std::size_t given = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view text{argv[i]};
    if (text == "--apart") {
      load.apart = true;
    } else if (text == "--raw") {
      load.raw = true;
    } else if (text == "--secure") {
      load.secure = true;
    } else if (text == "--maps") {
      load.maps = true;
    } else if (!text.starts_with("--") && given < numbers.size()) {
      numbers[given++] = std::strtoul(argv[i], nullptr, 10);
    } else if (!take_option(text, load)) {
      std::fprintf(stderr, "bench_transfer: bad argument '%s'\n", argv[i]);
      return 2;
    }
  }
  load.bytes = numbers[0] << 20U;
  load.count = static_cast<std::uint32_t>(numbers[1]);
  load.streams = static_cast<std::uint32_t>(numbers[2]);
  load.rounds = static_cast<std::uint32_t>(numbers[3]);
  if (!load.secure) return load.apart ? measure_apart(load) : measure(load);
  std::string directory = (std::filesystem::temp_directory_path() / "penstock-bench-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) return 1;
  make_cluster(directory);
  load.credentials = directory;
  const int code = load.apart ? measure_apart(load) : measure(load);
  std::filesystem::remove_all(directory);
  return code;
}

}  // namespace
}  // namespace penstock::worker

int main(int argc, char** argv) { return penstock::worker::run(argc, argv); }
