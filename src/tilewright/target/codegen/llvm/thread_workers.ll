; The threads that wait for loops: see threads.py.

@tilewright.pool.sleepers = internal global i32 0, align 64
@tilewright.pool.workers = internal global i32 0, align 64

declare i32 @sched_yield()
declare i32 @sched_setaffinity(i32, i64, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @clock_gettime(i32, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare extern_weak i32 @dladdr(ptr, ptr)
declare extern_weak ptr @dlopen(ptr, i32)

; Wait for a moment; false once there is no patience left. The state is how many moments there were,
; and when the first $PAUSES were over. Other threads of this processor have their turn now and then.
define internal i1 @tilewright.pool.rest(ptr %state) noinline {
entry:
  %time = alloca [2 x i64], align 8
  $PAUSE
  %before = load i64, ptr %state, align 8
  %moments = add i64 %before, 1
  store i64 %moments, ptr %state, align 8
  %rest = urem i64 %moments, $PAUSES
  %look = icmp eq i64 %rest, 0
  br i1 %look, label %clock, label %patient
clock:
  call i32 @sched_yield()
  call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %fraction_slot = getelementptr i64, ptr %time, i64 1
  %fraction = load i64, ptr %fraction_slot, align 8
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %fraction
  %start_slot = getelementptr i64, ptr %state, i64 1
  %is_first = icmp eq i64 %moments, $PAUSES
  br i1 %is_first, label %first, label %later
first:
  store i64 %now, ptr %start_slot, align 8
  br label %patient
later:
  %start = load i64, ptr %start_slot, align 8
  %elapsed = sub i64 %now, %start
  %more = icmp slt i64 %elapsed, $PATIENCE
  ret i1 %more
patient:
  ret i1 true
}

; Leave the processor of the thread that started the loop, which needs it, if there are as many as
; threads. The system does that too, but not for a long time where all processors have work.
define internal void @tilewright.pool.leave(i32 %processor, i32 %threads) cold noinline {
entry:
  %mask = alloca [16 x i64], align 8
  %others = alloca [16 x i64], align 8
  %count = call i64 @tilewright.threads.affinity(ptr %mask)
  %all = trunc i64 %count to i32
  %enough = icmp uge i32 %all, %threads
  %known = icmp ult i32 %processor, 1024
  %movable = and i1 %enough, %known
  br i1 %movable, label %move, label %done
move:
  call void @llvm.memcpy.p0.p0.i64(ptr %others, ptr %mask, i64 128, i1 false)
  %index = lshr i32 %processor, 6
  %slot = getelementptr i64, ptr %others, i32 %index
  %word = load i64, ptr %slot, align 8
  %place = and i32 %processor, 63
  %shift = zext i32 %place to i64
  %bit = shl i64 1, %shift
  %without = xor i64 %bit, -1
  %rest = and i64 %word, %without
  store i64 %rest, ptr %slot, align 8
  call i32 @sched_setaffinity(i32 0, i64 128, ptr %others)
  call i32 @sched_setaffinity(i32 0, i64 128, ptr %mask)
  br label %done
done:
  ret void
}

define internal ptr @tilewright.pool.worker(ptr %packed) {
entry:
  %state = alloca [2 x i64], align 8
  %bits = ptrtoint ptr %packed to i64
  %started = trunc i64 %bits to i32
  %high = lshr i64 %bits, 32
  %thread = trunc i64 %high to i32
  %place = and i32 %thread, 31
  %group = shl i32 1, %place
  br label %wait
wait:
  %last = phi i32 [ %started, %entry ], [ %now, %work ], [ %seen, %sleep ]
  store i64 0, ptr %state, align 8
  br label %poll
poll:
  %seen = phi i32 [ %last, %wait ], [ %seen, %idle ], [ %now, %join ]
  %ticket = load atomic i64, ptr @tilewright.pool.job acquire, align 8
  %upper = lshr i64 %ticket, 32
  %now = trunc i64 %upper to i32
  %changed = icmp ne i32 %now, %seen
  br i1 %changed, label %join, label %idle
idle:
  %patient = call i1 @tilewright.pool.rest(ptr %state)
  br i1 %patient, label %poll, label %sleep
sleep:
  atomicrmw add ptr @tilewright.pool.sleepers, i32 1 seq_cst
  call i64 (i64, ...) @syscall(i64 $FUTEX, ptr getelementptr (i8, ptr @tilewright.pool.job, i64 4), i64 137, i32 %seen, ptr null, ptr null, i32 %group)
  atomicrmw sub ptr @tilewright.pool.sleepers, i32 1 seq_cst
  br label %wait
join:
  %threads = load atomic i32, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 7) monotonic, align 4
  %takes_part = icmp ult i32 %thread, %threads
  br i1 %takes_part, label %compare, label %poll
compare:
  %here = call i32 @sched_getcpu()
  %there = load atomic i32, ptr getelementptr (%tilewright.job, ptr @tilewright.pool.job, i32 0, i32 9) monotonic, align 4
  %together = icmp eq i32 %here, %there
  br i1 %together, label %leave, label %work
leave:
  call void @tilewright.pool.leave(i32 %here, i32 %threads)
  br label %work
work:
  call void @tilewright.pool.run(i32 %now, i32 %thread)
  br label %wait
}

; Keep the library that this code is in, which its workers run, if it is one.
define internal void @tilewright.pool.pin() {
entry:
  %info = alloca [4 x ptr], align 8
  %has_address = icmp ne ptr @dladdr, null
  %has_open = icmp ne ptr @dlopen, null
  %has_both = and i1 %has_address, %has_open
  br i1 %has_both, label %ask, label %done
ask:
  %found = call i32 @dladdr(ptr @tilewright.pool.worker, ptr %info)
  %is_found = icmp ne i32 %found, 0
  br i1 %is_found, label %keep, label %done
keep:
  %name = load ptr, ptr %info, align 8
  call ptr @dlopen(ptr %name, i32 4102)
  br label %done
done:
  ret void
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
  call void @tilewright.pool.pin()
  call void @llvm.memset.p0.i64(ptr %all, i8 -1, i64 128, i1 false)
  call i32 @pthread_sigmask(i32 2, ptr %all, ptr %old)
  %ticket = load atomic i64, ptr @tilewright.pool.job monotonic, align 8
  %generation = lshr i64 %ticket, 32
  br label %start
start:
  %number = phi i32 [ %there, %mask ], [ %more, %started ]
  %more = add i32 %number, 1
  %wide = zext i32 %more to i64
  %shifted = shl i64 %wide, 32
  %bits = or i64 %shifted, %generation
  %packed = inttoptr i64 %bits to ptr
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @tilewright.pool.worker, ptr %packed)
  %is_failed = icmp ne i32 %failed, 0
  br i1 %is_failed, label %unmask, label %started
started:
  %handle = load i64, ptr %thread, align 8
  call i32 @pthread_detach(i64 %handle)
  store i32 %more, ptr @tilewright.pool.workers, align 4
  %again = icmp ult i32 %more, %wanted
  br i1 %again, label %start, label %unmask
unmask:
  call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  br label %done
done:
  ret void
}
