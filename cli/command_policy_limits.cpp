// Reference cases of limits: submissions, ends and changes, step by step; and who may submit at all.
// tidy: foreign-file bank
#include <algorithm>
#include <map>

#include "cli/command_policy_case.hpp"
#include "supervisor/policy/limits.hpp"

namespace penstock::cli {
namespace {

using namespace penstock::policy;

/// Of a case that does not say how large its machine is.
constexpr std::int64_t kHostsUnlessSaid = 1'000'000;

UserLimits user_limits(const DocumentValue& table, UserLimits limits) {
  limits.active_jobs = integer_of(table, "max_active_jobs", limits.active_jobs);
  limits.running_jobs = integer_of(table, "max_running_jobs", limits.running_jobs);
  limits.hosts = integer_of(table, "max_nodes", limits.hosts);
  limits.cores = integer_of(table, "max_cores", limits.cores);
  limits.eligible_jobs = integer_of(table, "max_sched_jobs", limits.eligible_jobs);
  return limits;
}

LevelLimits level_limits(const DocumentValue& table, LevelLimits limits) {
  limits.running_jobs = integer_of(table, "max_running_jobs", limits.running_jobs);
  limits.hosts = integer_of(table, "max_nodes_per_assoc", limits.hosts);
  limits.eligible_jobs = integer_of(table, "max_sched_jobs", limits.eligible_jobs);
  limits.eligible_hosts = integer_of(table, "max_sched_nodes_per_assoc", limits.eligible_hosts);
  limits.eligible_cores = integer_of(table, "max_sched_cores_per_assoc", limits.eligible_cores);
  limits.time_s = integer_of(table, "max_time_s", limits.time_s);
  return limits;
}

class LimitScenario {
 public:
  LimitScenario(const DocumentValue& file, const DocumentValue& subject, const std::string& id)
      : case_(subject), checker_(id, "limits"), book_(make_book(field_of(file, "defaults"))) {}

  CaseVerdict run() {
    for (const DocumentValue& step : field_of(case_, "steps").items) {
      ++step_;
      take(step);
    }
    if (step_ == 0) checker_.fail("the case has no steps");
    return checker_.take();
  }

 private:
  LimitBook make_book(const DocumentValue& defaults) {
    const UserLimits user = user_limits(field_of(defaults, "assoc"), {});
    const LevelLimits level = level_limits(field_of(defaults, "queue"), {});
    std::vector<UserLimits> users{user_limits(field_of(case_, "assoc"), user)};
    for (const DocumentField& each : field_of(case_, "assocs").fields) {
      users_[each.name] = static_cast<std::uint32_t>(users.size());
      users.push_back(user_limits(each.value, user));
    }
    // The first one is for jobs that name no queue.
    std::vector<LevelLimits> levels{level_limits(field_of(case_, "queue_limits"), level)};
    for (const DocumentField& each : field_of(case_, "queues").fields) {
      levels_[each.name] = static_cast<std::uint32_t>(levels.size());
      levels.push_back(level_limits(each.value, level));
    }
    user_zero_ = users[0];
    grants_.users = texts_of(field_of(field_of(case_, "grants"), "users"));
    grants_.accounts = texts_of(field_of(field_of(case_, "grants"), "accounts"));
    return {std::move(users), std::move(levels), integer_of(case_, "machine_nodes", kHostsUnlessSaid)};
  }

  void take(const DocumentValue& step) {
    checker_.only_fields(
        step, {"op",      "job",     "expect",       "holds",           "holds_now", "released", "starts", "still_held",
               "message", "nodes",   "cores",        "queue",           "bank",      "qos",      "wall_s", "hold",
               "user",    "account", "qos_assigned", "max_running_jobs"});
    const std::string op = text_of(step, "op");
    if (op == "submit") return submit(step);
    if (op == "set_limit") {
      book_.set_limits(0, user_limits(step, user_zero_));
      return settle(step);
    }
    const auto job = jobs_.find(text_of(step, "job"));
    if (job == jobs_.end()) return complain("there is no job '" + text_of(step, "job") + "'");
    if (op == "finish" || op == "cancel") {
      book_.end(job->second);
      return settle(step);
    }
    if (op == "release") {
      book_.let_go(job->second);
      book_.settle();
      return expect_state(step, job->second);
    }
    if (op == "update") return update(step, job->second);
    complain("the step '" + op + "' is not understood");
  }

  void submit(const DocumentValue& step) {
    const Result<std::string> service =
        grant_service(grants_, text_of(step, "user"), text_of(step, "account"), text_of(step, "qos"));
    if (!service) return expect_refusal(step, service.error(), "reject");
    if (has_field(step, "qos_assigned")) checker_.equal(at("service"), text_of(step, "qos_assigned"), *service);
    LimitedRequest request;
    if (!find(users_, text_of(step, "bank"), request.user)) return complain("the account is not known");
    if (!find(levels_, text_of(step, "queue"), request.level)) return complain("the queue is not known");
    request.hosts = integer_of(step, "nodes", 1);
    request.cores = integer_of(step, "cores");
    request.time_s = integer_of(step, "wall_s");
    request.exempt = *service == "standby";
    request.on_wish = flag_of(step, "hold");
    const Result<std::uint32_t> job = book_.submit(request);
    if (!job) return expect_refusal(step, job.error(), "reject");
    jobs_[text_of(step, "job")] = *job;
    expect_state(step, *job);
    if (!has_field(step, "holds")) return;
    checker_.equal(at("holds"), set_text(texts_of(field_of(step, "holds"))), set_text(holds_of(*job)));
  }

  static bool find(const std::map<std::string, std::uint32_t>& names, const std::string& name, std::uint32_t& into) {
    if (name.empty()) return true;
    const auto found = names.find(name);
    if (found != names.end()) into = found->second;
    return found != names.end();
  }

  std::vector<std::string> holds_of(std::uint32_t job) const {
    std::vector<std::string> names;
    for (const LimitHold hold : book_.holds(job)) names.emplace_back(to_string(hold));
    return names;
  }

  void expect_refusal(const DocumentValue& step, const Error& error, const std::string& word) {
    if (text_of(step, "expect") != word)
      return complain("expected " + text_of(step, "expect") + ", got: " + to_string(error));
    const std::string message = text_of(step, "message");
    if (error.message.find(message) == std::string::npos)
      complain("expected '" + message + "', got '" + error.message + "'");
  }

  void expect_state(const DocumentValue& step, std::uint32_t job) {
    const std::string expected = text_of(step, "expect");
    if (expected.empty() || expected == "accept") return;
    const LimitedState state = book_.state(job);
    std::string got = state == LimitedState::Running ? "run" : state == LimitedState::Eligible ? "sched" : "held";
    if (got == "held" && book_.holds(job).empty()) got = "pending";
    // One that its owner holds is pending, whatever limits say.
    if (expected == "pending" && state == LimitedState::Held) got = "pending";
    checker_.equal(at("state of " + text_of(step, "job")), expected, got);
  }

  void update(const DocumentValue& step, std::uint32_t job) {
    Result<void> result;
    if (has_field(step, "bank")) {
      std::uint32_t user = 0;
      if (find(users_, text_of(step, "bank"), user))
        result = book_.move(job, user);
      else
        result = Error{ErrorCode::NotFound, text_of(step, "bank"), "cannot find flux-accounting entry",
                       "name another account"};
    }
    if (has_field(step, "qos")) result = book_.set_exempt(job, text_of(step, "qos") == "standby");
    if (!result) return expect_refusal(step, result.error(), "error");
    if (text_of(step, "expect") != "ok") complain("expected " + text_of(step, "expect") + ", but it was done");
  }

  void settle(const DocumentValue& step) {
    const LimitBook::Settled settled = book_.settle();
    const auto names = [this](const std::vector<std::uint32_t>& list) {
      std::vector<std::string> all;
      for (const std::uint32_t number : list)
        for (const auto& [name, job] : jobs_)
          if (job == number) all.push_back(name);
      return set_text(all);
    };
    if (has_field(step, "released"))
      checker_.equal(at("let go"), set_text(texts_of(field_of(step, "released"))), names(settled.let_go));
    if (has_field(step, "starts"))
      checker_.equal(at("starts"), set_text(texts_of(field_of(step, "starts"))), names(settled.started));
    for (const std::string& name : texts_of(field_of(step, "still_held"))) {
      const auto job = jobs_.find(name);
      if (job == jobs_.end() || book_.state(job->second) != LimitedState::Held)
        complain(name + " is not held any more");
    }
    for (const DocumentField& each : field_of(step, "holds_now").fields) {
      const auto job = jobs_.find(each.name);
      const std::vector<std::string> holds = job == jobs_.end() ? std::vector<std::string>{} : holds_of(job->second);
      checker_.equal(at("holds of " + each.name), set_text(texts_of(each.value)), set_text(holds));
    }
  }

  std::string at(const std::string& what) const { return "step " + std::to_string(step_) + ", " + what; }
  void complain(const std::string& what) { checker_.fail(at(what)); }

  const DocumentValue& case_;
  CaseChecker checker_;
  std::map<std::string, std::uint32_t> users_;
  std::map<std::string, std::uint32_t> levels_;
  UserLimits user_zero_;
  ServiceGrants grants_;
  LimitBook book_;
  std::map<std::string, std::uint32_t> jobs_;
  std::int64_t step_ = 0;
};

}  // namespace

void check_limit_cases(const DocumentValue& file, const std::string& name, std::vector<CaseVerdict>& verdicts) {
  for (const DocumentValue& each : field_of(file, "scenarios").items)
    verdicts.push_back(LimitScenario{file, each, name + "/" + text_of(each, "id")}.run());
}

/// The situations are told in words; each names one thing that is wrong with a submission.
CaseVerdict check_rejection(const DocumentValue& rejection, const std::string& name) {
  const std::string when = text_of(rejection, "when");
  CaseChecker checker{name + "/" + when, "priority"};
  const auto says = [&when](std::string_view part) { return when.find(part) != std::string::npos; };
  UserAccess access{!says("does not belong"), !says("disabled"), {"listed"}};
  const bool unknown = says("queue unknown");
  const std::string level = unknown ? "unheard-of" : says("not in the association's list") ? "other" : "listed";
  const Result<void> result = check_access(access, level, {"listed", "other"}, says("deny_unknown_queues=true"));
  const std::string message = text_of(rejection, "message_contains");
  if (message.empty()) {
    // Accepted with factor 0, or kept until data arrive: nothing is refused.
    if (!result) checker.fail("expected no refusal, got: " + to_string(result.error()));
  } else if (result || result.error().message.find(message) == std::string::npos) {
    checker.fail("expected '" + message + "', got " + (result ? "no refusal" : "'" + result.error().message + "'"));
  }
  return checker.take();
}

}  // namespace penstock::cli
