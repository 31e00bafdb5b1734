#include "worker/actors/worker_metrics.hpp"

#include <algorithm>
#include <array>

#include "common/host/clock.hpp"
#include "common/protocol/handshake.hpp"
#include "common/security/stored_server.hpp"

namespace penstock::worker {
namespace {

double number(std::uint64_t count) { return static_cast<double>(count); }
double number(Bytes bytes) { return static_cast<double>(bytes.value()); }

constexpr std::array<const char*, 5> kEndWords{"", "succeeded", "failed", "cancelled", "returned"};
/// By `ForwardResult`, from the first miss on.
constexpr std::array<const char*, WorkerCounters::kForwardResults> kForwardWords{
    "not_cached", "hit", "input_remote", "input_spilled", "memory", "lease"};

void add_counters(MetricFamilies& all, const WorkerNumbers& numbers) {
  const WorkerCounters& core = numbers.core;
  const auto count = [&](const char* name, const char* help, std::uint64_t value) {
    all.counter(name, help).add(number(value));
  };
  count("penstock_worker_attempts_assigned_total", "Attempts that came from the supervisor", core.assigned);
  count("penstock_worker_attempts_started_total", "Attempts that were started", core.started);
  MetricFamily& ended = all.counter("penstock_worker_attempts_ended_total", "Attempts ended by outcome");
  for (std::size_t i = 1; i < kEndWords.size(); ++i) ended.add(number(numbers.ended[i]), {{"outcome", kEndWords[i]}});
  all.histogram("penstock_worker_run_seconds", "Time on a slot of ended attempts").add(numbers.runs);
  MetricFamily& forwards =
      all.counter("penstock_worker_forwards_total", "Cached successors by whether, or why not, they started unasked");
  forwards.add(number(core.forward_hits), {{"result", "hit"}});
  for (std::size_t i = 2; i < kForwardWords.size(); ++i)
    forwards.add(number(core.forward_misses[i]), {{"result", kForwardWords[i]}});
  count("penstock_worker_events_stale_total", "Assignments and ends of attempts that are not live", core.stale);
  count("penstock_worker_report_batches_total", "Batches of reports that were sent", numbers.batches);
  count("penstock_worker_incarnations_total", "Times that the worker has begun anew in this process",
        numbers.incarnations);
  count("penstock_worker_transfers_total", "Data fetched from other workers", numbers.fetched);
  count("penstock_worker_transfer_bytes_total", "Bytes of those", numbers.fetched_bytes);
  count("penstock_worker_transfer_failures_total", "Fetches that failed or were given up", numbers.fetches_failed);
  count("penstock_worker_spills_total", "Data ordered to disk", core.spills);
  count("penstock_worker_room_waits_total", "Outputs that waited for room in the store", core.room_waits);
  count("penstock_worker_demotions_total", "Ready attempts that gave back what they held for another one",
        core.demoted);
  count("penstock_worker_memory_relief_steps_total", "Steps taken because memory was short", core.relief_steps);
  count("penstock_worker_memory_grants_grown_total", "Grants of memory that grew while their run went on", core.grown);
  count("penstock_worker_memory_grants_exclusive_total", "Grants of more memory than the band has, given alone",
        core.exclusive);
}

/// Bands with rows of their own; further ones share one.
constexpr std::size_t kBandsMax = 64;

struct BandRow {
  std::string band;
  BandLoad load;
};

void add_to(BandLoad& sum, const BandLoad& load) {
  sum.cached += load.cached;
  sum.queued += load.queued;
  sum.preparing += load.preparing;
  sum.ready += load.ready;
  sum.running += load.running;
  sum.yielded += load.yielded;
  sum.quota_used += load.quota_used;
}

/// A band that has told nothing yet has nothing.
std::vector<BandRow> rows_of(const WorkerScrape& scrape) {
  std::vector<BandRow> rows;
  for (std::size_t i = 0; i < scrape.bands.size() && i < kBandsMax; ++i) rows.push_back({scrape.bands[i], {}});
  if (scrape.bands.size() > kBandsMax) rows.push_back({"other", {}});
  for (const BandLoad& load : scrape.numbers.loads)
    if (load.band.value() < scrape.bands.size())
      add_to(rows[std::min<std::size_t>(load.band.value(), kBandsMax)].load, load);
  return rows;
}

void add_bands(MetricFamilies& all, const WorkerScrape& scrape) {
  const std::vector<BandRow> rows = rows_of(scrape);
  const auto gauge = [&](const char* name, const char* help, auto value_of) {
    MetricFamily& family = all.gauge(name, help);
    for (const BandRow& row : rows) family.add(value_of(row.load), {{"band", row.band}});
  };
  gauge("penstock_worker_runs", "Runs with a slot", [](const BandLoad& load) { return number(load.running); });
  gauge("penstock_worker_runs_yielded", "Runs that have lent their slot",
        [](const BandLoad& load) { return number(load.yielded); });
  gauge("penstock_worker_subtasks_ready", "Subtasks that only lack a slot",
        [](const BandLoad& load) { return number(load.ready); });
  gauge("penstock_worker_subtasks_preparing", "Subtasks that lack memory or inputs that exist",
        [](const BandLoad& load) { return number(load.queued) + number(load.preparing); });
  gauge("penstock_worker_subtasks_cached", "Subtasks that wait for others to finish",
        [](const BandLoad& load) { return number(load.cached); });
  gauge("penstock_worker_memory_granted_bytes", "Memory that is granted to attempts",
        [](const BandLoad& load) { return number(load.quota_used); });
}

}  // namespace

MetricFamilies families_of(const WorkerScrape& scrape) {
  MetricFamilies all;
  all.gauge("penstock_worker_build_info", "1, with the version as a label")
      .add(1, {{"version", std::string{kSoftwareVersion}}});
  add_bands(all, scrape);
  all.gauge("penstock_worker_store_bytes", "Memory of the data in the store").add(number(scrape.store_used));
  all.gauge("penstock_worker_store_limit_bytes", "The most of it").add(number(scrape.store_max));
  all.gauge("penstock_worker_spilled_bytes", "Data of the store on disk").add(number(scrape.disk_used));
  add_counters(all, scrape.numbers);
  return all;
}

Result<std::unique_ptr<WorkerMetrics>> WorkerMetrics::open(Loop& loop, const ObjectStore& store,
                                                           const WorkerOptions& options, const MetricsConfig& config,
                                                           const HostPort& listen) {
  std::unique_ptr<WorkerMetrics> port{new WorkerMetrics};
  MetricsServerOptions server;
  server.listen = listen;
  server.config = config;
  server.revoked = options.revoked;
  if (options.tls != nullptr) {
    const auto stored = std::make_shared<StoredServer>(options.tls);
    server.tls = [stored] { return stored->settings(calendar_now()); };
  }
  std::vector<std::string> bands;
  for (const BandDescription& band : options.bands) bands.push_back(band.name);
  server.ask = [&loop, &store, bands, tally = options.tally, store_max = store_bytes_max(options),
                weak = std::weak_ptr<const bool>{port->alive_}](auto answer) {
    loop.post([&store, bands, tally, store_max, weak, answer = std::move(answer)] {
      if (weak.expired()) return;
      const auto scrape = std::make_shared<const WorkerScrape>(
          WorkerScrape{tally->take(), bands, store.used(), store_max, store.used_on_disk()});
      answer([scrape] { return families_of(*scrape); });
    });
  };
  Result<std::unique_ptr<MetricsServer>> opened = MetricsServer::open(std::move(server));
  if (!opened) return std::move(opened).error();
  port->server_ = std::move(opened).value();
  return port;
}

}  // namespace penstock::worker
