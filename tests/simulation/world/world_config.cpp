#include "tests/simulation/world/world_config.hpp"

#include <algorithm>

#include "tests/simulation/world/policies.hpp"
#include "tests/simulation/world/supervisor_witness.hpp"

namespace penstock::simulation {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Every limit and knob from the seed, small values often: edges are reached by small limits, not by large runs.
WorldConfig::WorldConfig(const WorldOptions& options, Rng& r) {
  link.window_frames = static_cast<std::uint32_t>(r.chance(1, 3) ? r.between(1, 4) : 1024);
  link.resend_after = milliseconds{r.between(20, 500)};
  link.resend_after_max = seconds{2};
  link.heartbeat = milliseconds{r.between(100, 1000)};
  link.silence_max = milliseconds{r.between(5000, 10000)};
  link.supervisor_absence_max = milliseconds{r.chance(1, 4) ? r.between(500, 6000) : 60000};
  worker.prepare_permits_extra = static_cast<std::uint32_t>(r.below(4));
  worker.prepare_bytes_max = r.chance(1, 3) ? Bytes{r.between(1, 200'000)} : kGiB;
  worker.store_permits = static_cast<std::uint32_t>(r.between(1, 4));
  worker.fetches_max = static_cast<std::uint32_t>(r.between(1, 8));
  worker.bypass_max = static_cast<std::uint32_t>(r.below(5));
  worker.forward_bypass_max = static_cast<std::uint32_t>(r.below(5));
  worker.report_batch_max = static_cast<std::uint32_t>(r.chance(1, 3) ? r.between(1, 5) : 4096);
  worker.report_after = microseconds{r.between(0, 3000)};
  // A part of the stores holds no more than a few data; then outputs wait, are refused, or push others to disk.
  worker.store_bytes_max = r.chance(1, 3) ? Bytes{r.between(300'000, 900'000)} : Bytes{0};
  worker.spill_from_percent = static_cast<std::uint32_t>(r.between(1, 100));
  worker.spill_to_percent = static_cast<std::uint32_t>(r.between(0, 100));
  worker.relieve_every = milliseconds{r.between(1, 1000)};
  // Not from the stream of the others: seeds that once found something go on finding it.
  Rng peaks{mix_bits(options.seed) ^ 0x9ea5};
  worker.quota_peaks_min = static_cast<std::uint32_t>(peaks.below(6));
  worker.quota_margin_percent = static_cast<std::uint32_t>(peaks.below(101));
  worker.quota_templates_max = static_cast<std::uint32_t>(peaks.chance(1, 3) ? peaks.between(1, 3) : 4096);
  Rng yields{mix_bits(options.seed) ^ 0x41e1d};
  if (yields.chance(1, 3)) worker.yields_max = static_cast<std::uint32_t>(yields.below(3));
  worker.subtasks_max = static_cast<std::uint32_t>(r.chance(1, 5) ? r.between(4, 20) : 100000);
  supervisor.lookahead_subtasks_initial = static_cast<std::uint32_t>(r.between(1, 40));
  supervisor.lookahead_subtasks_max = static_cast<std::uint32_t>(r.between(1, 60));
  supervisor.lookahead = milliseconds{r.between(1, 50)};
  supervisor.messages_together_max = static_cast<std::uint32_t>(r.between(1, 20));
  supervisor.assign_batch_max = static_cast<std::uint32_t>(r.chance(1, 3) ? r.between(1, 5) : 4096);
  supervisor.attempts_max = static_cast<std::uint16_t>(r.between(1, 5));
  supervisor.lost_workers_max = 1000;
  supervisor.failures_max = 10000;
  supervisor.broadcast_readers_min = static_cast<std::uint32_t>(r.between(2, 64));
  supervisor.progress_every = microseconds{r.between(0, 5000)};
  supervisor.progress_batch_max = static_cast<std::uint32_t>(r.between(1, 50));
  supervisor.cached_graphs_max = static_cast<std::uint32_t>(r.between(0, 2));
  supervisor.lost_writers_max = 2;  // So small that some are forgotten.
  supervisor.steal_after = microseconds{r.between(0, 3000)};
  supervisor.required_band_wait = milliseconds{r.between(1, 5000)};
  supervisor.lineage_depth_max = static_cast<std::uint32_t>(r.chance(1, 5) ? r.between(1, 4) : 10000);
  supervisor.reclaim_wait = milliseconds{r.chance(1, 4) ? r.between(0, 200) : 1500};
  supervisor.watchdog_after = r.chance(1, 3) ? Duration{milliseconds{r.between(20, 500)}} : kWatchdogPatient;
  if (options.policy) supervisor.policy = random_policy(r);
  Rng spare{mix_bits(options.seed) ^ 0x59a7};
  supervisor.spare_data_percent = static_cast<std::uint32_t>(spare.chance(1, 3) ? spare.between(0, 100) : 25);
  supervisor.spare_data_max = static_cast<std::uint32_t>(spare.chance(1, 3) ? spare.between(0, 10) : 65536);
  draw_policy_parts(options);
}

// Each from a stream of its own: seeds that once found something go on finding it.
void WorldConfig::draw_policy_parts(const WorldOptions& options) {
  Rng parts{mix_bits(options.seed) ^ 0x9a47};
  const bool has_devices = parts.chance(1, 3) && options.workflow == nullptr;
  Rng sets{mix_bits(options.seed) ^ 0xdec5};
  const bool several = sets.chance(1, 2);
  if (has_devices && (options.policy || several))
    devices = several ? static_cast<std::uint32_t>(sets.between(2, 4)) : 1;
  if (options.policy && parts.chance(1, 3)) guarantee_memory(parts, supervisor.policy);
  Rng gangs{mix_bits(options.seed) ^ 0x6a46};
  if (options.policy && gangs.chance(1, 2))
    supervisor.policy.gang_wait = milliseconds{gangs.chance(1, 8) ? 0 : gangs.between(1, 3000)};
  Rng turns{mix_bits(options.seed) ^ 0x7047};
  if (options.policy && turns.chance(1, 2))
    supervisor.policy.starvation_after = milliseconds{turns.chance(1, 8) ? 0 : turns.between(1, 5000)};
  Rng barriers{mix_bits(options.seed) ^ 0xba44};
  if (options.policy && barriers.chance(1, 2))
    supervisor.policy.gang_barrier = milliseconds{barriers.chance(1, 8) ? 20 : barriers.between(20, 2000)};
  // A link of a few frames passes so many in each `acknowledge_after`: an answer takes longer than a short barrier.
  if (link.window_frames <= 4)
    supervisor.policy.gang_barrier = std::max<Duration>(supervisor.policy.gang_barrier, milliseconds{500});
  // Whatever workers are configured to, the supervisor sees to it that nobody gives back what a gang begins on.
  worker.barrier_margin = milliseconds{options.policy && barriers.chance(1, 2) ? 0 : barriers.between(0, 2000)};
  worker.cut_off_after = link.silence_max;
  supervisor.worker_lost_after = link.silence_max + link.reconnect_grace;
  // No run fails for it: the disk always takes something in the end, but not what a run reads, and the longest run
  // lasts for four times as long as workers may be silent.
  worker.store_wait_max = seconds{30} + 4 * supervisor.worker_lost_after;
  Rng rules{mix_bits(options.seed) ^ 0x4175};
  has_rules = options.policy && rules.chance(1, 2);
  if (has_rules) add_rules(rules, supervisor.policy);
}

}  // namespace penstock::simulation
