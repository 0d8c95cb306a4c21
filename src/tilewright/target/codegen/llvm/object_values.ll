; Values that compiled functions keep, whatever they are: see support.py.

declare extern_weak i32 @TVMFFIAnyViewToOwnedAny(ptr, ptr)
declare extern_weak i32 @TVMFFITensorCreateUnsafeView(ptr, ptr, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; A compact copy of the array %tensor, a DLTensor, into %slot.
define linkonce_odr hidden i32 @tilewright_copy_array(ptr %tensor, ptr %slot) noinline {
entry:
  %ndim.place = getelementptr i8, ptr %tensor, i64 16
  %ndim = load i32, ptr %ndim.place
  %word.place = getelementptr i8, ptr %tensor, i64 20
  %word = load i32, ptr %word.place
  %shape.place = getelementptr i8, ptr %tensor, i64 24
  %shape = load ptr, ptr %shape.place
  %strides.place = getelementptr i8, ptr %tensor, i64 32
  %strides = load ptr, ptr %strides.place
  %status = call i32 @tilewright_new_array(ptr %slot, i32 %ndim, i32 %word, ptr %shape)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %fail, label %made
made:
  %object.place = getelementptr i8, ptr %slot, i64 8
  %object = load ptr, ptr %object.place
  %target.place = getelementptr i8, ptr %object, i64 24
  %target = load ptr, ptr %target.place
  %base = load ptr, ptr %tensor
  %offset.place = getelementptr i8, ptr %tensor, i64 40
  %start = load i64, ptr %offset.place
  %source = getelementptr i8, ptr %base, i64 %start
  %shifted = lshr i32 %word, 8
  %bits = and i32 %shifted, 255
  %lanes = lshr i32 %word, 16
  %all = mul i32 %bits, %lanes
  %rounded = add i32 %all, 7
  %itemsize = lshr i32 %rounded, 3
  %item = zext i32 %itemsize to i64
  %n = zext i32 %ndim to i64
  br label %counting
counting:
  %i = phi i64 [ 0, %made ], [ %i.next, %counted ]
  %count = phi i64 [ 1, %made ], [ %product, %counted ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %counted, label %ready
counted:
  %extent.place = getelementptr i64, ptr %shape, i64 %i
  %extent = load i64, ptr %extent.place
  %product = mul i64 %count, %extent
  %i.next = add i64 %i, 1
  br label %counting
ready:
  %empty = icmp eq i64 %count, 0
  br i1 %empty, label %done, label %filled
filled:
  %dense = icmp eq ptr %strides, null
  %single = icmp eq i64 %n, 0
  %whole = or i1 %dense, %single
  br i1 %whole, label %block, label %rows
block:
  %bytes = mul i64 %count, %item
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %bytes, i1 false)
  br label %done
rows:
  %last = sub i64 %n, 1
  %inner.place = getelementptr i64, ptr %shape, i64 %last
  %inner = load i64, ptr %inner.place
  %step.place = getelementptr i64, ptr %strides, i64 %last
  %step = load i64, ptr %step.place
  %row.count = udiv i64 %count, %inner
  %row.bytes = mul i64 %inner, %item
  %step.bytes = mul i64 %step, %item
  %adjacent = icmp eq i64 %step, 1
  br label %row
row:
  %r = phi i64 [ 0, %rows ], [ %r.next, %row.done ]
  %out = phi ptr [ %target, %rows ], [ %out.next, %row.done ]
  %row.more = icmp ult i64 %r, %row.count
  br i1 %row.more, label %axes, label %done
axes:
  %a = phi i64 [ %last, %row ], [ %a.next, %axis ]
  %rest = phi i64 [ %r, %row ], [ %quotient, %axis ]
  %offset = phi i64 [ 0, %row ], [ %sum, %axis ]
  %a.more = icmp ne i64 %a, 0
  br i1 %a.more, label %axis, label %elements
axis:
  %a.next = sub i64 %a, 1
  %size.place = getelementptr i64, ptr %shape, i64 %a.next
  %size = load i64, ptr %size.place
  %stride.place = getelementptr i64, ptr %strides, i64 %a.next
  %stride = load i64, ptr %stride.place
  %digit = urem i64 %rest, %size
  %quotient = udiv i64 %rest, %size
  %part = mul i64 %digit, %stride
  %sum = add i64 %offset, %part
  br label %axes
elements:
  %offset.bytes = mul i64 %offset, %item
  %from = getelementptr i8, ptr %source, i64 %offset.bytes
  br i1 %adjacent, label %together, label %element
together:
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %from, i64 %row.bytes, i1 false)
  br label %row.done
element:
  %j = phi i64 [ 0, %elements ], [ %j.next, %element ]
  %j.from = mul i64 %j, %step.bytes
  %j.to = mul i64 %j, %item
  %here = getelementptr i8, ptr %from, i64 %j.from
  %there = getelementptr i8, ptr %out, i64 %j.to
  call void @llvm.memcpy.p0.p0.i64(ptr %there, ptr %here, i64 %item, i1 false)
  %j.next = add i64 %j, 1
  %j.more = icmp ult i64 %j.next, %inner
  br i1 %j.more, label %element, label %row.done
row.done:
  %r.next = add i64 %r, 1
  %out.next = getelementptr i8, ptr %out, i64 %row.bytes
  br label %row
done:
  ret i32 0
fail:
  ret i32 -1
}

; The value at %any into %slot, for good: arrays that only borrow their memory are copied.
define linkonce_odr hidden i32 @tilewright_own(ptr %any, ptr %slot) noinline {
entry:
  %kind = load i32, ptr %any
  %value.place = getelementptr i8, ptr %any, i64 8
  %borrowed = icmp eq i32 %kind, 7
  br i1 %borrowed, label %copy, label %other
copy:
  %tensor = load ptr, ptr %value.place
  %copied = call i32 @tilewright_copy_array(ptr %tensor, ptr %slot)
  ret i32 %copied
other:
  %hosted = icmp ne ptr @TVMFFIAnyViewToOwnedAny, null
  br i1 %hosted, label %own, label %plain
own:
  %owned = call i32 @TVMFFIAnyViewToOwnedAny(ptr %any, ptr %slot)
  ret i32 %owned
plain:
  %e = call i32 @tilewright_raise(ptr @tilewright.runtime_error, ptr @tilewright.no_host)
  ret i32 -1
}

; The array %tensor, a DLTensor, into %slot; it keeps the array in %source alive.
define linkonce_odr hidden i32 @tilewright_new_view(ptr %source, ptr %tensor, ptr %slot) noinline {
entry:
  %hosted = icmp ne ptr @TVMFFITensorCreateUnsafeView, null
  br i1 %hosted, label %make, label %plain
make:
  %object.place = getelementptr i8, ptr %source, i64 8
  %object = load ptr, ptr %object.place
  %place = getelementptr i8, ptr %slot, i64 8
  %status = call i32 @TVMFFITensorCreateUnsafeView(ptr %object, ptr %tensor, ptr %place)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %fail, label %done
done:
  store i64 70, ptr %slot
  ret i32 0
fail:
  store ptr null, ptr %place
  ret i32 -1
plain:
  %e = call i32 @tilewright_raise(ptr @tilewright.runtime_error, ptr @tilewright.no_host)
  ret i32 -1
}

; An array in %slot that has gaps, or elements at odd addresses, is replaced by a copy.
define linkonce_odr hidden i32 @tilewright_compact(ptr %slot) noinline {
entry:
  %copy = alloca [2 x i64]
  %kind = load i32, ptr %slot
  %is_array = icmp eq i32 %kind, 70
  br i1 %is_array, label %place, label %good
place:
  %object.place = getelementptr i8, ptr %slot, i64 8
  %object = load ptr, ptr %object.place
  %tensor = getelementptr i8, ptr %object, i64 24
  %device.place = getelementptr i8, ptr %tensor, i64 8
  %device = load i32, ptr %device.place
  %on_cpu = icmp eq i32 %device, 1
  br i1 %on_cpu, label %address, label %good
address:
  %base = load i64, ptr %tensor
  %offset.place = getelementptr i8, ptr %tensor, i64 40
  %offset = load i64, ptr %offset.place
  %first = add i64 %base, %offset
  %bits.place = getelementptr i8, ptr %tensor, i64 21
  %bits = load i8, ptr %bits.place
  %wide = zext i8 %bits to i64
  %item = lshr i64 %wide, 3
  %mask = sub i64 %item, 1
  %low = and i64 %first, %mask
  %odd = icmp ne i64 %low, 0
  %small = icmp eq i64 %item, 0
  %free = xor i1 %small, true
  %misplaced = and i1 %odd, %free
  br i1 %misplaced, label %replace, label %layout
layout:
  %ndim.place = getelementptr i8, ptr %tensor, i64 16
  %ndim = load i32, ptr %ndim.place
  %n = zext i32 %ndim to i64
  %shape.place = getelementptr i8, ptr %tensor, i64 24
  %shape = load ptr, ptr %shape.place
  %strides.place = getelementptr i8, ptr %tensor, i64 32
  %strides = load ptr, ptr %strides.place
  %dense = icmp eq ptr %strides, null
  br i1 %dense, label %good, label %axes
axes:
  %left = phi i64 [ %n, %layout ], [ %axis, %next ]
  %step = phi i64 [ 1, %layout ], [ %wider, %next ]
  %gap = phi i1 [ false, %layout ], [ %gaps, %next ]
  %more = icmp ne i64 %left, 0
  br i1 %more, label %look, label %judge
look:
  %axis = sub i64 %left, 1
  %extent.place = getelementptr i64, ptr %shape, i64 %axis
  %extent = load i64, ptr %extent.place
  %empty = icmp eq i64 %extent, 0
  br i1 %empty, label %good, label %next
next:
  %stride.place = getelementptr i64, ptr %strides, i64 %axis
  %stride = load i64, ptr %stride.place
  %differs = icmp ne i64 %stride, %step
  %matters = icmp ne i64 %extent, 1
  %bad = and i1 %differs, %matters
  %gaps = or i1 %gap, %bad
  %wider = mul i64 %step, %extent
  br label %axes
judge:
  br i1 %gap, label %replace, label %good
replace:
  store [2 x i64] zeroinitializer, ptr %copy
  %status = call i32 @tilewright_copy_array(ptr %tensor, ptr %copy)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %fail, label %swap
swap:
  %released = call i32 @TVMFFIObjectDecRef(ptr %object)
  %both = load [2 x i64], ptr %copy
  store [2 x i64] %both, ptr %slot
  ret i32 0
good:
  ret i32 0
fail:
  ret i32 -1
}

; Whether there is a registered function of a name.
define linkonce_odr hidden i1 @tilewright_has_packed(ptr %name, i64 %length) noinline {
entry:
  %key = alloca [2 x i64]
  %found = alloca ptr
  store ptr null, ptr %found
  store ptr %name, ptr %key
  %size = getelementptr i64, ptr %key, i64 1
  store i64 %length, ptr %size
  %hosted = icmp ne ptr @TVMFFIFunctionGetGlobal, null
  br i1 %hosted, label %lookup, label %no
lookup:
  %code = call i32 @TVMFFIFunctionGetGlobal(ptr %key, ptr %found)
  %function = load ptr, ptr %found
  %absent = icmp eq ptr %function, null
  br i1 %absent, label %no, label %yes
yes:
  %released = call i32 @TVMFFIObjectDecRef(ptr %function)
  ret i1 true
no:
  ret i1 false
}
