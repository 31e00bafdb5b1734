// GraphIntake: the checks that make a graph acceptable.
#include <algorithm>
#include <limits>

#include "common/base/lookup_map.hpp"
#include "supervisor/core/graph_order.hpp"
#include "supervisor/core/graph_shape.hpp"

namespace penstock::supervisor {
namespace {

Error malformed(std::string message) {
  return {ErrorCode::InvalidArgument, "graph", std::move(message),
          "columns of a chunk must have one entry per subtask"};
}

Error over_limit(const char* setting, std::uint64_t value, std::uint64_t limit) {
  return {ErrorCode::LimitExceeded, "graph", std::to_string(value) + " exceeds the limit of " + std::to_string(limit),
          std::string{"split the graph, or raise `"} + setting + "` in the supervisor's configuration"};
}

template <class Column>
void extend(Column& column, const Column& more) {
  column.insert(column.end(), more.begin(), more.end());
}

// Offsets of a chunk start at 0 again; those of the whole go on where the last one ended.
void extend_offsets(std::vector<std::uint32_t>& offsets, const std::vector<std::uint32_t>& more) {
  const std::uint32_t base = offsets.back();
  for (std::size_t i = 1; i < more.size(); ++i) offsets.push_back(base + more[i]);
}

bool ascending(const std::vector<std::uint32_t>& offsets, std::uint64_t end) {
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != end) return false;
  return std::is_sorted(offsets.begin(), offsets.end());
}

/// Longer expectations than this are mistakes of unit, and their sums would not fit.
constexpr Duration kYear = std::chrono::hours{366 * 24};

// Each name alone might fit a band where the two together do not.
const std::string* named_twice(const std::vector<NamedAmount>& amounts) {
  for (std::size_t i = 0; i < amounts.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (amounts[i].name == amounts[k].name) return &amounts[i].name;
  return nullptr;
}

bool optional_size(std::size_t column, std::size_t size) { return column == 0 || column == size; }

// Texts without offsets would shift those of all later chunks.
bool optional_texts(const std::vector<std::uint32_t>& offsets, std::size_t count, std::size_t bytes) {
  return offsets.empty() ? bytes == 0 : offsets.size() == count + 1 && ascending(offsets, bytes);
}

}  // namespace

Result<void> check_name(std::string_view name, std::string_view what, std::uint32_t bytes_max) {
  const auto refuse = [&](std::string message) {
    std::string shown;
    for (const char c : name.substr(0, 64)) shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    return Error{ErrorCode::InvalidArgument, std::string{what} + " '" + shown + "'", std::move(message), {}};
  };
  if (name.size() > bytes_max)
    return refuse("is " + std::to_string(name.size()) + " bytes long; at most " + std::to_string(bytes_max) +
                  " are allowed");
  for (const char c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return refuse("contains a control character");
  for (std::size_t at = name.find(".."); at != std::string_view::npos; at = name.find("..", at + 1)) {
    const bool starts = at == 0 || name[at - 1] == '/';
    const bool ends = at + 2 == name.size() || name[at + 2] == '/';
    if (starts && ends) return refuse("contains '..' as a path component");
  }
  return {};
}

GraphIntake::GraphIntake(const GraphLimits& limits) : limits_(limits) {}

Result<void> GraphIntake::add(Graph chunk) {
  PENSTOCK_TRY(check_chunk(chunk));
  // No limit counts chunks: small ones, or those without subtasks, are not to be kept one by one.
  constexpr std::size_t kSmall = 4096;
  if (chunks_.empty() || (chunk.size() > 0 && chunks_.back().size() >= kSmall))
    chunks_.push_back(std::move(chunk));
  else
    append(chunk, chunks_.back());
  return {};
}

Result<void> GraphIntake::check_chunk(const Graph& chunk) {
  const std::size_t count = chunk.size();
  const std::size_t edges = chunk.edge_count();
  if (chunk.input_offsets.size() != count + 1 || !ascending(chunk.input_offsets, edges))
    return malformed("the input offsets do not fit the subtasks and edges");
  if (!optional_size(chunk.edge_outputs.size(), edges) || !optional_size(chunk.priorities.size(), count) ||
      !optional_size(chunk.expected_ns.size(), count))
    return malformed("an optional column is neither empty nor complete");
  if (!optional_texts(chunk.payload_offsets, count, chunk.payloads.size()))
    return malformed("the payload offsets do not fit the payloads");
  if (!optional_texts(chunk.name_offsets, count, chunk.names.size()))
    return malformed("the name offsets do not fit the names");
  const auto has_subtasks = [](const Graph& earlier) { return earlier.size() > 0; };
  const auto first = std::find_if(chunks_.begin(), chunks_.end(), has_subtasks);
  if (first != chunks_.end() && count > 0) {
    const bool same = first->payload_offsets.empty() == chunk.payload_offsets.empty() &&
                      first->name_offsets.empty() == chunk.name_offsets.empty() &&
                      first->priorities.empty() == chunk.priorities.empty() &&
                      first->expected_ns.empty() == chunk.expected_ns.empty();
    if (!same) return malformed("chunks must all have the same optional columns");
  }
  return size_.add(chunk, limits_);
}

Result<void> check_totals(const GraphTotals& totals, const GraphLimits& limits) {
  const std::uint64_t offsets_max = std::numeric_limits<std::uint32_t>::max();
  const auto check = [](const char* setting, std::uint64_t value, std::uint64_t limit) -> Result<void> {
    if (value > limit) return over_limit(setting, value, limit);
    return {};
  };
  PENSTOCK_TRY(check("graph.subtasks_max", totals.subtasks, limits.subtasks_max));
  PENSTOCK_TRY(check("graph.edges_max", totals.edges, limits.edges_max));
  PENSTOCK_TRY(check("graph.templates_max", totals.templates, limits.templates_max));
  PENSTOCK_TRY(check("graph.payload_bytes_max", totals.payload_bytes, std::min(limits.payload_bytes_max, offsets_max)));
  PENSTOCK_TRY(check("graph.subtasks_max", totals.wanted, limits.subtasks_max));
  return check("graph.name_bytes_max", totals.name_bytes, offsets_max);
}

Result<void> GraphSize::add(const Graph& chunk, const GraphLimits& limits) {
  const GraphTotals more = totals_of(chunk);
  sum_.subtasks += more.subtasks;
  sum_.edges += more.edges;
  sum_.templates += more.templates;
  sum_.payload_bytes += more.payload_bytes;
  sum_.name_bytes += more.name_bytes;
  sum_.wanted += more.wanted;
  return check_totals(sum_, limits);
}

void GraphIntake::join_chunks() {
  if (chunks_.size() == 1) {
    graph_ = std::move(chunks_.front());
    return chunks_.clear();
  }
  const auto make_room = [this](auto column) {
    std::size_t entries = 1;  // Offsets have one more than subtasks.
    for (const Graph& chunk : chunks_) entries += (chunk.*column).size();
    (graph_.*column).reserve(entries);
  };
  make_room(&Graph::templates), make_room(&Graph::template_of), make_room(&Graph::input_offsets);
  make_room(&Graph::predecessors), make_room(&Graph::priorities), make_room(&Graph::expected_ns);
  make_room(&Graph::payload_offsets), make_room(&Graph::payloads);
  make_room(&Graph::name_offsets), make_room(&Graph::names), make_room(&Graph::wanted);
  for (Graph& chunk : chunks_) {
    append(chunk, graph_);
    chunk = Graph{};  // So that the graph is in memory once, and not twice.
  }
  chunks_.clear();
}

void GraphIntake::append(const Graph& chunk, Graph& to) {
  const std::size_t edges_before = to.edge_count();
  if (to.size() == 0) {
    // The first subtasks decide which columns exist; a chunk without subtasks decides nothing, whatever it announces.
    to.payload_offsets.assign(chunk.size() > 0 && !chunk.payload_offsets.empty() ? 1 : 0, 0);
    to.name_offsets.assign(chunk.size() > 0 && !chunk.name_offsets.empty() ? 1 : 0, 0);
  }
  extend(to.templates, chunk.templates);
  extend(to.template_of, chunk.template_of);
  extend_offsets(to.input_offsets, chunk.input_offsets);
  extend(to.predecessors, chunk.predecessors);
  // Chunks without special edges leave the column out.
  if (!chunk.edge_outputs.empty() || !to.edge_outputs.empty()) {
    to.edge_outputs.resize(edges_before, 0);
    extend(to.edge_outputs, chunk.edge_outputs);
    to.edge_outputs.resize(to.predecessors.size(), 0);
  }
  extend(to.priorities, chunk.priorities);
  extend(to.expected_ns, chunk.expected_ns);
  if (!to.payload_offsets.empty()) extend_offsets(to.payload_offsets, chunk.payload_offsets);
  to.payloads += chunk.payloads;
  if (!to.name_offsets.empty()) extend_offsets(to.name_offsets, chunk.name_offsets);
  to.names += chunk.names;
  extend(to.wanted, chunk.wanted);
}

Result<std::unique_ptr<GraphShape>> GraphIntake::finish() {
  join_chunks();
  if (graph_.size() == 0) return malformed("it has no subtasks");
  PENSTOCK_TRY(check_templates());
  PENSTOCK_TRY(check_subtasks());
  PENSTOCK_TRY(check_names());
  PENSTOCK_TRY(check_edges());
  Result<std::vector<ExternalInput>> external_inputs = read_external_inputs();
  if (!external_inputs) return external_inputs.error();
  auto shape = std::make_unique<GraphShape>();
  shape->outputs_ = count_outputs();
  shape->graph_ = std::move(graph_);
  graph_ = Graph{};
  shape->hash_ = content_hash(shape->graph_);
  shape->external_inputs_ = std::move(external_inputs).value();
  shape->one_template_ = shape->graph_.templates.size() == 1;
  link_successors(shape->graph_, shape->successor_offsets_, shape->successors_);
  std::vector<std::uint32_t> topological;
  if (!sorted_) PENSTOCK_TRY(check_acyclic(*shape, topological));
  GraphOrder order = order_by_critical_path(shape->graph_, topological);
  shape->rank_of_ = std::move(order.rank_of);
  shape->at_rank_ = std::move(order.at_rank);
  shape->critical_path_ns_ = order.critical_path_ns;
  shape->total_ns_ = order.total_ns;
  return shape;
}

Result<void> GraphIntake::check_templates() const {
  for (const Template& entry : graph_.templates) {
    const auto refuse = [&](std::string message) {
      return Error{ErrorCode::InvalidArgument, "template '" + entry.name + "'", std::move(message), {}};
    };
    PENSTOCK_TRY(check_name(entry.name, "template name", limits_.name_bytes_max));
    if (entry.program.empty()) return refuse("names no program");
    for (const std::string& variable : entry.environment)
      if (variable.find('=') == std::string::npos || variable.front() == '=')
        return refuse("has the environment entry '" + variable + "', which is not NAME=value");
    const ResourceVector& request = entry.request;
    bool negative = request.slots < MilliSlots{0} || request.cpu < MilliCpu{0} || request.gpu < MilliGpu{0} ||
                    request.memory < Bytes{0} || request.device_memory < Bytes{0};
    for (const NamedAmount& named : request.named) negative = negative || named.amount < 0;
    if (negative) return refuse("requests a negative amount");
    if (const std::string* twice = named_twice(request.named)) return refuse("requests '" + *twice + "' twice");
    if (request.slots.is_zero()) return refuse("requests no slot");
    if (entry.time_limit < Duration{0} || entry.kill_grace < Duration{0} || entry.expected_duration < Duration{0})
      return refuse("has a negative duration");
    if (entry.expected_duration > kYear) return refuse("expects to run for longer than a year");
    if (entry.output_limit_bytes < 0) return refuse("has a negative output limit");
    if (entry.memory_max < Bytes{0} || (entry.memory_max > Bytes{0} && entry.memory_max < request.memory))
      return refuse("allows attempts that ran out of memory less than the first one has");
    if (entry.memory_max > Bytes{0} && is_alias(entry)) return refuse("borrows, which takes no memory of its own");
    if (entry.memory_max > Bytes{0} && request.memory.is_zero())
      return refuse("allows more memory to attempts that run out of it, but requests none");
    if (entry.replicas < 1 || entry.replicas > kReplicasMax)
      return refuse("wants " + std::to_string(entry.replicas) + " replicas, not 1 to " + std::to_string(kReplicasMax));
    if (entry.output_count > 1 && (entry.replicas > 1 || entry.checkpoint))
      return refuse("wants replicas or checkpoints of more than one output");
    if (entry.overlap == Overlap::Never && entry.runner == RunnerKind::Native)
      return refuse("may never overlap, but native operators cannot be killed: use a command or a runner");
    if (entry.output_count == EdgeKind::kOrderOnly) return refuse("has too many outputs");
  }
  return {};
}

Result<void> GraphIntake::check_subtasks() const {
  for (std::size_t i = 0; i < graph_.template_of.size(); ++i)
    if (graph_.template_of[i] >= graph_.templates.size())
      return Error{ErrorCode::InvalidArgument, "subtask " + std::to_string(i),
                   "names template " + std::to_string(graph_.template_of[i]) + " of " +
                       std::to_string(graph_.templates.size()), {}};
  if (const std::uint64_t outputs = count_outputs(); outputs > limits_.outputs_max)
    return over_limit("graph.outputs_max", outputs, limits_.outputs_max);
  for (std::size_t i = 1; i < graph_.payload_offsets.size(); ++i) {
    const std::uint32_t bytes = graph_.payload_offsets[i] - graph_.payload_offsets[i - 1];
    if (bytes > limits_.subtask_payload_bytes_max)
      return over_limit("graph.subtask_payload_bytes_max", bytes, limits_.subtask_payload_bytes_max);
  }
  for (const std::uint32_t wanted : graph_.wanted)
    if (wanted >= graph_.size())
      return Error{ErrorCode::UnknownKey, "subtask " + std::to_string(wanted), "is wanted but not in the graph", {}};
  for (const std::uint64_t expected : graph_.expected_ns)
    if (expected > static_cast<std::uint64_t>(kYear.count()))
      return Error{ErrorCode::InvalidArgument, "graph", "an expected duration is longer than a year", {}};
  return {};
}

std::uint64_t GraphIntake::count_outputs() const {
  std::uint64_t outputs = 0;
  for (const std::uint32_t index : graph_.template_of)
    outputs += std::max<std::uint16_t>(graph_.templates[index].output_count, 1);
  return outputs;
}

// A subtask with an external input runs where the datum is, and only passes it on.
Result<std::vector<ExternalInput>> GraphIntake::read_external_inputs() const {
  std::vector<bool> is_external;
  for (const Template& entry : graph_.templates) {
    is_external.push_back(is_alias(entry));
    if (!is_external.back()) continue;
    if (entry.output_count > 1 || !entry.required.empty() || !entry.preferred.empty())
      return Error{ErrorCode::InvalidArgument, "template '" + entry.name + "'",
                   "borrows, and says where it is to run or has more than one output",
                   "a subtask that borrows is run where what it borrows is held"};
  }
  std::vector<ExternalInput> external_inputs;
  if (std::find(is_external.begin(), is_external.end(), true) == is_external.end()) return external_inputs;
  for (std::uint32_t i = 0; i < graph_.size(); ++i) {
    if (!is_external[graph_.template_of[i]]) continue;
    const std::string subject = "subtask " + std::to_string(i);
    if (graph_.input_offsets[i] != graph_.input_offsets[i + 1])
      return Error{ErrorCode::InvalidArgument, subject, "borrows, and has inputs of its own", {}};
    const std::optional<ExternalDatum> datum =
        graph_.payload_offsets.empty()
            ? std::nullopt
            : read_external_datum(std::string_view{graph_.payloads}.substr(
                  graph_.payload_offsets[i], graph_.payload_offsets[i + 1] - graph_.payload_offsets[i]));
    if (!datum)
      return Error{ErrorCode::InvalidArgument, subject, "borrows, and its payload does not say what",
                   "job, subtask and output of what it borrows: three little-endian numbers of 32 bits"};
    external_inputs.push_back({i, *datum});
  }
  return external_inputs;
}

Result<void> GraphIntake::check_names() const {
  if (graph_.name_offsets.empty()) return {};
  // An open-addressed table of positions; names themselves are compared in place.
  std::size_t capacity = 16;
  while (capacity < graph_.size() * 2) capacity *= 2;
  std::vector<std::uint32_t> table(capacity, ~0U);
  const std::string_view names{graph_.names};
  for (std::uint32_t i = 0; i < graph_.size(); ++i) {
    const std::string_view name =
        names.substr(graph_.name_offsets[i], graph_.name_offsets[i + 1] - graph_.name_offsets[i]);
    if (name.empty()) return Error{ErrorCode::InvalidArgument, "subtask " + std::to_string(i), "has an empty key", {}};
    PENSTOCK_TRY(check_name(name, "key", limits_.name_bytes_max));
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    std::size_t at = mix_bits(hash) & (capacity - 1);
    for (; table[at] != ~0U; at = (at + 1) & (capacity - 1)) {
      const std::uint32_t other = table[at];
      if (names.substr(graph_.name_offsets[other], graph_.name_offsets[other + 1] - graph_.name_offsets[other]) == name)
        return Error{ErrorCode::DuplicateKey, std::string{name},
                     "is the key of subtasks " + std::to_string(other) + " and " + std::to_string(i),
                     "keys must be unique"};
    }
    table[at] = i;
  }
  return {};
}

// The common case in one pass without branches: every edge points backwards, and all are of outputs 0. Wrong or unusual
// edges are found by checking each one.
bool GraphIntake::edges_are_plain() const {
  if (!graph_.edge_outputs.empty()) return false;
  const auto count = static_cast<std::uint32_t>(graph_.size());
  std::uint32_t wrong = 0;
  for (std::uint32_t i = 0; i < count; ++i)
    for (std::uint32_t edge = graph_.input_offsets[i]; edge < graph_.input_offsets[i + 1]; ++edge)
      wrong |= static_cast<std::uint32_t>(graph_.predecessors[edge] >= i);
  return wrong == 0;
}

Result<void> GraphIntake::check_edges() {
  sorted_ = true;
  if (edges_are_plain()) return {};
  const auto name_of = [this](std::uint32_t i) {
    if (graph_.name_offsets.empty()) return "subtask " + std::to_string(i);
    return graph_.names.substr(graph_.name_offsets[i], graph_.name_offsets[i + 1] - graph_.name_offsets[i]);
  };
  const auto count = static_cast<std::uint32_t>(graph_.size());
  for (std::uint32_t i = 0; i < count; ++i)
    for (std::uint32_t edge = graph_.input_offsets[i]; edge < graph_.input_offsets[i + 1]; ++edge) {
      const std::uint32_t predecessor = graph_.predecessors[edge];
      if (predecessor >= count)
        return Error{ErrorCode::UnknownKey, name_of(i), "depends on subtask " + std::to_string(predecessor) +
                                                            ", which the graph does not have", {}};
      if (predecessor == i) return Error{ErrorCode::SelfDependency, name_of(i), "depends on itself", {}};
      sorted_ = sorted_ && predecessor < i;
      if (graph_.edge_outputs.empty() || graph_.edge_outputs[edge] == EdgeKind::kOrderOnly) continue;
      const std::uint16_t outputs = graph_.templates[graph_.template_of[predecessor]].output_count;
      if (graph_.edge_outputs[edge] >= std::max<std::uint16_t>(outputs, 1))
        return Error{ErrorCode::UnknownKey, name_of(i), "reads output " + std::to_string(graph_.edge_outputs[edge]) +
                                                            " of " + name_of(predecessor) + ", which makes only " +
                                                            std::to_string(outputs), {}};
    }
  return {};
}

// Kahn's algorithm. Subtasks that it cannot order lie on or behind a cycle.
Result<void> GraphIntake::check_acyclic(const GraphShape& shape, std::vector<std::uint32_t>& topological) const {
  std::vector<std::uint32_t> missing(shape.size());
  topological.clear();
  topological.reserve(shape.size());
  for (std::uint32_t i = 0; i < shape.size(); ++i) {
    missing[i] = static_cast<std::uint32_t>(shape.predecessors(i).size());
    if (missing[i] == 0) topological.push_back(i);
  }
  for (std::size_t next = 0; next < topological.size(); ++next)
    for (const std::uint32_t successor : shape.successors(topological[next]))
      if (--missing[successor] == 0) topological.push_back(successor);
  if (topological.size() == shape.size()) return {};
  return describe_cycle(shape, missing);
}

// Every unfinished subtask has an unfinished predecessor, so walking backwards must meet itself.
Error GraphIntake::describe_cycle(const GraphShape& shape, const std::vector<std::uint32_t>& unfinished) const {
  std::uint32_t at = 0;
  while (unfinished[at] == 0) ++at;
  std::vector<std::uint32_t> position(shape.size(), ~0U);
  std::vector<std::uint32_t> walk;
  while (position[at] == ~0U) {
    position[at] = static_cast<std::uint32_t>(walk.size());
    walk.push_back(at);
    for (const std::uint32_t predecessor : shape.predecessors(at))
      if (unfinished[predecessor] > 0) {
        at = predecessor;
        break;
      }
  }
  constexpr std::size_t kShown = 10;
  std::vector<std::uint32_t> cycle(walk.begin() + position[at], walk.end());
  std::reverse(cycle.begin(), cycle.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(cycle.size(), kShown); ++i) text += shape.name(cycle[i]) + " -> ";
  if (cycle.size() > kShown) text += "... " + std::to_string(cycle.size() - kShown) + " more ... -> ";
  text += shape.name(cycle.front());
  return Error{ErrorCode::GraphCycle, shape.name(cycle.front()),
               "lies on a cycle of " + std::to_string(cycle.size()) + " subtasks: " + text,
               "remove one of these dependencies"};
}

}  // namespace penstock::supervisor
