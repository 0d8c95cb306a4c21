// Instructions that the threads of a warp execute together on tiles, for `cuda_emulation.h`.
//
// Which thread has which element is as the PTX manual says, for `ldmatrix` and `mma.sync`. The
// layouts of `wmma` are left open there: here they differ between operands by rows and by columns,
// so that kernels which mix them compute other numbers.

namespace emulation {

constexpr int MOST = 16;  // elements of the longest side of a group of operands, and more

// The parts of the text of an instruction: `{%0, %1}, [%2], %3` are the groups (0, 1), (2) and (3).
struct Instruction {
  char name[96];
  int groups, counts[MOST], numbers[MOST][MOST];

  explicit Instruction(const char* text) : groups(0) {
    size_t length = strcspn(text, " ");
    memcpy(name, text, length);
    name[length] = 0;
    bool inside = false;
    for (const char* c = text + length; *c; ++c) {
      if (*c == '{' || *c == '[' || (*c == '%' && !inside)) counts[groups++] = 0;
      if (*c == '{' || *c == '[') inside = true;
      if (*c == '}' || *c == ']') inside = false;
      if (*c == '%') numbers[groups - 1][counts[groups - 1]++] = atoi(c + 1);
    }
  }
  bool is(const char* prefix) const { return strncmp(name, prefix, strlen(prefix)) == 0; }
  bool has(const char* part) const { return strstr(name, part) != nullptr; }
  // The part of the name between two dots, counted from 0, or from the end for negative numbers.
  const char* part(int number, char* to) const {
    int dots = 0, at = 0;
    for (const char* c = name; *c; ++c) dots += *c == '.';
    if (number < 0) number += dots + 1;
    for (const char* c = name; *c; ++c) {
      if (*c == '.') --number;
      else if (number == 0) to[at++] = *c;
    }
    to[at] = 0;
    return to;
  }
};

enum Type { F16, BF16, TF32, F32, S8, U8, S32 };

inline Type type_of(const char* name) {
  const char* names[] = {"f16", "bf16", "tf32", "f32", "s8", "u8", "s32"};
  for (int i = 0; i < 7; ++i)
    if (strcmp(name, names[i]) == 0) return (Type)i;
  abort();
}

inline int bytes_of(Type type) {
  return type == F16 || type == BF16 ? 2 : type == S8 || type == U8 ? 1 : 4;
}

inline double decoded(Type type, uint32_t bits) {
  float number;
  if (type == F16) return tw_load_f16((uint16_t)bits);
  if (type == S8) return (int8_t)bits;
  if (type == U8) return (uint8_t)bits;
  if (type == S32) return (int32_t)bits;
  if (type == BF16) bits <<= 16;
  if (type == TF32) bits &= 0xffffe000;
  memcpy(&number, &bits, 4);
  return number;
}

inline uint32_t encoded(Type type, double value) {
  if (type == F16) return tw_store_f16((float)value);
  if (type == S32) return (uint32_t)(int64_t)value;
  float number = (float)value;
  uint32_t bits;
  memcpy(&bits, &number, 4);
  return bits;
}

// The 32 threads of a warp at an instruction.
struct Warp {
  Thread* lanes;
  const Instruction& instruction;
  char* message;

  Operand& operand(int lane, int group, int number) {
    return lanes[lane].operands[instruction.numbers[group][number]];
  }
  bool fail(const char* what) {
    snprintf(message, 200, "%s: %s", instruction.name, what);
    return false;
  }
};

// Where an element of a fragment is in its matrix.
struct Cell {
  int row, column;
};

// Layouts of fragments: the place of an element, by thread, register and number in the register.
struct Layout {
  enum { WMMA_ROW, WMMA_COLUMN, MMA_A, MMA_B, MMA_C } kind;
  int rows, columns, each;  // elements of a register

  Cell at(int lane, int reg, int sub) const {
    int group = lane / 4, place = lane % 4;
    if (kind == MMA_A) return {group + reg % 2 * 8, (reg / 2 * 4 + place) * each + sub};
    if (kind == MMA_B) return {(reg * 4 + place) * each + sub, group};
    if (kind == MMA_C) {
      int number = reg * each + sub;
      return {group + number / 2 * 8, place * 2 + number % 2};
    }
    int all = rows * columns, number = ((reg * each + sub) * 32 + lane) % all;
    if (kind == WMMA_COLUMN) number = all - 1 - number;
    return {number / columns, number % columns};
  }
};

struct Matrix {
  double cells[32][32];
};

inline bool gather(Warp& warp, int group, const Layout& layout, Type type, Matrix& matrix) {
  bool known[32][32] = {};
  int bits = 8 * bytes_of(type);
  for (int lane = 0; lane < 32; ++lane)
    for (int reg = 0; reg < warp.instruction.counts[group]; ++reg)
      for (int sub = 0; sub < layout.each; ++sub) {
        uint64_t mask = ((uint64_t)1 << bits) - 1;
        uint32_t own = (warp.operand(lane, group, reg).value >> (sub * bits)) & mask;
        Cell cell = layout.at(lane, reg, sub);
        double value = decoded(type, own), &place = matrix.cells[cell.row][cell.column];
        bool& is_known = known[cell.row][cell.column];
        if (is_known && place != value && (place == place || value == value))
          return warp.fail("two threads have different values of an element");
        place = value;
        is_known = true;
      }
  return true;
}

inline void scatter(Warp& warp, int group, const Layout& layout, Type type, const Matrix& matrix) {
  int bits = 8 * bytes_of(type);
  for (int lane = 0; lane < 32; ++lane)
    for (int reg = 0; reg < warp.instruction.counts[group]; ++reg) {
      uint32_t value = 0;
      for (int sub = 0; sub < layout.each; ++sub) {
        Cell cell = layout.at(lane, reg, sub);
        uint32_t own = encoded(type, matrix.cells[cell.row][cell.column]);
        if (type == S8 || type == U8) own = (uint8_t)(int)matrix.cells[cell.row][cell.column];
        if (type == BF16) own >>= 16;
        value |= own << (sub * bits);
      }
      warp.operand(lane, group, reg).value = value;
    }
}

struct Shape {
  int m, n, k;
};

inline Shape shape_of(const Instruction& instruction) {
  Shape shape = {};
  for (const char* c = instruction.name; *c; ++c)
    if (sscanf(c, ".m%dn%dk%d", &shape.m, &shape.n, &shape.k) == 3) break;
  return shape;
}

inline Layout wmma_layout(char role, Shape shape, bool by_rows, Type type) {
  int rows = role == 'b' ? shape.k : shape.m, columns = role == 'a' ? shape.k : shape.n;
  return {by_rows ? Layout::WMMA_ROW : Layout::WMMA_COLUMN, rows, columns, 4 / bytes_of(type)};
}

// Between a fragment and a matrix in memory whose rows, or columns, are `stride` elements apart.
inline bool wmma_memory(Warp& warp, bool loads) {
  const Instruction& instruction = warp.instruction;
  char part[16];
  char role = instruction.part(2, part)[0];
  bool by_rows = strcmp(instruction.part(5, part), "row") == 0;
  Type type = type_of(instruction.part(-1, part));
  int fragment = loads ? 0 : 1, memory = loads ? 1 : 0, size = bytes_of(type);
  char* start = (char*)warp.operand(0, memory, 0).value;
  long stride = (int)warp.operand(0, 2, 0).value;
  for (int lane = 1; lane < 32; ++lane)
    if ((char*)warp.operand(lane, memory, 0).value != start ||
        (int)warp.operand(lane, 2, 0).value != stride)
      return warp.fail("threads have different addresses");
  if ((uintptr_t)start % 16 || stride * size % 16) return warp.fail("misaligned address");
  Layout layout = wmma_layout(role, shape_of(instruction), role == 'c' || role == 'd' || by_rows, type);
  Matrix matrix;
  if (!loads && !gather(warp, fragment, layout, type, matrix)) return false;
  for (int row = 0; row < layout.rows; ++row)
    for (int column = 0; column < layout.columns; ++column) {
      char* at = start + (by_rows ? row * stride + column : column * stride + row) * size;
      uint32_t bits = 0;
      if (loads) {
        memcpy(&bits, at, size);
        matrix.cells[row][column] = type == TF32 ? decoded(F32, bits) : decoded(type, bits);
      } else {
        bits = encoded(type, matrix.cells[row][column]);
        memcpy(at, &bits, size);
      }
    }
  if (loads) scatter(warp, fragment, layout, type, matrix);
  return true;
}

inline bool multiply(Warp& warp, Layout a, Layout b, Layout c, Type type, Type result) {
  Matrix left, right, sums;
  if (!gather(warp, 1, a, type, left) || !gather(warp, 2, b, type, right) ||
      !gather(warp, 3, c, result, sums))
    return false;
  for (int row = 0; row < c.rows; ++row)
    for (int column = 0; column < c.columns; ++column)
      for (int k = 0; k < a.columns; ++k)
        sums.cells[row][column] += left.cells[row][k] * right.cells[k][column];
  scatter(warp, 0, c, result, sums);
  return true;
}

inline bool wmma_multiply(Warp& warp) {
  const Instruction& instruction = warp.instruction;
  char part[16];
  Shape shape = shape_of(instruction);
  Type result = type_of(instruction.part(-1, part)), type = type_of(instruction.part(-2, part));
  if (type == result) type = F16;  // of halves only the types of the results are named
  bool a = strcmp(instruction.part(4, part), "row") == 0;
  bool b = strcmp(instruction.part(5, part), "row") == 0;
  return multiply(warp, wmma_layout('a', shape, a, type), wmma_layout('b', shape, b, type),
                  wmma_layout('c', shape, true, result), type, result);
}

inline bool mma(Warp& warp) {
  char part[16];
  Shape shape = shape_of(warp.instruction);
  Type result = type_of(warp.instruction.part(-1, part));
  Type type = type_of(warp.instruction.part(-2, part));
  int each = 4 / bytes_of(type);
  return multiply(warp, {Layout::MMA_A, shape.m, shape.k, each},
                  {Layout::MMA_B, shape.k, shape.n, each},
                  {Layout::MMA_C, shape.m, shape.n, 4 / bytes_of(result)}, type, result);
}

// Matrices of 8 by 8 elements of 16 bits; thread `8 * i + row` has the address of a row of matrix i.
inline bool ldmatrix(Warp& warp) {
  bool is_turned = warp.instruction.has(".trans");
  for (int i = 0; i < warp.instruction.counts[0]; ++i) {
    uint16_t matrix[8][8];
    for (int row = 0; row < 8; ++row) {
      char* at = (char*)warp.operand(8 * i + row, 1, 0).value;
      if ((uintptr_t)at % 16) return warp.fail("misaligned address");
      if (at < __start_emulated_shared || at + 16 > __stop_emulated_shared)
        return warp.fail("the address is not in shared memory");
      memcpy(matrix[row], at, 16);
    }
    for (int lane = 0; lane < 32; ++lane) {
      uint32_t value = 0;
      for (int sub = 0; sub < 2; ++sub) {
        int own = lane / 4, other = lane % 4 * 2 + sub;
        uint32_t element = is_turned ? matrix[other][own] : matrix[own][other];
        value |= element << (16 * sub);
      }
      warp.operand(lane, 0, i).value = value;
    }
  }
  return true;
}

inline bool execute_together(Thread* lanes, char* message) {
  Instruction instruction(lanes[0].instruction);
  Warp warp = {lanes, instruction, message};
  if (instruction.is("wmma.load.")) return wmma_memory(warp, true);
  if (instruction.is("wmma.store.")) return wmma_memory(warp, false);
  if (instruction.is("wmma.mma.")) return wmma_multiply(warp);
  if (instruction.is("mma.sync.")) return mma(warp);
  if (instruction.is("ldmatrix.")) return ldmatrix(warp);
  return warp.fail("this instruction is not emulated");
}

}  // namespace emulation
