// Every limit and default of the system, with its unit, range and meaning.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/time.hpp"
#include "common/base/units.hpp"
#include "common/protocol/policy_config.hpp"
#include "common/protocol/user_limits.hpp"

namespace penstock {

/// The reliable link between two processes.
struct LinkConfig {
  Duration heartbeat = std::chrono::seconds{1};
  Duration silence_max = std::chrono::seconds{10};
  Duration reconnect_grace = std::chrono::milliseconds{500};
  Duration supervisor_absence_max = std::chrono::minutes{5};
  Duration resend_after = std::chrono::milliseconds{1000};
  Duration resend_after_max = std::chrono::seconds{8};
  Duration acknowledge_after = std::chrono::milliseconds{20};
  std::uint32_t window_frames = 1024;
  std::uint32_t queue_frames_max = 65536;
};

/// Bytes from the network.
struct WireConfig {
  std::uint32_t frame_bytes_max = 16U << 20U;
  std::uint32_t frame_bytes_target = 1U << 20U;
  std::uint32_t send_buffer_bytes_max = 256U << 20U;
  Duration handshake_timeout = std::chrono::seconds{5};
  Duration frame_timeout = std::chrono::seconds{30};
  std::uint32_t connections_max = 16384;
  std::uint32_t connections_of_host_max = 12288;
  std::uint32_t turn_bytes_max = 256U << 10U;
};

/// Certificates and handshakes of a supervisor.
struct SecurityConfig {
  Duration certificate_life = std::chrono::hours{24};
  std::uint32_t handshake_threads = 2;
  std::uint32_t handshakes_max = 1024;
  std::uint32_t tokens_max = 1000;
  bool munge = false;
};

/// Limits of a graph.
struct GraphLimits {
  std::uint32_t subtasks_max = 50'000'000;
  std::uint64_t edges_max = 400'000'000;
  std::uint64_t outputs_max = 200'000'000;
  std::uint32_t templates_max = 65536;
  std::uint64_t payload_bytes_max = 0xffffffffU;  // Offsets have 32 bits.
  std::uint32_t subtask_payload_bytes_max = 4U << 20U;
  std::uint32_t name_bytes_max = 1024;
  std::uint32_t submissions_max = 256;
  Bytes submissions_bytes_max = kGiB * 16;
  Duration submission_idle_max = std::chrono::minutes{1};
};

/// Decisions of the supervisor.
struct SupervisorConfig {
  GraphLimits graph;
  UserLimits users;
  Bytes memory_max{0};
  Duration lookahead = std::chrono::milliseconds{20};
  std::uint32_t lookahead_subtasks_max = 8192;  // With four times as much a worker takes half as long again.
  std::uint32_t lookahead_subtasks_initial = 64;
  std::uint32_t assign_batch_max = 4096;
  std::uint16_t attempts_max = 3;
  std::uint16_t lost_workers_max = 10;
  std::uint16_t runner_crashes_forgiven = 2;
  Bytes log_answer_bytes_max = kMiB * 8;
  std::uint16_t failures_max = 100;
  std::uint16_t transfers_tried_max = 4;
  Duration transfer_patience = std::chrono::minutes{2};
  Duration lease = std::chrono::seconds{10};
  std::uint32_t broadcast_readers_min = 64;
  std::int64_t link_bytes_per_second = std::int64_t{1} << 30;
  Duration link_latency = std::chrono::microseconds{200};
  std::uint32_t lineage_depth_max = 10000;
  std::uint32_t spare_data_percent = 25;
  std::uint32_t spare_data_max = 65536;
  Duration watchdog_after = std::chrono::seconds{30};
  std::uint32_t finished_jobs_max = 10000;
  Duration finished_jobs_age_max = std::chrono::hours{24 * 30};
  std::int64_t finished_jobs_bytes_max = std::int64_t{256} << 20;
  std::uint32_t audit_entries_max = 10000;
  Duration audit_age_max = std::chrono::hours{24 * 90};
  std::uint32_t lost_writers_max = 10000;
  std::uint32_t lost_lives_max = 64;
  std::uint32_t history_lines_max = 16;
  std::uint32_t earlier_runs_max = 20;
  std::uint32_t cached_graphs_max = 256;
  std::int64_t cached_graph_bytes_max = std::int64_t{1} << 30;
  std::uint32_t nesting_max = 100;
  std::uint32_t children_max = 10000;
  Bytes shared_value_max = kMiB;
  Bytes shared_bytes_max = kMiB * 256;
  Duration progress_every = std::chrono::milliseconds{2};
  std::uint32_t progress_batch_max = 8192;
  Duration results_keep = std::chrono::minutes{10};
  Duration steal_after = std::chrono::milliseconds{1};
  Duration required_band_wait = std::chrono::seconds{30};
  Duration reclaim_wait = std::chrono::milliseconds{1500};
  std::uint32_t messages_together_max = 8;
  PolicyConfig policy;  ///< `[policy]`: a part of its own in the file.
  /// `silence_max` and `reconnect_grace` of `[link]` together: a worker is lost after so long without a message from
  /// it.
  Duration worker_lost_after = std::chrono::milliseconds{10500};
  Duration overlap_margin = std::chrono::seconds{2};
};

/// Whether data are compressed on their way to another worker. See `worker/transfer/compression_choice.hpp`.
enum class Compression : std::uint8_t {
  Off = 0,
  Auto = 1,  ///< To another host, where that is quicker.
  On = 2,    ///< All chunks that shrink.
};
/// The words for the values of an enumeration, in its order.
constexpr std::array<const char*, 3> names_of(Compression) { return {"off", "auto", "on"}; }

/// The account of the programs of a job.
enum class RunAs : std::uint8_t {
  Worker = 0,     ///< The worker's own.
  Submitter = 1,  ///< The account of the job's owner, if the worker runs as root.
};
constexpr std::array<const char*, 2> names_of(RunAs) { return {"worker", "submitter"}; }

/// Decisions of a worker.
struct WorkerConfig {
  std::uint32_t prepare_permits_extra = 2;
  Bytes prepare_bytes_max = kGiB;
  std::uint32_t store_permits = 4;
  std::uint32_t fetches_max = 64;
  std::uint32_t bypass_max = 16;
  std::uint32_t scan_max = 32;
  std::uint32_t forward_bypass_max = 64;
  std::uint32_t report_batch_max = 4096;
  Duration report_after = std::chrono::milliseconds{1};
  Duration started_after = std::chrono::milliseconds{100};
  Duration load_report_every = std::chrono::seconds{1};
  Duration kill_grace = std::chrono::seconds{5};
  Duration barrier_margin = std::chrono::seconds{5};
  Duration relieve_every = std::chrono::seconds{1};
  std::uint32_t quota_peaks_min = 8;
  std::uint32_t quota_margin_percent = 25;
  std::uint32_t quota_templates_max = 4096;
  std::uint32_t subtasks_max = 4'000'000;
  std::uint32_t lanes_per_slot_max = 16;
  std::uint32_t yields_max = 128;
  Bytes store_bytes_max{0};
  std::uint32_t spill_from_percent = 80;
  std::uint32_t spill_to_percent = 60;
  Bytes spill_bytes_max = Bytes::max();
  Duration store_wait_max = std::chrono::seconds{30};
  Bytes segment_bytes_min = kKiB * 256;
  std::uint32_t segments_max = 16384;
  Bytes reserve_bytes_max = kMiB * 512;
  std::uint32_t reserve_segments_max = 256;
  std::uint32_t device_store_percent = 50;
  Bytes job_log_bytes_max = kKiB * 256;
  std::uint32_t job_logs_max = 64;
  std::uint32_t transfer_streams_max = 4;
  std::uint32_t transfer_connections_max = 1024;
  std::uint32_t transfer_connections_of_host_max = 512;
  Duration transfer_idle_max = std::chrono::seconds{60};
  Duration transfer_silence_max = std::chrono::seconds{10};
  Bytes transfer_bytes_min = kKiB * 16;
  Duration transfer_reply_max = std::chrono::seconds{60};
  Bytes transfer_chunk_bytes = kMiB;
  Compression transfer_compression = Compression::Auto;
  std::uint32_t mapped_percent = 50;
  std::uint32_t mapped_max = 8192;
  Duration handle_wait_max = std::chrono::seconds{5};
  std::uint32_t runner_message_bytes_max = 64U << 20U;
  std::uint32_t runner_inline_bytes_max = 64U << 10U;
  std::uint32_t runner_kinds_max = 4;
  Bytes runner_bytes_spared = kMiB * 128;
  Bytes command_output_max = kMiB * 16;
  std::uint32_t runner_programs_max = 1024;
  Duration runner_start_max = std::chrono::seconds{60};
  std::uint32_t operator_crashes_max = 60;
  std::uint32_t descriptors_spared = 512;
  RunAs run_as = RunAs::Submitter;
  std::uint32_t users_uid_min = 1000;
  /// `silence_max` of `[link]`: a worker ends its runs with `overlap = "never"` when its supervisor has heard nothing
  /// of it for so long.
  Duration cut_off_after = std::chrono::seconds{10};
};

}  // namespace penstock
