#include "tools/bench/bench_cluster.hpp"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "client/src/transport.hpp"
#include "common/host/clock.hpp"
#include "common/host/host.hpp"
#include "common/security/own_security.hpp"

namespace penstock::tools {
namespace {

constexpr Duration kPatience = std::chrono::seconds{30};
constexpr Duration kLook = std::chrono::milliseconds{5};

template <class Condition>
bool wait_until(Condition condition) {
  const Instant end = later(monotonic_now(), kPatience);
  while (!condition()) {
    if (monotonic_now() > end) return false;
    std::this_thread::sleep_for(kLook);  // tidy: allow call: processes that start are waited for
  }
  return true;
}

/// A field of /proc/PID/status in KiB.
std::int64_t status_kib(int process, const std::string& field) {
  std::ifstream status{"/proc/" + std::to_string(process) + "/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return std::strtoll(line.c_str() + field.size(), nullptr, 10);
  return 0;
}

double cpu_seconds(int process) {
  std::ifstream stat{"/proc/" + std::to_string(process) + "/stat"};
  std::string line;
  std::getline(stat, line);
  // The name in parentheses may contain anything; user and system time are the 12th and 13th fields after it.
  std::size_t at = line.rfind(')');
  for (int field = 0; field < 12 && at != std::string::npos; ++field) at = line.find(' ', at + 1);
  if (at == std::string::npos) return 0;
  char* end = nullptr;
  const double user = std::strtod(line.c_str() + at, &end);
  return (user + std::strtod(end, nullptr)) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

/// The binary of the daemons, in the directory of this process's binary. Error: ProgramNotFound.
Result<std::string> daemon_binary() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::filesystem::path binary = self.parent_path() / "penstock";
  if (!error && std::filesystem::exists(binary, error)) return binary.string();
  return Error{ErrorCode::ProgramNotFound, binary.string(), "is not there, and its daemons are what is measured",
               "build or install `penstock` beside this program, or measure with --embedded"};
}

Result<Process> start_daemon(const std::string& directory, const std::vector<std::string>& arguments) {
  Result<std::string> binary = daemon_binary();
  if (!binary) return binary.error();
  ProcessStart start;
  start.program = std::move(binary).value();
  start.arguments = arguments;
  start.environment = own_environment();
  start.directory = directory;
  return Process::start(start);
}

}  // namespace

Result<std::unique_ptr<BenchCluster>> BenchCluster::start(const BenchClusterOptions& options) {
  std::unique_ptr<BenchCluster> cluster{new BenchCluster};
  if (!options.embedded) {
    PENSTOCK_TRY(cluster->start_processes(options));
    return cluster;
  }
  client::EmbeddedOptions embedded;
  embedded.worker.name = "w1";
  for (std::uint32_t i = 0; i < options.bands; ++i) {
    BandDescription& band = embedded.worker.bands.emplace_back();
    band.name = "cpu-" + std::to_string(i);
    band.capacity.slots = kOneSlot * options.slots;
    band.capacity.memory = Bytes{(kGiB * 16).value() / options.bands};
    band.memory_hard_limit = band.capacity.memory;
  }
  Result<std::unique_ptr<client::EmbeddedCluster>> started = client::EmbeddedCluster::start(embedded);
  if (!started) return started.error();
  cluster->embedded_ = std::move(started).value();
  return cluster;
}

Result<void> BenchCluster::start_processes(const BenchClusterOptions& options) {
  std::string pattern = std::filesystem::temp_directory_path() / "penstock-bench-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr)
    return Error{ErrorCode::ResourceExhausted, pattern, "cannot be made", "free some space there"};
  directory_ = pattern;
  const std::string address_file = directory_ + "/address";
  const auto start = [&](const std::string& name, std::vector<std::string> arguments) -> Result<void> {
    for (const std::string& setting : options.settings) arguments.insert(arguments.end(), {"--set", setting});
    arguments.insert(arguments.end(), {"--log-level", "error"});
    Result<Process> process = start_daemon(directory_, arguments);
    if (!process) return process.error();
    processes_.emplace_back(name, std::move(process).value());
    return {};
  };
  std::vector<std::string> supervisor{"supervisor", "--listen", "127.0.0.1:0", "--address-file", address_file};
  if (options.journal)
    supervisor.insert(supervisor.end(), {"--state", directory_ + "/state"});
  else
    supervisor.emplace_back("--no-state");
  if (!options.configuration.empty()) {
    const std::string config_file = directory_ + "/penstock.toml";
    if (std::ofstream file{config_file}; !(file << options.configuration << std::flush))
      return Error{ErrorCode::ResourceExhausted, config_file, "cannot be written", "free some space there"};
    supervisor.insert(supervisor.end(), {"--config", config_file});
  }
  PENSTOCK_TRY(start("supervisor", supervisor));
  if (!wait_until([&] { return std::filesystem::exists(address_file); }))
    return Error{ErrorCode::TimedOut, "supervisor", "has not begun to listen", {}};
  std::string address;
  std::getline(std::ifstream{address_file} >> std::ws, address);
  // The host's own band is the first.
  const std::string bands_file = directory_ + "/bands.toml";
  std::string bands;
  for (std::uint32_t i = 1; i < options.bands; ++i)
    bands += "[[band]]\nname = \"more-" + std::to_string(i) + "\"\nslots = " + std::to_string(options.slots) +
             "\nmemory = \"1GiB\"\n";
  if (std::ofstream file{bands_file}; !(file << bands << std::flush))
    return Error{ErrorCode::ResourceExhausted, bands_file, "cannot be written", "free some space there"};
  for (std::uint32_t i = 1; i <= options.workers; ++i) {
    const std::string name = "worker-" + std::to_string(i);
    PENSTOCK_TRY(start(name, {"worker", "--supervisor", address, "--name", name, "--slots",
                              std::to_string(options.slots), "--no-gpus", "--config", bands_file}));
  }
  client::RemoteOptions remote;
  Result<HostPort> parsed = parse_host_port(address, "127.0.0.1");
  if (!parsed) return parsed.error();
  remote.supervisors = {*parsed};
  Result<std::shared_ptr<const TlsClient>> tls = own_security(PeerRole::Client);
  if (!tls) return tls.error();
  remote.tls = std::move(tls).value();
  remote.name = "bench";
  remote_ = std::make_unique<client::Session>();
  Result<std::unique_ptr<client::Transport>> transport = client::connect_remote(remote, remote_->handlers());
  if (!transport) return transport.error();
  remote_->start(std::move(transport).value());
  if (options.idle_workers > 0) {
    Result<std::unique_ptr<IdleWorkers>> idle = IdleWorkers::start(*parsed, options.idle_workers);
    if (!idle) return std::move(idle).error();
    idle_ = std::move(idle).value();
  }
  return wait_for_workers(options.workers + options.idle_workers);
}

Result<void> BenchCluster::wait_for_workers(std::uint32_t count) {
  const bool all = wait_until([&] {
    const Result<Value> workers = remote_->ask("workers", {});
    return workers.has_value() && workers->list() != nullptr && workers->list()->size() >= count;
  });
  if (!all) return Error{ErrorCode::TimedOut, "workers", "have not joined", {}};
  return {};
}

BenchCluster::~BenchCluster() {
  idle_.reset();
  remote_.reset();
  embedded_.reset();
  ProcessEnd end;
  for (auto process = processes_.rbegin(); process != processes_.rend(); ++process) {
    process->second.signal_group(SIGTERM);
    if (!process->second.wait_for_end(std::chrono::seconds{5})) process->second.signal_group(SIGKILL);
    if (process->second.wait_for_end(std::chrono::seconds{5})) process->second.try_reap(end);
  }
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

Result<JobState> wait_unless_stopped(client::Session& session, StopSignals& stop_signals, JobId job) {
  for (;;) {
    Result<JobState> state = session.wait(job, std::chrono::milliseconds{200});
    if (!state || *state != JobState::Running) return state;
    if (stop_signals.take()) return Error{ErrorCode::Cancelled, to_string(job), "was given up on request", {}};
  }
}

client::Session& BenchCluster::session() { return remote_ != nullptr ? *remote_ : embedded_->session(); }

std::vector<ProcessCost> BenchCluster::costs() const {
  const ProcessUsage own = process_usage();
  std::vector<ProcessCost> costs{
      {remote_ != nullptr ? "client" : "penstock", static_cast<double>(own.cpu_us) / 1e6, own.peak_bytes}};
  for (const auto& [name, process] : processes_)
    costs.push_back({name, cpu_seconds(process.id()), status_kib(process.id(), "VmHWM:") * 1024});
  return costs;
}

Result<WireBytes> BenchCluster::wire_bytes() const {
  if (processes_.empty())
    return Error{ErrorCode::Unsupported, "bytes on the wire", "there is no wire inside one process", {}};
  return wire_bytes_of(processes_.front().second.id());
}

}  // namespace penstock::tools
