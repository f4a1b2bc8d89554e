# Included by CMakeLists.txt: the backend that speaks with thalweg-slurm-agent. Needs no libslurm.
thalweg_library(thalweg_backend_slurm
  SOURCES slurm.cpp slurm_agent_link.cpp slurm_request.cpp slurm_script.cpp slurm_status.cpp packed.cpp packed_files.cpp packed_jobs.cpp packed_judge.cpp
  PUBLIC thalweg_jobspec Boost::headers thalweg_backend_environment thalweg_pack_folder
  PRIVATE thalweg_api thalweg_backend_disk thalweg_daemon_state fmt::fmt nlohmann_json::nlohmann_json Threads::Threads)
