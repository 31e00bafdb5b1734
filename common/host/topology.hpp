// NUMA nodes, processors, memory and GPUs of this host, and the bands that a worker makes of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/host/cgroup.hpp"
#include "common/host/gpus.hpp"
#include "common/protocol/handshake.hpp"

namespace penstock {

/// A band and the processors that its runners are bound to.
struct FoundBand {
  BandDescription band;
  std::vector<int> processors;
  friend bool operator==(const FoundBand&, const FoundBand&) = default;
};

/// A `[[band]]` of the configuration. The name of a band that was found changes that band; another name adds a band,
/// which must have slots and memory. Values that are left out stay as found.
struct BandOverride {
  std::string name;
  std::optional<std::uint32_t> slots;
  std::optional<Bytes> memory;
  std::optional<Bytes> memory_hard_limit;
  std::optional<std::uint32_t> numa_node;
  std::optional<std::vector<int>> processors;
  std::vector<NamedAmount> named;  ///< Resources that only a name describes; sorted.
  bool disabled = false;           ///< Removes this band.
  friend bool operator==(const BandOverride&, const BandOverride&) = default;
};

/// Options for making bands. 0, empty, nothing: as found.
struct TopologyOptions {
  std::uint32_t slots = 0;      ///< Of all CPU bands together; bands that would get none are left out.
  Bytes memory;                 ///< Of all bands together, as soft and as hard limit.
  std::uint32_t cpu_bands = 0;  ///< Number of bands with equal shares of the processors, whatever the NUMA nodes.
  bool gpus = true;
  bool gpus_together = false;  ///< All GPUs are one band: a subtask may have several.
  std::string nvml_library;    ///< Empty: PENSTOCK_NVML_LIBRARY, else the host's.
  std::vector<BandOverride> bands;
  friend bool operator==(const TopologyOptions&, const TopologyOptions&) = default;
};

/// The part of one NUMA node that this process may use.
struct FoundNode {
  std::uint32_t number = 0;  ///< As the kernel counts nodes.
  Bytes memory;
  std::vector<int> processors;
  friend bool operator==(const FoundNode&, const FoundNode&) = default;
};

/// The description of a host from which bands are made.
struct FoundHost {
  std::vector<FoundNode> nodes;
  CgroupLimits limits;
  std::vector<FoundGpu> gpus;
};

/// Examines this host (hwloc, control groups, NVML) and makes its bands. Takes some 10 ms. Errors: InvalidArgument for
/// options that contradict each other or the host; Unsupported for a named library that cannot be used.
Result<std::vector<FoundBand>> find_bands(const TopologyOptions& options);

/// The nodes of this host; or of a simulated one, in hwloc's notation (`numa:2 core:4 pu:2`), for tests.
Result<std::vector<FoundNode>> find_nodes(const std::string& imagined = {});

/// Divides a host into bands: a pure function.
///
/// - One band `numa-N` for each node with processors, one slot for each processor, but no more than the CPU quota
///   rounded up.
/// - One band `gpu-N` for each GPU: one slot, on the processors of the nearest node. Or one band `gpus` for all: a slot
///   for each, on the processors of their nodes.
/// - A node's memory (its share of the tightest limit) belongs to its CPU band; GPUs near the node get half of it among
///   them. Nine tenths are the capacity; a request that runs alone may have all of it.
Result<std::vector<FoundBand>> make_bands(const FoundHost& host, const TopologyOptions& options);

}  // namespace penstock
