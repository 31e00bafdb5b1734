// Reference cases of limits: submissions, ends and changes, step by step; and rights to submit. Each case is a cluster
// with its own policy, which its steps drive as clients and operators do.
// tidy: foreign-file bank
#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>

#include "tools/policy/command_policy_case.hpp"
#include "tools/policy/limit_site.hpp"
#include "tools/policy/live/live_cluster.hpp"

namespace penstock::tools {
namespace {

std::string name_of(const cli::DocumentValue& table, std::string_view field) {
  const cli::DocumentValue& value = field_of(table, field);
  return value.is_number() ? std::to_string(integer_of(table, field)) : text_of(table, field);
}

/// The words of a case for an error, and those that the cluster has for the same.
struct Wording {
  std::string_view of_case;
  std::string_view ours;
};
constexpr Wording kWordings[] = {
    {"user has max active jobs", "active_jobs_max"},
    {"max active", "active_jobs_max"},
    {"max active jobs", "active_jobs_max"},
    {"max-active-jobs", "active_jobs_max"},
    {"max-run-jobs", "running_jobs_max"},
    {"greater than max resources limit", "at once, and"},
    {"max resources limit", "at once, and"},
    {"less than the min nodes", "job_slots_min"},
    {"larger than the machine", "band"},
    {"cannot find flux-accounting entry", "is not known"},
    {"cannot find user/bank or user/default bank entry", "is not known"},
    {"cannot find", "is not known"},
    {"user/bank entry has been disabled", "is disabled"},
    {"disabled", "is disabled"},
    {"project not valid", "project"},
    {"project not valid for user", "project"},
    {"not valid for user", "is not for user"},
    {"is unknown to flux-accounting", "is not known"},
    {"is unknown", "is not known"},
    {"may expedite", "is not granted"},
    {"waits", "only a job that waits"},
    {"negative", "negative"},
};

/// Whether the cluster's error says what the case expects.
bool expects(const Error& error, std::string_view expected) {
  const std::string got = error.subject + ": " + error.message + "; " + error.remedy;
  if (expected.empty() || got.find(expected) != std::string::npos) return true;
  return std::any_of(std::begin(kWordings), std::end(kWordings), [&](const Wording& each) {
    return each.of_case == expected && got.find(each.ours) != std::string::npos;
  });
}

/// The case's name for a row of `holds`; empty: the row is about no limit.
std::string hold_named(const Value& row) {
  const std::string rule = row["rule"].text() == nullptr ? "" : *row["rule"].text();
  const std::string* subject = row["subject"].text();
  const bool queue = subject != nullptr && subject->find(" in queue '") != std::string::npos;
  if (rule == "running_jobs_max") return queue ? "max-run-jobs-queue" : "max-running-jobs-user-limit";
  if (rule == "slots_max" || rule == "gpu_slots_max") return queue ? "max-resources-queue" : "max-resources-user-limit";
  if (rule == "waiting_jobs_max") return queue ? "max-sched-jobs-queue-limit" : "max-sched-jobs-user-limit";
  if (rule == "waiting_slots_max") return "max-sched-nodes-queue-limit";
  if (rule == "waiting_gpu_slots_max") return "max-sched-cores-queue-limit";
  return {};
}

class LimitScenario {
 public:
  LimitScenario(const cli::DocumentValue& file, const cli::DocumentValue& subject, const std::string& id)
      : case_(subject), checker_(id, "limits"), site_(file, subject), cluster_(settings(site_)) {
    checker_.runs_by(CaseWay::Cluster);
    cluster_.join(site_.machine());
  }

  CaseVerdict run() {
    for (const cli::DocumentValue& step : field_of(case_, "steps").items) {
      ++step_;
      take(step);
    }
    if (step_ == 0) checker_.fail("the case has no steps");
    for (const Error& trouble : cluster_.troubles()) checker_.fail("the cluster has trouble: " + to_string(trouble));
    return checker_.take();
  }

 private:
  struct Submitted {
    JobId id;
    CaseJob job;
  };
  /// A job in the words of the cases.
  enum class State : std::uint8_t { Ended, Pending, Held, Sched, Run };

  static SupervisorConfig settings(const LimitSite& site) {
    SupervisorConfig config;
    config.policy = site.config();
    return config;
  }

  void take(const cli::DocumentValue& step) {
    checker_.only_fields(step, {"op",
                                "job",
                                "expect",
                                "holds",
                                "holds_now",
                                "released",
                                "starts",
                                "still_held",
                                "message",
                                "nodes",
                                "cores",
                                "queue",
                                "bank",
                                "qos",
                                "wall_s",
                                "hold",
                                "user",
                                "account",
                                "project",
                                "qos_assigned",
                                "how",
                                "note",
                                "source",
                                "max_active_jobs",
                                "max_nodes",
                                "max_running_jobs",
                                "max_cores",
                                "max_sched_jobs",
                                "max_time_s",
                                "max_nodes_per_assoc",
                                "active",
                                "max_sched_nodes_per_assoc",
                                "min_nodes_per_job",
                                "max_sched_cores_per_assoc",
                                "max_nodes_per_job"});
    const std::string op = text_of(step, "op");
    before_ = states();
    if (op == "submit") return submit(step);
    if (op == "set_limit") return set_limit(step);
    const auto job = jobs_.find(name_of(step, "job"));
    if (job == jobs_.end()) return complain("there is no job '" + name_of(step, "job") + "'");
    if (op == "finish" || op == "cancel") return done(step, end(op, job->second), "ok");
    if (op == "release") {
      const Result<Value> released = cluster_.ask("release", {to_string(job->second.id)});
      if (!released) complain(to_string(released.error()));
      follow(step);
      return expect_job(step, job->first);
    }
    if (op == "update") return update(step, job->first);
    complain("the step '" + op + "' is not understood");
  }

  /// A job that runs comes to its end by itself; one that waits is taken away.
  Result<void> end(const std::string& op, const Submitted& job) {
    if (state_of(job.id) == State::Ended)
      return Error{ErrorCode::WrongState, to_string(job.id), "the job has ended already", {}};
    std::vector<SubtaskId> running;
    for (const auto& [id, run] : cluster_.runs())
      if (id.job == job.id) running.push_back(id);
    if (op == "cancel" || running.empty()) {
      const Result<Value> cancelled = cluster_.ask("cancel", {to_string(job.id)});
      return cancelled ? Result<void>{} : Result<void>{cancelled.error()};
    }
    for (const SubtaskId id : running) cluster_.end(id);
    return {};
  }

  void set_limit(const cli::DocumentValue& step) {
    Result<void> changed = site_.set_limits(step);
    if (changed)
      if (const Result<Value> read = cluster_.reload(site_.config()); !read) changed = read.error();
    done(step, changed, "ok");
  }

  void submit(const cli::DocumentValue& step) {
    const std::string name = name_of(step, "job");
    if (const auto before = jobs_.find(name); !name.empty() && before != jobs_.end())
      if (state_of(before->second.id) != State::Ended) return complain("there is a job '" + name + "' already");
    const CaseJob job = LimitSite::job_of(step);
    // The cluster's names are used once.
    const SubmitReply reply =
        cluster_.submit(site_.spec_of(job, name + "#" + std::to_string(step_)), site_.graph_of(job));
    if (!reply.job.valid()) {
      expect_refusal(step, reply.refusal);
      return follow(step);
    }
    jobs_[name] = {reply.job, job};
    if (flag_of(step, "hold"))
      if (const Result<Value> held = cluster_.ask("hold", {to_string(reply.job)}); !held)
        complain(to_string(held.error()));
    follow(step);
    expect_job(step, name);
  }

  void update(const cli::DocumentValue& step, const std::string& name) {
    const Submitted& before = jobs_.at(name);
    const CaseJob wanted = LimitSite::job_of(step, before.job);
    Result<void> result;
    const auto set = [&](const char* what, const std::string& value) {
      if (!result) return;
      if (const Result<Value> done = cluster_.ask("set", {what, to_string(before.id), value}); !done)
        result = done.error();
    };
    if (wanted.account != before.job.account || wanted.user != before.job.user)
      set("account", LimitSite::leaf(wanted.account, wanted.user));
    if (wanted.queue != before.job.queue) set("queue", site_.spec_of(wanted, name).policy.queue);
    if (wanted.qos != before.job.qos) set("qos", wanted.qos);
    if (!result) return done(step, result, "ok");
    jobs_[name].job = wanted;
    const std::string expected = text_of(step, "expect");
    if (expected == "error" || expected == "reject") complain("expected " + expected + ", but it was done");
    follow(step);
    if (expected != "error" && expected != "reject") expect_job(step, name);
  }

  State state_of(JobId id) const {
    const supervisor::Job* job = cluster_.core().find_job(id);
    if (job == nullptr || job->status.state != JobState::Running || job->shares == nullptr) return State::Ended;
    // A job with nodes and cores runs when it has both.
    const auto is_own = [&](const auto& run) { return run.first.job == id; };
    const auto running = std::count_if(cluster_.runs().begin(), cluster_.runs().end(), is_own);
    if (running == static_cast<std::ptrdiff_t>(job->hot.size())) return State::Run;
    if (job->status.on_hold) return State::Pending;
    return job->shares->rules.blocked_by == supervisor::LimitRule::None ? State::Sched : State::Held;
  }

  std::map<std::string, State> states() const {
    std::map<std::string, State> all;
    for (const auto& [name, job] : jobs_) all[name] = state_of(job.id);
    return all;
  }

  std::vector<std::string> holds_of(JobId id) {
    std::vector<std::string> names;
    const Result<Value> explained = cluster_.ask("explain", {to_string(id)});
    if (!explained) return names;
    for (const char* field : {"holds", "gpu_holds"})
      if (const Value::List* rows = (*explained)[field].list())
        for (const Value& row : *rows)
          if (std::string hold = hold_named(row); !hold.empty() && std::count(names.begin(), names.end(), hold) == 0)
            names.push_back(std::move(hold));
    return names;
  }

  void expect_refusal(const cli::DocumentValue& step, const Error& error) {
    checker_.count_comparison();
    const std::string expected = text_of(step, "expect");
    if (expected != "reject" && expected != "error")
      return complain("expected " + (expected.empty() ? "it to be done" : expected) + ", got: " + to_string(error));
    const std::string message = text_of(step, "message");
    if (!expects(error, message)) complain("expected '" + message + "', got '" + to_string(error) + "'");
  }

  void expect_job(const cli::DocumentValue& step, const std::string& name) {
    const JobId id = jobs_.at(name).id;
    if (has_field(step, "qos_assigned")) {
      const supervisor::Job* job = cluster_.core().find_job(id);
      const std::string level =
          job == nullptr ? "" : qos_of(cluster_.core().policy().config, job->spec.owner, job->spec.policy).name;
      checker_.equal(at("service"), text_of(step, "qos_assigned"), level);
    }
    if (has_field(step, "holds"))
      checker_.equal(at("holds"), set_text(texts_of(field_of(step, "holds"))), set_text(holds_of(id)));
    expect_state(step, id);
  }

  void expect_state(const cli::DocumentValue& step, JobId id) {
    const std::string expected = text_of(step, "expect");
    if (expected.empty()) return;
    if (expected == "accept" || expected == "ok") return checker_.count_comparison();
    constexpr const char* kWords[] = {"ended", "pending", "held", "sched", "run"};
    checker_.equal(at("state of " + name_of(step, "job")), expected, kWords[static_cast<std::size_t>(state_of(id))]);
  }

  /// Checks the result of a step that is done or refused as a whole, and its consequences.
  void done(const cli::DocumentValue& step, const Result<void>& result, const std::string& word) {
    const std::string expected = text_of(step, "expect");
    if (result && !expected.empty()) checker_.count_comparison();
    if (!result)
      expect_refusal(step, result.error());
    else if (!expected.empty() && expected != word)
      complain("expected " + expected + ", but it was done");
    follow(step);
  }

  /// Lets the cluster come to rest, and compares the consequences that the step names.
  void follow(const cli::DocumentValue& step) {
    cluster_.settle();
    std::vector<std::string> released;
    std::vector<std::string> starts;
    for (const auto& [name, now] : states()) {
      const auto was = before_.find(name);
      if (was == before_.end()) continue;
      const bool waited = was->second == State::Held || was->second == State::Pending;
      if (waited && (now == State::Sched || now == State::Run)) released.push_back(name);
      if (was->second == State::Sched && now == State::Run) starts.push_back(name);
    }
    if (has_field(step, "released"))
      checker_.equal(at("let go"), set_text(texts_of(field_of(step, "released"))), set_text(released));
    if (has_field(step, "starts"))
      checker_.equal(at("starts"), set_text(texts_of(field_of(step, "starts"))), set_text(starts));
    for (const std::string& name : texts_of(field_of(step, "still_held"))) {
      checker_.count_comparison();
      const auto job = jobs_.find(name);
      if (job == jobs_.end() || state_of(job->second.id) != State::Held) complain(name + " is not held any more");
    }
    for (const cli::DocumentField& each : field_of(step, "holds_now").fields) {
      const auto job = jobs_.find(each.name);
      if (job == jobs_.end()) {
        complain("there is no job '" + each.name + "'");
        continue;
      }
      checker_.equal(at("holds of " + each.name), set_text(texts_of(each.value)), set_text(holds_of(job->second.id)));
    }
  }

  std::string at(const std::string& what) const { return "step " + std::to_string(step_) + ", " + what; }
  void complain(const std::string& what) { checker_.fail(at(what)); }

  const cli::DocumentValue& case_;
  CaseChecker checker_;
  LimitSite site_;
  LiveCluster cluster_;
  std::map<std::string, Submitted> jobs_;
  std::map<std::string, State> before_;  ///< Before the present step.
  std::int64_t step_ = 0;
};

/// A site with one member of account `lab`, and the last of the jobs that the member submits.
struct Situation {
  PolicyConfig config;
  JobSpec job;
  std::int64_t slots = 1;
  std::uint32_t jobs = 1;

  Situation() {
    config.pools.push_back({.name = "all", .preset = "priority"});
    config.accounts = {{.name = "lab"}, {.name = "elsewhere"}};
    config.users.push_back({.name = "member"});
    config.queues = {{.name = "listed", .accounts = {"lab"}}, {.name = "other", .accounts = {"elsewhere"}}};
    config.projects.resize(2);
    config.projects[0].name = "listed";
    config.projects[1].name = "other";
    config.projects[1].accounts = {"elsewhere"};
    job.owner = "member";
    job.keep = Keep::Nothing;
    job.policy.account = "lab";
  }

  Result<void> outcome() const {
    SupervisorConfig settings;
    settings.policy = config;
    LiveCluster cluster{settings};
    Register machine;
    machine.name = "machine";
    machine.bands.emplace_back().capacity.slots = kOneSlot * 4;
    cluster.join(machine);
    Graph graph;
    graph.templates.emplace_back().program = "hold";
    graph.templates[0].request.slots = kOneSlot * slots;
    graph.template_of = {0};
    graph.input_offsets = {0, 0};
    SubmitReply reply;
    for (std::uint32_t i = 0; i < jobs; ++i) {
      JobSpec each = job;
      each.name = "work" + std::to_string(i);
      reply = cluster.submit(std::move(each), graph);
    }
    return reply.job.valid() ? Result<void>{} : Result<void>{reply.refusal};
  }
};

/// The result of a submission in a situation described in words; each description has one fault. None: the words are
/// not understood.
std::optional<Result<void>> outcome_of(std::string when) {
  for (char& each : when) each = each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
  const auto says = [&when](std::string_view part) { return when.find(part) != std::string::npos; };
  const auto says_any = [&says](std::initializer_list<std::string_view> parts) {
    return std::any_of(parts.begin(), parts.end(), says);
  };
  const bool deny_unknown = says_any({"deny_unknown_queues=true", "deny_unknown_queues = true"});
  constexpr std::string_view kSetting = "deny_unknown";  // The setting's name must not be read as an unknown queue.
  if (const std::size_t at = when.find(kSetting); at != std::string::npos) when.erase(at, kSetting.size());
  // For a user that is no member of a queue, the queue itself is known.
  const bool no_such = says_any({"unknown", "not in flux", "not known", "does not exist", "no such"});
  const bool no_member =
      says_any({"does not belong", "not found", "no entry", "not a member", "not associated", "without an assoc"});
  // `under` and similar words may also name the owner of a limit: over one of 5 under bank A.
  const bool beyond = says_any({"over ", "reached", "exceed", "too many", "more than", "has max"});
  const bool within = says_any({"not over", "not reached", "not exceed"}) ||
                      (!beyond && says_any({"below", "under ", "within", "fewer", "less than"}));
  Situation site;
  if (says("no accounting data")) {
    site.config.accounts.clear(), site.config.queues.clear(), site.config.projects.clear();
    site.job.policy.account.clear();
  } else if (says_any({"max active", "max_active", "active job", "active_job"})) {
    if (within) return std::nullopt;
    site.config.users[0].limits.active_jobs_max = 1;
    site.jobs = 2;
  } else if (says_any({"max_nodes", "max nodes", "max_cores", "max cores", "max resource", "size limit", "node limit",
                       "too many nodes"})) {
    if (within) return std::nullopt;
    site.config.users[0].limits.slots_max = 1;
    site.slots = 2;
  } else if (says_any({"disabled", "inactive", "active=0", "active = 0"})) {
    site.config.accounts[0].enabled = false;
  } else if (says("project")) {
    site.job.policy.project = "other";
  } else if (says("queue")) {
    site.job.policy.queue = no_such ? "unheard-of" : "other";
    // A site that accepts every queue has it, without a priority.
    if (no_such && !deny_unknown) site.config.queues.push_back({.name = "unheard-of"});
  } else if (no_such || no_member) {
    site.job.policy.account = "unheard-of";
  } else {
    return std::nullopt;
  }
  return site.outcome();
}

}  // namespace

void check_limit_cases(const cli::DocumentValue& file, const std::string& name, std::vector<CaseVerdict>& verdicts) {
  for (const cli::DocumentValue& each : field_of(file, "scenarios").items)
    verdicts.push_back(LimitScenario{file, each, name + "/" + text_of(each, "id")}.run());
}

CaseVerdict check_rejection(const cli::DocumentValue& rejection, const std::string& name) {
  const std::string when = text_of(rejection, "when");
  CaseChecker checker{name + "/" + when, "priority"};
  checker.runs_by(CaseWay::Cluster);
  const std::optional<Result<void>> result = outcome_of(when);
  const std::string message = text_of(rejection, "message_contains");
  const std::string outcome = text_of(rejection, "outcome");
  checker.count_comparison();
  const bool refuses = !message.empty() || outcome.starts_with("reject");
  if (!result)
    checker.fail("the situation is not understood");
  else if (message.empty() && outcome.empty())
    checker.fail("nothing to compare with");
  else if (!refuses && !*result)
    checker.fail("expected no refusal, got: " + to_string(result->error()));
  else if (refuses && (*result || !expects(result->error(), message)))
    checker.fail("expected '" + message + "', got " +
                 (*result ? "no refusal" : "'" + to_string(result->error()) + "'"));
  return checker.take();
}

}  // namespace penstock::tools
