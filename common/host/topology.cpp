#include "common/host/topology.hpp"

#include <hwloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "common/host/process.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t kSlotsMax = 65'535;  ///< A lane's number has 16 bits.

/// hwloc's tree, loaded.
class Machine {
 public:
  Machine() : valid_(hwloc_topology_init(&tree_) == 0) {}
  ~Machine() {
    if (valid_) hwloc_topology_destroy(tree_);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  bool load(const std::string& imagined) {
    if (!valid_) return false;
    if (!imagined.empty() && hwloc_topology_set_synthetic(tree_, imagined.c_str()) != 0) return false;
    return hwloc_topology_load(tree_) == 0;
  }
  hwloc_topology_t tree() const { return tree_; }

 private:
  hwloc_topology_t tree_ = nullptr;
  bool valid_;
};

/// Whether this process may run on the processor by `taskset` or a cpuset; hwloc knows only the latter.
bool may_run_on(const cpu_set_t* bound, int processor) {
  return bound == nullptr || processor >= CPU_SETSIZE || CPU_ISSET(static_cast<std::size_t>(processor), bound);
}

/// `total` in parts proportional to `weights` (largest remainder, the first of equals), which sum up to it exactly.
std::vector<std::int64_t> divide(std::int64_t total, const std::vector<std::int64_t>& weights) {
  const std::int64_t sum = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  std::vector<std::int64_t> parts(weights.size(), 0);
  if (sum <= 0 || parts.empty()) return parts;
  // Amounts of memory times numbers of processors stay far below 64 bits; memory by memory is scaled down first.
  const std::int64_t scale = sum > (std::int64_t{1} << 20) ? sum >> 20 : 1;
  std::vector<std::pair<std::int64_t, std::size_t>> remainders;
  std::int64_t given = 0;
  const std::int64_t scaled_sum = std::max<std::int64_t>(sum / scale, 1);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::int64_t weight = std::min(weights[i] / scale, scaled_sum);
    parts[i] = total / scaled_sum * weight + total % scaled_sum * weight / scaled_sum;
    remainders.emplace_back(-(total % scaled_sum * weight % scaled_sum), i);
    given += parts[i];
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::size_t i = 0; given < total; i = (i + 1) % remainders.size(), ++given) ++parts[remainders[i].second];
  return parts;
}

std::vector<std::int64_t> processor_counts(const std::vector<FoundNode>& nodes) {
  std::vector<std::int64_t> counts;
  counts.reserve(nodes.size());
  for (const FoundNode& node : nodes) counts.push_back(static_cast<std::int64_t>(node.processors.size()));
  return counts;
}

/// The nodes redivided into `count` of equal size.
std::vector<FoundNode> regroup(const std::vector<FoundNode>& nodes, std::uint32_t count) {
  std::vector<std::pair<int, std::uint32_t>> processors;
  Bytes memory;
  for (const FoundNode& node : nodes) {
    for (const int processor : node.processors) processors.emplace_back(processor, node.number);
    memory += node.memory;
  }
  const std::vector<std::int64_t> equal(count, 1);
  const std::vector<std::int64_t> sizes = divide(static_cast<std::int64_t>(processors.size()), equal);
  const std::vector<std::int64_t> memories = divide(memory.value(), equal);
  std::vector<FoundNode> groups(count);
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    groups[i].number = i;
    groups[i].memory = Bytes{memories[i]};
    for (std::int64_t taken = 0; taken < sizes[i]; ++taken) groups[i].processors.push_back(processors[next++].first);
    // With more bands than processors, bands share one.
    if (groups[i].processors.empty() && !processors.empty())
      groups[i].processors.push_back(processors[i % processors.size()].first);
  }
  return groups;
}

/// Index in `nodes` of the node nearest to a GPU; the first if that is not known.
std::size_t node_of(const FoundGpu& gpu, const std::vector<FoundNode>& nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (gpu.numa_node >= 0 && nodes[i].number == static_cast<std::uint32_t>(gpu.numa_node)) return i;
  return 0;
}

void set_memory(BandDescription& band, Bytes share, bool as_told) {
  band.memory_hard_limit = share;
  // A worker, its host and the page cache need memory beside the subtasks.
  band.capacity.memory = as_told ? share : Bytes{share.value() / 10 * 9};
}

FoundBand cpu_band(const FoundNode& node, std::int64_t slots, std::int64_t milli_cpu) {
  FoundBand found;
  found.band.name = "numa-" + std::to_string(node.number);
  found.band.kind = BandKind::Cpu;
  found.band.numa_node = node.number;
  found.band.capacity.slots = kOneSlot * slots;
  found.band.capacity.cpu = MilliCpu{milli_cpu};
  found.processors = node.processors;
  return found;
}

/// The GPU is one more of the band; `milli_cpu` are the processors of its node.
void add_gpu(const FoundGpu& gpu, const FoundNode& node, std::int64_t milli_cpu, FoundBand& found) {
  BandDescription& band = found.band;
  const bool knows_node = std::any_of(band.devices.begin(), band.devices.end(),
                                      [&](const DeviceDescription& device) { return device.numa_node == node.number; });
  if (!knows_node) {
    band.capacity.cpu += MilliCpu{milli_cpu};
    found.processors.insert(found.processors.end(), node.processors.begin(), node.processors.end());
  }
  if (band.devices.empty()) band.numa_node = node.number;
  band.capacity.slots += kOneSlot;
  band.capacity.gpu += MilliGpu{1000};
  band.capacity.device_memory += gpu.memory;
  band.devices.push_back({gpu.uuid, gpu.name, gpu.pci_address, gpu.memory, node.number, gpu.linked});
}

FoundBand gpu_band(std::string name) {
  FoundBand found;
  found.band.name = std::move(name);
  found.band.kind = BandKind::Gpu;
  return found;
}

Result<void> apply(const BandOverride& change, std::vector<FoundBand>& bands) {
  auto found =
      std::find_if(bands.begin(), bands.end(), [&](const FoundBand& band) { return band.band.name == change.name; });
  if (change.disabled) {
    if (found != bands.end()) bands.erase(found);
    return {};
  }
  if (found == bands.end()) {
    if (!change.slots || !change.memory)
      return Error{
          ErrorCode::InvalidArgument, change.name, "is no band of this host, and a new one needs slots and memory", {}};
    bands.emplace_back().band.name = change.name;
    found = bands.end() - 1;
    found->band.capacity.cpu = MilliCpu{1000} * *change.slots;
  }
  BandDescription& band = found->band;
  if (change.slots) band.capacity.slots = kOneSlot * *change.slots;
  if (change.memory) set_memory(band, *change.memory, true);
  if (change.memory_hard_limit) band.memory_hard_limit = *change.memory_hard_limit;
  if (band.memory_hard_limit < band.capacity.memory)
    return Error{ErrorCode::InvalidArgument, change.name, "has a hard limit of memory below its memory",
                 "raise memory_hard_limit or lower memory"};
  if (change.numa_node) band.numa_node = *change.numa_node;
  if (change.processors) found->processors = *change.processors;
  if (!change.named.empty()) band.capacity.named = change.named;
  return {};
}

}  // namespace

Result<std::vector<FoundNode>> find_nodes(const std::string& imagined) {
  Machine machine;
  if (!machine.load(imagined))
    return Error{ErrorCode::Unsupported, imagined.empty() ? "this host" : imagined, "hwloc cannot describe it",
                 "name the bands in penstock.toml"};
  cpu_set_t bound;
  const bool real = imagined.empty() && ::sched_getaffinity(0, sizeof bound, &bound) == 0;
  std::vector<FoundNode> nodes;
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(machine.tree(), HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    FoundNode found;
    found.number = node->os_index;
    found.memory =
        Bytes{static_cast<std::int64_t>(std::min<std::uint64_t>(node->attr->numanode.local_memory, INT64_MAX))};
    for (int processor = hwloc_bitmap_next(node->cpuset, -1); processor >= 0;
         processor = hwloc_bitmap_next(node->cpuset, processor))
      if (may_run_on(real ? &bound : nullptr, processor)) found.processors.push_back(processor);
    nodes.push_back(std::move(found));
  }
  if (nodes.size() == 1 && nodes[0].memory.is_zero())  // In some virtual machines hwloc finds no size.
    nodes[0].memory = Bytes{std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE)};
  return nodes;
}

Result<std::vector<FoundBand>> make_bands(const FoundHost& host, const TopologyOptions& options) {
  std::vector<FoundNode> nodes;
  for (const FoundNode& node : host.nodes)
    if (!node.processors.empty()) nodes.push_back(node);
  if (nodes.empty())
    return Error{ErrorCode::Unsupported, "this host", "has no processor that this process may use",
                 "look at its cpuset"};
  if (options.cpu_bands > kSlotsMax || options.slots > kSlotsMax)
    return Error{ErrorCode::InvalidArgument, "slots, bands", "are more than " + std::to_string(kSlotsMax), {}};
  const std::vector<FoundNode> real_nodes = nodes;
  if (options.cpu_bands > 0) nodes = regroup(nodes, options.cpu_bands);

  std::vector<std::int64_t> counts = processor_counts(nodes);
  const std::int64_t processors = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const std::int64_t milli_cpu = host.limits.cpu
                                     ? std::min(processors * 1000, std::max<std::int64_t>(host.limits.cpu->value(), 1))
                                     : processors * 1000;
  const std::int64_t slots = options.slots > 0 ? options.slots : (milli_cpu + 999) / 1000;
  const std::vector<std::int64_t> slot_parts = divide(slots, counts);
  const std::vector<std::int64_t> cpu_parts = divide(milli_cpu, counts);

  Bytes memory;
  for (const FoundNode& node : real_nodes) memory += node.memory;
  if (host.limits.memory) memory = std::min(memory, *host.limits.memory);
  if (!options.memory.is_zero()) memory = options.memory;

  std::vector<FoundBand> bands;
  std::vector<std::int64_t> weights;  // Of memory.
  const auto near = [&](std::size_t node) {
    return std::count_if(host.gpus.begin(), host.gpus.end(),
                         [&](const FoundGpu& gpu) { return options.gpus && node_of(gpu, nodes) == node; });
  };
  const auto weight_of = [&](std::size_t node) {
    return std::max<std::int64_t>(nodes[node].memory.value() >> 20, 1) * 1000;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (slot_parts[i] == 0) continue;
    bands.push_back(cpu_band(nodes[i], slot_parts[i], cpu_parts[i]));
    weights.push_back(near(i) > 0 ? weight_of(i) / 2 : weight_of(i));
  }
  bool is_first = true;
  for (const FoundGpu& gpu : host.gpus) {
    if (!options.gpus) break;
    const std::size_t node = node_of(gpu, nodes);
    if (std::exchange(is_first, false) || !options.gpus_together) {
      bands.push_back(gpu_band(options.gpus_together ? "gpus" : "gpu-" + std::to_string(gpu.index)));
      weights.push_back(0);
    }
    add_gpu(gpu, nodes[node], cpu_parts[node], bands.back());
    weights.back() += weight_of(node) / 2 / near(node);
  }
  if (options.gpus && host.gpus.size() > kBandDevicesMax && options.gpus_together)
    return Error{ErrorCode::InvalidArgument, "gpus_together",
                 "is for hosts of at most " + std::to_string(kBandDevicesMax) + " GPUs, and this one has " +
                     std::to_string(host.gpus.size()),
                 "say gpus_together = false"};
  const std::vector<std::int64_t> shares = divide(memory.value(), weights);
  for (std::size_t i = 0; i < bands.size(); ++i) set_memory(bands[i].band, Bytes{shares[i]}, !options.memory.is_zero());
  for (const BandOverride& change : options.bands) PENSTOCK_TRY(apply(change, bands));
  if (bands.empty()) return Error{ErrorCode::InvalidArgument, "bands", "none is left", "enable one"};
  return bands;
}

Result<std::vector<FoundBand>> find_bands(const TopologyOptions& options) {
  FoundHost host;
  Result<std::vector<FoundNode>> nodes = find_nodes();
  if (!nodes) return std::move(nodes).error();
  host.nodes = std::move(nodes).value();
  host.limits = read_cgroup_limits();
  if (options.gpus) {
    GpuSearch search;
    search.library = options.nvml_library.empty() ? environment_value("PENSTOCK_NVML_LIBRARY") : options.nvml_library;
    constexpr const char* kUnset = "*";
    if (std::string visible = environment_value("CUDA_VISIBLE_DEVICES", kUnset); visible != kUnset)
      search.visible = std::move(visible);
    Result<std::vector<FoundGpu>> gpus = find_gpus(search);
    if (!gpus) return std::move(gpus).error();
    host.gpus = std::move(gpus).value();
  }
  return make_bands(host, options);
}

}  // namespace penstock
