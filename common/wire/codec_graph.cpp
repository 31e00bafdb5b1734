// Codec of graphs, templates and job specifications.
#include "common/wire/codec_parts.hpp"

namespace penstock::wire {
namespace {

void write_selector(const BandSelector& selector, schema::BandSelector::Builder out) {
  out.setWorker(text(selector.worker));
  out.setBand(text(selector.band));
}

BandSelector read_selector(schema::BandSelector::Reader in) { return {text(in.getWorker()), text(in.getBand())}; }

bool all_zero(const std::vector<std::uint32_t>& column) {
  for (const std::uint32_t value : column)
    if (value != 0) return false;
  return true;
}

void write_runs(const JobRuns& runs, schema::JobRuns::Builder out) {
  out.setNumber(runs.number);
  out.setWholeLow(runs.whole.low);
  out.setWholeHigh(runs.whole.high);
  if (runs.earlier.empty()) return;
  auto earlier = out.initEarlier(static_cast<unsigned>(runs.earlier.size()));
  for (unsigned i = 0; i < earlier.size(); ++i) {
    earlier[i].setJob(runs.earlier[i].job.value());
    earlier[i].setState(static_cast<std::uint8_t>(runs.earlier[i].state));
    earlier[i].setSubmittedMs(runs.earlier[i].submitted_ms);
    earlier[i].setEndedMs(runs.earlier[i].ended_ms);
  }
}

JobRuns read_runs(schema::JobRuns::Reader in) {
  JobRuns runs{in.getNumber(), {}, {in.getWholeLow(), in.getWholeHigh()}};
  for (const schema::EarlierRun::Reader run : in.getEarlier())
    runs.earlier.push_back({JobId{run.getJob()}, enumerator(run.getState(), JobState::Cancelled, "state"),
                            run.getSubmittedMs(), run.getEndedMs()});
  return runs;
}

}  // namespace

void refuse(const char* what) { KJ_FAIL_REQUIRE("a value is out of range", what); }

void write_texts(const std::vector<std::string>& texts, capnp::List<capnp::Text>::Builder list) {
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, text(texts[i]));
}

std::vector<std::string> read_texts(capnp::List<capnp::Text>::Reader list) {
  std::vector<std::string> texts;
  texts.reserve(list.size());
  for (const auto entry : list) texts.push_back(text(entry));
  return texts;
}

void write_error(const Error& error, schema::Error::Builder out) {
  out.setCode(static_cast<std::uint16_t>(error.code));
  out.setSubject(text(error.subject));
  out.setMessage(text(error.message));
  out.setRemedy(text(error.remedy));
}

Error read_error(schema::Error::Reader in) {
  // Codes of a newer peer are kept unchanged; they print as `Unknown`.
  return {static_cast<ErrorCode>(in.getCode()), text(in.getSubject()), text(in.getMessage()), text(in.getRemedy())};
}

void write_named(const std::vector<NamedAmount>& amounts, capnp::List<schema::NamedAmount>::Builder out) {
  for (unsigned i = 0; i < out.size(); ++i) {
    out[i].setName(text(amounts[i].name));
    out[i].setAmount(amounts[i].amount);
  }
}

std::vector<NamedAmount> read_named(capnp::List<schema::NamedAmount>::Reader in) {
  std::vector<NamedAmount> amounts;
  for (const auto entry : in) amounts.push_back(NamedAmount{text(entry.getName()), entry.getAmount()});
  return amounts;
}

void write_resources(const ResourceVector& resources, schema::ResourceVector::Builder out) {
  out.setMilliSlots(resources.slots.value());
  out.setMilliCpu(resources.cpu.value());
  out.setMilliGpu(resources.gpu.value());
  out.setMemoryBytes(resources.memory.value());
  out.setDeviceMemoryBytes(resources.device_memory.value());
  if (resources.named.empty()) return;
  write_named(resources.named, out.initNamed(static_cast<unsigned>(resources.named.size())));
}

ResourceVector read_resources(schema::ResourceVector::Reader in) {
  ResourceVector resources;
  resources.slots = MilliSlots{in.getMilliSlots()};
  resources.cpu = MilliCpu{in.getMilliCpu()};
  resources.gpu = MilliGpu{in.getMilliGpu()};
  resources.memory = Bytes{in.getMemoryBytes()};
  resources.device_memory = Bytes{in.getDeviceMemoryBytes()};
  resources.named = read_named(in.getNamed());
  return resources;
}

void write_template(const Template& content, schema::Template::Builder out) {
  out.setName(text(content.name));
  out.setRunner(static_cast<std::uint8_t>(content.runner));
  out.setProgram(text(content.program));
  write_texts(content.arguments, out.initArguments(static_cast<unsigned>(content.arguments.size())));
  write_texts(content.environment, out.initEnvironment(static_cast<unsigned>(content.environment.size())));
  out.setWorkingDirectory(text(content.working_directory));
  out.setStandardInput(data(content.standard_input));
  out.setPayload(data(content.payload));
  write_resources(content.request, out.initRequest());
  write_selector(content.required, out.initRequired());
  write_selector(content.preferred, out.initPreferred());
  out.setPriority(content.priority);
  out.setAttemptsMax(content.attempts_max);
  out.setRetryable(content.retryable);
  out.setOnFailure(static_cast<std::uint8_t>(content.on_failure));
  out.setTimeLimitNs(content.time_limit.count());
  out.setKillGraceNs(content.kill_grace.count());
  out.setExpectedDurationNs(content.expected_duration.count());
  out.setOutputCount(content.output_count);
  out.setReplicas(content.replicas);
  out.setCheckpoint(content.checkpoint);
  out.setOutputLimitBytes(content.output_limit_bytes);
  out.setMemoryMaxBytes(content.memory_max.value());
  out.setOverlap(static_cast<std::uint8_t>(content.overlap));
}

Template read_template(schema::Template::Reader in) {
  Template content;
  content.name = text(in.getName());
  content.runner = enumerator(in.getRunner(), RunnerKind::Process, "runner");
  content.program = text(in.getProgram());
  content.arguments = read_texts(in.getArguments());
  content.environment = read_texts(in.getEnvironment());
  content.working_directory = text(in.getWorkingDirectory());
  content.standard_input = data(in.getStandardInput());
  content.payload = data(in.getPayload());
  content.request = read_resources(in.getRequest());
  content.required = read_selector(in.getRequired());
  content.preferred = read_selector(in.getPreferred());
  content.priority = in.getPriority();
  content.attempts_max = in.getAttemptsMax();
  content.retryable = in.getRetryable();
  content.on_failure = enumerator(in.getOnFailure(), OnFailure::Continue, "onFailure");
  content.time_limit = Duration{in.getTimeLimitNs()};
  content.kill_grace = Duration{in.getKillGraceNs()};
  content.expected_duration = Duration{in.getExpectedDurationNs()};
  content.output_count = in.getOutputCount();
  content.replicas = in.getReplicas();
  content.checkpoint = in.getCheckpoint();
  content.output_limit_bytes = in.getOutputLimitBytes();
  content.memory_max = Bytes{in.getMemoryMaxBytes()};
  content.overlap = enumerator(in.getOverlap(), Overlap::Never, "overlap");
  return content;
}

void write_graph(const Graph& graph, schema::Graph::Builder out) {
  const auto count = static_cast<unsigned>(graph.size());
  out.setSubtaskCount(count);
  auto templates = out.initTemplates(static_cast<unsigned>(graph.templates.size()));
  for (unsigned i = 0; i < templates.size(); ++i) write_template(graph.templates[i], templates[i]);
  if (!all_zero(graph.template_of)) write_column(graph.template_of, out.initTemplateOf(count));
  if (!graph.predecessors.empty()) {
    write_column(graph.input_offsets, out.initInputOffsets(count + 1));
    write_column(graph.predecessors, out.initPredecessors(static_cast<unsigned>(graph.edge_count())));
  }
  if (!graph.edge_outputs.empty())
    write_column(graph.edge_outputs, out.initEdgeOutputs(static_cast<unsigned>(graph.edge_count())));
  if (!graph.priorities.empty()) write_column(graph.priorities, out.initPriorities(count));
  if (!graph.expected_ns.empty()) write_column(graph.expected_ns, out.initExpectedNs(count));
  if (!graph.payload_offsets.empty()) {
    write_column(graph.payload_offsets, out.initPayloadOffsets(count + 1));
    out.setPayloads(data(graph.payloads));
  }
  if (!graph.name_offsets.empty()) {
    write_column(graph.name_offsets, out.initNameOffsets(count + 1));
    out.setNames(data(graph.names));
  }
  if (!graph.wanted.empty()) write_column(graph.wanted, out.initWanted(static_cast<unsigned>(graph.wanted.size())));
}

Graph read_graph(schema::Graph::Reader in) {
  Graph graph;
  const std::uint32_t count = in.getSubtaskCount();
  for (const auto entry : in.getTemplates()) graph.templates.push_back(read_template(entry));
  // A chunk without columns costs its sender nothing; the count bounds its cost here.
  constexpr std::uint32_t kChunkSubtasksMax = 16U << 20U;
  if (count > kChunkSubtasksMax) refuse("subtaskCount");
  if (in.hasTemplateOf())
    read_column(in.getTemplateOf(), graph.template_of);
  else
    graph.template_of.assign(count, 0);
  if (in.hasInputOffsets())
    read_column(in.getInputOffsets(), graph.input_offsets);
  else
    graph.input_offsets.assign(std::size_t{count} + 1, 0);
  read_column(in.getPredecessors(), graph.predecessors);
  read_column(in.getEdgeOutputs(), graph.edge_outputs);
  read_column(in.getPriorities(), graph.priorities);
  read_column(in.getExpectedNs(), graph.expected_ns);
  read_column(in.getPayloadOffsets(), graph.payload_offsets);
  graph.payloads = data(in.getPayloads());
  read_column(in.getNameOffsets(), graph.name_offsets);
  graph.names = data(in.getNames());
  read_column(in.getWanted(), graph.wanted);
  if (graph.template_of.size() != count) refuse("templateOf");
  return graph;
}

void write_spec(const JobSpec& spec, schema::JobSpec::Builder out) {
  out.setName(text(spec.name));
  out.setOwner(text(spec.owner));
  out.setPriority(spec.priority);
  out.setKeep(static_cast<std::uint8_t>(spec.keep));
  out.setWaitForResources(spec.wait_for_resources);
  out.setTrace(spec.trace);
  const JobPolicy& policy = spec.policy;
  if (!policy.project.empty()) out.setProject(text(policy.project));
  if (!policy.account.empty()) out.setAccount(text(policy.account));
  if (!policy.pools.empty()) out.setPool(text(policy.pools.front()));
  if (policy.pools.size() > 1)
    write_texts({policy.pools.begin() + 1, policy.pools.end()},
                out.initPoolsAfter(static_cast<unsigned>(policy.pools.size() - 1)));
  if (!policy.labels.empty()) write_texts(policy.labels, out.initLabels(static_cast<unsigned>(policy.labels.size())));
  out.setWeight(policy.weight);
  out.setSlotsMax(policy.slots_max);
  out.setGang(policy.gang);
  out.setGangMax(policy.gang_max);
  if (!policy.together.empty()) out.setTogether(text(policy.together));
  out.setGangGroups(policy.gang_groups);
  out.setKind(static_cast<std::uint8_t>(policy.kind));
  out.setPreemptible(static_cast<std::uint8_t>(policy.preemptible));
  if (!policy.qos.empty()) out.setQos(text(policy.qos));
  if (!policy.queue.empty()) out.setQueue(text(policy.queue));
  out.setUserFactor(policy.user_factor);
  out.setGraceNs(spec.grace.count());
  out.setSubmitter(spec.submitter);
  out.setTimeLimitNs(spec.time_limit.count());
  if (spec.share.any()) out.setShare(text(*spec.share));
  if (spec.secrets.any()) write_secrets(*spec.secrets, out.initSecrets(static_cast<unsigned>(spec.secrets->size())));
  out.setNameUse(static_cast<std::uint8_t>(spec.name_use));
  out.setContentLow(spec.content.low);
  out.setContentHigh(spec.content.high);
  if (spec.runs.any()) write_runs(*spec.runs, out.initRuns());
  if (!spec.parent.any()) return;
  const ParentRun& run = *spec.parent;
  schema::ParentRun::Builder parent = out.initParent();
  parent.setJob(run.id.job.value());
  parent.setSubtask(run.id.index.value());
  parent.setAttempt(run.attempt.value());
  parent.setIdentityHigh(run.identity.high);
  parent.setIdentityLow(run.identity.low);
  parent.setDepth(run.depth);
}

JobSpec read_spec(schema::JobSpec::Reader in) {
  JobSpec spec;
  spec.name = text(in.getName());
  spec.owner = text(in.getOwner());
  spec.priority = in.getPriority();
  spec.keep = enumerator(in.getKeep(), Keep::Nothing, "keep");
  spec.wait_for_resources = in.getWaitForResources();
  spec.trace = in.getTrace();
  spec.policy.project = text(in.getProject());
  spec.policy.account = text(in.getAccount());
  if (std::string first = text(in.getPool()); !first.empty()) spec.policy.pools.push_back(std::move(first));
  for (std::string& pool : read_texts(in.getPoolsAfter())) spec.policy.pools.push_back(std::move(pool));
  spec.policy.labels = read_texts(in.getLabels());
  spec.policy.weight = in.getWeight();
  spec.policy.slots_max = in.getSlotsMax();
  spec.policy.gang = in.getGang();
  spec.policy.gang_max = in.getGangMax();
  spec.policy.together = text(in.getTogether());
  spec.policy.gang_groups = in.getGangGroups();
  spec.policy.kind = enumerator(in.getKind(), JobKind::Inference, "kind");
  spec.policy.preemptible = enumerator(in.getPreemptible(), Preemptible::No, "preemptible");
  spec.policy.qos = text(in.getQos());
  spec.policy.queue = text(in.getQueue());
  spec.policy.user_factor = in.getUserFactor();
  spec.grace = Duration{in.getGraceNs()};
  if (spec.grace < Duration{0}) refuse("grace");
  spec.submitter = in.getSubmitter();
  spec.time_limit = Duration{in.getTimeLimitNs()};
  if (in.hasShare()) spec.share = Seldom{text(in.getShare())};
  if (in.getSecrets().size() > 0) spec.secrets = Seldom{read_secrets(in.getSecrets())};
  spec.name_use = enumerator(in.getNameUse(), NameUse::Rerun, "nameUse");
  spec.content = {in.getContentLow(), in.getContentHigh()};
  if (in.hasRuns()) spec.runs = Seldom{read_runs(in.getRuns())};
  if (in.hasParent()) {
    const schema::ParentRun::Reader parent = in.getParent();
    spec.parent = Seldom{ParentRun{{JobId{parent.getJob()}, SubtaskIndex{parent.getSubtask()}},
                                   Attempt{parent.getAttempt()},
                                   {parent.getIdentityHigh(), parent.getIdentityLow()},
                                   parent.getDepth()}};
  }
  return spec;
}

std::size_t size_of(const Template& content) {
  std::size_t bytes = 320 + content.name.size() + content.program.size() + content.payload.size() +
                      content.standard_input.size() + content.working_directory.size();
  for (const std::string& argument : content.arguments) bytes += argument.size() + 24;
  for (const std::string& variable : content.environment) bytes += variable.size() + 24;
  return bytes;
}

std::size_t size_of(const Graph& graph) {
  std::size_t bytes = 256 + graph.size() * 8 + graph.edge_count() * 4 + graph.edge_outputs.size() * 2 +
                      graph.priorities.size() * 4 + graph.expected_ns.size() * 8 + graph.payload_offsets.size() * 4 +
                      graph.payloads.size() + graph.name_offsets.size() * 4 + graph.names.size() +
                      graph.wanted.size() * 4;
  for (const Template& entry : graph.templates) bytes += size_of(entry);
  return bytes;
}

}  // namespace penstock::wire

namespace penstock {

std::vector<std::uint64_t> encode_graph(const Graph& graph) {
  return wire::build_words<schema::Graph>(wire::size_of(graph),
                                          [&](schema::Graph::Builder root) { wire::write_graph(graph, root); });
}

Result<Graph> decode_graph(std::span<const std::byte> bytes) {
  return wire::parse<schema::Graph, Graph>(bytes, [](schema::Graph::Reader root) { return wire::read_graph(root); });
}

}  // namespace penstock
