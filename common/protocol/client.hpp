// Messages between a client and a supervisor about jobs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/protocol/admin.hpp"
#include "common/protocol/cancel.hpp"
#include "common/protocol/failure.hpp"
#include "common/protocol/graph_chunks.hpp"
#include "common/protocol/graph_hash.hpp"
#include "common/protocol/report.hpp"

namespace penstock {

/// The jobs that exist for the sender of a message. The supervisor's gateway sets it by the certificate of the peer; it
/// never travels.
struct Viewer {
  enum class Sees : std::uint8_t {
    All,
    Own,        ///< Jobs of the user.
    Nested,     ///< Jobs that runs have submitted.
    OwnNested,  ///< Of these the user's.
  };
  std::string user;
  Sees what = Sees::All;
  std::vector<std::string> groups{};  ///< Of the user, which sees what is shared with one of them.
  bool sees(const JobSpec& spec) const {
    if (what == Sees::All) return true;
    if (what != Sees::Own) return spec.parent.any() && (what == Sees::Nested || spec.owner == user);
    return spec.owner == user ||
           (spec.share.any() && std::find(groups.begin(), groups.end(), *spec.share) != groups.end());
  }
  bool sees_orders_of(const std::string& who) const {
    return what == Sees::All || (what == Sees::Own && who.substr(0, who.find('@')) == user);
  }
  friend bool operator==(const Viewer&, const Viewer&) = default;
};

/// A job by its number or by its name; the number wins. Of several jobs with that name one of the viewer is meant, else
/// the latest.
struct JobSelector {
  JobId id;
  std::string name;
  Viewer viewer{};
  friend bool operator==(const JobSelector&, const JobSelector&) = default;
};

/// The job that a person means by `job-3`, `3` or a name.
JobSelector job_selector_of(const std::string& text, const Viewer& viewer = {});

/// One chunk of a submitted graph. Nothing is accepted before all chunks have been checked together.
struct SubmitChunk {
  std::uint64_t submission = 0;  ///< Chosen by the client, unique among its submissions that are under way.
  bool first = false;
  bool last = false;
  JobSpec spec;                  ///< Of the first chunk; ignored in others.
  Graph graph;
  /// Of the first chunk: the sums over all chunks, so that too large a graph is refused before it is sent. All 0:
  /// unknown.
  GraphTotals whole{};
  friend bool operator==(const SubmitChunk&, const SubmitChunk&) = default;
};

/// Submits a graph that the supervisor knows as a new job: one small message instead of a graph. Refused with
/// `UnknownGraph` when the supervisor does not know it (any more); then the graph has to be sent.
struct SubmitAgain {
  std::uint64_t submission = 0;
  JobSelector like;  ///< A job with the same graph; only used without `graph`.
  JobSpec spec;
  GraphHash graph;   ///< The graph by its content.
  friend bool operator==(const SubmitAgain&, const SubmitAgain&) = default;
};

/// Follows a job that this client did not submit on this connection.
struct AttachJob {
  std::uint64_t request = 0;
  JobSelector job;
  JobIdentity identity{};  ///< If known: another job is not followed, whatever its number or name.
  friend bool operator==(const AttachJob&, const AttachJob&) = default;
};

/// The client no longer needs the outputs of the job.
struct ReleaseJob {
  JobId job;
  JobIdentity identity{};  ///< If known: another job is not released.
  friend bool operator==(const ReleaseJob&, const ReleaseJob&) = default;
};

/// Subtasks `first` to `last`, both included.
struct SubtaskRange {
  SubtaskIndex first;
  SubtaskIndex last;
  friend bool operator==(const SubtaskRange&, const SubtaskRange&) = default;
};

/// Adds a subtask behind all that are in the ranges.
void append(std::vector<SubtaskRange>& ranges, SubtaskIndex subtask);

/// The client no longer needs the outputs of these subtasks; other clients may follow the job. Ignored from the first
/// range on that is none of the job, or does not lie behind the range before. An older supervisor ignores this message.
struct ReleaseOutputs {
  JobId job;
  JobIdentity identity{};  ///< If known: another job keeps its outputs.
  std::vector<SubtaskRange> subtasks;
  friend bool operator==(const ReleaseOutputs&, const ReleaseOutputs&) = default;
};

/// Ends the progress messages about a job, which goes on. An older supervisor ignores this message.
struct UnfollowJob {
  JobId job;
  JobIdentity identity{};  ///< If known: another job stays followed.
  friend bool operator==(const UnfollowJob&, const UnfollowJob&) = default;
};

/// A question or an order of an operator; answered by one `AdminAnswer`.
struct AdminRequest {
  std::uint64_t request = 0;
  std::string command;                  ///< `jobs`, `job`, `explain`, `cancel`, `priority`, `drain`, ...
  std::vector<std::string> arguments;
  std::string who;  ///< `user@host`; the user is that of the certificate, if there is one.
  Viewer viewer{};
  friend bool operator==(const AdminRequest&, const AdminRequest&) = default;
};

using FromClient =
    std::variant<SubmitChunk, SubmitAgain, AttachJob, ReleaseJob, AdminRequest, UnfollowJob, ReleaseOutputs>;

struct SubmitReply {
  std::uint64_t submission = 0;
  JobId job;                 ///< None when refused.
  bool existed = false;      ///< A job of that name existed already; the reply names it.
  Error refusal;
  bool ours = false;  ///< The job existed and came from this submitter, which lost the first answer.
  JobIdentity identity{};
  Duration retry_after{0};  ///< Of a refusal that time undoes: the same message may pass then. 0: it would not.
  friend bool operator==(const SubmitReply&, const SubmitReply&) = default;
};

/// The place of an output that is kept for the client.
struct OutputLocation {
  SubtaskIndex producer;
  std::uint16_t output = 0;
  std::int64_t bytes = 0;
  std::string data_address;  ///< `host:port` of the worker that holds it; empty when embedded.
  friend bool operator==(const OutputLocation&, const OutputLocation&) = default;
};

/// A subtask that failed for good, with the history of its attempts.
struct SubtaskFailure {
  SubtaskIndex subtask;
  std::string name;
  std::vector<std::string> history;  ///< One line for each attempt: number, worker, class, message.
  FailureDetail last;
  friend bool operator==(const SubtaskFailure&, const SubtaskFailure&) = default;
};

/// One run of an attempt on a worker.
struct SubtaskTrace {
  WorkerId worker;
  AttemptTrace run;
  friend bool operator==(const SubtaskTrace&, const SubtaskTrace&) = default;
};

struct JobCounts {
  std::uint64_t total = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t assigned = 0;      ///< Sent to workers and not finished.
  std::uint64_t attempts = 0;      ///< Ended attempts, the returned ones left out.
  std::uint64_t forward_hits = 0;
  std::uint64_t forward_misses = 0;
  std::uint64_t run_us = 0;        ///< Sum of the times on slots.
  friend bool operator==(const JobCounts&, const JobCounts&) = default;
};

/// Changes of a job since the last message. Each subtask occurs in exactly one `JobProgress` of a client that follows
/// the job from its start; a client that attaches later first gets everything so far.
struct JobProgress {
  JobId job;
  JobState state = JobState::Running;
  JobCounts counts;
  std::vector<SubtaskRange> succeeded;
  std::vector<SubtaskRange> cancelled;
  std::vector<SubtaskFailure> failures;
  std::vector<OutputLocation> outputs;
  std::vector<SubtaskTrace> traces;  ///< Only of traced jobs; not repeated to clients that attach later.
  Error error;                       ///< The reason for a failure or cancel, when the job has ended.
  friend bool operator==(const JobProgress&, const JobProgress&) = default;
};

/// The answer to a failed `AttachJob`; a successful one is answered by `JobProgress`.
struct AttachReply {
  std::uint64_t request = 0;
  JobId job;
  std::uint64_t subtask_count = 0;
  Error refusal;
  JobIdentity identity{};
  Duration retry_after{0};  ///< As of a `SubmitReply`.
  friend bool operator==(const AttachReply&, const AttachReply&) = default;
};

struct AdminAnswer {
  std::uint64_t request = 0;
  Value value;
  Error refusal;             ///< `message` empty: none.
  Duration retry_after{0};   ///< As of a `SubmitReply`.
  friend bool operator==(const AdminAnswer&, const AdminAnswer&) = default;
};

using ToClient = std::variant<SubmitReply, AttachReply, JobProgress, AdminAnswer>;

}  // namespace penstock
