#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "common/base/nearest_name.hpp"
#include "tools/policy/replay/trace.hpp"

namespace penstock::policy {
namespace {

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0;;) {
    const std::size_t end = line.find(separator, begin);
    fields.push_back(line.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (end == std::string_view::npos) return fields;
    begin = end + 1;
  }
}

/// A list with names in its first line, read line by line as RFC 4180 has it: a field in quotes may contain commas,
/// line ends, and quotes, which stand there twice.
class Table {
 public:
  explicit Table(std::string_view text) : rest_(text) {
    // A file may begin with this mark of its encoding.
    if (constexpr std::string_view kMark = "\xEF\xBB\xBF"; rest_.starts_with(kMark)) rest_.remove_prefix(kMark.size());
    is_packed_ = rest_.starts_with("\x1f\x8b");
    if (is_packed_ || !next()) return;
    for (std::size_t i = 0; i < fields_.size(); ++i)
      if (!columns_.emplace(std::string{fields_[i]}, i).second) twice_ = fields_[i];
    names_ = fields_.size();
  }

  /// Every column is one of `known`, each occurs once, and those that are `needed` do. A misspelt column would
  /// otherwise be read as missing.
  std::optional<Error> wrong_columns(const std::vector<std::string_view>& known,
                                     const std::vector<std::string_view>& needed) const {
    if (is_packed_) return mistake("is compressed by gzip", "unpack it with gunzip first");
    if (names_ == 0) return mistake("the list is empty");
    if (!torn_.empty()) return mistake(torn_);
    if (!twice_.empty()) return mistake("the column `" + twice_ + "` occurs twice");
    for (const auto& [name, position] : columns_) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      NearestName nearest{name};
      for (const std::string_view each : known) nearest.offer(each);
      return mistake("no column `" + name + "` is known", nearest.remedy());
    }
    for (const std::string_view each : needed)
      if (!has(each)) return mistake("the column `" + std::string{each} + "` is missing");
    return std::nullopt;
  }

  bool has(std::string_view column) const { return columns_.contains(std::string{column}); }
  /// The next line that is not empty. Results of `text` are valid until then.
  bool next() {
    while (!rest_.empty()) {
      line_ = next_line_;
      fields_.clear();
      unquoted_.clear();
      torn_.clear();
      while (read_field()) {
      }
      if (fields_.size() > 1 || !fields_.front().empty()) return true;
    }
    return false;
  }
  std::optional<Error> wrong_line() const {
    if (line_ > kTraceLinesMax)
      return Error{ErrorCode::LimitExceeded, "line " + std::to_string(line_),
                   "is beyond the " + std::to_string(kTraceLinesMax) + " lines that a list may have",
                   "replay a part of it"};
    if (!torn_.empty()) return mistake(torn_);
    if (fields_.size() != names_) return mistake("has another number of fields than the first line");
    return std::nullopt;
  }

  /// An empty value may be written as `nan`.
  std::string_view text(std::string_view column) const {
    const auto known = columns_.find(std::string{column});
    if (known == columns_.end()) return {};
    const std::string_view field = fields_[known->second];
    return field == "nan" || field == "NaN" ? std::string_view{} : field;
  }
  /// A number of at least `least`; `missing` where the field is empty. Whole numbers may have a fraction of 0.
  Result<std::int64_t> number(std::string_view column, std::int64_t missing, std::int64_t least = 0) const {
    std::string_view digits = text(column);
    if (digits.empty()) return missing;
    if (const std::size_t point = digits.find('.'); point != std::string_view::npos) {
      const std::string_view fraction = digits.substr(point + 1);
      const bool is_zero = !fraction.empty() && fraction.find_first_not_of('0') == std::string_view::npos;
      if (!is_zero) return mistake("`" + std::string{column} + "` is no whole number: " + std::string{digits});
      digits = digits.substr(0, point);
    }
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failure != std::errc{} || end != digits.data() + digits.size() || value < least || value > kNumberMax)
      return mistake("`" + std::string{column} + "` is no amount: " + std::string{text(column)});
    return value;
  }
  Error mistake(const std::string& message, std::string remedy = {}) const {
    if (remedy.empty()) remedy = "see docs/policy.md for the formats";
    return {ErrorCode::ParseError, "line " + std::to_string(line_), message, std::move(remedy)};
  }

  static constexpr std::int64_t kNumberMax = std::int64_t{1} << 40;

 private:
  /// Whether the line goes on after it.
  bool read_field() {
    std::string_view field;
    if (rest_.starts_with('"')) {
      field = read_quoted();
    } else {
      field = rest_.substr(0, rest_.find_first_of(",\n"));
      rest_.remove_prefix(field.size());
      if (field.ends_with('\r') && !rest_.starts_with(',')) field.remove_suffix(1);
    }
    fields_.push_back(field);
    const bool goes_on = rest_.starts_with(',');
    if (rest_.starts_with('\n')) ++next_line_;
    if (!rest_.empty()) rest_.remove_prefix(1);
    return goes_on;
  }

  /// Leaves `rest_` at the comma or the line end after it.
  std::string_view read_quoted() {
    std::string& field = unquoted_.emplace_back();
    for (rest_.remove_prefix(1);;) {
      const std::size_t quote = std::min(rest_.find('"'), rest_.size());
      field += rest_.substr(0, quote);
      next_line_ += static_cast<std::size_t>(std::count(rest_.begin(), rest_.begin() + quote, '\n'));
      if (quote == rest_.size()) torn_ = "a quote is opened and not closed";
      rest_.remove_prefix(std::min(quote + 1, rest_.size()));
      if (!rest_.starts_with('"')) break;
      field += '"';
      rest_.remove_prefix(1);
    }
    const std::size_t end = std::min(rest_.find_first_of(",\n"), rest_.size());
    const std::string_view after = rest_.substr(0, end);
    if (!after.empty() && after != "\r") torn_ = "text follows between a closing quote and the comma after it";
    rest_.remove_prefix(end);
    return field;
  }

  std::string_view rest_;
  bool is_packed_ = false;
  std::size_t line_ = 1;  ///< Where `fields_` begin.
  std::size_t next_line_ = 1;
  std::size_t names_ = 0;
  std::string twice_;  ///< A column.
  std::vector<std::string_view> fields_;
  std::deque<std::string> unquoted_;  ///< Fields that stood in quotes.
  std::string torn_;                  ///< The fault in the quotes of the line.
  std::map<std::string, std::size_t> columns_;
};

/// Device memory by model, as far as it is known; shares need some amount.
std::int64_t device_memory_of(std::string_view model) {
  return model.find("M32") != std::string_view::npos ? 32'000 : 16'000;
}

Band make_band(std::string name, std::int64_t devices, const Resources& rest, std::string_view model) {
  Band band;
  band.name = std::move(name);
  band.slots = devices;
  band.light_places = std::max<std::int64_t>(1, rest.cpu / 1000);
  band.capacity = {rest.cpu, rest.memory, devices * 1000};
  band.device_memory_mib = devices > 0 ? device_memory_of(model) : 0;
  return band;
}

/// Projects by name, in the order in which they are first seen.
class ProjectNames {
 public:
  explicit ProjectNames(std::vector<std::string>& names) : names_(names) {}
  std::uint32_t position(std::string_view name) {
    const auto [at, is_new] = known_.try_emplace(std::string{name}, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.emplace_back(name);
    return at->second;
  }

 private:
  std::vector<std::string>& names_;
  std::map<std::string, std::uint32_t> known_;
};

std::int64_t priority_of_class(std::string_view name) {
  if (name == "LS" || name == "Guaranteed") return 60;
  return name == "BE" ? 40 : 50;
}

/// Reads columns into fields until the first that is no number.
class NumberReader {
 public:
  explicit NumberReader(const Table& table) : table_(table) {}
  void read(std::int64_t& into, std::string_view column, std::int64_t missing, std::int64_t least = 0) {
    if (failure_) return;
    Result<std::int64_t> value = table_.number(column, missing, least);
    if (value)
      into = *value;
    else
      failure_ = value.error();
  }
  const std::optional<Error>& failure() const { return failure_; }

 private:
  const Table& table_;
  std::optional<Error> failure_;
};

Result<ReplayJob> read_own(const Table& table, ProjectNames& projects) {
  for (const char* column : {"name", "arrives_s", "runs_s"})
    if (table.text(column).empty()) return table.mistake("`" + std::string{column} + "` is empty");
  ReplayJob job;
  job.name = table.text("name");
  job.project = projects.position(table.text("project").empty() ? "none" : table.text("project"));
  NumberReader numbers{table};
  numbers.read(job.arrives_s, "arrives_s", 0);
  numbers.read(job.runs_s, "runs_s", 1);
  numbers.read(job.members, "members", 1);
  numbers.read(job.devices, "devices", 0);
  numbers.read(job.device_share, "device_share", 1000);
  numbers.read(job.cpu_milli, "cpu_milli", 0);
  numbers.read(job.memory_mib, "memory_mib", 0);
  numbers.read(job.priority, "priority", 50, -Table::kNumberMax);
  if (numbers.failure()) return *numbers.failure();
  return job;
}

/// Bands by their model.
using ByModel = std::map<std::string, std::vector<std::uint32_t>>;

/// Reads the list of others; counts oddities.
class AlibabaReader {
 public:
  /// `untimed_runs_s`: how long jobs run in a list that does not say when they came; 0: it says.
  AlibabaReader(ReplayTrace& trace, const ByModel& by_model, std::int64_t untimed_runs_s)
      : trace_(trace), by_model_(by_model), untimed_runs_s_(untimed_runs_s) {}

  Result<ReplayJob> read(const Table& table, ProjectNames& projects) {
    ReplayJob job;
    const std::string_view service = table.text("qos");
    if (service.empty()) ++trace_.odd.without_class;
    if (untimed_runs_s_ == 0 && table.text("creation_time").empty()) ++trace_.odd.without_arrival;
    if (table.text("num_gpu").empty() || table.text("cpu_milli").empty() || table.text("memory_mib").empty())
      ++trace_.odd.without_amount;
    job.name = table.text("name");
    job.project = projects.position(service.empty() ? "none" : service);
    job.priority = priority_of_class(service);
    std::int64_t ended = 0;
    std::int64_t started = 0;
    NumberReader numbers{table};
    numbers.read(job.arrives_s, "creation_time", 0);
    numbers.read(ended, "deletion_time", kNoTime);
    numbers.read(started, "scheduled_time", kNoTime);
    numbers.read(job.devices, "num_gpu", 0);
    numbers.read(job.device_share, "gpu_milli", 0);
    numbers.read(job.cpu_milli, "cpu_milli", 0);
    numbers.read(job.memory_mib, "memory_mib", 0);
    if (numbers.failure()) return *numbers.failure();
    set_share(job);
    set_time(job, started, ended);
    left_out_ = false;
    if (!table.text("gpu_spec").empty()) find_bands(job, table.text("gpu_spec"));
    return job;
  }

  /// Adds the job that was read last, unless no band could hold it.
  void keep(ReplayJob job) {
    if (left_out_) return;
    if (open_from_s_ != kNoTime) without_end_.emplace_back(trace_.jobs.size(), open_from_s_);
    trace_.jobs.push_back(std::move(job));
  }
  /// After the last line: a job that was never deleted runs to the end.
  void finish() {
    for (const auto& [position, from_s] : without_end_)
      trace_.jobs[position].runs_s = std::max<std::int64_t>(1, last_s_ - from_s);
  }

 private:
  static constexpr std::int64_t kNoTime = -1;

  void set_share(ReplayJob& job) {
    if (job.devices == 1 && job.device_share == 0) ++trace_.odd.share_of_nothing;
    if (job.devices > 1 && job.device_share != 0 && job.device_share != 1000) ++trace_.odd.share_of_several;
    if (job.devices != 1 || job.device_share == 0) job.device_share = 1000;
  }

  void set_time(ReplayJob& job, std::int64_t started, std::int64_t ended) {
    if (untimed_runs_s_ > 0) {
      job.runs_s = untimed_runs_s_;
      return;
    }
    last_s_ = std::max({last_s_, job.arrives_s, started, ended});
    if (started == kNoTime) ++trace_.odd.without_start;
    const std::int64_t from = std::max(started, job.arrives_s);
    if (ended == kNoTime) {
      ++trace_.odd.without_end;
      open_from_s_ = from;
      return;
    }
    open_from_s_ = kNoTime;
    if (ended < from) ++trace_.odd.ends_early;
    job.runs_s = std::max<std::int64_t>(1, ended - from);
  }

  void find_bands(ReplayJob& job, std::string_view models) {
    for (const std::string_view model : split(models, '|'))
      if (const auto known = by_model_.find(std::string{model}); known != by_model_.end())
        job.bands.insert(job.bands.end(), known->second.begin(), known->second.end());
    left_out_ = job.bands.empty();
    if (left_out_) ++trace_.odd.unknown_models;
  }

  ReplayTrace& trace_;
  const ByModel& by_model_;
  const std::int64_t untimed_runs_s_;
  std::vector<std::pair<std::size_t, std::int64_t>> without_end_;  ///< Position, and since when it runs.
  std::int64_t last_s_ = 0;
  bool left_out_ = false;
  std::int64_t open_from_s_ = kNoTime;  ///< Of the job that was read last, if its end is not known.
};

std::optional<Error> mistake_in(const ReplayJob& job, const Table& table) {
  if (job.devices > kTraceDevicesMax || job.members < 1 || job.members > kTraceDevicesMax)
    return table.mistake("1 to 1024 members of at most 1024 devices each are possible");
  if (job.devices == 0 && job.device_share != 1000)
    return table.mistake("a share of a device is asked for, and no device: `devices` is 0");
  if (job.devices > 0 && (job.device_share < 1 || job.device_share > 1000))
    return table.mistake("a share of a device is from 1 to 1000 thousandths");
  if (job.device_share < 1000 && job.devices > 1) return table.mistake("a share is one of a single device");
  if (job.runs_s < 1) return table.mistake("a job runs for at least a second");
  return std::nullopt;
}

/// `timed`: a list of others says when jobs came.
std::optional<Error> wrong_columns(const Table& table, bool own, bool timed) {
  if (own)
    return table.wrong_columns({"name", "project", "arrives_s", "runs_s", "members", "devices", "device_share",
                                "cpu_milli", "memory_mib", "priority"},
                               {"name", "project", "arrives_s", "runs_s"});
  std::vector<std::string_view> needed{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"};
  if (timed) needed.insert(needed.end(), {"creation_time", "deletion_time"});
  return table.wrong_columns({"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos", "pod_phase",
                              "creation_time", "deletion_time", "scheduled_time"},
                             needed);
}

/// How many have the name of an earlier one.
std::int64_t count_same_names(const std::vector<ReplayJob>& jobs) {
  std::set<std::string_view> names;
  for (const ReplayJob& job : jobs) names.insert(job.name);
  return std::ssize(jobs) - std::ssize(names);
}

}  // namespace

std::vector<Band> equal_trace_bands(std::uint32_t count, std::int64_t devices) {
  std::vector<Band> bands;
  for (std::uint32_t i = 0; i < count; ++i)
    bands.push_back(make_band("band-" + std::to_string(i), devices, {devices * 16'000, (devices * 128) << 30, 0}, {}));
  return bands;
}

Result<TraceBands> read_trace_bands(std::string_view text) {
  Table table{text};
  const auto wrong =
      table.wrong_columns({"sn", "cpu_milli", "memory_mib", "gpu", "model"}, {"sn", "cpu_milli", "memory_mib", "gpu"});
  if (wrong) return *wrong;
  TraceBands read;
  std::set<std::string> names;
  while (table.next()) {
    if (const std::optional<Error> mistake = table.wrong_line()) return *mistake;
    Resources rest;
    std::int64_t memory_mib = 0;
    std::int64_t devices = 0;
    NumberReader numbers{table};
    numbers.read(rest.cpu, "cpu_milli", 0);
    numbers.read(memory_mib, "memory_mib", 0);
    numbers.read(devices, "gpu", 0);
    if (numbers.failure()) return *numbers.failure();
    if (devices > kTraceDevicesMax) return table.mistake("a band has at most 1024 devices");
    if (table.text("sn").empty()) return table.mistake("a band has a name");
    if (!names.emplace(table.text("sn")).second)
      return table.mistake("two bands have the name `" + std::string{table.text("sn")} + "`");
    rest.memory = memory_mib << 20;
    if (devices > 0)
      read.by_model[std::string{table.text("model")}].push_back(static_cast<std::uint32_t>(read.bands.size()));
    read.bands.push_back(make_band(std::string{table.text("sn")}, devices, rest, table.text("model")));
  }
  if (read.bands.empty()) return table.mistake("the list of bands is empty");
  return read;
}

Result<ReplayTrace> read_trace(std::string_view text, TraceBands bands, std::int64_t untimed_runs_s) {
  ReplayTrace trace;
  const ByModel& by_model = bands.by_model;
  trace.bands = std::move(bands.bands);
  ProjectNames projects{trace.projects};
  Table table{text};
  const bool own = !table.has("num_gpu");
  trace.priorities_written = own;
  const bool timed = own || table.has("creation_time");
  if (const auto wrong = wrong_columns(table, own, timed)) return *wrong;
  if (!timed && untimed_runs_s <= 0)
    return table.mistake("the list does not say when jobs came (`creation_time`) and ended (`deletion_time`)",
                         "`--lifetime S` has all of them come at once, and run for so many seconds");
  AlibabaReader reader{trace, by_model, timed ? 0 : untimed_runs_s};
  while (table.next()) {
    if (const std::optional<Error> mistake = table.wrong_line()) return *mistake;
    Result<ReplayJob> job = own ? read_own(table, projects) : reader.read(table, projects);
    if (!job) return job.error();
    if (const std::optional<Error> mistake = mistake_in(*job, table)) return *mistake;
    reader.keep(std::move(*job));
  }
  if (trace.jobs.empty())
    return table.mistake(trace.odd.unknown_models > 0 ? "no band has a model that any of the jobs asks for"
                                                      : "the list has no jobs");
  reader.finish();
  trace.odd.same_name = count_same_names(trace.jobs);
  std::stable_sort(trace.jobs.begin(), trace.jobs.end(),
                   [](const ReplayJob& a, const ReplayJob& b) { return a.arrives_s < b.arrives_s; });
  return trace;
}

}  // namespace penstock::policy
