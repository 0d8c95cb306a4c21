; Temporary memory of compiled functions: see workspace.py.

@tilewright.workspace.slots = internal global [8 x ptr] zeroinitializer, align 64
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)

define linkonce_odr hidden ptr @tilewright_workspace_allocate(i64 %size) {
entry:
  %negative = icmp ugt i64 %size, 140737488355328
  br i1 %negative, label %fail, label %scan
scan:
  %i = phi i64 [ 0, %entry ], [ %next, %step ]
  %slot = getelementptr ptr, ptr @tilewright.workspace.slots, i64 %i
  %content = load atomic ptr, ptr %slot monotonic, align 8
  %vacant = icmp eq ptr %content, null
  br i1 %vacant, label %step, label %take
take:
  %block = atomicrmw xchg ptr %slot, ptr null acquire, align 8
  %lost = icmp eq ptr %block, null
  br i1 %lost, label %step, label %measure
measure:
  %have = load i64, ptr %block, align 8
  %enough = icmp uge i64 %have, %size
  %four = shl i64 %size, 2
  %most = add i64 %four, 65536
  %modest = icmp ule i64 %have, %most
  %fits = and i1 %enough, %modest
  br i1 %fits, label %found, label %back
found:
  %reused = getelementptr i8, ptr %block, i64 64
  ret ptr %reused
back:
  %pair = cmpxchg ptr %slot, ptr null, ptr %block release monotonic, align 8
  %placed = extractvalue { ptr, i1 } %pair, 1
  br i1 %placed, label %step, label %drop
drop:
  call void @free(ptr %block)
  br label %step
step:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 8
  br i1 %more, label %scan, label %fresh
fresh:
  %padded = add i64 %size, 127
  %total = and i64 %padded, -64
  %new = call ptr @aligned_alloc(i64 64, i64 %total)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %fail, label %ready
ready:
  store i64 %size, ptr %new, align 8
  %data = getelementptr i8, ptr %new, i64 64
  ret ptr %data
fail:
  ret ptr null
}

define linkonce_odr hidden void @tilewright_workspace_free(ptr %data) {
entry:
  %block = getelementptr i8, ptr %data, i64 -64
  %size = load i64, ptr %block, align 8
  %large = icmp ugt i64 %size, 67108864
  br i1 %large, label %drop, label %scan
scan:
  %i = phi i64 [ 0, %entry ], [ %next, %step ]
  %slot = getelementptr ptr, ptr @tilewright.workspace.slots, i64 %i
  %pair = cmpxchg ptr %slot, ptr null, ptr %block release monotonic, align 8
  %placed = extractvalue { ptr, i1 } %pair, 1
  br i1 %placed, label %done, label %step
step:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 8
  br i1 %more, label %scan, label %drop
drop:
  call void @free(ptr %block)
  br label %done
done:
  ret void
}
