#include "cli/jobfile/job_program.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/jobfile/job_array.hpp"

namespace penstock::cli {
namespace {

constexpr double kSlotsMax = 1e6;
constexpr std::int64_t kOutputsMax = 65534;
constexpr Duration kBurnMax = std::chrono::hours{24 * 366};

void read_milli(FieldReader& reader, std::string_view name, double low, std::int64_t& milli) {
  double value = static_cast<double>(milli) / 1000;
  reader.number(name, {low, kSlotsMax}, value);
  milli = std::llround(value * 1000);
  // A request that rounds to 0 would ask for nothing, and run on bands without the resource.
  if (value > 0 && milli == 0) reader.complain(reader.value(name), std::string{name} + " must be 0, or 0.001 at least");
}

template <class Milli>
void read_milli(FieldReader& reader, std::string_view name, double low, Milli& amount) {
  std::int64_t milli = amount.value();
  read_milli(reader, name, low, milli);
  amount = Milli{milli};
}

template <class Amount>
void read_amount(FieldReader& reader, std::string_view name, Amount& amount) {
  std::int64_t bytes = amount.value();
  reader.bytes(name, bytes);
  amount = Amount{bytes};
}

void read_request(FieldReader& reader, ProgramText& text) {
  Template& content = text.content;
  read_milli(reader, "slots", 0.001, content.request.slots);
  read_milli(reader, "cpu", 0, content.request.cpu);
  const bool had_gpu = content.request.gpu > MilliGpu{0};
  read_milli(reader, "gpu", 0, content.request.gpu);
  // Beside a template with GPUs, 0 takes them away; without one a part was meant, and 0 would run on bands without a
  // GPU.
  if (!had_gpu && reader.value("gpu") != nullptr && content.request.gpu == MilliGpu{0})
    reader.complain(reader.value("gpu"), "gpu must be 0.001 at least; leave it out for none");
  // A band of GPUs has a slot for each: a part of one leaves the rest of its slot to others, and several take as many,
  // unless the request also gives `slots`.
  const std::int64_t gpu = content.request.gpu.value();
  const bool says_gpu = reader.value("gpu") != nullptr && gpu > 0;
  if (says_gpu && reader.value("slots") == nullptr && content.request.slots == kOneSlot)
    content.request.slots = MilliSlots{gpu};
  read_amount(reader, "memory", content.request.memory);
  read_amount(reader, "memory_max", content.memory_max);
  read_amount(reader, "gpu_memory", content.request.device_memory);
  reader.named_amounts("resources", content.request.named);
  reader.selector("required", content.required);
  reader.selector("preferred", content.preferred);
  std::int64_t priority = content.priority + text.priority_added;
  reader.integer("priority", {-1'000'000'000, 1'000'000'000}, priority);
  text.priority_added = static_cast<std::int32_t>(priority - content.priority);
}

// The number of outputs, or their names.
void read_outputs(FieldReader& reader, ProgramText& text) {
  const DocumentValue* value = reader.value("outputs");
  if (value == nullptr) return;
  if (!value->is_list()) {
    std::int64_t count = 1;
    reader.integer("outputs", {1, kOutputsMax}, count);
    text.content.output_count = static_cast<std::uint16_t>(count);
    text.output_names.clear();
    return;
  }
  reader.texts("outputs", text.output_names);
  const std::size_t count = text.output_names.size();
  if (count == 0 || count > static_cast<std::size_t>(kOutputsMax))
    return reader.complain(value, "outputs must have 1 to 65534 names");
  text.content.output_count = static_cast<std::uint16_t>(count);
  std::vector<std::string> sorted = text.output_names;
  std::sort(sorted.begin(), sorted.end());
  for (const std::string& name : sorted)
    if (const Result<void> good = check_name_text(name); !good)
      return reader.complain(value, "outputs: " + good.error().message);
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    reader.complain(value, "outputs holds " + in_quotes(*twice) + " twice");
}

// `operator` or `command`; a subtask that names one replaces that of its template.
void read_what_runs(FieldReader& reader, ProgramText& text) {
  const DocumentValue* by_operator = reader.value("operator");
  const DocumentValue* by_command = reader.value("command");
  if (by_operator != nullptr && by_command != nullptr)
    return reader.complain(by_command, "has an operator and a command", "keep one of them");
  if (by_operator != nullptr) {
    reader.text("operator", text.operator_name);
    text.command.clear();
    if (const Result<void> good = check_name_text(text.operator_name); !reader.failed() && !good)
      reader.complain(by_operator, "operator: " + good.error().message);
  } else if (by_command != nullptr) {
    std::vector<std::string> words;
    reader.texts("command", words);
    text.operator_name.clear();
    if (reader.failed()) return;
    if (words.empty() || words.front().find_first_not_of(" \t\r\n") == std::string::npos)
      return reader.complain(by_command, "command is empty");
    text.shell = by_command->is_text();
    text.command = text.shell ? std::vector<std::string>{"sh", "-c", words.front()} : std::move(words);
  }
  reader.texts("args", text.arguments);
}

// `burn` and `output`, the readable form of the payload of the operators for benchmarks.
void read_payload(FieldReader& reader, ProgramText& text) {
  const DocumentValue* burn = reader.value("burn");
  const DocumentValue* output = reader.value("output");
  const DocumentValue* payload = reader.value("payload");
  if (burn != nullptr) {
    Duration duration{0};
    reader.duration("burn", duration);
    if (duration > kBurnMax) reader.complain(burn, "burn is longer than a year");
    text.burn = duration;
  }
  if (output != nullptr) {
    std::int64_t bytes = 0;
    reader.bytes("output", bytes);
    text.output_bytes = bytes;
  }
  if (burn != nullptr && text.operator_name != "burn")
    return reader.complain(burn, "only the operator 'burn' takes burn", "add operator = \"burn\"");
  if (output != nullptr && text.operator_name != "burn" && text.operator_name != "noop")
    return reader.complain(output, "only the operators 'burn' and 'noop' take output");
  if (payload == nullptr) {
    text.own_payload = text.own_payload || burn != nullptr || output != nullptr;
    return;
  }
  if (burn != nullptr || output != nullptr)
    return reader.complain(payload, "payload stands beside burn or output", "keep one");
  if (text.operator_name.empty())
    return reader.complain(payload, "only an operator takes a payload", "use args or stdin");
  if (!payload->is_text())
    return reader.complain(payload, "payload must be text, not " + std::string{kind_name(*payload)});
  text.payload = payload->text;
  text.burn.reset();
  text.output_bytes.reset();
  text.own_payload = true;
}

std::string payload_of(const ProgramText& text) {
  if (text.burn || text.output_bytes)
    return burn_payload(text.burn.value_or(Duration{0}), text.output_bytes.value_or(0));
  return text.payload;
}

// Fills program, arguments and payload of a command. Arguments after the first one that differs between subtasks go
// into the payload, so that an array of a million commands shares one template.
void build_command(const ProgramText& text, const ProgramUse& use, BuiltProgram& built) {
  const auto fill = [&](const std::string& word) { return use.item ? substitute(word, *use.item) : word; };
  Template& content = built.content;
  content.runner = RunnerKind::Command;
  content.program = fill(text.command.front());
  std::size_t constant = 1;
  const std::size_t constant_max = use.share ? (text.shell ? 2 : 1) : text.command.size();
  while (constant < constant_max && !(use.item && has_placeholder(text.command[constant]))) ++constant;
  const bool last_is_empty = text.arguments.empty() ? text.command.back().empty() : fill(text.arguments.back()).empty();
  // An empty last argument would be lost in the payload.
  if (last_is_empty) constant = text.command.size();
  for (std::size_t i = 1; i < constant; ++i) content.arguments.push_back(fill(text.command[i]));
  std::vector<std::string> rest;
  for (std::size_t i = constant; i < text.command.size(); ++i) rest.push_back(fill(text.command[i]));
  // Arguments after the text of `sh -c` count from $0.
  if (text.shell && text.command.size() == 3 && !text.arguments.empty()) rest.emplace_back("sh");
  for (const std::string& argument : text.arguments) rest.push_back(fill(argument));
  if (last_is_empty) {
    content.arguments.insert(content.arguments.end(), rest.begin(), rest.end());
    return;
  }
  for (std::size_t i = 0; i < rest.size(); ++i) built.payload += (i > 0 ? std::string(1, '\0') : "") + rest[i];
}

}  // namespace

std::string FileBase::resolve(const std::string& path) const {
  return (std::filesystem::path{directory} / path).lexically_normal().string();
}

std::string burn_payload(Duration burn, std::int64_t output_bytes) {
  std::string made;
  for (std::uint64_t number : {static_cast<std::uint64_t>(burn.count()), static_cast<std::uint64_t>(output_bytes)})
    for (int i = 0; i < 8; ++i, number >>= 8U) made += static_cast<char>(number & 0xffU);
  return made;
}

void read_limits(FieldReader& reader, const FileBase& base, ProgramText& text) {
  Template& content = text.content;
  if (reader.has("cwd")) {
    std::string directory;
    reader.text("cwd", directory);
    if (!directory.empty()) content.working_directory = base.resolve(directory);
  }
  reader.pairs("env", text.environment);
  reader.duration("time_limit", content.time_limit);
  reader.duration("kill_grace", content.kill_grace);
  reader.boolean("retryable", content.retryable);
  std::size_t on_failure = static_cast<std::size_t>(content.on_failure);
  reader.choice("on_failure", {"fail-job", "continue"}, on_failure);
  content.on_failure = static_cast<OnFailure>(on_failure);
  std::size_t overlap = static_cast<std::size_t>(content.overlap);
  reader.choice("overlap", {"allow", "never"}, overlap);
  content.overlap = static_cast<Overlap>(overlap);
  std::int64_t retries = std::max<std::int64_t>(content.attempts_max, 1) - 1;
  std::int64_t attempts = content.attempts_max;
  const DocumentValue* by_retries = reader.value("retries");
  if (by_retries != nullptr && reader.has("attempts"))
    return reader.complain(by_retries, "has retries and attempts", "keep one: attempts is retries + 1");
  reader.integer("retries", {0, 999}, retries);
  reader.integer("attempts", {1, 1000}, attempts);
  content.attempts_max = static_cast<std::uint16_t>(by_retries != nullptr ? retries + 1 : attempts);
}

void read_copies(FieldReader& reader, Template& content) {
  std::int64_t replicas = content.replicas;
  reader.integer("replicas", {1, kReplicasMax}, replicas);
  content.replicas = static_cast<std::uint16_t>(replicas);
  reader.boolean("checkpoint", content.checkpoint);
  if (reader.failed() || content.output_count <= 1) return;
  if (content.replicas > 1) reader.complain(reader.value("replicas"), "only one output can have replicas");
  if (content.checkpoint) reader.complain(reader.value("checkpoint"), "only one output can have a checkpoint");
}

void read_program(FieldReader& reader, const FileBase& base, ProgramText& text) {
  read_what_runs(reader, text);
  read_limits(reader, base, text);
  read_request(reader, text);
  read_outputs(reader, text);
  read_payload(reader, text);
  reader.text("stdin", text.content.standard_input);
  reader.bytes("output_limit", text.content.output_limit_bytes);
  read_copies(reader, text.content);
  if (reader.has("expected")) {
    reader.duration("expected", text.expected);
    text.own_expected = true;
  }
  if (reader.failed()) return;
  if (text.operator_name.empty() && !text.arguments.empty())
    if (text.command.empty()) reader.complain(nullptr, "has args but no command");
  if (!text.operator_name.empty() && !text.arguments.empty())
    reader.complain(reader.value("args"), "only a command takes args", "an operator takes a payload");
  if (!text.operator_name.empty() && !text.content.standard_input.empty())
    reader.complain(reader.value("stdin"), "only a command takes stdin", "an operator takes a payload");
  if (!text.command.empty() && text.content.output_count > 1)
    reader.complain(reader.value("outputs"), "a command makes one output, its standard output");
}

void close_template(ProgramText& text) {
  if (text.shell && !text.arguments.empty()) text.command.emplace_back("sh");
  text.command.insert(text.command.end(), text.arguments.begin(), text.arguments.end());
  text.arguments.clear();
  text.content.payload = payload_of(text);
  text.content.expected_duration = text.own_expected ? text.expected : text.burn.value_or(Duration{0});
  text.content.priority += text.priority_added;
  text.priority_added = 0;
  text.own_payload = text.own_expected = false;
}

BuiltProgram build_program(const ProgramText& text, const ProgramUse& use) {
  BuiltProgram built;
  built.content = text.content;
  const auto fill = [&](std::string& word) {
    if (use.item) word = substitute(word, *use.item);
  };
  Template& content = built.content;
  for (const auto& [name, value] : text.environment) {
    content.environment.push_back(name);
    content.environment.back().append("=").append(value);
    fill(content.environment.back());
  }
  fill(content.working_directory);
  fill(content.standard_input);
  if (text.own_expected) built.expected = text.expected;
  if (!text.command.empty()) {
    build_command(text, use, built);
    return built;
  }
  content.runner = RunnerKind::Native;
  content.program = text.operator_name;
  fill(content.program);
  // The numbers of `burn` are no text with placeholders.
  const bool textual = !text.burn && !text.output_bytes;
  if (textual) fill(content.payload);
  if (text.own_payload) {
    built.payload = payload_of(text);
    if (textual) fill(built.payload);
    if (!text.own_expected && text.burn) built.expected = *text.burn;
  }
  return built;
}

}  // namespace penstock::cli
