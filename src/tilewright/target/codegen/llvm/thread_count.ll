; How many threads a parallel loop may use: see threads.py, which fills in the names that begin with
; a dollar sign.

@tilewright.threads.chosen = internal global i32 0, align 4
@tilewright.threads.default = internal global i32 0, align 4
@tilewright.threads.process = internal global i32 0, align 4
@tilewright.threads.variable = private constant [23 x i8] c"TILEWRIGHT_NUM_THREADS\00"
@tilewright.threads.quota_file = private constant [$QUOTA_SIZE x i8] c"$QUOTA_FILE\00"
@tilewright.threads.mode = private constant [3 x i8] c"re\00"
@tilewright.threads.format = private constant [10 x i8] c"%lld %lld\00"

declare i32 @getpid()
declare ptr @getenv(ptr)
declare i64 @strtol(ptr, ptr, i32)
declare i32 @sched_getaffinity(i32, i64, ptr)
declare ptr @fopen(ptr, ptr)
declare i32 @fscanf(ptr, ptr, ...)
declare i32 @fclose(ptr)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; The number of processors that the thread may run on, and a mask of them of 128 bytes.
define internal i64 @tilewright.threads.affinity(ptr %mask) {
entry:
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 128, i1 false)
  call i32 @sched_getaffinity(i32 0, i64 128, ptr %mask)
  br label %sum
sum:
  %word = phi i64 [ 0, %entry ], [ %next, %sum ]
  %total = phi i64 [ 0, %entry ], [ %more, %sum ]
  %place = getelementptr i64, ptr %mask, i64 %word
  %bits = load i64, ptr %place, align 8
  %count = call i64 @llvm.ctpop.i64(i64 %bits)
  %more = add i64 %total, %count
  %next = add i64 %word, 1
  %go = icmp ult i64 %next, 16
  br i1 %go, label %sum, label %done
done:
  %some = call i64 @llvm.umax.i64(i64 %more, i64 1)
  ret i64 %some
}

; The processors that the time of its control group is worth, rounded up; many if it has no limit.
define internal i64 @tilewright.threads.quota() {
entry:
  %quota = alloca i64, align 8
  %period = alloca i64, align 8
  %file = call ptr @fopen(ptr @tilewright.threads.quota_file, ptr @tilewright.threads.mode)
  %none = icmp eq ptr %file, null
  br i1 %none, label %unlimited, label %read
read:
  %fields = call i32 (ptr, ptr, ...) @fscanf(ptr %file, ptr @tilewright.threads.format, ptr %quota, ptr %period)
  call i32 @fclose(ptr %file)
  %both = icmp eq i32 %fields, 2
  br i1 %both, label %check, label %unlimited
check:
  %time = load i64, ptr %quota, align 8
  %of = load i64, ptr %period, align 8
  %some = icmp sgt i64 %time, 0
  %positive = icmp sgt i64 %of, 0
  %valid = and i1 %some, %positive
  br i1 %valid, label %divide, label %unlimited
divide:
  %less = sub i64 %time, 1
  %whole = udiv i64 %less, %of
  %rounded = add i64 %whole, 1
  ret i64 %rounded
unlimited:
  ret i64 1024
}

; What a process of that number uses if it has chosen nothing.
define internal i32 @tilewright.threads.standard() {
entry:
  %mask = alloca [16 x i64], align 8
  %text = call ptr @getenv(ptr @tilewright.threads.variable)
  %set = icmp ne ptr %text, null
  br i1 %set, label %parse, label %machine
parse:
  %number = call i64 @strtol(ptr %text, ptr null, i32 10)
  %offset = sub i64 %number, 1
  %valid = icmp ult i64 %offset, 1024
  %parsed = trunc i64 %number to i32
  br i1 %valid, label %given, label %machine
given:
  ret i32 %parsed
machine:
  %cpus = call i64 @tilewright.threads.affinity(ptr %mask)
  %time = call i64 @tilewright.threads.quota()
  %least = call i64 @llvm.umin.i64(i64 %cpus, i64 %time)
  %count = trunc i64 %least to i32
  ret i32 %count
}

; How many threads a loop of the process may use. A forked process asks again.
define internal i32 @tilewright.threads.count(i32 %pid) {
entry:
  %chosen = load atomic i32, ptr @tilewright.threads.chosen monotonic, align 4
  %is_chosen = icmp ne i32 %chosen, 0
  br i1 %is_chosen, label %choice, label %look
choice:
  ret i32 %chosen
look:
  %process = load atomic i32, ptr @tilewright.threads.process acquire, align 4
  %same = icmp eq i32 %process, %pid
  br i1 %same, label %known, label %ask
known:
  %default = load atomic i32, ptr @tilewright.threads.default monotonic, align 4
  ret i32 %default
ask:
  %found = call i32 @tilewright.threads.standard()
  store atomic i32 %found, ptr @tilewright.threads.default monotonic, align 4
  store atomic i32 %pid, ptr @tilewright.threads.process release, align 4
  ret i32 %found
}

define linkonce_odr hidden i32 @tilewright_num_threads() {
entry:
  %pid = call i32 @getpid()
  %count = call i32 @tilewright.threads.count(i32 %pid)
  ret i32 %count
}

define linkonce_odr hidden void @tilewright_set_num_threads(i32 %count) {
entry:
  store atomic i32 %count, ptr @tilewright.threads.chosen monotonic, align 4
  ret void
}
