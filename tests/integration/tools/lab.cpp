#include "tests/integration/tools/lab.hpp"

namespace penstock {

BinaryCall lab_call(BinaryCall call) {
  call.program = PENSTOCK_LAB_BINARY;
  return call;
}

BinaryRun run_lab(const BinaryCall& call) { return run_binary(lab_call(call)); }
BinaryRun run_lab(const std::vector<std::string>& arguments) { return run_lab(BinaryCall{arguments, {}, {}, {}}); }

}  // namespace penstock
