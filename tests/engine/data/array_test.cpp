// Arrays in NPY, NPZ and HDF5 files, good and bad, and the dataset made of them.
#include "engine/data/array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "engine/data/dataset.h"
#include "jobspec/value.h"
#include "tests/support/fuzz.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using jobspec::Value;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

const std::filesystem::path kFolder =
    std::filesystem::path(THALWEG_SOURCE_DIR) / "tests/engine/data";

std::string valid(const char* name) {
  return (kFolder / "valid" / name).string();
}

std::vector<float> numbers(const Array& array, double mean = 0, double deviation = 1) {
  std::vector<float> out(static_cast<std::size_t>(array.count()));
  array.read(0, array.count(), mean, deviation, out.data());
  return out;
}

TEST(Arrays, NpyAndBothKindsOfNpzHoldTheSame) {
  // Archives written by Python's zipfile, in the ZIP64 form that numpy writes.
  for (const std::string& where :
       {valid("inputs.npy"), valid("stored.npz") + ":x", valid("deflated.npz") + ":x"}) {
    const Array array = read_array(where);
    EXPECT_THAT(array.shape, ElementsAre(3, 2)) << where;
    EXPECT_THAT(numbers(array), ElementsAre(1, 2, 3, 4, 5.5, -6)) << where;
    EXPECT_THAT(numbers(array, 1, 0.5), ElementsAre(0, 2, 4, 6, 9, -14)) << where;
  }
  const Array labels = read_array(valid("deflated.npz") + ":y");
  EXPECT_EQ(labels.type, NumberType::i64);
  EXPECT_EQ(labels.integer(1), 2);
}

/// An NPY file of version 1 with one dimension.
template <class T>
std::string npy_of(const char* descr, std::vector<T> values) {
  std::string header = std::string("{'descr': '") + descr +
                       "', 'fortran_order': False, 'shape': (" + std::to_string(values.size()) +
                       ",), }\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  file += header;
  file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return file;
}

template <class T>
std::vector<float> through_file(const char* descr, std::vector<T> values) {
  const test::TempDir folder;
  const auto file = folder.path() / "x.npy";
  test::write_file(file, npy_of(descr, std::move(values)));
  return numbers(read_array(file.string()));
}

TEST(Arrays, EveryNumberType) {
  EXPECT_THAT(through_file<std::uint8_t>("|u1", {0, 255}), ElementsAre(0, 255));
  EXPECT_THAT(through_file<std::uint8_t>("|b1", {0, 1}), ElementsAre(0, 1));
  EXPECT_THAT(through_file<std::int8_t>("|i1", {-128, 5}), ElementsAre(-128, 5));
  EXPECT_THAT(through_file<std::uint16_t>("<u2", {65535}), ElementsAre(65535));
  EXPECT_THAT(through_file<std::int16_t>("<i2", {-300}), ElementsAre(-300));
  EXPECT_THAT(through_file<std::uint32_t>("<u4", {4294967295u}), ElementsAre(4294967296.0f));
  EXPECT_THAT(through_file<std::int32_t>("<i4", {-7}), ElementsAre(-7));
  EXPECT_THAT(through_file<std::uint64_t>("<u8", {1ull << 40}), ElementsAre(std::pow(2.0f, 40)));
  EXPECT_THAT(through_file<std::int64_t>("<i8", {-9}), ElementsAre(-9));
  EXPECT_THAT(through_file<double>("<f8", {0.25}), ElementsAre(0.25));
  // 1, -2, the smallest subnormal, the largest finite number, infinity
  EXPECT_THAT(through_file<std::uint16_t>("<f2", {0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00}),
              ElementsAre(1, -2, std::ldexp(1.0f, -24), 65504, INFINITY));
}

/// Samples as they are stored stand for the same numbers.
TEST(Arrays, NarrowNumbersHaveATable) {
  const test::TempDir folder;
  const auto inputs = folder.path() / "x.npy", labels = folder.path() / "y.npy";
  std::vector<std::uint8_t> bytes(512);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(i * 37 + i / 256);
  std::vector<std::uint16_t> pairs(256);
  std::memcpy(pairs.data(), bytes.data(), bytes.size());
  bytes.resize(256);
  test::write_file(labels, npy_of("|u1", std::vector<std::uint8_t>(256, 1)));
  const auto expect_the_same = [&](const std::string& file, std::size_t each) {
    test::write_file(inputs, file);
    const auto data = load_dataset(Map{{"name", "arrays"},
                                       {"inputs", inputs.string()},
                                       {"labels", labels.string()},
                                       {"mean", 3.5},
                                       {"deviation", 0.7}});
    ASSERT_NE(data->stored(), nullptr);
    EXPECT_EQ(data->stored()->bytes, each);
    for (std::size_t i = 0; i < data->size(); ++i) {
      float read = 0, looked_up = 0;
      data->copy(i, &read);
      data->Dataset::copy(i, &looked_up);
      EXPECT_EQ(std::memcmp(&read, &looked_up, sizeof read), 0) << read << ' ' << looked_up;
    }
  };
  for (const char* type : {"|u1", "|i1", "|b1"})
    expect_the_same(npy_of(type, bytes), 1);
  for (const char* type : {"<u2", "<i2", "<f2"})
    expect_the_same(npy_of(type, pairs), 2);
  test::write_file(inputs, npy_of("<f4", std::vector<float>(256, 0.5f)));
  EXPECT_EQ(load_dataset(
                Map{{"name", "arrays"}, {"inputs", inputs.string()}, {"labels", labels.string()}})
                ->stored(),
            nullptr);
}

std::string array_complaint(const std::string& where) {
  try {
    read_array(where);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "accepted";
}

struct Mistake {
  const char* file;
  const char* offset;  // as in the message; empty = none
  const char* reason;
};
class BadArray : public testing::TestWithParam<Mistake> {};
TEST_P(BadArray, NamesFileOffsetAndReason) {
  std::string where = (kFolder / "invalid" / GetParam().file).string();
  if (where.ends_with(".npz")) where += ":x";
  EXPECT_THAT(array_complaint(where),
              AllOf(HasSubstr(GetParam().file), HasSubstr(GetParam().offset),
                    HasSubstr(GetParam().reason)));
}
INSTANTIATE_TEST_SUITE_P(
    All, BadArray,
    testing::Values(Mistake{"magic.npy", "offset 0:", "not an NPY file"},
                    Mistake{"magic_only.npy", "offset 6:", "header ends too early"},
                    Mistake{"version_9.npy", "offset 6:", "version 9"},
                    Mistake{"header_cut.npy", "offset 60:", "header ends too early"},
                    Mistake{"header_no_dict.npy", "offset 10:", "expected '{'"},
                    Mistake{"header_unknown_key.npy", "offset", "unknown key 'order'"},
                    Mistake{"header_without_shape.npy", "offset", "lacks descr or shape"},
                    Mistake{"big_endian.npy", "offset", "big-endian"},
                    Mistake{"complex.npy", "offset", "'<c8' are not supported"},
                    Mistake{"object.npy", "offset", "'|O' are not supported"},
                    Mistake{"fortran_order.npy", "offset", "ascontiguousarray"},
                    Mistake{"scalar.npy", "offset", "a single number"},
                    Mistake{"dimension_zero.npy", "offset", "size 0"},
                    Mistake{"impossible_size.npy", "offset 128:", "promises"},
                    Mistake{"digits_overflow.npy", "offset", "impossible size"},
                    Mistake{"shape_of_words.npy", "offset", "something else than numbers"},
                    Mistake{"values_cut.npy", "offset 151:", "ends too early"},
                    Mistake{"values_too_many.npy", "offset 152:", "more data"},
                    Mistake{"no_directory.npz", "offset 0:", "not an NPZ file"},
                    Mistake{"empty_tail.npz", "offset 10:", "ends too early"},
                    Mistake{"checksum.npz", "offset 0:", "checksum of x.npy"},
                    Mistake{"packed_data.npz", "offset", "damaged compressed data"},
                    Mistake{"directory_offset.npz", "offset 7:", "damaged ZIP directory"},
                    Mistake{"method_99.npz", "offset 0:", "method 99"},
                    Mistake{"encrypted.npz", "offset 0:", "encrypted"},
                    Mistake{"member_no_npy.npz", "offset", "array x: not an NPY file"},
                    Mistake{"is_not_there.npy", "", "No such file"}),
    [](const auto& mistake) {
      std::string name = mistake.param.file;
      for (char& c : name)
        if (c == '.') c = '_';
      return name;
    });

TEST(Arrays, NamesMustBeKnown) {
  EXPECT_THAT(array_complaint(valid("stored.npz") + ":z"),
              HasSubstr("no array z; there are: x, y"));
  EXPECT_THAT(array_complaint(valid("stored.npz")), HasSubstr("say which one"));
  EXPECT_THAT(array_complaint("x.csv"), HasSubstr("FILE.npz:NAME"));
}

/// Every cut and many single changed bytes: a message or an array, never anything else.
TEST(Arrays, DamagedFilesGiveAMessage) {
  const test::TempDir folder;
  std::mt19937 random(1);
  for (const char* name : {"inputs.npy", "stored.npz", "deflated.npz"}) {
    const std::string good = test::read_file(valid(name));
    const auto file = folder.path() / name;
    const std::string where = file.string() + (file.extension() == ".npz" ? ":x" : "");
    for (std::size_t cut = 0; cut < good.size(); cut += 5) {
      test::write_file(file, good.substr(0, cut));
      EXPECT_NE(array_complaint(where), "accepted") << name << " cut at " << cut;
    }
    for (int i = 0; i < 300; ++i) {
      std::string bad = good;
      for (int k = 0; k <= i % 3; ++k)
        bad[random() % bad.size()] = static_cast<char>(random());
      test::write_file(file, bad);
      array_complaint(where);
    }
  }
}

/// An HDF5 file with data sets in several layouts.
void write_hdf5(const std::filesystem::path& file) {
  const hid_t f = H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t sizes[] = {4, 1, 2, 3}, rows[] = {4};
  std::vector<float> x(24);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i);
  const std::int32_t y[] = {0, 1, 1, 0};
  const auto put = [&](const char* name, hid_t type, hid_t stored, int rank, const hsize_t* dims,
                       hid_t layout, const void* data) {
    const hid_t space = H5Screate_simple(rank, dims, nullptr);
    const hid_t set = H5Dcreate2(f, name, stored, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    H5Dclose(set);
    H5Sclose(space);
  };
  put("x", H5T_NATIVE_FLOAT, H5T_IEEE_F32LE, 4, sizes, H5P_DEFAULT, x.data());
  put("big_endian", H5T_NATIVE_FLOAT, H5T_IEEE_F64BE, 4, sizes, H5P_DEFAULT, x.data());
  const hid_t packed = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t chunk[] = {2, 1, 2, 3};
  H5Pset_chunk(packed, 4, chunk);
  H5Pset_deflate(packed, 6);
  put("packed", H5T_NATIVE_FLOAT, H5T_IEEE_F32LE, 4, sizes, packed, x.data());
  const hsize_t huge[] = {1u << 20, 1, 1u << 10, 1u << 10}, large_chunk[] = {1, 1, 1024, 1024};
  H5Pset_chunk(packed, 4, large_chunk);
  const hid_t space = H5Screate_simple(4, huge, nullptr);
  H5Dclose(H5Dcreate2(f, "huge", H5T_IEEE_F32LE, space, H5P_DEFAULT, packed, H5P_DEFAULT));
  H5Sclose(space);
  H5Pclose(packed);
  const hsize_t sequences[] = {4, 2, 3};
  put("sequences", H5T_NATIVE_FLOAT, H5T_IEEE_F32LE, 3, sequences, H5P_DEFAULT, x.data());
  put("y", H5T_NATIVE_INT32, H5T_STD_I32LE, 1, rows, H5P_DEFAULT, y);
  H5Fclose(f);
}

TEST(Arrays, Hdf5InEveryLayout) {
  const test::TempDir folder;
  const auto file = folder.path() / "data.h5";
  write_hdf5(file);
  for (const char* name : {":x", ":/x", ":big_endian", ":packed"}) {
    const Array array = read_array(file.string() + name);
    EXPECT_THAT(array.shape, ElementsAre(4, 1, 2, 3)) << name;
    const auto values = numbers(array);
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(values[i], static_cast<float>(i)) << name;
  }
  EXPECT_GT(read_array(file.string() + ":x").offset, 0);  // mapped, not copied
  EXPECT_THAT(array_complaint(file.string() + ":z"), HasSubstr("no data set z"));
  EXPECT_THAT(array_complaint(file.string() + ":huge"), HasSubstr("impossible size"));
  const auto cut = folder.path() / "cut.h5";
  const std::string bytes = test::read_file(file);
  test::write_file(cut, bytes.substr(0, bytes.size() - 40));
  EXPECT_THAT(array_complaint(cut.string() + ":x"), HasSubstr("damaged HDF5 file"));
  const auto other = folder.path() / "other.h5";
  test::write_file(other, "plain text");
  EXPECT_THAT(array_complaint(other.string() + ":x"), HasSubstr("offset 0: not an HDF5 file"));
}

/// How many: tests/support/fuzz.h.
TEST(Arrays, DamagedHdf5GivesAMessageOrNumbers) {
  const test::TempDir folder;
  const auto file = folder.path() / "data.h5";
  write_hdf5(file);
  const std::string good = test::read_file(file);
  const auto inputs = test::fuzz_range(200);
  int crashes = 0, read = 0;
  for (int number = inputs.first; number < inputs.end(); ++number) {
    SCOPED_TRACE("input " + std::to_string(number));
    std::mt19937 random(20261120u + static_cast<unsigned>(number));
    std::string bad = good;
    for (std::size_t changes = 1 + random() % 4; changes > 0; --changes)
      bad[random() % bad.size()] = static_cast<char>(random() % 4 == 0 ? 0xff : random());
    test::write_file(file, bad);
    const std::string where = file.string() + (number % 4 == 0 ? ":big_endian" : ":packed");
    try {
      const Array array = read_array(where);
      EXPECT_EQ(numbers(array).size(), static_cast<std::size_t>(array.count()));
      ++read;
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), HasSubstr(file.string()));
      crashes += std::string(error.what()).find("the library crashed") != std::string::npos;
    }
  }
  if (inputs.many()) {
    EXPECT_GT(read, 0);
    EXPECT_LT(read, inputs.count);
  }
  RecordProperty("crashes_of_the_library", crashes);
}

TEST(Arrays, DatasetWithLabels) {
  const test::TempDir folder;
  const auto file = folder.path() / "data.h5";
  write_hdf5(file);
  const auto data = load_dataset(Map{{"name", "arrays"},
                                     {"inputs", file.string() + ":packed"},
                                     {"labels", file.string() + ":y"},
                                     {"mean", 1.0},
                                     {"deviation", 2.0}});
  EXPECT_EQ(data->size(), 4u);
  EXPECT_THAT(data->sample_shape(), ElementsAre(1, 2, 3));
  EXPECT_EQ(data->classes(), 2);
  EXPECT_EQ(data->label(2), 1);
  float sample[6];
  data->copy(1, sample);
  EXPECT_EQ(sample[0], 2.5f);
}

TEST(Arrays, DatasetWithTargets) {
  const auto data = load_dataset(Map{{"name", "arrays"},
                                     {"inputs", valid("stored.npz") + ":x"},
                                     {"targets", valid("inputs.npy")}});
  EXPECT_EQ(data->form().targets, 2);
  EXPECT_EQ(data->form().labels, 0);
  float target[2];
  data->copy_targets(2, target);
  EXPECT_THAT(target, ElementsAre(5.5f, -6));
}

TEST(Arrays, SequencesOfFeatures) {
  const test::TempDir folder;
  const auto file = folder.path() / "data.h5";
  write_hdf5(file);
  Map data{{"name", "arrays"},
           {"inputs", file.string() + ":sequences"},
           {"labels", file.string() + ":y"}};
  EXPECT_THAT(load_dataset(data)->sample_shape(), ElementsAre(1, 2, 3));
  data.emplace_back("sequences", true);
  EXPECT_THAT(load_dataset(data)->sample_shape(), ElementsAre(2, 3));
}

std::string refused(const Value& data) {
  try {
    load_dataset(data);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Arrays, SamplesAreNamedByTheirRow) {
  const Map data{
      {"name", "arrays"}, {"inputs", valid("stored.npz") + ":x"}, {"targets", valid("inputs.npy")}};
  const auto dataset = load_dataset(data);
  EXPECT_EQ(dataset->describe(2, false), "row 2 of " + valid("stored.npz") + ":x");
  EXPECT_EQ(dataset->describe(2, true), "row 2 of " + valid("inputs.npy"));
  EXPECT_EQ(not_finite_in(*dataset, {0, 1, 2}), "");
}

TEST(Arrays, AnHdf5FileTellsItsDataSets) {
  const test::TempDir folder;
  const auto file = folder.path() / "data.h5";
  write_hdf5(file);
  EXPECT_THAT(array_complaint(file.string() + ":nothing"),
              AllOf(HasSubstr("no data set nothing; there are: "), HasSubstr("packed"),
                    HasSubstr("sequences"), Not(HasSubstr("none"))));
}

TEST(Arrays, FilesTellWhatTheyHold) {
  const test::TempDir folder;
  const auto file = folder.path() / "data.h5";
  write_hdf5(file);
  std::map<std::string, std::string> found;
  const auto look = [&](const std::filesystem::path& path) {
    found.clear();
    for (const Array& array : array_headers(path)) {
      std::string text(name_of(array.type));
      for (const std::int64_t size : array.shape)
        text += " " + std::to_string(size);
      found[array.name] = text;
    }
  };
  look(file);
  EXPECT_THAT(found,
              UnorderedElementsAre(
                  Pair("x", "float32 4 1 2 3"), Pair("big_endian", "float64 4 1 2 3"),
                  Pair("packed", "float32 4 1 2 3"), Pair("huge", "float32 1048576 1 1024 1024"),
                  Pair("sequences", "float32 4 2 3"), Pair("y", "int32 4")));
  for (const char* archive : {"stored.npz", "deflated.npz"}) {
    look(valid(archive));
    EXPECT_THAT(found, testing::IsSupersetOf({Pair("x", "float32 3 2"), Pair("y", "int64 3")}));
  }
  look(valid("inputs.npy"));
  EXPECT_THAT(found, ElementsAre(Pair("", "float32 3 2")));
  test::write_file(folder.path() / "text.h5", "no HDF5");
  EXPECT_THROW(array_headers(folder.path() / "text.h5"), DataError);
  EXPECT_THROW(array_headers(folder.path() / "gone.npz"), DataError);
  EXPECT_THROW(array_headers("x.csv"), std::invalid_argument);
}

TEST(Arrays, DatasetRefusesWhatDoesNotFit) {
  const test::TempDir folder;
  const std::string four = (folder.path() / "four.npy").string(),
                    bad = (folder.path() / "bad.npy").string();
  test::write_file(four, npy_of<std::int32_t>("<i4", {0, 1, 2, 3}));
  test::write_file(bad, npy_of<std::int32_t>("<i4", {0, 1, -2}));
  Map data{{"name", "arrays"}, {"inputs", valid("inputs.npy")}};
  const auto with = [&](const char* key, const std::string& value) {
    Value v = data;
    v.set(key, value);
    return v;
  };
  EXPECT_THAT(refused(data), HasSubstr("data.labels is missing"));
  EXPECT_THAT(refused(Map{{"name", "arrays"}}), HasSubstr("data.inputs is missing"));
  EXPECT_THAT(refused(with("labels", four)), HasSubstr("4 rows for 3 samples"));
  EXPECT_THAT(refused(with("labels", valid("inputs.npy"))), HasSubstr("must be integers"));
  EXPECT_THAT(refused(with("labels", bad)),
              HasSubstr("bad.npy: label -2 in row 2 (counted from 0), expected -1"));
  Value both = with("labels", valid("stored.npz") + ":y");
  EXPECT_EQ(refused(both), "accepted");
  both.set("targets", valid("inputs.npy"));
  EXPECT_THAT(refused(both), HasSubstr("keep one"));
  Value flat = with("labels", valid("stored.npz") + ":y");
  flat.set("sequences", true);
  EXPECT_THAT(refused(flat), HasSubstr("expected (positions, features)"));
  Value few = with("labels", valid("stored.npz") + ":y");
  few.set("classes", 2);
  EXPECT_THAT(refused(few), HasSubstr("label 2 in row 1 "));
}

}  // namespace
}  // namespace thalweg::engine
