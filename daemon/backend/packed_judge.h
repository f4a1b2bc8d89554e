// What became of an attempt in a job that it shares, from the files of the pack and what the
// backend says of the job. Pure.
#pragma once

#include <optional>

#include "daemon/backend/backend.h"
#include "daemon/backend/packed_files.h"

namespace thalweg::daemon {

bool is_over(const JobStatus& job);

/// Of a job that ended before its worker began: the fault of what was asked, which every trial of
/// it shares; not the machine's, nor nobody's.
bool is_shared_end(const JobStatus& job);

/// The pack's folder, where the job is one of a pack's by the folder that it works in.
std::optional<std::filesystem::path> pack_of_job(const JobStatus& status);

/// Completes `status` of an attempt whose task is, or was, in a job. `job`: what is known of that
/// job now; nothing = that it goes on.
void judge(const TaskPlace& place, const PackedJob& files, const std::optional<JobStatus>& job,
           JobStatus& status);

}  // namespace thalweg::daemon
