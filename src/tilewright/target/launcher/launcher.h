/* What the files of the launcher share.
 *
 * Types and functions of the C library are declared here, because its headers differ between machines
 * and the code must not: it becomes LLVM IR for all of them.
 */
#ifndef LAUNCHER_H
#define LAUNCHER_H

#include "tilewright_device.h"

typedef unsigned long size_t;
#define NULL ((void *)0)

void *calloc(size_t, size_t);
void *realloc(void *, size_t);
void free(void *);
void *memmove(void *, const void *, size_t);
int strcmp(const char *, const char *);
size_t strlen(const char *);
char *strchr(const char *, int);
char *strstr(const char *, const char *);
long strtol(const char *, char **, int);
int snprintf(char *, size_t, const char *, ...);
int dprintf(int, const char *, ...);
char *getenv(const char *);
int setenv(const char *, const char *, int);
void *dlopen(const char *, int);
void *dlsym(void *, const char *);
int pthread_mutex_lock(void *);
int pthread_mutex_unlock(void *);

/* Functions of a tvm-ffi host, which are NULL where there is none. */
#define WEAK __attribute__((weak))
WEAK void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
WEAK int TVMFFIFunctionGetGlobal(const void *name, void **function);
WEAK int TVMFFIFunctionCall(void *function, const TilewrightValue *args, int32_t count,
                            TilewrightValue *result);
WEAK int TVMFFIObjectDecRef(void *object);
WEAK void *TVMFFIEnvGetStream(int32_t type, int32_t device);
WEAK int TVMFFITensorFromDLPack(void *managed, int32_t alignment, int32_t is_contiguous, void **tensor);

/* --- errors ----------------------------------------------------------------------------------- */

enum { OK = 0, FAILED = -1, OUT_OF_MEMORY = -2, ABSENT = -3 };
enum { MESSAGE_SIZE = 4096 };

/* Report an error; FAILED. */
static int report(const char *kind, const char *message);

#define FAIL_AS(kind, ...)                                \
  ({                                                      \
    char message_[MESSAGE_SIZE];                          \
    snprintf(message_, sizeof message_, __VA_ARGS__);     \
    report(kind, message_);                               \
  })
#define FAIL(...) FAIL_AS("DeviceError", __VA_ARGS__)

/* --- state ------------------------------------------------------------------------------------ */

enum { MOST_DEVICES = 16, SIZE_CLASSES = 192, MOST_FUNCTIONS = 40 };

/* A part of an OpenCL buffer that a kernel was given. */
struct View {
  uint64_t offset;
  void *memory;
  struct View *next;
};

struct Block {
  uint64_t address, size;
  int32_t device;
  int16_t is_imported, is_kept;
  void *stream;      /* for which it was allocated, and is allocated again */
  void *memory;      /* OpenCL: the cl_mem */
  struct View *views;
  struct Block *next; /* of those that are kept */
};

struct Device {
  void *handle;  /* cl_device_id; CUdevice */
  void *context; /* NULL until it is used first */
  void *queue;   /* OpenCL: the usual stream */
  void *stream;  /* of tilewright_device_set_stream */
  struct Block *kept[SIZE_CLASSES];
  uint64_t bytes_kept, most_kept, bytes_in_use;
};

/* What a driver made of a source, or a kernel of that. */
struct Built {
  uint64_t key;
  int32_t device;
  void *handle;
  struct Built *next;
};

/* Constants of graphs on a device, by a digest in 64 digits. */
struct Constants {
  char digest[65];
  int32_t device;
  void *address;
  struct Constants *next;
};

enum { BUCKETS = 1024 };
struct BuiltTable {
  struct Built *buckets[BUCKETS];
};

/* The devices of one type. */
struct Kind {
  int32_t is_loaded;
  int32_t count;
  char reason[512]; /* why there are none */
  void *functions[MOST_FUNCTIONS]; /* of the driver */
  struct Device devices[MOST_DEVICES];
  struct Block **blocks; /* in use or kept, by address */
  size_t num_blocks, room;
  uint64_t next_address; /* OpenCL */
  struct BuiltTable programs, kernels;
  struct Constants *constants;
};

enum { LAYOUT = 2 }; /* of this structure: another one cannot be shared */

/* All that lasts. Libraries of a process share it, see `devices`. */
struct Devices {
  uint64_t layout;
  uint64_t lock[8]; /* pthread_mutex_t, which is smaller, as PTHREAD_MUTEX_INITIALIZER */
  struct Kind *kinds[2]; /* of OpenCL and of CUDA */
};

/* --- drivers ---------------------------------------------------------------------------------- */

/* A kernel that is started. */
struct Launch {
  const char *name;
  const char *parameters; /* a letter for each: see tilewright_launch */
  const TilewrightValue *values;
  uint64_t blocks[3], threads[3], shared;
};

/* A place in memory of the host, or of a device. It is in a block, unless CUDA memory is of others. */
struct Place {
  char *address;
  int32_t is_host;
  struct Block *block;
};

/* What is done otherwise by OpenCL and by CUDA. Statuses are 0, or FAILED after an error was reported;
 * the lock is held unless it says otherwise. */
struct Driver {
  const char *name, *device_name;

  /* Find the functions, by `find` or in the libraries of the system, and the devices; a text in
   * `reason` if there are none. */
  void (*load)(struct Kind *, void *(*find)(const char *));
  /* The context of a device. */
  int (*open)(struct Kind *, int32_t device);

  /* Memory for a block; it may be OUT_OF_MEMORY, which is not reported. */
  int (*allocate)(struct Kind *, struct Block *);
  void (*release)(struct Kind *, struct Block *);
  /* The device of an address that is in no block. */
  int (*device_of)(struct Kind *, uint64_t address, int32_t *device);
  /* Without the lock. */
  int (*copy)(struct Kind *, int32_t device, void *stream, struct Place to, struct Place from,
              uint64_t size);
  int (*synchronize)(struct Kind *, int32_t device, void *stream);

  int (*create_stream)(struct Kind *, int32_t device, void **stream);
  int (*destroy_stream)(struct Kind *, int32_t device, void *stream);
  int (*wait)(struct Kind *, int32_t device, void *stream, void *other);
  int (*record)(struct Kind *, int32_t device, void *stream, void **event);
  int (*elapsed)(struct Kind *, int32_t device, void *from, void *to, int64_t *time);

  /* A program of a source, and a kernel of it; without the lock. */
  int (*build)(struct Kind *, int32_t device, const char *source, const char *image,
               void **program);
  int (*find)(struct Kind *, int32_t device, void *program, const char *name, void **function);
  int (*launch)(struct Kind *, int32_t device, void *stream, void *function,
                const struct Launch *);

  /* FAILED for what is not known, without an error. */
  int (*property)(struct Kind *, int32_t device, int32_t property, int64_t *value);
  void (*describe)(struct Kind *, int32_t device, char *name, size_t size);
};

/* The block that an address is in, or NULL. */
static struct Block *block_of(struct Kind *kind, uint64_t address);

/* Open one of some libraries; NULL if there is none. */
static void *open_library(const char *const *names, size_t count);

/* Find functions by name; the name of one that is not there, or NULL. */
static const char *find_functions(void **functions, const char *const *names, size_t count,
                                  void *library, void *(*find)(const char *));

/* Call a registered function of the host; ABSENT, without an error, if there is none. */
static int call_host(const char *name, const TilewrightValue *args, int32_t count,
                     TilewrightValue *result);

#define COUNT(array) (sizeof(array) / sizeof *(array))

#endif
