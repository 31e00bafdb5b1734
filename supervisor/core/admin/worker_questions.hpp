// Questions of operators that only workers can answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/protocol/admin.hpp"
#include "supervisor/core/workers/worker_mail.hpp"

namespace penstock::supervisor {

/// Asks workers for operators, and answers a request when the last worker that it was put to has answered, or is lost.
/// A request is one of three kinds: the state of an assigned subtask at its worker; the lines of a log, of which every
/// worker has a part; the confirmation that workers have carried out a cancel. A worker starts cached successors by
/// itself, also while the supervisor is away: only its answer shows that it starts nothing more.
/// Invariant: each question that is open belongs to a worker that is alive, or waits for workers to come back.
/// Consumes: ExplainAnswer, LogAnswer, the loss of a worker, the end of a client. Cost: linear in the open questions.
class WorkerQuestions {
 public:
  WorkerQuestions(const WorkerTable& workers, WorkerMail& mail, CommitGate& gate, Bytes log_answer_bytes_max)
      : workers_(workers), mail_(mail), gate_(gate), log_answer_bytes_max_(log_answer_bytes_max) {}
  WorkerQuestions(const WorkerQuestions&) = delete;
  WorkerQuestions& operator=(const WorkerQuestions&) = delete;

  /// The operator's request that is answered in the end.
  struct Asker {
    ClientId client;
    std::uint64_t request;
  };
  /// Asks a worker for the state of a subtask. `answer` has the facts that are known without the worker.
  void ask_for_explanation(WorkerSlot worker, const SubtaskId& subtask, Asker asker, Value answer);
  /// Asks all workers for the job's log: any of them may have run some of it, those too that have lost its data since.
  /// `only`: the beginning of the lines that are wanted. False: there is no worker.
  bool ask_for_logs(JobId job, const std::string& only, Asker asker);
  /// Asks the workers that may hold something of a cancelled job; `answer` leaves with the last of theirs, and names
  /// workers that were lost before they answered: forwarded subtasks may still run there, though they count for
  /// nothing. False: there is no worker to ask.
  bool ask_for_confirmations(JobId job, std::span<const WorkerId> workers, Asker asker, const Value& answer);
  /// The same when `workers_are_back` is called for the job.
  void ask_for_confirmations_later(JobId job, Asker asker, const Value& answer);
  /// The workers from before the restart are back but for `absent`, which are named; cancels of the job have just been
  /// sent.
  void workers_are_back(JobId job, std::span<const WorkerId> workers, const std::vector<std::string>& absent);

  void answered(WorkerSlot worker, const ExplainAnswer& message);
  void answered(WorkerSlot worker, const LogAnswer& message);
  /// REQUIRES: the worker is still in the table.
  void worker_lost(WorkerId worker, const std::string& reason);
  void client_gone(ClientId client);

 private:
  enum class Kind : std::uint8_t { Explanation, Log, Confirmation };
  struct Question {
    std::uint64_t number;
    WorkerId worker;  ///< None: the workers of before a restart are awaited.
    Asker asker;
    Value answer;  ///< The answer so far.
    Kind kind = Kind::Explanation;
    JobId job{};                             ///< Of a confirmation.
    std::vector<std::string> unconfirmed{};  ///< Workers that will not confirm.
  };
  std::optional<Question> take(WorkerSlot worker, std::uint64_t number);
  /// Removes the questions for which `wanted` holds, and returns them.
  template <class Wanted>
  std::vector<Question> take_all(Wanted wanted);
  /// The first open question of the request, which gathers the answers to all; null if none is open.
  Question* gatherer(const Question& question);
  void answer_explanation(const Question& question, const std::string& state, const std::string& reason);
  void answer_log(const Question& question, const std::string& log);
  void answer_confirmation(Question question, const std::vector<std::string>& unconfirmed);
  const std::string& name_of(WorkerId worker) const { return workers_[workers_.find(worker)].description.name; }

  const WorkerTable& workers_;
  WorkerMail& mail_;
  CommitGate& gate_;
  const Bytes log_answer_bytes_max_;
  std::vector<Question> open_;
  std::uint64_t next_number_ = 1;
};

}  // namespace penstock::supervisor
