// Client work of the chaos suite that the command line is too slow for; `tests/chaos/run` calls it. Each call is
// `chaos_client COMMAND ADDRESS ...` and prints one line of JSON.
//
// - submit NAME SHAPE SUBTASKS BURN_US WORKER: a generated graph, required on WORKER (`-`: anywhere).
// - submit-untold, the same: its first chunk does not say how large the whole is.
// - make SHAPE SUBTASKS: the graph is made and not sent; what that alone takes from others.
// - stream NAME MIB: a graph of so many MiB of payloads, sent without ever being held; its end is the answer.
// - watch JOB FIRST: follows a job to its end and counts what is told of each subtask; one line more once FIRST were.
// - probe SECONDS WORKER: jobs of one subtask, one after the other.
// - updates JOB SUBTASKS SECONDS RATE: priorities of single subtasks.
// - cancels JOB TIMES: the same order again and again.
// - workflow NAME FILE SCALE DATA_SCALE: replays a workflow at so many millionths of its times and sizes with `digest`
//   of chaos_operators.cpp, and tells where everything ran.
// - idle COUNT: links of workers without work, until standard input ends.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <mutex>
#include <thread>

#include "cli/jobfile/wfformat.hpp"
#include "client/src/session.hpp"
#include "client/src/transport.hpp"
#include "common/host/clock.hpp"
#include "common/security/own_security.hpp"
#include "tools/bench/idle_workers.hpp"
#include "tools/bench/shapes.hpp"

namespace penstock {
namespace {

using Arguments = std::vector<std::string>;

int fail(const Error& error) {
  std::fprintf(stderr, "chaos_client: %s\n", to_string(error).c_str());
  return 2;
}

/// The most memory that this process has had.
void tell_peak() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) std::fprintf(stderr, "chaos_client: %s\n", line.c_str());
}

std::uint32_t number_of(const std::string& text) {
  std::uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

double milliseconds_since(Instant begin) {
  return std::chrono::duration<double, std::milli>(monotonic_now() - begin).count();
}

/// Leaves out what a graph comes to, as older clients do.
class Untold final : public client::Transport {
 public:
  explicit Untold(std::unique_ptr<client::Transport> next) : next_(std::move(next)) {}
  void send(FromClient message) override {
    if (auto* chunk = std::get_if<SubmitChunk>(&message)) chunk->whole = {};
    next_->send(std::move(message));
  }
  void wait_for_room() override { next_->wait_for_room(); }
  void end_waits() override { next_->end_waits(); }
  std::size_t chunk_bytes() const override { return next_->chunk_bytes(); }
  std::size_t message_bytes_max() const override { return next_->message_bytes_max(); }
  bool may_renew() const override { return next_->may_renew(); }

 private:
  std::unique_ptr<client::Transport> next_;
};

/// `listen` hears every message before the session does.
using Listener = std::function<void(const ToClient*)>;  ///< Null: the supervisor has begun a new life.

Result<std::unique_ptr<client::Session>> connect(const std::string& address, const Listener& listen = {},
                                                 bool untold = false) {
  Result<HostPort> supervisor = parse_host_port(address, "127.0.0.1");
  if (!supervisor) return std::move(supervisor).error();
  auto session = std::make_unique<client::Session>();
  client::RemoteOptions options;
  options.supervisors = {*supervisor};
  options.tls = *own_security(PeerRole::Client);
  options.name = "chaos";
  client::TransportHandlers handlers = session->handlers();
  if (listen) {
    handlers.on_message = [listen, next = handlers.on_message](const ToClient& message) {
      listen(&message);
      next(message);
    };
    handlers.on_renewed = [listen, next = handlers.on_renewed](client::SupervisorLife life) {
      listen(nullptr);
      next(life);
    };
  }
  Result<std::unique_ptr<client::Transport>> transport = client::connect_remote(options, std::move(handlers));
  if (!transport) return std::move(transport).error();
  if (untold)
    session->start(std::make_unique<Untold>(std::move(transport).value()));
  else
    session->start(std::move(transport).value());
  return session;
}

Result<Graph> graph_of(const std::string& shape, std::uint32_t subtasks, std::uint32_t burn_us,
                       const std::string& worker) {
  tools::ShapeOptions options;
  const Result<tools::Shape> parsed = tools::parse_shape(shape);
  if (!parsed) return parsed.error();
  options.shape = *parsed;
  options.subtasks = subtasks;
  options.burn = std::chrono::microseconds{burn_us};
  Result<Graph> graph = tools::make_graph(options);
  if (graph && worker != "-")
    for (Template& each : graph->templates) each.required.worker = worker;
  return graph;
}

int submit(client::Session& session, const Arguments& arguments) {
  Result<Graph> graph = graph_of(arguments[3], number_of(arguments[4]), number_of(arguments[5]), arguments[6]);
  if (!graph) return fail(graph.error());
  JobSpec spec;
  spec.name = arguments[2];
  spec.keep = Keep::Nothing;
  const Instant begin = monotonic_now();
  const Result<client::Session::Submitted> submitted = session.submit(spec, std::move(graph).value());
  if (!submitted) return fail(submitted.error());
  std::printf("{\"job\": %u, \"accepted_ms\": %.3f}\n", submitted->job.value(), milliseconds_since(begin));
  return 0;
}

int make(const Arguments& arguments) {
  const Result<Graph> graph = graph_of(arguments[2], number_of(arguments[3]), 0, "-");
  if (!graph) return fail(graph.error());
  std::printf("{\"subtasks\": %zu}\n", graph->size());
  return 0;
}

/// Chunks are made as they are sent: no process here has to hold the graph.
int stream(const std::string& address, const Arguments& arguments) {
  Result<HostPort> supervisor = parse_host_port(address, "127.0.0.1");
  if (!supervisor) return fail(supervisor.error());
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<Error> answer;
  client::TransportHandlers handlers;
  const auto tell = [&](Error error) {
    const std::lock_guard lock{mutex};
    if (!answer) answer = std::move(error);
    answered.notify_all();
  };
  std::uint32_t heard = 0;
  handlers.on_message = [&](const ToClient& message) {
    if (std::holds_alternative<AdminAnswer>(message)) {
      const std::lock_guard lock{mutex};
      ++heard;
      answered.notify_all();
    }
    if (const auto* reply = std::get_if<SubmitReply>(&message)) tell(reply->refusal);
  };
  handlers.on_renewed = [](client::SupervisorLife) {};
  handlers.on_end = tell;
  client::RemoteOptions options;
  options.supervisors = {*supervisor};
  options.tls = *own_security(PeerRole::Client);
  options.name = "chaos";
  Result<std::unique_ptr<client::Transport>> transport = client::connect_remote(options, std::move(handlers));
  if (!transport) return fail(transport.error());
  constexpr std::uint32_t kPayload = 64U << 10U;
  constexpr std::uint32_t kInChunk = (1U << 20U) / kPayload;
  const std::uint32_t chunks = number_of(arguments[3]);
  std::uint32_t sent = 0;
  for (; sent < chunks; ++sent) {
    SubmitChunk chunk;
    chunk.submission = 1;
    chunk.first = sent == 0;
    chunk.last = sent + 1 == chunks;
    if (chunk.first) chunk.spec.name = arguments[2];
    if (chunk.first) chunk.graph.templates.resize(1);
    if (chunk.first) chunk.graph.templates[0].program = "noop";
    chunk.graph.template_of.assign(kInChunk, 0);
    chunk.graph.input_offsets.assign(kInChunk + 1, 0);
    for (std::uint32_t i = 0; i <= kInChunk; ++i) chunk.graph.payload_offsets.push_back(i * kPayload);
    chunk.graph.payloads.assign(1U << 20U, 'x');
    (*transport)->send(std::move(chunk));
    if (sent % 32 != 31) continue;
    // All chunks sent before a question have arrived when the question is answered: no more than these wait anywhere
    // here.
    (*transport)->send(AdminRequest{sent, "workers", {}, "chaos"});
    std::unique_lock lock{mutex};
    answered.wait_for(lock, std::chrono::minutes{5}, [&] { return answer.has_value() || heard > sent / 32; });
    if (answer) break;
  }
  std::unique_lock lock{mutex};
  answered.wait_for(lock, std::chrono::minutes{5}, [&] { return answer.has_value(); });
  if (answer && !answer->message.empty()) return fail(*answer);
  std::printf("{\"sent_mib\": %u, \"accepted\": %s}\n", sent, answer ? "true" : "false");
  return 0;
}

/// How often each subtask was told to have ended.
class ToldCounts {
 public:
  /// How many of these had been told before.
  std::uint64_t add(const JobProgress& news) {
    std::uint64_t again = 0;
    for (const auto* ranges : {&news.succeeded, &news.cancelled})
      for (const SubtaskRange& range : *ranges)
        for (std::uint32_t i = range.first.value(); i <= range.last.value(); ++i) again += add(i);
    for (const SubtaskFailure& failure : news.failures) again += add(failure.subtask.value());
    return again;
  }
  std::uint64_t told() const { return told_; }
  void forget() { *this = {}; }
  /// The number of subtasks that `other` has seen and this has not.
  std::uint64_t missing(const ToldCounts& other) const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < other.seen_.size(); ++i) count += other.seen_[i] && !(i < seen_.size() && seen_[i]);
    return count;
  }

 private:
  std::uint64_t add(std::uint32_t subtask) {
    if (subtask >= seen_.size()) seen_.resize(std::size_t{subtask} + 1);
    if (seen_[subtask]) return 1;
    seen_[subtask] = true;
    ++told_;
    return 0;
  }
  std::vector<bool> seen_;
  std::uint64_t told_ = 0;
};

/// Counts twice: what the supervisor says in each of its lives, and what the session tells its user of that.
int watch(const std::string& address, const Arguments& arguments) {
  std::mutex mutex;
  ToldCounts by_life, user;
  std::uint64_t again_by_life = 0, again_to_user = 0, renewals = 0, before_renewal = 0;
  bool first_told = false;
  const std::uint64_t first = number_of(arguments[3]);
  Result<std::unique_ptr<client::Session>> session = connect(address, [&](const ToClient* message) {
    const std::lock_guard lock{mutex};
    if (message == nullptr) {
      if (renewals++ == 0) before_renewal = user.told();
      by_life.forget();
    } else if (const auto* news = std::get_if<JobProgress>(message)) {
      again_by_life += by_life.add(*news);
    }
  });
  if (!session) return fail(session.error());
  (*session)->set_on_news([&](const JobProgress& news) {
    const std::lock_guard lock{mutex};
    again_to_user += user.add(news);
    if (first_told || user.told() < first) return;
    first_told = true;
    std::printf("{\"told\": %llu}\n", static_cast<unsigned long long>(user.told()));
    std::fflush(stdout);
  });
  const Result<JobId> job = (*session)->attach(job_selector_of(arguments[2]));
  if (!job) return fail(job.error());
  const Result<JobState> state = (*session)->wait(*job, std::chrono::minutes{10});
  if (!state) return fail(state.error());
  const std::lock_guard lock{mutex};
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf(
      "{\"state\": \"%s\", \"told\": %llu, \"told_twice\": %llu, \"said_twice_in_a_life\": %llu, "
      "\"taken_back\": %llu, \"lives\": %llu, \"told_before\": %llu}\n",
      std::string{to_string(*state)}.c_str(), number(user.told()), number(again_to_user), number(again_by_life),
      number(by_life.missing(user)), number(renewals + 1), number(before_renewal));
  return 0;
}

int probe(client::Session& session, const Arguments& arguments) {
  Result<Graph> graph = graph_of("flat", 1, 0, arguments[3]);
  if (!graph) return fail(graph.error());
  JobSpec spec;
  spec.keep = Keep::Nothing;
  spec.priority = 1000;
  std::vector<double> times;
  const Instant begin = monotonic_now();
  const double wanted_ms = 1000.0 * number_of(arguments[2]);
  while (milliseconds_since(begin) < wanted_ms) {
    const Instant submitted_at = monotonic_now();
    const Result<client::Session::Submitted> submitted = session.submit(spec, *graph);
    if (!submitted) return fail(submitted.error());
    const Result<JobState> state = session.wait(submitted->job, std::chrono::seconds{30});
    if (!state) return fail(state.error());
    times.push_back(milliseconds_since(submitted_at));
    session.forget(submitted->job);
  }
  std::sort(times.begin(), times.end());
  std::printf("{\"count\": %zu, \"p50_ms\": %.3f, \"p99_ms\": %.3f}\n", times.size(), times[times.size() / 2],
              times[times.size() * 99 / 100]);
  return 0;
}

int updates(client::Session& session, const Arguments& arguments) {
  const std::uint32_t subtasks = number_of(arguments[3]);
  const double wanted_ms = 1000.0 * number_of(arguments[4]);
  const double rate = number_of(arguments[5]);
  std::atomic<std::uint64_t> count{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::condition_variable never;
  const Instant begin = monotonic_now();
  const auto work = [&] {
    while (!failed && milliseconds_since(begin) < wanted_ms) {
      const std::uint64_t number = count++;
      const auto due = std::chrono::duration<double>(static_cast<double>(number) / rate);
      std::unique_lock lock{mutex};
      never.wait_for(lock, std::chrono::duration_cast<Duration>(due) - (monotonic_now() - begin));
      lock.unlock();
      const auto answer = session.ask("priority", {arguments[2], std::to_string(number % 100),
                                                   "--subtask=" + std::to_string(number * 7919 % subtasks)});
      if (!answer) {
        std::fprintf(stderr, "chaos_client: %s\n", to_string(answer.error()).c_str());
        failed = true;
      }
    }
  };
  std::vector<std::thread> threads;
  constexpr int kAtOnce = 64;  // Each waits until its order is on the disk.
  for (int i = 0; i < kAtOnce; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  std::printf("{\"count\": %llu, \"seconds\": %.3f}\n", static_cast<unsigned long long>(count.load()),
              milliseconds_since(begin) / 1000);
  return failed ? 2 : 0;
}

int cancels(client::Session& session, const Arguments& arguments) {
  double longest = 0;
  const std::uint32_t times = number_of(arguments[3]);
  for (std::uint32_t i = 0; i < times; ++i) {
    const Instant begin = monotonic_now();
    const Result<Value> answer = session.ask("cancel", {arguments[2]});
    if (!answer && answer.error().code != ErrorCode::WrongState) return fail(answer.error());  // The job has ended.
    longest = std::max(longest, milliseconds_since(begin));
  }
  std::printf("{\"count\": %u, \"longest_ms\": %.3f}\n", times, longest);
  return 0;
}

/// Its subtasks run `digest` in place of `burn`, with their numbers behind the two of the replay.
void become_digests(Graph& graph) {
  for (Template& each : graph.templates) each.program = "digest";
  std::string payloads;
  std::vector<std::uint32_t> offsets{0};
  for (std::uint64_t i = 0; i < graph.size(); ++i) {
    payloads.append(graph.payloads, graph.payload_offsets[i], graph.payload_offsets[i + 1] - graph.payload_offsets[i]);
    payloads.append(reinterpret_cast<const char*>(&i), sizeof i);
    offsets.push_back(static_cast<std::uint32_t>(payloads.size()));
  }
  graph.payloads = std::move(payloads);
  graph.payload_offsets = std::move(offsets);
}

int workflow(client::Session& session, const Arguments& arguments) {
  cli::ReplayOptions options;
  options.time_scale = number_of(arguments[4]) / 1e6;
  options.data_scale = number_of(arguments[5]) / 1e6;
  Result<cli::WorkflowImport> import = cli::read_wfformat(arguments[3], options);
  if (!import) return fail(import.error());
  become_digests(import->graph);
  JobSpec spec = std::move(import->spec);
  spec.name = arguments[2];
  spec.trace = true;
  const Result<client::Session::Submitted> submitted = session.submit(spec, std::move(import->graph));
  if (!submitted) return fail(submitted.error());
  const Result<JobState> state = session.wait(submitted->job, std::chrono::minutes{5});
  if (!state) return fail(state.error());
  const client::JobView view = session.view(submitted->job);
  std::printf("{\"state\": \"%s\", \"subtasks\": %llu, \"succeeded\": %llu, \"failed\": %llu, \"runs\": [",
              std::string{to_string(*state)}.c_str(), static_cast<unsigned long long>(view.counts.total),
              static_cast<unsigned long long>(view.counts.succeeded),
              static_cast<unsigned long long>(view.counts.failed));
  const char* separator = "";
  for (const SubtaskTrace& trace : view.traces) {
    std::printf("%s[%u, \"%s\"]", separator, trace.run.subtask.value(), to_string(trace.worker).c_str());
    separator = ", ";
  }
  std::printf("]}\n");
  return 0;
}

int idle(const Arguments& arguments) {
  const Result<HostPort> supervisor = parse_host_port(arguments[1], "127.0.0.1");
  if (!supervisor) return fail(supervisor.error());
  const auto workers = std::move(*tools::IdleWorkers::start(*supervisor, number_of(arguments[2])));
  std::cin.get();
  return 0;
}

int run(const Arguments& arguments) {
  const auto is = [&](const char* name, std::size_t count) {
    return arguments[0] == name && arguments.size() == count;
  };
  if (is("idle", 3)) return idle(arguments);
  if (is("stream", 4)) return stream(arguments[1], arguments);
  if (is("watch", 4)) return watch(arguments[1], arguments);
  if (is("make", 4)) return make(arguments);
  const bool untold = is("submit-untold", 7);
  Result<std::unique_ptr<client::Session>> session = connect(arguments[1], {}, untold);
  if (!session) return fail(session.error());
  if (is("submit", 7) || untold) return submit(**session, arguments);
  if (is("probe", 4)) return probe(**session, arguments);
  if (is("updates", 6)) return updates(**session, arguments);
  if (is("cancels", 4)) return cancels(**session, arguments);
  if (is("workflow", 6)) return workflow(**session, arguments);
  return fail({ErrorCode::InvalidArgument, arguments[0], "is no command, or has other arguments",
               "see the head of chaos_client.cpp"});
}

}  // namespace
}  // namespace penstock

int main(int count, char** values) {
  const std::vector<std::string> arguments{values + 1, values + count};
  if (arguments.size() < 2) return 2;
  const int code = penstock::run(arguments);
  if (arguments[0].starts_with("submit") || arguments[0] == "stream") penstock::tell_peak();
  return code;
}
