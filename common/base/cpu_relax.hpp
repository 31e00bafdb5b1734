// The one place that names a processor; `scripts/tidy` refuses its builtins and instructions everywhere else.
#pragma once

namespace penstock {

/// Tells the processor that the caller polls in a loop: the core gives way to its hyper-thread, saves power and leaves
/// the loop without the penalty for a mispredicted order of memory accesses. Takes tens of cycles, has no effect on the
/// program, orders no memory (the polled value is an atomic) and lets no other thread run: a long wait also yields.
///
/// On ARM `isb`, not `yield`. `yield` is meant for this, but is a no-op on the usual cores, which have one thread
/// each, so a loop of it polls at full speed and takes the line from its writer. `isb` empties the pipeline, which
/// takes about as long as x86's `pause`; Rust's `spin_loop` and MySQL chose it for the same reason. The price would be
/// higher only where many threads of one core poll.
///
/// Any other processor gets an empty instruction: the loop polls at full speed and is correct.
inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#else
  __asm__ volatile("");
#endif
}

}  // namespace penstock
