#include "common/host/cgroup.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <vector>

#include "common/host/descriptor.hpp"

namespace penstock {
namespace {

/// The kernel writes "no limit" as a number close to this in version 1.
constexpr std::int64_t kAbsurd = std::int64_t{1} << 60;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

/// Removes the part before `separator` from `text` and returns it; all of it if there is no separator.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return part;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  text = trimmed(text);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool lists(std::string_view names, std::string_view wanted) {
  while (!names.empty())
    if (take_until(names, ',') == wanted) return true;
  return false;
}

struct Mount {
  std::string_view root;  ///< The group at the top of the mount.
  std::string_view point;
};

// A line is: id parent device root point options optional... - type source options
std::optional<Mount> find_mount(std::string_view mounts, std::string_view type, std::string_view controller) {
  while (!mounts.empty()) {
    std::string_view line = take_until(mounts, '\n');
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    std::string_view tail = line.substr(dash + 3);
    for (int skipped = 0; skipped < 3; ++skipped) take_until(line, ' ');
    Mount mount;
    mount.root = take_until(line, ' ');
    mount.point = take_until(line, ' ');
    if (take_until(tail, ' ') != type) continue;
    take_until(tail, ' ');
    if (controller.empty() || lists(tail, controller)) return mount;
  }
  return std::nullopt;
}

CgroupDirectory directory_in(const Mount& mount, std::string_view group, int version) {
  // In a container the mount's top is often our own group already.
  std::string_view below = group;
  if (mount.root != "/" && below.substr(0, mount.root.size()) == mount.root) below.remove_prefix(mount.root.size());
  CgroupDirectory directory{version, std::string{mount.point}, std::string{mount.point}};
  if (below != "/") directory.path += below;
  return directory;
}

std::optional<CgroupDirectory> under(const std::string& root, std::optional<CgroupDirectory> found) {
  if (found) {
    found->mount = root + found->mount;
    found->path = root + found->path;
  }
  return found;
}

template <class Amount>
void tighten(std::optional<Amount>& limit, std::optional<Amount> other) {
  if (other && (!limit || *other < *limit)) limit = other;
}

/// Calls `visit` for our group and each one above it.
template <class Visit>
void visit_upwards(const CgroupDirectory& directory, Visit&& visit) {
  for (std::string path = directory.path; path.size() >= directory.mount.size();) {
    visit(path + "/");
    if (path.size() == directory.mount.size()) return;
    path.resize(path.rfind('/'));
  }
}

}  // namespace

std::optional<CgroupDirectory> find_cgroup(std::string_view controller, std::string_view own_groups,
                                           std::string_view mounts) {
  std::string_view unified;
  while (!own_groups.empty()) {
    std::string_view line = take_until(own_groups, '\n');
    const std::string_view number = take_until(line, ':');
    const std::string_view controllers = take_until(line, ':');
    if (number == "0" && controllers.empty()) unified = line;
    if (!lists(controllers, controller)) continue;
    if (const std::optional<Mount> mount = find_mount(mounts, "cgroup", controller))
      return directory_in(*mount, line, 1);
  }
  if (unified.empty()) return std::nullopt;
  const std::optional<Mount> mount = find_mount(mounts, "cgroup2", {});
  if (!mount) return std::nullopt;
  return directory_in(*mount, unified, 2);
}

std::optional<CgroupDirectory> find_cgroup(std::string_view controller, const std::string& root) {
  const std::string groups = read_small_file(root + "/proc/self/cgroup");
  const std::string mounts = read_small_file(root + "/proc/self/mountinfo");
  return under(root, find_cgroup(controller, std::string_view{groups}, std::string_view{mounts}));
}

std::optional<MilliCpu> parse_cpu_max(std::string_view text) {
  text = trimmed(text);
  const std::string_view quota = take_until(text, ' ');
  return parse_cpu_quota(quota, text);
}

std::optional<MilliCpu> parse_cpu_quota(std::string_view quota, std::string_view period) {
  const std::optional<std::int64_t> allowed = number_in(quota);
  const std::optional<std::int64_t> of = number_in(period);
  if (!allowed || !of || *allowed <= 0 || *of <= 0 || *allowed > kAbsurd / 1000) return std::nullopt;
  return MilliCpu{*allowed * 1000 / *of};
}

std::optional<Bytes> parse_memory_limit(std::string_view text) {
  const std::optional<std::int64_t> limit = number_in(text);
  if (!limit || *limit < 0 || *limit >= kAbsurd) return std::nullopt;
  return Bytes{*limit};
}

std::int64_t parse_counter(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    if (take_until(line, ' ') == key) return number_in(line).value_or(0);
  }
  return 0;
}

CgroupLimits read_cgroup_limits(const std::string& root) {
  CgroupLimits limits;
  if (const auto cpu = find_cgroup("cpu", root))
    visit_upwards(*cpu, [&](const std::string& group) {
      tighten(limits.cpu, cpu->version == 2 ? parse_cpu_max(read_small_file(group + "cpu.max"))
                                            : parse_cpu_quota(read_small_file(group + "cpu.cfs_quota_us"),
                                                              read_small_file(group + "cpu.cfs_period_us")));
    });
  if (const auto memory = find_cgroup("memory", root))
    visit_upwards(*memory, [&](const std::string& group) {
      const char* name = memory->version == 2 ? "memory.max" : "memory.limit_in_bytes";
      tighten(limits.memory, parse_memory_limit(read_small_file(group + name)));
    });
  return limits;
}

std::string read_small_file(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  std::string text;
  char part[4096];
  for (ssize_t size = 0; file && (size = ::read(file.get(), part, sizeof part)) > 0 && text.size() < (1U << 20U);)
    text.append(part, static_cast<std::size_t>(size));
  return text;
}

bool write_small_file(const std::string& path, std::string_view text) {
  const Descriptor file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace penstock
