// The launcher with a fake driver of CUDA, whatever order its functions are called in; for sanitizers.

#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <thread>
#include <vector>

#include "tilewright_device.h"

struct Place {
  unsigned x, y, z;
};
static int doubled(void **arguments, const Place *blocks, const Place *threads, uint64_t, char *) {
  float *values = *(float **)arguments[0];
  int32_t count = *(int32_t *)arguments[1];
  float factor = *(float *)arguments[2];
  assert(blocks->x * threads->x >= (unsigned)count);
  for (int i = 0; i < count; ++i) values[i] *= factor;
  return 0;
}
static void *emulated(const char *name) { return strcmp(name, "doubled") ? nullptr : (void *)doubled; }

#include "fake_cuda.cpp"

extern "C" {
void *tilewright_devices_exchange(int32_t, void *, void *(*)(const char *));
int32_t tilewright_launch(const TilewrightValue *);
void *tilewright_take(int32_t, int64_t, const void *);
void *tilewright_constants(int32_t, int32_t, const char *, void *);
void tilewright_constants_release(const char *);
int64_t tilewright_device_beside(int32_t, const void *);
struct Managed {
  TilewrightArray array;
  void *context;
  void (*deleter)(Managed *);
};
Managed *tilewright_device_array(const TilewrightArray *, int64_t);
void TVMFFIErrorSetRaisedFromCStr(const char *, const char *) {}
}

static const int32_t CUDA = TILEWRIGHT_CUDA;

static TilewrightValue number(int64_t value) {
  TilewrightValue result = {TILEWRIGHT_ARG_INT, 0, {value}};
  return result;
}
static TilewrightValue pointer(const void *value) {
  TilewrightValue result = {TILEWRIGHT_ARG_POINTER, 0, {0}};
  result.value.v_ptr = (void *)value;
  return result;
}

static int launch(const char *kernel, int64_t key, void *values, int64_t count, const char *image) {
  // What a source was compiled to before belongs to it.
  TilewrightValue factor = {TILEWRIGHT_ARG_FLOAT, 0, {0}};
  factor.value.v_float64 = 2;
  TilewrightValue args[] = {number(CUDA), number(key), pointer(image), pointer(image),
                            pointer(kernel), pointer("pif:xX"), pointer(values), number(count),
                            factor, number((count + 31) / 32), number(32)};
  return tilewright_launch(args);
}

static void work(unsigned seed) {
  std::map<void *, std::vector<float>> arrays;
  const char *image = ".version 8.0 .target sm_80";
  for (int step = 0; step < 3000; ++step) {
    seed = seed * 1664525 + 1013904223;
    unsigned choice = seed >> 28;
    size_t size = 1 + (seed >> 8) % 3000;
    if (arrays.empty() || choice < 4) {
      std::vector<float> values(size, (float)(step % 100));
      void *place = choice ? tilewright_device_allocate(CUDA, 0, 4 * size)
                           : tilewright_take(CUDA, 4 * size, nullptr);
      if (!place) continue;  // the fake has little memory
      assert(!tilewright_device_write(CUDA, place, values.data(), 4 * size));
      arrays[place] = values;
      continue;
    }
    auto found = arrays.begin();
    std::advance(found, size % arrays.size());
    auto &[place, values] = *found;
    std::vector<float> read(values.size());
    if (choice < 8) {
      assert(!launch("doubled", 1, place, values.size(), image));
      for (float &value : values) value *= 2;
    } else if (choice < 12) {
      assert(!tilewright_device_read(CUDA, read.data(), place, 4 * read.size()));
      assert(read == values);
      assert(!tilewright_device_release(CUDA, place));
      arrays.erase(found);
    } else if (choice == 12) {
      assert(launch("absent", 2, place, values.size(), image));
      assert(launch("doubled", 3, place, values.size(), "no PTX"));
      assert(!launch("doubled", 1, place, 0, image));
      assert(tilewright_device_beside(CUDA, place) == 0);
      // Of several threads, one is the first to bring the constants of a graph to the device.
      void *constants = tilewright_constants(CUDA, 0, "digest", nullptr);
      if (!constants) constants = tilewright_device_allocate(CUDA, 0, 64);
      if (constants) {
        constants = tilewright_constants(CUDA, 0, "digest", constants);
        assert(constants && tilewright_constants(CUDA, 0, "digest", nullptr) == constants);
      }
    } else if (choice == 13) {
      void *from, *to;
      int64_t time;
      assert(!tilewright_device_record(CUDA, 0, &from));
      assert(!tilewright_device_record(CUDA, 0, &to));
      assert(!tilewright_device_elapsed(CUDA, 0, from, to, &time));
      assert(time == 1000000);
      assert(tilewright_device_read(CUDA, read.data(), place, 1 << 20));
    } else if (choice == 14) {
      assert(!tilewright_device_empty_pool(CUDA, 0));
    } else {
      int64_t shape[2] = {3, (int64_t)size};
      TilewrightArray array = {nullptr, CUDA, 0, 2, TILEWRIGHT_FLOAT, 32, 1, shape, nullptr, 0};
      Managed *managed = tilewright_device_array(&array, 12 * size);
      if (!managed) continue;
      assert(managed->array.strides[0] == (int64_t)size && managed->array.strides[1] == 1);
      managed->deleter(managed);
    }
  }
  for (auto &[place, values] : arrays) assert(!tilewright_device_release(CUDA, place));
}

int main() {
  auto find = [](const char *name) { return dlsym(RTLD_DEFAULT, name); };
  void *before = tilewright_devices_exchange(CUDA, nullptr, find);
  assert(before && tilewright_device_count(CUDA) == 1);
  work(1);
  std::thread other(work, 2);
  work(3);
  other.join();
  assert(tilewright_constants(CUDA, 0, "digest", nullptr));
  assert(!tilewright_constants(CUDA, 0, "another", nullptr));
  tilewright_constants_release("digest");
  tilewright_constants_release("another");
  assert(!tilewright_constants(CUDA, 0, "digest", nullptr));
  void *place = tilewright_device_allocate(CUDA, 0, 100);
  assert(!tilewright_device_release(CUDA, place));
  assert(tilewright_device_release(CUDA, place));
  assert(tilewright_device_release(CUDA, (char *)place + 4));
  assert(!tilewright_device_allocate(CUDA, 0, -1) && !tilewright_device_allocate(CUDA, 1, 1));
  assert(!tilewright_device_allocate(7, 0, 1) && !tilewright_device_allocate(CUDA, 0, 1 << 21));
  int64_t in_use, kept;
  assert(!tilewright_device_property(CUDA, 0, TILEWRIGHT_MEMORY_IN_USE, &in_use) && !in_use);
  assert(!tilewright_device_empty_pool(CUDA, 0));
  assert(!tilewright_device_property(CUDA, 0, TILEWRIGHT_MEMORY_KEPT, &kept) && !kept);
  assert(memory.empty());
  puts("done");
}
