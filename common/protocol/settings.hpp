// Every setting of a configuration file: its name, unit, meaning and range.
#pragma once

#include "common/protocol/border_settings.hpp"
#include "common/protocol/config.hpp"

namespace penstock {

/// Calls `visit(SettingText, field, minimum, maximum)` for every setting. This is the one table of settings.
template <class Visit>
void visit_settings(LinkConfig& c, Visit&& visit) {
  using namespace std::chrono;
  visit({"heartbeat", "duration", "an idle side sends a heartbeat this often"}, c.heartbeat, Duration{milliseconds{10}}, Duration{hours{1}});
  visit({"silence_max", "duration", "a peer that is silent for longer is lost"}, c.silence_max, Duration{milliseconds{50}}, Duration{hours{24}});
  visit({"reconnect_grace", "duration", "a peer with a broken connection is lost when it has not reconnected after this"}, c.reconnect_grace, Duration{0}, Duration{hours{24}});
  visit({"supervisor_absence_max", "duration", "a worker continues for so long without its supervisor and then starts afresh; a client gives up after it"}, c.supervisor_absence_max, Duration{0}, Duration{hours{24 * 365}});
  visit({"resend_after", "duration", "frames without acknowledgement are sent again after this; doubles each time"}, c.resend_after, Duration{milliseconds{1}}, Duration{hours{1}});
  visit({"resend_after_max", "duration", "the doubling of resend_after ends here"}, c.resend_after_max, Duration{milliseconds{1}}, Duration{hours{1}});
  visit({"acknowledge_after", "duration", "an acknowledgement waits at most this long for a frame that can carry it"}, c.acknowledge_after, Duration{0}, Duration{seconds{10}});
  visit({"window_frames", "frames", "frames sent without acknowledgement; further ones wait in the queue"}, c.window_frames, std::uint32_t{1}, std::uint32_t{1U << 20U});
  visit({"queue_frames_max", "frames", "frames that wait for the window; at the limit the peer is declared lost"}, c.queue_frames_max, std::uint32_t{1}, std::uint32_t{1U << 24U});
}

template <class Visit>
void visit_settings(WireConfig& c, Visit&& visit) {
  using namespace std::chrono;
  visit({"frame_bytes_max", "bytes", "a longer frame is refused and its connection dropped"}, c.frame_bytes_max, std::uint32_t{4096}, std::uint32_t{1U << 30U});
  visit({"frame_bytes_target", "bytes", "batches are cut into frames of about this size"}, c.frame_bytes_target, std::uint32_t{1024}, std::uint32_t{1U << 28U});
  visit({"send_buffer_bytes_max", "bytes", "unsent bytes of one connection; at the limit it is dropped"}, c.send_buffer_bytes_max, std::uint32_t{1U << 16U}, std::uint32_t{1U << 31U});
  visit({"handshake_timeout", "duration", "a connection that has not introduced itself after this is dropped"}, c.handshake_timeout, Duration{milliseconds{10}}, Duration{hours{1}});
  visit({"frame_timeout", "duration", "a frame that has begun must be complete after this, or its connection is dropped"}, c.frame_timeout, Duration{milliseconds{10}}, Duration{hours{1}});
  visit({"connections_max", "connections", "connections that are accepted; further ones are closed at once"}, c.connections_max, std::uint32_t{1}, std::uint32_t{1U << 20U});
  visit({"connections_of_host_max", "connections", "connections that are accepted from one address; further ones are closed at once"},
        c.connections_of_host_max, std::uint32_t{1}, std::uint32_t{1U << 20U});
  visit({"turn_bytes_max", "bytes",
         "bytes taken from one connection before the next one has its turn; a frame is always taken whole"},
        c.turn_bytes_max, std::uint32_t{1}, std::uint32_t{1U << 30U});
}

template <class Visit>
void visit_settings(GraphLimits& c, Visit&& visit) {
  visit({"subtasks_max", "subtasks", "a larger graph is refused"}, c.subtasks_max, std::uint32_t{1}, std::uint32_t{0xfffffff0U});
  visit({"edges_max", "edges", "a graph with more edges is refused"}, c.edges_max, std::uint64_t{1}, std::uint64_t{0xfffffff0U});
  visit({"outputs_max", "outputs", "a graph with more outputs is refused"}, c.outputs_max, std::uint64_t{1},
        std::uint64_t{0xfffffff0U});
  visit({"templates_max", "templates", "a graph with more templates is refused"}, c.templates_max, std::uint32_t{1}, std::uint32_t{1U << 20U});
  visit({"payload_bytes_max", "bytes", "a graph with more payload is refused"}, c.payload_bytes_max, std::uint64_t{1}, std::uint64_t{0xffffffffU});
  visit({"subtask_payload_bytes_max", "bytes", "a subtask with more payload is refused"}, c.subtask_payload_bytes_max, std::uint32_t{1}, std::uint32_t{1U << 28U});
  visit({"name_bytes_max", "bytes", "a longer name or key is refused"}, c.name_bytes_max, std::uint32_t{1}, std::uint32_t{65536});
  visit({"submissions_max", "submissions", "graphs that one client may submit at the same time; more are refused"}, c.submissions_max, std::uint32_t{1}, std::uint32_t{1U << 20U});
  visit({"submissions_bytes_max", "bytes",
         "memory of the graphs that one client submits at the same time; beyond it the largest is refused"},
        c.submissions_bytes_max, kMiB, kGiB * (1 << 20));
  visit({"submission_idle_max", "duration", "a graph is refused when no further part of it has arrived for so long"},
        c.submission_idle_max, Duration{std::chrono::milliseconds{10}}, Duration{std::chrono::hours{24}});
}

/// Of runs that submit jobs, and of objects that programs share.
template <class Config, class Visit>
void visit_program_settings(Config& c, Visit& visit) {
  visit({"nesting_max", "jobs", "a job that a run submits is refused if so many jobs are above it already: each level keeps a runner"}, c.nesting_max, std::uint32_t{0}, std::uint32_t{65535});
  visit({"children_max", "jobs", "a run that has submitted so many jobs that are not released is refused further ones"}, c.children_max, std::uint32_t{0}, std::uint32_t{1U << 24U});
  visit({"shared_value_max", "bytes", "a larger value of a variable, or item of a queue, is refused: calls return large ones"}, c.shared_value_max, Bytes{1}, kMiB * 16);
  visit({"shared_bytes_max", "bytes", "values of variables and items of queues take at most so much together; more are refused"}, c.shared_bytes_max, Bytes{0}, kGiB * 64);
}

template <class Visit>
void visit_settings(SupervisorConfig& c, Visit&& visit) {
  using namespace std::chrono;
  visit({"memory_max", "bytes",
         "memory of graphs, arriving ones included, and jobs together; beyond it graphs are refused, arriving "
         "ones the largest first. 0: three quarters of the memory of host and control group, or half of the limits of "
         "the process"},
        c.memory_max, Bytes{0}, kGiB * (1 << 20));
  visit({"lookahead", "duration", "work that a band may hold beyond its running subtasks"}, c.lookahead, Duration{microseconds{10}}, Duration{hours{1}});
  visit({"lookahead_subtasks_max", "subtasks", "limit of that work in subtasks, however short they are"}, c.lookahead_subtasks_max, std::uint32_t{1}, std::uint32_t{1U << 24U});
  visit({"lookahead_subtasks_initial", "subtasks", "the same while durations are unknown"}, c.lookahead_subtasks_initial, std::uint32_t{1}, std::uint32_t{1U << 24U});
  visit({"assign_batch_max", "subtasks", "assignments in one message"}, c.assign_batch_max, std::uint32_t{1}, std::uint32_t{1U << 20U});
  visit({"attempts_max", "attempts", "a subtask fails after so many failed attempts"}, c.attempts_max, std::uint16_t{1}, std::uint16_t{1000});
  visit({"lost_workers_max", "workers", "a subtask fails when so many workers were lost while they ran it"}, c.lost_workers_max, std::uint16_t{1}, std::uint16_t{1000});
  visit({"runner_crashes_forgiven", "crashes", "crashes of the process runner that do not count as failed attempts of a subtask, if they come before any other failure"}, c.runner_crashes_forgiven, std::uint16_t{0}, std::uint16_t{1000});
  visit({"log_answer_bytes_max", "bytes", "size of the logs of a job in one answer; beyond it each worker sends the end of its log"}, c.log_answer_bytes_max, kKiB * 4, kMiB * 512);
  visit({"failures_max", "attempts", "a subtask fails after so many failed attempts of any cause"}, c.failures_max, std::uint16_t{1}, std::uint16_t{10000});
  visit({"transfers_tried_max", "attempts",
         "attempts of a subtask in a row that got no input from a live worker, before another worker is tried"},
        c.transfers_tried_max, std::uint16_t{1}, std::uint16_t{1000});
  visit({"transfer_patience", "duration",
         "an input that no reader could get for so long is made again on another worker than its holder, if there "
         "is a suitable one; until then its readers try again every 50 ms to 5 s without counting as failed"},
        c.transfer_patience, Duration{0}, Duration{hours{24}});
  visit({"lease", "duration",
         "a supervisor that does not renew its lease on the state for so long is replaced by a standby, which notices "
         "the hang at most 2 s later; all supervisors of a state need the same value"},
        c.lease, Duration{seconds{1}}, Duration{hours{1}});
  visit({"broadcast_readers_min", "subtasks", "a datum with more readers is a broadcast and weighs nothing in placement"}, c.broadcast_readers_min, std::uint32_t{2}, std::uint32_t{1U << 30U});
  visit({"link_bytes_per_second", "bytes/s", "speed that placement assumes for moving data"}, c.link_bytes_per_second, std::int64_t{1024}, std::int64_t{1} << 50);
  visit({"link_latency", "duration", "delay that placement assumes for each remote input"}, c.link_latency, Duration{0}, Duration{minutes{1}});
  visit({"lineage_depth_max", "subtasks", "lost data are given up if a longer chain of lost producers would have to run again"}, c.lineage_depth_max, std::uint32_t{1}, std::uint32_t{1U << 30U});
  visit({"spare_data_percent", "percent", "use of its store up to which a worker keeps outputs that all readers have read, in case a reader must run again; 0: never"}, c.spare_data_percent, std::uint32_t{0}, std::uint32_t{100});
  visit({"spare_data_max", "subtasks", "subtasks with such kept outputs on a worker; beyond it the oldest half is dropped; 0: none"}, c.spare_data_max, std::uint32_t{0}, std::uint32_t{1U << 24U});
  visit({"watchdog_after", "duration", "pending work without any run for longer is reported with its cause"}, c.watchdog_after, Duration{milliseconds{10}}, Duration{hours{24}});
  visit({"finished_jobs_max", "jobs", "ended jobs that can still be asked about; older ones are forgotten"}, c.finished_jobs_max, std::uint32_t{1}, std::uint32_t{1U << 24U});
  visit({"finished_jobs_age_max", "duration", "ended jobs are forgotten when they are older"}, c.finished_jobs_age_max, Duration{seconds{1}}, Duration{hours{24 * 3650}});
  visit({"finished_jobs_bytes_max", "bytes",
         "memory and disk that ended jobs may take together; beyond it the oldest are forgotten"},
        c.finished_jobs_bytes_max, std::int64_t{1} << 16, std::int64_t{1} << 50);
  visit({"audit_entries_max", "entries", "remembered orders of operators; older ones are forgotten"},
        c.audit_entries_max, std::uint32_t{1}, std::uint32_t{1U << 24U});
  visit({"audit_age_max", "duration", "remembered orders of operators are forgotten when they are older"}, c.audit_age_max, Duration{seconds{1}}, Duration{hours{24 * 3650}});
  visit({"lost_writers_max", "lives",
         "lost workers with checkpoints that are still to be removed from shared storage; beyond it those of "
         "the oldest stay there"},
        c.lost_writers_max, std::uint32_t{1}, std::uint32_t{1U << 20U});
  visit({"lost_lives_max", "lives",
         "lost workers with remembered runs, in case a worker reports late that an operator has crashed it; "
         "for earlier ones no subtask is blamed"},
        c.lost_lives_max, std::uint32_t{0}, std::uint32_t{1U << 20U});
  visit({"history_lines_max", "lines", "failed attempts that are remembered for a subtask"}, c.history_lines_max, std::uint32_t{1}, std::uint32_t{1024});
  visit({"progress_every", "duration", "progress of a job is collected for so long before it is sent"}, c.progress_every, Duration{0}, Duration{minutes{1}});
  visit({"progress_batch_max", "subtasks", "and at most until so many subtasks have ended"}, c.progress_batch_max, std::uint32_t{1}, std::uint32_t{1U << 24U});
  visit({"results_keep", "duration", "outputs of an ended job that no client follows are kept for so long"}, c.results_keep, Duration{0}, Duration{hours{24 * 365}});
  visit({"steal_after", "duration", "queued work that would start sooner than this is not moved to an idle band"}, c.steal_after, Duration{0}, Duration{hours{1}});
  visit({"required_band_wait", "duration", "a subtask fails with NoAvailableBand when its required band is missing for longer"}, c.required_band_wait, Duration{0}, Duration{hours{24}});
  visit({"cached_graphs_max", "graphs", "graphs of ended jobs that are kept to be submitted or run again; the least recently used is dropped"},
        c.cached_graphs_max, std::uint32_t{0}, std::uint32_t{1024});
  visit({"earlier_runs_max", "runs", "runs before its own that a job remembers; the oldest are forgotten"}, c.earlier_runs_max, std::uint32_t{0}, std::uint32_t{1000});
  visit({"cached_graph_bytes_max", "bytes", "memory of those graphs together; a larger graph is not kept"}, c.cached_graph_bytes_max,
        std::int64_t{0}, std::int64_t{1} << 50);
  visit_program_settings(c, visit);
  visit({"reclaim_wait", "duration", "after a restart, earlier workers have this long to return before their subtasks are assigned again; up to twenty times as long while further ones return"}, c.reclaim_wait, Duration{0}, Duration{minutes{10}});
  visit({"overlap_margin", "duration",
         "a subtask with `overlap = \"never\"` of a lost worker waits so long beyond link.silence_max and "
         "link.reconnect_grace before it is assigned again: the time that killing its run may take"},
        c.overlap_margin, Duration{0}, Duration{hours{1}});
  visit({"messages_together_max", "messages", "so many messages from workers are handled together before assignments are sent"}, c.messages_together_max, std::uint32_t{1}, std::uint32_t{4096});
}

template <class Visit>
void visit_settings(PolicyConfig& c, Visit&& visit) {
  using namespace std::chrono;
  visit({"period", "duration", "the division of slots is decided again this often, while there are jobs"}, c.period, Duration{milliseconds{1}}, Duration{hours{1}});
  visit({"settle", "duration", "and this long after a change by a job, a worker or an order"}, c.settle, Duration{0}, Duration{minutes{1}});
  visit({"pass_max", "duration", "a decision that takes longer is abandoned; the last one stays in force"}, c.pass_max, Duration{milliseconds{1}}, Duration{hours{1}});
  visit({"grace", "duration", "a preempted subtask has this long to save its state, then it is ended"}, c.grace, Duration{0}, Duration{hours{24}});
  visit({"gang_wait", "duration", "a gang that has lost some of its slots, or was promised slots that are not freed, gives all of them back after this and waits again"}, c.gang_wait, Duration{0}, Duration{hours{24}});
  visit({"starvation_after", "duration", "a job that has waited so long without a slot gets a turn in pools that count slots: with fair shares others leave for it, by priority no equal job passes it; 0: never"}, c.starvation_after, Duration{0}, Duration{hours{24}});
  visit({"gang_barrier", "duration", "workers reserve the slots of a gang for at most so long until all are reserved; then all are given back, and the gang waits again"}, c.gang_barrier, Duration{milliseconds{1}}, Duration{hours{24}});
  visit({"grace_max", "duration",
         "the longest `grace` that a job may ask for itself; a job that asks for more is refused"},
        c.grace_max, Duration{0}, Duration{hours{24}});
  visit({"usage_half_life", "duration", "past use counts half after this"}, c.usage_half_life, Duration{seconds{1}}, Duration{hours{24 * 3650}});
  visit({"queue_depth", "jobs",
         "among waiting jobs that are alike (owner, priority, wishes, request) one decision considers so many, the "
         "earliest ones; the rest get nothing until one of these begins or ends"},
        c.queue_depth, std::uint32_t{1}, std::uint32_t{1U << 24U});
  visit({"members_max", "slots", "slots that one decision handles separately; if there are more, several are given as one"}, c.members_max, std::uint32_t{16}, std::uint32_t{1U << 24U});
}

template <class Visit>
void visit_lane_settings(WorkerConfig& c, Visit&& visit) {
  visit({"lanes_per_slot_max", "runners", "attempts that may share one slot by fractions"}, c.lanes_per_slot_max, std::uint32_t{1}, std::uint32_t{1000});
  visit(
      {"yields_max", "runs",
       "runs of a band that may have lent their slots at once, each with a thread or a runner of its own; at the limit "
       "`yield_slot` is refused and the run keeps its slot. 0: no run may"},
      c.yields_max, std::uint32_t{0}, std::uint32_t{32768});
}

template <class Visit>
void visit_transfer_settings(WorkerConfig& c, Visit&& visit) {
  using namespace std::chrono;
  visit({"transfer_streams_max", "streams", "connections to another worker for data; further transfers wait in order of priority"}, c.transfer_streams_max, std::uint32_t{1}, std::uint32_t{64});
  visit({"transfer_connections_max", "connections",
         "connections for data that this worker accepts; at the limit the longest idle one is closed for "
         "a new one, or the new one if all are busy"},
        c.transfer_connections_max, std::uint32_t{1}, std::uint32_t{65536});
  visit({"transfer_connections_of_host_max", "connections",
         "the same for connections from one address"},
        c.transfer_connections_of_host_max, std::uint32_t{1}, std::uint32_t{65536});
  visit({"transfer_idle_max", "duration", "a connection for data without a request for so long is closed"},
        c.transfer_idle_max, Duration{milliseconds{10}}, Duration{hours{24}});
  visit({"transfer_silence_max", "duration",
         "a connection for data that cannot be made, or carries fewer than transfer_bytes_min, in so long is "
         "closed, by either side; the transfer continues after its last whole chunk on another one"},
        c.transfer_silence_max, Duration{milliseconds{10}}, Duration{hours{1}});
  visit({"transfer_bytes_min", "bytes", "least bytes of a transfer within transfer_silence_max"},
        c.transfer_bytes_min, Bytes{1}, kGiB);
  visit({"transfer_reply_max", "duration",
         "a worker begins to send a requested datum within this, also from its disk; otherwise the connection is "
         "closed"},
        c.transfer_reply_max, Duration{milliseconds{10}}, Duration{hours{1}});
  visit({"transfer_chunk_bytes", "bytes", "unit in which a transfer is checked and resumed"}, c.transfer_chunk_bytes, kKiB * 4, kMiB * 64);
  visit({"transfer_compression", "word", "whether data for other workers are compressed: off; auto: to another host, where it is quicker; on: all that shrink"}, c.transfer_compression, Compression::Off, Compression::On);
}

template <class Visit>
void visit_settings(WorkerConfig& c, Visit&& visit) {
  using namespace std::chrono;
  visit({"prepare_permits_extra", "permits", "subtasks that are prepared ahead of the slots of a band"}, c.prepare_permits_extra, std::uint32_t{0}, std::uint32_t{65536});
  visit({"prepare_bytes_max", "bytes", "inputs that prepared subtasks of a band may pin"}, c.prepare_bytes_max, kMiB, Bytes::max());
  visit({"store_permits", "permits", "attempts of a band that store outputs at once"}, c.store_permits, std::uint32_t{1}, std::uint32_t{65536});
  visit({"fetches_max", "fetches", "transfers to this worker at once; more wait in order of priority"}, c.fetches_max, std::uint32_t{1}, std::uint32_t{65536});
  visit({"bypass_max", "subtasks", "smaller items that may pass a large one before it reserves"}, c.bypass_max, std::uint32_t{0}, std::uint32_t{1U << 20U});
  visit({"scan_max", "subtasks", "items that are examined when the best does not fit"}, c.scan_max, std::uint32_t{1}, std::uint32_t{1U << 20U});
  visit({"forward_bypass_max", "subtasks", "forwarded successors in a row that may pass a waiting quota request"}, c.forward_bypass_max, std::uint32_t{0}, std::uint32_t{1U << 20U});
  visit({"report_batch_max", "reports", "a batch of reports is sent at this size"}, c.report_batch_max, std::uint32_t{1}, std::uint32_t{1U << 20U});
  visit({"report_after", "duration", "and at this age, while the worker is busy"}, c.report_after, Duration{0}, Duration{minutes{1}});
  visit({"started_after", "duration", "an attempt that runs for longer is reported as running"}, c.started_after, Duration{0}, Duration{hours{1}});
  visit({"load_report_every", "duration", "the load of the bands is reported this often while it changes"}, c.load_report_every, Duration{milliseconds{10}}, Duration{hours{1}});
  visit({"kill_grace", "duration", "time between asking a runner to stop and killing it"}, c.kill_grace, Duration{0}, Duration{hours{24}});
  visit({"barrier_margin", "duration",
         "slots that are reserved for a gang are given back so long after the supervisor has given them up or "
         "counts this worker as lost, if no message comes from it"},
        c.barrier_margin, Duration{0}, Duration{hours{24}});
  visit({"relieve_every", "duration", "time between two steps against a memory limit that is crossed"}, c.relieve_every, Duration{milliseconds{1}}, Duration{hours{1}});
  visit({"quota_peaks_min", "runs", "measured runs of a template after which a run is granted the observed memory and not the whole request; 0: never"}, c.quota_peaks_min, std::uint32_t{0}, std::uint32_t{1U << 20U});
  visit({"quota_margin_percent", "percent", "granted beyond the observed peak, in percent of it"}, c.quota_margin_percent, std::uint32_t{0}, std::uint32_t{100});
  visit({"quota_templates_max", "templates", "templates with memory that is remembered from job to job; beyond it the least recently run one is forgotten"}, c.quota_templates_max, std::uint32_t{1}, std::uint32_t{1U << 20U});
  visit({"subtasks_max", "subtasks", "assignments that a worker holds; further cached successors are returned, runnable subtasks beyond twice as many"}, c.subtasks_max, std::uint32_t{1}, std::uint32_t{1U << 30U});
  visit({"store_bytes_max", "bytes", "data in memory; at the limit outputs wait for room and fewer subtasks start, and a larger output fails; 0: 40 % of the host's memory"}, c.store_bytes_max, Bytes{0}, Bytes::max());
  visit({"spill_from_percent", "percent", "use of store_bytes_max at which data are written to disk"}, c.spill_from_percent, std::uint32_t{1}, std::uint32_t{100});
  visit({"spill_to_percent", "percent", "use of store_bytes_max at which that ends"}, c.spill_to_percent, std::uint32_t{0}, std::uint32_t{100});
  visit({"spill_bytes_max", "bytes", "data on disk; at the limit the disk counts as full"}, c.spill_bytes_max, Bytes{0}, Bytes::max());
  visit({"store_wait_max", "duration", "outputs without room fail after this, unless data are spilled or dropped meanwhile"}, c.store_wait_max, Duration{milliseconds{1}}, Duration{hours{24}});
  visit({"segment_bytes_min", "bytes", "a smaller datum is plain memory, which processes of the host cannot share"}, c.segment_bytes_min, kKiB * 4, Bytes::max());
  visit({"segments_max", "segments", "data in shared segments; further data are plain memory, whatever their size"}, c.segments_max, std::uint32_t{0}, std::uint32_t{1U << 20U});
  visit({"reserve_bytes_max", "bytes", "memory of dropped data that is kept for further data, beyond store_bytes_max, but at most an eighth of that; 0: none"}, c.reserve_bytes_max, Bytes{0}, Bytes::max());
  visit({"device_store_percent", "percent", "part of the memory of a GPU for outputs of operators; beyond it the oldest are moved to the host"}, c.device_store_percent, std::uint32_t{1}, std::uint32_t{100});
  visit({"reserve_segments_max", "segments", "segments of reserve_bytes_max; beyond it the oldest is freed"}, c.reserve_segments_max, std::uint32_t{0}, std::uint32_t{65536});
  visit({"job_log_bytes_max", "bytes", "lines of process runners that are kept for a job; beyond it the oldest are dropped. 0: nothing is kept"}, c.job_log_bytes_max, Bytes{0}, kMiB * 256);
  visit({"job_logs_max", "jobs", "jobs with kept lines; beyond it the least recently written ones are dropped"}, c.job_logs_max, std::uint32_t{1}, std::uint32_t{65536});
  visit_transfer_settings(c, visit);
  visit({"mapped_percent", "percent",
         "part of store_bytes_max that other processes of the host may have mapped; they get copies of "
         "further data. 0: copies of all"},
        c.mapped_percent, std::uint32_t{0}, std::uint32_t{100});
  visit({"mapped_max", "data", "data that those processes may have mapped, counted for each process; they get copies of further ones"},
        c.mapped_max, std::uint32_t{0}, std::uint32_t{1U << 20U});
  visit({"handle_wait_max", "duration", "an offer to map a datum expires after this"},
        c.handle_wait_max, Duration{milliseconds{10}}, Duration{hours{1}});
  visit_lane_settings(c, visit);
  visit({"runner_message_bytes_max", "bytes", "a runner that sends a longer message is ended; its large outputs go through memory segments"}, c.runner_message_bytes_max, std::uint32_t{4096}, std::uint32_t{1U << 30U});
  visit({"runner_inline_bytes_max", "bytes", "a larger input of a runner goes through a memory segment"}, c.runner_inline_bytes_max, std::uint32_t{0}, std::uint32_t{1U << 26U});
  visit({"runner_kinds_max", "runners",
         "idle runners of different kinds that a slot keeps; the least recently used is ended. At most so many are "
         "started in advance"},
        c.runner_kinds_max, std::uint32_t{1}, std::uint32_t{1024});
  visit({"command_output_max", "bytes",
         "standard output of a command without `output_limit`; a command that writes more fails, because its "
         "readers would get only a part"},
        c.command_output_max, Bytes{0}, kGiB * 64);
  visit({"runner_bytes_spared", "bytes",
         "memory of a process runner that is not counted: its interpreter and libraries, which the next one "
         "would need as well; memory beyond it counts against the hard limit of its band"},
        c.runner_bytes_spared, Bytes{0}, Bytes::max());
  visit({"runner_programs_max", "programs", "functions that a runner keeps loaded; at the limit it forgets all and receives them again"}, c.runner_programs_max, std::uint32_t{1}, std::uint32_t{1U << 20U});
  visit({"runner_start_max", "duration", "a runner that has not introduced itself after this is ended, and its subtask fails"}, c.runner_start_max, Duration{milliseconds{10}}, Duration{hours{1}});
  visit({"operator_crashes_max", "crashes",
         "crashes of native operators within a minute, after each of which the worker starts again by itself "
         "and names the subtask to blame; one more ends it"},
        c.operator_crashes_max, std::uint32_t{0}, std::uint32_t{1U << 20U});
  visit({"descriptors_spared", "files", "open files that are left to connections, pipes and runners; data have the rest, at least half, and are plain memory beyond it"}, c.descriptors_spared, std::uint32_t{0}, std::uint32_t{1U << 24U});
  visit_user_settings(c, visit);
}

}  // namespace penstock
