// A VFS of SQLite whose files are in this process's memory, a third of a run's system calls less.
// For each file it keeps what the writes since the last xSync have replaced.
// https://sqlite.org/vfs.html
#include "tests/simulation/power.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace thalweg::simulation::power {

namespace {

constexpr std::size_t sector = 512;

struct Stored {
  std::string data;
  std::size_t size = 0;                       ///< at the last synchronisation
  std::map<std::size_t, std::string> before;  ///< sectors by place, as they were
  // One connection uses a record at a time: the index of its log needs neither locks nor a file.
  std::vector<std::unique_ptr<char[]>> index;
};

std::map<std::string, Stored> files;
Trouble trouble = Trouble::none;
sqlite3_vfs* real = nullptr;

struct File : sqlite3_file {
  Stored* stored;
  bool watched;
  bool temporary;
};

File& of(sqlite3_file* file) {
  return *static_cast<File*>(file);
}

/// What the sectors of this range hold now, where that is not known yet.
void remember(Stored& stored, std::size_t from, std::size_t end) {
  for (std::size_t at = from - from % sector; at < end; at += sector) {
    const auto place = stored.before.lower_bound(at);
    if (place != stored.before.end() && place->first == at) continue;
    std::string old = at < stored.data.size() ? stored.data.substr(at, sector) : "";
    old.resize(sector);
    stored.before.emplace_hint(place, at, std::move(old));
  }
}

int failing() {
  if (trouble == Trouble::none) return SQLITE_OK;
  return trouble == Trouble::full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

int read(sqlite3_file* f, void* into, int bytes, sqlite3_int64 from) {
  const std::string& data = of(f).stored->data;
  const auto at = static_cast<std::size_t>(from), wanted = static_cast<std::size_t>(bytes);
  const std::size_t got = at < data.size() ? std::min(wanted, data.size() - at) : 0;
  if (got > 0) std::memcpy(into, data.data() + at, got);
  if (got == wanted) return SQLITE_OK;
  std::memset(static_cast<char*>(into) + got, 0, wanted - got);
  return SQLITE_IOERR_SHORT_READ;
}

int write(sqlite3_file* f, const void* data, int bytes, sqlite3_int64 to) {
  File& file = of(f);
  const auto at = static_cast<std::size_t>(to), end = at + static_cast<std::size_t>(bytes);
  if (file.watched) {
    if (const int code = failing()) return code;
    remember(*file.stored, at, end);
  }
  if (file.stored->data.size() < end) file.stored->data.resize(end);
  std::memcpy(file.stored->data.data() + at, data, end - at);
  return SQLITE_OK;
}

int truncate(sqlite3_file* f, sqlite3_int64 to) {
  File& file = of(f);
  const auto size = static_cast<std::size_t>(to);
  if (file.watched) {
    if (trouble == Trouble::dead) return SQLITE_IOERR_TRUNCATE;
    remember(*file.stored, size, std::max(size, file.stored->data.size()));
  }
  file.stored->data.resize(size);
  return SQLITE_OK;
}

int synchronise(sqlite3_file* f, int) {
  File& file = of(f);
  if (!file.watched) return SQLITE_OK;
  if (trouble == Trouble::input_output || trouble == Trouble::dead) return SQLITE_IOERR_FSYNC;
  file.stored->before.clear();
  file.stored->size = file.stored->data.size();
  return SQLITE_OK;
}

int size_of(sqlite3_file* f, sqlite3_int64* size) {
  *size = static_cast<sqlite3_int64>(of(f).stored->data.size());
  return SQLITE_OK;
}

int lock(sqlite3_file*, int) {
  return SQLITE_OK;
}

int is_reserved(sqlite3_file*, int* reserved) {
  *reserved = 0;
  return SQLITE_OK;
}

int control(sqlite3_file*, int, void*) {
  return SQLITE_NOTFOUND;
}

/// Of the disk, as SQLite's own has it.
int sector_size(sqlite3_file*) {
  return 4096;
}
int characteristics(sqlite3_file*) {
  return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

int map_index(sqlite3_file* f, int region, int bytes, int extend, void volatile** out) {
  auto& regions = of(f).stored->index;
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

void barrier(sqlite3_file*) {}

int unmap_index(sqlite3_file* f, int) {
  of(f).stored->index.clear();
  return SQLITE_OK;
}

int close(sqlite3_file* f) {
  if (of(f).temporary) delete of(f).stored;
  return SQLITE_OK;
}

const sqlite3_io_methods methods = {
    2,          close,   read,        write,   truncate,    synchronise,     size_of,
    lock,       lock,    is_reserved, control, sector_size, characteristics, map_index,
    lock_index, barrier, unmap_index, nullptr, nullptr,
};

int open(sqlite3_vfs*, const char* name, sqlite3_file* f, int flags, int* out) {
  File& file = of(f);
  file.temporary = name == nullptr;
  file.stored = name == nullptr ? new Stored : &files[name];
  file.watched = (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) != 0;
  file.pMethods = &methods;
  if (out != nullptr) *out = flags;
  return SQLITE_OK;
}

int remove(sqlite3_vfs*, const char* name, int) {
  if (trouble == Trouble::dead) return SQLITE_IOERR_DELETE;
  return files.erase(name) == 0 ? SQLITE_IOERR_DELETE_NOENT : SQLITE_OK;
}

int look_for(sqlite3_vfs*, const char* name, int, int* found) {
  const auto file = files.find(name);
  *found = file != files.end() && !file->second.data.empty() ? 1 : 0;
  return SQLITE_OK;
}

}  // namespace

void install() {
  if (real != nullptr) return;
  sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  real = sqlite3_vfs_find("unix-none");
  static sqlite3_vfs own = *real;
  own.zName = "power";
  own.szOsFile = static_cast<int>(sizeof(File));
  own.xOpen = open;
  own.xDelete = remove;
  own.xAccess = look_for;
  if (sqlite3_vfs_register(&own, 1) != SQLITE_OK) throw std::runtime_error("sqlite3_vfs_register");
}

void lose(Dice& dice) {
  for (auto& [name, stored] : files) {
    bool longer_lost = false;
    for (const auto& [at, old] : stored.before) {
      if (dice.chance(0.5)) continue;  // it came to the disk all the same
      longer_lost = longer_lost || at >= stored.size;
      if (stored.data.size() < at + sector) stored.data.resize(at + sector);
      stored.data.replace(at, sector, old);
    }
    // A file that had grown may have its old length again.
    if (longer_lost && dice.chance(0.5)) stored.data.resize(stored.size);
    stored.before.clear();
    stored.size = stored.data.size();
  }
}

std::string content(const std::filesystem::path& file) {
  return files[file.string()].data;
}

void begin_with(const std::map<std::filesystem::path, std::string>& disk) {
  files.clear();
  for (const auto& [name, data] : disk) {
    Stored& stored = files[name.string()];
    stored.data = data;
    stored.size = data.size();
  }
}

void set_trouble(Trouble next) {
  trouble = next;
}

}  // namespace thalweg::simulation::power
