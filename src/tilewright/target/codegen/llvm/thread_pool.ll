; The thread pool: see threads.py, which fills in the names that begin with a dollar sign.

; What the threads work on, in one cache line: ticket, body, closure, begin, end, iterations of a
; part (0 if all are about as long), parts, threads, how many parts belong to each thread (0 if none
; does), the processor of the thread that started the loop.
%tilewright.job = type { i64, ptr, ptr, i64, i64, i64, i32, i32, i32, i32 }
@tilewright.pool.job = internal global %tilewright.job zeroinitializer, align 64
@tilewright.pool.pending = internal global i32 0, align 64
@tilewright.pool.status = internal global i32 0, align 64
@tilewright.pool.waiting = internal global i32 0, align 4
@tilewright.pool.error = internal global ptr null, align 8
@tilewright.pool.lock = internal global i32 0, align 64
@tilewright.pool.owner = internal global i32 0, align 4

declare i64 @syscall(i64, ...)
declare i32 @sched_getcpu()
declare i32 @llvm.cttz.i32(i32, i1)
declare i32 @llvm.ctlz.i32(i32, i1)
declare i32 @llvm.umin.i32(i32, i32)
declare extern_weak void @TVMFFIErrorMoveFromRaised(ptr)
declare extern_weak void @TVMFFIErrorSetRaised(ptr)
declare extern_weak i32 @TVMFFIObjectDecRef(ptr)

; Take along the error that is registered on this thread, if it is the first.
define internal void @tilewright.pool.fail() cold noinline {
entry:
  %slot = alloca ptr, align 8
  store ptr null, ptr %slot, align 8
  store atomic i32 -1, ptr @tilewright.pool.status release, align 4
  %known = icmp ne ptr @TVMFFIErrorMoveFromRaised, null
  br i1 %known, label %move, label %done
move:
  call void @TVMFFIErrorMoveFromRaised(ptr %slot)
  %error = load ptr, ptr %slot, align 8
  %pair = cmpxchg ptr @tilewright.pool.error, ptr null, ptr %error acq_rel monotonic, align 8
  %first = extractvalue { ptr, i1 } %pair, 1
  %empty = icmp eq ptr %error, null
  %keep = or i1 %first, %empty
  br i1 %keep, label %done, label %drop
drop:
  call i32 @TVMFFIObjectDecRef(ptr %error)
  br label %done
done:
  ret void
}

; Take all parts that are left, and run none of them.
define internal void @tilewright.pool.cancel() cold noinline {
entry:
  %apart = load i32, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 8)
  %is_apart = icmp ne i32 %apart, 0
  br label %claim
claim:
  %ticket = load atomic i64, ptr @tilewright.pool.job acquire, align 8
  %left = and i64 %ticket, 4294967295
  %less = sub i64 %ticket, %left
  %pair = cmpxchg ptr @tilewright.pool.job, i64 %ticket, i64 %less acq_rel monotonic, align 8
  %success = extractvalue { i64, i1 } %pair, 1
  br i1 %success, label %count, label %claim
count:
  %bits = call i64 @llvm.ctpop.i64(i64 %left)
  %wide = select i1 %is_apart, i64 %bits, i64 %left
  %parts = trunc i64 %wide to i32
  atomicrmw sub ptr @tilewright.pool.pending, i32 %parts seq_cst
  ret void
}

; How many iterations are before a part.
define internal i64 @tilewright.pool.offset(i64 %number) {
entry:
  %begin = load i64, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 3)
  %end = load i64, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 4)
  %size = load i64, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 5)
  %extent = sub i64 %end, %begin
  %is_static = icmp eq i64 %size, 0
  br i1 %is_static, label %static, label %dynamic
dynamic:
  %before = mul i64 %number, %size
  %limited = call i64 @llvm.umin.i64(i64 %before, i64 %extent)
  ret i64 %limited
static:
  ; number * extent / parts, rounded up, with small products.
  %count = load i32, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 6)
  %parts = zext i32 %count to i64
  %least = udiv i64 %extent, %parts
  %left = urem i64 %extent, %parts
  %lower = mul i64 %number, %least
  %shares = mul i64 %number, %left
  %almost = sub i64 %parts, 1
  %rounded = add i64 %shares, %almost
  %more = udiv i64 %rounded, %parts
  %sum = add i64 %lower, %more
  ret i64 %sum
}

; Run one of the parts of the range, unless a part has failed.
define internal void @tilewright.pool.part(i32 %number) {
entry:
  %bad = load atomic i32, ptr @tilewright.pool.status monotonic, align 4
  %stop = icmp ne i32 %bad, 0
  br i1 %stop, label %finish, label %work
work:
  %body = load ptr, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 1)
  %closure = load ptr, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 2)
  %begin = load i64, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 3)
  %this = zext i32 %number to i64
  %next = add i64 %this, 1
  %offset = call i64 @tilewright.pool.offset(i64 %this)
  %stop_offset = call i64 @tilewright.pool.offset(i64 %next)
  %from = add i64 %begin, %offset
  %to = add i64 %begin, %stop_offset
  %status = call i32 %body(ptr %closure, i64 %from, i64 %to)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %finish, label %failed
failed:
  call void @tilewright.pool.fail()
  call void @tilewright.pool.cancel()
  br label %finish
finish:
  %before = atomicrmw sub ptr @tilewright.pool.pending, i32 1 seq_cst
  %is_last = icmp eq i32 %before, 1
  br i1 %is_last, label %last, label %done
last:
  %waiting = load atomic i32, ptr @tilewright.pool.waiting seq_cst, align 4
  %asleep = icmp ne i32 %waiting, 0
  br i1 %asleep, label %notify, label %done
notify:
  call i64 (i64, ...) @syscall(i64 $FUTEX, ptr @tilewright.pool.pending, i64 129, i32 1, ptr null, ptr null, i32 0)
  br label %done
done:
  ret void
}

; Take and run parts of the loop of that number until none is left. What the ticket says besides the
; number of the loop is which parts are left, one bit each, or how many.
define internal void @tilewright.pool.run(i32 %generation, i32 %thread) {
entry:
  br label %claim
claim:
  %ticket = load atomic i64, ptr @tilewright.pool.job acquire, align 8
  %high = lshr i64 %ticket, 32
  %current = trunc i64 %high to i32
  %same = icmp eq i32 %current, %generation
  br i1 %same, label %look, label %done
look:
  %left = trunc i64 %ticket to i32
  %none = icmp eq i32 %left, 0
  br i1 %none, label %done, label %choose
choose:
  ; The loop cannot be over while the exchange below succeeds, so these are its own.
  %apart = load i32, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 8)
  %is_apart = icmp ne i32 %apart, 0
  br i1 %is_apart, label %own, label %next
own:
  ; The first that belongs to this thread, or else the last of all, which others come to last.
  %base = mul i32 %thread, %apart
  %start = call i32 @llvm.umin.i32(i32 %base, i32 31)
  %from = shl i32 -1, %start
  %stop = add i32 %base, %apart
  %after = icmp ugt i32 %stop, 31
  %length = select i1 %after, i32 0, i32 %stop
  %beyond = shl i32 -1, %length
  %behind = select i1 %after, i32 0, i32 %beyond
  %outside = xor i32 %behind, -1
  %home = and i32 %from, %outside
  %mine = and i32 %left, %home
  %is_mine = icmp ne i32 %mine, 0
  %first = call i32 @llvm.cttz.i32(i32 %mine, i1 false)
  %zeros = call i32 @llvm.ctlz.i32(i32 %left, i1 true)
  %last = sub i32 31, %zeros
  %position = select i1 %is_mine, i32 %first, i32 %last
  %bit = shl i32 1, %position
  br label %take
next:
  %parts = load i32, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 6)
  %taken = sub i32 %parts, %left
  br label %take
take:
  %number = phi i32 [ %position, %own ], [ %taken, %next ]
  %change = phi i32 [ %bit, %own ], [ 1, %next ]
  %wide = zext i32 %change to i64
  %less = sub i64 %ticket, %wide
  %pair = cmpxchg ptr @tilewright.pool.job, i64 %ticket, i64 %less acq_rel monotonic, align 8
  %success = extractvalue { i64, i1 } %pair, 1
  br i1 %success, label %work, label %claim
work:
  call void @tilewright.pool.part(i32 %number)
  br label %claim
done:
  ret void
}

; Run the parts of a loop on several threads, with the lock held.
define internal i32 @tilewright.pool.share(ptr %body, ptr %closure, i64 %begin, i64 %end, i64 %least, i64 %fine, i32 %threads, i1 %dynamic) {
entry:
  %state = alloca [2 x i64], align 8
  %extent = sub i64 %end, %begin
  %wide = zext i32 %threads to i64
  %before_last = sub i64 %extent, 1
  ; As many threads take part in a static loop as end sooner than fewer would. Each has the same
  ; number of parts: up to 16, 32 in all, of about `fine` iterations or more.
  %quotient = udiv i64 %before_last, %wide
  %longest = add i64 %quotient, 1
  %helpers = udiv i64 %before_last, %longest
  %busy = add i64 %helpers, 1
  %share = udiv i64 %extent, %busy
  %pieces = udiv i64 %share, %fine
  %room = udiv i64 32, %busy
  %most = call i64 @llvm.umin.i64(i64 %room, i64 16)
  %several = call i64 @llvm.umin.i64(i64 %pieces, i64 %most)
  %each = call i64 @llvm.umax.i64(i64 %several, i64 1)
  %equal = mul i64 %busy, %each
  %countable = lshr i64 %extent, 30
  %small = call i64 @llvm.umax.i64(i64 %least, i64 %countable)
  %full = udiv i64 %before_last, %small
  %sized = add i64 %full, 1
  %all = select i1 %dynamic, i64 %sized, i64 %equal
  %others = sub i64 %all, 1
  %size = select i1 %dynamic, i64 %small, i64 0
  %parts = trunc i64 %all to i32
  %enough = call i32 @llvm.umin.i32(i32 %threads, i32 %parts)
  %sharing = trunc i64 %busy to i32
  %used = select i1 %dynamic, i32 %enough, i32 %sharing
  %few = icmp ule i64 %all, 32
  %static = xor i1 %dynamic, true
  %is_apart = and i1 %few, %static
  %home = trunc i64 %each to i32
  %apart = select i1 %is_apart, i32 %home, i32 0
  store ptr %body, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 1)
  store ptr %closure, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 2)
  store i64 %begin, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 3)
  store i64 %end, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 4)
  store i64 %size, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 5)
  store i32 %parts, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 6)
  store atomic i32 %used, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 7) monotonic, align 4
  store i32 %apart, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 8)
  %place = call i32 @sched_getcpu()
  store atomic i32 %place, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 9) monotonic, align 4
  store atomic i32 0, ptr @tilewright.pool.status monotonic, align 4
  store ptr null, ptr @tilewright.pool.error, align 8
  store atomic i32 %parts, ptr @tilewright.pool.pending monotonic, align 4
  ; This thread has part 0; the others are left.
  %counted = call i64 @llvm.umin.i64(i64 %all, i64 32)
  %power = shl i64 1, %counted
  %bits = sub i64 %power, 2
  %left = select i1 %is_apart, i64 %bits, i64 %others
  %old = load atomic i64, ptr @tilewright.pool.job monotonic, align 8
  %number = lshr i64 %old, 32
  %next = add i64 %number, 1
  %upper = shl i64 %next, 32
  %ticket = or i64 %upper, %left
  store atomic i64 %ticket, ptr @tilewright.pool.job seq_cst, align 8
  %sleepers = load atomic i32, ptr @tilewright.pool.sleepers seq_cst, align 4
  %asleep = icmp ne i32 %sleepers, 0
  br i1 %asleep, label %wake, label %own
wake:
  %wakeable = call i32 @llvm.umin.i32(i32 %used, i32 32)
  %group_end = zext i32 %wakeable to i64
  %group_power = shl i64 1, %group_end
  %group_bits = sub i64 %group_power, 2
  %group = trunc i64 %group_bits to i32
  %many = icmp ugt i32 %used, 32
  %groups = select i1 %many, i32 -1, i32 %group
  call i64 (i64, ...) @syscall(i64 $FUTEX, ptr getelementptr (i8, ptr @tilewright.pool.job, i64 4), i64 138, i32 2147483647, ptr null, ptr null, i32 %groups)
  br label %own
own:
  %generation = trunc i64 %next to i32
  call void @tilewright.pool.part(i32 0)
  call void @tilewright.pool.run(i32 %generation, i32 0)
  store i64 0, ptr %state, align 8
  br label %join
join:
  %pending = load atomic i32, ptr @tilewright.pool.pending acquire, align 4
  %finished = icmp eq i32 %pending, 0
  br i1 %finished, label %done, label %idle
idle:
  %patient = call i1 @tilewright.pool.rest(ptr %state)
  br i1 %patient, label %join, label %doze
doze:
  store atomic i32 1, ptr @tilewright.pool.waiting seq_cst, align 4
  br label %check
check:
  %rest = load atomic i32, ptr @tilewright.pool.pending seq_cst, align 4
  %over = icmp eq i32 %rest, 0
  br i1 %over, label %awake, label %sleep
sleep:
  call i64 (i64, ...) @syscall(i64 $FUTEX, ptr @tilewright.pool.pending, i64 128, i32 %rest, ptr null, ptr null, i32 0)
  br label %check
awake:
  store atomic i32 0, ptr @tilewright.pool.waiting seq_cst, align 4
  br label %done
done:
  %status = load atomic i32, ptr @tilewright.pool.status acquire, align 4
  ret i32 %status
}

define linkonce_odr hidden i32 @tilewright_parallel(ptr %body, ptr %closure, i64 %begin, i64 %end, i64 %least, i64 %fine, i32 %cores, i1 %dynamic) {
entry:
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %divide, label %nothing
nothing:
  ret i32 0
divide:
  %extent = sub i64 %end, %begin
  %up = sub i64 %least, 1
  %rounding = select i1 %dynamic, i64 %up, i64 0
  %rounded = add i64 %extent, %rounding
  %most = udiv i64 %rounded, %least
  %several = icmp ugt i64 %most, 1
  br i1 %several, label %size, label %inline
size:
  %pid = call i32 @getpid()
  %limit = call i32 @tilewright.threads.count(i32 %pid)
  %unlimited = icmp eq i32 %cores, 0
  %cap = select i1 %unlimited, i32 %limit, i32 %cores
  %allowed = call i32 @llvm.umin.i32(i32 %cap, i32 %limit)
  %wide = zext i32 %allowed to i64
  %useful = call i64 @llvm.umin.i64(i64 %wide, i64 %most)
  %wanted = trunc i64 %useful to i32
  %alone = icmp ule i32 %wanted, 1
  br i1 %alone, label %inline, label %lock
lock:
  %holder = load atomic i32, ptr @tilewright.pool.lock monotonic, align 4
  %busy = icmp eq i32 %holder, %pid
  br i1 %busy, label %inline, label %take
take:
  %pair = cmpxchg ptr @tilewright.pool.lock, i32 %holder, i32 %pid acquire monotonic, align 4
  %taken = extractvalue { i32, i1 } %pair, 1
  br i1 %taken, label %prepare, label %inline
prepare:
  %owner = load i32, ptr @tilewright.pool.owner, align 4
  %same = icmp eq i32 %owner, %pid
  br i1 %same, label %count, label %fresh
fresh:
  store i32 %pid, ptr @tilewright.pool.owner, align 4
  store i32 0, ptr @tilewright.pool.workers, align 4
  store i32 0, ptr @tilewright.pool.sleepers, align 4
  store i32 0, ptr @tilewright.pool.waiting, align 4
  br label %count
count:
  %helpers = sub i32 %wanted, 1
  call void @tilewright.pool.grow(i32 %helpers)
  %workers = load i32, ptr @tilewright.pool.workers, align 4
  %nobody = icmp eq i32 %workers, 0
  br i1 %nobody, label %unlock, label %start
unlock:
  store atomic i32 0, ptr @tilewright.pool.lock release, align 4
  br label %inline
inline:
  %alone_status = call i32 %body(ptr %closure, i64 %begin, i64 %end)
  ret i32 %alone_status
start:
  %available = add i32 %workers, 1
  %threads = call i32 @llvm.umin.i32(i32 %wanted, i32 %available)
  %status = call i32 @tilewright.pool.share(ptr %body, ptr %closure, i64 %begin, i64 %end, i64 %least, i64 %fine, i32 %threads, i1 %dynamic)
  %error = load ptr, ptr @tilewright.pool.error, align 8
  store atomic i32 0, ptr @tilewright.pool.lock release, align 4
  %no_error = icmp eq ptr %error, null
  br i1 %no_error, label %done, label %failed
failed:
  call void @TVMFFIErrorSetRaised(ptr %error)
  call i32 @TVMFFIObjectDecRef(ptr %error)
  br label %done
done:
  ret i32 %status
}
