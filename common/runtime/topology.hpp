// What this host offers: NUMA nodes, processors, memory, GPUs; and the bands that a worker makes of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/handshake.hpp"
#include "common/runtime/cgroup.hpp"
#include "common/runtime/gpus.hpp"

namespace penstock {

/// A band and the processors that its runners are bound to.
struct FoundBand {
  BandDescription band;
  std::vector<int> processors;
  friend bool operator==(const FoundBand&, const FoundBand&) = default;
};

/// What a `[[band]]` of the configuration says. With the name of a band that was found it changes that band; with
/// another name it is a band more, which must have slots and memory. What is not said stays as found.
struct BandOverride {
  std::string name;
  std::optional<std::uint32_t> slots;
  std::optional<Bytes> memory;
  std::optional<Bytes> memory_hard_limit;
  std::optional<std::uint32_t> numa_node;
  std::optional<std::vector<int>> processors;
  std::vector<NamedAmount> named;  ///< Resources that only a name describes; sorted.
  bool disabled = false;           ///< There shall be no such band.
  friend bool operator==(const BandOverride&, const BandOverride&) = default;
};

/// How bands are made. 0, empty, nothing: as found.
struct TopologyOptions {
  std::uint32_t slots = 0;      ///< Of all CPU bands together; bands that would get none are left out.
  Bytes memory;                 ///< Of all bands together, as soft and as hard limit.
  std::uint32_t cpu_bands = 0;  ///< So many, of equal shares of the processors, whatever the NUMA nodes.
  bool gpus = true;
  std::string nvml_library;  ///< Empty: PENSTOCK_NVML_LIBRARY, else the host's.
  std::vector<BandOverride> bands;
  friend bool operator==(const TopologyOptions&, const TopologyOptions&) = default;
};

/// One NUMA node as far as this process may use it.
struct FoundNode {
  std::uint32_t number = 0;  ///< As the kernel counts them.
  Bytes memory;
  std::vector<int> processors;
  friend bool operator==(const FoundNode&, const FoundNode&) = default;
};

/// All that is known of the host.
struct FoundHost {
  std::vector<FoundNode> nodes;
  CgroupLimits limits;
  std::vector<FoundGpu> gpus;
};

/// Looks at this host (hwloc, control groups, NVML) and makes bands of it. Takes some 10 ms. Errors: InvalidArgument
/// for options that contradict each other or the host; Unsupported for a named library that cannot be used.
Result<std::vector<FoundBand>> find_bands(const TopologyOptions& options);

/// The nodes of this host; or of an imagined one, in hwloc's notation (`numa:2 core:4 pu:2`), for tests.
Result<std::vector<FoundNode>> find_nodes(const std::string& imagined = {});

/// The division itself: a pure function.
///
/// - One band `numa-N` for each node with processors, one slot for each processor, no more than the CPU quota rounded
/// up.
/// - One band `gpu-N` for each GPU: one slot, on the processors of the nearest node.
/// - A node's memory (of the tightest limit its share) is for its CPU band; with GPUs near it they get half of it among
///   them. Nine tenths are the capacity; up to all of it a request may have when it runs alone.
Result<std::vector<FoundBand>> make_bands(const FoundHost& host, const TopologyOptions& options);

}  // namespace penstock
