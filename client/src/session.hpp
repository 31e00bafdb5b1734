// A client's conversation with a supervisor, for threads that wait.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "client/src/told_subtasks.hpp"
#include "client/src/transport.hpp"
#include "common/base/time.hpp"

namespace penstock::client {

/// All that a client knows of a job.
struct JobView {
  JobId id;
  JobIdentity identity;
  JobState state = JobState::Running;
  JobCounts counts;
  std::vector<SubtaskFailure> failures;
  std::vector<OutputLocation> outputs;
  std::vector<SubtaskTrace> traces;
  Error error;
};

/// Submits, follows and asks, blocking the calling thread; any number of threads may use one session. When the
/// supervisor dies and comes back, or has given this client up, the session repeats all unanswered messages and
/// continues to follow its jobs; nothing is delivered twice. A message that is refused for a time only, because this
/// user sends more than it may, is sent again when that time is over. Invariant: the mutex guards everything but
/// `transport_`; handlers of the transport take it shortly.
class Session {
 public:
  /// News of any job, on the transport's thread, in order. Must not call the session.
  using OnNews = std::function<void(const JobProgress&)>;
  /// A job is left: no more news of it, unless it is given again. Runs on the leaving thread; must not call the
  /// session.
  using OnLeft = std::function<void(JobId)>;

  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// The handlers for the transport.
  TransportHandlers handlers();
  /// Called once, before any other member.
  void start(std::unique_ptr<Transport> transport);
  void set_on_news(OnNews on_news);
  /// Called once, before any other member.
  void set_on_left(OnLeft on_left);

  struct Submitted {
    JobId job;
    /// A job of that name existed already and is returned. Of a job that this call has made: false, also when its first
    /// answer was lost.
    bool existed = false;
    /// This call has made the job: it is new, or its first answer was lost. False: another client has made it.
    bool ours = true;
    bool sent_whole = true;  ///< False when one small message was enough.
  };
  /// Returns when the graph is accepted, or with the reason of the refusal. When the supervisor dies before it has
  /// answered, a job with a name is sent once more: a graph that ended two incarnations is not sent again.
  Result<Submitted> submit(JobSpec spec, Graph graph);
  /// The same for a graph that was submitted before, by any client: names it by its content, and sends it whole only to
  /// a supervisor that does not know it (any more). `hash` is that of the graph; a caller that submits it often
  /// computes it once.
  Result<Submitted> submit_again(const JobSpec& spec, const Graph& graph);
  Result<Submitted> submit_again(const JobSpec& spec, const Graph& graph, const GraphHash& hash);
  /// Follows a job that was submitted elsewhere. Error: NotFound.
  Result<JobId> attach(const JobSelector& selector);
  /// Waits until the job has ended, or `timeout` has passed (then the answer is Running).
  Result<JobState> wait(JobId job, Duration timeout = Duration::max());
  /// The same for one of its subtasks. Error: also NotFound, if the job has no subtask of that number.
  Result<JobState> wait_subtask(JobId job, SubtaskIndex subtask, Duration timeout = Duration::max());
  JobCounts counts(JobId job) const;
  /// None for a job that is not followed.
  JobIdentity identity_of(JobId job) const;
  /// A copy of everything: for jobs with traces or many outputs, call it once at their end.
  JobView view(JobId job) const;
  /// Called once for each time that `submit` or `attach` gave the job: after the last call the job is not followed any
  /// more, and no news of it are delivered. The job goes on, and its outputs are kept as those of a job without
  /// followers.
  void detach(JobId job);
  /// The same, and the outputs are not needed any more after the last holder here has left.
  void release(JobId job);
  /// The outputs of these subtasks are not needed any more. False, and nothing happens, while several holders here have
  /// the job, or none.
  bool release_outputs(JobId job, std::vector<SubtaskIndex> subtasks);
  /// Frees the view of a job that has ended, or was released; no more news of it are delivered here.
  void forget(JobId job);
  /// Asks one question, or gives one order, of an operator.
  Result<Value> ask(const std::string& command, const std::vector<std::string>& arguments,
                    Duration timeout = std::chrono::seconds{30});
  /// Makes all waiting calls return, and later ones fail at once. Error: Cancelled.
  void interrupt();

 private:
  /// A caller is woken by its own answer alone: thousands of orders a second may wait at once.
  struct Question {
    std::condition_variable changed;  // Of `mutex_`: the answer has come, or the session has ended.
    std::optional<AdminAnswer> answer;
    std::optional<Error> refusal;  ///< The last one that time undoes.
  };

  /// A job that is followed. News of unknown jobs are ignored: the last ones may arrive after a job was left.
  struct Followed {
    JobView view;
    ToldSubtasks told;
    std::vector<SubtaskRange> released;  ///< In ascending order: told again to the supervisor's next life.
    std::uint32_t holders = 0;   ///< Calls that gave the job and were not taken back.
    bool is_released = false;    ///< By one of the calls that were taken back.
    bool is_told_again = false;  ///< An output may be in the view more than once; the last one counts.
  };

  /// Requests by number.
  struct Requests {
    std::uint64_t next = 1;
    std::map<std::uint64_t, std::optional<SubmitReply>> submissions;
    std::map<std::uint64_t, std::optional<AttachReply>> attachments;
    std::map<std::uint64_t, Question> questions;
    std::map<std::uint64_t, FromClient> unanswered;  ///< Attachments and questions, to be sent again.
    std::map<std::uint64_t, JobId> reattaching;
  };

  std::optional<Result<Submitted>> ask_for_job(const std::function<void(std::uint64_t)>& send);
  void receive(const ToClient& message);
  void take(const SubmitReply& reply);
  void take(const AttachReply& reply);
  void take(const JobProgress& progress);
  void take(const AdminAnswer& answer);
  void renew(SupervisorLife life);
  std::uint64_t deaths_seen() const;
  void end(const Error& error);
  void send_graph(std::uint64_t submission, const JobSpec& spec, Graph& graph);
  static void take_in(JobView& view, JobProgress& news);
  bool is_over(JobId job) const;
  void give_back(JobId job, bool release);
  void leave(JobId job);
  Followed& give(JobId job, std::uint64_t request);
  void attach_again(JobId job);
  bool ask_again(std::uint64_t request, Duration wait);
  bool follow_later(JobId job, Duration wait);
  void forget_left();

  /// Another number for each job, by which the supervisor recognises a repeated submission.
  // Invariant: only counted up; tests/integration/cluster under the thread sanitizer.
  std::atomic<std::uint64_t> submitter_;
  std::mutex telling_;  ///< Held while news are delivered: none of a left job are delivered. Locked before `mutex_`.
  mutable std::mutex mutex_;         // Invariant above; tests/integration/cluster under the thread sanitizer.
  std::condition_variable changed_;  // Notified after every change but answers to questions.
  OnNews on_news_;
  OnLeft on_left_;
  Requests requests_;
  std::map<JobId, Followed> jobs_;
  /// Jobs that were given back, and the first request after that: the answer to an earlier request may give one of them
  /// again, after the supervisor has been told that it is not followed.
  std::map<JobId, std::uint64_t> left_;
  std::uint64_t renewals_ = 0;
  std::uint64_t deaths_ = 0;         ///< Of the supervisor.
  std::uint32_t subtask_waits_ = 0;  ///< Threads that wait for one subtask: news of a running job wake them.
  std::optional<Error> end_;
  /// The last member, so that it is destroyed first: until the transport's thread has ended, that thread calls the
  /// handlers, which use all of the above and send by this pointer.
  std::unique_ptr<Transport> transport_;
};

}  // namespace penstock::client
