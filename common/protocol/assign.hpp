// Messages from a supervisor to a worker.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/units.hpp"
#include "common/protocol/cancel.hpp"
#include "common/protocol/entitlement.hpp"
#include "common/protocol/graph.hpp"
#include "common/protocol/handshake.hpp"

namespace penstock {

/// The place of an input, as far as the supervisor knows. DO NOT RENUMBER (wire).
enum class InputPlace : std::uint8_t {
  Missing = 0,  ///< The producer has not finished, or the report has not arrived: it may turn out empty.
  Here = 1,     ///< On the worker that gets the assignment, or empty: then without bytes.
  Remote = 2,   ///< On worker `location`.
};

/// One input of a subtask. Finished order edges are left out; data inputs stand in the order of the graph, the empty
/// ones (`Here`, no bytes) among them, unless all of them are finished and empty: see `omitted_inputs`.
struct AssignedInput {
  SubtaskIndex producer;
  std::uint16_t output = 0;  ///< Or `EdgeKind::kOrderOnly`.
  InputPlace place = InputPlace::Missing;
  WorkerId location;
  std::int64_t bytes = 0;  ///< Known size of a finished input.

  friend bool operator==(const AssignedInput&, const AssignedInput&) = default;
};

/// One attempt of one subtask on one band. The assignment owns the next `input_count` inputs and `payload_bytes` of its
/// batch.
struct Assignment {
  SubtaskIndex subtask;
  TemplateIndex template_index;
  std::uint64_t priority = 0;  ///< Larger first, compared within the job's priority.
  std::uint32_t input_count = 0;
  std::uint32_t payload_bytes = 0;
  Attempt attempt;
  BandIndex band;
  std::uint16_t omitted_inputs = 0;  ///< Data inputs that are left out because all of them are empty.
  /// True if the worker may start it without asking once its inputs are here: the worker then holds the ownership lease
  /// of a successor (spec worker 6). False never occurs with all inputs present.
  bool cached = false;

  friend bool operator==(const Assignment&, const Assignment&) = default;
};

/// A template, sent to a worker once before its first use.
struct TemplateDefinition {
  TemplateIndex index;
  Template content;
  friend bool operator==(const TemplateDefinition&, const TemplateDefinition&) = default;
};

/// Subtasks of one job for one worker: runnable ones and a lookahead of their successors.
struct AssignBatch {
  JobId job;
  std::int32_t job_priority = 0;
  std::string job_name;  ///< Only in the first batch of a job.
  bool trace = false;    ///< Report when each attempt ran; see `AttemptTrace`.
  std::vector<TemplateDefinition> templates;
  std::vector<Assignment> assignments;  ///< Producers before their successors.
  std::vector<AssignedInput> inputs;
  std::string payloads;
  JobIdentity identity{};
  std::string owner{};            ///< Of the job; as `job_name`. Empty also of a supervisor before protocol 1.11.
  std::vector<Secret> secrets{};  ///< Of the job; as `job_name`.

  friend bool operator==(const AssignBatch&, const AssignBatch&) = default;
};

/// A producer that finished on another worker; counts down the successors that are cached here.
struct InputNotice {
  SubtaskIndex producer;
  std::uint16_t output = 0;  ///< One notice for each output with bytes, or one with `kOrderOnly` if all are empty.
  WorkerId location;  ///< None: the output is lost; a successor that only waits for the producer is not affected.
  std::int64_t bytes = 0;
  friend bool operator==(const InputNotice&, const InputNotice&) = default;
};

struct InputNoticeBatch {
  JobId job;
  std::vector<InputNotice> notices;
  friend bool operator==(const InputNoticeBatch&, const InputNoticeBatch&) = default;
};

/// One output of a subtask of the job that a message is about.
struct DataRef {
  SubtaskIndex producer;
  std::uint16_t output = 0;
  friend bool operator==(const DataRef&, const DataRef&) = default;
};

/// Copies that the worker drops.
struct DropBatch {
  JobId job;
  /// False: they will not be read again. True: they are given up as lost and will be made again. A subtask here that
  /// waits to read one finds it lost either way, never empty.
  bool lost = false;
  std::vector<DataRef> data;
  friend bool operator==(const DropBatch&, const DropBatch&) = default;
};

/// A datum to be copied to this worker.
struct KeepDatum {
  SubtaskIndex producer;
  std::uint16_t output = 0;
  WorkerId location;  ///< Has the datum; none: incarnation `writer` of a worker has put it on shared storage.
  std::int64_t bytes = 0;
  Incarnation writer;
  friend bool operator==(const KeepDatum&, const KeepDatum&) = default;
};

/// Copies for safety. A fetched datum is reported as a replica; a datum on shared storage counts as held from now on,
/// and is read when it is needed.
struct KeepBatch {
  JobId job;
  std::vector<KeepDatum> data;
  JobIdentity identity{};  ///< Its holders give the data to no peer that does not name it.
  friend bool operator==(const KeepBatch&, const KeepBatch&) = default;
};

/// The checkpoints of these incarnations of workers are not needed any more, and their writers are gone.
struct RemoveCheckpoints {
  std::vector<Incarnation> writers;
  friend bool operator==(const RemoveCheckpoints&, const RemoveCheckpoints&) = default;
};

/// The job has ended: the worker may drop all of its records, data and templates.
struct ForgetJob {
  JobId job;
  friend bool operator==(const ForgetJob&, const ForgetJob&) = default;
};

/// Report batches up to `through` have been applied. Until then the worker remembers that their subtasks are finished,
/// because an assignment on its way may still call them missing.
struct ReportsApplied {
  std::uint64_t through = 0;
  friend bool operator==(const ReportsApplied&, const ReportsApplied&) = default;
};

/// Return these subtasks if they are not prepared yet; each answer is definite: returned, or it stays.
struct StealRequest {
  JobId job;
  std::vector<AttemptRef> attempts;
  friend bool operator==(const StealRequest&, const StealRequest&) = default;
};

/// Finish running subtasks, return the rest, take nothing new.
struct Drain {
  bool enabled = true;
  friend bool operator==(const Drain&, const Drain&) = default;
};

/// Asks why a subtask is where it is. Answered by `ExplainAnswer` with the same number. If either peer speaks protocol
/// 1.0, a question without a subtask asks for the log of its job, and the `reason` of the answer is the log.
struct ExplainQuestion {
  std::uint64_t question = 0;
  SubtaskId subtask;
  friend bool operator==(const ExplainQuestion&, const ExplainQuestion&) = default;
};

/// Asks for the log that runners have written for a job. Answered by `LogAnswer` with the same number.
struct LogQuestion {
  std::uint64_t question = 0;
  JobId job;
  friend bool operator==(const LogQuestion&, const LogQuestion&) = default;
};

/// The address of the data of another worker; sent to a worker before the first mention of such data, and with an empty
/// address when the other worker is lost.
struct PeerAddress {
  WorkerId worker;
  std::string data_address;
  friend bool operator==(const PeerAddress&, const PeerAddress&) = default;
};
struct PeerAddressBatch {
  std::vector<PeerAddress> peers;
  friend bool operator==(const PeerAddressBatch&, const PeerAddressBatch&) = default;
};

using ToWorker = std::variant<RegisterReply, AssignBatch, InputNoticeBatch, CancelBatch, PriorityBatch,
                              EntitlementBatch, StealRequest, DropBatch, ForgetJob, ReportsApplied, Drain,
                              ExplainQuestion, PeerAddressBatch, KeepBatch, RemoveCheckpoints, LogQuestion>;

}  // namespace penstock
