; The thread pool: see threads.py, which fills in the names that begin with a dollar sign.

@tilewright.pool.lock = internal global i32 0, align 64
@tilewright.pool.owner = internal global i32 0, align 64
@tilewright.pool.workers = internal global i32 0, align 64
@tilewright.pool.threads = internal global i32 0, align 64
@tilewright.pool.generation = internal global i32 0, align 64
@tilewright.pool.ticket = internal global i64 0, align 64
@tilewright.pool.sleepers = internal global i32 0, align 64
@tilewright.pool.pending = internal global i32 0, align 64
@tilewright.pool.waiting = internal global i32 0, align 64
@tilewright.pool.status = internal global i32 0, align 64
@tilewright.pool.error = internal global ptr null, align 64
@tilewright.pool.body = internal global ptr null, align 64
@tilewright.pool.closure = internal global ptr null, align 8
@tilewright.pool.begin = internal global i64 0, align 8
@tilewright.pool.end = internal global i64 0, align 8
@tilewright.pool.parts = internal global i32 0, align 8
@tilewright.pool.variable = private constant [23 x i8] c"TILEWRIGHT_NUM_THREADS\00"

declare i32 @getpid()
declare ptr @getenv(ptr)
declare i64 @strtol(ptr, ptr, i32)
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i64 @syscall(i64, ...)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i64 @llvm.ctpop.i64(i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @llvm.umin.i32(i32, i32)
declare extern_weak void @TVMFFIErrorMoveFromRaised(ptr)
declare extern_weak void @TVMFFIErrorSetRaised(ptr)
declare extern_weak i32 @TVMFFIObjectDecRef(ptr)

; How many threads a loop may use.
define internal i32 @tilewright.pool.size() {
entry:
  %mask = alloca [16 x i64], align 8
  %known = load atomic i32, ptr @tilewright.pool.threads monotonic, align 4
  %is_known = icmp ne i32 %known, 0
  br i1 %is_known, label %done, label %ask
ask:
  %text = call ptr @getenv(ptr @tilewright.pool.variable)
  %set = icmp ne ptr %text, null
  br i1 %set, label %parse, label %affinity
parse:
  %number = call i64 @strtol(ptr %text, ptr null, i32 10)
  %offset = sub i64 %number, 1
  %valid = icmp ult i64 %offset, 1024
  %parsed = trunc i64 %number to i32
  br i1 %valid, label %keep, label %affinity
affinity:
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 128, i1 false)
  %failed = call i32 @sched_getaffinity(i32 0, i64 128, ptr %mask)
  br label %sum
sum:
  %word = phi i64 [ 0, %affinity ], [ %next, %sum ]
  %total = phi i64 [ 0, %affinity ], [ %more, %sum ]
  %place = getelementptr i64, ptr %mask, i64 %word
  %bits = load i64, ptr %place, align 8
  %count = call i64 @llvm.ctpop.i64(i64 %bits)
  %more = add i64 %total, %count
  %next = add i64 %word, 1
  %go = icmp ult i64 %next, 16
  br i1 %go, label %sum, label %counted
counted:
  %none = icmp eq i64 %more, 0
  %some = select i1 %none, i64 1, i64 %more
  %cpus = trunc i64 %some to i32
  br label %keep
keep:
  %threads = phi i32 [ %parsed, %parse ], [ %cpus, %counted ]
  store atomic i32 %threads, ptr @tilewright.pool.threads monotonic, align 4
  br label %done
done:
  %result = phi i32 [ %known, %entry ], [ %threads, %keep ]
  ret i32 %result
}

; Run one of the parts of the range.
define internal i32 @tilewright.pool.part(i32 %number) {
entry:
  %body = load ptr, ptr @tilewright.pool.body, align 8
  %closure = load ptr, ptr @tilewright.pool.closure, align 8
  %begin = load i64, ptr @tilewright.pool.begin, align 8
  %end = load i64, ptr @tilewright.pool.end, align 8
  %parts = load i32, ptr @tilewright.pool.parts, align 4
  %extent = sub i64 %end, %begin
  %of = zext i32 %parts to i64
  %size = udiv i64 %extent, %of
  %rest = urem i64 %extent, %of
  %this = zext i32 %number to i64
  %following = add i64 %this, 1
  %longer = icmp ult i64 %this, %rest
  %extra = select i1 %longer, i64 %this, i64 %rest
  %next_longer = icmp ult i64 %following, %rest
  %next_extra = select i1 %next_longer, i64 %following, i64 %rest
  %start = mul i64 %this, %size
  %stop = mul i64 %following, %size
  %start_extra = add i64 %start, %extra
  %stop_extra = add i64 %stop, %next_extra
  %from = add i64 %begin, %start_extra
  %to = add i64 %begin, %stop_extra
  %status = call i32 %body(ptr %closure, i64 %from, i64 %to)
  ret i32 %status
}

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

; Take and run parts of the loop of that number until none is left.
define internal void @tilewright.pool.run(i32 %generation) {
entry:
  br label %claim
claim:
  %ticket = load atomic i64, ptr @tilewright.pool.ticket acquire, align 8
  %high = lshr i64 %ticket, 32
  %current = trunc i64 %high to i32
  %same = icmp eq i32 %current, %generation
  br i1 %same, label %look, label %done
look:
  %left = trunc i64 %ticket to i32
  %none = icmp eq i32 %left, 0
  br i1 %none, label %done, label %take
take:
  %less = sub i64 %ticket, 1
  %pair = cmpxchg ptr @tilewright.pool.ticket, i64 %ticket, i64 %less acq_rel monotonic, align 8
  %taken = extractvalue { i64, i1 } %pair, 1
  br i1 %taken, label %check, label %claim
check:
  %bad = load atomic i32, ptr @tilewright.pool.status monotonic, align 4
  %stop = icmp ne i32 %bad, 0
  br i1 %stop, label %finish, label %work
work:
  %number = sub i32 %left, 1
  %status = call i32 @tilewright.pool.part(i32 %number)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %finish, label %failed
failed:
  call void @tilewright.pool.fail()
  br label %finish
finish:
  %before = atomicrmw sub ptr @tilewright.pool.pending, i32 1 seq_cst
  %is_last = icmp eq i32 %before, 1
  br i1 %is_last, label %last, label %claim
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

define internal ptr @tilewright.pool.worker(ptr %packed) {
entry:
  %bits = ptrtoint ptr %packed to i64
  %started = trunc i64 %bits to i32
  br label %wait
wait:
  %seen = phi i32 [ %started, %entry ], [ %now, %work ], [ %seen, %sleep ]
  br label %poll
poll:
  %spins = phi i32 [ 0, %wait ], [ %more, %spin ]
  %now = load atomic i32, ptr @tilewright.pool.generation acquire, align 4
  %changed = icmp ne i32 %now, %seen
  br i1 %changed, label %work, label %idle
idle:
  %patient = icmp ult i32 %spins, $SPINS
  br i1 %patient, label %spin, label %sleep
spin:
  $PAUSE
  %more = add i32 %spins, 1
  br label %poll
sleep:
  atomicrmw add ptr @tilewright.pool.sleepers, i32 1 seq_cst
  call i64 (i64, ...) @syscall(i64 $FUTEX, ptr @tilewright.pool.generation, i64 128, i32 %seen, ptr null, ptr null, i32 0)
  atomicrmw sub ptr @tilewright.pool.sleepers, i32 1 seq_cst
  br label %wait
work:
  call void @tilewright.pool.run(i32 %now)
  br label %wait
}

; Start workers until there are enough or no more can be had. They take no signals.
define internal void @tilewright.pool.grow(i32 %wanted) {
entry:
  %thread = alloca i64, align 8
  %all = alloca [128 x i8], align 8
  %old = alloca [128 x i8], align 8
  %there = load i32, ptr @tilewright.pool.workers, align 4
  %enough = icmp uge i32 %there, %wanted
  br i1 %enough, label %done, label %mask
mask:
  call void @llvm.memset.p0.i64(ptr %all, i8 -1, i64 128, i1 false)
  call i32 @pthread_sigmask(i32 2, ptr %all, ptr %old)
  br label %start
start:
  %number = phi i32 [ %there, %mask ], [ %more, %started ]
  %generation = load i32, ptr @tilewright.pool.generation, align 4
  %bits = zext i32 %generation to i64
  %packed = inttoptr i64 %bits to ptr
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @tilewright.pool.worker, ptr %packed)
  %is_failed = icmp ne i32 %failed, 0
  br i1 %is_failed, label %unmask, label %started
started:
  %handle = load i64, ptr %thread, align 8
  call i32 @pthread_detach(i64 %handle)
  %more = add i32 %number, 1
  store i32 %more, ptr @tilewright.pool.workers, align 4
  %again = icmp ult i32 %more, %wanted
  br i1 %again, label %start, label %unmask
unmask:
  call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  br label %done
done:
  ret void
}

define hidden i32 @tilewright_parallel(ptr %body, ptr %closure, i64 %begin, i64 %end, i32 %cores) {
entry:
  %extent = sub i64 %end, %begin
  %several = icmp sgt i64 %extent, 1
  br i1 %several, label %size, label %inline
size:
  %limit = call i32 @tilewright.pool.size()
  %any = icmp eq i32 %cores, 0
  %cap = select i1 %any, i32 %limit, i32 %cores
  %allowed = call i32 @llvm.umin.i32(i32 %cap, i32 %limit)
  %wide = zext i32 %allowed to i64
  %fewer = icmp ult i64 %extent, %wide
  %few = trunc i64 %extent to i32
  %wanted = select i1 %fewer, i32 %few, i32 %allowed
  %alone = icmp ule i32 %wanted, 1
  br i1 %alone, label %inline, label %lock
lock:
  %pid = call i32 @getpid()
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
  %parts = call i32 @llvm.umin.i32(i32 %wanted, i32 %available)
  store ptr %body, ptr @tilewright.pool.body, align 8
  store ptr %closure, ptr @tilewright.pool.closure, align 8
  store i64 %begin, ptr @tilewright.pool.begin, align 8
  store i64 %end, ptr @tilewright.pool.end, align 8
  store i32 %parts, ptr @tilewright.pool.parts, align 4
  store atomic i32 0, ptr @tilewright.pool.status monotonic, align 4
  store ptr null, ptr @tilewright.pool.error, align 8
  store atomic i32 %parts, ptr @tilewright.pool.pending monotonic, align 4
  %generation = load i32, ptr @tilewright.pool.generation, align 4
  %next = add i32 %generation, 1
  %upper = zext i32 %next to i64
  %shifted = shl i64 %upper, 32
  %lower = zext i32 %parts to i64
  %ticket = or i64 %shifted, %lower
  store atomic i64 %ticket, ptr @tilewright.pool.ticket release, align 8
  store atomic i32 %next, ptr @tilewright.pool.generation seq_cst, align 4
  %sleepers = load atomic i32, ptr @tilewright.pool.sleepers seq_cst, align 4
  %asleep = icmp ne i32 %sleepers, 0
  br i1 %asleep, label %wake, label %own
wake:
  call i64 (i64, ...) @syscall(i64 $FUTEX, ptr @tilewright.pool.generation, i64 129, i32 2147483647, ptr null, ptr null, i32 0)
  br label %own
own:
  call void @tilewright.pool.run(i32 %next)
  br label %join
join:
  %spins = phi i32 [ 0, %own ], [ %more, %spin ]
  %pending = load atomic i32, ptr @tilewright.pool.pending acquire, align 4
  %finished = icmp eq i32 %pending, 0
  br i1 %finished, label %finish, label %idle
idle:
  %patient = icmp ult i32 %spins, $SPINS
  br i1 %patient, label %spin, label %doze
spin:
  $PAUSE
  %more = add i32 %spins, 1
  br label %join
doze:
  store atomic i32 1, ptr @tilewright.pool.waiting seq_cst, align 4
  br label %check
check:
  %left = load atomic i32, ptr @tilewright.pool.pending seq_cst, align 4
  %over = icmp eq i32 %left, 0
  br i1 %over, label %awake, label %sleep
sleep:
  call i64 (i64, ...) @syscall(i64 $FUTEX, ptr @tilewright.pool.pending, i64 128, i32 %left, ptr null, ptr null, i32 0)
  br label %check
awake:
  store atomic i32 0, ptr @tilewright.pool.waiting seq_cst, align 4
  br label %finish
finish:
  %status = load atomic i32, ptr @tilewright.pool.status acquire, align 4
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
