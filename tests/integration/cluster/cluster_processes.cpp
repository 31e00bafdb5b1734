#include "tests/integration/cluster/cluster_processes.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "client/src/transport.hpp"
#include "common/security/own_security.hpp"

namespace penstock {
namespace {

constexpr Duration kPatience = std::chrono::seconds{20};

Descriptor open_for_writing(const std::string& path) {
  return Descriptor{::open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)};
}

}  // namespace

ClusterProcesses::ClusterProcesses(std::vector<std::string> supervisor_arguments,
                                   std::vector<std::string> supervisor_environment)
    : supervisor_arguments_(std::move(supervisor_arguments)),
      supervisor_environment_(std::move(supervisor_environment)) {
  const std::string address_file = scratch_.at("address");
  std::vector<std::string> arguments{"supervisor", "--listen", "127.0.0.1:0", "--address-file", address_file};
  arguments.insert(arguments.end(), supervisor_arguments_.begin(), supervisor_arguments_.end());
  supervisor_ = std::make_unique<Process>(start("supervisor", arguments));
  EXPECT_TRUE(wait_until([&] { return std::filesystem::exists(address_file); })) << log_of("supervisor");
  address_ = scratch_.read("address");
  if (!address_.empty()) address_.pop_back();
}

ClusterProcesses::~ClusterProcesses() {
  ProcessEnd end;
  for (const auto& [name, worker] : workers_) {
    worker.signal_group(SIGCONT);
    worker.signal_group(SIGKILL);
    EXPECT_TRUE(worker.wait_for_end(kPatience) && worker.try_reap(end));
  }
  if (overtaken_ != nullptr) {
    overtaken_->signal_group(SIGKILL);
    EXPECT_TRUE(overtaken_->wait_for_end(kPatience) && overtaken_->try_reap(end));
  }
  // By request, to see that it ends.
  supervisor_->signal_group(SIGTERM);
  EXPECT_TRUE(supervisor_->wait_for_end(kPatience)) << "the supervisor does not end";
  supervisor_->signal_group(SIGKILL);
  EXPECT_TRUE(supervisor_->wait_for_end(kPatience) && supervisor_->try_reap(end));
  EXPECT_EQ(end.exit_code, 0) << log_of("supervisor");
  if (::testing::Test::HasFailure())
    for (const auto& entry : std::filesystem::directory_iterator{scratch_.path()})
      std::fprintf(stderr, "---- %s\n%s", entry.path().c_str(), scratch_.read(entry.path().filename()).c_str());
}

std::uint16_t ClusterProcesses::port() const { return parse_host_port(address_, "")->port; }

Process ClusterProcesses::start(const std::string& name, const std::vector<std::string>& arguments) {
  const Descriptor log = open_for_writing(scratch_.at(name + ".log"));
  ProcessStart start;
  start.program = PENSTOCK_BINARY;
  start.arguments = arguments;
  start.environment = environment_with_state_in(scratch_);
  if (arguments.front() == "supervisor")
    start.environment.insert(start.environment.begin(), supervisor_environment_.begin(), supervisor_environment_.end());
  start.directory = scratch_.path();
  start.output = log.get();
  start.error = log.get();
  Result<Process> process = Process::start(start);
  EXPECT_TRUE(process.has_value()) << PENSTOCK_BINARY;
  return std::move(process).value();
}

void ClusterProcesses::start_worker(const std::string& name, const std::vector<std::string>& arguments) {
  start_worker_at(name, address_, arguments);
}

void ClusterProcesses::start_worker_at(const std::string& name, const std::string& supervisor,
                                       const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"worker", "--supervisor", supervisor, "--name", name};
  all.insert(all.end(), arguments.begin(), arguments.end());
  if (insecure()) all.emplace_back("--insecure");
  workers_.emplace(name, start(name, all));
}

bool ClusterProcesses::insecure() const {
  return std::find(supervisor_arguments_.begin(), supervisor_arguments_.end(), "--insecure") !=
         supervisor_arguments_.end();
}

void ClusterProcesses::kill_worker(const std::string& name) {
  const auto worker = workers_.find(name);
  worker->second.signal_group(SIGKILL);
  ProcessEnd end;
  EXPECT_TRUE(worker->second.wait_for_end(kPatience) && worker->second.try_reap(end));
  workers_.erase(worker);
}

void ClusterProcesses::kill_supervisor() {
  supervisor_->signal_group(SIGKILL);
  ProcessEnd end;
  EXPECT_TRUE(supervisor_->wait_for_end(kPatience) && supervisor_->try_reap(end));
}

void ClusterProcesses::restart_supervisor(const std::vector<std::string>& more) {
  const std::string address_file = scratch_.at("address");
  std::filesystem::remove(address_file);
  std::vector<std::string> arguments{"supervisor", "--listen", address_, "--address-file", address_file};
  arguments.insert(arguments.end(), supervisor_arguments_.begin(), supervisor_arguments_.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  supervisor_ = std::make_unique<Process>(start("supervisor", arguments));
  EXPECT_TRUE(wait_until([&] { return std::filesystem::exists(address_file); })) << log_of("supervisor");
}

void ClusterProcesses::restart_supervisor_elsewhere() {
  address_ = "127.0.0.1:0";  // The old port is not the next free one.
  restart_supervisor();
  address_ = scratch_.read("address");
  if (!address_.empty()) address_.pop_back();
}

void ClusterProcesses::start_standby() {
  std::vector<std::string> arguments{"supervisor",           "--listen", address_, "--address-file",
                                     scratch_.at("standby"), "--standby"};
  arguments.insert(arguments.end(), supervisor_arguments_.begin(), supervisor_arguments_.end());
  standby_ = std::make_unique<Process>(start("standby", arguments));
  EXPECT_TRUE(wait_until([&] { return log_of("standby").find("standing by") != std::string::npos; }))
      << log_of("standby");
}

void ClusterProcesses::wait_for_takeover() {
  EXPECT_TRUE(wait_until([&] { return std::filesystem::exists(scratch_.at("standby")); })) << log_of("standby");
  supervisor_ = std::move(standby_);
}

void ClusterProcesses::start_standby_elsewhere() {
  std::vector<std::string> arguments{"supervisor",           "--listen", "127.0.0.1:0", "--address-file",
                                     scratch_.at("address"), "--standby"};
  arguments.insert(arguments.end(), supervisor_arguments_.begin(), supervisor_arguments_.end());
  standby_ = std::make_unique<Process>(start("standby", arguments));
  EXPECT_TRUE(wait_until([&] { return log_of("standby").find("standing by") != std::string::npos; }))
      << log_of("standby");
}

void ClusterProcesses::wait_for_takeover_from_the_living() {
  EXPECT_TRUE(wait_until([&] { return scratch_.read("address") != address_ + "\n"; })) << log_of("standby");
  address_ = scratch_.read("address");
  if (!address_.empty()) address_.pop_back();
  overtaken_ = std::move(supervisor_);
  supervisor_ = std::move(standby_);
}

int ClusterProcesses::end_of_overtaken() {
  ProcessEnd end;
  EXPECT_TRUE(overtaken_->wait_for_end(kPatience) && overtaken_->try_reap(end)) << log_of("supervisor");
  overtaken_.reset();
  return end.exit_code;
}

bool ClusterProcesses::wait_for_workers(std::size_t count) {
  const std::unique_ptr<client::Session> session = connect();
  return wait_until([&] {
    const Result<Value> workers = session->ask("workers", {});
    return workers.has_value() && workers->list() != nullptr && workers->list()->size() == count;
  });
}

std::unique_ptr<client::Session> ClusterProcesses::connect() const { return connect_to(address_); }

std::unique_ptr<client::Session> ClusterProcesses::connect_to(const std::string& supervisor) const {
  client::RemoteOptions options;
  options.supervisors = {*parse_supervisor_address(supervisor, "127.0.0.1")};
  if (!insecure()) options.tls = *own_security(PeerRole::Client);
  options.name = "test";
  auto session = std::make_unique<client::Session>();
  Result<std::unique_ptr<client::Transport>> transport = client::connect_remote(options, session->handlers());
  EXPECT_TRUE(transport.has_value()) << to_string(transport.error());
  session->start(std::move(transport).value());
  return session;
}

std::string ClusterProcesses::log_of(const std::string& name) const { return scratch_.read(name + ".log"); }

/// A directory that goes away while it is walked ends the walk: what is counted then is no state that ever was.
std::size_t count_files_below(const std::string& directory) {
  for (int tries = 0; tries < 100; ++tries) {
    std::size_t files = 0;
    std::error_code gone;
    for (std::filesystem::recursive_directory_iterator at{directory, gone}, end; !gone && at != end; at.increment(gone))
      files += at->is_regular_file(gone) ? 1 : 0;
    if (!gone) return files;
    if (!std::filesystem::exists(directory, gone)) return 0;
  }
  ADD_FAILURE() << directory << " changed each time that its files were counted";
  return 0;
}

}  // namespace penstock
