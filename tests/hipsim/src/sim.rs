//! The whole of what a process simulates: settings, memory, log, handles and failures.
//!
//! Every function of the interface begins with [`enter`], which is where devices that are not
//! there, devices that were lost, failures of earlier work and failures on request are answered.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use crate::abi::{Answer, Code, Handle};
use crate::api::array::Array;
use crate::api::event::HipEvent;
use crate::api::external::External;
use crate::api::pool::Pool;
use crate::blocks::Kernels;
use crate::capture::{Capture, Exec, Graph};
use crate::code_object::{Function, Module};
use crate::engine::Executed;
use crate::log::Log;
use crate::memory::Memory;
use crate::settings::{CallRule, Settings};
use crate::stream::Stream;

/// The simulation of this process.
#[derive(Debug)]
pub(crate) struct Sim {
    settings: Mutex<Arc<Settings>>,
    call_rules: Mutex<Vec<CallRule>>,
    calls: AtomicU64,
    /// How many calls there had been when `lost_after` was set.
    lost_from: AtomicU64,
    /// What work on the device left behind; 0 for nothing.
    failure: AtomicU32,
    pub(crate) log: Log,
    pub(crate) memory: Memory,
    pub(crate) streams: Table<Stream>,
    pub(crate) events: Table<HipEvent>,
    pub(crate) modules: Table<Module>,
    pub(crate) functions: Table<Function>,
    pub(crate) graphs: Table<Graph>,
    pub(crate) execs: Table<Exec>,
    pub(crate) arrays: Table<Array>,
    pub(crate) externals: Table<External>,
    pub(crate) pools: Table<Pool>,
    pub(crate) captures: Mutex<Vec<Arc<Capture>>>,
    /// Default streams by device.
    pub(crate) defaults: Mutex<HashMap<u32, Arc<Stream>>>,
    /// Number that the next stream gets.
    pub(crate) stream_numbers: AtomicU32,
    kernels: Mutex<HashMap<PathBuf, &'static Kernels>>,
    /// What code objects have executed.
    pub(crate) executed: Executed,
    /// Held by all that changes memory on the device: shared, or alone by a launch that is
    /// compared.
    pub(crate) changes: RwLock<()>,
}

/// The simulation of this process, which the first call begins.
pub(crate) fn sim() -> &'static Sim {
    static SIM: OnceLock<Sim> = OnceLock::new();
    SIM.get_or_init(Sim::new)
}

thread_local! {
    static DEVICE: Cell<u32> = const { Cell::new(0) };
    static LAST: Cell<u32> = const { Cell::new(0) };
}

/// The device of the calling thread.
pub(crate) fn current_device() -> u32 {
    DEVICE.get()
}

pub(crate) fn set_current_device(device: u32) {
    DEVICE.set(device);
}

/// The last error of the calling thread; `take` forgets it.
pub(crate) fn last_error(take: bool) -> u32 {
    let last = LAST.get();
    if take {
        LAST.set(0);
    }
    match sim().failure() {
        Some(code) => code.0,
        None => last,
    }
}

/// When a function runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Also where there is no device.
    Always,
    /// Where there is a device that works.
    Usable,
    /// Also when the device has failed: waits and releases, which then answer the failure.
    Failed,
}

/// Runs a function of the interface, unless something answers in its place.
pub(crate) fn enter(name: &str, when: When, run: impl FnOnce() -> Answer) -> u32 {
    let answer = sim().call(name, when, run);
    match answer {
        Ok(()) => 0,
        Err(code) => {
            if code != Code::NOT_READY {
                LAST.set(code.0);
            }
            code.0
        }
    }
}

impl Sim {
    fn new() -> Self {
        let settings = Arc::new(Settings::from_environment(crate::install::stamped_version()));
        Self {
            call_rules: Mutex::new(settings.fail.clone()),
            settings: Mutex::new(settings),
            calls: AtomicU64::new(0),
            lost_from: AtomicU64::new(0),
            failure: AtomicU32::new(0),
            log: Log::default(),
            memory: Memory::default(),
            streams: Table::new(0x51),
            events: Table::new(0x52),
            modules: Table::new(0x53),
            functions: Table::new(0x54),
            graphs: Table::new(0x55),
            execs: Table::new(0x56),
            arrays: Table::new(0x57),
            externals: Table::new(0x58),
            pools: Table::new(0x59),
            captures: Mutex::default(),
            defaults: Mutex::default(),
            stream_numbers: AtomicU32::new(1),
            kernels: Mutex::default(),
            executed: Executed::default(),
            changes: RwLock::default(),
        }
    }

    /// The settings as they are now.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        lock(&self.settings).clone()
    }

    /// Changes a setting.
    pub(crate) fn set(&self, name: &str, text: &str) -> Result<(), String> {
        let mut settings = lock(&self.settings);
        let mut new = Settings::clone(&settings);
        new.set(name, text)?;
        match name {
            "fail" => *lock(&self.call_rules) = new.fail.clone(),
            "lost_after" => self
                .lost_from
                .store(self.calls.load(Ordering::SeqCst), Ordering::SeqCst),
            _ => {}
        }
        *settings = Arc::new(new);
        Ok(())
    }

    /// Begins anew with the settings of the environment, an empty log, counts of 0 and a device
    /// that works.
    /// Handles and memory stay.
    pub(crate) fn reset(&self) {
        let settings = Settings::from_environment(crate::install::stamped_version());
        *lock(&self.call_rules) = settings.fail.clone();
        *lock(&self.settings) = Arc::new(settings);
        self.failure.store(0, Ordering::SeqCst);
        self.log.clear();
        self.executed.clear();
    }

    /// No failure and no lost device.
    pub(crate) fn repair(&self) -> Result<(), String> {
        self.failure.store(0, Ordering::SeqCst);
        self.set("lost_after", "")
    }

    /// Leaves a failure behind that every later call answers. The first one stays.
    pub(crate) fn fail(&self, code: Code, why: String) {
        self.complain(why);
        let _ = self
            .failure
            .compare_exchange(0, code.0, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Notes what went wrong, and tells it on stderr.
    pub(crate) fn complain(&self, text: String) {
        eprintln!("hipsim: {text}");
        self.trouble(text);
    }

    /// Notes what a correct program does not do.
    pub(crate) fn trouble(&self, text: String) {
        self.log.trouble(text, self.settings().log_limit);
    }

    /// What every call answers, once work has failed or the device is lost.
    pub(crate) fn failure(&self) -> Option<Code> {
        let failure = self.failure.load(Ordering::SeqCst);
        (failure != 0)
            .then_some(Code(failure))
            .or_else(|| self.lost())
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// The library of kernels that the settings name.
    pub(crate) fn kernels(&self) -> Result<&'static Kernels, crate::blocks::Error> {
        let Some(folder) = self.settings().kernels.clone() else {
            return Kernels::find();
        };
        let mut known = lock(&self.kernels);
        if let Some(&kernels) = known.get(&folder) {
            return Ok(kernels);
        }
        let path = Path::new(&folder).join(crate::blocks::FILE);
        let kernels: &'static Kernels = Box::leak(Box::new(Kernels::open(&path)?));
        known.insert(folder, kernels);
        Ok(kernels)
    }

    fn lost(&self) -> Option<Code> {
        let (after, code) = self.settings().lost_after?;
        let calls = self.calls.load(Ordering::SeqCst) - self.lost_from.load(Ordering::SeqCst);
        (calls > after).then_some(code)
    }

    fn call(&self, name: &str, when: When, run: impl FnOnce() -> Answer) -> Answer {
        let settings = self.settings();
        if when == When::Always {
            return run();
        }
        self.calls.fetch_add(1, Ordering::SeqCst);
        if settings.devices == 0 {
            return Err(match (settings.rocm.major, settings.rocm.minor) {
                (5, ..=2) => Code::INVALID_DEVICE,
                _ => Code::NO_DEVICE,
            });
        }
        if let Some(code) = self.fails(name) {
            return Err(code);
        }
        match (self.failure(), when) {
            (None, _) => run(),
            (Some(code), When::Failed) => {
                let _ = run();
                Err(code)
            }
            (Some(code), _) => Err(code),
        }?;
        // Work that failed while the function waited for it.
        match (when, self.failure()) {
            (When::Failed, Some(code)) => Err(code),
            _ => Ok(()),
        }
    }

    fn fails(&self, name: &str) -> Option<Code> {
        let mut code = None;
        for rule in lock(&self.call_rules).iter_mut() {
            if rule.function == name {
                rule.seen += 1;
                if (rule.first..rule.first.saturating_add(rule.count)).contains(&rule.seen) {
                    code = code.or(Some(rule.code));
                }
            }
        }
        code
    }
}

/// Things behind handles. A handle is never given out twice and is no address.
#[derive(Debug)]
pub(crate) struct Table<T> {
    base: usize,
    inner: Mutex<(usize, HashMap<usize, Arc<T>>)>,
}

impl<T: Debug> Table<T> {
    fn new(tag: usize) -> Self {
        Self {
            base: tag << 56,
            inner: Mutex::new((0, HashMap::new())),
        }
    }

    pub(crate) fn add(&self, thing: Arc<T>) -> Handle {
        let mut inner = lock(&self.inner);
        inner.0 += 1;
        let handle = self.base + inner.0 * 16;
        inner.1.insert(handle, thing);
        handle as Handle
    }

    pub(crate) fn get(&self, handle: Handle) -> Answer<Arc<T>> {
        let inner = lock(&self.inner);
        let thing = inner.1.get(&(handle as usize)).cloned();
        drop(inner);
        thing.ok_or_else(|| self.unknown(handle))
    }

    pub(crate) fn remove(&self, handle: Handle) -> Answer<Arc<T>> {
        let thing = lock(&self.inner).1.remove(&(handle as usize));
        thing.ok_or_else(|| self.unknown(handle))
    }

    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        lock(&self.inner).1.values().cloned().collect()
    }

    pub(crate) fn handle_of(&self, found: impl Fn(&T) -> bool) -> Option<Handle> {
        let inner = lock(&self.inner);
        let mut all = inner.1.iter();
        all.find(|(_, thing)| found(thing))
            .map(|(&handle, _)| handle as Handle)
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.inner).1.len()
    }

    fn unknown(&self, handle: Handle) -> Code {
        let inner = lock(&self.inner);
        let at = (handle as usize).wrapping_sub(self.base);
        let was = at > 0 && at <= inner.0 * 16 && at.is_multiple_of(16);
        drop(inner);
        let what = std::any::type_name::<T>()
            .rsplit("::")
            .next()
            .unwrap_or("thing");
        let state = if was {
            "was destroyed before"
        } else {
            "never existed"
        };
        sim().trouble(format!("handle {handle:p} of a {what} {state}"));
        Code::INVALID_HANDLE
    }
}

/// A lock of data that is whole after every statement, so that a thread that panicked with it
/// broke nothing.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
