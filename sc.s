	.file	"<string>"
	.text
	.p2align	4
	.type	main,@function
main:
	pushq	%rbp
	movq	%rsp, %rbp
	pushq	%r15
	pushq	%r14
	pushq	%rbx
	xorl	%eax, %eax
	jmp	.LBB0_1
	.p2align	4
.LBB0_21:
	incq	%rax
	cmpq	$512, %rax
	jge	.LBB0_22
.LBB0_1:
	movq	%rax, %r8
	shlq	$11, %r8
	xorl	%r11d, %r11d
	leaq	(%rdi,%r8), %r10
	leaq	(%rcx,%r8), %r9
	.p2align	4
.LBB0_2:
	movq	%r11, %rbx
	shlq	$8, %rbx
	incq	%r11
	vmovups	(%r10,%rbx), %zmm0
	vmovups	64(%r10,%rbx), %zmm1
	vmovups	128(%r10,%rbx), %zmm2
	vmovups	%zmm0, (%r9,%rbx)
	vmovups	%zmm1, 64(%r9,%rbx)
	vmovups	192(%r10,%rbx), %zmm1
	vmovups	%zmm2, 128(%r9,%rbx)
	vmovups	%zmm1, 192(%r9,%rbx)
	cmpq	$8, %r11
	jl	.LBB0_2
	movq	%rax, %r10
	shlq	$10, %r10
	addq	%rsi, %r8
	xorl	%r11d, %r11d
	addq	%rdx, %r10
	jmp	.LBB0_4
	.p2align	4
.LBB0_20:
	incq	%r11
	cmpq	$32, %r11
	jge	.LBB0_21
.LBB0_4:
	movq	%r11, %r14
	shlq	$6, %r14
	leaq	(,%r11,8), %rbx
	movq	(%r8,%r14), %r15
	leaq	512(%r15), %r14
	testq	%r15, %r15
	cmovnsq	%r15, %r14
	cmpq	$511, %r14
	ja	.LBB0_6
	vmovss	(%r9,%r14,4), %xmm0
	vaddss	(%r10,%rbx,4), %xmm0, %xmm0
	vmovss	%xmm0, (%r9,%r14,4)
.LBB0_6:
	movq	8(%r8,%rbx,8), %r15
	leaq	512(%r15), %r14
	testq	%r15, %r15
	cmovnsq	%r15, %r14
	cmpq	$511, %r14
	ja	.LBB0_8
	vmovss	(%r9,%r14,4), %xmm0
	vaddss	4(%r10,%rbx,4), %xmm0, %xmm0
	vmovss	%xmm0, (%r9,%r14,4)
.LBB0_8:
	movq	16(%r8,%rbx,8), %r15
	leaq	512(%r15), %r14
	testq	%r15, %r15
	cmovnsq	%r15, %r14
	cmpq	$511, %r14
	ja	.LBB0_10
	vmovss	(%r9,%r14,4), %xmm0
	vaddss	8(%r10,%rbx,4), %xmm0, %xmm0
	vmovss	%xmm0, (%r9,%r14,4)
.LBB0_10:
	movq	24(%r8,%rbx,8), %r15
	leaq	512(%r15), %r14
	testq	%r15, %r15
	cmovnsq	%r15, %r14
	cmpq	$511, %r14
	ja	.LBB0_12
	vmovss	(%r9,%r14,4), %xmm0
	vaddss	12(%r10,%rbx,4), %xmm0, %xmm0
	vmovss	%xmm0, (%r9,%r14,4)
.LBB0_12:
	movq	32(%r8,%rbx,8), %r15
	leaq	512(%r15), %r14
	testq	%r15, %r15
	cmovnsq	%r15, %r14
	cmpq	$511, %r14
	ja	.LBB0_14
	vmovss	(%r9,%r14,4), %xmm0
	vaddss	16(%r10,%rbx,4), %xmm0, %xmm0
	vmovss	%xmm0, (%r9,%r14,4)
.LBB0_14:
	movq	40(%r8,%rbx,8), %r15
	leaq	512(%r15), %r14
	testq	%r15, %r15
	cmovnsq	%r15, %r14
	cmpq	$511, %r14
	ja	.LBB0_16
	vmovss	(%r9,%r14,4), %xmm0
	vaddss	20(%r10,%rbx,4), %xmm0, %xmm0
	vmovss	%xmm0, (%r9,%r14,4)
.LBB0_16:
	movq	48(%r8,%rbx,8), %r15
	leaq	512(%r15), %r14
	testq	%r15, %r15
	cmovnsq	%r15, %r14
	cmpq	$511, %r14
	ja	.LBB0_18
	vmovss	(%r9,%r14,4), %xmm0
	vaddss	24(%r10,%rbx,4), %xmm0, %xmm0
	vmovss	%xmm0, (%r9,%r14,4)
.LBB0_18:
	movq	56(%r8,%rbx,8), %r15
	leaq	512(%r15), %r14
	testq	%r15, %r15
	cmovnsq	%r15, %r14
	cmpq	$511, %r14
	ja	.LBB0_20
	vmovss	(%r9,%r14,4), %xmm0
	vaddss	28(%r10,%rbx,4), %xmm0, %xmm0
	vmovss	%xmm0, (%r9,%r14,4)
	jmp	.LBB0_20
.LBB0_22:
	xorl	%eax, %eax
	popq	%rbx
	popq	%r14
	popq	%r15
	popq	%rbp
	vzeroupper
	retq
.Lfunc_end0:
	.size	main, .Lfunc_end0-main

	.globl	__tvm_ffi_main
	.p2align	4
	.type	__tvm_ffi_main,@function
__tvm_ffi_main:
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	cmpl	$4, %edx
	jne	.LBB1_1
	movq	%rsi, %r15
	leaq	.L.str2(%rip), %rsi
	leaq	.L.str3(%rip), %rdx
	leaq	.L.const0(%rip), %rcx
	movq	%r15, %rdi
	callq	tilewright_check_array@PLT
	testl	%eax, %eax
	jne	.LBB1_3
	xorl	%ecx, %ecx
	cmpl	$70, (%r15)
	movq	8(%r15), %rax
	movl	$24, %r14d
	leaq	16(%r15), %rdi
	leaq	.L.str4(%rip), %rsi
	leaq	.L.str5(%rip), %rdx
	cmoveq	%r14, %rcx
	movq	(%rax,%rcx), %rbx
	addq	40(%rax,%rcx), %rbx
	leaq	.L.const1(%rip), %rcx
	callq	tilewright_check_array@PLT
	testl	%eax, %eax
	jne	.LBB1_3
	xorl	%ecx, %ecx
	cmpl	$70, 16(%r15)
	movq	24(%r15), %rax
	leaq	32(%r15), %rdi
	leaq	.L.str6(%rip), %rsi
	leaq	.L.str3(%rip), %rdx
	cmoveq	%r14, %rcx
	movq	(%rax,%rcx), %r14
	addq	40(%rax,%rcx), %r14
	leaq	.L.const2(%rip), %rcx
	callq	tilewright_check_array@PLT
	testl	%eax, %eax
	jne	.LBB1_3
	xorl	%ecx, %ecx
	cmpl	$70, 32(%r15)
	movq	40(%r15), %rax
	movl	$24, %r13d
	leaq	48(%r15), %rdi
	leaq	.L.str7(%rip), %rsi
	leaq	.L.str3(%rip), %rdx
	cmoveq	%r13, %rcx
	movq	(%rax,%rcx), %r12
	addq	40(%rax,%rcx), %r12
	leaq	.L.const3(%rip), %rcx
	callq	tilewright_check_array@PLT
	testl	%eax, %eax
	je	.LBB1_8
.LBB1_3:
	movl	$-1, %eax
	jmp	.LBB1_4
.LBB1_1:
	movslq	%edx, %rdx
	leaq	.L.str0(%rip), %rdi
	leaq	.L.str1(%rip), %rsi
	callq	tilewright_raise.i64@PLT
.LBB1_4:
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	retq
.LBB1_8:
	xorl	%edx, %edx
	cmpl	$70, 48(%r15)
	movq	56(%r15), %rax
	cmovneq	%rdx, %r13
	movq	(%rax,%r13), %rsi
	movq	40(%rax,%r13), %rax
	leaq	(%rsi,%rax), %rcx
	leaq	1048576(%rsi,%rax), %rax
	cmpq	%rax, %rbx
	jge	.LBB1_10
	leaq	1048576(%rbx), %rdx
	cmpq	%rdx, %rcx
	setl	%dl
.LBB1_10:
	testb	%dl, %dl
	je	.LBB1_13
	leaq	.L.str8(%rip), %rdi
	leaq	.L.str9(%rip), %rsi
	callq	tilewright_raise@PLT
	jmp	.LBB1_4
.LBB1_13:
	cmpq	%rax, %r14
	jge	.LBB1_14
	leaq	1048576(%r14), %rdx
	cmpq	%rdx, %rcx
	setl	%dl
	jmp	.LBB1_16
.LBB1_14:
	xorl	%edx, %edx
.LBB1_16:
	testb	%dl, %dl
	je	.LBB1_18
	leaq	.L.str8(%rip), %rdi
	leaq	.L.str10(%rip), %rsi
	callq	tilewright_raise@PLT
	jmp	.LBB1_4
.LBB1_18:
	cmpq	%rax, %r12
	jge	.LBB1_19
	leaq	524288(%r12), %rax
	cmpq	%rax, %rcx
	setl	%al
	jmp	.LBB1_21
.LBB1_19:
	xorl	%eax, %eax
.LBB1_21:
	testb	%al, %al
	je	.LBB1_23
	leaq	.L.str8(%rip), %rdi
	leaq	.L.str11(%rip), %rsi
	callq	tilewright_raise@PLT
	jmp	.LBB1_4
.LBB1_23:
	movq	%rbx, %rdi
	movq	%r14, %rsi
	movq	%r12, %rdx
	callq	main
	jmp	.LBB1_4
.Lfunc_end1:
	.size	__tvm_ffi_main, .Lfunc_end1-__tvm_ffi_main

	.weak	__tvm_ffi_tilewright_metadata
	.p2align	4
	.type	__tvm_ffi_tilewright_metadata,@function
__tvm_ffi_tilewright_metadata:
	movl	$4, (%rcx)
	movl	$0, 4(%rcx)
	leaq	.L.str12(%rip), %rax
	movq	%rax, 8(%rcx)
	xorl	%eax, %eax
	retq
.Lfunc_end2:
	.size	__tvm_ffi_tilewright_metadata, .Lfunc_end2-__tvm_ffi_tilewright_metadata

	.type	.L.str0,@object
	.section	.rodata.str1.1,"aMS",@progbits,1
.L.str0:
	.asciz	"TypeError"
	.size	.L.str0, 10

	.type	.L.str1,@object
	.section	.rodata.str1.16,"aMS",@progbits,1
	.p2align	4, 0x0
.L.str1:
	.asciz	"main: expected 4 arguments (A, I, U, scatter_elements), got %lld"
	.size	.L.str1, 65

	.type	.L.str2,@object
	.p2align	4, 0x0
.L.str2:
	.asciz	"main: argument 1 (A):"
	.size	.L.str2, 22

	.type	.L.str3,@object
	.section	.rodata.str1.1,"aMS",@progbits,1
.L.str3:
	.asciz	"float32"
	.size	.L.str3, 8

	.type	.L.str4,@object
	.section	.rodata.str1.16,"aMS",@progbits,1
	.p2align	4, 0x0
.L.str4:
	.asciz	"main: argument 2 (I):"
	.size	.L.str4, 22

	.type	.L.str5,@object
	.section	.rodata.str1.1,"aMS",@progbits,1
.L.str5:
	.asciz	"int64"
	.size	.L.str5, 6

	.type	.L.str6,@object
	.section	.rodata.str1.16,"aMS",@progbits,1
	.p2align	4, 0x0
.L.str6:
	.asciz	"main: argument 3 (U):"
	.size	.L.str6, 22

	.type	.L.str7,@object
	.p2align	4, 0x0
.L.str7:
	.asciz	"main: argument 4 (scatter_elements):"
	.size	.L.str7, 37

	.type	.L.str8,@object
	.section	.rodata.str1.1,"aMS",@progbits,1
.L.str8:
	.asciz	"ValueError"
	.size	.L.str8, 11

	.type	.L.str9,@object
	.section	.rodata.str1.16,"aMS",@progbits,1
	.p2align	4, 0x0
.L.str9:
	.asciz	"main: argument 4 (scatter_elements): the array shares memory with argument 1 (A), one of them is written, and the function takes them to be distinct (tir.noalias): pass a copy, or build it with tir.noalias=False"
	.size	.L.str9, 212

	.type	.L.str10,@object
	.p2align	4, 0x0
.L.str10:
	.asciz	"main: argument 4 (scatter_elements): the array shares memory with argument 2 (I), one of them is written, and the function takes them to be distinct (tir.noalias): pass a copy, or build it with tir.noalias=False"
	.size	.L.str10, 212

	.type	.L.str11,@object
	.p2align	4, 0x0
.L.str11:
	.asciz	"main: argument 4 (scatter_elements): the array shares memory with argument 3 (U), one of them is written, and the function takes them to be distinct (tir.noalias): pass a copy, or build it with tir.noalias=False"
	.size	.L.str11, 212

	.type	.L.str12,@object
	.p2align	4, 0x0
.L.str12:
	.asciz	"{\"main\": [[\"A\", true, false], [\"I\", true, false], [\"U\", true, false], [\"scatter_elements\", true, true]]}"
	.size	.L.str12, 105

	.type	.L.const0,@object
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
.L.const0:
	.quad	73730
	.quad	2
	.quad	1
	.quad	4
	.quad	1
	.quad	1
	.quad	512
	.quad	512
	.size	.L.const0, 64

	.type	.L.const1,@object
	.p2align	6, 0x0
.L.const1:
	.quad	81920
	.quad	2
	.quad	1
	.quad	8
	.quad	1
	.quad	1
	.quad	512
	.quad	256
	.size	.L.const1, 64

	.type	.L.const2,@object
	.p2align	6, 0x0
.L.const2:
	.quad	73730
	.quad	2
	.quad	1
	.quad	4
	.quad	1
	.quad	1
	.quad	512
	.quad	256
	.size	.L.const2, 64

	.type	.L.const3,@object
	.p2align	6, 0x0
.L.const3:
	.quad	73730
	.quad	2
	.quad	1
	.quad	4
	.quad	1
	.quad	1
	.quad	512
	.quad	512
	.size	.L.const3, 64

	.section	".note.GNU-stack","",@progbits
