#!/usr/bin/env python3
"""Each rule of scripts/tidy: a tree that breaks it, and the nearest one that does not."""
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
loader = importlib.machinery.SourceFileLoader("tidy", os.path.join(HERE, "tidy"))
tidy = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
loader.exec_module(tidy)


class RuleTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = directory.name

    def write(self, files):
        for path, text in files.items():
            full = os.path.join(self.root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)

    def found(self, rule, files):
        """`path:line` of what the rule finds in a tree of these files."""
        self.write(files)
        return [f"{finding.path}:{finding.line}" for finding in sorted(set(rule(tidy.Tree(self.root))))]

    def expect(self, rule, path, text, line=1):
        self.assertEqual(self.found(rule, {path: text}), [f"{path}:{line}"], text)
        os.remove(os.path.join(self.root, path))

    def expect_clean(self, rule, path, text):
        self.assertEqual(self.found(rule, {path: text}), [], text)
        os.remove(os.path.join(self.root, path))


class Arrows(RuleTest):
    def refused(self, path, include):
        self.expect(tidy.rule_arrows, path, f"\n#include {include}\n", line=2)

    def taken(self, path, include):
        self.expect_clean(tidy.rule_arrows, path, f"#include {include}\n")

    def test_a_core_sees_protocol_and_not_the_wire(self):
        self.taken("worker/core/a.cpp", '"common/protocol/assign.hpp"')
        self.refused("worker/core/a.cpp", '"common/wire/frame.hpp"')

    def test_supervisor_and_worker_never_see_each_other(self):
        for folder in (f for f in tidy.ROOMS if f.startswith("supervisor/")):
            self.refused(folder + "/a.cpp", '"worker/core/events.hpp"')
        for folder in (f for f in tidy.ROOMS if f.startswith("worker/")):
            self.refused(folder + "/a.cpp", '"supervisor/core/events.hpp"')

    def test_of_the_policy_the_supervisors_core_sees_what_goes_in_and_out_only(self):
        self.taken("supervisor/core/a.cpp", '"supervisor/policy/plan.hpp"')
        self.taken("supervisor/core/a.cpp", '"supervisor/policy/parts.hpp"')
        self.refused("supervisor/core/a.cpp", '"supervisor/policy/trial.hpp"')

    def test_a_part_of_a_core_sees_the_parts_below_it_and_never_the_door(self):
        self.taken("supervisor/core/a.cpp", '"supervisor/core/admin/b.hpp"')
        self.taken("supervisor/core/admin/a.cpp", '"supervisor/core/ledger/b.hpp"')
        self.refused("supervisor/core/ledger/a.cpp", '"supervisor/core/workers/b.hpp"')
        for part in (f for f in tidy.ROOMS if f.startswith("supervisor/core/")):
            self.refused(part + "/a.cpp", '"supervisor/core/supervisor_core.hpp"')

    def test_a_folder_sees_its_own_parts(self):
        self.taken("supervisor/policy/sharing/a.cpp", '"supervisor/policy/ordering/b.hpp"')

    def test_libraries_stay_in_their_rooms(self):
        self.taken("common/wire/a.cpp", "<capnp/message.h>")
        self.taken("common/wire/a.cpp", "<xxhash.h>")
        self.refused("common/protocol/a.cpp", "<capnp/message.h>")
        self.taken("common/net/a.cpp", "<boost/asio/io_context.hpp>")
        self.refused("worker/actors/a.cpp", "<tbb/task_arena.h>")
        self.refused("common/link/a.cpp", "<unistd.h>")

    def test_only_two_files_see_rocksdb(self):
        self.taken("common/storage/rocksdb_storage.cpp", "<rocksdb/db.h>")
        self.taken("common/storage/rocksdb_remains.hpp", "<rocksdb/options.h>")
        self.refused("common/storage/memory_storage.cpp", "<rocksdb/db.h>")

    def test_the_lab_sees_the_world_and_the_product_sees_neither(self):
        self.taken("tools/command_sim.cpp", '"tests/simulation/world/world.hpp"')
        self.taken("tools/policy/a.cpp", '"tools/policy/replay/replay.hpp"')
        self.refused("tools/bench/a.cpp", '"tests/simulation/world/world.hpp"')
        self.taken("tools/bench/a.cpp", '"cli/commands/command.hpp"')
        self.refused("cli/commands/a.cpp", '"tests/simulation/world/world.hpp"')
        self.refused("cli/commands/a.cpp", '"tools/commands.hpp"')

    def test_a_job_file_is_read_without_showing_and_without_commands(self):
        self.taken("cli/show/a.cpp", '"cli/jobfile/amounts.hpp"')
        self.refused("cli/jobfile/a.cpp", '"cli/show/render.hpp"')
        self.refused("cli/show/a.cpp", '"cli/commands/command.hpp"')
        self.taken("cli/commands/a.cpp", '"cli/show/render.hpp"')

    def test_public_headers_include_nothing_of_ours(self):
        self.taken("client/include/penstock/penstock.h", "<stdint.h>")
        self.refused("client/include/penstock/client.hpp", '"common/base/ids.hpp"')

    def test_a_public_header_is_found_under_its_public_name(self):
        self.write({"client/include/penstock/operator.h": ""})
        self.taken("worker/runner/native/a.cpp", '"penstock/operator.h"')
        self.refused("worker/core/a.cpp", '"penstock/operator.h"')

    def test_pure_folders_have_no_worldly_standard_headers(self):
        for header in ("<thread>", "<fstream>", "<unordered_map>", "<random>", "<mutex>"):
            self.refused("worker/core/a.cpp", header)
            self.taken("worker/store/a.cpp", header)

    def test_a_unit_test_sees_what_its_folder_sees(self):
        self.taken("tests/unit/worker/core/a_test.cpp", '"worker/core/flow.hpp"')
        self.taken("tests/unit/worker/core/a_test.cpp", '"tests/support/builder.hpp"')
        self.taken("tests/unit/worker/core/a_test.cpp", "<gtest/gtest.h>")
        self.refused("tests/unit/worker/core/a_test.cpp", '"supervisor/core/events.hpp"')
        self.refused("tests/unit/worker/core/a_test.cpp", "<caf/actor.hpp>")

    def test_the_simulation_sees_both_cores_and_no_actor(self):
        self.taken("tests/simulation/a.cpp", '"worker/core/events.hpp"')
        self.refused("tests/simulation/a.cpp", '"worker/actors/band.hpp"')

    def test_caf_all_is_refused_where_caf_is_not(self):
        self.taken("worker/actors/a.cpp", "<caf/actor.hpp>")
        self.refused("worker/actors/a.cpp", "<caf/all.hpp>")

    def test_unknown_libraries_folders_and_relative_paths_are_refused(self):
        self.refused("worker/core/a.cpp", "<absl/strings/str_cat.h>")
        self.refused("worker/core/a.cpp", '"flow.hpp"')
        self.refused("worker/core/a.cpp", "<stdint.h>")
        self.taken("common/host/a.cpp", "<time.h>")  # POSIX says more in it than <ctime>.
        self.expect(tidy.rule_arrows, "helpers/a.cpp", "")

    def test_a_finding_can_be_allowed_with_a_reason(self):
        self.taken("worker/core/a.cpp", "<thread>  // tidy: allow arrows: a test of this rule")

    def test_the_table_has_no_cycle(self):
        names = [name for name in tidy.ROOMS if not name.startswith(("tests/", "bench"))]

        def visit(name, above):
            self.assertNotIn(name, above, "cycle")
            for seen in tidy.ROOMS[name].sees:
                for other in names:
                    if other != name and (other == seen or other.startswith(seen + "/")):
                        visit(other, above + [name])
        for name in names:
            visit(name, [])


class Words(RuleTest):
    def refused(self, text, path="worker/core/a.cpp", line=1):
        self.expect(tidy.rule_words, path, text, line)

    def taken(self, text, path="worker/core/a.cpp"):
        self.expect_clean(tidy.rule_words, path, text)

    def test_a_banned_word_is_found_in_every_way_of_writing_names(self):
        for text in ("int task_count;", "struct TaskTable {};", "int pendingTasks;", "constexpr int kTaskMax = 1;", "enum { TASK };"):
            self.refused(text)

    def test_a_part_of_a_word_is_not_a_word(self):
        self.taken("int multitasking; int subtask; int backpack; int remaster; int subtask_index;")

    def test_compounds_are_found_and_their_parts_are_not(self):
        self.refused("int run_id;")
        self.taken("int run; int id; int numa_node; int worker_of_node;")

    def test_file_names_are_names(self):
        self.refused("", "worker/core/task_table.cpp")

    def test_messages_and_comments_know_only_the_clearest_words(self):
        self.refused('auto text = "the task was lost";')
        self.refused("\n// Cordoned by another.\n", line=2)
        self.taken("// A master copy.")
        self.taken('auto key = "tasks";')

    def test_documents_are_prose_and_their_code_is_not(self):
        self.refused("All tenants are equal.\n", "docs/manual/a.md")
        self.taken("Penstock runs task graphs. Use `dask.tasks`.\n```\ntask\n```\n", "docs/manual/a.md")
        self.taken("Dask's tasks are small.\n", "docs/manual/a.md")
        self.taken("We looked at tasks of others.\n", "docs/decisions/0001-a.md")

    def test_foreign_names_are_not_ours(self):
        self.taken("tbb::task_arena arena; caf::scheduler::coordinator x; std::counting_semaphore<1> s; socket.get_executor();")
        self.taken("void on_scheduler_entry(bool) override;")
        self.taken("auto x = sys.scheduler();  // tidy: foreign")
        self.taken("// tidy: foreign\nauto x = sys.scheduler();")
        self.taken("// Reads WfFormat. tidy: foreign-file task, workload\nint tasks;\nint workload;")

    def test_a_family_is_reported_once_for_each_file(self):
        self.refused("int a;\nint task;\nint tasks;\nint task_b;\n", line=2)

    def test_only_policy_says_workload(self):
        self.refused("int workload;")
        self.taken("int workload;", "supervisor/policy/a.cpp")
        self.taken('#include "supervisor/policy/snapshot.hpp"\nint workload;', "supervisor/core/a.cpp")

    def test_every_replacement_is_free_of_banned_words(self):
        for word, entry in tidy.WORDS.items():
            self.assertTrue(entry.instead, word)
        self.assertNotIn("subtask", tidy.WORDS)


class Names(RuleTest):
    def refused(self, text, path="worker/core/a.hpp"):
        self.expect(tidy.rule_names, path, text)

    def taken(self, text, path="worker/core/a.hpp"):
        self.expect_clean(tidy.rule_names, path, text)

    def test_types_are_nouns_of_what_they_are(self):
        for name in ("JobManager", "FrameHandler", "TestHelper", "StringUtils", "BandInfo", "JobData", "QueueImpl", "Link2"):
            self.refused(f"class {name} {{}};")
            self.refused(f"struct {name} final : Base {{}};")
            self.refused(f"using {name} = int;")
        self.taken("class DataTable {}; struct Handle {}; enum class Coordinate : char {};")
        self.taken("class JobManager;")

    def test_only_the_doors_are_cores(self):
        self.taken("class WorkerCore {};")
        self.refused("class BandCore {};")

    def test_only_the_latched_queues_are_queues(self):
        self.taken("class LatchedQueue {};")
        self.refused("class EventQueue {};")

    def test_a_quota_says_whose_it_is(self):
        self.taken("class MemoryQuota {};")
        self.refused("class Quota {};")

    def test_only_actors_are_actors(self):
        self.taken("class BandActor {};", "worker/actors/a.hpp")
        self.refused("class BandActor {};")

    def test_macros_carry_our_name(self):
        self.taken("#define PENSTOCK_X 1")
        self.refused("#define CHECK(x) x")

    def test_files_are_snake_case_and_h_is_the_c_abi(self):
        self.refused("", "worker/core/WorkerCore.hpp")
        self.refused("", "worker/core/a.h")
        self.taken("", "client/include/penstock/penstock.h")

    def test_final_states_have_their_words(self):
        self.expect(tidy.rule_final_states, "worker/core/a.hpp", "enum class JobState : char {\n  Running,\n  Done\n};", 3)
        self.expect_clean(tidy.rule_final_states, "worker/core/a.hpp", "enum class JobState { Running, Succeeded };")
        self.expect_clean(tidy.rule_final_states, "worker/core/a.hpp", "enum class Door { Done };")


class Calls(RuleTest):
    def refused(self, text, path="worker/actors/a.cpp"):
        self.expect(tidy.rule_calls, path, text)

    def taken(self, text, path="worker/actors/a.cpp"):
        self.expect_clean(tidy.rule_calls, path, text)

    def test_the_clock_is_asked_in_one_place(self):
        for text in ("auto t = std::chrono::steady_clock::now();", "auto t = system_clock :: now();",
                     "clock_gettime(CLOCK_MONOTONIC, &t);", "time(nullptr);", "std::time(&t);"):
            self.refused(text)
            self.taken(text, "common/host/clock.cpp")
        self.taken("auto t = clock.now(); deadline_time(0); x.time(0);")

    def test_chance_comes_from_the_seed(self):
        for text in ("rand();", "std::srand(1);", "std::mt19937 g;", "std::uniform_int_distribution<int> d;", "std::random_device d;"):
            self.refused(text)
        self.taken("rng.rand(); operand(1); std::random_device d;", "common/host/a.cpp")

    def test_the_environment_is_read_in_one_place(self):
        self.refused('std::getenv("HOME");')
        self.taken('std::getenv("HOME");', "common/config/config_file.cpp")

    def test_tests_never_sleep(self):
        self.refused("std::this_thread::sleep_for(1s);", "tests/integration/a_test.cpp")
        self.refused("sleep(1);", "tests/chaos/a_test.cpp")
        self.taken("loop.sleep(1);", "tests/chaos/a_test.cpp")

    def test_pure_folders_use_lookup_map_and_ids(self):
        for text in ("std::unordered_map<int, int> m;", "std::shared_ptr<int> p;", "std::hash<int> h;"):
            self.refused(text, "supervisor/core/a.cpp")
            self.taken(text, "supervisor/actors/a.cpp")

    def test_nothing_throws_or_asserts(self):
        self.refused("assert(x);")
        self.refused("void f() { throw 1; }")
        self.taken("static_assert(1); PENSTOCK_CHECK(x); ASSERT_EQ(1, 1); int throws;")

    def test_output_goes_through_the_log(self):
        self.refused("std::cout << 1;")
        self.refused('printf("x");')
        self.taken("std::cout << 1;", "cli/main.cpp")
        self.taken("std::snprintf(a, b); x.printf(1);")

    def test_numbers_are_parsed_without_exceptions(self):
        self.refused("std::stoi(text);")
        self.refused("atoi(text);")

    def test_processes_end_and_start_where_they_may(self):
        self.refused("std::abort();")
        self.taken("std::abort();", "tests/support/check_failed.cpp")
        self.refused("::fork();")
        self.taken("Rng fork(); auto child = rng.fork();")

    def test_namespace_std_stays_closed(self):
        self.refused("using namespace std;")
        self.taken("using namespace std::chrono_literals;")

    def test_comments_literals_and_includes_are_not_calls(self):
        self.taken('// assert(x) would throw\nauto s = "assert(x)"; auto r = R"(throw)"; /* rand() */')

    def test_a_call_can_be_allowed_with_a_reason(self):
        self.taken("// tidy: allow call: the C library of a test\nassert(x);")

    def test_every_call_names_its_replacement(self):
        for call in tidy.CALLS:
            self.assertIn("(use" if "sleep" not in call.pattern else "(in tests wait", call.message)

    def test_a_mutex_carries_its_invariant(self):
        rule, path = tidy.rule_threads, "supervisor/actors/a.hpp"
        self.expect(rule, path, "\nstd::mutex m;\n", 2)
        self.expect_clean(rule, path, "std::mutex m;  // Guards what follows.\n")
        self.expect_clean(rule, path, "std::lock_guard<std::mutex> lock(m);\n")
        self.expect_clean(rule, "worker/store/a.hpp", "\nstd::atomic<int> n;\n")

    def test_an_actor_takes_its_failures(self):
        rule, path, actor = tidy.rule_actors, "worker/actors/a.cpp", "\n#include <caf/typed_event_based_actor.hpp>\n"
        self.expect(rule, path, actor, 2)
        self.expect_clean(rule, path, actor + "void f() { take_failures(*self, ActorFailure::EndsActor); }\n")
        self.expect_clean(rule, "tests/unit/worker/actors/a_test.cpp", actor)
        self.expect_clean(rule, path, "#include <caf/scoped_actor.hpp>\n")


class Processor(RuleTest):
    def refused(self, text, path="worker/runner/a.cpp"):
        self.expect(tidy.rule_processor, path, "\n" + text + "\n", line=2)

    def taken(self, text, path="worker/runner/a.cpp"):
        self.expect_clean(tidy.rule_processor, path, text)

    def test_builtins_and_instructions_of_one_processor_stand_in_one_header(self):
        for text in ("__builtin_ia32_pause();", "_mm_pause();", "auto x = _mm256_add_ps(a, b);", "__m128i lanes;",
                     "auto now = __rdtsc();", 'if (__builtin_cpu_supports("avx2")) {}', '__asm__ volatile("isb");',
                     'asm volatile ("pause" : : : "memory");', 'asm("nop");'):
            self.refused(text)
            self.taken(text, "common/base/cpu_relax.hpp")

    def test_macros_and_pragmas_of_one_processor_do_too(self):
        for text in ("#if defined(__x86_64__)", "#ifdef __aarch64__", "#if __AVX2__", '#pragma GCC target("avx2,fma")'):
            self.refused(text)
            self.taken(text, "examples/engine/matrix.cpp")

    def test_what_any_processor_has_is_taken(self):
        self.taken('__asm__ volatile("" : : "r"(address));')
        self.taken('asm volatile("" : : "r,m"(value) : "memory");')
        self.taken("__builtin_prefetch(address, 1);\ncpu_relax();\nint arm = armed_for(x86);\n#pragma GCC unroll 16")
        self.taken('// __x86_64__ and _mm_pause()\nauto s = "__aarch64__";')
        self.taken("// tidy: allow processor: a test of this rule\n_mm_pause();")


class Definitions(RuleTest):
    def found(self, other):
        self.write({"cli/a.cpp": "namespace p::q {\nstruct A {};\n}\n", "cli/b.cpp": other})
        return [(found.path, found.line, found.message) for found in tidy.rule_definitions(tidy.Tree(self.root))]

    def test_a_name_means_one_type(self):
        self.assertEqual(self.found("namespace p {\nnamespace q {\nenum class A : int { B };\n}\n}\n"),
                         [("cli/b.cpp", 3, "p::q::A is defined in cli/a.cpp, too (use another name)")])

    def test_other_scopes_have_names_of_their_own(self):
        for other in ("namespace p::q {\nnamespace {\nstruct A {};\n}\n}\n", "namespace p {\nstruct A {};\n}\n",
                      "namespace p::q {\nstruct A;\nvoid f() {\n  struct A {};\n}\n}\n",
                      "namespace p::q {\nstruct B {\n  struct A {};\n};\n}\n"):
            self.assertEqual(self.found(other), [], other)


class Notes(RuleTest):
    def test_a_todo_names_its_issue(self):
        self.expect(tidy.rule_stray_notes, "worker/core/a.cpp", "\n// TODO: later\n", 2)
        self.expect(tidy.rule_stray_notes, "docs/a.md", "FIXME\n")
        self.expect_clean(tidy.rule_stray_notes, "worker/core/a.cpp", "// TODO(#12): later. mktemp XXXXXX\n")

    def test_headers_are_read_once(self):
        self.expect(tidy.rule_pragma_once, "worker/core/a.hpp", "// pragma once\n")
        self.expect_clean(tidy.rule_pragma_once, "worker/core/a.hpp", "// What.\n#pragma once\n")
        self.expect_clean(tidy.rule_pragma_once, "worker/core/a.cpp", "\n")
        guard = "#ifndef PENSTOCK_A_H\n#define PENSTOCK_A_H\n#endif\n"
        self.expect_clean(tidy.rule_pragma_once, "client/include/penstock/a.h", guard)  # C compilers read these too.
        self.expect(tidy.rule_pragma_once, "client/include/penstock/a.hpp", guard)

    def test_a_source_includes_its_own_header_first(self):
        rule, header = tidy.rule_own_header, {"worker/core/a.hpp": "#pragma once\n"}
        own, other = '#include "worker/core/a.hpp"\n', "#include <vector>\n"
        self.assertEqual(self.found(rule, {**header, "worker/core/a.cpp": "// What.\n" + own + other}), [])
        self.assertEqual(self.found(rule, {**header, "worker/core/a.cpp": "\n" + other + own}), ["worker/core/a.cpp:2"])
        self.assertEqual(self.found(rule, {**header, "worker/core/a.cpp": "int a;\n"}), ["worker/core/a.cpp:1"])
        self.assertEqual(self.found(rule, {**header, "worker/core/a.cpp": own, "worker/core/b.cpp": other}), [])


class TreeRules(RuleTest):
    def test_a_test_stands_where_its_source_stands(self):
        self.assertEqual(self.found(tidy.rule_stray_tests, {"tests/unit/worker/core/a_test.cpp": ""}),
                         ["tests/unit/worker/core/a_test.cpp:1"])
        self.assertEqual(self.found(tidy.rule_stray_tests, {"worker/core/a.hpp": ""}), [])

    def test_cmake_names_every_file(self):
        files = {"worker/CMakeLists.txt": "SOURCES core/ab.cpp HEADERS core/b.hpp", "worker/core/b.cpp": "",
                 "worker/core/b.hpp": ""}
        self.assertEqual(self.found(tidy.rule_listed, files), ["worker/core/b.cpp:1"])
        self.assertEqual(self.found(tidy.rule_listed, {"worker/CMakeLists.txt": "core/b.hpp\n core/b.cpp)"}), [])

    def test_a_folder_has_a_short_readme(self):
        missing = ["worker/README.md:1", "worker/core/README.md:1"]
        self.assertEqual(self.found(tidy.rule_readmes, {"worker/core/a.cpp": ""}), missing)
        long = {"worker/README.md": "x\n" * 15, "worker/core/README.md": "x\n" * 16}
        self.assertEqual(self.found(tidy.rule_readmes, long), ["worker/core/README.md:16"])

    def test_an_event_of_a_core_is_made_by_a_shell(self):
        files = {"worker/core/events.hpp": "using WorkerEvent = std::variant<worker_event::Tick,\n  worker_event::Lost>;\n",
                 "worker/core/core.cpp": "void on(worker_event::Lost&);\n",
                 "worker/actors/host.cpp": "handle(worker_event::Tick{});  // worker_event::Lost\n",
                 "tests/unit/worker/core/core_test.cpp": "handle(worker_event::Lost{});\n"}
        self.assertEqual(self.found(tidy.rule_event_sources, files), ["worker/core/events.hpp:2"])

    def test_a_coverage_mark_is_a_unique_literal_with_a_test(self):
        path = "worker/core/a.cpp"
        files = {path: 'PENSTOCK_COVERAGE_MARK("lost");\nPENSTOCK_COVERAGE_MARK(name);\nPENSTOCK_COVERAGE_MARK("x");\n',
                 "worker/core/b.cpp": '\nPENSTOCK_COVERAGE_MARK("x");\n',
                 "tests/unit/worker/core/a_test.cpp": 'EXPECT_COVERAGE_MARK("x");'}
        self.assertEqual(self.found(tidy.rule_coverage_marks, files), [f"{path}:1", f"{path}:2", "worker/core/b.cpp:2"])


class Classes(RuleTest):
    def counted(self, text):
        return [(name, methods, members) for name, _, methods, members in tidy.classes_of(tidy.Source("a.hpp", text))]

    def test_counts_methods_and_data_members(self):
        text = """namespace a {
class A final : public B<int> {
 public:
  explicit A(int x) : x_(x), y_{x} {}
  A(const A&) = delete;
  int x() const { if (x_ > 0) { return 1; } return x_; }
  template <class T>
  void g(T t = {});
  bool operator==(const A& other) const { return true; }
  friend bool operator<(A, A) { return true; }
  using Pair = std::pair<int, int>;
  enum class Kind { One, Two };
  struct Inner {
    int z = 0;
    std::vector<int> all{1, 2};
  };
  static constexpr int kMax = 3;

 private:
  const int x_;
  std::map<int, int> y_{{1, 2}};
  std::function<void(int)> call_;
  int z_ = f(3);
};
}
"""
        self.assertEqual(self.counted(text), [("Inner", 0, 2), ("A", 4, 4)])

    def test_finds_no_class_in_functions_and_declarations(self):
        self.assertEqual(self.counted("class A; void f() { struct B { int x; }; } enum class C { D };"), [])

    def test_a_record_may_have_many_members_and_a_class_may_not(self):
        members = "".join(f"  int x{i};\n" for i in range(16))
        self.write({"common/base/a.hpp": f"struct A {{\n{members}}};\nclass B {{\n  void f();\n{members}}};\n"})
        found = tidy.measure(tidy.Tree(self.root))
        self.assertEqual(list(found["members"]), ["common/base/a.hpp::B"])


class Functions(unittest.TestCase):
    def names(self, text):
        return [name for name, _, _ in tidy.functions_of(tidy.Source("a.cpp", text))]

    def test_finds_every_kind_of_function(self):
        self.assertEqual(self.names("namespace a { int f() { if (x) { } return 1; } }"), ["f"])
        self.assertEqual(self.names("class A : public B { void g() const noexcept(x) { } };"), ["g"])
        self.assertEqual(self.names("A::A(int b) : b_{b}, c_(1) { f(); }"), ["A::A"])
        self.assertEqual(self.names("bool operator==(A a) { return {}; } auto A::operator()() -> int { return 1; }"),
                         ["operator==", "A::operator()"])
        self.assertEqual(self.names("template <class T> requires (x) T f(T t) { while (1) { } }"), ["f"])
        self.assertEqual(self.names("TEST_F(Suite, Case) { EXPECT_EQ(A{1}, b); }"), ["Suite.Case"])

    def test_finds_nothing_in_values(self):
        self.assertEqual(self.names("enum class A : int { B }; int x[] = {1, 2}; B b{1}; struct C { int d{2}; };"), [])

    def test_counts_from_the_head_to_the_brace(self):
        source = tidy.Source("a.cpp", "#define X {\n\nint\nf(int a,\n  int b) {\n  g('}', \"{\");  // }\n}\n")
        self.assertEqual(list(tidy.functions_of(source)), [("f", 3, 7)])


class Subjects(RuleTest):
    def commit(self, subject):
        git = ["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", subject], check=True)
        return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()

    def findings(self):
        return [finding.message for finding in tidy.rule_subjects(tidy.Tree(self.root))]

    def test_later_commits_are_short_and_name_their_area(self):
        first = self.commit("Old commits said what they liked, at whatever length that they wanted to have")
        self.addCleanup(setattr, tidy, "SUBJECTS_SINCE", tidy.SUBJECTS_SINCE)
        tidy.SUBJECTS_SINCE = first
        self.commit("core: " + "x" * (tidy.SUBJECT_MAX - 6))
        self.assertEqual(self.findings(), [])
        self.commit("core: " + "x" * (tidy.SUBJECT_MAX - 5))
        self.commit("mend everything")
        self.assertRegex(self.findings()[0], "names no area")
        self.assertRegex(self.findings()[1], "has 66 columns")
        self.assertEqual(len(self.findings()), 2)

    def test_a_clone_without_the_first_commit_is_not_checked(self):
        self.commit("mend everything")
        self.assertEqual(self.findings(), [])


class Ratchet(RuleTest):
    def findings(self, files):
        self.write(files)
        return [finding.message for finding in tidy.rule_ratchet(tidy.Tree(self.root))]

    def giant(self, lines):
        return "void f() {\n" + "  g();\n" * (lines - 2) + "}\n"

    def test_a_function_of_a_screen_is_enough(self):
        self.assertEqual(self.findings({"cli/a.cpp": self.giant(70)}), [])
        self.assertRegex(self.findings({"cli/a.cpp": self.giant(71)})[0], "f is 71 lines long")

    def test_python_functions_are_measured_too(self):
        self.assertRegex(self.findings({"python/a.py": "def f():\n" + "    g()\n" * 70})[0], "f is 71 lines")

    def test_files_headers_and_untested_sources_are_measured(self):
        self.assertRegex(self.findings({"cli/a.cpp": "\n" * 701})[0], "701 lines")
        header = "".join(f'#include "common/base/{n}.hpp"\n' for n in range(9))
        self.assertRegex(self.findings({"cli/a.cpp": "", "cli/b.hpp": header + "#include <map>\n"})[0], "9 includes")
        self.assertRegex(self.findings({"cli/b.hpp": "", "worker/core/c.cpp": ""})[0], "worker/core/c_test.cpp")
        self.assertEqual(self.findings({"tests/unit/worker/core/c_test.cpp": ""}), [])

    def test_an_accepted_giant_may_stay_and_not_grow(self):
        self.write({tidy.RATCHET: json.dumps({"functions": {"cli/a.cpp::f": 80}})})
        self.assertEqual(self.findings({"cli/a.cpp": self.giant(80)}), [])
        self.assertRegex(self.findings({"cli/a.cpp": self.giant(81)})[0], "it was 80")

    def test_a_giant_that_shrank_takes_its_entry_along(self):
        self.write({tidy.RATCHET: json.dumps({"functions": {"cli/a.cpp::f": 80}})})
        self.assertRegex(self.findings({"cli/a.cpp": self.giant(75)})[0], "shrank to 75")
        self.assertRegex(self.findings({"cli/a.cpp": self.giant(60)})[0], "within the limit")
        tidy.write_ratchet(tidy.Tree(self.root), raises=False)
        self.assertEqual(self.findings({}), [])

    def test_an_accepted_word_may_stay_and_not_spread(self):
        self.write({"cli/a.cpp": "int task;\n", tidy.RATCHET: "{}"})
        self.assertRegex(self.findings({})[0], "`task`")
        tidy.write_ratchet(tidy.Tree(self.root), raises=True)
        self.assertEqual(self.findings({}), [])
        self.assertEqual(self.findings({"cli/a.cpp": "\n\nint task;\n"}), [])
        self.assertRegex(self.findings({"cli/a.cpp": "int task;\nint b_task;\n"})[0], "may only shrink")
        self.assertRegex(self.findings({"cli/a.cpp": "int subtask;\n"})[0], "gone")

    def test_sentences_of_comments_name_their_subject(self):
        self.assertEqual(self.findings({"cli/a.cpp": "// The gateway refuses it. Then the peer ends.\nint a;  ///< Of b.\n"}), [])
        found = self.findings({"cli/a.cpp": "// What is refused hears why. He\n// who asks is told. It\nint a;  ///< They go.\n"})
        self.assertRegex(found[0], "cli has 4 sentences of comments that open with a pronoun")
        self.assertRegex(found[1], "cli has 1 times who")
        self.assertEqual(self.findings({"cli/a.cpp": 'auto a = "What is it";  // A question.\n'}), [])

    def test_prose_of_a_folder_may_get_better_and_not_worse(self):
        self.write({"cli/a.cpp": "// It is.\n// A line.\n\n// It was.\n", tidy.RATCHET: json.dumps({"openings": {"cli": 2}})})
        self.assertEqual(self.findings({}), [])
        self.assertEqual(self.findings({"cli/a.cpp": "// It is.\n"}), [])
        self.assertEqual(self.findings({"cli/a.cpp": "// The gateway is.\n"}), [])
        self.assertRegex(self.findings({"cli/b.cpp": "// It is. It was. They are.\n"})[0], "it was 2")

    def test_lines_have_120_columns_but_for_rows_of_settings(self):
        self.assertEqual(self.findings({"cli/a.cpp": "int a;" + " " * 113 + "//\n"})[0].count("over 120"), 1)
        self.assertEqual(self.findings({"cli/a.cpp": "int a;" + " " * 112 + "//\n"}), [])
        self.assertEqual(self.findings({"cli/a.cpp": "  visit({" + " " * 112 + "});\n"}), [])

    def test_lowering_accepts_nothing_new(self):
        self.write({"cli/a.cpp": self.giant(90), tidy.RATCHET: "{}"})
        tidy.write_ratchet(tidy.Tree(self.root), raises=False)
        self.assertEqual(len(self.findings({})), 1)
        tidy.write_ratchet(tidy.Tree(self.root), raises=True)
        self.assertEqual(self.findings({}), [])

    def commit(self, ratchet):
        self.write({tidy.RATCHET: json.dumps(ratchet)})
        git = ["git", "-C", self.root, "-c", "user.name=t", "-c", "user.email=t@t"]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)

    def test_the_list_only_shrinks_from_commit_to_commit(self):
        self.write({"cli/a.cpp": self.giant(80), "cli/b.cpp": self.giant(80)})
        one = {"cli/a.cpp::f": 80}
        two = {**one, "cli/b.cpp::f": 80}
        self.commit({"baseline": 1, "functions": one})
        self.write({tidy.RATCHET: json.dumps({"baseline": 1, "functions": two})})
        self.assertRegex(self.findings({})[0], "cli/b.cpp::f was added")
        self.commit({"baseline": 1, "functions": two})
        self.assertRegex(self.findings({})[0], "cli/b.cpp::f was added")
        self.commit({"baseline": 2, "functions": two})
        self.assertEqual(self.findings({}), [])


class WholeProgram(RuleTest):
    def run_tidy(self, *arguments):
        return subprocess.run([os.path.join(HERE, "tidy"), "--root", self.root, *arguments], capture_output=True, text=True)

    def test_prints_path_line_rule_and_message_and_fails(self):
        self.write({"cli/a.cpp": "int x;\nassert(x);\n", "cli/README.md": ""})
        result = self.run_tidy()
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"(?m)^cli/a\.cpp:2: call: `assert\(` .* \(use PENSTOCK_CHECK")

    def test_succeeds_on_a_clean_tree(self):
        self.write({"cli/a.cpp": "int x;\n", "cli/README.md": "The one binary.\n"})
        result = self.run_tidy()
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_prints_its_rules_and_marks(self):
        self.assertIn("cordon* -> drain", self.run_tidy("--rules").stdout)
        self.write({"worker/core/a.cpp": '\nPENSTOCK_COVERAGE_MARK("lost");\n'})
        self.assertEqual(self.run_tidy("--coverage-marks").stdout, '"lost"\tworker/core/a.cpp:2\n')


if __name__ == "__main__":
    unittest.main()
