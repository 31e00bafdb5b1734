#include "common/protocol/policy_rules.hpp"

#include <algorithm>

#include "common/base/nearest_name.hpp"
#include "common/protocol/graph.hpp"
#include "common/protocol/policy_config.hpp"

namespace penstock {
namespace {

/// The account of users without one of their own.
constexpr const char* kAccountOfOthers = "*";

/// Spec: policy-flux 7.
const std::array<QosConfig, 3>& own_levels() {
  static const std::array<QosConfig, 3> levels{QosConfig{.name = "expedite", .factor = 1000, .open = false},
                                               QosConfig{.name = "normal", .factor = 500},
                                               QosConfig{.name = "standby", .factor = 0, .exempt = true}};
  return levels;
}

template <class Entry>
const Entry* find(const std::vector<Entry>& entries, const std::string& name) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Error mistake(const std::string& subject, std::string message, std::string remedy = {}) {
  return {ErrorCode::InvalidArgument, subject, std::move(message), std::move(remedy)};
}

template <class Entry>
Result<void> check_names(const char* kind, const std::vector<Entry>& entries) {
  if (entries.size() > kPolicyEntriesMax)
    return Error{ErrorCode::LimitExceeded, kind, "there are more than " + std::to_string(kPolicyEntriesMax), {}};
  for (const Entry& entry : entries) {
    const std::string subject = std::string{kind} + " '" + entry.name + "'";
    if (entry.name.empty() || entry.name.size() > 255) return mistake(subject, "needs a name of 1 to 255 bytes");
    if (find(entries, entry.name) != &entry) return mistake(subject, "is there twice");
  }
  return {};
}

Result<void> check_within(const std::string& subject, const char* what, std::int64_t amount, std::int64_t most) {
  if (amount >= 0 && amount <= most) return {};
  return mistake(subject, std::string{what} + " is " + std::to_string(amount),
                 "it must be from 0 to " + std::to_string(most));
}

/// For a job that may never be submitted, or never begin, the access to its queue should be denied instead.
Result<void> check_limits(const std::string& subject, const JobLimits& limits) {
  for (const LimitField& field : kLimitFields) {
    const std::int64_t limit = limits.*field.amount;
    if (limit == kUnbounded) continue;
    PENSTOCK_TRY(check_within(subject, field.name, limit, kPolicyAmountMax));
    if (field.of_jobs && limit == 0)
      return mistake(subject, std::string{field.name} + " is 0: nothing could ever run",
                     "leave it out, or list the users of a queue or a level");
  }
  if (limits.job_slots_max != kUnbounded && limits.job_slots_min > limits.job_slots_max)
    return mistake(subject, "job_slots_min is above job_slots_max: no job could be submitted", "lower it");
  return {};
}

Result<void> check_accounts(const PolicyConfig& config, const std::string& subject,
                            const std::vector<std::string>& accounts) {
  for (const std::string& account : accounts) {
    if (find_account(config, account) >= 0) continue;
    NearestName nearest{account};
    for (const AccountConfig& each : config.accounts) nearest.offer(each.name);
    return mistake(subject, "names account '" + account + "', which is not there", nearest.remedy());
  }
  return {};
}

Result<void> check_factors(const PoolConfig& pool) {
  const FactorConfig& factors = pool.factors;
  const std::string subject = "factors of pool '" + pool.name + "'";
  for (const auto& [what, weight] : {std::pair{"wait", factors.wait},
                                     {"fair_share", factors.fair_share},
                                     {"qos", factors.qos},
                                     {"queue", factors.queue},
                                     {"size", factors.size},
                                     {"user", factors.user}})
    PENSTOCK_TRY(check_within(subject, what, weight, kPolicyAmountMax));
  PENSTOCK_TRY(check_within(subject, "lambda in thousandths", factors.lambda, 1000));
  if (factors.wait_max <= Duration::zero())
    return mistake(subject, "wait_max is not above 0", "a wait of 0 switches the term off");
  if (std::find(kSizeFavorWords.begin(), kSizeFavorWords.end(), factors.size_favor) == kSizeFavorWords.end())
    return mistake(subject, "size_favor is '" + factors.size_favor + "'", "use large or small");
  if (std::find(kFairShareFactorWords.begin(), kFairShareFactorWords.end(), factors.fair_share_factor) ==
      kFairShareFactorWords.end())
    return mistake(subject, "fair_share_factor is '" + factors.fair_share_factor + "'",
                   "use balanced, classic, depth_oblivious, fair_tree or flux_rank");
  return {};
}

Result<void> check_usage(const UsageConfig& usage) {
  for (const auto& [what, weight] : {std::pair{"cpu in thousandths", usage.cpu},
                                     {"gpu in thousandths", usage.gpu},
                                     {"memory in thousandths", usage.memory}})
    PENSTOCK_TRY(check_within("usage", what, weight, kUsageWeightMax));
  if (std::find(kBillingWords.begin(), kBillingWords.end(), usage.billing) == kBillingWords.end())
    return mistake("usage", "billing is '" + usage.billing + "'", "use sum or max");
  return {};
}

bool is_granted(const PolicyConfig& config, const QosConfig& level, const std::string& user, std::int64_t account) {
  return level.open || contains(level.users, user) || is_below(config, account, level.accounts);
}

/// Whether a queue, or a project, is open to the user: both lists empty, or one of them has the user.
template <class Entry>
bool is_listed(const PolicyConfig& config, const Entry& entry, const std::string& user, std::int64_t account) {
  return (entry.users.empty() && entry.accounts.empty()) || contains(entry.users, user) ||
         is_below(config, account, entry.accounts);
}

void add_word(std::string& words, const std::string& word) { words += (words.empty() ? "" : ", ") + word; }

std::string levels_for(const PolicyConfig& config, const std::string& user, std::int64_t account) {
  std::string words;
  for (const QosConfig& own : own_levels())
    if (is_granted(config, *find_qos(config, own.name), user, account)) add_word(words, own.name);
  for (const QosConfig& level : config.qos) {
    const bool is_own = std::any_of(own_levels().begin(), own_levels().end(),
                                    [&](const QosConfig& own) { return own.name == level.name; });
    if (!is_own && is_granted(config, level, user, account)) add_word(words, level.name);
  }
  return words.empty() ? "no level is open to this user" : "use one of: " + words;
}

std::string queues_for(const PolicyConfig& config, const std::string& user, std::int64_t account) {
  std::string words;
  for (const QueueConfig& queue : config.queues)
    if (is_listed(config, queue, user, account)) add_word(words, queue.name);
  return words.empty() ? "name none: no queue is open to this user" : "use one of: " + words;
}

/// The levels that take slots, directly or through others, from `level`'s own: none may be itself. Depth-first, with
/// `path` of the levels on the way.
Result<void> check_preempts(const PolicyConfig& config, const std::string& level, std::vector<std::string>& path) {
  const std::string subject = "qos '" + path.front() + "'";
  for (const std::string& other : find_qos(config, level)->preempts) {
    if (other.empty() || find_qos(config, other) == nullptr)
      return mistake(subject, "preempts '" + other + "', which is no level", "name levels of [[policy.qos]]");
    if (other == path.front())
      return mistake(subject, "would preempt itself" + (path.size() > 1 ? " by way of '" + level + "'" : std::string{}),
                     "leave one of them out of preempts: jobs would take slots from each other for ever");
    if (contains(path, other)) continue;
    path.push_back(other);
    PENSTOCK_TRY(check_preempts(config, other, path));
  }
  return {};
}

}  // namespace

Result<void> check_rules(const PolicyConfig& config) {
  PENSTOCK_TRY(check_usage(config.usage));
  PENSTOCK_TRY(check_names("qos", config.qos));
  PENSTOCK_TRY(check_names("queue", config.queues));
  PENSTOCK_TRY(check_names("user", config.users));
  for (const QosConfig& level : config.qos) {
    const std::string subject = "qos '" + level.name + "'";
    PENSTOCK_TRY(check_within(subject, "its factor in thousandths", level.factor, 1000));
    PENSTOCK_TRY(check_within(subject, "its usage_factor in thousandths", level.usage_factor, kPolicyAmountMax));
    PENSTOCK_TRY(check_accounts(config, subject, level.accounts));
    PENSTOCK_TRY(check_limits(subject, level.limits));
    if (level.open && !(level.users.empty() && level.accounts.empty()))
      return mistake(subject, "is open to everybody and also names users or accounts", "leave out one of them");
    std::vector<std::string> path{level.name};
    PENSTOCK_TRY(check_preempts(config, level.name, path));
  }
  for (const QueueConfig& queue : config.queues) {
    const std::string subject = "queue '" + queue.name + "'";
    PENSTOCK_TRY(check_within(subject, "its priority", queue.priority, kPolicyAmountMax));
    PENSTOCK_TRY(check_accounts(config, subject, queue.accounts));
    PENSTOCK_TRY(check_limits(subject, queue.limits));
  }
  for (const UserConfig& user : config.users) PENSTOCK_TRY(check_limits("user '" + user.name + "'", user.limits));
  for (const AccountConfig& account : config.accounts)
    PENSTOCK_TRY(check_limits("account '" + account.name + "'", account.limits));
  for (const ProjectConfig& project : config.projects)
    PENSTOCK_TRY(check_accounts(config, "project '" + project.name + "'", project.accounts));
  for (const PoolConfig& pool : config.pools) PENSTOCK_TRY(check_factors(pool));
  return {};
}

const QosConfig* find_qos(const PolicyConfig& config, const std::string& name) {
  const std::string& wanted = name.empty() ? own_levels()[1].name : name;
  if (const QosConfig* configured = find(config.qos, wanted)) return configured;
  for (const QosConfig& own : own_levels())
    if (own.name == wanted) return &own;
  return nullptr;
}

std::uint32_t level_position(const PolicyConfig& config, const std::string& name) {
  const auto is_named = [&](const QosConfig& level) { return level.name == name; };
  const auto configured = std::find_if(config.qos.begin(), config.qos.end(), is_named) - config.qos.begin();
  if (configured < std::ssize(config.qos)) return static_cast<std::uint32_t>(configured);
  const auto own = std::find_if(own_levels().begin(), own_levels().end(), is_named) - own_levels().begin();
  return static_cast<std::uint32_t>(configured + own);
}

std::vector<std::uint32_t> level_ranks(const PolicyConfig& config) {
  std::vector<std::uint32_t> ranks(config.qos.size() + own_levels().size(), 0);
  // Chains are no longer than there are levels: `check_rules` refuses circles.
  for (std::size_t round = 0; round < config.qos.size(); ++round)
    for (std::size_t i = 0; i < config.qos.size(); ++i)
      for (const std::string& other : config.qos[i].preempts)
        ranks[i] = std::max(ranks[i], ranks[level_position(config, other)] + 1);
  return ranks;
}

std::vector<std::vector<bool>> preempting_levels(const PolicyConfig& config) {
  if (std::all_of(config.qos.begin(), config.qos.end(), [](const QosConfig& level) { return level.preempts.empty(); }))
    return {};
  const std::size_t levels = config.qos.size() + own_levels().size();
  std::vector<std::vector<bool>> takes(levels, std::vector<bool>(levels, false));
  for (std::size_t i = 0; i < config.qos.size(); ++i)
    for (const std::string& other : config.qos[i].preempts) takes[i][level_position(config, other)] = true;
  return takes;
}

const QueueConfig* find_queue(const PolicyConfig& config, const std::string& name) { return find(config.queues, name); }

std::int64_t charged_account(const PolicyConfig& config, const std::string& user, const std::string& account) {
  if (!account.empty()) return find_account(config, account);
  const std::int64_t own = find_account(config, user);
  return own >= 0 ? own : find_account(config, kAccountOfOthers);
}

bool is_below(const PolicyConfig& config, std::int64_t account, const std::vector<std::string>& accounts) {
  while (account >= 0) {
    const AccountConfig& at = config.accounts[static_cast<std::size_t>(account)];
    if (contains(accounts, at.name)) return true;
    account = at.parent.empty() ? -1 : find_account(config, at.parent);
  }
  return false;
}

Result<void> check_qos(const PolicyConfig& config, const std::string& user, const JobPolicy& wishes) {
  const QosConfig* level = find_qos(config, wishes.qos);
  const std::int64_t account = charged_account(config, user, wishes.account);
  if (level == nullptr)
    return Error{ErrorCode::NotFound, "qos '" + wishes.qos + "'", "is not known", levels_for(config, user, account)};
  if (is_granted(config, *level, user, account)) return {};
  const std::string charged =
      account < 0 ? "" : ", nor to account '" + config.accounts[static_cast<std::size_t>(account)].name + "'";
  return mistake("qos '" + level->name + "'", "is not granted to user '" + user + "'" + charged,
                 levels_for(config, user, account));
}

Result<void> check_queue(const PolicyConfig& config, const std::string& user, const JobPolicy& wishes) {
  if (wishes.queue.empty()) return {};
  const QueueConfig* queue = find_queue(config, wishes.queue);
  const std::int64_t account = charged_account(config, user, wishes.account);
  if (queue == nullptr)
    return Error{ErrorCode::NotFound, "queue '" + wishes.queue + "'", "is not known",
                 queues_for(config, user, account)};
  if (is_listed(config, *queue, user, account)) return {};
  return mistake("queue '" + queue->name + "'", "is not for user '" + user + "'", queues_for(config, user, account));
}

const QosConfig& qos_of(const PolicyConfig& config, const std::string& user, const JobPolicy& wishes) {
  const QosConfig* level = find_qos(config, wishes.qos);
  // Most levels are open: then no account is searched.
  const bool has = level != nullptr &&
                   (level->open || is_granted(config, *level, user, charged_account(config, user, wishes.account)));
  return has ? *level : *find_qos(config, {});
}

std::vector<LimitedBy> limits_of(const PolicyConfig& config, const std::string& user, const JobPolicy& wishes) {
  std::vector<LimitedBy> all;
  const auto add = [&](std::string whom, const JobLimits& limits) {
    if (limits.any()) all.push_back({std::move(whom), limits});
  };
  // The same user in two accounts is counted separately. Spec: policy-flux 8.
  const std::int64_t charged = charged_account(config, user, wishes.account);
  const bool elsewhere = charged >= 0 && config.accounts[static_cast<std::size_t>(charged)].name != user;
  const std::string one =
      "user '" + user + "'" +
      (elsewhere ? " in account '" + config.accounts[static_cast<std::size_t>(charged)].name + "'" : "");
  if (const UserConfig* own = find(config.users, user)) add(one, own->limits);
  for (std::int64_t at = charged; at >= 0;) {
    const AccountConfig& account = config.accounts[static_cast<std::size_t>(at)];
    add("account '" + account.name + "'", account.limits);
    at = account.parent.empty() ? -1 : find_account(config, account.parent);
  }
  const QosConfig& level = qos_of(config, user, wishes);
  add(one + " at qos '" + level.name + "'", level.limits);
  if (const QueueConfig* queue = find_queue(config, wishes.queue))
    add(one + " in queue '" + queue->name + "'", queue->limits);
  return all;
}

Result<void> check_owner(const PolicyConfig& config, const std::string& user, const JobPolicy& wishes) {
  const std::int64_t account = charged_account(config, user, wishes.account);
  for (std::int64_t each = account; each >= 0;) {
    const AccountConfig& charged = config.accounts[static_cast<std::size_t>(each)];
    if (!charged.enabled)
      return Error{ErrorCode::WrongState, "account '" + charged.name + "'", "is disabled: it accepts no new jobs",
                   "name another account, or ask for `enabled` in its [[policy.account]]"};
    each = charged.parent.empty() ? -1 : find_account(config, charged.parent);
  }
  const std::int64_t at = wishes.project.empty() ? -1 : find_project(config, wishes.project);
  if (at < 0) return {};
  const ProjectConfig& project = config.projects[static_cast<std::size_t>(at)];
  if (is_listed(config, project, user, account)) return {};
  std::string words;
  for (const ProjectConfig& each : config.projects)
    if (!each.is_department && is_listed(config, each, user, account)) add_word(words, each.name);
  return mistake("project '" + project.name + "'", "is not for user '" + user + "'",
                 words.empty() ? "name none: no project is open to this user" : "use one of: " + words);
}

double queue_factor(const PolicyConfig& config, const std::string& queue) {
  const QueueConfig* own = find_queue(config, queue);
  std::int64_t most = 0;
  for (const QueueConfig& each : config.queues) most = std::max(most, each.priority);
  return own == nullptr || most == 0 ? 0 : static_cast<double>(own->priority) / static_cast<double>(most);
}

}  // namespace penstock
