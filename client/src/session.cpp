#include "client/src/session.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/host/host.hpp"
#include "common/protocol/graph_chunks.hpp"

namespace penstock::client {
namespace {

Error unanswered() {
  return {ErrorCode::Disconnected, "supervisor", "was away before it answered; the job may be accepted or not",
          "see `penstock jobs`; a job with a name is submitted again by itself"};
}

/// Deaths of supervisors while one graph is sent to them, after which the submission fails.
constexpr std::uint64_t kDeathsMax = 2;

Error cut_short(const std::string& name) {
  return {ErrorCode::Disconnected, "job '" + name + "'",
          "is not sent again: its submission was cut short " + std::to_string(kDeathsMax) +
              " times by the end of the supervisor, which this graph may have caused",
          "see the supervisor's log, and `penstock jobs` for whether it was accepted; submit it in parts"};
}

void keep_last_of_each(std::vector<OutputLocation>& outputs) {
  const auto place = [](const OutputLocation& output) { return std::pair{output.producer, output.output}; };
  std::reverse(outputs.begin(), outputs.end());
  std::stable_sort(outputs.begin(), outputs.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  const auto same = [&](const auto& a, const auto& b) { return place(a) == place(b); };
  outputs.erase(std::unique(outputs.begin(), outputs.end(), same), outputs.end());
}

std::vector<SubtaskRange> ranges_of(std::vector<SubtaskIndex> subtasks) {
  std::sort(subtasks.begin(), subtasks.end());
  subtasks.erase(std::unique(subtasks.begin(), subtasks.end()), subtasks.end());
  std::vector<SubtaskRange> ranges;
  for (const SubtaskIndex subtask : subtasks) append(ranges, subtask);
  return ranges;
}

/// REQUIRES: the ranges are in ascending order.
bool contains(const std::vector<SubtaskRange>& ranges, SubtaskIndex subtask) {
  const auto behind = std::upper_bound(ranges.begin(), ranges.end(), subtask,
                                       [](SubtaskIndex one, const SubtaskRange& range) { return one < range.first; });
  return behind != ranges.begin() && subtask <= std::prev(behind)->last;
}

void add_ranges(std::vector<SubtaskRange>& all, const std::vector<SubtaskRange>& more) {
  all.insert(all.end(), more.begin(), more.end());
  std::sort(all.begin(), all.end(), [](const SubtaskRange& a, const SubtaskRange& b) { return a.first < b.first; });
  std::size_t last = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].first.value() <= std::uint64_t{all[last].last.value()} + 1)
      all[last].last = std::max(all[last].last, all[i].last);
    else
      all[++last] = all[i];
  }
  all.resize(last + 1);
}

Error not_followed(JobId job) {
  return {ErrorCode::NotFound, to_string(job), "is not followed by this client (any more)", "attach to it first"};
}

template <class Predicate>
bool wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Duration timeout,
                Predicate done) {
  if (timeout == Duration::max()) {
    changed.wait(lock, done);
    return true;
  }
  return changed.wait_for(lock, timeout, done);
}

/// Before its first news, which come when a subtask has ended, a job has as many subtasks as were sent.
template <class Jobs>
void expect_subtasks(Jobs& jobs, JobId job, std::uint64_t subtasks) {
  const auto found = jobs.find(job);
  if (found != jobs.end() && found->second.view.counts.total == 0) found->second.view.counts.total = subtasks;
}

}  // namespace

Session::Session() : submitter_(random_incarnation().value()) {}
Session::~Session() = default;

TransportHandlers Session::handlers() {
  return {[this](const ToClient& message) { receive(message); }, [this](SupervisorLife life) { renew(life); },
          [this](const Error& error) { end(error); }};
}

void Session::start(std::unique_ptr<Transport> transport) {
  const std::lock_guard lock{mutex_};
  transport_ = std::move(transport);
}

void Session::set_on_news(OnNews on_news) {
  const std::lock_guard lock{mutex_};
  on_news_ = std::move(on_news);
}

void Session::set_on_left(OnLeft on_left) {
  const std::lock_guard lock{mutex_};
  on_left_ = std::move(on_left);
}

/// Sends a job with `send` and waits for the result; none if the supervisor was away before it answered. A refusal that
/// time undoes has made no job: it is sent again, and waits as it does for a supervisor that is away.
std::optional<Result<Session::Submitted>> Session::ask_for_job(const std::function<void(std::uint64_t)>& send) {
  std::unique_lock lock{mutex_};
  for (;;) {
    const std::uint64_t submission = requests_.next++;
    const std::uint64_t renewals = renewals_;
    requests_.submissions[submission];
    lock.unlock();
    send(submission);
    lock.lock();
    changed_.wait(lock, [&] {
      return requests_.submissions[submission].has_value() || end_.has_value() || renewals != renewals_;
    });
    const std::optional<SubmitReply> reply = requests_.submissions[submission];
    requests_.submissions.erase(submission);
    forget_left();
    if (reply.has_value() && reply->job.valid())
      return Submitted{reply->job, reply->existed && !reply->ours, reply->ours};
    if (reply.has_value() && (reply->retry_after <= Duration{0} || !transport_->may_renew())) return reply->refusal;
    if (reply.has_value()) changed_.wait_for(lock, reply->retry_after, [&] { return end_.has_value(); });
    if (end_.has_value()) return *end_;
    if (!reply.has_value()) return std::nullopt;
  }
}

/// Sends an unanswered message once more when the time is over that its refusal has named. False: no timer can be had.
/// REQUIRES: the mutex is held. A supervisor that forgets this client meanwhile is sent the message by `renew`: an
/// order must not be given twice.
bool Session::ask_again(std::uint64_t request, Duration wait) {
  return transport_->after(wait, [this, request, renewals = renewals_] {
    const std::lock_guard lock{mutex_};
    const auto message = requests_.unanswered.find(request);
    if (renewals == renewals_ && message != requests_.unanswered.end()) transport_->send(message->second);
  });
}

Result<Session::Submitted> Session::submit_again(const JobSpec& spec, const Graph& graph) {
  return submit_again(spec, graph, content_hash(graph));
}

Result<Session::Submitted> Session::submit_again(const JobSpec& wanted, const Graph& graph, const GraphHash& hash) {
  JobSpec spec = wanted;
  spec.submitter = ++submitter_;
  std::optional<Result<Submitted>> submitted = ask_for_job([&](std::uint64_t submission) {
    transport_->send(SubmitAgain{submission, {}, spec, hash});
  });
  if (!submitted.has_value() && spec.name.empty()) return unanswered();
  if (!submitted.has_value()) return submit(spec, graph);
  if (!*submitted && submitted->error().code == ErrorCode::UnknownGraph) return submit(spec, graph);
  if (*submitted) {
    (*submitted)->sent_whole = false;
    const std::lock_guard lock{mutex_};
    expect_subtasks(jobs_, (*submitted)->job, graph.size());
  }
  return std::move(*submitted);
}

void Session::send_graph(std::uint64_t submission, const JobSpec& spec, Graph& graph) {
  const auto total = static_cast<std::uint32_t>(graph.size());
  const std::uint32_t whole = total == 0 ? 0 : chunk_size(graph, 0, transport_->chunk_bytes());
  if (whole == total) {
    // Kept if it may have to be sent once more.
    transport_->send(SubmitChunk{submission, true, true, spec, transport_->may_renew() ? graph : std::move(graph)});
    return;
  }
  std::unique_lock lock{mutex_};
  const std::uint64_t renewals = renewals_;
  for (std::uint32_t first = 0; first < total;) {
    // Refused before all of it was sent; or the supervisor is another one, which knows nothing of the chunks before.
    if (requests_.submissions[submission].has_value() || end_.has_value() || renewals != renewals_) return;
    lock.unlock();
    transport_->wait_for_room();
    const std::uint32_t count = chunk_size(graph, first, transport_->chunk_bytes());
    const bool last = first + count == total;
    transport_->send(SubmitChunk{submission, first == 0, last, first == 0 ? spec : JobSpec{},
                                 chunk_of(graph, first, count), first == 0 ? totals_of(graph) : GraphTotals{}});
    first += count;
    lock.lock();
  }
}

// Fault F06: submitting again under the same name gives the same job.
Result<Session::Submitted> Session::submit(JobSpec spec, Graph graph) {
  if (spec.submitter == 0) spec.submitter = ++submitter_;
  PENSTOCK_TRY(check_chunks(graph, transport_->chunk_bytes(), transport_->message_bytes_max()));
  const std::uint64_t subtasks = graph.size();
  const std::uint64_t deaths = deaths_seen();
  for (;;) {
    std::optional<Result<Submitted>> submitted =
        ask_for_job([&](std::uint64_t submission) { send_graph(submission, spec, graph); });
    if (submitted.has_value()) {
      const std::lock_guard lock{mutex_};
      if (*submitted) expect_subtasks(jobs_, (*submitted)->job, subtasks);
      return std::move(*submitted);
    }
    if (spec.name.empty()) return unanswered();
    if (deaths_seen() - deaths >= kDeathsMax) return cut_short(spec.name);
  }
}

std::uint64_t Session::deaths_seen() const {
  const std::lock_guard lock{mutex_};
  return deaths_;
}

Result<JobId> Session::attach(const JobSelector& selector) {
  std::unique_lock lock{mutex_};
  const std::uint64_t request = requests_.next++;
  requests_.attachments[request];
  requests_.unanswered[request] = AttachJob{request, selector};
  transport_->send(AttachJob{request, selector});
  changed_.wait(lock, [&] { return requests_.attachments[request].has_value() || end_.has_value(); });
  const std::optional<AttachReply> reply = requests_.attachments[request];
  requests_.attachments.erase(request);
  requests_.unanswered.erase(request);
  forget_left();
  if (!reply.has_value()) return *end_;
  if (!reply->job.valid()) return reply->refusal;
  return reply->job;
}

Result<JobState> Session::wait(JobId job, Duration timeout) {
  std::unique_lock lock{mutex_};
  wait_until(changed_, lock, timeout, [&] { return is_over(job) || end_.has_value(); });
  const auto found = jobs_.find(job);
  if (found != jobs_.end() && found->second.view.state != JobState::Running) return found->second.view.state;
  if (end_.has_value()) return *end_;
  if (found == jobs_.end()) return not_followed(job);
  return JobState::Running;
}

Result<JobState> Session::wait_subtask(JobId job, SubtaskIndex subtask, Duration timeout) {
  JobState state = JobState::Running;
  const auto has_ended = [&] {
    const auto found = jobs_.find(job);
    if (found == jobs_.end()) return true;
    state = found->second.told.end_of(subtask);
    const JobView& view = found->second.view;
    const bool is_none = view.counts.total > 0 && subtask.value() >= view.counts.total;
    return state != JobState::Running || view.state != JobState::Running || is_none;
  };
  {
    std::unique_lock lock{mutex_};
    ++subtask_waits_;
    const bool in_time = wait_until(changed_, lock, timeout, [&] { return has_ended() || end_.has_value(); });
    --subtask_waits_;
    const auto found = jobs_.find(job);
    if (found == jobs_.end()) return end_.has_value() ? *end_ : not_followed(job);
    if (state == JobState::Running) {
      if (!in_time) return state;
      if (!has_ended()) return *end_;
      if (!found->second.view.error.message.empty()) return found->second.view.error;
      return Error{ErrorCode::NotFound, to_string(job), "has no subtask " + std::to_string(subtask.value()), {}};
    }
  }
  // The news of its end may be in delivery: `telling_` waits until they have all been delivered.
  const std::lock_guard telling{telling_};
  return state;
}

/// True also if the job is not followed: no more news of it will come.
bool Session::is_over(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() || found->second.view.state != JobState::Running;
}

JobCounts Session::counts(JobId job) const {
  const std::lock_guard lock{mutex_};
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? JobCounts{} : found->second.view.counts;
}

JobIdentity Session::identity_of(JobId job) const {
  const std::lock_guard lock{mutex_};
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? JobIdentity{} : found->second.view.identity;
}

JobView Session::view(JobId job) const {
  const std::lock_guard lock{mutex_};
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return {};
  JobView view = found->second.view;
  if (found->second.is_told_again) keep_last_of_each(view.outputs);
  return view;
}

void Session::forget(JobId job) {
  const std::lock_guard telling{telling_};
  const std::lock_guard lock{mutex_};
  leave(job);
}

void Session::detach(JobId job) { give_back(job, false); }

void Session::release(JobId job) { give_back(job, true); }

bool Session::release_outputs(JobId job, std::vector<SubtaskIndex> subtasks) {
  const std::lock_guard telling{telling_};
  const std::lock_guard lock{mutex_};
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || found->second.holders > 1 || end_.has_value()) return false;
  ReleaseOutputs message{job, found->second.view.identity, ranges_of(std::move(subtasks))};
  if (message.subtasks.empty()) return true;
  std::erase_if(found->second.view.outputs,
                [&](const OutputLocation& output) { return contains(message.subtasks, output.producer); });
  add_ranges(found->second.released, message.subtasks);
  transport_->send(std::move(message));
  return true;
}

void Session::give_back(JobId job, bool release) {
  const std::lock_guard telling{telling_};
  const std::lock_guard lock{mutex_};
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) {
    if (release && !end_.has_value()) transport_->send(ReleaseJob{job});
    return;
  }
  found->second.is_released |= release;
  if (--found->second.holders > 0) return;
  const bool is_released = found->second.is_released;
  const JobIdentity identity = found->second.view.identity;
  leave(job);
  if (end_.has_value()) return;
  left_[job] = requests_.next;
  forget_left();
  if (is_released)
    transport_->send(ReleaseJob{job, identity});
  else
    transport_->send(UnfollowJob{job, identity});
}

/// REQUIRES: both mutexes are held.
void Session::leave(JobId job) {
  jobs_.erase(job);
  if (on_left_) on_left_(job);
  changed_.notify_all();
}

/// The answer to `request` gives the job to one more holder. REQUIRES: the mutex is held.
Session::Followed& Session::give(JobId id, std::uint64_t request) {
  Followed& job = jobs_[id];  // To be followed again, whatever happens next.
  job.view.id = id;
  ++job.holders;
  if (const auto left = left_.find(id); left != left_.end() && request < left->second) attach_again(id);
  return job;
}

/// REQUIRES: the mutex is held.
void Session::attach_again(JobId job) {
  const std::uint64_t request = requests_.next++;
  requests_.reattaching[request] = job;
  transport_->send(AttachJob{request, JobSelector{job, {}}, jobs_[job].view.identity});
}

/// The same after that time, if the job is followed and runs then. False: no timer can be had. REQUIRES: the mutex is
/// held.
bool Session::follow_later(JobId job, Duration wait) {
  return transport_->after(wait, [this, job, renewals = renewals_] {
    const std::lock_guard lock{mutex_};
    const auto found = jobs_.find(job);
    if (renewals != renewals_ || found == jobs_.end() || found->second.view.state != JobState::Running) return;
    attach_again(job);
  });
}

/// Forgets released jobs that no pending answer can give again. REQUIRES: the mutex is held.
void Session::forget_left() {
  std::uint64_t oldest = requests_.next;
  if (!requests_.submissions.empty()) oldest = std::min(oldest, requests_.submissions.begin()->first);
  if (!requests_.attachments.empty()) oldest = std::min(oldest, requests_.attachments.begin()->first);
  std::erase_if(left_, [&](const auto& left) { return left.second <= oldest; });
}

Result<Value> Session::ask(const std::string& command, const std::vector<std::string>& arguments, Duration timeout) {
  const std::string operator_name = user_name() + "@" + host_name();
  std::unique_lock lock{mutex_};
  if (end_.has_value()) return *end_;
  const std::uint64_t request = requests_.next++;
  Question& question = requests_.questions[request];
  const AdminRequest asked{request, command, arguments, operator_name};
  requests_.unanswered[request] = asked;
  transport_->send(asked);
  wait_until(question.changed, lock, timeout, [&] { return question.answer.has_value() || end_.has_value(); });
  const std::optional<AdminAnswer> answer = std::move(question.answer);
  const std::optional<Error> refusal = std::move(question.refusal);
  requests_.questions.erase(request);
  requests_.unanswered.erase(request);
  if (answer.has_value()) {
    if (!answer->refusal.message.empty()) return answer->refusal;
    return answer->value;
  }
  if (end_.has_value()) return *end_;
  if (refusal.has_value()) return *refusal;
  return Error{ErrorCode::TimedOut, command, "was not answered by the supervisor in time",
               "is the supervisor overloaded? try again"};
}

void Session::interrupt() {
  end(Error{ErrorCode::Cancelled, "the client", "is being closed", {}});
  transport_->end_waits();
}

void Session::receive(const ToClient& message) {
  std::visit([this](const auto& concrete) { take(concrete); }, message);
}

void Session::take(const SubmitReply& reply) {
  const std::lock_guard lock{mutex_};
  const auto found = requests_.submissions.find(reply.submission);
  if (found == requests_.submissions.end()) return;
  found->second = reply;
  if (reply.job.valid()) {
    Followed& job = give(reply.job, reply.submission);
    job.is_told_again |= reply.existed;
    job.view.identity = reply.identity;
    found->second->ours = !reply.existed || reply.ours;
  }
  changed_.notify_all();
}

void Session::take(const AttachReply& reply) {
  const std::lock_guard lock{mutex_};
  const bool is_to_wait = reply.retry_after > Duration{0} && !reply.job.valid();
  if (requests_.attachments.contains(reply.request) && is_to_wait && ask_again(reply.request, reply.retry_after))
    return;
  if (const auto again = requests_.reattaching.find(reply.request);
      again != requests_.reattaching.end() && is_to_wait && follow_later(again->second, reply.retry_after)) {
    requests_.reattaching.erase(again);
    return;
  }
  if (const auto found = requests_.attachments.find(reply.request); found != requests_.attachments.end()) {
    found->second = reply;
    if (reply.job.valid()) {
      Followed& job = give(reply.job, reply.request);
      job.is_told_again = true;
      job.view.identity = reply.identity;
    }
  }
  if (const auto again = requests_.reattaching.find(reply.request); again != requests_.reattaching.end()) {
    const auto job = jobs_.find(again->second);
    if (job != jobs_.end()) job->second.is_told_again = true;
    if (job != jobs_.end() && !reply.job.valid() && job->second.view.state == JobState::Running) {
      job->second.view.state = JobState::Failed;
      job->second.view.error = reply.refusal;
    }
    requests_.reattaching.erase(again);
  }
  changed_.notify_all();
}

// The news are delivered before threads that wait for the end of the job are woken.
void Session::take(const JobProgress& progress) {
  const std::lock_guard telling{telling_};
  OnNews on_news;
  JobProgress news = progress;
  {
    const std::lock_guard lock{mutex_};
    const auto job = jobs_.find(news.job);
    if (job == jobs_.end()) return;
    on_news = on_news_;
    job->second.told.keep_only_new(news);
  }
  if (on_news) on_news(news);
  const std::lock_guard lock{mutex_};
  Followed& job = jobs_[news.job];
  take_in(job.view, news);
  if (news.state == JobState::Running && subtask_waits_ > 0) changed_.notify_all();
  if (news.state == JobState::Running) return;
  if (std::exchange(job.is_told_again, false)) keep_last_of_each(job.view.outputs);
  changed_.notify_all();
}

void Session::take_in(JobView& view, JobProgress& news) {
  view.id = news.job;
  view.state = news.state;
  view.counts = news.counts;
  view.failures.insert(view.failures.end(), news.failures.begin(), news.failures.end());
  view.outputs.insert(view.outputs.end(), news.outputs.begin(), news.outputs.end());
  view.traces.insert(view.traces.end(), news.traces.begin(), news.traces.end());
  if (news.state != JobState::Running) view.error = news.error;
}

void Session::renew(SupervisorLife life) {
  const std::lock_guard lock{mutex_};
  if (transport_ == nullptr) return;
  ++renewals_;
  if (life == SupervisorLife::Next) ++deaths_;
  for (const auto& [id, job] : jobs_) {
    if (job.view.state == JobState::Running) attach_again(id);
    if (!job.released.empty()) transport_->send(ReleaseOutputs{id, job.view.identity, job.released});
  }
  for (const auto& [request, message] : requests_.unanswered) transport_->send(message);
  changed_.notify_all();
}

void Session::take(const AdminAnswer& answer) {
  const std::lock_guard lock{mutex_};
  const auto found = requests_.questions.find(answer.request);
  if (found == requests_.questions.end()) return;
  if (answer.retry_after > Duration{0} && ask_again(answer.request, answer.retry_after)) {
    found->second.refusal = answer.refusal;
    return;
  }
  found->second.answer = answer;
  found->second.changed.notify_one();
}

void Session::end(const Error& error) {
  const std::lock_guard lock{mutex_};
  if (!end_.has_value()) end_ = error;
  changed_.notify_all();
  for (auto& [request, question] : requests_.questions) question.changed.notify_one();
}

}  // namespace penstock::client
