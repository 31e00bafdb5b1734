#include "client/abi/graph.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string_view>

#include "client/abi/arguments.hpp"
#include "client/abi/last_error.hpp"

namespace penstock::abi {
namespace {

constexpr std::uint64_t kOffsetMax = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kNumberDigits = 10;  ///< Digits of a subtask's number, at most.

std::string text(const char* value) { return value == nullptr ? std::string{} : std::string{value}; }

/// The size of the template in the first version of the interface.
constexpr std::size_t kTemplateBytesMin = offsetof(penstock_template, milli_gpu);

Error malformed(std::string message) {
  return {ErrorCode::InvalidArgument, "penstock_subtasks", std::move(message), {}};
}

template <class Offset>
bool ascending(const Offset* offsets, std::uint32_t count) {
  return offsets[0] == 0 && std::is_sorted(offsets, offsets + count + 1);
}

Result<void> check(const Graph& graph, const penstock_subtasks& more) {
  if (more.templates == nullptr) return malformed("`templates` is NULL");
  if (graph.size() + more.count >= kOffsetMax)
    return Error{ErrorCode::LimitExceeded, "graph", "has 2^32 subtasks or more", "submit several graphs"};
  if (more.input_offsets != nullptr && !ascending(more.input_offsets, more.count))
    return malformed("`input_offsets` do not begin with 0 and ascend");
  const bool inputs = more.input_offsets != nullptr && more.input_offsets[more.count] > 0;
  if (inputs && more.predecessors == nullptr) return malformed("`predecessors` is NULL");
  if (more.payload_offsets != nullptr && !ascending(more.payload_offsets, more.count))
    return malformed("`payload_offsets` do not begin with 0 and ascend");
  const std::uint64_t payload_bytes = more.payload_offsets == nullptr ? 0 : more.payload_offsets[more.count];
  if (payload_bytes > 0 && more.payloads == nullptr) return malformed("`payloads` is NULL");
  if (payload_bytes > kOffsetMax - graph.payloads.size())
    return Error{ErrorCode::LimitExceeded, "graph", "its payloads are longer than 4 GiB",
                 "give large data as outputs of subtasks"};
  if (more.name_offsets != nullptr && !ascending(more.name_offsets, more.count))
    return malformed("`name_offsets` do not begin with 0 and ascend");
  if (more.name_offsets != nullptr && more.name_bytes < more.name_offsets[more.count])
    return malformed("`name_offsets` go beyond `name_bytes`");
  const std::uint64_t name_bytes = more.name_offsets == nullptr ? 0 : more.name_offsets[more.count];
  if (name_bytes > 0 && more.names == nullptr) return malformed("`names` is NULL");
  const std::uint64_t numbers = std::uint64_t{kNumberDigits} * (graph.size() + more.count);  // See append_names.
  if (name_bytes + numbers > kOffsetMax - graph.names.size() && (name_bytes > 0 || !graph.names.empty()))
    return Error{ErrorCode::LimitExceeded, "graph", "its names are longer than 4 GiB", "submit several graphs"};
  if (graph.edge_count() + (inputs ? more.input_offsets[more.count] : 0) > kOffsetMax)
    return Error{ErrorCode::LimitExceeded, "graph", "has more than 2^32 edges", "submit several graphs"};
  return {};
}

void append_inputs(Graph& graph, const penstock_subtasks& more) {
  const auto base = static_cast<std::uint32_t>(graph.edge_count());
  for (std::uint32_t i = 1; i <= more.count; ++i)
    graph.input_offsets.push_back(base + (more.input_offsets == nullptr ? 0 : more.input_offsets[i]));
  const std::uint32_t edges = more.input_offsets == nullptr ? 0 : more.input_offsets[more.count];
  if (edges == 0) return;
  graph.predecessors.insert(graph.predecessors.end(), more.predecessors, more.predecessors + edges);
  if (more.outputs == nullptr && graph.edge_outputs.empty()) return;
  graph.edge_outputs.resize(base, 0);
  if (more.outputs != nullptr) graph.edge_outputs.insert(graph.edge_outputs.end(), more.outputs, more.outputs + edges);
  graph.edge_outputs.resize(graph.predecessors.size(), 0);
}

/// Appends payloads; subtasks without the column have an empty payload.
void append_payloads(Graph& graph, std::size_t before, const penstock_subtasks& more) {
  if (more.payload_offsets == nullptr && graph.payload_offsets.empty()) return;
  if (graph.payload_offsets.empty()) graph.payload_offsets.assign(before + 1, 0);
  const auto base = static_cast<std::uint32_t>(graph.payloads.size());
  for (std::uint32_t i = 1; i <= more.count; ++i)
    graph.payload_offsets.push_back(
        base + (more.payload_offsets == nullptr ? 0 : static_cast<std::uint32_t>(more.payload_offsets[i])));
  if (more.payload_offsets != nullptr && more.payloads != nullptr)
    graph.payloads.append(static_cast<const char*>(more.payloads), more.payload_offsets[more.count]);
}

/// A graph has names for all subtasks or none: a subtask without a name is then called by its number.
void append_names(Graph& graph, std::size_t before, const penstock_subtasks& more) {
  if (more.name_offsets == nullptr && graph.name_offsets.empty()) return;
  const auto append = [&](std::string_view name) {
    if (name.empty())
      graph.names += std::to_string(graph.name_offsets.size() - 1);
    else
      graph.names += name;
    graph.name_offsets.push_back(static_cast<std::uint32_t>(graph.names.size()));
  };
  if (graph.name_offsets.empty()) {
    graph.name_offsets.push_back(0);
    for (std::size_t i = 0; i < before; ++i) append({});
  }
  for (std::uint32_t i = 0; i < more.count; ++i) {
    const bool named = more.name_offsets != nullptr && more.name_offsets[i + 1] > more.name_offsets[i];
    append(named ? std::string_view{more.names + more.name_offsets[i], more.name_offsets[i + 1] - more.name_offsets[i]}
                 : std::string_view{});
  }
}

void append(Graph& graph, const penstock_subtasks& more) {
  const std::size_t before = graph.size();
  graph.template_of.insert(graph.template_of.end(), more.templates, more.templates + more.count);
  append_inputs(graph, more);
  append_payloads(graph, before, more);
  append_names(graph, before, more);
  if (more.priorities == nullptr && graph.priorities.empty()) return;
  graph.priorities.resize(before, 0);
  if (more.priorities != nullptr)
    graph.priorities.insert(graph.priorities.end(), more.priorities, more.priorities + more.count);
  graph.priorities.resize(graph.size(), 0);
}

}  // namespace

Result<Template> read_template(const penstock_template& given) {
  const Result<penstock_template> read = whole(&given, kTemplateBytesMin, "penstock_template");
  if (!read) return read.error();
  const penstock_template& in = *read;
  if (in.runner > PENSTOCK_PROCESS)
    return Error{ErrorCode::InvalidArgument,
                 "penstock_template.runner",
                 std::to_string(in.runner) + " is no kind of runner",
                 {}};
  if (in.program == nullptr || *in.program == '\0')
    return Error{ErrorCode::InvalidArgument, "penstock_template.program", "is empty", {}};
  if (in.attempts_max > UINT16_MAX || in.output_count >= EdgeKind::kOrderOnly)
    return Error{
        ErrorCode::InvalidArgument, "penstock_template", "`attempts_max` or `output_count` is above 65534", {}};
  if (in.memory_bytes < 0 || in.memory_bytes_max < 0 || in.gpu_memory_bytes < 0 || in.time_limit_ns < 0 ||
      in.expected_ns < 0)
    return Error{ErrorCode::InvalidArgument, "penstock_template", "an amount or a time is negative", {}};
  Template out;
  out.name = text(in.name);
  out.program = text(in.program);
  Result<std::vector<std::string>> arguments = texts_of(in.arguments, in.argument_count, "arguments");
  if (!arguments) return std::move(arguments).error();
  out.arguments = std::move(arguments).value();
  Result<std::vector<std::string>> environment = texts_of(in.environment, in.environment_count, "environment");
  if (!environment) return std::move(environment).error();
  out.environment = std::move(environment).value();
  out.working_directory = text(in.working_directory);
  if (in.payload.size > 0 && in.payload.data == nullptr) return is_null("payload");
  if (in.resource_count > 0 && in.resources == nullptr) return is_null("resources");
  if (in.payload.size > 0) out.payload.assign(static_cast<const char*>(in.payload.data), in.payload.size);
  out.runner = static_cast<RunnerKind>(in.runner);
  if (in.milli_gpu > 0) out.request.slots = MilliSlots{in.milli_gpu};
  if (in.milli_slots > 0) out.request.slots = MilliSlots{in.milli_slots};
  out.request.gpu = MilliGpu{in.milli_gpu};
  out.request.device_memory = Bytes{in.gpu_memory_bytes};
  out.request.memory = Bytes{in.memory_bytes};
  out.memory_max = Bytes{in.memory_bytes_max};
  for (std::uint32_t i = 0; i < in.resource_count; ++i)
    out.request.named.push_back({text(in.resources[i].name), in.resources[i].amount});
  std::sort(out.request.named.begin(), out.request.named.end(),
            [](const NamedAmount& a, const NamedAmount& b) { return a.name < b.name; });
  out.priority = in.priority;
  out.attempts_max = static_cast<std::uint16_t>(in.attempts_max);
  if (in.output_count > 0) out.output_count = static_cast<std::uint16_t>(in.output_count);
  if (in.continue_on_failure != 0) out.on_failure = OnFailure::Continue;
  out.retryable = in.not_retryable == 0;
  out.overlap = in.never_overlaps != 0 ? Overlap::Never : Overlap::Allow;
  out.time_limit = Duration{in.time_limit_ns};
  out.expected_duration = Duration{in.expected_ns};
  out.required.worker = text(in.required_worker);
  out.preferred.worker = text(in.preferred_worker);
  return out;
}

}  // namespace penstock::abi

using penstock::Error;
using penstock::ErrorCode;
using penstock::Result;
using penstock::abi::fail;
using penstock::abi::is_null;
using penstock::abi::refuse;

penstock_graph* penstock_graph_new(void) try { return new penstock_graph; }
PENSTOCK_NOTHING_THROWN(refuse)

void penstock_graph_free(penstock_graph* graph) { delete graph; }

int64_t penstock_graph_add_template(penstock_graph* graph, const penstock_template* content) try {
  if (graph == nullptr || content == nullptr) return fail(is_null(graph == nullptr ? "graph" : "penstock_template"));
  Result<penstock::Template> read = penstock::abi::read_template(*content);
  if (!read) return fail(std::move(read).error());
  graph->graph.templates.push_back(std::move(read).value());
  return static_cast<int64_t>(graph->graph.templates.size() - 1);
}
PENSTOCK_NOTHING_THROWN(fail)

int64_t penstock_graph_add_subtasks(penstock_graph* graph, const penstock_subtasks* subtasks) try {
  if (graph == nullptr) return fail(is_null("graph"));
  const Result<penstock_subtasks> more = penstock::abi::whole(subtasks, sizeof *subtasks, "penstock_subtasks");
  if (!more) return fail(more.error());
  if (const Result<void> checked = penstock::abi::check(graph->graph, *more); !checked) return fail(checked.error());
  const auto first = static_cast<int64_t>(graph->graph.size());
  penstock::abi::append(graph->graph, *more);
  return first;
}
PENSTOCK_NOTHING_THROWN(fail)

int32_t penstock_graph_want(penstock_graph* graph, const uint32_t* subtasks, uint64_t count) try {
  if (graph == nullptr || (subtasks == nullptr && count > 0))
    return fail(is_null(graph == nullptr ? "graph" : "subtasks"));
  graph->wants = true;
  graph->graph.wanted.insert(graph->graph.wanted.end(), subtasks, subtasks + count);
  return 0;
}
PENSTOCK_NOTHING_THROWN(fail)
