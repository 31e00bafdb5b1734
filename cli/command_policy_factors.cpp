// Reference cases of the multi-factor policy: account trees, priorities, past usage, backfill.
// tidy: foreign-file bank, urgency
#include <algorithm>
#include <charconv>

#include "cli/command_policy_case.hpp"
#include "supervisor/policy/backfill_profile.hpp"
#include "supervisor/policy/ordering/multifactor.hpp"
#include "supervisor/policy/sharing/account_factor.hpp"
#include "supervisor/policy/sharing/usage_decay.hpp"

namespace penstock::cli {
namespace {

using namespace penstock::policy;
using Verdicts = std::vector<CaseVerdict>;

/// A tree of the file as a flat list, with the name under which each entry is asked for.
struct AccountTree {
  std::vector<Account> accounts;
  std::vector<std::string> names;  ///< `account`, or `account/user`.
};

AccountTree tree_of(const DocumentValue& root) {
  AccountTree tree;
  std::vector<std::pair<const DocumentValue*, std::uint32_t>> open{{&root, kNone}};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto [source, parent] = open[i];
    Account account;
    account.name = text_of(*source, "name");
    account.parent = parent;
    account.user = text_of(*source, "type") == "user";
    account.shares = integer_of(*source, "shares", 1);
    account.usage = number_of(*source, "usage");
    tree.names.push_back(account.user && parent != kNone ? tree.accounts[parent].name + "/" + account.name
                                                         : account.name);
    tree.accounts.push_back(std::move(account));
    for (const DocumentValue& child : field_of(*source, "children").items)
      open.emplace_back(&child, static_cast<std::uint32_t>(i));
  }
  return tree;
}

bool parse_algorithm(const std::string& name, FactorOptions& options) {
  constexpr std::string_view kBalanced = "balanced_lambda_";
  if (name == "flux_rank") return options.kind = FairShareFactor::FluxRank, true;
  if (name == "fair_tree") return options.kind = FairShareFactor::FairTree, true;
  if (name == "classic") return options.kind = FairShareFactor::Classic, true;
  if (name == "depth_oblivious") return options.kind = FairShareFactor::DepthOblivious, true;
  if (!name.starts_with(kBalanced)) return false;
  options.kind = FairShareFactor::Balanced;
  const char* begin = name.data() + kBalanced.size();
  return std::from_chars(begin, name.data() + name.size(), options.lambda).ec == std::errc{};
}

/// Where an entry called `name` stands; a user may also be named without his account.
std::size_t position_of(const AccountTree& tree, const std::string& name) {
  for (std::size_t i = 0; i < tree.names.size(); ++i)
    if (tree.names[i] == name || tree.accounts[i].name == name) return i;
  return tree.names.size();
}

void compare_values(const AccountTree& tree, const std::vector<double>& got, const DocumentValue& expected,
                    double tolerance, const std::string& what, CaseChecker& checker) {
  for (const DocumentField& each : expected.fields) {
    const std::size_t position = position_of(tree, each.name);
    if (position == tree.names.size())
      checker.fail(what + ": there is no '" + each.name + "'");
    else
      checker.near(what + " of " + each.name, each.value.number, got[position], tolerance);
  }
}

void check_factors(const DocumentValue& file, const AccountTree& tree, const std::string& algorithm,
                   const DocumentValue& expected, double tolerance, CaseChecker& checker) {
  FactorOptions options;
  if (has_field(file, "usage_total_override")) options.usage_total = number_of(file, "usage_total_override");
  if (!parse_algorithm(algorithm, options)) return checker.fail("the algorithm '" + algorithm + "' is not understood");
  compare_values(tree, account_factors(tree.accounts, options), expected, tolerance, algorithm, checker);
}

void check_order(const AccountTree& tree, const DocumentValue& groups, CaseChecker& checker) {
  const std::vector<double> ranks = account_factors(tree.accounts, {FairShareFactor::FluxRank, 0.5, std::nullopt});
  double last = 2;
  for (const DocumentValue& group : groups.items) {
    double value = -1;
    for (const std::string& name : texts_of(group)) {
      const std::size_t position = position_of(tree, name);
      if (position == tree.names.size()) return checker.fail("order: there is no '" + name + "'");
      if (value >= 0) checker.near("rank of " + name + ", as its group", value, ranks[position], 1e-9);
      value = ranks[position];
    }
    if (!(value < last)) checker.fail("order: a group is not behind the one before it");
    last = value;
  }
}

void check_tree(const DocumentValue& file, const std::string& id, Verdicts& verdicts) {
  CaseChecker checker{id, "fairshare_tree"};
  const AccountTree tree = tree_of(field_of(file, "tree"));
  const double tolerance = number_of(file, "tolerance", 1e-6);
  if (field_of(file, "expected").fields.empty()) checker.fail("nothing to compare with");
  for (const DocumentField& each : field_of(file, "expected").fields)
    check_factors(file, tree, each.name, each.value, tolerance, checker);
  const DocumentValue& published = field_of(file, "published");
  // Published values are rounded to six digits.
  if (published.is_table())
    check_factors(file, tree, text_of(published, "algorithm"), field_of(published, "values"), 2 * tolerance, checker);
  if (has_field(file, "required_by_seed"))
    check_factors(file, tree, "balanced_lambda_0.5", field_of(file, "required_by_seed"), tolerance, checker);
  if (field_of(file, "expected_order_flux_rank").is_list())
    check_order(tree, field_of(file, "expected_order_flux_rank"), checker);
  const std::vector<AccountMeasure> measures = measure_accounts(tree.accounts);
  double total = 0;
  for (const Account& account : tree.accounts) total += account.user ? account.usage : 0;
  std::vector<double> shares;
  std::vector<double> usages;
  for (const AccountMeasure& each : measures) {
    shares.push_back(each.share);
    usages.push_back(total > 0 ? each.usage / total : 0);
  }
  compare_values(tree, shares, field_of(file, "published_norm_shares"), tolerance, "shares", checker);
  compare_values(tree, usages, field_of(file, "published_norm_usage"), tolerance, "usage", checker);
  for (const DocumentValue& each : field_of(file, "intermediate").items) {
    const std::size_t position = position_of(tree, text_of(each, "node"));
    if (position == tree.names.size()) continue;
    checker.near("shares of " + tree.names[position], number_of(each, "norm_shares"), shares[position], tolerance);
    checker.near("usage of " + tree.names[position], number_of(each, "norm_usage"), usages[position], tolerance);
  }
  verdicts.push_back(checker.take());
}

std::int64_t raw_priority_of(const DocumentValue& subject) {
  const DocumentValue& inputs = field_of(subject, "inputs");
  const DocumentValue& weights = field_of(subject, "weights");
  return raw_priority({number_of(inputs, "fairshare"), number_of(inputs, "queue_priority"),
                       number_of(inputs, "bank_priority"), integer_of(inputs, "urgency", 16)},
                      {number_of(weights, "fairshare"), number_of(weights, "queue"), number_of(weights, "bank"),
                       number_of(weights, "urgency")});
}

/// Jobs by their priority, which the cases of the same file tell; equal ones as they came.
void check_queue_order(const DocumentValue& file, const DocumentValue& subject, CaseChecker& checker) {
  std::vector<std::pair<std::int64_t, std::string>> jobs;
  for (const std::string& name : texts_of(field_of(subject, "submitted"))) {
    const std::string wanted = text_of(subject, "id") + "-" + name;
    const DocumentValue* found = nullptr;
    for (const DocumentValue& each : field_of(file, "cases").items)
      if (text_of(each, "id") == wanted) found = &each;
    if (found == nullptr) return checker.fail("the file does not say what '" + wanted + "' asks for");
    jobs.emplace_back(raw_priority_of(*found), name);
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> names;
  for (const auto& job : jobs) names.push_back(job.second);
  checker.equal("order", list_text(texts_of(field_of(subject, "expected_queue_order"))), list_text(names));
}

void check_log_example(const DocumentValue& example, CaseChecker& checker) {
  double sum = -number_of(example, "nice");  // tidy: foreign
  for (const DocumentField& each : field_of(example, "weighted").fields) {
    if (each.value.items.size() != 3) continue;
    FactorWeights only{};
    only = {each.value.items[1].number, 0, 0, 0, 0, 0};
    const PriorityTerms terms = weigh({each.value.items[0].number}, only);
    checker.near("term " + each.name, each.value.items[2].number, terms.terms[0], number_of(example, "tolerance"));
    sum += terms.terms[0];
  }
  checker.near("sum", number_of(example, "expected"), sum, number_of(example, "tolerance"));
}

void check_raw_priorities(const DocumentValue& file, const std::string& name, Verdicts& verdicts) {
  for (const DocumentValue& each : field_of(file, "cases").items) {
    CaseChecker checker{name + "/" + text_of(each, "id"), "priority"};
    checker.equal("priority", integer_of(each, "expected_priority"), raw_priority_of(each));
    verdicts.push_back(checker.take());
  }
  for (const DocumentValue& each : field_of(file, "queue_order_cases").items) {
    CaseChecker checker{name + "/order/" + text_of(each, "id"), "priority"};
    check_queue_order(file, each, checker);
    verdicts.push_back(checker.take());
  }
  for (const DocumentValue& each : field_of(file, "rejections").items) verdicts.push_back(check_rejection(each, name));
  if (has_field(file, "slurm_log_example")) {
    CaseChecker checker{name + "/slurm_log_example", "priority"};
    check_log_example(field_of(file, "slurm_log_example"), checker);
    verdicts.push_back(checker.take());
  }
}

void check_factor_case(const std::string& factor, const DocumentValue& each, CaseChecker& checker) {
  Result<double> got = 0.0;
  if (factor == "wait")
    got = wait_factor(number_of(each, "waited_s"), number_of(each, "max_s"));
  else if (factor == "job_size")
    got = size_factor(number_of(each, "n"), number_of(each, "N"),
                      text_of(each, "favor") == "small" ? SizeFavor::Small : SizeFavor::Large);
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
    if (got || got.error().message.find(error) == std::string::npos) checker.fail("expected the error '" + error + "'");
  } else if (!got) {
    checker.fail(to_string(got.error()));
  } else {
    checker.near("factor", number_of(each, "f"), *got, 1e-12);
  }
}

void check_six_factors(const DocumentValue& file, const std::string& name, Verdicts& verdicts) {
  const DocumentValue& source = field_of(file, "weights");
  const FactorWeights weights{number_of(source, "wait"),  number_of(source, "fair_share"), number_of(source, "qos"),
                              number_of(source, "queue"), number_of(source, "job_size"),   number_of(source, "user")};
  for (const DocumentValue& each : field_of(file, "cases").items) {
    CaseChecker checker{name + "/" + text_of(each, "id"), "priority"};
    const DocumentValue& f = field_of(each, "factors");
    const PriorityTerms got = weigh({number_of(f, "wait"), number_of(f, "fair_share"), number_of(f, "qos"),
                                     number_of(f, "queue"), number_of(f, "job_size"), number_of(f, "user")},
                                    weights);
    checker.equal("priority", integer_of(each, "expected_priority"), got.priority);
    verdicts.push_back(checker.take());
  }
  for (const DocumentField& factor : field_of(file, "factor_cases").fields)
    for (std::size_t i = 0; i < factor.value.items.size(); ++i) {
      CaseChecker checker{name + "/" + factor.name + "#" + std::to_string(i), "factor"};
      check_factor_case(factor.name, factor.value.items[i], checker);
      verdicts.push_back(checker.take());
    }
}

std::vector<double> numbers_of(const DocumentValue& list) {
  std::vector<double> numbers;
  for (const DocumentValue& each : list.items) numbers.push_back(each.number);
  return numbers;
}

/// A job is a pair of hosts and seconds.
double job_charge(const DocumentValue& job) {
  return job.items.size() == 2 ? job.items[0].number * job.items[1].number : 0;
}

void check_bins(const DocumentValue& subject, CaseChecker& checker) {
  UsageBins bins{numbers_of(field_of(subject, "bins_newest_first")), number_of(subject, "decay", 0.5)};
  if (flag_of(subject, "rotate")) bins.rotate();
  for (const DocumentValue& job : field_of(subject, "new_jobs").items) bins.charge(job_charge(job));
  checker.near("usage", number_of(subject, "expected_usage"), bins.total(), 1e-6);
  const char* name = has_field(subject, "expected_bins_correct") ? "expected_bins_correct" : "expected_bins";
  const std::vector<double> expected = numbers_of(field_of(subject, name));
  for (std::size_t i = 0; i < expected.size(); ++i)
    checker.near("bin " + std::to_string(i), expected[i], i < bins.bins().size() ? bins.bins()[i] : 0, 1e-6);
}

std::vector<BilledAmount> billed(const DocumentValue& amounts, const DocumentValue& weights) {
  std::vector<BilledAmount> all;
  for (const DocumentField& weight : weights.fields)
    all.push_back({number_of(amounts, weight.name), weight.value.number});
  return all;
}

void check_roll_up(const DocumentValue& subject, CaseChecker& checker) {
  AccountTree tree;
  tree.accounts.push_back({"root", kNone});
  tree.names.emplace_back("root");
  for (const DocumentField& account : field_of(subject, "example").fields) {
    const auto parent = static_cast<std::uint32_t>(tree.accounts.size());
    tree.accounts.push_back({account.name, 0});
    tree.names.push_back(account.name);
    for (const DocumentField& user : account.value.fields) {
      tree.accounts.push_back({user.name, parent, true, 1, user.value.number});
      tree.names.push_back(account.name + "/" + user.name);
    }
  }
  std::vector<double> usages;
  for (const AccountMeasure& each : measure_accounts(tree.accounts)) usages.push_back(each.usage);
  compare_values(tree, usages, field_of(subject, "expected"), 1e-6, "usage", checker);
}

void check_usage_case(const DocumentValue& subject, CaseChecker& checker) {
  const std::string mode = text_of(subject, "mode");
  if (mode == "bins_rotate") return check_bins(subject, checker);
  if (mode == "charge_at_completion") {
    UsageTally tally{0};
    for (const DocumentValue& job : field_of(subject, "jobs").items) tally.charge(job_charge(job), 0);
    return checker.near("usage", number_of(subject, "expected_usage"), tally.value(), 1e-6);
  }
  if (mode == "weighted_charge") {
    const double rate = billable(billed(field_of(subject, "amounts"), field_of(subject, "weights")), Billing::Sum);
    return checker.near("usage", number_of(subject, "expected_usage"), rate * number_of(subject, "elapsed_s"), 1e-6);
  }
  if (mode == "bins_raw_power") {
    // Raw bins: the one of the period before last has faded twice, and so on; time is counted in half-lives.
    const std::vector<double> expected = numbers_of(field_of(subject, "decayed_bins"));
    double sum = number_of(subject, "current");
    double age = 0;
    for (const double bin : numbers_of(field_of(subject, "bins_newest_first"))) {
      const double faded = UsageTally{1, bin}.value_at(++age);
      sum += faded;
      checker.near("bin",
                   static_cast<std::size_t>(age) <= expected.size() ? expected[static_cast<std::size_t>(age) - 1] : 0,
                   faded, 1e-6);
    }
    return checker.near("usage", number_of(subject, "expected_usage"), sum, 1e-6);
  }
  if (has_field(subject, "table")) {
    for (const DocumentValue& row : field_of(subject, "table").items)
      checker.equal("bins", integer_of(row, "bins"),
                    bin_count(number_of(row, "reset_s"), number_of(row, "half_life_s")));
    return;
  }
  if (has_field(subject, "example")) return check_roll_up(subject, checker);
  checker.fail("the mode '" + mode + "' is not understood");
}

void check_continuous(const DocumentValue& file, CaseChecker& checker) {
  for (const DocumentValue& each : field_of(file, "pure_decay").items)
    checker.near(
        "decay", number_of(each, "expected"),
        UsageTally{number_of(each, "half_life_s"), number_of(each, "initial")}.value_at(number_of(each, "dt_s")), 1e-6);
  for (const DocumentValue& each : field_of(field_of(file, "running_job_exact_charge"), "cases").items) {
    UsageTally tally{number_of(each, "half_life_s")};
    const double rate = number_of(each, "rate_units_per_s");
    const double seconds = number_of(each, "duration_s");
    tally.charge_rate(rate, 0, seconds);
    checker.near("running job", number_of(each, "expected_exact_at_end"), tally.value(), 1e-5);
    checker.near("lump", number_of(each, "lump_sum_at_end"), rate * seconds, 1e-6);
  }
  const DocumentValue& parts = field_of(file, "composition");
  if (parts.is_table()) {
    constexpr double kHour = 3600;
    constexpr double kRate = 8;
    UsageTally cut{number_of(parts, "half_life_s")};
    cut.charge_rate(kRate, 0, kHour);
    checker.near("first part", number_of(parts, "first"), cut.value(), 1e-6);
    checker.near("first part, faded", number_of(parts, "first_decayed_23h"), cut.value_at(24 * kHour), 1e-6);
    cut.charge_rate(kRate, kHour, 24 * kHour);
    UsageTally whole{number_of(parts, "half_life_s")};
    whole.charge_rate(kRate, 0, 24 * kHour);
    checker.near("sum of parts", number_of(parts, "sum"), cut.value(), 1e-6);
    checker.near("whole", number_of(parts, "whole"), whole.value(), 1e-6);
  }
  const DocumentValue& periods = field_of(file, "slurm_period_factor");
  if (periods.is_table()) {
    const double factor = decay_factor(number_of(periods, "calc_period_s"), number_of(periods, "half_life_s"));
    checker.near("factor of a period", number_of(periods, "D"), factor, 1e-12);
    UsageTally tally{number_of(periods, "half_life_s"), 1};
    for (int i = 1; i <= 2016; ++i) tally.advance(i * number_of(periods, "calc_period_s"));
    checker.near("after 2016 periods", number_of(periods, "after_2016_periods"), tally.value(), 1e-9);
  }
  constexpr double kDay = 86400;
  for (const DocumentValue& row : field_of(field_of(file, "published_table"), "days_value").items)
    if (row.items.size() == 2)
      checker.near("published table", row.items[1].number,
                   UsageTally{7 * kDay, 1000}.value_at(row.items[0].number * kDay), 1e-6);
}

void check_usage(const DocumentValue& file, const std::string& name, Verdicts& verdicts) {
  for (const DocumentValue& each : field_of(file, "flux_cases").items) {
    CaseChecker checker{name + "/" + text_of(each, "id"), "usage"};
    check_usage_case(each, checker);
    verdicts.push_back(checker.take());
  }
  CaseChecker continuous{name + "/continuous", "usage"};
  check_continuous(field_of(file, "continuous"), continuous);
  verdicts.push_back(continuous.take());
  const DocumentValue& billing = field_of(file, "billing");
  CaseChecker checker{name + "/billing", "usage"};
  for (const auto& [list, mode] : {std::pair{"sum_mode", Billing::Sum}, std::pair{"max_mode", Billing::Max}})
    for (const DocumentValue& each : field_of(billing, list).items)
      checker.near(list, number_of(each, "expected"), billable(billed(each, field_of(billing, "weights")), mode), 1e-9);
  verdicts.push_back(checker.take());
}

std::optional<std::uint32_t> depth_of(const std::string& policy) {
  if (policy == "fcfs") return 0;
  if (policy == "easy") return 1;
  if (policy == "conservative") return kReserveAll;
  std::uint32_t depth = 0;
  if (!policy.starts_with("hybrid_")) return std::nullopt;
  const char* begin = policy.data() + std::string_view{"hybrid_"}.size();
  if (std::from_chars(begin, policy.data() + policy.size(), depth).ec != std::errc{}) return std::nullopt;
  return depth;
}

void check_backfill_policy(const DocumentValue& subject, const DocumentField& expected, CaseChecker& checker) {
  const std::optional<std::uint32_t> depth = depth_of(expected.name);
  if (!depth) return checker.fail("the policy '" + expected.name + "' is not understood");
  const auto at = [](double seconds) { return Instant{Duration{scaled(seconds, 1e9)}}; };
  const Instant now = at(number_of(subject, "now"));
  std::int64_t free = integer_of(subject, "nodes");
  std::vector<SlotsReturn> returns;
  for (const DocumentValue& each : field_of(subject, "running").items) {
    returns.push_back({at(number_of(each, "ends")), integer_of(each, "nodes")});
    free -= returns.back().slots;
  }
  Backfill policy{AvailabilityProfile{now, free, std::move(returns)}, now, *depth};
  std::vector<std::string> starts;
  std::vector<std::string> reservations;
  for (const DocumentValue& job : field_of(subject, "queue_in_priority_order").items) {
    const Duration limit = has_field(job, "wall") ? Duration{scaled(number_of(job, "wall"), 1e9)} : Duration::max();
    if (limit < Duration{0}) return checker.fail("the wall time of '" + text_of(job, "id") + "' is negative");
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
  for (const DocumentField& each : field_of(expected.value, "reservations").fields)
    promised.push_back(each.name + " at " + std::to_string(scaled(each.value.number, 1000)) + " ms");
  checker.equal(expected.name + " reservations", set_text(promised), set_text(reservations));
}

void check_backfill(const DocumentValue& file, const std::string& name, Verdicts& verdicts) {
  for (const DocumentValue& each : field_of(file, "cases").items) {
    CaseChecker checker{name + "/" + text_of(each, "id"), "backfill"};
    for (const DocumentField& expected : field_of(each, "expected").fields)
      check_backfill_policy(each, expected, checker);
    verdicts.push_back(checker.take());
  }
}

}  // namespace

bool check_factor_cases(const DocumentValue& file, const std::string& name, Verdicts& verdicts) {
  const std::string kind = text_of(file, "kind");
  if (kind == "fairshare_tree")
    check_tree(file, name, verdicts);
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

}  // namespace penstock::cli
