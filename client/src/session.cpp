#include "client/src/session.hpp"

#include <chrono>

#include "common/protocol/graph_chunks.hpp"

namespace penstock::client {
namespace {

template <class Predicate>
bool wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Duration timeout, Predicate done) {
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
  return {[this](const ToClient& message) { receive(message); }, [this](const Error& error) { end(error); }};
}

void Session::start(std::unique_ptr<Transport> transport) { transport_ = std::move(transport); }

void Session::set_on_news(OnNews on_news) {
  const std::lock_guard lock{mutex_};
  on_news_ = std::move(on_news);
}

std::uint64_t Session::open_submission() {
  const std::lock_guard lock{mutex_};
  const std::uint64_t submission = next_request_++;
  submissions_[submission];
  return submission;
}

Result<Session::Submitted> Session::submit_again(const JobSpec& spec, const Graph& graph) {
  return submit_again(spec, graph, content_hash(graph));
}

Result<Session::Submitted> Session::submit_again(const JobSpec& spec, const Graph& graph, const GraphHash& hash) {
  const std::uint64_t submission = open_submission();
  transport_->send(SubmitAgain{submission, {}, spec, hash});
  Result<Submitted> submitted = wait_for_reply(submission);
  if (!submitted && submitted.error().code == ErrorCode::UnknownGraph) return submit(spec, graph);
  if (submitted) submitted->sent_whole = false;
  return submitted;
}

Result<Session::Submitted> Session::submit(JobSpec spec, Graph graph) {
  const std::uint64_t submission = open_submission();
  const auto total = static_cast<std::uint32_t>(graph.size());
  std::uint32_t first = 0;
  std::uint32_t count = total == 0 ? 0 : chunk_size(graph, 0, transport_->chunk_bytes());
  if (count == total) {
    transport_->send(SubmitChunk{submission, true, true, std::move(spec), std::move(graph)});
  } else {
    while (first < total) {
      count = chunk_size(graph, first, transport_->chunk_bytes());
      const bool last = first + count == total;
      transport_->send(SubmitChunk{submission, first == 0, last, first == 0 ? spec : JobSpec{}, chunk_of(graph, first, count)});
      first += count;
      const std::lock_guard lock{mutex_};
      if (submissions_[submission].has_value() || end_.has_value()) break;  // Refused before it was all sent.
    }
  }
  return wait_for_reply(submission);
}

Result<Session::Submitted> Session::wait_for_reply(std::uint64_t submission) {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [&] { return submissions_[submission].has_value() || end_.has_value(); });
  const std::optional<SubmitReply> reply = submissions_[submission];
  submissions_.erase(submission);
  if (!reply.has_value()) return *end_;
  if (!reply->job.valid()) return reply->refusal;
  return Submitted{reply->job, reply->existed};
}

Result<JobId> Session::attach(const JobSelector& selector) {
  std::unique_lock lock{mutex_};
  const std::uint64_t request = next_request_++;
  attachments_[request];
  transport_->send(AttachJob{request, selector});
  changed_.wait(lock, [&] { return attachments_[request].has_value() || end_.has_value(); });
  const std::optional<AttachReply> reply = attachments_[request];
  attachments_.erase(request);
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
}

void Session::release(JobId job) { transport_->send(ReleaseJob{job}); }

Result<Value> Session::ask(const std::string& command, const std::vector<std::string>& arguments, Duration timeout) {
  std::unique_lock lock{mutex_};
  const std::uint64_t request = next_request_++;
  questions_[request];
  transport_->send(AdminRequest{request, command, arguments});
  wait_until(changed_, lock, timeout, [&] { return questions_[request].has_value() || end_.has_value(); });
  const std::optional<AdminAnswer> answer = questions_[request];
  questions_.erase(request);
  if (answer.has_value()) {
    if (!answer->refusal.message.empty()) return answer->refusal;
    return answer->value;
  }
  if (end_.has_value()) return *end_;
  return Error{ErrorCode::TimedOut, command, "was not answered by the supervisor in time", "is the supervisor overloaded? try again"};
}

void Session::receive(const ToClient& message) {
  std::visit([this](const auto& concrete) { take(concrete); }, message);
}

void Session::take(const SubmitReply& reply) {
  const std::lock_guard lock{mutex_};
  if (const auto found = submissions_.find(reply.submission); found != submissions_.end()) found->second = reply;
  changed_.notify_all();
}

void Session::take(const AttachReply& reply) {
  const std::lock_guard lock{mutex_};
  if (const auto found = attachments_.find(reply.request); found != attachments_.end()) found->second = reply;
  changed_.notify_all();
}

// The news are told before whoever waits for the end of the job is woken: then they have been told all.
void Session::take(const JobProgress& progress) {
  OnNews on_news;
  {
    const std::lock_guard lock{mutex_};
    on_news = on_news_;
  }
  if (on_news) on_news(progress);
  const std::lock_guard lock{mutex_};
  JobView& view = jobs_[progress.job];
  view.id = progress.job;
  view.state = progress.state;
  view.counts = progress.counts;
  view.failures.insert(view.failures.end(), progress.failures.begin(), progress.failures.end());
  view.outputs.insert(view.outputs.end(), progress.outputs.begin(), progress.outputs.end());
  view.traces.insert(view.traces.end(), progress.traces.begin(), progress.traces.end());
  if (progress.state == JobState::Running) return;
  view.error = progress.error;
  changed_.notify_all();
}

void Session::take(const AdminAnswer& answer) {
  const std::lock_guard lock{mutex_};
  if (const auto found = questions_.find(answer.request); found != questions_.end()) found->second = answer;
  changed_.notify_all();
}

void Session::end(const Error& error) {
  const std::lock_guard lock{mutex_};
  if (!end_.has_value()) end_ = error;
  changed_.notify_all();
}

}  // namespace penstock::client
