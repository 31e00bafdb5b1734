#include "common/config/config_file.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "common/protocol/settings.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

using namespace std::chrono_literals;

FileConfig parsed(std::string_view text) {
  const Result<FileConfig> config = parse_config(text, "penstock.toml");
  EXPECT_TRUE(config.has_value()) << to_string(config.error());
  return config.value_or({});
}

std::string refused(std::string_view text) {
  const Result<FileConfig> config = parse_config(text, "penstock.toml");
  return config.has_value() ? "accepted" : to_string(config.error());
}

TEST(ConfigFile, EmptyFileIsTheDefaults) { EXPECT_EQ(print_config(parsed("")), print_config(FileConfig{})); }

TEST(ConfigFile, EveryTableIsRead) {
  const FileConfig config = parsed(
      "[link]\nheartbeat = \"250ms\"\nwindow_frames = 7\n"
      "[wire]\nframe_bytes_max = \"32MiB\"\n"
      "[graph]\nsubtasks_max = 1000\nedges_max = 5_000\n"
      "[supervisor]\nattempts_max = 5\nlink_bytes_per_second = \"10GB\"\n"
      "[worker]\nprepare_bytes_max = 1073741824\nkill_grace = \"0s\"\n"
      "[host]\nslots = 4\nmemory = \"8GiB\"\ncpu_bands = 1\ngpus = false\ngpus_together = true\n"
      "nvml_library = \"/opt/nvml.so\"\n"
      "labels = [\"a100\", \"rack-7\"]\n");
  EXPECT_EQ(config.link.heartbeat, 250ms);
  EXPECT_EQ(config.link.window_frames, 7U);
  EXPECT_EQ(config.wire.frame_bytes_max, 32U << 20U);
  EXPECT_EQ(config.supervisor.graph.subtasks_max, 1000U);
  EXPECT_EQ(config.supervisor.graph.edges_max, 5000U);
  EXPECT_EQ(config.supervisor.attempts_max, 5);
  EXPECT_EQ(config.supervisor.link_bytes_per_second, 10'000'000'000);
  EXPECT_EQ(config.worker.prepare_bytes_max, kGiB);
  EXPECT_EQ(config.worker.kill_grace, Duration{0});
  EXPECT_EQ(config.topology, (TopologyOptions{4, kGiB * 8, 1, false, true, "/opt/nvml.so", {}}));
  EXPECT_EQ(config.labels, (std::vector<std::string>{"a100", "rack-7"}));
  EXPECT_EQ(parsed(print_config(config)).labels, config.labels);
}

TEST(ConfigFile, LabelsThatAWorkerCannotHaveAreRefusedWhereTheyStand) {
  EXPECT_EQ(refused("[host]\nlabels = [\"a\", \"a\"]\n"),
            "penstock.toml:2:10: labels has the label 'a' twice (name it once)");
  EXPECT_NE(refused("[host]\nlabels = \"a\"\n").find("a list like [\"a100\"]"), std::string::npos);
  EXPECT_NE(refused("[host]\nlabels = [3]\n").find("texts in quotes"), std::string::npos);
  EXPECT_NE(refused("[host]\nlabels = [\"\"]\n").find("1 to 255 bytes"), std::string::npos);
  EXPECT_NE(refused("[host]\nlabel = [\"a\"]\n").find("'labels'"), std::string::npos);
}

TEST(ConfigFile, BandsAreRead) {
  const FileConfig config = parsed(
      "[[band]]\nname = \"numa-0\"\nslots = 3\nmemory = \"1GiB\"\nmemory_hard_limit = \"2GiB\"\nprocessors = [0, 2]\n"
      "numa_node = 0\nnamed = {licence = 2, fpga = 1}\n"
      "[[band]]\nname = \"gpu-0\"\ndisabled = true\n");
  ASSERT_EQ(config.topology.bands.size(), 2U);
  const BandOverride& band = config.topology.bands[0];
  EXPECT_EQ(band.slots, 3U);
  EXPECT_EQ(band.memory, kGiB);
  EXPECT_EQ(band.memory_hard_limit, kGiB * 2);
  EXPECT_EQ(band.processors, (std::vector<int>{0, 2}));
  EXPECT_EQ(band.numa_node, 0U);
  EXPECT_EQ(band.named, (std::vector<NamedAmount>{{"fpga", 1}, {"licence", 2}}));
  EXPECT_TRUE(config.topology.bands[1].disabled);
  EXPECT_EQ(config.topology.bands[1].slots, std::nullopt);
}

TEST(ConfigFile, WhatIsPrintedReadsBackToTheSame) {
  FileConfig config;
  // Every setting at its minimum but one away from the default, then at its maximum.
  const auto change = [](bool upwards) {
    return
        [upwards](const SettingText&, auto& field, auto minimum, auto maximum) { field = upwards ? maximum : minimum; };
  };
  for (const bool upwards : {false, true}) {
    visit_settings(config.link, change(upwards));
    visit_settings(config.wire, change(upwards));
    visit_settings(config.audit, change(upwards));
    visit_settings(config.supervisor.users, change(upwards));
    visit_settings(config.supervisor.graph, change(upwards));
    visit_settings(config.supervisor, change(upwards));
    visit_settings(config.worker, change(upwards));
    config.link.heartbeat = 20ms;
    config.link.silence_max = 7s;
    config.wire.frame_bytes_target = 4096;
    config.topology = {4, kGiB * 8, 1, false, true, "a\"b\\c\n", {}};
    BandOverride band{.name = "numa-0"};
    band.slots = 3;
    band.memory = Bytes{1000};
    band.memory_hard_limit = kGiB;
    band.numa_node = 1;
    band.processors = std::vector<int>{1, 2};
    band.named = {{"a b", 1}, {"c", 2}};
    BandOverride other{.name = "gpu-0"};
    other.disabled = true;
    config.topology.bands = {band, other};
    const std::string printed = print_config(config);
    const FileConfig again = parsed(printed);
    EXPECT_EQ(print_config(again), printed);
    EXPECT_EQ(again.topology, config.topology);
    EXPECT_EQ(again.supervisor.graph.edges_max, config.supervisor.graph.edges_max);
    EXPECT_EQ(again.worker.prepare_bytes_max, config.worker.prepare_bytes_max);
  }
}

TEST(ConfigFile, DefaultsAreWithinTheirRanges) { parsed(print_config(FileConfig{})); }

TEST(ConfigFile, EverySettingIsExplained) {
  const std::string printed = print_config(FileConfig{});
  EXPECT_NE(printed.find("# an idle side sends a heartbeat this often. from \"10ms\" to \"1h\".\nheartbeat = \"1s\"\n"),
            std::string::npos)
      << printed;
}

TEST(ConfigFile, LimitsOfUsersHaveATableOfTheirOwn) {
  const FileConfig config = parsed("[users]\njobs_max = 7\nrequests_per_second = 0\n");
  EXPECT_EQ(config.supervisor.users.jobs_max, 7U);
  EXPECT_EQ(config.supervisor.users.requests_per_second, 0U) << "no limit";
  EXPECT_NE(refused("[users]\njobs_max = 0\n").find("jobs_max"), std::string::npos);
  EXPECT_NE(refused("[users]\nrequests_burst = 0\n").find("requests_burst"), std::string::npos);
}

TEST(ConfigFile, ATextIsPrintedInQuotesAndReadBack) {
  const FileConfig config = parsed("[metrics]\nsupervisor_listen = \"[::1]:9465\"\nconnections_max = 3\n");
  EXPECT_EQ(config.metrics.supervisor_listen, "[::1]:9465");
  EXPECT_EQ(config.metrics.connections_max, 3U);
  EXPECT_EQ(parsed(print_config(config)).metrics.supervisor_listen, "[::1]:9465");
  FileConfig changed;
  ASSERT_TRUE(change_settings(changed, {"metrics.worker_listen=9466", "metrics.supervisor_listen=127.0.0.1:0"}));
  EXPECT_EQ(changed.metrics.worker_listen, "9466");
  EXPECT_EQ(changed.metrics.supervisor_listen, "127.0.0.1:0");
  EXPECT_FALSE(change_settings(changed, {"metrics.worker_listen=true"}));
}

TEST(ConfigFile, ASwitchIsTrueOrFalse) {
  EXPECT_TRUE(parsed("[audit]\nsyslog = true\n").audit.syslog);
  EXPECT_FALSE(parsed("[audit]\nsyslog = false\n").audit.syslog);
  const std::string said = refused("[audit]\nsyslog = 1\n");
  EXPECT_NE(said.find("true or false"), std::string::npos) << said;
}

TEST(ConfigFile, AnEnumerationIsOneOfItsWords) {
  EXPECT_EQ(parsed("[worker]\ntransfer_compression = \"off\"\n").worker.transfer_compression, Compression::Off);
  EXPECT_EQ(parsed("[worker]\ntransfer_compression = \"on\"\n").worker.transfer_compression, Compression::On);
  for (const char* wrong : {"\"always\"", "1", "true"}) {
    const std::string said = refused("[worker]\ntransfer_compression = " + std::string{wrong} + "\n");
    EXPECT_NE(said.find("transfer_compression is none of its words"), std::string::npos) << said;
    EXPECT_NE(said.find("\"off\", \"auto\", \"on\""), std::string::npos) << said;
  }
}

TEST(ConfigFile, UnknownKeyNamesTheNearestAndItsPlace) {
  EXPECT_EQ(refused("[link]\nwindow_frames = 3\nhartbeat = \"1s\"\n"),
            "penstock.toml:3:1: there is no setting 'hartbeat' here (did you mean 'heartbeat'?)");
  EXPECT_EQ(refused("[wroker]\n"), "penstock.toml:1:2: there is no table 'wroker' (did you mean 'worker'?)");
  EXPECT_EQ(refused("[host]\nslot = 3\n"),
            "penstock.toml:2:1: there is no setting 'slot' here (did you mean 'slots'?)");
  EXPECT_EQ(refused("[[band]]\nname = \"x\"\nmemroy = 3\n"),
            "penstock.toml:3:1: there is no setting 'memroy' here (did you mean 'memory'?)");
  EXPECT_EQ(refused("[link]\ncolour = 1\n"),
            "penstock.toml:2:1: there is no setting 'colour' here (`penstock config` prints all)");
}

TEST(ConfigFile, ValueOutOfItsRangeIsRefused) {
  EXPECT_EQ(refused("[link]\nheartbeat = \"1ms\"\n"),
            "penstock.toml:2:13: heartbeat is 1ms (it must be from 10ms to 1h)");
  EXPECT_EQ(refused("[wire]\nframe_bytes_max = \"3GiB\"\n"),
            "penstock.toml:2:19: frame_bytes_max is 3GiB (it must be from 4KiB to 1GiB)");
  EXPECT_EQ(refused("[supervisor]\nattempts_max = 70000\n"), "penstock.toml:2:16: attempts_max cannot be 70000");
  EXPECT_EQ(refused("[supervisor]\nattempts_max = -1\n"), "penstock.toml:2:16: attempts_max cannot be -1");
  EXPECT_EQ(refused("[link]\nheartbeat = \"2s\"\nsilence_max = \"1s\"\n").substr(0, 14), "penstock.toml:");
}

TEST(ConfigFile, ValueOfTheWrongKindIsRefused) {
  EXPECT_EQ(refused("[link]\nheartbeat = 3\n"),
            "penstock.toml:2:13: heartbeat is written in another way (use a duration in quotes, like \"10s\")");
  EXPECT_EQ(refused("[link]\nwindow_frames = \"3\"\n"),
            "penstock.toml:2:17: window_frames is written in another way (use a whole number)");
  EXPECT_NE(refused("[link]\nheartbeat = \"3\"\n").find("'3' is a duration without a unit"), std::string::npos);
  EXPECT_NE(refused("link = 3\n").find("'link' is a table"), std::string::npos);
  EXPECT_NE(refused("[band]\nname = \"x\"\n").find("[[band]]"), std::string::npos);
  EXPECT_NE(refused("[[band]]\nslots = 1\n").find("no name"), std::string::npos);
  EXPECT_NE(refused("[[band]]\nname = \"x\"\n[[band]]\nname = \"x\"\n").find("there already"), std::string::npos);
  EXPECT_NE(refused("[[band]]\nname = \"x\"\nprocessors = [-1]\n").find("numbers of processors"), std::string::npos);
  EXPECT_NE(refused("[host]\ngpus = 1\n").find("true or false"), std::string::npos);
}

TEST(ConfigFile, MalformedFileTellsLineAndColumn) {
  const Result<FileConfig> config = parse_config("[link]\nheartbeat = = 3\n", "penstock.toml");
  ASSERT_FALSE(config.has_value());
  EXPECT_EQ(config.error().code, ErrorCode::ParseError);
  EXPECT_EQ(config.error().subject, "penstock.toml:2:13");
  for (const char* text : {"[", "\xff\xfe", "a = \"", "[link", "x = 99999999999999999999"})
    EXPECT_NE(refused(text), "accepted") << text;
}

TEST(ConfigFile, OneSettingCanBeChanged) {
  FileConfig config = parsed("[link]\nwindow_frames = 9\n");
  for (const char* setting :
       {"worker.report_after=5ms", "wire.frame_bytes_max=1048577", "host.gpus=false", "host.nvml_library=/opt/x.so"})
    EXPECT_TRUE(change_settings(config, {setting}).has_value()) << setting;
  EXPECT_EQ(config.link.window_frames, 9U) << "the rest stays";
  EXPECT_EQ(config.worker.report_after, 5ms);
  EXPECT_EQ(config.wire.frame_bytes_max, 1048577U);
  EXPECT_FALSE(config.topology.gpus);
  EXPECT_EQ(config.topology.nvml_library, "/opt/x.so");
  EXPECT_EQ(to_string(change_settings(config, {"worker.report_afer=5ms"}).error()),
            "worker.report_afer=5ms: there is no setting 'report_afer' here (did you mean 'report_after'?)");
  for (const char* setting :
       {"", "=", "worker", "worker=3", ".x=3", "worker.=3", "worker.report_after=", "a]b.c=3", "link.heartbeat=1ms"})
    EXPECT_FALSE(change_settings(config, {setting}).has_value()) << setting;
}

TEST(ConfigFile, SettingsAreCheckedTogetherWhateverTheirOrder) {
  FileConfig config = parsed("");
  ASSERT_TRUE(change_settings(config, {"link.heartbeat=20s", "link.silence_max=60s"}).has_value());
  EXPECT_EQ(config.link.heartbeat, 20s);
  EXPECT_EQ(to_string(change_settings(config, {"link.silence_max=10s", "link.window_frames=9"}).error()),
            "--set: link.heartbeat must be shorter than link.silence_max");
  EXPECT_EQ(config.link.silence_max, 60s) << "nothing has changed";
}

// How long a worker keeps what a gang may begin on rests on it.
TEST(ConfigFile, TheSupervisorKnowsWhenAWorkerIsLost) {
  EXPECT_EQ(SupervisorConfig{}.worker_lost_after, LinkConfig{}.silence_max + LinkConfig{}.reconnect_grace);
  FileConfig config = parsed("[link]\nsilence_max = \"20s\"\n");
  EXPECT_EQ(config.supervisor.worker_lost_after, 20s + 500ms);
  ASSERT_TRUE(change_settings(config, {"link.reconnect_grace=2s"}).has_value());
  EXPECT_EQ(config.supervisor.worker_lost_after, 22s);
}

// Runs with `overlap = "never"` rest on it: a worker gives up before its supervisor does.
TEST(ConfigFile, AWorkerKnowsWhenItIsCutOff) {
  EXPECT_EQ(WorkerConfig{}.cut_off_after, LinkConfig{}.silence_max);
  EXPECT_EQ(parsed("[link]\nsilence_max = \"20s\"\n").worker.cut_off_after, 20s);
}

TEST(ConfigFile, FileIsReadOrSaidToBeMissing) {
  const ScratchDirectory scratch;
  const std::string path = scratch.at("penstock.toml");
  std::ofstream{path} << "[link]\nwindow_frames = 9\n";
  EXPECT_EQ(read_config_file(path).value().link.window_frames, 9U);
  std::ofstream{path} << "";
  EXPECT_TRUE(read_config_file(path).has_value()) << "an empty file says nothing";
  const Result<FileConfig> missing = read_config_file("/no/such/file.toml");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(to_string(missing.error()), "/no/such/file.toml: cannot be read: No such file or directory");
  EXPECT_FALSE(read_config_file("/tmp").has_value());
}

}  // namespace
}  // namespace penstock
