//! What the device really did: every copy, fill, launch and load in the order in which it
//! happened, with sums that outlast the entries.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

/// Direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Direction {
    HostToHost,
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Self::HostToHost => "H2H",
            Self::HostToDevice => "H2D",
            Self::DeviceToHost => "D2H",
            Self::DeviceToDevice => "D2D",
        }
    }
}

/// Where an operation ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Number of the stream in the order of creation; 0 is the default stream.
    pub(crate) stream: u32,
    pub(crate) device: u32,
    /// Whether it was part of a graph.
    pub(crate) graph: bool,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Copy {
        place: Place,
        direction: Direction,
        bytes: u64,
        pageable: bool,
    },
    Fill {
        place: Place,
        bytes: u64,
    },
    Launch {
        place: Place,
        kernel: String,
        grid: [u32; 3],
        /// Which launch of the kernel it was, from 1.
        nth: u64,
        fate: Fate,
    },
    Host {
        place: Place,
    },
    Module {
        target: String,
        bytes: u64,
        kernels: usize,
    },
    /// What ends a device's work, or what a correct program does not do.
    Trouble {
        text: String,
    },
}

/// What became of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Ran,
    Dropped,
    Doubled,
    Failed,
}

/// The log.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    entries: VecDeque<(u64, Event)>,
    next: u64,
    copies: BTreeMap<(u32, &'static str), (u64, u64)>,
    pageable: u64,
    launches: BTreeMap<String, u64>,
    all_launches: u64,
    default_stream: u64,
    fates: [u64; 4],
    modules: u64,
    graphs: u64,
    troubles: Vec<String>,
}

impl Log {
    /// Counts a launch of a kernel: which of the kernel and which of all it is, from 1.
    pub(crate) fn count_launch(&self, kernel: &str) -> (u64, u64) {
        let mut log = self.lock();
        log.all_launches += 1;
        let of_all = log.all_launches;
        let of_kernel = log.launches.entry(kernel.to_owned()).or_default();
        *of_kernel += 1;
        (*of_kernel, of_all)
    }

    /// Counts what is enqueued on a default stream: work, graphs, events and waits.
    pub(crate) fn count_default_stream(&self) {
        self.lock().default_stream += 1;
    }

    pub(crate) fn count_graph(&self) {
        self.lock().graphs += 1;
    }

    pub(crate) fn add(&self, event: Event, limit: usize) {
        let mut log = self.lock();
        match &event {
            Event::Copy {
                place,
                direction,
                bytes,
                pageable,
            } => {
                let sum = log.copies.entry((place.stream, direction.name()));
                let sum = sum.or_default();
                sum.0 += 1;
                sum.1 += bytes;
                log.pageable += u64::from(*pageable);
            }
            Event::Launch { fate, .. } => log.fates[*fate as usize] += 1,
            Event::Fill { .. } | Event::Host { .. } => {}
            Event::Module { .. } => log.modules += 1,
            Event::Trouble { text } => log.troubles.push(text.clone()),
        }
        let at = log.next;
        log.next += 1;
        log.entries.push_back((at, event));
        while log.entries.len() > limit {
            log.entries.pop_front();
        }
    }

    pub(crate) fn trouble(&self, text: String, limit: usize) {
        self.add(Event::Trouble { text }, limit);
    }

    pub(crate) fn clear(&self) {
        *self.lock() = Inner::default();
    }

    /// All entries, one a line.
    pub(crate) fn text(&self) -> String {
        let log = self.lock();
        let line = |(at, event): &(u64, Event)| format!("{at} {}\n", line(event));
        log.entries.iter().map(line).collect()
    }

    /// All entries as an array of JSON.
    pub(crate) fn json(&self) -> Value {
        self.lock()
            .entries
            .iter()
            .map(|(at, e)| object(*at, e))
            .collect()
    }

    /// The sums.
    pub(crate) fn counts(&self) -> Value {
        let log = self.lock();
        let mut copies = serde_json::Map::new();
        for direction in ["H2H", "H2D", "D2H", "D2D"] {
            let (mut count, mut bytes) = (0, 0);
            for ((_, d), sum) in &log.copies {
                if *d == direction {
                    count += sum.0;
                    bytes += sum.1;
                }
            }
            copies.insert(
                direction.to_owned(),
                json!({ "count": count, "bytes": bytes }),
            );
        }
        let by_stream = log.copies.iter().map(|((stream, direction), sum)| {
            json!({ "stream": stream, "direction": direction, "count": sum.0, "bytes": sum.1 })
        });
        let by_stream: Vec<_> = by_stream.collect();
        json!({
            "copies": copies,
            "copies_by_stream": by_stream,
            "pageable_copies": log.pageable,
            "launches": log.launches,
            "all_launches": log.all_launches,
            "dropped_launches": log.fates[Fate::Dropped as usize],
            "doubled_launches": log.fates[Fate::Doubled as usize],
            "failed_launches": log.fates[Fate::Failed as usize],
            "default_stream": log.default_stream,
            "graph_launches": log.graphs,
            "modules": log.modules,
            "troubles": log.troubles,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn place_text(place: &Place) -> String {
    let stream = match place.stream {
        0 => "on the default stream".to_owned(),
        n => format!("on stream {n}"),
    };
    let device = match place.device {
        0 => String::new(),
        n => format!(" of device {n}"),
    };
    format!(
        "{stream}{device}{}",
        if place.graph { ", graph" } else { "" }
    )
}

fn line(event: &Event) -> String {
    match event {
        Event::Copy {
            place,
            direction,
            bytes,
            pageable,
        } => {
            let pageable = if *pageable { ", pageable" } else { "" };
            format!(
                "copy {} {bytes} bytes {}{pageable}",
                direction.name(),
                place_text(place)
            )
        }
        Event::Fill { place, bytes } => format!("fill {bytes} bytes {}", place_text(place)),
        Event::Launch {
            place,
            kernel,
            grid: [x, y, z],
            nth,
            fate,
        } => {
            let fate = match fate {
                Fate::Ran => "",
                Fate::Dropped => ", dropped",
                Fate::Doubled => ", doubled",
                Fate::Failed => ", failed",
            };
            format!(
                "launch {kernel} #{nth} {x}x{y}x{z} {}{fate}",
                place_text(place)
            )
        }
        Event::Host { place } => format!("host function {}", place_text(place)),
        Event::Module {
            target,
            bytes,
            kernels,
        } => format!("module for {target}, {bytes} bytes, {kernels} kernels"),
        Event::Trouble { text } => format!("trouble: {text}"),
    }
}

fn object(at: u64, event: &Event) -> Value {
    let mut object = match event {
        Event::Copy {
            direction,
            bytes,
            pageable,
            ..
        } => json!({
            "event": "copy", "direction": direction.name(), "bytes": bytes, "pageable": pageable,
        }),
        Event::Fill { bytes, .. } => json!({ "event": "fill", "bytes": bytes }),
        Event::Launch {
            kernel,
            grid,
            nth,
            fate,
            ..
        } => json!({
            "event": "launch", "kernel": kernel, "grid": grid, "nth": nth,
            "fate": format!("{fate:?}").to_lowercase(),
        }),
        Event::Host { .. } => json!({ "event": "host" }),
        Event::Module {
            target,
            bytes,
            kernels,
        } => json!({ "event": "module", "target": target, "bytes": bytes, "kernels": kernels }),
        Event::Trouble { text } => json!({ "event": "trouble", "text": text }),
    };
    object["at"] = at.into();
    if let Event::Copy { place, .. }
    | Event::Fill { place, .. }
    | Event::Launch { place, .. }
    | Event::Host { place } = event
    {
        object["stream"] = place.stream.into();
        object["device"] = place.device.into();
        object["graph"] = place.graph.into();
    }
    object
}
