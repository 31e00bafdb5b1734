#include "tools/policy/replay/replay_site.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "common/host/topology.hpp"
#include "common/protocol/time_limit.hpp"
#include "supervisor/core/pool_parts.hpp"

namespace penstock::policy {
namespace {

/// From here on a job is never preempted.
constexpr std::int64_t kStays = 100;
constexpr std::int64_t kProcessorsMax = 65'535;
/// A limit ends no job that runs as long as was said, even if the members of a gang begin one after the other.
constexpr std::chrono::seconds kLimitMargin{1};
constexpr std::chrono::seconds kLimitMarginOfGangs{60};

std::int64_t devices_of(const Band& band) { return band.capacity.gpu / 1000; }

std::int64_t processors_of(const Band& band) {
  return std::clamp<std::int64_t>((band.capacity.cpu + 999) / 1000, 1, kProcessorsMax);
}

std::string label_of(std::size_t place) { return "place-" + std::to_string(place); }

/// One of `parts` equal parts of a host.
FoundHost part_of(const Band& band, std::int64_t part, std::int64_t parts) {
  const auto share = [&](std::int64_t all) { return all / parts + (part < all % parts ? 1 : 0); };
  const std::int64_t cpu_milli = share(band.capacity.cpu);
  FoundHost host;
  FoundNode& node = host.nodes.emplace_back();
  node.memory = Bytes{share(band.capacity.memory)};
  node.processors.resize(
      static_cast<std::size_t>(std::clamp<std::int64_t>((cpu_milli + 999) / 1000, 1, kProcessorsMax)));
  host.limits.cpu = MilliCpu{cpu_milli};
  for (std::int64_t i = 0; i < share(devices_of(band)); ++i) {
    FoundGpu& gpu = host.gpus.emplace_back();
    gpu.index = static_cast<std::uint32_t>(i);
    gpu.uuid = band.name + "-" + std::to_string(part) + "-" + std::to_string(i);
    gpu.numa_node = 0;
  }
  return host;
}

}  // namespace

ReplaySite::ReplaySite(const ReplayTrace& trace, const PolicyConfig& policy) : trace_(trace), policy_(policy) {
  const bool counts_slots = supervisor::parts_in_force(policy).front().sharing != Sharing::QuotaTree;
  const bool any_shared =
      std::any_of(trace.bands.begin(), trace.bands.end(), [](const Band& band) { return devices_of(band) > 1; });
  whole_devices_ = any_shared && counts_slots;
  for (const ReplayJob& job : trace.jobs)
    if (!job.bands.empty()) places_.push_back(job.bands);
  std::sort(places_.begin(), places_.end());
  places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
}

std::vector<ReplayHost> ReplaySite::hosts() const {
  std::vector<std::vector<std::string>> labels(trace_.bands.size());
  for (std::size_t place = 0; place < places_.size(); ++place)
    for (const std::uint32_t band : places_[place]) labels[band].push_back(label_of(place));
  std::vector<ReplayHost> all;
  for (std::uint32_t at = 0; at < trace_.bands.size(); ++at) {
    const Band& band = trace_.bands[at];
    constexpr auto kMost = static_cast<std::int64_t>(kBandDevicesMax);
    const std::int64_t parts = std::max<std::int64_t>(1, (devices_of(band) + kMost - 1) / kMost);
    for (std::int64_t part = 0; part < parts; ++part) {
      Register worker;
      worker.host = band.name;
      worker.name = parts == 1 ? band.name : band.name + "." + std::to_string(part);
      worker.labels = labels[at];
      const FoundHost host = part_of(band, part, parts);
      TopologyOptions options;
      options.gpus_together = host.gpus.size() > 1;
      std::vector<FoundBand> bands = make_bands(host, options).value();
      for (FoundBand& found : bands) worker.bands.push_back(std::move(found.band));
      all.push_back({at, std::move(worker)});
    }
  }
  return all;
}

std::int64_t ReplaySite::slots_of(const ReplayJob& job) const {
  if (job.devices > 0) return job.devices * (whole_devices_ ? 1000 : job.device_share);
  return job.cpu_milli > 0 ? job.cpu_milli : 1000;
}

/// Whole slots.
std::uint32_t ReplaySite::gang_of(const ReplayJob& job) const {
  return static_cast<std::uint32_t>((job.members * slots_of(job) + 999) / 1000);
}

bool ReplaySite::has_slots_for(const ReplayJob& job) const {
  std::int64_t slots = 0;
  for (const Band& band : trace_.bands) slots += job.devices > 0 ? devices_of(band) : processors_of(band);
  return gang_of(job) <= slots;
}

ResourceVector ReplaySite::request_of(const ReplayJob& job) const {
  ResourceVector request;
  request.slots = MilliSlots{slots_of(job)};
  request.cpu = MilliCpu{job.cpu_milli};
  request.memory = Bytes{job.memory_mib << 20U};
  if (job.devices > 0) request.gpu = MilliGpu{slots_of(job)};
  return request;
}

/// Larger is more important in a trace. Of those that were made of service classes, the middle is 50 on either scale.
std::int32_t ReplaySite::priority_of(const ReplayJob& job) const {
  if (ranks_priorities(policy_.pools.front())) {
    const std::int64_t written = trace_.priorities_written ? -job.priority : 100 - job.priority;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(written, kPriorityFirst, kPriorityLast));
  }
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(job.priority, std::numeric_limits<std::int32_t>::min(),
                                                            std::numeric_limits<std::int32_t>::max()));
}

JobSpec ReplaySite::spec_of(std::size_t job_index) const {
  const ReplayJob& job = trace_.jobs[job_index];
  const std::string& project = trace_.projects[job.project];
  JobSpec spec;
  spec.name = "replayed-" + std::to_string(job_index);
  spec.owner = project;
  spec.keep = Keep::Nothing;
  spec.priority = priority_of(job);
  // Users say how long it will take, and are right.
  const Duration limit = std::chrono::seconds{job.runs_s} + (job.members > 1 ? kLimitMarginOfGangs : kLimitMargin);
  if (check_time_limit(spec.name, limit)) spec.time_limit = limit;
  if (find_project(policy_, project) >= 0) spec.policy.project = project;
  if (find_account(policy_, project) >= 0) spec.policy.account = project;
  spec.policy.preemptible = job.priority < kStays ? Preemptible::Yes : Preemptible::No;
  if (job.members > 1) spec.policy.gang = gang_of(job);
  if (!job.bands.empty()) {
    const auto place = std::lower_bound(places_.begin(), places_.end(), job.bands);
    spec.policy.labels = {label_of(static_cast<std::size_t>(place - places_.begin()))};
  }
  return spec;
}

Graph ReplaySite::graph_of(std::size_t job_index) const {
  const ReplayJob& job = trace_.jobs[job_index];
  Graph graph;
  Template& wanted = graph.templates.emplace_back();
  wanted.program = "hold";
  wanted.output_count = 0;
  wanted.request = request_of(job);
  const auto members = static_cast<std::size_t>(job.members);
  graph.template_of.assign(members, 0);
  graph.input_offsets.assign(members + 1, 0);
  return graph;
}

PolicyConfig policy_of_pool(PolicyConfig config, std::size_t pool) {
  config.pools = {std::move(config.pools[pool])};
  config.pools.front().workers.clear();
  for (ProjectConfig& project : config.projects) {
    project.pools.clear();
    project.training_labels.clear();
    project.interactive_labels.clear();
    project.users.clear();
    project.accounts.clear();
  }
  return config;
}

PolicyConfig policy_of_equals(const ReplayTrace& trace, PoolConfig pool) {
  PolicyConfig config;
  config.pools.push_back(std::move(pool));
  std::int64_t processors = 0;
  std::int64_t devices = 0;
  for (const Band& band : trace.bands) {
    processors += processors_of(band);
    devices += devices_of(band);
  }
  const std::int64_t projects = std::max<std::int64_t>(1, std::ssize(trace.projects));
  for (const std::string& name : trace.projects) {
    ProjectConfig& project = config.projects.emplace_back();
    project.name = name;
    project.guaranteed_slots = processors / projects;
    project.guaranteed_gpu_slots = devices / projects;
    config.accounts.push_back({.name = name});
  }
  return config;
}

}  // namespace penstock::policy
