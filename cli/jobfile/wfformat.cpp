// tidy: foreign-file task, tasks
#include "cli/jobfile/wfformat.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "cli/jobfile/amounts.hpp"
#include "cli/jobfile/document.hpp"
#include "cli/jobfile/field_reader.hpp"
#include "cli/jobfile/graph_builder.hpp"
#include "cli/jobfile/job_program.hpp"
#include "common/base/nearest_name.hpp"

namespace penstock::cli {
namespace {

// The longest expected duration that the supervisor accepts.
constexpr Duration kRuntimeMax = std::chrono::hours{24 * 366};

// The fields of one task, in any schema.
struct Recorded {
  const DocumentValue* table = nullptr;
  std::string id;
  std::string name;
  std::vector<std::uint32_t> parents;
  std::unordered_set<std::string_view> reads;
  std::vector<std::string_view> makes;
  double bytes_made = 0;
  std::optional<double> runtime_seconds;
  std::string program;
  std::vector<std::string> arguments;
  std::int64_t cores = 1;
};

// Names of tasks end in a number that distinguishes the calls of one program: `mProject_ID0000001`, `bwa_17`.
std::string category_of(const std::string& name) {
  std::size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  if (end == name.size()) return name;
  if (end >= 3 && name.compare(end - 2, 2, "ID") == 0) end -= 2;
  return end >= 2 && name[end - 1] == '_' ? name.substr(0, end - 1) : name;
}

class WorkflowReader {
 public:
  WorkflowReader(const WorkflowSource& source, const ReplayOptions& options) : source_(source), options_(options) {}

  Result<WorkflowImport> read(const DocumentValue& root) {
    PENSTOCK_TRY(find_tables(root));
    for (const DocumentValue& table : tasks_->items) PENSTOCK_TRY(read_task(table));
    PENSTOCK_TRY(read_sizes());
    PENSTOCK_TRY(read_execution());
    for (Recorded& recorded : recorded_) PENSTOCK_TRY(read_files(recorded));
    for (std::uint32_t i = 0; i < recorded_.size(); ++i) PENSTOCK_TRY(read_relatives(i));
    for (std::uint32_t i = 0; i < recorded_.size(); ++i) PENSTOCK_TRY(add(i));
    import_.graph = builder_.take();
    if (const GraphSequence sequence = sequence_of(import_.graph); !sequence.cycle.empty())
      return refuse(ErrorCode::GraphCycle, *recorded_[sequence.cycle.front()].table,
                    "tasks depend on each other in a circle: " + show_cycle(import_.graph, sequence.cycle));
    return std::move(import_);
  }

 private:
  Error refuse(ErrorCode code, const DocumentValue& value, std::string message, std::string remedy = {}) const {
    return {code, at_place(source_.name, value.place), std::move(message), std::move(remedy)};
  }
  Error malformed(const DocumentValue& value, std::string message) const {
    return refuse(ErrorCode::InvalidArgument, value, std::move(message));
  }

  Result<void> find_tables(const DocumentValue& root);
  Result<void> read_task(const DocumentValue& table);
  Result<void> read_sizes();
  Result<void> read_execution();
  Result<void> read_run(const DocumentValue& table, Recorded& recorded);
  Result<void> read_command(const DocumentValue& command, Recorded& recorded);
  Result<void> read_files(Recorded& recorded);
  Result<void> read_old_files(const DocumentValue& files, Recorded& recorded);
  Result<void> read_relatives(std::uint32_t task);
  Result<std::uint32_t> find_task(const DocumentValue& mention) const;
  Result<double> amount(const DocumentValue& value, const char* what) const;
  Result<void> add(std::uint32_t task);
  Template program_of(const Recorded& recorded) const;

  const WorkflowSource& source_;
  const ReplayOptions& options_;

  WorkflowImport import_;
  const DocumentValue* tasks_ = nullptr;
  const DocumentValue* files_ = nullptr;  ///< Null in older schemas.
  const DocumentValue* runs_ = nullptr;   ///< The same.
  std::vector<Recorded> recorded_;
  std::unordered_map<std::string_view, std::uint32_t> by_id_;
  std::unordered_map<std::string_view, std::uint32_t> by_name_;
  std::unordered_map<std::string_view, double> size_of_;
  GraphBuilder builder_;
};

Result<void> WorkflowReader::find_tables(const DocumentValue& root) {
  for (const auto& [field, into] :
       {std::pair{"name", &import_.title}, std::pair{"schemaVersion", &import_.schema_version}})
    if (const DocumentValue* value = root.find(field); value != nullptr && value->is_text()) *into = value->text;
  const DocumentValue* workflow = root.find("workflow");
  if (workflow == nullptr || !workflow->is_table())
    return malformed(root, "is no WfFormat file: it has no table 'workflow'");
  const DocumentValue* specification = workflow->find("specification");
  if (specification != nullptr) {
    tasks_ = specification->find("tasks");
    files_ = specification->find("files");
    if (const DocumentValue* execution = workflow->find("execution")) runs_ = execution->find("tasks");
  } else {
    for (const char* name : {"tasks", "jobs"})
      if (tasks_ == nullptr) tasks_ = workflow->find(name);
  }
  for (const DocumentValue* list : {tasks_, files_, runs_})
    if (list != nullptr && !list->is_list())
      return malformed(*list, "must be a list, not " + std::string{kind_name(*list)});
  if (tasks_ == nullptr || tasks_->items.empty()) return malformed(*workflow, "the workflow has no tasks");
  // Views of names point into the records, which therefore never move.
  recorded_.reserve(tasks_->items.size());
  return {};
}

Result<void> WorkflowReader::read_task(const DocumentValue& table) {
  if (!table.is_table()) return malformed(table, "a task must be a table, not " + std::string{kind_name(table)});
  Recorded& recorded = recorded_.emplace_back();
  recorded.table = &table;
  const DocumentValue* name = table.find("name");
  const DocumentValue* id = table.find("id");
  if (id == nullptr || !id->is_text()) id = name;
  if (id == nullptr || !id->is_text()) return malformed(table, "a task has no id and no name");
  recorded.id = id->text;
  recorded.name = name != nullptr && name->is_text() ? name->text : id->text;
  for (const std::string* text : {&recorded.id, &recorded.name})
    if (const Result<void> good = check_name_text(*text); !good) return malformed(*id, good.error().message);
  const auto number = static_cast<std::uint32_t>(recorded_.size() - 1);
  if (!by_id_.try_emplace(recorded.id, number).second)
    return refuse(ErrorCode::DuplicateKey, *id, "two tasks have the id " + in_quotes(recorded.id));
  by_name_.try_emplace(recorded.name, number);
  if (runs_ == nullptr) return read_run(table, recorded);
  return {};
}

Result<double> WorkflowReader::amount(const DocumentValue& value, const char* what) const {
  if (!value.is_number())
    return malformed(value, std::string{what} + " must be a number, not " + std::string{kind_name(value)});
  if (!(value.number >= 0 && value.number < 1e18))
    return malformed(value, std::string{what} + " is negative or absurdly large");
  return value.number;
}

Result<void> WorkflowReader::read_sizes() {
  if (files_ == nullptr) return {};
  for (const DocumentValue& file : files_->items) {
    const DocumentValue* id = file.find("id");
    const DocumentValue* size = file.find("sizeInBytes");
    if (id == nullptr || !id->is_text()) return malformed(file, "a file has no id");
    const Result<double> bytes = size == nullptr ? Result<double>{0.0} : amount(*size, "sizeInBytes");
    if (!bytes) return bytes.error();
    size_of_.try_emplace(id->text, bytes.value());
  }
  return {};
}

// Runtime, command and cores: from `execution.tasks`, or from the task itself in older schemas.
Result<void> WorkflowReader::read_run(const DocumentValue& table, Recorded& recorded) {
  for (const char* name : {"runtimeInSeconds", "runtime"}) {
    const DocumentValue* value = table.find(name);
    if (value == nullptr || recorded.runtime_seconds) continue;
    const Result<double> seconds = amount(*value, name);
    if (!seconds) return seconds.error();
    recorded.runtime_seconds = seconds.value();
  }
  for (const char* name : {"coreCount", "cores"})
    if (const DocumentValue* value = table.find(name)) {
      const Result<double> cores = amount(*value, name);
      if (!cores) return cores.error();
      recorded.cores = std::clamp<std::int64_t>(std::llround(cores.value()), 1, 1'000'000);
    }
  const DocumentValue* command = table.find("command");
  return command != nullptr && command->is_table() ? read_command(*command, recorded) : Result<void>{};
}

Result<void> WorkflowReader::read_command(const DocumentValue& command, Recorded& recorded) {
  FieldReader reader{command, source_.name, "task " + in_quotes(recorded.id) + ": command"};
  reader.text("program", recorded.program);
  reader.texts("arguments", recorded.arguments);
  return reader.failed() ? reader.finish() : Result<void>{};
}

Result<void> WorkflowReader::read_execution() {
  if (runs_ == nullptr) return {};
  for (const DocumentValue& run : runs_->items) {
    const DocumentValue* id = run.find("id");
    if (id == nullptr || !id->is_text()) return malformed(run, "an execution has no id");
    const Result<std::uint32_t> task = find_task(*id);
    if (!task) return task.error();
    PENSTOCK_TRY(read_run(run, recorded_[task.value()]));
  }
  return {};
}

Result<void> WorkflowReader::read_files(Recorded& recorded) {
  if (const DocumentValue* old = recorded.table->find("files"); old != nullptr && old->is_list())
    return read_old_files(*old, recorded);
  for (const char* field : {"inputFiles", "outputFiles"}) {
    const DocumentValue* list = recorded.table->find(field);
    if (list == nullptr) continue;
    for (const DocumentValue& file : list->items) {
      if (!file.is_text())
        return malformed(file, std::string{field} + " must hold texts, not " + std::string{kind_name(file)});
      if (field[0] == 'i') {
        recorded.reads.insert(file.text);
        continue;
      }
      recorded.makes.push_back(file.text);
      if (const auto size = size_of_.find(file.text); size != size_of_.end()) recorded.bytes_made += size->second;
    }
  }
  return {};
}

Result<void> WorkflowReader::read_old_files(const DocumentValue& files, Recorded& recorded) {
  for (const DocumentValue& file : files.items) {
    const DocumentValue* name = file.find("name");
    const DocumentValue* link = file.find("link");
    if (name == nullptr || link == nullptr || !name->is_text() || !link->is_text())
      return malformed(file, "a file has no name or no link");
    if (link->text == "input") {
      recorded.reads.insert(name->text);
      continue;
    }
    recorded.makes.push_back(name->text);
    for (const char* field : {"sizeInBytes", "size"})
      if (const DocumentValue* size = file.find(field)) {
        const Result<double> bytes = amount(*size, field);
        if (!bytes) return bytes.error();
        recorded.bytes_made += bytes.value();
        break;
      }
  }
  return {};
}

Result<std::uint32_t> WorkflowReader::find_task(const DocumentValue& mention) const {
  if (!mention.is_text()) return malformed(mention, "an id must be text, not " + std::string{kind_name(mention)});
  for (const auto* table : {&by_id_, &by_name_})
    if (const auto found = table->find(mention.text); found != table->end()) return found->second;
  NearestName nearest{mention.text};
  for (const auto& [id, number] : by_id_) nearest.offer(id);
  return refuse(ErrorCode::UnknownKey, mention, "no task has the id " + in_quotes(mention.text), nearest.remedy());
}

// Parents and children give the same edges twice; either is enough.
Result<void> WorkflowReader::read_relatives(std::uint32_t task) {
  for (const char* field : {"parents", "children"}) {
    const DocumentValue* list = recorded_[task].table->find(field);
    if (list == nullptr) continue;
    for (const DocumentValue& mention : list->items) {
      const Result<std::uint32_t> other = find_task(mention);
      if (!other) return other.error();
      if (other.value() == task)
        return refuse(ErrorCode::SelfDependency, mention,
                      "task " + in_quotes(recorded_[task].id) + " depends on itself");
      if (field[0] == 'p')
        recorded_[task].parents.push_back(other.value());
      else
        recorded_[other.value()].parents.push_back(task);
    }
  }
  return {};
}

Template WorkflowReader::program_of(const Recorded& recorded) const {
  Template content;
  // Programs are better names than numbers of calls, but Nextflow records whole scripts.
  const bool script = recorded.program.find_first_of(" \n\t;|&") != std::string::npos;
  const bool named = !recorded.program.empty() && !script && check_name_text(recorded.program);
  content.name = named ? std::filesystem::path{recorded.program}.filename().string() : category_of(recorded.name);
  if (options_.replay) {
    content.program = "burn";
    return content;
  }
  content.runner = RunnerKind::Command;
  content.working_directory = source_.directory;
  content.request.slots = kOneSlot * recorded.cores;
  content.program = recorded.program;
  if (recorded.arguments.empty() && script) {
    content.program = "sh";
    content.arguments = {"-c", recorded.program};
  } else {
    content.arguments = recorded.arguments;
  }
  return content;
}

Result<void> WorkflowReader::add(std::uint32_t task) {
  Recorded& recorded = recorded_[task];
  const std::string what = "task " + in_quotes(recorded.id);
  if (options_.replay && !recorded.runtime_seconds)
    return malformed(*recorded.table, what + " has no recorded runtime");
  if (!options_.replay && recorded.program.empty()) return malformed(*recorded.table, what + " has no command");
  const Result<Duration> runtime = duration_of_seconds(recorded.runtime_seconds.value_or(0) * options_.time_scale);
  if (!runtime || runtime.value() > kRuntimeMax)
    return malformed(*recorded.table, what + " has a runtime of more than a year");
  const double bytes = std::floor(recorded.bytes_made * options_.data_scale);
  if (bytes >= 0x1p62) return malformed(*recorded.table, what + " makes more bytes than can be counted");
  const auto output_bytes = static_cast<std::int64_t>(bytes);
  std::string payload;
  if (options_.replay) payload = burn_payload(runtime.value(), output_bytes);
  const std::uint32_t number = builder_.add_template(program_of(recorded));
  builder_.add_subtask({number, recorded.id, payload, 0, runtime.value()});
  import_.work += runtime.value();
  import_.output_bytes = (Bytes{import_.output_bytes} + Bytes{output_bytes}).value();
  std::sort(recorded.parents.begin(), recorded.parents.end());
  recorded.parents.erase(std::unique(recorded.parents.begin(), recorded.parents.end()), recorded.parents.end());
  for (const std::uint32_t parent : recorded.parents) {
    const std::vector<std::string_view>& makes = recorded_[parent].makes;
    const auto read_here = [&](std::string_view file) { return recorded.reads.contains(file); };
    if (options_.replay && std::any_of(makes.begin(), makes.end(), read_here))
      builder_.data_edge(parent);
    else
      builder_.order_edge(parent);
  }
  builder_.end_inputs();
  return {};
}

}  // namespace

Result<WorkflowImport> read_wfformat_text(std::string_view text, const WorkflowSource& source,
                                          const ReplayOptions& options) {
  for (const double scale : {options.time_scale, options.data_scale})
    if (!(scale >= 0 && scale <= 1e9))
      return Error{ErrorCode::InvalidArgument, "scale", show_fixed(scale, 3) + " is no sensible scale",
                   "give a number from 0 to 1e9"};
  const Result<DocumentValue> root = parse_document(text, DocumentFormat::Json, source.name);
  if (!root) return root.error();
  return WorkflowReader{source, options}.read(root.value());
}

Result<WorkflowImport> read_wfformat(const std::string& path, const ReplayOptions& options) {
  const Result<std::string> text = read_text_file(path);
  if (!text) return text.error();
  std::error_code ignored;
  const std::filesystem::path directory = std::filesystem::absolute(path, ignored).parent_path();
  return read_wfformat_text(text.value(), {path, directory.string()}, options);
}

}  // namespace penstock::cli
