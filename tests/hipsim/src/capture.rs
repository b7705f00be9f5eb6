//! Stream capture and graphs.
//!
//! While a stream captures, what it is given becomes a node that depends on what the stream has
//! seen so far; a stream that waits for an event recorded in a capture joins it. A graph runs
//! each branch on a stream of its own, so branches overtake each other as they may.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::abi::{Answer, Code, capture_mode};
use crate::log::Place;
use crate::sim::{lock, sim};
use crate::stream::{Item, Point, Stream};
use crate::work::Work;

/// A capture that is under way.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) id: u64,
    mode: u32,
    thread: std::thread::ThreadId,
    origin: Arc<Stream>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    nodes: Vec<Node>,
    /// Streams that joined, the origin among them.
    members: Vec<Arc<Stream>>,
    invalid: bool,
}

/// A stream's part in a capture.
#[derive(Clone, Debug)]
pub(crate) struct Membership {
    pub(crate) capture: Arc<Capture>,
    /// Nodes that the next one depends on.
    pub(crate) after: Vec<usize>,
}

/// One piece of work of a graph and what comes before it.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    work: Work,
    after: Vec<usize>,
}

/// A graph as captured.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
}

/// A graph made ready to run.
#[derive(Debug)]
pub(crate) struct Exec {
    nodes: Vec<Node>,
    /// Which branch each node is part of.
    branches: Vec<usize>,
    streams: Vec<Arc<Stream>>,
    /// Runs of one graph follow each other.
    running: Mutex<()>,
}

/// Begins a capture on a stream.
pub(crate) fn begin(stream: &Arc<Stream>, mode: u32) -> Answer {
    static IDS: AtomicU64 = AtomicU64::new(1);
    if mode > capture_mode::RELAXED {
        return Err(Code::INVALID_VALUE);
    }
    // The default stream cannot be captured.
    if stream.number == 0 {
        return Err(Code::CAPTURE_UNSUPPORTED);
    }
    let mut membership = lock(&stream.capture);
    if membership.is_some() {
        return Err(Code::ILLEGAL_STATE);
    }
    let capture = Arc::new(Capture {
        id: IDS.fetch_add(1, Ordering::Relaxed),
        mode,
        thread: std::thread::current().id(),
        origin: stream.clone(),
        inner: Mutex::default(),
    });
    lock(&capture.inner).members.push(stream.clone());
    lock(&sim().captures).push(capture.clone());
    *membership = Some(Membership {
        capture,
        after: Vec::new(),
    });
    Ok(())
}

/// Ends the capture that began on this stream.
pub(crate) fn end(stream: &Arc<Stream>) -> Answer<Graph> {
    let membership = lock(&stream.capture).clone().ok_or(Code::ILLEGAL_STATE)?;
    let capture = membership.capture;
    if !Arc::ptr_eq(&capture.origin, stream) {
        return Err(Code::CAPTURE_UNMATCHED);
    }
    if capture.mode != capture_mode::RELAXED && capture.thread != std::thread::current().id() {
        return Err(Code::CAPTURE_WRONG_THREAD);
    }
    lock(&sim().captures).retain(|c| !Arc::ptr_eq(c, &capture));
    let mut inner = lock(&capture.inner);
    let mut ends = Vec::new();
    for member in std::mem::take(&mut inner.members) {
        let left = lock(&member.capture).take();
        if !Arc::ptr_eq(&member, stream) {
            ends.extend(left.map(|m| m.after).unwrap_or_default());
        }
    }
    if inner.invalid {
        return Err(Code::CAPTURE_INVALIDATED);
    }
    let mut joined = vec![false; inner.nodes.len()];
    let mut open = membership.after;
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut joined[node], true) {
            open.extend(&inner.nodes[node].after);
        }
    }
    if ends.iter().any(|&node| !joined[node]) {
        return Err(Code::CAPTURE_UNJOINED);
    }
    Ok(Graph {
        nodes: std::mem::take(&mut inner.nodes),
    })
}

impl Capture {
    pub(crate) fn invalidate(&self) {
        lock(&self.inner).invalid = true;
    }

    pub(crate) fn is_invalid(&self) -> bool {
        lock(&self.inner).invalid
    }

    /// Makes a stream part of the capture, behind these nodes too.
    pub(crate) fn join(self: &Arc<Self>, stream: &Arc<Stream>, after: &[usize]) -> Answer {
        let mut membership = lock(&stream.capture);
        match &mut *membership {
            Some(own) if !Arc::ptr_eq(&own.capture, self) => {
                self.invalidate();
                own.capture.invalidate();
                return Err(Code::CAPTURE_MERGE);
            }
            Some(own) => {
                for &node in after {
                    if !own.after.contains(&node) {
                        own.after.push(node);
                    }
                }
            }
            None => {
                if !stream.idle() && stream.number == 0 {
                    return Err(Code::CAPTURE_IMPLICIT);
                }
                *membership = Some(Membership {
                    capture: self.clone(),
                    after: after.to_vec(),
                });
                lock(&self.inner).members.push(stream.clone());
            }
        }
        Ok(())
    }
}

/// Records work of a stream that captures; gives the work back where the stream does not.
pub(crate) fn record(stream: &Stream, work: Work) -> Answer<Option<Work>> {
    let mut membership = lock(&stream.capture);
    let Some(own) = &mut *membership else {
        return Ok(Some(work));
    };
    let mut inner = lock(&own.capture.inner);
    if inner.invalid {
        return Err(Code::CAPTURE_INVALIDATED);
    }
    if matches!(work, Work::Free(_)) {
        inner.invalid = true;
        return Err(Code::CAPTURE_UNSUPPORTED);
    }
    let after = std::mem::take(&mut own.after);
    inner.nodes.push(Node { work, after });
    own.after.push(inner.nodes.len() - 1);
    Ok(None)
}

/// What is not allowed while somebody captures: calls that may wait for the device or allocate.
/// As in the runtime, a capture of the global mode forbids them to every thread.
pub(crate) fn forbid_unsafe_calls() -> Answer {
    let thread = std::thread::current().id();
    for capture in lock(&sim().captures).iter() {
        let hit = match capture.mode {
            capture_mode::GLOBAL => true,
            capture_mode::THREAD_LOCAL => capture.thread == thread,
            _ => false,
        };
        if hit {
            capture.invalidate();
            return Err(Code::CAPTURE_UNSUPPORTED);
        }
    }
    Ok(())
}

/// What a capturing stream cannot do.
pub(crate) fn forbid_on(stream: &Stream) -> Answer {
    if let Some(own) = &*lock(&stream.capture) {
        own.capture.invalidate();
        return Err(Code::CAPTURE_UNSUPPORTED);
    }
    Ok(())
}

/// The default stream would have to wait for a capturing stream.
pub(crate) fn forbid_default_stream() -> Answer {
    let captures = lock(&sim().captures);
    let mut hit = captures
        .iter()
        .filter(|c| c.mode != capture_mode::RELAXED || c.origin.blocking);
    match hit.next() {
        Some(capture) => {
            capture.invalidate();
            Err(Code::CAPTURE_IMPLICIT)
        }
        None => Ok(()),
    }
}

impl Graph {
    /// Makes it ready to run: nodes that follow each other share a branch.
    pub(crate) fn instantiate(&self, device: u32) -> Exec {
        let mut ends: Vec<usize> = Vec::new();
        let mut branches = Vec::with_capacity(self.nodes.len());
        for (at, node) in self.nodes.iter().enumerate() {
            let branch = ends.iter().position(|end| node.after.contains(end));
            let branch = branch.unwrap_or_else(|| {
                ends.push(0);
                ends.len() - 1
            });
            ends[branch] = at;
            branches.push(branch);
        }
        let streams = ends.iter().map(|_| Stream::internal(device)).collect();
        Exec {
            nodes: self.nodes.clone(),
            branches,
            streams,
            running: Mutex::new(()),
        }
    }
}

impl Exec {
    /// Runs it to its end, on behalf of a stream.
    pub(crate) fn run(&self, place: &Place) {
        let _one = lock(&self.running);
        sim().log.count_graph();
        let place = Place {
            graph: true,
            ..*place
        };
        let mut points: Vec<Point> = Vec::with_capacity(self.nodes.len());
        for (node, &branch) in self.nodes.iter().zip(&self.branches) {
            let stream = &self.streams[branch];
            for &before in &node.after {
                if self.branches[before] != branch {
                    stream.push(Item::Wait(points[before].clone()));
                }
            }
            points.push(stream.push(Item::Work(node.work.clone(), place)));
        }
        for stream in &self.streams {
            stream.tail().wait();
        }
    }
}

impl Drop for Exec {
    fn drop(&mut self) {
        for stream in &self.streams {
            stream.close();
        }
    }
}
