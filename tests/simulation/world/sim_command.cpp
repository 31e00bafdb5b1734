#include "tests/simulation/world/sim_command.hpp"

#include <signal.h>  // tidy: allow arrows: sigaltstack
#include <unistd.h>  // tidy: allow arrows: write, which a signal handler may call

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ostream>
#include <random>
#include <vector>

#include "tests/simulation/world/shrink.hpp"

namespace penstock::simulation {
namespace {

constexpr std::size_t kLinesShown = 40;
constexpr std::uint32_t kSizeMax = 1'000'000;

/// The seed that is being run, for the moment when a core's own check aborts the process. The one global of the
/// simulator: a signal has no argument through which it could be handed in.
std::array<char, 512> under_way{};

extern "C" void tell_what_is_under_way(int signal) {
  const ssize_t ignored = ::write(STDERR_FILENO, under_way.data(), std::strlen(under_way.data()));
  static_cast<void>(ignored);
  std::signal(signal, SIG_DFL);  // The end of the process is what it would have been.
}

/// Tells the case on standard error if the process crashes during its life, also where its stack is full.
class CrashNote {
 public:
  CrashNote() {
    stack_t own{};
    own.ss_sp = stack_.data();
    own.ss_size = stack_.size();
    ::sigaltstack(&own, &stack_before_);
    struct sigaction told {};
    told.sa_handler = tell_what_is_under_way;
    told.sa_flags = SA_ONSTACK;
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &told, &before_[i]);
  }
  ~CrashNote() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
    ::sigaltstack(&stack_before_, nullptr);
  }
  CrashNote(const CrashNote&) = delete;
  CrashNote& operator=(const CrashNote&) = delete;
  void set(const std::string& what) { std::snprintf(under_way.data(), under_way.size(), "%s\n", what.c_str()); }

 private:
  static constexpr std::array kSignals{SIGABRT, SIGSEGV, SIGBUS, SIGFPE};
  std::vector<std::byte> stack_ = std::vector<std::byte>(std::size_t{64} << 10U);
  stack_t stack_before_{};
  std::array<struct sigaction, kSignals.size()> before_{};
};

struct Totals {
  std::uint64_t seeds = 0;
  std::uint64_t failed = 0;
  std::uint64_t events = 0;
  std::uint64_t subtasks = 0;
  std::uint64_t runs = 0;
  std::uint64_t forward_hits = 0;
  std::uint64_t workers_lost = 0;
  std::uint64_t recomputed = 0;
  std::uint64_t stolen = 0;
  std::uint64_t passes = 0;
  std::uint64_t preempted = 0;
  std::uint64_t trace_hash = 0;
  Duration virtual_time{0};
  Duration makespan{0};

  void add(const WorldResult& result) {
    ++seeds;
    failed += !result.ok;
    events += result.events;
    subtasks += result.subtasks;
    runs += result.runs;
    forward_hits += result.forward_hits;
    workers_lost += result.workers_lost;
    recomputed += result.recomputed;
    stolen += result.stolen;
    passes += result.passes;
    preempted += result.preempted;
    trace_hash = mix_bits(trace_hash ^ result.trace_hash);
    virtual_time += result.virtual_time;
    makespan += result.makespan;
  }
};

template <class Visit>
void visit_totals(const Totals& totals, Visit&& visit) {
  visit("seeds", totals.seeds);
  visit("failed", totals.failed);
  visit("events", totals.events);
  visit("subtasks", totals.subtasks);
  visit("runs", totals.runs);
  visit("forward_hits", totals.forward_hits);
  visit("workers_lost", totals.workers_lost);
  visit("recomputed", totals.recomputed);
  visit("stolen", totals.stolen);
  visit("passes", totals.passes);
  visit("preempted", totals.preempted);
  visit("virtual_ms", static_cast<std::uint64_t>(totals.virtual_time.count() / 1'000'000));
  visit("makespan_ms", static_cast<std::uint64_t>(totals.makespan.count() / 1'000'000));
}

std::string hex(std::uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

std::string quoted(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    if (c == '\n')
      json += "\\n";
    else
      json += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  return json + '"';
}

/// The command that shows this run again.
std::string replay_of(const WorldOptions& world, std::uint32_t level) {
  const WorldOptions plain;
  std::string command = "penstock-lab sim --seeds " + std::to_string(world.seed) + ".." + std::to_string(world.seed) +
                        " --faults " + std::to_string(level);
  if (world.subtasks_max != plain.subtasks_max) command += " --subtasks " + std::to_string(world.subtasks_max);
  if (world.jobs_max != plain.jobs_max) command += " --jobs " + std::to_string(world.jobs_max);
  if (world.workers_max != plain.workers_max) command += " --workers " + std::to_string(world.workers_max);
  const Faults all = Faults::of_level(level);
  std::vector<bool> wanted;
  visit_faults(all, [&](const char*, bool on) { wanted.push_back(on); });
  std::string without;
  std::size_t at = 0;
  visit_faults(world.faults, [&](const char* name, bool on) {
    if (wanted[at++] && !on) without += (without.empty() ? "" : ",") + std::string{name};
  });
  if (!without.empty()) command += " --without " + without;
  if (world.policy) command += " --policy";
  return command + " --trace";
}

struct Failure {
  std::uint64_t seed = 0;
  std::string what;
  std::string replay;
};

class Simulation {
 public:
  Simulation(const SimOptions& options, std::ostream& out) : options_(options), out_(out) {}

  int run() {
    const auto begin = std::chrono::steady_clock::now();  // tidy: allow call: seeds are run for so long of real time
    std::uint64_t last = options_.first_seed;
    for (std::uint64_t seed = options_.first_seed; seed <= options_.last_seed; ++seed) {
      // tidy: allow call: the same
      const auto took = std::chrono::steady_clock::now() - begin;
      if (options_.seconds_max > 0 && seed > options_.first_seed && took >= std::chrono::seconds{options_.seconds_max})
        break;
      last = seed;
      Result<WorldOptions> world = world_options_of(options_, seed);
      if (!world) return refuse(world.error());
      if (options_.workflows.empty()) run_one(*world);
      for (const auto& workflow : options_.workflows) {
        world->workflow = workflow;
        run_one(*world);
      }
      if (totals_.failed >= options_.failures_max || seed == ~std::uint64_t{0}) break;
    }
    options_.json ? tell_json(last) : tell_text(last);
    return totals_.failed > 0 ? 1 : 0;
  }

  int refuse(const Error& error) {
    out_ << to_string(error) << '\n';
    return 2;
  }

 private:
  void run_one(WorldOptions world) {
    note_.set("seed " + std::to_string(world.seed) + ": the process crashed, or a check inside a core failed; " +
              replay_of(world, options_.fault_level));
    if (options_.trace && !options_.json) {
      out_ << "seed " << world.seed << '\n';
      world.trace_to = &out_;
    }
    const WorldResult result = run_world(world);
    totals_.add(result);
    world.trace_to = nullptr;
    if (result.ok) return;
    Failure failure{world.seed, result.failure, replay_of(world, options_.fault_level)};
    if (!options_.json) out_ << "seed " << world.seed << " FAILED: " << result.failure << '\n';
    if (options_.shrink) {
      const SmallestFailure smallest = shrink(world);
      failure.replay = replay_of(smallest.options, options_.fault_level);
      if (!options_.json) tell_smallest(smallest);
    }
    if (!options_.json) out_ << "  again: " << failure.replay << '\n';
    failures_.push_back(std::move(failure));
  }

  void tell_smallest(const SmallestFailure& smallest) {
    out_ << "  smallest of " << smallest.runs << " runs: seed " << smallest.options.seed << ", "
         << smallest.result.subtasks << " subtasks, at most " << smallest.options.workers_max << " workers\n"
         << "  it says: " << smallest.result.failure << "\n  its last events:\n"
         << last_lines(smallest.result.trace, kLinesShown);
  }

  void tell_text(std::uint64_t last) {
    if (options_.seconds_max > 0) out_ << "seeds " << options_.first_seed << ".." << last << ": ";
    const char* separator = "";
    visit_totals(totals_, [&](const char* name, std::uint64_t value) {
      out_ << separator << name << ' ' << value;
      separator = ", ";
    });
    out_ << "\ntrace hash " << hex(totals_.trace_hash) << '\n';
  }

  void tell_json(std::uint64_t last) {
    out_ << '{';
    visit_totals(totals_,
                 [&](const char* name, std::uint64_t value) { out_ << quoted(name) << ": " << value << ", "; });
    out_ << "\"first_seed\": " << options_.first_seed << ", \"last_seed\": " << last
         << ", \"faults\": " << options_.fault_level << ", \"trace_hash\": " << quoted(hex(totals_.trace_hash))
         << ", \"failures\": [";
    const char* separator = "";
    for (const Failure& failure : failures_) {
      out_ << separator << "{\"seed\": " << failure.seed << ", \"failure\": " << quoted(failure.what)
           << ", \"replay\": " << quoted(failure.replay) << '}';
      separator = ", ";
    }
    out_ << "]}\n";
  }

  const SimOptions& options_;
  std::ostream& out_;
  CrashNote note_;
  Totals totals_;
  std::vector<Failure> failures_;
};

Error bad_option(const char* option, const std::string& message) {
  return {ErrorCode::InvalidArgument, option, message, "see `penstock-lab sim --help`"};
}

}  // namespace

void take_fresh_seeds(SimOptions& options) {
  // Below 10^15, so that a person can type one; far above the fixed ones.
  std::random_device entropy;  // tidy: allow call: fresh seeds are nobody's choice, and each is printed
  options.first_seed = 1'000'000'000 + ((std::uint64_t{entropy()} << 32U) | entropy()) % 1'000'000'000'000'000;
  options.last_seed = ~std::uint64_t{0} - 1;
  if (options.seconds_max == 0) options.seconds_max = 60;
}

Result<WorldOptions> world_options_of(const SimOptions& options, std::uint64_t seed) {
  if (options.fault_level > Faults::kLevelMax)
    return bad_option("--faults", "is a level from 0 to " + std::to_string(Faults::kLevelMax));
  if (options.first_seed > options.last_seed) return bad_option("--seeds", "the first seed is above the last");
  for (const std::uint32_t size : {options.subtasks_max, options.jobs_max, options.workers_max})
    if (size == 0 || size > kSizeMax)
      return bad_option("--subtasks, --jobs, --workers", "are from 1 to " + std::to_string(kSizeMax));
  WorldOptions world;
  world.seed = seed;
  world.faults = Faults::of_level(options.fault_level);
  for (const std::string& name : options.without) {
    bool known = false;
    visit_faults(world.faults, [&](const char* kind, bool& field) {
      if (name != kind) return;
      known = true;
      field = false;
    });
    std::string names;
    visit_faults(world.faults,
                 [&](const char* kind, bool) { names += (names.empty() ? "" : ", ") + std::string{kind}; });
    if (!known) return bad_option("--without", "knows no faults '" + name + "'; there are: " + names);
  }
  world.subtasks_max = options.subtasks_max;
  world.jobs_max = options.jobs_max;
  world.workers_max = options.workers_max;
  world.policy = options.policy;
  world.defect = options.defect;
  return world;
}

int run_simulation(const SimOptions& options, std::ostream& out) {
  Simulation simulation{options, out};
  if (const Result<WorldOptions> world = world_options_of(options, options.first_seed); !world)
    return simulation.refuse(world.error());
  return simulation.run();
}

}  // namespace penstock::simulation
