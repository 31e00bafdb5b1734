// `penstock`: the daemons of a cluster, and every command of its users and operators.
#include "cli/commands/commands.hpp"
#include "cli/commands/program.hpp"

namespace {

constexpr const char* kSummary = "run the task graphs of dataframe and tensor engines";  // tidy: foreign
constexpr const char* kIntroduction =
    "Penstock runs the task graphs of dataframe and tensor engines.\n"  // tidy: foreign
    "`penstock run FILE` runs a job file here; `penstock supervisor` and `penstock worker` make a cluster;\n"
    "`penstock admin` is a shell for its operators.";
constexpr const char* kManualEnd = R"(.SH EXIT STATUS
.TP
.B 0
Done; a job that was waited for has succeeded.
.TP
.B 1
The job failed or was cancelled, or an output file that it promised is missing.
.TP
.B 2
Bad input: one message on standard error, and nothing was changed.
.TP
.B 130
Interrupted; the job that was waited for goes on.
.SH ENVIRONMENT
.TP
.B PENSTOCK_SUPERVISOR
Address of the supervisor, as \fB\-\-supervisor\fR.
.TP
.B PENSTOCK_CONFIG
File of settings, as \fB\-\-config\fR.
.SH FILES
.TP
.I penstock.toml
Settings of the daemons and of \fBpenstock run\fR, if it stands in the current directory.
.TP
.I ~/.penstock_history
What was typed in the admin shell.
.SH EXAMPLES
.EX
penstock run examples/word_count.toml \-\-timeline
penstock supervisor \-\-listen 127.0.0.1:7465 &
penstock worker \-\-name w1 &
penstock submit examples/primes.toml \-\-wait
penstock explain primes
.EE
.SH SEE ALSO
.BR penstock\-lab (1)
)";

}  // namespace

int main(int argc, char** argv) {
  return penstock::cli::run_program(
      {"penstock", kSummary, kIntroduction, kManualEnd, penstock::cli::add_product_commands}, argc, argv);
}
