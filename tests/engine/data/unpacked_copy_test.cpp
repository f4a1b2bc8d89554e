// Unpacked copies of compressed images: used, never stale, never another user's, never in the way.
#include "engine/data/unpacked_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "engine/data/idx.h"

namespace thalweg::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint32_t kImages = 8, kSide = 512;  // 2 MiB, of which copies are made

/// Sets a variable of the environment and puts it back.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name); before != nullptr) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

std::string idx_bytes(const std::vector<std::uint32_t>& sizes, int seed) {
  std::string bytes{'\0', '\0', '\x08', static_cast<char>(sizes.size())};
  std::uint64_t total = 1;
  for (const std::uint32_t size : sizes) {
    for (const int shift : {24, 16, 8, 0})
      bytes += static_cast<char>(size >> shift & 255);
    total *= size;
  }
  for (std::uint64_t i = 0; i < total; ++i)
    bytes += static_cast<char>((i * i + static_cast<std::uint64_t>(seed)) % 251 % 8);
  return bytes;
}

class UnpackedCopies : public testing::Test {
 protected:
  UnpackedCopies() {
    pack(1);
    std::ofstream(pair_.labels) << idx_bytes({kImages}, 0);
  }
  /// In the place of what is there, by the same name and length of contents.
  void pack(int seed) {
    const std::string bytes = idx_bytes({kImages, kSide, kSide}, seed);
    gzFile file = gzopen(pair_.images.c_str(), "wb1");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    expected_ = bytes.substr(16);
  }
  std::string loaded() const {
    const auto dataset = load_idx_pair(pair_);
    std::string values;
    for (std::size_t i = 0; i < dataset->size(); ++i)
      values.append(reinterpret_cast<const char*>(dataset->stored_sample(i)), kSide * kSide);
    return values;
  }
  std::vector<std::filesystem::path> copies() const {
    std::vector<std::filesystem::path> found;
    if (std::filesystem::exists(cache_))
      for (const auto& entry : std::filesystem::directory_iterator(cache_))
        found.push_back(entry.path());
    return found;
  }
  /// A value of the copy that the files do not have: who reads it has used the copy.
  std::string mark_copy() const {
    std::fstream file(copies().at(0), std::ios::in | std::ios::out | std::ios::binary);
    file.put('\x7f');
    return '\x7f' + expected_.substr(1);
  }

  TemporaryFolder folder_{"unpacked"};
  std::filesystem::path cache_ = folder_.path() / "cache/thalweg";
  Variable variable_{"THALWEG_CACHE", cache_.string()};
  IdxPair pair_{.images = folder_.path() / "images.gz", .labels = folder_.path() / "labels"};
  std::string expected_;
};

TEST_F(UnpackedCopies, AreMadeOnceAndUsed) {
  EXPECT_TRUE(loaded() == expected_);
  ASSERT_THAT(copies(), SizeIs(1));
  struct stat status {};
  ASSERT_EQ(stat(cache_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_TRUE(loaded() == expected_);
  const std::string marked = mark_copy();
  EXPECT_TRUE(loaded() == marked);
}

TEST_F(UnpackedCopies, AreSharedByFilesOfEqualContents) {
  loaded();
  const std::string marked = mark_copy();
  std::filesystem::copy_file(pair_.images, folder_.path() / "elsewhere.gz");
  pair_.images = folder_.path() / "elsewhere.gz";
  EXPECT_TRUE(loaded() == marked);
}

TEST_F(UnpackedCopies, OfAChangedFileAreNotRead) {
  loaded();
  const auto time = std::filesystem::last_write_time(pair_.images);
  pack(2);
  std::filesystem::last_write_time(pair_.images, time);  // the time alone would not tell
  EXPECT_TRUE(loaded() == expected_);
  EXPECT_THAT(copies(), SizeIs(2));
}

TEST_F(UnpackedCopies, ThatOthersMayWriteAreNotTrusted) {
  loaded();
  mark_copy();
  for (const int mode : {0620, 0602}) {
    ASSERT_EQ(chmod(copies().at(0).c_str(), static_cast<mode_t>(mode)), 0);
    EXPECT_TRUE(loaded() == expected_);
    mark_copy();  // it may have been made anew
  }
  ASSERT_EQ(chmod(copies().at(0).c_str(), 0600), 0);
  for (const int mode : {0770, 0707}) {
    ASSERT_EQ(chmod(cache_.c_str(), static_cast<mode_t>(mode)), 0);
    EXPECT_TRUE(loaded() == expected_);
  }
}

TEST_F(UnpackedCopies, OfSomebodyElseAreNotTrusted) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  loaded();
  mark_copy();
  ASSERT_EQ(chown(copies().at(0).c_str(), 65534, 65534), 0);
  EXPECT_TRUE(loaded() == expected_);
  std::filesystem::remove(copies().at(0));
  ASSERT_EQ(chown(cache_.c_str(), 65534, 65534), 0);
  EXPECT_TRUE(loaded() == expected_);
  EXPECT_THAT(copies(), IsEmpty());
}

TEST_F(UnpackedCopies, BehindLinksAreNotTrusted) {
  loaded();
  mark_copy();
  const auto copy = copies().at(0);
  std::filesystem::rename(copy, folder_.path() / "aside");
  std::filesystem::create_symlink(folder_.path() / "aside", copy);
  EXPECT_TRUE(loaded() == expected_);
}

TEST_F(UnpackedCopies, ThatAreCutAreMadeAnew) {
  loaded();
  std::filesystem::resize_file(copies().at(0), 1000);
  EXPECT_TRUE(loaded() == expected_);
  EXPECT_EQ(std::filesystem::file_size(copies().at(0)), expected_.size());
}

TEST_F(UnpackedCopies, NeedNoPlace) {
  std::ofstream(folder_.path() / "cache") << "a file where a folder is wanted";
  EXPECT_TRUE(loaded() == expected_);
}

TEST_F(UnpackedCopies, AreTurnedOff) {
  const Variable off("THALWEG_CACHE", "off");
  const Variable home("HOME", folder_.path().string());
  EXPECT_TRUE(loaded() == expected_);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / ".cache"));
}

TEST_F(UnpackedCopies, StandInTheHomeByDefault) {
  const Variable none("THALWEG_CACHE", "");
  const Variable relative("XDG_CACHE_HOME", "relative");
  const Variable home("HOME", folder_.path().string());
  loaded();
  cache_ = folder_.path() / ".cache/thalweg";
  EXPECT_THAT(copies(), SizeIs(1));
  const Variable xdg("XDG_CACHE_HOME", (folder_.path() / "xdg").string());
  loaded();
  cache_ = folder_.path() / "xdg/thalweg";
  EXPECT_THAT(copies(), SizeIs(1));
}

TEST_F(UnpackedCopies, OfAKilledWriterAreMadeAfterAWhile) {
  loaded();
  const auto copy = copies().at(0), unfinished = std::filesystem::path(copy.string() + ".new");
  std::filesystem::rename(copy, unfinished);
  std::filesystem::resize_file(unfinished, 1000);
  EXPECT_TRUE(loaded() == expected_);  // somebody may still be writing
  EXPECT_THAT(copies(), ElementsAre(unfinished));
  std::filesystem::last_write_time(
      unfinished, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_TRUE(loaded() == expected_);
  EXPECT_THAT(copies(), ElementsAre(copy));
}

/// Runs `check` in a process of its own.
template <class Check>
pid_t in_child(const Check& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  return child;
}

void expect_success(pid_t child) {
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(UnpackedCopies, KeepToTheLimitOfFileSizes) {
  expect_success(in_child([&] {  // whose signal would end the process
    const struct rlimit limit { 1 << 20, 1 << 20 };
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 && loaded() == expected_;
  }));
  EXPECT_THAT(copies(), IsEmpty());
}

TEST_F(UnpackedCopies, AreMadeByOneOfManyProcesses) {
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i)
    children.push_back(in_child([&] { return loaded() == expected_ && loaded() == expected_; }));
  for (const pid_t child : children)
    expect_success(child);
  ASSERT_THAT(copies(), SizeIs(1));
  EXPECT_TRUE(read_file(copies().at(0)) == expected_);
}

}  // namespace
}  // namespace thalweg::engine
