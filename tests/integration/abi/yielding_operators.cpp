// Native operators that wait for each other by files: some lend their slot meanwhile.
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "client/include/penstock/operator.h"

namespace {

std::string path_of(const penstock_call* call) {
  return {static_cast<const char*>(call->payload.data), call->payload.bytes};
}

void make(const std::string& path) { std::ofstream{path} << "made" << std::endl; }

void wait_for(penstock_call* call, const std::string& path) {
  while (call->cancelled(call) == 0 && !std::ifstream{path}) std::this_thread::yield();
}

int say(penstock_call* call, const std::string& said) {
  void* out = call->output(call, 0, said.size());
  if (out == nullptr) return call->fail(call, "there is no memory");
  std::memcpy(out, said.data(), said.size());
  return 0;
}

/// `PATH.begun` is there once its slot is lent; waits for PATH.
int yield_until(penstock_call* call) {
  const std::string path = path_of(call);
  penstock::SlotYield yielded(call);
  if (yielded.error() != 0) return 1;  // Why is recorded.
  make(path + ".begun");
  wait_for(call, path);
  return yielded.take_back() != 0 ? 1 : say(call, "told");
}

/// Makes PATH, for which somebody waits.
int tell(penstock_call* call) {
  const std::string path = path_of(call);
  if (!std::ifstream{path + ".begun"}) return call->fail(call, "nobody waits for it");
  make(path);
  return say(call, "told it");
}

/// Has its slot until PATH.go is there; PATH is once it has it.
int hold(penstock_call* call) {
  const std::string path = path_of(call);
  make(path);
  wait_for(call, path + ".go");
  return say(call, "held");
}

/// Lends its slot until PATH is there, and then waits for it; PATH.wants says so.
int want(penstock_call* call) {
  const std::string path = path_of(call);
  if (penstock_yield_slot(call) != 0) return 1;
  make(path + ".begun");
  wait_for(call, path);
  make(path + ".wants");
  return penstock_take_slot_back(call) != 0 ? 1 : say(call, "has it");
}

/// Returns with its slot lent.
int leave_lent(penstock_call* call) { return penstock_yield_slot(call) != 0 ? 1 : say(call, "left"); }

/// Says what is answered to what has no place.
int misuse(penstock_call* call) {
  std::string said = std::to_string(penstock_take_slot_back(call));
  int elsewhere = 0;
  std::thread{[&] { elsewhere = penstock_yield_slot(call); }}.join();
  said += " " + std::to_string(elsewhere) + " " + std::to_string(penstock_yield_slot(nullptr));
  {
    penstock::SlotYield once(call);
    penstock::SlotYield twice(call);
    said += " " + std::to_string(once.error()) + " " + std::to_string(twice.error());
  }
  said += " " + std::to_string(penstock_take_slot_back(call));
  return say(call, said);
}

constexpr penstock_operator kOperators[] = {
    {"yield_until", yield_until}, {"tell", tell}, {"hold", hold}, {"want", want}, {"misuse", misuse},
    {"leave_lent", leave_lent}};
constexpr penstock_operator_table kTable{PENSTOCK_OPERATOR_ABI, 6, kOperators};

}  // namespace

extern "C" const penstock_operator_table* penstock_operators() { return &kTable; }
