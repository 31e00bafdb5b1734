// tidy: foreign-file task, tasks, agent, agents, scheduler
#include "tools/policy/schedule_jobs.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace penstock::tools {
namespace {

/// The label of no worker.
constexpr const char* kNowhere = "nowhere";

}  // namespace

/// A job that is not submitted yet.
struct ScheduleJobs::Draft {
  JobSpec spec;
  Graph graph;
  std::string group;
  std::vector<std::pair<std::string, Task>> tasks;
  bool runs = false;  ///< When the case begins.

  /// Whether the task of another draft is like those of this one, but for having slots or none.
  bool takes(const Draft& other) const {
    JobSpec alike = other.spec;
    alike.name = spec.name;
    const std::int64_t slots = tasks.front().second.slots;
    const std::int64_t more = other.tasks.front().second.slots;
    return group == other.group && runs == other.runs && alike == spec && (slots == more || slots == 0 || more == 0);
  }
  void add(Draft other) {
    other.tasks.front().second.first = static_cast<std::uint32_t>(graph.template_of.size());
    tasks.push_back(std::move(other.tasks.front()));
    const Template& wanted = other.graph.templates.front();
    auto of = std::find(graph.templates.begin(), graph.templates.end(), wanted);
    if (of == graph.templates.end()) of = graph.templates.insert(of, wanted);
    graph.template_of.push_back(static_cast<std::uint32_t>(of - graph.templates.begin()));
    graph.input_offsets.push_back(0);
  }
};

ScheduleJobs::ScheduleJobs(const cli::DocumentValue& file, CaseChecker& checker)
    : file_(file), checker_(checker), cluster_(schedule_site(file, checker)), slots_all_(slots_of_agents(file)) {
  const std::vector<cli::DocumentValue>& steps = field_of(file_, "steps").items;
  joins_tasks_ = shares_slots(file_) || std::any_of(steps.begin(), steps.end(), [](const auto& step) {
                   return text_of(step, "op") == "job_queue" || text_of(step, "op") == "queue_counts";
                 });
  checker_.runs_by(CaseWay::Cluster);
  checker_.no_twins("agents", texts_of_items(field_of(file_, "agents"), "id"));
  for (const cli::DocumentValue& agent : field_of(file_, "agents").items) {
    check_amounts(agent, {"slots", "max_zero_slot"}, checker_);
    if (!flag_of(agent, "enabled", true)) continue;  // Its worker has left.
    const std::int64_t slots = amount_in(agent, "slots");
    slots_most_ = std::max(slots_most_, slots);
    cluster_.join(schedule_worker(text_of(agent, "id"), slots, places_of(agent)));
  }
  read_groups(file_);
  begin();
}

/// The tasks of the file come in the order of their ages. Operators hold those that wait until the others run.
void ScheduleJobs::begin() {
  std::vector<const cli::DocumentValue*> running;
  std::map<std::string, std::int64_t> slots;
  cluster_.set_on_stop(LiveCluster::OnStop::Stay);
  for (const cli::DocumentValue& task : field_of(file_, "tasks").items) {
    if (!has_field(task, "running_on")) continue;
    running.push_back(&task);
    slots[text_of(task, "running_on")] += amount_in(task, "slots");
    // Slots that a task does not hold are free as soon as it is asked to leave.
    if (!flag_of(task, "holds_slots", true)) cluster_.set_on_stop(LiveCluster::OnStop::Leave);
  }
  std::int64_t lacking = 0;
  for (const cli::DocumentValue& agent : field_of(file_, "agents").items)
    lacking += std::max<std::int64_t>(slots[text_of(agent, "id")] - amount_in(agent, "slots"), 0);
  // More run on an agent than have slots there: each lends its slot to the next, while another worker has as many.
  lends_ = lacking > 0;
  if (lends_) cluster_.join(schedule_worker("more", lacking, 0));
  for (Draft& draft : drafts_of(field_of(file_, "tasks").items)) {
    const Draft submitted = submit(std::move(draft));
    if (submitted.runs && lends_) lend_slots(submitted);
    if (!submitted.runs && submitted.tasks.front().second.id.valid()) {
      waiting_.push_back(submitted.tasks.front().second.job);
      order("hold", {waiting_.back()});
    }
  }
  weigh_jobs();
  cluster_.settle();
  if (lends_) leave_the_other_worker();
  check_running(running);
  for (const cli::DocumentValue& agent : field_of(file_, "agents").items)
    if (flag_of(agent, "draining")) order("drain", {text_of(agent, "id")});
  lends_ = false;
}

// No pass comes meanwhile: all slots of all jobs are still theirs, and those that were lent are the only free ones.
void ScheduleJobs::leave_the_other_worker() {
  const LiveCluster::OnStop reaction = cluster_.on_stop();
  cluster_.set_on_stop(LiveCluster::OnStop::Leave);
  order("drain", {"more", "--now"});
  cluster_.set_on_stop(reaction);
}

void ScheduleJobs::lend_slots(const Draft& draft) {
  cluster_.settle();
  for (const auto& [name, task] : draft.tasks)
    for (const LiveRun& run : runs_of(name)) cluster_.lend(run.subtask);
}

void ScheduleJobs::release() {
  for (const std::string& job : waiting_) order("release", {job});
  waiting_.clear();
}

void ScheduleJobs::check_running(const std::vector<const cli::DocumentValue*>& running) {
  for (const cli::DocumentValue* task : running) {
    const std::string name = text_of(*task, "id");
    if (runs_of(name).empty()) checker_.fail("'" + name + "' does not run at the beginning");
    for (const LiveRun& run : runs_of(name))
      if (cluster_.name_of(run.worker) != text_of(*task, "running_on"))
        checker_.fail("'" + name + "' runs on '" + cluster_.name_of(run.worker) + "' at the beginning");
  }
}

void ScheduleJobs::read_groups(const cli::DocumentValue& from) {
  checker_.no_twins("groups", texts_of_items(field_of(from, "groups"), "id"));
  for (const cli::DocumentValue& group : field_of(from, "groups").items) {
    check_weight(group, checker_, true);
    check_amounts(group, {"max_slots"}, checker_);
    check_priority_range(group, "priority", checker_);
    priorities_[text_of(group, "id")] =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(integer_of(group, "priority"), 0, kPriorityLeast));
    // A weight of 0 in the fixtures means the default.
    if (number_of(group, "weight") > 0)
      weights_.emplace(text_of(group, "id"),
                       std::min<std::int64_t>(scaled(number_of(group, "weight"), 1000), kPolicyAmountMax));
  }
}

void ScheduleJobs::submit(const cli::DocumentValue& from) {
  read_groups(from);
  for (Draft& draft : drafts_of(field_of(from, "tasks").items)) submit(std::move(draft));
  weigh_jobs();
}

void ScheduleJobs::weigh_jobs() {
  if (!shares_slots(file_)) return;
  std::map<std::string, std::set<JobId>> jobs;
  for (const auto& [name, task] : tasks_)
    if (task.id.valid() && cluster_.core().find_job(task.id) != nullptr) jobs[task.group].insert(task.id);
  for (const auto& [group, ids] : jobs) {
    const auto said = weights_.find(group);
    const std::int64_t all = said == weights_.end() ? 1000 : said->second;
    const std::int64_t each = std::max<std::int64_t>(all / std::ssize(ids), 1);
    for (const JobId id : ids) {
      const auto known = job_weights_.emplace(id, 1000).first;
      if (std::exchange(known->second, each) != each)
        order("set", {"weight", to_string(id), std::to_string(static_cast<double>(each) / 1000)});
    }
  }
}

std::vector<ScheduleJobs::Draft> ScheduleJobs::drafts_of(const std::vector<cli::DocumentValue>& tasks) {
  std::vector<const cli::DocumentValue*> by_age;
  for (const cli::DocumentValue& task : tasks) by_age.push_back(&task);
  std::stable_sort(by_age.begin(), by_age.end(), [](const auto* a, const auto* b) {
    const auto age = [](const cli::DocumentValue& task) {
      return std::pair{integer_of(task, "submitted"), integer_of(task, "requested")};
    };
    return age(*a) < age(*b);
  });
  std::vector<Draft> drafts;
  for (const cli::DocumentValue* task : by_age) {
    check_task(*task);
    Draft draft = draft_of(*task);
    const auto mate = std::find_if(drafts.begin(), drafts.end(), [&](const Draft& each) { return each.takes(draft); });
    if (mate == drafts.end() || !joins_tasks_)
      drafts.push_back(std::move(draft));
    else
      mate->add(std::move(draft));
  }
  return drafts;
}

ScheduleJobs::Draft ScheduleJobs::submit(Draft draft) {
  const SubmitReply reply = cluster_.submit(draft.spec, draft.graph);
  for (auto& [name, task] : draft.tasks) {
    task.id = reply.job;
    task.job = draft.spec.name;
    if (!tasks_.emplace(name, task).second) checker_.fail("two tasks are called '" + name + "'");
  }
  // A task beyond the limit of its group never starts. Spec: policy-determined 8.1.
  if (!reply.job.valid() && reply.refusal.code != ErrorCode::LimitExceeded)
    checker_.fail(draft.spec.name + " is refused: " + to_string(reply.refusal));
  return draft;
}

/// Reports wishes of a task that no job can have.
void ScheduleJobs::check_task(const cli::DocumentValue& task) {
  check_amounts(task, {"slots"}, checker_);
  const std::vector<std::string> known = texts_of_items(field_of(file_, "agents"), "id");
  // The list may still name an agent that has left.
  for (const std::string& name : texts_of(field_of(task, "blocked_agents")))
    if (std::find(known.begin(), known.end(), name) == known.end())
      checker_.remark("`blocked_agents`: there is no agent '" + name + "'");
}

ScheduleJobs::Draft ScheduleJobs::draft_of(const cli::DocumentValue& task) const {
  Draft draft;
  draft.group = text_of(task, "job");
  Task of;
  of.group = draft.group;
  of.slots = amount_in(task, "slots");
  of.submitted = *parse_decimal(std::to_string(integer_of(task, "submitted")));
  const bool together = of.slots > slots_most_ && of.slots <= slots_all_ && !flag_of(task, "single_agent");
  if (together) of.count = static_cast<std::uint32_t>(std::exchange(of.slots, 1));
  // A number alone would read as the number of a job.
  draft.spec.name = "job " + text_of(task, "id");
  draft.spec.keep = Keep::Nothing;
  draft.spec.wait_for_resources = true;
  if (const auto group = priorities_.find(draft.group); group != priorities_.end()) {
    draft.spec.priority = group->second;
    draft.spec.policy.account = draft.group;
  }
  draft.spec.policy.preemptible = flag_of(task, "preemptible", true) ? Preemptible::Yes : Preemptible::No;
  draft.spec.policy.labels = agents_allowed(task);
  draft.runs = has_field(task, "running_on");
  if (draft.runs && !lends_) draft.spec.policy.labels = {text_of(task, "running_on")};
  if (together) draft.spec.policy.gang = of.count;
  Template& wanted = draft.graph.templates.emplace_back();
  wanted.program = "hold";
  wanted.output_count = 0;
  wanted.preferred.worker = text_of(task, "running_on");
  wanted.request.slots = kOneSlot * std::max<std::int64_t>(of.slots, 1);
  if (of.slots == 0) wanted.request.gpu = MilliGpu{1};  // On a place; the slot is more of the device.
  for (std::uint32_t i = 0; i < of.count; ++i)
    draft.graph.template_of.push_back(0), draft.graph.input_offsets.push_back(0);
  draft.tasks.emplace_back(text_of(task, "id"), std::move(of));
  return draft;
}

/// The agents with its label that are not blocked; none: all agents.
std::vector<std::string> ScheduleJobs::agents_allowed(const cli::DocumentValue& task) const {
  const std::vector<std::string> blocked = texts_of(field_of(task, "blocked_agents"));
  std::vector<std::string> allowed;
  for (const cli::DocumentValue& agent : field_of(file_, "agents").items) {
    const std::string name = text_of(agent, "id");
    const bool labelled = !has_field(task, "label") || text_of(agent, "label") == text_of(task, "label");
    if (labelled && std::find(blocked.begin(), blocked.end(), name) == blocked.end()) allowed.push_back(name);
  }
  if (allowed.size() == field_of(file_, "agents").items.size()) return {};
  if (allowed.empty()) allowed = {kNowhere};
  return allowed;
}

void ScheduleJobs::move_to(const cli::DocumentValue& positions) {
  const bool by_age = positions.is_text() && positions.text == "submission_time";
  if (!by_age && !positions.is_table() && positions.kind != cli::DocumentValue::Kind::Null)
    checker_.fail("positions must be a table of jobs or `submission_time`");
  counts_ages_ = counts_ages_ || by_age;
  for (const cli::DocumentField& each : positions.fields) {
    const std::optional<Decimal> position = decimal_of(each.value);
    if (each.value.kind == cli::DocumentValue::Kind::Null) continue;
    if (!position) checker_.fail("the position '" + each.value.text + "' is no number");
    if (!is_told_of(each.name)) checker_.fail("a position is given to '" + each.name + "', which is no job");
    if (position) positions_[each.name] = *position;
  }
  if (!positions.fields.empty()) move_jobs();
}

/// A group without a position keeps its place.
void ScheduleJobs::move_jobs() {
  struct Place {
    std::int32_t priority;
    Decimal position;
    JobId id;
    std::string job;
  };
  std::vector<Place> places;
  for (const auto& [name, task] : tasks_) {
    auto at = positions_.find(task.group);
    if (at == positions_.end() && counts_ages_) at = positions_.emplace(task.group, task.submitted).first;
    if (at != positions_.end() && task.id.valid())
      places.push_back({priority_of(task.group), at->second, task.id, task.job});
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.priority, a.position, a.id) < std::tie(b.priority, b.position, b.id);
  });
  // A move beside a job of another priority would change the priority.
  for (std::size_t i = 1; i < places.size(); ++i)
    if (places[i].id != places[i - 1].id && places[i].priority == places[i - 1].priority)
      order("move", {places[i].job, "behind", places[i - 1].job});
}

/// A group without one has the default.
std::int32_t ScheduleJobs::priority_of(const std::string& group) const {
  const auto known = priorities_.find(group);
  if (known != priorities_.end() && known->second > 0) return known->second;
  return static_cast<std::int32_t>(default_priority(file_));
}

bool ScheduleJobs::is_told_of(const std::string& group) const {
  for (const cli::DocumentValue* from : sources_of(file_))
    for (const auto& [list, field] : {std::pair{"groups", "id"}, std::pair{"tasks", "job"}})
      for (const cli::DocumentValue& each : field_of(*from, list).items)
        if (text_of(each, field) == group) return true;
  return false;
}

void ScheduleJobs::set_weight(const std::string& group, double weight) {
  if (!is_told_of(group)) checker_.fail("there is no job '" + group + "'");
  weights_[group] = std::min<std::int64_t>(scaled(weight, 1000), kPolicyAmountMax);
  weigh_jobs();
}

void ScheduleJobs::set_priority(const std::string& group, std::int64_t priority) {
  if (!is_told_of(group)) checker_.fail("there is no job '" + group + "'");
  if (const auto known = priorities_.find(group); known != priorities_.end())
    known->second = static_cast<std::int32_t>(std::clamp<std::int64_t>(priority, 1, kPriorityLeast));
  positions_.erase(group);  // Back to its submission. Spec: policy-determined 5.6.
  for (const auto& [name, task] : tasks_)
    if (task.group == group) order("priority", {task.job, std::to_string(priority)});
}

void ScheduleJobs::cancel(const std::string& task) {
  const auto found = tasks_.find(task);
  if (found == tasks_.end()) return checker_.fail("there is no task '" + task + "'");
  order("cancel", {found->second.job});
}

void ScheduleJobs::order(const std::string& command, std::vector<std::string> arguments) {
  if (const Result<Value> done = cluster_.ask(command, std::move(arguments)); !done)
    checker_.fail(to_string(done.error()));
}

std::vector<LiveRun> ScheduleJobs::runs_of(const std::string& task) const {
  std::vector<LiveRun> runs;
  const auto found = tasks_.find(task);
  if (found == tasks_.end()) return runs;
  const Task& of = found->second;
  for (const auto& [id, run] : cluster_.runs())
    if (id.job == of.id && id.index.value() - of.first < of.count) runs.push_back(run);
  return runs;
}

std::string ScheduleJobs::group_of(const std::string& job) const {
  for (const auto& [name, task] : tasks_)
    if (task.job == job) return task.group;
  return {};
}

}  // namespace penstock::tools
