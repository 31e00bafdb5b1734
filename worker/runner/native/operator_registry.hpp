// Native operators by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/include/penstock/operator.h"
#include "common/base/result.hpp"

namespace penstock::worker {

/// The operators of a worker: its own (`noop`, `burn`, `fail`, `literal`, `alias`, `pass`, `concatenate`, see
/// builtin_operators.cpp) and those of shared libraries. Filled before the first subtask runs, then only read, from any
/// thread. Libraries stay loaded.
class OperatorRegistry {
 public:
  OperatorRegistry();
  ~OperatorRegistry();

  /// Loads a library. Errors: Unsupported with the loader's message; VersionMismatch; DuplicateKey.
  Result<void> load(const std::string& path);
  /// `wishes`: the result of `penstock_operator_wishes`.
  Result<void> add(const penstock_operator_table& table, const std::string& origin, std::uint32_t wishes = 0);
  struct Found {
    penstock_operator_function run = nullptr;
    bool on_devices = false;  ///< Its library said PENSTOCK_ON_DEVICES.
  };
  /// Null if there is none of that name.
  Found find(const std::string& name) const;
  std::vector<std::string> names() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Borrows an output: the payload names a datum of another job on this worker (common/protocol/external_input.hpp); the
/// same bytes become the subtask's own output, without a copy.
int alias_operator(penstock_call* call);
/// Passes its only input on: the same bytes become the subtask's own output, without a copy. One output of several can
/// so be kept without the others.
int pass_operator(penstock_call* call);

/// The table of all built-in operators.
const penstock_operator_table& builtin_operators();

}  // namespace penstock::worker
