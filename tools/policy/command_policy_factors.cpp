// Reference cases of the multi-factor policy: priorities, past usage, backfill.
// tidy: foreign-file bank, urgency
#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>

#include "supervisor/policy/backfill_profile.hpp"
#include "supervisor/policy/ordering/multifactor.hpp"
#include "supervisor/policy/sharing/account_factor.hpp"
#include "supervisor/policy/sharing/usage_decay.hpp"
#include "tools/policy/command_policy_case.hpp"
#include "tools/policy/older_formulas.hpp"

namespace penstock::tools {
namespace {

using namespace penstock::policy;
using Verdicts = std::vector<CaseVerdict>;

/// The weight for a case: from its own weights, else from those of its file, else the usual one.
double weight_of(const cli::DocumentValue& subject, const cli::DocumentValue& of_file, std::string_view name,
                 double usual) {
  return number_of(field_of(subject, "weights"), name, number_of(of_file, name, usual));
}

std::int64_t raw_priority_of(const cli::DocumentValue& file, const cli::DocumentValue& subject) {
  const cli::DocumentValue& inputs = field_of(subject, "inputs");
  const auto weight = [&](std::string_view name, double usual) {
    return weight_of(subject, field_of(file, "default_weights"), name, usual);
  };
  const RawWeights usual;
  return raw_priority({number_of(inputs, "fairshare"), number_of(inputs, "queue_priority"),
                       number_of(inputs, "bank_priority"), integer_of(inputs, "urgency", 16)},
                      {weight("fairshare", usual.fair_share), weight("queue", usual.level),
                       weight("bank", usual.account), weight("urgency", usual.user)});
}

/// Orders jobs by their priority from the cases of the same file; equal ones in order of arrival.
void check_queue_order(const cli::DocumentValue& file, const cli::DocumentValue& subject, CaseChecker& checker) {
  std::vector<std::pair<std::int64_t, std::string>> jobs;
  for (const std::string& name : texts_of(field_of(subject, "submitted"))) {
    const std::string wanted = text_of(subject, "id") + "-" + name;
    const cli::DocumentValue* found = nullptr;
    for (const cli::DocumentValue& each : field_of(file, "cases").items)
      if (text_of(each, "id") == wanted) found = &each;
    if (found == nullptr) return checker.fail("the file does not say what '" + wanted + "' asks for");
    jobs.emplace_back(raw_priority_of(file, *found), name);
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> names;
  for (const auto& job : jobs) names.push_back(job.second);
  checker.equal("order", list_text(texts_of(field_of(subject, "expected_queue_order"))), list_text(names));
}

void check_log_example(const cli::DocumentValue& example, CaseChecker& checker) {
  if (!checker.demand(example, "expected", "")) return;
  double sum = -number_of(example, "nice");  // tidy: foreign
  for (const cli::DocumentField& each : field_of(example, "weighted").fields) {
    if (each.value.items.size() != 3) {
      checker.fail("term " + each.name + ": must be a factor, its weight and their product");
      continue;
    }
    FactorWeights only{};
    only = {each.value.items[1].number, 0, 0, 0, 0, 0};
    const PriorityTerms terms = weigh({each.value.items[0].number}, only);
    checker.near("term " + each.name, each.value.items[2].number, terms.terms[0], number_of(example, "tolerance"));
    sum += terms.terms[0];
  }
  checker.near("sum", number_of(example, "expected"), sum, number_of(example, "tolerance"));
}

void check_priority(const cli::DocumentValue& subject, std::int64_t got, CaseChecker& checker) {
  if (!has_field(subject, "expected_priority")) return checker.fail("there is no `expected_priority` to compare with");
  checker.equal("priority", integer_of(subject, "expected_priority"), got);
}

void check_raw_priorities(const cli::DocumentValue& file, const std::string& name, Verdicts& verdicts) {
  for (const cli::DocumentValue& each : field_of(file, "cases").items) {
    CaseChecker checker{name + "/" + text_of(each, "id"), "priority"};
    check_priority(each, raw_priority_of(file, each), checker);
    verdicts.push_back(checker.take());
  }
  for (const cli::DocumentValue& each : field_of(file, "queue_order_cases").items) {
    CaseChecker checker{name + "/order/" + text_of(each, "id"), "priority"};
    check_queue_order(file, each, checker);
    verdicts.push_back(checker.take());
  }
  for (const cli::DocumentValue& each : field_of(file, "rejections").items)
    verdicts.push_back(check_rejection(each, name));
  if (has_field(file, "slurm_log_example")) {
    CaseChecker checker{name + "/slurm_log_example", "priority"};
    check_log_example(field_of(file, "slurm_log_example"), checker);
    verdicts.push_back(checker.take());
  }
}

void check_factor_case(const std::string& factor, const cli::DocumentValue& each, CaseChecker& checker) {
  Result<double> got = 0.0;
  const std::string favor = text_of(each, "favor", "large");
  if (favor != "large" && favor != "small") return checker.fail("the favor '" + favor + "' is not understood");
  if (factor == "wait" && number_of(each, "max_s") <= 0)
    got = Error{ErrorCode::InvalidArgument, "max_wait", "the longest wait must be above 0", "name a longer one"};
  else if (factor == "wait")
    got = wait_factor(number_of(each, "waited_s"), number_of(each, "max_s"));
  else if (factor == "job_size")
    got =
        size_factor(number_of(each, "n"), number_of(each, "N"), favor == "small" ? SizeFavor::Small : SizeFavor::Large);
  else if (factor == "qos")
    got = quality_factor(text_of(each, "qos"));
  else if (factor == "queue")
    got = level_factor(number_of(each, "priority"), number_of(each, "max_priority"));
  else if (factor == "user")
    got = user_factor(has_field(each, "request") ? std::optional{number_of(each, "request")} : std::nullopt,
                      flag_of(each, "privileged"));
  else
    return checker.fail("the factor '" + factor + "' is not understood");
  const std::string error = text_of(each, "error");
  if (!error.empty()) {
    checker.count_comparison();
    if (got || to_string(got.error()).find(error) == std::string::npos)
      checker.fail("expected the error '" + error + "', got " +
                   (got ? "the factor " + std::to_string(*got) : "'" + to_string(got.error()) + "'"));
  } else if (!got) {
    checker.fail(to_string(got.error()));
  } else if (!has_field(each, "f")) {
    checker.fail("there is no `f` to compare with");
  } else {
    checker.near("factor", number_of(each, "f"), *got, 1e-12);
  }
}

/// Spec: policy-flux 2: a factor outside 0 to 1 is refused, and never sorted on.
Result<Factors> six_factors_of(const cli::DocumentValue& table) {
  for (const cli::DocumentField& each : table.fields)
    if (!(each.value.number >= 0 && each.value.number <= 1))
      return Error{ErrorCode::InvalidArgument, each.name, "a factor is out of range", "use 0 to 1"};
  return Factors{number_of(table, "wait"),  number_of(table, "fair_share"), number_of(table, "qos"),
                 number_of(table, "queue"), number_of(table, "job_size"),   number_of(table, "user")};
}

FactorWeights six_weights_of(const cli::DocumentValue& file, const cli::DocumentValue& subject) {
  const auto weight = [&](std::string_view name, double usual) {
    return weight_of(subject, field_of(file, "weights"), name, usual);
  };
  const FactorWeights usual;
  return {weight("wait", usual.wait),   weight("fair_share", usual.fair_share), weight("qos", usual.quality),
          weight("queue", usual.level), weight("job_size", usual.size),         weight("user", usual.user)};
}

void check_six_factor_case(const cli::DocumentValue& file, const cli::DocumentValue& each, CaseChecker& checker) {
  static const std::vector<std::string_view> kNames{"wait", "fair_share", "qos", "queue", "job_size", "user"};
  checker.only_fields(field_of(each, "factors"), kNames);
  checker.only_fields(field_of(each, "weights"), kNames);
  const Result<Factors> factors = six_factors_of(field_of(each, "factors"));
  const std::string error = text_of(each, "error");
  if (!error.empty()) {
    checker.count_comparison();
    if (factors || to_string(factors.error()).find(error) == std::string::npos)
      checker.fail("expected the error '" + error + "'");
    return;
  }
  if (!factors) return checker.fail(to_string(factors.error()));
  check_priority(each, weigh(*factors, six_weights_of(file, each)).priority, checker);
}

void check_six_factors(const cli::DocumentValue& file, const std::string& name, Verdicts& verdicts) {
  for (const cli::DocumentValue& each : field_of(file, "cases").items) {
    CaseChecker checker{name + "/" + text_of(each, "id"), "priority"};
    check_six_factor_case(file, each, checker);
    verdicts.push_back(checker.take());
  }
  for (const cli::DocumentField& factor : field_of(file, "factor_cases").fields)
    for (std::size_t i = 0; i < factor.value.items.size(); ++i) {
      CaseChecker checker{name + "/" + factor.name + "#" + std::to_string(i), "factor"};
      check_factor_case(factor.name, factor.value.items[i], checker);
      verdicts.push_back(checker.take());
    }
}

std::vector<double> numbers_of(const cli::DocumentValue& list) {
  std::vector<double> numbers;
  for (const cli::DocumentValue& each : list.items) numbers.push_back(each.number);
  return numbers;
}

/// A job is a pair of hosts and seconds.
double job_charge(const cli::DocumentValue& job) {
  return job.items.size() == 2 ? job.items[0].number * job.items[1].number : 0;
}

/// Expected usage is given with twelve digits.
void check_amount(const std::string& what, double expected, double got, CaseChecker& checker) {
  checker.near(what, expected, got, std::max(1e-6, 1e-12 * std::abs(expected)));
}

void check_list(const std::string& what, const cli::DocumentValue& expected, const std::vector<double>& got,
                CaseChecker& checker) {
  const std::vector<double> wanted = numbers_of(expected);
  checker.equal("number of " + what + "s", static_cast<std::int64_t>(wanted.size()),
                static_cast<std::int64_t>(got.size()));
  for (std::size_t i = 0; i < std::min(wanted.size(), got.size()); ++i)
    check_amount(what + " " + std::to_string(i), wanted[i], got[i], checker);
}

UsageBins next_bins(const cli::DocumentValue& subject, const cli::DocumentValue& bins_before) {
  UsageBins bins{numbers_of(bins_before), number_of(subject, "decay", 0.5)};
  if (flag_of(subject, "rotate")) bins.rotate();
  for (const cli::DocumentValue& job : field_of(subject, "new_jobs").items) bins.charge(job_charge(job));
  return bins;
}

void check_bins(const cli::DocumentValue& subject, CaseChecker& checker) {
  const UsageBins bins = next_bins(subject, field_of(subject, "bins_newest_first"));
  check_amount("usage", number_of(subject, "expected_usage"), bins.total(), checker);
  const char* name = has_field(subject, "expected_bins_correct") ? "expected_bins_correct" : "expected_bins";
  if (has_field(subject, name)) check_list("bin", field_of(subject, name), bins.bins(), checker);
  const cli::DocumentValue& correct = field_of(subject, "correct_if_previous_step_correct");
  if (correct.is_table())
    check_amount("usage, had the step before been correct", number_of(correct, "usage"),
                 next_bins(subject, field_of(correct, "bins")).total(), checker);
}

/// Raw bins: the bin of the period before last has decayed twice, and so on.
void check_raw_bins(const cli::DocumentValue& subject, double decay, CaseChecker& checker) {
  // In periods; after one of them `decay` is left.
  const double half_life = std::log(0.5) / std::log(decay);
  std::vector<double> faded;
  for (const double bin : numbers_of(field_of(subject, "bins_newest_first")))
    faded.push_back(UsageTally{half_life, bin}.value_at(static_cast<double>(faded.size() + 1)));
  if (has_field(subject, "decayed_bins")) check_list("bin", field_of(subject, "decayed_bins"), faded, checker);
  check_amount("usage", number_of(subject, "expected_usage"),
               std::accumulate(faded.begin(), faded.end(), number_of(subject, "current")), checker);
}

std::vector<BilledAmount> billed(const cli::DocumentValue& amounts, const cli::DocumentValue& weights) {
  std::vector<BilledAmount> all;
  for (const cli::DocumentField& weight : weights.fields)
    all.push_back({number_of(amounts, weight.name), weight.value.number});
  return all;
}

/// A table is an account, a number the usage of a user.
void check_roll_up(const cli::DocumentValue& subject, CaseChecker& checker) {
  std::vector<Account> accounts{{"root", kNone}};
  std::vector<std::pair<const cli::DocumentValue*, std::uint32_t>> open{{&field_of(subject, "example"), 0}};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto [table, parent] = open[i];
    for (const cli::DocumentField& each : table->fields) {
      const bool user = each.value.is_number();
      if (!user && !each.value.is_table()) return checker.fail("'" + each.name + "' is neither account nor usage");
      accounts.push_back({each.name, parent, user, 1, user ? each.value.number : 0});
      if (!user) open.emplace_back(&each.value, static_cast<std::uint32_t>(accounts.size() - 1));
    }
  }
  const std::vector<AccountMeasure> measures = measure_accounts(accounts);
  if (field_of(subject, "expected").fields.empty()) checker.fail("nothing to compare with");
  for (const cli::DocumentField& each : field_of(subject, "expected").fields) {
    const auto named = [&each](const Account& account) { return account.name == each.name; };
    const auto found = std::find_if(accounts.begin(), accounts.end(), named);
    if (found == accounts.end())
      checker.fail("usage: there is no '" + each.name + "'");
    else if (each.value.is_number())
      check_amount("usage of " + each.name, each.value.number,
                   measures[static_cast<std::size_t>(found - accounts.begin())].usage, checker);
  }
}

void check_usage_case(const cli::DocumentValue& subject, CaseChecker& checker) {
  const std::string mode = text_of(subject, "mode");
  const double decay = number_of(subject, "decay", 0.5);
  if (!(decay > 0 && decay < 1)) return checker.fail("`decay` must be between 0 and 1");
  for (const char* list : {"jobs", "new_jobs"})
    for (const cli::DocumentValue& job : field_of(subject, list).items)
      if (job.items.size() != 2) return checker.fail("a job of `" + std::string{list} + "` is no pair of numbers");
  const bool compares_usage = mode.starts_with("bins_") || mode == "charge_at_completion" || mode == "weighted_charge";
  if (compares_usage && !has_field(subject, "expected_usage"))
    return checker.fail("there is no `expected_usage` to compare with");
  if (mode == "bins_rotate") return check_bins(subject, checker);
  if (mode == "charge_at_completion") {
    UsageTally tally{0};
    for (const cli::DocumentValue& job : field_of(subject, "jobs").items) tally.charge(job_charge(job), 0);
    return check_amount("usage", number_of(subject, "expected_usage"), tally.value(), checker);
  }
  if (mode == "weighted_charge") {
    const double rate = billable(billed(field_of(subject, "amounts"), field_of(subject, "weights")), Billing::Sum);
    return check_amount("usage", number_of(subject, "expected_usage"), rate * number_of(subject, "elapsed_s"), checker);
  }
  if (mode == "bins_raw_power") return check_raw_bins(subject, decay, checker);
  if (has_field(subject, "table")) {
    for (const cli::DocumentValue& row : field_of(subject, "table").items)
      checker.equal("bins", integer_of(row, "bins"),
                    bin_count(number_of(row, "reset_s"), number_of(row, "half_life_s")));
    return;
  }
  if (has_field(subject, "example")) return check_roll_up(subject, checker);
  checker.fail("the mode '" + mode + "' is not understood");
}

void check_continuous(const cli::DocumentValue& file, CaseChecker& checker) {
  for (const cli::DocumentValue& each : field_of(file, "pure_decay").items)
    if (checker.demand(each, "expected", "pure_decay[]"))
      check_amount(
          "decay", number_of(each, "expected"),
          UsageTally{number_of(each, "half_life_s"), number_of(each, "initial")}.value_at(number_of(each, "dt_s")),
          checker);
  for (const cli::DocumentValue& each : field_of(field_of(file, "running_job_exact_charge"), "cases").items) {
    for (const char* field : {"expected_exact_at_end", "lump_sum_at_end"})
      checker.demand(each, field, "running_job_exact_charge.cases[]");
    UsageTally tally{number_of(each, "half_life_s")};
    const double rate = number_of(each, "rate_units_per_s");
    const double seconds = number_of(each, "duration_s");
    tally.charge_rate(rate, 0, seconds);
    checker.near("running job", number_of(each, "expected_exact_at_end"), tally.value(), 1e-5);
    check_amount("lump", number_of(each, "lump_sum_at_end"), rate * seconds, checker);
  }
  const cli::DocumentValue& parts = field_of(file, "composition");
  if (parts.is_table()) {
    constexpr double kHour = 3600;
    constexpr double kRate = 8;
    UsageTally cut{number_of(parts, "half_life_s")};
    cut.charge_rate(kRate, 0, kHour);
    check_amount("first part", number_of(parts, "first"), cut.value(), checker);
    check_amount("first part, faded", number_of(parts, "first_decayed_23h"), cut.value_at(24 * kHour), checker);
    cut.charge_rate(kRate, kHour, 24 * kHour);
    UsageTally whole{number_of(parts, "half_life_s")};
    whole.charge_rate(kRate, 0, 24 * kHour);
    UsageTally second{number_of(parts, "half_life_s")};
    second.charge_rate(kRate, kHour, 24 * kHour);
    if (has_field(parts, "second")) check_amount("second part", number_of(parts, "second"), second.value(), checker);
    check_amount("sum of parts", number_of(parts, "sum"), cut.value(), checker);
    check_amount("whole", number_of(parts, "whole"), whole.value(), checker);
  }
  const cli::DocumentValue& periods = field_of(file, "slurm_period_factor");
  if (periods.is_table()) {
    const double factor = decay_factor(number_of(periods, "calc_period_s"), number_of(periods, "half_life_s"));
    checker.near("factor of a period", number_of(periods, "D"), factor, 1e-12);
    UsageTally tally{number_of(periods, "half_life_s"), 1};
    for (int i = 1; i <= 2016; ++i) tally.advance(i * number_of(periods, "calc_period_s"));
    checker.near("after 2016 periods", number_of(periods, "after_2016_periods"), tally.value(), 1e-9);
  }
  constexpr double kDay = 86400;
  for (const cli::DocumentValue& row : field_of(field_of(file, "published_table"), "days_value").items)
    if (row.items.size() == 2)
      check_amount("published table", row.items[1].number,
                   UsageTally{7 * kDay, 1000}.value_at(row.items[0].number * kDay), checker);
}

void check_usage(const cli::DocumentValue& file, const std::string& name, Verdicts& verdicts) {
  for (const cli::DocumentValue& each : field_of(file, "flux_cases").items) {
    CaseChecker checker{name + "/" + text_of(each, "id"), "usage"};
    check_usage_case(each, checker);
    verdicts.push_back(checker.take());
  }
  if (has_field(file, "continuous")) {
    CaseChecker continuous{name + "/continuous", "usage"};
    check_continuous(field_of(file, "continuous"), continuous);
    verdicts.push_back(continuous.take());
  }
  if (!has_field(file, "billing")) return;
  const cli::DocumentValue& billing = field_of(file, "billing");
  CaseChecker checker{name + "/billing", "usage"};
  for (const auto& [list, mode] : {std::pair{"sum_mode", Billing::Sum}, std::pair{"max_mode", Billing::Max}})
    for (const cli::DocumentValue& each : field_of(billing, list).items)
      if (checker.demand(each, "expected", std::string{list} + "[]"))
        checker.near(list, number_of(each, "expected"), billable(billed(each, field_of(billing, "weights")), mode),
                     1e-9);
  verdicts.push_back(checker.take());
}

std::optional<std::uint32_t> depth_of(const std::string& policy) {
  if (policy == "fcfs") return 0;
  if (policy == "easy") return 1;
  if (policy == "conservative") return kReserveAll;
  std::uint32_t depth = 0;
  if (!policy.starts_with("hybrid_")) return std::nullopt;
  const char* end = policy.data() + policy.size();
  const auto [last, failure] = std::from_chars(policy.data() + std::string_view{"hybrid_"}.size(), end, depth);
  return failure == std::errc{} && last == end ? std::optional{depth} : std::nullopt;
}

/// Spec: policy-flux 9.
constexpr double kResolution_s = 60;

void check_backfill_policy(const cli::DocumentValue& subject, const cli::DocumentField& expected,
                           CaseChecker& checker) {
  checker.only_fields(expected.value, {"start_now", "reservations"});
  checker.demand(expected.value, "start_now", expected.name);
  const std::optional<std::uint32_t> depth = depth_of(expected.name);
  if (!depth) return checker.fail("the policy '" + expected.name + "' is not understood");
  const auto at = [](double seconds) { return Instant{Duration{scaled(seconds, 1e9)}}; };
  const double now_s = number_of(subject, "now");
  const Instant now = at(now_s);
  const std::int64_t whole = integer_of(subject, "nodes");
  std::int64_t free = whole;
  std::vector<SlotsReturn> returns;
  for (const cli::DocumentValue& each : field_of(subject, "running").items) {
    // A job beyond its limit ends one step of time from now.
    const double ends_s = number_of(each, "ends");
    const double step_s = number_of(subject, "resolution_s", kResolution_s);
    returns.push_back({at(ends_s > now_s ? ends_s : now_s + step_s), integer_of(each, "nodes")});
    free -= returns.back().slots;
  }
  if (free < 0) return checker.fail("those that run hold more than there is");
  Backfill policy{AvailabilityProfile{now, free, std::move(returns)}, now, *depth};
  std::vector<std::string> starts;
  std::vector<std::string> reservations;
  for (const cli::DocumentValue& job : field_of(subject, "queue_in_priority_order").items) {
    // A job that the machine can never hold delays no other job, and gets no reservation.
    if (integer_of(job, "nodes") > whole) continue;
    const Duration limit = has_field(job, "wall") ? Duration{scaled(number_of(job, "wall"), 1e9)} : Duration::max();
    const BackfillOutcome outcome = policy.next({integer_of(job, "nodes"), limit}, [] { return true; });
    if (outcome.verdict == BackfillVerdict::Starts) starts.push_back(text_of(job, "id"));
    if (outcome.verdict == BackfillVerdict::Reserved)
      reservations.push_back(
          text_of(job, "id") + " at " +
          std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(outcome.at.time_since_epoch()).count()) +
          " ms");
  }
  checker.equal(expected.name + " starts", set_text(texts_of(field_of(expected.value, "start_now"))), set_text(starts));
  std::vector<std::string> promised;
  for (const cli::DocumentField& each : field_of(expected.value, "reservations").fields)
    if (!each.value.is_number())
      checker.fail(expected.name + " reservations." + each.name + ": must be a number");
    else
      promised.push_back(each.name + " at " + std::to_string(scaled(each.value.number, 1000)) + " ms");
  checker.equal(expected.name + " reservations", set_text(promised), set_text(reservations));
}

void check_backfill(const cli::DocumentValue& file, const std::string& name, Verdicts& verdicts) {
  for (const cli::DocumentValue& each : field_of(file, "cases").items) {
    CaseChecker checker{name + "/" + text_of(each, "id"), "backfill"};
    if (!has_field(each, "nodes")) checker.fail("`nodes` is missing");
    checker.no_twins("jobs", texts_of_items(field_of(each, "queue_in_priority_order"), "id"));
    for (const cli::DocumentField& expected : field_of(each, "expected").fields)
      check_backfill_policy(each, expected, checker);
    verdicts.push_back(checker.take());
  }
}

}  // namespace

bool check_factor_cases(const cli::DocumentValue& file, const std::string& name, Verdicts& verdicts) {
  const std::string kind = text_of(file, "kind");
  if (kind == "fairshare_tree")
    verdicts.push_back(check_tree(file, name));
  else if (kind == "priority")
    check_raw_priorities(file, name, verdicts);
  else if (kind == "priority_seed_formula")
    check_six_factors(file, name, verdicts);
  else if (kind == "usage")
    check_usage(file, name, verdicts);
  else if (kind == "backfill")
    check_backfill(file, name, verdicts);
  else if (kind == "limits")
    check_limit_cases(file, name, verdicts);
  else
    return false;
  return true;
}

}  // namespace penstock::tools
