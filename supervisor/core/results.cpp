#include "supervisor/core/results.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "supervisor/core/request_words.hpp"

namespace penstock::supervisor {
namespace {

/// Nothing of it can be had any more.
bool was_released(const Job& job) {
  return job.status.state != JobState::Running && job.outputs.keep_until != kNever && job.outputs.locations.empty();
}

bool has_succeeded(const Job& job, std::uint32_t subtask) {
  if (!job.hot.empty()) return job.hot[subtask].phase == SubtaskPhase::Succeeded;
  const std::vector<SubtaskRange>& succeeded = job.outbox.last().succeeded;
  return std::any_of(succeeded.begin(), succeeded.end(), [&](const SubtaskRange& range) {
    return range.first.value() <= subtask && subtask <= range.last.value();
  });
}

Result<void> check_is_there(const Job& job, std::uint32_t subtask, std::uint16_t output) {
  const std::string subject = "subtask '" + key_of(job, subtask) + "' of " + to_string(job.id);
  if (was_released(job) || job.outputs.is_released(SubtaskIndex{subtask}))
    return Error{ErrorCode::NotFound, subject, "has no results any more: they were released",
                 "submit the job again, or have them kept for longer (`supervisor.results_keep`)"};
  if (!has_succeeded(job, subtask)) {
    const bool runs = job.status.state == JobState::Running;
    return Error{ErrorCode::WrongState, subject, runs ? "has not succeeded yet" : "has not succeeded",
                 runs ? "`penstock wait` waits for its job" : "`penstock job` says why"};
  }
  if (!is_kept(job, subtask, 0))
    return Error{ErrorCode::NotFound, subject, "has no results for clients: its outputs are only for other subtasks",
                 "say `wanted` of it in the job file"};
  if (!is_kept(job, subtask, output))
    return Error{ErrorCode::NotFound, subject, "has no output " + std::to_string(output),
                 "its outputs are numbered from 0 on"};
  return {};
}

Value row_of(const Job& job, const OutputLocation& output) {
  return Value::Record{{"subtask", output.producer.value()},
                       {"key", key_of(job, output.producer.value())},
                       {"output", std::uint32_t{output.output}},
                       {"bytes", output.bytes},
                       {"address", output.data_address}};
}

}  // namespace

bool is_kept(const Job& job, std::uint32_t subtask, std::uint32_t output) {
  if (was_released(job) || job.outputs.is_released(SubtaskIndex{subtask})) return false;
  if (job.hot.empty()) return job.spec.keep != Keep::Nothing;
  const bool is_wanted = (job.hot[subtask].flags & SubtaskFlag::kWanted) != 0;
  return is_wanted && output < std::max<std::uint16_t>(job.graph.shape->template_of(subtask).output_count, 1);
}

std::string key_of(const Job& job, std::uint32_t subtask) {
  if (job.graph.shape != nullptr) return job.graph.shape->name(subtask);
  const std::string* key = job.outputs.keys->key_of(subtask);
  return key != nullptr ? *key : std::to_string(subtask);
}

Result<std::uint32_t> find_subtask(const Job& job, const std::string& key) {
  std::uint32_t number = 0;
  if (job.graph.shape != nullptr) {
    const SubtaskIndex found = job.graph.shape->find_key_or_number(key);
    if (found.valid()) return std::uint32_t{found.value()};
  } else if (const std::optional<std::uint32_t> kept = job.outputs.keys->find(key); kept.has_value()) {
    return *kept;
  } else if (parse(key, number) && number < job.tally.counts.total) {
    return number;
  }
  return Error{ErrorCode::NotFound, "subtask '" + key + "' of " + to_string(job.id),
               job.graph.shape != nullptr ? "is not in the graph" : "is not known by its key any more",
               job.graph.shape != nullptr ? "give its key or its number" : "give its number"};
}

std::vector<KeptKey> kept_keys_of(const Job& job) {
  if (job.outputs.locations.empty()) return {};
  if (job.graph.shape == nullptr) return job.outputs.keys->all();
  std::vector<KeptKey> keys;
  if (job.graph.shape->graph().names.empty()) return keys;
  for (std::uint32_t subtask = 0; subtask < job.total(); ++subtask)
    if (is_kept(job, subtask, 0) && has_succeeded(job, subtask))
      keys.push_back({SubtaskIndex{subtask}, job.graph.shape->name(subtask)});
  return keys;
}

Result<Value> find_missing(const Job& job, const std::vector<std::string>& arguments) {
  std::uint32_t output = 0;
  std::uint64_t next = 0;
  if (arguments.size() < 2 || !parse(arguments[1], output)) return bad_argument("output", "is not a number");
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    const std::size_t dash = std::min(arguments[i].find('-'), arguments[i].size());
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    const bool good = dash < arguments[i].size() && parse(arguments[i].substr(0, dash), first) &&
                      parse(arguments[i].substr(dash + 1), last) && next <= first && first <= last &&
                      last < job.tally.counts.total;
    if (!good)
      return bad_argument("subtasks '" + arguments[i] + "'", "are none of this job, or not in ascending order");
    next = std::uint64_t{last} + 1;
    for (std::uint32_t subtask = first; subtask <= last; ++subtask)
      if (!is_kept(job, subtask, output)) return Value{Value::Record{{"missing", subtask}}};
  }
  return Value{Value::Record{}};
}

Result<Value> list_results(const Job& job, const AdminRequest& request) {
  std::uint32_t limit = kResultRowsMax;
  if (const std::string text = option(request, "limit"); !text.empty() && !parse(text, limit))
    return bad_argument("--limit", "'" + text + "' is no number of outputs");
  std::uint16_t output = 0;
  if (const std::string text = option(request, "output"); !text.empty() && !parse(text, output))
    return bad_argument("--output", "'" + text + "' is no number of an output");
  const std::string key = operand(request, 1);
  std::uint32_t only = 0;
  if (!key.empty()) {
    const Result<std::uint32_t> subtask = find_subtask(job, key);
    if (!subtask) return subtask.error();
    only = *subtask;
    PENSTOCK_TRY(check_is_there(job, only, output));
  }
  std::vector<const OutputLocation*> kept;
  for (const OutputLocation& each : job.outputs.locations)
    if (key.empty() || (each.producer.value() == only && each.output == output)) kept.push_back(&each);
  // No more are sorted than are told: there may be millions, in the order in which they were made.
  const std::size_t shown = std::min<std::size_t>({limit, kResultRowsMax, kept.size()});
  const auto behind = kept.begin() + static_cast<std::ptrdiff_t>(shown);
  std::partial_sort(kept.begin(), behind, kept.end(), [](const OutputLocation* a, const OutputLocation* b) {
    return std::pair{a->producer, a->output} < std::pair{b->producer, b->output};
  });
  Value::List rows;
  for (auto each = kept.begin(); each != behind; ++each) rows.push_back(row_of(job, **each));
  Value::Record fields{
      {"job", to_string(job.id)}, {"name", job.spec.name}, {"state", std::string{to_string(job.status.state)}}};
  fields.emplace_back("more", static_cast<std::uint64_t>(kept.size() - shown));
  fields.emplace_back("identity", to_string(job.identity));
  fields.emplace_back("results", std::move(rows));
  return Value{std::move(fields)};
}

}  // namespace penstock::supervisor
