// CUDA C on a CPU, for tests: one thread at a time, each a coroutine that runs to its next barrier.
//
// Threads and blocks run in an order that a seed decides, another one between each two barriers, so
// that threads which rely on an order without a barrier compute other numbers. That some threads end
// and others wait at a barrier, or that they wait at different ones, is reported, and so are indices
// outside of arrays in shared and local memory. Shared memory is filled with NaN before each block.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <math.h>
#include <ucontext.h>
#include <utility>

#define __global__
#define __device__
#define __launch_bounds__(threads)
#define __shared__ static __attribute__((section("emulated_shared")))
#define __syncthreads() emulation::wait(__LINE__)
#define __shfl_sync(...) emulation::shuffle(__LINE__, 0, __VA_ARGS__)
#define __shfl_up_sync(...) emulation::shuffle(__LINE__, -1, __VA_ARGS__)
#define __shfl_down_sync(...) emulation::shuffle(__LINE__, 1, __VA_ARGS__)

#define tw_copy_async(to, from, bytes) emulation::copy_async(to, from, bytes)
#define tw_commit_copies() ++emulation::running->group
#define tw_wait_copies(groups) emulation::wait_copies(groups)

inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline double rsqrt(double x) { return 1 / sqrt(x); }
inline int __popc(uint32_t x) { return __builtin_popcount(x); }
inline int __popcll(uint64_t x) { return __builtin_popcountll(x); }
inline int __clz(uint32_t x) { return x == 0 ? 32 : __builtin_clz(x); }
inline int __clzll(uint64_t x) { return x == 0 ? 64 : __builtin_clzll(x); }

// The vectors that CUDA has.
#define VECTORS(name, element, size)                              \
  struct alignas(size * 2) name##2 { element x, y; };             \
  struct alignas(size * 4 > 16 ? 16 : size * 4) name##4 { element x, y, z, w; };
VECTORS(char, int8_t, 1)
VECTORS(uchar, uint8_t, 1)
VECTORS(short, int16_t, 2)
VECTORS(ushort, uint16_t, 2)
VECTORS(int, int32_t, 4)
VECTORS(uint, uint32_t, 4)
VECTORS(longlong, int64_t, 8)
VECTORS(ulonglong, uint64_t, 8)
VECTORS(float, float, 4)
VECTORS(double, double, 8)

// Threads run one after the other, so that nothing comes in between.
template <typename T>
T atomicAdd(T* place, T value) {
  T before = *place;
  *place += value;
  return before;
}
template <typename T>
T atomicCAS(T* place, T expected, T value) {
  T before = *place;
  if (before == expected) *place = value;
  return before;
}

struct Place {
  unsigned x, y, z;
  unsigned count() const { return x * y * z; }
  Place at(unsigned number) const { return {number % x, number / x % y, number / x / y}; }
};

static Place blockIdx, threadIdx;

// The linker gives the bounds of a section these names, if there is one.
extern "C" __attribute__((weak, visibility("hidden"))) char __start_emulated_shared[];
extern "C" __attribute__((weak, visibility("hidden"))) char __stop_emulated_shared[];

namespace emulation {

constexpr size_t STACK = 1 << 17;
constexpr unsigned WARP = 32;
constexpr int ENDED = 0;  // otherwise: the line of the barrier at which a thread waits, or
constexpr int RUNS = -1;  // it runs, or
constexpr int EXCHANGES = -2;  // it waits for other lanes of its warp

// An operand of an instruction of a warp: its bits, and where the result goes.
struct Operand {
  uint64_t value;
  void* destination;
};

// Copies in the background, which are done as late as a thread may rely on.
struct Copy {
  void* to;
  const void* from;
  int bytes, group;
};

// What is wrong with an index, by the first that is out of bounds.
static char index_message[200];

struct Thread {
  ucontext_t context;
  Place place;
  int state;
  int line;  // of the exchange
  unsigned mask;  // the lanes that take part in it
  uint64_t given, shown;  // what it gives, and what the others see
  const char* instruction;  // which the threads of a warp execute together, if the exchange is one
  Operand* operands;
  Copy* copies;
  int copy_count, copies_done, group;
};

static ucontext_t scheduler;
static Thread* all_threads;
static unsigned thread_count;
static Thread* running;
static void (*start)(void*);
static void* start_arguments;
static uint64_t random_state;

inline void wait(int line) {
  running->state = line;
  swapcontext(&running->context, &scheduler);
}

// The value of another lane; the bits of a NaN if that takes no part.
template <typename T>
T shuffle(int line, int direction, unsigned mask, T value, int distance, int width) {
  unsigned lane = (running - all_threads) % WARP;
  running->line = line, running->mask = mask, running->given = 0, running->instruction = nullptr;
  memcpy(&running->given, &value, sizeof(T));
  running->state = EXCHANGES;
  swapcontext(&running->context, &scheduler);
  int first = lane / width * width;
  int other = direction == 0 ? first + distance % width : (int)lane + direction * distance;
  if (other < first || other >= first + width) other = lane;
  T result;
  memset(&result, 0xff, sizeof(T));
  Thread* source = running - lane + other;
  if ((mask >> other & 1) && source < all_threads + thread_count) {
    memcpy(&result, &source->shown, sizeof(T));
  }
  return result;
}

inline Operand input(const void* value) { return {(uint64_t)value, nullptr}; }
inline Operand input(uint32_t value) { return {value, nullptr}; }
inline Operand input(int value) { return {(uint32_t)value, nullptr}; }
inline Operand input(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return {bits, nullptr};
}
template <typename T>
Operand output(T& value) {
  Operand operand = input(value);
  operand.destination = &value;
  return operand;
}

// Execute an instruction with the other threads of the warp.
inline void execute(int line, const char* instruction, Operand* operands, unsigned count) {
  running->line = line, running->mask = 0xffffffff;
  running->instruction = instruction, running->operands = operands;
  running->state = EXCHANGES;
  swapcontext(&running->context, &scheduler);
  for (unsigned i = 0; i < count; ++i)
    if (operands[i].destination) memcpy(operands[i].destination, &operands[i].value, 4);
}

// What an instruction does with the operands of the threads of a warp; false, and a message.
inline bool execute_together(Thread* lanes, char* message);

// Whether all lanes that an exchange names have come to it; threads that there are not do not count.
inline bool have_come(unsigned number) {
  Thread* warp = all_threads + number / WARP * WARP;
  Thread& thread = all_threads[number];
  if (thread.state != EXCHANGES) return false;
  if (thread.instruction && thread_count < number / WARP * WARP + WARP) return false;
  if (!(thread.mask >> number % WARP & 1)) return false;
  for (unsigned lane = 0; lane < WARP && warp + lane < all_threads + thread_count; ++lane) {
    Thread& other = warp[lane];
    if (!(thread.mask >> lane & 1)) continue;
    if (other.state != EXCHANGES || other.line != thread.line || other.mask != thread.mask) return false;
  }
  return true;
}

inline void copy_async(void* to, const void* from, int bytes) {
  Thread& thread = *running;
  size_t size = (thread.copy_count + 1) * sizeof(Copy);
  thread.copies = (Copy*)realloc(thread.copies, size);
  thread.copies[thread.copy_count++] = {to, from, bytes, thread.group};
}

inline void wait_copies(int groups) {
  Thread& thread = *running;
  for (; thread.copies_done < thread.copy_count; ++thread.copies_done) {
    Copy& copy = thread.copies[thread.copies_done];
    if (copy.group >= thread.group - groups) break;
    memcpy(copy.to, copy.from, copy.bytes);
  }
}

inline void run_thread() {
  start(start_arguments);
  running->state = ENDED;
}

// Numbers below `count`, by a generator of Marsaglia (Xorshift RNGs, 2003).
inline unsigned random_below(unsigned count) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (random_state >> 33) % count;
}

inline void shuffle(unsigned* order, unsigned count) {
  for (unsigned i = 0; i < count; ++i) order[i] = i;
  for (unsigned i = count; i > 1; --i) std::swap(order[i - 1], order[random_below(i)]);
}

inline void resume(Thread& thread) {
  if (thread.state != RUNS) return;
  running = &thread;
  threadIdx = thread.place;
  swapcontext(&scheduler, &thread.context);
}

// Lets the lanes of an exchange go on; false and a message if what they do together is wrong.
inline bool complete(unsigned number, char* message) {
  Thread* warp = all_threads + number / WARP * WARP;
  unsigned mask = all_threads[number].mask;
  if (all_threads[number].instruction && !execute_together(warp, message)) return false;
  for (unsigned lane = 0; lane < WARP && warp + lane < all_threads + thread_count; ++lane) {
    if (mask >> lane & 1) warp[lane].shown = warp[lane].given, warp[lane].state = RUNS;
  }
  return true;
}

// Some warp that waits for none of its lanes goes on; 0 if there is none, -1 and a message for a fault.
inline int run_warp(unsigned first, char* message) {
  for (unsigned i = 0; i < thread_count; ++i) {
    unsigned number = (first + i) % thread_count, start = number / WARP * WARP;
    if (!have_come(number)) continue;
    if (!complete(number, message)) return -1;
    unsigned order[WARP];
    shuffle(order, WARP);
    for (unsigned lane : order)
      if (start + lane < thread_count) resume(all_threads[start + lane]);
    return 1;
  }
  return 0;
}

// All threads of a block from one barrier to the next; the state in which all are then, or -1.
inline int run_phase(Thread* threads, unsigned* order, unsigned count, char* message) {
  shuffle(order, count);
  for (unsigned i = 0; i < count; ++i) threads[i].state = RUNS;
  int found = 0;
  for (unsigned i = 0; i < count && found >= 0; ++i) {
    resume(threads[order[i]]);
    // A warp may be ahead of others that have not started.
    if (threads[order[i]].state == EXCHANGES && random_below(2)) found = run_warp(order[i], message);
  }
  while (found >= 0 && (found = run_warp(random_below(count), message)) > 0) {
  }
  if (found < 0) return -1;
  if (index_message[0]) {
    memcpy(message, index_message, sizeof index_message);
    return -1;
  }
  for (unsigned i = 0; i < count; ++i) {
    if (threads[i].state == threads[0].state && threads[i].state != EXCHANGES) continue;
    auto where = [](int state) {
      return state == ENDED ? "ended" : state == EXCHANGES ? "waits for its warp" : "waits at a barrier";
    };
    auto line = [](Thread& thread) { return thread.state == EXCHANGES ? thread.line : thread.state; };
    snprintf(message, 200,
             "divergence in block %u, %u, %u: thread 0 %s (line %d), thread %u %s (line %d)",
             blockIdx.x, blockIdx.y, blockIdx.z, where(threads[0].state), line(threads[0]), i,
             where(threads[i].state), line(threads[i]));
    return -1;
  }
  return threads[0].state;
}

inline int run_block(Thread* threads, unsigned* order, char* stacks, Place shape, char* message) {
  unsigned count = shape.count();
  all_threads = threads, thread_count = count;
  memset(__start_emulated_shared, 0xff, __stop_emulated_shared - __start_emulated_shared);
  for (unsigned i = 0; i < count; ++i) {
    Thread& thread = threads[i];
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = stacks + i * STACK;
    thread.context.uc_stack.ss_size = STACK;
    thread.context.uc_link = &scheduler;
    thread.place = shape.at(i);
    thread.copy_count = thread.copies_done = thread.group = 0;
    makecontext(&thread.context, run_thread, 0);
  }
  int state;
  do state = run_phase(threads, order, count, message);
  while (state > ENDED);
  return state;
}

inline int run(void (*function)(void*), void* arguments, const Place* blocks, const Place* shape,
               uint64_t seed, char* message) {
  unsigned count = shape->count(), all = blocks->count();
  start = function, start_arguments = arguments, random_state = seed * 2 + 1;
  index_message[0] = 0;
  Thread* threads = (Thread*)calloc(count, sizeof(Thread));
  char* stacks = (char*)malloc(count * STACK);
  unsigned* order = (unsigned*)malloc(count * sizeof(unsigned));
  unsigned* block_order = (unsigned*)malloc(all * sizeof(unsigned));
  shuffle(block_order, all);
  int state = 0;
  for (unsigned i = 0; i < all && state == 0; ++i) {
    blockIdx = blocks->at(block_order[i]);
    state = run_block(threads, order, stacks, *shape, message);
  }
  for (unsigned i = 0; i < count; ++i) free(threads[i].copies);
  free(threads);
  free(stacks);
  free(order);
  free(block_order);
  return state;
}

// What the compiler gives to the function below; only its place in the source is of interest.
struct OutOfBounds {
  const char* file;
  uint32_t line, column;
};

template <typename... Types, size_t... Numbers>
void call(void (*kernel)(Types...), void** arguments, std::index_sequence<Numbers...>) {
  kernel(*(Types*)arguments[Numbers]...);
}

template <typename... Types>
void call(void (*kernel)(Types...), void** arguments) {
  call(kernel, arguments, std::index_sequence_for<Types...>());
}

}  // namespace emulation

// The compiler checks indices of arrays, and calls this for one that is out of bounds.
extern "C" __attribute__((visibility("hidden"))) void __ubsan_handle_out_of_bounds(
    emulation::OutOfBounds* place, uintptr_t index) {
  if (emulation::index_message[0]) return;
  snprintf(emulation::index_message, sizeof emulation::index_message,
           "thread %u, %u, %u: index %ld is out of bounds (line %u, column %u)", threadIdx.x,
           threadIdx.y, threadIdx.z, (long)index, place->line, place->column);
}

// A function `emulate_<kernel>_<number>` that runs a kernel; it returns 0, or -1 and a message.
#define EMULATED(kernel, number)                                                           \
  extern "C" int emulate_##kernel##_##number(void** arguments, const Place* blocks,        \
                                             const Place* threads, uint64_t seed,          \
                                             char* message) {                              \
    auto start = [](void* given) { emulation::call(kernel, (void**)given); };              \
    return emulation::run(start, arguments, blocks, threads, seed, message);               \
  }
