// The control groups of this process, and their limits. Versions 1 and 2.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/units.hpp"

namespace penstock {

/// Directory with the files of our group for one controller.
struct CgroupDirectory {
  int version = 2;
  std::string mount;  ///< Of the hierarchy; `path` lies below it or is it.
  std::string path;
  friend bool operator==(const CgroupDirectory&, const CgroupDirectory&) = default;
};

/// Finds the directory for `controller` (`cpu`, `memory`) in the texts of /proc/self/cgroup and /proc/self/mountinfo.
std::optional<CgroupDirectory> find_cgroup(std::string_view controller, std::string_view own_groups,
                                           std::string_view mounts);
/// The same for this process. `root` is put before every path that is read, so that tests can use a tree of their own.
std::optional<CgroupDirectory> find_cgroup(std::string_view controller, const std::string& root = {});

// The limit in the text of a file; nothing: no limit, or no such text.
std::optional<MilliCpu> parse_cpu_max(std::string_view text);  ///< Version 2: `200000 100000`.
std::optional<MilliCpu> parse_cpu_quota(std::string_view quota, std::string_view period);  ///< Version 1, microseconds.
std::optional<Bytes> parse_memory_limit(std::string_view text);                            ///< A number, or `max`.
/// The number after `key` in lines of `key number`, or 0.
std::int64_t parse_counter(std::string_view text, std::string_view key);

/// The tightest limit of our group and all groups above it.
struct CgroupLimits {
  std::optional<MilliCpu> cpu;
  std::optional<Bytes> memory;
  friend bool operator==(const CgroupLimits&, const CgroupLimits&) = default;
};
CgroupLimits read_cgroup_limits(const std::string& root = {});

/// The text of a small file; empty if it cannot be read.
std::string read_small_file(const std::string& path);
/// False if the text cannot be written in one call.
bool write_small_file(const std::string& path, std::string_view text);

}  // namespace penstock
