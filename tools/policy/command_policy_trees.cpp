// Reference cases of fair share: trees of accounts and users with their shares and usage, and the factor of each.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "supervisor/policy/sharing/account_factor.hpp"
#include "tools/policy/command_policy_case.hpp"

namespace penstock::tools {
namespace {

using namespace penstock::policy;

/// Printed values are exact to half of their last digit, the fourth.
constexpr double kPrintedExactly = 5e-5;

/// A tree of the file as a flat list, with a name for each entry.
struct AccountTree {
  std::vector<Account> accounts;
  std::vector<std::string> names;  ///< `account`, or `account/user`.
  std::int64_t users = 0;
};

void check_account(const cli::DocumentValue& source, const Account& account, CaseChecker& checker) {
  const std::string type = text_of(source, "type", "account");
  const std::string name = "'" + account.name + "'";
  if (type != "account" && type != "user") checker.fail(name + " is neither account nor user, but '" + type + "'");
  if (account.user && !field_of(source, "children").items.empty())
    checker.fail(name + " is a user and has others below");
  if (!account.user && account.usage != 0) checker.fail(name + " is an account: its usage is that of its users");
  if (account.user && account.parent == kNone) checker.fail(name + " is a user without an account");
  std::vector<std::string> names;
  for (const cli::DocumentValue& child : field_of(source, "children").items) names.push_back(text_of(child, "name"));
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) checker.fail("there are two '" + *twice + "' below " + name);
}

AccountTree tree_of(const cli::DocumentValue& root, CaseChecker& checker) {
  AccountTree tree;
  std::vector<std::pair<const cli::DocumentValue*, std::uint32_t>> open{{&root, kNone}};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto [source, parent] = open[i];
    Account account;
    account.name = text_of(*source, "name");
    account.parent = parent;
    account.user = text_of(*source, "type") == "user";
    account.shares = integer_of(*source, "shares", 1);
    account.usage = number_of(*source, "usage");
    check_account(*source, account, checker);
    tree.users += account.user ? 1 : 0;
    tree.names.push_back(account.user && parent != kNone ? tree.accounts[parent].name + "/" + account.name
                                                         : account.name);
    tree.accounts.push_back(std::move(account));
    for (const cli::DocumentValue& child : field_of(*source, "children").items)
      open.emplace_back(&child, static_cast<std::uint32_t>(i));
  }
  return tree;
}

/// The position of the entry called `name`; a user may also be named without the account, if the name is unique.
std::optional<std::size_t> position_of(const AccountTree& tree, const std::string& name, const std::string& what,
                                       CaseChecker& checker) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < tree.names.size(); ++i)
    if (tree.names[i] == name) found.push_back(i);
  if (found.empty())
    for (std::size_t i = 0; i < tree.names.size(); ++i)
      if (tree.accounts[i].name == name) found.push_back(i);
  if (found.size() == 1) return found.front();
  checker.fail(what + ": there is " + (found.empty() ? "no '" : "more than one '") + name + "'");
  return std::nullopt;
}

/// The common arguments of all checks of one file.
struct TreeCase {
  const cli::DocumentValue& file;
  const AccountTree& tree;
  double tolerance;
  CaseChecker& checker;
};

void compare_values(const TreeCase& subject, const std::vector<double>& got, const cli::DocumentValue& expected,
                    const std::string& what) {
  for (const cli::DocumentField& each : expected.fields) {
    const auto position = position_of(subject.tree, each.name, what, subject.checker);
    // A value of null is not checked.
    if (position && each.value.is_number())
      subject.checker.near(what + " of " + each.name, each.value.number, got[*position], subject.tolerance);
  }
}

bool parse_algorithm(const std::string& name, FactorOptions& options) {
  constexpr std::string_view kBalanced = "balanced_lambda_";
  if (name == "flux_rank") return options.kind = FairShareFactor::FluxRank, true;
  if (name == "fair_tree") return options.kind = FairShareFactor::FairTree, true;
  if (name == "classic") return options.kind = FairShareFactor::Classic, true;
  if (name == "depth_oblivious") return options.kind = FairShareFactor::DepthOblivious, true;
  options.kind = FairShareFactor::Balanced;
  if (name == "balanced") return true;
  if (!name.starts_with(kBalanced)) return false;
  const char* end = name.data() + name.size();
  const auto [last, failure] = std::from_chars(name.data() + kBalanced.size(), end, options.lambda);
  return failure == std::errc{} && last == end && options.lambda >= 0 && options.lambda <= 1;
}

FactorOptions options_of(const cli::DocumentValue& file, FairShareFactor kind) {
  FactorOptions options;
  options.kind = kind;
  if (has_field(file, "usage_total_override")) options.usage_total = number_of(file, "usage_total_override");
  return options;
}

void check_factors(const TreeCase& subject, const std::string& algorithm, const cli::DocumentValue& expected) {
  FactorOptions options = options_of(subject.file, FairShareFactor::Balanced);
  if (!parse_algorithm(algorithm, options))
    return subject.checker.fail("the algorithm '" + algorithm + "' is not understood");
  // A tree without users has no factors.
  if (subject.tree.users == 0) subject.checker.count_comparison();
  if (expected.fields.empty() && subject.tree.users > 0)
    return subject.checker.fail(algorithm + ": nothing to compare with");
  compare_values(subject, account_factors(subject.tree.accounts, options), expected, algorithm);
}

void check_order(const AccountTree& tree, const cli::DocumentValue& groups, CaseChecker& checker) {
  const std::vector<double> ranks = account_factors(tree.accounts, {FairShareFactor::FluxRank, 0.5, std::nullopt});
  double last = 2;
  std::int64_t named = 0;
  for (const cli::DocumentValue& group : groups.items) {
    double value = -1;
    for (const std::string& name : texts_of(group)) {
      const auto position = position_of(tree, name, "order", checker);
      if (!position) return;
      if (value >= 0) checker.near("rank of " + name + ", as its group", value, ranks[*position], 1e-9);
      value = ranks[*position];
      ++named;
    }
    if (!(value < last)) checker.fail("order: a group is not behind the one before it");
    last = value;
  }
  checker.equal("users in the order", tree.users, named);
}

/// Effective usage is the exponent of the classic factor, times the shares. The root has used all.
std::vector<double> effective_usage(const cli::DocumentValue& file, const AccountTree& tree,
                                    const std::vector<AccountMeasure>& measures) {
  const std::vector<double> factors = account_factors(tree.accounts, options_of(file, FairShareFactor::Classic));
  std::vector<double> usages(tree.accounts.size(), 1);
  for (std::size_t i = 1; i < usages.size(); ++i) usages[i] = -measures[i].share * std::log2(factors[i]);
  return usages;
}

/// Spec: policy-flux 5.4.1.
double level_weight(const Account& account, const AccountMeasure& it) {
  constexpr double kNoUsage = 1e-9;
  if (account.shares == 0) return 0;
  if (it.usage < kNoUsage) return HUGE_VAL;
  return it.sibling_share / (it.usage / it.sibling_usage);
}

void check_level_weight(const std::string& name, const cli::DocumentValue& expected, double got, double tolerance,
                        CaseChecker& checker) {
  if (expected.is_text() && expected.text == "inf") {
    checker.count_comparison();
    if (!std::isinf(got)) checker.fail("level weight of " + name + ": expected inf, got " + std::to_string(got));
  } else if (expected.is_number()) {
    checker.near("level weight of " + name, expected.number, got, tolerance * std::max(1.0, std::abs(expected.number)));
  } else if (expected.kind != cli::DocumentValue::Kind::Null) {
    checker.fail("level weight of " + name + ": is neither a number nor \"inf\"");
  }
}

void check_measures(const TreeCase& subject) {
  const auto& [file, tree, tolerance, checker] = subject;
  const std::vector<AccountMeasure> measures = measure_accounts(tree.accounts);
  double total = 0;
  for (const Account& account : tree.accounts) total += account.user ? account.usage : 0;
  std::vector<double> shares;
  std::vector<double> usages;
  for (const AccountMeasure& each : measures) {
    shares.push_back(each.share);
    usages.push_back(total > 0 ? each.usage / total : 0);
  }
  compare_values(subject, shares, field_of(file, "published_norm_shares"), "shares");
  compare_values(subject, usages, field_of(file, "published_norm_usage"), "usage");
  const std::vector<double> effective = effective_usage(file, tree, measures);
  compare_values({file, tree, tolerance + kPrintedExactly, checker}, effective,
                 field_of(file, "published_effective_usage"), "effective usage");
  compare_values(subject, effective, field_of(file, "derived_effective_usage"), "effective usage");
  for (const cli::DocumentValue& each : field_of(file, "intermediate").items) {
    const auto position = position_of(tree, text_of(each, "node"), "intermediate", checker);
    if (!position) continue;
    const std::string& name = tree.names[*position];
    if (has_field(each, "norm_shares"))
      checker.near("shares of " + name, number_of(each, "norm_shares"), shares[*position], tolerance);
    if (has_field(each, "norm_usage"))
      checker.near("usage of " + name, number_of(each, "norm_usage"), usages[*position], tolerance);
    check_level_weight(name, field_of(each, "level_fs"), level_weight(tree.accounts[*position], measures[*position]),
                       tolerance, checker);
  }
}

}  // namespace

CaseVerdict check_tree(const cli::DocumentValue& file, const std::string& id) {
  CaseChecker checker{id, "fairshare_tree"};
  if (!has_field(file, "tree")) checker.fail("the file has no `tree`");
  const AccountTree tree = tree_of(field_of(file, "tree"), checker);
  const double tolerance = number_of(file, "tolerance", 1e-6);
  if (field_of(file, "expected").fields.empty()) checker.fail("nothing to compare with");
  // Without a valid tree no value can be checked.
  if (!checker.passed()) return checker.take();
  const TreeCase subject{file, tree, tolerance, checker};
  for (const cli::DocumentField& each : field_of(file, "expected").fields)
    check_factors(subject, each.name, each.value);
  const cli::DocumentValue& published = field_of(file, "published");
  // Published values are rounded to six digits.
  if (published.is_table())
    check_factors({file, tree, 2 * tolerance, checker}, text_of(published, "algorithm"), field_of(published, "values"));
  if (has_field(file, "required_by_seed"))
    check_factors(subject, "balanced_lambda_0.5", field_of(file, "required_by_seed"));
  if (field_of(file, "expected_order_flux_rank").is_list())
    check_order(tree, field_of(file, "expected_order_flux_rank"), checker);
  check_measures(subject);
  return checker.take();
}

}  // namespace penstock::tools
