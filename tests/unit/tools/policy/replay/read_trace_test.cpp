#include <gtest/gtest.h>

#include "tools/policy/replay/trace.hpp"

namespace penstock::policy {
namespace {

constexpr const char* kPods =  // tidy: foreign
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n";

TEST(ReadTrace, ReadsTheAlibabaLists) {
  const auto bands =
      read_trace_bands("sn,cpu_milli,memory_mib,gpu,model\na,64000,1024,2,P100\nb,96000,2048,8,G2\r\nc,1000,1,0,\n");
  ASSERT_TRUE(bands) << to_string(bands.error());
  EXPECT_EQ(bands->bands[1].capacity, (Resources{96'000, std::int64_t{2048} << 20, 8000}));
  const auto trace = read_trace(std::string{kPods} +
                                    "late,4000,8,1,460,,LS,Running,100,160.0,110\n"
                                    "early,4000,8,2,1000,G2|G3,BE,Succeeded,5,10,\n"
                                    "never,1000,8,0,0,,LS,Pending,200,250,\n",
                                *bands);
  ASSERT_TRUE(trace) << to_string(trace.error());
  ASSERT_EQ(trace->jobs.size(), 3U);
  EXPECT_EQ(trace->jobs[0].name, "early");
  EXPECT_EQ(trace->jobs[0].runs_s, 5);
  EXPECT_EQ(trace->jobs[0].bands, std::vector<std::uint32_t>{1});
  EXPECT_EQ(trace->jobs[1].device_share, 460);
  EXPECT_EQ(trace->jobs[1].runs_s, 50);
  EXPECT_EQ(trace->jobs[2].devices, 0);
  EXPECT_EQ(trace->projects, (std::vector<std::string>{"LS", "BE"}));
}

TEST(ReadTrace, ReadsOurFormat) {
  const auto trace = read_trace("name,project,arrives_s,runs_s,members,devices,priority\ngang,team,3,60,4,1,100\n",
                                equal_trace_bands(2, 4));
  ASSERT_TRUE(trace) << to_string(trace.error());
  EXPECT_EQ(trace->jobs[0].members, 4);
  EXPECT_EQ(trace->jobs[0].device_share, 1000);
  EXPECT_EQ(trace->jobs[0].priority, 100);
}

TEST(ReadTrace, NamesTheLineOfAMistake) {
  const auto refused = [](const std::string& line) {
    const auto trace = read_trace(std::string{kPods} + line, equal_trace_bands(1, 1));
    return trace ? std::string{"accepted"} : trace.error().subject;
  };
  EXPECT_EQ(refused("a,1,1,1,500,,LS,Running,1,2\n"), "line 2");        // A field is missing.
  EXPECT_EQ(refused("a,1,1,1,1001,,LS,Running,1,2,1\n"), "line 2");     // More than a device.
  EXPECT_EQ(refused("a,1,1,x,1,,LS,Running,1,2,1\n"), "line 2");        // No number.
  EXPECT_EQ(refused("a,1,1,-1,1,,LS,Running,1,2,1\n"), "line 2");       // Below 0.
  EXPECT_EQ(refused("a,1,1,1025,1000,,LS,Running,1,2,1\n"), "line 2");  // Beyond kTraceDevicesMax.
  EXPECT_EQ(refused("a,1,1,1024,1000,,LS,Running,1,2,1\n"), "accepted");
  EXPECT_EQ(refused("a,1,1,1,99999999999999999999,,LS,Running,1,2,1\n"), "line 2");
  EXPECT_FALSE(read_trace("", equal_trace_bands(1, 1)));
  EXPECT_FALSE(read_trace_bands("sn,gpu\n"));
}

TEST(ReadTrace, TakesNoAmountApart) {
  const auto refused = [](const std::string& line) {
    const auto trace = read_trace(std::string{kPods} + line, equal_trace_bands(1, 1));
    return trace ? std::string{"accepted"} : trace.error().message;
  };
  EXPECT_EQ(refused("a,1,1,1.9,1000,,LS,Running,1,2,1\n"), "`num_gpu` is no whole number: 1.9");
  EXPECT_EQ(refused("a,1,1,1,460.7,,LS,Running,1,2,1\n"), "`gpu_milli` is no whole number: 460.7");
  EXPECT_EQ(refused("a,1,1,1.5abc,1000,,LS,Running,1,2,1\n"), "`num_gpu` is no whole number: 1.5abc");
  EXPECT_EQ(refused("a,1,1,1.,1000,,LS,Running,1,2,1\n"), "`num_gpu` is no whole number: 1.");
  EXPECT_EQ(refused("a,1,1,1.00,1000.0,nan,NaN,Running,1,2,1\n"), "accepted");
  EXPECT_EQ(refused(""), "the list has no jobs");
}

TEST(ReadTrace, WhatMustBeSaidIsNotMadeUp) {
  const auto refused = [](const std::string& line) {
    const auto trace =
        read_trace("name,project,arrives_s,runs_s,priority\na,p,0,1,1\n" + line, equal_trace_bands(1, 1));
    return trace ? std::string{"accepted"} : trace.error().subject + ": " + trace.error().message;
  };
  EXPECT_EQ(refused("a,p,0,,1\n"), "line 3: `runs_s` is empty");
  EXPECT_EQ(refused("a,p,,1,1\n"), "line 3: `arrives_s` is empty");
  EXPECT_EQ(refused(",p,0,1,1\n"), "line 3: `name` is empty");
  EXPECT_EQ(refused("a,,0,1,\n"), "accepted");
}

TEST(ReadTrace, APriorityIsAnyWholeNumber) {
  const auto trace = read_trace("name,project,arrives_s,runs_s,priority\na,p,0,1,-7\n", equal_trace_bands(1, 1));
  ASSERT_TRUE(trace) << to_string(trace.error());
  EXPECT_EQ(trace->jobs[0].priority, -7);
  EXPECT_FALSE(read_trace("name,project,arrives_s,runs_s,priority\na,p,-1,1,0\n", equal_trace_bands(1, 1)));
}

TEST(ReadTrace, FieldsInQuotesAreAsRfc4180HasThem) {
  const std::string head = "name,project,arrives_s,runs_s\r\n";
  const auto trace =
      read_trace(head + "\"x\"\"y\",\"p,\nq\",0,\"5\"\r\nr\"s,\"\",0,1\n\"\"\"\",p,0,1", equal_trace_bands(1, 1));
  ASSERT_TRUE(trace) << to_string(trace.error());
  ASSERT_EQ(trace->jobs.size(), 3U);
  EXPECT_EQ(trace->jobs[0].name, "x\"y");
  EXPECT_EQ(trace->jobs[0].runs_s, 5);
  EXPECT_EQ(trace->jobs[1].name, "r\"s");
  EXPECT_EQ(trace->jobs[2].name, "\"");
  EXPECT_EQ(trace->projects, (std::vector<std::string>{"p,\nq", "none", "p"}));
  const auto refused = [&](const std::string& line) {
    const auto read = read_trace(head + line, equal_trace_bands(1, 1));
    return read ? std::string{"accepted"} : read.error().subject + ": " + read.error().message;
  };
  EXPECT_EQ(refused("a,\"p\n\nq\",0,1\nb,\"p,0,1\nc,p,0,1\n"), "line 5: a quote is opened and not closed");
  EXPECT_EQ(refused("a,p,0,1\n\"b\"c,p,0,1\n"), "line 3: text follows between a closing quote and the comma after it");
}

TEST(ReadTrace, TooManyLinesAreToldWithTheirLimit) {
  const std::string most(kTraceLinesMax - 1, '\n');
  const std::string head = "name,project,arrives_s,runs_s\na,p,0,1";
  EXPECT_TRUE(read_trace(head + most.substr(1) + "a,p,0,1", equal_trace_bands(1, 1)));
  const auto trace = read_trace(head + most + "a,p,0,1", equal_trace_bands(1, 1));
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().code, ErrorCode::LimitExceeded);
  EXPECT_EQ(trace.error().message, "is beyond the 2000000 lines that a list may have");
  EXPECT_FALSE(read_trace_bands("sn,cpu_milli,memory_mib,gpu\na,1,1,1" + most + "b,1,1,1"));
}

TEST(ReadTrace, WhatIsNoListIsCalledSo) {
  for (const char* text : {"", "\n\n", "\xEF\xBB\xBF"}) {
    EXPECT_EQ(read_trace(text, equal_trace_bands(1, 1)).error().message, "the list is empty");
    EXPECT_EQ(read_trace_bands(text).error().message, "the list is empty");
  }
  const auto packed = read_trace("\x1f\x8b\x08,", equal_trace_bands(1, 1));
  EXPECT_EQ(packed.error().message, "is compressed by gzip");
  EXPECT_EQ(packed.error().remedy, "unpack it with gunzip first");
}

TEST(ReadTrace, NamesAColumnThatIsMisspeltMissingOrThereTwice) {
  const auto refused = [](const std::string& text) {
    const auto trace = read_trace(text, equal_trace_bands(1, 1));
    return trace ? std::string{"accepted"} : trace.error().message + "; " + trace.error().remedy;
  };
  const std::string docs = "; see docs/policy.md for the formats";
  EXPECT_EQ(refused("name,project,arrives_s,runs_s,device\nj,a,0,1,1\n"),
            "no column `device` is known; did you mean 'devices'?");
  EXPECT_EQ(refused("name,project,arrives_s,runs_s,prio\nj,a,0,1,1\n"), "no column `prio` is known" + docs);
  EXPECT_EQ(refused("name,arrives_s,runs_s\nj,0,1\n"), "the column `project` is missing" + docs);
  EXPECT_EQ(refused("name,project,runs_s,arrives_s,runs_s\nj,a,0,1,1\n"), "the column `runs_s` occurs twice" + docs);
  EXPECT_EQ(refused("name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time\nj,1,1,1,1,1\n"),
            "the column `deletion_time` is missing" + docs);
}

TEST(ReadTrace, APartOfADeviceIsOfAJobThatWantsOne) {
  const auto trace = read_trace("name,project,arrives_s,runs_s,devices,device_share\na,x,0,1,1,500\nb,x,0,1,0,500\n",
                                equal_trace_bands(1, 1));
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().message, "a share of a device is asked for, and no device: `devices` is 0");
  EXPECT_NE(trace.error().subject.find("line 3"), std::string::npos) << trace.error().subject;
}

TEST(ReadTrace, AListWithoutTimesNeedsALifetime) {
  const std::string list = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nj,1,1,1,500\n";
  const auto refused = read_trace(list, equal_trace_bands(1, 1));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().remedy.find("--lifetime"), std::string::npos);
  const auto trace = read_trace(list, equal_trace_bands(1, 1), 600);
  ASSERT_TRUE(trace) << to_string(trace.error());
  EXPECT_EQ(trace->jobs[0].runs_s, 600);
  EXPECT_EQ(trace->odd, (TraceOddities{.without_class = 1}));
}

TEST(ReadTrace, EachBandHasANameOfItsOwn) {
  const std::string first = "sn,cpu_milli,memory_mib,gpu,model\na,1,1,1,\n";
  EXPECT_TRUE(read_trace_bands(first));
  EXPECT_FALSE(read_trace_bands(first + "a,1,1,1,\n"));
  EXPECT_FALSE(read_trace_bands(first + ",1,1,1,\n"));
}

TEST(ReadTrace, JobsOfOneNameAreCountedAndPlayed) {
  const auto trace =
      read_trace("name,project,arrives_s,runs_s\nj,a,0,1\nk,a,0,1\nj,b,5,1\nj,a,0,1\n", equal_trace_bands(1, 1));
  ASSERT_TRUE(trace) << to_string(trace.error());
  EXPECT_EQ(trace->jobs.size(), 4U);
  EXPECT_EQ(trace->odd, (TraceOddities{.same_name = 2}));
}

/// The public lists have all of these.
TEST(ReadTrace, CountsWhatIsOddInListsOfOthers) {
  const auto bands =
      read_trace_bands("\xEF\xBB\xBF\"sn\",cpu_milli,memory_mib,gpu,\"model\"\n\"a,1\",64000,1024,2,\"P100\"\n");
  ASSERT_TRUE(bands) << to_string(bands.error());
  EXPECT_EQ(bands->bands[0].name, "a,1");
  const auto trace = read_trace(std::string{kPods} +
                                    "\"a,b\",4000,8,1,\"460\",\"G1|P100\",\"LS\",Running,100,,110\n"  // Never deleted.
                                    "b,4000,8,1,0,,,Running,10,30,\n"  // Never started, no class, 0 of a device.
                                    "c,4000,8,1,1000,G9,LS,Running,10,30,20\n"  // No host has this model.
                                    "d,4000,8,0,,,BE,Failed,50,40,45\n"         // Deleted before it came.
                                    "e,,,0,,,BE,Succeeded,60,600,60\n"          // No processors, no memory.
                                    "f,1,1,,,,BE,Succeeded,,600,60\n"           // No devices, and came never.
                                    "g,1,1,2,500,,BE,Succeeded,0,600,0\n"       // Half of two.
                                    "h,1,1,1,,,BE,Succeeded,0,600,0\n",         // A part is not said.
                                *bands);
  ASSERT_TRUE(trace) << to_string(trace.error());
  ASSERT_EQ(trace->jobs.size(), 7U);
  EXPECT_EQ(trace->odd, (TraceOddities{.without_end = 1,
                                       .without_start = 1,
                                       .without_class = 1,
                                       .ends_early = 1,
                                       .without_arrival = 1,
                                       .without_amount = 2,
                                       .share_of_nothing = 2,
                                       .share_of_several = 1,
                                       .unknown_models = 1}));
  EXPECT_EQ(trace->jobs[0].name, "f");
  EXPECT_EQ(trace->jobs[1].name, "g");
  EXPECT_EQ(trace->jobs[1].device_share, 1000);
  EXPECT_EQ(trace->jobs[3].name, "b");
  EXPECT_EQ(trace->jobs[3].device_share, 1000);
  EXPECT_EQ(trace->jobs[4].runs_s, 1);
  EXPECT_EQ(trace->jobs[6].name, "a,b");
  EXPECT_EQ(trace->jobs[6].runs_s, 600 - 110);
  EXPECT_EQ(trace->projects, (std::vector<std::string>{"LS", "none", "BE"}));
}

}  // namespace
}  // namespace penstock::policy
