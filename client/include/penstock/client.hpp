// Penstock for C++ engines: graphs with typed handles, jobs, results. Over penstock.h, so that it fits any compiler and
// any version of libpenstock.so with the same ABI; nothing but the standard library is included.
//
//     penstock::engine::Client client = penstock::engine::Client::open().value();  // A cluster inside this process.
//     penstock::engine::GraphBuilder graph;
//     const auto square = graph.operation<double>("square");                    // A native operator; see operator.h.
//     const auto nine = graph.add(square, graph.value(3.0));
//     penstock::engine::Job job = client.submit(std::move(graph), {}).value();
//     const double result = job.result(nine).value();
#pragma once

#if __cplusplus < 202002L
#error "penstock/client.hpp needs C++20: compile with -std=c++20, or include penstock/penstock.h alone"
#endif

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coroutines.hpp"     // tidy: allow arrows: engines have these headers without the root
#include "expected.hpp"  // tidy: allow arrows: engines have these headers without the root
#include "graph_builder.hpp"  // tidy: allow arrows: engines have these headers without the root
#include "job.hpp"            // tidy: allow arrows: engines have these headers without the root
#include "operation.hpp"      // tidy: allow arrows: engines have these headers without the root
#include "penstock.h"         // tidy: allow arrows: engines have these headers without the root

namespace penstock::engine {

enum class JobKind { Training = 0, Interactive = 1, Inference = 2 };

struct ClientOptions {
  std::string address;                 ///< `host:port`, several with commas; empty: a cluster inside this process.
  std::uint32_t slots = 0;             ///< Of a cluster inside this process; 0: one for each core.
  std::vector<std::string> operators;  ///< Its shared libraries of native operators.
  std::int64_t memory_bytes = 0;       ///< Of a cluster inside this process; 0: what the host has.
  std::string name;                    ///< For people; empty: that of the host.
  std::chrono::milliseconds connect_timeout{0};  ///< 0: 5 s.
};

struct JobOptions {
  std::string name;  ///< Submitting the same again returns the same job (`Job::existed`); another graph is refused.
  std::string owner;
  std::int32_t priority = 0;
  std::string project;                   ///< Counts against the quota of this project, where the cluster has a policy.
  std::string account;                   ///< Charged with its use; empty: the owner's account.
  std::uint32_t weight_thousandths = 0;  ///< 0: the project's.
  std::uint32_t slots_max = 0;           ///< The job holds no more at once; 0: no such limit.
  std::uint32_t gang = 0;                ///< So many slots at once or none.
  std::uint32_t gang_max = 0;            ///< The gang grows up to so many where it can; 0: it stays at `gang`.
  std::string together;                  ///< Gang on one `host`, or on workers with one label of this pattern.
  std::uint32_t gang_groups = 0;         ///< So many groups of equal size stay together, each for itself; 0: all.
  std::string qos;  ///< Level of service: expedite, normal, standby, or one that the cluster defines.
  std::string queue;
  std::vector<std::string> pools;   ///< By preference: the next one if there is no room in the one before.
  std::vector<std::string> labels;  ///< Runs on workers with one of these.
  std::uint64_t grace_ms = 0;       ///< Time to save state after a preemption; 0: the cluster's.
  std::chrono::nanoseconds time_limit{0};  ///< From its first run to its end; 0: none.
  JobKind kind = JobKind::Training;
  std::optional<bool> preemptible;  ///< Whether slots may be taken back from it; none: its kind decides.
  std::uint32_t user_factor_lowered_thousandths = 0;  ///< 0 leaves it at 1, 1000 makes it 0.
  bool keep_nothing = false;                          ///< Its outputs are not kept for the client.
  bool wait_for_resources = false;                    ///< Accept requests that no present worker can hold.
  bool detached = false;  ///< Of a client in a run: the job outlives the run, and takes nothing after it.
  std::string share;                 ///< Group of this user that may do with the job what its owner may.
  std::vector<std::string> secrets;  ///< NAME=VALUE: variables of its programs that nobody else is told.
};

/// A connection to a cluster, or a cluster of its own. Any thread may use it.
class Client {
 public:
  static Expected<Client> open(const ClientOptions& options = {}) {
    const std::vector<const char*> operators = pointers(options.operators);
    penstock_client_options wanted{};
    wanted.size = sizeof wanted;
    wanted.address = options.address.empty() ? nullptr : options.address.c_str();
    wanted.name = options.name.empty() ? nullptr : options.name.c_str();
    wanted.connect_timeout_ms = static_cast<std::uint32_t>(options.connect_timeout.count());
    wanted.slots = options.slots;
    wanted.memory_bytes = options.memory_bytes;
    wanted.operators = operators.data();
    wanted.operator_count = static_cast<std::uint32_t>(operators.size());
    penstock_client* client = penstock_client_open(&wanted);
    if (client == nullptr) return last_failure();
    return Client{client};
  }

  /// Of the cluster that runs this process, in a runner or a command: see `penstock_client_in_run`.
  static Expected<Client> in_run(const std::string& name = {}) {
    penstock_client* client = penstock_client_in_run(name.empty() ? nullptr : name.c_str());
    if (client == nullptr) return last_failure();
    return Client{client};
  }

  Expected<Job> submit(GraphBuilder&& graph, const JobOptions& options = {}) {
    if (graph.graph_ == nullptr) return Failure{"WrongState", "graph", "was submitted already, or moved from", {}};
    graph.give();
    if (graph.failure_) return *graph.failure_;
    if (!graph.wanted_.empty()) penstock_graph_want(graph.graph_.get(), graph.wanted_.data(), graph.wanted_.size());
    penstock_job_options wanted{};
    wanted.size = sizeof wanted;
    wanted.name = options.name.c_str();
    wanted.owner = options.owner.c_str();
    wanted.priority = options.priority;
    wanted.project = options.project.c_str();
    wanted.account = options.account.c_str();
    wanted.weight_thousandths = options.weight_thousandths;
    wanted.slots_max = options.slots_max;
    wanted.gang = options.gang;
    wanted.gang_max = options.gang_max;
    wanted.together = options.together.c_str();
    wanted.gang_groups = options.gang_groups;
    wanted.qos = options.qos.c_str();
    wanted.queue = options.queue.c_str();
    const std::vector<const char*> pools = pointers(options.pools);
    const std::vector<const char*> labels = pointers(options.labels);
    wanted.pools = pools.data();
    wanted.pool_count = static_cast<std::uint32_t>(pools.size());
    wanted.labels = labels.data();
    wanted.label_count = static_cast<std::uint32_t>(labels.size());
    wanted.grace_ms = options.grace_ms;
    wanted.time_limit_ns = options.time_limit.count();
    wanted.kind = static_cast<std::uint32_t>(options.kind);
    wanted.preemptible = !options.preemptible ? 0 : *options.preemptible ? 1 : 2;
    wanted.user_factor_lowered_thousandths = options.user_factor_lowered_thousandths;
    wanted.keep_nothing = options.keep_nothing ? 1 : 0;
    wanted.wait_for_resources = options.wait_for_resources ? 1 : 0;
    wanted.detached = options.detached ? 1 : 0;
    const std::vector<const char*> secrets = pointers(options.secrets);
    wanted.secrets = secrets.data();
    wanted.secret_count = secrets.size();
    wanted.share = options.share.c_str();
    penstock_submitted submitted{};
    submitted.size = sizeof submitted;
    const std::int64_t job = penstock_submit_told(client_.get(), graph.graph_.release(), &wanted, &submitted);
    if (job < 0) return last_failure();
    return Job{client_.get(), job, submitted.ours != 0, submitted.ours != 0 ? graph.number_ : 0};
  }
  /// Follows a job by its name or number, whichever client has submitted it.
  Expected<Job> attach(const std::string& name) {
    const std::int64_t job = penstock_attach(client_.get(), name.c_str());
    if (job < 0) return last_failure();
    return Job{client_.get(), job, false, 0};
  }
  /// The answer in JSON to what `penstock QUESTION ARGUMENT...` asks ("jobs", "workers", "data", ...), or the outcome
  /// of the order that it gives ("cancel", "drain", ...).
  Expected<std::string> ask(const std::string& question, const std::vector<std::string>& arguments = {}) const {
    const std::vector<const char*> words = pointers(arguments);
    const Datum answer{penstock_ask(client_.get(), question.c_str(), words.data(), words.size())};
    if (answer.data_ == nullptr) return last_failure();
    const std::span<const std::byte> bytes = answer.bytes();
    return std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// Slots of a cluster inside this process; otherwise 0.
  std::uint32_t slots() const { return penstock_client_slots(client_.get()); }
  /// Makes waiting calls in other threads fail with Cancelled, and later calls, too: for use before destroying the
  /// client.
  void interrupt() { penstock_client_interrupt(client_.get()); }
  /// For functions of penstock.h that this class lacks; the client stays the owner.
  penstock_client* native() const { return client_.get(); }

 private:
  struct Close {
    void operator()(penstock_client* client) const { penstock_client_close(client); }
  };
  explicit Client(penstock_client* client) : client_(client) {}
  static std::vector<const char*> pointers(const std::vector<std::string>& texts) {
    std::vector<const char*> all;
    for (const std::string& text : texts) all.push_back(text.c_str());
    return all;
  }
  std::unique_ptr<penstock_client, Close> client_;
};

inline EventLoop::EventLoop(const Client& client) : client_(client.native()) { penstock_want_news(client_); }

}  // namespace penstock::engine
