// A supervisor and workers as processes of their own, for tests.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/src/session.hpp"
#include "common/host/process.hpp"
#include "tests/integration/cluster/binary.hpp"

namespace penstock {

/// Real processes on free ports of the loopback, in a directory of their own. Processes that are still there at the end
/// are killed.
class ClusterProcesses {
 public:
  /// Further arguments of the supervisor, e.g. `--set`, and further variables of its environment. With `--insecure` all
  /// connections are plain: for tests of frames, or of several owners.
  explicit ClusterProcesses(std::vector<std::string> supervisor_arguments = {},
                            std::vector<std::string> supervisor_environment = {});
  ~ClusterProcesses();

  const std::string& address() const { return address_; }
  std::uint16_t port() const;
  const Process& supervisor() const { return *supervisor_; }
  void start_worker(const std::string& name, const std::vector<std::string>& arguments = {});
  /// The same, which looks for its supervisor there.
  void start_worker_at(const std::string& name, const std::string& supervisor,
                       const std::vector<std::string>& arguments = {});
  const Process& worker(const std::string& name) const { return workers_.at(name); }
  /// Ends a worker with SIGKILL and reaps it.
  void kill_worker(const std::string& name);
  /// Ends the supervisor with SIGKILL and reaps it.
  void kill_supervisor();
  /// Starts another one at the same address with the same arguments, and `more` of them.
  void restart_supervisor(const std::vector<std::string>& more = {});
  /// Starts another one at another free port; REQUIRES: the supervisor was killed.
  void restart_supervisor_elsewhere();
  /// Starts another one that stands by for the same address and arguments.
  void start_standby();
  /// Waits until it listens; REQUIRES: the supervisor was killed. From then on it is the supervisor.
  void wait_for_takeover();
  /// Starts another one that stands by at a port of its own; once it has taken over, `path_of("address")` has its
  /// address.
  void start_standby_elsewhere();
  /// Waits until it listens though the supervisor lives: that one is `overtaken`, and the other the supervisor.
  void wait_for_takeover_from_the_living();
  const Process& overtaken() const { return *overtaken_; }
  /// Waits for its end and reaps it; its exit code.
  int end_of_overtaken();
  /// Waits until the supervisor lists so many workers; false after 20 s.
  bool wait_for_workers(std::size_t count);
  /// A session of its own for each call.
  std::unique_ptr<client::Session> connect() const;
  std::unique_ptr<client::Session> connect_to(const std::string& supervisor) const;
  /// The standard error of a process.
  std::string log_of(const std::string& name) const;
  /// Of a file in the directory in which the processes run.
  std::string path_of(const std::string& name) const { return scratch_.at(name); }

 private:
  Process start(const std::string& name, const std::vector<std::string>& arguments);
  bool insecure() const;

  ScratchDirectory scratch_;
  std::string address_;
  std::vector<std::string> supervisor_arguments_;
  std::vector<std::string> supervisor_environment_;
  std::unique_ptr<Process> supervisor_;
  std::unique_ptr<Process> standby_;
  std::unique_ptr<Process> overtaken_;
  std::map<std::string, Process> workers_;
};

/// Counts the regular files below a directory that processes may change meanwhile. 0: it is not there.
std::size_t count_files_below(const std::string& directory);

}  // namespace penstock
