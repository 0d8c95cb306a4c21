/* The launcher: memory and kernels of OpenCL and CUDA devices, through the drivers' own libraries.
 *
 * Compiled host code calls it, in this process and in exported libraries, which need no Python then.
 * launcher.ll is made of it by `make launcher`.
 */

#include "launcher.h"

/* The bits of a number as kernels take it, and their size in bytes; pointers have the letter p. */
static size_t number_of(char letter, const TilewrightValue *value, uint64_t *bits) {
  union {
    float single;
    double real;
    uint64_t bits;
  } number = {.bits = 0};
  switch (letter) {
    case 'f':
      number.single = (float)value->value.v_float64;
      *bits = number.bits;
      return 4;
    case 'd':
      number.real = value->value.v_float64;
      *bits = number.bits;
      return 8;
    default: /* little-endian: the low bytes come first */
      *bits = (uint64_t)value->value.v_int64;
      return letter == 'b' ? 1 : letter == 'h' ? 2 : letter == 'i' ? 4 : 8;
  }
}

#include "opencl.c"
#include "cuda.c"
#include "memory.c"

/* --- the process ------------------------------------------------------------------------------ */

static struct Kind own_kinds[2];
static struct Devices own = {.layout = LAYOUT, .kinds = {&own_kinds[0], &own_kinds[1]}};
static struct Devices *shared;

__attribute__((noinline, cold)) static int report(const char *kind, const char *message) {
  if (TVMFFIErrorSetRaisedFromCStr) {
    TVMFFIErrorSetRaisedFromCStr(kind, message);
  } else {
    dprintf(2, "%s: %s\n", kind, message);
  }
  return FAILED;
}

static int call_host(const char *name, const TilewrightValue *args, int32_t count,
                     TilewrightValue *result) {
  struct {
    const char *data;
    size_t size;
  } key = {name, strlen(name)};
  void *function = NULL;
  if (!TVMFFIFunctionGetGlobal || TVMFFIFunctionGetGlobal(&key, &function) || !function) {
    return ABSENT;
  }
  int status = TVMFFIFunctionCall(function, args, count, result);
  TVMFFIObjectDecRef(function);
  return status ? FAILED : OK;
}

/* The state of all devices: that which the host names, so that libraries share arrays, or our own. */
static struct Devices *devices(void) {
  struct Devices *found = __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
  if (found) return found;
  TilewrightValue result = {0, 0, {0}};
  if (call_host("tilewright.devices", NULL, 0, &result) == OK) found = result.value.v_ptr;
  if (!found || found->layout != LAYOUT) found = &own;
  __atomic_store_n(&shared, found, __ATOMIC_RELEASE);
  return found;
}

static void *open_library(const char *const *names, size_t count) {
  void *library = NULL;
  for (size_t i = 0; i < count && !library; ++i) library = dlopen(names[i], 2 /* RTLD_NOW */);
  return library;
}

static const char *find_functions(void **functions, const char *const *names, size_t count,
                                  void *library, void *(*find)(const char *)) {
  for (size_t i = 0; i < count; ++i) {
    functions[i] = find ? find(names[i]) : dlsym(library, names[i]);
    if (!functions[i]) return names[i];
  }
  return NULL;
}

static const struct Driver *driver_of(int32_t type) {
  return type == TILEWRIGHT_OPENCL ? &OPENCL : type == TILEWRIGHT_CUDA ? &CUDA : NULL;
}

static void lock(void) { pthread_mutex_lock(devices()->lock); }
static void unlock(void) { pthread_mutex_unlock(devices()->lock); }

/* The devices of a type, whose driver is loaded once. */
static struct Kind *kind_of(int32_t type) {
  struct Kind *kind = devices()->kinds[type == TILEWRIGHT_CUDA];
  if (!__atomic_load_n(&kind->is_loaded, __ATOMIC_ACQUIRE)) {
    lock();
    if (!kind->is_loaded) driver_of(type)->load(kind, NULL);
    __atomic_store_n(&kind->is_loaded, 1, __ATOMIC_RELEASE);
    unlock();
  }
  return kind;
}

/* A device that can be used, with its context; NULL after an error. */
static struct Kind *opened(int32_t type, int32_t device) {
  const struct Driver *driver = driver_of(type);
  if (!driver) {
    return FAIL("the library drives OpenCL (%d) and CUDA (%d), not devices of type %d",
                TILEWRIGHT_OPENCL, TILEWRIGHT_CUDA, type), NULL;
  }
  struct Kind *kind = kind_of(type);
  if (!kind->count) return FAIL("%s devices cannot be used: %s", driver->name, kind->reason), NULL;
  if (device < 0 || device >= kind->count) {
    return FAIL("there is no device %s(%d): this machine has %d of that type",
                driver->device_name, device, kind->count), NULL;
  }
  if (__atomic_load_n(&kind->devices[device].context, __ATOMIC_ACQUIRE)) return kind;
  lock();
  int status = kind->devices[device].context ? OK : driver->open(kind, device);
  unlock();
  return status ? NULL : kind;
}

/* The stream of a device: that of a tvm-ffi host, that which was set, or the usual one. */
static void *stream_of(struct Kind *kind, int32_t type, int32_t device) {
  struct Device *d = &kind->devices[device];
  void *stream = TVMFFIEnvGetStream ? TVMFFIEnvGetStream(type, device) : NULL;
  return stream ? stream : d->stream ? d->stream : d->queue;
}

/* The state, for a host to share. */
WEAK struct Devices *tilewright_devices(void) { return devices(); }

/* Let `kind`, or a new one where it is NULL, stand for the devices of a type, and give the one that did
 * before. A new one has the driver whose functions `find` gives. */
WEAK struct Kind *tilewright_devices_exchange(int32_t type, struct Kind *kind,
                                              void *(*find)(const char *)) {
  struct Kind **place = &devices()->kinds[type == TILEWRIGHT_CUDA], *before = *place;
  if (!kind) {
    kind = calloc(1, sizeof *kind);
    if (!kind) return NULL;
    driver_of(type)->load(kind, find);
    kind->is_loaded = 1;
  }
  *place = kind;
  return before;
}

/* Why there are no devices of a type; an empty text if there are some. */
WEAK const char *tilewright_devices_reason(int32_t type) {
  struct Kind *kind = kind_of(type);
  return kind->count ? "" : kind->reason;
}

/* --- devices and memory ----------------------------------------------------------------------- */

WEAK int32_t tilewright_device_count(int32_t type) {
  return driver_of(type) ? kind_of(type)->count : 0;
}

WEAK int32_t tilewright_device_require(int32_t type, int32_t device) {
  return opened(type, device) ? OK : FAILED;
}

WEAK int32_t tilewright_device_of(int32_t type, const void *address, int32_t *device) {
  if (!opened(type, 0)) return FAILED;
  struct Kind *kind = kind_of(type);
  lock();
  struct Block *block = block_of(kind, (uint64_t)address);
  int status = OK;
  if (block) {
    *device = block->device;
  } else {
    status = driver_of(type)->device_of(kind, (uint64_t)address, device);
  }
  unlock();
  return status;
}

WEAK void *tilewright_device_allocate(int32_t type, int32_t device, int64_t size) {
  struct Kind *kind = opened(type, device);
  if (!kind) return NULL;
  if (size < 0 || size > 1ll << 46) {
    return FAIL_AS("MemoryError", "no memory for %ld bytes on %s(%d)", size,
                   driver_of(type)->device_name, device), NULL;
  }
  void *stream = stream_of(kind, type, device);
  lock();
  struct Block *block = take(kind, driver_of(type), device, (uint64_t)size, stream);
  void *address = block ? (void *)block->address : NULL;
  unlock();
  return address;
}

/* Give memory back; FAILED, without an error, if there is none at this address. */
static int release(int32_t type, void *address) {
  if (!driver_of(type)) return FAILED;
  struct Kind *kind = kind_of(type);
  lock();
  struct Block *block = block_of(kind, (uint64_t)address);
  int is_used = block && block->address == (uint64_t)address && !block->is_kept;
  if (is_used) give_back(kind, driver_of(type), block);
  unlock();
  return is_used ? OK : FAILED;
}

WEAK int32_t tilewright_device_release(int32_t type, void *address) {
  if (release(type, address) == OK) return OK;
  return FAIL("0x%lx is no memory that was allocated here", (uint64_t)address);
}

WEAK int32_t tilewright_device_empty_pool(int32_t type, int32_t device) {
  struct Kind *kind = opened(type, device);
  if (!kind) return FAILED;
  lock();
  empty_pool(kind, driver_of(type), device);
  unlock();
  return OK;
}

WEAK void *tilewright_opencl_import(int32_t device, void *memory) {
  struct Kind *kind = opened(TILEWRIGHT_OPENCL, device);
  if (!kind) return NULL;
  size_t size = 0;
  if (OPENCL_CALL(kind, clGetMemObjectInfo, memory, CL_MEM_SIZE, sizeof size, &size, NULL)) {
    return NULL;
  }
  struct Block *block = calloc(1, sizeof *block);
  lock();
  if (block) {
    *block = (struct Block){.address = new_address(kind, size), .size = size, .device = device,
                            .is_imported = 1, .memory = memory};
    if (add_block(kind, block)) {
      free(block);
      block = NULL;
    } else {
      opencl(kind)->clRetainMemObject(memory);
      kind->devices[device].bytes_in_use += size;
    }
  }
  unlock();
  if (!block) return FAIL_AS("MemoryError", "no memory is left on the host"), NULL;
  return (void *)block->address;
}

static int copy(int32_t type, struct Place to, struct Place from, int64_t size) {
  if (!opened(type, 0)) return FAILED;
  if (size <= 0) return OK;
  struct Kind *kind = kind_of(type);
  const struct Driver *driver = driver_of(type);
  struct Place *places[2] = {&to, &from};
  int32_t device = 0;
  int status = OK;
  lock();
  for (int i = 0; i < 2 && status == OK; ++i) {
    if (places[i]->is_host) continue;
    uint64_t address = (uint64_t)places[i]->address;
    struct Block *block = places[i]->block = block_of(kind, address);
    if (!block) {
      status = driver->device_of(kind, address, &device);
    } else if (address + size > block->address + block->size) {
      status = FAIL("%ld bytes from 0x%lx on are more than was allocated there", size, address);
    } else {
      device = block->device;
    }
  }
  unlock();
  if (status || !opened(type, device)) return FAILED;
  return driver->copy(kind, device, stream_of(kind, type, device), to, from, (uint64_t)size);
}

WEAK int32_t tilewright_device_write(int32_t type, void *to, const void *from, int64_t size) {
  return copy(type, (struct Place){to, 0, NULL}, (struct Place){(char *)from, 1, NULL}, size);
}

WEAK int32_t tilewright_device_read(int32_t type, void *to, const void *from, int64_t size) {
  return copy(type, (struct Place){to, 1, NULL}, (struct Place){(char *)from, 0, NULL}, size);
}

WEAK int32_t tilewright_device_copy(int32_t type, void *to, const void *from, int64_t size) {
  return copy(type, (struct Place){to, 0, NULL}, (struct Place){(char *)from, 0, NULL}, size);
}

/* --- streams and events ----------------------------------------------------------------------- */

WEAK int32_t tilewright_device_synchronize(int32_t type, int32_t device, void *stream) {
  struct Kind *kind = opened(type, device);
  if (!kind) return FAILED;
  if (!stream && type == TILEWRIGHT_OPENCL) { /* queues are waited for one by one */
    void *current = stream_of(kind, type, device);
    int status = driver_of(type)->synchronize(kind, device, current);
    if (status || current == kind->devices[device].queue) return status;
  }
  return driver_of(type)->synchronize(kind, device, stream);
}

WEAK int32_t tilewright_device_set_stream(int32_t type, int32_t device, void *stream) {
  struct Kind *kind = opened(type, device);
  if (!kind) return FAILED;
  kind->devices[device].stream = stream;
  return OK;
}

WEAK int32_t tilewright_device_stream(int32_t type, int32_t device, void **stream) {
  struct Kind *kind = opened(type, device);
  if (!kind) return FAILED;
  *stream = stream_of(kind, type, device);
  return OK;
}

WEAK int32_t tilewright_device_create_stream(int32_t type, int32_t device, void **stream) {
  struct Kind *kind = opened(type, device);
  return kind ? driver_of(type)->create_stream(kind, device, stream) : FAILED;
}

WEAK int32_t tilewright_device_destroy_stream(int32_t type, int32_t device, void *stream) {
  struct Kind *kind = opened(type, device);
  if (!kind || driver_of(type)->synchronize(kind, device, stream)) return FAILED;
  lock(); /* another stream may get its address, and memory that is kept for it */
  empty_pool(kind, driver_of(type), device);
  unlock();
  return driver_of(type)->destroy_stream(kind, device, stream);
}

WEAK int32_t tilewright_device_wait(int32_t type, int32_t device, void *stream, void *other) {
  struct Kind *kind = opened(type, device);
  return kind ? driver_of(type)->wait(kind, device, stream, other) : FAILED;
}

WEAK int32_t tilewright_device_record(int32_t type, int32_t device, void **event) {
  struct Kind *kind = opened(type, device);
  if (!kind) return FAILED;
  return driver_of(type)->record(kind, device, stream_of(kind, type, device), event);
}

WEAK int32_t tilewright_device_elapsed(int32_t type, int32_t device, void *from, void *to,
                                       int64_t *time) {
  struct Kind *kind = opened(type, device);
  return kind ? driver_of(type)->elapsed(kind, device, from, to, time) : FAILED;
}

/* --- properties ------------------------------------------------------------------------------- */

WEAK int32_t tilewright_device_property(int32_t type, int32_t device, int32_t property,
                                        int64_t *value) {
  struct Kind *kind = opened(type, device);
  *value = 0;
  if (!kind) return FAILED;
  if (property == TILEWRIGHT_MEMORY_IN_USE) {
    *value = (int64_t)kind->devices[device].bytes_in_use;
  } else if (property == TILEWRIGHT_MEMORY_KEPT) {
    *value = (int64_t)kind->devices[device].bytes_kept;
  } else {
    return driver_of(type)->property(kind, device, property, value) ? FAILED : OK;
  }
  return OK;
}

WEAK int32_t tilewright_device_name(int32_t type, int32_t device, char *name, int64_t size) {
  struct Kind *kind = opened(type, device);
  if (!kind || size <= 0) return FAILED;
  driver_of(type)->describe(kind, device, name, (size_t)size);
  return OK;
}

/* --- arrays ----------------------------------------------------------------------------------- */

/* DLManagedTensor of dlpack.h, with the shape and the strides behind it. */
struct Managed {
  TilewrightArray array;
  void *context;
  void (*deleter)(struct Managed *);
  int64_t sizes[];
};

static void delete_array(struct Managed *managed) {
  release(managed->array.device_type, managed->array.data);
  free(managed);
}

/* A new compact array of `size` bytes, which gives its memory back in the end; NULL after an error.
 * `array` says its type, its shape and its device. */
WEAK struct Managed *tilewright_device_array(const TilewrightArray *array, int64_t size) {
  void *data = tilewright_device_allocate(array->device_type, array->device_id, size);
  if (!data) return NULL;
  struct Managed *managed = calloc(1, sizeof *managed + 16 * (size_t)array->ndim);
  if (!managed) {
    tilewright_device_release(array->device_type, data);
    return FAIL_AS("MemoryError", "no memory is left on the host"), NULL;
  }
  managed->array = *array;
  managed->array.data = data;
  managed->array.shape = managed->sizes;
  managed->array.strides = managed->sizes + array->ndim;
  managed->deleter = delete_array;
  int64_t stride = 1;
  for (int32_t axis = array->ndim - 1; axis >= 0; --axis) {
    managed->array.shape[axis] = array->shape[axis];
    managed->array.strides[axis] = stride;
    stride *= array->shape[axis];
  }
  return managed;
}

/* Put a new array into a slot of values, as an object of a tvm-ffi host. `dtype` has the code, the bits
 * and the lanes of its elements, as TilewrightArray has them one after the other. */
WEAK int32_t tilewright_device_new_array(TilewrightValue *slot, int32_t type, int64_t device, int32_t ndim,
                                  int32_t dtype, int64_t *shape) {
  TilewrightArray array = {NULL, type, (int32_t)device, ndim, (uint8_t)dtype,
                           (uint8_t)(dtype >> 8), (uint16_t)(dtype >> 16), shape, NULL, 0};
  if (!TVMFFITensorFromDLPack) return FAIL_AS("RuntimeError", "arrays as values need a tvm-ffi host");
  int64_t size = (array.bits * array.lanes + 7) / 8;
  for (int32_t axis = 0; axis < ndim; ++axis) {
    if (__builtin_mul_overflow(size, shape[axis] < 0 ? 0 : shape[axis], &size)) size = -1;
  }
  struct Managed *managed = tilewright_device_array(&array, size);
  void *tensor = NULL;
  if (!managed) return FAILED;
  if (TVMFFITensorFromDLPack(managed, 0, 0, &tensor)) {
    managed->deleter(managed);
    return FAILED;
  }
  *slot = (TilewrightValue){TILEWRIGHT_ARG_TENSOR, 0, {0}};
  slot->value.v_ptr = tensor;
  return OK;
}

/* --- what compiled code calls ----------------------------------------------------------------- */

/* The device of the first argument that has an address; FAILED after an error. */
static int device_of_arguments(struct Kind *kind, int32_t type, const struct Launch *launch,
                               int32_t *device) {
  const struct Driver *driver = driver_of(type);
  int32_t first = -1;
  for (int i = 0; launch->parameters[i] && launch->parameters[i] != ':'; ++i) {
    uint64_t address = launch->values[i].value.v_int64;
    if (launch->parameters[i] != 'p' || !address) continue;
    struct Block *block = block_of(kind, address);
    int32_t found = 0;
    if (block) {
      found = block->device;
    } else if ((type == TILEWRIGHT_OPENCL || kind->count > 1) &&
               driver->device_of(kind, address, &found)) {
      return FAILED;
    }
    if (first >= 0 && found != first) {
      return FAIL("%s: its arrays are on several devices: %s(%d) and %s(%d); copy them to one, "
                  "such as by tvm.nd.array(x, device)",
                  launch->name, driver->device_name, first, driver->device_name, found);
    }
    first = found;
  }
  *device = first < 0 ? 0 : first;
  return OK;
}

static struct Built **slot_of(struct BuiltTable *table, int32_t device, uint64_t key) {
  struct Built **at = &table->buckets[(key ^ key >> 32) % BUCKETS];
  while (*at && ((*at)->key != key || (*at)->device != device)) at = &(*at)->next;
  return at;
}

/* What was built before, or NULL. */
static void *built_before(struct BuiltTable *table, int32_t device, uint64_t key) {
  lock();
  struct Built *found = *slot_of(table, device, key);
  unlock();
  return found ? found->handle : NULL;
}

/* Keep what was built: that, or what another thread has built meanwhile; NULL after an error. */
static void *keep_built(struct BuiltTable *table, int32_t device, uint64_t key, void *handle) {
  struct Built *built = calloc(1, sizeof *built);
  if (!built) return FAIL_AS("MemoryError", "no memory is left on the host"), NULL;
  *built = (struct Built){key, device, handle, NULL};
  lock();
  struct Built **slot = slot_of(table, device, key);
  if (!*slot) {
    *slot = built;
    built = NULL;
  }
  handle = (*slot)->handle;
  unlock();
  free(built);
  return handle;
}

/* FNV-1a. */
static uint64_t digest_of(const char *text) {
  uint64_t digest = 0xcbf29ce484222325;
  for (; *text; ++text) digest = (digest ^ (uint8_t)*text) * 0x100000001b3;
  return digest;
}

/* A kernel as the driver has it. Its source, which has other kernels, too, is compiled once. */
static void *function_of(struct Kind *kind, int32_t type, int32_t device, uint64_t key,
                         const char *source, const char *image, const char *name) {
  void *function = built_before(&kind->kernels, device, key);
  if (function) return function;
  const struct Driver *driver = driver_of(type);
  uint64_t digest = digest_of(source);
  void *program = built_before(&kind->programs, device, digest);
  if (!program) {
    if (driver->build(kind, device, source, image, &program)) return NULL;
    program = keep_built(&kind->programs, device, digest, program);
  }
  if (!program || driver->find(kind, device, program, name, &function)) return NULL;
  return keep_built(&kind->kernels, device, key, function);
}

/* Start a kernel. The arguments are: the type of devices; a number that is the kernel's own, whatever
 * library it is in; its source; what that was compiled to before, which may be empty; its name; its
 * parameters, a letter for each, a colon, and a letter for each extent that follows the arguments: x,
 * y and z for blocks, X, Y and Z for threads, m for bytes of shared memory. */
WEAK int32_t tilewright_launch(const TilewrightValue *args) {
  int32_t type = (int32_t)args[0].value.v_int64, device = 0;
  struct Launch launch = {args[4].value.v_ptr, args[5].value.v_ptr, args + 6, {1, 1, 1},
                          {1, 1, 1}, 0};
  struct Kind *kind = opened(type, 0);
  if (!kind) return FAILED;
  const char *letter = strchr(launch.parameters, ':');
  const TilewrightValue *extent = launch.values + (letter - launch.parameters);
  for (++letter; *letter; ++letter, ++extent) {
    if (*letter >= 'x' && extent->value.v_int64 <= 0) return OK; /* loops without iterations */
    uint64_t value = (uint64_t)extent->value.v_int64;
    if (*letter == 'm') {
      launch.shared = value;
    } else if (*letter >= 'x') {
      launch.blocks[*letter - 'x'] = value;
    } else {
      launch.threads[*letter - 'X'] = value;
    }
  }
  lock();
  int status = device_of_arguments(kind, type, &launch, &device);
  unlock();
  if (status || !opened(type, device)) return FAILED;
  void *function = function_of(kind, type, device, (uint64_t)args[1].value.v_int64,
                               args[2].value.v_ptr, args[3].value.v_ptr, launch.name);
  if (!function) return FAILED;
  void *stream = stream_of(kind, type, device);
  lock(); /* arguments of an OpenCL kernel are a state of it */
  status = driver_of(type)->launch(kind, device, stream, function, &launch);
  unlock();
  return status;
}

/* The device that has the address `beside`; without one, that which the host has chosen. -1 after an
 * error. */
WEAK int64_t tilewright_device_beside(int32_t type, const void *beside) {
  int32_t device = 0;
  if (beside) return tilewright_device_of(type, beside, &device) ? FAILED : device;
  TilewrightValue argument = {TILEWRIGHT_ARG_INT, 0, {0}}, result = {0, 0, {0}};
  argument.value.v_int64 = type;
  int status = call_host("tilewright.device.current", &argument, 1, &result);
  return status == OK ? result.value.v_int64 : status == ABSENT ? 0 : FAILED;
}

/* Memory between kernels, on the device that has the address `beside`, if that is one; NULL after an
 * error. It is given back by tilewright_device_release. */
WEAK void *tilewright_take(int32_t type, int64_t size, const void *beside) {
  int64_t device = tilewright_device_beside(type, beside);
  return device < 0 ? NULL : tilewright_device_allocate(type, (int32_t)device, size);
}

/* Where the constants of a graph are on a device, or NULL, without an error, if they are not there.
 * With an address they are there from now on, unless another thread was first. */
WEAK void *tilewright_constants(int32_t type, int32_t device, const char *digest, void *address) {
  struct Kind *kind = kind_of(type);
  struct Constants *added = address ? calloc(1, sizeof *added) : NULL, *found;
  lock();
  for (found = kind->constants; found; found = found->next) {
    if (found->device == device && !strcmp(found->digest, digest)) break;
  }
  if (!found && added) {
    *added = (struct Constants){{0}, device, address, kind->constants};
    snprintf(added->digest, sizeof added->digest, "%s", digest);
    kind->constants = found = added;
    added = NULL;
  }
  void *result = found ? found->address : NULL;
  unlock();
  free(added);
  if (address && result != address) release(type, address);
  if (address && !result) FAIL_AS("MemoryError", "no memory is left on the host");
  return result;
}

/* Give the memory of constants back, on all devices. */
WEAK void tilewright_constants_release(const char *digest) {
  static const int32_t TYPES[] = {TILEWRIGHT_OPENCL, TILEWRIGHT_CUDA};
  for (size_t i = 0; i < COUNT(TYPES); ++i) {
    struct Constants **at = &devices()->kinds[TYPES[i] == TILEWRIGHT_CUDA]->constants;
    lock();
    while (*at && strcmp((*at)->digest, digest)) at = &(*at)->next;
    struct Constants *found = *at;
    if (found) *at = found->next;
    unlock();
    if (!found) continue;
    release(TYPES[i], found->address);
    free(found);
    --i; /* there may be more, on other devices */
  }
}
