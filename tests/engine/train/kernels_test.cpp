// Runs that measure the libraries' kernels, and those that take what others have measured: on the
// emulated GPU, whose calls have two algorithms with other bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "engine/train/check.h"
#include "engine/train/kernel_file.h"
#include "engine/train/kernels.h"
#include "jobspec/complete.h"
#include "tests/engine/train/support.h"
#include "tests/support/memory_transport.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using jobspec::Trial;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

MeasuredKernels some_kernels() {
  return {"a GPU, cuDNN 9",
          1000,
          900,
          {{"conv n 1", {"conv \"1\"", {{0, "engine 1", 0, 0.1}, {3, "engine 2", 77, 3}}}},
           {"product", {"product 2x2", {}}}}};
}

TEST(KernelFile, ReadsWhatItWrote) {
  const test::TempDir folder;
  const std::filesystem::path file = folder.path() / "new/kernels.json";
  EXPECT_THAT(read_kernels(file), SizeIs(0));
  MeasuredKernels other = some_kernels();
  other.machine = "another";
  write_kernels(file, {some_kernels(), other});
  EXPECT_EQ(read_kernels(file), (std::vector<MeasuredKernels>{some_kernels(), other}));
}

TEST(KernelFile, RefusesWhatItDidNotWrite) {
  const std::string text = to_text({some_kernels()});
  EXPECT_EQ(kernels_from(text).size(), 1U);
  const auto with = [&](const std::string& a, const std::string& b) {
    std::string other = text;
    EXPECT_NE(other.find(a), std::string::npos) << a;
    return other.replace(other.find(a), a.size(), b);
  };
  for (const std::string& damaged :
       {std::string(), std::string("12"), text.substr(0, text.size() / 2),
        with("\"format\":1", "\"format\":9"), with("\"workspace\":77", "\"workspace\":-77"),
        with("\"ms\":0.1", "\"ms\":\"nan\""), with("\"key\"", "\"kez\"")})
    EXPECT_THROW((void)kernels_from(damaged), std::exception) << damaged;
}

TEST(KernelWorkspace, IsWhatOtherNeedsLeave) {
  MemoryNeeds needs;
  needs.activations = 60;
  needs.workspace = 10;  // of the first algorithms
  EXPECT_EQ(workspace_within(needs, 30, 100), 30U);
  EXPECT_EQ(workspace_within(needs, 50, 100), 40U);
  EXPECT_EQ(workspace_within(needs, 50, 50), 0U);
}

class Kernels : public testing::Test {
 protected:
  void SetUp() override { setenv("THALWEG_GPU", "emulated", 1); }
  void TearDown() override {
    unsetenv("THALWEG_GPU");
    unsetenv("THALWEG_GPU_MEMORY");
  }

  static Trial measuring() {
    Trial trial = tiny_trial();
    trial.train.set("device", "cuda");
    trial.train.set("batch.shards", 4);
    trial.train.set("kernels.measure", "always");
    return trial;
  }
  static std::filesystem::path file_in(const test::TempDir& folder) {
    return folder.path() / "checkpoints/kernels.json";
  }
  /// The notes, a line each.
  static std::string journal_of(const test::TempDir& folder) {
    std::string text;
    for (const jobspec::Value& line : lines_of(read_journal(folder.path()), "note"))
      text += line.find("text")->as_string() + "\n";
    return text;
  }
  /// The trial's kernels, as if the second algorithms had been the faster ones.
  static std::vector<MeasuredKernels> second_algorithms() {
    const test::TempDir folder;
    run_to_end(measuring(), folder.path(), 1);
    std::vector<MeasuredKernels> kernels = read_kernels(file_in(folder));
    for (auto& [key, call] : kernels.at(0).times)
      for (AlgorithmTime& algorithm : call.algorithms)
        algorithm.ms = 5 - algorithm.algorithm;
    return kernels;
  }
  static std::vector<std::string> curve_with(const std::vector<MeasuredKernels>& kernels,
                                             int ranks) {
    const test::TempDir folder;
    write_kernels(file_in(folder), kernels);
    run_to_end(measuring(), folder.path(), ranks);
    EXPECT_THAT(journal_of(folder), HasSubstr("kernels as in "));
    EXPECT_EQ(read_kernels(file_in(folder)), kernels);
    return curve({folder.path()});
  }
};

TEST_F(Kernels, AreMeasuredOnceAndKept) {
  const test::TempDir folder;
  run_to_end(measuring(), folder.path(), 2);
  EXPECT_THAT(journal_of(folder),
              AllOf(HasSubstr("kernels: measured 5 of 5 kinds of calls in "),
                    HasSubstr("5 library calls of a shard take "), HasSubstr(" in the fastest, "),
                    HasSubstr("in those taken within 1024.0 MiB of workspace")));
  const std::vector<MeasuredKernels> kept = read_kernels(file_in(folder));
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_THAT(kept[0].machine, HasSubstr("emulated GPU, 1 multiprocessors, loops of the host"));
  EXPECT_EQ(kept[0].bound, std::size_t{1} << 30);
  ASSERT_THAT(kept[0].times, SizeIs(5));
  for (const auto& [key, call] : kept[0].times)
    EXPECT_THAT(call.algorithms, SizeIs(2)) << key;
}

TEST_F(Kernels, AreNotMeasuredOnTheEmulatedGpuUnlessAsked) {
  for (const char* measure : {"auto", "never"}) {
    Trial trial = measuring();
    trial.train.set("kernels.measure", measure);
    const test::TempDir folder;
    run_to_end(trial, folder.path(), 1);
    EXPECT_THAT(journal_of(folder), Not(HasSubstr("kernels: measured"))) << measure;
    EXPECT_FALSE(std::filesystem::exists(file_in(folder))) << measure;
  }
}

TEST_F(Kernels, OfTheFileAreTakenByEveryRank) {
  const std::vector<MeasuredKernels> kernels = second_algorithms();
  const auto expected = curve_with(kernels, 1);
  for (const int ranks : {2, 4})
    EXPECT_EQ(curve_with(kernels, ranks), expected) << ranks;
  Trial plain = measuring();
  plain.train.set("kernels.measure", "never");
  const test::TempDir folder;
  run_to_end(plain, folder.path(), 1);
  EXPECT_NE(curve({folder.path()}), expected);  // the second algorithms round otherwise
}

TEST_F(Kernels, AreThoseOfTheAttemptThatIsGoneOnWith) {
  const std::vector<MeasuredKernels> kernels = second_algorithms();
  Trial trial = measuring();
  trial.train.set("checkpoint.every", 10);
  trial.train.set("checkpoint.keep", 100);
  const test::TempDir parts;
  const std::filesystem::path first = parts.path() / "first/checkpoints";
  write_kernels(first / "kernels.json", kernels);
  run_to_end(trial, parts.path() / "first", 2);
  for (const auto& entry : std::filesystem::directory_iterator(first))
    if (entry.path().extension() == ".ckpt" && entry.path().filename() != checkpoint_name(10))
      std::filesystem::remove(entry.path());
  Trial rest = trial;
  rest.resume = {first};
  run_to_end(rest, parts.path() / "second", 4);
  EXPECT_EQ(read_kernels(parts.path() / "second/checkpoints/kernels.json"), kernels);
  const test::TempDir whole;
  write_kernels(file_in(whole), kernels);
  run_to_end(trial, whole.path(), 1);
  EXPECT_EQ(curve({parts.path() / "first", parts.path() / "second"}), curve({whole.path()}));
}

TEST_F(Kernels, OfADamagedFileAreMeasuredAnew) {
  const test::TempDir folder;
  std::filesystem::create_directories(file_in(folder).parent_path());
  test::write_file(file_in(folder), "{\"format\": 1, \"machines\": [");
  run_to_end(measuring(), folder.path(), 2);
  EXPECT_THAT(journal_of(folder), AllOf(HasSubstr("kernels.json is passed over: "),
                                        HasSubstr("kernels: measured 5 of 5")));
  EXPECT_THAT(read_kernels(file_in(folder)), SizeIs(1));
}

TEST_F(Kernels, OfAnotherMachineStayInTheFile) {
  const test::TempDir folder;
  write_kernels(file_in(folder), {some_kernels()});
  run_to_end(measuring(), folder.path(), 1);
  EXPECT_THAT(journal_of(folder), AllOf(HasSubstr("was measured on a GPU, cuDNN 9, this is emul"),
                                        HasSubstr("kernels: measured 5 of 5")));
  const std::vector<MeasuredKernels> kept = read_kernels(file_in(folder));
  ASSERT_THAT(kept, SizeIs(2));
  EXPECT_EQ(kept[0], some_kernels());
}

TEST_F(Kernels, ThatTheFileLacksAreMeasured) {
  std::vector<MeasuredKernels> kernels = second_algorithms();
  const KernelTimes all = kernels[0].times;
  kernels[0].times.erase(kernels[0].times.begin());
  const test::TempDir folder;
  write_kernels(file_in(folder), kernels);
  run_to_end(measuring(), folder.path(), 1);
  EXPECT_THAT(journal_of(folder), HasSubstr("kernels: measured 1 of 5"));
  const KernelTimes now = read_kernels(file_in(folder)).at(0).times;
  ASSERT_EQ(now.size(), all.size());
  for (auto call = std::next(all.begin()); call != all.end(); ++call)
    EXPECT_EQ(now.at(call->first), call->second);
}

TEST_F(Kernels, ThatTimeDidNotReachStayAsTheyAre) {
  Trial trial = measuring();
  trial.train.set("kernels.seconds", 0);
  const test::TempDir folder;
  run_to_end(trial, folder.path(), 1);
  EXPECT_THAT(journal_of(folder), AllOf(HasSubstr("kernels: measured 0 of 5"),
                                        HasSubstr("the time for measuring is over: 5 of 5")));
  trial.train.set("kernels.seconds", 100);
  std::filesystem::remove(folder.path() / "journal.jsonl");
  for (const auto& entry : std::filesystem::directory_iterator(file_in(folder).parent_path()))
    if (entry.path().extension() == ".ckpt") std::filesystem::remove(entry.path());
  run_to_end(trial, folder.path(), 1);
  EXPECT_THAT(journal_of(folder),
              AllOf(HasSubstr("kernels as in "), Not(HasSubstr("kernels: measured"))));
}

/// What choose_kernels() answers on each of two ranks, whose machines are these.
std::vector<KernelOptions> chosen_on(const std::vector<std::string>& machines,
                                     const std::filesystem::path& folder, std::string& journal) {
  const Trial trial = tiny_trial();
  jobspec::Value train = trial.train;
  train.set("device", "cuda");
  train.set("kernels.measure", "always");
  const jobspec::Value config = jobspec::complete_train(train, train_schema(), "trial.yaml");
  const Settings settings = read_settings(config);
  std::vector<KernelOptions> answers(machines.size());
  auto transports = comm::memory_transports(static_cast<int>(machines.size()));
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < machines.size(); ++r)
    threads.emplace_back([&, r] {
      comm::Group group(std::move(transports[r]), {});
      Record record(trial, folder, r == 0);
      if (r == 0) record.start({});
      answers[r] = choose_kernels({group,
                                   record,
                                   settings,
                                   [&] { return machines[r]; },
                                   {folder},
                                   [&](const KernelOptions& kernels) {
                                     CompileOptions options;
                                     options.kernels = kernels;
                                     return build_model(*config.find("model"), {{8}, 3}, 4, "cuda",
                                                        *config.find("loss"), options);
                                   },
                                   [](const Model&) { return MemoryNeeds(); }});
      group.barrier();
    });
  for (std::thread& thread : threads)
    thread.join();
  journal = test::read_file(folder / "journal.jsonl");
  return answers;
}

TEST_F(Kernels, OfRankZeroAreTakenWhereTheMachineIsTheSame) {
  const test::TempDir folder;
  std::string journal;
  const auto chosen = chosen_on({"one", "one", "other"}, folder.path(), journal);
  ASSERT_NE(chosen[0].times, nullptr);
  EXPECT_FALSE(chosen[0].times->empty());
  EXPECT_EQ(*chosen[1].times, *chosen[0].times);
  EXPECT_TRUE(chosen[2].times->empty());
  EXPECT_EQ(chosen[2].workspace, chosen[0].workspace);
  EXPECT_THAT(journal, HasSubstr("1 of 3 ranks have another GPU or other libraries than rank 0"));
}

std::string check(const Trial& trial) {
  const test::TempDir folder;
  jobspec::write_trial(trial, folder.path() / "trial.yaml");
  return check_trial(folder.path() / "trial.yaml");
}

TEST_F(Kernels, AreToldByCheck) {
  Trial trial = measuring();
  EXPECT_THAT(check(trial),
              AllOf(HasSubstr("5 kinds of library calls are measured at the start"),
                    HasSubstr("within 1024.0 MiB of workspace"), HasSubstr("workspace 1024.0")));
  trial.train.set("kernels.measure", "never");
  trial.train.set("kernels.workspace_mib", 2.5);
  EXPECT_THAT(check(trial), HasSubstr("as the libraries think best within 2.5 MiB of workspace"));
}

TEST_F(Kernels, TakeTheWorkspaceThatIsFree) {
  setenv("THALWEG_GPU_MEMORY", "2000000", 1);
  EXPECT_THAT(check(measuring()),
              AllOf(HasSubstr("GPU memory  1.9 MiB: "), Not(HasSubstr("within 1024.0 MiB"))));
  const test::TempDir folder;
  run_to_end(measuring(), folder.path(), 1);
  const std::vector<MeasuredKernels> kept = read_kernels(file_in(folder));
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_EQ(kept[0].asked, std::size_t{1} << 30);
  EXPECT_LT(kept[0].bound, 2000000U);
}

TEST_F(Kernels, AreRefusedWhereThereAreNone) {
  Trial trial = measuring();
  trial.train.set("device", "reference");
  EXPECT_THROW(
      try { (void)check(trial); } catch (const std::invalid_argument& e) {
        EXPECT_THAT(e.what(), HasSubstr("kernels.measure: device reference has no calls"));
        throw;
      },
      std::invalid_argument);
}

}  // namespace
}  // namespace thalweg::engine
