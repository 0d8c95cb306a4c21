/* CUDA devices. Constants are those of cuda.h; work is done in the primary contexts. */

#define CUDA_FUNCTIONS(F)                                                                          \
  F(cuInit, (uint32_t))                                                                            \
  F(cuGetErrorName, (int32_t, const char **))                                                      \
  F(cuGetErrorString, (int32_t, const char **))                                                    \
  F(cuDeviceGetCount, (int32_t *))                                                                 \
  F(cuDeviceGet, (int32_t *, int32_t))                                                             \
  F(cuDeviceGetName, (char *, int32_t, int32_t))                                                   \
  F(cuDeviceTotalMem_v2, (size_t *, int32_t))                                                      \
  F(cuDeviceGetAttribute, (int32_t *, int32_t, int32_t))                                           \
  F(cuDevicePrimaryCtxRetain, (void **, int32_t))                                                  \
  F(cuCtxSetCurrent, (void *))                                                                     \
  F(cuCtxSynchronize, (void))                                                                      \
  F(cuMemAlloc_v2, (uint64_t *, size_t))                                                           \
  F(cuMemFree_v2, (uint64_t))                                                                      \
  F(cuMemGetInfo_v2, (size_t *, size_t *))                                                         \
  F(cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *))                                \
  F(cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *))                                      \
  F(cuMemcpyAsync, (uint64_t, uint64_t, size_t, void *))                                           \
  F(cuPointerGetAttribute, (void *, int32_t, uint64_t))                                            \
  F(cuStreamCreate, (void **, uint32_t))                                                           \
  F(cuStreamDestroy_v2, (void *))                                                                  \
  F(cuStreamSynchronize, (void *))                                                                 \
  F(cuStreamWaitEvent, (void *, void *, uint32_t))                                                 \
  F(cuEventCreate, (void **, uint32_t))                                                            \
  F(cuEventRecord, (void *, void *))                                                               \
  F(cuEventSynchronize, (void *))                                                                  \
  F(cuEventElapsedTime, (float *, void *, void *))                                                 \
  F(cuEventDestroy_v2, (void *))                                                                   \
  F(cuModuleLoadDataEx, (void **, const void *, uint32_t, int32_t *, void **))                     \
  F(cuModuleGetFunction, (void **, void *, const char *))                                          \
  F(cuFuncGetAttribute, (int32_t *, int32_t, void *))                                              \
  F(cuFuncSetAttribute, (void *, int32_t, int32_t))                                                \
  F(cuLaunchKernel, (void *, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, \
                     void *, void **, void **))

struct Cuda {
#define FUNCTION(name, parameters) int32_t(*name) parameters;
  CUDA_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

#define FUNCTION(name, parameters) #name,
static const char *const CUDA_NAMES[] = {CUDA_FUNCTIONS(FUNCTION)};
#undef FUNCTION

_Static_assert(sizeof(struct Cuda) <= sizeof(void *) * MOST_FUNCTIONS, "more functions");

static const char *const CUDA_LIBRARIES[] = {"libcuda.so.1", "libcuda.so"};

enum {
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  MAX_THREADS_PER_BLOCK = 1,
  MAX_BLOCK_DIM_X = 2,
  MAX_GRID_DIM_X = 5,
  MAX_SHARED_MEMORY_PER_BLOCK = 8,
  WARP_SIZE = 10,
  MAX_REGISTERS_PER_BLOCK = 12,
  CLOCK_RATE = 13,
  MULTIPROCESSOR_COUNT = 16,
  L2_CACHE_SIZE = 38,
  CAPABILITY_MAJOR = 75,
  CAPABILITY_MINOR = 76,
  MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  POINTER_DEVICE_ORDINAL = 9,
  FUNCTION_MAX_THREADS_PER_BLOCK = 0,
  FUNCTION_SHARED_SIZE_BYTES = 1,
  FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  JIT_ERROR_LOG_BUFFER = 5,
  JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
  EVENT_DEFAULT = 0,
  EVENT_DISABLE_TIMING = 2,
  STREAM_NON_BLOCKING = 1
};

static struct Cuda *cuda(struct Kind *kind) { return (struct Cuda *)kind->functions; }

static int report_cuda(struct Kind *kind, const char *function, int32_t status) {
  const char *name = NULL, *text = NULL;
  cuda(kind)->cuGetErrorName(status, &name);
  cuda(kind)->cuGetErrorString(status, &text);
  return FAIL("%s fails: %s (%d): %s", function, name ? name : "an error", status,
              text ? text : "");
}

/* 0, or an error that names the function that failed. */
#define CUDA_CALL(kind, name, ...)                              \
  ({                                                            \
    int32_t status_ = cuda(kind)->name(__VA_ARGS__);            \
    status_ ? report_cuda(kind, #name, status_) : OK;           \
  })

/* Handles of devices are small numbers. */
static int32_t ordinal(struct Kind *kind, int32_t device) {
  return (int32_t)(int64_t)kind->devices[device].handle;
}

static int32_t attribute(struct Kind *kind, int32_t device, int32_t name) {
  int32_t value = 0;
  cuda(kind)->cuDeviceGetAttribute(&value, name, ordinal(kind, device));
  return value;
}

static int use(struct Kind *kind, int32_t device) {
  return CUDA_CALL(kind, cuCtxSetCurrent, kind->devices[device].context);
}

static void cuda_load(struct Kind *kind, void *(*find)(const char *)) {
  void *library = find ? NULL : open_library(CUDA_LIBRARIES, COUNT(CUDA_LIBRARIES));
  if (!find && !library) {
    snprintf(kind->reason, sizeof kind->reason,
             "libcuda.so.1 is not here: install NVIDIA's driver");
    return;
  }
  const char *missing =
      find_functions(kind->functions, CUDA_NAMES, COUNT(CUDA_NAMES), library, find);
  if (missing) {
    snprintf(kind->reason, sizeof kind->reason, "the driver is too old: it lacks %s", missing);
    return;
  }
  int32_t count = 0, status = cuda(kind)->cuInit(0);
  if (!status) status = cuda(kind)->cuDeviceGetCount(&count);
  if (status || !count) {
    const char *name = NULL;
    cuda(kind)->cuGetErrorName(status, &name);
    snprintf(kind->reason, sizeof kind->reason, "the driver finds no device: %s (%d)",
             name ? name : "an error", status);
    return;
  }
  kind->count = count < MOST_DEVICES ? count : MOST_DEVICES;
  for (int32_t i = 0; i < kind->count; ++i) {
    int32_t handle = i;
    cuda(kind)->cuDeviceGet(&handle, i);
    kind->devices[i].handle = (void *)(int64_t)handle;
  }
}

static int cuda_open(struct Kind *kind, int32_t device) {
  struct Device *d = &kind->devices[device];
  d->most_kept = ~0ull;
  return CUDA_CALL(kind, cuDevicePrimaryCtxRetain, &d->context, ordinal(kind, device));
}

/* --- memory ----------------------------------------------------------------------------------- */

static int cuda_allocate(struct Kind *kind, struct Block *block) {
  if (use(kind, block->device)) return FAILED;
  int32_t status = cuda(kind)->cuMemAlloc_v2(&block->address, block->size);
  if (status == CUDA_ERROR_OUT_OF_MEMORY) return OUT_OF_MEMORY;
  return status ? report_cuda(kind, "cuMemAlloc", status) : OK;
}

static void cuda_release(struct Kind *kind, struct Block *block) {
  cuda(kind)->cuCtxSetCurrent(kind->devices[block->device].context);
  cuda(kind)->cuMemFree_v2(block->address); /* waits until nothing uses it */
}

static int cuda_device_of(struct Kind *kind, uint64_t address, int32_t *device) {
  if (cuda(kind)->cuPointerGetAttribute(device, POINTER_DEVICE_ORDINAL, address)) {
    return FAIL("0x%lx is no address of a CUDA device", address);
  }
  return OK;
}

static int cuda_copy(struct Kind *kind, int32_t device, void *stream, struct Place to,
                     struct Place from, uint64_t size) {
  if (use(kind, device)) return FAILED;
  int status;
  if (from.is_host) {
    status = CUDA_CALL(kind, cuMemcpyHtoDAsync_v2, (uint64_t)to.address, from.address, size,
                       stream);
  } else if (to.is_host) {
    status = CUDA_CALL(kind, cuMemcpyDtoHAsync_v2, to.address, (uint64_t)from.address, size,
                       stream);
  } else {
    return CUDA_CALL(kind, cuMemcpyAsync, (uint64_t)to.address, (uint64_t)from.address, size,
                     stream);
  }
  return status ? status : CUDA_CALL(kind, cuStreamSynchronize, stream);
}

/* --- streams and events ----------------------------------------------------------------------- */

static int cuda_synchronize(struct Kind *kind, int32_t device, void *stream) {
  if (use(kind, device)) return FAILED;
  if (stream) return CUDA_CALL(kind, cuStreamSynchronize, stream);
  return CUDA_CALL(kind, cuCtxSynchronize);
}

static int cuda_create_stream(struct Kind *kind, int32_t device, void **stream) {
  if (use(kind, device)) return FAILED;
  return CUDA_CALL(kind, cuStreamCreate, stream, STREAM_NON_BLOCKING);
}

static int cuda_destroy_stream(struct Kind *kind, int32_t device, void *stream) {
  if (use(kind, device)) return FAILED;
  return CUDA_CALL(kind, cuStreamDestroy_v2, stream);
}

static int cuda_wait(struct Kind *kind, int32_t device, void *stream, void *other) {
  void *event = NULL;
  if (use(kind, device)) return FAILED;
  if (CUDA_CALL(kind, cuEventCreate, &event, EVENT_DISABLE_TIMING)) return FAILED;
  int status = CUDA_CALL(kind, cuEventRecord, event, other);
  if (!status) status = CUDA_CALL(kind, cuStreamWaitEvent, stream, event, 0);
  cuda(kind)->cuEventDestroy_v2(event); /* goes when it has happened */
  return status;
}

static int cuda_record(struct Kind *kind, int32_t device, void *stream, void **event) {
  if (use(kind, device)) return FAILED;
  if (CUDA_CALL(kind, cuEventCreate, event, EVENT_DEFAULT)) return FAILED;
  return CUDA_CALL(kind, cuEventRecord, *event, stream);
}

static int cuda_elapsed(struct Kind *kind, int32_t device, void *from, void *to, int64_t *time) {
  float milliseconds = 0;
  if (use(kind, device)) return FAILED;
  int status = CUDA_CALL(kind, cuEventSynchronize, to);
  if (!status) status = CUDA_CALL(kind, cuEventElapsedTime, &milliseconds, from, to);
  cuda(kind)->cuEventDestroy_v2(from);
  cuda(kind)->cuEventDestroy_v2(to);
  *time = (int64_t)(milliseconds * 1e6);
  return status;
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* What the driver can load: from NVRTC in this process, or what was compiled before. */
static int image_of(struct Kind *kind, int32_t device, const char *source, const char *compiled,
                    const char **image) {
  TilewrightValue args[3] = {{8, 0, {0}}, {TILEWRIGHT_ARG_INT, 0, {0}}, {TILEWRIGHT_ARG_INT, 0, {0}}};
  TilewrightValue result = {0, 0, {0}};
  args[0].value.v_ptr = (void *)source;
  args[1].value.v_int64 = attribute(kind, device, CAPABILITY_MAJOR);
  args[2].value.v_int64 = attribute(kind, device, CAPABILITY_MINOR);
  int status = call_host("tilewright.cuda.compile", args, 3, &result);
  if (status == OK) *image = result.value.v_ptr;
  if (status != ABSENT) return status;
  *image = compiled;
  if (*compiled) return OK;
  return FAIL("the library has kernels in CUDA C only: export it where NVRTC is installed "
              "(tilewright[cuda]), which compiles them to PTX");
}

static int cuda_build(struct Kind *kind, int32_t device, const char *source,
                      const char *compiled, void **module) {
  const char *image = NULL;
  if (image_of(kind, device, source, compiled, &image) || use(kind, device)) return FAILED;
  char log[2000] = "";
  int32_t options[2] = {JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[2] = {log, (void *)sizeof log};
  int32_t status = cuda(kind)->cuModuleLoadDataEx(module, image, 2, options, values);
  if (status) {
    const char *error = NULL;
    cuda(kind)->cuGetErrorName(status, &error);
    log[sizeof log - 1] = 0;
    return FAIL("the driver cannot load the kernels: %s (%d): %s", error ? error : "an error",
                status, log);
  }
  return OK;
}

static int cuda_find(struct Kind *kind, int32_t device, void *module, const char *name,
                     void **function) {
  if (use(kind, device)) return FAILED;
  return CUDA_CALL(kind, cuModuleGetFunction, function, module, name);
}

/* The error of a launch, with the limit of the device that it exceeds. */
static int report_start(struct Kind *kind, int32_t device, void *function,
                        const struct Launch *launch, int32_t status) {
  static const char LETTERS[] = "xyz";
  const char *name = NULL, *text = NULL;
  char reason[200] = "";
  cuda(kind)->cuGetErrorName(status, &name);
  cuda(kind)->cuGetErrorString(status, &text);
  uint64_t threads = launch->threads[0] * launch->threads[1] * launch->threads[2];
  uint64_t most = attribute(kind, device, MAX_THREADS_PER_BLOCK);
  uint64_t shared = attribute(kind, device, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  int32_t registers = 0, fixed = 0;
  cuda(kind)->cuFuncGetAttribute(&registers, FUNCTION_MAX_THREADS_PER_BLOCK, function);
  cuda(kind)->cuFuncGetAttribute(&fixed, FUNCTION_SHARED_SIZE_BYTES, function);
  for (int axis = 0; axis < 3; ++axis) {
    uint64_t most_blocks = attribute(kind, device, MAX_GRID_DIM_X + axis);
    uint64_t most_threads = attribute(kind, device, MAX_BLOCK_DIM_X + axis);
    if (launch->blocks[axis] > most_blocks) {
      snprintf(reason, sizeof reason, "; there are %lu blocks along %c, and the device runs at "
               "most %lu there", launch->blocks[axis], LETTERS[axis], most_blocks);
    } else if (launch->threads[axis] > most_threads) {
      snprintf(reason, sizeof reason, "; a block has %lu threads along %c, and the device runs at "
               "most %lu there", launch->threads[axis], LETTERS[axis], most_threads);
    }
  }
  if (threads > most) {
    snprintf(reason, sizeof reason,
             "; a block has %lu threads, and the device runs at most %lu of a block", threads,
             most);
  } else if (fixed + launch->shared > shared) {
    snprintf(reason, sizeof reason,
             "; a block takes %lu bytes of shared memory, and the device has %lu",
             fixed + launch->shared, shared);
  } else if (registers && threads > (uint64_t)registers) {
    snprintf(reason, sizeof reason,
             "; a block has %lu threads, and the registers of the device are enough for %d",
             threads, registers);
  }
  return FAIL("%s: cannot be started with (%lu, %lu, %lu) blocks of (%lu, %lu, %lu) threads: "
              "cuLaunchKernel fails: %s (%d): %s%s",
              launch->name, launch->blocks[0], launch->blocks[1], launch->blocks[2],
              launch->threads[0], launch->threads[1], launch->threads[2],
              name ? name : "an error", status, text ? text : "", reason);
}

enum { MOST_PARAMETERS = 1024, FREE_SHARED_MEMORY = 48 << 10 };

static int cuda_launch(struct Kind *kind, int32_t device, void *stream, void *function,
                       const struct Launch *launch) {
  uint64_t bits[MOST_PARAMETERS];
  void *values[MOST_PARAMETERS];
  if (use(kind, device)) return FAILED;
  for (int i = 0; launch->parameters[i] && launch->parameters[i] != ':'; ++i) {
    if (i == MOST_PARAMETERS) return FAIL("%s: it has too many parameters", launch->name);
    number_of(launch->parameters[i], &launch->values[i], &bits[i]);
    values[i] = &bits[i];
  }
  const uint64_t *b = launch->blocks, *t = launch->threads;
  if ((b[0] | b[1] | b[2] | t[0] | t[1] | t[2] | launch->shared) >> 32) {
    return report_start(kind, device, function, launch, CUDA_ERROR_INVALID_VALUE);
  }
  int32_t fixed = 0;
  if (launch->shared) {
    cuda(kind)->cuFuncGetAttribute(&fixed, FUNCTION_SHARED_SIZE_BYTES, function);
  }
  /* More than every device has must be asked for, and what the kernel declares counts, too. */
  if (launch->shared && fixed + launch->shared > FREE_SHARED_MEMORY) {
    int32_t status = cuda(kind)->cuFuncSetAttribute(
        function, FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int32_t)launch->shared);
    if (status) return report_start(kind, device, function, launch, status);
  }
  int32_t status = cuda(kind)->cuLaunchKernel(function, b[0], b[1], b[2], t[0], t[1], t[2],
                                              launch->shared, stream, values, NULL);
  return status ? report_start(kind, device, function, launch, status) : OK;
}

/* --- properties ------------------------------------------------------------------------------- */

static int cuda_property(struct Kind *kind, int32_t device, int32_t property, int64_t *value) {
  static const struct {
    int32_t property, attribute;
  } ATTRIBUTES[] = {
      {TILEWRIGHT_MAX_THREADS, MAX_THREADS_PER_BLOCK},
      {TILEWRIGHT_WARP_SIZE, WARP_SIZE},
      {TILEWRIGHT_SHARED_MEMORY, MAX_SHARED_MEMORY_PER_BLOCK},
      {TILEWRIGHT_MULTIPROCESSORS, MULTIPROCESSOR_COUNT},
      {TILEWRIGHT_L2_CACHE, L2_CACHE_SIZE},
      {TILEWRIGHT_CLOCK_RATE, CLOCK_RATE},
      {TILEWRIGHT_REGISTERS, MAX_REGISTERS_PER_BLOCK},
      {TILEWRIGHT_MAX_THREADS_X, MAX_BLOCK_DIM_X},
      {TILEWRIGHT_MAX_THREADS_X + 1, MAX_BLOCK_DIM_X + 1},
      {TILEWRIGHT_MAX_THREADS_X + 2, MAX_BLOCK_DIM_X + 2},
  };
  size_t available = 0, total = 0;
  for (size_t i = 0; i < COUNT(ATTRIBUTES); ++i) {
    if (ATTRIBUTES[i].property == property) {
      *value = attribute(kind, device, ATTRIBUTES[i].attribute);
      return OK;
    }
  }
  switch (property) {
    case TILEWRIGHT_TOTAL_MEMORY:
      if (cuda(kind)->cuDeviceTotalMem_v2(&total, ordinal(kind, device))) return FAILED;
      *value = total;
      return OK;
    case TILEWRIGHT_FREE_MEMORY:
      cuda(kind)->cuCtxSetCurrent(kind->devices[device].context);
      if (cuda(kind)->cuMemGetInfo_v2(&available, &total)) return FAILED;
      *value = available;
      return OK;
    case TILEWRIGHT_CAPABILITY:
      *value = 10 * attribute(kind, device, CAPABILITY_MAJOR) +
               attribute(kind, device, CAPABILITY_MINOR);
      return OK;
    default:
      return FAILED;
  }
}

static void cuda_describe(struct Kind *kind, int32_t device, char *name, size_t size) {
  name[0] = 0;
  cuda(kind)->cuDeviceGetName(name, (int32_t)size, ordinal(kind, device));
}

static const struct Driver CUDA = {
    "CUDA", "cuda", cuda_load, cuda_open, cuda_allocate, cuda_release, cuda_device_of, cuda_copy,
    cuda_synchronize, cuda_create_stream, cuda_destroy_stream, cuda_wait, cuda_record,
    cuda_elapsed, cuda_build, cuda_find, cuda_launch, cuda_property, cuda_describe};
