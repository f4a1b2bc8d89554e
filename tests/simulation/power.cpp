// SQLite's own VFS does the work; this one stands before it and keeps, for each file, what the
// writes since the last xSync have replaced. https://sqlite.org/vfs.html
#include "tests/simulation/power.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
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
  Unsynchronised& known = files[*file.name];
  for (std::int64_t at = from - from % sector; at < from + bytes; at += sector) {
    if (known.before.count(at) != 0) continue;
    std::string old(sector, '\0');
    const int code = file.inner()->pMethods->xRead(file.inner(), old.data(), sector, at);
    if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return code;
    known.before.emplace(at, std::move(old));
  }
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
void barrier(sqlite3_file* f) {
  of(f)->inner()->pMethods->xShmBarrier(of(f)->inner());
}

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
    pass<&sqlite3_io_methods::xShmMap, int, int, int, void volatile**>,
    pass<&sqlite3_io_methods::xShmLock, int, int, int>,
    barrier,
    pass<&sqlite3_io_methods::xShmUnmap, int>,
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
  real = sqlite3_vfs_find(nullptr);
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
    (void)::unlink((name + "-shm").c_str());
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
