// Programs: what runs read, compared with what was made, and how large their outputs are.
#include "common/protocol/external_input.hpp"
#include "tests/simulation/world/worker_host.hpp"

namespace penstock::simulation {

using namespace worker;
using namespace worker::worker_action;

/// A number that stands for what the run reads, and decides what it makes. A worker of another branch computes it, too:
/// its output may replace a checkpoint from before the branches parted, and the new branch restores that checkpoint.
std::uint64_t Programs::read_inputs(const StartSubtask& action) const {
  check_inputs(action);
  std::uint64_t read = 0;
  for (const RunInput& input : action.inputs) {
    const Content* found = host_.data().find({{action.id.job, input.producer}, input.output});
    read = mix_bits(read ^ (input.empty || found == nullptr ? 0 : found->id));
  }
  for (std::uint64_t empty = 0; empty < action.omitted_inputs; ++empty) read = mix_bits(read);
  return read;
}

/// Compares what is read with what was made: all data inputs of the subtask, in the order of the graph, are those that
/// are listed, and the number of others, which are empty.
void Programs::check_inputs(const StartSubtask& action) const {
  const Graph* graph = world_.oracle().graph_of(action.id.job);
  // The oracle complains of the run itself, or the number may be another job's by now.
  if (graph == nullptr || host_.is_of_another_branch()) return;
  std::size_t position = 0;
  const std::uint32_t subtask = action.id.index.value();
  for (std::uint32_t edge = graph->input_offsets[subtask]; edge < graph->input_offsets[subtask + 1]; ++edge) {
    const std::uint16_t output = graph->edge_outputs.empty() ? std::uint16_t{0} : graph->edge_outputs[edge];
    if (output == EdgeKind::kOrderOnly) continue;
    const DataKey key{{action.id.job, SubtaskIndex{graph->predecessors[edge]}}, output};
    const std::size_t input = position++;
    const Content* content = input < action.inputs.size() ? read_input(action, key, action.inputs[input]) : nullptr;
    world_.oracle().input_read(action.id, action.attempt, key, content);
  }
  if (position != action.inputs.size() + action.omitted_inputs)
    world_.oracle().breach(to_string(action.id) + " is given " +
                           std::to_string(action.inputs.size() + action.omitted_inputs) + " inputs of " +
                           std::to_string(position));
}

/// The content that a run finds under its input; null: the input is said to be empty.
const Content* Programs::read_input(const StartSubtask& action, const DataKey& key, const RunInput& input) const {
  static constexpr Content kNothing;
  if (input.producer != key.producer.index || input.output != key.output)
    world_.oracle().breach(to_string(action.id) + " is given its inputs in another order than that of its graph");
  if (input.empty) return nullptr;
  if (!host_.data().is_pinned(key))
    world_.oracle().breach(to_string(action.id) + " runs while its input " + to_string(key) + " is not pinned");
  if (host_.data().is_on_disk(key))
    world_.oracle().breach(to_string(action.id) + " runs while its input " + to_string(key) + " is on disk");
  const Content* found = host_.data().find(key);
  return found == nullptr ? &kNothing : found;
}

// The same for every attempt: made again, it is as large as before. None in a third of the cases.
std::int64_t Programs::output_bytes(const DataKey& key) const {
  if (const Workflow* workflow = world_.options().workflow.get();
      workflow != nullptr && !workflow->output_bytes.empty())
    return key.output == 0 ? workflow->output_bytes[key.producer.index.value()] : 0;
  const std::uint64_t draw = mix_bits(hash_of(key) + 17);
  return draw % 3 == 0 ? 0 : static_cast<std::int64_t>(1 + draw % 100'000);
}

/// The external input of the subtask, which its producer job has made; none: it is not here.
std::optional<Content> Programs::read_external(SubtaskId subtask) const {
  if (host_.is_of_another_branch()) return std::nullopt;
  const Graph& graph = *world_.oracle().graph_of(subtask.job);
  const std::uint32_t first = graph.payload_offsets[subtask.index.value()];
  const std::optional<ExternalDatum> datum = read_external_datum(
      std::string_view{graph.payloads}.substr(first, graph.payload_offsets[subtask.index.value() + 1] - first));
  const DataKey key{datum->producer, datum->output};
  const Content* found = host_.data().find(key);
  world_.note(found == nullptr ? "life % cannot lend %:%" : "life % lends %:%",
              {host_.life(), key.producer.job.value(), key.producer.index.value()});
  if (found == nullptr) return std::nullopt;
  world_.oracle().input_read(subtask, Attempt::none(), key, found);
  return *found;
}

}  // namespace penstock::simulation
