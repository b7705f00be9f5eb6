//! Memory access faults of kernels: caught where they happen, handed to the scheduler.
//!
//! The handler looks only at whether the faulting thread is inside a fibre. If so it makes the
//! fibre go on in `fibres::faulted`, on a part of its own stack that its first frames do not
//! reach, and that function yields the fault to the scheduler as if it were a barrier; nothing
//! that is unsafe in a signal handler happens in it. Every other fault goes to whoever handled it
//! before.

use std::cell::OnceCell;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use super::fibres;

/// Installs the handler, once a process.
pub(super) fn install() {
    BEFORE.get_or_init(|| {
        SIGNALS.map(|signal| {
            let mut before = default_action();
            let mut action = default_action();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            // SAFETY: both structures are whole, and `handle` has the type that SA_SIGINFO asks
            // for.
            unsafe { libc::sigaction(signal, &action, &mut before) };
            before
        })
    });
}

/// Gives the calling thread a stack for signal handlers where it has none: a fibre that ran over
/// its own stack needs one. It lasts until the thread ends.
pub(super) fn prepare_thread() {
    thread_local! {
        static STACK: OnceCell<Option<SignalStack>> = const { OnceCell::new() };
    }
    STACK.with(|stack| {
        stack.get_or_init(SignalStack::where_missing);
    });
}

const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

static BEFORE: OnceLock<[libc::sigaction; 2]> = OnceLock::new();

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system hands a handler of SA_SIGINFO its two structures.
    let address = unsafe { (*info).si_addr() } as usize;
    let context = context.cast::<libc::ucontext_t>();
    if let Some(stack) = fibres::note_fault(address)
        && redirect(context, stack)
    {
        return;
    }
    let before = BEFORE
        .get()
        .map(|all| all[usize::from(signal == SIGNALS[1])]);
    let before = before.unwrap_or_else(default_action);
    match before.sa_sigaction {
        // Once returned from, the instruction faults again, without a handler.
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: the structure is whole.
            unsafe { libc::sigaction(signal, &default_action(), std::ptr::null_mut()) };
        }
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: a handler that was installed with SA_SIGINFO has this type.
            unsafe {
                let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                    std::mem::transmute(handler);
                handler(signal, info, context.cast());
            }
        }
        handler => {
            // SAFETY: a handler that was installed without SA_SIGINFO has this type.
            unsafe {
                let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}

/// Makes the interrupted code go on in `fibres::faulted` on this stack, as if it were called
/// there.
#[cfg(target_arch = "x86_64")]
fn redirect(context: *mut libc::ucontext_t, stack: usize) -> bool {
    // SAFETY: the context is that of this handler. A called function finds its stack 8 below a
    // multiple of 16.
    unsafe {
        let registers = &mut (*context).uc_mcontext.gregs;
        registers[libc::REG_RIP as usize] = fibres::faulted as *const () as i64;
        registers[libc::REG_RSP as usize] = ((stack & !15) - 8) as i64;
    }
    true
}

/// As on x86-64.
#[cfg(target_arch = "aarch64")]
fn redirect(context: *mut libc::ucontext_t, stack: usize) -> bool {
    // SAFETY: the context is that of this handler.
    unsafe {
        let registers = &mut (*context).uc_mcontext;
        registers.pc = fibres::faulted as *const () as u64;
        registers.sp = (stack & !15) as u64;
    }
    true
}

/// Elsewhere a fault ends the process.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn redirect(_context: *mut libc::ucontext_t, _stack: usize) -> bool {
    false
}

struct SignalStack(Box<[u8]>);

impl SignalStack {
    fn where_missing() -> Option<Self> {
        let mut now = stack_of(std::ptr::null_mut(), 0, 0);
        // SAFETY: asks only.
        let asked = unsafe { libc::sigaltstack(std::ptr::null(), &mut now) };
        if asked != 0 || now.ss_flags & libc::SS_DISABLE == 0 {
            return None;
        }
        let mut memory = vec![0u8; 64 * 1024].into_boxed_slice();
        let stack = stack_of(memory.as_mut_ptr().cast(), memory.len(), 0);
        // SAFETY: the memory lives until `drop` takes the stack away again.
        unsafe { libc::sigaltstack(&stack, std::ptr::null_mut()) };
        Some(Self(memory))
    }
}

impl Drop for SignalStack {
    fn drop(&mut self) {
        let none = stack_of(self.0.as_mut_ptr().cast(), self.0.len(), libc::SS_DISABLE);
        // SAFETY: the thread ends and no handler runs on the stack.
        unsafe { libc::sigaltstack(&none, std::ptr::null_mut()) };
    }
}

fn stack_of(ss_sp: *mut c_void, ss_size: usize, ss_flags: c_int) -> libc::stack_t {
    libc::stack_t {
        ss_sp,
        ss_flags,
        ss_size,
    }
}

fn default_action() -> libc::sigaction {
    // SAFETY: all zeros is a sigaction: the default handler, no flags, an empty mask.
    unsafe { std::mem::zeroed() }
}
