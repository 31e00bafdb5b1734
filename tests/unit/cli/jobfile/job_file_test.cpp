#include "cli/jobfile/job_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "cli/jobfile/graph_builder.hpp"
#include "common/base/rng.hpp"

namespace penstock::cli {
namespace {

using namespace std::chrono_literals;

JobFile toml(const std::string& text) {
  JobFileOptions options;
  options.look_for_input_files = false;
  options.base_directory = "/base";
  Result<JobFile> job = read_job_text(text, DocumentFormat::Toml, "job.toml", options);
  EXPECT_TRUE(job) << to_string(job.error());
  return job ? std::move(job).value() : JobFile{};
}

std::vector<std::string> edges_of(const Graph& graph, std::uint32_t subtask) {
  std::vector<std::string> edges;
  for (std::uint32_t edge = graph.input_offsets[subtask]; edge < graph.input_offsets[subtask + 1]; ++edge) {
    const std::uint16_t output = graph.edge_outputs.empty() ? std::uint16_t{0} : graph.edge_outputs[edge];
    edges.push_back(name_of(graph, graph.predecessors[edge]) +
                    (output == EdgeKind::kOrderOnly ? " order" : "#" + std::to_string(output)));
  }
  return edges;
}

std::string payload_of(const Graph& graph, std::uint32_t subtask) {
  if (graph.payload_offsets.empty()) return {};
  return graph.payloads.substr(graph.payload_offsets[subtask],
                               graph.payload_offsets[subtask + 1] - graph.payload_offsets[subtask]);
}

const Template& template_of(const Graph& graph, std::uint32_t subtask) {
  return graph.templates[graph.template_of[subtask]];
}

using Texts = std::vector<std::string>;

TEST(JobFile, ReadsTheTopOfTheFile) {
  const JobFile job = toml(R"(
name = "night"
owner = "ada"
priority = -3
keep = "nothing"
wait_for_resources = true
libraries = ["lib/ops.so"]
[[subtask]]
key = "a"
operator = "noop"
)");
  EXPECT_EQ(job.spec.name, "night");
  EXPECT_EQ(job.spec.owner, "ada");
  EXPECT_EQ(job.spec.priority, -3);
  EXPECT_EQ(job.spec.keep, Keep::Nothing);
  EXPECT_TRUE(job.spec.wait_for_resources);
  EXPECT_EQ(job.operator_libraries, Texts{"/base/lib/ops.so"});
  EXPECT_EQ(name_of(job.graph, 0), "a");
}

// Two halves of a device are to run on it at once.
TEST(JobFile, APartOfADeviceLeavesTheRestOfItsSlotToOthers) {
  const auto slots = [](const std::string& request) {
    const JobFile job = toml("[[subtask]]\nkey = \"a\"\ncommand = [\"true\"]\n" + request);
    return template_of(job.graph, 0).request.slots.value();
  };
  EXPECT_EQ(slots("gpu = 0.5\n"), 500);
  EXPECT_EQ(slots("gpu = 0.5\nslots = 1\n"), 1000);
  EXPECT_EQ(slots("gpu = 1\n"), 1000);
  EXPECT_EQ(slots("gpu = 2\n"), 2000) << "a band has a slot for each";
}

TEST(JobFile, SaysWhoseTheJobIsAndWhatPolicyMustKnow) {
  const JobFile job = toml(
      "project = \"vision\"\naccount = \"ann\"\npool = \"gpu\"\nweight = 2.5\nslots_max = 8\ngang = 4\n"
      "gang_max = 6\ntogether = \"rack-*\"\ngang_groups = 2\n"
      "labels = [\"a100\", \"v100\"]\nkind = \"inference\"\npreemptible = true\nqos = \"standby\"\nqueue = "
      "\"night\"\nuser_factor = "
      "0.25\ngrace = \"90s\"\n[[subtask]]\nkey = \"a\"\ncommand = [\"true\"]\n");
  EXPECT_EQ(job.spec.policy, (JobPolicy{"vision",
                                        "ann",
                                        {"gpu"},
                                        {"a100", "v100"},
                                        2500,
                                        8,
                                        4,
                                        JobKind::Inference,
                                        Preemptible::Yes,
                                        "standby",
                                        "night",
                                        250,
                                        6,
                                        "rack-*",
                                        2}));
  EXPECT_EQ(job.spec.grace, std::chrono::seconds{90});
  EXPECT_EQ(toml("[[subtask]]\nkey = \"a\"\ncommand = [\"true\"]\n").spec.policy, JobPolicy{});
  EXPECT_EQ(toml("pools = [\"gpu\", \"rest\"]\n[[subtask]]\nkey = \"a\"\ncommand = [\"true\"]\n").spec.policy.pools,
            (std::vector<std::string>{"gpu", "rest"}));
  for (const char* wrong :
       {"weight = 0", "weight = nan", "slots_max = 0", "gang = -1", "gang_max = 0", "gang_groups = 0", "together = 3",
        "kind = \"batch\"", "qos = 3", "user_factor = 1.01", "user_factor = -0.1", "pool = \"a\"\npools = [\"b\"]",
        "labels = [3]", "grace = -1", "grace = \"soon\""})
    EXPECT_FALSE(read_job_text(std::string{wrong} + "\n[[subtask]]\nkey = \"a\"\ncommand = [\"true\"]\n",
                               DocumentFormat::Toml, "j"))
        << wrong;
}

// At the top, `time_limit` is that of each subtask.
TEST(JobFile, TheLimitOfTheJobIsNotThatOfItsSubtasks) {
  const std::string rest = "\n[[subtask]]\nkey = \"a\"\ncommand = [\"true\"]\n";
  const JobFile job = toml("job_time_limit = \"10min\"\ntime_limit = \"30s\"" + rest);
  EXPECT_EQ(job.spec.time_limit, std::chrono::minutes{10});
  EXPECT_EQ(template_of(job.graph, 0).time_limit, std::chrono::seconds{30});
  EXPECT_EQ(toml("time_limit = \"30s\"" + rest).spec.time_limit, Duration{0});
  const auto refusal = [&](const std::string& value) {
    const Result<JobFile> read = read_job_text("job_time_limit = " + value + rest, DocumentFormat::Toml, "j");
    return read ? "accepted" : to_string(read.error());
  };
  EXPECT_EQ(refusal("\"0s\""),
            "j:1:18: job_time_limit: is 0s, and may be from 1ms to 87600h (leave it out for a job without one)");
  EXPECT_NE(refusal("-1").find("job_time_limit"), std::string::npos);
  EXPECT_NE(refusal("\"11000d\"").find("is 264000h, and may be from 1ms"), std::string::npos);
  EXPECT_NE(refusal("\"soon\"").find("job_time_limit"), std::string::npos);
}

TEST(JobFile, ReadsEveryFieldOfATemplate) {
  const JobFile job = toml(R"(
time_limit = "1h"
env = {A = "1", B = "2"}
[[template]]
name = "t"
command = ["prog", "x"]
args = ["y"]
cwd = "work"
stdin = "hello"
env = {B = "3", C = "4"}
slots = 0.5
cpu = 1.5
gpu = 0.25
memory = "1GiB"
gpu_memory = "2MiB"
resources = {licence = 2}
priority = 7
retries = 4
retryable = false
time_limit = "10s"
kill_grace = "1s"
on_failure = "continue"
required = "w1/numa-0"
preferred = {band = "numa-1"}
output_limit = "1MiB"
replicas = 3
checkpoint = true
overlap = "never"
expected = "3s"
[[subtask]]
key = "a"
template = "t"
)");
  const Template& t = template_of(job.graph, 0);
  EXPECT_EQ(t.name, "t");
  EXPECT_EQ(t.runner, RunnerKind::Command);
  EXPECT_EQ(t.program, "prog");
  EXPECT_EQ(t.arguments, (Texts{"x", "y"}));
  EXPECT_EQ(t.environment, (Texts{"A=1", "B=3", "C=4"}));
  EXPECT_EQ(t.working_directory, "/base/work");
  EXPECT_EQ(t.standard_input, "hello");
  EXPECT_EQ(t.request.slots, MilliSlots{500});
  EXPECT_EQ(t.request.cpu, MilliCpu{1500});
  EXPECT_EQ(t.request.gpu, MilliGpu{250});
  EXPECT_EQ(t.request.memory, kGiB);
  EXPECT_EQ(t.request.device_memory, kMiB * 2);
  EXPECT_EQ(t.request.named, (std::vector<NamedAmount>{{"licence", 2}}));
  EXPECT_EQ(t.priority, 7);
  EXPECT_EQ(t.attempts_max, 5);
  EXPECT_FALSE(t.retryable);
  EXPECT_EQ(t.time_limit, 10s);
  EXPECT_EQ(t.kill_grace, 1s);
  EXPECT_EQ(t.on_failure, OnFailure::Continue);
  EXPECT_EQ(t.required, (BandSelector{"w1", "numa-0"}));
  EXPECT_EQ(t.preferred, (BandSelector{"", "numa-1"}));
  EXPECT_EQ(t.output_limit_bytes, 1 << 20);
  EXPECT_EQ(t.replicas, 3);
  EXPECT_TRUE(t.checkpoint);
  EXPECT_EQ(t.overlap, Overlap::Never);
  EXPECT_EQ(t.expected_duration, 3s);
}

TEST(JobFile, ASubtaskReplacesWhatItsTemplateSays) {
  const JobFile job = toml(R"(
[[template]]
name = "t"
operator = "burn"
burn = "5ms"
output = "1KiB"
priority = 2
[[subtask]]
key = "a"
template = "t"
[[subtask]]
key = "b"
template = "t"
burn = "7ms"
priority = 5
[[subtask]]
key = "c"
template = "t"
memory = 100
)");
  const Graph& graph = job.graph;
  EXPECT_EQ(graph.template_of[0], graph.template_of[1]);
  EXPECT_NE(graph.template_of[0], graph.template_of[2]);
  EXPECT_EQ(template_of(graph, 2).request.memory, Bytes{100});
  const std::string five_ms{"\x40\x4b\x4c\0\0\0\0\0\0\x04\0\0\0\0\0\0", 16};
  const std::string seven_ms{"\xc0\xcf\x6a\0\0\0\0\0\0\x04\0\0\0\0\0\0", 16};
  EXPECT_EQ(template_of(graph, 0).payload, five_ms);
  EXPECT_EQ(payload_of(graph, 0), "");
  EXPECT_EQ(payload_of(graph, 1), seven_ms);
  EXPECT_EQ(template_of(graph, 0).expected_duration, 5ms);
  EXPECT_EQ(graph.expected_ns, (std::vector<std::uint64_t>{0, 7'000'000, 0}));
  EXPECT_EQ(graph.priorities, (std::vector<std::int32_t>{0, 3, 0}));
}

TEST(JobFile, DependenciesBecomeDataAndOrderEdges) {
  const JobFile job = toml(R"(
[[subtask]]
key = "a"
operator = "noop"
outputs = ["left", "right"]
[[subtask]]
key = "b"
operator = "noop"
after = "a"
[[subtask]]
key = "c"
operator = "noop"
inputs = ["b", "a#right", "a#0"]
after = ["a", "d"]
[[subtask]]
key = "d"
operator = "noop"
)");
  EXPECT_EQ(edges_of(job.graph, 1), Texts{"a order"});
  EXPECT_EQ(edges_of(job.graph, 2), (Texts{"b#0", "a#1", "a#0", "d order"}));
  EXPECT_EQ(template_of(job.graph, 0).output_count, 2);
}

TEST(JobFile, AnArrayMakesOneSubtaskForEachItem) {
  const JobFile job = toml(R"(
[[template]]
name = "make"
command = ["prog", "-v", "{i}", "x{i}"]
[[subtask]]
key = "a"
template = "make"
array = "1-3"
[[subtask]]
key = "b"
template = "make"
array = [1, "two"]
args = ["last"]
[[subtask]]
key = "c"
command = "cat"
inputs = ["a[*]"]
after = ["b[two]"]
[[subtask]]
key = "d"
command = "echo {i}"
array = "1-3"
inputs = "a[{i}]"
)");
  const Graph& graph = job.graph;
  ASSERT_EQ(graph.size(), 9U);
  EXPECT_EQ(name_of(graph, 2), "a[3]");
  EXPECT_EQ(name_of(graph, 4), "b[two]");
  // All of them share one template; what differs travels in the payload.
  EXPECT_EQ(graph.template_of[0], graph.template_of[4]);
  EXPECT_EQ(template_of(graph, 0).arguments, Texts{"-v"});
  EXPECT_EQ(payload_of(graph, 2), (std::string{"3\0x3", 4}));
  EXPECT_EQ(payload_of(graph, 4), (std::string{"two\0xtwo\0last", 13}));
  EXPECT_EQ(edges_of(graph, 5), (Texts{"a[1]#0", "a[2]#0", "a[3]#0", "b[two] order"}));
  EXPECT_EQ(edges_of(graph, 7), Texts{"a[2]#0"});
  EXPECT_EQ(template_of(graph, 6).program, "sh");
  EXPECT_EQ(template_of(graph, 6).arguments, Texts{"-c"});
  EXPECT_EQ(payload_of(graph, 7), "echo 2");
}

TEST(JobFile, ArgumentsOfAShellTextCountFromOne) {
  const JobFile job = toml(R"(
[[subtask]]
key = "a"
command = "echo $1"
args = ["x"]
)");
  EXPECT_EQ(template_of(job.graph, 0).arguments, (Texts{"-c", "echo $1"}));
  EXPECT_EQ(payload_of(job.graph, 0), (std::string{"sh\0x", 4}));
}

TEST(JobFile, AnEmptyLastArgumentIsNotLost) {
  const JobFile job = toml("[[subtask]]\nkey = \"a\"\ncommand = [\"prog\", \"x\"]\nargs = [\"\"]\n");
  EXPECT_EQ(template_of(job.graph, 0).arguments, (Texts{"x", ""}));
  EXPECT_EQ(payload_of(job.graph, 0), "");
}

TEST(JobFile, ManyDifferentCommandsShareATemplate) {
  std::string text;
  for (int i = 0; i < 400; ++i) {
    const std::string number = std::to_string(i);
    text.append("[[subtask]]\nkey = \"k")
        .append(number)
        .append("\"\ncommand = [\"prog\", \"")
        .append(number)
        .append("\"]\n");
  }
  const Graph graph = toml(text).graph;
  EXPECT_EQ(graph.templates.size(), 257U);
  EXPECT_EQ(template_of(graph, 0).name, "k0");
  EXPECT_EQ(template_of(graph, 0).arguments, Texts{"0"});
  EXPECT_EQ(template_of(graph, 399).name, "prog");
  EXPECT_EQ(payload_of(graph, 399), "399");
}

TEST(JobFile, AFileThatOneMakesAndAnotherReadsOrdersThem) {
  const JobFile job = toml(R"(
[[subtask]]
key = "read"
command = ["cat", "x"]
input_files = ["./sub/x", "/elsewhere/y"]
[[subtask]]
key = "make"
command = ["touch", "sub/x"]
output_files = "sub//x"
)");
  EXPECT_EQ(edges_of(job.graph, 0), Texts{"make order"});
  EXPECT_EQ(job.output_files, (std::vector<JobOutputFile>{{1, "/base/sub/x", true}}));
  EXPECT_EQ(template_of(job.graph, 0).working_directory, "/base");
}

TEST(JobFile, WantedSubtasksAreKept) {
  const JobFile job = toml("[[subtask]]\nkey = \"a\"\noperator = \"noop\"\narray = \"1-2\"\nwanted = true\n");
  EXPECT_EQ(job.spec.keep, Keep::Wanted);
  EXPECT_EQ(job.graph.wanted, (std::vector<std::uint32_t>{0, 1}));
}

TEST(JobFile, EveryExampleReadsWithoutError) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator{PENSTOCK_SOURCE_DIRECTORY "/examples"}) {
    const std::string end = entry.path().extension().string();
    if (end != ".toml" && end != ".json") continue;
    const Result<JobFile> job = read_job_file(entry.path().string());
    EXPECT_TRUE(job) << to_string(job.error());
    ++count;
  }
  EXPECT_GE(count, 4U);
}

// Bytes changed, removed, repeated: each damaged file is read or refused with a place, and nothing else happens. The
// sanitizers' builds make this worth its while.
TEST(JobFile, DamagedFilesAreReadOrRefused) {
  constexpr int kDamagedFiles = 300;
  Rng rng{7};
  for (const auto& entry : std::filesystem::directory_iterator{PENSTOCK_SOURCE_DIRECTORY "/examples"}) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".toml") && !path.ends_with(".json")) continue;
    const std::string whole = read_text_file(path).value();
    for (int i = 0; i < kDamagedFiles; ++i) {
      std::string text = whole;
      for (std::uint64_t wounds = 1 + rng.below(4); wounds > 0; --wounds) {
        const std::size_t at = rng.below(text.size());
        const std::size_t count = std::min<std::size_t>(rng.below(20), text.size() - at);
        switch (rng.below(4)) {
          case 0: text[at] = static_cast<char>(rng.below(256)); break;
          case 1: text.erase(at, count); break;
          case 2: text.insert(rng.below(text.size()), text.substr(at, count)); break;
          default: text[at] = "{}[]\"',=#.-9"[rng.below(12)]; break;
        }
        if (text.empty()) text = " ";
      }
      const Result<JobFile> job = read_job_text(text, format_of(path, text), "f", {});
      EXPECT_TRUE(job || job.error().subject.starts_with("f:")) << to_string(job.error());
    }
  }
}

struct BadFile {
  const char* what;
  std::string text;
  ErrorCode code;
  const char* subject;
  const char* message;
  const char* remedy = "";
};

void PrintTo(const BadFile& bad, std::ostream* out) { *out << bad.what; }

class BadJobFile : public testing::TestWithParam<BadFile> {};

TEST_P(BadJobFile, GetsOnePreciseMessage) {
  const BadFile& bad = GetParam();
  const Result<JobFile> job = read_job_text(bad.text, format_of("", bad.text), "f", {});
  ASSERT_FALSE(job);
  const Error& error = job.error();
  EXPECT_EQ(to_string(error.code), to_string(bad.code));
  EXPECT_EQ(error.subject, bad.subject);
  EXPECT_EQ(error.message, bad.message);
  EXPECT_EQ(error.remedy, bad.remedy);
}

std::string one(const std::string& fields) { return "[[subtask]]\nkey = \"a\"\noperator = \"noop\"\n" + fields; }
std::string two(const std::string& first, const std::string& second) {
  return one(first) + "\n[[subtask]]\nkey = \"b\"\noperator = \"noop\"\n" + second;
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadJobFile,
    testing::Values(
        BadFile{"Cycle", two("after = [\"b\"]", "inputs = [\"a\"]"), ErrorCode::GraphCycle, "f:1:1",
                "subtasks depend on each other in a circle: a -> b -> a", "remove one of these dependencies"},
        BadFile{"SelfDependency", one("after = [\"a\"]"), ErrorCode::SelfDependency, "f:4:10",
                "subtask 'a' depends on itself"},
        BadFile{"SelfInput", one("inputs = [\"a\"]"), ErrorCode::SelfDependency, "f:4:11",
                "subtask 'a' reads its own output"},
        BadFile{"DuplicateKey", one("") + one(""), ErrorCode::DuplicateKey, "f:4:1", "two subtasks have the key 'a'",
                "keys must be unique"},
        BadFile{"DuplicateArrayElement", one("") + "[[subtask]]\nkey = \"a\"\noperator = \"noop\"\narray = \"1-2\"",
                ErrorCode::DuplicateKey, "f:4:1", "an array and a subtask have the key 'a'", "keys must be unique"},
        BadFile{"DuplicateInput", two("", "inputs = [\"a\", \"a#0\"]"), ErrorCode::DuplicateKey, "f:8:16",
                "subtask 'b' has the input 'a#0' twice"},
        BadFile{"UnknownDependency", two("", "after = [\"aa\"]"), ErrorCode::UnknownKey, "f:8:10",
                "subtask 'b': after: no subtask has the key 'aa'", "did you mean 'a'?"},
        BadFile{"UnknownOutput", two("", "inputs = [\"a#1\"]"), ErrorCode::UnknownKey, "f:8:11",
                "subtask 'b': inputs: 'a' has no output '1'; it makes one output, 0"},
        BadFile{"WholeArrayByItsKey", two("array = \"1-2\"", "inputs = [\"a\"]"), ErrorCode::UnknownKey, "f:8:11",
                "subtask 'b': inputs: 'a' is an array", "write 'a[*]' for all of it, or name one element"},
        BadFile{"OutputInAfter", two("", "after = [\"a#0\"]"), ErrorCode::InvalidArgument, "f:8:10",
                "subtask 'b': after names an output, 'a#0'", "name the key alone, or use inputs"},
        BadFile{"UnknownField", one("slot = 1"), ErrorCode::InvalidArgument, "f:4:1",
                "subtask 'a': has no field 'slot'", "did you mean 'slots'?"},
        BadFile{"UnknownTopField", "nam = \"x\"\n" + one(""), ErrorCode::InvalidArgument, "f:1:1", "has no field 'nam'",
                "did you mean 'name'?"},
        BadFile{"UnknownTemplate",
                "[[template]]\nname = \"count\"\noperator = \"noop\"\n[[subtask]]\nkey = \"a\"\ntemplate = \"cuont\"",
                ErrorCode::UnknownKey, "f:6:12", "subtask 'a': no template has the name 'cuont'",
                "did you mean 'count'?"},
        BadFile{"NoSubtasks", "name = \"x\"", ErrorCode::InvalidArgument, "f:1:1", "has no subtasks",
                "write at least one [[subtask]]"},
        BadFile{"WfFormat", "{\"schemaVersion\": \"1.5\", \"workflow\": {}}", ErrorCode::InvalidArgument, "f:1:38",
                "is a recorded workflow in WfFormat, not a job file", "give it with --wfformat"},
        BadFile{"NoKey", "[[subtask]]\noperator = \"noop\"", ErrorCode::InvalidArgument, "f:1:1",
                "a subtask has no key"},
        BadFile{"NoProgram", "[[subtask]]\nkey = \"a\"", ErrorCode::InvalidArgument, "f:1:1",
                "subtask 'a': has no template, operator or command"},
        BadFile{"MisspeltCommand", "[[subtask]]\nkey = \"a\"\ncomand = \"x\"", ErrorCode::InvalidArgument, "f:3:1",
                "subtask 'a': has no field 'comand'", "did you mean 'command'?"},
        BadFile{"NoGpuAtAll", one("gpu = 0"), ErrorCode::InvalidArgument, "f:4:7",
                "subtask 'a': gpu must be 0.001 at least; leave it out for none"},
        BadFile{"PartsTooSmallToCount", one("gpu = 0.0004"), ErrorCode::InvalidArgument, "f:4:7",
                "subtask 'a': gpu must be 0, or 0.001 at least"},
        BadFile{"TwoPrograms", one("command = \"x\""), ErrorCode::InvalidArgument, "f:4:11",
                "subtask 'a': has an operator and a command", "keep one of them"},
        BadFile{"NegativeSlots", one("slots = -1"), ErrorCode::InvalidArgument, "f:4:9",
                "subtask 'a': slots is -1; it must be from 0.001 to 1000000"},
        BadFile{"SlotsThatAreNoNumber", one("slots = nan"), ErrorCode::InvalidArgument, "f:4:9",
                "subtask 'a': slots is nan; it must be from 0.001 to 1000000"},
        BadFile{"SlotsAsText", one("slots = \"1\""), ErrorCode::InvalidArgument, "f:4:9",
                "subtask 'a': slots must be a number, not text"},
        BadFile{"AbsurdMemory", one("memory = \"100EiB\""), ErrorCode::InvalidArgument, "f:4:10",
                "subtask 'a': memory: '100EiB' is more bytes than 64 bits can count"},
        BadFile{"NegativeMemory", one("memory = -1"), ErrorCode::InvalidArgument, "f:4:10",
                "subtask 'a': memory: '-1' is a negative amount of bytes",
                "write it like 512MiB; units are B, kB, MB, GB, TB, PB, EB, KiB, MiB, GiB, TiB, PiB, EiB"},
        BadFile{"NegativeRetries", one("retries = -1"), ErrorCode::InvalidArgument, "f:4:11",
                "subtask 'a': retries is -1; it must be from 0 to 999"},
        BadFile{"TimeWithoutUnit", one("time_limit = \"10\""), ErrorCode::InvalidArgument, "f:4:14",
                "subtask 'a': time_limit: '10' is a duration without a unit",
                "write it like 10s or 250ms; units are ns, us, ms, s, min, h, d"},
        BadFile{"ControlCharacter", "[[subtask]]\nkey = \"a\\tb\"\noperator = \"noop\"", ErrorCode::InvalidArgument,
                "f:2:7", "subtask: the name 'a?b' contains a control character"},
        BadFile{"Nul", "{\"name\": \"a\\u0000b\", \"subtask\": []}", ErrorCode::InvalidArgument, "f:1:10",
                "name contains NUL"},
        BadFile{"DotDot", "[[subtask]]\nkey = \"../a\"\noperator = \"noop\"", ErrorCode::InvalidArgument, "f:2:7",
                "subtask: the name '../a' contains '..' as a part of a path"},
        BadFile{"DotDotInFile", one("output_files = [\"../x\"]"), ErrorCode::InvalidArgument, "f:4:17",
                "subtask 'a': the name '../x' contains '..' as a part of a path", "give an absolute path"},
        BadFile{"TwoWriters", two("output_files = [\"/x/y\"]", "output_files = [\"/x/./y\"]"), ErrorCode::DuplicateKey,
                "f:8:17", "the file '/x/y' is made by subtask 'a' and by subtask 'b'"},
        BadFile{"AbsentFile", one("input_files = [\"/nonexistent/x\"]"), ErrorCode::NotFound, "f:4:16",
                "subtask 'a': there is no file '/nonexistent/x', and no subtask makes it"},
        BadFile{"OwnFile", one("input_files = [\"/x/y\"]\noutput_files = [\"/x/y\"]"), ErrorCode::SelfDependency,
                "f:4:16", "subtask 'a' reads the file '/x/y' that it makes itself"},
        BadFile{"HugeArray", one("array = \"1-99999999999\""), ErrorCode::LimitExceeded, "f:4:9",
                "subtask 'a': array: '1-99999999999' makes more than 50000000 subtasks"},
        BadFile{"UnknownChoice", one("on_failure = \"contineu\""), ErrorCode::InvalidArgument, "f:4:14",
                "subtask 'a': on_failure is 'contineu'; it must be 'fail-job' or 'continue'",
                "did you mean 'continue'?"},
        BadFile{"BurnOfAnotherOperator", one("burn = \"5ms\""), ErrorCode::InvalidArgument, "f:4:8",
                "subtask 'a': only the operator 'burn' takes burn", "add operator = \"burn\""},
        BadFile{"MalformedToml", "name = ", ErrorCode::ParseError, "f:1:8",
                "Error while parsing key-value pair: encountered end-of-file"}),
    [](const testing::TestParamInfo<BadFile>& row) { return std::string{row.param.what}; });

}  // namespace
}  // namespace penstock::cli
