//! What is simulated: the device, the version of ROCm, and how it misbehaves.
//!
//! Each setting has a name and a text. A process starts with those of the environment
//! (`VMAFX_HIPSIM_` and the name in capitals, read at the first call of the runtime), and
//! `vmafx_hipsim_control` changes them later. [`NAMES`] lists them all.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use vmafx_gcnsim::Estimates;

use crate::abi::Code;
use crate::blocks::Order;
use crate::engine::Engine;

/// Every setting: its name, its text at the start, and what it does.
pub const NAMES: [(&str, &str, &str); 33] = [
    ("devices", "1", "number of devices, 0 to 8"),
    (
        "gfx",
        "gfx1100",
        "target of the devices, with features or without: gfx942:sramecc+:xnack-",
    ),
    ("name", "Simulated GPU", "name of the devices"),
    ("memory", "17179869184", "bytes of device memory"),
    (
        "pci",
        "0000:03:00.0",
        "PCI address of the first device; the next ones count buses on",
    ),
    ("multiprocessors", "48", "compute units"),
    (
        "integrated",
        "0",
        "1 for a device that shares the host's memory",
    ),
    (
        "rocm",
        "7.2",
        "version of ROCm: 5.2, 5.7, 6.2, 6.4 or 7.2, or 5, 6, 7",
    ),
    (
        "kernels",
        "",
        "folder of libvmafx_kernels_host.so; empty: VMAFX_KERNELS, else the workspace's",
    ),
    (
        "engine",
        "host",
        "what runs kernels: host (the library for the host), gcnsim (the code objects' instructions), both (compared byte for byte)",
    ),
    (
        "estimates",
        "nearest",
        "approximate instructions of code objects: nearest, ulp:SEED or documented:SEED (off by one unit, or by what is documented)",
    ),
    (
        "order",
        "alternating",
        "turns of blocks and of their threads or waves: forward, reverse, alternating, shuffled:SEED",
    ),
    (
        "workers",
        "1",
        "threads of the operating system a launch is spread over",
    ),
    ("poison", "251", "byte that fresh memory is filled with"),
    (
        "alignment",
        "256",
        "alignment of device memory; its end is aligned to the guard page as far as this allows",
    ),
    ("log_limit", "1000000", "entries of the log that are kept"),
    (
        "pageable",
        "async",
        "copies from and to pageable memory: async (read late) or sync (before the call returns)",
    ),
    (
        "free",
        "strict",
        "hipFree and freeing external memory: strict (at once) or sync (waits for the device first)",
    ),
    (
        "delay_us",
        "0",
        "delay before every operation, in microseconds",
    ),
    (
        "delay_stream",
        "",
        "delays of single streams by their numbers in the log: 2=500,5=100",
    ),
    (
        "delay_random",
        "",
        "SEED:MAX_US, a delay drawn before every operation",
    ),
    (
        "unsubmitted",
        "off",
        "work that no query or synchronisation handed over: off; hold (it does not begin); overtaken (nor does anybody wait for it)",
    ),
    (
        "drop",
        "",
        "dispatches that are lost: every:N; KERNEL:FIRST[:COUNT] counts the launches of a kernel (* for all) from 1; comma-separated",
    ),
    ("double", "", "dispatches that run twice; as drop"),
    (
        "external_size",
        "checked",
        "size of external memory: checked, or any (mapped whatever size is told)",
    ),
    (
        "unrecorded",
        "complete",
        "an event never recorded reads: complete (as in ROCm) or pending",
    ),
    (
        "memory_limit",
        "0",
        "bytes after which allocations are refused; 0 for none",
    ),
    ("pinned_limit", "0", "the same of pinned host memory"),
    (
        "lost_after",
        "",
        "CALLS[:CODE]: after that many calls the device is lost and every call answers this code (719)",
    ),
    (
        "fail",
        "",
        "calls that fail: FUNCTION:NTH:CODE[:COUNT], comma-separated; counted from when it is set",
    ),
    (
        "fail_launch",
        "",
        "launches that fail on the device and leave hipErrorLaunchFailure; as drop",
    ),
    (
        "refuse_modules",
        "",
        "code that every module load answers, such as 209; empty for none",
    ),
    (
        "abort_on_fault",
        "0",
        "1: a memory access fault ends the process, as in ROCm; 0: it leaves hipErrorIllegalAddress",
    ),
];

/// The settings, read from their texts.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    texts: HashMap<&'static str, String>,
    pub(crate) devices: u32,
    pub(crate) gfx: String,
    pub(crate) name: String,
    pub(crate) memory: u64,
    /// Domain, bus, device, function.
    pub(crate) pci: [u32; 4],
    pub(crate) multiprocessors: i32,
    pub(crate) integrated: bool,
    pub(crate) rocm: Rocm,
    pub(crate) kernels: Option<PathBuf>,
    pub(crate) engine: Engine,
    pub(crate) estimates: Estimates,
    pub(crate) order: Order,
    pub(crate) workers: u32,
    pub(crate) poison: u8,
    pub(crate) alignment: usize,
    pub(crate) log_limit: usize,
    pub(crate) pageable_sync: bool,
    pub(crate) free_waits: bool,
    pub(crate) delay: Duration,
    pub(crate) delay_stream: HashMap<u32, Duration>,
    pub(crate) delay_random: Option<(u64, u64)>,
    pub(crate) unsubmitted: Unsubmitted,
    pub(crate) drop: Vec<LaunchRule>,
    pub(crate) double: Vec<LaunchRule>,
    pub(crate) fail_launch: Vec<LaunchRule>,
    pub(crate) external_any: bool,
    pub(crate) unrecorded_pending: bool,
    pub(crate) memory_limit: u64,
    pub(crate) pinned_limit: u64,
    pub(crate) lost_after: Option<(u64, Code)>,
    pub(crate) fail: Vec<CallRule>,
    pub(crate) refuse_modules: Option<Code>,
    pub(crate) abort_on_fault: bool,
}

/// A version of ROCm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rocm {
    pub(crate) major: u32,
    pub(crate) minor: u32,
    /// What `hipRuntimeGetVersion` answers.
    pub(crate) number: i32,
}

/// What happens to work that nobody handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsubmitted {
    Off,
    Hold,
    Overtaken,
}

/// Which launches something happens to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LaunchRule {
    Every(u64),
    Kernel {
        /// None for every kernel.
        name: Option<String>,
        first: u64,
        count: u64,
    },
}

impl LaunchRule {
    /// Whether the rule hits the `of_kernel`th launch of a kernel, which is the `of_all`th launch.
    pub(crate) fn hits(&self, kernel: &str, of_kernel: u64, of_all: u64) -> bool {
        match self {
            Self::Every(n) => of_all.is_multiple_of(*n),
            Self::Kernel { name, first, count } => {
                let nth = if name.is_some() { of_kernel } else { of_all };
                name.as_ref().is_none_or(|n| n == kernel)
                    && (*first..first.saturating_add(*count)).contains(&nth)
            }
        }
    }
}

/// Which calls fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallRule {
    pub(crate) function: String,
    pub(crate) first: u64,
    pub(crate) count: u64,
    pub(crate) code: Code,
    /// Calls of the function since the rule was made.
    pub(crate) seen: u64,
}

impl Settings {
    /// The texts of the environment over those of [`NAMES`]. A text of the environment that does
    /// not read is told on stderr and left out.
    pub(crate) fn from_environment(rocm: Option<&str>) -> Self {
        let mut settings = Self::at_the_start();
        if let Some(rocm) = rocm
            && let Err(error) = settings.set("rocm", rocm)
        {
            eprintln!("hipsim: {error}");
        }
        for (name, ..) in NAMES {
            let variable = format!("VMAFX_HIPSIM_{}", name.to_uppercase());
            if let Ok(text) = std::env::var(&variable)
                && let Err(error) = settings.set(name, &text)
            {
                eprintln!("hipsim: {variable}: {error}");
            }
        }
        settings
    }

    /// The text of a setting.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    /// Changes a setting; leaves it as it is where the text does not read.
    pub(crate) fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
        let (name, _, what) = NAMES
            .into_iter()
            .find(|(n, ..)| *n == name)
            .ok_or_else(|| format!("{name}: no such setting"))?;
        self.read(name, text.trim())
            .ok_or_else(|| format!("{name}: '{text}' does not read ({what})"))?;
        self.texts.insert(name, text.trim().to_owned());
        Ok(())
    }

    fn at_the_start() -> Self {
        let mut settings = Self {
            texts: HashMap::new(),
            devices: 1,
            gfx: String::new(),
            name: String::new(),
            memory: 0,
            pci: [0; 4],
            multiprocessors: 0,
            integrated: false,
            rocm: Rocm {
                major: 7,
                minor: 2,
                number: 0,
            },
            kernels: None,
            engine: Engine::Host,
            estimates: Estimates::Nearest,
            order: Order::Alternating,
            workers: 1,
            poison: 0,
            alignment: 256,
            log_limit: 0,
            pageable_sync: false,
            free_waits: false,
            delay: Duration::ZERO,
            delay_stream: HashMap::new(),
            delay_random: None,
            unsubmitted: Unsubmitted::Off,
            drop: Vec::new(),
            double: Vec::new(),
            fail_launch: Vec::new(),
            external_any: false,
            unrecorded_pending: false,
            memory_limit: 0,
            pinned_limit: 0,
            lost_after: None,
            fail: Vec::new(),
            refuse_modules: None,
            abort_on_fault: false,
        };
        for (name, text, _) in NAMES {
            settings.set(name, text).expect("a text of the table");
        }
        settings
    }

    fn read(&mut self, name: &str, text: &str) -> Option<()> {
        match name {
            "devices" => self.devices = number(text).filter(|&n: &u32| n <= 8)?,
            "gfx" => self.gfx = Some(text.to_owned()).filter(|t| t.starts_with("gfx"))?,
            "name" => self.name = text.to_owned(),
            "memory" => self.memory = number(text)?,
            "pci" => self.pci = pci(text)?,
            "multiprocessors" => self.multiprocessors = number(text)?,
            "integrated" => self.integrated = flag(text)?,
            "rocm" => self.rocm = rocm(text)?,
            "kernels" => self.kernels = (!text.is_empty()).then(|| PathBuf::from(text)),
            "engine" => {
                let engines = [Engine::Host, Engine::Gcnsim, Engine::Both];
                self.engine = engines[choice(text, ["host", "gcnsim", "both"])?];
            }
            "estimates" => self.estimates = estimates(text)?,
            "order" => self.order = order(text)?,
            "workers" => self.workers = number(text).filter(|&n: &u32| n > 0 && n <= 64)?,
            "poison" => self.poison = number(text)?,
            "alignment" => {
                self.alignment =
                    number(text).filter(|n: &usize| n.is_power_of_two() && *n <= 4096)?;
            }
            "log_limit" => self.log_limit = number(text)?,
            "pageable" => self.pageable_sync = choice(text, ["async", "sync"])? == 1,
            "free" => self.free_waits = choice(text, ["strict", "sync"])? == 1,
            "delay_us" => self.delay = Duration::from_micros(number(text)?),
            "delay_stream" => {
                let delay = |t: &str| {
                    let (stream, us) = t.split_once('=')?;
                    Some((number(stream)?, Duration::from_micros(number(us)?)))
                };
                self.delay_stream = list(text, delay)?.into_iter().collect();
            }
            "delay_random" => {
                self.delay_random = if text.is_empty() {
                    None
                } else {
                    let (seed, most) = text.split_once(':')?;
                    Some((number(seed)?, number(most)?))
                };
            }
            "unsubmitted" => {
                let modes = [Unsubmitted::Off, Unsubmitted::Hold, Unsubmitted::Overtaken];
                self.unsubmitted = modes[choice(text, ["off", "hold", "overtaken"])?];
            }
            "drop" => self.drop = list(text, launch_rule)?,
            "double" => self.double = list(text, launch_rule)?,
            "fail_launch" => self.fail_launch = list(text, launch_rule)?,
            "external_size" => self.external_any = choice(text, ["checked", "any"])? == 1,
            "unrecorded" => self.unrecorded_pending = choice(text, ["complete", "pending"])? == 1,
            "memory_limit" => self.memory_limit = number(text)?,
            "pinned_limit" => self.pinned_limit = number(text)?,
            "lost_after" => {
                self.lost_after = if text.is_empty() {
                    None
                } else {
                    let (calls, code) = text.split_once(':').unwrap_or((text, "719"));
                    Some((number(calls)?, Code(number(code)?)))
                };
            }
            "fail" => self.fail = list(text, call_rule)?,
            "refuse_modules" => {
                self.refuse_modules = if text.is_empty() {
                    None
                } else {
                    Some(Code(number(text)?))
                };
            }
            "abort_on_fault" => self.abort_on_fault = flag(text)?,
            _ => return None,
        }
        Some(())
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn flag(text: &str) -> Option<bool> {
    Some(choice(text, ["0", "1"])? == 1)
}

fn choice<const N: usize>(text: &str, of: [&str; N]) -> Option<usize> {
    of.iter().position(|&t| t == text)
}

fn list<T>(text: &str, item: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    text.split(',')
        .map(str::trim)
        .filter(|t| !t.is_empty())
        .map(item)
        .collect()
}

fn pci(text: &str) -> Option<[u32; 4]> {
    let (rest, function) = text.split_once('.')?;
    let mut parts = rest.split(':').map(|t| u32::from_str_radix(t, 16).ok());
    let pci = [
        parts.next()??,
        parts.next()??,
        parts.next()??,
        number(function)?,
    ];
    parts.next().is_none().then_some(pci)
}

fn rocm(text: &str) -> Option<Rocm> {
    let (major, minor, number) = match text {
        "5.2" => (5, 2, 50_221_153),
        "5" | "5.7" => (5, 7, 50_731_921),
        "6.2" => (6, 2, 60_241_134),
        "6" | "6.4" => (6, 4, 60_443_484),
        "7" | "7.2" => (7, 2, 70_253_211),
        _ => return None,
    };
    Some(Rocm {
        major,
        minor,
        number,
    })
}

fn estimates(text: &str) -> Option<Estimates> {
    match text.split_once(':') {
        None => (text == "nearest").then_some(Estimates::Nearest),
        Some(("ulp", seed)) => Some(Estimates::Ulp(number(seed)?)),
        Some(("documented", seed)) => Some(Estimates::Documented(number(seed)?)),
        Some(_) => None,
    }
}

fn order(text: &str) -> Option<Order> {
    match text {
        "forward" => Some(Order::Forward),
        "reverse" => Some(Order::Reverse),
        "alternating" => Some(Order::Alternating),
        _ => Some(Order::Shuffled(number(text.strip_prefix("shuffled:")?)?)),
    }
}

fn launch_rule(text: &str) -> Option<LaunchRule> {
    let mut parts = text.split(':');
    let (name, first) = (parts.next()?, number(parts.next()?)?);
    let count = parts.next().map_or(Some(1), number)?;
    if first == 0 || parts.next().is_some() {
        return None;
    }
    Some(if name == "every" {
        LaunchRule::Every(first)
    } else {
        LaunchRule::Kernel {
            name: (name != "*").then(|| name.to_owned()),
            first,
            count,
        }
    })
}

fn call_rule(text: &str) -> Option<CallRule> {
    let mut parts = text.split(':');
    let rule = CallRule {
        function: parts.next()?.to_owned(),
        first: number(parts.next()?)?,
        code: Code(number(parts.next()?)?),
        count: parts.next().map_or(Some(1), number)?,
        seen: 0,
    };
    (rule.first > 0 && parts.next().is_none()).then_some(rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_reads_its_own_text_and_none_reads_nonsense() {
        let mut settings = Settings::at_the_start();
        for (name, text, _) in NAMES {
            assert_eq!(settings.get(name), Some(text));
            if name != "name" && name != "kernels" {
                let error = settings.set(name, "?:?").unwrap_err();
                assert!(error.starts_with(&format!("{name}: '?:?'")), "{error}");
                assert_eq!(settings.get(name), Some(text));
            }
        }
        assert!(settings.set("nonsense", "1").is_err());
    }

    #[test]
    fn rules_hit_what_they_name() {
        let hits = |text: &str, kernel, of_kernel, of_all| {
            launch_rule(text).unwrap().hits(kernel, of_kernel, of_all)
        };
        assert!(hits("every:3", "a", 1, 6) && !hits("every:3", "a", 3, 7));
        assert!(hits("a:2", "a", 2, 9) && !hits("a:2", "b", 2, 9) && !hits("a:2", "a", 3, 9));
        assert!(hits("a:2:2", "a", 3, 9) && !hits("a:2:2", "a", 4, 9));
        assert!(hits("*:9", "a", 2, 9) && !hits("*:9", "a", 9, 2));
        assert_eq!(launch_rule("a:0"), None);
        assert_eq!(launch_rule("a"), None);
    }
}
