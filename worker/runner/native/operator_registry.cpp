#include "worker/runner/native/operator_registry.hpp"

#include <dlfcn.h>

#include <map>

namespace penstock::worker {

struct OperatorRegistry::State {
  struct Entry {
    Found found;
    std::string origin;
  };
  std::map<std::string, Entry> operators;
};

OperatorRegistry::OperatorRegistry() : state_(std::make_unique<State>()) {
  const Result<void> added = add(builtin_operators(), "penstock");
  PENSTOCK_CHECK(added.has_value());
}

OperatorRegistry::~OperatorRegistry() = default;

Result<void> OperatorRegistry::load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return Error{ErrorCode::Unsupported, path,
                 std::string{"cannot be loaded: "} + (why == nullptr ? "unknown reason" : why),
                 "check the path, and `ldd` for missing libraries"};
  }
  const auto entry = reinterpret_cast<const penstock_operator_table* (*)()>(dlsym(library, "penstock_operators"));
  const penstock_operator_table* table = entry == nullptr ? nullptr : entry();
  if (table == nullptr) {
    dlclose(library);
    return Error{ErrorCode::Unsupported, path, "exports no function `penstock_operators`", "see penstock/operator.h"};
  }
  const auto wishes = reinterpret_cast<std::uint32_t (*)()>(dlsym(library, "penstock_operator_wishes"));
  return add(*table, path, wishes == nullptr ? 0 : wishes());
}

Result<void> OperatorRegistry::add(const penstock_operator_table& table, const std::string& origin,
                                   std::uint32_t wishes) {
  // Members are only added at the end, so libraries for an earlier ABI still work.
  if (table.abi < 1 || table.abi > PENSTOCK_OPERATOR_ABI)
    return Error{ErrorCode::VersionMismatch, origin,
                 "is built for operator ABI " + std::to_string(table.abi) + ", this worker has " +
                     std::to_string(PENSTOCK_OPERATOR_ABI),
                 "build it again with this version's penstock/operator.h"};
  for (std::uint32_t i = 0; i < table.count; ++i) {
    const penstock_operator& entry = table.operators[i];
    if (entry.name == nullptr || entry.name[0] == 0 || entry.run == nullptr)
      return Error{ErrorCode::InvalidArgument, origin, "has an operator without a name or function", {}};
    if (const auto known = state_->operators.find(entry.name); known != state_->operators.end())
      return Error{ErrorCode::DuplicateKey, entry.name, "is offered by " + known->second.origin + " and by " + origin,
                   "rename one of them"};
  }
  const bool on_devices = (wishes & PENSTOCK_ON_DEVICES) != 0;
  for (std::uint32_t i = 0; i < table.count; ++i)
    state_->operators[table.operators[i].name] = {{table.operators[i].run, on_devices}, origin};
  return {};
}

OperatorRegistry::Found OperatorRegistry::find(const std::string& name) const {
  const auto found = state_->operators.find(name);
  return found == state_->operators.end() ? Found{} : found->second.found;
}

std::vector<std::string> OperatorRegistry::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : state_->operators) names.push_back(name);
  return names;
}

}  // namespace penstock::worker
