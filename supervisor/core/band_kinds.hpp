// On bands of which kind a job has something to run, as policy counts it. Private to this folder.
#pragma once

#include "supervisor/core/job_shares.hpp"

namespace penstock::supervisor {

/// A template that requires a worker or a band takes bands of any kind there.
inline bool may_take(const Template& wanted, BandKind kind) {
  return !wanted.required.empty() || wants_gpu(wanted) == (kind == BandKind::Gpu);
}

}  // namespace penstock::supervisor
