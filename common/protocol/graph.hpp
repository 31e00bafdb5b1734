// A graph as an engine submits it: templates, subtasks, edges. Columns of numbers, no object per subtask.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/seldom.hpp"
#include "common/base/time.hpp"
#include "common/protocol/graph_hash.hpp"
#include "common/protocol/job_state.hpp"
#include "common/protocol/resources.hpp"
#include "common/protocol/secrets.hpp"

namespace penstock {

/// The kind of execution of a template.
enum class RunnerKind : std::uint8_t {
  Native = 0,   ///< An operator of a shared library, called in the worker.
  Command = 1,  ///< A program with arguments, started for each attempt.
  Process = 2,  ///< A long-lived child that speaks `runner.capnp`.
};

/// The reaction of a job to a subtask that has failed for good.
enum class OnFailure : std::uint8_t {
  FailJob = 0,   ///< Cancel the rest.
  Continue = 1,  ///< Cancel only the successors of the subtask and go on.
};

/// Whether a run may continue while its worker is cut off, when its subtask may have been given to another worker. DO
/// NOT RENUMBER (wire, journal).
enum class Overlap : std::uint8_t {
  Allow = 0,  ///< The run continues: a restarted supervisor adopts it, and reports of a stale attempt are rejected.
  Never = 1,  ///< The worker kills the run before the subtask can be given to another worker.
};

/// Largest number of copies of an output that a template may ask for.
inline constexpr std::uint16_t kReplicasMax = 8;

/// The part that many subtasks share.
struct Template {
  std::string name;                      ///< For people and for duration estimates; need not be unique.
  RunnerKind runner = RunnerKind::Native;
  std::string program;                   ///< Operator name, or program to start.
  std::vector<std::string> arguments;    ///< Of a command, after the program.
  std::vector<std::string> environment;  ///< `NAME=value`, in addition to the worker's own.
  std::string working_directory;         ///< Empty: a directory of the attempt's own.
  std::string standard_input;            ///< Fed to a command.
  std::string payload;                   ///< Given to an operator before the subtask's own payload.
  ResourceVector request{.slots = kOneSlot, .cpu = {}, .gpu = {}, .memory = {}, .device_memory = {}, .named = {}};
  BandSelector required;                 ///< Runs only there, also when retried.
  BandSelector preferred;                ///< Runs there if the band is ready, else anywhere.
  std::int32_t priority = 0;             ///< Larger runs first; beats the critical path.
  std::uint16_t attempts_max = 0;        ///< 0: the supervisor's default.
  bool retryable = true;                 ///< False: never run a second time once it may have started.
  OnFailure on_failure = OnFailure::FailJob;
  Duration time_limit{0};                ///< 0: none.
  Duration kill_grace{0};                ///< Between asking and killing; 0: the worker's default.
  Duration expected_duration{0};         ///< 0: unknown. Weighs the critical path until runs were measured.
  std::uint16_t output_count = 1;        ///< Data keys that each subtask makes.
  std::uint16_t replicas = 1;            ///< Copies of each output, on different workers; only with one output.
  bool checkpoint = false;               ///< A copy on shared storage; only with one output.
  std::int64_t output_limit_bytes = 0;   ///< Captured output of a command that is kept; 0: the worker's default.
  /// An attempt that exceeded its memory is repeated with twice as much, up to this; 0: with the same.
  Bytes memory_max{};
  Overlap overlap = Overlap::Allow;      ///< `Never`: not of native operators, which cannot be killed.
  /// The owner of its job, as a worker has it from the supervisor; empty elsewhere, and never sent with it.
  Seldom<std::string> user{};

  friend bool operator==(const Template&, const Template&) = default;
};

/// The datum that an edge carries besides the order.
struct EdgeKind {
  static constexpr std::uint16_t kOrderOnly = 0xffff;  ///< No datum: an order edge.
};

/// A whole graph, or a chunk of one: the columns of a chunk continue those of the chunk before.
///
/// Subtask `i` has the inputs `input_offsets[i]` to `input_offsets[i + 1]`; `input_offsets` has one element more than
/// there are subtasks. Optional columns are empty or have one element for each subtask (or edge).
struct Graph {
  std::vector<Template> templates;
  std::vector<std::uint32_t> template_of;         ///< Of each subtask.
  std::vector<std::uint32_t> input_offsets{0};    ///< Into the edge columns.
  std::vector<std::uint32_t> predecessors;        ///< Of each edge: the producer.
  std::vector<std::uint16_t> edge_outputs;        ///< Optional: output number, or `EdgeKind::kOrderOnly`; default 0.
  std::vector<std::int32_t> priorities;           ///< Optional: added to the template's.
  std::vector<std::uint64_t> expected_ns;         ///< Optional: expected duration of each subtask.
  std::vector<std::uint32_t> payload_offsets;     ///< Optional: size + 1 offsets into `payloads`.
  std::string payloads;
  std::vector<std::uint32_t> name_offsets;        ///< Optional: size + 1 offsets into `names`; names are unique keys.
  std::string names;
  std::vector<std::uint32_t> wanted;  ///< Subtasks with outputs that are kept for the client; see `JobSpec`.

  std::size_t size() const { return template_of.size(); }
  std::size_t edge_count() const { return predecessors.size(); }
  friend bool operator==(const Graph&, const Graph&) = default;
};

/// The outputs that are kept after their last reader has finished.
enum class Keep : std::uint8_t {
  Sinks = 0,   ///< Outputs without a reader inside the graph.
  Wanted = 1,  ///< Outputs of the subtasks in `Graph::wanted`.
  Nothing = 2,
};

/// The purpose of a job. DO NOT RENUMBER (wire, journal).
enum class JobKind : std::uint8_t {
  Training = 0,
  Interactive = 1,  ///< A person waits for it: first within its project's quota, and never preempted.
  Inference = 2,    ///< As `Interactive`.
};

/// Whether policy may take slots back from a job. DO NOT RENUMBER (wire, journal).
enum class Preemptible : std::uint8_t {
  ByKind = 0,  ///< Only training is.
  Yes = 1,
  No = 2,
};

/// Users may only lower the factor of their own jobs.
inline constexpr std::uint32_t kUserFactorMax = 1000;

/// The owner of a job, and its wishes to policy.
struct JobPolicy {
  std::string project;
  std::string account;              ///< Charged with its use; empty: the owner's account, if any.
  std::vector<std::string> pools;   ///< By preference; empty: the project's, or the default one.
  std::vector<std::string> labels;  ///< Runs on workers with one of these; empty: on any.
  std::uint32_t weight = 0;     ///< Thousandths; 0: the project's.
  std::uint32_t slots_max = 0;  ///< The job holds no more slots at once; 0: no such cap.
  std::uint32_t gang = 0;       ///< The job holds so many slots at once or none; 0: any number.
  JobKind kind = JobKind::Training;
  Preemptible preemptible = Preemptible::ByKind;
  std::string qos;                             ///< Level of service; empty: `normal`.
  std::string queue;                           ///< Empty: none.
  std::uint32_t user_factor = kUserFactorMax;  ///< Thousandths; a smaller factor puts it behind other jobs of its user.
  std::uint32_t gang_max = 0;                  ///< Where it can, the gang holds up to so many; 0: as many as `gang`.
  std::string together;  ///< Gang on one `host`, or on workers with one label of this pattern; empty: anywhere.
  std::uint32_t gang_groups = 0;  ///< So many groups of equal size stay together, each for itself; 0: all of the gang.
  friend bool operator==(const JobPolicy&, const JobPolicy&) = default;

  /// The slots of each group of a gang.
  std::uint32_t group_slots() const { return gang_groups > 1 ? gang / gang_groups : gang; }
  /// A gang that grows and shrinks.
  bool is_elastic() const { return gang_max > gang; }
  bool may_be_preempted() const {
    return preemptible == Preemptible::Yes || (preemptible == Preemptible::ByKind && kind == JobKind::Training);
  }
};

/// The run that has submitted a job. Default: none has.
struct ParentRun {
  SubtaskId id;
  Attempt attempt{0};
  JobIdentity identity{};   ///< Of the job of the run.
  std::uint32_t depth = 0;  ///< Runs above the job. The supervisor counts them, whatever the submitter says.
  friend bool operator==(const ParentRun&, const ParentRun&) = default;
};

/// The use of a name that a job of the submission's owner has already. DO NOT RENUMBER (wire, journal).
enum class NameUse : std::uint8_t {
  Same = 0,     ///< Of the same content: returns that job; else refused.
  Replace = 1,  ///< If that job has ended: takes the name; else refused.
  Number = 2,   ///< Takes the first free numbered name, like `nightly-2`.
  Rerun = 3,    ///< If that job has ended and has the same content: is its next run; else refused.
};

/// A run of a job before this one.
struct EarlierRun {
  JobId job;
  JobState state = JobState::Succeeded;
  std::int64_t submitted_ms = 0;  ///< Unix time.
  std::int64_t ended_ms = 0;
  friend bool operator==(const EarlierRun&, const EarlierRun&) = default;
};

/// The place of a job among the runs of its name.
struct JobRuns {
  std::uint32_t number = 1;
  std::vector<EarlierRun> earlier;  ///< The last ones, oldest first; at most `supervisor.earlier_runs_max`.
  GraphHash whole{};                ///< Of a run of a part of a graph: the graph; else none.
  friend bool operator==(const JobRuns&, const JobRuns&) = default;
};

/// Everything about a job but its graph.
struct JobSpec {
  std::string name;          ///< Chosen by the client; the newest job of its owner has it. See `NameUse`.
  std::string owner;
  std::int32_t priority = 0; ///< Larger runs first; compared before the subtasks' own.
  Keep keep = Keep::Sinks;
  bool wait_for_resources = false;  ///< Accept requests that no present band can hold.
  bool trace = false;               ///< Tell the client when and where each attempt ran.
  JobPolicy policy;
  Duration grace{0};  ///< Of what is preempted of it, to save state; 0: `policy.grace`.
  std::uint64_t submitter = 0;  ///< Random number of the submitting process; 0: unknown.
  /// The job is ended as failed when so long has passed since its first subtask began to run (supervisor/core/runs/
  /// time_limits.hpp); 0: no such limit. Of what somebody gives: see `check_time_limit`.
  Duration time_limit{0};
  Seldom<ParentRun> parent{};  ///< The job ends with it.
  Seldom<std::vector<Secret>> secrets{};
  Seldom<std::string> share{};  ///< Users of this group may do with it what its owner may; empty: no others.
  NameUse name_use = NameUse::Same;
  // The supervisor sets these, whatever the submitter says.
  GraphHash content{};     ///< See `content_hash`; none: an older version has accepted the job.
  Seldom<JobRuns> runs{};  ///< None: the first run.

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

}  // namespace penstock
