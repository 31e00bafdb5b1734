#include "supervisor/core/graph_shape.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace penstock::supervisor {

std::int32_t GraphShape::user_priority(std::uint32_t subtask) const {
  const std::int64_t own = graph_.priorities.empty() ? 0 : graph_.priorities[subtask];
  const std::int64_t sum = own + template_of(subtask).priority;
  return static_cast<std::int32_t>(std::min<std::int64_t>(std::max<std::int64_t>(sum, INT32_MIN), INT32_MAX));
}

std::string_view GraphShape::payload(std::uint32_t subtask) const {
  if (graph_.payload_offsets.empty()) return {};
  const std::uint32_t first = graph_.payload_offsets[subtask];
  return std::string_view{graph_.payloads}.substr(first, graph_.payload_offsets[subtask + 1] - first);
}

void GraphShape::forget_payloads() {
  std::string{}.swap(graph_.payloads);  // An assignment would keep the memory.
  graph_.payload_offsets = {};
}

std::string GraphShape::name(std::uint32_t subtask) const {
  if (graph_.name_offsets.empty()) return std::to_string(subtask);
  return std::string{key(subtask)};
}

std::string_view GraphShape::key(std::uint32_t subtask) const {
  const std::uint32_t first = graph_.name_offsets[subtask];
  return std::string_view{graph_.names}.substr(first, graph_.name_offsets[subtask + 1] - first);
}

SubtaskIndex GraphShape::numbered(std::string_view text) const {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && number < size() ? SubtaskIndex{number} : SubtaskIndex::none();
}

// Fault F31: thousands of orders a second name subtasks of a graph of a million.
SubtaskIndex GraphShape::find(std::string_view wanted) const {
  if (graph_.name_offsets.empty()) {
    const SubtaskIndex subtask = numbered(wanted);
    return subtask.valid() && std::to_string(subtask.value()) == wanted ? subtask : SubtaskIndex::none();
  }
  if (by_name_.empty()) {
    by_name_.resize(size());
    std::iota(by_name_.begin(), by_name_.end(), 0U);
    std::sort(by_name_.begin(), by_name_.end(), [this](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  }
  const auto found =
      std::lower_bound(by_name_.begin(), by_name_.end(), wanted,
                       [this](std::uint32_t subtask, std::string_view text) { return key(subtask) < text; });
  return found != by_name_.end() && key(*found) == wanted ? SubtaskIndex{*found} : SubtaskIndex::none();
}

SubtaskIndex GraphShape::find_key_or_number(std::string_view text) const {
  const SubtaskIndex named = find(text);
  return named.valid() ? named : numbered(text);
}

std::vector<bool> GraphShape::read_subtasks() const {
  std::vector<bool> read(graph_.edge_outputs.empty() ? 0 : size());
  for (std::size_t edge = 0; edge < graph_.edge_outputs.size(); ++edge)
    if (graph_.edge_outputs[edge] != EdgeKind::kOrderOnly) read[graph_.predecessors[edge]] = true;
  return read;
}

Duration GraphShape::expected_duration(std::uint32_t subtask) const {
  if (!graph_.expected_ns.empty() && graph_.expected_ns[subtask] > 0)
    return Duration{static_cast<std::int64_t>(graph_.expected_ns[subtask])};
  return template_of(subtask).expected_duration;
}

const ExternalInput* GraphShape::find_loan(std::uint32_t subtask) const {
  const auto found =
      std::lower_bound(external_inputs_.begin(), external_inputs_.end(), subtask,
                       [](const ExternalInput& input, std::uint32_t number) { return input.subtask < number; });
  return found == external_inputs_.end() || found->subtask != subtask ? nullptr : &*found;
}

std::uint64_t GraphShape::memory_bytes() const {
  const auto bytes = [](const auto& column) { return column.capacity() * sizeof(column[0]); };
  return bytes(graph_.template_of) + bytes(graph_.input_offsets) + bytes(graph_.predecessors) +
         bytes(graph_.edge_outputs) + bytes(graph_.priorities) + bytes(graph_.expected_ns) +
         bytes(successor_offsets_) + bytes(successors_) + bytes(rank_of_) + bytes(at_rank_);
}

}  // namespace penstock::supervisor
