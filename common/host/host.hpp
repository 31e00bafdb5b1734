// Facts about this process and its host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/ids.hpp"
#include "common/base/units.hpp"

namespace penstock {

std::string host_name();
/// The account that runs this process; its number if it has no name.
std::string user_name();
/// Whether it may do everything on this host.
bool is_root();
std::uint64_t process_id();
/// An incarnation: a number that no other process, past or future, has.
Incarnation random_incarnation();
/// An identity for a job that is about to be accepted.
JobIdentity random_identity();
/// CPU time of this process so far, in microseconds, and its peak resident memory in bytes.
struct ProcessUsage {
  std::int64_t cpu_us = 0;
  std::int64_t peak_bytes = 0;
};
ProcessUsage process_usage();
/// Processors on which this process may run at once: those of its affinity mask (`taskset`, a cpuset), but no more than
/// the CPU quota of its control group, rounded up. At least 1. `std::thread::hardware_concurrency` knows neither.
unsigned usable_processors();
/// The memory that this process may take.
struct MemoryBounds {
  Bytes host;                  ///< All that the host has.
  std::optional<Bytes> group;  ///< The limit of its control group; none: no limit.
  /// The rest of the limits of its address space and of its data, beside what it uses now.
  std::optional<Bytes> process;
};
MemoryBounds read_memory_bounds();
/// A block of this size or more has pages of its own, which go back to the system when it is freed. Pages of the heap
/// stay while a later block is in use. By default glibc raises this size up to 32 MiB with each such block that is
/// freed, so that a process kept 100 MiB of a graph that it had forgotten.
constexpr Bytes kOwnPagesFrom{1 << 20};
/// The free end of a heap stays with the process up to this size. With glibc's 128 KiB batches of frames give their
/// pages back and take new ones, which the kernel clears: two thirds of the page faults of a large graph.
constexpr Bytes kSpareHeapMax{16 << 20};
/// Sets up the allocator of a long-lived process: by the two sizes above, and under a limit of the address space one
/// heap for all threads, because each thread would reserve 64 MiB for its own. To be called before the first thread.
void set_up_allocator();
/// Lowers the priority of the calling thread for as long as it lives: it gets a free processor as before, and about a
/// tenth of a processor that other threads want.
void step_back();

}  // namespace penstock
