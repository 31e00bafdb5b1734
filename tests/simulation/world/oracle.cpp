#include "tests/simulation/world/oracle.hpp"

#include <utility>

namespace penstock::simulation {

void Oracle::job_accepted(JobId job, std::shared_ptr<const Graph> graph, const JobIdentity& identity) {
  JobView& view = jobs_[job];
  if (view.graph != nullptr) return;
  view.ran.resize(graph->size());
  view.told.resize(graph->size());
  view.graph = std::move(graph);
  view.identity = identity;
}

bool Oracle::knows(JobId job, const JobIdentity& identity) const {
  const auto found = jobs_.find(job);
  return found != jobs_.end() && found->second.identity == identity;
}

void Oracle::run_started(Life life, SubtaskId subtask, Attempt attempt, bool known) {
  ++runs_;
  const auto breach = [&](const std::string& what) { this->breach(to_string(subtask, attempt) + what); };
  if (!begun_.insert({subtask, attempt}).second) breach(" begins a second time");
  if (lives_.others.contains(life)) return;
  const auto job = jobs_.find(subtask.job);
  if (job == jobs_.end()) return breach(" runs, but its job was never accepted");
  const Graph& graph = *job->second.graph;
  for (std::uint32_t edge = graph.input_offsets[subtask.index.value()];
       edge < graph.input_offsets[subtask.index.value() + 1]; ++edge)
    if (!job->second.ran[graph.predecessors[edge]])
      breach(" runs before its predecessor " + std::to_string(graph.predecessors[edge]));
  std::map<Life, Run>& lives = live_[subtask];
  const bool never = graph.templates[graph.template_of[subtask.index.value()]].overlap == Overlap::Never;
  for (const auto& [other, run] : lives)
    if (never && !lives_.stood_still.contains(other))
      breach(" runs while attempt " + to_string(run.attempt) + " runs, which must never overlap");
  // A worker that has come back learns a moment later what of its queue is not its own any more; until then it may
  // start it.
  const bool fenced = lives_.lost.contains(life) || fenced_.contains({life, subtask, attempt});
  if (!fenced) {
    if (stopped_.contains(subtask) && !job->second.ran[subtask.index.value()])
      breach(" starts, though its cancel was answered");
    for (const auto& [other, run] : lives)
      if (!run.fenced) breach(" runs while attempt " + to_string(run.attempt) + " runs, too");
    for (const auto& [other, succeeded] : succeeded_on_[subtask]) {
      // An earlier attempt that waited here starts by itself until the other worker has told the new supervisor. So
      // does one that was given out while that worker was lost: an order to give it up may have been lost with a life.
      const bool may_wait_here = attempt < succeeded || in_place_of_.contains({other, subtask, attempt});
      const bool untold = lives_.unclaimed.contains(other) && may_wait_here;
      if (!known && !lives_.lost.contains(other) && !untold)
        breach(" runs, though its success on a living worker was to be known");
    }
    // A told success stands: the subtask runs again only to remake lost data, and then it had succeeded.
    const Told told = job->second.told[subtask.index.value()];
    if (told == Told::Failed || told == Told::Cancelled) breach(" starts after its end was told");
  }
  lives[life] = Run{attempt, fenced};
  if (fenced) fenced_.insert({life, subtask, attempt});
}

void Oracle::run_ended(Life life, SubtaskId subtask, bool succeeded) {
  if (lives_.others.contains(life)) return;
  live_[subtask].erase(life);
  if (live_[subtask].empty()) live_.erase(subtask);
  if (succeeded) jobs_[subtask.job].ran[subtask.index.value()] = true;
}

void Oracle::output_made(const DataKey& key, const Content& content) {
  const auto [known, fresh] = made_.try_emplace(key, content);
  if (!fresh && known->second != content) breach(to_string(key) + " is not made again as it was made before");
}

void Oracle::input_read(SubtaskId reader, Attempt attempt, const DataKey& key, const Content* read) {
  const auto made = made_.find(key);
  if (made == made_.end() ? read == nullptr : read != nullptr && *read == made->second) return;
  const auto bytes = [](const Content* content) { return content == nullptr ? 0 : content->bytes.value(); };
  const Content* truth = made == made_.end() ? nullptr : &made->second;
  breach(to_string(reader, attempt) + " reads " + to_string(key) + " with " + std::to_string(bytes(read)) +
         " bytes, and its producer has made " + std::to_string(bytes(truth)) +
         (bytes(read) == bytes(truth) ? ", but others" : ""));
}

void Oracle::life_lost(Life life) {
  lives_.lost.insert(life);
  for (auto& [subtask, lives] : live_)
    if (const auto run = lives.find(life); run != lives.end()) {
      run->second.fenced = true;
      fenced_.insert({life, subtask, run->second.attempt});
    }
}

void Oracle::life_ended(Life life) {
  lives_.ended.insert(life);
  life_lost(life);
}

void Oracle::supervisor_began(const std::vector<Life>& unclaimed) {
  lives_.unclaimed = std::set<Life>{unclaimed.begin(), unclaimed.end()};
}

void Oracle::put_back(const Oracle& then, const std::set<Life>& others) {
  jobs_ = then.jobs_;
  charges_ = then.charges_;
  cancelled_ = then.cancelled_;
  stopped_ = then.stopped_;
  made_ = then.made_;
  live_.clear();
  succeeded_on_.clear();
  in_place_of_.clear();
  lives_.others.insert(others.begin(), others.end());
}

// The worker claimed it as unfinished; a success that it has reported since is refused with the claim.
void Oracle::claim_refused(Life life, SubtaskId subtask, Attempt attempt) {
  fenced_.insert({life, subtask, attempt});
  succeeded_on_[subtask].erase(life);
}

void Oracle::withdrawn(Life life, SubtaskId subtask, Attempt attempt) {
  const auto job = jobs_.find(subtask.job);
  if (job == jobs_.end() || !job->second.ran[subtask.index.value()]) return;
  claim_refused(life, subtask, attempt);
  const auto lives = live_.find(subtask);
  if (lives == live_.end()) return;
  const auto run = lives->second.find(life);
  if (run != lives->second.end() && run->second.attempt == attempt) run->second.fenced = true;
}

void Oracle::life_returned(Life life, const std::function<bool(SubtaskId, Attempt)>& keeps) {
  if (lives_.others.contains(life)) breach("life " + std::to_string(life) + " goes on in another branch");
  if (!lives_.ended.contains(life)) lives_.lost.erase(life);
  lives_.unclaimed.erase(life);
  for (auto& [subtask, lives] : live_)
    if (const auto run = lives.find(life); run != lives.end()) {
      run->second.fenced = !keeps(subtask, run->second.attempt);
      if (run->second.fenced)
        fenced_.insert({life, subtask, run->second.attempt});
      else
        fenced_.erase({life, subtask, run->second.attempt});
    }
}

void Oracle::success_reported(Life life, SubtaskId subtask, Attempt attempt) {
  if (!lives_.lost.contains(life) && !lives_.others.contains(life) && !fenced_.contains({life, subtask, attempt}))
    succeeded_on_[subtask].insert_or_assign(life, attempt);
}

// Each life of a supervisor goes on counting where the one before has stopped. A failure that was nobody's fault may
// turn out later to be its own: then it is charged once.
void Oracle::failures_written(SubtaskId subtask, Attempt attempt, std::uint32_t charged) {
  const auto [known, fresh] = charges_.try_emplace(subtask, Charge{attempt, charged, charged > 0 ? charged - 1 : 0});
  if (fresh) return;
  Charge& before = known->second;
  if (charged < before.charged) breach(to_string(subtask, attempt) + ": a failure that was written is forgotten");
  const bool charged_late =
      attempt == before.attempt && before.charged == before.without_it && charged == before.charged + 1;
  if (charged > before.charged && attempt <= before.attempt && !charged_late)
    breach(to_string(subtask, attempt) + " is charged twice for the same failure");
  if (attempt > before.attempt) before.without_it = before.charged;
  before.attempt = attempt;
  before.charged = charged;
}

// A subtask that had succeeded once may have to run again for its lost outputs.
void Oracle::assigned(SubtaskId subtask, Attempt attempt) {
  for (const auto& [life, succeeded] : succeeded_on_[subtask])
    if (lives_.lost.contains(life)) in_place_of_.insert({life, subtask, attempt});
  const auto job = jobs_.find(subtask.job);
  if (!cancelled_.contains(subtask) || job == jobs_.end() || job->second.ran[subtask.index.value()]) return;
  breach(to_string(subtask) + " is given out, though an operator was told that it is cancelled");
}

void Oracle::client_told(const JobProgress& progress) {
  const auto found = jobs_.find(progress.job);
  if (found == jobs_.end()) return breach("news of " + to_string(progress.job) + ", which was never accepted");
  JobView& view = found->second;
  const std::vector<Told> before = view.told;
  const bool anew = std::exchange(view.reattached, false);
  if (anew) {
    view.told.assign(view.told.size(), Told::Nothing);
    view.told_count = 0;
  }
  tell_all(view, progress);
  for (std::uint32_t i = 0; anew && i < before.size(); ++i)
    if (before[i] != Told::Nothing && view.told[i] != before[i])
      breach(to_string(SubtaskId{progress.job, SubtaskIndex{i}}) + " had been told as " +
             std::to_string(static_cast<int>(before[i])) + ", after a restart it is " +
             std::to_string(static_cast<int>(view.told[i])));
  if (progress.state == JobState::Running) return;
  if (view.ended && !anew) breach(to_string(progress.job) + " is told to have ended twice");
  view.ended = true;
  view.state = progress.state;
  if (view.told_count != view.told.size())
    breach(to_string(progress.job) + " has ended, but only " + std::to_string(view.told_count) + " of " +
           std::to_string(view.told.size()) + " subtasks were told");
  if (progress.counts.succeeded + progress.counts.failed + progress.counts.cancelled != view.told.size())
    breach(to_string(progress.job) + ": the counts do not add up");
  if (progress.state == JobState::Succeeded && progress.counts.succeeded != view.told.size())
    breach(to_string(progress.job) + " has succeeded without all of its subtasks");
}

void Oracle::tell_all(JobView& view, const JobProgress& progress) {
  for (const SubtaskRange& range : progress.succeeded)
    for (std::uint32_t i = range.first.value(); i <= range.last.value(); ++i) {
      if (!view.ran[i])
        breach(to_string(SubtaskId{progress.job, SubtaskIndex{i}}) + " is told to have succeeded, but never ran");
      tell(view, progress.job, i, Told::Succeeded);
    }
  for (const SubtaskRange& range : progress.cancelled)
    for (std::uint32_t i = range.first.value(); i <= range.last.value(); ++i)
      tell(view, progress.job, i, Told::Cancelled);
  for (const SubtaskFailure& failure : progress.failures)
    tell(view, progress.job, failure.subtask.value(), Told::Failed);
  for (const OutputLocation& output : progress.outputs) {
    const auto made = made_.find(DataKey{{progress.job, output.producer}, output.output});
    if (made == made_.end() || made->second.bytes.value() != output.bytes)
      breach("the client is told of " + std::to_string(output.bytes) + " bytes of " +
             to_string(DataKey{{progress.job, output.producer}, output.output}) + ", which were not made");
  }
}

void Oracle::tell(JobView& view, JobId job, std::uint32_t subtask, Told what) {
  if (subtask >= view.told.size()) return breach("news of a subtask that " + to_string(job) + " does not have");
  if (view.told[subtask] != Told::Nothing) breach(to_string(SubtaskId{job, SubtaskIndex{subtask}}) + " is told twice");
  view.told[subtask] = what;
  ++view.told_count;
}

void Oracle::at_rest() {
  for (const auto& [subtask, lives] : live_)
    for (const auto& [life, run] : lives)
      if (!run.fenced) breach(to_string(subtask, run.attempt) + " still runs at the end");
  for (const auto& [job, view] : jobs_)
    if (!view.ended && !view.forgotten) breach(to_string(job) + " never ended");
}

bool Oracle::all_jobs_ended() const {
  return std::all_of(jobs_.begin(), jobs_.end(),
                     [](const auto& each) { return each.second.ended || each.second.forgotten; });
}

std::vector<JobId> Oracle::not_ended() const {
  std::vector<JobId> jobs;
  for (const auto& [job, view] : jobs_)
    if (!view.ended && !view.forgotten) jobs.push_back(job);
  return jobs;
}

std::vector<JobId> Oracle::nested_not_ended() const {
  std::vector<JobId> jobs = not_ended();
  std::erase_if(jobs, [this](JobId job) { return !jobs_.at(job).nested; });
  return jobs;
}

std::uint64_t Oracle::subtasks() const {
  std::uint64_t sum = 0;
  for (const auto& [job, view] : jobs_) sum += view.told.size();
  return sum;
}

bool Oracle::has_ended(JobId job) const {
  const auto found = jobs_.find(job);
  return found != jobs_.end() && found->second.ended;
}

const Graph* Oracle::graph_of(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : found->second.graph.get();
}

}  // namespace penstock::simulation
