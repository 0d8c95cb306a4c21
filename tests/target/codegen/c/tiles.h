/* The tile registers of Intel's AMX in software, in place of the intrinsics of <immintrin.h>. */
#include <stdint.h>
#include <string.h>

typedef struct { uint8_t palette, first, unused[14]; uint16_t widths[16]; uint8_t rows[16]; } TileShapes;

static TileShapes shapes;
static uint8_t tiles[8][16][64];

/* An operation that the processor would refuse does nothing, so that results are wrong. */
static int is_legal(int sums, int a, int b) {
  return shapes.palette == 1 && sums != a && sums != b && a != b &&
         shapes.rows[sums] == shapes.rows[a] && shapes.widths[sums] == shapes.widths[b] &&
         shapes.widths[a] == 4 * shapes.rows[b];
}

static void _tile_loadconfig(const void* memory) {
  memcpy(&shapes, memory, 64);
  memset(tiles, 0, sizeof tiles);
}

static void _tile_release(void) { memset(&shapes, 0, sizeof shapes); }

static void _tile_zero(int tile) { memset(tiles[tile], 0, sizeof tiles[tile]); }

static void _tile_loadd(int tile, const void* memory, int64_t stride) {
  for (int row = 0; row < shapes.rows[tile]; ++row)
    memcpy(tiles[tile][row], (const uint8_t*)memory + row * stride, shapes.widths[tile]);
}

static void _tile_stream_loadd(int tile, const void* memory, int64_t stride) {
  _tile_loadd(tile, memory, stride);
}

static void _tile_stored(int tile, void* memory, int64_t stride) {
  for (int row = 0; row < shapes.rows[tile]; ++row)
    memcpy((uint8_t*)memory + row * stride, tiles[tile][row], shapes.widths[tile]);
}

static void multiply(int sums, int a, int b, int a_signed, int b_signed) {
  if (!is_legal(sums, a, b)) return;
  for (int row = 0; row < shapes.rows[a]; ++row)
    for (int step = 0; step < shapes.widths[a]; ++step)
      for (int column = 0; column < shapes.widths[b] / 4; ++column) {
        int x = tiles[a][row][step], y = tiles[b][step / 4][4 * column + step % 4];
        uint32_t sum;
        memcpy(&sum, tiles[sums][row] + 4 * column, 4);
        sum += (uint32_t)((a_signed ? (int8_t)x : x) * (b_signed ? (int8_t)y : y));
        memcpy(tiles[sums][row] + 4 * column, &sum, 4);
      }
}

#define _tile_dpbssd(sums, a, b) multiply(sums, a, b, 1, 1)
#define _tile_dpbsud(sums, a, b) multiply(sums, a, b, 1, 0)
#define _tile_dpbusd(sums, a, b) multiply(sums, a, b, 0, 1)
#define _tile_dpbuud(sums, a, b) multiply(sums, a, b, 0, 0)

static float bfloat(const uint8_t* memory) {
  uint32_t bits = (uint32_t)memory[0] << 16 | (uint32_t)memory[1] << 24;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

static void _tile_dpbf16ps(int sums, int a, int b) {
  if (!is_legal(sums, a, b)) return;
  for (int row = 0; row < shapes.rows[a]; ++row)
    for (int column = 0; column < shapes.widths[b] / 4; ++column) {
      float halves[2] = {0, 0}, sum;
      for (int step = 0; step < shapes.widths[a] / 2; ++step)
        halves[step % 2] += bfloat(tiles[a][row] + 2 * step) *
                            bfloat(tiles[b][step / 2] + 4 * column + 2 * (step % 2));
      memcpy(&sum, tiles[sums][row] + 4 * column, 4);
      sum += halves[0] + halves[1];
      memcpy(tiles[sums][row] + 4 * column, &sum, 4);
    }
}
