// SQLite's own VFS does the work; this one stands before it and keeps, for each file, what the
// writes since the last xSync have replaced. https://sqlite.org/vfs.html
#include "tests/simulation/power.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace thalweg::simulation::power {

namespace {

constexpr std::int64_t sector = 512;

struct Unsynchronised {
  std::int64_t size = 0;                       ///< at the last synchronisation
  std::map<std::int64_t, std::string> before;  ///< sectors by place, as they were
};

std::map<std::string, Unsynchronised> files;
Trouble trouble = Trouble::none;
sqlite3_vfs* real = nullptr;

struct File : sqlite3_file {
  std::string* name;
  bool watched;
  sqlite3_file* inner() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

File* of(sqlite3_file* file) {
  return static_cast<File*>(file);
}

/// What the sectors of this range hold now, where that is not known yet.
int remember(File& file, std::int64_t from, std::int64_t bytes) {
  std::map<std::int64_t, std::string>& before = files[*file.name].before;
  std::string all;  // read at once
  const std::int64_t first = from - from % sector;
  for (std::int64_t at = first; at < from + bytes; at += sector) {
    const auto place = before.lower_bound(at);
    if (place != before.end() && place->first == at) continue;
    if (all.empty()) {
      all.resize(static_cast<std::size_t>((from + bytes - first + sector - 1) / sector * sector));
      const int code = file.inner()->pMethods->xRead(file.inner(), all.data(),
                                                     static_cast<int>(all.size()), first);
      if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return code;
    }
    before.emplace_hint(place, at, all.substr(static_cast<std::size_t>(at - first), sector));
  }
  return SQLITE_OK;
}

// One connection uses a record at a time: the index of its log needs neither locks nor a file.
std::map<std::string, std::vector<std::unique_ptr<char[]>>> indexes;

int map_index(sqlite3_file* f, int region, int bytes, int extend, void volatile** out) {
  auto& regions = indexes[*of(f)->name];
  *out = nullptr;
  while (extend != 0 && static_cast<int>(regions.size()) <= region)
    regions.push_back(std::make_unique<char[]>(static_cast<std::size_t>(bytes)));
  if (region < static_cast<int>(regions.size()))
    *out = regions[static_cast<std::size_t>(region)].get();
  return SQLITE_OK;
}

int lock_index(sqlite3_file*, int, int, int) {
  return SQLITE_OK;
}

int unmap_index(sqlite3_file* f, int) {
  indexes.erase(*of(f)->name);
  return SQLITE_OK;
}

int failing() {
  if (trouble == Trouble::none) return SQLITE_OK;
  return trouble == Trouble::full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

int write(sqlite3_file* f, const void* data, int bytes, sqlite3_int64 at) {
  File& file = *of(f);
  if (file.watched) {
    if (const int code = failing()) return code;
    if (const int code = remember(file, at, bytes)) return code;
  }
  return file.inner()->pMethods->xWrite(file.inner(), data, bytes, at);
}

int truncate(sqlite3_file* f, sqlite3_int64 size) {
  File& file = *of(f);
  if (file.watched) {
    if (trouble == Trouble::dead) return SQLITE_IOERR_TRUNCATE;
    sqlite3_int64 now = 0;
    file.inner()->pMethods->xFileSize(file.inner(), &now);
    if (const int code = remember(file, size, std::max<sqlite3_int64>(0, now - size))) return code;
  }
  return file.inner()->pMethods->xTruncate(file.inner(), size);
}

int synchronise(sqlite3_file* f, int flags) {
  File& file = *of(f);
  if (file.watched) {
    if (trouble == Trouble::input_output || trouble == Trouble::dead) return SQLITE_IOERR_FSYNC;
    Unsynchronised& known = files[*file.name];
    known.before.clear();
    sqlite3_int64 size = 0;
    file.inner()->pMethods->xFileSize(file.inner(), &size);
    known.size = size;
  }
  (void)flags;
  return SQLITE_OK;  // nothing here outlives this process: the real disk need not be waited for
}

int close(sqlite3_file* f) {
  File& file = *of(f);
  const int code = file.inner()->pMethods->xClose(file.inner());
  delete file.name;
  return code;
}

template <auto Method, class... Args>
int pass(sqlite3_file* f, Args... args) {
  File& file = *of(f);
  return (file.inner()->pMethods->*Method)(file.inner(), args...);
}
void barrier(sqlite3_file*) {}

const sqlite3_io_methods methods = {
    3,
    close,
    pass<&sqlite3_io_methods::xRead, void*, int, sqlite3_int64>,
    write,
    truncate,
    synchronise,
    pass<&sqlite3_io_methods::xFileSize, sqlite3_int64*>,
    pass<&sqlite3_io_methods::xLock, int>,
    pass<&sqlite3_io_methods::xUnlock, int>,
    pass<&sqlite3_io_methods::xCheckReservedLock, int*>,
    pass<&sqlite3_io_methods::xFileControl, int, void*>,
    pass<&sqlite3_io_methods::xSectorSize>,
    pass<&sqlite3_io_methods::xDeviceCharacteristics>,
    map_index,
    lock_index,
    barrier,
    unmap_index,
    pass<&sqlite3_io_methods::xFetch, sqlite3_int64, int, void**>,
    pass<&sqlite3_io_methods::xUnfetch, sqlite3_int64, void*>,
};

int open(sqlite3_vfs*, const char* name, sqlite3_file* f, int flags, int* out) {
  File& file = *of(f);
  file.pMethods = nullptr;
  const int code = real->xOpen(real, name, file.inner(), flags, out);
  if (code != SQLITE_OK) return code;
  file.name = new std::string(name == nullptr ? "" : name);
  file.watched = (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) != 0;
  file.pMethods = &methods;
  if (file.watched && files.count(*file.name) == 0) {
    sqlite3_int64 size = 0;
    file.inner()->pMethods->xFileSize(file.inner(), &size);
    files[*file.name].size = size;
  }
  return SQLITE_OK;
}

int remove(sqlite3_vfs*, const char* name, int synchronise_folder) {
  if (trouble == Trouble::dead) return SQLITE_IOERR_DELETE;
  files.erase(name);
  return real->xDelete(real, name, synchronise_folder);
}

}  // namespace

void install() {
  if (real != nullptr) return;
  sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  real = sqlite3_vfs_find("unix-none");
  static sqlite3_vfs own = *real;
  own.zName = "power";
  own.szOsFile = static_cast<int>(sizeof(File)) + real->szOsFile;
  own.xOpen = open;
  own.xDelete = remove;
  if (sqlite3_vfs_register(&own, 1) != SQLITE_OK) throw std::runtime_error("sqlite3_vfs_register");
}

void lose(Dice& dice) {
  for (auto& [name, known] : files) {
    std::fstream file(name, std::ios::in | std::ios::out | std::ios::binary);
    bool longer_lost = false;
    for (const auto& [at, old] : known.before) {
      if (dice.chance(0.5)) continue;  // it came to the disk all the same
      longer_lost = longer_lost || at >= known.size;
      file.seekp(at);
      file.write(old.data(), sector);
    }
    file.close();
    // A file that had grown may have its old length again.
    if (longer_lost && dice.chance(0.5)) (void)!::truncate(name.c_str(), known.size);
  }
  forget();
}

void forget() {
  files.clear();
}

void set_trouble(Trouble next) {
  trouble = next;
}

}  // namespace thalweg::simulation::power
