// The commands' makers; one line per command file.
#pragma once

#include "cli/command.h"

namespace thalweg::cli {

Action make_init(Arguments& arguments);
Action make_run(Arguments& arguments);
Action make_submit(Arguments& arguments);
Action make_validate(Arguments& arguments);
Action make_advise(Arguments& arguments);
Action make_simulate(Arguments& arguments);
Action make_schema(Arguments& arguments);
Action make_ls(Arguments& arguments);
Action make_show(Arguments& arguments);
Action make_watch(Arguments& arguments);
Action make_compare(Arguments& arguments);
Action make_figure(Arguments& arguments);
Action make_report(Arguments& arguments);
Action make_serve(Arguments& arguments);
Action make_study(const db::Study& study, Arguments& arguments);    ///< of any row of db/studies
Action make_predict(const db::Study& study, Arguments& arguments);  ///< a row with more around it
Action make_curve(Arguments& arguments);
Action make_query(Arguments& arguments);
Action make_logs(Arguments& arguments);
Action make_cancel(Arguments& arguments);
Action make_evaluate(Arguments& arguments);
Action make_export(Arguments& arguments);
Action make_import(Arguments& arguments);
Action make_retry(Arguments& arguments);
Action make_reproduce(Arguments& arguments);
Action make_rerun(Arguments& arguments);
Action make_extend(Arguments& arguments);
Action make_tag(Arguments& arguments);
Action make_note(Arguments& arguments);
Action make_rename(Arguments& arguments);
Action make_share(Arguments& arguments);
Action make_archive(Arguments& arguments);
Action make_prune(Arguments& arguments);
Action make_rm(Arguments& arguments);
Action make_backup(Arguments& arguments);
Action make_relocate(Arguments& arguments);
Action make_restore(Arguments& arguments);
Action make_daemon(Arguments& arguments);
Action make_admin(Arguments& arguments);
Action make_completion(Arguments& arguments);
Action make_version(Arguments& arguments);

}  // namespace thalweg::cli
