// Reference cases of limits: submissions, ends and changes, step by step; and rights to submit.
// tidy: foreign-file bank
#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>

#include "supervisor/policy/limits.hpp"
#include "tools/policy/command_policy_case.hpp"

namespace penstock::tools {
namespace {

using namespace penstock::policy;

/// The size of the machine in a case that does not give one.
constexpr std::int64_t kHostsUnlessSaid = 1'000'000;

UserLimits user_limits(const cli::DocumentValue& table, UserLimits limits) {
  limits.active_jobs = integer_of(table, "max_active_jobs", limits.active_jobs);
  limits.running_jobs = integer_of(table, "max_running_jobs", limits.running_jobs);
  limits.hosts = integer_of(table, "max_nodes", limits.hosts);
  limits.cores = integer_of(table, "max_cores", limits.cores);
  limits.eligible_jobs = integer_of(table, "max_sched_jobs", limits.eligible_jobs);
  return limits;
}

/// Limits with names that no limit of a user has.
LevelLimits level_limits_of_size(const cli::DocumentValue& table, LevelLimits limits) {
  limits.hosts = integer_of(table, "max_nodes_per_assoc", limits.hosts);
  limits.eligible_hosts = integer_of(table, "max_sched_nodes_per_assoc", limits.eligible_hosts);
  limits.eligible_cores = integer_of(table, "max_sched_cores_per_assoc", limits.eligible_cores);
  limits.time_s = integer_of(table, "max_time_s", limits.time_s);
  limits.hosts_per_job_min = integer_of(table, "min_nodes_per_job", limits.hosts_per_job_min);
  limits.hosts_per_job_max = integer_of(table, "max_nodes_per_job", limits.hosts_per_job_max);
  return limits;
}

LevelLimits level_limits(const cli::DocumentValue& table, LevelLimits limits) {
  limits.running_jobs = integer_of(table, "max_running_jobs", limits.running_jobs);
  limits.eligible_jobs = integer_of(table, "max_sched_jobs", limits.eligible_jobs);
  limits.hosts_in_all = integer_of(table, "max_nodes", limits.hosts_in_all);
  limits.cores_in_all = integer_of(table, "max_cores", limits.cores_in_all);
  return level_limits_of_size(table, limits);
}

constexpr const char* kLimitNames[] = {"max_active_jobs",
                                       "max_running_jobs",
                                       "max_nodes",
                                       "max_cores",
                                       "max_sched_jobs",
                                       "max_nodes_per_assoc",
                                       "max_sched_nodes_per_assoc",
                                       "max_sched_cores_per_assoc",
                                       "max_time_s",
                                       "min_nodes_per_job",
                                       "max_nodes_per_job"};

std::string name_of(const cli::DocumentValue& table, std::string_view field) {
  const cli::DocumentValue& value = field_of(table, field);
  return value.is_number() ? std::to_string(integer_of(table, field)) : text_of(table, field);
}

/// A list, or a text with commas.
std::vector<std::string> names_of(const cli::DocumentValue& value) {
  if (!value.is_text()) return texts_of(value);
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= value.text.size();) {
    const std::size_t end = std::min(value.text.find(',', begin), value.text.size());
    if (end > begin) names.push_back(value.text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

/// A job of a case, with its given fields.
struct SubmittedJob {
  std::uint32_t number = 0;
  std::string account;
  std::string user;
  std::string queue;
  std::string project;
  std::string service;
};

/// The rights in a case: each pair of account and user has limits and counters of its own, and so has each queue.
class LimitTables {
 public:
  LimitTables(const cli::DocumentValue& file, const cli::DocumentValue& subject)
      : case_(subject), deny_unknown_(flag_of(subject, "deny_unknown_queues")) {
    const cli::DocumentValue& defaults = field_of(file, "defaults");
    base_ = user_limits(field_of(defaults, "assoc"), {});
    for (const cli::DocumentField& each : field_of(case_, "assocs").fields)
      accounts_[each.name] = user_limits(each.value, base_);
    base_ = user_limits(field_of(case_, "assoc"), base_);
    level_base_ = level_limits(field_of(case_, "queue_limits"), level_limits(field_of(defaults, "queue"), {}));
    for (const cli::DocumentField& each : field_of(case_, "queues").fields)
      queues_[each.name] = level_limits(each.value, level_limits(field_of(defaults, "queue"), {}));
    grants_.users = texts_of(field_of(field_of(case_, "grants"), "users"));
    grants_.accounts = texts_of(field_of(field_of(case_, "grants"), "accounts"));
  }

  /// Position of their counters in the book. Error: NotFound, WrongState.
  Result<std::uint32_t> user(const std::string& account, const std::string& name, LimitBook& book) {
    const std::optional<std::string> table = table_of(account, name);
    if (!table)
      return Error{ErrorCode::NotFound, account, "cannot find user/bank or user/default bank entry",
                   "name another account"};
    const auto key = std::pair{account, name};
    if (const auto found = users_.find(key); found != users_.end()) return found->second.position;
    const UserLimits& limits = table->empty() ? base_ : accounts_[*table];
    users_[key] = {book.add_user(limits), *table, limits};
    return users_[key].position;
  }

  /// Position of a queue's counters in the book; an unknown queue has no limits.
  std::uint32_t level(const std::string& queue, LimitBook& book) {
    if (const auto found = levels_.find(queue); found != levels_.end()) return found->second;
    constexpr LevelLimits kUnknown{.running_jobs = kNoLimit};
    const auto known = queues_.find(queue);
    const bool only_one = queue.empty() || queues_.empty();
    return levels_[queue] = book.add_level(known != queues_.end() ? known->second : only_one ? level_base_ : kUnknown);
  }

  /// Whether the user may submit to that queue, for that project.
  Result<void> check_rights(const SubmittedJob& job) const {
    const std::optional<std::string> name = table_of(job.account, job.user);
    const cli::DocumentValue& table =
        !name || name->empty() ? field_of(case_, "assoc") : field_of(field_of(case_, "assocs"), *name);
    std::vector<std::string> known;
    for (const auto& [each, limits] : queues_) known.push_back(each);
    UserAccess access{name.has_value(), true, has_field(table, "queues") ? names_of(field_of(table, "queues")) : known};
    const cli::DocumentValue& active = field_of(table, "active");
    if (active.kind == cli::DocumentValue::Kind::Boolean) access.enabled = active.boolean;
    if (active.is_number()) access.enabled = active.number != 0;
    PENSTOCK_TRY(check_access(access, job.queue, known, deny_unknown_));
    return has_field(table, "projects") ? check_project(names_of(field_of(table, "projects")), job.project)
                                        : Result<void>{};
  }

  /// Error: NotFound, InvalidArgument.
  Result<void> set_limits(const cli::DocumentValue& step, LimitBook& book) {
    bool changes = false;
    for (const char* name : kLimitNames) changes = changes || has_field(step, name);
    if (!changes) return Error{ErrorCode::InvalidArgument, {}, "the step names no limit", {}};
    const std::string queue = text_of(step, "queue");
    if (!queue.empty()) return set_queue_limits(step, queue, book);
    const std::string account = has_field(step, "bank") ? name_of(step, "bank") : name_of(step, "account");
    const std::string name = name_of(step, "user");
    if (!name.empty() && !account.empty()) PENSTOCK_TRY(user(account, name, book));
    bool found = false;
    // The table applies to users that appear later.
    if (name.empty() && account.empty() && (accounts_.empty() || has_field(case_, "assoc"))) {
      base_ = user_limits(step, base_);
      found = true;
    } else if (const auto table = accounts_.find(account); name.empty() && table != accounts_.end()) {
      table->second = user_limits(step, table->second);
      found = true;
    }
    for (auto& [key, each] : users_) {
      const bool meant = account.empty() && name.empty()
                             ? each.table.empty()
                             : (account.empty() || account == key.first) && (name.empty() || name == key.second);
      if (!meant) continue;
      found = true;
      book.set_limits(each.position, each.limits = user_limits(step, each.limits));
    }
    if (!found)
      return Error{ErrorCode::NotFound, account + name, "no user has these limits", "name the user or the account"};
    level_base_ = level_limits_of_size(step, level_base_);
    for (const auto& [each, position] : levels_)
      if (each.empty() || queues_.empty()) book.set_level_limits(position, level_base_);
    return {};
  }

  Result<std::string> service(const std::string& account, const std::string& user, const std::string& wish) const {
    return grant_service(grants_, user, account, wish);
  }

 private:
  struct User {
    std::uint32_t position = 0;
    std::string table;  ///< Entry of `assocs` with these limits; empty: `assoc`.
    UserLimits limits;
  };

  std::optional<std::string> table_of(const std::string& account, const std::string& user) const {
    std::string both = account;
    both.append("/").append(user);
    for (const std::string& name : {both, account, account.empty() ? user : account})
      if (accounts_.contains(name)) return name;
    if (account.empty() || accounts_.empty()) return "";
    return std::nullopt;
  }

  Result<void> set_queue_limits(const cli::DocumentValue& step, const std::string& queue, LimitBook& book) {
    const auto known = queues_.find(queue);
    if (known == queues_.end()) return Error{ErrorCode::NotFound, queue, "there is no such queue", "name another one"};
    known->second = level_limits(step, known->second);
    book.set_level_limits(level(queue, book), known->second);
    return {};
  }

  const cli::DocumentValue& case_;
  bool deny_unknown_;
  UserLimits base_;
  LevelLimits level_base_;
  std::map<std::string, UserLimits> accounts_;
  std::map<std::string, LevelLimits> queues_;
  ServiceGrants grants_;
  std::map<std::pair<std::string, std::string>, User> users_;  ///< By account and user.
  std::map<std::string, std::uint32_t> levels_;
};

class LimitScenario {
 public:
  LimitScenario(const cli::DocumentValue& file, const cli::DocumentValue& subject, const std::string& id)
      : case_(subject),
        checker_(id, "limits"),
        tables_(file, subject),
        book_({}, {}, {integer_of(subject, "machine_nodes", kHostsUnlessSaid), integer_of(subject, "cores_per_node")}) {
  }

  CaseVerdict run() {
    for (const cli::DocumentValue& step : field_of(case_, "steps").items) {
      ++step_;
      take(step);
    }
    if (step_ == 0) checker_.fail("the case has no steps");
    return checker_.take();
  }

 private:
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
    if (op == "submit") return submit(step);
    if (op == "set_limit") return done(step, tables_.set_limits(step, book_), "ok");
    const auto job = jobs_.find(name_of(step, "job"));
    if (job == jobs_.end()) return complain("there is no job '" + name_of(step, "job") + "'");
    if (op == "finish" || op == "cancel") return done(step, end(job->second), "ok");
    if (op == "release") {
      book_.let_go(job->second.number);
      settle(step);
      return expect_job(step, job->second);
    }
    if (op == "update") return update(step, job->second);
    complain("the step '" + op + "' is not understood");
  }

  Result<void> end(const SubmittedJob& job) {
    if (book_.state(job.number) == LimitedState::Inactive)
      return Error{ErrorCode::WrongState, {}, "the job has ended already", {}};
    book_.end(job.number);
    return {};
  }

  void submit(const cli::DocumentValue& step) {
    SubmittedJob job;
    job.account = has_field(step, "bank") ? name_of(step, "bank") : name_of(step, "account");
    job.user = name_of(step, "user");
    job.queue = text_of(step, "queue");
    job.project = name_of(step, "project");
    const std::string name = name_of(step, "job");
    if (const auto before = jobs_.find(name); !name.empty() && before != jobs_.end())
      if (book_.state(before->second.number) != LimitedState::Inactive)
        return complain("there is a job '" + name + "' already");
    const Result<LimitedRequest> request = request_of(step, text_of(step, "qos"), job);
    const Result<std::uint32_t> number = request ? book_.submit(*request) : request.error();
    if (!number) {
      expect_refusal(step, number.error());
      return settle(step);
    }
    job.number = *number;
    jobs_[name] = job;
    expect_job(step, job);
    settle(step);
  }

  /// The request of `job` with the fields of the step; a request without the right to it is refused. Sets the job's
  /// level of service.
  Result<LimitedRequest> request_of(const cli::DocumentValue& step, const std::string& wish, SubmittedJob& job,
                                    LimitedRequest request = {}) {
    PENSTOCK_TRY(tables_.check_rights(job));
    const Result<std::string> service = tables_.service(job.account, job.user, wish);
    if (!service) return service.error();
    const Result<std::uint32_t> user = tables_.user(job.account, job.user, book_);
    if (!user) return user.error();
    job.service = *service;
    request.user = *user;
    request.level = tables_.level(job.queue, book_);
    // A request with only cores counts one host.
    const std::int64_t hosts = integer_of(step, "nodes");
    if (has_field(step, "nodes")) request.hosts = hosts == 0 ? 1 : hosts;
    if (has_field(step, "cores")) request.cores = integer_of(step, "cores");
    if (has_field(step, "nodes") || has_field(step, "cores")) request.only_cores = hosts == 0;
    request.time_s = integer_of(step, "wall_s", request.time_s);
    request.exempt = job.service == "standby";
    request.on_wish = flag_of(step, "hold", request.on_wish);
    return request;
  }

  std::vector<std::string> holds_of(std::uint32_t job) const {
    std::vector<std::string> names;
    for (const LimitHold hold : book_.holds(job)) names.emplace_back(to_string(hold));
    return names;
  }

  void expect_refusal(const cli::DocumentValue& step, const Error& error) {
    checker_.count_comparison();
    const std::string expected = text_of(step, "expect");
    if (expected != "reject" && expected != "error")
      return complain("expected " + (expected.empty() ? "it to be done" : expected) + ", got: " + to_string(error));
    const std::string message = text_of(step, "message");
    const std::string got = error.message + ": " + error.subject + "; " + error.remedy;
    if (got.find(message) == std::string::npos) complain("expected '" + message + "', got '" + error.message + "'");
  }

  void expect_job(const cli::DocumentValue& step, const SubmittedJob& job) {
    if (has_field(step, "qos_assigned")) checker_.equal(at("service"), text_of(step, "qos_assigned"), job.service);
    if (has_field(step, "holds"))
      checker_.equal(at("holds"), set_text(texts_of(field_of(step, "holds"))), set_text(holds_of(job.number)));
    expect_state(step, job.number);
  }

  void expect_state(const cli::DocumentValue& step, std::uint32_t job) {
    const std::string expected = text_of(step, "expect");
    if (expected.empty()) return;
    if (expected == "accept" || expected == "ok") return checker_.count_comparison();
    const LimitedState state = book_.state(job);
    std::string got = state == LimitedState::Running ? "run" : state == LimitedState::Eligible ? "sched" : "held";
    if (got == "held" && book_.holds(job).empty()) got = "pending";
    // A job that its owner holds is pending, whatever the limits are.
    if (expected == "pending" && state == LimitedState::Held) got = "pending";
    checker_.equal(at("state of " + name_of(step, "job")), expected, got);
  }

  /// Checks the result of a step that is done or refused as a whole, and its consequences.
  void done(const cli::DocumentValue& step, const Result<void>& result, const std::string& word) {
    const std::string expected = text_of(step, "expect");
    if (result && !expected.empty()) checker_.count_comparison();
    if (!result)
      expect_refusal(step, result.error());
    else if (!expected.empty() && expected != word)
      complain("expected " + expected + ", but it was done");
    settle(step);
  }

  void update(const cli::DocumentValue& step, SubmittedJob& job) {
    SubmittedJob changed = job;
    if (has_field(step, "bank") || has_field(step, "account"))
      changed.account = has_field(step, "bank") ? name_of(step, "bank") : name_of(step, "account");
    if (has_field(step, "queue")) changed.queue = text_of(step, "queue");
    if (has_field(step, "project")) changed.project = name_of(step, "project");
    const std::string wish = has_field(step, "qos") ? text_of(step, "qos") : job.service;
    const Result<LimitedRequest> request = request_of(step, wish, changed, book_.request(job.number));
    Result<void> result = request ? book_.change(job.number, *request) : request.error();
    if (!result) {
      // The expected text is that of the page for a moved job.
      if (result.error().code == ErrorCode::NotFound && changed.account != job.account)
        result =
            Error{ErrorCode::NotFound, changed.account, "cannot find flux-accounting entry", "name another account"};
      return done(step, result, "ok");
    }
    job = changed;
    const std::string expected = text_of(step, "expect");
    if (expected == "error" || expected == "reject") complain("expected " + expected + ", but it was done");
    settle(step);
    if (expected != "error" && expected != "reject") expect_job(step, job);
  }

  void settle(const cli::DocumentValue& step) {
    const LimitBook::Settled settled = book_.settle();
    const auto names = [this](const std::vector<std::uint32_t>& list) {
      std::vector<std::string> all;
      for (const std::uint32_t number : list)
        for (const auto& [name, job] : jobs_)
          if (job.number == number) all.push_back(name);
      return set_text(all);
    };
    if (has_field(step, "released"))
      checker_.equal(at("let go"), set_text(texts_of(field_of(step, "released"))), names(settled.let_go));
    if (has_field(step, "starts"))
      checker_.equal(at("starts"), set_text(texts_of(field_of(step, "starts"))), names(settled.started));
    for (const std::string& name : texts_of(field_of(step, "still_held"))) {
      checker_.count_comparison();
      const auto job = jobs_.find(name);
      if (job == jobs_.end() || book_.state(job->second.number) != LimitedState::Held)
        complain(name + " is not held any more");
    }
    for (const cli::DocumentField& each : field_of(step, "holds_now").fields) {
      const auto job = jobs_.find(each.name);
      if (job == jobs_.end()) {
        complain("there is no job '" + each.name + "'");
        continue;
      }
      checker_.equal(at("holds of " + each.name), set_text(texts_of(each.value)),
                     set_text(holds_of(job->second.number)));
    }
  }

  std::string at(const std::string& what) const { return "step " + std::to_string(step_) + ", " + what; }
  void complain(const std::string& what) { checker_.fail(at(what)); }

  const cli::DocumentValue& case_;
  CaseChecker checker_;
  LimitTables tables_;
  LimitBook book_;
  std::map<std::string, SubmittedJob> jobs_;
  std::int64_t step_ = 0;
};

/// Submits a job for two hosts, of a user with one job already.
Result<void> submit_to(const UserLimits& limits) {
  LimitBook book{{limits}, {{}}, {2}};
  if (const auto first = book.submit({}); !first) return first.error();
  const Result<std::uint32_t> second = book.submit({.hosts = 2});
  return second ? Result<void>{} : Result<void>{second.error()};
}

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
  UserAccess access{true, true, {"listed"}};
  const auto ask_for = [&](const std::string& level) {
    return check_access(access, level, {"listed", "other"}, deny_unknown);
  };
  if (says("no accounting data")) return Result<void>{};  // Kept until the data arrive.
  if (says_any({"max active", "max_active", "active job", "active_job"}))
    return within ? std::nullopt : std::optional{submit_to({.active_jobs = 1})};
  if (says_any({"max_nodes", "max nodes", "max_cores", "max cores", "max resource", "size limit", "node limit",
                "too many nodes"}))
    return within ? std::nullopt : std::optional{submit_to({.hosts = 1})};
  if (says_any({"disabled", "inactive", "active=0", "active = 0"})) {
    access.enabled = false;
    return ask_for("listed");
  }
  if (says("project")) return check_project({"listed"}, "other");
  if (says("queue")) return no_such ? ask_for("unheard-of") : ask_for("other");
  if (!no_such && !no_member) return std::nullopt;
  access.known = false;
  return ask_for("listed");
}

}  // namespace

void check_limit_cases(const cli::DocumentValue& file, const std::string& name, std::vector<CaseVerdict>& verdicts) {
  for (const cli::DocumentValue& each : field_of(file, "scenarios").items)
    verdicts.push_back(LimitScenario{file, each, name + "/" + text_of(each, "id")}.run());
}

CaseVerdict check_rejection(const cli::DocumentValue& rejection, const std::string& name) {
  const std::string when = text_of(rejection, "when");
  CaseChecker checker{name + "/" + when, "priority"};
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
  else if (refuses && (*result || result->error().message.find(message) == std::string::npos))
    checker.fail("expected '" + message + "', got " + (*result ? "no refusal" : "'" + result->error().message + "'"));
  return checker.take();
}

}  // namespace penstock::tools
