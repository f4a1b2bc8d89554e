# Included by CMakeLists.txt: the backend that speaks with thalweg-slurm-agent. Needs no libslurm.
thalweg_library(thalweg_backend_slurm
  SOURCES slurm.cpp slurm_agent_link.cpp slurm_request.cpp slurm_script.cpp slurm_status.cpp
  PUBLIC thalweg_jobspec Boost::headers thalweg_backend_environment
  PRIVATE thalweg_api nlohmann_json::nlohmann_json Threads::Threads)
