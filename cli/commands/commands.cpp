#include "cli/commands/commands.hpp"

namespace penstock::cli {

void add_session_commands(CLI::App& app, Invocation& invocation) {
  add_submit_command(app, invocation);
  add_rerun_command(app, invocation);
  add_wait_command(app, invocation);
  add_result_command(app, invocation);
  add_question_commands(app, invocation);
  add_watch_command(app, invocation);
}

void add_product_commands(CLI::App& app, Invocation& invocation) {
  add_run_command(app, invocation);
  add_supervisor_command(app, invocation);
  add_worker_command(app, invocation);
  add_session_commands(app, invocation);
  add_audit_commands(app, invocation);
  add_login_command(app, invocation);
  add_token_command(app, invocation);
  add_doctor_command(app, invocation);
  add_admin_command(app, invocation);
  add_config_command(app, invocation);
  add_state_command(app, invocation);
  add_moved_commands(app, invocation);
}

}  // namespace penstock::cli
