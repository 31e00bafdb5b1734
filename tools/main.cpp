// `penstock-lab`: measures, tests and replays Penstock, for developers and planners of clusters.
#include "cli/commands/program.hpp"
#include "tools/commands.hpp"

namespace {

constexpr const char* kSummary = "measure, simulate and replay Penstock";
constexpr const char* kIntroduction =
    "Penstock's laboratory.\n"
    "`penstock-lab bench` measures a cluster of its own; `penstock-lab sim` runs the production cores in a faulty,\n"
    "virtual one; `penstock-lab policy` checks the cluster policy and replays traces under it.";
constexpr const char* kManualEnd = R"(.SH EXIT STATUS
.TP
.B 0
Done; every case passed, and every seed kept its promises.
.TP
.B 1
A case came out differently, or a seed broke a promise.
.TP
.B 2
Bad input: one message on standard error, and nothing was changed.
.SH ENVIRONMENT
.TP
.B PENSTOCK_CONFIG
File of settings for \fBpolicy simulate \-\-pool\fR, as \fB\-\-config\fR.
.SH FILES
.TP
.I penstock
The daemons that \fBbench\fR measures: the binary beside this one.
.SH EXAMPLES
.EX
penstock\-lab bench \-\-shape stencil \-\-subtasks 100000
penstock\-lab sim \-\-seeds 1..100 \-\-faults 3
penstock\-lab policy generate \-\-trace T \-\-nodes B
penstock\-lab policy simulate \-\-trace T \-\-nodes B
.EE
.SH SEE ALSO
.BR penstock (1)
)";

}  // namespace

int main(int argc, char** argv) {
  return penstock::cli::run_program(
      {"penstock-lab", kSummary, kIntroduction, kManualEnd, penstock::tools::add_lab_commands}, argc, argv);
}
