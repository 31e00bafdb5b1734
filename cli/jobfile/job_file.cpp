#include "cli/jobfile/job_file.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <unordered_map>

#include "cli/jobfile/graph_builder.hpp"
#include "cli/jobfile/job_array.hpp"
#include "cli/jobfile/job_keys.hpp"
#include "cli/jobfile/job_program.hpp"
#include "common/base/nearest_name.hpp"
#include "common/protocol/job_kind.hpp"
#include "common/protocol/time_limit.hpp"

namespace penstock::cli {
namespace {

// Subtasks without a template get one each up to here; after that those that run the same program share one, so that a
// file of a million different commands stays below the limit of templates.
constexpr std::uint32_t kOwnTemplatesMax = 256;

// Reads one file, in steps: top, templates, subtasks with their keys, then edges, when all keys are known.
class JobReader {
 public:
  JobReader(const std::string& file, const JobFileOptions& options) : file_(file), options_(options) {
    std::error_code ignored;
    base_.directory =
        std::filesystem::absolute(options.base_directory.empty() ? "." : options.base_directory, ignored).string();
  }

  Result<JobFile> read(const DocumentValue& root) {
    PENSTOCK_TRY(read_top(root));
    if (subtask_list_ == nullptr || subtask_list_->items.empty())
      return refuse(root.place, "has no subtasks", "write at least one [[subtask]]");
    PENSTOCK_TRY(read_templates());
    for (const DocumentValue& table : subtask_list_->items) PENSTOCK_TRY(read_subtask(table));
    PENSTOCK_TRY(collect_writers());
    for (const Entry& entry : entries_) PENSTOCK_TRY(connect(entry));
    job_.graph = builder_.take();
    PENSTOCK_TRY(check_cycle());
    return std::move(job_);
  }

 private:
  // The part of an entry that is needed when all keys are known; its place in the graph is in `keys_`.
  struct Entry {
    TextPlace place;
    std::uint32_t first = 0;
    std::vector<std::string> items;  ///< Of an array; else empty.
    std::vector<PlacedText> inputs;
    std::vector<PlacedText> after;
    std::vector<PlacedText> input_files;
    std::vector<PlacedText> output_files;

    std::uint32_t count() const { return items.empty() ? 1U : static_cast<std::uint32_t>(items.size()); }
    std::string fill(const std::string& text, std::uint32_t element) const {
      return items.empty() ? text : substitute(text, items[element]);
    }
  };

  Error refuse(TextPlace place, std::string message, std::string remedy = {}) const {
    return {ErrorCode::InvalidArgument, at_place(file_, place), std::move(message), std::move(remedy)};
  }
  // An error of a part, with its subtask and place.
  Error located(Error error, TextPlace place, const std::string& what) const {
    error.subject = at_place(file_, place);
    error.message = what + ": " + error.message;
    return error;
  }
  std::string subtask_text(std::uint32_t subtask) const { return "subtask " + in_quotes(builder_.name_of(subtask)); }

  Result<void> read_top(const DocumentValue& root);
  Result<void> read_list(FieldReader& top, std::string_view name, const DocumentValue*& list);
  Result<void> read_templates();
  Result<void> read_subtask(const DocumentValue& table);
  Result<ProgramText> start_of(const DocumentValue& table, FieldReader& reader, const std::string& what);
  Result<void> add_elements(const ProgramText& text, const std::string& key, Entry entry);
  Result<void> check_size(TextPlace place, std::uint64_t more) const;
  Result<void> collect_writers();
  Result<std::string> file_path(const PlacedText& written, const Entry& entry, std::uint32_t element) const;
  Result<void> connect(const Entry& entry);
  Result<void> connect_data(const Entry& entry, std::uint32_t element);
  Result<void> connect_order(const Entry& entry, std::uint32_t element);
  Result<void> connect_files(const Entry& entry, std::uint32_t element);
  Result<void> add_order_edges(const KeyTarget& target, std::uint32_t subtask, TextPlace place);
  Result<void> check_cycle() const;

  const std::string& file_;
  const JobFileOptions& options_;
  FileBase base_;

  JobFile job_;
  const DocumentValue* template_list_ = nullptr;
  const DocumentValue* subtask_list_ = nullptr;
  bool keep_given_ = false;
  ProgramText defaults_;
  std::unordered_map<std::string, ProgramText> templates_;
  GraphBuilder builder_;
  KeyTable keys_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::uint32_t> writers_;  ///< Absolute path: its index in `job_.output_files`.
};

Result<void> JobReader::read_list(FieldReader& top, std::string_view name, const DocumentValue*& list) {
  list = top.value(name);
  if (list == nullptr || list->is_list()) return {};
  return refuse(list->place, std::string{name} + " must be a list of tables, not " + std::string{kind_name(*list)},
                "write [[" + std::string{name} + "]] in TOML, a list in JSON");
}

/// The owner of the job and its wishes to policy. The supervisor checks whether the project exists.
void read_job_policy(FieldReader& reader, JobPolicy& policy) {
  reader.text("project", policy.project);
  reader.text("account", policy.account);
  reader.texts("pool", policy.pools);
  reader.texts("pools", policy.pools);
  reader.texts("labels", policy.labels);
  double weight = 0;
  reader.number("weight", {0.001, 1e6}, weight);
  policy.weight = static_cast<std::uint32_t>(std::llround(weight * 1000));
  std::int64_t amount = 0;
  reader.integer("slots_max", {1, kPolicyAmountMax}, amount);
  policy.slots_max = static_cast<std::uint32_t>(std::exchange(amount, 0));
  reader.integer("gang", {1, kPolicyAmountMax}, amount);
  policy.gang = static_cast<std::uint32_t>(std::exchange(amount, 0));
  reader.integer("gang_max", {1, kPolicyAmountMax}, amount);
  policy.gang_max = static_cast<std::uint32_t>(std::exchange(amount, 0));
  reader.text("together", policy.together);
  reader.integer("gang_groups", {1, kPolicyAmountMax}, amount);
  policy.gang_groups = static_cast<std::uint32_t>(amount);
  reader.text("qos", policy.qos);
  reader.text("queue", policy.queue);
  double user_factor = 1;
  reader.number("user_factor", {0, 1}, user_factor);
  policy.user_factor = static_cast<std::uint32_t>(std::lround(user_factor * kUserFactorMax));
  std::size_t word = 0;
  reader.choice("kind", job_kind_words(), word);
  policy.kind = kJobKinds[word];
  if (!reader.has("preemptible")) return;
  bool preemptible = true;
  reader.boolean("preemptible", preemptible);
  policy.preemptible = preemptible ? Preemptible::Yes : Preemptible::No;
}

Result<void> JobReader::read_top(const DocumentValue& root) {
  if (const DocumentValue* workflow = root.find("workflow");
      workflow != nullptr && root.find("schemaVersion") != nullptr)
    return refuse(workflow->place, "is a recorded workflow in WfFormat, not a job file", "give it with --wfformat");
  FieldReader reader{root, file_, {}};
  JobSpec& spec = job_.spec;
  reader.text("name", spec.name);
  reader.text("owner", spec.owner);
  std::string share;
  reader.text("share", share);
  if (!share.empty()) spec.share = Seldom{std::move(share)};
  reader.pairs("secrets", job_.secret_sources);
  reader.duration("grace", spec.grace);
  std::int64_t priority = 0;
  reader.integer("priority", {-1'000'000'000, 1'000'000'000}, priority);
  spec.priority = static_cast<std::int32_t>(priority);
  std::size_t keep = 0;
  reader.choice("keep", {"sinks", "wanted", "nothing"}, keep);
  spec.keep = static_cast<Keep>(keep);
  keep_given_ = root.find("keep") != nullptr;
  reader.boolean("wait_for_resources", spec.wait_for_resources);
  reader.boolean("trace", spec.trace);
  reader.duration("job_time_limit", spec.time_limit);
  read_job_policy(reader, spec.policy);
  reader.texts("libraries", job_.operator_libraries);
  for (std::string& library : job_.operator_libraries) library = base_.resolve(library);
  for (auto& [name, source] : job_.secret_sources)
    if (source.starts_with("file:")) source = "file:" + base_.resolve(source.substr(5));
  read_limits(reader, base_, defaults_);
  PENSTOCK_TRY(read_list(reader, "template", template_list_));
  PENSTOCK_TRY(read_list(reader, "subtask", subtask_list_));
  PENSTOCK_TRY(reader.finish());
  if (const DocumentValue* pools = root.find("pools"); pools != nullptr && root.find("pool") != nullptr)
    return refuse(pools->place, "pool and pools are both there", "say one of them");
  if (const DocumentValue* limit = root.find("job_time_limit"); limit != nullptr)
    if (const Result<void> good = check_time_limit("it", spec.time_limit); !good)
      return located(good.error(), limit->place, "job_time_limit");
  for (const auto& [what, name] : {std::pair{"name", &spec.name}, std::pair{"owner", &spec.owner}}) {
    if (root.find(what) == nullptr) continue;
    if (const Result<void> good = check_name_text(*name); !good)
      return located(good.error(), root.find(what)->place, what);
  }
  return {};
}

Result<void> JobReader::read_templates() {
  if (template_list_ == nullptr) return {};
  for (const DocumentValue& table : template_list_->items) {
    const DocumentValue* name = table.find("name");
    FieldReader reader{table, file_,
                       "template" + (name != nullptr && name->is_text() ? " " + in_quotes(name->text) : std::string{})};
    ProgramText text = defaults_;
    reader.text("name", text.content.name);
    read_program(reader, base_, text);
    if (text.operator_name.empty() && text.command.empty()) reader.complain(nullptr, "has no operator and no command");
    PENSTOCK_TRY(reader.finish());
    if (name == nullptr) return refuse(table.place, "a template has no name");
    if (const Result<void> good = check_name_text(name->text); !good)
      return located(good.error(), name->place, "template");
    close_template(text);
    if (!templates_.try_emplace(name->text, std::move(text)).second)
      return Error{ErrorCode::DuplicateKey,
                   at_place(file_, name->place),
                   "two templates have the name " + in_quotes(name->text),
                   {}};
  }
  return {};
}

// The initial fields of a subtask: those of its template, or the defaults.
Result<ProgramText> JobReader::start_of(const DocumentValue& table, FieldReader& reader, const std::string& what) {
  std::string name;
  reader.text("template", name);
  const DocumentValue* field = table.find("template");
  if (field == nullptr || reader.failed()) return defaults_;
  if (const auto found = templates_.find(name); found != templates_.end()) return found->second;
  NearestName nearest{name};
  for (const auto& [known, text] : templates_) nearest.offer(known);
  return Error{ErrorCode::UnknownKey, at_place(file_, field->place),
               what + ": no template has the name " + in_quotes(name), nearest.remedy()};
}

Result<void> JobReader::read_subtask(const DocumentValue& table) {
  const DocumentValue* key = table.find("key");
  const std::string what = "subtask" + (key != nullptr && key->is_text() ? " " + in_quotes(key->text) : std::string{});
  FieldReader reader{table, file_, what};
  std::string name;
  reader.text("key", name);
  Result<ProgramText> start = start_of(table, reader, what);
  if (!start) return start.error();
  ProgramText& text = start.value();
  read_program(reader, base_, text);
  Entry entry{.place = table.place,
              .first = builder_.size(),
              .items = {},
              .inputs = {},
              .after = {},
              .input_files = {},
              .output_files = {}};
  reader.texts("inputs", entry.inputs);
  reader.texts("after", entry.after);
  reader.texts("input_files", entry.input_files);
  reader.texts("output_files", entry.output_files);
  const DocumentValue* array = reader.value("array");
  bool wanted = false;
  reader.boolean("wanted", wanted);
  PENSTOCK_TRY(reader.finish());  // A misspelt field is reported first, because the missing one follows from it.
  if (text.operator_name.empty() && text.command.empty())
    return refuse(table.place, what + ": has no template, operator or command");
  if (key == nullptr) return refuse(table.place, "a subtask has no key");
  if (const Result<void> good = check_key(name); !good) return located(good.error(), key->place, "subtask");
  if (array != nullptr) {
    Result<std::vector<std::string>> items = read_array(*array, options_.limits.subtasks_max);
    if (!items) return located(items.error(), array->place, what + ": array");
    entry.items = std::move(items).value();
  }
  // A program that uses files of the job file's directory runs in it.
  if (text.content.working_directory.empty() && !(entry.input_files.empty() && entry.output_files.empty()))
    text.content.working_directory = base_.directory;
  PENSTOCK_TRY(check_size(table.place, entry.count()));
  if (wanted && !keep_given_) job_.spec.keep = Keep::Wanted;
  if (wanted)
    for (std::uint32_t i = 0; i < entry.count(); ++i) builder_.want(entry.first + i);
  // The name of a template's subtasks is that of the template; without a template they use their own.
  if (table.find("template") == nullptr)
    text.content.name = builder_.template_count() < kOwnTemplatesMax ? name : std::string{};
  return add_elements(text, name, std::move(entry));
}

Result<void> JobReader::check_size(TextPlace place, std::uint64_t more) const {
  const auto over = [&](const char* what, std::uint64_t limit) {
    return Error{ErrorCode::LimitExceeded, at_place(file_, place),
                 "the job has more than " + std::to_string(limit) + " " + what, "split it"};
  };
  const GraphLimits& limits = options_.limits;
  if (builder_.size() + more > limits.subtasks_max) return over("subtasks", limits.subtasks_max);
  if (builder_.edge_count() > limits.edges_max) return over("edges", limits.edges_max);
  if (builder_.template_count() > limits.templates_max) return over("templates", limits.templates_max);
  if (builder_.name_bytes() > 0xffffffffU) return over("bytes of keys", 0xffffffffU);
  if (builder_.payload_bytes() > std::min<std::uint64_t>(limits.payload_bytes_max, 0xffffffffU))
    return over("bytes of payload", std::min<std::uint64_t>(limits.payload_bytes_max, 0xffffffffU));
  return {};
}

Result<void> JobReader::add_elements(const ProgramText& text, const std::string& key, Entry entry) {
  std::vector<std::string> element_keys;
  const bool share = text.content.name.empty();
  for (std::uint32_t i = 0; i < entry.count(); ++i) {
    element_keys.push_back(entry.items.empty() ? key : key + "[" + entry.items[i] + "]");
    if (element_keys.back().size() > options_.limits.name_bytes_max)
      return refuse(entry.place, "the key " + in_quotes(element_keys.back()) + " is too long");
    ProgramUse use;
    use.share = share;
    if (!entry.items.empty()) use.item = entry.items[i];
    BuiltProgram built = build_program(text, use);
    if (share) built.content.name = built.content.program;
    if (built.payload.size() > options_.limits.subtask_payload_bytes_max)
      return Error{ErrorCode::LimitExceeded, at_place(file_, entry.place),
                   "subtask " + in_quotes(element_keys.back()) + " has " + std::to_string(built.payload.size()) +
                       " bytes of arguments or payload; at most " +
                       std::to_string(options_.limits.subtask_payload_bytes_max) + " are allowed",
                   "hand it over as a file"};
    const std::uint32_t number = builder_.add_template(std::move(built.content));
    builder_.add_subtask({number, element_keys.back(), built.payload, text.priority_added, built.expected});
    PENSTOCK_TRY(check_size(entry.place, 0));
  }
  KeyedEntry keyed{key, entry.first, entry.count(), !entry.items.empty(), text.content.output_count, text.output_names};
  if (const Result<void> added = keys_.add(std::move(keyed), element_keys); !added) {
    Error error = added.error();
    error.subject = at_place(file_, entry.place);
    return error;
  }
  entries_.push_back(std::move(entry));
  return {};
}

Result<std::string> JobReader::file_path(const PlacedText& written, const Entry& entry, std::uint32_t element) const {
  const std::string path = entry.fill(written.text, element);
  if (const Result<void> good = check_name_text(path); !good) {
    Error error = located(good.error(), written.place, subtask_text(entry.first + element));
    if (path.find("..") != std::string::npos) error.remedy = "give an absolute path";
    return error;
  }
  return base_.resolve(path);
}

Result<void> JobReader::collect_writers() {
  for (const Entry& entry : entries_)
    for (std::uint32_t element = 0; element < entry.count(); ++element)
      for (const PlacedText& written : entry.output_files) {
        const Result<std::string> path = file_path(written, entry, element);
        if (!path) return path.error();
        const std::uint32_t subtask = entry.first + element;
        const auto place = static_cast<std::uint32_t>(job_.output_files.size());
        const auto [at, is_new] = writers_.try_emplace(path.value(), place);
        const std::uint32_t writer = is_new ? subtask : job_.output_files[at->second].subtask;
        if (!is_new)
          return Error{ErrorCode::DuplicateKey,
                       at_place(file_, written.place),
                       "the file " + in_quotes(path.value()) + " is made by " + subtask_text(writer) +
                           (writer == subtask ? ", twice" : " and by " + subtask_text(subtask)),
                       {}};
        job_.output_files.push_back({subtask, path.value(), false});
      }
  return {};
}

Result<void> JobReader::connect(const Entry& entry) {
  for (std::uint32_t element = 0; element < entry.count(); ++element) {
    PENSTOCK_TRY(connect_data(entry, element));
    PENSTOCK_TRY(connect_order(entry, element));
    PENSTOCK_TRY(connect_files(entry, element));
    builder_.end_inputs();
    PENSTOCK_TRY(check_size(entry.place, 0));
  }
  return {};
}

Result<void> JobReader::connect_data(const Entry& entry, std::uint32_t element) {
  const std::uint32_t subtask = entry.first + element;
  std::vector<std::pair<std::uint32_t, std::uint16_t>> seen;
  for (const PlacedText& input : entry.inputs) {
    const Result<KeyTarget> target = keys_.find(entry.fill(input.text, element));
    if (!target) return located(target.error(), input.place, subtask_text(subtask) + ": inputs");
    for (std::uint32_t from = target->first; from < target->first + target->count; ++from) {
      if (from == subtask)
        return Error{ErrorCode::SelfDependency,
                     at_place(file_, input.place),
                     subtask_text(subtask) + " reads its own output",
                     {}};
      if (builder_.has_edge_from(from)) {
        const auto same = std::pair{from, target->output};
        if (std::find(seen.begin(), seen.end(), same) != seen.end())
          return Error{ErrorCode::DuplicateKey,
                       at_place(file_, input.place),
                       subtask_text(subtask) + " has the input " + in_quotes(input.text) + " twice",
                       {}};
      }
      builder_.data_edge(from, target->output);
      seen.emplace_back(from, target->output);
    }
  }
  return {};
}

Result<void> JobReader::add_order_edges(const KeyTarget& target, std::uint32_t subtask, TextPlace place) {
  for (std::uint32_t from = target.first; from < target.first + target.count; ++from) {
    if (from == subtask)
      return Error{ErrorCode::SelfDependency, at_place(file_, place), subtask_text(subtask) + " depends on itself", {}};
    if (!builder_.has_edge_from(from)) builder_.order_edge(from);
  }
  return {};
}

Result<void> JobReader::connect_order(const Entry& entry, std::uint32_t element) {
  const std::uint32_t subtask = entry.first + element;
  for (const PlacedText& earlier : entry.after) {
    const std::string mention = entry.fill(earlier.text, element);
    const Result<KeyTarget> target = keys_.find(mention);
    if (!target) return located(target.error(), earlier.place, subtask_text(subtask) + ": after");
    if (mention.find('#') != std::string::npos)
      return refuse(earlier.place, subtask_text(subtask) + ": after names an output, " + in_quotes(mention),
                    "name the key alone, or use inputs");
    PENSTOCK_TRY(add_order_edges(target.value(), subtask, earlier.place));
  }
  return {};
}

Result<void> JobReader::connect_files(const Entry& entry, std::uint32_t element) {
  const std::uint32_t subtask = entry.first + element;
  for (const PlacedText& read : entry.input_files) {
    const Result<std::string> path = file_path(read, entry, element);
    if (!path) return path.error();
    if (const auto writer = writers_.find(path.value()); writer != writers_.end()) {
      JobOutputFile& file = job_.output_files[writer->second];
      file.is_read = true;
      if (file.subtask == subtask)
        return Error{ErrorCode::SelfDependency,
                     at_place(file_, read.place),
                     subtask_text(subtask) + " reads the file " + in_quotes(path.value()) + " that it makes itself",
                     {}};
      PENSTOCK_TRY(add_order_edges({file.subtask, 1, 0}, subtask, read.place));
      continue;
    }
    std::error_code ignored;
    if (options_.look_for_input_files && !std::filesystem::exists(path.value(), ignored)) {
      NearestName nearest{path.value()};
      for (const auto& [known, writer] : writers_) nearest.offer(known);
      return Error{
          ErrorCode::NotFound, at_place(file_, read.place),
          subtask_text(subtask) + ": there is no file " + in_quotes(path.value()) + ", and no subtask makes it",
          nearest.remedy()};
    }
  }
  return {};
}

Result<void> JobReader::check_cycle() const {
  const std::vector<std::uint32_t> cycle = sequence_of(job_.graph).cycle;
  if (cycle.empty()) return {};
  const auto after = std::upper_bound(entries_.begin(), entries_.end(), cycle.front(),
                                      [](std::uint32_t subtask, const Entry& entry) { return subtask < entry.first; });
  return Error{ErrorCode::GraphCycle, at_place(file_, std::prev(after)->place),
               "subtasks depend on each other in a circle: " + show_cycle(job_.graph, cycle),
               "remove one of these dependencies"};
}

}  // namespace

Result<JobFile> read_job_text(std::string_view text, DocumentFormat format, const std::string& name,
                              const JobFileOptions& options) {
  const Result<DocumentValue> root = parse_document(text, format, name);
  if (!root) return root.error();
  return JobReader{name, options}.read(root.value());
}

Result<JobFile> read_job_file(const std::string& path, const JobFileOptions& options) {
  const Result<std::string> text = read_text_file(path);
  if (!text) return text.error();
  JobFileOptions own = options;
  if (own.base_directory.empty()) own.base_directory = std::filesystem::path{path}.parent_path().string();
  return read_job_text(text.value(), format_of(path, text.value()), path, own);
}

}  // namespace penstock::cli
