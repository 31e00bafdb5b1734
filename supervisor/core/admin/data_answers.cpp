#include "supervisor/core/admin/data_answers.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "supervisor/core/data/data_directory.hpp"
#include "supervisor/core/request_words.hpp"
#include "supervisor/core/results.hpp"

namespace penstock::supervisor {
namespace {

constexpr std::size_t kNamesShown = 10;

/// The first that an output is kept for.
enum class Holder : std::uint8_t { Client, OtherJobs, Subtasks, Nobody };

struct DataRow {
  std::uint64_t outputs = 0;
  std::int64_t copies = 0;    ///< Bytes, here and below.
  std::int64_t held_by[4]{};  ///< By `Holder`.
  std::int64_t bytes() const { return copies + held_by[0] + held_by[1] + held_by[2] + held_by[3]; }
};

Holder holder_of(const Job& job, std::uint32_t subtask) {
  if (!job.hot.empty() && (job.hot[subtask].flags & SubtaskFlag::kWanted) != 0) return Holder::Client;
  if (job.outputs.borrowed->contains(SubtaskIndex{subtask}))
    return job.hot.empty() && !job.outputs.is_released(SubtaskIndex{subtask}) ? Holder::Client : Holder::OtherJobs;
  if (job.hot.empty()) return Holder::Client;  // Of a job that had ended before a restart, nothing else is kept.
  return job.data.readers(subtask) > 0 ? Holder::Subtasks : Holder::Nobody;
}

/// How outputs are added up.
class DataRows {
 public:
  DataRows(const WorkerTable& workers, std::string by) : workers_(workers), by_(std::move(by)) {}

  void add(const Job& job) {
    if (job.hot.empty()) return add_places(job);
    for (std::uint32_t i = 0; i < job.total() && job.data.in_use(); ++i)
      if (job.hot[i].phase == SubtaskPhase::Succeeded && !job.data.gone(i)) add(job, i);
  }
  std::vector<std::pair<std::string, DataRow>> best_first() const {
    std::vector<std::pair<std::string, DataRow>> rows(rows_.begin(), rows_.end());
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.second.bytes() > b.second.bytes(); });
    return rows;
  }

 private:
  void add(const Job& job, std::uint32_t subtask) {
    const std::int64_t bytes = job.data.total_bytes(*job.graph.shape, subtask);
    if (bytes == 0) return;
    const WorkerEntry& worker = workers_.worker_of(job.hot[subtask].band);
    DataRow& row = row_of(job, subtask, worker.description.name);
    ++row.outputs;
    row.held_by[static_cast<std::size_t>(holder_of(job, subtask))] += bytes;
    const std::vector<WorkerId>* replicas = job.data.replicas(subtask);
    for (std::size_t i = 0; replicas != nullptr && i < replicas->size(); ++i)
      if (const WorkerSlot slot = workers_.find((*replicas)[i]); slot.valid() && (*replicas)[i] != worker.id)
        row_of(job, subtask, workers_[slot].description.name).copies += bytes;
  }
  void add_places(const Job& job) {
    for (const OutputLocation& output : job.outputs.locations) {
      const std::uint32_t subtask = output.producer.value();
      DataRow& row = row_of(job, subtask, output.data_address);
      ++row.outputs;
      row.held_by[static_cast<std::size_t>(holder_of(job, subtask))] += output.bytes;
    }
  }
  DataRow& row_of(const Job& job, std::uint32_t subtask, const std::string& worker) {
    if (by_ == "worker") return rows_[worker];
    if (by_ == "owner") return rows_[job.spec.owner];
    if (by_ == "job") return rows_[to_string(job.id)];
    if (job.graph.shape == nullptr) return rows_[""];
    const Template& content = job.graph.shape->template_of(subtask);
    return rows_[content.name.empty() ? content.program : content.name];
  }

  const WorkerTable& workers_;
  const std::string by_;
  std::map<std::string, DataRow> rows_;
};

Value value_of(const std::string& by, const std::string& name, const DataRow& row) {
  const auto held = [&](Holder holder) { return row.held_by[static_cast<std::size_t>(holder)]; };
  return Value::Record{{by, name},
                       {"outputs", row.outputs},
                       {"bytes", row.bytes()},
                       {"for_client", held(Holder::Client)},
                       {"for_other_jobs", held(Holder::OtherJobs)},
                       {"for_subtasks", held(Holder::Subtasks)},
                       {"retained", held(Holder::Nobody)},
                       {"copies", row.copies}};
}

/// Names of subtasks or jobs, the first ones.
Value names_shown(const std::vector<std::string>& names) {
  Value::List shown;
  for (const std::string& name : names) {
    if (shown.size() == kNamesShown) {
      shown.emplace_back("and " + std::to_string(names.size() - kNamesShown) + " more");
      break;
    }
    shown.emplace_back(name);
  }
  return shown;
}

std::vector<std::string> readers_of(const Job& job, std::uint32_t subtask) {
  std::vector<std::string> readers;
  for (const std::uint32_t successor : job.graph.shape->successors(subtask)) {
    if (is_final(job.hot[successor].phase)) continue;
    const auto predecessors = job.graph.shape->predecessors(successor);
    for (std::uint32_t k = 0; k < predecessors.size(); ++k)
      if (predecessors[k] == subtask &&
          job.graph.shape->edge_output(job.graph.shape->first_edge(successor) + k) != EdgeKind::kOrderOnly) {
        readers.push_back(job.graph.shape->name(successor));
        break;
      }
  }
  return readers;
}

std::vector<std::string> borrowers_of(const JobTable& jobs, const SubtaskId& producer) {
  std::vector<std::string> borrowers;
  for (const std::unique_ptr<Job>& job : jobs.all()) {
    if (job == nullptr || job->status.state != JobState::Running || job->graph.shape == nullptr) continue;
    const auto& inputs = job->graph.shape->external_inputs();
    if (std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) { return input.datum.producer == producer; }))
      borrowers.push_back(to_string(job->id) + " " + job->spec.name);
  }
  return borrowers;
}

/// State, bytes and places.
Value::Record place_of(const Job& job, const WorkerTable& workers, std::uint32_t subtask) {
  Value::Record fields;
  if (job.hot.empty()) {
    std::int64_t bytes = 0;
    std::string address;
    for (const OutputLocation& output : job.outputs.locations)
      if (output.producer.value() == subtask) bytes += output.bytes, address = output.data_address;
    fields = {{"state", bytes > 0 ? "kept" : "gone, or empty"}, {"bytes", bytes}};
    if (bytes > 0) fields.emplace_back("worker", address);
    return fields;
  }
  const bool made = job.hot[subtask].phase == SubtaskPhase::Succeeded;
  const std::int64_t bytes = made && job.data.in_use() ? job.data.total_bytes(*job.graph.shape, subtask) : 0;
  const bool gone = bytes > 0 && job.data.gone(subtask);
  fields = {{"state", !made        ? "not made yet"
                      : bytes == 0 ? "empty"
                      : gone       ? "dropped, or lost"
                                   : "kept"},
            {"bytes", gone ? std::int64_t{0} : bytes}};
  if (bytes == 0 || gone) return fields;
  fields.emplace_back("worker", workers.worker_of(job.hot[subtask].band).description.name);
  Value::List copies;
  if (const std::vector<WorkerId>* replicas = job.data.replicas(subtask))
    for (const WorkerId replica : *replicas)
      if (const WorkerSlot slot = workers.find(replica); slot.valid())
        copies.emplace_back(workers[slot].description.name);
  if (!copies.empty()) fields.emplace_back("copies", std::move(copies));
  if (job.data.checkpoint(subtask) != nullptr) fields.emplace_back("on_shared_storage", true);
  return fields;
}

}  // namespace

Result<Value> describe_data(JobTable& jobs, const WorkerTable& workers, const AdminRequest& request) {
  const std::string given = option(request, "by");
  const std::string by = given.empty() ? "job" : given;
  if (by != "job" && by != "worker" && by != "owner" && by != "template")
    return bad_argument("--by", "'" + by + "' is none of job, worker, owner, template");
  std::uint32_t limit = kResultRowsMax;
  if (const std::string text = option(request, "limit"); !text.empty() && !parse(text, limit))
    return bad_argument("--limit", "'" + text + "' is no number of rows");
  DataRows rows{workers, by};
  if (const std::string name = option(request, "job"); !name.empty()) {
    const Job* job = jobs.find(job_selector_of(name, request.viewer));
    if (job == nullptr) return not_found("job '" + name + "'", "`jobs --all` lists those that are remembered");
    rows.add(*job);
  } else {
    for (const std::unique_ptr<Job>& job : jobs.all())
      if (job != nullptr && request.viewer.sees(job->spec)) rows.add(*job);
  }
  Value::List table;
  for (const auto& [name, row] : rows.best_first())
    if (table.size() < std::min(limit, kResultRowsMax)) table.push_back(value_of(by, name, row));
  return Value{std::move(table)};
}

Result<Value> list_places(const WorkerTable& workers, const Job& job, const AdminRequest& request) {
  Value::List rows;
  for (std::size_t i = 1; i < request.arguments.size(); ++i) {
    const std::string& key = request.arguments[i];
    const Result<std::uint32_t> found = find_subtask(job, key);
    if (!found) return found.error();
    Value::Record row{{"subtask", *found}};
    for (Value::Field& field : place_of(job, workers, *found)) row.push_back(std::move(field));
    rows.emplace_back(std::move(row));
  }
  return Value{std::move(rows)};
}

Result<Value> explain_data(const JobTable& jobs, const WorkerTable& workers, const Job& job, const std::string& key) {
  const Result<std::uint32_t> found = find_subtask(job, key);
  if (!found) return found.error();
  const SubtaskIndex subtask{*found};
  Value::Record fields{{"job", to_string(job.id)}, {"subtask", subtask.value()}, {"key", key_of(job, *found)}};
  for (Value::Field& field : place_of(job, workers, *found)) fields.push_back(std::move(field));
  const bool released = job.outputs.is_released(subtask);
  fields.emplace_back("released", released);
  fields.emplace_back("for_client", !released && is_kept(job, *found, 0));
  const std::vector<std::string> borrowers = borrowers_of(jobs, {job.id, subtask});
  if (!borrowers.empty()) fields.emplace_back("for_other_jobs", names_shown(borrowers));
  if (job.graph.shape == nullptr || job.status.state != JobState::Running) return Value{std::move(fields)};
  if (const std::vector<std::string> readers = readers_of(job, *found); !readers.empty())
    fields.emplace_back("for_subtasks", names_shown(readers));
  return Value{std::move(fields)};
}

}  // namespace penstock::supervisor
