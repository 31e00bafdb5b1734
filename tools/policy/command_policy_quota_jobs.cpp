// tidy: foreign-file nodes, node, pod, pods
#include "tools/policy/command_policy_quota_jobs.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "tools/policy/live/live_cluster.hpp"
#include "tools/policy/quota_site.hpp"

namespace penstock::tools {
namespace {

bool runs_in_part(const cli::DocumentValue& job) {
  const std::size_t running = running_members(job);
  return running > 0 && running < field_of(job, "pods").items.size();
}

/// The name of a job of the case: a number alone would read as the number of a job.
std::string job_named(const std::string& name) { return "job " + name; }

/// A pod of a case with the state that it is to have, on the worker that it is to have.
struct Wanted {
  std::string state;
  std::string worker;  ///< Empty: any.
};

/// Jobs are submitted in the order of their ages. Runs with which the case begins were started by the cluster: the
/// slots beside its own were filled, and all projects were guaranteed everything. Then the configuration of the case
/// is loaded.
class LiveQuota {
 public:
  LiveQuota(const cli::DocumentValue& file, const cli::DocumentValue& subject, const std::string& id)
      : case_(subject),
        rounds_(text_of(field_of(file, "runner"), "mode", "single_action") == "rounds"),
        checker_(id, text_of(file, "category")),
        site_(file, subject),
        cluster_(settings(site_)) {}

  CaseVerdict run() {
    checker_.runs_by(CaseWay::Cluster);
    for (const cli::DocumentValue& node : field_of(case_, "nodes").items) cluster_.join(site_.worker(node));
    begin();
    start_case();
    cluster_.set_on_stop(rounds_ ? LiveCluster::OnStop::Leave : LiveCluster::OnStop::Stay);
    see_first_promises();
    cluster_.settle();
    first_ = cluster_.runs();
    compare_calls();
    if (!rounds_) let_leave();
    compare();
    // Alerts about the configuration of a case, such as guarantees beyond all slots, are none about the cluster.
    for (const Error& trouble : cluster_.troubles())
      if (trouble.subject != "policy") checker_.fail(to_string(trouble));
    return checker_.take();
  }

 private:
  /// The filled rest of a slot that members of a group have in part.
  struct Rest {
    std::string worker;
    std::string group;
    MilliSlots slots;
    std::string filler;  ///< Name of its job.
  };
  struct Job {
    const cli::DocumentValue* source = nullptr;
    JobId id;
  };

  static SupervisorConfig settings(const QuotaSite& site) {
    SupervisorConfig config;
    config.policy = site.open_policy();
    return config;
  }

  /// Fills all slots, then makes room for one job after the other.
  void begin() {
    for (const cli::DocumentValue& node : field_of(case_, "nodes").items)
      for (std::int64_t i = 0; i < integer_of(node, "gpus"); ++i)
        fillers_.emplace(text_of(node, "name"), fill(text_of(node, "name"), kOneSlot));
    cluster_.settle();
    std::vector<const cli::DocumentValue*> jobs;
    for (const cli::DocumentValue& job : field_of(case_, "jobs").items) jobs.push_back(&job);
    // A job that runs in part comes last: its rest would take the room of others.
    std::stable_sort(jobs.begin(), jobs.end(), [](const auto* left, const auto* right) {
      const auto age = [](const cli::DocumentValue& job) {
        return std::pair{runs_in_part(job), -number_of(job, "age_minutes")};
      };
      return age(*left) < age(*right);
    });
    for (const cli::DocumentValue* job : jobs) submit(*job);
    first_ = cluster_.runs();
    for (const auto& [id, run] : first_) before_.insert(id);
  }

  /// Returns the name of a job that takes so much of the worker.
  std::string fill(const std::string& worker, MilliSlots slots) {
    JobSpec spec;
    spec.name = std::string{kFiller} + std::to_string(filled_++);
    spec.keep = Keep::Nothing;
    spec.policy.project = kFiller;
    spec.policy.preemptible = Preemptible::No;
    spec.policy.labels = {worker};
    const std::string name = spec.name;
    if (const SubmitReply reply = cluster_.submit(std::move(spec), site_.graph_of(1, slots)); !reply.job.valid())
      checker_.fail("a filler is refused: " + to_string(reply.refusal));
    return name;
  }

  void order(const std::string& command, const std::string& job) {
    if (const Result<Value> done = cluster_.ask(command, {job}); !done)
      checker_.fail(command + " " + job + ": " + to_string(done.error()));
  }

  void submit(const cli::DocumentValue& source) {
    const std::string name = text_of(source, "name");
    const std::vector<cli::DocumentValue>& pods = field_of(source, "pods").items;
    const MilliSlots slots = site_.slots_of(source);
    std::map<std::string, std::size_t> wanted;
    for (const cli::DocumentValue& pod : pods)
      if (has_field(pod, "node")) ++wanted[text_of(pod, "node")];
    Rest rest;
    for (const cli::DocumentValue& pod : pods)
      if (has_field(pod, "node")) rest = make_room(text_of(pod, "node"), group_of(pod), slots);
    JobSpec spec = site_.spec_of(source);
    spec.name = job_named(name);
    const SubmitReply reply = cluster_.submit(std::move(spec), site_.graph_of(source));
    if (!reply.job.valid()) return checker_.fail("'" + name + "' is refused: " + to_string(reply.refusal));
    jobs_[name] = {&source, reply.job};
    if (wanted.empty()) return order("hold", job_named(name));
    cluster_.settle();
    std::map<std::string, std::size_t> got;
    for (const auto& [id, run] : cluster_.runs())
      if (id.job == reply.job) ++got[cluster_.name_of(run.worker)];
    if (got != wanted) checker_.fail("'" + name + "' does not begin where the case has it");
    if (rest.slots > MilliSlots{0}) {
      rest.filler = fill(rest.worker, rest.slots);
      rests_[{rest.worker, rest.group}] = rest;
      cluster_.settle();
    }
  }

  /// The group of members that share a device; a member without one has its own.
  std::string group_of(const cli::DocumentValue& pod) const {
    const std::vector<std::string> groups = texts_of(field_of(pod, "gpu_groups"));
    return groups.empty() ? "of " + text_of(pod, "id") : groups.front();
  }

  /// Returns what is left of the last slot.
  Rest make_room(const std::string& worker, const std::string& group, MilliSlots slots) {
    Rest rest{worker, group, {}, {}};
    if (const auto known = rests_.find({worker, group}); known != rests_.end()) {
      rest.slots = known->second.slots;
      order("cancel", known->second.filler);
      rests_.erase(known);
    }
    for (; rest.slots < slots; rest.slots += kOneSlot) {
      const auto found = fillers_.find(worker);
      if (found == fillers_.end()) {
        checker_.fail("more runs on '" + worker + "' than it has slots");
        return {};
      }
      order("cancel", found->second);
      fillers_.erase(found);
    }
    rest.slots -= slots;
    return rest;
  }

  void start_case() {
    for (const auto& [worker, name] : fillers_) order("cancel", name);
    for (const auto& [of, rest] : rests_) order("cancel", rest.filler);
    if (const Result<Value> read = cluster_.reload(site_.policy()); !read)
      checker_.fail("reload: " + to_string(read.error()));
    for (const auto& [name, job] : jobs_)
      if (std::none_of(before_.begin(), before_.end(), [id = job.id](SubtaskId each) { return each.job == id; }))
        order("release", job_named(name));
  }

  /// The promises of the pass that asks the first runs to leave: later ones are about the rest of what these leave.
  void see_first_promises() {
    const std::uint64_t before = cluster_.core().policy().preemptions;
    for (int tries = 0; tries < 500 && cluster_.core().policy().preemptions == before; ++tries)
      cluster_.advance(std::chrono::milliseconds{1});
    for (const auto& [name, job] : jobs_) promises_[job.id] = promises(job.id);
  }

  /// Members of a job that wait for others to leave the places promised to them.
  std::size_t promises(JobId id) const {
    const supervisor::Job* job = cluster_.core().find_job(id);
    std::size_t promised = 0;
    for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu})
      if (job != nullptr && job->shares != nullptr)
        promised += job->shares->kinds[static_cast<std::size_t>(kind)].promised.size();
    return promised;
  }

  /// Runs that were asked to leave do so, and members with a promise start.
  void let_leave() {
    cluster_.set_on_stop(LiveCluster::OnStop::Leave);
    for (const auto& [id, run] : first_)
      if (run.asked) cluster_.end(id, false, FailureClass::RunnerCrash);
    cluster_.settle();
  }

  void compare_calls() {
    const cli::DocumentValue& expect = field_of(case_, "expect");
    if (has_field(expect, "max_evictions") && integer_of(expect, "max_evictions") == 0)
      checker_.equal("preemptions", 0, static_cast<std::int64_t>(cluster_.core().policy().preemptions));
  }

  /// The states that each member of a job may be said to have, with its worker.
  std::vector<std::vector<std::pair<std::string, std::string>>> seen(const Job& job) const {
    std::vector<std::vector<std::pair<std::string, std::string>>> all;
    const std::size_t pods = field_of(*job.source, "pods").items.size();
    std::size_t promises = promises_.at(job.id);
    for (std::size_t i = 0; i < pods; ++i) {
      const SubtaskId id{job.id, SubtaskIndex{static_cast<std::uint32_t>(i)}};
      const auto early = first_.find(id);
      const auto late = cluster_.runs().find(id);
      auto& states = all.emplace_back();
      const bool moved =
          late != cluster_.runs().end() && (early == first_.end() || early->second.attempt != late->second.attempt);
      // Without a promise the start is one of a later pass.
      if (moved && (early != first_.end() || promises > 0))
        states.emplace_back("Pipelined", cluster_.name_of(late->second.worker));
      if (early == first_.end()) {
        if (promises == 0) states.emplace_back("Pending", "");
        promises -= promises > 0;
      } else if (early->second.asked) {
        states.emplace_back("Releasing", cluster_.name_of(early->second.worker));
      } else {
        states.emplace_back(before_.contains(id) || rounds_ ? "Running" : "Binding",
                            cluster_.name_of(early->second.worker));
      }
    }
    return all;
  }

  void compare() {
    const cli::DocumentValue& expect = field_of(case_, "expect");
    std::map<std::string, std::vector<Wanted>> wanted;
    const auto add = [&](const std::string& job, const cli::DocumentValue& each) {
      std::string state = text_of(each, "state");
      if (state == "Allocated" || state == "Bound") state = "Binding";
      wanted[job].push_back({state, text_of(each, "node")});
    };
    for (const cli::DocumentField& each : field_of(expect, "jobs").fields) {
      if (!jobs_.contains(each.name)) return checker_.fail(each.name + ": there is no such job");
      for (std::size_t i = 0; i < field_of(*jobs_.at(each.name).source, "pods").items.size(); ++i)
        add(each.name, each.value);
    }
    for (const cli::DocumentField& each : field_of(expect, "pods").fields)
      for (const auto& [name, job] : jobs_)
        for (const cli::DocumentValue& pod : field_of(*job.source, "pods").items)
          if (text_of(pod, "id") == each.name) add(name, each.value);
    for (auto& [name, list] : wanted) match(name, list);
    compare_devices(field_of(expect, "jobs"));
  }

  /// Jobs of one member with equal labels share a device, if they are on one worker.
  void compare_devices(const cli::DocumentValue& expected) {
    std::map<std::pair<std::string, WorkerId>, std::pair<std::string, BandIndex>> devices;
    for (const cli::DocumentField& each : expected.fields) {
      const std::vector<std::string> labels = texts_of(field_of(each.value, "gpu_groups"));
      const auto run = cluster_.runs().find(SubtaskId{jobs_.at(each.name).id, SubtaskIndex{0}});
      if (!site_.has_parts() || labels.size() != 1 || !flag_of(each.value, "gpu_group_checked", true)) continue;
      if (run == cluster_.runs().end() || field_of(*jobs_.at(each.name).source, "pods").items.size() != 1) continue;
      const LiveRun& here = run->second;
      const auto [first, is_new] = devices.try_emplace({labels[0], here.worker}, each.name, here.band);
      if (!is_new)
        checker_.equal(each.name + " device, as " + first->second.first, first->second.second.value(),
                       here.band.value());
    }
  }

  /// Members of a job have no names: each expected one is found among those that are left.
  void match(const std::string& name, std::vector<Wanted>& wanted) {
    auto left = seen(jobs_.at(name));
    std::string have;
    for (const auto& member : left) {
      have += have.empty() ? "" : "; ";
      for (const auto& [state, worker] : member) have += state + (worker.empty() ? "" : " on " + worker) + " ";
    }
    std::stable_sort(wanted.begin(), wanted.end(),
                     [](const Wanted& a, const Wanted& b) { return !a.worker.empty() && b.worker.empty(); });
    for (const Wanted& each : wanted) {
      const auto found = std::find_if(left.begin(), left.end(), [&](const auto& states) {
        return std::any_of(states.begin(), states.end(), [&](const auto& state) {
          return state.first == each.state && (each.worker.empty() || state.second == each.worker);
        });
      });
      checker_.count_comparison();
      if (found == left.end())
        checker_.fail(name + ": expected " + each.state + (each.worker.empty() ? "" : " on " + each.worker) + ", got " +
                      have);
      else
        left.erase(found);
    }
  }

  const cli::DocumentValue& case_;
  const bool rounds_;
  CaseChecker checker_;
  const QuotaSite site_;
  LiveCluster cluster_;
  std::multimap<std::string, std::string> fillers_;            ///< Names of jobs, by worker.
  std::map<std::pair<std::string, std::string>, Rest> rests_;  ///< By worker and group.
  std::size_t filled_ = 0;
  std::map<std::string, Job> jobs_;
  std::set<SubtaskId> before_;             ///< Runs with which the case begins.
  std::map<SubtaskId, LiveRun> first_;     ///< Runs when nothing changes any more, before any has left.
  std::map<JobId, std::size_t> promises_;  ///< Of the first pass with a preemption.
};

}  // namespace

bool runs_as_quota_jobs(const cli::DocumentValue& file, const cli::DocumentValue& subject) {
  return QuotaSite{file, subject}.is_expressible();
}

CaseVerdict check_quota_jobs(const cli::DocumentValue& file, const cli::DocumentValue& subject, const std::string& id) {
  return LiveQuota{file, subject, id}.run();
}

}  // namespace penstock::tools
