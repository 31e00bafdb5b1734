// The commands of `penstock`.
#pragma once

namespace CLI {
class App;
}

namespace penstock::cli {

struct Invocation;

// Each adds one command, or a family of them.
void add_run_command(CLI::App& app, Invocation& invocation);
void add_supervisor_command(CLI::App& app, Invocation& invocation);
void add_worker_command(CLI::App& app, Invocation& invocation);
void add_token_command(CLI::App& app, Invocation& invocation);
void add_login_command(CLI::App& app, Invocation& invocation);
void add_doctor_command(CLI::App& app, Invocation& invocation);
void add_submit_command(CLI::App& app, Invocation& invocation);
void add_rerun_command(CLI::App& app, Invocation& invocation);
void add_wait_command(CLI::App& app, Invocation& invocation);
void add_result_command(CLI::App& app, Invocation& invocation);
void add_question_commands(CLI::App& app, Invocation& invocation);
/// Adds commands to the question `audit`, which is there already.
void add_audit_commands(CLI::App& app, Invocation& invocation);
void add_watch_command(CLI::App& app, Invocation& invocation);
void add_admin_command(CLI::App& app, Invocation& invocation);
void add_config_command(CLI::App& app, Invocation& invocation);
void add_state_command(CLI::App& app, Invocation& invocation);
/// Adds the commands that are now in `penstock-lab`: each ends with exit code 2 and its new name; no help lists them.
void add_moved_commands(CLI::App& app, Invocation& invocation);

/// The commands that need only a session: those of the admin shell.
void add_session_commands(CLI::App& app, Invocation& invocation);
/// Adds all commands.
void add_product_commands(CLI::App& app, Invocation& invocation);

}  // namespace penstock::cli
