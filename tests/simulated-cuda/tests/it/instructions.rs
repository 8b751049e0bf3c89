// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions in the kernels that they need around them: memory, control flow, and what threads
//! do together. Those that only compute have their tests where they are.
#![allow(unsafe_code, reason = "it calls functions of a C library")]

use crate::driver::{context, download, function, launch, load, ok, upload};

/// What each thread of a block leaves in `%r9`.
fn run(body: &str, threads: u32) -> Vec<u32> {
    run_with("", body, threads)
}

/// The same with something before the kernel.
fn run_with(before: &str, body: &str, threads: u32) -> Vec<u32> {
    context();
    let text = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n{before}\n\
         .visible .entry k(.param .u64 out, .param .align 16 .b8 given[16]) {{\n\
         .reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<30>;\n.reg .b64 %d<30>;\n\
         ld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 4;\n\
         add.u64 %d0, %d0, %d1;\nmov.u32 %r9, 0;\n{body}\nst.global.u32 [%d0], %r9;\nret;\n}}\n"
    );
    let output = upload(&vec![0xdead_beefu32; threads as usize]);
    let given = [1u32, 2, 3, 4].map(u32::to_ne_bytes).concat();
    let kernel = function(load(&text), "k");
    ok(launch(
        kernel,
        [1; 3],
        [threads, 1, 1],
        64,
        &[&output.to_ne_bytes(), &given],
    ));
    download(output, threads as usize)
}

#[test]
fn special_registers_tell_threads_who_they_are() {
    let found = run(
        "mov.u32 %r1, %laneid; mov.u32 %r2, %warpid; mad.lo.u32 %r9, %r2, 100, %r1;",
        70,
    );
    assert_eq!(found[69], 205);
    let found = run(
        "mov.u32 %r1, %lanemask_lt; mov.u32 %r2, %lanemask_ge; xor.b32 %r9, %r1, %r2;",
        40,
    );
    assert!(found.iter().all(|mask| *mask == u32::MAX));
    let found = run(
        "mov.u32 %r9, %ntid.x; add.u32 %r9, %r9, %nctaid.y; add.u32 %r9, %r9, WARP_SZ;",
        7,
    );
    assert_eq!(found[0], 40);
    let found = run("mov.u32 %r9, %dynamic_smem_size;", 1);
    assert_eq!(found, [64]);
}

#[test]
fn predicates_guard_single_steps_and_whole_instructions() {
    let found = run(
        "setp.lt.u32 %p1, %r0, 2; @%p1 mov.u32 %r9, 7; @!%p1 mov.u32 %r9, 8;",
        4,
    );
    assert_eq!(found, [7, 7, 8, 8]);
    // The first step of this one changes the predicate it is under.
    let body =
        "setp.lt.u32 %p1, %r0, 2; @%p1 setp.eq.and.u32 %p1|%p2, %r0, 1, %p1; @%p1 mov.u32 %r9, 5;";
    assert_eq!(run(body, 3), [0, 5, 0]);
}

#[test]
fn vectors_are_taken_apart_and_put_together() {
    let body = "ld.param.v4.u32 {%r1, %r2, %r3, %r4}, [given]; mov.b64 %d2, {%r3, %r4}; \
                mov.b64 {%r5, %r6}, %d2; shr.u64 %d3, %d2, 32; cvt.u32.u64 %r7, %d3; \
                mov.b32 %r8, {%h0, %h0}; mov.b32 {%h1, %h2}, 0x00050003; cvt.u32.u16 %r10, %h2; \
                mad.lo.u32 %r9, %r5, 10, %r6; mad.lo.u32 %r9, %r9, 10, %r7; mad.lo.u32 %r9, %r9, 10, %r10;";
    assert_eq!(run(body, 1), [3445]);
    // The address is in a register that is loaded to.
    let body = "mov.u64 %d2, given; cvta.param.u64 %d2, %d2; ld.v2.b64 {%d2, %d3}, [%d2]; cvt.u32.u64 %r9, %d3;";
    assert_eq!(run(body, 1), [3]);
}

#[test]
fn loads_of_signed_values_fill_the_register() {
    let before =
        ".global .align 4 .b8 bytes[4] = {255, 128, 1, 0};\n.const .u64 at = generic(bytes);";
    let body = "ld.global.s8 %r1, [bytes+1]; ld.global.u8 %r2, [bytes]; ld.const.u64 %d2, [at]; \
                ld.s16 %r3, [%d2]; add.s32 %r9, %r1, %r2; add.s32 %r9, %r9, %r3;";
    let expected = -128 + 255 + i32::from(i16::from_le_bytes([255, 128]));
    assert_eq!(run_with(before, body, 1), [expected.cast_unsigned()]);
}

#[test]
fn functions_are_called_with_values_and_through_pointers() {
    let before = ".func (.param .b32 result) twice(.param .b32 x)\n{ .reg .b32 %r<3>; \
                  ld.param.b32 %r1, [x]; add.u32 %r2, %r1, %r1; st.param.b32 [result], %r2; ret; }\n\
                  .func (.param .b32 result) down(.param .b32 x)\n{ .reg .pred %p<2>; .reg .b32 %r<5>; \
                  ld.param.b32 %r1, [x]; st.param.b32 [result], 0; setp.eq.u32 %p1, %r1, 0; @%p1 ret; \
                  add.u32 %r2, %r1, -1; { .param .b32 p; .param .b32 q; st.param.b32 [p], %r2; \
                  call.uni (q), down, (p); ld.param.b32 %r3, [q]; } add.u32 %r4, %r3, %r1; \
                  st.param.b32 [result], %r4; ret; }\n\
                  .global .u64 which[2] = {twice, down};";
    let call = "ld.global.u64 %d5, [which]; { .param .b32 p; .param .b32 q; st.param.b32 [p], 21; \
                prototype: .callprototype (.param .b32 _) _ (.param .b32 _); \
                call (q), %d5, (p), prototype; ld.param.b32 %r9, [q]; }";
    assert_eq!(run_with(before, call, 1), [42]);
    // A function may call itself.
    let call = "{ .param .b32 p; .param .b32 q; st.param.b32 [p], 10; call (q), down, (p); ld.param.b32 %r9, [q]; }";
    assert_eq!(run_with(before, call, 1), [55]);
}

#[test]
fn a_jump_goes_to_one_of_a_list() {
    let body = "t: .branchtargets a, b, c;\nbrx.idx %r0, t;\na: mov.u32 %r9, 10; bra.uni e;\n\
                b: mov.u32 %r9, 11; bra.uni e;\nc: mov.u32 %r9, 12;\ne:";
    assert_eq!(run(body, 3), [10, 11, 12]);
}

#[test]
fn carries_go_from_one_sum_to_the_next() {
    let body = "add.cc.u32 %r1, 0xffffffff, 1; addc.cc.u32 %r2, 0xffffffff, 0; addc.u32 %r9, 5, 0;";
    assert_eq!(run(body, 1), [6]);
    let body = "sub.cc.u32 %r1, 0, 1; subc.u32 %r9, 10, 2;";
    assert_eq!(run(body, 1), [7]);
    let body = "mad.lo.cc.u32 %r1, 0xffffffff, 2, 2; madc.hi.u32 %r9, 0xffffffff, 2, 0;";
    assert_eq!(run(body, 1), [2]);
}

#[test]
fn shared_memory_is_fixed_or_of_the_launch() {
    let before = ".shared .align 4 .b8 fixed[128];\n.extern .shared .align 4 .b8 dynamic[];";
    let body = "shl.b32 %r1, %r0, 2; cvt.u64.u32 %d2, %r1; mov.u64 %d3, fixed; add.u64 %d4, %d3, %d2; \
                st.shared.u32 [%d4], %r0; mov.u64 %d5, dynamic; cvta.shared.u64 %d6, %d5; \
                isspacep.shared %p1, %d6; @%p1 st.u32 [%d6], 100; bar.sync 0; \
                xor.b32 %r2, %r1, 4; cvt.u64.u32 %d2, %r2; add.u64 %d4, %d3, %d2; \
                ld.shared.u32 %r3, [%d4]; ld.shared.u32 %r4, [dynamic]; add.u32 %r9, %r3, %r4;";
    assert_eq!(run_with(before, body, 4), [101, 100, 103, 102]);
}

#[test]
fn barriers_wait_for_the_given_thread_count() {
    let body = "setp.eq.u32 %p1, %r0, 1; bar.red.popc.u32 %r1, 0, %p1; \
                bar.red.or.pred %p2, 1, %p1; selp.u32 %r2, 10, 0, %p2; \
                bar.red.and.pred %p3, 2, %p1; selp.u32 %r3, 100, 0, %p3; \
                add.u32 %r9, %r1, %r2; add.u32 %r9, %r9, %r3;";
    assert_eq!(run(body, 3), [11, 11, 11]);
    // One warp leaves something and does not wait for the other to fetch it.
    let before = ".shared .u32 cell;";
    let body = "setp.lt.u32 %p1, %r0, 32; @%p1 bra first; bar.sync 1, 64; ld.shared.u32 %r9, [cell]; bra end;\n\
                first: st.shared.u32 [cell], 9; bar.arrive 1, 64;\nend:";
    let found = run_with(before, body, 64);
    assert_eq!((found[0], found[63]), (0, 9));
}

#[test]
fn lanes_give_values_to_each_other() {
    let find = |modes: &str| {
        run(
            &format!("shfl.sync.{modes}, -1; selp.u32 %r2, 100, 0, %p1; add.u32 %r9, %r1, %r2;"),
            32,
        )
    };
    let up = find("up.b32 %r1|%p1, %r0, 1, 0");
    assert_eq!((up[0], up[1], up[31]), (0, 100, 130));
    let down = find("down.b32 %r1|%p1, %r0, 2, 31");
    assert_eq!((down[0], down[29], down[30]), (102, 131, 30));
    let other = find("bfly.b32 %r1|%p1, %r0, 16, 31");
    assert_eq!((other[0], other[31]), (116, 115));
    let one = find("idx.b32 %r1|%p1, %r0, 5, 31");
    assert!(one.iter().all(|value| *value == 105));
    // Segments of eight lanes.
    let segment = find("idx.b32 %r1|%p1, %r0, 3, 0x181f");
    assert_eq!((segment[0], segment[8], segment[31]), (103, 111, 127));
}

#[test]
fn warps_vote_and_reduce() {
    let vote = |body: &str| run(&format!("setp.lt.u32 %p1, %r0, 3; {body}"), 32)[0];
    assert_eq!(vote("vote.sync.ballot.b32 %r9, %p1, -1;"), 7);
    assert_eq!(
        vote("vote.sync.any.pred %p2, %p1, -1; selp.u32 %r9, 1, 0, %p2;"),
        1
    );
    assert_eq!(
        vote("vote.sync.all.pred %p2, !%p1, -1; selp.u32 %r9, 1, 0, %p2;"),
        0
    );
    assert_eq!(vote("redux.sync.add.s32 %r9, %r0, -1;"), 31 * 16);
    assert_eq!(
        vote("sub.s32 %r1, 3, %r0; redux.sync.min.s32 %r9, %r1, -1;"),
        (-28i32).cast_unsigned()
    );
    assert_eq!(
        vote("shr.u32 %r1, %r0, 4; match.any.sync.b32 %r9, %r1, -1;"),
        0xffff
    );
    assert_eq!(vote("@%p1 activemask.b32 %r9;"), 7);
    // Only those that the mask names have to come.
    assert_eq!(vote("@%p1 redux.sync.xor.b32 %r9, %r0, 7;"), 3);
}

#[test]
fn atomic_operations_give_what_was_there() {
    let before = ".global .align 8 .b8 cells[64];";
    let found = run_with(before, "atom.global.add.u32 %r9, [cells], 2;", 64);
    let mut sorted = found.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..64).map(|i| 2 * i).collect::<Vec<u32>>());
    let one = |body: &str| run_with(before, &format!("{body} ld.global.u32 %r9, [cells];"), 33)[32];
    assert_eq!(one("atom.global.inc.u32 %r1, [cells], 9;"), 3);
    assert_eq!(one("red.global.max.s32 [cells], %r0;"), 32);
    assert_eq!(
        one("red.relaxed.gpu.global.add.f32 [cells], 0f3F000000;"),
        16.5f32.to_bits()
    );
    assert_eq!(one("atom.global.exch.b32 %r1, [cells], %r0;"), 32);
    assert_eq!(
        one("atom.acq_rel.gpu.global.cas.b32 %r1, [cells], %r0, 5; setp.ne.u32 %p1, %r0, 32;"),
        5
    );
    assert_eq!(
        one("atom.global.add.noftz.f16x2 %r1, [cells], 0x3c003800;"),
        0x5020_4c20
    );
    // Threads that take turns at a lock go on, though none of them waits at a barrier.
    let lock = "spin: atom.global.cas.b32 %r1, [cells+4], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra spin; \
                ld.global.u32 %r2, [cells]; add.u32 %r2, %r2, 1; st.global.u32 [cells], %r2; \
                atom.global.exch.b32 %r1, [cells+4], 0; bar.sync 0;";
    assert_eq!(one(lock), 33);
}
