// Bad input through the real binary: each gets one precise message and exit code 2, and changes nothing.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "tests/integration/cluster/cluster_processes.hpp"

namespace penstock {
namespace {

using Texts = std::vector<std::string>;

const std::string kExample = PENSTOCK_SOURCE_DIRECTORY "/examples/primes.toml";

void expect_refused(const BinaryRun& run, const Texts& said) {
  EXPECT_EQ(run.exit_code, 2) << run.errors;
  EXPECT_EQ(run.output, "");
  EXPECT_EQ(std::count(run.errors.begin(), run.errors.end(), '\n'), 1) << run.errors;
  EXPECT_TRUE(run.errors.starts_with("penstock: error: ")) << run.errors;
  EXPECT_LT(run.errors.size(), 600U) << run.errors;
  for (const char c : run.errors) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << run.errors;
  for (const std::string& text : said)
    EXPECT_NE(run.errors.find(text), std::string::npos) << text << " in " << run.errors;
}

enum class Refuses { Both, RunOnly };

struct BadFile {
  const char* name;
  const char* file;
  std::string content;
  Texts said;
  /// A value that only workers can judge, by their own hosts, is no mistake for a supervisor.
  Refuses refuses = Refuses::Both;
};

void PrintTo(const BadFile& bad, std::ostream* out) { *out << bad.name; }

const std::string kRunTrue = "command = \"true\"\n";

std::string subtask(const std::string& fields) { return "[[subtask]]\nkey = \"a\"\n" + fields; }

std::vector<BadFile> bad_graphs_and_programs() {
  return {
      {"Cycle",
       "job.toml",
       subtask(kRunTrue + "after = [\"c\"]\n") + "[[subtask]]\nkey = \"b\"\nafter = [\"a\"]\n" + kRunTrue +
           "[[subtask]]\nkey = \"c\"\nafter = [\"b\"]\n" + kRunTrue + "[[subtask]]\nkey = \"beside\"\n" + kRunTrue,
       {"job.toml:1:", "circle", "a -> b -> c -> a"}},
      {"SelfDependency", "job.toml", subtask(kRunTrue + "after = [\"a\"]\n"), {"job.toml:4:", "'a'", "itself"}},
      {"DuplicateKey", "job.toml", subtask(kRunTrue) + subtask(kRunTrue), {"job.toml:4:", "'a'"}},
      {"UnknownDependency",
       "job.toml",
       subtask(kRunTrue) + "[[subtask]]\nkey = \"b\"\nafter = [\"aa\"]\n" + kRunTrue,
       {"job.toml:6:", "'aa'", "did you mean 'a'"}},
      {"UnknownTemplate", "job.toml", subtask("template = \"t\"\n"), {"job.toml:3:", "'t'"}},
      {"UnknownField", "job.toml", subtask(kRunTrue + "comand = 1\n"), {"job.toml:4:", "'comand'", "command"}},
      {"UnknownOperator", "job.toml", subtask("operator = \"brun\"\n"), {"brun", "operator"}},
      {"MissingProgram",
       "job.toml",
       subtask("command = [\"no-such-program\"]\n"),
       {"no-such-program"},
       Refuses::RunOnly},
      {"MissingProgramInADirectory",
       "job.toml",
       subtask("command = [\"./no-such-program\"]\n"),
       {"no-such-program"},
       Refuses::RunOnly},
      {"InputFileThatNobodyMakes",
       "job.toml",
       subtask(kRunTrue + "input_files = [\"absent\"]\n"),
       {"job.toml:4:", "absent"}},
      {"MissingLibrary",
       "job.toml",
       "libraries = [\"absent.so\"]\n" + subtask(kRunTrue),
       {"absent.so"},
       Refuses::RunOnly},
  };
}

std::vector<BadFile> bad_requests_and_numbers() {
  return {
      {"UnknownRequiredBand", "job.toml", subtask(kRunTrue + "required = \"w9/numa-9\"\n"), {"w9"}},
      {"TooManyProcessors", "job.toml", subtask(kRunTrue + "cpu = 100000\n"), {"nearest", "--wait-for-resources"}},
      {"TooManySlots", "job.toml", subtask(kRunTrue + "slots = 1000\n"), {"nearest", "--wait-for-resources"}},
      {"TooMuchMemory", "job.toml", subtask(kRunTrue + "memory = \"1PiB\"\n"), {"nearest", "--wait-for-resources"}},
      {"NoSuchDevice", "job.toml", subtask(kRunTrue + "gpu = 1\n"), {"GPU", "--wait-for-resources"}},
      {"NegativeMemory", "job.toml", subtask(kRunTrue + "memory = -1\n"), {"job.toml:4:", "memory", "-1"}},
      {"NegativeSlots", "job.toml", subtask(kRunTrue + "slots = -0.5\n"), {"job.toml:4:", "slots"}},
      {"SlotsThatAreNoNumber", "job.toml", subtask(kRunTrue + "slots = nan\n"), {"job.toml:4:", "slots"}},
      {"AbsurdMemory", "job.toml", subtask(kRunTrue + "memory = \"1000EiB\"\n"), {"job.toml:4:", "1000EiB"}},
      {"AbsurdProcessors", "job.toml", subtask(kRunTrue + "cpu = 1e300\n"), {"job.toml:4:", "cpu"}},
      {"AbsurdRetries", "job.toml", subtask(kRunTrue + "retries = 1000000\n"), {"job.toml:4:", "retries"}},
      {"NegativeTimeLimit", "job.toml", subtask(kRunTrue + "time_limit = \"-1s\"\n"), {"job.toml:4:", "-1s"}},
      {"AbsurdTimeLimit", "job.toml", subtask(kRunTrue + "time_limit = 1e300\n"), {"job.toml:4:"}},
      {"NoTimeForTheJob",
       "job.toml",
       "job_time_limit = \"0s\"\n" + subtask(kRunTrue),
       {"job.toml:1:", "job_time_limit: is 0s, and may be from 1ms to 87600h"}},
      {"AbsurdPriority", "job.toml", subtask(kRunTrue + "priority = 99999999999\n"), {"job.toml:4:", "priority"}},
      {"IntegerOutOfRange", "job.toml", subtask(kRunTrue + "memory = 99999999999999999999\n"), {"job.toml:4:"}},
      {"AbsurdArray", "job.toml", subtask(kRunTrue + "array = \"1-9999999999\"\n"), {"job.toml:4:", "array"}},
  };
}

std::vector<BadFile> bad_grammar() {
  return {
      {"MalformedToml", "job.toml", subtask("command = true\"\n"), {"job.toml:3:"}},
      {"MalformedTomlHeader", "job.toml", "[[[subtask]]]\n", {"job.toml:1:"}},
      {"UnclosedTomlText", "job.toml", subtask("command = \"true\n"), {"job.toml:3:"}},
      {"DoubledTomlField", "job.toml", subtask(kRunTrue + kRunTrue), {"job.toml:4:", "command"}},
      {"MalformedJson", "job.json", "{\"subtask\": [\n  {\"key\": \"a\",, }\n]}", {"job.json:2:15"}},
      {"TruncatedJson", "job.json", "{\"subtask\": [", {"job.json:1:"}},
      {"DoubledJsonField", "job.json", "{\"subtask\": [{\"key\": \"a\", \"key\": \"b\"}]}", {"job.json:1:", "'key'"}},
      {"DeepJson", "job.json", "{\"subtask\": " + std::string(100000, '['), {"job.json:1:"}},
      {"JsonOfAnotherKind", "job.json", "[1, 2]", {"job.json:1:1"}},
      {"Empty", "job.toml", "", {"job.toml", "subtask"}},
      {"BinaryNoise",
       "job.toml",
       std::string("\x7f"
                   "ELF\x02\x01\x00\x00\xff\xfe",
                   10),
       {"job.toml:1:"}},
  };
}

std::vector<BadFile> bad_names() {
  return {
      {"KeyWithAControlCharacter",
       "job.toml",
       "[[subtask]]\nkey = \"a\\u0007b\"\n" + kRunTrue,
       {"job.toml:2:", "control"}},
      {"KeyWithNul", "job.json", R"({"subtask": [{"key": "a\u0000b", "command": "true"}]})", {"job.json:1:", "NUL"}},
      {"KeyThatClimbs", "job.toml", "[[subtask]]\nkey = \"../../etc/passwd\"\n" + kRunTrue, {"job.toml:2:", "'..'"}},
      {"JobNameThatClimbs", "job.toml", "name = \"a/../b\"\n" + subtask(kRunTrue), {"job.toml:1:", "'..'"}},
      {"JobNameWithALineEnd", "job.toml", "name = \"a\\nb\"\n" + subtask(kRunTrue), {"job.toml:1:", "control"}},
      {"TemplateNameWithNul",
       "job.toml",
       "[[template]]\nname = \"a\\u0000\"\n" + kRunTrue + subtask("template = \"a\"\n"),
       {"job.toml:2:", "NUL"}},
      {"NameTooLong",
       "job.toml",
       "name = \"" + std::string(5000, 'x') + "\"\n" + subtask(kRunTrue),
       {"job.toml:1:", "1024"}},
      {"EmptyKey", "job.toml", "[[subtask]]\nkey = \"\"\n" + kRunTrue, {"job.toml:2:", "empty"}},
      {"NoKey", "job.toml", "[[subtask]]\n" + kRunTrue, {"job.toml:1:", "key"}},
      {"NoProgram", "job.toml", subtask(""), {"job.toml:1:", "'a'"}},
      {"CommandWithNul", "job.toml", subtask("command = \"true\\u0000\"\n"), {"job.toml:3:", "NUL"}},
  };
}

std::vector<BadFile> bad_files() {
  std::vector<BadFile> all;
  for (const auto& some : {bad_graphs_and_programs(), bad_requests_and_numbers(), bad_grammar(), bad_names()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

class BadFiles : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadFiles, AreRefusedByRun) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write(GetParam().file, GetParam().content);
  expect_refused(run_binary({"run", path, "--slots", "2"}), GetParam().said);
}

INSTANTIATE_TEST_SUITE_P(Table, BadFiles, ::testing::ValuesIn(bad_files()),
                         [](const auto& one) { return std::string{one.param.name}; });

// The same table through a supervisor; its cluster is undisturbed by all of it.
TEST(BadInput, ASupervisorRefusesTheSameAndGoesOn) {
  ClusterProcesses cluster;
  cluster.start_worker("w1", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  for (const BadFile& bad : bad_files()) {
    if (bad.refuses == Refuses::RunOnly) continue;
    SCOPED_TRACE(bad.name);
    const ScratchDirectory scratch;
    const std::string path = scratch.write(bad.file, bad.content);
    expect_refused(run_binary({"submit", path, "--supervisor", cluster.address()}), bad.said);
  }
  EXPECT_EQ(run_binary({"jobs", "--all", "--json", "--supervisor", cluster.address()}).output, "[]\n");
  const ScratchDirectory scratch;
  const std::string good = scratch.write("good.toml", "[[subtask]]\nkey = \"a\"\ncommand = \"true\"\n");
  EXPECT_EQ(run_binary({"submit", good, "--wait", "--supervisor", cluster.address()}).exit_code, 0);
}

struct BadCall {
  const char* name;
  Texts arguments;
  Texts said;
};

void PrintTo(const BadCall& bad, std::ostream* out) { *out << bad.name; }

std::vector<BadCall> bad_calls() {
  return {
      {"UnknownCommand", {"rum"}, {"'rum'", "did you mean 'run'?"}},
      {"FileNameThatWritesToTheTerminal", {"run", "a\x1b[31m\nb"}, {"a?[31m?b"}},
      {"FlagThatWritesToTheTerminal", {"run", "--a\x1b[31m"}, {"--a?[31m"}},
      {"UnknownFlag", {"run", "job.toml", "--quick"}, {"--quick"}},
      {"FlagWithoutValue", {"run", "job.toml", "--slots"}, {"--slots"}},
      {"TwoFiles", {"run", "a.toml", "b.toml"}, {"b.toml"}},
      {"NoFile", {"run"}, {"no job was given"}},
      {"MissingFile", {"run", "absent.toml"}, {"absent.toml"}},
      {"DirectoryAsFile", {"run", "/tmp"}, {"/tmp"}},
      {"ReplayWithoutWorkflow", {"run", "job.toml", "--replay"}, {"--replay", "--wfformat"}},
      {"MissingWorkflow", {"run", "--wfformat", "absent.json", "--replay"}, {"absent.json"}},
      {"NegativeSlots", {"run", kExample, "--slots", "-1"}, {"--slots"}},
      {"AbsurdSlots", {"worker", "--slots", "1e9"}, {"--slots"}},
      {"SlotsThatAreNoNumber", {"run", "x.toml", "--slots", "two"}, {"--slots", "two"}},
      {"NoSlots", {"worker", "--slots", "0"}, {"--slots", "1 to 65535"}},
      {"NoMemory", {"worker", "--memory", "0"}, {"--memory", "more than 0"}},
      {"NoStore", {"worker", "--store-memory", "0"}, {"--store-memory", "more than 0"}},
      {"StoreLargerThanMemory",
       {"run", kExample, "--memory", "1GiB", "--store-memory", "999GB"},
       {"--store-memory", "999GB", "1GiB"}},
      {"NoWorkerName", {"worker", "--name", ""}, {"--name"}},
      {"SpillIntoAFile", {"worker", "--spill", kExample}, {"--spill " + kExample}},
      {"CheckpointsInAFile", {"worker", "--checkpoints", kExample}, {"--checkpoints " + kExample}},
      {"SpillOfARunIntoAFile", {"run", kExample, "--spill", kExample}, {"--spill " + kExample}},
      {"NegativeMemory", {"worker", "--memory=-1GiB"}, {"-1GiB"}},
      {"AbsurdMemory", {"worker", "--memory", "99999999EiB"}, {"99999999EiB"}},
      {"WorkerNameWithAControlCharacter", {"worker", "--name", "a\nb"}, {"--name"}},
      {"WorkerNameThatClimbs", {"worker", "--name", "../b"}, {"--name"}},
      {"JobNameThatClimbs", {"run", kExample, "--name", "../b"}, {"job name '../b'"}},
      {"NegativeTimeScale", {"run", "--wfformat", "f.json", "--replay", "--time-scale", "-1"}, {"--time-scale"}},
      {"TimeScaleThatIsNoNumber", {"run", "--wfformat", "f.json", "--replay", "--time-scale", "nan"}, {"--time-scale"}},
      {"NoTimeForTheJob", {"run", kExample, "--time-limit", "0s"}, {"--time-limit: is 0s, and may be from 1ms"}},
      {"NegativeTimeForTheJob", {"run", kExample, "--time-limit=-5s"}, {"'-5s': is a negative duration"}},
      {"AbsurdTimeForTheJob", {"run", kExample, "--time-limit", "90000d"}, {"90000d"}},
      {"AbsurdPriority", {"run", "x.toml", "--priority", "99999999999"}, {"--priority"}},
      {"MissingConfig", {"config", "--config", "absent.toml"}, {"absent.toml"}},
      {"UnknownSetting",
       {"config", "--set", "worker.prepare_byte_max=1"},
       {"worker.prepare_byte_max", "prepare_bytes_max"}},
      {"AbsurdSetting", {"config", "--set", "link.heartbeat=-5s"}, {"link.heartbeat=-5s"}},
      {"SettingWithoutValue", {"config", "--set", "link"}, {"link"}},
      {"UnknownLogLevel", {"supervisor", "--listen", "127.0.0.1:0", "--log-level", "loud"}, {"loud"}},
      {"MalformedAddress", {"supervisor", "--listen", "nowhere:port"}, {"nowhere:port"}},
      {"PortTooLarge", {"supervisor", "--listen", "127.0.0.1:70000"}, {"127.0.0.1:70000"}},
      {"AddressFileThatCannotBeWritten",
       {"supervisor", "--listen", "127.0.0.1:0", "--address-file", "/no/such/directory/a", "--log-level", "off"},
       {"/no/such/directory/a"}},
      {"MissingOperatorLibrary", {"worker", "--operators", "absent.so"}, {"absent.so"}},
      {"UnreachableSupervisor", {"jobs", "--supervisor", "127.0.0.1:1"}, {"127.0.0.1:1"}},
      {"UnknownSupervisorHost", {"jobs", "--supervisor", "no-such-host.invalid:1"}, {"no-such-host.invalid"}},
      {"MalformedTimeout", {"wait", "1", "--timeout", "soon"}, {"soon"}},
      {"UnknownShell", {"completion", "tcsh"}, {"tcsh", "bash, zsh or fish"}},
      {"CommandThatMoved", {"bench", "--shape", "flat"}, {"'penstock bench' is now 'penstock-lab bench'"}},
      {"WatchOfAnOrder", {"watch", "cancel", "job-1"}, {"'cancel'", "explain"}},
      {"WatchTooOften", {"watch", "jobs", "--every", "0s"}, {"--every"}},
  };
}

class BadCalls : public ::testing::TestWithParam<BadCall> {};

TEST_P(BadCalls, AreRefused) { expect_refused(run_binary(GetParam().arguments), GetParam().said); }

INSTANTIATE_TEST_SUITE_P(Table, BadCalls, ::testing::ValuesIn(bad_calls()),
                         [](const auto& one) { return std::string{one.param.name}; });

TEST(BadInput, APortInUseIsNamed) {
  ClusterProcesses cluster;
  expect_refused(run_binary({"supervisor", "--listen", cluster.address(), "--log-level", "off"}),
                 {cluster.address(), "another process listens there"});
}

// A worker could do nothing without its data port.
TEST(BadInput, AWorkerWhoseDataPortCannotBeOpenedEnds) {
  ClusterProcesses cluster;
  for (const auto& [listen, said] : {std::pair{cluster.address(), "another process listens there"},
                                     std::pair{std::string{"0.0.0.0:0"}, "this host's address"},
                                     std::pair{std::string{"[::]:0"}, "this host's address"},
                                     std::pair{std::string{"192.0.2.1:0"}, "cannot be listened on"}})
    expect_refused(
        run_binary({"worker", "--supervisor", cluster.address(), "--data-listen", listen, "--log-level", "off"}),
        {"--data-listen " + listen, said});
}

TEST(BadInput, AConfigurationIsRefusedWithLineAndColumn) {
  const ScratchDirectory scratch;
  const auto refuse = [&](const std::string& content, const Texts& said) {
    const std::string path = scratch.write("penstock.toml", content);
    for (const Texts& arguments : {Texts{"config", "--config", path}, Texts{"config"}})
      expect_refused(run_binary(BinaryCall{arguments, {}, scratch.path(), {}}), said);
  };
  refuse("[link]\nheartbeat = \"1 fortnight\"\n", {"penstock.toml:2:", "fortnight"});
  refuse("[lnk]\n", {"penstock.toml:1:", "'lnk'", "'link'"});
  refuse("[link\n", {"penstock.toml:1:"});
  refuse("[[[band]]]\n", {"penstock.toml:1:"});
  refuse("[host]\nslots = 4294967296\n", {"penstock.toml:2:", "slots"});
}

TEST(BadInput, QuestionsAboutWhatIsNotThereNameIt) {
  ClusterProcesses cluster;
  const auto ask = [&](Texts arguments, const Texts& said) {
    SCOPED_TRACE(arguments.front());
    arguments.insert(arguments.end(), {"--supervisor", cluster.address()});
    expect_refused(run_binary(arguments), said);
  };
  ask({"job", "nobody"}, {"nobody"});
  ask({"job", "job-7"}, {"job-7"});
  ask({"wait", "nobody"}, {"nobody"});
  ask({"explain", "nobody"}, {"nobody"});
  ask({"cancel", "nobody"}, {"nobody"});
  ask({"priority", "nobody", "1"}, {"nobody"});
  ask({"drain", "nobody"}, {"nobody"});
  ask({"undrain", "nobody"}, {"nobody"});
  ask({"watch", "job", "nobody"}, {"nobody"});
  for (const char* question : {"queue", "pools", "projects", "shares", "limits"})
    ask({"watch", question}, {"policy: none is in force"});
  ask({"cancel", "1", "--kill-after", "soon"}, {"soon"});
}

// A request that no band can hold is accepted with --wait-for-resources, or if the file says so: the job waits, and can
// be cancelled.
TEST(BadInput, RequestsThatAreTooLargeWaitIfTheyMay) {
  const std::string large = "[[subtask]]\nkey = \"a\"\ncommand = \"true\"\nslots = 1000\n";
  const ScratchDirectory scratch;
  const std::string plain = scratch.write("plain.toml", large);
  const std::string patient = scratch.write("patient.toml", "wait_for_resources = true\n" + large);
  for (const Texts& arguments : {Texts{"run", plain, "--wait-for-resources"}, Texts{"run", patient}}) {
    RunningBinary run{BinaryCall{arguments, {}, {}, {}}};
    ASSERT_TRUE(run.wait_for_errors("running, 0 of 1 subtasks succeeded"));
    // The command tells why: no worker has a thousand slots.
    EXPECT_TRUE(run.wait_for_errors("waiting: 'a': "));
    run.process().signal_group(SIGINT);
    const BinaryRun end = run.wait();
    EXPECT_EQ(end.exit_code, 1) << end.errors;
    EXPECT_NE(end.errors.find("cancelling"), std::string::npos) << end.errors;
    EXPECT_NE(end.output.find("cancelled"), std::string::npos) << end.output;
  }
}

}  // namespace
}  // namespace penstock
