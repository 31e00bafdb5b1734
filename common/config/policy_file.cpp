#include "common/config/policy_file.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "common/base/nearest_name.hpp"
#include "common/base/quantity.hpp"

namespace penstock {
namespace {

/// Spec: policy-runai 2.
constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> kOverQuota{
    {{"none", 0}, {"low", 1000}, {"medium", 2000}, {"high", 3000}}};

/// Reads the fields of one table, each once; keeps the first mistake.
class Fields {
 public:
  Fields(const std::string& path, const toml::table& table) : path_(path), table_(table) {}

  void text(const char* name, std::string& into) {
    const toml::node* node = take(name);
    if (node == nullptr) return;
    if (const auto* written = node->as_string())
      into = written->get();
    else
      complain(*node, std::string{name} + " is written in another way", "use a text in quotes");
  }
  void flag(const char* name, bool& into) {
    std::optional<bool> said;
    flag(name, said);
    into = said.value_or(into);
  }
  void flag(const char* name, std::optional<bool>& into) {
    const toml::node* node = take(name);
    if (node == nullptr) return;
    if (const auto* written = node->as_boolean())
      into = written->get();
    else
      complain(*node, std::string{name} + " is written in another way", "use true or false");
  }
  void texts(const char* name, std::vector<std::string>& into) {
    const toml::node* node = take(name);
    if (node == nullptr) return;
    const toml::array* list = node->as_array();
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const auto* written = list->get(i)->as_string();
      if (written == nullptr)
        return complain(*list->get(i), std::string{name} + " holds no text", "use texts in quotes");
      into.push_back(written->get());
    }
    if (list == nullptr) complain(*node, std::string{name} + " is written in another way", "use a list of texts");
  }
  /// A whole number from 0.
  void amount(const char* name, std::int64_t& into) {
    const toml::node* node = take(name);
    if (node == nullptr) return;
    const auto* written = node->as_integer();
    if (written == nullptr)
      return complain(*node, std::string{name} + " is written in another way", "use a whole number");
    if (written->get() < 0 || written->get() > kPolicyAmountMax)
      return complain(*node, std::string{name} + " is " + std::to_string(written->get()),
                      "it must be from 0 to " + std::to_string(kPolicyAmountMax));
    into = written->get();
  }
  /// A whole number of bytes, or a text as in `8GiB`.
  void bytes(const char* name, Bytes& into) {
    const toml::node* node = take(name);
    if (node == nullptr) return;
    if (const auto* written = node->as_integer(); written != nullptr && written->get() >= 0) {
      into = Bytes{written->get()};
      return;
    }
    const auto* written = node->as_string();
    const Result<Bytes> parsed = parse_bytes(written == nullptr ? "" : written->get());
    if (!parsed) return complain(*node, std::string{name} + " is no amount of memory", "write it as in \"8GiB\"");
    into = *parsed;
  }
  /// A number with or without decimals, as thousandths.
  void thousandths(const char* name, std::int64_t& into) {
    const toml::node* node = take(name);
    if (node == nullptr) return;
    const std::optional<double> written = node->value<double>();
    if (!written || node->is_string() || node->is_boolean())
      return complain(*node, std::string{name} + " is written in another way", "use a number");
    if (!std::isfinite(*written)) return complain(*node, std::string{name} + " is not finite", "use a number");
    if (*written != 0 && (*written < 0.001 || *written > static_cast<double>(kPolicyAmountMax) / 1000))
      return complain(*node, std::string{name} + " is out of its range",
                      "it must be 0, or from 0.001 to " + std::to_string(kPolicyAmountMax / 1000));
    into = std::llround(*written * 1000);
  }
  void duration(const char* name, std::optional<Duration>& into) {
    Duration said{-1};
    duration(name, said);
    if (said != Duration{-1}) into = said;
  }
  void duration(const char* name, Duration& into) {
    const toml::node* node = take(name);
    if (node == nullptr) return;
    const auto* written = node->as_string();
    const Result<Duration> parsed = parse_duration(written == nullptr ? "" : written->get());
    if (parsed)
      into = *parsed;
    else
      complain(*node, std::string{name} + " is no time", "write a duration in quotes, like \"10s\"");
  }
  /// A table within this one; null if there is none.
  const toml::table* table(const char* name) {
    const toml::node* node = take(name);
    if (node == nullptr) return nullptr;
    if (node->as_table() == nullptr) complain(*node, std::string{name} + " is no table", "write its keys in one");
    return node->as_table();
  }
  const std::string& path() const { return path_; }
  /// The weight for slots beyond all guarantees, as a word.
  void over_quota(const char* name, std::int64_t& weight) {
    const toml::node* node = take(name);
    if (node == nullptr) return;
    if (weight != kNoWeight)
      return complain(*node, std::string{name} + " and weight are both there", "say one of them");
    const auto* written = node->as_string();
    for (const auto& [word, thousandths] : kOverQuota)
      if (written != nullptr && written->get() == word) weight = thousandths;
    if (weight == kNoWeight)
      complain(*node, std::string{name} + " is none of its words",
               "use one of \"none\", \"low\", \"medium\", \"high\"");
  }
  /// Refuses two settings with the same meaning.
  void not_beside(const char* name, const char* other) {
    const toml::node* node = error_.has_value() ? nullptr : table_.get(other);
    if (node != nullptr) complain(*node, std::string{name} + " and " + other + " are both there", "say one of them");
  }
  Result<void> finish() {
    for (const auto& [key, node] : table_) {
      if (error_.has_value()) break;
      bool known = false;
      NearestName nearest{key.str()};
      for (const char* name : known_) {
        nearest.offer(name);
        known = known || key.str() == name;
      }
      if (!known)
        error_ = at(key.source().begin, "there is no setting '" + std::string{key.str()} + "' here", nearest.remedy());
    }
    if (error_.has_value()) return *error_;
    return {};
  }

 private:
  const toml::node* take(const char* name) {
    known_.push_back(name);
    return error_.has_value() ? nullptr : table_.get(name);
  }
  Error at(const toml::source_position& place, std::string message, std::string remedy) const {
    return {ErrorCode::InvalidArgument, path_ + ":" + std::to_string(place.line) + ":" + std::to_string(place.column),
            std::move(message), std::move(remedy)};
  }
  void complain(const toml::node& node, std::string message, std::string remedy) {
    error_ = at(node.source().begin, std::move(message), std::move(remedy));
  }

  const std::string& path_;
  const toml::table& table_;
  std::vector<const char*> known_;
  std::optional<Error> error_;
};

/// A name that is no text is a mistake of that setting.
Result<void> check_named(const std::string& path, std::string_view key, const toml::table& entry) {
  const toml::node* name = entry.get("name");
  const auto* text = name == nullptr ? nullptr : name->as_string();
  if (name != nullptr && (text == nullptr || (!text->get().empty() && text->get().size() <= 255))) return {};
  const toml::source_position place = name == nullptr ? entry.source().begin : name->source().begin;
  return Error{ErrorCode::InvalidArgument, path + ":" + std::to_string(place.line) + ":" + std::to_string(place.column),
               "the " + std::string{key} + " needs a name of 1 to 255 bytes", "write name = \"...\""};
}

Result<void> read_factors(Fields fields, FactorConfig& factors) {
  fields.amount("wait", factors.wait);
  fields.amount("fair_share", factors.fair_share);
  fields.amount("qos", factors.qos);
  fields.amount("queue", factors.queue);
  fields.amount("size", factors.size);
  fields.amount("user", factors.user);
  fields.duration("wait_max", factors.wait_max);
  fields.text("size_favor", factors.size_favor);
  fields.text("fair_share_factor", factors.fair_share_factor);
  fields.thousandths("lambda", factors.lambda);
  return fields.finish();
}

void read_limits(Fields& fields, JobLimits& limits) {
  for (const LimitField& field : kLimitFields) fields.amount(field.name, limits.*field.amount);
  fields.duration("time_max", limits.time_max);
}

Result<void> read_qos(Fields fields, PolicyConfig& config) {
  QosConfig level;
  fields.text("name", level.name);
  // Fields that the file leaves out of a built-in level keep their values.
  if (const QosConfig* own = find_qos(PolicyConfig{}, level.name); own != nullptr && !level.name.empty()) level = *own;
  fields.thousandths("factor", level.factor);
  fields.texts("users", level.users);
  fields.texts("accounts", level.accounts);
  level.open = level.open && level.users.empty() && level.accounts.empty();
  fields.flag("open", level.open);
  fields.flag("exempt", level.exempt);
  fields.thousandths("usage_factor", level.usage_factor);
  fields.texts("preempts", level.preempts);
  read_limits(fields, level.limits);
  config.qos.push_back(std::move(level));
  return fields.finish();
}

Result<void> read_queue(Fields fields, PolicyConfig& config) {
  QueueConfig queue;
  fields.text("name", queue.name);
  fields.amount("priority", queue.priority);
  fields.texts("users", queue.users);
  fields.texts("accounts", queue.accounts);
  fields.duration("time_limit", queue.time_limit);
  read_limits(fields, queue.limits);
  config.queues.push_back(std::move(queue));
  return fields.finish();
}

Result<void> read_user(Fields fields, PolicyConfig& config) {
  UserConfig user;
  fields.text("name", user.name);
  read_limits(fields, user.limits);
  config.users.push_back(std::move(user));
  return fields.finish();
}

Result<void> read_pool(Fields fields, PolicyConfig& config) {
  PoolConfig pool;
  fields.text("name", pool.name);
  fields.text("preset", pool.preset);
  fields.texts("workers", pool.workers);
  fields.text("ordering", pool.ordering);
  fields.text("sharing", pool.sharing);
  fields.text("backfill", pool.backfill);
  if (!pool.backfill.empty()) fields.not_beside("backfill", "reserve_depth");
  fields.text("fitting", pool.fitting);
  fields.flag("reclaim", pool.reclaim);
  fields.flag("consolidation", pool.consolidation);
  fields.flag("preemption", pool.preemption);
  fields.text("priorities", pool.priorities);
  fields.amount("default_priority", pool.default_priority);
  fields.flag("light", pool.light);
  fields.amount("reserve_depth", pool.reserve_depth);
  fields.duration("time_limit", pool.time_limit);
  fields.duration("overrun", pool.overrun);
  if (const toml::table* factors = fields.table("factors"))
    PENSTOCK_TRY(read_factors(Fields{fields.path(), *factors}, pool.factors));
  config.pools.push_back(std::move(pool));
  return fields.finish();
}

Result<void> read_project(Fields fields, bool is_department, PolicyConfig& config) {
  ProjectConfig project;
  project.is_department = is_department;
  fields.text("name", project.name);
  fields.text("department", project.department);
  fields.texts("pools", project.pools);
  if (!project.pools.empty()) fields.not_beside("pools", "pool");
  std::string pool;
  fields.text("pool", pool);
  if (!pool.empty()) project.pools = {std::move(pool)};
  fields.thousandths("weight", project.weight);
  fields.over_quota("over_quota", project.weight);
  fields.amount("priority", project.priority);
  fields.amount("guaranteed_slots", project.guaranteed_slots);
  fields.amount("slots_max", project.slots_max);
  fields.amount("guaranteed_gpu_slots", project.guaranteed_gpu_slots);
  fields.amount("gpu_slots_max", project.gpu_slots_max);
  fields.bytes("guaranteed_memory", project.guaranteed_memory);
  fields.bytes("memory_max", project.memory_max);
  fields.duration("preempt_min_runtime", project.preempt_min_runtime);
  fields.duration("reclaim_min_runtime", project.reclaim_min_runtime);
  fields.texts("training_labels", project.training_labels);
  fields.texts("interactive_labels", project.interactive_labels);
  fields.texts("users", project.users);
  fields.texts("accounts", project.accounts);
  config.projects.push_back(std::move(project));
  return fields.finish();
}

Result<void> read_usage(Fields fields, UsageConfig& usage) {
  fields.thousandths("cpu", usage.cpu);
  fields.thousandths("gpu", usage.gpu);
  fields.thousandths("memory", usage.memory);
  fields.text("billing", usage.billing);
  return fields.finish();
}

Result<void> read_account(Fields fields, PolicyConfig& config) {
  AccountConfig account;
  fields.text("name", account.name);
  fields.text("parent", account.parent);
  fields.amount("shares", account.shares);
  fields.flag("enabled", account.enabled);
  read_limits(fields, account.limits);
  config.accounts.push_back(std::move(account));
  return fields.finish();
}

}  // namespace

bool is_policy_part(std::string_view key) {
  return key == "usage" || key == "pool" || key == "department" || key == "project" || key == "account" ||
         key == "qos" || key == "queue" || key == "user";
}

Result<void> read_policy_part(const std::string& path, std::string_view key, const toml::node& node,
                              PolicyConfig& config) {
  const toml::source_position place = node.source().begin;
  if (key == "usage") {
    if (const toml::table* table = node.as_table()) return read_usage(Fields{path, *table}, config.usage);
    return Error{ErrorCode::InvalidArgument,
                 path + ":" + std::to_string(place.line) + ":" + std::to_string(place.column), "usage is no table",
                 "write [policy.usage]"};
  }
  const Error no_list{
      ErrorCode::InvalidArgument, path + ":" + std::to_string(place.line) + ":" + std::to_string(place.column),
      "there can be several of '" + std::string{key} + "'", "write [[policy." + std::string{key} + "]]"};
  const toml::array* list = node.as_array();
  if (list == nullptr) return no_list;
  for (const toml::node& item : *list) {
    const toml::table* table = item.as_table();
    if (table == nullptr) return no_list;
    PENSTOCK_TRY(check_named(path, key, *table));
    const Fields fields{path, *table};
    if (key == "pool")
      PENSTOCK_TRY(read_pool(fields, config));
    else if (key == "account")
      PENSTOCK_TRY(read_account(fields, config));
    else if (key == "qos")
      PENSTOCK_TRY(read_qos(fields, config));
    else if (key == "queue")
      PENSTOCK_TRY(read_queue(fields, config));
    else if (key == "user")
      PENSTOCK_TRY(read_user(fields, config));
    else
      PENSTOCK_TRY(read_project(fields, key == "department", config));
  }
  return {};
}

}  // namespace penstock
