#include "common/protocol/resources.hpp"

namespace penstock {
namespace {

NamedAmount* find_named(std::vector<NamedAmount>& amounts, const std::string& name) {
  for (NamedAmount& entry : amounts)
    if (entry.name == name) return &entry;
  return nullptr;
}

std::string excess(const char* what, std::int64_t part, std::int64_t whole) {
  return std::string{what} + " " + std::to_string(part) + " > " + std::to_string(whole);
}

}  // namespace

std::int64_t amount_of(const std::vector<NamedAmount>& amounts, const std::string& name) {
  for (const NamedAmount& entry : amounts)
    if (entry.name == name) return entry.amount;
  return 0;
}

bool named_fit(const std::vector<NamedAmount>& part, const std::vector<NamedAmount>& whole) {
  for (const NamedAmount& entry : part)
    if (entry.amount > amount_of(whole, entry.name)) return false;
  return true;
}

void add_named(const std::vector<NamedAmount>& part, std::vector<NamedAmount>& whole, std::int64_t sign) {
  for (const NamedAmount& entry : part)
    if (NamedAmount* target = find_named(whole, entry.name)) target->amount += sign * entry.amount;
}

std::string first_excess(const ResourceVector& part, const ResourceVector& whole) {
  if (part.slots > whole.slots) return excess("milli-slots", part.slots.value(), whole.slots.value());
  if (part.cpu > whole.cpu) return excess("milli-cpu", part.cpu.value(), whole.cpu.value());
  if (part.gpu > whole.gpu) return excess("milli-gpu", part.gpu.value(), whole.gpu.value());
  if (part.memory > whole.memory) return excess("memory bytes", part.memory.value(), whole.memory.value());
  if (part.device_memory > whole.device_memory)
    return excess("device memory bytes", part.device_memory.value(), whole.device_memory.value());
  for (const NamedAmount& entry : part.named)
    if (const std::int64_t there = amount_of(whole.named, entry.name); entry.amount > there)
      return excess(entry.name.c_str(), entry.amount, there);
  return {};
}

}  // namespace penstock
