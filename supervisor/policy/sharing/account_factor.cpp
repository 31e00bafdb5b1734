#include "supervisor/policy/sharing/account_factor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock::policy {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// Less usage than this is none.
constexpr double kNoUsage = 1e-9;
/// Weights closer than a billionth of a doubling are equal: an order that is transitive, unlike a test on doubles.
constexpr double kKeySteps = 1e9;

std::vector<std::uint32_t> parents_first(const std::vector<Account>& accounts) {
  std::vector<std::vector<std::uint32_t>> children(accounts.size());
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < accounts.size(); ++i)
    if (accounts[i].parent == kNone)
      order.push_back(i);
    else
      children[accounts[i].parent].push_back(i);
  for (std::size_t i = 0; i < order.size(); ++i)
    order.insert(order.end(), children[order[i]].begin(), children[order[i]].end());
  return order;
}

/// The degree of service of an account below the root, from its parent's.
class Service {
 public:
  Service(const FactorOptions& options, double total) : options_(options), total_(total) {}

  double below(const AccountMeasure& it, double parent, bool first_tier) const {
    if (it.share <= 0) return kInfinite;
    const double usage = total_ > 0 ? it.usage / total_ : 0;
    const double own = usage / it.share;
    switch (options_.kind) {
      case FairShareFactor::Classic: return classic(it, usage, parent, first_tier);
      case FairShareFactor::DepthOblivious: return first_tier ? own : oblivious(it, parent);
      default: return first_tier ? own : options_.lambda * own + (1 - options_.lambda) * parent;
    }
  }

 private:
  /// Here `parent` and the result are effective usage.
  static double classic(const AccountMeasure& it, double usage, double parent, bool first_tier) {
    return first_tier ? usage : usage + (parent - usage) * it.sibling_share;
  }
  double oblivious(const AccountMeasure& it, double parent) const {
    if (it.usage <= 0 || it.sibling_usage <= 0) return 0;
    const double own = (it.usage / it.share) / (it.sibling_usage / it.sibling_shares);
    if (parent <= 0) return 0;
    const bool same_side = std::log(parent) * std::log(own) >= 0;
    const double damped = 5 * std::log(parent);
    return parent * std::pow(own, same_side ? 1 : 1 / (1 + damped * damped));
  }

  const FactorOptions& options_;
  double total_;
};

std::int64_t weight_key(const Account& account, const AccountMeasure& it) {
  if (account.shares == 0) return std::numeric_limits<std::int64_t>::min();
  if (it.usage < kNoUsage) return std::numeric_limits<std::int64_t>::max();
  return std::llround(kKeySteps * std::log2(it.sibling_share / (it.usage / it.sibling_usage)));
}

/// Users, and accounts with one anywhere below.
std::vector<bool> accounts_with_users(const std::vector<Account>& accounts) {
  std::vector<bool> peopled(accounts.size(), false);
  const std::vector<std::uint32_t> order = parents_first(accounts);
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    peopled[*node] = peopled[*node] || accounts[*node].user;
    if (peopled[*node] && accounts[*node].parent != kNone) peopled[accounts[*node].parent] = true;
  }
  return peopled;
}

/// Users in the order of a walk that always goes to the least served child. Spec: policy-flux 5.4.
class RankWalk {
 public:
  RankWalk(const std::vector<Account>& accounts, bool account_ties) : accounts_(accounts), account_ties_(account_ties) {
    const std::vector<AccountMeasure> measures = measure_accounts(accounts);
    children_.resize(accounts.size());
    const std::vector<bool> peopled = accounts_with_users(accounts);
    for (std::uint32_t i = 0; i < accounts.size(); ++i) {
      keys_.push_back(weight_key(accounts[i], measures[i]));
      users_ += accounts[i].user ? 1 : 0;
      // Empty accounts are passed over, also where they would end a tie.
      if (accounts[i].parent != kNone && peopled[i]) children_[accounts[i].parent].push_back(i);
    }
  }

  std::vector<double> ranks() {
    std::vector<double> factors(accounts_.size(), 0);
    left_ = rank_ = users_;
    for (std::uint32_t i = 0; i < accounts_.size(); ++i)
      if (accounts_[i].parent == kNone) open_.push_back({{i}, false});
    while (!open_.empty()) {
      const Visit visit = std::move(open_.back());
      open_.pop_back();
      if (accounts_[visit.nodes[0]].user)
        rank(visit, factors);
      else
        expand(visit);
    }
    return factors;
  }

 private:
  /// Users, or accounts, of equal weight.
  struct Visit {
    std::vector<std::uint32_t> nodes;
    bool tied = false;  ///< With the user ranked just before.
  };

  void rank(const Visit& visit, std::vector<double>& factors) {
    if (!visit.tied) rank_ = left_;
    for (const std::uint32_t user : visit.nodes)
      factors[user] = static_cast<double>(rank_) / static_cast<double>(users_);
    left_ -= static_cast<std::int64_t>(visit.nodes.size());
  }

  /// The children of all of them as one list; the first is put on top.
  void expand(const Visit& visit) {
    std::vector<std::uint32_t> list;
    for (const std::uint32_t account : visit.nodes)
      list.insert(list.end(), children_[account].begin(), children_[account].end());
    std::stable_sort(list.begin(), list.end(), [this](std::uint32_t a, std::uint32_t b) {
      return keys_[a] != keys_[b] ? keys_[a] > keys_[b] : accounts_[a].user && !accounts_[b].user;
    });
    std::vector<Visit> visits;
    for (std::size_t begin = 0; begin < list.size();) {
      std::size_t end = begin;
      const auto same = [&](std::uint32_t other) {
        return keys_[other] == keys_[list[begin]] && accounts_[other].user == accounts_[list[begin]].user;
      };
      while (end < list.size() && same(list[end])) ++end;
      const bool ties_with_user = account_ties_ && begin > 0 && accounts_[list[begin - 1]].user &&
                                  !accounts_[list[begin]].user && keys_[list[begin - 1]] == keys_[list[begin]];
      visits.push_back(
          {{list.begin() + static_cast<std::ptrdiff_t>(begin), list.begin() + static_cast<std::ptrdiff_t>(end)},
           ties_with_user || (begin == 0 && visit.tied)});
      begin = end;
    }
    open_.insert(open_.end(), std::make_move_iterator(visits.rbegin()), std::make_move_iterator(visits.rend()));
  }

  const std::vector<Account>& accounts_;
  const bool account_ties_;
  std::vector<std::int64_t> keys_;
  std::vector<std::vector<std::uint32_t>> children_;
  std::vector<Visit> open_;
  std::int64_t users_ = 0;
  std::int64_t left_ = 0;
  std::int64_t rank_ = 0;
};

}  // namespace

std::vector<AccountMeasure> measure_accounts(const std::vector<Account>& accounts) {
  std::vector<AccountMeasure> measures(accounts.size());
  const std::vector<std::uint32_t> order = parents_first(accounts);
  std::vector<std::int64_t> child_shares(accounts.size(), 0);
  std::vector<double> child_usage(accounts.size(), 0);
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    const Account& account = accounts[*node];
    measures[*node].usage = account.user ? account.usage : child_usage[*node];
    if (account.parent == kNone) continue;
    child_shares[account.parent] += account.shares;
    child_usage[account.parent] += measures[*node].usage;
  }
  for (const std::uint32_t node : order) {
    AccountMeasure& it = measures[node];
    const std::uint32_t parent = accounts[node].parent;
    if (parent == kNone) {
      it.share = it.sibling_share = it.sibling_shares = 1;
      it.sibling_usage = it.usage;
      continue;
    }
    if (child_shares[parent] > 0)
      it.sibling_share = static_cast<double>(accounts[node].shares) / static_cast<double>(child_shares[parent]);
    it.share = measures[parent].share * it.sibling_share;
    it.sibling_shares = measures[parent].share;
    it.sibling_usage = child_usage[parent];
  }
  return measures;
}

std::vector<double> account_factors(const std::vector<Account>& accounts, const FactorOptions& options) {
  if (options.kind == FairShareFactor::FairTree || options.kind == FairShareFactor::FluxRank)
    return RankWalk{accounts, options.kind == FairShareFactor::FairTree}.ranks();
  const std::vector<AccountMeasure> measures = measure_accounts(accounts);
  double total = 0;
  for (std::size_t i = 0; i < accounts.size(); ++i)
    if (accounts[i].parent == kNone) total += measures[i].usage;
  const Service service{options, options.usage_total.value_or(total)};
  std::vector<double> degrees(accounts.size(), 1);
  std::vector<double> factors(accounts.size(), 1);
  for (const std::uint32_t node : parents_first(accounts)) {
    const std::uint32_t parent = accounts[node].parent;
    if (parent == kNone) continue;
    const bool first_tier = accounts[parent].parent == kNone;
    degrees[node] = service.below(measures[node], degrees[parent], first_tier);
    const double exponent =
        options.kind == FairShareFactor::Classic ? degrees[node] / measures[node].share : degrees[node];
    factors[node] = measures[node].share <= 0 ? 0 : std::exp2(-exponent);
  }
  return factors;
}

}  // namespace penstock::policy
