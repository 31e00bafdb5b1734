#include "worker/runner/command/memory_groups.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

#include "common/host/host.hpp"
#include "common/host/log.hpp"

namespace penstock::worker {
namespace {

bool make_directory(const std::string& path) { return ::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST; }

constexpr const char* kLeaf = "/worker";

bool delegated(const CgroupDirectory& group) {
  return read_small_file(group.path + "/cgroup.subtree_control").find("memory") != std::string::npos;
}

/// Version 2: allows limited groups below `parent`. After a failure nothing has changed.
bool delegate(const CgroupDirectory& parent) {
  if (delegated(parent)) return true;
  if (read_small_file(parent.path + "/cgroup.controllers").find("memory") == std::string::npos) return false;
  const std::string own = std::to_string(process_id()) + "\n";
  if (read_small_file(parent.path + "/cgroup.procs") != own) return false;
  const std::string leaf = parent.path + kLeaf;
  if (!make_directory(leaf) || !write_small_file(leaf + "/cgroup.procs", own)) return false;
  if (write_small_file(parent.path + "/cgroup.subtree_control", "+memory")) return true;
  write_small_file(parent.path + "/cgroup.procs", own);
  ::rmdir(leaf.c_str());
  return false;
}

}  // namespace

bool MemoryGroup::exceeded() const {
  const char* name = version_ == 2 ? "/memory.events" : "/memory.oom_control";
  return parse_counter(read_small_file(directory_ + name), "oom_kill") > 0;
}

std::int64_t MemoryGroup::peak_bytes() const {
  const char* name = version_ == 2 ? "/memory.peak" : "/memory.max_usage_in_bytes";
  const std::optional<Bytes> peak = parse_memory_limit(read_small_file(directory_ + name));
  return peak ? peak->value() : 0;
}

std::int64_t MemoryGroup::current_bytes() const {
  const char* name = version_ == 2 ? "/memory.current" : "/memory.usage_in_bytes";
  const std::optional<Bytes> current = parse_memory_limit(read_small_file(directory_ + name));
  return current ? current->value() : 0;
}

std::unique_ptr<MemoryGroups> MemoryGroups::open() {
  std::optional<CgroupDirectory> parent = find_cgroup("memory");
  // Another band's runner may have moved the worker before.
  if (parent && parent->version == 2 && parent->path.ends_with(kLeaf))
    if (CgroupDirectory above = *parent; above.path.size() > above.mount.size() + std::strlen(kLeaf)) {
      above.path.resize(above.path.size() - std::strlen(kLeaf));
      if (delegated(above)) parent = above;
    }
  const bool writable =
      parent && ::access((parent->path + "/cgroup.procs").c_str(), W_OK) == 0 && ::access("/bin/sh", X_OK) == 0;
  if (writable && (parent->version == 1 || delegate(*parent)))
    return std::unique_ptr<MemoryGroups>{new MemoryGroups{*parent}};
  log_line(LogLevel::Warn, "memory limits of commands are not enforced",
           "reason=\"no control group that this worker may write\"");
  return nullptr;
}

MemoryGroups::MemoryGroups(CgroupDirectory parent)
    : parent_(std::move(parent)), prefix_(std::to_string(random_incarnation().value())) {}

MemoryGroups::~MemoryGroups() { sweep(); }

Result<MemoryGroup> MemoryGroups::make(Bytes limit) {
  sweep();
  MemoryGroup group{parent_.path + "/penstock-" + prefix_ + "-" + std::to_string(made_++), parent_.version};
  const std::string& path = group.directory();
  const std::string bytes = std::to_string(limit.value());
  bool limited = make_directory(path);
  if (parent_.version == 2) {
    limited = limited && write_small_file(path + "/memory.max", bytes);
    // No swap, and all processes of the group end together; not every kernel has these files.
    write_small_file(path + "/memory.swap.max", "0");
    write_small_file(path + "/memory.oom.group", "1");
  } else {
    limited = limited && write_small_file(path + "/memory.limit_in_bytes", bytes);
    write_small_file(path + "/memory.memsw.limit_in_bytes", bytes);
  }
  if (limited) return group;
  const Error error{
      ErrorCode::Unsupported, path, std::string{"no memory limit can be set there: "} + std::strerror(errno), {}};
  remove(group);
  return error;
}

void MemoryGroups::remove(const MemoryGroup& group) {
  // Daemons cannot leave the group.
  const std::string members = read_small_file(group.entrance());
  std::string_view rest = members;
  while (!rest.empty()) {
    const std::size_t line = std::min(rest.find('\n'), rest.size());
    int process = 0;
    std::from_chars(rest.data(), rest.data() + line, process);
    if (process > 0) ::kill(process, SIGKILL);
    rest.remove_prefix(std::min(line + 1, rest.size()));
  }
  leaving_.push_back(group.directory());
  sweep();
}

// A killed process leaves its group a moment after its parent has reaped it.
void MemoryGroups::sweep() {
  std::erase_if(leaving_, [](const std::string& path) { return ::rmdir(path.c_str()) == 0 || errno != EBUSY; });
}

}  // namespace penstock::worker
