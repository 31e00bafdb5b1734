// The defaults of a case of quotas for its bands, members and projects.
// tidy: foreign-file nodes, pod
#pragma once

#include "cli/jobfile/document.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::tools {

/// Values where a case gives none: those of the format, unless the head of the file changes them.
struct QuotaDefaults {
  std::int64_t band_cpu_milli = 20'000'000;
  std::int64_t band_memory_bytes = 20'000'000'000;
  std::int64_t band_members_max = 110;
  std::int64_t device_memory_mib = 100;
  std::int64_t member_cpu_milli = 1000;
  std::int64_t member_memory_bytes = 1'000'000'000;
};

/// `harness`: of a file's head; its `defaults` is a sentence such as "node without numbers: 110 pods, 20e9 bytes; pod:
/// 1000 millicores". Values that the sentence leaves out stay.
QuotaDefaults read_quota_defaults(const cli::DocumentValue& harness);

/// The share of a project or department in `resource`, one of `cpu_milli`, `memory_mb` and `gpu`: CPU and memory are
/// guaranteed without bound and weigh 1, devices neither. `scale`: to the policy's units.
policy::ResourceShare read_quota_share(const cli::DocumentValue& project, const char* resource, double scale);

}  // namespace penstock::tools
