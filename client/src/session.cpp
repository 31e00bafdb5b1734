#include "client/src/session.hpp"

#include <chrono>

#include "common/protocol/graph_chunks.hpp"
#include "common/runtime/host.hpp"

namespace penstock::client {
namespace {

Error unanswered() {
  return {ErrorCode::Disconnected, "supervisor", "was away before it answered; the job may be accepted or not",
          "see `penstock jobs`; a job with a name is submitted again by itself"};
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

}  // namespace

Session::Session() = default;
Session::~Session() { transport_.reset(); }

TransportHandlers Session::handlers() {
  return {[this](const ToClient& message) { receive(message); }, [this] { renew(); },
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

/// Sends a job with `send` and waits for what becomes of it; none if the supervisor was away before it answered.
std::optional<Result<Session::Submitted>> Session::ask_for_job(const std::function<void(std::uint64_t)>& send) {
  std::unique_lock lock{mutex_};
  const std::uint64_t submission = next_request_++;
  const std::uint64_t renewals = renewals_;
  submissions_[submission];
  lock.unlock();
  send(submission);
  lock.lock();
  changed_.wait(lock,
                [&] { return submissions_[submission].has_value() || end_.has_value() || renewals != renewals_; });
  const std::optional<SubmitReply> reply = submissions_[submission];
  submissions_.erase(submission);
  if (reply.has_value() && reply->job.valid()) return Submitted{reply->job, reply->existed};
  if (reply.has_value()) return reply->refusal;
  if (end_.has_value()) return *end_;
  return std::nullopt;
}

Result<Session::Submitted> Session::submit_again(const JobSpec& spec, const Graph& graph) {
  return submit_again(spec, graph, content_hash(graph));
}

Result<Session::Submitted> Session::submit_again(const JobSpec& spec, const Graph& graph, const GraphHash& hash) {
  std::optional<Result<Submitted>> submitted = ask_for_job([&](std::uint64_t submission) {
    transport_->send(SubmitAgain{submission, {}, spec, hash});
  });
  if (!submitted.has_value() && spec.name.empty()) return unanswered();
  if (!submitted.has_value()) return submit(spec, graph);
  if (!*submitted && submitted->error().code == ErrorCode::UnknownGraph) return submit(spec, graph);
  if (*submitted) (*submitted)->sent_whole = false;
  return std::move(*submitted);
}

void Session::send_graph(std::uint64_t submission, const JobSpec& spec, Graph& graph) {
  const auto total = static_cast<std::uint32_t>(graph.size());
  const std::uint32_t whole = total == 0 ? 0 : chunk_size(graph, 0, transport_->chunk_bytes());
  if (whole == total) {
    // Kept where it may have to be sent once more.
    transport_->send(SubmitChunk{submission, true, true, spec, transport_->may_renew() ? graph : std::move(graph)});
    return;
  }
  std::unique_lock lock{mutex_};
  const std::uint64_t renewals = renewals_;
  for (std::uint32_t first = 0; first < total;) {
    // Refused before it was all sent; or the supervisor is another one, to which the rest says nothing.
    if (submissions_[submission].has_value() || end_.has_value() || renewals != renewals_) return;
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

// Fault F06: under its name the same job is the same job, however often it is submitted.
Result<Session::Submitted> Session::submit(JobSpec spec, Graph graph) {
  PENSTOCK_TRY(check_chunks(graph, transport_->chunk_bytes(), transport_->message_bytes_max()));
  for (;;) {
    std::optional<Result<Submitted>> submitted =
        ask_for_job([&](std::uint64_t submission) { send_graph(submission, spec, graph); });
    if (submitted.has_value()) return std::move(*submitted);
    if (spec.name.empty()) return unanswered();
  }
}

Result<JobId> Session::attach(const JobSelector& selector) {
  std::unique_lock lock{mutex_};
  const std::uint64_t request = next_request_++;
  attachments_[request];
  unanswered_[request] = AttachJob{request, selector};
  transport_->send(AttachJob{request, selector});
  changed_.wait(lock, [&] { return attachments_[request].has_value() || end_.has_value(); });
  const std::optional<AttachReply> reply = attachments_[request];
  attachments_.erase(request);
  unanswered_.erase(request);
  if (!reply.has_value()) return *end_;
  if (!reply->job.valid()) return reply->refusal;
  return reply->job;
}

Result<JobState> Session::wait(JobId job, Duration timeout) {
  std::unique_lock lock{mutex_};
  wait_until(changed_, lock, timeout, [&] { return jobs_[job].state != JobState::Running || end_.has_value(); });
  if (jobs_[job].state == JobState::Running && end_.has_value()) return *end_;
  return jobs_[job].state;
}

JobCounts Session::counts(JobId job) const {
  const std::lock_guard lock{mutex_};
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? JobCounts{} : found->second.counts;
}

JobView Session::view(JobId job) const {
  const std::lock_guard lock{mutex_};
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? JobView{} : found->second;
}

void Session::forget(JobId job) {
  const std::lock_guard lock{mutex_};
  jobs_.erase(job);
  told_.erase(job);
}

void Session::release(JobId job) { transport_->send(ReleaseJob{job}); }

Result<Value> Session::ask(const std::string& command, const std::vector<std::string>& arguments, Duration timeout) {
  const std::string operator_name = user_name() + "@" + host_name();
  std::unique_lock lock{mutex_};
  if (end_.has_value()) return *end_;
  const std::uint64_t request = next_request_++;
  Question& question = questions_[request];
  const AdminRequest asked{request, command, arguments, operator_name};
  unanswered_[request] = asked;
  transport_->send(asked);
  wait_until(question.changed, lock, timeout, [&] { return question.answer.has_value() || end_.has_value(); });
  const std::optional<AdminAnswer> answer = std::move(question.answer);
  questions_.erase(request);
  unanswered_.erase(request);
  if (answer.has_value()) {
    if (!answer->refusal.message.empty()) return answer->refusal;
    return answer->value;
  }
  if (end_.has_value()) return *end_;
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
  if (const auto found = submissions_.find(reply.submission); found != submissions_.end()) found->second = reply;
  if (reply.job.valid()) jobs_[reply.job].id = reply.job;  // To be followed again, whatever happens next.
  changed_.notify_all();
}

void Session::take(const AttachReply& reply) {
  const std::lock_guard lock{mutex_};
  if (const auto found = attachments_.find(reply.request); found != attachments_.end()) found->second = reply;
  if (reply.job.valid()) jobs_[reply.job].id = reply.job;
  if (const auto again = reattaching_.find(reply.request); again != reattaching_.end()) {
    JobView& view = jobs_[again->second];
    if (!reply.job.valid() && view.state == JobState::Running) {
      view.state = JobState::Failed;
      view.error = reply.refusal;
    }
    reattaching_.erase(again);
  }
  changed_.notify_all();
}

// The news are told before whoever waits for the end of the job is woken: then they have been told all.
void Session::take(const JobProgress& progress) {
  OnNews on_news;
  JobProgress news = progress;
  {
    const std::lock_guard lock{mutex_};
    on_news = on_news_;
    told_[news.job].keep_only_new(news);
  }
  if (on_news) on_news(news);
  const std::lock_guard lock{mutex_};
  take_in(jobs_[news.job], news);
  if (news.state != JobState::Running) changed_.notify_all();
}

void Session::take_in(JobView& view, JobProgress& news) {
  view.id = news.job;
  view.state = news.state;
  view.counts = news.counts;
  view.failures.insert(view.failures.end(), news.failures.begin(), news.failures.end());
  for (OutputLocation& output : news.outputs) {
    // Said again after a renewal, or made again elsewhere.
    if (renewals_ > 0)
      std::erase_if(view.outputs, [&](const OutputLocation& known) {
        return known.producer == output.producer && known.output == output.output;
      });
    view.outputs.push_back(std::move(output));
  }
  view.traces.insert(view.traces.end(), news.traces.begin(), news.traces.end());
  if (news.state != JobState::Running) view.error = news.error;
}

void Session::renew() {
  const std::lock_guard lock{mutex_};
  if (transport_ == nullptr) return;
  ++renewals_;
  for (const auto& [id, view] : jobs_) {
    if (view.state != JobState::Running) continue;
    const std::uint64_t request = next_request_++;
    reattaching_[request] = id;
    transport_->send(AttachJob{request, JobSelector{id, {}}});
  }
  for (const auto& [request, message] : unanswered_) transport_->send(message);
  changed_.notify_all();
}

void Session::take(const AdminAnswer& answer) {
  const std::lock_guard lock{mutex_};
  const auto found = questions_.find(answer.request);
  if (found == questions_.end()) return;
  found->second.answer = answer;
  found->second.changed.notify_one();
}

void Session::end(const Error& error) {
  const std::lock_guard lock{mutex_};
  if (!end_.has_value()) end_ = error;
  changed_.notify_all();
  for (auto& [request, question] : questions_) question.changed.notify_one();
}

}  // namespace penstock::client
