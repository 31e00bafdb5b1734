// `penstock-lab` as its users call it, for tests.
#pragma once

#include "tests/integration/cluster/binary.hpp"

namespace penstock {

/// The same call of `penstock-lab`.
BinaryCall lab_call(BinaryCall call);
BinaryRun run_lab(const BinaryCall& call);
BinaryRun run_lab(const std::vector<std::string>& arguments);

}  // namespace penstock
