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
/// supervisor dies and comes back, or has given this client up, the session says again what was not answered and goes
/// on following its jobs; nothing is told twice. Invariant: everything but `transport_` is guarded by the mutex;
/// handlers of the transport take it shortly.
class Session {
 public:
  /// News of any job, on the transport's thread, in order. Must not call the session.
  using OnNews = std::function<void(const JobProgress&)>;
  /// A job is left: no more news of it, unless it is given anew. On the thread that leaves; must not call the session.
  using OnLeft = std::function<void(JobId)>;

  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// To be given to the transport.
  TransportHandlers handlers();
  /// Called once, before anything else.
  void start(std::unique_ptr<Transport> transport);
  void set_on_news(OnNews on_news);
  /// Called once, before anything else.
  void set_on_left(OnLeft on_left);

  struct Submitted {
    JobId job;
    bool existed = false;    ///< A job of that name was there already; this is it.
    bool ours = true;        ///< This call has made it: it is new, or its first answer was lost. Else it is another's.
    bool sent_whole = true;  ///< False when one small message was enough.
  };
  /// Returns when the graph is accepted, or with the reason why not. When the supervisor dies before it has answered,
  /// a job with a name is sent to its next life, once: a graph that two lives did not survive may be why they ended.
  Result<Submitted> submit(JobSpec spec, Graph graph);
  /// The same for a graph that was submitted before, by whomever: names it by its content, and sends it whole only to a
  /// supervisor that does not know it (any more). `hash` is that of the graph; who runs it often computes it once.
  Result<Submitted> submit_again(const JobSpec& spec, const Graph& graph);
  Result<Submitted> submit_again(const JobSpec& spec, const Graph& graph, const GraphHash& hash);
  /// Follows a job that was submitted elsewhere. Error: NotFound.
  Result<JobId> attach(const JobSelector& selector);
  /// Until the job has ended, or `timeout` has passed (then it is still running in the answer).
  Result<JobState> wait(JobId job, Duration timeout = Duration::max());
  /// The same of one of its subtasks. Error: also NotFound, if the job has none of that number.
  Result<JobState> wait_subtask(JobId job, SubtaskIndex subtask, Duration timeout = Duration::max());
  JobCounts counts(JobId job) const;
  /// None of a job that is not followed.
  JobIdentity identity_of(JobId job) const;
  /// A copy of everything: for jobs with traces or many outputs, once at their end.
  JobView view(JobId job) const;
  /// Called once for each time the job was given by `submit` or `attach`: after the last it is not followed any more,
  /// and nobody here is told of it. It goes on, and its outputs are kept as of one that nobody follows.
  void detach(JobId job);
  /// The same, and its outputs are needed no longer once nobody here holds it any more.
  void release(JobId job);
  /// Frees what is kept here of a job that has ended, or was released; nobody here is told of it any more.
  void forget(JobId job);
  /// One question or order of an operator.
  Result<Value> ask(const std::string& command, const std::vector<std::string>& arguments,
                    Duration timeout = std::chrono::seconds{30});
  /// Lets all calls that wait return, and further ones fail at once. Error: Cancelled.
  void interrupt();

 private:
  /// Who asks is woken by its own answer alone: thousands of orders a second may wait at once.
  struct Question {
    std::condition_variable changed;  // Of `mutex_`: the answer has come, or the session has ended.
    std::optional<AdminAnswer> answer;
  };

  /// A job that is followed. News of others are not listened to: the last ones may still come when it is left.
  struct Followed {
    JobView view;
    ToldSubtasks told;
    std::uint32_t holders = 0;  ///< Calls that gave it and were not taken back.
    bool is_released = false;   ///< By one of those that were.
    bool is_told_again = false;  ///< Outputs may stand in the view more than once; the last one counts.
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
  void forget_left();

  /// Another one for each job, so that who repeats a submission is known by it.
  std::atomic<std::uint64_t> submitter_;  // Invariant: only counted up; tests/integration/cluster under the thread sanitizer.
  std::mutex telling_;               ///< Held while news are told: nobody is told of a job that was left. Comes first.
  mutable std::mutex mutex_;         // Invariant above; tests/integration/cluster under the thread sanitizer.
  std::condition_variable changed_;  // Notified when anything but an answer may have come.
  OnNews on_news_;
  OnLeft on_left_;
  std::uint64_t next_request_ = 1;
  std::map<std::uint64_t, std::optional<SubmitReply>> submissions_;
  std::map<std::uint64_t, std::optional<AttachReply>> attachments_;
  std::map<std::uint64_t, Question> questions_;
  std::map<JobId, Followed> jobs_;
  /// Jobs that were given back, and the first request after that: the answer to an earlier one may give one of them
  /// anew, of which the supervisor has then heard that it is not followed.
  std::map<JobId, std::uint64_t> left_;
  std::map<std::uint64_t, FromClient> unanswered_;  ///< Attachments and questions, to be said again.
  std::map<std::uint64_t, JobId> reattaching_;
  std::uint64_t renewals_ = 0;
  std::uint64_t deaths_ = 0;         ///< Of the supervisor.
  std::uint32_t subtask_waits_ = 0;  ///< Threads that wait for one subtask: news of a job that runs wake them.
  std::optional<Error> end_;
  /// The last member, so that it is destroyed first: until the transport's thread has ended, that thread calls the
  /// handlers, which use all of the above and send by this pointer.
  std::unique_ptr<Transport> transport_;
};

}  // namespace penstock::client
