; Arrays and tuples that compiled functions make: see support.py.

@tilewright.memory_error = private unnamed_addr constant [12 x i8] c"MemoryError\00"
@tilewright.value_error = private unnamed_addr constant [11 x i8] c"ValueError\00"
@tilewright.runtime_error = private unnamed_addr constant [13 x i8] c"RuntimeError\00"
@tilewright.no_memory = private unnamed_addr constant [31 x i8] c"not enough memory for a result\00"
@tilewright.negative = private unnamed_addr constant [40 x i8] c"an extent of a result would be negative\00"
@tilewright.no_host = private unnamed_addr constant [96 x i8] c"new arrays need a tvm-ffi host: load the library there, or call the function that ends in _into\00"
@tilewright.array_type = private unnamed_addr constant [10 x i8] c"ffi.Array\00"

declare extern_weak i32 @TVMFFITensorFromDLPackVersioned(ptr, i32, i32, ptr)
declare extern_weak i32 @TVMFFIFunctionGetGlobal(ptr, ptr)
declare extern_weak i32 @TVMFFIFunctionCall(ptr, ptr, i32, ptr)
declare extern_weak i32 @TVMFFIObjectDecRef(ptr)
declare ptr @malloc(i64)
declare void @free(ptr)
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)

define linkonce_odr hidden i32 @tilewright_new_array(ptr %slot, i32 %ndim, i32 %word, ptr %shape) noinline {
entry:
  %hosted = icmp ne ptr @TVMFFITensorFromDLPackVersioned, null
  br i1 %hosted, label %measure, label %plain
measure:
  %n = zext i32 %ndim to i64
  %shifted = lshr i32 %word, 8
  %bits = and i32 %shifted, 255
  %lanes = lshr i32 %word, 16
  %all = mul i32 %bits, %lanes
  %rounded = add i32 %all, 7
  %itemsize = lshr i32 %rounded, 3
  %item = zext i32 %itemsize to i64
  br label %sizes
sizes:
  %i = phi i64 [ 0, %measure ], [ %i.next, %sized ]
  %bytes = phi i64 [ %item, %measure ], [ %product, %sized ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %size, label %allocate
size:
  %extent.place = getelementptr i64, ptr %shape, i64 %i
  %extent = load i64, ptr %extent.place
  %below = icmp slt i64 %extent, 0
  br i1 %below, label %negative, label %positive
positive:
  %pair = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %bytes, i64 %extent)
  %product = extractvalue { i64, i1 } %pair, 0
  %wrapped = extractvalue { i64, i1 } %pair, 1
  br i1 %wrapped, label %full, label %sized
sized:
  %i.next = add i64 %i, 1
  br label %sizes
allocate:
  %huge = icmp ugt i64 %bytes, 140737488355328
  br i1 %huge, label %full, label %reserve
reserve:
  %vectors = shl i64 %n, 4
  %head = add i64 %vectors, 143
  %total = add i64 %head, %bytes
  %block = call ptr @malloc(i64 %total)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %full, label %fill
fill:
  store i64 1, ptr %block
  %context = getelementptr i8, ptr %block, i64 8
  store ptr null, ptr %context
  %deleter = getelementptr i8, ptr %block, i64 16
  store ptr @free, ptr %deleter
  %flags = getelementptr i8, ptr %block, i64 24
  store i64 0, ptr %flags
  %base = ptrtoint ptr %block to i64
  %latest = add i64 %base, %head
  %aligned = and i64 %latest, -64
  %start = sub i64 %aligned, %base
  %data = getelementptr i8, ptr %block, i64 %start
  %data.place = getelementptr i8, ptr %block, i64 32
  store ptr %data, ptr %data.place
  %device.place = getelementptr i8, ptr %block, i64 40
  store i64 1, ptr %device.place
  %ndim.place = getelementptr i8, ptr %block, i64 48
  store i32 %ndim, ptr %ndim.place
  %word.place = getelementptr i8, ptr %block, i64 52
  store i32 %word, ptr %word.place
  %extents = getelementptr i8, ptr %block, i64 80
  %shape.place = getelementptr i8, ptr %block, i64 56
  store ptr %extents, ptr %shape.place
  %strides = getelementptr i64, ptr %extents, i64 %n
  %strides.place = getelementptr i8, ptr %block, i64 64
  store ptr %strides, ptr %strides.place
  %offset.place = getelementptr i8, ptr %block, i64 72
  store i64 0, ptr %offset.place
  br label %steps
steps:
  %left = phi i64 [ %n, %fill ], [ %axis, %step ]
  %stride = phi i64 [ 1, %fill ], [ %wider, %step ]
  %any = icmp ne i64 %left, 0
  br i1 %any, label %step, label %wrap
step:
  %axis = sub i64 %left, 1
  %source = getelementptr i64, ptr %shape, i64 %axis
  %size.here = load i64, ptr %source
  %extents.here = getelementptr i64, ptr %extents, i64 %axis
  store i64 %size.here, ptr %extents.here
  %strides.here = getelementptr i64, ptr %strides, i64 %axis
  store i64 %stride, ptr %strides.here
  %wider = mul i64 %stride, %size.here
  br label %steps
wrap:
  %object.place = getelementptr i8, ptr %slot, i64 8
  %status = call i32 @TVMFFITensorFromDLPackVersioned(ptr %block, i32 0, i32 0, ptr %object.place)
  %refused = icmp ne i32 %status, 0
  br i1 %refused, label %drop, label %done
drop:
  call void @free(ptr %block)
  store ptr null, ptr %object.place
  ret i32 -1
done:
  store i64 70, ptr %slot
  ret i32 0
negative:
  %e0 = call i32 @tilewright_raise(ptr @tilewright.value_error, ptr @tilewright.negative)
  ret i32 -1
full:
  %e1 = call i32 @tilewright_raise(ptr @tilewright.memory_error, ptr @tilewright.no_memory)
  ret i32 -1
plain:
  %e2 = call i32 @tilewright_raise(ptr @tilewright.runtime_error, ptr @tilewright.no_host)
  ret i32 -1
}

define linkonce_odr hidden void @tilewright_release_objects(ptr %slots, i32 %count) noinline {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %again ]
  %more = icmp ult i32 %i, %count
  br i1 %more, label %look, label %done
look:
  %slot = getelementptr [2 x i64], ptr %slots, i32 %i
  %kind = load i32, ptr %slot
  %is_object = icmp sge i32 %kind, 64
  br i1 %is_object, label %release, label %again
release:
  %place = getelementptr i8, ptr %slot, i64 8
  %object = load ptr, ptr %place
  %ignored = call i32 @TVMFFIObjectDecRef(ptr %object)
  store i64 0, ptr %slot
  store ptr null, ptr %place
  br label %again
again:
  %next = add i32 %i, 1
  br label %loop
done:
  ret void
}

define linkonce_odr hidden i32 @tilewright_new_tuple(ptr %items, i32 %count, ptr %slot) noinline {
entry:
  %key = alloca [2 x i64]
  %found = alloca ptr
  store ptr null, ptr %found
  store ptr @tilewright.array_type, ptr %key
  %length = getelementptr i64, ptr %key, i64 1
  store i64 9, ptr %length
  store i64 0, ptr %slot
  %code = call i32 @TVMFFIFunctionGetGlobal(ptr %key, ptr %found)
  %function = load ptr, ptr %found
  %absent = icmp eq ptr %function, null
  br i1 %absent, label %failed, label %make
make:
  %status = call i32 @TVMFFIFunctionCall(ptr %function, ptr %items, i32 %count, ptr %slot)
  %released = call i32 @TVMFFIObjectDecRef(ptr %function)
  call void @tilewright_release_objects(ptr %items, i32 %count)
  ret i32 %status
failed:
  call void @tilewright_release_objects(ptr %items, i32 %count)
  %e = call i32 @tilewright_raise(ptr @tilewright.runtime_error, ptr @tilewright.no_host)
  ret i32 -1
}
