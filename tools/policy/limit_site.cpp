// tidy: foreign-file bank, nodes
#include "tools/policy/limit_site.hpp"

#include <algorithm>

namespace penstock::tools {
namespace {

/// The machine of a case that does not give one.
constexpr std::int64_t kNodesUnlessSaid = 4096;
/// The queue of jobs that name none, where limits of queues hold for them.
constexpr const char* kUnnamed = "unnamed";
constexpr const char* kNobody = "nobody";

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

/// The case's words for "no limit" are 2147483647, and for active jobs also 0.
void read_amount(const cli::DocumentValue& table, const char* name, std::int64_t& into, bool zero_is_none = false) {
  if (!has_field(table, name)) return;
  into = integer_of(table, name);
  if (into >= 2147483647 || (zero_is_none && into <= 0)) into = kUnbounded;
}

void read_association_limits(const cli::DocumentValue& table, JobLimits& limits) {
  read_amount(table, "max_active_jobs", limits.active_jobs_max, true);
  read_amount(table, "max_running_jobs", limits.running_jobs_max);
  read_amount(table, "max_nodes", limits.slots_max);
  read_amount(table, "max_cores", limits.gpu_slots_max);
  read_amount(table, "max_sched_jobs", limits.waiting_jobs_max);
}

/// Limits with names that no limit of an association has.
void read_sizes(const cli::DocumentValue& table, JobLimits& limits) {
  read_amount(table, "max_nodes_per_assoc", limits.slots_max);
  read_amount(table, "max_sched_nodes_per_assoc", limits.waiting_slots_max);
  read_amount(table, "max_sched_cores_per_assoc", limits.waiting_gpu_slots_max);
  read_amount(table, "min_nodes_per_job", limits.job_slots_min);
  read_amount(table, "max_nodes_per_job", limits.job_slots_max);
  if (has_field(table, "max_time_s")) limits.time_max = std::chrono::seconds{integer_of(table, "max_time_s")};
}

void read_queue_limits(const cli::DocumentValue& table, JobLimits& limits) {
  read_amount(table, "max_running_jobs", limits.running_jobs_max);
  read_amount(table, "max_sched_jobs", limits.waiting_jobs_max);
  // Of the queue as a whole: no job of it may be larger.
  read_amount(table, "max_nodes", limits.job_slots_max);
  read_amount(table, "max_cores", limits.job_gpu_slots_max);
  read_sizes(table, limits);
}

bool names_a_limit(const cli::DocumentValue& step) {
  constexpr const char* kNames[] = {"max_active_jobs",
                                    "max_running_jobs",
                                    "max_nodes",
                                    "max_cores",
                                    "max_sched_jobs",
                                    "max_nodes_per_assoc",
                                    "max_time_s",
                                    "max_sched_nodes_per_assoc",
                                    "min_nodes_per_job",
                                    "max_nodes_per_job",
                                    "max_sched_cores_per_assoc"};
  return std::any_of(std::begin(kNames), std::end(kNames), [&](const char* name) { return has_field(step, name); });
}

}  // namespace

LimitSite::LimitSite(const cli::DocumentValue& file, const cli::DocumentValue& subject)
    : case_(subject), deny_unknown_(flag_of(subject, "deny_unknown_queues")) {
  const cli::DocumentValue& defaults = field_of(file, "defaults");
  // Spec: policy-flux 8.
  base_.active_jobs_max = 7;
  base_.running_jobs_max = 5;
  queue_base_.running_jobs_max = 100;
  read_association_limits(field_of(defaults, "assoc"), base_);
  read_queue_limits(field_of(defaults, "queue"), queue_base_);
  for (const cli::DocumentField& each : field_of(case_, "assocs").fields) {
    tables_[each.name] = base_;
    read_association_limits(each.value, tables_[each.name]);
  }
  read_association_limits(field_of(case_, "assoc"), base_);
  for (const cli::DocumentField& each : field_of(case_, "queues").fields) {
    queues_[each.name] = queue_base_;
    read_queue_limits(each.value, queues_[each.name]);
  }
  read_queue_limits(field_of(case_, "queue_limits"), queue_base_);
  for (const cli::DocumentValue& step : field_of(case_, "steps").items) {
    const CaseJob job = job_of(step);
    for (const char* field : {"user", "account", "bank"})
      if (has_field(step, field) || text_of(step, "op") == "submit") add_association(job.account, job.user);
    if (!job.queue.empty()) queues_named_.insert(job.queue);
    if (!job.project.empty()) projects_named_.insert(job.project);
  }
  // A job that changes its account keeps its user.
  std::set<std::string> users;
  std::set<std::string> accounts;
  for (const auto& [key, each] : associations_) accounts.insert(key.first), users.insert(key.second);
  for (const std::string& account : accounts)
    for (const std::string& user : users) add_association(account, user);
}

CaseJob LimitSite::job_of(const cli::DocumentValue& step, CaseJob job) {
  if (has_field(step, "bank") || has_field(step, "account"))
    job.account = has_field(step, "bank") ? name_of(step, "bank") : name_of(step, "account");
  if (has_field(step, "user")) job.user = name_of(step, "user");
  if (has_field(step, "queue")) job.queue = text_of(step, "queue");
  if (has_field(step, "project")) job.project = name_of(step, "project");
  if (has_field(step, "qos")) job.qos = text_of(step, "qos");
  const std::int64_t nodes = integer_of(step, "nodes");
  // A request with only cores counts one node.
  if (has_field(step, "nodes")) job.nodes = nodes == 0 ? 1 : nodes;
  if (has_field(step, "cores")) job.cores = integer_of(step, "cores");
  job.wall_s = integer_of(step, "wall_s", job.wall_s);
  return job;
}

std::string LimitSite::leaf(const std::string& account, const std::string& user) { return account + "/" + user; }

std::optional<std::string> LimitSite::table_of(const std::string& account, const std::string& user) const {
  for (const std::string& name : {leaf(account, user), account, account.empty() ? user : account})
    if (tables_.contains(name)) return name;
  if (account.empty() || tables_.empty()) return "";
  return std::nullopt;
}

void LimitSite::add_association(const std::string& account, const std::string& user) {
  const std::optional<std::string> table = table_of(account, user);
  if (!table || associations_.contains({account, user})) return;
  associations_[{account, user}] = {*table, table->empty() ? base_ : tables_.at(*table)};
}

const cli::DocumentValue& LimitSite::rights_of(const Association& association) const {
  return association.table.empty() ? field_of(case_, "assoc") : field_of(field_of(case_, "assocs"), association.table);
}

void LimitSite::add_queues(PolicyConfig& config) const {
  const auto add = [&](const std::string& name, const JobLimits& limits) {
    QueueConfig& queue = config.queues.emplace_back();
    queue.name = name;
    queue.limits = limits;
    bool all = true;
    for (const auto& [key, association] : associations_) {
      const cli::DocumentValue& rights = rights_of(association);
      const std::vector<std::string> names = names_of(field_of(rights, "queues"));
      const bool may =
          name == kUnnamed || !has_field(rights, "queues") || std::count(names.begin(), names.end(), name) > 0;
      if (may) queue.accounts.push_back(leaf(key.first, key.second));
      all = all && may;
    }
    if (all)
      queue.accounts.clear();
    else if (queue.accounts.empty())
      queue.accounts.push_back(kNobody);
  };
  add(kUnnamed, queue_base_);
  for (const auto& [name, limits] : queues_) add(name, limits);
  for (const std::string& name : queues_named_)
    if (!queues_.contains(name) && !deny_unknown_) add(name, queues_.empty() ? queue_base_ : JobLimits{});
}

void LimitSite::add_projects(PolicyConfig& config) const {
  for (const std::string& name : projects_named_) {
    ProjectConfig& project = config.projects.emplace_back();
    project.name = name;
    bool all = true;
    for (const auto& [key, association] : associations_) {
      const cli::DocumentValue& rights = rights_of(association);
      const std::vector<std::string> names = names_of(field_of(rights, "projects"));
      const bool may = !has_field(rights, "projects") || std::count(names.begin(), names.end(), name) > 0;
      if (may) project.accounts.push_back(leaf(key.first, key.second));
      all = all && may;
    }
    if (all)
      project.accounts.clear();
    else if (project.accounts.empty())
      project.accounts.push_back(kNobody);
  }
}

PolicyConfig LimitSite::config() const {
  PolicyConfig config;
  config.pools.push_back({.name = "all", .preset = "priority", .preemption = false});
  config.accounts.push_back({.name = kNobody});
  std::set<std::string> parents;
  for (const auto& [key, association] : associations_) {
    const auto& [account, user] = key;
    // A leaf has a name of its own even where a case has neither account nor user.
    if (!account.empty() && parents.insert(account).second) config.accounts.push_back({.name = account});
    AccountConfig& own = config.accounts.emplace_back();
    own.name = leaf(account, user);
    own.parent = account;
    own.limits = association.limits;
    const cli::DocumentValue& active = field_of(rights_of(association), "active");
    if (active.kind == cli::DocumentValue::Kind::Boolean) own.enabled = active.boolean;
    if (active.is_number()) own.enabled = active.number != 0;
  }
  QosConfig& expedite = config.qos.emplace_back(*find_qos({}, "expedite"));
  const cli::DocumentValue& grants = field_of(case_, "grants");
  expedite.users = texts_of(field_of(grants, "users"));
  for (const std::string& account : texts_of(field_of(grants, "accounts")))
    if (parents.contains(account)) expedite.accounts.push_back(account);
  add_queues(config);
  add_projects(config);
  return config;
}

std::int64_t LimitSite::nodes_of_machine() const { return integer_of(case_, "machine_nodes", kNodesUnlessSaid); }

/// A device is divided into thousandths, so that is the number of cores in a case that does not give one.
std::int64_t LimitSite::cores_of_machine() const {
  const std::int64_t each = integer_of(case_, "cores_per_node");
  return each == 0 ? 1000 : nodes_of_machine() * each;
}

Register LimitSite::machine() const {
  Register description;
  description.name = "machine";
  description.host = "machine";
  BandDescription cpu;
  cpu.name = "numa-0";
  cpu.capacity.slots = kOneSlot * nodes_of_machine();
  BandDescription cores;
  cores.name = "gpu-0";
  cores.kind = BandKind::Gpu;
  cores.capacity.slots = kOneSlot * cores_of_machine();
  cores.capacity.gpu = MilliGpu{1000};
  description.bands = {std::move(cpu), std::move(cores)};
  return description;
}

JobSpec LimitSite::spec_of(const CaseJob& job, const std::string& name) const {
  JobSpec spec;
  spec.name = name;
  spec.owner = job.user;
  spec.keep = Keep::Nothing;
  spec.policy.account = leaf(job.account, job.user);
  spec.policy.project = job.project;
  spec.policy.queue = job.queue.empty() ? kUnnamed : job.queue;
  spec.policy.qos = job.qos;
  return spec;
}

/// A job that says nothing takes no longer than any queue allows.
Duration LimitSite::time_limit_of(const CaseJob& job) const {
  if (job.wall_s > 0) return std::chrono::seconds{job.wall_s};
  Duration least = queue_base_.time_max;
  for (const auto& [name, limits] : queues_)
    if (limits.time_max > Duration{0} && (least == Duration{0} || limits.time_max < least)) least = limits.time_max;
  return least;
}

Graph LimitSite::graph_of(const CaseJob& job) const {
  Graph graph;
  const auto add = [&](std::int64_t slots, bool device) {
    Template& wanted = graph.templates.emplace_back();
    wanted.name = device ? "cores" : "nodes";
    wanted.program = "hold";
    wanted.output_count = 0;
    wanted.request.slots = kOneSlot * slots;
    if (device) wanted.request.gpu = MilliGpu{std::clamp<std::int64_t>(1000 * slots / cores_of_machine(), 1, 1000)};
    wanted.time_limit = time_limit_of(job);
    graph.template_of.push_back(static_cast<std::uint32_t>(graph.templates.size() - 1));
    graph.input_offsets.push_back(0);
  };
  add(job.nodes, false);
  if (job.cores > 0) add(job.cores, true);
  return graph;
}

Result<void> LimitSite::set_queue_limits(const cli::DocumentValue& step, const std::string& queue) {
  const auto known = queues_.find(queue);
  if (known == queues_.end()) return Error{ErrorCode::NotFound, queue, "there is no such queue", "name another one"};
  read_queue_limits(step, known->second);
  return {};
}

Result<void> LimitSite::set_limits(const cli::DocumentValue& step) {
  if (!names_a_limit(step)) return Error{ErrorCode::InvalidArgument, {}, "the step names no limit", {}};
  if (const std::string queue = text_of(step, "queue"); !queue.empty()) return set_queue_limits(step, queue);
  const CaseJob who = job_of(step);
  bool found = false;
  const bool of_all = who.user.empty() && who.account.empty();
  for (auto& [key, each] : associations_) {
    const bool meant =
        of_all ? each.table.empty()
               : (who.account.empty() || who.account == key.first) && (who.user.empty() || who.user == key.second);
    if (!meant) continue;
    found = true;
    read_association_limits(step, each.limits);
  }
  if (!found)
    return Error{ErrorCode::NotFound, who.account + who.user, "no user has these limits",
                 "name the user or the account"};
  read_sizes(step, queue_base_);
  return {};
}

}  // namespace penstock::tools
