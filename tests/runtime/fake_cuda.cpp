// Functions of the CUDA driver API for one device, in the memory of the host. Before this text come the
// kernels, for cuda_emulation.h, and `emulated(name)`, which finds what runs them.

#include <map>

using Emulated = int(void **, const Place *, const Place *, uint64_t, char *);

extern "C" {

static std::map<uint64_t, size_t> memory;
static const char *error_text = "";

int cuInit(unsigned) { return 0; }
int cuGetErrorName(int, const char **name) { return *name = "CUDA_ERROR", 0; }
int cuGetErrorString(int, const char **text) { return *text = error_text, 0; }
int cuDeviceGetCount(int *count) { return *count = 1, 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceGetName(char *name, int size, int) { return snprintf(name, size, "a fake"), 0; }
int cuDeviceTotalMem_v2(size_t *size, int) { return *size = 1 << 20, 0; }
int cuDeviceGetAttribute(int *value, int name, int) { return *value = name == 75 ? 8 : 0, 0; }
int cuDevicePrimaryCtxRetain(void **context, int) { return *context = &memory, 0; }
int cuCtxSetCurrent(void *) { return 0; }
int cuCtxSynchronize() { return 0; }

int cuMemAlloc_v2(uint64_t *address, size_t size) {
  size_t taken = 0;
  for (auto &[start, bytes] : memory) taken += bytes;
  if (taken + size > 1 << 20) return 2;
  *address = (uint64_t)malloc(size);
  memory[*address] = size;
  return 0;
}
int cuMemFree_v2(uint64_t address) { return memory.erase(address), free((void *)address), 0; }
int cuMemGetInfo_v2(size_t *available, size_t *total) {
  return *total = 1 << 20, *available = memory.empty() ? 1 << 20 : 0, 0;
}
static int copy(uint64_t to, uint64_t from, size_t size) {
  return memcpy((void *)to, (void *)from, size), 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *) { return copy(to, from, size); }
int cuMemcpyDtoHAsync_v2(uint64_t to, uint64_t from, size_t size, void *) { return copy(to, from, size); }
int cuMemcpyAsync(uint64_t to, uint64_t from, size_t size, void *) { return copy(to, from, size); }
int cuPointerGetAttribute(void *, int, uint64_t) { return 1; }

int cuStreamCreate(void **stream, unsigned) { return *stream = &memory, 0; }
int cuStreamDestroy_v2(void *) { return 0; }
int cuStreamSynchronize(void *) { return 0; }
int cuStreamWaitEvent(void *, void *, unsigned) { return 0; }
int cuEventCreate(void **event, unsigned) { return *event = &memory, 0; }
int cuEventRecord(void *, void *) { return 0; }
int cuEventSynchronize(void *) { return 0; }
int cuEventElapsedTime(float *time, void *, void *) { return *time = 1, 0; }
int cuEventDestroy_v2(void *) { return 0; }

int cuModuleLoadDataEx(void **module, const void *image, unsigned, int *options, void **values) {
  *module = &memory;
  if (strstr((const char *)image, ".version") && strstr((const char *)image, ".target sm_")) return 0;
  snprintf((char *)values[0], 100, "this is no PTX");
  return 218;
}
int cuModuleGetFunction(void **function, void *, const char *name) {
  *function = emulated(name);
  return *function ? 0 : 500;
}
int cuFuncGetAttribute(int *value, int, void *) { return *value = 0, 0; }
int cuFuncSetAttribute(void *, int, int) { return 0; }
int cuLaunchKernel(void *function, unsigned bx, unsigned by, unsigned bz, unsigned tx, unsigned ty,
                   unsigned tz, unsigned, void *, void **arguments, void **) {
  static char message[200];
  Place blocks = {bx, by, bz}, threads = {tx, ty, tz};
  error_text = message;
  return ((Emulated *)function)(arguments, &blocks, &threads, 1, message) ? 719 : 0;
}
}
