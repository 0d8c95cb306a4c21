/* OpenCL devices. Constants are those of cl.h. */

#define OPENCL_FUNCTIONS(F)                                                                         \
  F(clGetPlatformIDs, (uint32_t, void **, uint32_t *))                                              \
  F(clGetDeviceIDs, (void *, uint64_t, uint32_t, void **, uint32_t *))                              \
  F(clGetDeviceInfo, (void *, uint32_t, size_t, void *, size_t *))                                  \
  F(clReleaseMemObject, (void *))                                                                   \
  F(clRetainMemObject, (void *))                                                                    \
  F(clGetMemObjectInfo, (void *, uint32_t, size_t, void *, size_t *))                               \
  F(clEnqueueWriteBuffer, (void *, void *, uint32_t, size_t, size_t, const void *, uint32_t,        \
                           void *, void *))                                                         \
  F(clEnqueueReadBuffer, (void *, void *, uint32_t, size_t, size_t, void *, uint32_t, void *,       \
                          void *))                                                                  \
  F(clEnqueueCopyBuffer, (void *, void *, void *, size_t, size_t, size_t, uint32_t, void *, void *)) \
  F(clFlush, (void *))                                                                              \
  F(clFinish, (void *))                                                                             \
  F(clReleaseCommandQueue, (void *))                                                                \
  F(clEnqueueMarkerWithWaitList, (void *, uint32_t, void *, void **))                               \
  F(clEnqueueBarrierWithWaitList, (void *, uint32_t, void **, void *))                              \
  F(clWaitForEvents, (uint32_t, void **))                                                           \
  F(clGetEventProfilingInfo, (void *, uint32_t, size_t, void *, size_t *))                          \
  F(clReleaseEvent, (void *))                                                                       \
  F(clBuildProgram, (void *, uint32_t, void **, const char *, void *, void *))                      \
  F(clGetProgramBuildInfo, (void *, void *, uint32_t, size_t, void *, size_t *))                    \
  F(clReleaseProgram, (void *))                                                                     \
  F(clSetKernelArg, (void *, uint32_t, size_t, const void *))                                       \
  F(clGetKernelWorkGroupInfo, (void *, void *, uint32_t, size_t, void *, size_t *))                 \
  F(clEnqueueNDRangeKernel, (void *, void *, uint32_t, const size_t *, const size_t *,              \
                             const size_t *, uint32_t, void *, void *))

#define OPENCL_MAKERS(F)                                                                            \
  F(clCreateContext, (void *, uint32_t, void **, void *, void *, int32_t *))                        \
  F(clCreateCommandQueue, (void *, void *, uint64_t, int32_t *))                                    \
  F(clCreateBuffer, (void *, uint64_t, size_t, void *, int32_t *))                                  \
  F(clCreateSubBuffer, (void *, uint64_t, uint32_t, const void *, int32_t *))                       \
  F(clCreateProgramWithSource, (void *, uint32_t, const char **, size_t *, int32_t *))              \
  F(clCreateKernel, (void *, const char *, int32_t *))

struct OpenCL {
#define FUNCTION(name, parameters) int32_t(*name) parameters;
  OPENCL_FUNCTIONS(FUNCTION)
#undef FUNCTION
#define FUNCTION(name, parameters) void *(*name)parameters;
  OPENCL_MAKERS(FUNCTION)
#undef FUNCTION
};

#define FUNCTION(name, parameters) #name,
static const char *const OPENCL_NAMES[] = {OPENCL_FUNCTIONS(FUNCTION) OPENCL_MAKERS(FUNCTION)};
#undef FUNCTION

_Static_assert(sizeof(struct OpenCL) <= sizeof(void *) * MOST_FUNCTIONS, "more functions");

static const char *const OPENCL_LIBRARIES[] = {"libOpenCL.so.1", "libOpenCL.so"};

enum {
  CL_DEVICE_TYPE_GPU = 4,
  CL_DEVICE_TYPE_ALL = 0xFFFFFFFF,
  CL_DEVICE_TYPE = 0x1000,
  CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
  CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
  CL_DEVICE_MAX_WORK_ITEM_SIZES = 0x1005,
  CL_DEVICE_MAX_CLOCK_FREQUENCY = 0x100C,
  CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
  CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019,
  CL_DEVICE_GLOBAL_MEM_CACHE_SIZE = 0x101E,
  CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
  CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
  CL_DEVICE_NAME = 0x102B,
  CL_DEVICE_VERSION = 0x102F,
  CL_DEVICE_WARP_SIZE_NV = 0x4003,
  CL_DEVICE_WAVEFRONT_WIDTH_AMD = 0x4043,
  CL_MEM_SIZE = 0x1102,
  CL_KERNEL_WORK_GROUP_SIZE = 0x11B0,
  CL_KERNEL_LOCAL_MEM_SIZE = 0x11B2,
  CL_PROGRAM_BUILD_LOG = 0x1183,
  CL_QUEUE_PROFILING_ENABLE = 2,
  CL_MEM_READ_WRITE = 1,
  CL_BUFFER_CREATE_TYPE_REGION = 0x1220,
  CL_PROFILING_COMMAND_END = 0x1283,
  CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
  CL_OUT_OF_RESOURCES = -5,
  CL_OUT_OF_HOST_MEMORY = -6,
  CL_MISALIGNED_SUB_BUFFER_OFFSET = -13,
  CL_INVALID_BUFFER_SIZE = -61
};

/* Where addresses begin, and of what their allocations are multiples. */
static const uint64_t FIRST_ADDRESS = 1ull << 44, ALIGNMENT = 4096;

/* Bytes that are kept on a device that has the memory of the host. */
static const uint64_t KEPT_OF_HOST = 64 << 20;

static const char *const OPENCL_ERRORS[] = {
    "CL_SUCCESS", "CL_DEVICE_NOT_FOUND", "CL_DEVICE_NOT_AVAILABLE", "CL_COMPILER_NOT_AVAILABLE",
    "CL_MEM_OBJECT_ALLOCATION_FAILURE", "CL_OUT_OF_RESOURCES", "CL_OUT_OF_HOST_MEMORY",
    "CL_PROFILING_INFO_NOT_AVAILABLE", "CL_MEM_COPY_OVERLAP", "CL_IMAGE_FORMAT_MISMATCH",
    "CL_IMAGE_FORMAT_NOT_SUPPORTED", "CL_BUILD_PROGRAM_FAILURE", "CL_MAP_FAILURE",
    "CL_MISALIGNED_SUB_BUFFER_OFFSET", "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"};

static const char *const OPENCL_INVALID[] = {
    "CL_INVALID_VALUE", "CL_INVALID_DEVICE_TYPE", "CL_INVALID_PLATFORM", "CL_INVALID_DEVICE",
    "CL_INVALID_CONTEXT", "CL_INVALID_QUEUE_PROPERTIES", "CL_INVALID_COMMAND_QUEUE",
    "CL_INVALID_HOST_PTR", "CL_INVALID_MEM_OBJECT", "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR",
    "CL_INVALID_IMAGE_SIZE", "CL_INVALID_SAMPLER", "CL_INVALID_BINARY", "CL_INVALID_BUILD_OPTIONS",
    "CL_INVALID_PROGRAM", "CL_INVALID_PROGRAM_EXECUTABLE", "CL_INVALID_KERNEL_NAME",
    "CL_INVALID_KERNEL_DEFINITION", "CL_INVALID_KERNEL", "CL_INVALID_ARG_INDEX",
    "CL_INVALID_ARG_VALUE", "CL_INVALID_ARG_SIZE", "CL_INVALID_KERNEL_ARGS",
    "CL_INVALID_WORK_DIMENSION", "CL_INVALID_WORK_GROUP_SIZE", "CL_INVALID_WORK_ITEM_SIZE",
    "CL_INVALID_GLOBAL_OFFSET", "CL_INVALID_EVENT_WAIT_LIST", "CL_INVALID_EVENT",
    "CL_INVALID_OPERATION", "CL_INVALID_GL_OBJECT", "CL_INVALID_BUFFER_SIZE",
    "CL_INVALID_MIP_LEVEL", "CL_INVALID_GLOBAL_WORK_SIZE"};

static const char *opencl_error(int32_t status) {
  if (status <= 0 && status > -(int)COUNT(OPENCL_ERRORS)) return OPENCL_ERRORS[-status];
  if (status <= -30 && status > -30 - (int)COUNT(OPENCL_INVALID)) {
    return OPENCL_INVALID[-30 - status];
  }
  return "an error of the driver";
}

static struct OpenCL *opencl(struct Kind *kind) { return (struct OpenCL *)kind->functions; }

/* 0, or an error that names the function that failed. */
#define OPENCL_CALL(kind, name, ...)                                             \
  ({                                                                             \
    int32_t status_ = opencl(kind)->name(__VA_ARGS__);                           \
    status_ ? FAIL("%s fails: %s (%d)", #name, opencl_error(status_), status_) : OK; \
  })

static uint64_t opencl_number(struct Kind *kind, void *handle, uint32_t name) {
  uint64_t value = 0; /* shorter ones fill the low bytes */
  opencl(kind)->clGetDeviceInfo(handle, name, sizeof value, &value, NULL);
  return value;
}

static void opencl_text(struct Kind *kind, void *handle, uint32_t name, char *text, size_t size) {
  text[0] = 0;
  opencl(kind)->clGetDeviceInfo(handle, name, size - 1, text, NULL);
  text[size - 1] = 0;
}

static char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? letter + 32 : letter; }

/* Whether `part` is in `text`, in small letters or large ones. */
static int contains(const char *text, const char *part) {
  for (;; ++text) {
    size_t n = 0;
    while (part[n] && lower(text[n]) == lower(part[n])) ++n;
    if (!part[n]) return 1;
    if (!*text) return 0;
  }
}

static int is_simulator(struct Kind *kind, void *handle) {
  char name[256];
  opencl_text(kind, handle, CL_DEVICE_NAME, name, sizeof name);
  return contains(name, "oclgrind");
}

static int is_pocl(struct Kind *kind, void *handle) {
  char version[256];
  opencl_text(kind, handle, CL_DEVICE_VERSION, version, sizeof version);
  return contains(version, "pocl");
}

/* Whether a device can compile anything: PoCL cannot where its LLVM does not know the CPU. */
static int compiles(struct Kind *kind, void *handle) {
  struct OpenCL *cl = opencl(kind);
  const char *source = "__kernel void probe() {}";
  int32_t status = 0;
  void *context = cl->clCreateContext(NULL, 1, &handle, NULL, NULL, &status);
  if (status) return 0;
  void *program = cl->clCreateProgramWithSource(context, 1, &source, NULL, &status);
  if (status) return 0;
  status = cl->clBuildProgram(program, 1, &handle, "", NULL, NULL);
  cl->clReleaseProgram(program);
  return status == 0;
}

/* 0 for GPUs, 1 for other devices, 2 for simulators that look for errors. */
static int rank_of(struct Kind *kind, void *handle) {
  if (is_simulator(kind, handle)) return 2;
  return !(opencl_number(kind, handle, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_GPU);
}

/* All devices that work and whose names contain TILEWRIGHT_OPENCL_DEVICE, in order of their ranks. */
static void opencl_load(struct Kind *kind, void *(*find)(const char *)) {
  const char *named = getenv("TILEWRIGHT_OPENCL_LIBRARY");
  void *library = NULL;
  if (!find) {
    library = named && *named ? open_library(&named, 1)
                              : open_library(OPENCL_LIBRARIES, COUNT(OPENCL_LIBRARIES));
    if (!library) {
      snprintf(kind->reason, sizeof kind->reason, "%s is not here: install a driver",
               named && *named ? named : OPENCL_LIBRARIES[0]);
      return;
    }
  }
  const char *missing =
      find_functions(kind->functions, OPENCL_NAMES, COUNT(OPENCL_NAMES), library, find);
  if (missing) {
    snprintf(kind->reason, sizeof kind->reason, "the library lacks %s of OpenCL 1.2", missing);
    return;
  }
  /* What PoCL does with small blocks by itself is wrong where barriers stand under conditions, and
     without its vectorizer ("loops") some loops end early. */
  setenv("POCL_WORK_GROUP_METHOD", "loopvec", 0);
  struct OpenCL *cl = opencl(kind);
  const char *wanted = getenv("TILEWRIGHT_OPENCL_DEVICE");
  void *platforms[MOST_DEVICES], *handles[MOST_DEVICES], *idle = NULL;
  uint32_t num_platforms = 0;
  if (cl->clGetPlatformIDs(MOST_DEVICES, platforms, &num_platforms)) num_platforms = 0;
  if (num_platforms > MOST_DEVICES) num_platforms = MOST_DEVICES;
  for (int rank = 0; rank < 3; ++rank) {
    for (uint32_t p = 0; p < num_platforms; ++p) {
      uint32_t found = 0;
      if (cl->clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MOST_DEVICES, handles, &found)) {
        continue;
      }
      for (uint32_t i = 0; i < found && i < MOST_DEVICES; ++i) {
        char name[256];
        opencl_text(kind, handles[i], CL_DEVICE_NAME, name, sizeof name);
        if (wanted && !contains(name, wanted)) continue;
        if (rank_of(kind, handles[i]) != rank || kind->count == MOST_DEVICES) continue;
        if (rank == 1 && !compiles(kind, handles[i])) {
          idle = handles[i];
        } else {
          kind->devices[kind->count++].handle = handles[i];
        }
      }
    }
  }
  char name[256] = "";
  if (idle) opencl_text(kind, idle, CL_DEVICE_NAME, name, sizeof name);
  snprintf(kind->reason, sizeof kind->reason, "there is no OpenCL device: install a driver%s%s%s",
           idle ? "; " : "", name, idle ? " is there, and its compiler fails" : "");
  kind->next_address = FIRST_ADDRESS;
}

static int opencl_open(struct Kind *kind, int32_t device) {
  struct Device *d = &kind->devices[device];
  int32_t status = 0;
  void *context = opencl(kind)->clCreateContext(NULL, 1, &d->handle, NULL, NULL, &status);
  if (status) return FAIL("clCreateContext fails: %s (%d)", opencl_error(status), status);
  d->queue = opencl(kind)->clCreateCommandQueue(context, d->handle, CL_QUEUE_PROFILING_ENABLE,
                                                &status);
  if (status) return FAIL("clCreateCommandQueue fails: %s (%d)", opencl_error(status), status);
  int is_gpu = (opencl_number(kind, d->handle, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_GPU) != 0;
  uint64_t memory = opencl_number(kind, d->handle, CL_DEVICE_GLOBAL_MEM_SIZE);
  d->most_kept = is_gpu ? memory / 4 : KEPT_OF_HOST;
  d->context = context;
  return OK;
}

/* --- memory ----------------------------------------------------------------------------------- */

static uint64_t new_address(struct Kind *kind, uint64_t size) {
  uint64_t address = kind->next_address;
  kind->next_address += (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return address;
}

static int opencl_allocate(struct Kind *kind, struct Block *block) {
  int32_t status = 0;
  struct Device *d = &kind->devices[block->device];
  /* Oclgrind ends the process if there is more. */
  if (block->size > opencl_number(kind, d->handle, CL_DEVICE_MAX_MEM_ALLOC_SIZE)) {
    return OUT_OF_MEMORY;
  }
  block->memory =
      opencl(kind)->clCreateBuffer(d->context, CL_MEM_READ_WRITE, block->size, NULL, &status);
  if (status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES ||
      status == CL_OUT_OF_HOST_MEMORY || status == CL_INVALID_BUFFER_SIZE) {
    return OUT_OF_MEMORY;
  }
  if (status) return FAIL("clCreateBuffer fails: %s (%d)", opencl_error(status), status);
  block->address = new_address(kind, block->size);
  return OK;
}

static void opencl_release(struct Kind *kind, struct Block *block) {
  while (block->views) {
    struct View *view = block->views;
    block->views = view->next;
    opencl(kind)->clReleaseMemObject(view->memory);
    free(view);
  }
  opencl(kind)->clReleaseMemObject(block->memory);
}

static int opencl_device_of(struct Kind *kind, uint64_t address, int32_t *device) {
  (void)kind, (void)device;
  return FAIL("0x%lx is no address of an OpenCL device that this library knows", address);
}

static int opencl_copy(struct Kind *kind, int32_t device, void *queue, struct Place to,
                       struct Place from, uint64_t size) {
  (void)device;
  size_t target = to.is_host ? 0 : (uint64_t)to.address - to.block->address;
  size_t source = from.is_host ? 0 : (uint64_t)from.address - from.block->address;
  if (from.is_host) {
    return OPENCL_CALL(kind, clEnqueueWriteBuffer, queue, to.block->memory, 1, target, size,
                       from.address, 0, NULL, NULL);
  }
  if (to.is_host) {
    return OPENCL_CALL(kind, clEnqueueReadBuffer, queue, from.block->memory, 1, source, size,
                       to.address, 0, NULL, NULL);
  }
  return OPENCL_CALL(kind, clEnqueueCopyBuffer, queue, from.block->memory, to.block->memory,
                     source, target, size, 0, NULL, NULL);
}

/* The part of a block from an address on, as a kernel takes it. */
static void *view_from(struct Kind *kind, struct Block *block, uint64_t address, int32_t *status) {
  uint64_t offset = address - block->address;
  if (!offset) return block->memory;
  for (struct View *view = block->views; view; view = view->next) {
    if (view->offset == offset) return view->memory;
  }
  size_t region[2] = {offset, block->size - offset};
  void *memory = opencl(kind)->clCreateSubBuffer(block->memory, CL_MEM_READ_WRITE,
                                                 CL_BUFFER_CREATE_TYPE_REGION, region, status);
  struct View *view = *status ? NULL : calloc(1, sizeof *view);
  if (!view) return NULL;
  *view = (struct View){offset, memory, block->views};
  block->views = view;
  return memory;
}

/* --- streams and events ----------------------------------------------------------------------- */

static int opencl_synchronize(struct Kind *kind, int32_t device, void *queue) {
  return OPENCL_CALL(kind, clFinish, queue ? queue : kind->devices[device].queue);
}

static int opencl_create_stream(struct Kind *kind, int32_t device, void **stream) {
  struct Device *d = &kind->devices[device];
  int32_t status = 0;
  *stream = opencl(kind)->clCreateCommandQueue(d->context, d->handle, CL_QUEUE_PROFILING_ENABLE,
                                               &status);
  return status ? FAIL("clCreateCommandQueue fails: %s (%d)", opencl_error(status), status) : OK;
}

static int opencl_destroy_stream(struct Kind *kind, int32_t device, void *stream) {
  (void)device;
  return OPENCL_CALL(kind, clReleaseCommandQueue, stream);
}

static int opencl_wait(struct Kind *kind, int32_t device, void *stream, void *other) {
  void *usual = kind->devices[device].queue, *event = NULL;
  stream = stream ? stream : usual, other = other ? other : usual;
  if (OPENCL_CALL(kind, clEnqueueMarkerWithWaitList, other, 0, NULL, &event)) return FAILED;
  opencl(kind)->clFlush(other);
  int status = OPENCL_CALL(kind, clEnqueueBarrierWithWaitList, stream, 1, &event, NULL);
  opencl(kind)->clReleaseEvent(event);
  return status;
}

static int opencl_record(struct Kind *kind, int32_t device, void *stream, void **event) {
  (void)device;
  if (OPENCL_CALL(kind, clEnqueueMarkerWithWaitList, stream, 0, NULL, event)) return FAILED;
  return OPENCL_CALL(kind, clFlush, stream);
}

static int opencl_elapsed(struct Kind *kind, int32_t device, void *from, void *to, int64_t *time) {
  (void)device;
  void *events[2] = {from, to};
  uint64_t ends[2] = {0, 0};
  int status = OPENCL_CALL(kind, clWaitForEvents, 2, events);
  for (int i = 0; i < 2; ++i) {
    if (status == OK) {
      status = OPENCL_CALL(kind, clGetEventProfilingInfo, events[i], CL_PROFILING_COMMAND_END,
                           sizeof ends[i], &ends[i], NULL);
    }
    opencl(kind)->clReleaseEvent(events[i]);
  }
  *time = (int64_t)(ends[1] - ends[0]);
  return status;
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* The error of a compiler, with the line of the source that its log mentions first. */
static int report_log(const char *source, const char *log) {
  const char *at = strstr(log, "error"), *line = "";
  long number = 0, length = 0;
  while (at && at > log && at[-1] != '\n') --at;
  for (; at && *at && *at != '\n' && !number; ++at) { /* name:12:5: error, or error: name:12:5 */
    char *end = "";
    long found = *at == ':' ? strtol(at + 1, &end, 10) : 0;
    if (found > 0 && *end == ':') number = found;
  }
  if (number) {
    line = source;
    for (long n = 1; n < number && line; ++n) {
      line = strchr(line, '\n');
      line = line ? line + 1 : NULL;
    }
    line = line ? line : "";
    const char *end = strchr(line, '\n');
    length = end ? end - line : (long)strlen(line);
  }
  return FAIL("the OpenCL compiler refuses the kernels: line %ld: %.*s\n%.3000s", number,
              (int)(length < 500 ? length : 500), line, log);
}

static int opencl_build(struct Kind *kind, int32_t device, const char *source, const char *image,
                        void **program) {
  (void)image;
  struct OpenCL *cl = opencl(kind);
  struct Device *d = &kind->devices[device];
  int32_t status = 0;
  *program = cl->clCreateProgramWithSource(d->context, 1, &source, NULL, &status);
  if (status) {
    return FAIL("clCreateProgramWithSource fails: %s (%d)", opencl_error(status), status);
  }
  /* Oclgrind executes optimised conditions wrongly. The compiler of PoCL 3 moves code over barriers
     before it knows what they are, so that values are lost, and loops never end; what it makes of
     whole blocks of threads it optimises later, anyway. */
  int has_barriers = is_pocl(kind, d->handle) && strstr(source, "barrier(");
  const char *options = is_simulator(kind, d->handle) || has_barriers ? "-cl-opt-disable" : "";
  status = cl->clBuildProgram(*program, 1, &d->handle, options, NULL, NULL);
  if (!status) return OK;
  size_t size = 0;
  cl->clGetProgramBuildInfo(*program, d->handle, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  char *log = calloc(size + 1, 1);
  if (log) {
    cl->clGetProgramBuildInfo(*program, d->handle, CL_PROGRAM_BUILD_LOG, size, log, NULL);
  }
  report_log(source, log ? log : opencl_error(status));
  free(log);
  cl->clReleaseProgram(*program);
  return FAILED;
}

static int opencl_find(struct Kind *kind, int32_t device, void *program, const char *name,
                       void **function) {
  (void)device;
  int32_t status = 0;
  *function = opencl(kind)->clCreateKernel(program, name, &status);
  return status ? FAIL("the program has no kernel %s: %s", name, opencl_error(status)) : OK;
}

/* The error of a launch, with the limit of the device that it exceeds. */
static int report_launch(struct Kind *kind, int32_t device, void *function,
                         const struct Launch *launch, const char *what, int32_t status) {
  struct OpenCL *cl = opencl(kind);
  void *handle = kind->devices[device].handle;
  uint64_t most = 0, local = 0;
  uint64_t threads = launch->threads[0] * launch->threads[1] * launch->threads[2];
  uint64_t most_local = opencl_number(kind, handle, CL_DEVICE_LOCAL_MEM_SIZE);
  uint64_t limit = opencl_number(kind, handle, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  cl->clGetKernelWorkGroupInfo(function, handle, CL_KERNEL_WORK_GROUP_SIZE, 8, &most, NULL);
  cl->clGetKernelWorkGroupInfo(function, handle, CL_KERNEL_LOCAL_MEM_SIZE, 8, &local, NULL);
  if (local < launch->shared) local += launch->shared;  /* not set as an argument yet */
  char reason[200] = "";
  if (local > most_local) {
    snprintf(reason, sizeof reason,
             "; a block takes %lu bytes of shared memory, and the device has %lu", local,
             most_local);
  } else if (threads > limit) {
    snprintf(reason, sizeof reason,
             "; a block has %lu threads, and the device runs at most %lu of a block", threads,
             limit);
  } else if (most && threads > most) {
    snprintf(reason, sizeof reason,
             "; a block has %lu threads, and the registers of the device are enough for %lu",
             threads, most);
  }
  return FAIL("%s: cannot be started with (%lu, %lu, %lu) blocks of (%lu, %lu, %lu) threads: "
              "%s fails: %s (%d)%s",
              launch->name, launch->blocks[0], launch->blocks[1], launch->blocks[2],
              launch->threads[0], launch->threads[1], launch->threads[2], what,
              opencl_error(status), status, reason);
}

static int opencl_launch(struct Kind *kind, int32_t device, void *queue, void *function,
                         const struct Launch *launch) {
  struct OpenCL *cl = opencl(kind);
  void *handle = kind->devices[device].handle;
  uint32_t i = 0;
  for (; launch->parameters[i] && launch->parameters[i] != ':'; ++i) {
    int32_t status = 0;
    if (launch->parameters[i] == 'p') {
      uint64_t address = launch->values[i].value.v_int64;
      struct Block *block = block_of(kind, address);
      void *memory = NULL;
      if (address) {
        if (!block) return opencl_device_of(kind, address, NULL);
        memory = view_from(kind, block, address, &status);
      }
      if (status == CL_MISALIGNED_SUB_BUFFER_OFFSET) {
        uint64_t bits = opencl_number(kind, handle, CL_DEVICE_MEM_BASE_ADDR_ALIGN);
        return FAIL("%s: argument %u begins at byte %lu of its memory, and kernels of the device "
                    "take memory from multiples of %lu bytes on; copy the array",
                    launch->name, i + 1, address - block->address, bits / 8);
      }
      status = status ? status : cl->clSetKernelArg(function, i, sizeof memory, &memory);
    } else {
      uint64_t bits;
      size_t size = number_of(launch->parameters[i], &launch->values[i], &bits);
      status = cl->clSetKernelArg(function, i, size, &bits);
    }
    if (status) return report_launch(kind, device, function, launch, "clSetKernelArg", status);
  }
  if (launch->shared) {
    int32_t status = CL_OUT_OF_RESOURCES;
    if (launch->shared <= opencl_number(kind, kind->devices[device].handle,
                                        CL_DEVICE_LOCAL_MEM_SIZE)) {
      status = cl->clSetKernelArg(function, i, launch->shared, NULL);
    }
    if (status) return report_launch(kind, device, function, launch, "clSetKernelArg", status);
  }
  size_t size[3];
  for (int axis = 0; axis < 3; ++axis) size[axis] = launch->blocks[axis] * launch->threads[axis];
  int32_t status = cl->clEnqueueNDRangeKernel(queue, function, 3, NULL, size, launch->threads, 0,
                                              NULL, NULL);
  if (!status) return OK;
  return report_launch(kind, device, function, launch, "clEnqueueNDRangeKernel", status);
}

/* --- properties ------------------------------------------------------------------------------- */

static int opencl_property(struct Kind *kind, int32_t device, int32_t property, int64_t *value) {
  struct Device *d = &kind->devices[device];
  char text[256]; /* PoCL adds the name of the CPU to its version */
  size_t sizes[3] = {0, 0, 0};
  switch (property) {
    case TILEWRIGHT_MAX_THREADS:
      *value = opencl_number(kind, d->handle, CL_DEVICE_MAX_WORK_GROUP_SIZE);
      return OK;
    case TILEWRIGHT_WARP_SIZE:
      *value = opencl_number(kind, d->handle, CL_DEVICE_WARP_SIZE_NV);
      if (!*value) *value = opencl_number(kind, d->handle, CL_DEVICE_WAVEFRONT_WIDTH_AMD);
      if (!*value) *value = 1;
      return OK;
    case TILEWRIGHT_SHARED_MEMORY:
      *value = opencl_number(kind, d->handle, CL_DEVICE_LOCAL_MEM_SIZE);
      return OK;
    case TILEWRIGHT_MULTIPROCESSORS:
      *value = opencl_number(kind, d->handle, CL_DEVICE_MAX_COMPUTE_UNITS);
      return OK;
    case TILEWRIGHT_L2_CACHE:
      *value = opencl_number(kind, d->handle, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
      return OK;
    case TILEWRIGHT_TOTAL_MEMORY:
      *value = opencl_number(kind, d->handle, CL_DEVICE_GLOBAL_MEM_SIZE);
      return OK;
    case TILEWRIGHT_FREE_MEMORY:
      *value = opencl_number(kind, d->handle, CL_DEVICE_GLOBAL_MEM_SIZE) - d->bytes_in_use -
               d->bytes_kept;
      return OK;
    case TILEWRIGHT_CLOCK_RATE:
      *value = 1000 * opencl_number(kind, d->handle, CL_DEVICE_MAX_CLOCK_FREQUENCY);
      return OK;
    case TILEWRIGHT_MAX_THREADS_X:
    case TILEWRIGHT_MAX_THREADS_X + 1:
    case TILEWRIGHT_MAX_THREADS_X + 2:
      opencl(kind)->clGetDeviceInfo(d->handle, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes,
                                    NULL);
      *value = sizes[property - TILEWRIGHT_MAX_THREADS_X];
      return OK;
    case TILEWRIGHT_CAPABILITY: /* "OpenCL 1.2 ..." */
      opencl_text(kind, d->handle, CL_DEVICE_VERSION, text, sizeof text);
      *value = strlen(text) > 9 ? 10 * (text[7] - '0') + text[9] - '0' : 0;
      return OK;
    default:
      return FAILED;
  }
}

static void opencl_describe(struct Kind *kind, int32_t device, char *name, size_t size) {
  opencl_text(kind, kind->devices[device].handle, CL_DEVICE_NAME, name, size);
}

static const struct Driver OPENCL = {
    "OpenCL", "opencl", opencl_load, opencl_open, opencl_allocate, opencl_release,
    opencl_device_of, opencl_copy, opencl_synchronize, opencl_create_stream,
    opencl_destroy_stream, opencl_wait, opencl_record, opencl_elapsed, opencl_build, opencl_find,
    opencl_launch, opencl_property, opencl_describe};
