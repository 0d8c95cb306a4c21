/* Memory of devices: a pool of blocks for each.
 *
 * A block that is given back is kept, by the class of its size, for an allocation of the same stream:
 * what was started before in that stream is done when the next user's work begins. When the driver has
 * no more memory, all that is kept on the device is given back to it, and it is asked again.
 */

enum { SMALLEST = 512, LARGE = 1 << 20, GRAIN = 64 << 10 };

/* The exponent and the quarter of the power of two that a size is rounded up to: (4 + m) << e. */
static int class_of(uint64_t size, uint64_t *rounded) {
  size = size < SMALLEST ? SMALLEST : size;
  int e = 61 - __builtin_clzll(size - 1);
  uint64_t quarter = ((size - 1) >> e) - 3;
  *rounded = size < LARGE ? (4 + quarter) << e : (size + GRAIN - 1) / GRAIN * GRAIN;
  return 4 * e + (int)quarter - 25;
}

/* The number of blocks that begin at an address or before. */
static size_t blocks_until(struct Kind *kind, uint64_t address) {
  size_t low = 0, high = kind->num_blocks;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (kind->blocks[middle]->address <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static struct Block *block_of(struct Kind *kind, uint64_t address) {
  size_t count = blocks_until(kind, address);
  struct Block *block = count ? kind->blocks[count - 1] : NULL;
  return block && address - block->address < block->size ? block : NULL;
}

/* Remember a block; FAILED, without an error, if there is no memory for that. */
static int add_block(struct Kind *kind, struct Block *block) {
  if (kind->num_blocks == kind->room) {
    size_t room = kind->room ? 2 * kind->room : 64;
    struct Block **blocks = realloc(kind->blocks, room * sizeof *blocks);
    if (!blocks) return FAILED;
    kind->blocks = blocks, kind->room = room;
  }
  size_t place = blocks_until(kind, block->address);
  struct Block **at = kind->blocks + place;
  memmove(at + 1, at, (kind->num_blocks - place) * sizeof *at);
  *at = block;
  ++kind->num_blocks;
  return OK;
}

/* Give a block back to the driver. */
static void drop(struct Kind *kind, const struct Driver *driver, struct Block *block) {
  struct Block **at = kind->blocks + blocks_until(kind, block->address) - 1;
  driver->release(kind, block);
  --kind->num_blocks;
  memmove(at, at + 1, (kind->num_blocks - (at - kind->blocks)) * sizeof *at);
  free(block);
}

static void empty_pool(struct Kind *kind, const struct Driver *driver, int32_t device) {
  struct Device *d = &kind->devices[device];
  for (int i = 0; i < SIZE_CLASSES; ++i) {
    while (d->kept[i]) {
      struct Block *block = d->kept[i];
      d->kept[i] = block->next;
      drop(kind, driver, block);
    }
  }
  d->bytes_kept = 0;
}

/* A block that is kept for a stream and has room for a size; NULL if there is none. */
static struct Block *kept_block(struct Device *device, uint64_t size, void *stream) {
  uint64_t rounded;
  for (struct Block **at = &device->kept[class_of(size, &rounded)]; *at; at = &(*at)->next) {
    struct Block *block = *at;
    if (block->stream == stream && block->size >= size) {
      *at = block->next;
      device->bytes_kept -= block->size;
      block->is_kept = 0;
      return block;
    }
  }
  return NULL;
}

/* The driver's memory for a block, if need be after all that is kept was given back. */
static int allocate_block(struct Kind *kind, const struct Driver *driver, struct Block *block,
                          uint64_t size) {
  struct Device *d = &kind->devices[block->device];
  int status = driver->allocate(kind, block);
  if (status == OUT_OF_MEMORY && d->bytes_kept) {
    empty_pool(kind, driver, block->device);
    status = driver->allocate(kind, block);
  }
  if (status != OUT_OF_MEMORY) return status;
  int64_t total = 0, available = 0;
  driver->property(kind, block->device, TILEWRIGHT_TOTAL_MEMORY, &total);
  driver->property(kind, block->device, TILEWRIGHT_FREE_MEMORY, &available);
  return FAIL_AS("MemoryError",
                 "no memory for %lu bytes on %s(%d): %lu of its %lu bytes are free, and arrays of "
                 "this process have %lu",
                 size, driver->device_name, block->device, (uint64_t)available, (uint64_t)total,
                 d->bytes_in_use);
}

static struct Block *take(struct Kind *kind, const struct Driver *driver, int32_t device,
                          uint64_t size, void *stream) {
  struct Device *d = &kind->devices[device];
  struct Block *block = kept_block(d, size, stream);
  if (!block) {
    block = calloc(1, sizeof *block);
    if (!block) return FAIL_AS("MemoryError", "no memory is left on the host"), NULL;
    block->device = device, block->stream = stream;
    class_of(size, &block->size);
    if (allocate_block(kind, driver, block, size)) {
      free(block);
      return NULL;
    }
    if (add_block(kind, block)) {
      driver->release(kind, block);
      free(block);
      return FAIL_AS("MemoryError", "no memory is left on the host"), NULL;
    }
  }
  d->bytes_in_use += block->size;
  return block;
}

static void give_back(struct Kind *kind, const struct Driver *driver, struct Block *block) {
  struct Device *d = &kind->devices[block->device];
  d->bytes_in_use -= block->size;
  if (block->is_imported || d->bytes_kept + block->size > d->most_kept) {
    drop(kind, driver, block);
    return;
  }
  uint64_t rounded;
  struct Block **list = &d->kept[class_of(block->size, &rounded)];
  block->next = *list;
  block->is_kept = 1;
  *list = block;
  d->bytes_kept += block->size;
}
