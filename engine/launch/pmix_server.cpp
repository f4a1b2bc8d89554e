#include "engine/launch/pmix_server.h"

#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "base/machine.h"
#include "engine/comm/wireup/sanitizers.h"
#include "engine/launch/records.h"

extern char** environ;

namespace thalweg::engine::launch {
namespace {

void check(pmix_status_t status, const char* what) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return;
  throw std::runtime_error(std::string(what) + ": " + PMIx_Error_string(status));
}

/// The library answers from a thread of its own.
class Answer {
 public:
  static void callback(pmix_status_t status, void* self) {
    auto* answer = static_cast<Answer*>(self);
    std::lock_guard lock(answer->mutex_);
    answer->status_ = status;
    answer->come_ = true;
    answer->changed_.notify_all();
  }
  void wait(pmix_status_t started, const char* what) {
    if (started == PMIX_OPERATION_SUCCEEDED) return;
    check(started, what);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return come_; });
    check(status_, what);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool come_ = false;
  pmix_status_t status_ = PMIX_SUCCESS;
};

/// An array of pmix_info_t that owns its values.
class Infos {
 public:
  Infos() = default;
  Infos(const Infos&) = delete;
  Infos& operator=(const Infos&) = delete;
  ~Infos() {
    for (auto& info : infos_) {
      PMIX_INFO_DESTRUCT(&info);
    }
  }
  void add(const char* key, const std::string& text) { load(key, text.c_str(), PMIX_STRING); }
  void add(const char* key, std::uint32_t n) { load(key, &n, PMIX_UINT32); }
  void add(const char* key, std::uint16_t n) { load(key, &n, PMIX_UINT16); }
  void add(const char* key, bool yes) { load(key, &yes, PMIX_BOOL); }
  void add_rank(pmix_rank_t rank) { load(PMIX_RANK, &rank, PMIX_PROC_RANK); }
  void add(const char* key, Infos& inner) {
    pmix_data_array_t array;
    array.type = PMIX_INFO;
    array.size = inner.size();
    array.array = inner.data();
    load(key, &array, PMIX_DATA_ARRAY);
  }
  pmix_info_t* data() { return infos_.data(); }
  std::size_t size() const { return infos_.size(); }

 private:
  void load(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, key, value, type);
    infos_.push_back(info);
  }
  std::vector<pmix_info_t> infos_;
};

struct Free {
  void operator()(char* text) const { std::free(text); }
};
using CText = std::unique_ptr<char, Free>;

// The whole job is on this machine: a fence is complete as soon as the library calls us, which it
// does when every local rank has come, and the data of all ranks are those it hands over.
pmix_status_t fence(const pmix_proc_t*, size_t, const pmix_info_t*, size_t, char* data,
                    size_t bytes, pmix_modex_cbfunc_t done, void* closure) {
  if (done) done(PMIX_SUCCESS, data, bytes, closure, nullptr, nullptr);
  return PMIX_SUCCESS;
}

pmix_status_t finalized(const pmix_proc_t*, void*, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t connected(const pmix_proc_t*, void*, pmix_info_t*, size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_server_module_t module() {
  pmix_server_module_t callbacks{};
  callbacks.client_finalized = finalized;
  callbacks.client_connected2 = connected;
  callbacks.fence_nb = fence;
  return callbacks;
}

/// A launcher may itself run under a PMIx server (a Slurm step): its ranks must not meet that one.
void forget_outer_server() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry; ++entry) {
    if (std::strncmp(*entry, "PMIX_", 5) == 0) {
      names.emplace_back(*entry, std::strcspn(*entry, "="));
    }
  }
  for (const auto& name : names) {
    ::unsetenv(name.c_str());
  }
}

void describe(Infos& job, const std::string& name, int ranks, const std::string& host) {
  const auto n = static_cast<std::uint32_t>(ranks);
  std::string list;
  for (int r = 0; r < ranks; ++r) {
    list += (r ? "," : "") + std::to_string(r);
  }
  char* text = nullptr;
  check(PMIx_generate_regex(host.c_str(), &text), "PMIx_generate_regex");
  const CText nodes(text);
  check(PMIx_generate_ppn(list.c_str(), &text), "PMIx_generate_ppn");
  const CText processes(text);

  job.add(PMIX_JOBID, name);
  job.add(PMIX_UNIV_SIZE, n);
  job.add(PMIX_JOB_SIZE, n);
  job.add(PMIX_MAX_PROCS, n);
  job.add(PMIX_JOB_NUM_APPS, std::uint32_t{1});
  job.add(PMIX_LOCAL_SIZE, n);
  job.add(PMIX_NUM_NODES, std::uint32_t{1});
  job.add(PMIX_LOCAL_PEERS, list);
  job.add(PMIX_NODE_MAP, std::string(nodes.get()));
  job.add(PMIX_PROC_MAP, std::string(processes.get()));
  for (std::uint32_t r = 0; r < n; ++r) {
    Infos rank;
    rank.add_rank(r);
    rank.add(PMIX_APPNUM, std::uint32_t{0});
    rank.add(PMIX_GLOBAL_RANK, r);
    rank.add(PMIX_LOCAL_RANK, static_cast<std::uint16_t>(r));
    rank.add(PMIX_NODE_RANK, static_cast<std::uint16_t>(r));
    rank.add(PMIX_NODEID, std::uint32_t{0});
    rank.add(PMIX_HOSTNAME, host);
    job.add(PMIX_PROC_DATA, rank);
  }
}

pmix_proc_t process(const std::string& job, int rank) {
  pmix_proc_t proc;
  PMIX_PROC_LOAD(&proc, job.c_str(), static_cast<pmix_rank_t>(rank));
  return proc;
}

}  // namespace

PmixServer::PmixServer(int ranks, const std::filesystem::path& folder, const std::string& host)
    : job_("thalweg-" + std::to_string(::getpid()) + "-" +
           std::to_string(process_start_time(::getpid()).value_or(0))) {
  forget_outer_server();
  // Plain messages between server and ranks: the shared-memory store takes longer to set up than a
  // handful of ranks ever save, and leaves files behind when killed.
  ::setenv("PMIX_MCA_gds", "hash", 1);

  Infos options;
  options.add(PMIX_SERVER_TMPDIR, folder.string());
  options.add(PMIX_SYSTEM_TMPDIR, folder.string());
  options.add(PMIX_HOSTNAME, host);
  options.add(PMIX_SERVER_TOOL_SUPPORT, false);
  static pmix_server_module_t callbacks = module();
  check(PMIx_server_init(&callbacks, options.data(), options.size()), "PMIx_server_init");

  try {
    Infos job;
    describe(job, job_, ranks, host);
    Answer answer;
    answer.wait(PMIx_server_register_nspace(job_.c_str(), ranks, job.data(), job.size(),
                                            Answer::callback, &answer),
                "PMIx_server_register_nspace");
    for (int r = 0; r < ranks; ++r) {
      const pmix_proc_t proc = process(job_, r);
      Answer registered;
      registered.wait(PMIx_server_register_client(&proc, ::getuid(), ::getgid(), nullptr,
                                                  Answer::callback, &registered),
                      "PMIx_server_register_client");
    }
  } catch (...) {
    PMIx_server_finalize();
    throw;
  }
}

PmixServer::~PmixServer() {
  PMIx_server_finalize();
}

std::vector<std::string> PmixServer::environment(int rank) const {
  // The library appends to an array of its own kind: NULL-terminated, made by malloc.
  auto** entries = static_cast<char**>(std::calloc(1, sizeof(char*)));
  const pmix_proc_t proc = process(job_, rank);
  const pmix_status_t status = PMIx_server_setup_fork(&proc, &entries);
  std::vector<std::string> texts;
  for (char** entry = entries; entry && *entry; ++entry) {
    texts.emplace_back(*entry);
    std::free(*entry);
  }
  std::free(entries);
  check(status, "PMIx_server_setup_fork");
  for (std::string& entry : environment_without_pmix())
    texts.push_back(std::move(entry));
  return texts;
}

std::vector<std::string> environment_without_pmix() {
  std::vector<std::string> texts;
  for (char** entry = environ; *entry; ++entry) {
    if (std::strncmp(*entry, "PMIX_", 5) != 0) texts.emplace_back(*entry);
  }
  return texts;
}

}  // namespace thalweg::engine::launch
